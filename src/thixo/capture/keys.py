"""Open sizes where Python needs the number itself, such as keys of dicts and elements of sets, which compare by hash.

Such a size is assumed to stay what it is.
"""

from typing import Any

from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import special
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
    if special(x, "hash") is not None or special(x, "eq") is not None:
        raise Refused(
            f"a {type(x).__name__} as a key or in a set",
            "its class says which are equal",
            "use a list, or plain keys",
        )
    if isinstance(x, tuple) and not all(isinstance(e, str | int) for e in x):
        parts = map(pinned, x)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x
