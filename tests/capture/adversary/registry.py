"""What a hostile case is: a function, sets of arguments, and what changes between its calls."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import thixo as tx
from tests.programs.observe import Loaded

CASES: dict[str, Case] = {}


def _nothing(call: int) -> None:
    pass


@dataclass(frozen=True)
class Case:
    """One function; it is called on each set, and on the first once more."""

    function: Callable[..., Any]
    sets: tuple[Callable[[], tuple[Any, ...]], ...]
    changes: dict[
        str, Any
    ]  # globals of its file that it, or what happens between calls, changes: as they begin
    between: Callable[[int], None]  # happens before each call
    rough: bool = False

    @property
    def closed(self) -> bool:
        """Whether all it depends on are its arguments."""
        return not self.changes and self.between is _nothing

    @property
    def calls(self) -> list[tuple[int, int]]:
        return [(index, 0) for index in (*range(len(self.sets)), 0)]

    def load(self) -> Loaded:
        """The function, its globals as they were when the file was read."""
        scope = vars(sys.modules[self.function.__module__])
        scope.update(copy.deepcopy(self.changes))
        state = lambda: {name: scope[name] for name in self.changes}  # noqa: E731
        return Loaded(self.function, scope, state, before=self.between)

    def arguments(self, index: int, variant: int, loaded: Loaded) -> list[Any]:
        return list(self.sets[index]())

    def __repr__(self) -> str:
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"


def hostile(
    *sets: Callable[[], tuple[Any, ...]],
    changes: tuple[str, ...] = (),
    between: Callable[[int], None] = _nothing,
) -> Callable[[Any], Any]:
    """Register a function; with no sets it is called with 2, then -3, then 0.5."""

    def register(function: Any) -> Any:
        if function.__name__ in CASES:
            raise ValueError(f"two hostile cases are called {function.__name__}")
        scope = vars(sys.modules[function.__module__])
        begin = {name: copy.deepcopy(scope[name]) for name in changes}
        CASES[function.__name__] = Case(function, sets or NUMBERS, begin, between)
        return function

    return register


def t(values: Any) -> tx.Tensor:
    """A tensor that gradients are taken of."""
    return tx.tensor(values, dtype=tx.float64, requires_grad=True)


NUMBERS = (lambda: (t(2.0),), lambda: (t(-3.0),), lambda: (t(0.5),))
COUNTED = (lambda: (t(2.0), 3), lambda: (t(-1.0), 0), lambda: (t(0.4), 5))
VECTORS = (
    lambda: (t([1.0, -2.0, 3.0]),),
    lambda: (t([-5.0, 1.0]),),
    lambda: (t([0.1, 0.2, 0.3, 4.0]),),
)
