"""What a program being written knows: the names that are there, of which kind, and where in the program we are.

Kinds are letters: s a single number as a tensor, v a vector, m a matrix, w a vector that may be written in place, i a Python int,
b a Python bool, l a list of single tensors, t a dict of them, k a set of ints, o an object, f a function of one tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass
class Scope:
    """Names by kind, and what may be written here."""

    names: dict[str, list[str]] = field(default_factory=dict)
    returns: str | None = (
        "program"  # what `return` gives here: the results, one "s", or nothing may return
    )
    in_loop: bool = False  # break and continue may be written
    depth: int = 3  # how many more blocks may be nested
    turns: int = 1  # how often this place runs at most
    shared: frozenset[str] = (
        frozenset()
    )  # names of an outer function: nonlocal before they are bound
    tensors: bool = True  # conditions may depend on tensors

    def of(self, kind: str) -> list[str]:
        """The names of a kind."""
        return self.names.get(kind, [])

    def add(self, kind: str, name: str) -> str:
        """A name that is there from now on; of this kind only."""
        for others in self.names.values():
            if name in others:
                others.remove(name)
        self.names.setdefault(kind, []).append(name)
        return name

    def inner(self, **changes: object) -> Scope:
        """The scope of a block: what it defines is not known outside."""
        changes.setdefault("depth", self.depth - 1)
        names = {kind: list(names) for kind, names in self.names.items()}
        return replace(self, names=names, **changes)  # type: ignore[arg-type]
