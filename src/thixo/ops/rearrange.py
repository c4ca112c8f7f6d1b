"""Elements in another order or several times: flip, roll, rot90, repeat and their kin."""

from typing import Any

import numpy as np

from thixo._core import Tensor
from thixo.dtype import INTEGERS, int64
from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.loops import build, replaced
from thixo.ops.plain import whole
from thixo.ops.samples import Bad, Sample
from thixo.shape import fresh_dim, normalize_dim, normalize_dims, numel


class Flip(Op):
    """The input with the order of the elements reversed along some axes.

    >>> tx.flip(tx.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """

    total = True
    signature = "flip(input, dims: ints...) -> y"

    def infer(input, dims):
        normalize_dims(dims, input.ndim, "flip")
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, dims):
        return np.flip(input, dims).copy() if input.ndim else input.copy()

    def vjp(g, dims):
        return tx.flip(g, dims)

    def reference(input, dims):
        turned = {d % max(input.ndim, 1) for d in dims}
        return build(
            input.shape,
            input.dtype,
            lambda i: input[
                tuple(
                    n - 1 - k if d in turned else k
                    for d, (n, k) in enumerate(zip(input.shape, i, strict=True))
                )
            ],
        )

    def samples(s):
        yield Sample(s.real(s.n, s.m), dims=(0,))
        yield Sample(s.real(s.n, s.m, s.k), dims=(-1, 0))
        yield Sample(s.real(s.n), dims=())
        yield Sample(s.real(), dims=(0,))
        yield Sample(s.real(s.n, 0), dims=(1, 0))

    def bad(s):
        yield Bad(Sample(s.real(2), dims=(1,)), IndexOutOfRange, "dim 1 is out of range")
        yield Bad(Sample(s.real(2), dims=(0, -1)), ValueRangeError, "an axis twice")


class Fliplr(Composite):
    """The input with its columns in reverse order.

    >>> tx.fliplr(tx.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """

    signature = "fliplr(input) -> y"

    def compose(input):
        if input.ndim < 2:
            raise ShapeError(f"fliplr: needs two axes or more, input is {describe(input)}")
        return tx.flip(input, (1,))

    def reference(input):
        return np.fliplr(input)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m, s.k))

    def bad(s):
        yield Bad(Sample(s.real(2)), ShapeError, "two axes or more")


class Flipud(Composite):
    """The input with its rows in reverse order.

    >>> tx.flipud(tx.tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """

    signature = "flipud(input) -> y"

    def compose(input):
        if input.ndim < 1:
            raise ShapeError(f"flipud: needs an axis or more, input is {describe(input)}")
        return tx.flip(input, (0,))

    def reference(input):
        return np.flipud(input)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m))

    def bad(s):
        yield Bad(Sample(s.real()), ShapeError, "an axis or more")


class Roll(Op):
    """The elements shifted along axes; what leaves at one end enters at the other.

    Without dims the input is rolled as if flat.

    >>> tx.roll(tx.tensor([1, 2, 3, 4]), 1)
    tensor([4, 1, 2, 3])
    """

    total = True
    signature = "roll(input, shifts: ints, dims: ints? = None) -> y"

    def infer(input, shifts, dims=None):
        if not shifts:
            raise ArgumentError("roll: needs at least one shift, got none")
        if (not dims and len(shifts) != 1) or (dims and len(dims) != len(shifts)):
            raise ArgumentError(
                f"roll: needs a shift for each of dims, got shifts {shifts} and dims {dims}"
            )
        if dims and input.ndim == 0:
            raise IndexOutOfRange(f"roll: a 0-d tensor has no axis to roll, dims is {dims}")
        for d in dims or ():
            normalize_dim(d, input.ndim, "roll")
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, shifts, dims=None):
        return np.roll(input, shifts, dims) if dims else np.roll(input, shifts[0])

    def vjp(g, shifts, dims):
        return tx.roll(g, tuple(-n for n in shifts), dims)

    def reference(input, shifts, dims=None):
        if not dims:
            flat = input.ravel()
            return np.array(
                [flat[(i - shifts[0]) % flat.size] for i in range(flat.size)], input.dtype
            ).reshape(input.shape)
        for shift, d in zip(shifts, dims, strict=True):
            source = input
            input = build(
                source.shape,
                source.dtype,
                lambda i, x=source, d=d, shift=shift: x[
                    replaced(i, d, (i[d] - shift) % x.shape[d])
                ],
            )
        return input

    def samples(s):
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(s.n, s.m), (1, -2), (0, 1))
        yield Sample(s.real(s.n, s.m), (1, 2), (-1, 1))
        yield Sample(s.real(s.n, s.m), 5, 0)
        yield Sample(s.real(0, s.n), 1, 0)
        yield Sample(s.real(), 3)

    def bad(s):
        yield Bad(Sample(s.real(2), ()), ArgumentError, "at least one shift")
        yield Bad(Sample(s.real(2, 2), (1, 2), 0), ArgumentError, "a shift for each")
        yield Bad(Sample(s.real(2), 1, 1), IndexOutOfRange, "dim 1 is out of range")


