"""Packing for matrix products: parts of A and B as panels that the micro-kernels read from end to end.

A panel holds `width` rows of A (columns of B) for all k: element (i, k) lies at k * width + i. Packing
absorbs every transpose, stride and conversion:

    <name>_along(source, stride, panel, K, count)     source[k * stride + i]: neighbours of a panel's row are neighbours
    <name>_across(source, stride, panel, K, count)    source[i * stride + k]: neighbours in k are neighbours

`count` of the `width` places are filled; what is in the others does not matter, no result depends on it.
"""

from __future__ import annotations

from collections.abc import Callable

from thixo.codegen.llvm.contract import BYTES, TYPES
from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.target import Target

PARAMETERS = (
    ("ptr noalias readonly", "source"),
    ("i64", "stride"),
    ("ptr noalias", "panel"),
    ("i64", "K"),
    ("i64", "count"),
)

FINISH_PARAMETERS = (("ptr", "tile"), ("i64", "ld"), ("ptr", "C"), ("i64", "ldc"), ("i64", "rows"),
                     ("i64", "columns"), ("ptr", "bias"))  # fmt: skip


def transpose(f: Function, rows: list[str], type: str, lanes: int) -> list[str]:
    """Lanes of rows become rows of lanes: blocks beside the diagonal change places, ever smaller ones."""
    vec, rows = vector(type, lanes), list(rows)
    distance = lanes // 2
    while distance:
        for i in range(lanes):
            if i & distance:
                continue
            a, b = rows[i], rows[i + distance]
            low = [n if not n & distance else lanes + n - distance for n in range(lanes)]
            high = [n + distance if not n & distance else lanes + n for n in range(lanes)]
            rows[i], rows[i + distance] = (shuffle(f, vec, a, b, order) for order in (low, high))
        distance //= 2
    return rows


def shuffle(f: Function, type: str, a: str, b: str, order: list[int]) -> str:
    """Lanes of a, then of b, in this order."""
    numbers = ", ".join(f"i32 {n}" for n in order)
    return f.op(f"shufflevector {type} {a}, {type} {b}, <{len(order)} x i32> <{numbers}>")


# How elements are read and written: bfloat16 as bits, whose conversion is spelt out.
MEMORY = {**TYPES, "bf16": "i16"}


def converted(f: Function, source: str, to: str, value: str, lanes: int) -> str:
    """Elements as they are in memory, in a wider dtype."""
    if source == to:
        return value
    wide = vector(TYPES[to], lanes)
    if source == "bf16":
        bits = vector("i32", lanes)
        value = f.op(f"zext {vector('i16', lanes)} {value} to {bits}")
        value = f.op(f"shl {bits} {value}, {all_lanes('i32', 16, lanes)}")
        return f.op(f"bitcast {bits} {value} to {wide}")
    return f.op(f"fpext {vector(TYPES[source], lanes)} {value} to {wide}")


def rounded(f: Function, source: str, to: str, value: str, lanes: int) -> str:
    """Elements in a narrower dtype, as they go to memory: to nearest, ties to even, NaN stays NaN."""
    if source == to:
        return value
    wide = vector(TYPES[source], lanes)
    if to != "bf16":
        return f.op(f"fptrunc {wide} {value} to {vector(TYPES[to], lanes)}")
    bits = vector("i32", lanes)
    whole = f.op(f"bitcast {wide} {value} to {bits}")
    top = f.op(f"lshr {bits} {whole}, {all_lanes('i32', 16, lanes)}")
    odd = f.op(f"and {bits} {top}, {all_lanes('i32', 1, lanes)}")
    up = f.op(f"add {bits} {whole}, {all_lanes('i32', 0x7FFF, lanes)}")
    near = f.op(f"lshr {bits} {f.op(f'add {bits} {up}, {odd}')}, {all_lanes('i32', 16, lanes)}")
    quiet = f.op(f"or {bits} {top}, {all_lanes('i32', 0x40, lanes)}")
    is_nan = f.op(f"fcmp uno {wide} {value}, {value}")
    result = f.op(f"select {vector('i1', lanes)} {is_nan}, {bits} {quiet}, {bits} {near}")
    return f.op(f"trunc {bits} {result} to {vector('i16', lanes)}")


