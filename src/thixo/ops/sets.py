"""Sets of values: unique, unique_consecutive, isin. A NaN equals nothing, not even a NaN."""

import math
from itertools import groupby

import numpy as np

from thixo.dtype import FLOATS, INTEGERS, float64, int64
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample
from thixo.shape import fresh_dim, normalize_dim


def _rows(op, input, dim):
    """The axis whose slices are compared, None for single elements; refuses what has no slices."""
    if dim is None:
        return None
    if input.ndim == 0:
        raise IndexOutOfRange(f"{op}: dim is {dim}, input is {describe(input)}, which has no axes")
    d = normalize_dim(dim, input.ndim, op)
    if any(size == 0 for i, size in enumerate(input.shape) if i != d):
        raise ShapeError(
            f"{op}: input is {describe(input)}, whose slices along axis {d} have no elements to compare"
        )
    return d


def _types(op, input, dim):
    d = _rows(op, input, dim)
    found = fresh_dim("unique")
    if d is None:
        return Spec((found,), input.dtype), Spec((found,), int64), Spec(input.shape, int64)
    shape = (*input.shape[:d], found, *input.shape[d + 1 :])
    return Spec(shape, input.dtype), Spec((found,), int64), Spec((input.shape[d],), int64)


def _matrix(input, dim):
    """The elements, or slices, to be compared: one to a row."""
    if dim is None:
        return input.reshape(-1, 1)
    rows = np.moveaxis(input, dim, 0)
    return rows.reshape(len(rows), math.prod(rows.shape[1:]))


def _differs(rows):
    """Whether each row is the first one or differs from the row before."""
    found = np.ones(len(rows), bool)
    found[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    return found


def _take(input, dim, places):
    return input.reshape(-1)[places] if dim is None else np.take(input, places, axis=dim)


def _list(input, dim):
    """`_matrix` as Python tuples of (whether it is NaN, value)."""
    rows = _matrix(np.asarray(input), dim).tolist()
    return [tuple((v != v, 0 if v != v else v) for v in row) for row in rows]


def _grouped(input, dim, in_order):
    """(first place, places) of each group of equals, by comparing Python tuples."""
    rows = _list(input, dim)
    places = list(range(len(rows)))
    if in_order:
        places.sort(key=lambda i: [(m, _key(v)) for m, v in rows[i]])
    groups = []
    for _, group in groupby(places, key=lambda i: rows[i]):
        for i in group:
            alone = any(missing for missing, _ in rows[i])  # a NaN is like no other
            if alone or not groups or rows[groups[-1][-1]] != rows[i]:
                groups.append([i])
            else:
                groups[-1].append(i)
    return groups


def _key(v):
    return (v.real, v.imag) if isinstance(v, complex) else v


def _group_results(input, dim, groups, shape):
    firsts = np.array([group[0] for group in groups], np.int64)
    inverse = np.zeros(sum(map(len, groups)), np.int64)
    for number, group in enumerate(groups):
        inverse[group] = number
    counts = np.array([len(group) for group in groups], np.int64)
    return _take(np.asarray(input), dim, firsts), firsts, inverse.reshape(shape), counts


class UniqueAll(Op):
    """The distinct elements (or slices along `dim`) in order, where each is first, and how often.

    >>> tx.unique_all(tx.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """

    signature = "unique_all(input, dim: int? = None) -> (values, indices, inverse_indices, counts)"
    method = False
    vjp = None

    def infer(input, dim):
        values, found, inverse = _types("unique", input, dim)
        return values, found, inverse, found

    def kernel(input, dim):
        rows = _matrix(input, dim)
        if rows.shape[1] == 1:
            order = np.argsort(rows[:, 0], kind="stable")
        else:
            order = np.lexsort(rows.T[::-1])  # by the first column, then by the second, ...
        starts = _differs(rows[order])
        places = np.flatnonzero(starts)
        inverse = np.empty(len(rows), np.int64)
        inverse[order] = np.cumsum(starts) - 1
        counts = np.diff(places, append=len(rows))
        firsts = order[places]
        if dim is None:
            inverse = inverse.reshape(input.shape)
        return _take(input, dim, firsts), firsts, inverse, counts

    def reference(input, dim):
        groups = _grouped(input, dim, True)
        return _group_results(input, dim, groups, input.shape if dim is None else -1)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.array([3, 1, 2, 1, 3]))
        yield Sample(s.array([[1, 0], [0, 1], [1, 0]]), 0)
        yield Sample(s.array([[1, 0, 1], [0, 1, 0]]), -1)
        yield Sample(s.real())
        yield Sample(s.real(0))
        yield Sample(s.real(0, 2), 0)
        if s.dtype.is_floating_point:
            yield Sample(s.array([math.nan, 1.0, math.nan, 0.0]))

    def bad(s):
        yield Bad(Sample(s.real(), 0), IndexOutOfRange, "has no axes")
        yield Bad(Sample(s.real(0, 2), 1), ShapeError, "no elements to compare")


