"""Thin products: a few rows times a matrix that is read once, so that its memory is the limit.

    gemm_<dtype>_dots(K, X, x_row, W, w_row, Y, y_row, y_column, rows, count)
        Y[i * y_row + n * y_column] = sum over k of X[i * x_row + k] * W[n * w_row + k]
    gemm_<dtype>_dots_far(...)
        the same, of a matrix that no near cache holds: asks for its memory ahead
    gemm_<dtype>_axpys(K, X, x_row, x_k, B, b_k, Y, y_row, rows, count, add)
        Y[i * y_row + n] = (add ? Y[..] : 0) + sum over k of X[i * x_row + k * x_k] * B[k * b_k + n], rows <= 4

X and the matrix have the dtype of the name; float16 and bfloat16 are converted as they are read, and Y
is float32 then.
"""

from __future__ import annotations

from thixo.codegen.llvm.contract import BYTES, TYPES
from thixo.codegen.llvm.contract_pack import MEMORY, converted, shuffle
from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.target import Target

AXPY_ROWS = 4


def thin_functions(dtype: str, target: Target) -> list[Function]:
    """All of a dtype."""
    near, far = (_dots(dtype, target, far) for far in (False, True))
    return [*near, *far, *_axpys(dtype, target)]


def _sums(f: Function, vectors: list[str], type: str, lanes: int) -> str:
    """The sum of each of a few vectors (a power of two), in the lanes of one: a fixed tree."""
    parts = width = lanes  # of each sum; of the vectors
    while parts > 1:
        if len(vectors) > 1:
            pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
            made = width
        else:
            pairs, made = [(vectors[0], "poison")], width // 2
        vectors = []
        for a, b in pairs:
            even, odd = (
                shuffle(f, vector(type, width), a, b, [2 * i + part for i in range(made)])
                for part in (0, 1)
            )
            vectors.append(f.op(f"fadd {vector(type, made)} {even}, {odd}"))
        parts, width = parts // 2, made
    while len(vectors) > 1:  # short vectors, side by side
        vectors = [
            shuffle(f, vector(type, width), a, b, list(range(2 * width)))
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        width *= 2
    return vectors[0]


_COLUMNS = 4
_DOTS = (("i64", "K"), ("ptr noalias readonly", "X"), ("i64", "x_row"), ("ptr noalias readonly", "W"),
         ("i64", "w_row"), ("ptr noalias", "Y"), ("i64", "y_row"), ("i64", "y_column"))  # fmt: skip


def _dots(dtype: str, target: Target, far: bool) -> list[Function]:
    compute = dtype if BYTES[dtype] >= 4 else "f32"
    tall = 4 if target.registers == 32 else 2
    cases = [_dots_case(dtype, compute, target, rows, far) for rows in range(1, tall + 1)]
    f = Function(f"gemm_{dtype}_dots{'_far' if far else ''}", (*_DOTS, ("i64", "rows"), ("i64", "count")),
                 attributes=target.attributes)  # fmt: skip
    size = BYTES[dtype]
    with f.loop(0, "%count", _COLUMNS) as n:
        # Fewer than four columns are left: the last one stands in for the missing.
        left = f.min(f.sub("%count", n), _COLUMNS)
        w = f.at("%W", f.mul(f.mul(n, "%w_row"), size))
        y = f.at("%Y", f.mul(f.mul(n, "%y_column"), BYTES[compute]))
        with f.loop(0, "%rows", tall) as i:
            rows = f.min(f.sub("%rows", i), tall)
            x = f.at("%X", f.mul(f.mul(i, "%x_row"), size))
            to = f.at(y, f.mul(f.mul(i, "%y_row"), BYTES[compute]))
            for case in range(1, tall + 1):
                with f.when(f.compare("eq", rows, case)):
                    f.call(cases[case - 1].name, "void", ("i64", "%K"), ("ptr", x), ("i64", "%x_row"), ("ptr", w),
                           ("i64", "%w_row"), ("ptr", to), ("i64", "%y_row"), ("i64", "%y_column"), ("i64", left))  # fmt: skip
    return [*cases, f]


def _dots_case(dtype: str, compute: str, target: Target, rows: int, far: bool) -> Function:
    f = Function(f"gemm_{dtype}_dots{'_far' if far else ''}_{rows}", (*_DOTS, ("i64", "left")), attributes=target.attributes,
                 internal=True)  # fmt: skip
    lanes = target.lanes(BYTES[compute])
    element, size = MEMORY[dtype], BYTES[dtype]
    wide = vector(TYPES[compute], lanes)
    unroll = 2 if rows <= 2 else 1
    x_rows = [f.at("%X", f.mul(f.mul("%x_row", i), size)) if i else "%X" for i in range(rows)]
    last = f.sub("%left", 1)
    ahead = f.mul("%w_row", _COLUMNS * size)
    w_rows = [f.at("%W", f.mul(f.mul(f.min(n, last), "%w_row"), size)) for n in range(_COLUMNS)]
    sums = [[[f.variable(wide, "zeroinitializer") for _ in range(_COLUMNS)] for _ in range(rows)]
            for _ in range(unroll)]  # fmt: skip

    def step(k: str, u: int, mask: str = "") -> None:
        def read(pointer: str) -> str:
            at = f.at(pointer, k, element)
            type = vector(element, lanes)
            value = f.masked_load(type, at, mask, size) if mask else f.load(type, at, size)
            return converted(f, dtype, compute, value, lanes)

        xs = [read(p) for p in x_rows]
        for n in range(_COLUMNS):
            if far and not mask:
                # The columns that come next: rows are shorter than what hardware would foresee in time.
                f.prefetch(f.at(f.at(w_rows[n], k, element), ahead), level=2)
            w = read(w_rows[n])
            for i in range(rows):
                place = sums[u][i][n]
                f.store(wide, f.intrinsic("fma", wide, xs[i], w, f.load(wide, place)), place)

    many = f.op(f"and i64 %K, {-lanes * unroll}")
    with f.loop(0, many, lanes * unroll) as k:
        for u in range(unroll):
            step(f.add(k, u * lanes) if u else k, u)
    most = f.op(f"and i64 %K, {-lanes}")
    if unroll > 1:
        with f.loop(many, most, lanes) as k:
            step(k, 0)
    rest = f.sub("%K", most)
    masks_fit = target.masks and (size >= 4 or target.vector_bytes == 64)
    if masks_fit:
        with f.when(f.compare("ne", rest, 0)):
            step(most, 0, f.mask(rest, lanes))
    for i in range(rows):
        totals = []
        for n in range(_COLUMNS):
            total = f.load(wide, sums[0][i][n])
            for u in range(1, unroll):
                total = f.op(f"fadd {wide} {total}, {f.load(wide, sums[u][i][n])}")
            totals.append(total)
        four = vector(TYPES[compute], _COLUMNS)
        made = f.variable(four, _sums(f, totals, TYPES[compute], lanes))
        for n in range(_COLUMNS):
            value = f.variable(
                TYPES[compute], f.op(f"extractelement {four} {f.load(four, made)}, i64 {n}")
            )
            if not masks_fit:
                with f.loop(most, "%K") as k:
                    pair = [
                        converted(f, dtype, compute, f.load(element, f.at(p, k, element), size), 1)
                        for p in (x_rows[i], w_rows[n])
                    ]
                    old = f.load(TYPES[compute], value)
                    f.store(TYPES[compute], f.intrinsic("fma", TYPES[compute], *pair, old), value)
            with f.when(f.compare("sgt", "%left", n)):
                place = f.add(f.mul("%y_row", i), f.mul("%y_column", n))
                f.store(TYPES[compute], f.load(TYPES[compute], value),
                        f.at("%Y", place, TYPES[compute]), BYTES[compute])  # fmt: skip
    return f


_AXPYS = (("i64", "K"), ("ptr noalias readonly", "X"), ("i64", "x_row"), ("i64", "x_k"),
          ("ptr noalias readonly", "B"), ("i64", "b_k"), ("ptr noalias", "Y"), ("i64", "y_row"))  # fmt: skip


def _axpys(dtype: str, target: Target) -> list[Function]:
    compute = dtype if BYTES[dtype] >= 4 else "f32"
    cases = [_axpys_case(dtype, compute, target, rows) for rows in range(1, AXPY_ROWS + 1)]
    f = Function(f"gemm_{dtype}_axpys", (*_AXPYS, ("i64", "rows"), ("i64", "count"), ("i64", "add")),
                 attributes=target.attributes)  # fmt: skip
    for rows in range(1, AXPY_ROWS + 1):
        with f.when(f.compare("eq", "%rows", rows)):
            arguments = [(t.split(" ")[0], f"%{n}") for t, n in _AXPYS]
            f.call(cases[rows - 1].name, "void", *arguments, ("i64", "%count"), ("i64", "%add"))
    return [*cases, f]


def _axpys_case(dtype: str, compute: str, target: Target, rows: int) -> Function:
    f = Function(f"gemm_{dtype}_axpys_{rows}", (*_AXPYS, ("i64", "count"), ("i64", "add")),
                 attributes=target.attributes, internal=True)  # fmt: skip
    lanes = target.lanes(BYTES[compute])
    element, size = MEMORY[dtype], BYTES[dtype]
    kind, wide_size = TYPES[compute], BYTES[compute]
    deep = (
        {1: 8, 2: 8, 3: 4, 4: 4}[rows] if target.registers == 32 else {1: 8, 2: 4, 3: 2, 4: 2}[rows]
    )
    masks_fit = target.masks and (size >= 4 or target.vector_bytes == 64)
    many = f.op(f"and i64 %count, {-lanes}")
    rest = f.sub("%count", many)
    mask = f.mask(rest, lanes) if masks_fit else ""
    fresh = f.variable("i1", f.compare("eq", "%add", 0), align=1)  # Y holds nothing yet

    def pass_over(k: str, depth: int) -> None:
        """Add `depth` rows of B, scaled, to each row of Y."""
        factors: list[list[str]] = []
        for i in range(rows):
            factors.append([])
            for u in range(depth):
                place = f.add(f.mul("%x_row", i), f.mul("%x_k", f.add(k, u)))
                x = converted(
                    f, dtype, compute, f.load(element, f.at("%X", place, element), size), 1
                )
                factors[-1].append(x)
        below = [f.at("%B", f.mul(f.add(k, u), "%b_k"), element) for u in range(depth)]
        y_rows = [f.at("%Y", f.mul("%y_row", i), kind) for i in range(rows)]
        starts = f.load("i1", fresh)

        def part(n: str, lanes: int, splats: list[list[str]], mask: str = "") -> None:
            wide, narrow = vector(kind, lanes), vector(element, lanes)
            places = [f.at(y, n, kind) for y in y_rows]
            totals = []
            for place in places:
                old = (
                    f.masked_load(wide, place, mask, wide_size)
                    if mask
                    else f.load(wide, place, wide_size)
                )
                zero = "zeroinitializer" if lanes > 1 else "0.0"
                totals.append(f.op(f"select i1 {starts}, {wide} {zero}, {wide} {old}"))
            for u in range(depth):
                at = f.at(below[u], n, element)
                b = f.masked_load(narrow, at, mask, size) if mask else f.load(narrow, at, size)
                b = converted(f, dtype, compute, b, lanes)
                totals = [f.intrinsic("fma", wide, splats[i][u], b, totals[i]) for i in range(rows)]
            for place, total in zip(places, totals, strict=True):
                if mask:
                    f.masked_store(wide, total, place, mask, wide_size)
                else:
                    f.store(wide, total, place, wide_size)

        splats = [[f.splat(kind, x, lanes) for x in row] for row in factors]
        with f.loop(0, many, lanes) as n:
            part(n, lanes, splats)
        if masks_fit:
            with f.when(f.compare("ne", rest, 0)):
                part(many, lanes, splats, mask)
        else:
            with f.loop(many, "%count") as n:
                part(n, 1, factors)
        f.store("i1", "false", fresh)

    deepest = f.op(f"and i64 %K, {-deep}")
    with f.loop(0, deepest, deep) as k:
        pass_over(k, deep)
    with f.loop(deepest, "%K") as k:
        pass_over(k, 1)
    with f.when(f.load("i1", fresh)):  # K is 0
        for i in range(rows):
            with f.loop(0, "%count") as n:
                f.store(kind, "0.0", f.at(f.at("%Y", f.mul("%y_row", i), kind), n, kind), wide_size)
    return f
