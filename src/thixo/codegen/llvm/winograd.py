"""Transforms of Winograd's F(2x2, 3x3): four results of a 3x3 window from sixteen products instead of thirty-six.

With d a 4x4 piece of the image, g the kernel: result = A'[(G g G') * (B' d B)]A. Vectors run over tiles (image,
results) and over channels (kernel). Sixteen products of matrices lie between; the driver is core/conv_winograd.cpp.

    conv_f32_wino_in(planes, plane, pitch, v, between, count)            pieces of a row of tiles become V
    conv_f32_wino_weight(w, step, count, u, between)                     kernels of one row of channels become U
    conv_f32_wino_out(m, between, y, y_row, tiles, columns, rows, bias, wrong)   products become a row of results
"""

from __future__ import annotations

from thixo.codegen.llvm.contract_pack import shuffle
from thixo.codegen.llvm.emit import Function, float_bits, vector
from thixo.codegen.llvm.target import Target


def _in_rows(f: Function, vec: str, d: list[str]) -> list[str]:
    """B' d for one column (or row) of four."""
    return [
        f.op(f"fsub {vec} {d[0]}, {d[2]}"),
        f.op(f"fadd {vec} {d[1]}, {d[2]}"),
        f.op(f"fsub {vec} {d[2]}, {d[1]}"),
        f.op(f"fsub {vec} {d[1]}, {d[3]}"),
    ]


def _out_rows(f: Function, vec: str, m: list[str]) -> list[str]:
    """A' m for one column (or row) of four."""
    one = f.op(f"fadd {vec} {f.op(f'fadd {vec} {m[0]}, {m[1]}')}, {m[2]}")
    two = f.op(f"fsub {vec} {f.op(f'fsub {vec} {m[1]}, {m[2]}')}, {m[3]}")
    return [one, two]


def _weight_rows(f: Function, vec: str, lanes: int, g: list[str]) -> list[str]:
    """G g for one column (or row) of three."""
    half = f.splat("float", float_bits(0.5, "float"), lanes)
    ends = f.op(f"fadd {vec} {g[0]}, {g[2]}")
    plus = f.op(f"fmul {vec} {half}, {f.op(f'fadd {vec} {ends}, {g[1]}')}")
    minus = f.op(f"fmul {vec} {half}, {f.op(f'fsub {vec} {ends}, {g[1]}')}")
    return [g[0], plus, minus, g[2]]


