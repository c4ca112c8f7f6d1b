"""Whether two values are the same: numbers nearly, everything else exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

CLOSE = 1e-6  # of float64, relative; what has fewer digits gets more room
ROUGH = 2e-4


def unlike(a: Any, b: Any, loose: bool = False, rough: bool = False) -> str | None:
    """Where and how two values differ."""
    if loose and _is_number(a) and isinstance(b, np.ndarray) and b.size == 1:
        b = b.reshape(()).item()
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _arrays_unlike(a, b, rough)
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return f": keys {list(a)}, here {list(b)}"
        return _first((f"[{key!r}]", unlike(a[key], b[key], loose, rough)) for key in a)
    if type(a) is not type(b):
        return f": {a!r}, here {b!r}"
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return f": {len(a)} items, here {len(b)}"
        pairs = enumerate(zip(a, b, strict=True))
        return _first((f"[{i}]", unlike(p, q, loose, rough)) for i, (p, q) in pairs)
    if isinstance(a, float) and np.isclose(a, b, CLOSE, 1e-9, equal_nan=True):
        return None
    return None if a == b else f": {a!r}, here {b!r}"


def _arrays_unlike(a: Any, b: Any, rough: bool) -> str | None:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return f": {a!r}, here {b!r}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f": {a.dtype}{list(a.shape)}, here {b.dtype}{list(b.shape)}"
    if a.dtype.kind in "biu":
        same = np.array_equal(a, b)
    else:
        near = ROUGH if rough or a.dtype.itemsize < 8 else CLOSE
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=1.0)
        same = np.allclose(a, b, near, near * 1e-3 * largest, equal_nan=True)
    return None if same else f": {a.tolist()}, here {b.tolist()}"


def _first(problems: Any) -> str | None:
    return next((where + problem for where, problem in problems if problem is not None), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)
