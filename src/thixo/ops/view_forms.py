"""Everyday forms of the views: flatten, movedim, narrow, T and their kin, all composed of them."""

from typing import Any

import numpy as np

from thixo.errors import IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.layout import resolve_shape
from thixo.ops.loops import build
from thixo.ops.plain import whole
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim, normalize_dims, numel


class Flatten(Composite):
    """The axes from `start_dim` to `end_dim` run together into one.

    >>> tx.zeros(2, 3, 5).flatten(1).shape
    Size([2, 15])
    """

    signature = "flatten(input, start_dim: int = 0, end_dim: int = -1) -> y"

    def compose(input, start_dim, end_dim):
        first = normalize_dim(start_dim, input.ndim, "flatten")
        last = normalize_dim(end_dim, input.ndim, "flatten")
        if last < first:
            raise ShapeError(
                f"flatten: end_dim {end_dim} comes before start_dim {start_dim} in {describe(input)}"
            )
        if input.ndim == 0:
            return tx.reshape(input, (1,))
        if first == last:
            return input
        shape = tuple(input.shape)
        return tx.reshape(
            input, (*shape[:first], numel(shape[first : last + 1]), *shape[last + 1 :])
        )

    def reference(input, start_dim=0, end_dim=-1):
        shape = input.shape or (1,)
        last = end_dim % len(shape)
        first = start_dim % len(shape)
        return input.reshape(
            (*shape[:first], int(np.prod(shape[first : last + 1])), *shape[last + 1 :])
        )

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k))
        yield Sample(s.real(s.n, s.m, s.k), 1)
        yield Sample(s.real(s.n, s.m, s.k), 0, 1)
        yield Sample(s.real(s.n, s.m, s.k), -2, -1)
        yield Sample(s.real(s.n), 0, 0)
        yield Sample(s.real())
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 1, 0), ShapeError, "comes before start_dim")
        yield Bad(Sample(s.real(2, 3), 2), IndexOutOfRange, "dim 2 is out of range")


class Unflatten(Composite):
    """One axis split into several; one of their sizes may be -1.

    >>> tx.zeros(2, 15).unflatten(1, (3, -1)).shape
    Size([2, 3, 5])
    """

    signature = "unflatten(input, dim: int, sizes: ints) -> y"
    layout_matters = True

    def compose(input, dim, sizes):
        if input.ndim == 0:
            raise IndexOutOfRange("unflatten: a 0-d tensor has no axis to split")
        d = normalize_dim(dim, input.ndim, "unflatten")
        if not sizes:
            raise ShapeError("unflatten: needs at least one size, got none")
        shape = tuple(input.shape)
        return tx.view(
            input, (*shape[:d], *resolve_shape((shape[d],), sizes, "unflatten"), *shape[d + 1 :])
        )

    def reference(input, dim, sizes):
        d = dim % input.ndim
        return np.array(input).reshape(input.shape[:d] + tuple(sizes) + input.shape[d + 1 :])

    def samples(s):
        yield Sample(s.real(s.n * s.m, s.k), 0, (s.n, s.m))
        yield Sample(s.real(s.k, s.n * s.m), -1, (s.n, -1))
        yield Sample(s.real(s.n), 0, (1, s.n, 1))
        yield Sample(s.real(0), 0, (0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(6), 0, (4, 2)), ShapeError, "has 6 elements")
        yield Bad(Sample(s.real(6), 0, (4, -1)), ShapeError, "no multiple of 4")


class Ravel(Composite):
    """All elements on one axis, in row order.

    >>> tx.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """

    signature = "ravel(input) -> y"

    def compose(input):
        return tx.reshape(input, (-1,) if input.ndim == 1 else (numel(input.shape),))

    def reference(input):
        return np.array([input[i] for i in np.ndindex(*input.shape)], input.dtype)

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k))
        yield Sample(s.real())
        yield Sample(s.real(s.n, 0))
        yield Sample(s.real(s.n))


