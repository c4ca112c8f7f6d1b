"""Sample matrices with the properties that linear algebra asks for, and results freed of arbitrary signs.

Values are written into the maker's own arrays, which know their symbolic shape.
"""

from typing import Any

import numpy as np


def regular(s: Any, *shape: Any) -> np.ndarray:
    """Square matrices far from singular: a heavy diagonal."""
    a = s.real(*shape, low=-1, high=1)
    i = np.arange(a.shape[-1])
    a[..., i, i] += np.asarray(a.shape[-1] + 1, a.dtype)
    return a


def full_rank(s: Any, *shape: Any) -> np.ndarray:
    """Matrices of any shape with clearly distinct singular values, none near zero."""
    a = s.real(*shape, low=-0.3, high=0.3)
    i = np.arange(min(a.shape[-2:]))
    a[..., i, i] += (i + 1).astype(a.dtype)
    return a


def positive_definite(s: Any, *shape: Any) -> np.ndarray:
    """Hermitian matrices whose eigenvalues are positive and distinct."""
    a = full_rank(s, *shape)
    plain = np.asarray(a)
    a[...] = plain @ plain.mT.conj() + np.eye(a.shape[-1], dtype=a.dtype)
    return a


def hermitian(s: Any, *shape: Any) -> np.ndarray:
    """Hermitian matrices, some eigenvalues of them negative, all distinct."""
    a = full_rank(s, *shape)
    plain = np.asarray(a)
    shift = np.diag(np.arange(a.shape[-1]) % 2 * 2.0).astype(a.dtype) * plain.shape[-1]
    a[...] = plain + plain.mT.conj() - shift
    return a


def triangular(s: Any, *shape: Any, upper: bool = False) -> np.ndarray:
    """Triangles far from singular, with a real diagonal as Cholesky factors have it."""
    a = regular(s, *shape)
    i = np.arange(a.shape[-1])
    a[..., i, i] = a[..., i, i].real
    a[...] = np.triu(np.asarray(a)) if upper else np.tril(np.asarray(a))
    return a


def symmetrised(a: Any) -> Any:
    """What tests differentiate where an operator reads only one triangle (arrays and tensors)."""
    return (a + a.mT.conj()) * 0.5
