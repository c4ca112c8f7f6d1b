"""Comparisons for tests: `assert_close` says how two results differ, and where.

>>> import thixo as tx
>>> tx.testing.assert_close(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 2.0 + 1e-7]))
"""

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import thixo as tx
from thixo.dtype import DType, bfloat16, complex64, complex128, float16, float32, float64
from thixo.errors import ArgumentError, ValueRangeError, describe
from thixo.tensor import Tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# (rtol, atol) for results of each dtype; PyTorch's numbers. Other dtypes are compared exactly.
TOLERANCES: dict[DType, tuple[float, float]] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}

Message = str | Callable[[str], str] | None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere.

    Tensors, arrays and numbers are compared, and sequences and mappings of them, item by item. The
    tolerances, given both or neither, are by default those of the dtype, of the less exact one
    where two differ. `msg` replaces the message, or makes another of it. All tensors are on one device
    and in one layout so far, so `check_device` and `check_layout` always hold.

    >>> import thixo as tx
    >>> tx.testing.assert_close({"a": [1.0]}, {"a": [1.0]})
    >>> tx.testing.assert_close(tx.tensor([1, 2]), tx.tensor([1, 3]))
    Traceback (most recent call last):
        ...
    AssertionError: 1 of 2 elements differ (50.0%)
    the greatest difference is 1 at index (1,): 2 is not 3
    """
    if (rtol is None) != (atol is None):
        raise ValueRangeError(
            f"assert_close: give both rtol and atol or neither, got rtol={rtol}, atol={atol}"
        )
    options = {
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_dtype": check_dtype,
        "check_stride": check_stride,
        "allow_subclasses": allow_subclasses,
    }
    problem = _differs(actual, expected, (), options)
    if problem is not None:
        text = msg(problem) if callable(msg) else msg
        raise AssertionError(problem if text is None else text)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` without a look at dtypes, and with NaN equal to NaN, as older tests use it.

    >>> import thixo as tx
    >>> tx.testing.assert_allclose(tx.tensor([1.0]), [1])
    """
    actual = actual if isinstance(actual, Tensor) else tx.as_tensor(actual)
    expected = expected if isinstance(expected, Tensor) else tx.as_tensor(expected)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


# ---- comparison


def _differs(
    actual: Any, expected: Any, path: tuple[Any, ...], options: dict[str, Any]
) -> str | None:
    """How two results differ, None if they do not."""
    if _is_mapping(actual) and _is_mapping(expected):
        return _mappings_differ(actual, expected, path, options)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return _at(path, f"the lengths differ: {len(actual)} is not {len(expected)}")
        pairs = zip(actual, expected, strict=True)
        found = (_differs(a, e, (*path, i), options) for i, (a, e) in enumerate(pairs))
        return next((problem for problem in found if problem is not None), None)
    if actual is None or expected is None:
        both = actual is None and expected is None
        return None if both else _at(path, f"{describe(actual)} is not {describe(expected)}")
    if isinstance(actual, str) or isinstance(expected, str):
        return None if actual == expected else _at(path, f"{actual!r} is not {expected!r}")
    for value in (actual, expected):
        if not isinstance(value, Tensor | np.ndarray | np.generic | numbers.Number):
            raise ArgumentError(f"assert_close: cannot compare {describe(value)}")
    return _tensors_differ(actual, expected, path, options)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _mappings_differ(
    actual: Any, expected: Any, path: tuple[Any, ...], options: dict[str, Any]
) -> str | None:
    missing = [key for key in expected if key not in actual]
    extra = [key for key in actual if key not in expected]
    if missing or extra:
        return _at(path, f"the keys differ: {missing} are missing, {extra} are too many")
    found = (_differs(actual[key], expected[key], (*path, key), options) for key in expected)
    return next((problem for problem in found if problem is not None), None)


def _tensors_differ(
    actual: Any, expected: Any, path: tuple[Any, ...], options: dict[str, Any]
) -> str | None:
    if not options["allow_subclasses"] and type(actual) is not type(expected):
        return _at(path, f"the classes differ: {type(actual).__name__}, {type(expected).__name__}")
    # Python's own numbers have no dtype of their own to compare.
    plain = any(type(v) in (bool, int, float, complex) for v in (actual, expected))
    a, e = _as_tensor(actual), _as_tensor(expected)
    if a.shape != e.shape:
        return _at(path, f"the shapes differ: {describe(a)} is not {describe(e)}")
    if options["check_dtype"] and not plain and a.dtype is not e.dtype:
        return _at(path, f"the dtypes differ: {a.dtype.name} is not {e.dtype.name}")
    if options["check_stride"] and a.stride() != e.stride():
        return _at(path, f"the strides differ: {tuple(a.stride())} is not {tuple(e.stride())}")
    rtol, atol = _tolerances(a.dtype, e.dtype, options)
    return _values_differ(_array(a), _array(e), rtol, atol, options["equal_nan"], path)


