"""Accumulators of reductions: several vectors side by side, in a tree where rounding matters.

Sums of floats are added up in leaves of a fixed number of steps; the leaves' sums are added pairwise, by a binary
counter whose digits are sums of 2^level leaves. The tree follows from the sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo.codegen.instructions import Instruction, is_float, is_integer, is_signed, width
from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.lanes import REGISTER, Lanes
from thixo.codegen.llvm.target import Target

LEVELS = 40  # digits of the counter


def identity(combiner: str, type: str) -> Any:
    """What changes nothing."""
    if combiner in ("add", "or"):
        return 0
    if combiner == "mul":
        return 1
    if combiner == "and":
        return True if type == "bool" else -1
    low = combiner == "max"
    if is_float(type):
        return float("-inf") if low else float("inf")
    if type == "bool":
        return not low
    lowest = -(1 << width(type) - 1) if is_signed(type) else 0
    return lowest if low else lowest + (1 << width(type)) - 1


def combine(lanes: Lanes, combiner: str, type: str, a: str, b: str) -> str:
    """Two partial results in one; a NaN is kept by max and min."""
    f, register = lanes.f, lanes.type(type)
    if combiner in ("add", "mul", "and", "or"):
        return lanes.run(Instruction(combiner, type, (0, 1)), (type, type), (a, b))
    if type == "bool":
        return f.op(f"{'or' if combiner == 'max' else 'and'} {register} {a}, {b}")
    if is_integer(type):
        return f.intrinsic(("s" if is_signed(type) else "u") + combiner, register, a, b)
    # As processors have it in one instruction: a NaN in `a` stays. One in `b` is known before `a` is.
    choice = lanes.type("bool")
    better = f.op(f"fcmp {'ogt' if combiner == 'max' else 'olt'} {register} {b}, {a}")
    found = f.op(f"select {choice} {better}, {register} {b}, {register} {a}")
    lost = f.op(f"fcmp uno {register} {b}, {b}")
    return f.op(f"select {choice} {lost}, {register} {b}, {register} {found}")


def exact_factors(
    body: Sequence[Instruction], reduce: Instruction, target: Target
) -> tuple[int, int] | None:
    """The factors of a sum of products that double precision holds exactly: one step then rounds as two would."""
    product = body[reduce.arguments[0]]
    if (
        reduce.attribute != "add"
        or product.op != "mul"
        or product.type != "f64"
        or not target.triple
    ):
        return None
    for a in product.arguments:
        if body[a].op != "cast" or body[body[a].arguments[0]].type != "f32":
            return None
    return product.arguments[0], product.arguments[1]


def across_lanes(lanes: Lanes, combiner: str, type: str, value: str) -> str:
    """All lanes of a vector in one, by halves."""
    f, count = lanes.f, lanes.count
    while count > 1:
        half = Lanes(f, count // 2, lanes.target)
        whole = vector(REGISTER[type], count)
        parts = []
        for first in (0, count // 2):
            places = ", ".join(f"i32 {i}" for i in range(first, first + count // 2))
            if count == 2:
                parts.append(f.op(f"extractelement {whole} {value}, i64 {first}"))
            else:
                parts.append(
                    f.op(
                        f"shufflevector {whole} {value}, {whole} poison, <{count // 2} x i32> <{places}>"
                    )
                )
        value = combine(half, combiner, type, *parts)
        count //= 2
    return value


def across_rows(lanes: Lanes, combiner: str, type: str, values: Sequence[str]) -> str:
    """As many vectors as each has lanes: all lanes of the first are lane 0 of the result, and so on.

    Lanes are folded by halves, of two vectors in one step.
    """
    f, count, whole = lanes.f, lanes.count, lanes.type(type)
    made, size = list(values), lanes.count
    while size > 1:
        size //= 2
        firsts = range(0, 2 * count, 2 * size)
        halves = [
            ", ".join(f"i32 {start + at + i}" for start in firsts for i in range(size))
            for at in (0, size)
        ]
        made = [
            combine(lanes, combiner, type, *(
                f.op(f"shufflevector {whole} {a}, {whole} {b}, <{count} x i32> <{half}>") for half in halves
            ))
            for a, b in zip(made[::2], made[1::2], strict=True)
        ]  # fmt: skip
    return made[0]


class Accumulator:
    """One reduction: for each of `groups` results, `copies` vectors that are folded at the end of a leaf.

    `blocks` of such may take turns: of those that are left the vectors are saved in memory.
    """

    def __init__(self, lanes: Lanes, one: Instruction, groups: int, copies: int,
                 blocks: int = 0, levels: int = LEVELS) -> None:  # fmt: skip
        self.lanes, self.type, self.combiner = lanes, one.type, one.attribute
        self.tree = self.combiner == "add" and is_float(self.type)
        self.register = lanes.type(self.type)
        f = lanes.f
        self.parts = [[f.variable(self.register) for _ in range(copies)] for _ in range(groups)]
        self.start = lanes.constant(identity(self.combiner, self.type), self.type)
        self.room = levels * groups  # digits of a block
        self.digits = self.all_digits = (
            f.variable(f"[{max(1, blocks) * self.room} x {self.register}]") if self.tree else ""
        )
        self.saved = self.all_saved = (
            f.variable(f"[{blocks * groups * copies} x {self.register}]") if blocks else ""
        )

    def turn_to(self, block: str) -> None:
        """Of several blocks this is the one that is meant from here on."""
        f, each = self.lanes.f, sum(map(len, self.parts))
        self.saved = f.at(self.all_saved, f.mul(block, each), self.register)
        if self.tree:
            self.digits = f.at(self.all_digits, f.mul(block, self.room), self.register)

    def save(self) -> None:
        """Until the block's next turn."""
        f = self.lanes.f
        for i, part in enumerate(part for group in self.parts for part in group):
            f.store(self.register, f.load(self.register, part), f.at(self.saved, i, self.register))

    def restore(self) -> None:
        """What was saved."""
        f = self.lanes.f
        for i, part in enumerate(part for group in self.parts for part in group):
            f.store(self.register, f.load(self.register, f.at(self.saved, i, self.register)), part)

    def reset(self) -> None:
        """To what changes nothing."""
        for group in self.parts:
            for part in group:
                self.lanes.f.store(self.register, self.start, part)

    def take(self, group: int, copy: int, value: str, mask: str | None = None) -> None:
        """One more vector of values; lanes outside of the mask do not count."""
        f, part = self.lanes.f, self.parts[group][copy]
        if mask is not None:
            value = f.op(
                f"select {self.lanes.type('bool')} {mask}, {self.register} {value}, {self.register} {self.start}"
            )
        f.store(
            self.register,
            combine(self.lanes, self.combiner, self.type, f.load(self.register, part), value),
            part,
        )

    def take_product(self, group: int, copy: int, a: str, b: str, mask: str | None = None) -> None:
        """One more vector of products, multiplied and added in one step."""
        f, part = self.lanes.f, self.parts[group][copy]
        if mask is not None:
            a = f.op(
                f"select {self.lanes.type('bool')} {mask}, {self.register} {a}, {self.register} {self.start}"
            )
            b = f.op(
                f"select {self.lanes.type('bool')} {mask}, {self.register} {b}, {self.register} {self.start}"
            )
        f.store(
            self.register,
            f.intrinsic("fma", self.register, a, b, f.load(self.register, part)),
            part,
        )

    def take_one(self, value: str) -> None:
        """One more value, where a vector would be too long."""
        f = self.lanes.f
        if self.lanes.count > 1:
            element = REGISTER[self.type]
            base = f.variable(
                self.register, self.start
            )  # insertelement takes no splat constant as its vector
            value = f.op(
                f"insertelement {self.register} {f.load(self.register, base)}, {element} {value}, i64 0"
            )
        self.take(0, 0, value)

    def folded(self) -> list[str]:
        """Each group's copies in one, by halves."""
        f, made = self.lanes.f, []
        for group in self.parts:
            values = [f.load(self.register, part) for part in group]
            while len(values) > 1:
                half = len(values) // 2
                values = [combine(self.lanes, self.combiner, self.type, a, b)
                          for a, b in zip(values[:half], values[half:], strict=True)]  # fmt: skip
            made.append(values[0])
        return made

    def digit(self, level: str, group: int | str) -> str:
        """Where the sum of 2^level leaves is kept."""
        f = self.lanes.f
        at = f.add(f.mul(level, len(self.parts)), group) if len(self.parts) > 1 else level
        return f.at(self.digits, at, self.register)


