"""Micro-kernels of matrix products: a tile of C in registers, A by broadcast, B by vectors.

One generator makes them for every dtype and target. What a library exports for an element type, say f32:

    gemm_f32_shape   [rows, columns of the tile, width of A's panels, 1 where partial rows of B may be read in place,
                      elements of a vector, rows and columns of the wide tile or zeros]
    gemm_f32_tile    C[rows, columns] (+)= A B, see `tile_functions`
    gemm_f32_tile_copying   the same, and what it reads of B becomes a panel
    gemm_f32_tile_wide      the same with fewer rows and one more vector, where there is such a tile: see `wide_tile_of`
    gemm_f32_pack_rows_along ...  panels, see contract_pack.py

The native driver (core/gemm.cpp) does the rest: blocking, threads, edges, batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.target import Target

TYPES = {"f32": "float", "f64": "double", "f16": "half", "bf16": "bfloat"}
BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2}


@dataclass(frozen=True)
class Tile:
    """How much of C is in registers: rows, and vectors across."""

    dtype: str
    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """Elements across."""
        return self.vectors * self.lanes

    @property
    def width(self) -> int:
        """Of panels of A: whole vectors, so that packing writes them at once."""
        return -(-self.rows // self.lanes) * self.lanes

    @property
    def element(self) -> str:
        """The type of one element, as LLVM writes it."""
        return TYPES[self.dtype]

    @property
    def vector(self) -> str:
        """The type of one vector."""
        return vector(self.element, self.lanes)

    @property
    def bytes(self) -> int:
        """Of one element."""
        return BYTES[self.dtype]


def tile_of(dtype: str, target: Target) -> Tile:
    """The tile that fills the registers: its elements, one row of B and one element of A.

    More than enough products in flight to hide the latency of each; few loads for each product.
    """
    lanes = target.lanes(BYTES[dtype])
    vectors = 3 if target.vector_bytes == 16 else 2
    rows = (target.registers - vectors - 1) // vectors
    if target.vector_bytes == 16:
        rows = min(rows, 8)  # a multiple of the lanes: panels of A need no masks
    return Tile(dtype, rows, vectors, lanes)


def wide_tile_of(dtype: str, target: Target) -> Tile | None:
    """The tile of one more vector, for an odd number of them and rows of A in place; None where there is none.

    The tile above would leave one vector alone, for which each element of A is loaded as often as multiplied.
    """
    if target.vector_bytes < 64:
        return None
    vectors = tile_of(dtype, target).vectors + 1
    rows = (target.registers - vectors - 1) // vectors
    return Tile(dtype, rows, vectors, target.lanes(BYTES[dtype]))


def _broadcasting_rows(target: Target, rows: int, vectors: int) -> int:
    """How many rows' elements of a panel of A are not loaded into a register, but by the multiply-adds themselves.

    AVX-512 has these, and an instruction less for a row is what a tile needs where another thread of the core takes
    slots. They load once for each vector: with all of the rows the ports for loads would be what is short.
    """
    return rows * 5 // 7 if target.vector_bytes == 64 and vectors == 2 else 0


PARAMETERS = (
    ("i64", "K"),
    ("ptr noalias readonly", "A"),
    ("i64", "a_row"),
    ("i64", "a_k"),
    ("ptr noalias readonly", "B"),
    ("i64", "b_k"),
    ("ptr noalias", "C"),
    ("i64", "ldc"),
    ("i64", "rows"),
    ("i64", "columns"),
    ("i64", "add"),
)
ADDS, RELU = 1, 2  # bits of `add`
_UNROLL = 4
_COPY = ("ptr noalias", "P")  # where the panel goes
_ROWS_AHEAD = 24  # of B in place: what a processor computes while a line comes from the third cache


def tile_functions(dtype: str, target: Target) -> tuple[list[Function], str]:
    """The exported `gemm_<dtype>_tile` with all its cases, and the constants beside them.

    C[i, j] = (ADDS ? C[i, j] : 0) + sum over k of A[i * a_row + k * a_k] * B[k * b_k + j], strides in elements,
    for i < rows <= tile rows and j < columns <= tile columns. Either a_row or a_k is 1: packed panels and
    transposed matrices have the first, plain matrices the second.

    `add` has the bits ADDS, and RELU for what is negative to become 0 at the end. The others, where not all are 0, are
    how many bytes from C a matrix begins that lies as C does; it is added to the sums, before RELU.

    `gemm_<dtype>_tile_copying` takes a panel of A and whole rows of B in place, and writes those to a panel.
    """
    tile, wide = tile_of(dtype, target), wide_tile_of(dtype, target)
    functions: list[Function] = []
    heights = range(1, tile.rows + 1)
    for kind in ("panel", "columns", "rows"):
        for masked in (False, True):
            for vectors in range(1, tile.vectors + 1):
                functions += [_case(tile, target, rows, vectors, masked, kind) for rows in heights]
    copying = [_case(tile, target, rows, tile.vectors, False, "copying") for rows in heights]
    shape = [tile.rows, tile.columns, tile.width, int(target.masks), tile.lanes]
    shape += [wide.rows, wide.columns] if wide else [0, 0]
    constants = [
        _pointers(f"gemm_{dtype}_cases", [f.name for f in functions]),
        _pointers(f"gemm_{dtype}_copying_cases", [f.name for f in copying]),
        f"@gemm_{dtype}_shape = constant [{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in shape)}]",
    ]
    functions += [*copying, _entry(tile, target, "tile", "cases"), _copying_entry(tile, target)]
    if wide:
        more, listed = _wide_functions(wide, target)
        functions += more
        constants.append(listed)
    return functions, "\n".join(constants)


def _wide_functions(wide: Tile, target: Target) -> tuple[list[Function], str]:
    """`gemm_<dtype>_tile_wide`, and its cases: those of fewer vectors are the other tile's."""
    functions, listed = [], []
    for kind in ("columns", "columns", "rows"):  # panels of A have no tile of their own
        for masked in (False, True):
            for vectors in range(1, wide.vectors + 1):
                for rows in range(1, wide.rows + 1):
                    name = _case_name(wide, rows, vectors, masked, kind)
                    if vectors == wide.vectors and name not in listed:
                        functions.append(_case(wide, target, rows, vectors, masked, kind))
                    listed.append(name)
    functions.append(_entry(wide, target, "tile_wide", "wide_cases"))
    return functions, _pointers(f"gemm_{wide.dtype}_wide_cases", listed)


