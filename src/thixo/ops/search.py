"""Searching in sorted sequences: searchsorted, bucketize."""

import bisect
import math

import numpy as np

from thixo.dtype import FLOATS, INTEGERS, int32, int64
from thixo.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import nan_last
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample


def _on_the_right(right, side):
    if side is None:
        return right
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side is {side!r}; needs 'left' or 'right'")
    if right and side == "left":
        raise ArgumentError("searchsorted: side='left' and right=True contradict each other")
    return side == "right"


def _rows_match(sequence, values):
    return values.ndim == sequence.ndim and all(
        a == b for a, b in zip(sequence.shape[:-1], values.shape[:-1], strict=True)
    )


class Searchsorted(Op):
    """Where values would go in sorted sequences (of the last axis) so that these stay sorted.

    The first such place, or with `right` (or side="right") the last. NaN is the greatest value.

    >>> tx.searchsorted(tx.tensor([1, 3, 5]), tx.tensor([2, 3, 6]))
    tensor([1, 1, 3])
    """

    signature = (
        "searchsorted(sorted_sequence, input: operand, *, out_int32: bool = False, "
        "right: bool = False, side: str? = None, sorter: tensor? = None) -> y"
    )
    method = False
    dtypes = INTEGERS + FLOATS
    vjp = None

    def infer(sorted_sequence, input, out_int32, right, side, sorter):
        _on_the_right(right, side)
        sequence = sorted_sequence
        if sequence.ndim == 0:
            raise ShapeError(
                f"searchsorted: sorted_sequence is {describe(sequence)}; needs at least one axis"
            )
        if is_tensor(input) and input.dtype.kind not in "iuf":
            raise DTypeError(f"searchsorted: input is {describe(input)}; needs a real dtype")
        if sequence.ndim > 1 and not (is_tensor(input) and _rows_match(sequence, input)):
            raise ShapeError(
                f"searchsorted: sorted_sequence is {describe(sequence)}, input is {describe(input)}; "
                "needs the same sizes but for the last axis, or a sequence with one axis"
            )
        if sorter is not None:
            if sorter.dtype is not int64:
                raise DTypeError(f"searchsorted: sorter is {describe(sorter)}; needs int64")
            if sorter.ndim != sequence.ndim or any(
                a != b for a, b in zip(sorter.shape, sequence.shape, strict=True)
            ):
                raise ShapeError(
                    f"searchsorted: sorter is {describe(sorter)}, sorted_sequence is "
                    f"{describe(sequence)}; needs the same shape"
                )
        shape = input.shape if is_tensor(input) else ()
        return Spec(shape, int32 if out_int32 else int64)

    def kernel(sorted_sequence, input, out_int32, right, side, sorter):
        sequence, values = sorted_sequence, np.asarray(input)
        if sorter is not None:
            wrong = (sorter < 0) | (sorter >= sequence.shape[-1])
            if np.any(wrong):
                raise IndexOutOfRange(
                    f"searchsorted: sorter has {sorter[wrong][0]}; needs 0 to {sequence.shape[-1] - 1}"
                )
            sequence = np.take_along_axis(sequence, sorter, axis=-1)
        side = "right" if _on_the_right(right, side) else "left"
        if sequence.ndim == 1:
            return np.asarray(np.searchsorted(sequence, values, side=side))
        found = np.empty(values.shape, np.int64)
        for row in np.ndindex(*sequence.shape[:-1]):
            found[row] = np.searchsorted(sequence[row], values[row], side=side)
        return found

    def reference(sorted_sequence, input, out_int32, right, side, sorter):
        sequence, values = np.asarray(sorted_sequence), np.asarray(input)
        if sorter is not None:
            sequence = np.take_along_axis(sequence, sorter, axis=-1)
        search = bisect.bisect_right if _on_the_right(right, side) else bisect.bisect_left
        found = np.zeros(values.shape, np.int64)
        for i in np.ndindex(*values.shape):
            row = sequence if sequence.ndim == 1 else sequence[i[:-1]]
            found[i] = search([nan_last(v) for v in row.tolist()], nan_last(values[i].item()))
        return found

    def samples(s):
        line = s.array([0, 1, 1, 3, 5])
        yield Sample(line, s.array([[1, 2], [0, 6]]))
        yield Sample(line, s.array([[1, 2], [0, 6]]), right=True, out_int32=True)
        yield Sample(line, 3, side="right")
        yield Sample(line, 2.5, side="left")
        rows = s.real(s.n, s.m)
        rows.sort(axis=-1)
        yield Sample(rows, s.real(s.n, s.k))
        yield Sample(s.array([3, 0, 1]), s.real(s.n), sorter=s.array([1, 2, 0], int64))
        yield Sample(s.real(0), s.real(s.n))
        yield Sample(line, s.real(0))
        if s.dtype.is_floating_point:
            yield Sample(s.array([1.0, 2.0, math.nan]), s.array([math.nan, 1.5, math.inf]))

    def bad(s):
        line = s.array([1, 3, 5])
        yield Bad(Sample(s.real(), line), ShapeError, "needs at least one axis")
        yield Bad(Sample(line, line, side="middle"), ArgumentError, "needs 'left' or 'right'")
        yield Bad(Sample(line, line, side="left", right=True), ArgumentError, "contradict")
        yield Bad(Sample(s.real(2, 3), s.real(2)), ShapeError, "needs the same sizes")
        yield Bad(Sample(s.real(2, 3), 1), ShapeError, "needs the same sizes")
        yield Bad(Sample(line, line, sorter=s.ints(2)), ShapeError, "needs the same shape")
        sorter = s.array([0, 1, 7], int64)
        yield Bad(Sample(line, line, sorter=sorter), IndexOutOfRange, "sorter has 7")


class Bucketize(Composite):
    """Which of the intervals between sorted boundaries each value falls into.

    >>> tx.bucketize(tx.tensor([2, 3, 6]), tx.tensor([1, 3, 5]))
    tensor([1, 1, 3])
    """

    signature = "bucketize(input: operand, boundaries, *, out_int32: bool = False, right: bool = False) -> y"
    method = False

    def compose(input, boundaries, out_int32, right):
        if boundaries.ndim != 1:
            raise ShapeError(f"bucketize: boundaries is {describe(boundaries)}; needs one axis")
        return tx.searchsorted(boundaries, input, out_int32=out_int32, right=right)

    def reference(input, boundaries, out_int32, right):
        edges, values = boundaries.tolist(), np.asarray(input)
        below = [(lambda v, e=e: e <= v) if right else (lambda v, e=e: e < v) for e in edges]
        counts = [sum(test(v) for test in below) for v in values.ravel().tolist()]
        return np.array(counts, np.int64).reshape(values.shape)

    dtypes = INTEGERS + FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.array([0, 1, 1]))
        yield Sample(s.real(s.n, s.m), s.array([0, 1, 1]), right=True, out_int32=True)
        yield Sample(1.5, s.array([0, 1, 2]))
        yield Sample(s.real(), s.array([0, 1, 2]))

    def bad(s):
        yield Bad(Sample(s.real(5), s.real(5, 5)), ShapeError, "needs one axis")
