"""The views as copies: `transpose_copy` is `transpose` with memory of its own."""

import numpy as np

from thixo.errors import IndexOutOfRange
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.convert import Clone
from thixo.ops.samples import Bad, Sample
from thixo.ops.view import (
    Expand,
    Permute,
    Select,
    Slice,
    Squeeze,
    Transpose,
    Unsqueeze,
    ViewShape,
)
from thixo.ops.view_bits import ViewAsComplex, ViewAsReal
from thixo.ops.view_forms import Narrow, TransposeMatrix, narrow
from thixo.ops.view_split import SplitWithSizes, Unbind
from thixo.ops.view_strided import AsStrided
from thixo.ops.view_windows import Diagonal, Unfold


class AliasCopy(Composite):
    """A copy of the input.

    >>> tx.alias_copy(tx.tensor([1, 2]))
    tensor([1, 2])
    """

    signature = "alias_copy(input) -> y"
    method = False

    def compose(input):
        return tx.clone(input)

    reference = Clone.reference
    samples = Clone.samples


class DetachCopy(Composite):
    """A copy of the input, outside of the tape.

    >>> tx.detach_copy(tx.ones(1, requires_grad=True)).requires_grad
    False
    """

    signature = "detach_copy(input) -> y"
    method = False

    def compose(input):
        return tx.clone(input.detach())

    reference = Clone.reference

    def samples(s):
        yield Sample(s.real(s.n, s.m), grad=False)


class AsStridedCopy(Composite):
    """A copy of what as_strided shows.

    >>> tx.as_strided_copy(tx.arange(3), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """

    signature = "as_strided_copy(input, size: ints, stride: ints, storage_offset: int? = None) -> y"
    layout_matters = True
    method = False

    def compose(input, size, stride, storage_offset):
        return tx.clone(tx.as_strided(input, size, stride, storage_offset))

    reference = AsStrided.reference
    samples = AsStrided.samples


class DiagonalCopy(Composite):
    """A copy of a diagonal of two axes.

    >>> tx.diagonal_copy(tx.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """

    signature = "diagonal_copy(input, offset: int = 0, dim1: int = 0, dim2: int = 1) -> y"
    method = False

    def compose(input, offset, dim1, dim2):
        return tx.clone(tx.diagonal(input, offset, dim1, dim2))

    reference = Diagonal.reference
    samples = Diagonal.samples


class ExpandCopy(Composite):
    """The input repeated along axes of size 1, as a copy.

    >>> tx.expand_copy(tx.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """

    signature = "expand_copy(input, size: ints, *, implicit: bool = False) -> y"
    method = False

    def compose(input, size, implicit):
        return tx.clone(tx.expand(input, size))

    def reference(input, size, implicit=False):
        return Expand.reference(input, size)

    samples = Expand.samples


class NarrowCopy(Composite):
    """A copy of `length` elements of an axis from `start` on.

    >>> tx.narrow_copy(tx.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """

    signature = "narrow_copy(input, dim: int, start: int, length: int) -> y"

    def compose(input, dim, start, length):
        return tx.clone(narrow("narrow_copy", input, dim, start, length))

    reference = Narrow.reference
    samples = Narrow.samples

    def bad(s):
        yield Bad(Sample(s.real(3), 0, 1, 3), IndexOutOfRange, "start 1 and length 3")


class PermuteCopy(Composite):
    """A copy of the input with its axes in another order.

    >>> tx.permute_copy(tx.zeros(2, 3), (1, 0)).shape
    Size([3, 2])
    """

    signature = "permute_copy(input, dims: ints) -> y"
    method = False

    def compose(input, dims):
        return tx.clone(tx.permute(input, dims))

    reference = Permute.reference
    samples = Permute.samples


class SelectCopy(Composite):
    """A copy of one slice across an axis, which disappears.

    >>> tx.select_copy(tx.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """

    signature = "select_copy(input, dim: int, index: int) -> y"
    method = False

    def compose(input, dim, index):
        return tx.clone(tx.select(input, dim, index))

    reference = Select.reference
    samples = Select.samples


class SliceCopy(Composite):
    """A copy of every `step`-th element of an axis from `start` up to `end`.

    >>> tx.slice_copy(tx.arange(6), 0, 1, -1, 2)
    tensor([1, 3])
    """

    signature = (
        "slice_copy(input, dim: int = 0, start: int? = None, end: int? = None, step: int = 1) -> y"
    )
    method = False

    def compose(input, dim, start, end, step):
        return tx.clone(tx.slice(input, dim, start, end, step))

    reference = Slice.reference
    samples = Slice.samples


class SqueezeCopy(Composite):
    """A copy of the input without its axes of size 1: all of them, or those named.

    >>> tx.squeeze_copy(tx.zeros(1, 3)).shape
    Size([3])
    """

    signature = "squeeze_copy(input, dim: ints? = None) -> y"
    method = False

    def compose(input, dim):
        return tx.clone(tx.squeeze(input, dim))

    reference = Squeeze.reference
    samples = Squeeze.samples