def _pointers(name: str, functions: Sequence[str]) -> str:
    listed = ", ".join(f"ptr @{f}" for f in functions)
    return f"@{name} = internal constant [{len(functions)} x ptr] [{listed}]"


def _go_to(f: Function, chosen: str) -> None:
    values = ", ".join(f"{t.split(' ')[0]} %{n}" for t, n in f.parameters)
    f.line(f"musttail call void {chosen}({values})")


def _entry(tile: Tile, target: Target, name: str, cases: str) -> Function:
    """Chooses the case: how A lies, whether the last vector is partial, vectors, rows."""
    f = Function(f"gemm_{tile.dtype}_{name}", PARAMETERS, attributes=target.attributes)
    in_place = f.op(f"zext i1 {f.compare('ne', '%a_k', tile.width)} to i64")
    kind = f.choose(f.compare("ne", "%a_row", 1), "i64", "2", in_place)
    vectors = f.div(f.add("%columns", tile.lanes - 1), tile.lanes)
    whole = f.mul(vectors, tile.lanes)
    masked = f.op(f"zext i1 {f.compare('ne', whole, '%columns')} to i64")
    index = f.add(f.mul(kind, 2), masked)
    index = f.add(f.mul(index, tile.vectors), f.sub(vectors, 1))
    index = f.add(f.mul(index, tile.rows), f.sub("%rows", 1))
    chosen = f.load("ptr", f.at(f"@gemm_{tile.dtype}_{cases}", index, "ptr"))
    _go_to(f, chosen)
    return f


def _copying_entry(tile: Tile, target: Target) -> Function:
    name = f"gemm_{tile.dtype}_tile_copying"
    f = Function(name, (*PARAMETERS, _COPY), attributes=target.attributes)
    index = f.sub("%rows", 1)
    _go_to(f, f.load("ptr", f.at(f"@gemm_{tile.dtype}_copying_cases", index, "ptr")))
    return f


def _case_name(tile: Tile, rows: int, vectors: int, masked: bool, kind: str) -> str:
    return f"gemm_{tile.dtype}_{kind}{'_masked' if masked else ''}_{rows}x{vectors}"


def odd_steps(f: Function, step: str, rows: int) -> dict[int, str]:
    """Odd multiples of the step between rows, in bytes: the others are these, scaled in the address."""
    # Hidden from the compiler, which would add them up in the loop to save registers.
    return {i: f.op(f'call i64 asm "", "=r,0"(i64 {f.mul(step, i)})') for i in range(1, rows, 2)}


