"""Rows of a table looked up by number, one by one or summed over bags."""

import itertools
from typing import Any

import numpy as np

from thixo.dtype import FLOATS, int32, int64
from thixo.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    ValueRangeError,
    describe,
)
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.samples import Bad, Sample


def _check_table(op: str, input: Any, weight: Any) -> None:
    if input.dtype not in (int32, int64):
        raise DTypeError(f"{op}: input is {describe(input)}; row numbers must be int32 or int64")
    if weight.ndim != 2:
        raise ShapeError(f"{op}: weight is {describe(weight)}; it must be (rows, features)")
    if not weight.dtype.is_floating_point:
        raise DTypeError(f"{op}: weight is {describe(weight)}; it must be of a floating type")


def _padding_row(op: str, padding_idx: int | None, weight: Any) -> Any:
    """The row that gets no gradient, counted from the front; None where there is none."""
    if padding_idx is None:
        return None
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise IndexOutOfRange(f"{op}: padding_idx is {padding_idx}; there are {rows} rows")
    return padding_idx % rows


class EmbeddingLookup(Op):
    """The rows of `weight` with the numbers in `input`; -1 for `padding_idx` is no row.

    >>> tx.nn.functional.embedding_lookup(tx.tensor([1, 0]), tx.tensor([[1.0], [2.0]]), -1, False)
    tensor([[2.],
            [1.]])
    """

    signature = "embedding_lookup(input, weight, padding_idx: int, scale_grad_by_freq: bool) -> y"
    namespace = "nn.functional"
    dtypes = (int32, int64)

    def infer(input, weight, padding_idx, scale_grad_by_freq):
        _check_table("embedding", input, weight)
        return Spec((*input.shape, weight.shape[1]), weight.dtype)

    def kernel(input, weight, padding_idx, scale_grad_by_freq):
        if input.size and (input.min() < 0 or input.max() >= len(weight)):
            raise IndexOutOfRange(
                f"embedding: input holds {input.min()} to {input.max()}; there are {len(weight)} rows"
            )
        return weight[input]

    def vjp_weight(g, input, weight_type, padding_idx, scale_grad_by_freq):
        rows, features = weight_type.shape
        number = input.flatten().to(int64)
        g = g.reshape(number.shape[0], features)
        if scale_grad_by_freq:
            ones = g.new_ones((number.shape[0],))
            counts = g.new_zeros((rows,)).index_add(0, number, ones)
            g = g / counts.index_select(0, number).unsqueeze(1)
        if padding_idx >= 0:
            g = tx.where((number == padding_idx).unsqueeze(1), 0, g)
        return tx.index_sum(g, 0, number, rows)

    def reference(input, weight, padding_idx, scale_grad_by_freq):
        rows = [weight[i] for i in input.ravel()]
        return np.array(rows).reshape(*input.shape, weight.shape[1])

    def samples(s):
        real = FLOATS[3]
        # without padding or scaling: their gradients are not that of the value
        yield Sample(s.array([[0, 2], [2, 1]]), s.real(3, s.m, dtype=real), -1, False)
        yield Sample(s.array(1), s.real(3, s.m, dtype=real), 1, True, grad=False)

    def bad(s):
        real = FLOATS[3]
        yield Bad(Sample(s.array([3]), s.real(3, 2, dtype=real), -1, False), IndexError, "3 rows")


def _renormalize(
    op: str, input: Any, weight: Any, max_norm: float | None, norm_type: float
) -> None:
    """Scale the rows that are looked up, in place, so that none has a norm above `max_norm`."""
    if max_norm is None:
        return
    table = weight.detach()
    norms = tx.linalg.vector_norm(table, norm_type, dim=1, keepdim=True)
    used = table.new_zeros((weight.shape[0],)).index_fill(0, input.flatten().to(int64), 1)
    scale = tx.where((norms > max_norm) & (used.unsqueeze(1) > 0), max_norm / (norms + 1e-7), 1)
    table.mul_(scale)


