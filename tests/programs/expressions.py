"""Expressions of every kind, as text. All values stay small, so that no program ends in overflow."""

from __future__ import annotations

import random

from tests.programs.scope import Scope


class Expressions:
    """Writes expressions; `rich` ones use containers, objects and effects too."""

    def __init__(self, r: random.Random, rich: bool) -> None:
        self.r = r
        self.rich = rich
        self.unused = 0  # for names that are new

    def new(self, stem: str) -> str:
        """A name that was not there."""
        self.unused += 1
        return f"{stem}{self.unused}"

    def one(self, *choices: str) -> str:
        return self.r.choice(choices)

    def number(self) -> str:
        """A float that is written out."""
        return repr(round(self.r.uniform(-2, 2), 1))

    # ---- one number as a tensor

    def s(self, at: Scope, depth: int = 2) -> str:
        """A single number as a tensor."""
        r = self.r
        if depth <= 0 or r.random() < 0.15:
            return r.choice(at.of("s"))
        a, b = (self.s(at, depth - 1) for _ in range(2))
        makers = [
            (6, lambda: f"({a} {self.one('+', '-')} {b})"),
            (4, lambda: f"({a} {self.one('+', '-')} {self.number()})"),
            (4, lambda: f"({a} * {self.one('0.5', '-0.7', '1.1', '0.3')})"),
            (3, lambda: f"tx.{self.one('tanh', 'sin', 'cos', 'sigmoid')}({a})"),
            (2, lambda: f"({a} * tx.tanh({b}))"),
            (1, lambda: f"({a} / (1 + abs({b})))"),
            (1, lambda: f"-{a}"),
            (2, lambda: f"{self.v(at, depth - 1)}.{self.one('sum', 'mean', 'max', 'min')}()"),
            (1, lambda: f"{self.v(at, 0)}[{self.one('0', '-1')}]"),
            (2, lambda: f"({a} + {self.i(at, depth - 1)})"),
            (2, lambda: f"({a} if {self.c(at, depth - 1)} else {b})"),
            (1, lambda: f"tx.where({a} > {self.number()}, {a}, {b})"),
            (1, lambda: f"tx.{self.one('maximum', 'minimum')}({a}, {b})"),
            (
                1,
                lambda: (
                    f"{a}.{self.one('detach()', 'to(tx.float32)', 'to(tx.float64)', 'clone()')}"
                ),
            ),
            (1, lambda: f"tx.tensor({self.number()})"),
            (1, lambda: f"({a} > {b}).to(tx.float64)"),
            (1, lambda: f"({a}).to(tx.int64)"),
            (1, lambda: f"{self.m(at, depth - 1)}.mean()"),
        ]
        if at.tensors:
            makers.append((1, lambda: f"{self.one('max', 'min')}({a}, {b})"))
        if at.of("f"):
            makers.append((6, lambda: f"{r.choice(at.of('f'))}({a})"))
        if self.rich:
            makers += self._rich_s(at, depth, a)
        return self.pick(makers)

    def _rich_s(self, at: Scope, depth: int, a: str) -> list:
        r = self.r
        makers = [
            (1, lambda: "tx.rand((), dtype=tx.float64)"),
            (1, lambda: f"LAYER({self.m(at, depth - 1)}).mean()"),
            (1, lambda: f"(lambda p: p * {self.number()} + {a})({self.s(at, 0)})"),
        ]
        if at.of("l"):
            items = r.choice(at.of("l"))
            makers += [
                (2, lambda: f"sum({items}, {a})"),
                (1, lambda: f"({items}[{self.one('-1', '0')}] if {items} else {a})"),
                (1, lambda: f"sum([p * {self.number()} for p in {items}], {a})"),
                (1, lambda: f"sum((p for p in {items} if {self.c(at, depth - 1, of='p')}), {a})"),
            ]
        if at.of("t"):
            table = r.choice(at.of("t"))
            makers.append((1, lambda: f"{table}.get({self.key()}, {a})"))
            makers.append((1, lambda: f"sum({table}.values(), {a})"))
        if at.of("o"):
            box = r.choice(at.of("o"))
            makers.append((2, lambda: f"{box}.{self.one('v', 'twice', 'bump()')}"))
        return makers

    def pick(self, makers: list) -> str:
        weights = [weight for weight, _ in makers]
        return self.r.choices([make for _, make in makers], weights)[0]()

    # ---- vectors and matrices

    def v(self, at: Scope, depth: int = 2) -> str:
        """A vector; all have one size."""
        r = self.r
        if depth <= 0 or r.random() < 0.2:
            return r.choice(at.of("v") + at.of("w"))
        a, b = (self.v(at, depth - 1) for _ in range(2))
        makers = [
            (4, lambda: f"({a} {self.one('+', '-')} {b})"),
            (3, lambda: f"({a} * {self.one('0.5', '-0.6', '1.1')})"),
            (3, lambda: f"({a} {self.one('+', '-')} {self.s(at, depth - 1)})"),
            (2, lambda: f"tx.{self.one('tanh', 'relu', 'sin')}({a})"),
            (1, lambda: f"tx.where({a} > {self.s(at, 0)}, {a}, {b})"),
            (1, lambda: f"{self.m(at, depth - 1)}.{self.one('sum', 'mean')}(1)"),
            (1, lambda: f"{a}.flip(0)"),
            (1, lambda: f"tx.cumsum({a}, 0)"),
            (1, lambda: f"({a} if {self.c(at, depth - 1)} else {b})"),
            (1, lambda: f"({a}).{self.one('to(tx.float32)', 'double()', 'clone()')}"),
        ]
        if self.rich:
            makers.append((1, lambda: f"tx.rand_like({a})"))
            makers.append((1, lambda: f"tx.stack([p * 0.5 for p in {a}])"))
        return self.pick(makers)

    def m(self, at: Scope, depth: int = 2) -> str:
        """A matrix with as many rows as vectors have elements, and three columns."""
        if depth <= 0 or self.r.random() < 0.3:
            return self.r.choice(at.of("m"))
        a = self.m(at, depth - 1)
        return self.one(
            f"({a} + {self.m(at, 0)})",
            f"({a} * {self.v(at, 0)}[:, None])",
            f"tx.tanh({a})",
            f"({a} - {self.s(at, 0)})",
            f"LAYER({a})",
            f"{a}.flip(1)",
        )

    # ---- numbers of Python

    def i(self, at: Scope, depth: int = 2) -> str:
        """An int of Python (or what it becomes where a tensor chose it)."""
        r = self.r
        if depth <= 0 or not at.of("i"):
            return r.choice([*at.of("i"), str(r.randint(-2, 4))])
        a, b = self.i(at, depth - 1), self.i(at, depth - 1)
        choices = [
            f"({a} {self.one('+', '-', '*')} {b}) % {r.randint(2, 7)}",
            f"{a} // {r.randint(2, 3)}",
            f"{self.one('max', 'min')}({a}, {b})",
            f"({a} if {self.c(at, depth - 1)} else {b})",
            f"{r.choice(at.of('v'))}.shape[0]",
            str(r.randint(-2, 5)),
            a,
        ]
        if self.rich:
            choices += [f"len({name})" for name in at.of("l") + at.of("k")]
            choices += [f"{name}.n" for name in at.of("o")]
        return f"({r.choice(choices)})"

    def key(self) -> str:
        return self.one("'a'", "'b'", "'c'")

    # ---- conditions

    def c(self, at: Scope, depth: int = 2, of: str | None = None) -> str:
        """A condition: of a tensor's value, or of Python's. `of` is a tensor that it is about."""
        r = self.r
        if depth > 0 and r.random() < 0.4:
            return self._compound(at, depth, of)
        if of is not None or (at.tensors and r.random() < 0.65):
            return self._tensor_condition(at, depth, of)
        return self._python_condition(at, depth)

    def _compound(self, at: Scope, depth: int, of: str | None) -> str:
        a, b = self.c(at, depth - 1, of), self.c(at, depth - 1)
        return self.one(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"(not ({a} and {b}))")

    def _tensor_condition(self, at: Scope, depth: int, of: str | None) -> str:
        if not at.tensors:
            return self._python_condition(at, depth)
        a = of or self.s(at, depth - 1)
        return self.pick(
            [
                (5, lambda: f"{a} {self.one('>', '<', '>=', '<=')} {self.number()}"),
                (4, lambda: f"{a} > {self.s(at, depth - 1)}"),
                (3, lambda: f"{self.number()} < {a} {self.one('<', '<=')} {self.s(at, 0)}"),
                (1, lambda: f"{a} < {self.s(at, 0)} < {self.s(at, 0)}"),
                (1, lambda: f"({self.v(at, depth - 1)} > {a}).{self.one('any', 'all')}()"),
                (1, lambda: f"{self.v(at, depth - 1)}.sum() > {self.number()}"),
                (1, lambda: f"bool({a} > 0)"),
            ]
        )

    def _python_condition(self, at: Scope, depth: int) -> str:
        r = self.r
        choices = [
            f"{self.i(at, depth - 1)} {self.one('>', '<', '==', '!=', '>=')} {r.randint(-1, 4)}",
            f"{r.randint(-1, 1)} < {self.i(at, depth - 1)} <= {r.randint(2, 4)}",
            f"{self.i(at, 0)} {self.one('in', 'not in')} (1, 2, 5)",
            f"{self.i(at, 0)} % 2 == {self.one('0', '1')}",
            *at.of("b"),
        ]
        if self.rich:
            choices += at.of("l")
            choices += [f"{self.key()} {self.one('in', 'not in')} {name}" for name in at.of("t")]
            choices += [f"{self.i(at, 0)} in {name}" for name in at.of("k")]
            choices += [f"isinstance({self.i(at, 0)}, int)"]
        return r.choice(choices)