def _as_tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach()
    if type(value) is float:
        return tx.tensor(value, dtype=float64)
    if type(value) is complex:
        return tx.tensor(value, dtype=complex128)
    return tx.tensor(value)


def _array(tensor: Tensor) -> np.ndarray:
    """The values in a type that differences are exact in, or nearly."""
    array = tensor.numpy()
    if tensor.dtype.is_complex:
        return array.astype(np.complex128)
    if tensor.dtype.is_floating_point:
        return array.astype(np.float64)
    if tensor.dtype.itemsize == 8:
        return array.astype(object)  # int64 and uint64: whole numbers of any size
    return array.astype(np.int64)


def _tolerances(a: DType, b: DType, options: dict[str, Any]) -> tuple[float, float]:
    if options["rtol"] is not None:
        return options["rtol"], options["atol"]
    (r1, a1), (r2, a2) = (TOLERANCES.get(t, (0.0, 0.0)) for t in (a, b))
    return max(r1, r2), max(a1, a2)


def _values_differ(
    a: np.ndarray, e: np.ndarray, rtol: float, atol: float, equal_nan: bool, path: tuple[Any, ...]
) -> str | None:
    with np.errstate(all="ignore"):
        if a.dtype == object or e.dtype == object:
            a, e = a.astype(object), e.astype(object)
        difference = np.abs(a - e)
        bad = ~((a == e) | (difference <= atol + rtol * np.abs(e)))
    if a.dtype != object:
        bad |= ~np.isfinite(e) & (a != e)  # an infinite tolerance is none
        nans = np.isnan(a) & np.isnan(e)
        if equal_nan:
            bad &= ~nans
    count = int(np.sum(bad))
    if not count:
        return None
    share = f"{count} of {bad.size} elements differ ({100 * count / bad.size:.1f}%)"
    worst = np.where(bad, difference, -1)
    ranked = np.where(worst != worst, np.inf, worst)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ranked)), bad.shape))
    where = f" at index {index}" if index else ""
    allowed = f"; allowed is {atol:g} + {rtol:g} * {abs(e[index]):g}" if atol or rtol else ""
    return _at(
        path,
        f"{share}\nthe greatest difference is {_text(difference[index])}{where}: "
        f"{_text(a[index])} is not {_text(e[index])}{allowed}",
    )


def _text(value: Any) -> str:
    return str(value) if isinstance(value, int | np.integer) else f"{value:g}"


def _at(path: tuple[Any, ...], text: str) -> str:
    return "".join(f"[{key!r}]" for key in path) + ": " + text if path else text


# ---- inputs


def make_tensor(
    *shape: int | Sequence[int],
    dtype: DType,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers between low and high: by default -9 to 9 (0 to 9 if unsigned).

    >>> import thixo as tx
    >>> tx.testing.make_tensor(2, 3, dtype=tx.float32, low=0, high=1).shape
    Size([2, 3])
    """
    sizes: Any = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    wanted = (*sizes[:-1], sizes[-1] * 2) if noncontiguous and sizes else sizes
    if dtype.kind == "b":
        low, high = 0 if low is None else low, 2 if high is None else high
    low = (0 if dtype.kind == "u" else -9) if low is None else low
    high = (10 if dtype.kind in "iu" else 9) if high is None else high
    if dtype.kind in "biu":
        made = tx.randint(int(low), int(high), wanted, device=device).to(dtype)
    elif dtype.is_complex:
        parts = tx.rand((*wanted, 2), dtype=dtype.to_real(), device=device) * (high - low) + low
        made = tx.view_as_complex(parts)
    else:
        made = tx.rand(wanted, dtype=dtype, device=device) * (high - low) + low
    if exclude_zero:
        made = tx.where(made == 0, tx.ones_like(made), made)
    if noncontiguous and sizes:
        made = made[..., ::2]
    return made.requires_grad_() if requires_grad else made
