"""Norms and distances: norm, dist, cdist, pdist, renorm, normalize, cosine_similarity."""

import math
from itertools import combinations

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, INTEGERS, float32, int64, result_type
from thixo.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    ValueRangeError,
    describe,
)
from thixo.ops import public as tx
from thixo.ops.base import Composite, Creation, Spec
from thixo.ops.reduce_references import over_axes
from thixo.ops.reduce_rules import axes, cast, require_dtype
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim


def _length(p):
    """The p-norm of a list of Python numbers."""

    def norm(values):
        sizes = [abs(v) for v in values]
        if p == math.inf or p == -math.inf:
            return max(sizes) if p > 0 else min(sizes)
        if p == 0:
            return float(sum(size != 0 for size in sizes))
        if p < 0 and 0 in sizes:
            return 0.0
        return math.fsum(size**p for size in sizes) ** (1 / p)

    return norm


def _wide(dtype):
    """The type to divide by a length in: half types have no number as small as eps."""
    return float32 if dtype.itemsize == 2 else dtype


class Norm(Composite):
    """The p-norm of all elements, or along the axes `dim`; "fro" is 2, "nuc" sums singular values.

    >>> tx.norm(tx.tensor([3.0, 4.0]))
    tensor(5.)
    """

    signature = (
        "norm(input, p: any = 'fro', dim: ints? = None, keepdim: bool = False, "
        "*, dtype: dtype? = None) -> y"
    )
    dtypes = FLOATS + COMPLEX

    def compose(input, p, dim, keepdim, dtype):
        require_dtype("norm", input, Norm.dtypes)
        if isinstance(p, np.ndarray | np.generic) and p.ndim == 0:
            p = p.item()
        if p is not None and not isinstance(p, str | int | float):
            raise ArgumentError(f"norm: p is {describe(p)}; needs a real number, 'fro' or 'nuc'")
        if p == "nuc":
            dims = axes(dim, input.ndim, "norm")
            if len(dims) != 2:
                raise ShapeError(
                    f"norm: input is {describe(input)}, dim is {dim}; the nuclear norm needs two axes"
                )
            order = dims if dim is None else tuple(dim)
            return tx.linalg.matrix_norm(input, "nuc", order, keepdim, dtype=dtype)
        if p is None or p == "fro":
            p = 2
        if isinstance(p, bool) or not isinstance(p, int | float):
            raise ArgumentError(f"norm: p is {describe(p)}; needs a real number, 'fro' or 'nuc'")
        dim = None if dim == () else dim
        return tx.linalg.vector_norm(input, p, dim, keepdim, dtype=dtype)

    def reference(input, p, dim, keepdim, dtype):
        if p == "nuc":
            return np.linalg.norm(input, "nuc", dim, keepdims=keepdim)
        return over_axes(input, dim, keepdim, _length(2 if p in (None, "fro") else p))

    def samples(s):
        yield Sample(s.distinct(s.n, s.m))
        yield Sample(s.distinct(s.n, s.m), None)
        for p in (1, 3, 0.5, -1.5):
            yield Sample(s.distinct(s.n, s.m), p, 1)
        for p in (math.inf, -math.inf):
            yield Sample(s.distinct(s.n, s.m, low=0.2), p, 1)
        yield Sample(s.distinct(s.n, s.m), 0, grad=False)
        yield Sample(s.distinct(s.n, s.m, s.k), 2, (0, -1), True)
        yield Sample(s.distinct(s.n, s.m), "fro", 0)
        yield Sample(s.distinct(), 2, 0)
        yield Sample(s.real(0))
        if s.dtype.itemsize > 2:
            yield Sample(s.distinct(s.n, s.m), "nuc")

    def bad(s):
        yield Bad(Sample(s.ints(3)), DTypeError, "norm")
        yield Bad(Sample(s.real(3), "fast"), ArgumentError, "needs a real number, 'fro' or 'nuc'")
        yield Bad(Sample(s.real(3), "nuc"), ShapeError, "needs two axes")


class Dist(Composite):
    """The p-norm of the difference of two tensors.

    >>> tx.dist(tx.tensor([3.0, 4.0]), tx.tensor([0.0, 0.0]))
    tensor(5.)
    """

    signature = "dist(input, other, p: float = 2) -> y"

    def compose(input, other, p):
        common = result_type(input, other)
        if not (common.is_floating_point or common.is_complex):
            raise DTypeError(
                f"dist: input is {describe(input)}, other is {describe(other)}; "
                "needs a floating-point or complex dtype"
            )
        return tx.linalg.vector_norm(input - other, p)

    def reference(input, other, p):
        return over_axes(input - other, None, False, _length(p))

    dtypes = FLOATS + COMPLEX

    def samples(s):
        for p in (2, 1, 3, math.inf):
            yield Sample(s.distinct(s.n, s.m), s.distinct(s.n, s.m, low=3, high=4.2), p)
        yield Sample(s.distinct(s.n, s.m), s.real(s.m), 2.5)
        yield Sample(s.real(), s.real(s.n))

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(3)), ShapeError, "")


