"""Other roads to an operator's meaning: slow loops over Python numbers, scipy, mpmath.

A reference takes an operator's arguments in order; tensors are NumPy arrays (float64, complex128,
integers, bool) and all else is as the user gave it.
"""

import cmath
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def elementwise(fn: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """A reference that applies `fn` to one Python number of each array at a time.

    A function of `cmath` is replaced by its namesake in `math` where all inputs are real. A domain
    error is NaN and an overflow infinity, as IEEE says; integers wrap.

    >>> elementwise(math.sqrt)(np.array([4.0, -1.0]))
    array([ 2., nan])
    """
    real_fn = getattr(math, fn.__name__, fn) if fn.__module__ == "cmath" else fn

    def reference(*args: Any) -> np.ndarray:
        where = [i for i, a in enumerate(args) if isinstance(a, (np.ndarray, np.generic))]
        arrays = np.broadcast_arrays(*(args[i] for i in where))
        is_complex = any(a.dtype.kind == "c" for a in arrays)
        chosen = fn if is_complex or any(isinstance(a, complex) for a in args) else real_fn
        values = list(args)
        results = []
        for element in zip(*(a.ravel().tolist() for a in arrays), strict=True):
            for i, value in zip(where, element, strict=True):
                values[i] = value
            results.append(_call(chosen, values))
        return _array(results).reshape(arrays[0].shape)

    return reference


def _call(fn: Callable[..., Any], values: list[Any]) -> Any:
    try:
        return fn(*values)
    except OverflowError:
        return _overflow(fn, values)
    except (ValueError, ZeroDivisionError):
        return math.nan


def _overflow(fn: Callable[..., Any], values: list[Any]) -> float:
    # Half the argument has the sign the true result has, for the monotonous functions that overflow.
    first = values[0]
    if isinstance(first, complex):
        return math.nan
    try:
        return math.copysign(math.inf, fn(*(first / 2, *values[1:])))
    except OverflowError:
        return math.copysign(math.inf, first) if fn is math.sinh else math.inf


def _array(results: list[Any]) -> np.ndarray:
    if all(isinstance(r, bool) for r in results) and results:
        return np.array(results, bool)
    if all(isinstance(r, int) for r in results) and results:
        return np.array([_wrap(int(r)) for r in results], np.int64)
    if any(isinstance(r, complex) for r in results):
        return np.array(results, np.complex128)
    return np.array(results, np.float64)


def _wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def real_or_complex(
    real_fn: Callable[..., Any], complex_fn: Callable[..., Any]
) -> Callable[..., np.ndarray]:
    """`elementwise` with one function for real and another for complex arguments."""
    real, cplx = elementwise(real_fn), elementwise(complex_fn)

    def reference(*args: Any) -> np.ndarray:
        return (cplx if any(np.iscomplexobj(a) for a in args) else real)(*args)

    return reference


def with_limits(fn: Callable[..., Any], limits: dict[float, float]) -> Callable[..., Any]:
    """`fn` with its limits at some points, where Python's own raises: {0.0: -inf} for log.

    >>> with_limits(math.log, {0.0: -math.inf})(0.0)
    -inf
    """

    def limited(x: Any, *rest: Any) -> Any:
        return limits[x] if x in limits else fn(x, *rest)

    return limited


def from_scipy(name: str) -> Callable[..., np.ndarray]:
    """A function of scipy by its name, "special.erf"; scipy is imported when it is first called."""

    def reference(*args: Any) -> np.ndarray:
        module, _, function = name.rpartition(".")
        found = getattr(importlib.import_module(f"scipy.{module}"), function)
        with np.errstate(all="ignore"):
            return np.asarray(found(*(_as_float(a) for a in args)))

    return reference


def from_mpmath(fn: Callable[..., Any] | str) -> Callable[..., np.ndarray]:
    """A function of mpmath, by name or as fn(mpmath, x, ...), on one number at a time."""

    def apply(*values: Any) -> Any:
        import mpmath

        with mpmath.workdps(40):
            found = getattr(mpmath, fn) if isinstance(fn, str) else lambda *v: fn(mpmath, *v)
            result = found(*values)
            if isinstance(result, mpmath.mpc):
                if result.imag == 0 and not any(isinstance(v, complex) for v in values):
                    return float(result.real)
                return complex(result)
            return float(result)

    return elementwise(apply)


def _as_float(a: Any) -> Any:
    is_integer = isinstance(a, (np.ndarray, np.generic)) and a.dtype.kind in "biu"
    return a.astype(np.float64) if is_integer else a


def sign(x: Any) -> Any:
    """-1, 0 or 1 of a Python number; x / |x| of a complex one."""
    if isinstance(x, complex):
        return x / abs(x) if x else 0j
    return (x > 0) - (x < 0)


def is_nan(x: Any) -> bool:
    """Whether a Python number is NaN."""
    return cmath.isnan(x)
