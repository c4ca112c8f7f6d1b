"""Kernels of convolutions: one register tile whose operands are found through a table, and what surrounds it.

    conv_<T>_shape   [most vectors across, lanes, most rows with 1 vector, with 2, ...]
    conv_<T>_tile    sums over k of A[i * a_row + table[k].a] * B[table[k].b + j], see `tile_functions`
    conv_<T>_bias    a number for each row, added in place
    conv_<T>_gather  windows of several rows of an image, side by side
    conv_<S>_rows    rows of an image, converted, into a padded copy
    conv_<S>_store   sums, bias added and rounded, into the result
    conv_<S>_turn    columns become rows

T is what is computed in (f32, f64), S what is in memory. The table makes every kernel size, stride, dilation and
flip the same code; nothing is unfolded. Others are in window_depth.py (single channels), window_turn.py, window_pool.py
and winograd.py. The driver is core/conv*.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from thixo.codegen.llvm.contract import BYTES, TYPES
from thixo.codegen.llvm.contract_pack import MEMORY, converted, rounded, transpose
from thixo.codegen.llvm.emit import Function, module, vector
from thixo.codegen.llvm.products import LINE, VECTORS, products_functions, tile_rows
from thixo.codegen.llvm.target import Target
from thixo.codegen.llvm.window_depth import depth_functions, dots_functions, plane_function
from thixo.codegen.llvm.window_pool import largest_function, max_function
from thixo.codegen.llvm.window_turn import (
    collect_function,
    lines_function,
    masks_fit,
    spread_function,
)
from thixo.codegen.llvm.winograd import winograd_functions
from thixo.codegen.llvm.winograd_wide import wide_functions

COMPUTE = {"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32"}

TILE_PARAMETERS = (
    ("i64", "K"),
    ("ptr noalias readonly", "A"),
    ("i64", "a_row"),
    ("ptr noalias readonly", "B"),
    ("ptr noalias readonly", "table"),
    ("ptr noalias", "C"),
    ("i64", "ldc"),
    ("i64", "rows"),
    ("i64", "vectors"),
    ("i64", "add"),
)


def tile_functions(dtype: str, target: Target) -> tuple[list[Function], str]:
    """C[i * ldc + j] = (add ? C : 0) + sum over k of A[i * a_row + table[2 k]] * B[table[2 k + 1] + j].

    The table is in bytes, a_row and ldc are in elements; i < rows, j < vectors * lanes, all of them read and written.
    `add` is 0 or 1, and twice a number of bytes: what lies so far behind each row of B is asked for, a line of the cache
    for each k, so that it is near when another tile needs it. The bytes are a multiple of four, plus 1 for two lines and 3 for four.
    """
    functions, names = [], []
    for vectors in range(1, VECTORS + 1):
        for rows in range(1, tile_rows(target, vectors) + 1):
            functions.append(_tile(dtype, target, rows, vectors))
            names.append(functions[-1].name)
    close = [_tile(dtype, target, rows, 1, True) for rows in range(1, tile_rows(target, 1) + 1)]
    functions += close
    lanes = target.lanes(BYTES[dtype])
    most = [tile_rows(target, v) for v in range(1, VECTORS + 1)]
    shape = [VECTORS, lanes, *most]
    starts = [sum(most[:v]) for v in range(VECTORS)]
    listed = ", ".join(f"ptr @{n}" for n in names)
    close_listed = ", ".join(f"ptr @{one.name}" for one in close)
    constants = "\n".join(
        [
            f"@conv_{dtype}_shape = constant [{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in shape)}]",
            f"@conv_{dtype}_starts = internal constant [{VECTORS} x i64] [{', '.join(f'i64 {n}' for n in starts)}]",
            f"@conv_{dtype}_cases = internal constant [{len(names)} x ptr] [{listed}]",
            f"@conv_{dtype}_close = internal constant [{len(close)} x ptr] [{close_listed}]",
        ]
    )
    f = Function(f"conv_{dtype}_tile", TILE_PARAMETERS, attributes=target.attributes)
    start = f.load("i64", f.at(f"@conv_{dtype}_starts", f.sub("%vectors", 1), "i64"))
    # Rows side by side: their places are constants. With one vector each product has a load of its own, which costs another
    # operation where its address has an index.
    single = f.op(f"and i1 {f.compare('eq', '%a_row', 1)}, {f.compare('eq', '%vectors', 1)}")
    cases = f.choose(
        single, "ptr", f"@conv_{dtype}_close", f.at(f"@conv_{dtype}_cases", start, "ptr")
    )
    chosen = f.load("ptr", f.at(cases, f.sub("%rows", 1), "ptr"))
    values = ", ".join(f"{t.split(' ')[0]} %{n}" for t, n in TILE_PARAMETERS)
    f.line(f"musttail call void {chosen}({values})")
    return [*functions, f], constants


def _tile(dtype: str, target: Target, rows: int, vectors: int, close: bool = False) -> Function:
    f = Function(
        f"conv_{dtype}_tile_{rows}x{vectors}{'_close' if close else ''}",
        TILE_PARAMETERS,
        attributes=target.attributes,
        internal=True,
    )
    size, lanes, element = BYTES[dtype], target.lanes(BYTES[dtype]), TYPES[dtype]
    vec = vector(element, lanes)
    sums = [[f.variable(vec, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
    row = f.mul("%a_row", size)
    odd = {1: row, **{i: f.mul(row, i) for i in (3, 5, 7) if i < rows}}
    ahead = f.op("lshr i64 %add, 1")
    has_ahead = f.compare("ne", ahead, 0)
    has_two, has_four = (f.compare("ne", f.op(f"and i64 {ahead}, {bit}"), 0) for bit in (1, 2))

    def add_products(place_in_table: str, fetches: bool) -> None:
        entry = f.at("%table", place_in_table)
        a = f.at("%A", f.load("i64", entry, 8))
        b = f.at("%B", f.load("i64", f.at(entry, 8), 8))
        if fetches:
            with f.when(has_ahead):  # in a block of its own: no load is moved past it
                f.prefetch(f.at(b, ahead), level=2)
                with f.when(has_two):
                    f.prefetch(f.at(b, f.add(ahead, LINE)), level=2)
                    with f.when(has_four):
                        f.prefetch(f.at(b, f.add(ahead, 2 * LINE)), level=2)
                        f.prefetch(f.at(b, f.add(ahead, 3 * LINE)), level=2)
        across = [f.load(vec, f.at(b, j * lanes * size), size) for j in range(vectors)]
        if close:
            a = f.opaque(a)
        for i in range(rows):
            place = i % 8
            if i and place == 0:
                a = f.at(a, 8 * size if close else f.mul(row, 8))
            at = a
            if place:
                scale = place & -place
                at = f.at(a, f.mul(odd[place // scale], scale))
            if close:
                at = f.at(a, place * size)
            one = f.splat(element, f.load(element, at, size), lanes)
            for j in range(vectors):
                f.store(
                    vec,
                    f.intrinsic("fma", vec, one, across[j], f.load(vec, sums[i][j])),
                    sums[i][j],
                )

    # Two k at a time where nothing is asked for: what surrounds the products is a fifth of the operations. Of single vectors
    # with places at indices it is less, and more of them at once do not gain.
    pairs = "0"
    if vectors > 1 or close:
        pairs = f.choose(has_ahead, "i64", 0, f.mul(f.op("and i64 %K, -2"), 16))
        with f.loop(0, pairs, 32) as first:
            add_products(first, False)
            add_products(f.add(first, 16), False)
    with f.loop(pairs, f.mul("%K", 16), 16) as last:
        add_products(last, True)
    step = f.mul("%ldc", size)
    places = ["%C"]
    for _ in range(1, rows):
        places.append(f.at(places[-1], step))
    with f.when(f.compare("ne", f.op("and i64 %add, 1"), 0)):
        for i in range(rows):
            for j in range(vectors):
                old = f.load(vec, f.at(places[i], j * lanes * size), size)
                f.store(vec, f.op(f"fadd {vec} {old}, {f.load(vec, sums[i][j])}"), sums[i][j])
    for i in range(rows):
        for j in range(vectors):
            f.store(vec, f.load(vec, sums[i][j]), f.at(places[i], j * lanes * size), size)
    return f


def gather_function(dtype: str, target: Target) -> Function:
    """A vector panel[k * ld + to ...] = image[table[k].b + from ...] for each pair (from, to), in this order.

    Each begins where the one before it ends, or overlaps it.
    """
    parameters = (
        ("ptr noalias readonly", "image"), ("ptr noalias readonly", "table"), ("i64", "K"),
        ("ptr noalias readonly", "pairs"), ("i64", "pieces"), ("ptr noalias", "panel"), ("i64", "ld"),
    )  # fmt: skip
    f = Function(f"conv_{dtype}_gather", parameters, attributes=target.attributes)
    size, lanes, element = BYTES[dtype], target.lanes(BYTES[dtype]), TYPES[dtype]
    vec = vector(element, lanes)
    with f.loop(0, "%K") as k:
        source = f.at("%image", f.load("i64", f.at("%table", f.add(f.mul(k, 16), 8)), 8))
        panel = f.at("%panel", f.mul(k, "%ld"), element)
        with f.loop(0, "%pieces") as s:
            piece = f.at("%pairs", f.mul(s, 16))
            a = f.at(source, f.load("i64", piece, 8), element)
            b = f.at(panel, f.load("i64", f.at(piece, 8), 8), element)
            f.store(vec, f.load(vec, a, size), b, size)
    return f


def rows_function(source: str, target: Target) -> Function:
    """to[r * to_row + j] = from[r * from_row + j * step] for r < rows, j < count, converted to what is computed in."""
    parameters = (
        ("ptr noalias readonly", "from"), ("i64", "from_row"), ("i64", "step"), ("ptr noalias", "to"),
        ("i64", "to_row"), ("i64", "rows"), ("i64", "count"),
    )  # fmt: skip
    f = Function(f"conv_{source}_rows", parameters, attributes=target.attributes)
    to = COMPUTE[source]
    lanes, element, size = target.lanes(BYTES[to]), MEMORY[source], BYTES[source]
    narrow, wide = vector(element, lanes), vector(TYPES[to], lanes)
    mask_fits = masks_fit(source, target)

    def single(a: str, b: str, start: str) -> None:
        with f.loop(start, "%count") as j:
            value = f.load(element, f.at(a, f.mul(j, "%step"), element), size)
            f.store(TYPES[to], converted(f, source, to, value, 1), f.at(b, j, TYPES[to]), BYTES[to])

    plain = f.compare("eq", "%step", 1)
    double = f.compare("eq", "%step", 2)
    many = f.op(f"and i64 %count, {-lanes}")
    rest = f.sub("%count", many)
    mask = f.mask(rest, lanes) if mask_fits else ""
    # Of every second element, the one after the last may lie beyond the row: vectors that end with it are read by masks.
    whole = f.choose(f.compare("eq", rest, 0), "i64", f.sub(many, lanes), many)
    done = f.intrinsic("smax", "i64", whole, "0")
    if mask_fits:
        left = f.sub("%count", done)
        reach = f.sub(f.mul(left, 2), 1)
        first, second = f.mask(reach, lanes), f.mask(f.sub(reach, lanes), lanes)
        written = f.mask(left, lanes)
    with f.loop(0, "%rows") as r:
        a = f.at("%from", f.mul(r, "%from_row"), element)
        b = f.at("%to", f.mul(r, "%to_row"), TYPES[to])
        with f.when(plain):
            with f.loop(0, many, lanes) as j:
                value = converted(f, source, to, f.load(narrow, f.at(a, j, element), size), lanes)
                f.store(wide, value, f.at(b, j, TYPES[to]), BYTES[to])
            if mask_fits:
                with f.when(f.compare("ne", rest, 0)):
                    value = f.masked_load(narrow, f.at(a, many, element), mask, size)
                    value = converted(f, source, to, value, lanes)
                    f.masked_store(wide, value, f.at(b, many, TYPES[to]), mask, BYTES[to])
            else:
                single(a, b, many)
        with f.unless(plain):
            start = f.variable("i64", "0", 8)
            with f.when(double):
                order = ", ".join(f"i32 {2 * n}" for n in range(lanes))

                def even(one: str, two: str) -> str:
                    picked = f.op(
                        f"shufflevector {narrow} {one}, {narrow} {two}, <{lanes} x i32> <{order}>"
                    )
                    return converted(f, source, to, picked, lanes)

                with f.loop(0, whole, lanes) as j:
                    at = f.at(a, f.mul(j, 2), element)
                    one, two = (
                        f.load(narrow, at, size),
                        f.load(narrow, f.at(at, lanes, element), size),
                    )
                    f.store(wide, even(one, two), f.at(b, j, TYPES[to]), BYTES[to])
                f.store("i64", done, start)
                if mask_fits:
                    at = f.at(a, f.mul(done, 2), element)
                    one = f.masked_load(narrow, at, first, size)
                    two = f.masked_load(narrow, f.at(at, lanes, element), second, size)
                    place = f.at(b, done, TYPES[to])
                    f.masked_store(wide, even(one, two), place, written, BYTES[to])
                    f.store("i64", "%count", start)
            single(a, b, f.load("i64", start))
    return f


def store_function(to: str, target: Target) -> Function:
    """Sums become results: for each row and segment (from, to, count), y[.. to + j * step] = sums[.. from + j] + bias.

    `bias` has one element for each row, or is null; segments are three i64 each.
    """
    parameters = (
        ("ptr noalias readonly", "sums"), ("i64", "ld"), ("ptr noalias", "y"), ("i64", "y_row"), ("i64", "step"),
        ("i64", "rows"), ("ptr noalias readonly", "bias"), ("ptr noalias readonly", "segments"), ("i64", "pieces"),
    )  # fmt: skip
    f = Function(f"conv_{to}_store", parameters, attributes=target.attributes)
    compute = COMPUTE[to]
    lanes, size = target.lanes(BYTES[compute]), BYTES[to]
    has_bias = f.compare("ne", "%bias", "null", "ptr")
    plain, double = f.compare("eq", "%step", 1), f.compare("eq", "%step", 2)
    mask_fits = masks_fit(to, target)
    more = f.variable(TYPES[compute], "0.0")

    def value(at: str, n: int, mask: str = "") -> str:
        wide = vector(TYPES[compute], n)
        read = (
            f.masked_load(wide, at, mask, BYTES[compute])
            if mask
            else f.load(wide, at, BYTES[compute])
        )
        biased = f.op(
            f"fadd {wide} {read}, {f.splat(TYPES[compute], f.load(TYPES[compute], more), n)}"
        )
        chosen = f.op(f"select i1 {has_bias}, {wide} {biased}, {wide} {read}")
        return rounded(f, compute, to, chosen, n)

    def single(a: str, b: str, start: str, count: str) -> None:
        with f.loop(start, count) as j:
            at = f.at(b, f.mul(j, "%step"), MEMORY[to])
            f.store(MEMORY[to], value(f.at(a, j, TYPES[compute]), 1), at, size)

    narrow = vector(MEMORY[to], lanes)
    with f.loop(0, "%rows") as r:
        source = f.at("%sums", f.mul(r, "%ld"), TYPES[compute])
        into = f.at("%y", f.mul(r, "%y_row"), MEMORY[to])
        with f.when(has_bias):
            one = converted(
                f, to, compute, f.load(MEMORY[to], f.at("%bias", r, MEMORY[to]), size), 1
            )
            f.store(TYPES[compute], one, more)
        with f.loop(0, "%pieces") as s:
            piece = f.at("%segments", f.mul(s, 24))
            a = f.at(source, f.load("i64", piece, 8), TYPES[compute])
            b = f.at(into, f.load("i64", f.at(piece, 8), 8), MEMORY[to])
            count = f.load("i64", f.at(piece, 16), 8)
            with f.when(plain):
                many = f.op(f"and i64 {count}, {-lanes}")
                with f.loop(0, many, lanes) as j:
                    f.store(
                        narrow,
                        value(f.at(a, j, TYPES[compute]), lanes),
                        f.at(b, j, MEMORY[to]),
                        size,
                    )
                rest = f.sub(count, many)
                if mask_fits:
                    with f.when(f.compare("ne", rest, 0)):
                        mask = f.mask(rest, lanes)
                        result = value(f.at(a, many, TYPES[compute]), lanes, mask)
                        f.masked_store(narrow, result, f.at(b, many, MEMORY[to]), mask, size)
                else:
                    single(a, b, many, count)
            with f.unless(plain):
                start = f.variable("i64", "0", 8)
                f.store("i64", "0", start)
                if mask_fits:
                    half = lanes // 2
                    every = ", ".join(f"i1 {int(n % 2 == 0)}" for n in range(lanes))
                    order = ", ".join(f"i32 {n // 2}" for n in range(lanes))
                    small = vector(MEMORY[to], half)
                    with f.when(double):
                        whole = f.op(f"and i64 {count}, {-half}")
                        with f.loop(0, whole, half) as j:
                            result = value(f.at(a, j, TYPES[compute]), half)
                            wide = f.op(
                                f"shufflevector {small} {result}, {small} poison, <{lanes} x i32> <{order}>"
                            )
                            f.masked_store(
                                narrow, wide, f.at(b, f.mul(j, 2), MEMORY[to]), f"<{every}>", size
                            )
                        f.store("i64", whole, start)
                single(a, b, f.load("i64", start), count)
    return f


def bias_function(dtype: str, target: Target) -> Function:
    """y[r * y_row + j] += bias[r], for r < rows and j < count."""
    parameters = (
        ("ptr noalias", "y"), ("i64", "y_row"), ("i64", "rows"), ("i64", "count"), ("ptr noalias readonly", "bias"),
    )  # fmt: skip
    f = Function(f"conv_{dtype}_bias", parameters, attributes=target.attributes)
    size, lanes, element = BYTES[dtype], target.lanes(BYTES[dtype]), TYPES[dtype]
    vec = vector(element, lanes)
    many = f.op(f"and i64 %count, {-lanes}")
    with f.loop(0, "%rows") as r:
        y = f.at("%y", f.mul(r, "%y_row"), element)
        one = f.load(element, f.at("%bias", r, element), size)
        each = f.splat(element, one, lanes)
        with f.loop(0, many, lanes) as j:
            at = f.at(y, j, element)
            f.store(vec, f.op(f"fadd {vec} {f.load(vec, at, size)}, {each}"), at, size)
        with f.loop(many, "%count") as j:
            at = f.at(y, j, element)
            f.store(element, f.op(f"fadd {element} {f.load(element, at, size)}, {one}"), at, size)
    return f


def turn_function(source: str, target: Target) -> Function:
    """to[p * to_row + i] = from[i * from_row + p] for p < length; `count` of `lanes` i are there, all are written."""
    parameters = (
        ("ptr noalias readonly", "from"), ("i64", "from_row"), ("ptr noalias", "to"), ("i64", "to_row"),
        ("i64", "length"), ("i64", "count"),
    )  # fmt: skip
    f = Function(f"conv_{source}_turn", parameters, attributes=target.attributes)
    to = COMPUTE[source]
    lanes, element, size = target.lanes(BYTES[to]), MEMORY[source], BYTES[source]
    narrow, wide = vector(element, lanes), vector(TYPES[to], lanes)
    last = f.sub("%count", 1)
    short = f.compare("slt", "%length", lanes)
    with f.when(short), f.loop(0, lanes) as i, f.loop(0, "%length") as p:
        at = f.at(f.at("%from", f.mul(f.min(i, last), "%from_row"), element), p, element)
        place = f.at(f.at("%to", f.mul(p, "%to_row"), TYPES[to]), i, TYPES[to])
        f.store(TYPES[to], converted(f, source, to, f.load(element, at, size), 1), place, BYTES[to])
    with f.unless(short):
        pointers = [
            f.at("%from", f.mul(f.min(i, last), "%from_row"), element) for i in range(lanes)
        ]
        final = f.sub("%length", lanes)
        with f.loop(0, "%length", lanes) as block:
            p = f.min(block, final)  # the last block may overlap the one before it
            read = [
                converted(f, source, to, f.load(narrow, f.at(q, p, element), size), lanes)
                for q in pointers
            ]
            into = f.at("%to", f.mul(p, "%to_row"), TYPES[to])
            for row in transpose(f, read, TYPES[to], lanes):
                f.store(wide, row, into, BYTES[to])
                into = f.at(into, "%to_row", TYPES[to])
    return f


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """(name, text) for each module of a library."""
    for dtype, compute in COMPUTE.items():
        if dtype == compute:
            tiles, constants = tile_functions(dtype, target)
            depth, more = depth_functions(dtype, target)
            dots, most = dots_functions(dtype, target)
            makers = (
                gather_function,
                plane_function,
                max_function,
                largest_function,
                bias_function,
            )
            others = [make(dtype, target) for make in makers]
            yield (
                f"conv-{dtype}-tile",
                module([*tiles, *depth, *dots, *others], f"{constants}\n{more}\n{most}"),
            )
        functions = [
            rows_function(dtype, target),
            store_function(dtype, target),
            turn_function(dtype, target),
            spread_function(dtype, compute, target),
            collect_function(dtype, compute, target),
            lines_function(dtype, compute, target),
        ]
        yield f"conv-{dtype}", module(functions)
    yield "conv-winograd", module([*winograd_functions(target), *wide_functions(target)])
    functions, constants = products_functions(target)
    yield "conv-products", module(functions, constants)
