"""Transforms of Winograd's F(2x2, 3x3): four results of a 3x3 window from sixteen products instead of thirty-six.

With d a 4x4 piece of the image, g the kernel: result = A'[(G g G') * (B' d B)]A. Vectors run over channels, which
lie side by side. Sixteen products of matrices lie between; the driver is core/conv_winograd.cpp.

    conv_f32_wino_in      pieces of a row of tiles become V
    conv_f32_wino_weight  kernels become U
    conv_f32_wino_out     products become two rows of results
    conv_f32_wino_grad    for the gradient of the kernels: pieces of the results' gradient become Z = A d A'
    conv_f32_wino_back    sums over tiles of V' Z become gradients, G' (V' Z) G
"""

from __future__ import annotations

from collections.abc import Callable

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


def _pieces_function(
    name: str, target: Target, side: int, turn: Callable[[Function, str, list[str]], list[str]]
) -> Function:
    """to[xi * between + t * to_row + c] of the pieces at image[2 t * pitch ...], for t < tiles, c < count.

    A piece has `side` rows and columns, and `turn` makes four numbers of as many. `row` and `pitch` are from row to row
    and from place to place. Whole vectors are read and written.
    """
    parameters = (
        ("ptr noalias readonly", "image"), ("i64", "row"), ("i64", "pitch"), ("ptr noalias", "to"), ("i64", "to_row"),
        ("i64", "between"), ("i64", "tiles"), ("i64", "count"),
    )  # fmt: skip
    f = Function(name, parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    shared = side - 2  # columns that a tile has in common with the one before it
    kept = [[f.variable(vec) for _ in range(4)] for _ in range(shared)]

    def column_at(at: str) -> list[str]:
        column = []
        for _ in range(side):
            column.append(f.load(vec, at, 4))
            at = f.at(at, "%row", "float")
        return turn(f, vec, column)

    with f.loop(0, "%count", lanes) as c:
        start, into = f.at("%image", c, "float"), f.at("%to", c, "float")
        for i, line in enumerate(kept):
            for one, value in zip(
                line, column_at(f.at(start, f.mul("%pitch", i), "float")), strict=True
            ):
                f.store(vec, value, one)
        with f.loop(0, "%tiles") as t:
            at = f.at(start, f.mul(f.add(f.mul(t, 2), shared), "%pitch"), "float")
            columns = [[f.load(vec, one) for one in line] for line in kept]
            columns += [column_at(at), column_at(f.at(at, "%pitch", "float"))]
            for line, column in zip(kept, columns[2:], strict=True):
                for one, value in zip(line, column, strict=True):
                    f.store(vec, value, one)
            to = f.at(into, f.mul(t, "%to_row"), "float")
            for r in range(4):
                for value in turn(f, vec, [column[r] for column in columns]):
                    f.store(vec, value, to, 4)
                    to = f.at(to, "%between", "float")
    return f


def input_function(target: Target) -> Function:
    """B' d B of pieces of four by four of an image; see _pieces_function."""
    return _pieces_function("conv_f32_wino_in", target, 4, _in_rows)


def weight_function(target: Target) -> Function:
    """U[xi * between + c * ld + j] of kernels whose taps are w[(9 c + tap) * ld + j], for c < count, j < ld."""
    parameters = (("ptr noalias readonly", "w"), ("i64", "ld"), ("i64", "count"), ("ptr noalias", "u"),
                  ("i64", "between"))  # fmt: skip
    f = Function("conv_f32_wino_weight", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    with f.loop(0, "%count") as c, f.loop(0, "%ld", lanes) as j:
        at = f.at("%w", f.add(f.mul(f.mul(c, 9), "%ld"), j), "float")
        taps = []
        for _ in range(9):
            taps.append(f.load(vec, at, 4))
            at = f.at(at, "%ld", "float")
        columns = [
            _weight_rows(f, vec, lanes, [taps[r * 3 + q] for r in range(3)]) for q in range(3)
        ]
        to = f.at("%u", f.add(f.mul(c, "%ld"), j), "float")
        for r in range(4):
            for value in _weight_rows(f, vec, lanes, [columns[q][r] for q in range(3)]):
                f.store(vec, value, to, 4)
                to = f.at(to, "%between", "float")
    return f


OUT_PARAMETERS = (
    ("ptr noalias readonly", "m"), ("i64", "between"), ("i64", "ld"), ("ptr noalias", "y"), ("i64", "y_row"),
    ("i64", "y_place"), ("i64", "tiles"), ("i64", "count"), ("ptr noalias", "wrong"),
)  # fmt: skip


def output_function(target: Target) -> Function:
    """Two rows of results: y[r * y_row + 2 t * y_place + ...] from m[xi * between + t * ld + j], t < tiles, j < count.

    `wrong` is set where a result is no finite number.
    """
    f = Function("conv_f32_wino_out", OUT_PARAMETERS, attributes=target.attributes)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    seen = f.variable(vec, "zeroinitializer")
    with f.loop(0, "%tiles") as t, f.loop(0, "%count", lanes) as j:
        at = f.at("%m", f.add(f.mul(t, "%ld"), j), "float")
        pieces = []
        for _ in range(16):
            pieces.append(f.load(vec, at, 4))
            at = f.at(at, "%between", "float")
        columns = [_out_rows(f, vec, [pieces[r * 4 + c] for r in range(4)]) for c in range(4)]
        to = f.at("%y", f.add(f.mul(f.mul(t, 2), "%y_place"), j), "float")
        for r in range(2):
            for value, place in zip(
                _out_rows(f, vec, [columns[c][r] for c in range(4)]),
                (to, f.at(to, "%y_place", "float")),
                strict=True,
            ):
                # Zero times anything finite is zero; all else is no number.
                f.store(
                    vec,
                    f.intrinsic("fma", vec, value, "zeroinitializer", f.load(vec, seen)),
                    seen,
                )
                f.store(vec, value, place, 4)
            to = f.at(to, "%y_row", "float")
    report_odd(f, vec, lanes, seen)
    return f


def _grad_rows(f: Function, vec: str, d: list[str]) -> list[str]:
    """A d for one column (or row) of two; what is added to nothing is left as it is."""
    plus, minus = f.op(f"fadd {vec} {d[0]}, {d[1]}"), f.op(f"fsub {vec} {d[0]}, {d[1]}")
    return [d[0], plus, minus, f.op(f"fneg {vec} {d[1]}")]


def _back_rows(f: Function, vec: str, lanes: int, u: list[str]) -> list[str]:
    """G' u for one column (or row) of four."""
    half = f.splat("float", float_bits(0.5, "float"), lanes)
    plus = f.op(f"fmul {vec} {half}, {f.op(f'fadd {vec} {u[1]}, {u[2]}')}")
    minus = f.op(f"fmul {vec} {half}, {f.op(f'fsub {vec} {u[1]}, {u[2]}')}")
    return [f.op(f"fadd {vec} {u[0]}, {plus}"), minus, f.op(f"fadd {vec} {plus}, {u[3]}")]


def gradient_function(target: Target) -> Function:
    """A d A' of pieces of two by two of a gradient; see _pieces_function."""
    return _pieces_function("conv_f32_wino_grad", target, 2, _grad_rows)


def back_function(target: Target) -> Function:
    """w[tap * w_tap + j] from u[xi * between + j], for j < count, a multiple of the lanes.

    `wrong` is set where a result is no finite number.
    """
    parameters = (("ptr noalias readonly", "u"), ("i64", "between"), ("ptr noalias", "w"), ("i64", "w_tap"),
                  ("i64", "count"), ("ptr noalias", "wrong"))  # fmt: skip
    f = Function("conv_f32_wino_back", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    seen = f.variable(vec, "zeroinitializer")
    with f.loop(0, "%count", lanes) as j:
        at = f.at("%u", j, "float")
        pieces = []
        for _ in range(16):
            pieces.append(f.load(vec, at, 4))
            at = f.at(at, "%between", "float")
        columns = [
            _back_rows(f, vec, lanes, [pieces[r * 4 + c] for r in range(4)]) for c in range(4)
        ]
        to = f.at("%w", j, "float")
        for r in range(3):
            for value in _back_rows(f, vec, lanes, [columns[c][r] for c in range(4)]):
                f.store(
                    vec,
                    f.intrinsic("fma", vec, value, "zeroinitializer", f.load(vec, seen)),
                    seen,
                )
                f.store(vec, value, to, 4)
                to = f.at(to, "%w_tap", "float")
    report_odd(f, vec, lanes, seen)
    return f


def report_odd(f: Function, vec: str, lanes: int, seen: str) -> None:
    """Set `wrong` where a sum of zeros times results is no number."""
    odd = f.op(f"fcmp uno {vec} {f.load(vec, seen)}, zeroinitializer")
    any_odd = f.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", (f"<{lanes} x i1>", odd))
    with f.when(any_odd):
        f.store("i64", "1", "%wrong", 8)


def winograd_functions(target: Target) -> list[Function]:
    """All of them."""
    makers = (input_function, weight_function, output_function, gradient_function, back_function)
    return [make(target) for make in makers]
