"""Kernels of pooling: the largest of several shifted rows, and which one it was.

    conv_<T>_max(x, taps, deltas, count_of_taps, first, base, step, values, indices, count)
    conv_<T>_largest(x, taps, count_of_taps, values, count)    the values alone, of at least one tap

For each j < count: values[j] is the largest of x[j + taps[t]], the first of equals, a NaN before all else (of several
the last one); indices[j] = base + step * j + delta, where delta is deltas[t] of that t, or first[j] where every x is
minus infinity: padding, which is minus infinity here, is never chosen.
"""

from __future__ import annotations

from collections.abc import Callable

from thixo.codegen.llvm.contract import BYTES, TYPES
from thixo.codegen.llvm.emit import Function, float_bits, vector
from thixo.codegen.llvm.target import Target


def max_function(dtype: str, target: Target) -> Function:
    """See above; `taps` are i64, `deltas` and `first` i32, indices i64."""
    parameters = (
        ("ptr noalias readonly", "x"), ("ptr noalias readonly", "taps"), ("ptr noalias readonly", "deltas"),
        ("i64", "many"), ("ptr noalias readonly", "first"), ("i64", "base"), ("i64", "step"),
        ("ptr noalias", "values"), ("ptr noalias", "indices"), ("i64", "count"),
    )  # fmt: skip
    f = Function(f"conv_{dtype}_max", parameters, attributes=target.attributes)
    size, element = BYTES[dtype], TYPES[dtype]
    step = f.op("trunc i64 %step to i32")
    lowest = float_bits(float("-inf"), element)

    def part(j: str, lanes: int, left: str = "") -> None:
        vec, ints, longs = vector(element, lanes), vector("i32", lanes), vector("i64", lanes)
        mask = f.mask(left, lanes) if left else ""
        at_first = f.at("%first", j, "i32")
        start = f.masked_load(ints, at_first, mask, 4) if mask else f.load(ints, at_first, 4)
        best = f.variable(vec, f.splat(element, lowest, lanes) if lanes > 1 else lowest)
        delta = f.variable(ints, start)
        x = f.at("%x", j, element)
        with f.loop(0, "%many") as t:
            shift = f.load("i64", f.at("%taps", t, "i64"), 8)
            at = f.at(x, shift, element)
            value = f.masked_load(vec, at, mask, size) if mask else f.load(vec, at, size)
            now = f.load(vec, best)
            # "Not at most": larger, or no number on either side; a NaN that was chosen stays unless another one comes.
            larger = f.op(f"fcmp ogt {vec} {value}, {now}")
            odd = f.op(f"fcmp uno {vec} {value}, {value}")
            take = f.op(f"or {vector('i1', lanes)} {larger}, {odd}")
            f.store(
                vec, f.op(f"select {vector('i1', lanes)} {take}, {vec} {value}, {vec} {now}"), best
            )
            own = f.splat("i32", f.load("i32", f.at("%deltas", t, "i32"), 4), lanes)
            old = f.load(ints, delta)
            f.store(
                ints,
                f.op(f"select {vector('i1', lanes)} {take}, {ints} {own}, {ints} {old}"),
                delta,
            )
        place = f.splat("i32", f.op(f"trunc i64 {j} to i32"), lanes)
        if lanes > 1:
            place = f.op(f"add {ints} {place}, {f.lane_numbers('i32', lanes)}")
        moved = f.op(f"mul {ints} {place}, {f.splat('i32', step, lanes)}")
        moved = f.op(f"add {ints} {moved}, {f.load(ints, delta)}")
        wide = f.op(f"sext {ints} {moved} to {longs}")
        wide = f.op(f"add {longs} {wide}, {f.splat('i64', '%base', lanes)}")
        to, index = f.at("%values", j, element), f.at("%indices", j, "i64")
        if mask:
            f.masked_store(vec, f.load(vec, best), to, mask, size)
            f.masked_store(longs, wide, index, mask, 8)
        else:
            f.store(vec, f.load(vec, best), to, size)
            f.store(longs, wide, index, 8)

    _over_count(f, part, target.lanes(size), target)
    return f


def largest_function(dtype: str, target: Target) -> Function:
    """values[j] is the largest of x[j + taps[t]] for t < many, which is at least 1; a NaN before all else."""
    parameters = (
        ("ptr noalias readonly", "x"), ("ptr noalias readonly", "taps"), ("i64", "many"), ("ptr noalias", "values"),
        ("i64", "count"),
    )  # fmt: skip
    f = Function(f"conv_{dtype}_largest", parameters, attributes=target.attributes)
    size, element = BYTES[dtype], TYPES[dtype]

    def part(j: str, lanes: int, left: str = "") -> None:
        vec, bits = vector(element, lanes), vector("i1", lanes)
        mask = f.mask(left, lanes) if left else ""
        x = f.at("%x", j, element)

        def read(t: str) -> str:
            at = f.at(x, f.load("i64", f.at("%taps", t, "i64"), 8), element)
            return f.masked_load(vec, at, mask, size) if mask else f.load(vec, at, size)

        best = f.variable(vec, read("0"))
        with f.loop(1, "%many") as t:
            value, now = read(t), f.load(vec, best)
            larger = f.op(f"fcmp ogt {vec} {value}, {now}")
            odd = f.op(f"fcmp uno {vec} {value}, {value}")
            take = f.op(f"or {bits} {larger}, {odd}")
            f.store(vec, f.op(f"select {bits} {take}, {vec} {value}, {vec} {now}"), best)
        to = f.at("%values", j, element)
        if mask:
            f.masked_store(vec, f.load(vec, best), to, mask, size)
        else:
            f.store(vec, f.load(vec, best), to, size)

    _over_count(f, part, target.lanes(size), target)
    return f


def _over_count(f: Function, part: Callable[..., None], lanes: int, target: Target) -> None:
    """`part(j, lanes, left)` for each vector of %count places; where masks are missing, the last ones go one by one."""
    whole = f.op(f"and i64 %count, {-lanes}")
    with f.loop(0, whole, lanes) as j:
        part(j, lanes)
    if target.masks:
        rest = f.sub("%count", whole)
        with f.when(f.compare("ne", rest, 0)):
            part(whole, lanes, rest)
    else:
        with f.loop(whole, "%count") as j:
            part(j, 1)
