"""Elements written along an axis to places an index names: scatter, scatter_add, scatter_reduce."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thixo.dtype import BOOL, COMPLEX, FLOATS, INTEGERS, int64
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.index_checks import (
    at_least_1d,
    check_along,
    check_inside,
    check_lines,
    checked_index,
    grid,
    require_same_dtype,
    unique_index,
)
from thixo.ops.index_write import check_source, numbered, of_the_last
from thixo.ops.loops import replaced
from thixo.ops.plain import number_in
from thixo.ops.samples import Bad, Maker, Sample


def check_scatter(operation: str, input: Any, dim: int, index: Any, src: Any) -> Spec:
    """The result's type; input and source must reach as far as the index."""
    d = check_along(operation, input, dim, index)
    check_inside(operation, index, input, "input", except_dim=d)
    if hasattr(src, "dtype"):
        require_same_dtype(operation, input, src, "src")
        empty = any(isinstance(n, int) and n == 0 for n in index.shape)
        if not empty and max(src.ndim, 1) != max(index.ndim, 1):
            raise ShapeError(
                f"{operation}: index must have as many axes as src, index is {describe(index)}, "
                f"src is {describe(src)}"
            )
        check_inside(operation, index, src, "src")
    return Spec(tuple(input.shape), input.dtype)


def places_and_values(
    operation: str, y: np.ndarray, dim: int, index: np.ndarray, src: Any
) -> tuple[Any, Any]:
    """Where in `y` the scattered values go, as a NumPy index, and the values."""
    index = at_least_1d(index)
    d = dim % y.ndim
    index = checked_index(operation, index, y.shape[d], d)
    if isinstance(src, np.ndarray):
        src = at_least_1d(src)[tuple(slice(n) for n in index.shape)]
    else:
        src = number_in(operation, src, y.dtype)
    return grid(index, d), src


def reach(g: Any, src_type: Any) -> Any:
    """A gradient for the part of src that the index covers, with zeros for the rest."""
    shape = tuple(src_type.shape)
    if len(shape) != g.ndim:
        return tx.reshape(g, shape) if g.ndim <= 1 else g.new_zeros(shape)
    pad = []
    for have, want in zip(reversed(g.shape), reversed(shape), strict=True):
        pad += [0, 0 if have is want else want - have]
    if all(isinstance(n, int) and n == 0 for n in pad):
        return g
    return tx.constant_pad_nd(g, tuple(pad), 0)


def scatter_samples(s: Maker, unique: bool) -> Iterator[tuple[Any, ...]]:
    """Sample arguments: input, dim, index and source in every relation of their sizes."""
    index = (
        (lambda *shape, dim, size: unique_index(s, *shape, dim=dim))
        if unique
        else (lambda *shape, dim, size: s.ints(*shape, high=size))
    )
    yield s.real(s.n, s.m), 0, index(s.n, s.m, dim=0, size=s.n), s.real(s.n, s.m)
    yield s.real(s.n, s.m), 1, index(2, s.m, dim=1, size=s.m), s.real(s.n, s.m + 1)
    yield s.real(s.n, s.m, s.k), -1, index(s.n, 1, s.k, dim=2, size=s.k), s.real(s.n, s.m, s.k)
    yield s.real(s.n), 0, s.ints(0), s.real(s.m)
    yield s.real(), 0, s.ints(high=1), s.real()


