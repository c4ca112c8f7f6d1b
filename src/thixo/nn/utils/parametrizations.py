"""Parametrisations that people use: weights of given norm, of unit spectral norm, orthogonal ones."""

from typing import Any

import thixo as tx
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.nn import functional as F
from thixo.nn.modules.module import Module
from thixo.nn.utils.parametrize import register_parametrization
from thixo.shape import normalize_dim
from thixo.tensor import Tensor


def norm_except(x: Tensor, dim: int | None) -> Tensor:
    """The 2-norm over all axes but one, which are kept with size 1; over all for None or -1.

    >>> norm_except(tx.tensor([[3.0, 4.0], [0.0, 1.0]]), 0)
    tensor([[5.],
            [1.]])
    """
    if dim is None or dim == -1:
        return tx.linalg.vector_norm(x)
    axis = normalize_dim(dim, x.ndim, "weight_norm")
    others = tuple(i for i in range(x.ndim) if i != axis)
    return tx.linalg.vector_norm(x, 2, others, keepdim=True) if others else tx.abs(x)


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, magnitude: Tensor, direction: Tensor) -> Tensor:
        """A vector of given length in a given direction."""
        return direction * (magnitude / norm_except(direction, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction of a weight."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train a weight's length and direction apart (Salimans and Kingma, 2016).

    >>> layer = tx.nn.utils.parametrizations.weight_norm(tx.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if n_power_iterations < 1:
            raise ValueRangeError(
                f"spectral_norm: n_power_iterations is {n_power_iterations}; it must be positive"
            )
        self.dim = normalize_dim(dim, weight.ndim, "spectral_norm")
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            rows, columns = matrix.shape
            self.register_buffer(
                "_u", F.normalize(tx.randn(rows, dtype=weight.dtype), dim=0, eps=eps)
            )
            self.register_buffer(
                "_v", F.normalize(tx.randn(columns, dtype=weight.dtype), dim=0, eps=eps)
            )
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with tx.no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.T @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight over its largest singular value, which power iteration follows in training."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / tx.dot(u, matrix @ v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """A weight is taken as it is."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value (Miyato and others, 2018).

    >>> layer = tx.nn.utils.parametrizations.spectral_norm(tx.nn.Linear(4, 3))
    >>> bool(abs(tx.linalg.matrix_norm(layer.weight, 2).item() - 1) < 0.2)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ShapeError(f"spectral_norm: {type(module).__name__} has no tensor {name!r}")
    if dim is None:
        transposed = type(module).__name__.startswith("ConvTranspose")
        dim = 1 if transposed else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


class _Orthogonal(Module):
    def forward(self, x: Tensor) -> Tensor:
        """The nearest matrix with orthonormal rows or columns, by QR of the exponential map's factor."""
        wide = x.shape[-2] < x.shape[-1]
        tall = x.mT if wide else x
        q, r = tx.linalg.qr(tall)
        q = q * tx.sign(tx.diagonal(r, dim1=-2, dim2=-1)).unsqueeze(-2)
        return q.mT if wide else q

    def right_inverse(self, value: Tensor) -> Tensor:
        """An orthogonal matrix is its own factor."""
        return value


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Any = None, *,
    use_trivialization: bool = True,
) -> Module:  # fmt: skip
    """Keep a weight (semi-)orthogonal: the Q of its QR factorisation.

    >>> layer = tx.nn.utils.parametrizations.orthogonal(tx.nn.Linear(3, 3))
    >>> w = layer.weight
    >>> tx.allclose(w @ w.T, tx.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim < 2:
        raise ShapeError(f"orthogonal: {name!r} must be a matrix, got {describe(weight)}")
    register_parametrization(module, name, _Orthogonal(), unsafe=True)
    return module