def input_function(target: Target) -> Function:
    """V[xi][t] for t < count; the image lies in four planes, by the remainders of row and column divided by two.

    Whole vectors are read and written: what lies behind the last tile may be anything.
    """
    parameters = (
        ("ptr noalias readonly", "planes"), ("i64", "plane"), ("i64", "pitch"), ("ptr noalias", "v"),
        ("i64", "between"), ("i64", "count"),
    )  # fmt: skip
    f = Function("conv_f32_wino_in", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    plane, pitch, between = (f.mul(f"%{n}", 4) for n in ("plane", "pitch", "between"))
    planes = ["%planes"]
    for _ in range(3):
        planes.append(f.at(planes[-1], plane))
    with f.loop(0, "%count", lanes) as t:
        offset = f.mul(t, 4)
        columns = []
        for c in range(4):
            column = []
            for r in range(4):
                at = f.at(planes[r % 2 * 2 + c % 2], offset)
                if r >= 2:
                    at = f.at(at, pitch)
                column.append(f.load(vec, f.at(at, c // 2 * 4), 4))
            columns.append(_in_rows(f, vec, column))
        to = f.at("%v", offset)
        for r in range(4):
            for value in _in_rows(f, vec, [columns[c][r] for c in range(4)]):
                f.store(vec, value, to, 4)
                to = f.at(to, between)
    return f


def weight_function(target: Target) -> Function:
    """U[xi][c] of kernels that begin at w[c * step], c < count."""
    parameters = (("ptr noalias readonly", "w"), ("i64", "step"), ("i64", "count"), ("ptr noalias", "u"),
                  ("i64", "between"))  # fmt: skip
    f = Function("conv_f32_wino_weight", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    between, step = f.mul("%between", 4), f.mul("%step", 4)
    many = f.op(f"and i64 %count, {-lanes}")

    def part(c: str, lanes: int) -> None:
        vec = vector("float", lanes)
        at = f.at("%w", f.mul(c, step))
        places = [at]
        for _ in range(1, lanes):
            places.append(f.at(places[-1], step))
        taps = []
        for tap in range(9):
            value = "poison" if lanes > 1 else ""
            for lane in range(lanes):
                one = f.load("float", f.at(places[lane], tap * 4), 4)
                value = (
                    f.op(f"insertelement {vec} {value}, float {one}, i64 {lane}")
                    if lanes > 1
                    else one
                )
            taps.append(value)
        columns = [
            _weight_rows(f, vec, lanes, [taps[r * 3 + c] for r in range(3)]) for c in range(3)
        ]
        to = f.at("%u", f.mul(c, 4))
        for r in range(4):
            for value in _weight_rows(f, vec, lanes, [columns[c][r] for c in range(3)]):
                f.store(vec, value, to, 4)
                to = f.at(to, between)

    with f.loop(0, many, lanes) as c:
        part(c, lanes)
    with f.loop(many, "%count") as c:
        part(c, 1)
    return f


def output_function(target: Target) -> Function:
    """Two rows of results (or the first alone) from a row of tiles: y[r][j], j < columns.

    `bias` is one number or null. `wrong` is set where a result is no finite number.
    """
    parameters = (
        ("ptr noalias readonly", "m"), ("i64", "between"), ("ptr noalias", "y"), ("i64", "y_row"), ("i64", "columns"),
        ("i64", "rows"), ("ptr noalias readonly", "bias"), ("ptr noalias", "wrong"),
    )  # fmt: skip
    f = Function("conv_f32_wino_out", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    between = f.mul("%between", 4)
    has_bias = f.compare("ne", "%bias", "null", "ptr")
    # Without a bias minus zero is added, which changes nothing.
    more = f.variable("float", float_bits(-0.0, "float"))
    with f.when(has_bias):
        f.store("float", f.load("float", "%bias", 4), more)
    both = f.compare("sgt", "%rows", 1)
    bias = f.splat("float", f.load("float", more), lanes)
    seen = f.variable(vec, "zeroinitializer")
    low = [n // 2 + (n % 2) * lanes for n in range(lanes)]
    high = [n + lanes // 2 for n in low]
    full = f.op(f"and i64 %columns, {-2 * lanes}")

    def put(value: str, at: str, left: str | None, mask: str) -> None:
        if left is None:
            f.store(vec, value, at, 4)
        elif target.masks:
            f.masked_store(vec, value, at, mask, 4)
        else:
            few = f.variable(vec, value)
            with f.loop(0, f.min(left, lanes)) as j:
                f.store("float", f.load("float", f.at(few, j, "float")), f.at(at, j, "float"))

    def part(j: str, left: str | None) -> None:
        masks = ["", ""]
        if left is not None:
            masks = [f.mask(left, lanes), f.mask(f.sub(left, lanes), lanes)]
        at = f.at("%m", f.mul(f.op(f"lshr i64 {j}, 1"), 4))
        pieces = []
        for _ in range(16):
            pieces.append(f.load(vec, at, 4))
            at = f.at(at, between)
        columns = [_out_rows(f, vec, [pieces[r * 4 + c] for r in range(4)]) for c in range(4)]
        to = f.at("%y", f.mul(j, 4))
        for r in range(2):
            even, odd = _out_rows(f, vec, [columns[c][r] for c in range(4)])
            even, odd = (f.op(f"fadd {vec} {v}, {bias}") for v in (even, odd))

            def store(at: str, even: str = even, odd: str = odd) -> None:
                one, two = shuffle(f, vec, even, odd, low), shuffle(f, vec, even, odd, high)
                # Zero times anything finite is zero; all else is no number.
                for value, mask in ((one, masks[0]), (two, masks[1])):
                    if left is None:
                        kept = value
                    else:
                        kept = f.op(
                            f"select <{lanes} x i1> {mask}, {vec} {value}, {vec} zeroinitializer"
                        )
                    f.store(
                        vec,
                        f.intrinsic("fma", vec, kept, "zeroinitializer", f.load(vec, seen)),
                        seen,
                    )
                put(one, at, left, masks[0])
                put(
                    two, f.at(at, lanes * 4), None if left is None else f.sub(left, lanes), masks[1]
                )

            if r == 0:
                store(to)
            else:
                with f.when(both):
                    store(f.at(to, f.mul("%y_row", 4)))

    with f.loop(0, full, 2 * lanes) as j:
        part(j, None)
    rest = f.sub("%columns", full)
    with f.when(f.compare("ne", rest, 0)):
        part(full, rest)
    odd = f.op(f"fcmp uno {vec} {f.load(vec, seen)}, zeroinitializer")
    any_odd = f.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", (f"<{lanes} x i1>", odd))
    with f.when(any_odd):
        f.store("i64", "1", "%wrong", 8)
    return f


def winograd_functions(target: Target) -> list[Function]:
    """All three."""
    return [input_function(target), weight_function(target), output_function(target)]