class Movedim(Composite):
    """The axes `source` moved to the places `destination`; the others keep their order.

    >>> tx.zeros(2, 3, 5).movedim(0, -1).shape
    Size([3, 5, 2])
    """

    signature = "movedim(input, source: ints, destination: ints) -> input"
    aliases = ("moveaxis",)

    def compose(input, source, destination):
        if len(source) != len(destination):
            raise ShapeError(
                f"movedim: source {source} and destination {destination} must be equally many"
            )
        source = normalize_dims(source, input.ndim, "movedim")
        destination = normalize_dims(destination, input.ndim, "movedim")
        if input.ndim == 0:
            return input
        others = iter(d for d in range(input.ndim) if d not in source)
        target = dict(zip(destination, source, strict=True))
        return tx.permute(
            input, tuple(target[d] if d in target else next(others) for d in range(input.ndim))
        )

    def reference(input, source, destination):
        return np.moveaxis(input, source, destination) if input.ndim else input

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k), 0, 2)
        yield Sample(s.real(s.n, s.m, s.k), (0, -1), (-2, 0))
        yield Sample(s.real(s.n, s.m), (1, 0), (0, 1))
        yield Sample(s.real(s.n, s.m), (), ())
        yield Sample(s.real(), 0, -1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), (0,), (0, 1)), ShapeError, "equally many")
        yield Bad(Sample(s.real(2, 3), 2, 0), IndexOutOfRange, "dim 2 is out of range")


class Swapdims(Composite):
    """The input with two axes exchanged.

    >>> tx.zeros(2, 3).swapdims(0, 1).shape
    Size([3, 2])
    """

    signature = "swapdims(input, dim0: int, dim1: int) -> input"

    def compose(input, dim0, dim1):
        return tx.transpose(input, dim0, dim1)

    def reference(input, dim0, dim1):
        return np.swapaxes(input, dim0, dim1)

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k), 0, -1)


class Swapaxes(Composite):
    """The input with two axes exchanged.

    >>> tx.zeros(2, 3).swapaxes(0, 1).shape
    Size([3, 2])
    """

    signature = "swapaxes(input, axis0: int, axis1: int) -> input"

    def compose(input, axis0, axis1):
        return tx.transpose(input, axis0, axis1)

    reference = Swapdims.reference
    samples = Swapdims.samples


class TransposeMatrix(Composite):
    """A matrix transposed; a tensor with fewer than two axes is returned as it is.

    >>> tx.tensor([[1, 2]]).t()
    tensor([[1],
            [2]])
    """

    signature = "t(input) -> input"

    def compose(input):
        if input.ndim > 2:
            raise ShapeError(f"t: needs two axes or fewer, input is {describe(input)}; see mT")
        return tx.transpose(input, 0, 1) if input.ndim == 2 else input

    def reference(input):
        return build(input.shape[::-1], input.dtype, lambda i: input[i[::-1]])

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n))
        yield Sample(s.real())
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4)), ShapeError, "two axes or fewer")


class AllTransposed(Composite):
    """The input with its axes in reverse order.

    >>> tx.zeros(2, 3).T.shape
    Size([3, 2])
    """

    signature = "T(input) -> input"
    attribute = True

    def compose(input):
        return tx.permute(input, tuple(reversed(range(input.ndim))))

    reference = TransposeMatrix.reference

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m, s.k))
        yield Sample(s.real(s.n))
        yield Sample(s.real())


class MatrixTransposed(Composite):
    """The input with its last two axes exchanged.

    >>> tx.zeros(2, 3, 5).mT.shape
    Size([2, 5, 3])
    """

    signature = "mT(input) -> input"
    attribute = True

    def compose(input):
        if input.ndim < 2:
            raise ShapeError(f"mT: needs two axes or more, input is {describe(input)}")
        return tx.transpose(input, -2, -1)

    def reference(input):
        return np.swapaxes(input, -2, -1)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m, s.k))
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(2)), ShapeError, "two axes or more")


class Adjoint(Composite):
    """Matrices conjugated and transposed.

    >>> tx.adjoint(tx.tensor([[1j, 2.0]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """

    signature = "adjoint(input) -> y"

    def compose(input):
        if input.ndim < 2:
            raise ShapeError(f"adjoint: needs two axes or more, input is {describe(input)}")
        return tx.transpose(input, -2, -1).conj()

    def reference(input):
        return np.conj(np.swapaxes(input, -2, -1))

    samples = MatrixTransposed.samples
    bad = MatrixTransposed.bad


