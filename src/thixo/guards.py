"""Answers about sizes that were given while tracing, and hold only for some sizes.

Python asks some questions about a symbolic size at once (`if n > 3`). They are answered by the hint, the
size of the example at hand, and the answer is kept here as a guard.
"""

import operator
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from thixo.errors import TraceError, user_line

DECIDE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Guard(NamedTuple):
    """An answer given while tracing: `left op right` was `result`, asked at `line`."""

    left: Any  # an int or a Dim
    op: str
    right: Any
    result: bool
    line: str | None

    def holds(self, bindings: Mapping[str, int]) -> bool:
        """Whether other sizes give the same answer."""
        left, right = (
            x if isinstance(x, int) else x.evaluate(bindings) for x in (self.left, self.right)
        )
        return bool(DECIDE[self.op](left, right)) == self.result

    def __str__(self) -> str:
        op = self.op if self.result else _OPPOSITE[self.op]
        return f"{self.left} {op} {self.right}"


class _Active(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[list[Guard], set[str]]] = []


_active = _Active()


@contextmanager
def guards() -> Iterator[list[Guard]]:
    """Collect the answers given by hint inside of the `with` block, each once."""
    kept: list[Guard] = []
    _active.stack.append((kept, set()))
    try:
        yield kept
    finally:
        _active.stack.pop()


def collecting() -> bool:
    """Whether answers are collected: a program is being traced."""
    return bool(_active.stack)


def keep(guard: Guard) -> None:
    """Add a guard to the innermost collection, if there is one."""
    if _active.stack:
        kept, seen = _active.stack[-1]
        text = str(guard)
        if text not in seen:
            seen.add(text)
            kept.append(guard)


def assumed(left: Any, op: str, right: Any) -> bool:
    """Whether this answer is among those that the innermost collection has."""
    if not _active.stack:
        return False
    text = str(Guard(left, op, right, True, None))
    return any(str(guard) == text for guard in _active.stack[-1][0])


def decide(left: Any, op: str, right: Any) -> bool:
    """Answer `left op right`, by the hint and with a guard where it depends on the symbols."""
    known = compare(left, op, right)
    if known is not None:
        return known
    hint = (left - right).hint
    if hint is None:
        if op not in ("==", "!=") or not isinstance(right, int) or right not in (0, 1):
            raise TraceError(
                f"size: {left} {op} {right} is not known while tracing, "
                "and the program branches on it"
            )
        hint = 1  # a size that the data decide is taken to be neither 0 nor 1; the guard checks it
    result = bool(DECIDE[op](hint, 0))
    keep(Guard(left, op, right, result, user_line()))
    return result


def compare(left: Any, op: str, right: Any) -> bool | None:
    """Whether `left op right` for every value of the symbols; None where it depends on them.

    >>> from thixo.symbolic import Dim
    >>> n = Dim("n", low=2)
    >>> compare(n, ">", 1), compare(n, ">", 2), compare(2 * n, "==", n + n)
    (True, None, True)
    """
    difference = left - right
    if isinstance(difference, int):
        return bool(DECIDE[op](difference, 0))
    low, high = difference.bounds
    if low is not None and low > 0:
        return op in (">", ">=", "!=")
    if high is not None and high < 0:
        return op in ("<", "<=", "!=")
    if low == 0 and op in (">=", "<"):
        return op == ">="
    if high == 0 and op in ("<=", ">"):
        return op == "<="
    return None
