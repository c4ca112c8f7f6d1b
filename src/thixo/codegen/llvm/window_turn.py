"""Images with channels innermost: kernels that bring elements there, and results back.

    conv_<S>_spread    planes of channels become places with their channels side by side, converted
    conv_<S>_collect   the other way, bias added and rounded
    conv_<S>_lines     the same where results have their channels side by side too

S is what is in memory. The first two find places through a table, so borders, gaps and strides are numbers in it.
"""

from __future__ import annotations

from thixo.codegen.llvm.contract import BYTES, TYPES
from thixo.codegen.llvm.contract_pack import MEMORY, converted, rounded, transpose
from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.target import Target

FEW = 4  # channels for which most of a transpose falls away


def masks_fit(source: str, target: Target) -> bool:
    """16-bit elements have no masked loads below AVX-512."""
    return target.masks and (BYTES[source] >= 4 or target.vector_bytes == 64)


def spread_function(source: str, to: str, target: Target) -> Function:
    """to[places[p] + i] = from[i * from_row + p] for p < length, i < count, where count is at most a vector's lanes.

    Places may be written more than once, with the same values.
    """
    parameters = (
        ("ptr noalias readonly", "from"), ("i64", "from_row"), ("ptr noalias", "to"), ("ptr noalias readonly", "places"),
        ("i64", "length"), ("i64", "count"),
    )  # fmt: skip
    f = Function(f"conv_{source}_spread", parameters, attributes=target.attributes)
    lanes, element, size = target.lanes(BYTES[to]), MEMORY[source], BYTES[source]
    wide_element, wide_size = TYPES[to], BYTES[to]
    narrow, wide = vector(element, lanes), vector(wide_element, lanes)
    has_masks = masks_fit(source, target)
    last = f.sub("%count", 1)
    written = f.mask("%count", lanes) if target.masks else ""

    def put(value: str, at: str, whole: bool) -> None:
        if whole:
            f.store(wide, value, at, wide_size)
        elif target.masks:
            f.masked_store(wide, value, at, written, wide_size)
        else:
            kept = f.variable(wide)
            f.store(wide, value, kept)
            with f.loop(0, "%count") as i:
                one = f.load(wide_element, f.at(kept, i, wide_element))
                f.store(wide_element, one, f.at(at, i, wide_element), wide_size)

    def place(p: str) -> str:
        return f.at("%to", f.load("i64", f.at("%places", p, "i64"), 8), wide_element)

    def turned(p: str, rows: int, mask: str = "") -> list[str]:
        read = []
        for i in range(lanes):
            if i >= rows:
                read.append("poison")
                continue
            at = f.at(f.at("%from", f.mul(f.min(i, last), "%from_row"), element), p, element)
            value = f.masked_load(narrow, at, mask, size) if mask else f.load(narrow, at, size)
            read.append(converted(f, source, to, value, lanes))
        return transpose(f, read, wide_element, lanes)

    def blocks(rows: int, whole: bool) -> None:
        final = f.sub("%length", lanes)
        with f.loop(0, "%length", lanes) as block:
            p = f.min(block, final)  # the last block may overlap the one before it
            for j, row in enumerate(turned(p, rows)):
                put(row, place(f.add(p, j)), whole)

    def single() -> None:
        with f.loop(0, "%length") as p:
            at = place(p)
            with f.loop(0, "%count") as i:
                one = f.at(f.at("%from", f.mul(i, "%from_row"), element), p, element)
                value = converted(f, source, to, f.load(element, one, size), 1)
                f.store(wide_element, value, f.at(at, i, wide_element), wide_size)

    short = f.compare("slt", "%length", lanes)
    with f.when(short):
        if has_masks:
            mask = f.mask("%length", lanes)
            kept = f.variable(f"[{lanes} x {wide}]")
            for j, row in enumerate(turned("0", lanes, mask)):
                f.store(wide, row, f.at(kept, j, wide))
            with f.loop(0, "%length") as p:
                put(f.load(wide, f.at(kept, p, wide)), place(p), False)
        else:
            single()
    with f.unless(short):
        full = f.compare("eq", "%count", lanes)
        few = f.compare("sle", "%count", FEW)
        with f.when(full):
            blocks(lanes, True)
        with f.unless(full):
            if lanes > FEW:
                with f.when(few):
                    blocks(FEW, False)
                with f.unless(few):
                    blocks(lanes, False)
            else:
                blocks(lanes, False)
    return f


