"""Weight norm and spectral norm under their older names."""

from thixo.nn.modules.module import Module
from thixo.nn.utils import parametrizations
from thixo.nn.utils.parametrize import remove_parametrizations


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train a weight's length and direction apart.

    >>> layer = tx.nn.utils.weight_norm(tx.nn.Linear(2, 3))
    >>> layer(tx.ones(2)).shape
    Size([3])
    """
    return parametrizations.weight_norm(module, name, dim)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a plain parameter again.

    >>> layer = tx.nn.utils.remove_weight_norm(tx.nn.utils.weight_norm(tx.nn.Linear(2, 3)))
    >>> [n for n, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    return remove_parametrizations(module, name)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value.

    >>> tx.nn.utils.spectral_norm(tx.nn.Linear(2, 3))(tx.ones(2)).shape
    Size([3])
    """
    return parametrizations.spectral_norm(module, name, n_power_iterations, eps, dim)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a plain parameter again.

    >>> layer = tx.nn.utils.spectral_norm(tx.nn.Linear(2, 3))
    >>> tx.nn.utils.remove_spectral_norm(layer).weight.shape
    Size([3, 2])
    """
    return remove_parametrizations(module, name)
