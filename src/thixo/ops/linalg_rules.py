"""What the gradient rules of linear algebra share, in public operators."""

from collections import namedtuple
from functools import cache
from typing import Any

from thixo.dtype import bool as bool_
from thixo.ops import public as tx
from thixo.ops.rules import conj, is_complex


@cache
def _result_type(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


def named(operation: str, **results: Any) -> Any:
    """The results of a composite, as a tuple with names.

    >>> named("qr", Q=1, R=2)
    qr(Q=1, R=2)
    """
    return _result_type(operation, tuple(results))(*results.values())


def mH(x: Any) -> Any:  # noqa: N802  (as tensors call it)
    """The conjugate transpose of each matrix."""
    return conj(x).mT


def skew(x: Any) -> Any:
    """What a matrix has beyond its Hermitian part, twice: x - x^H."""
    return x - mH(x)


def ratio(x: Any, y: Any) -> Any:
    """x / y, but 0 where both are 0: a gradient nobody asked for, at a point that has none."""
    neither = (x == 0) & (y == 0)
    return tx.where(neither, 0, x / tx.where(neither, 1, y))


def differences(values: Any) -> Any:
    """values[j] - values[i] at (i, j): what eigenvalues must differ in; 1 on the diagonal."""
    apart = values.unsqueeze(-2) - values.unsqueeze(-1)
    return apart + tx.eye(values.shape[-1], dtype=values.dtype)


def off_diagonal(x: Any) -> Any:
    """Square matrices with their diagonal made 0."""
    return tx.where(tx.eye(x.shape[-1], dtype=bool_), 0, x)


def half_diagonal_lower(x: Any) -> Any:
    """The lower triangle, its diagonal halved: the part of a Hermitian matrix that is L's."""
    return tx.tril(x) - tx.diag_embed(tx.diagonal(x, 0, -2, -1)) * 0.5


def scale_columns(x: Any, values: Any) -> Any:
    """x @ diag(values)."""
    return x * values.unsqueeze(-2)


def scale_rows(values: Any, x: Any) -> Any:
    """diag(values) @ x."""
    return values.unsqueeze(-1) * x


def real_part(x: Any) -> Any:
    """The real part; a real tensor is returned as it is."""
    return x.real if is_complex(x) else x