def all_lanes(type: str, value: int, lanes: int) -> str:
    """The same constant in every lane."""
    return str(value) if lanes == 1 else f"splat ({type} {value})"


def pack_functions(
    source: str, to: str, width: int, most: int, name: str, target: Target
) -> list[Function]:
    """Both ways to fill panels of this width, of which at most `most` are used, in dtype `to` from `source`."""
    return [
        _along(source, to, width, most, f"{name}_along", target),
        _across(source, to, width, most, f"{name}_across", target),
    ]


def _along(source: str, to: str, width: int, most: int, name: str, target: Target) -> Function:
    f = Function(name, PARAMETERS, attributes=target.attributes)
    lanes = target.lanes(BYTES[to])
    element, size = MEMORY[source], BYTES[source]
    step = f.mul("%stride", size)
    starts = range(0, most, lanes)

    def rows(one: Callable[[str, str], None]) -> None:
        read, write = f.variable("ptr", "%source", 8), f.variable("ptr", "%panel", 8)
        with f.loop(0, "%K"):
            at, to_at = f.load("ptr", read), f.load("ptr", write)
            one(at, to_at)
            f.store("ptr", f.at(at, step), read)
            f.store("ptr", f.at(to_at, width * BYTES[to]), write)

    def whole(at: str, to_at: str) -> None:
        for start in starts:
            count = min(lanes, most - start)
            value = f.load(vector(element, count), f.at(at, start * size), size)
            value = converted(f, source, to, value, count)
            f.store(vector(TYPES[to], count), value, f.at(to_at, start * BYTES[to]), BYTES[to])

    def single(at: str, to_at: str) -> None:
        with f.loop(0, "%count") as i:
            value = converted(f, source, to, f.load(element, f.at(at, i, element), size), 1)
            f.store(TYPES[to], value, f.at(to_at, i, TYPES[to]), BYTES[to])

    # 16-bit elements have no masked loads below AVX-512; AVX-512 has them for every size.
    masks_fit = target.masks and (size >= 4 or target.vector_bytes == 64)
    full = f.compare("eq", "%count", most if most % lanes == 0 or not masks_fit else -1)
    with f.when(full):
        rows(whole)
    with f.unless(full):
        if masks_fit:
            masks = [f.mask(f.sub("%count", start), lanes) for start in starts]

            def masked(at: str, to_at: str) -> None:
                for start, mask in zip(starts, masks, strict=True):
                    value = f.masked_load(
                        vector(element, lanes), f.at(at, start * size), mask, size
                    )
                    value = converted(f, source, to, value, lanes)
                    f.store(
                        vector(TYPES[to], lanes), value, f.at(to_at, start * BYTES[to]), BYTES[to]
                    )

            rows(masked)
        else:
            rows(single)
    return f