class UniqueRuns(Op):
    """One of each run of equal neighbours (elements, or slices along `dim`), and how long it is.

    >>> tx.unique_runs(tx.tensor([1, 1, 2, 1])).values
    tensor([1, 2, 1])
    """

    signature = "unique_runs(input, dim: int? = None) -> (values, inverse_indices, counts)"
    method = False
    vjp = None

    def infer(input, dim):
        values, found, inverse = _types("unique_consecutive", input, dim)
        return values, inverse, found

    def kernel(input, dim):
        rows = _matrix(input, dim)
        starts = _differs(rows)
        places = np.flatnonzero(starts)
        inverse = np.cumsum(starts) - 1
        counts = np.diff(places, append=len(rows))
        return (
            _take(input, dim, places),
            inverse.reshape(input.shape) if dim is None else inverse,
            counts,
        )

    def reference(input, dim):
        groups = _grouped(input, dim, False)
        shape = input.shape if dim is None else -1
        values, _, inverse, counts = _group_results(input, dim, groups, shape)
        return values, inverse, counts

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.array([1, 1, 2, 1, 1, 1]))
        yield Sample(s.array([[1, 0], [1, 0], [0, 1], [1, 0]]), 0)
        yield Sample(s.array([[1, 1, 0], [0, 0, 1]]), -1)
        yield Sample(s.real())
        yield Sample(s.real(0))
        if s.dtype.is_floating_point:
            yield Sample(s.array([math.nan, math.nan, 1.0, 1.0]))

    def bad(s):
        yield Bad(Sample(s.real(), 0), IndexOutOfRange, "has no axes")


def _chosen(values, inverse, counts, return_inverse, return_counts):
    found = [values]
    if return_inverse:
        found.append(inverse)
    if return_counts:
        found.append(counts)
    return values if len(found) == 1 else tuple(found)


class Unique(Composite):
    """The distinct elements (or slices along `dim`), always in order; each NaN is its own.

    >>> tx.unique(tx.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """

    signature = (
        "unique(input, sorted: bool = True, return_inverse: bool = False, "
        "return_counts: bool = False, dim: int? = None) -> y"
    )

    def compose(input, sorted, return_inverse, return_counts, dim):
        values, _, inverse, counts = tx.unique_all(input, dim)
        return _chosen(values, inverse, counts, return_inverse, return_counts)

    def reference(input, sorted, return_inverse, return_counts, dim):
        values, _, inverse, counts = UniqueAll.reference(input, dim)
        return _chosen(values, inverse, counts, return_inverse, return_counts)

    def samples(s):
        yield Sample(s.array([3, 1, 2, 1, 3]))
        yield Sample(s.array([3, 1, 2, 1, 3]), True, True)
        yield Sample(s.array([3, 1, 2, 1, 3]), False, False, True)
        yield Sample(
            s.array([[1, 0], [0, 1], [1, 0]]), return_inverse=True, return_counts=True, dim=0
        )

    def bad(s):
        yield Bad(Sample(s.real(), dim=0), IndexOutOfRange, "unique: dim is 0")