def row_at(f: Function, first: str, odd: dict[int, str], row: int) -> str:
    """So many rows below the first."""
    if row == 0:
        return first
    scale = row & -row
    return f.at(first, f.mul(odd[row // scale], scale))


def _case(tile: Tile, target: Target, rows: int, vectors: int, masked: bool, kind: str) -> Function:
    by_rows, copies = kind == "rows", kind == "copying"
    unroll = 1 if by_rows and target.vector_bytes < 64 else _UNROLL
    in_panel = copies or kind == "panel"
    name = _case_name(tile, rows, vectors, masked, kind)
    parameters = (*PARAMETERS, _COPY) if copies else PARAMETERS
    f = Function(name, parameters, attributes=target.attributes, internal=True)
    size, vec = tile.bytes, tile.vector
    mask = ""
    if masked and target.masks:
        mask = f.mask(f.sub("%columns", (vectors - 1) * tile.lanes), tile.lanes)
    sums = [[f.variable(vec, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
    b_step = f.mul("%b_k", size)
    a_step = str(size) if by_rows else str(tile.width * size) if in_panel else f.mul("%a_k", size)
    odd = odd_steps(f, f.mul("%a_row", size), rows) if by_rows else {}
    a, b = f.variable("ptr", "%A", 8), f.variable("ptr", "%B", 8)
    # The last rows' elements are broadcast by each multiply-add that needs them: see `_broadcasting_rows`. Not while
    # copying, which leaves too few registers for another pointer.
    alone = rows - (_broadcasting_rows(target, rows, vectors) if in_panel and not copies else 0)
    twin = ""
    if alone < rows:  # hidden from the compiler, which would load an element once
        twin = f.variable("ptr", f.op('call ptr asm "", "=r,0"(ptr %A)'), 8)
    copy, later = "", ""
    if copies:
        copy = f.variable("ptr", "%P", 8)
        later = f.variable("ptr", f.at("%B", f.mul(b_step, _ROWS_AHEAD)), 8)
    c_step = f.mul("%ldc", size)
    last_c = f.at("%C", f.mul(c_step, rows - 1))
    next_c = f.variable("ptr", "%C", 8)

    def rows_of_c(first: str) -> list[str]:
        found = [first]
        for _ in range(1, rows):
            found.append(f.at(found[-1], c_step))
        return found

    distance = f.op(f"and i64 %add, {-(ADDS | RELU) - 1}")  # from C to what is added

    def fetch_c() -> None:
        """Rows of C and of what is added, one for every few k: all at once, they would hold up A and B."""
        row = f.load("ptr", next_c)
        for j in range(vectors):
            f.prefetch(f.at(row, j * tile.lanes * size), write=True)
        added = f.at(row, distance)
        for j in range(vectors):
            f.prefetch(f.at(added, j * tile.lanes * size))
        below = f.at(row, c_step)
        last = f.compare("ult", below, last_c, "ptr")
        f.store("ptr", f.choose(last, "ptr", below, last_c), next_c)

    def step(a_now: str, b_now: str, a_again: str) -> None:
        """One k: a row of B in registers, each element of A's column against it."""
        across = []
        for j in range(vectors):
            at = f.at(b_now, j * tile.lanes * size)
            if mask and j == vectors - 1:
                across.append(f.masked_load(vec, at, mask, size))
            else:
                across.append(f.load(vec, at, size))
        if copies:
            to, soon = f.load("ptr", copy), f.load("ptr", later)
            for j in range(vectors):
                f.store(vec, across[j], f.at(to, j * tile.lanes * size), size)
                # The line in which a vector ends: the one in which the first begins is the last of the strip before.
                f.prefetch(f.at(soon, ((j + 1) * tile.lanes - 1) * size))
            f.store("ptr", f.at(to, tile.columns * size), copy)
            f.store("ptr", f.at(soon, b_step), later)
        for i in range(rows):
            at = row_at(f, a_now, odd, i) if by_rows else f.at(a_now, i * size)
            one = f.splat(tile.element, f.load(tile.element, at, size), tile.lanes)
            for j in range(vectors):
                if j and i >= alone:
                    again = f.load(tile.element, f.at(a_again, i * size), size)
                    one = f.splat(tile.element, again, tile.lanes)
                old = f.load(vec, sums[i][j])
                f.store(vec, f.intrinsic("fma", vec, one, across[j], old), sums[i][j])

    def after_last(*pointers: str) -> list[str]:
        """The same pointers, which the compiler has only after the products so far.

        It would move the loads of several steps together otherwise, and spill registers.
        """
        last = sums[-1]
        kinds = ["ptr"] * len(pointers) + [vec] * vectors
        values = [*pointers, *(f.load(vec, place) for place in last)]
        results = ",".join(["=r"] * len(pointers) + ["=v"] * vectors)
        same = ",".join(str(i) for i in range(len(values)))
        given = ", ".join(f"{kind} {value}" for kind, value in zip(kinds, values, strict=True))
        kind = f"{{{', '.join(kinds)}}}"
        made = f.op(f'call {kind} asm "", "{results},{same}"({given})')
        parts = [f.op(f"extractvalue {kind} {made}, {i}") for i in range(len(values))]
        for place, value in zip(last, parts[len(pointers) :], strict=True):
            f.store(vec, value, place)
        return parts[: len(pointers)]

    def run(count: int) -> None:
        a_now, b_now = f.load("ptr", a), f.load("ptr", b)
        if (
            by_rows
        ):  # so that it does not keep a pointer for each row either: there are not enough registers
            a_now = f.op(f'call ptr asm "", "=r,0"(ptr {a_now})')
        a_again = f.load("ptr", twin) if twin else ""
        for number in range(count):
            if number and by_rows:
                a_now, b_now = after_last(a_now, b_now)
            step(a_now, b_now, a_again)
            b_now = f.at(b_now, b_step)
            a_now = f.at(a_now, a_step)
            if twin:
                a_again = f.at(a_again, a_step)
        if twin:
            f.store("ptr", a_again, twin)
        f.store("ptr", a_now, a)
        f.store("ptr", b_now, b)

    many = f.op(f"and i64 %K, {-unroll}")
    start = f.intrinsic("smax", "i64", f.sub(many, 2 * rows * _UNROLL), "0")
    with f.loop(0, start, unroll):
        run(unroll)
    with f.loop(start, many, unroll):
        fetch_c()
        run(unroll)
    if unroll > 1:
        with f.loop(many, "%K"):
            run(1)

    # Only now, and hidden from the compiler, which would have all of them from the beginning; and for each use anew, or it
    # would keep them from one to the next, in memory.
    if masked and not target.masks:
        _store_partial(f, tile, sums, rows, vectors, rows_of_c(f.opaque("%C")), distance)
        return f
    for wanted, apart in ((_has(f, ADDS), "0"), (f.compare("ne", distance, 0), distance)):
        with f.when(wanted):
            from_rows = rows_of_c(f.opaque(f.at("%C", apart)))
            for i in range(rows):
                for j in range(vectors):
                    at = f.at(from_rows[i], j * tile.lanes * size)
                    part = mask and j == vectors - 1
                    old = f.masked_load(vec, at, mask, size) if part else f.load(vec, at, size)
                    f.store(vec, f.op(f"fadd {vec} {old}, {f.load(vec, sums[i][j])}"), sums[i][j])
    with f.when(_has(f, RELU)):
        for place in (p for row in sums for p in row):
            f.store(vec, _relu(f, vec, f.load(vec, place)), place)
    c_rows = rows_of_c(f.opaque("%C"))
    for i in range(rows):
        for j in range(vectors):
            at, value = f.at(c_rows[i], j * tile.lanes * size), f.load(vec, sums[i][j])
            if mask and j == vectors - 1:
                f.masked_store(vec, value, at, mask, size)
            else:
                f.store(vec, value, at, size)
    return f


def _has(f: Function, bit: int) -> str:
    return f.compare("ne", f.op(f"and i64 %add, {bit}"), 0)


def _relu(f: Function, type: str, value: str) -> str:
    """As the operator: NaN stays, and so does -0."""
    zero = "zeroinitializer" if type.startswith("<") else "0.0"
    bits = f"<{type[1:].split(' ')[0]} x i1>" if type.startswith("<") else "i1"
    below = f.op(f"fcmp olt {type} {value}, {zero}")
    return f.op(f"select {bits} {below}, {type} {zero}, {type} {value}")


def _store_partial(
    f: Function,
    tile: Tile,
    sums: list[list[str]],
    rows: int,
    vectors: int,
    c_rows: list[str],
    distance: str,
) -> None:
    """Without masks: the tile in memory, and from there element by element."""
    width = vectors * tile.lanes
    scratch = f.variable(f"[{rows * width} x {tile.element}]")
    for i in range(rows):
        for j in range(vectors):
            at = f.at(scratch, i * width + j * tile.lanes, tile.element)
            f.store(tile.vector, f.load(tile.vector, sums[i][j]), at, tile.bytes)
    element = tile.element
    adds, more, relu = _has(f, ADDS), f.compare("ne", distance, 0), _has(f, RELU)
    for i in range(rows):
        with f.loop(0, "%columns") as column:
            value = f.load(element, f.at(f.at(scratch, i * width, element), column, element))
            to = f.at(c_rows[i], column, element)
            for wanted, at in ((adds, to), (more, f.at(to, distance))):
                total = f.op(f"fadd {element} {f.load(element, at)}, {value}")
                value = f.choose(wanted, element, total, value)
            value = f.choose(relu, element, _relu(f, element, value), value)
            f.store(element, value, to)
