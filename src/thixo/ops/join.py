"""Tensors put together along an axis: cat, stack and their kin."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.dtype import result_type
from thixo.errors import ArgumentError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim, numel


def is_nothing(t: Any) -> bool:
    """Whether a tensor is the 1-d one without elements, which joins anything."""
    return t.ndim == 1 and isinstance(t.shape[0], int) and t.shape[0] == 0


def join_axis(tensors: Sequence[Any], dim: int) -> tuple[list[Any], int]:
    """The tensors that count in a join, and its axis counted from the front."""
    if not tensors:
        raise ArgumentError("cat: needs at least one tensor, got none")
    counting = [t for t in tensors if not is_nothing(t)] or list(tensors[:1])
    if any(t.ndim == 0 for t in counting):
        place = next(i for i, t in enumerate(tensors) if t.ndim == 0)
        raise ShapeError(f"cat: tensor {place} is 0-d and has no axis to join along; see stack")
    return counting, normalize_dim(dim, counting[0].ndim, "cat")


class Cat(Op):
    """Tensors joined along an axis; all other sizes must agree.

    >>> tx.cat([tx.tensor([1, 2]), tx.tensor([3])])
    tensor([1, 2, 3])
    """

    total = True
    signature = "cat(tensors: tensors, dim: int = 0) -> y"
    aliases = ("concat", "concatenate")

    def infer(tensors, dim=0):
        counting, d = join_axis(tensors, dim)
        first = counting[0]
        total = first.shape[d]
        for t in counting[1:]:
            rest = (*t.shape[:d], *t.shape[d + 1 :])
            if t.ndim != first.ndim or rest != (*first.shape[:d], *first.shape[d + 1 :]):
                raise ShapeError(
                    f"cat: {describe(first)} and {describe(t)} must agree in all axes but {d}"
                )
            total = total + t.shape[d]
        dtype = result_type(*(t.dtype for t in tensors))
        return Spec((*first.shape[:d], total, *first.shape[d + 1 :]), dtype)

    def kernel(tensors, dim=0):
        return np.concatenate(join_axis(tensors, dim)[0], dim)

    def vjp(g, tensors_type, dim):
        counting = [t for t in tensors_type if not _nothing_type(t)] or tensors_type[:1]
        d = normalize_dim(dim, len(counting[0].shape), "cat")
        grads, start = [], 0
        for t in tensors_type:
            if _nothing_type(t):
                grads.append(None)
                continue
            end = start + t.shape[d]
            grads.append(tx.slice(g, d, start, end))
            start = end
        return grads

    def reference(tensors, dim=0):
        rows = [row for t in tensors if t.shape != (0,) for row in np.moveaxis(t, dim, 0)]
        if not rows:
            shapes = [t.shape for t in tensors if t.shape != (0,)]
            return np.zeros(shapes[0] if shapes else (0,), np.result_type(*tensors))
        return np.stack(rows, dim)

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.k, s.m)])
        yield Sample([s.real(s.n, s.m), s.real(s.n, 1), s.real(s.n, s.k)], dim=-1)
        yield Sample([s.real(s.n), s.real(0), s.real(s.m)])
        yield Sample([s.real(s.n, s.m), s.real(0), s.real(s.n, 0)], dim=1)
        yield Sample([s.real(s.n)])
        yield Sample([s.real(0), s.real(0)])

    def bad(s):
        yield Bad(Sample([]), ArgumentError, "at least one tensor")
        yield Bad(Sample([s.real(2, 3), s.real(2, 4)]), ShapeError, "agree in all axes but 0")
        yield Bad(Sample([s.real(), s.real()]), ShapeError, "0-d")


def _nothing_type(t: Any) -> bool:
    return len(t.shape) == 1 and isinstance(t.shape[0], int) and t.shape[0] == 0


class Stack(Composite):
    """Tensors of one shape joined along a new axis.

    >>> tx.stack([tx.tensor([1, 2]), tx.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """

    signature = "stack(tensors: tensors, dim: int = 0) -> y"

    def compose(tensors, dim):
        if not tensors:
            raise ArgumentError("stack: needs at least one tensor, got none")
        d = normalize_dim(dim, tensors[0].ndim + 1, "stack")
        for t in tensors:
            if tuple(t.shape) != tuple(tensors[0].shape):
                raise ShapeError(
                    f"stack: all must have one shape, got {describe(tensors[0])} and {describe(t)}"
                )
        return tx.cat([tx.unsqueeze(t, d) for t in tensors], d)

    def reference(tensors, dim=0):
        return np.moveaxis(np.array(list(tensors)), 0, dim)

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.n, s.m)])
        yield Sample([s.real(s.n, s.m), s.real(s.n, s.m), s.real(s.n, s.m)], dim=-1)
        yield Sample([s.real(), s.real()])
        yield Sample([s.real(0, s.n)], dim=1)

    def bad(s):
        yield Bad(Sample([]), ArgumentError, "at least one tensor")
        yield Bad(Sample([s.real(2), s.real(3)]), ShapeError, "must have one shape")


class Hstack(Composite):
    """Tensors joined side by side: along axis 1, or axis 0 of vectors.

    >>> tx.hstack([tx.tensor([1, 2]), tx.tensor([3])])
    tensor([1, 2, 3])
    """

    signature = "hstack(tensors: tensors) -> y"

    def compose(tensors):
        tensors = at_least("hstack", tensors, 1)
        return tx.cat(tensors, 0 if tensors[0].ndim == 1 else 1)

    def reference(tensors):
        return np.hstack(list(tensors))

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.n, s.k)])
        yield Sample([s.real(s.n), s.real()])

    def bad(s):
        yield Bad(Sample([]), ArgumentError, "at least one tensor")
        yield Bad(Sample([s.real(2, 3), s.real(3, 3)]), ShapeError, "agree in all axes but 1")


class Vstack(Composite):
    """Tensors joined one below the other; a vector is a row.

    >>> tx.vstack([tx.tensor([1, 2]), tx.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """

    signature = "vstack(tensors: tensors) -> y"
    aliases = ("row_stack",)

    def compose(tensors):
        return tx.cat(at_least("vstack", tensors, 2), 0)

    def reference(tensors):
        return np.vstack(list(tensors))

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.m), s.real(s.k, s.m)])
        yield Sample([s.real(), s.real()])

    def bad(s):
        yield Bad(Sample([]), ArgumentError, "at least one tensor")
        yield Bad(Sample([s.real(2, 3), s.real(2)]), ShapeError, "agree in all axes but 0")


class Dstack(Composite):
    """Tensors joined one behind the other, along axis 2.

    >>> tx.dstack([tx.tensor([1, 2]), tx.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """

    signature = "dstack(tensors: tensors) -> y"

    def compose(tensors):
        return tx.cat(at_least("dstack", tensors, 3), 2)

    def reference(tensors):
        return np.dstack(list(tensors))

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.n, s.m, s.k)])
        yield Sample([s.real(s.n), s.real(s.n)])
        yield Sample([s.real(), s.real()])

    def bad(s):
        yield Bad(Sample([]), ArgumentError, "at least one tensor")


def at_least(operation: str, tensors: Sequence[Any], axes: int) -> list[Any]:
    """The tensors, each with so many axes at least, placed as atleast_1d, 2d and 3d do."""
    if not tensors:
        raise ArgumentError(f"{operation}: needs at least one tensor, got none")
    grown = (tx.atleast_1d, tx.atleast_2d, tx.atleast_3d)[axes - 1](*tensors)
    return [grown] if len(tensors) == 1 else list(grown)


class ColumnStack(Composite):
    """Tensors joined side by side; a vector is a column.

    >>> tx.column_stack([tx.tensor([1, 2]), tx.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """

    signature = "column_stack(tensors: tensors) -> y"

    def compose(tensors):
        if not tensors:
            raise ArgumentError("column_stack: needs at least one tensor, got none")
        columns = [t if t.ndim > 1 else tx.reshape(t, (numel(t.shape), 1)) for t in tensors]
        return tx.cat(columns, 1)

    def reference(tensors):
        return np.column_stack(list(tensors))

    def samples(s):
        yield Sample([s.real(s.n), s.real(s.n, s.m)])
        yield Sample([s.real(), s.real()])
        yield Sample([s.real(s.n, s.m, s.k), s.real(s.n, 1, s.k)])

    def bad(s):
        yield Bad(Sample([]), ArgumentError, "at least one tensor")


class BlockDiag(Composite):
    """A matrix with the given matrices along its diagonal and zeros elsewhere.

    >>> tx.block_diag(tx.tensor([[1, 2]]), tx.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """

    signature = "block_diag(tensors: tensors...) -> y"

    def compose(tensors):
        if not tensors:
            raise ArgumentError("block_diag: needs at least one tensor, got none")
        for i, t in enumerate(tensors):
            if t.ndim > 2:
                raise ShapeError(
                    f"block_diag: needs two axes or fewer, tensor {i} is {describe(t)}"
                )
        blocks = at_least("block_diag", tensors, 2)
        width = sum(b.shape[1] for b in blocks)
        rows, left = [], 0
        for b in blocks:
            right = width - left - b.shape[1]
            rows.append(tx.constant_pad_nd(b, (left, right), 0))
            left = left + b.shape[1]
        return tx.cat(rows, 0)

    def reference(tensors):
        blocks = [np.array(t, ndmin=2) for t in tensors]
        size = np.sum([b.shape for b in blocks], 0)
        result = np.zeros(size, np.result_type(*tensors))
        row = column = 0
        for b in blocks:
            for i, j in np.ndindex(*b.shape):
                result[row + i, column + j] = b[i, j]
            row, column = row + b.shape[0], column + b.shape[1]
        return result

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.k, s.n)])
        yield Sample([s.real(s.n), s.real(), s.real(s.n, 1)])
        yield Sample([s.real(s.n, 0), s.real(s.n, s.m)])

    def bad(s):
        yield Bad(Sample([s.real(2, 2, 2)]), ShapeError, "two axes or fewer")


class Meshgrid(Composite):
    """Coordinate grids of several vectors: grid i repeats vector i along all other axes.

    With indexing="xy" the first two axes are exchanged.

    >>> tx.meshgrid(tx.tensor([1, 2]), tx.tensor([3, 4, 5]), indexing="ij")[0]
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """

    signature = "meshgrid(tensors: tensors..., *, indexing: str? = None) -> tensors"

    def compose(tensors, indexing):
        if not tensors:
            raise ArgumentError("meshgrid: needs at least one tensor, got none")
        if indexing not in (None, "ij", "xy"):
            raise ArgumentError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
        for i, t in enumerate(tensors):
            if t.ndim > 1:
                raise ShapeError(f"meshgrid: needs vectors, tensor {i} is {describe(t)}")
            if t.dtype is not tensors[0].dtype:
                raise ArgumentError(
                    f"meshgrid: all must have one dtype, got {describe(tensors[0])} and {describe(t)}"
                )
        shape = tuple(numel(t.shape) for t in tensors)
        grids = []
        for i, t in enumerate(tensors):
            axes = [1] * len(tensors)
            axes[i] = shape[i]
            grids.append(tx.expand(tx.reshape(t, axes), shape))
        if indexing == "xy" and len(tensors) > 1:
            grids = [tx.transpose(grid, 0, 1) for grid in grids]
        return tuple(grids)

    def reference(tensors, indexing=None):
        return [np.array(g) for g in np.meshgrid(*tensors, indexing=indexing or "ij")]

    def samples(s):
        yield Sample([s.real(s.n), s.real(s.m)])
        yield Sample([s.real(s.n), s.real(s.m), s.real(s.k)], indexing="xy")
        yield Sample([s.real(s.n), s.real()], indexing="ij")
        yield Sample([s.real(s.n)], indexing="xy")

    def bad(s):
        yield Bad(Sample([s.real(2, 2)]), ShapeError, "needs vectors")
        yield Bad(Sample([s.real(2)], indexing="yx"), ArgumentError, "'ij' or 'xy'")


class CartesianProd(Composite):
    """All combinations of one element from each vector, a row each.

    >>> tx.cartesian_prod(tx.tensor([1, 2]), tx.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """

    signature = "cartesian_prod(tensors: tensors...) -> y"

    def compose(tensors):
        if not tensors:
            raise ArgumentError("cartesian_prod: needs at least one tensor, got none")
        for i, t in enumerate(tensors):
            if t.ndim != 1:
                raise ShapeError(f"cartesian_prod: needs vectors, tensor {i} is {describe(t)}")
        if len(tensors) == 1:
            return tensors[0]
        grids = tx.meshgrid(*tensors, indexing="ij")
        return tx.stack([tx.reshape(g, (numel(g.shape),)) for g in grids], 1)

    def reference(tensors):
        if len(tensors) == 1:
            return tensors[0]
        rows = [()]
        for t in tensors:
            rows = [(*row, v) for row in rows for v in t]
        return np.array(rows, tensors[0].dtype).reshape(-1, len(tensors))

    def samples(s):
        yield Sample([s.real(s.n), s.real(s.m), s.real(s.k)])
        yield Sample([s.real(s.n)])
        yield Sample([s.real(s.n), s.real(0)])

    def bad(s):
        yield Bad(Sample([s.real(2, 2)]), ShapeError, "needs vectors")


class Kron(Composite):
    """The Kronecker product: each element of the input times all of `other`.

    >>> tx.kron(tx.tensor([1, 2]), tx.tensor([3, 4]))
    tensor([3, 4, 6, 8])
    """

    signature = "kron(input, other) -> y"

    def compose(input, other):
        ndim = max(input.ndim, other.ndim)
        a = (*[1] * (ndim - input.ndim), *input.shape)
        b = (*[1] * (ndim - other.ndim), *other.shape)
        left = tx.reshape(input, tuple(n for size in a for n in (size, 1)))
        right = tx.reshape(other, tuple(n for size in b for n in (1, size)))
        return tx.reshape(left * right, tuple(m * n for m, n in zip(a, b, strict=True)))

    def reference(input, other):
        return np.kron(input, other)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.k, s.n))
        yield Sample(s.real(s.n), s.real(s.k, s.n))
        yield Sample(s.real(s.n, s.m), s.real())
        yield Sample(s.real(s.n, 0), s.real(s.k))
