"""Layers that compare vectors."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along an axis.

    >>> tx.nn.CosineSimilarity(dim=0)(tx.tensor([1.0, 0.0]), tx.tensor([1.0, 0.0]))
    tensor(1.)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        """Compare."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """p-norms of the differences along the last axis.

    >>> tx.nn.PairwiseDistance(eps=0.0)(tx.tensor([0.0, 0.0]), tx.tensor([3.0, 4.0]))
    tensor(5.)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Measure."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