class Tree:
    """The reductions of one walk; those that are trees share a counter."""

    def __init__(self, f: Function, accumulators: Sequence[Accumulator]) -> None:
        self.f, self.all = f, list(accumulators)
        self.trees = [a for a in accumulators if a.tree]
        if self.trees:
            self.begun = f.variable("i64", align=8)

    def reset(self) -> None:
        """Nothing is accumulated yet."""
        for one in self.all:
            one.reset()
        if self.trees:
            self.f.store("i64", "0", self.begun)

    def begin_leaf(self) -> None:
        """Put the leaf before this one into the counter."""
        if not self.trees:
            return
        f = self.f
        begun = f.load("i64", self.begun)
        with f.when(f.compare("ne", begun, 0)):
            self.push(f.sub(begun, 1))
            for one in self.trees:
                one.reset()
        f.store("i64", f.add(begun, 1), self.begun)

    def push(self, count: str) -> None:
        """Put a leaf into the counter, in which so many are."""
        f = self.f
        rest, level = f.variable("i64", count, align=8), f.variable("i64", "0", align=8)
        carried = [[f.variable(a.register, v) for v in a.folded()] for a in self.trees]
        with self.while_left(rest, lambda left: f.op(f"trunc i64 {left} to i1")):
            at = f.load("i64", level)
            for one, places in zip(self.trees, carried, strict=True):
                for group, place in enumerate(places):
                    digit = f.load(one.register, one.digit(at, group))
                    f.store(
                        one.register,
                        combine(one.lanes, "add", one.type, digit, f.load(one.register, place)),
                        place,
                    )
            f.store("i64", f.add(at, 1), level)
        at = f.load("i64", level)
        for one, places in zip(self.trees, carried, strict=True):
            for group, place in enumerate(places):
                f.store(one.register, f.load(one.register, place), one.digit(at, group))

    def while_left(self, rest: str, condition: Any) -> Any:
        """While the condition holds of what is left of the count; each turn drops its last bit."""
        import contextlib

        @contextlib.contextmanager
        def run() -> Any:
            f = self.f
            head, body, after = f.label(), f.label(), f.label()
            f.jump(head)
            f.place(head)
            left = f.load("i64", rest)
            f.line(f"br i1 {condition(left)}, label %{body}, label %{after}")
            f.place(body)
            yield
            f.store("i64", f.op(f"lshr i64 {left}, 1"), rest)
            f.line(f"br label %{head}, !llvm.loop !0")
            f.place(after)

        return run()

    def finish(self) -> dict[int, list[str]]:
        """For each reduction (by its place among them) the vectors of its groups."""
        f = self.f
        made = {i: one.folded() for i, one in enumerate(self.all)}
        if not self.trees:
            return made
        totals = {
            i: [f.variable(one.register, v) for v in made[i]]
            for i, one in enumerate(self.all)
            if one.tree
        }
        begun = f.load("i64", self.begun)
        with f.when(f.compare("sgt", begun, 1)):
            rest, level = (
                f.variable("i64", f.sub(begun, 1), align=8),
                f.variable("i64", "0", align=8),
            )
            with self.while_left(rest, lambda left: f.compare("ne", left, 0)):
                at = f.load("i64", level)
                with f.when(f.op(f"trunc i64 {f.load('i64', rest)} to i1")):
                    for i, places in totals.items():
                        one = self.all[i]
                        for group, place in enumerate(places):
                            digit = f.load(one.register, one.digit(at, group))
                            total = f.load(one.register, place)
                            f.store(
                                one.register,
                                combine(one.lanes, "add", one.type, digit, total),
                                place,
                            )
                f.store("i64", f.add(at, 1), level)
        for i, places in totals.items():
            made[i] = [f.load(self.all[i].register, place) for place in places]
        return made