class ScatterSet(Op):
    """A copy of the input with elements replaced: y[index[i][j]][j] = src[i][j] for dim 0.

    >>> tx.scatter_set(tx.zeros(3), 0, tx.tensor([2, 0]), tx.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """

    signature = "scatter_set(input, dim: int, index, src: operand) -> y"
    method = False

    def infer(input, dim, index, src):
        return check_scatter("scatter", input, dim, index, src)

    def kernel(input, dim, index, src):
        y = at_least_1d(np.array(input))
        if index.size:
            places, values = places_and_values("scatter", y, dim, index, src)
            y[places] = values
        return y.reshape(input.shape)

    def vjp_input(g, dim, index):
        return tx.scatter_set(g, dim, index, 0)

    def vjp_src(g, dim, index, src_type):
        numbers = numbered(index.shape)
        board = tx.scatter_set(g.new_zeros(tuple(g.shape), dtype=int64), dim, index, numbers)
        seen = tx.gather(board, dim, index)
        return reach(of_the_last(tx.gather(g, dim, index), seen, numbers), src_type)

    def reference(input, dim, index, src):
        y = at_least_1d(np.array(input))
        index = at_least_1d(index)
        values = at_least_1d(src) if isinstance(src, np.ndarray) else None
        for i in np.ndindex(*index.shape):
            y[replaced(i, dim, index[i])] = src if values is None else values[i]
        return y.reshape(input.shape)

    def samples(s):
        for arguments in scatter_samples(s, unique=True):
            yield Sample(*arguments)
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.b, s.m, high=s.n), 2)

    def bad(s):
        yield Bad(
            Sample(s.real(3, 5), 0, s.ints(2, 2, high=3), s.real(1, 5)),
            ShapeError,
            "larger than src",
        )
        yield Bad(
            Sample(s.real(3), 0, s.array([3], int64), s.real(1)), IndexOutOfRange, "index 3 is out"
        )


class Scatter(Composite):
    """A copy of the input with elements replaced, added or multiplied at places along an axis.

    >>> tx.scatter(tx.zeros(3), 0, tx.tensor([2, 0]), tx.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """

    signature = (
        "scatter(input, dim: int, index, src: operand? = None, *, value: scalar? = None, "
        "reduce: str? = None) -> y"
    )
    inplace = True

    def compose(input, dim, index, src, value, reduce):
        if (src is None) == (value is None):
            raise ArgumentError("scatter: needs either src or value")
        given = value if src is None else src
        if reduce is None:
            return tx.scatter_set(input, dim, index, given)
        if reduce not in ("add", "multiply"):
            raise ArgumentError(f"scatter: reduce must be 'add' or 'multiply', got {reduce!r}")
        if not hasattr(given, "dtype"):
            given = tx.full(tuple(index.shape), given, dtype=input.dtype)
        if reduce == "add":
            return tx.scatter_add(input, dim, index, given)
        return tx.scatter_reduce(input, dim, index, given, "prod")

    def reference(input, dim, index, src=None, value=None, reduce=None):
        if src is None:
            src = value
        if reduce is None:
            return ScatterSet.reference(input, dim, index, src)
        combine = {"add": np.add, "multiply": np.multiply}[reduce]
        y = np.array(input)
        for i in np.ndindex(*index.shape):
            place = replaced(i, dim, index[i])
            y[place] = combine(y[place], src[i] if isinstance(src, np.ndarray) else src)
        return y

    def samples(s):
        yield from ScatterSet.samples(s)
        index = s.ints(s.b, s.m, high=s.n)
        yield Sample(s.real(s.n, s.m), 0, index, value=1)
        yield Sample(s.real(s.n, s.m), 0, index, s.real(s.b, s.m), reduce="add")
        yield Sample(s.real(s.n, s.m), 0, index, s.real(s.b, s.m), reduce="multiply")
        yield Sample(s.real(s.n, s.m), 0, index, 2, reduce="multiply")

    def bad(s):
        yield Bad(Sample(s.real(3), 0, s.ints(2, high=3)), ArgumentError, "either src or value")
        yield Bad(
            Sample(s.real(3), 0, s.ints(2, high=3), 1, reduce="mean"), ArgumentError, "reduce must"
        )