def _across(source: str, to: str, width: int, most: int, name: str, target: Target) -> Function:
    f = Function(name, PARAMETERS, attributes=target.attributes)
    lanes = target.lanes(BYTES[to])
    element, size = MEMORY[source], BYTES[source]
    step = f.mul("%stride", size)
    last = f.sub("%count", 1)
    tiny = f.compare("slt", "%K", lanes)
    with f.when(tiny):
        if target.masks and (size >= 4 or target.vector_bytes == 64):
            few = f.mask("%K", lanes)
            for start in range(0, width, lanes):
                with f.when(f.compare("sgt", "%count", start)):
                    rows = []
                    for i in range(min(lanes, most - start)):
                        at = f.at("%source", f.mul(f.min(start + i, last), step))
                        value = f.masked_load(vector(element, lanes), at, few, size)
                        rows.append(converted(f, source, to, value, lanes))
                    rows += ["zeroinitializer"] * (lanes - len(rows))
                    for line, row in enumerate(transpose(f, rows, TYPES[to], lanes)):
                        with f.when(f.compare("sgt", "%K", line)):
                            at = f.at("%panel", line * width + start, TYPES[to])
                            f.store(vector(TYPES[to], lanes), row, at, BYTES[to])
        else:
            with f.loop(0, "%count") as across, f.loop(0, "%K") as k:
                at = f.at(f.at("%source", f.mul(across, step)), k, element)
                value = converted(f, source, to, f.load(element, at, size), 1)
                place = f.add(f.mul(k, width), across)
                f.store(TYPES[to], value, f.at("%panel", place, TYPES[to]), BYTES[to])
    with f.unless(tiny):
        # Rows are read in runs of a few lines of the cache, which processors fetch ahead, and turned from a buffer. What is
        # left of them is turned a vector at a time; the last may overlap the one before it.
        run = 4
        runs = f.op(f"and i64 %K, {-run * lanes}")
        final = f.sub("%K", lanes)
        buffer = f.variable(f"[{run * lanes * lanes} x {TYPES[to]}]")

        def read(pointer: str, k: str, u: int) -> str:
            at = f.at(f.at(pointer, k, element), u * lanes * size)
            return converted(f, source, to, f.load(vector(element, lanes), at, size), lanes)

        def turn(rows: list[str], k: str, start: int) -> None:
            rows = rows + ["zeroinitializer"] * (lanes - len(rows))
            to_at = f.at("%panel", f.add(f.mul(k, width), start), TYPES[to])
            for i, row in enumerate(transpose(f, rows, TYPES[to], lanes)):
                f.store(
                    vector(TYPES[to], lanes), row, f.at(to_at, i * width * BYTES[to]), BYTES[to]
                )

        for start in range(0, width, lanes):
            count = min(lanes, most - start)
            pointers = [f.at("%source", f.mul(f.min(start + i, last), step)) for i in range(count)]
            places = [[f.at(buffer, (i * run + u) * lanes, TYPES[to]) for u in range(run)] for i in range(count)]  # fmt: skip
            with f.loop(0, runs, run * lanes) as k:
                for i, pointer in enumerate(pointers):
                    for u in range(run):
                        f.store(vector(TYPES[to], lanes), read(pointer, k, u), places[i][u])
                for u in range(run):
                    rows = [f.load(vector(TYPES[to], lanes), row[u]) for row in places]
                    turn(rows, f.add(k, u * lanes), start)
            with f.loop(runs, "%K", lanes) as block:
                k = f.min(block, final)
                turn([read(pointer, k, 0) for pointer in pointers], k, start)
    return f