class Rot90(Composite):
    """The input turned by k quarters in the plane of two axes.

    >>> tx.rot90(tx.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """

    signature = "rot90(input, k: int = 1, dims: ints = (0, 1)) -> y"

    def compose(input, k, dims):
        if len(dims) != 2 or input.ndim < 2:
            raise ShapeError(
                f"rot90: needs two dims of an input with two axes or more, got {dims} and "
                f"{describe(input)}"
            )
        a, b = (normalize_dim(d, input.ndim, "rot90") for d in dims)
        if a == b:
            raise ShapeError(f"rot90: the two dims must differ, both are {a}")
        if k % 4 == 1:
            return tx.transpose(tx.flip(input, (b,)), a, b)
        if k % 4 == 2:
            return tx.flip(input, (a, b))
        if k % 4 == 3:
            return tx.transpose(tx.flip(input, (a,)), a, b)
        return tx.clone(input)

    def reference(input, k=1, dims=(0, 1)):
        return np.rot90(input, k, dims)

    def samples(s):
        for k in (-1, 0, 1, 2, 3, 4):
            yield Sample(s.real(s.n, s.m), k)
        yield Sample(s.real(s.n, s.m, s.k), 1, (1, -1))
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 2), 1, (0,)), ShapeError, "needs two dims")
        yield Bad(Sample(s.real(2)), ShapeError, "two axes or more")
        yield Bad(Sample(s.real(2, 2), 1, (1, -1)), ShapeError, "must differ")


def repeated(operation: str, input: Any, repeats: tuple[Any, ...]) -> Any:
    """The input repeated along each axis as a whole; further axes come in front."""
    if any(isinstance(r, int) and r < 0 for r in repeats):
        raise ValueRangeError(f"{operation}: repeats cannot be negative, got {repeats}")
    shape = (*[1] * (len(repeats) - input.ndim), *input.shape)
    pairs = tx.reshape(input, tuple(n for size in shape for n in (1, size)))
    pairs = tx.expand(pairs, tuple(n for pair in zip(repeats, shape, strict=True) for n in pair))
    result = tuple(r * n for r, n in zip(repeats, shape, strict=True))
    return tx.clone(input) if not shape else tx.reshape(tx.clone(pairs), result)


class Repeat(Composite):
    """The input repeated along each axis, as a copy.

    >>> tx.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """

    signature = "repeat(input, repeats: ints...) -> y"

    def compose(input, repeats):
        if len(repeats) < input.ndim:
            raise ShapeError(
                f"repeat: needs a number for each axis of {describe(input)}, got {repeats}"
            )
        return repeated("repeat", input, repeats)

    def reference(input, repeats):
        return np.tile(input, repeats)

    def samples(s):
        yield Sample(s.real(s.n, s.m), repeats=(2, 3))
        yield Sample(s.real(s.n, s.m), repeats=(2, 1, s.k))
        yield Sample(s.real(s.n), repeats=(0,))
        yield Sample(s.real(), repeats=(s.n,))
        yield Sample(s.real(), repeats=())

    def bad(s):
        yield Bad(Sample(s.real(2, 2), repeats=(2,)), ShapeError, "a number for each axis")
        yield Bad(Sample(s.real(2), repeats=(-1,)), ValueRangeError, "cannot be negative")


class Tile(Composite):
    """The input repeated along its last axes, as a copy.

    >>> tx.tile(tx.tensor([[1], [2]]), (2,))
    tensor([[1, 1],
            [2, 2]])
    """

    signature = "tile(input, dims: ints...) -> y"

    def compose(input, dims):
        return repeated("tile", input, (*[1] * (input.ndim - len(dims)), *dims))

    def reference(input, dims):
        dims = (1,) * (input.ndim - len(dims)) + tuple(dims)
        shape = (1,) * (len(dims) - input.ndim) + input.shape
        source = input.reshape(shape)
        return build(
            [r * n for r, n in zip(dims, shape, strict=True)],
            input.dtype,
            lambda i: source[tuple(k % n for k, n in zip(i, shape, strict=True))],
        )

    def samples(s):
        yield Sample(s.real(s.n, s.m), dims=(2,))
        yield Sample(s.real(s.n, s.m), dims=(2, 1, 2))
        yield Sample(s.real(s.n), dims=())
        yield Sample(s.real(), dims=(s.n,))

    def bad(s):
        yield Bad(Sample(s.real(2), dims=(-1,)), ValueRangeError, "cannot be negative")


