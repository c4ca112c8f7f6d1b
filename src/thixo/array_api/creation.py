"""Functions that make arrays, with the standard's parameters."""

import math
from typing import Any, Literal

from thixo.dtype import DType, get_default_dtype
from thixo.errors import ValueRangeError
from thixo.ops import public as tx
from thixo.tensor import Tensor, from_dlpack
from thixo.tensor import asarray as _asarray

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

Sizes = int | tuple[int, ...]


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """The numbers from `start` (0 if only one number is given) up to but without `stop`.

    No number lies between them: the array is empty (`thixo.arange` refuses instead).

    >>> xp.arange(5, 0, -2), xp.arange(5, 0)
    (tensor([5, 3, 1]), tensor([], dtype=thixo.int64))
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueRangeError("arange: step must not be 0")
    if dtype is None and any(isinstance(n, float) for n in (start, stop, step)):
        dtype = get_default_dtype()
    if (stop - start) * math.copysign(1, step) <= 0:
        stop = start
    return tx.arange(start, stop, step, dtype=dtype, device=device)


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
) -> Tensor:
    """An array of numbers, nested sequences, or anything that lends its memory.

    `copy` True makes a copy always, False never (it is refused where one is needed).

    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
    tensor([[1., 2.],
            [3., 4.]])
    """
    return _asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape: Sizes, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array whose elements are not set.

    >>> xp.empty((2, 3)).shape
    Size([2, 3])
    """
    return tx.empty(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of the shape of x whose elements are not set.

    >>> xp.empty_like(xp.ones(3)).shape
    Size([3])
    """
    return tx.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere.

    >>> xp.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    n_cols = n_rows if n_cols is None else n_cols
    made = tx.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        tx.diagonal(made, k).fill_(1)
    return made


def full(
    shape: Sizes, fill_value: complex, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """An array whose elements are all `fill_value`.

    >>> xp.full(2, 7)
    tensor([7, 7])
    """
    sizes = (shape,) if isinstance(shape, int) else shape
    return tx.full(sizes, fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: complex, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """An array of the shape of x whose elements are all `fill_value`.

    >>> xp.full_like(xp.ones(2), 7)
    tensor([7., 7.])
    """
    return tx.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, without the last if not `endpoint`.

    >>> xp.linspace(0, 1, 5), xp.linspace(0, 1, 4, endpoint=False)
    (tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000]), tensor([0.0000, 0.2500, 0.5000, 0.7500]))
    """
    if endpoint:
        return tx.linspace(start, stop, num, dtype=dtype, device=device)
    return tx.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """Coordinates on a grid: each array repeated along the axes of the others.

    "xy" puts the first array along the second axis, as pictures have it; "ij" along the first.

    >>> a, b = xp.meshgrid(xp.arange(2), xp.arange(3)); a
    tensor([[0, 1],
            [0, 1],
            [0, 1]])
    """
    if not arrays:
        return []
    return list(tx.meshgrid(*arrays, indexing=indexing))


def ones(shape: Sizes, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of ones.

    >>> xp.ones((1, 3), dtype=xp.int8)
    tensor([[1, 1, 1]], dtype=thixo.int8)
    """
    return tx.ones(shape, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of ones of the shape of x.

    >>> xp.ones_like(xp.arange(3))
    tensor([1, 1, 1])
    """
    return tx.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Each matrix with zeros above its k-th diagonal.

    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return tx.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Each matrix with zeros below its k-th diagonal.

    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return tx.triu(x, k)


def zeros(shape: Sizes, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of zeros.

    >>> xp.zeros(3)
    tensor([0., 0., 0.])
    """
    return tx.zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """An array of zeros of the shape of x.

    >>> xp.zeros_like(xp.arange(3))
    tensor([0, 0, 0])
    """
    return tx.zeros_like(x, dtype=dtype, device=device)
