"""Rows made of a vector: its powers (vander) and the choices among its elements."""

import itertools
import math

import numpy as np

from thixo.dtype import int64
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Creation, Spec
from thixo.ops.samples import Bad, Sample


class Vander(Composite):
    """The powers of each element, a row each: x**(N-1) ... x**0, or in increasing order.

    >>> tx.vander(tx.tensor([2, 3]), N=3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """

    signature = "vander(x, N: int? = None, increasing: bool = False) -> y"
    method = False

    def compose(x, N, increasing):
        if x.ndim != 1:
            raise ShapeError(f"vander: needs a vector, x is {describe(x)}")
        length = x.shape[0]
        count = length if N is None else N
        if count < 0:
            raise ValueRangeError(f"vander: N cannot be negative, got {count}")
        if not (x.dtype.is_floating_point or x.dtype.is_complex):
            x = tx.cast(x, int64)
        ones = tx.ones((length, 1), dtype=x.dtype)
        if count == 0:
            return tx.slice(ones, 1, 0, 0)
        factors = tx.cat([ones, tx.expand(tx.unsqueeze(x, 1), (length, count - 1))], 1)
        powers = tx.cumprod(factors, 1)
        return powers if increasing else tx.flip(powers, (1,))

    def reference(x, N=None, increasing=False):
        x = x.astype(np.int64) if x.dtype.kind in "biu" else x
        return np.vander(x, N, increasing)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n), N=2, increasing=True)
        yield Sample(s.real(s.n), N=0)
        yield Sample(s.real(s.n), N=s.m)

    def bad(s):
        yield Bad(Sample(s.real(2, 2)), ShapeError, "needs a vector")


class CombinationIndices(Creation):
    """The index tuples of all choices of r among n elements, a row each.

    >>> tx.combination_indices(3, 2)
    tensor([[0, 1],
            [0, 2],
            [1, 2]])
    """

    signature = "combination_indices(n: int, r: int, with_replacement: bool = False) -> y"

    def infer(n, r, with_replacement=False):
        if r < 0 or (isinstance(n, int) and n < 0):
            raise ValueRangeError(
                f"combination_indices: n is {n}, r is {r}; neither may be negative"
            )
        if r > 1000:
            raise ValueRangeError(
                f"combination_indices: r is {r}; rows of at most 1000 can be listed"
            )
        top = n + r - 1 if with_replacement else n
        count = 1
        for i in range(r):
            count = count * (top - i)
        if isinstance(top, int) and top < r:
            count = 0
        return Spec((count // math.factorial(r), r), int64)

    def kernel(n, r, with_replacement=False):
        choose = (
            itertools.combinations_with_replacement if with_replacement else itertools.combinations
        )
        rows = list(choose(range(n), r))
        return np.array(rows, np.int64).reshape(len(rows), r)

    def reference(n, r, with_replacement=False):
        def ordered(row):
            pairs = itertools.pairwise(row)
            return all(a <= b if with_replacement else a < b for a, b in pairs)

        rows = [row for row in itertools.product(range(n), repeat=r) if ordered(row)]
        return np.array(rows, np.int64).reshape(-1, r)

    def samples(s):
        yield Sample(s.n, 2)
        yield Sample(s.m, 2, True)
        yield Sample(2, 3)
        yield Sample(4, 3)
        yield Sample(3, 1)


class Combinations(Composite):
    """All choices of r elements of a vector, a row each, in order.

    >>> tx.combinations(tx.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """

    signature = "combinations(input, r: int = 2, with_replacement: bool = False) -> y"

    def compose(input, r, with_replacement):
        if input.ndim != 1:
            raise ShapeError(f"combinations: needs a vector, input is {describe(input)}")
        if r < 0:
            raise ValueRangeError(f"combinations: r cannot be negative, got {r}")
        if r == 0:
            return input.new_zeros((0,))
        index = tx.combination_indices(input.shape[0], r, with_replacement)
        rows = index.shape[0]
        return tx.reshape(tx.index_select(input, 0, tx.reshape(index, (rows * r,))), (rows, r))

    def reference(input, r=2, with_replacement=False):
        if r == 0:
            return np.zeros((0,), input.dtype)
        choose = (
            itertools.combinations_with_replacement if with_replacement else itertools.combinations
        )
        return np.array(list(choose(input.tolist(), r)), input.dtype).reshape(-1, r)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(4), 3)
        yield Sample(s.real(s.n), 2, True)
        yield Sample(s.real(2), 3)
        yield Sample(s.real(s.n), 0)
        yield Sample(s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 2)), ShapeError, "needs a vector")
        yield Bad(Sample(s.real(2), -1), ValueRangeError, "cannot be negative")
