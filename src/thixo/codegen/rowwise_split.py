"""A reduction of few long rows in two kernels: one for blocks of a row, one that joins what the blocks gave."""

from __future__ import annotations

from typing import NamedTuple

from thixo.codegen.builder import Builder, Value
from thixo.codegen.instructions import Instruction
from thixo.codegen.kernel import Kernel, Operand


class Split(NamedTuple):
    """`partial` takes the operands that are read and gives each reduction's part, one for each row.

    `combine` takes those parts (a row of them for each row), then the operands named in `passed`, then the
    number of places of the whole row, then the results.
    """

    partial: Kernel
    combine: Kernel
    passed: tuple[int, ...]


def split(kernel: Kernel) -> Split | None:
    """None for a kernel that walks more than once, asks for positions, or has results for each place."""
    body, operands = kernel.body, kernel.operands
    reduces = [i for i, one in enumerate(body) if one.op == "reduce"]
    if not reduces or any(o.written and o.view != "row" for o in operands):
        return None
    if any(one.op in ("index", "pick", "check") for one in body):
        return None
    if any(body[v].op in ("reduce", "columns") for r in reduces for v in _cone(body, r) if v != r):
        return None
    inputs = [i for i, o in enumerate(operands) if not o.written]
    if inputs != list(range(len(inputs))):
        return None

    first = Builder()
    parts = [Operand(body[r].type, "row", True) for r in reduces]
    known: dict[int, Value] = {}
    for v in sorted({v for r in reduces for v in _cone(body, r)}):
        known[v] = _again(first, body[v], known, {i: i for i in inputs})
    for n, r in enumerate(reduces):
        first.store(len(inputs) + n, known[r])
    partial = Kernel((*(operands[i] for i in inputs), *parts), tuple(first.instructions))

    second = Builder()
    passed = [i for i in inputs if operands[i].view in ("row", "one")]
    moved = {i: len(reduces) + n for n, i in enumerate(passed)}
    whole = len(reduces) + len(passed)
    results = [i for i, o in enumerate(operands) if o.written]
    moved |= {i: whole + 1 + n for n, i in enumerate(results)}
    known = {}
    used = {v for i, one in enumerate(body) if one.op == "store" for v in _cone(body, i, stop=True)}
    for v in sorted(used):
        one = body[v]
        if one.op == "reduce":
            part = second.load(reduces.index(v), one.type)
            known[v] = second.reduce(one.attribute, part)
        elif one.op == "columns":
            known[v] = second.load(whole, "i64")
        elif one.op == "store":
            at, part_of = one.attribute
            second.store(moved[at], known[one.arguments[0]], part_of)
        else:
            known[v] = _again(second, one, known, moved)
    last = (
        *(Operand(body[r].type) for r in reduces),
        *(operands[i] for i in passed),
        Operand("i64", "one"),
        *(operands[i] for i in results),
    )
    return Split(partial, Kernel(last, tuple(second.instructions)), tuple(passed))


def _cone(body: tuple[Instruction, ...], root: int, stop: bool = False) -> set[int]:
    """All that a value is computed from, itself included; with `stop`, not beyond reductions."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if not (stop and body[v].op == "reduce"):
            pending += body[v].arguments
    return seen


def _again(
    builder: Builder, one: Instruction, known: dict[int, Value], moved: dict[int, int]
) -> Value:
    attribute = one.attribute
    if one.op == "load":
        attribute = (moved[attribute[0]], attribute[1])
    return builder.emit(
        one.op, *(known[a] for a in one.arguments), type=one.type, attribute=attribute
    )
