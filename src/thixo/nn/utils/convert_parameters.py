"""Parameters as one vector, and back."""

from collections.abc import Iterable

import thixo as tx
from thixo.errors import ArgumentError, ShapeError, describe
from thixo.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters flattened, one after the other.

    >>> layer = tx.nn.Linear(2, 3)
    >>> tx.nn.utils.parameters_to_vector(layer.parameters()).shape
    Size([9])
    """
    return tx.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Put the values of a vector into parameters, one after the other.

    >>> layer = tx.nn.Linear(1, 1)
    >>> tx.nn.utils.vector_to_parameters(tx.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    if not isinstance(vec, Tensor):
        raise ArgumentError(f"vector_to_parameters: a Tensor is needed, got {describe(vec)}")
    parameters = list(parameters)
    total = sum(p.numel() for p in parameters)
    if vec.ndim != 1 or vec.shape[0] != total:
        raise ShapeError(
            f"vector_to_parameters: vec is {describe(vec)}; the parameters have {total} elements"
        )
    start = 0
    for parameter in parameters:
        part = vec[start : start + parameter.numel()]
        parameter.data = part.detach().reshape(parameter.shape).clone()
        start += parameter.numel()
