"""Whether two calls did the same."""

from __future__ import annotations

from tests.programs.observe import Observation
from tests.programs.values import unlike


def difference(
    expected: Observation,
    found: Observation,
    *,
    effects: bool = True,
    loose: bool = False,
    rough: bool = False,
) -> str | None:
    """How the second differs from the first, None if it does not.

    `effects`: what globals became and what was printed counts too. `loose`: a tensor of one element is as good as
    Python's number. `rough`: gradients went through float32.
    """  # fmt: skip
    if expected.error is not None or found.error is not None:
        one, other = (type(o.error).__name__ if o.error else "no error" for o in (expected, found))
        if one == other:
            return None
        return f"error: {one} in Python, here {other}" + (f": {found.error}" if found.error else "")
    parts = ["result", "arguments", "numbers", "gradients"]
    if effects:
        parts = ["result", "printed", "arguments", "globals", "numbers", "gradients"]
    for part in parts:
        a, b = getattr(expected, part), getattr(found, part)
        if part == "gradients" and isinstance(a, str):
            continue  # a write over what a gradient needs: a graph has none
        problem = unlike(a, b, loose, rough and part == "gradients")
        if problem is not None:
            return f"{part}{problem}"
    return None
