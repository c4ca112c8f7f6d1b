"""Several products of matrices of one shape in one call, as Winograd's transforms need them.

    conv_f32_products   C_n = A_n B_n for n < count; the rows of A are short runs of its k side by side
    conv_f32_sums       C_n = (add ? C_n : 0) + A_n B_n; the rows of A lie side by side for each k

A product of sixteen channels is over in a hundred cycles: a call for each, with the driver around it and a table of places
(window.py), takes a third more. Here places follow from strides, and all products are one call. While they are
computed, nothing is read from far away, so lines are asked for that the caller needs next.

From row to row of A is a constant: a multiplication by an element at base and index is two operations instead of one, and a
processor that shares its front with another thread has none to spare.
"""

from __future__ import annotations

from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.target import Target

VECTORS = 4  # most across a tile
# core/conv_products.h has the same, each of eight bytes; strides in elements.
FIELDS = ("k", "a", "a_k", "a_next", "b", "b_k", "order", "c", "c_row", "c_next", "count", "tiles", "add",
          "read", "reads", "write", "writes")  # fmt: skip
LINE = 64
PARAMETERS = (("ptr", "job"), ("i64", "rows"), ("i64", "vectors"))


def tile_rows(target: Target, vectors: int) -> int:
    """Rows that fit in registers with so many vectors of B, and one of A."""
    return min((target.registers - vectors - 1) // vectors, 24)


def products_functions(target: Target) -> tuple[list[Function], str]:
    """Functions for each shape of a tile, and those that choose: conv_f32_products(job, rows, vectors), conv_f32_sums.

    For n < count and t < tiles, with i < rows, j < vectors * lanes, c[n * c_next + (t * rows + i) * c_row + j] is the sum over
    k of a(n, t * rows + i, k) * b[order[n] + k * b_k + j], in `sums` added to what is there if `add`.

    a(n, m, k) is a[n * a_next + k * a_k + m] in `sums`, and in `products`, where k is cut into runs of a vector's lanes,
    a[n * a_next + k // lanes * a_k + m * lanes + k % lanes].

    Before each tile `reads` lines at `read` and `writes` at `write` are asked for, which move on.
    """
    functions, constants = [], []
    for kind in ("products", "sums"):
        names, most = [], []
        for vectors in range(1, VECTORS + 1):
            most.append(tile_rows(target, vectors))
            for rows in range(1, most[-1] + 1):
                functions.append(_products(target, kind, rows, vectors))
                names.append(functions[-1].name)
        starts = ", ".join(f"i64 {sum(most[:v])}" for v in range(VECTORS))
        listed = ", ".join(f"ptr @{n}" for n in names)
        start_of, case_of = f"@conv_f32_{kind}_starts", f"@conv_f32_{kind}_cases"
        constants.append(f"{start_of} = internal constant [{VECTORS} x i64] [{starts}]")
        constants.append(f"{case_of} = internal constant [{len(names)} x ptr] [{listed}]")
        f = Function(f"conv_f32_{kind}", PARAMETERS, attributes=target.attributes)
        start = f.load("i64", f.at(start_of, f.sub("%vectors", 1), "i64"))
        chosen = f.load("ptr", f.at(case_of, f.add(start, f.sub("%rows", 1)), "ptr"))
        f.line(f"musttail call void {chosen}(ptr %job, i64 %rows, i64 %vectors)")
        functions.append(f)
    return functions, "\n".join(constants)


def _products(target: Target, kind: str, rows: int, vectors: int) -> Function:
    name = f"conv_f32_{kind}_{rows}x{vectors}"
    f = Function(name, PARAMETERS, attributes=target.attributes, internal=True)
    lanes = target.lanes(4)
    vec = vector("float", lanes)
    runs = kind == "products"
    a_row = 4 * lanes if runs else 4

    def field(name: str, type: str = "i64") -> str:
        return f.load(type, f.at("%job", 8 * FIELDS.index(name)), 8)

    k, count, tiles, reads, writes = map(field, ("k", "count", "tiles", "reads", "writes"))
    a_k, a_next, b_k, c_row, c_next = (
        f.mul(field(n), 4) for n in ("a_k", "a_next", "b_k", "c_row", "c_next")
    )
    a_first, b_first, order, c_first = (field(n, "ptr") for n in ("a", "b", "order", "c"))
    adds = None if runs else f.compare("ne", field("add"), 0)
    ahead = {n: f.variable("ptr", field(n, "ptr"), 8) for n in ("read", "write")}
    sums = [[f.variable(vec) for _ in range(vectors)] for _ in range(rows)]
    a, b = f.variable("ptr", align=8), f.variable("ptr", align=8)

    def add_product(step: str | int) -> None:
        at_a, at_b = f.opaque(f.load("ptr", a)), f.opaque(f.load("ptr", b))
        across = [f.load(vec, f.at(at_b, j * lanes * 4), 4) for j in range(vectors)]
        f.store("ptr", f.at(at_a, step), a)
        f.store("ptr", f.at(at_b, b_k), b)
        for i in range(rows):
            one = f.splat("float", f.load("float", f.at(at_a, i * a_row), 4), lanes)
            for j in range(vectors):
                sum = f.intrinsic("fma", vec, one, across[j], f.load(vec, sums[i][j]))
                f.store(vec, sum, sums[i][j])

    with f.loop(0, count) as n, f.loop(0, tiles) as t:
        for which, lines in (("read", reads), ("write", writes)):
            with f.loop(0, lines):
                at = f.load("ptr", ahead[which])
                f.prefetch(at, write=which == "write", level=2 if which == "read" else 3)
                f.store("ptr", f.at(at, LINE), ahead[which])
        first = f.mul(t, rows)
        start = f.at(f.at(a_first, f.mul(n, a_next)), f.mul(first, a_row))
        f.store("ptr", f.at(b_first, f.load("i64", f.at(order, n, "i64"), 8), "float"), b)
        for line in sums:
            for one in line:
                f.store(vec, "zeroinitializer", one)
        if runs:
            with f.loop(0, k, lanes) as run:
                f.store("ptr", f.at(start, f.mul(f.div(run, lanes), a_k)), a)
                with f.loop(run, f.min(f.add(run, lanes), k)):
                    add_product(4)
        else:
            f.store("ptr", start, a)
            with f.loop(0, k):
                add_product(a_k)
        places = [f.at(f.at(c_first, f.mul(n, c_next)), f.mul(first, c_row))]
        for _ in range(1, rows):
            places.append(f.at(places[-1], c_row))
        if adds is not None:
            with f.when(adds):
                for i in range(rows):
                    for j in range(vectors):
                        old = f.load(vec, f.at(places[i], j * lanes * 4), 4)
                        sum = f.op(f"fadd {vec} {old}, {f.load(vec, sums[i][j])}")
                        f.store(vec, sum, sums[i][j])
        for i in range(rows):
            for j in range(vectors):
                f.store(vec, f.load(vec, sums[i][j]), f.at(places[i], j * lanes * 4), 4)
    return f
