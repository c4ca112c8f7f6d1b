"""Products of Householder reflections, and QR as LAPACK keeps it: as such a product."""

from typing import Any

import numpy as np

from thixo.errors import ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_matrix, check_same_dtype
from thixo.ops.linalg_rules import mH
from thixo.ops.linalg_samples import full_rank
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_min


class Geqrf(Op):
    """A QR factorisation as LAPACK keeps it: R above, the reflections below, and their factors.

    >>> a, tau = tx.geqrf(tx.eye(2))
    >>> tau.shape
    Size([2])
    """

    signature = "geqrf(input) -> (a, tau)"
    dtypes = FACTORABLE
    vjp = None

    def infer(input):
        check_matrix("geqrf", "input", input)
        *lead, m, n = input.shape
        return Spec(tuple(input.shape), input.dtype), Spec((*lead, dim_min(m, n)), input.dtype)

    def kernel(input):
        packed, tau = np.linalg.qr(input, "raw")
        return np.ascontiguousarray(packed.mT), tau

    def reference(input):
        import scipy.linalg

        *lead, m, n = input.shape
        a, tau = np.zeros_like(input), np.zeros((*lead, min(m, n)), input.dtype)
        name = "zgeqrf" if input.dtype.kind == "c" else "dgeqrf"
        for where in np.ndindex(*lead):
            if input[where].size:
                a[where], tau[where], *_ = getattr(scipy.linalg.lapack, name)(input[where])
        return a, tau

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m))
        yield Sample(s.real(0, s.m))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


def _check_reflections(op: str, input: Any, tau: Any, second: str = "tau") -> None:
    check_matrix(op, "input", input)
    check_same_dtype(op, **{"input": input, second: tau})
    lead = tuple(input.shape[:-2])
    same = tau.ndim == input.ndim - 1 and all(
        a == b for a, b in zip(tau.shape[:-1], lead, strict=True)
    )
    if not same or tau.shape[-1] > input.shape[-1]:
        raise ShapeError(
            f"{op}: input is {describe(input)}, {second} is {describe(tau)}; there must be one factor "
            f"for each of at most {input.shape[-1]} columns, in the same batch"
        )


def _compact(input: Any, tau: Any) -> tuple[Any, Any]:
    """V and T such that the product of the reflections is I - V T V^H (without a loop over them)."""
    k = tau.shape[-1]
    columns = input[..., :k]
    V = tx.tril(columns, -1) + tx.eye(columns.shape[-2], k, dtype=input.dtype)
    above = tx.triu(tx.matmul(mH(V), V), 1)
    # T^-1 is diag(1 / tau) + above; written so that tau may be 0.
    T = tx.linalg.solve_triangular(
        tau.unsqueeze(-1) * above, tx.diag_embed(tau), upper=True, unitriangular=True
    )
    return V, T


def _slow_reflections(input, tau):
    m, k = input.shape[-2], tau.shape[-1]
    Q = np.zeros((*input.shape[:-2], m, m), input.dtype) + np.eye(m)
    for i in range(k):
        v = np.concatenate([np.zeros_like(input[..., :i, i]), input[..., i:, i]], axis=-1)
        v[..., i] = 1
        outer = v[..., :, None] * v[..., None, :].conj()
        Q = Q @ (np.eye(m) - tau[..., i, None, None] * outer)
    return Q


class HouseholderProduct(Composite):
    """The first columns of a product of reflections I - tau v v^H, given as `geqrf` keeps them.

    >>> tx.linalg.householder_product(tx.zeros(2, 1), tx.tensor([2.0]))
    tensor([[-1.],
            [ 0.]])
    """

    signature = "householder_product(input, tau) -> Q"
    namespace = "linalg"
    aliases = ("orgqr",)
    method = True
    dtypes = FACTORABLE

    def compose(input, tau):
        op = "linalg.householder_product"
        _check_reflections(op, input, tau)
        m, n = input.shape[-2:]
        if m < n:
            raise ShapeError(
                f"{op}: input is {describe(input)}; it must have at least as many rows as columns"
            )
        V, T = _compact(input, tau)
        one = tx.eye(m, n, dtype=input.dtype)
        return one - tx.matmul(V, tx.matmul(T, mH(V[..., :n, :])))

    def reference(input, tau):
        return _slow_reflections(input, tau)[..., : input.shape[-1]]

    def samples(s):
        yield Sample(s.real(s.n, s.n, low=-1, high=1), s.real(s.n))
        yield Sample(s.real(s.b, s.n + s.m, s.n, low=-1, high=1), s.real(s.b, s.n))
        yield Sample(s.real(s.n + s.m, s.n + 1, low=-1, high=1), s.real(s.n))
        yield Sample(s.real(s.n, 0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2)), ShapeError, "as many rows")
        yield Bad(Sample(s.real(3, 2), s.real(3)), ShapeError, "at most 2 columns")
        yield Bad(Sample(s.real(3), s.real(3)), ShapeError, "at least 2 axes")


class Ormqr(Composite):
    """The product of the Q of `geqrf` (input, input2 its factors) with input3, on either side.

    >>> a, tau = tx.geqrf(tx.eye(2))
    >>> tx.ormqr(a, tau, tx.eye(2)).shape
    Size([2, 2])
    """

    signature = "ormqr(input, input2, input3, left: bool = True, transpose: bool = False) -> y"
    dtypes = FACTORABLE

    def compose(input, input2, input3, left, transpose):
        _check_reflections("ormqr", input, input2, "input2")
        check_matrix("ormqr", "input3", input3)
        rows = input3.shape[-2 if left else -1]
        check_same_dtype("ormqr", input=input, input3=input3)
        if input3.ndim != input.ndim or rows != input.shape[-2]:
            raise ShapeError(
                f"ormqr: input is {describe(input)}, input3 is {describe(input3)}; input3 must have "
                f"as many {'rows' if left else 'columns'} as input has rows, in the same batch"
            )
        for a, b in zip(input.shape[:-2], input3.shape[:-2], strict=True):
            if a != b:
                raise ShapeError(
                    f"ormqr: batches differ: input is {describe(input)}, input3 is {describe(input3)}"
                )
        V, T = _compact(input, input2)
        if transpose:
            T = mH(T)
        if left:
            return input3 - tx.matmul(V, tx.matmul(T, tx.matmul(mH(V), input3)))
        return input3 - tx.matmul(tx.matmul(tx.matmul(input3, V), T), mH(V))

    def reference(input, input2, input3, left, transpose):
        Q = _slow_reflections(input, input2)
        Q = Q.mT.conj() if transpose else Q
        return Q @ input3 if left else input3 @ Q

    def samples(s):
        a = s.real(s.n + s.m, s.n, low=-1, high=1)
        yield Sample(a, s.real(s.n), s.real(s.n + s.m, s.k))
        yield Sample(a, s.real(s.n), s.real(s.k, s.n + s.m), left=False)
        yield Sample(a, s.real(s.n), s.real(s.n + s.m, s.k), transpose=True)
        yield Sample(s.real(s.b, s.n, s.n), s.real(s.b, s.n), s.real(s.b, s.k, s.n), False, True)

    def bad(s):
        yield Bad(Sample(s.real(3, 2), s.real(2), s.real(2, 2)), ShapeError, "as many rows")