class UniqueConsecutive(Composite):
    """One of each run of equal neighbours (elements, or slices along `dim`).

    >>> tx.unique_consecutive(tx.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """

    signature = (
        "unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, "
        "dim: int? = None) -> y"
    )

    def compose(input, return_inverse, return_counts, dim):
        values, inverse, counts = tx.unique_runs(input, dim)
        return _chosen(values, inverse, counts, return_inverse, return_counts)

    def reference(input, return_inverse, return_counts, dim):
        values, inverse, counts = UniqueRuns.reference(input, dim)
        return _chosen(values, inverse, counts, return_inverse, return_counts)

    def samples(s):
        yield Sample(s.array([1, 1, 2, 1]))
        yield Sample(s.array([1, 1, 2, 1]), True)
        yield Sample(s.array([1, 1, 2, 1]), return_counts=True)
        yield Sample(s.array([[1, 0], [1, 0], [0, 1]]), True, True, 0)

    def bad(s):
        yield Bad(Sample(s.real(), dim=0), IndexOutOfRange, "unique_consecutive: dim is 0")


# ---- membership


class IsMember(Op):
    """Whether each element is among the test elements.

    >>> tx.is_member(tx.tensor([1, 2, 3]), tx.tensor([2]))
    tensor([False,  True, False])
    """

    signature = "is_member(elements, test_elements) -> y"
    method = False
    dtypes = INTEGERS + FLOATS
    vjp = None

    def infer(elements, test_elements):
        if test_elements.dtype.kind not in "iuf":
            raise DTypeError(
                f"isin: test_elements is {describe(test_elements)}; needs a real dtype"
            )
        return Spec(elements.shape, bool_)

    def kernel(elements, test_elements):
        tests = np.sort(test_elements, axis=None)
        if not tests.size:
            return np.zeros(elements.shape, bool)
        places = np.minimum(np.searchsorted(tests, elements), tests.size - 1)
        return np.asarray(tests[places] == elements)

    def reference(elements, test_elements):
        tests = {v for v in np.asarray(test_elements).ravel().tolist() if v == v}
        found = [v in tests for v in np.asarray(elements).ravel().tolist()]
        return np.array(found, bool).reshape(elements.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.b))
        yield Sample(s.array([1, 2, 3]), s.array([[2, 3], [5, 7]]))
        yield Sample(s.real(), s.real(s.n))
        yield Sample(s.real(s.n), s.real(0))
        yield Sample(s.array([1, 2, 3]), s.array([2.0, 2.5], float64))
        if s.dtype.is_floating_point:
            yield Sample(s.array([math.nan, 1.0]), s.array([math.nan, 1.0]))


class Isin(Composite):
    """Whether each element is among the test elements (or, with `invert`, is not).

    >>> tx.isin(tx.tensor([1, 2, 3]), tx.tensor([2, 3]))
    tensor([False,  True,  True])
    """

    signature = (
        "isin(elements: operand, test_elements: operand, *, assume_unique: bool = False, "
        "invert: bool = False) -> y"
    )
    method = False

    def compose(elements, test_elements, assume_unique, invert):
        for name, x in (("elements", elements), ("test_elements", test_elements)):
            if is_tensor(x) and x.dtype.kind not in "iuf":
                raise DTypeError(f"isin: {name} is {describe(x)}; needs a real dtype")
        if not is_tensor(test_elements):
            if not is_tensor(elements):
                raise ArgumentError(
                    "isin: elements and test_elements are both numbers; needs a tensor"
                )
            found = tx.eq(elements, test_elements)
        elif not is_tensor(elements):
            found = tx.any(tx.eq(test_elements, elements))
        else:
            found = tx.is_member(elements, test_elements)
        return tx.logical_not(found) if invert else found

    def reference(elements, test_elements, assume_unique, invert):
        found = IsMember.reference(np.asarray(elements), np.asarray(test_elements))
        return ~found if invert else found

    dtypes = INTEGERS + FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.b))
        yield Sample(s.array([1, 2, 3]), s.array([[2, 3], [5, 7]]), invert=True)
        yield Sample(s.array([1, 2, 3]), 2)
        yield Sample(2, s.array([1, 2, 3]), assume_unique=True)

    def bad(s):
        yield Bad(Sample(s.bools(3), s.bools(3)), DTypeError, "isin")
        yield Bad(Sample(1, 1), ArgumentError, "needs a tensor")
