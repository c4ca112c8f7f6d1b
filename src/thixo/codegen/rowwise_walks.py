"""A row kernel as a kernel for each of its walks: for few long rows that lie side by side.

Threads share out rows. Where there are fewer rows than lanes of all threads (channels of images, with all places of all
images along each row) that leaves most of them idle. So each walk becomes a kernel of its own: those that reduce can be cut
into blocks (rowwise_split.py), and the last one, which writes results for each place, has no use for whole rows at all.
What is one for each row goes from kernel to kernel through memory.

Memory is what such a chain waits for, so sums of squares of float32 less something known of the row (variances) do not wait for
that: sum (x - m)^2 is sum x^2 - 2 m sum x + n m^2. In float64 squares are exact, and what cancels leaves more than float32 has.
"""

from __future__ import annotations

from typing import NamedTuple

from thixo.codegen.builder import Builder, Value
from thixo.codegen.instructions import FLOATS
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.rows_stages import stages


class Stage(NamedTuple):
    """A kernel, and for each of its operands: the number of one of the given ones, or -1 - n for the n-th kept value."""

    kernel: Kernel
    operands: tuple[int, ...]


class Walks(NamedTuple):
    """Kernels that do the same one after the other; dtypes of the values that they keep, one for each row."""

    stages: tuple[Stage, ...]
    kept: tuple[str, ...]


def walks(kernel: Kernel) -> Walks | None:
    """None for a kernel that walks once, asks for positions, or adds up over rows."""
    body, operands = kernel.body, kernel.operands
    if any(one.op in ("index", "pick", "check") for one in body):
        return None
    if any(o.parts > 1 or (o.written and o.view == "column") for o in operands):
        return None
    kernel = moments_at_once(kernel)
    body = kernel.body
    plan = stages(kernel)
    level, varying = plan.level, plan.varying
    reduces = [i for i, one in enumerate(body) if one.op == "reduce"]
    results = [i for i, one in enumerate(body) if one.op == "store" and varying[i]]
    if not reduces or not results:
        return None
    last = max(level[i] for i in reduces)  # the stage that writes results for each place
    roots: list[set[int]] = [set() for _ in range(last + 1)]
    for i in reduces:
        roots[level[i] - 1].add(i)
    for i, one in enumerate(body):
        if one.op == "store":
            roots[last if varying[i] else max(level[i] - 1, 0)].add(i)
    slots: dict[int, int] = {}  # kept values
    needed: list[list[int]] = [[] for _ in roots]
    for n in reversed(range(last + 1)):
        seen: set[int] = set()
        pending = list(roots[n])
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            if not varying[v] and 1 <= level[v] <= n:
                if body[v].type not in FLOATS:
                    return None
                slots.setdefault(v, len(slots))
                roots[level[v] - 1].add(v)
            else:
                pending += body[v].arguments
        needed[n] = sorted(seen)
    made = tuple(_stage(kernel, level, varying, slots, n, needed[n]) for n in range(last + 1))
    return Walks(made, tuple(body[v].type for v in slots))


def moments_at_once(kernel: Kernel) -> Kernel:
    """The same kernel with sums of squares about a value of the row made from sums that need no such value."""
    body = kernel.body
    plan = stages(kernel)
    found: dict[int, tuple[int, int]] = {}  # a reduction to (what is summed, what is taken from it)
    for i, one in enumerate(body):
        if one.op != "reduce" or one.attribute != "add" or one.type != "f32":
            continue
        square = body[one.arguments[0]]
        if square.op != "mul" or square.arguments[0] != square.arguments[1]:
            continue
        centred = body[square.arguments[0]]
        if centred.op != "sub":
            continue
        x, m = centred.arguments
        if plan.varying[x] and not plan.level[x] and not plan.varying[m] and plan.level[m]:
            found[i] = x, m
    if not found:
        return kernel
    b = Builder()
    known: dict[int, Value] = {}
    for i, one in enumerate(body):
        if i not in found:
            arguments = (known[a] for a in one.arguments)
            known[i] = b.emit(one.op, *arguments, type=one.type, attribute=one.attribute)
            continue
        value, about = (known[v].cast("f64") for v in found[i])
        count = b.columns().cast("f64")
        twice = b.reduce("add", value) * 2.0
        total = b.reduce("add", value * value) - about * (twice - about * count)
        known[i] = b.select(total < 0.0, b.constant(0.0, "f64"), total).cast("f32")
    return Kernel(kernel.operands, tuple(b.instructions))


def _stage(
    kernel: Kernel,
    level: list[int],
    varying: list[bool],
    slots: dict[int, int],
    n: int,
    needed: list[int],
) -> Stage:
    body = kernel.body
    fetched = [v for v in needed if v in slots and level[v] <= n]
    kept = [v for v in needed if v in slots and level[v] == n + 1 and not varying[v]]
    loads = sorted({body[v].attribute[0] for v in needed if body[v].op == "load"})
    stores = sorted({body[v].attribute[0] for v in needed if body[v].op == "store"})
    order = [*loads, *(-1 - slots[v] for v in fetched), *stores, *(-1 - slots[v] for v in kept)]
    place = {which: at for at, which in enumerate(order)}
    builder = Builder()
    known: dict[int, Value] = {}
    for v in needed:
        one = body[v]
        if v in fetched:
            known[v] = builder.load(place[-1 - slots[v]], one.type)
        elif one.op == "load":
            known[v] = builder.emit(
                "load", type=one.type, attribute=(place[one.attribute[0]], one.attribute[1])
            )
        elif one.op == "store":
            builder.store(place[one.attribute[0]], known[one.arguments[0]], one.attribute[1])
        else:
            arguments = (known[a] for a in one.arguments)
            known[v] = builder.emit(one.op, *arguments, type=one.type, attribute=one.attribute)
    for v in kept:
        builder.store(place[-1 - slots[v]], known[v])
    own = tuple(
        kernel.operands[which]
        if which >= 0
        else Operand(next(body[v].type for v, s in slots.items() if s == -1 - which), "row", at >= len(loads) + len(fetched))
        for at, which in enumerate(order)
    )  # fmt: skip
    return Stage(Kernel(own, tuple(builder.instructions)), tuple(order))