class MatrixConjugateTransposed(Composite):
    """Matrices conjugated and transposed.

    >>> tx.tensor([[1j, 2.0]]).mH.shape
    Size([2, 1])
    """

    signature = "mH(input) -> y"
    attribute = True

    def compose(input):
        if input.ndim < 2:
            raise ShapeError(f"mH: needs two axes or more, input is {describe(input)}")
        return tx.adjoint(input)

    reference = Adjoint.reference
    samples = MatrixTransposed.samples
    bad = MatrixTransposed.bad


class ConjugateTransposed(Composite):
    """A matrix conjugated and transposed; only for a matrix or a 0-d tensor.

    >>> tx.tensor([[1j, 2.0]]).H.shape
    Size([2, 1])
    """

    signature = "H(input) -> y"
    attribute = True

    def compose(input):
        if input.ndim not in (0, 2):
            raise ShapeError(f"H: needs a matrix, input is {describe(input)}; see mH")
        return tx.adjoint(input) if input.ndim else input.conj()

    def reference(input):
        return build(input.shape[::-1], input.dtype, lambda i: np.conj(input[i[::-1]]))

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real())
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4)), ShapeError, "needs a matrix")


class Narrow(Composite):
    """`length` elements of an axis from `start` on.

    >>> tx.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """

    signature = "narrow(input, dim: int, start: any, length: int) -> input"

    def compose(input, dim, start, length):
        return narrow("narrow", input, dim, start, length)

    def reference(input, dim, start, length):
        start = int(start) % input.shape[dim] if start < 0 else int(start)
        return np.take(input, range(start, start + length), axis=dim)

    def samples(s):
        yield Sample(s.real(s.n + 1, s.m), 0, 1, 2)
        yield Sample(s.real(s.n, s.m), -1, -2, 2)
        yield Sample(s.real(s.n, s.m), 1, 1, 0)
        yield Sample(s.real(s.n, s.m), 1, 0, s.m)

    def bad(s):
        yield Bad(Sample(s.real(3), 0, 1, 3), IndexOutOfRange, "start 1 and length 3")
        yield Bad(Sample(s.real(3), 0, 0, -1), IndexOutOfRange, "length -1")
        yield Bad(Sample(s.real(), 0, 0, 1), IndexOutOfRange, "0-d")


def narrow(operation: str, input: Any, dim: int, start: Any, length: Any) -> Any:
    """A slice whose bounds are checked and not cut; `start` may be a 0-d integer tensor."""
    if input.ndim == 0:
        raise IndexOutOfRange(f"{operation}: a 0-d tensor has no axis to narrow")
    d = normalize_dim(dim, input.ndim, operation)
    size = input.shape[d]
    start = whole(operation, "start", start)
    first = start + size if start < 0 else start
    if first < 0 or first > size or length < 0 or first + length > size:
        raise IndexOutOfRange(
            f"{operation}: start {start} and length {length} go beyond axis {d} of size {size}"
        )
    return tx.slice(input, d, first, first + length)


class ViewAs(Composite):
    """The same elements in the shape of another tensor, without a copy.

    >>> tx.arange(4).view_as(tx.zeros(2, 2)).shape
    Size([2, 2])
    """

    signature = "view_as(input, other) -> input"
    layout_matters = True

    def compose(input, other):
        return tx.view(input, other.shape)

    def reference(input, other):
        return np.array([input[i] for i in np.ndindex(*input.shape)]).reshape(other.shape)

    def samples(s):
        yield Sample(s.real(s.n * s.m), s.real(s.n, s.m))
        yield Sample(s.real(1, 1), s.real())

    def bad(s):
        yield Bad(Sample(s.real(3), s.real(2)), ShapeError, "has 3 elements")


class ReshapeAs(Composite):
    """The same elements in the shape of another tensor: a view where strides allow it, else a copy.

    >>> tx.arange(4).reshape_as(tx.zeros(2, 2)).shape
    Size([2, 2])
    """

    signature = "reshape_as(input, other) -> y"

    def compose(input, other):
        return tx.reshape(input, other.shape)

    reference = ViewAs.reference
    samples = ViewAs.samples
    bad = ViewAs.bad
