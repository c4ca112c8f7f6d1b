"""Open sizes where Python needs the number itself, such as keys of dicts and elements of sets, which compare by hash.

Such a size is assumed to stay what it is.
"""

from typing import Any

from thixo.capture.refusal import Refused
from thixo.symbolic import Dim


def pinned(x: Any) -> Any:
    """A key; an open size, or one in a tuple, as the number that it is, with a guard."""
    if isinstance(x, Dim):
        if x.hint is None:
            raise Refused(
                "a key of a dict or a set", "it is a size that the data decide", "use a tensor"
            )
        assert x == x.hint  # which is the guard
        return x.hint
    return tuple(map(pinned, x)) if type(x) is tuple and _holds_size(x) else x


def with_pinned(x: Any) -> Any:
    """A dict, a set or a sequence of keys that was just made."""
    if not isinstance(x, dict | set | frozenset | list) or not any(map(_holds_size, x)):
        return x
    if isinstance(x, dict):
        return {pinned(key): value for key, value in x.items()}
    return type(x)(map(pinned, x))


def _holds_size(x: Any) -> bool:
    return isinstance(x, Dim) or (type(x) is tuple and any(map(_holds_size, x)))
