"""What reductions, scans and sorts share: axes, types and the moves of their gradient rules.

A 0-d tensor takes dim 0 and -1, as if it had one axis of size 1; every helper here knows that.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.dtype import DType, float32, get_default_dtype, int64
from thixo.errors import DTypeError, IndexOutOfRange, describe
from thixo.ops import public as tx
from thixo.shape import normalize_dim, normalize_dims, numel, reduced_shape

Shape = tuple[Any, ...]


# ---- axes


def axes(dim: Any, ndim: int, op: str, empty_is_all: bool = True) -> tuple[int, ...]:
    """The axes a reduction runs over, ascending; None, and () where the operator says so, is all.

    >>> axes((-1, 0), 3, "sum"), axes((), 2, "sum"), axes(0, 0, "sum")
    ((0, 2), (0, 1), ())
    """
    if dim is None or (empty_is_all and isinstance(dim, Sequence) and not len(dim)):
        return tuple(range(ndim))
    found = normalize_dims(dim, ndim, op)
    return tuple(sorted(found)) if ndim else ()


def axis(dim: int, ndim: int, op: str) -> int | None:
    """One axis counted from the front; None for a 0-d tensor, which has none to work along."""
    found = normalize_dim(dim, ndim, op)
    return found if ndim else None


def count(shape: Shape, dims: tuple[int, ...]) -> Any:
    """How many elements each result of a reduction is made of."""
    return numel(shape[d] for d in dims)


def require_elements(op: str, input: Any, dims: tuple[int, ...]) -> None:
    """Refuse a reduction that has no identity over an axis of size 0."""
    for d in dims:
        if input.shape[d] == 0:
            raise IndexOutOfRange(
                f"{op}: axis {d} of {describe(input)} is empty and {op} of nothing has no value; "
                "needs at least one element along it"
            )


# ---- element types


def sum_type(dtype: DType, wanted: DType | None) -> DType:
    """The type of a sum or product: what was asked for; int64 for integers and bool."""
    if wanted is not None:
        return wanted
    return dtype if dtype.is_floating_point or dtype.is_complex else int64


def float_type(dtype: DType) -> DType:
    """The type itself, or the default float for integers and bool."""
    return dtype if dtype.is_floating_point or dtype.is_complex else get_default_dtype()


def compute_dtype(dtype: DType) -> Any:
    """The NumPy dtype a kernel works in: half types work in float32.

    >>> compute_dtype(float32)
    dtype('float32')
    """
    half = dtype.is_floating_point and dtype.itemsize == 2
    return float32.numpy if half else dtype.numpy


def as_type(array: np.ndarray, dtype: DType | None) -> np.ndarray:
    """A kernel's input in the type it was asked to work in; complex to real drops the imaginary part."""
    if dtype is None:
        return array
    if array.dtype.kind == "c" and not dtype.is_complex and dtype.kind != "b":
        array = array.real
    return array.astype(compute_dtype(dtype), copy=False)


def require_dtype(op: str, input: Any, dtypes: tuple[DType, ...]) -> None:
    """Refuse an element type that a composite does not claim, by its own name."""
    if input.dtype not in dtypes:
        known = ", ".join(t.short for t in dtypes)
        raise DTypeError(f"{op}: {input.dtype.short} is not supported; it takes {known}")


def require_float(op: str, input: Any, what: str = "input") -> None:
    """Refuse integers and bool where the meaning needs a floating-point or complex type."""
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise DTypeError(
            f"{op}: {what} is {describe(input)}; needs a floating-point or complex dtype"
        )


# ---- moves of gradient rules, in public operators


def keep_axes(x: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """A reduction's result (or its gradient) with axes of size 1 where the input was reduced."""
    if not keepdim:
        for d in dims:
            x = tx.unsqueeze(x, d)
    return x


def spread(g: Any, shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Any:
    """A reduction's gradient repeated over the reduced axes: the input's shape again."""
    return tx.expand(keep_axes(g, dims, keepdim), tuple(shape))


def cast(x: Any, dtype: DType) -> Any:
    """x in another dtype, or x itself."""
    return x if x.dtype is dtype else x.to(dtype)


def zeros(shape: Shape, like: Any) -> Any:
    """Zeros in another tensor's dtype."""
    return tx.zeros(tuple(shape), dtype=like.dtype)


def place(
    g: Any, indices: Any, shape: Shape, dim: int, keepdim: bool, distinct: bool = False
) -> Any:
    """The gradient of elements that were picked along an axis, each at most once if `distinct`, put back where they came from."""
    if not len(shape):
        return g
    d = normalize_dim(dim, len(shape), "gradient")
    if not keepdim:
        g, indices = tx.unsqueeze(g, d), tx.unsqueeze(indices, d)
    return tx.scatter_sum(g, d, indices, tuple(shape), distinct)


def share_ties(
    g: Any, x: Any, y: Any, dims: tuple[int, ...], keepdim: bool, largest: bool = True
) -> Any:
    """The gradient of an extreme value, in equal parts to all elements that attain it."""
    g, y = keep_axes(g, dims, keepdim), keep_axes(y, dims, keepdim)
    return tx.extreme_gradient(g, x, y, dims, largest)


def shift(x: Any, dim: int, fill: float) -> Any:
    """x moved by one along an axis, `fill` first and the last element gone."""
    size = x.shape[dim]
    first = tx.full((*x.shape[:dim], 1, *x.shape[dim + 1 :]), fill, dtype=x.dtype)
    return tx.narrow(tx.cat((first, x), dim), dim, 0, size)


def flatten_axes(x: Any, dims: tuple[int, ...]) -> Any:
    """x with the given axes flattened into one, the last."""
    rest = tuple(d for d in range(x.ndim) if d not in dims)
    size = count(x.shape, dims)
    return tx.reshape(tx.permute(x, (*rest, *dims)), (*(x.shape[d] for d in rest), size))


def unflatten_axes(x: Any, shape: Shape, dims: tuple[int, ...]) -> Any:
    """What `flatten_axes` did, undone: `shape` is the shape before."""
    rest = tuple(d for d in range(len(shape)) if d not in dims)
    order = (*rest, *dims)
    x = tx.reshape(x, tuple(shape[d] for d in order))
    return tx.permute(x, tuple(order.index(d) for d in range(len(shape))))


__all__ = [
    "as_type",
    "axes",
    "axis",
    "cast",
    "compute_dtype",
    "count",
    "flatten_axes",
    "float_type",
    "keep_axes",
    "place",
    "reduced_shape",
    "require_dtype",
    "require_elements",
    "require_float",
    "share_ties",
    "shift",
    "spread",
    "sum_type",
    "unflatten_axes",
    "zeros",
]