class ScatterAdd(Op):
    """A copy of the input with elements added: y[index[i][j]][j] += src[i][j] for dim 0.

    >>> tx.scatter_add(tx.zeros(3), 0, tx.tensor([2, 2]), tx.tensor([1.0, 2.0]))
    tensor([0., 0., 3.])
    """

    signature = "scatter_add(input, dim: int, index, src) -> y"
    inplace = True

    def infer(input, dim, index, src):
        return check_scatter("scatter_add", input, dim, index, src)

    def kernel(input, dim, index, src):
        y = at_least_1d(np.array(input))
        if index.size:
            places, values = places_and_values("scatter_add", y, dim, index, src)
            np.add.at(y, places, values)
        return y.reshape(input.shape)

    def vjp_input(g):
        return g

    def vjp_src(g, dim, index, src_type):
        return reach(tx.gather(g, dim, index), src_type)

    def reference(input, dim, index, src):
        y = at_least_1d(np.array(input))
        index, src = at_least_1d(index), at_least_1d(src)
        for i in np.ndindex(*index.shape):
            y[replaced(i, dim, index[i])] += src[i]
        return y.reshape(input.shape)

    def samples(s):
        for arguments in scatter_samples(s, unique=False):
            yield Sample(*arguments)

    bad = ScatterSet.bad


REDUCTIONS = {
    "sum": (np.add, 0),
    "mean": (np.add, 0),
    "prod": (np.multiply, 1),
    "amax": (np.maximum, None),
    "amin": (np.minimum, None),
}