# ---- between points


def _check_points(op, p, *points):
    if not p >= 0:
        raise ValueRangeError(f"{op}: p is {p}; needs 0 or more")
    for name, x in points:
        if not x.dtype.is_floating_point:
            raise DTypeError(f"{op}: {name} is {describe(x)}; needs a floating-point dtype")


def _lengths(differences, p):
    """The p-norm along the last axis; that of no elements is 0."""
    if differences.shape[-1] == 0:
        return tx.sum(differences, -1)
    return tx.linalg.vector_norm(differences, p, -1)


_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


class Cdist(Composite):
    """The p-norm distance of each point (row) of x1 from each of x2, for each batch.

    >>> tx.cdist(tx.tensor([[0.0, 0.0], [3.0, 0.0]]), tx.tensor([[3.0, 4.0]]))
    tensor([[5.],
            [4.]])
    """

    signature = (
        "cdist(x1, x2, p: float = 2.0, "
        "compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(x1, x2, p, compute_mode):
        # Differences, never products: x1 and x2 far from 0 and close together lose nothing.
        if compute_mode not in _MODES:
            raise ArgumentError(
                f"cdist: compute_mode is {compute_mode!r}; needs one of {', '.join(_MODES)}"
            )
        _check_points("cdist", p, ("x1", x1), ("x2", x2))
        if x1.dtype is not x2.dtype:
            raise DTypeError(f"cdist: x1 is {describe(x1)}, x2 is {describe(x2)}; needs one dtype")
        if x1.ndim < 2 or x2.ndim < 2:
            raise ShapeError(
                f"cdist: x1 is {describe(x1)}, x2 is {describe(x2)}; needs two axes or more"
            )
        if x1.shape[-1] != x2.shape[-1]:
            raise ShapeError(
                f"cdist: x1 is {describe(x1)}, x2 is {describe(x2)}; needs the same last size"
            )
        return _lengths(tx.unsqueeze(x1, -2) - tx.unsqueeze(x2, -3), p)

    def reference(x1, x2, p, compute_mode):
        differences = x1[..., :, None, :] - x2[..., None, :, :]
        if not differences.shape[-1]:
            return np.zeros(differences.shape[:-1])
        return over_axes(differences, -1, False, _length(p))

    def samples(s):
        for p in (2.0, 1.0, 0.5, 3.0, math.inf):
            yield Sample(s.distinct(s.n, s.k), s.distinct(s.m, s.k, low=2.5, high=4.7), p)
        yield Sample(s.distinct(s.n, s.k), s.distinct(s.m, s.k), 0.0, grad=False)
        yield Sample(s.distinct(s.b, s.n, s.k), s.distinct(s.m, s.k, low=2.5, high=4.7))
        yield Sample(s.real(s.n, 0), s.real(s.m, 0))
        yield Sample(s.real(0, s.k), s.real(s.m, s.k))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2, 2)), ShapeError, "needs the same last size")
        yield Bad(Sample(s.real(3), s.real(2, 3)), ShapeError, "needs two axes or more")
        yield Bad(Sample(s.real(2, 3), s.real(2, 3), -1.0), ValueRangeError, "p is -1.0")
        yield Bad(Sample(s.ints(2, 3), s.ints(2, 3)), DTypeError, "cdist")
        yield Bad(Sample(s.real(2, 3), s.real(2, 3), 2.0, "fast"), ArgumentError, "compute_mode")