def finish_function(compute: str, to: str, target: Target) -> Function:
    """gemm_<to>_finish: a tile of sums becomes part of C: the bias is added, and it is rounded once.

    tile[i * ld + j] + bias[j] goes to C[i * ldc + j]; the tile may be that part of C itself; bias may be null.
    """
    f = Function(f"gemm_{to}_finish", FINISH_PARAMETERS, attributes=target.attributes)
    lanes = target.lanes(BYTES[compute])
    masks_fit = target.vector_bytes == 64
    has_bias = f.compare("ne", "%bias", "null", "ptr")

    def part(i: str, j: str, lanes: int, mask: str = "") -> None:
        wide, narrow = vector(TYPES[compute], lanes), vector(MEMORY[to], lanes)

        def read(type: str, at: str, size: int) -> str:
            return f.masked_load(type, at, mask, size) if mask else f.load(type, at, size)

        at = f.at("%tile", f.add(f.mul(i, "%ld"), j), TYPES[compute])
        value = f.variable(wide, read(wide, at, BYTES[compute]))
        with f.when(has_bias):
            bias = read(narrow, f.at("%bias", j, MEMORY[to]), BYTES[to])
            bias = converted(f, to, compute, bias, lanes)
            f.store(wide, f.op(f"fadd {wide} {f.load(wide, value)}, {bias}"), value)
        result = f.load(wide, value)
        result = rounded(f, compute, to, result, lanes)
        to_at = f.at("%C", f.add(f.mul(i, "%ldc"), j), MEMORY[to])
        if mask:
            f.masked_store(narrow, result, to_at, mask, BYTES[to])
        else:
            f.store(narrow, result, to_at, BYTES[to])

    many = f.op(f"and i64 %columns, {-lanes}")
    rest = f.sub("%columns", many)
    mask = f.mask(rest, lanes) if masks_fit else ""
    with f.loop(0, "%rows") as i:
        with f.loop(0, many, lanes) as j:
            part(i, j, lanes)
        if masks_fit:
            with f.when(f.compare("ne", rest, 0)):
                part(i, many, lanes, mask)
        else:
            with f.loop(many, "%columns") as j:
                part(i, j, 1)
    return f


def turned_finish_function(compute: str, to: str, target: Target) -> Function:
    """gemm_<to>_finish_turned: the same for a product that was computed transposed.

    tile[i * ld + j] + bias[i] goes to C[j * ldc + i].
    """
    parameters = (("ptr noalias readonly", "tile"), ("i64", "ld"), ("ptr noalias", "C"), ("i64", "ldc"),
                  ("i64", "rows"), ("i64", "columns"), ("ptr", "bias"))  # fmt: skip
    f = Function(f"gemm_{to}_finish_turned", parameters, attributes=target.attributes)
    lanes = target.lanes(BYTES[compute])
    if not (target.masks and (BYTES[to] >= 4 or target.vector_bytes == 64)):
        lanes = 1
    has_bias = f.compare("ne", "%bias", "null", "ptr")
    wide, narrow = vector(TYPES[compute], lanes), vector(MEMORY[to], lanes)
    last = f.sub("%rows", 1)
    with f.loop(0, "%rows", lanes) as i:
        mask = f.mask(f.sub("%rows", i), lanes) if lanes > 1 else ""
        added = f.variable(wide, "zeroinitializer" if lanes > 1 else "0.0")
        with f.when(has_bias):
            at = f.at("%bias", i, MEMORY[to])
            bias = (
                f.masked_load(narrow, at, mask, BYTES[to])
                if mask
                else f.load(narrow, at, BYTES[to])
            )
            f.store(wide, converted(f, to, compute, bias, lanes), added)
        with f.loop(0, "%columns", lanes) as j:
            left = f.sub("%columns", j)
            across = f.mask(left, lanes) if mask else ""
            rows = []
            for u in range(lanes):
                row = f.min(
                    f.add(i, u), last
                )  # no more than there are; what is repeated is not stored
                at = f.at("%tile", f.add(f.mul(row, "%ld"), j), TYPES[compute])
                size = BYTES[compute]
                rows.append(
                    f.masked_load(wide, at, across, size) if mask else f.load(wide, at, size)
                )
            if mask:
                rows = transpose(f, rows, TYPES[compute], lanes)
            for u, row in enumerate(rows):
                with f.when(f.compare("sgt", left, u)):
                    total = f.variable(wide, row)
                    with f.when(has_bias):
                        f.store(wide, f.op(f"fadd {wide} {row}, {f.load(wide, added)}"), total)
                    result = rounded(f, compute, to, f.load(wide, total), lanes)
                    at = f.at("%C", f.add(f.mul(f.add(j, u), "%ldc"), i), MEMORY[to])
                    if mask:
                        f.masked_store(narrow, result, at, mask, BYTES[to])
                    else:
                        f.store(narrow, result, at, BYTES[to])
    return f
