"""Match statements at run time: Python's own, where no pattern compares with what the data decide."""

from collections import deque
from typing import Any

from thixo.capture.effects import is_open
from thixo.capture.values import Symbolic, is_partial, is_ragged


def meets(pattern: Any, x: Any) -> bool:
    """Whether a pattern (`convert/patterns.py`) compares a value with what the data decide."""
    if pattern is None:
        return False
    if pattern == "object":
        return isinstance(x, Symbolic)
    if pattern == "value" or pattern[0] == "literal":
        return isinstance(x, Symbolic) or (is_open(x) and not isinstance(x, dict))
    if isinstance(x, Symbolic) or is_ragged(x) or is_partial(x):
        return True
    kind, parts, *more = pattern
    if kind == "either":
        return any(meets(p, x) for p in parts)
    if kind == "mapping":
        if not isinstance(x, dict) or not all(k in x for k in more[0]):
            return False
        return _one_after_another(parts, [x[k] for k in more[0]])
    if not isinstance(x, list | tuple | deque):
        return False
    x, (star,) = list(x), more
    if star is None:
        return len(x) == len(parts) and _one_after_another(parts, x)
    if len(x) < len(parts) - 1:
        return False
    behind = len(parts) - 1 - star
    return _one_after_another(
        (*parts[:star], *parts[star + 1 :]), [*x[:star], *x[len(x) - behind :]]
    )


def _one_after_another(parts: Any, values: list[Any]) -> bool:
    """The same for parts of a pattern: Python goes no further than to the first that does not match."""
    for part, value in zip(parts, values, strict=True):
        if meets(part, value):
            return True
        if type(part) is tuple and part[0] == "literal" and value != part[1]:
            return False
    return False