class UnsqueezeCopy(Composite):
    """A copy of the input with a new axis of size 1.

    >>> tx.unsqueeze_copy(tx.zeros(3), 0).shape
    Size([1, 3])
    """

    signature = "unsqueeze_copy(input, dim: int) -> y"
    method = False

    def compose(input, dim):
        return tx.clone(tx.unsqueeze(input, dim))

    reference = Unsqueeze.reference
    samples = Unsqueeze.samples


class TCopy(Composite):
    """A copy of a matrix, transposed.

    >>> tx.t_copy(tx.zeros(2, 3)).shape
    Size([3, 2])
    """

    signature = "t_copy(input) -> y"
    method = False

    def compose(input):
        return tx.clone(tx.t(input))

    reference = TransposeMatrix.reference
    samples = TransposeMatrix.samples


class TransposeCopy(Composite):
    """A copy of the input with two axes exchanged.

    >>> tx.transpose_copy(tx.zeros(2, 3), 0, 1).shape
    Size([3, 2])
    """

    signature = "transpose_copy(input, dim0: int, dim1: int) -> y"
    method = False

    def compose(input, dim0, dim1):
        return tx.clone(tx.transpose(input, dim0, dim1))

    reference = Transpose.reference
    samples = Transpose.samples


class UnfoldCopy(Composite):
    """A copy of the windows of an axis.

    >>> tx.unfold_copy(tx.arange(4), 0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3]])
    """

    signature = "unfold_copy(input, dimension: int, size: int, step: int) -> y"
    method = False

    def compose(input, dimension, size, step):
        return tx.clone(tx.unfold(input, dimension, size, step))

    reference = Unfold.reference
    samples = Unfold.samples


class ViewCopy(Composite):
    """A copy of the elements in another shape.

    >>> tx.view_copy(tx.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """

    signature = "view_copy(input, size: any) -> y"
    layout_matters = True
    method = False

    def compose(input, size):
        if hasattr(size, "itemsize"):
            return tx.clone(tx.view_dtype(input, size))
        return tx.clone(tx.view(input, size))

    reference = ViewShape.reference

    def samples(s):
        yield Sample(s.real(s.n, s.m), (s.n * s.m,))
        yield Sample(s.real(s.n, 0), (0, s.m))
        yield Sample(s.real(), (1, 1))


class ViewAsRealCopy(Composite):
    """A copy of complex numbers as pairs of real ones.

    >>> tx.view_as_real_copy(tx.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """

    signature = "view_as_real_copy(input) -> y"
    method = False
    dtypes = ViewAsReal.dtypes

    def compose(input):
        return tx.clone(tx.view_as_real(input))

    reference = ViewAsReal.reference
    samples = ViewAsReal.samples


class ViewAsComplexCopy(Composite):
    """A copy of pairs of real numbers as complex ones.

    >>> tx.view_as_complex_copy(tx.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """

    signature = "view_as_complex_copy(input) -> y"
    layout_matters = True
    method = False
    dtypes = ViewAsComplex.dtypes

    def compose(input):
        return tx.clone(tx.view_as_complex(input))

    reference = ViewAsComplex.reference
    samples = ViewAsComplex.samples


class SplitCopy(Composite):
    """Copies of pieces of one size, the last maybe smaller.

    >>> tx.split_copy(tx.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """

    signature = "split_copy(input, split_size: int, dim: int = 0) -> tensors"
    method = False

    def compose(input, split_size, dim):
        return tuple(tx.clone(part) for part in tx.split(input, split_size, dim))

    def reference(input, split_size, dim=0):
        return np.split(input, range(split_size, input.shape[dim], split_size), dim)

    def samples(s):
        yield Sample(s.real(6, s.m), 2)
        yield Sample(s.real(s.m, 5), 2, -1)


class SplitWithSizesCopy(Composite):
    """Copies of pieces of the given sizes.

    >>> tx.split_with_sizes_copy(tx.arange(4), [1, 3])
    (tensor([0]), tensor([1, 2, 3]))
    """

    signature = "split_with_sizes_copy(input, split_sizes: ints, dim: int = 0) -> tensors"
    method = False

    def compose(input, split_sizes, dim):
        return tuple(tx.clone(part) for part in tx.split_with_sizes(input, split_sizes, dim))

    reference = SplitWithSizes.reference
    samples = SplitWithSizes.samples


class UnbindCopy(Composite):
    """Copies of the slices along an axis, which disappears.

    >>> tx.unbind_copy(tx.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """

    signature = "unbind_copy(input, dim: int = 0) -> tensors"
    method = False

    def compose(input, dim):
        return tuple(tx.clone(part) for part in tx.unbind(input, dim))

    reference = Unbind.reference
    samples = Unbind.samples