class Embedding(Composite):
    """The rows of a table with the given numbers.

    The row `padding_idx` gets no gradient; rows above `max_norm` are first scaled down in place.

    >>> table = tx.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tx.nn.functional.embedding(tx.tensor([1, 1]), table)
    tensor([[3., 4.],
            [3., 4.]])
    """

    signature = (
        "embedding(input, weight, padding_idx: int? = None, max_norm: float? = None, "
        "norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = (int32, int64)

    def compose(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
        _check_table("embedding", input, weight)
        row = _padding_row("embedding", padding_idx, weight)
        _renormalize("embedding", input, weight, max_norm, norm_type)
        return tx.nn.functional.embedding_lookup(
            input, weight, -1 if row is None else row, scale_grad_by_freq
        )

    def reference(input, weight, *options):
        rows = [weight[i] for i in input.ravel()]
        return np.array(rows).reshape(*input.shape, weight.shape[1])

    def samples(s):
        table = s.real(3, s.m, dtype=FLOATS[3])
        yield Sample(s.array([[0, 2], [2, 1]]), table)
        yield Sample(s.array([0, 2]), table, -1, grad=False)

    def bad(s):
        table = s.real(3, 2, dtype=FLOATS[3])
        yield Bad(Sample(s.array([3]), table), IndexError, "3 rows")
        yield Bad(Sample(s.array([1]), table, 3), IndexError, "padding_idx is 3")
        yield Bad(Sample(s.array([1]), table[0]), ShapeError, "(rows, features)")


class TopEmbedding(Composite):
    """`nn.functional.embedding` in the argument order of PyTorch's top-level function.

    >>> tx.embedding(tx.tensor([[1.0], [2.0]]), tx.tensor([1]))
    tensor([[2.]])
    """

    signature = (
        "embedding(weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False, "
        "sparse: bool = False) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(weight, indices, padding_idx, scale_grad_by_freq, sparse):
        _check_table("embedding", indices, weight)
        return tx.nn.functional.embedding_lookup(indices, weight, padding_idx, scale_grad_by_freq)

    def reference(weight, indices, padding_idx, scale_grad_by_freq, sparse):
        return np.stack([weight[i] for i in indices.ravel()]).reshape(*indices.shape, -1)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.ints(2, 3, high=s.n))


# ---- bags


def _bags(op: str, input: Any, offsets: Any, include_last: bool) -> tuple[Any, Any, Any]:
    """(row numbers in one line, the bag of each, how many bags)."""
    if input.ndim == 2:
        if offsets is not None:
            raise ArgumentError(f"{op}: input is {describe(input)}, so offsets must not be given")
        bags, each = input.shape
        number = tx.arange(bags, device=input.device).unsqueeze(1).expand(bags, each)
        return input.flatten(), number.flatten(), bags
    if input.ndim != 1:
        raise ShapeError(f"{op}: input is {describe(input)}; it must have 1 or 2 dimensions")
    if offsets is None or offsets.ndim != 1:
        raise ArgumentError(
            f"{op}: input is {describe(input)}, so offsets must be a row of numbers"
        )
    if offsets.dtype not in (int32, int64):
        raise DTypeError(f"{op}: offsets is {describe(offsets)}; it must be int32 or int64")
    starts = offsets.to(int64)
    if include_last:
        starts = starts.narrow(0, 0, offsets.shape[0] - 1)
    place = tx.arange(input.shape[0], device=input.device)
    bag = tx.searchsorted(starts, place, right=True) - 1
    return input, bag, starts.shape[0]


class EmbeddingBag(Composite):
    """Sums, means or maxima of table rows over bags: the rows of a 2-d input, or cut by `offsets`.

    >>> table = tx.tensor([[1.0], [2.0], [3.0]])
    >>> tx.nn.functional.embedding_bag(tx.tensor([0, 1, 2]), table, tx.tensor([0, 1]), mode="sum")
    tensor([[1.],
            [5.]])
    """

    signature = (
        "embedding_bag(input, weight, offsets = None, max_norm: float? = None, norm_type: float = 2, "
        "scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, "
        "per_sample_weights = None, include_last_offset: bool = False, padding_idx: int? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = (int32, int64)

    def compose(
        input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
        per_sample_weights, include_last_offset, padding_idx,
    ):  # fmt: skip
        op = "embedding_bag"
        _check_table(op, input, weight)
        if mode not in ("sum", "mean", "max"):
            raise ValueRangeError(f"{op}: mode is {mode!r}; it must be 'sum', 'mean' or 'max'")
        if per_sample_weights is not None:
            if mode != "sum":
                raise ArgumentError(f"{op}: per_sample_weights need mode='sum', not {mode!r}")
            if tuple(per_sample_weights.shape) != tuple(input.shape):
                raise ShapeError(
                    f"{op}: per_sample_weights is {describe(per_sample_weights)}, input is "
                    f"{describe(input)}; the shapes must agree"
                )
            if per_sample_weights.dtype != weight.dtype:
                raise DTypeError(
                    f"{op}: per_sample_weights is {describe(per_sample_weights)}, weight is "
                    f"{describe(weight)}; the dtypes must agree"
                )
        if scale_grad_by_freq and mode == "max":
            raise ArgumentError(f"{op}: scale_grad_by_freq does not go with mode='max'")
        row = _padding_row(op, padding_idx, weight)
        _renormalize(op, input, weight, max_norm, norm_type)
        numbers, bag, bags = _bags(op, input, offsets, include_last_offset)
        rows = tx.nn.functional.embedding_lookup(
            numbers, weight, -1 if row is None else row, scale_grad_by_freq
        )
        shape = (bags, weight.shape[1])
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.flatten().unsqueeze(1)
        if mode == "max":
            return _largest(rows, numbers, bag, shape, row)
        kept = None if row is None else numbers != row
        if kept is not None:
            rows = tx.where(kept.unsqueeze(1), rows, 0)
        total = rows.new_zeros(shape).index_add(0, bag, rows)
        if mode == "sum":
            return total
        ones = rows.new_ones((rows.shape[0],)) if kept is None else kept.to(rows.dtype)
        count = rows.new_zeros((bags,)).index_add(0, bag, ones)
        return total / tx.clamp(count, min=1).unsqueeze(1)

    def reference(
        input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False,
        mode="mean", sparse=False, per_sample_weights=None, include_last_offset=False,
        padding_idx=None,
    ):  # fmt: skip
        if input.ndim == 2:
            bags = [range(i * input.shape[1], (i + 1) * input.shape[1]) for i in range(len(input))]
        else:
            ends = list(offsets) + ([] if include_last_offset else [len(input)])
            bags = [range(a, b) for a, b in itertools.pairwise(ends)]
        numbers = input.ravel()
        factors = (
            np.ones(numbers.size) if per_sample_weights is None else per_sample_weights.ravel()
        )
        y = np.zeros((len(bags), weight.shape[1]))
        for row, bag in zip(y, bags, strict=True):
            kept = [
                i for i in bag if padding_idx is None or numbers[i] != padding_idx % len(weight)
            ]
            if kept:
                picked = np.stack([weight[numbers[i]] * factors[i] for i in kept])
                row[:] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](picked, axis=0)
        return y

    def samples(s):
        table = s.distinct(5, s.m, dtype=FLOATS[3])
        line, cuts = s.array([1, 0, 4, 2, 3, 1]), s.array([0, 2, 2])
        yield Sample(line, table, cuts)
        yield Sample(line.reshape(2, 3), table, mode="sum")
        yield Sample(line.reshape(2, 3), table, mode="max")
        weights = s.real(6, dtype=FLOATS[3])
        yield Sample(line, table, cuts, mode="sum", per_sample_weights=weights)
        yield Sample(
            line, table, s.array([0, 2, 6]), include_last_offset=True, padding_idx=1, grad=False
        )

    def bad(s):
        table = s.real(3, 2, dtype=FLOATS[3])
        line = s.array([0, 1], int64)
        yield Bad(Sample(line, table), ArgumentError, "offsets")
        yield Bad(Sample(line, table, line, mode="min"), ValueRangeError, "mode is 'min'")
        yield Bad(Sample(line[None], table, line), ArgumentError, "offsets must not be given")


def _largest(rows: Any, numbers: Any, bag: Any, shape: Any, padding: Any) -> Any:
    """The largest row entries of each bag, 0 for an empty bag; gradients go to the first of them."""
    low = float("-inf")
    if padding is not None:
        rows = tx.where((numbers != padding).unsqueeze(1), rows, low)
    where = bag.unsqueeze(1).expand(rows.shape)
    top = rows.detach().new_full(shape, low).scatter_reduce(0, where, rows.detach(), "amax")
    # the place of the first row that has the maximum; one beyond the end for an empty bag
    count = rows.shape[0]
    place = tx.arange(count, device=rows.device).unsqueeze(1).expand(rows.shape)
    is_top = (rows.detach() == top.index_select(0, bag)) & (rows.detach() != low)
    place = tx.where(is_top, place, count)
    first = place.new_full(shape, count).scatter_reduce(0, where, place, "amin")
    rows = tx.cat([rows, rows.new_zeros((1, shape[1]))])
    return rows.gather(0, first)
