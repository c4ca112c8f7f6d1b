"""A program: its text, and the arguments that lead it along different paths."""

from __future__ import annotations

import itertools
import linecache
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import thixo as tx
from tests.programs.flow import Flow
from tests.programs.observe import Loaded
from tests.programs.scope import Scope
from tests.programs.statements import indented

NAME = "program"
SETS = 3
GLOBALS = ("COUNT", "LOG", "TABLE", "STATE")

PRELUDE = """\
import contextlib

import thixo as tx

COUNT = 0
LOG = []
TABLE = {}
LAYER = tx.nn.Linear(3, 3, dtype=tx.float64)


class Box:
    def __init__(self, v, n=1):
        self.v, self.n, self.items = v, n, []

    @property
    def twice(self):
        return self.v * 2 if self.n % 2 else self.v

    def bump(self):
        self.v = self.v * 0.5
        self.n += 1
        return self.v


STATE = Box(tx.tensor(0.5, dtype=tx.float64))


class Tally:
    def __init__(self, n):
        self.n = n

    def __enter__(self):
        LOG.append("in")
        return self

    def __exit__(self, kind, error, trace):
        LOG.append(self.n)
        return False


@contextlib.contextmanager
def noted(word):
    LOG.append(word)
    try:
        yield
    finally:
        LOG.append("out")


def change_count(by):
    global COUNT
    COUNT = (COUNT + by) % 50
    return COUNT

"""

# What a program may be given: name, kind. The first six are always there.
PARAMETERS = [("x", "s"), ("y", "s"), ("v", "v"), ("m", "m"), ("n", "i"), ("flag", "b")]
OPTIONAL = [("k", "i"), ("w", "w"), ("items", "l"), ("table", "t"), ("box", "o")]


@dataclass(frozen=True)
class Program:
    """Text that defines a function `program`, and what it is called with."""

    text: str
    parameters: tuple[tuple[str, str], ...]
    seed: str  # of the arguments, and in the file's name
    rich: bool  # has containers, objects and effects
    tensors: bool  # has conditions that depend on tensors' values

    @property
    def file(self) -> str:
        return f"<program {self.seed}>"

    @property
    def calls(self) -> list[tuple[int, int]]:
        """Sets and variants of arguments, one after the other on one captured function; the first comes back at the end."""
        return [(0, 0), (1, 0), (0, 1), (2, 0), (0, 0)]

    @property
    def rough(self) -> bool:
        """Whether gradients go through fewer digits."""
        own = self.text.partition(f"def {NAME}(")[2]
        return any(word in own for word in ("float32", "tx.tensor", "int64"))

    closed = True

    def load(self) -> Loaded:
        """The program, all state new; its source can be inspected."""
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(True), self.file)
        scope: dict[str, Any] = {"__name__": "random_program", "__file__": self.file}
        tx.manual_seed(1)
        exec(compile(self.text, self.file, "exec"), scope)
        state = lambda: {name: scope[name] for name in GLOBALS}  # noqa: E731
        return Loaded(scope[NAME], scope, state, list(scope["LAYER"].parameters()))

    def arguments(self, index: int, variant: int, loaded: Loaded) -> list[Any]:
        """New arguments of one set; the sets differ in signs, sizes and counts, variants in tensors alone."""
        draw = np.random.default_rng([index, variant, *self.seed.encode()])
        number = lambda *shape: np.round(draw.normal(0, 1.3, shape), 2)  # noqa: E731
        size, count = ((3, 3), (4, 1), (2, 4))[index % SETS]
        size += variant
        leaf = lambda *shape: tx.tensor(number(*shape), requires_grad=True)  # noqa: E731
        made = {
            "x": lambda: leaf(),
            "y": lambda: leaf(),
            "v": lambda: leaf(size),
            "m": lambda: leaf(size, 3),
            "n": lambda: count,
            "flag": lambda: bool(index % 2),
            "k": lambda: index * 3 - 2,
            "w": lambda: tx.tensor(number(size)),
            "items": lambda: [tx.tensor(number()) for _ in range(index + 1)],
            "table": lambda: {"a": tx.tensor(number()), **({"b": tx.tensor(number())} if index else {})},
            "box": lambda: loaded.scope["Box"](tx.tensor(number()), index),
        }  # fmt: skip
        return [made[name]() for name, _ in self.parameters]


class Generator:
    """Programs by number."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def make(self, number: int) -> Program:
        """The program of a number: three in ten plain, two in ten without conditions on tensors."""
        r = random.Random(f"{self.seed} {number}")
        rich, tensors = r.random() < 0.7, r.random() < 0.8
        writer = Flow(r, rich)
        extra = OPTIONAL if rich else OPTIONAL[:2]
        parameters = PARAMETERS + [p for p in extra if r.random() < 0.6]
        writer.results = r.choice(
            [("s", "v", "i"), ("s",), ("v", "s"), ("s", "i", "m"), ("i", "s")]
        )
        writer.arguments = frozenset(name for name, _ in parameters)
        at = Scope(tensors=tensors)
        for name, kind in parameters:
            at.add(kind, name)
        at.names["s"] += ["a", "b"]
        at.names["i"] += ["j"]
        lines = [f"a, b, j = x * {writer.number()}, y + {writer.number()}, {r.randint(0, 3)}"]
        lines += writer.block(at, r.randint(7, 16))
        lines.append(self._end(writer, at))
        if any("COUNT = " in line for line in lines):
            lines.insert(0, "global COUNT")
        head = f"def {NAME}({', '.join(name for name, _ in parameters)}):"
        text = PRELUDE + "\n" + "\n".join([head, *indented(lines)]) + "\n"
        return Program(text, tuple(parameters), f"{self.seed} {number}", rich, tensors)

    def _end(self, writer: Flow, at: Scope) -> str:
        """Most that is there goes into the results, so that a difference shows."""
        sums = {"s": " + ".join(at.of("s")), "i": " + ".join(at.of("i"))}
        sums["v"] = " + ".join(at.of("v") + at.of("w"))
        sums["m"] = " + ".join(at.of("m"))
        if writer.rich and writer.r.random() < 0.5:
            lengths = [f" + len({name})" for name in at.of("l") + at.of("t") + at.of("k")]
            sums["s"] += "".join(lengths)
        rest = at.of("l") + at.of("t") + at.of("k")
        if writer.returns_early or writer.r.random() < 0.5:
            rest = []  # early returns give the same kinds
        return "return " + ", ".join([*(sums[kind] for kind in writer.results), *rest])

    def programs(self, count: int, start: int = 0) -> Any:
        """So many from a number on."""
        return map(self.make, itertools.islice(itertools.count(start), count))
