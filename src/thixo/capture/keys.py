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
    if isinstance(x, tuple) and any(isinstance(e, Dim | tuple) for e in x):
        parts = map(pinned, x)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x
