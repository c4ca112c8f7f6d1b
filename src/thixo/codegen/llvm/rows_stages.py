"""The passes of a row kernel: what is computed on which walk along the row.

A value is uniform (one for each row) or varying (one for each place). Its level is the number of walks that
must be over before it can be computed: a reduction of a varying value of level n is known after walk n, and
is a uniform value of level n + 1. A later walk computes cheap varying values again; costly ones are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thixo.codegen.instructions import BYTES, Instruction
from thixo.codegen.kernel import Kernel

# What is written as LLVM would have it; integers and bits are not.
_PLAIN = frozenset(("load", "store", "const", "cast", "columns", "reduce", "add", "sub", "mul", "div", "fma", "neg", "abs", "sqrt",
                    "eq", "ne", "lt", "le", "select", "or", "and"))  # fmt: skip
COSTLY = 12  # instructions that a value must save to be worth keeping
_SLOW = {"div": 6, "rem": 6, "sqrt": 6}
_PLACED = ("index",)


@dataclass
class Walk:
    """One walk along the row."""

    computed: list[int] = field(default_factory=list)  # varying instructions, in order
    reduces: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    uniform: list[int] = field(
        default_factory=list
    )  # what is known once it is over, stores included
    kept: list[int] = field(default_factory=list)  # values that it puts aside
    fetched: list[int] = field(default_factory=list)  # values that an earlier walk put aside
    first: set[int] = field(default_factory=set)  # operands of full size that no walk before reads

    @property
    def cost(self) -> int:
        """Instructions for each place."""
        return len(self.computed)


@dataclass
class Stages:
    """How a row kernel runs."""

    kernel: Kernel
    varying: list[bool]
    level: list[int]
    walks: list[Walk]
    before: list[int]  # uniform values that need no walk
    kept: list[int]  # all values that are put aside, by slot
    places: dict[int, int]  # kept values that wait in a result's own memory: value to operand

    @property
    def widest(self) -> int:
        """Bytes of the widest varying register."""
        body = self.kernel.body
        used = {v for w in self.walks for v in (*w.computed, *w.reduces, *w.stores)}
        return max((BYTES[body[v].type] for v in used if body[v].type != "bool"), default=1)

    @property
    def reads(self) -> list[int]:
        """Operands with an element for each place that are read."""
        seen = {o.attribute[0] for o in self.kernel.body if o.op == "load"}
        return [i for i in sorted(seen) if self.kernel.operands[i].view == "full"]


def is_plain(kernel: Kernel) -> bool:
    """Whether its instructions leave nothing to combine."""
    return all(
        one.op in _PLAIN and (one.type in ("f32", "f64", "bool") or one.op in ("columns", "const"))
        for one in kernel.body
    )


def _is_varying(kernel: Kernel, one: Instruction, varying: list[bool]) -> bool:
    if one.op in _PLACED:
        return True
    if one.op == "load":
        return kernel.operands[one.attribute[0]].view in ("full", "column")
    if one.op == "store":
        return kernel.operands[one.attribute[0]].view in ("full", "column")
    return one.op != "reduce" and any(varying[a] for a in one.arguments)


def _worth_keeping(kernel: Kernel, varying: list[bool], level: list[int]) -> set[int]:
    """Values that take long to compute from memory and from such values of walks before theirs, which are kept too."""
    body = kernel.body
    worth: set[int] = set()
    cones: list[frozenset[int]] = []  # what computes a value anew on a later walk
    for i, one in enumerate(body):
        if not varying[i] or one.op in ("load", "index"):
            cones.append(frozenset())
            continue
        there = (
            frozenset() if a in worth and level[a] < level[i] else cones[a] for a in one.arguments
        )
        cones.append(frozenset({i}).union(*there))
        if sum(_SLOW.get(body[v].op, 1) for v in cones[-1]) >= COSTLY:
            worth.add(i)
    return worth


def stages(kernel: Kernel) -> Stages:
    """Split the body of a kernel into walks."""
    body = kernel.body
    varying: list[bool] = []
    level: list[int] = []
    for one in body:
        varying.append(_is_varying(kernel, one, varying))
        highest = max((level[a] for a in one.arguments), default=0)
        level.append(highest + 1 if one.op == "reduce" else highest)
    # The parts of a complex element are written together, when the last of them is known.
    stores = [i for i, one in enumerate(body) if one.op == "store"]
    for i in stores:
        level[i] = max(level[j] for j in stores if body[j].attribute[0] == body[i].attribute[0])
    last = max([level[i] for i in range(len(body)) if varying[i]] +
               [level[i] - 1 for i in range(len(body)) if body[i].op == "reduce"], default=-1)  # fmt: skip
    walks = [Walk() for _ in range(last + 1)]
    roots: list[set[int]] = [set() for _ in walks]
    for i, one in enumerate(body):
        if one.op == "reduce":
            walks[level[i] - 1].reduces.append(i)
            roots[level[i] - 1].add(one.arguments[0])
        elif one.op == "store" and varying[i]:
            walks[level[i]].stores.append(i)
            roots[level[i]].add(one.arguments[0])
    worth = _worth_keeping(kernel, varying, level)
    made_on: dict[int, int] = {}  # of values worth keeping, the first walk that needs them
    for n, walk in enumerate(walks):
        seen: set[int] = set()
        pending = [v for v in roots[n] if varying[v]]
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in worth and made_on.setdefault(v, n) < n:
                walk.fetched.append(v)
                continue
            pending += [a for a in body[v].arguments if varying[a]]
        walk.computed = sorted(seen)
    kept = sorted({v for walk in walks for v in walk.fetched})
    for v in kept:
        walks[made_on[v]].kept.append(v)
    before: list[int] = []
    for i in _needed_uniform(kernel, varying, walks):
        (walks[level[i] - 1].uniform if level[i] and body[i].op != "reduce" else before).append(i)
    before = [i for i in before if body[i].op != "reduce"]
    made = Stages(kernel, varying, level, walks, before, kept, {})
    made.places = _places(made)
    seen_before: set[int] = set()
    for w in walks:
        read = {body[v].attribute[0] for v in w.computed if body[v].op == "load"}
        w.first = {i for i in read - seen_before if kernel.operands[i].view == "full"}
        seen_before |= read
    return made


def _needed_uniform(kernel: Kernel, varying: list[bool], walks: list[Walk]) -> list[int]:
    body = kernel.body
    needed: set[int] = set()
    pending = [i for i, one in enumerate(body) if one.op in ("store", "check") and not varying[i]]
    for w in walks:
        for v in (*w.computed, *w.reduces, *w.stores):
            if v not in w.fetched:
                pending += [a for a in body[v].arguments if not varying[a]]
    while pending:
        v = pending.pop()
        if v in needed:
            continue
        needed.add(v)
        if body[v].op != "reduce":
            pending += [a for a in body[v].arguments if not varying[a]]
    return sorted(needed)


def _places(s: Stages) -> dict[int, int]:
    """Results that have room for a kept value: of its type, and written after its last use."""
    found: dict[int, int] = {}
    body, operands = s.kernel.body, s.kernel.operands
    for v in s.kept:
        last = max(n for n, w in enumerate(s.walks) if v in w.fetched)
        for i, one in enumerate(body):
            if one.op != "store" or not s.varying[i] or one.attribute[0] in found.values():
                continue
            operand = operands[one.attribute[0]]
            if (
                operand.view == "full"
                and operand.dtype == body[v].type != "bool"
                and s.level[i] >= last
            ):
                found[v] = one.attribute[0]
                break
    return found