def collect_function(to: str, compute: str, target: Target) -> Function:
    """to[i * to_row + p] = sums[places[p] + i] + bias[i] for p < length, i < count, count at most a vector's lanes.

    Whole vectors of sums are read. `bias` may be null.
    """
    parameters = (
        ("ptr noalias readonly", "sums"), ("ptr noalias readonly", "places"), ("ptr noalias", "to"), ("i64", "to_row"),
        ("i64", "length"), ("i64", "count"), ("ptr noalias readonly", "bias"),
    )  # fmt: skip
    f = Function(f"conv_{to}_collect", parameters, attributes=target.attributes)
    lanes, element, size = target.lanes(BYTES[compute]), MEMORY[to], BYTES[to]
    wide_element, wide_size = TYPES[compute], BYTES[compute]
    narrow, wide = vector(element, lanes), vector(wide_element, lanes)
    has_masks = masks_fit(to, target)
    has_bias = f.compare("ne", "%bias", "null", "ptr")
    more = f.variable(wide, "zeroinitializer")
    with f.when(has_bias), f.loop(0, "%count") as i:
        one = converted(f, to, compute, f.load(element, f.at("%bias", i, element), size), 1)
        f.store(wide_element, one, f.at(more, i, wide_element))
    bias = f.load(wide, more)
    end = f.sub("%length", 1)
    full = f.compare("eq", "%count", lanes)

    def rows_of(p: str, clamp: bool) -> list[str]:
        read = []
        for j in range(lanes):
            q = f.add(p, j)
            if clamp:
                q = f.min(q, end)
            at = f.at("%sums", f.load("i64", f.at("%places", q, "i64"), 8), wide_element)
            value = f.load(wide, at, wide_size)
            biased = f.op(f"fadd {wide} {value}, {bias}")
            read.append(f.op(f"select i1 {has_bias}, {wide} {biased}, {wide} {value}"))
        return [
            rounded(f, compute, to, row, lanes) for row in transpose(f, read, wide_element, lanes)
        ]

    def each(rows: list[str], at: str, write: object) -> None:
        """`write(row, place)` for every channel that is there."""
        with f.when(full):
            to_at = at
            for row in rows:
                write(row, to_at)  # type: ignore[operator]
                to_at = f.at(to_at, "%to_row", element)
        with f.unless(full):
            kept = f.variable(f"[{lanes} x {narrow}]")
            for j, row in enumerate(rows):
                f.store(narrow, row, f.at(kept, j, narrow))
            with f.loop(0, "%count") as i:
                row = f.load(narrow, f.at(kept, i, narrow))
                write(row, f.at(at, f.mul(i, "%to_row"), element))  # type: ignore[operator]

    many = f.op(f"and i64 %length, {-lanes}")
    with f.loop(0, many, lanes) as p:
        rows = rows_of(p, False)
        each(rows, f.at("%to", p, element), lambda row, at: f.store(narrow, row, at, size))
    rest = f.sub("%length", many)
    with f.when(f.compare("ne", rest, 0)):
        rows = rows_of(many, True)
        at = f.at("%to", many, element)
        if has_masks:
            mask = f.mask(rest, lanes)
            each(rows, at, lambda row, at: f.masked_store(narrow, row, at, mask, size))
        else:

            def some(row: str, at: str) -> None:
                kept = f.variable(narrow)
                f.store(narrow, row, kept)
                with f.loop(0, rest) as j:
                    one = f.load(element, f.at(kept, j, element))
                    f.store(element, one, f.at(at, j, element), size)

            each(rows, at, some)
    return f


def lines_function(to: str, compute: str, target: Target) -> Function:
    """to[p * to_row + i] = sums[p * ld + i] + bias[i] for p < places, i < count; the sums may lie where the results go.

    `bias` may be null.
    """
    parameters = (
        ("ptr", "sums"), ("i64", "ld"), ("ptr", "to"), ("i64", "to_row"), ("i64", "places"), ("i64", "count"),
        ("ptr noalias readonly", "bias"),
    )  # fmt: skip
    f = Function(f"conv_{to}_lines", parameters, attributes=target.attributes)
    lanes, element, size = target.lanes(BYTES[compute]), MEMORY[to], BYTES[to]
    wide_element, wide_size = TYPES[compute], BYTES[compute]
    has_masks = masks_fit(to, target)
    has_bias = f.compare("ne", "%bias", "null", "ptr")
    many = f.op(f"and i64 %count, {-lanes}")
    rest = f.sub("%count", many)

    def part(i: str, n: int, mask: str = "") -> None:
        """Channels i ..., of all places."""
        narrow, wide = vector(element, n), vector(wide_element, n)
        more = f.variable(wide, "zeroinitializer" if n > 1 else "0.0")
        with f.when(has_bias):
            at = f.at("%bias", i, element)
            read = f.masked_load(narrow, at, mask, size) if mask else f.load(narrow, at, size)
            f.store(wide, converted(f, to, compute, read, n), more)
        added = f.load(wide, more)
        with f.loop(0, "%places") as p:
            at = f.at("%sums", f.add(f.mul(p, "%ld"), i), wide_element)
            into = f.at("%to", f.add(f.mul(p, "%to_row"), i), element)
            sums = f.masked_load(wide, at, mask, wide_size) if mask else f.load(wide, at, wide_size)
            biased = f.op(f"fadd {wide} {sums}, {added}")
            chosen = f.op(f"select i1 {has_bias}, {wide} {biased}, {wide} {sums}")
            value = rounded(f, compute, to, chosen, n)
            if mask:
                f.masked_store(narrow, value, into, mask, size)
            else:
                f.store(narrow, value, into, size)

    with f.loop(0, many, lanes) as i:
        part(i, lanes)
    if has_masks:
        with f.when(f.compare("ne", rest, 0)):
            part(many, lanes, f.mask(rest, lanes))
    else:
        with f.loop(many, "%count") as i:
            part(i, 1)
    return f