class InterleaveIndex(Op):
    """Each place i as often as repeats[i] says: the index that repeat_interleave selects by.

    >>> tx.interleave_index(tx.tensor([1, 0, 2]))
    tensor([0, 2, 2])
    """

    signature = "interleave_index(repeats, output_size: int? = None) -> index"
    dtypes = INTEGERS
    method = False
    vjp = None

    def infer(repeats, output_size=None):
        if repeats.ndim != 1:
            raise ShapeError(
                f"repeat_interleave: repeats must be a vector, repeats is {describe(repeats)}"
            )
        size = fresh_dim("repeated") if output_size is None else output_size
        return Spec((size,), int64)

    def kernel(repeats, output_size=None):
        if repeats.size and repeats.min() < 0:
            raise ValueRangeError(
                f"repeat_interleave: repeats cannot be negative, got {repeats.min()}"
            )
        if output_size is not None and repeats.sum() != output_size:
            raise ValueRangeError(
                f"repeat_interleave: repeats add up to {repeats.sum()}, output_size is {output_size}"
            )
        return np.repeat(np.arange(repeats.size), repeats.astype(np.int64))

    def reference(repeats, output_size=None):
        return np.array([i for i, r in enumerate(repeats) for _ in range(r)], np.int64)

    def samples(s):
        yield Sample(s.ints(s.n, high=4, dtype=s.dtype))
        yield Sample(s.ints(0, dtype=s.dtype))
        yield Sample(s.array([1, 0, 2]), 3)

    def bad(s):
        if s.dtype.is_signed:
            yield Bad(Sample(s.array([1, -1])), ValueRangeError, "cannot be negative")
        yield Bad(Sample(s.array([1, 1]), 3), ValueRangeError, "add up to 2")


class RepeatInterleave(Composite):
    """Each element repeated, all its copies side by side; without dim the input is flattened.

    >>> tx.repeat_interleave(tx.tensor([1, 2]), 2), tx.tensor([1, 2]).repeat_interleave(tx.tensor([0, 2]))
    (tensor([1, 1, 2, 2]), tensor([2, 2]))
    """

    signature = (
        "repeat_interleave(input, repeats: any? = None, dim: int? = None, *, "
        "output_size: int? = None) -> y"
    )

    def compose(input, repeats, dim, output_size):
        if repeats is None:
            return tx.interleave_index(input, output_size)
        if dim is None:
            input, dim = tx.reshape(input, (numel(input.shape),)), 0
        elif input.ndim == 0:
            input = tx.reshape(input, (1,))
        d = normalize_dim(dim, input.ndim, "repeat_interleave")
        shape = tuple(input.shape)
        if isinstance(repeats, list | tuple):
            repeats = tx.cat([tx.full((1,), r, dtype=int64) for r in repeats])
        if not isinstance(repeats, Tensor):
            repeats = whole("repeat_interleave", "repeats", repeats)
            if repeats < 0:
                raise ValueRangeError(
                    f"repeat_interleave: repeats cannot be negative, got {repeats}"
                )
            if output_size is not None and output_size != shape[d] * repeats:
                raise ValueRangeError(
                    f"repeat_interleave: {shape[d]} elements {repeats} times make no {output_size}"
                )
            wide = tx.expand(
                tx.unsqueeze(input, d + 1), (*shape[: d + 1], repeats, *shape[d + 1 :])
            )
            return tx.reshape(tx.clone(wide), (*shape[:d], shape[d] * repeats, *shape[d + 1 :]))
        if repeats.ndim > 1 or (repeats.ndim == 1 and repeats.shape[0] not in (1, shape[d])):
            raise ShapeError(
                f"repeat_interleave: needs a number for each of the {shape[d]} elements of axis {d}, "
                f"repeats is {describe(repeats)}"
            )
        if not repeats.dtype.is_integer:
            raise ArgumentError(
                f"repeat_interleave: repeats must be integers, repeats is {describe(repeats)}"
            )
        index = tx.interleave_index(tx.expand(repeats, (shape[d],)), output_size)
        return tx.index_select(input, d, index)

    def reference(input, repeats=None, dim=None, output_size=None):
        if repeats is None:
            return np.repeat(np.arange(input.size), input)
        if isinstance(repeats, np.ndarray) and repeats.size == 1:
            repeats = int(repeats.ravel()[0])
        return np.repeat(input, repeats, dim if input.ndim else None)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 2)
        yield Sample(s.real(s.n, s.m), 3, dim=-1)
        yield Sample(s.real(s.n, s.m), s.ints(s.n, high=3), dim=0)
        yield Sample(s.real(s.n, 2), s.array([2], int64), dim=1)
        yield Sample(s.real(s.n, 2), s.array([2, 1], int64), dim=1, output_size=3)
        yield Sample(s.real(), 2)
        yield Sample(s.real(s.n, 0), 2, dim=0)

    def bad(s):
        yield Bad(Sample(s.real(3), -1), ValueRangeError, "cannot be negative")
        yield Bad(Sample(s.real(3), s.ints(2)), ShapeError, "a number for each of the 3")