class PairIndices(Creation):
    """All pairs of numbers below n, the first less than the second: 0 and 1, 0 and 2, ...

    >>> tx.pair_indices(3).second
    tensor([1, 2, 2])
    """

    signature = "pair_indices(n: int) -> (first, second)"

    def infer(n):
        if n < 0:
            raise ValueRangeError(f"pair_indices: n is {n}; needs 0 or more")
        pairs = Spec((n * (n - 1) // 2,), int64)
        return pairs, pairs

    def kernel(n):
        return np.triu_indices(n, 1)

    def reference(n):
        pairs = list(combinations(range(n), 2))
        return tuple(np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))

    def samples(s):
        yield Sample(s.n)
        yield Sample(1)
        yield Sample(0)


class Pdist(Composite):
    """The p-norm distances of all pairs of points (rows): 0 and 1, 0 and 2, ..., 1 and 2, ...

    >>> tx.pdist(tx.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """

    signature = "pdist(input, p: float = 2.0) -> y"
    aliases = ("nn.functional.pdist",)
    method = False
    dtypes = FLOATS

    def compose(input, p):
        _check_points("pdist", p, ("input", input))
        if input.ndim != 2:
            raise ShapeError(f"pdist: input is {describe(input)}; needs two axes")
        first, second = tx.pair_indices(input.shape[0])
        return _lengths(tx.index_select(input, 0, first) - tx.index_select(input, 0, second), p)

    def reference(input, p):
        rows = input.tolist()
        pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
        norm = _length(p)
        found = [norm([u - v for u, v in zip(a, b, strict=True)]) if a else 0.0 for a, b in pairs]
        return np.array(found, np.float64)

    def samples(s):
        for p in (2.0, 1.0, 3.0, math.inf):
            yield Sample(s.real(s.n, s.k), p)
        yield Sample(s.distinct(s.n, s.k), 0.0, grad=False)
        yield Sample(s.distinct(1, 3))
        yield Sample(s.real(s.n, 0), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "needs two axes")
        yield Bad(Sample(s.real(3, 2), -1.0), ValueRangeError, "p is -1.0")


class PairwiseDistance(Composite):
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> tx.nn.functional.pairwise_distance(tx.tensor([3.0, 4.0]), tx.tensor([0.0, 0.0]), eps=0.0)
    tensor(5.)
    """

    signature = (
        "pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> y"
    )
    namespace = "nn.functional"
    aliases = ("pairwise_distance",)
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(x1, x2, p, eps, keepdim):
        return tx.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)

    def reference(x1, x2, p, eps, keepdim):
        return over_axes(np.asarray(x1 - x2 + eps), -1, keepdim, _length(p))

    def samples(s):
        for p in (2.0, 1.0, 5.0, -1.0):
            yield Sample(s.real(s.n, s.m), s.real(s.n, s.m, low=5, high=9), p)
        yield Sample(s.real(s.n, s.m), s.real(s.m, low=5, high=9), keepdim=True)
        yield Sample(s.real(s.m), s.real(s.n, s.m, low=5, high=9), eps=0.5)
        yield Sample(s.real(), s.real(low=5, high=9))


class CosineSimilarity(Composite):
    """The cosine of the angle between x1 and x2 along an axis; lengths count at least `eps`.

    >>> tx.nn.functional.cosine_similarity(tx.tensor([3.0, 4.0]), tx.tensor([4.0, 3.0]), dim=0)
    tensor(0.9600)
    """

    signature = "cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8) -> y"
    namespace = "nn.functional"
    aliases = ("cosine_similarity",)
    dtypes = INTEGERS + FLOATS

    def compose(x1, x2, dim, eps):
        common = result_type(x1, x2)
        if not common.is_floating_point:
            raise DTypeError(
                f"cosine_similarity: x1 is {describe(x1)}, x2 is {describe(x2)}; "
                "needs a floating-point dtype"
            )
        x1, x2 = tx.broadcast_tensors(cast(x1, _wide(common)), cast(x2, _wide(common)))
        normalize_dim(dim, x1.ndim, "cosine_similarity")
        length1 = tx.clamp_min(tx.linalg.vector_norm(x1, 2, dim, True), eps)
        length2 = tx.clamp_min(tx.linalg.vector_norm(x2, 2, dim, True), eps)
        # Each divided by its own length first: the product of lengths could overflow.
        return cast(tx.sum((x1 / length1) * (x2 / length2), dim), common)

    def reference(x1, x2, dim, eps):
        x1, x2 = np.broadcast_arrays(x1, x2)
        pairs = np.stack((x1, x2), -1)
        norm = _length(2)

        def cosine(values):
            a, b = values[0::2], values[1::2]
            product = math.fsum(u * v for u, v in zip(a, b, strict=True))
            return product / (max(norm(a), eps) * max(norm(b), eps))

        dim = dim % (x1.ndim or 1)
        return over_axes(pairs, (dim, x1.ndim) if x1.ndim else 0, False, cosine)

    def samples(s):
        if not s.dtype.is_floating_point:  # whole numbers meet floats
            yield Sample(s.real(s.n, s.m), s.distinct(s.n, s.m, dtype=float32))
            return
        yield Sample(s.distinct(s.n, s.m), s.distinct(s.n, s.m))
        yield Sample(s.distinct(s.n, s.m), s.distinct(s.m), dim=-1)
        yield Sample(s.distinct(1, s.m, s.k), s.distinct(s.n, 1, s.k), dim=-2)
        yield Sample(s.distinct(s.m), s.distinct(s.m), dim=0, eps=0.1)
        yield Sample(s.array([0.0, 0.0]), s.array([1.0, 2.0]), dim=0, grad=False)
        yield Sample(s.positive(), s.positive(), dim=0, grad=False)

    def bad(s):
        yield Bad(Sample(s.ints(2, 3), s.ints(2, 3)), DTypeError, "needs a floating-point dtype")
        yield Bad(Sample(s.real(2), s.real(2)), IndexOutOfRange, "dim 1 is out of range")


# ---- to a given length


class Normalize(Composite):
    """The input divided by its p-norm along the axes `dim`, which counts at least `eps`.

    >>> tx.nn.functional.normalize(tx.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """

    signature = "normalize(input, p: float = 2.0, dim: ints = 1, eps: float = 1e-12) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX

    def compose(input, p, dim, eps):
        require_dtype("normalize", input, Normalize.dtypes)
        x = cast(input, _wide(input.dtype))
        y = x / tx.clamp_min(tx.linalg.vector_norm(x, p, dim, True), eps)
        return cast(y, input.dtype)

    def reference(input, p, dim, eps):
        return input / np.maximum(over_axes(input, dim, True, _length(p)), eps)

    def samples(s):
        yield Sample(s.distinct(s.n, s.m))
        yield Sample(s.distinct(s.n, s.m), p=1.5, dim=0)
        yield Sample(s.distinct(s.n, s.m, s.k), p=-1.0, dim=-1)
        yield Sample(s.distinct(s.n, s.m), dim=(0, 1), eps=0.5)
        yield Sample(s.positive(), dim=0)
        yield Sample(s.array([[0.0, 0.0], [1.0, 2.0]]), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2)), IndexOutOfRange, "out of range")


class Renorm(Composite):
    """Each slice along `dim` whose p-norm is above `maxnorm`, scaled down to it.

    >>> tx.renorm(tx.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """

    signature = "renorm(input, p: float, dim: int, maxnorm: float) -> y"
    dtypes = FLOATS + COMPLEX
    inplace = True

    def compose(input, p, dim, maxnorm):
        require_dtype("renorm", input, Renorm.dtypes)
        for name, value in (("p", p), ("maxnorm", maxnorm)):
            if isinstance(value, complex):
                raise ArgumentError(f"renorm: {name} is {value}; needs a real number")
        if input.ndim < 2:
            raise ShapeError(f"renorm: input is {describe(input)}; needs two axes or more")
        if not p > 0:
            raise ValueRangeError(f"renorm: p is {p}; needs a number above 0")
        if not maxnorm >= 0:
            raise ValueRangeError(f"renorm: maxnorm is {maxnorm}; needs 0 or more")
        d = normalize_dim(dim, input.ndim, "renorm")
        others = tuple(i for i in range(input.ndim) if i != d)
        lengths = tx.linalg.vector_norm(input, p, others, True)
        too_long = tx.gt(lengths, maxnorm)
        # The small number keeps the result within maxnorm after rounding.
        return input * tx.where(too_long, maxnorm / (lengths + 1e-7), 1)

    def reference(input, p, dim, maxnorm):
        others = tuple(i for i in range(input.ndim) if i != dim % input.ndim)
        lengths = over_axes(input, others, True, _length(p))
        with np.errstate(all="ignore"):
            return input * np.where(lengths > maxnorm, maxnorm / (lengths + 1e-7), 1)

    def samples(s):
        yield Sample(s.distinct(s.n, s.m), 2, 0, 0.5)
        yield Sample(s.distinct(s.n, s.m, s.k), 1, -2, 3)
        yield Sample(s.distinct(s.n, s.m, low=0.2), math.inf, 1, 0.5)
        yield Sample(s.distinct(s.n, s.m), 1.5, 1, 100.0)

    def bad(s):
        yield Bad(Sample(s.real(2), 2, 0, 1.0), ShapeError, "needs two axes or more")
        yield Bad(Sample(s.real(2, 2), -2, 0, 1.0), ValueRangeError, "p is -2")
        yield Bad(Sample(s.real(2, 2), 2, 0, -1.0), ValueRangeError, "maxnorm is -1")
        yield Bad(Sample(s.real(2, 2), 2, 5, 1.0), IndexOutOfRange, "dim 5 is out of range")