def identity_of(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What a reduction starts from where the input itself is left out."""
    if reduce in ("amax", "amin") and dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if reduce in ("amax", "amin"):
        if dtype.kind == "b":
            return reduce == "amin"
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return REDUCTIONS[reduce][1]


class ScatterReduce(Op):
    """A copy of the input whose elements are reduced with all source elements sent to them.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; include_self=False leaves the input's own
    elements out where any source element arrives.

    >>> tx.scatter_reduce(tx.ones(2), 0, tx.tensor([0, 0]), tx.tensor([3.0, 5.0]), "mean")
    tensor([3., 1.])
    """

    signature = "scatter_reduce(input, dim: int, index, src, reduce: str, *, include_self: bool = True) -> y"
    inplace = True

    def infer(input, dim, index, src, reduce, include_self=True):
        if reduce not in REDUCTIONS:
            raise ArgumentError(
                f"scatter_reduce: reduce must be one of {', '.join(REDUCTIONS)}, got {reduce!r}"
            )
        if reduce in ("amax", "amin") and input.dtype.is_complex:
            raise DTypeError(
                f"scatter_reduce: complex numbers have no order, input is {describe(input)}"
            )
        if reduce == "mean" and input.dtype is bool_:
            raise DTypeError(f"scatter_reduce: bool has no mean, input is {describe(input)}")
        return check_scatter("scatter_reduce", input, dim, index, src)

    def kernel(input, dim, index, src, reduce, include_self=True):
        y = at_least_1d(np.array(input))
        if not index.size:
            return y.reshape(input.shape)
        places, values = places_and_values("scatter_reduce", y, dim, index, src)
        if not include_self:
            y[places] = identity_of(reduce, y.dtype)
        REDUCTIONS[reduce][0].at(y, places, values)
        if reduce == "mean":
            count = np.full(y.shape, 1 if include_self else 0, np.int64)
            np.add.at(count, places, 1)
            count = np.maximum(count, 1)
            y = y // count if y.dtype.kind in "iu" else y / count.astype(y.real.dtype)
        return y.reshape(input.shape)

    def vjp_input(g, input, dim, index, src, reduce, include_self, y):
        if not include_self:
            g = tx.scatter_set(g, dim, index, 0)
        if reduce == "sum":
            return g
        if reduce == "mean":
            return g / arrivals(g, dim, index, include_self)
        if reduce == "prod":
            # The product of all others: safe where the element itself is 0.
            others = tx.scatter_reduce(tx.ones_like(input), dim, index, src, "prod")
            return g * others.conj()
        chosen = input == y
        return where_chosen(chosen, g / choices(chosen, src, y, dim, index, include_self))

    def vjp_src(g, input, dim, index, src, reduce, include_self, y):
        if reduce == "sum":
            return reach(tx.gather(g, dim, index), src)
        if reduce == "mean":
            g = g / arrivals(g, dim, index, include_self)
            return reach(tx.gather(g, dim, index), src)
        if reduce == "prod":
            return reach(product_gradient(g, input, dim, index, src, include_self), src)
        taken = covered(src, index)
        chosen = taken == tx.gather(y, dim, index)
        share = g / choices(input == y, src, y, dim, index, include_self)
        return reach(where_chosen(chosen, tx.gather(share, dim, index)), src)

    def reference(input, dim, index, src, reduce, include_self=True):
        y = at_least_1d(np.array(input))
        index, src = at_least_1d(index), at_least_1d(src)
        arrived = {}
        for i in np.ndindex(*index.shape):
            arrived.setdefault(replaced(i, dim, int(index[i])), []).append(src[i])
        for place, values in arrived.items():
            values = [y[place], *values] if include_self else values
            if reduce == "mean":
                total = np.sum(np.array(values, y.dtype), dtype=y.dtype)
                y[place] = total // len(values) if y.dtype.kind in "iu" else total / len(values)
            else:
                fold = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min}[reduce]
                y[place] = np.asarray(fold(np.array(values, y.dtype))).astype(y.dtype)
        return y.reshape(input.shape)

    dtypes = BOOL + INTEGERS + FLOATS + COMPLEX

    def samples(s):
        left_out = ("amax", "amin") if s.dtype.is_complex else ("mean",) if s.dtype is bool_ else ()
        for reduce in (r for r in REDUCTIONS if r not in left_out):
            for include_self in (True, False):
                yield Sample(
                    s.distinct(s.n, s.m),
                    0,
                    s.ints(s.b, s.m, high=s.n),
                    s.distinct(s.b, s.m, low=-1.9, high=2.1),
                    reduce,
                    include_self=include_self,
                )
            yield Sample(s.distinct(s.n, s.m), -1, s.ints(2, 2, high=s.m), s.real(s.n, 3), reduce)
            yield Sample(s.real(s.n), 0, s.ints(0), s.real(0), reduce)
            yield Sample(s.real(), 0, s.ints(high=1), s.real(), reduce)
        zeros = s.array([0, 1, 0, 2, 0])
        yield Sample(
            s.array([2, 0, 3]), 0, s.array([0, 0, 1, 1, 2], int64), zeros, "prod", grad=False
        )

    def bad(s):
        yield Bad(
            Sample(s.real(3), 0, s.ints(2, high=3), s.real(2), "median"),
            ArgumentError,
            "reduce must",
        )
        yield Bad(
            Sample(s.real(3), 0, s.array([3], int64), s.real(1), "sum"),
            IndexOutOfRange,
            "index 3 is out",
        )


def covered(src: Any, index: Any) -> Any:
    """The part of src that the index covers."""
    for d, n in enumerate(index.shape):
        src = tx.slice(src, d, 0, n)
    return src


def where_chosen(chosen: Any, g: Any) -> Any:
    """g where the mask holds, else 0."""
    return tx.where(chosen, g, tx.zeros_like(g))


def arrivals(g: Any, dim: int, index: Any, include_self: bool) -> Any:
    """How many elements each mean is over, at least 1."""
    start = tx.ones_like(g) if include_self else tx.zeros_like(g)
    count = tx.scatter_add(start, dim, index, tx.ones(tuple(index.shape), dtype=g.dtype))
    return tx.where(count == 0, tx.ones_like(count), count)


def choices(chosen: Any, src: Any, y: Any, dim: int, index: Any, include_self: bool) -> Any:
    """How many elements attain each maximum or minimum; they share its gradient."""
    own = tx.cast(chosen, y.dtype)
    if not include_self:
        own = tx.scatter_set(own, dim, index, 0)
    hits = tx.cast(covered(src, index) == tx.gather(y, dim, index), y.dtype)
    count = tx.scatter_add(own, dim, index, hits)
    return tx.where(count == 0, tx.ones_like(count), count)


def product_gradient(g: Any, input: Any, dim: int, index: Any, src: Any, include_self: bool) -> Any:
    """The gradient of products towards src, also where one factor of a product is 0."""
    src = covered(src, index)
    start = input if include_self else tx.scatter_set(input, dim, index, 1)
    is_zero = src == 0
    zeros = tx.scatter_add(
        tx.zeros_like(input), dim, index, tx.cast(is_zero, input.dtype)
    )  # factors of src that are 0, for each product
    ones = tx.ones_like(src)
    filled = tx.where(is_zero, ones, src)
    others = tx.scatter_reduce(start, dim, index, filled, "prod")  # all factors but the zeros
    others, zeros = tx.gather(g * others.conj(), dim, index), tx.gather(zeros, dim, index)
    own = tx.cast(is_zero, src.dtype)
    # An element's other factors contain no zero only if the zeros counted are its own.
    return tx.where(zeros == own, others / filled.conj(), tx.zeros_like(others))


class IndexReduce(Composite):
    """A copy of the input whose slices are reduced with the slices of the source sent to them.

    `reduce` is "prod", "mean", "amax" or "amin".

    >>> tx.index_reduce(tx.ones(2), 0, tx.tensor([0, 0]), tx.tensor([3.0, 5.0]), "mean")
    tensor([3., 1.])
    """

    signature = "index_reduce(input, dim: int, index, source, reduce: str, *, include_self: bool = True) -> y"
    inplace = True
    dtypes = INTEGERS + FLOATS

    def compose(input, dim, index, source, reduce, include_self):
        if reduce not in ("prod", "mean", "amax", "amin"):
            raise ArgumentError(
                f"index_reduce: reduce must be one of prod, mean, amax, amin, got {reduce!r}"
            )
        d = check_lines("index_reduce", input, dim, index)
        check_source("index_reduce", input, d, index, source)
        if input.ndim == 0:
            index, source = tx.reshape(index, (1,)), tx.reshape(source, (1,))
        shape = [1] * max(input.ndim, 1)
        shape[d] = index.shape[0] if index.ndim else 1
        index = tx.expand(tx.reshape(index, shape), tuple(source.shape))
        return tx.scatter_reduce(input, d, index, source, reduce, include_self=include_self)

    def reference(input, dim, index, source, reduce, include_self=True):
        y = np.array(input)
        lines, sent = np.moveaxis(y, dim, 0), np.moveaxis(source, dim, 0)
        for place in {int(i) for i in index}:
            values = [sent[i] for i in range(len(index)) if index[i] == place]
            values = np.array([lines[place], *values] if include_self else values)
            if reduce == "mean":
                total = values.sum(0, dtype=y.dtype)
                lines[place] = total // len(values) if y.dtype.kind in "iu" else total / len(values)
            else:
                fold = {"prod": np.prod, "amax": np.max, "amin": np.min}[reduce]
                lines[place] = fold(values.astype(y.dtype), axis=0)
        return y

    def samples(s):
        for reduce in ("prod", "mean", "amax", "amin"):
            for include_self in (True, False):
                yield Sample(
                    s.distinct(s.n, s.m),
                    0,
                    s.ints(s.b, high=s.n),
                    s.distinct(s.b, s.m, low=-1.9, high=2.1),
                    reduce,
                    include_self=include_self,
                )
            yield Sample(s.distinct(s.n, s.m), -1, s.ints(2, high=s.m), s.real(s.n, 2), reduce)

    def bad(s):
        yield Bad(
            Sample(s.real(3), 0, s.ints(2, high=3), s.real(2), "sum"), ArgumentError, "reduce must"
        )
        yield Bad(
            Sample(s.real(3), 0, s.ints(2, high=3), s.real(3), "prod"),
            ShapeError,
            "a slice for each",
        )
