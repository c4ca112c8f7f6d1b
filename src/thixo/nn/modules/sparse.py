"""Tables of vectors that are looked up by number."""

from typing import Any

import thixo as tx
from thixo.errors import IndexOutOfRange, ShapeError, describe
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter


class _Table(Module):
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make(
        self, rows: int, features: int, padding_idx: int | None, weight: Any, frozen: bool,
        device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        if padding_idx is not None and not -rows <= padding_idx < rows:
            raise IndexOutOfRange(f"{name}: padding_idx is {padding_idx}; there are {rows} rows")
        self.num_embeddings = rows
        self.embedding_dim = features
        self.padding_idx = None if padding_idx is None else padding_idx % rows
        if weight is None:
            weight = tx.empty(rows, features, device=device, dtype=dtype)
            self.weight = Parameter(weight, requires_grad=not frozen)
            self.reset_parameters()
        else:
            if tuple(weight.shape) != (rows, features):
                raise ShapeError(
                    f"{name}: _weight is {describe(weight)}; needs [{rows},{features}]"
                )
            self.weight = Parameter(weight, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw from the standard normal distribution; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with tx.no_grad():
                self.weight[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Any:
        """A layer with given rows, not to be trained unless `freeze=False`.

        >>> table = tx.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tx.nn.Embedding.from_pretrained(table)(tx.tensor([1]))
        tensor([[3., 4.]])
        """
        if embeddings.ndim != 2:
            raise ShapeError(
                f"{cls.__name__}.from_pretrained: embeddings is {describe(embeddings)}; it must be "
                f"(rows, features)"
            )
        rows, features = embeddings.shape
        return cls(rows, features, _weight=embeddings, _freeze=freeze, **options)


class Embedding(_Table):
    """A table of vectors, looked up by number.

    >>> layer = tx.nn.Embedding(10, 3)
    >>> layer(tx.tensor([[1, 2], [4, 5]])).shape
    Size([2, 2, 3])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Any = None, _freeze: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input: Any) -> Any:
        """The rows with the given numbers."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        return ", ".join(parts)


class EmbeddingBag(_Table):
    """Sums, means or maxima of table rows over bags.

    >>> layer = tx.nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(tx.tensor([1, 2, 4, 5]), tx.tensor([0, 2])).shape
    Size([2, 3])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
        padding_idx: int | None = None, device: Any = None, dtype: Any = None,
        _freeze: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """The rows of each bag taken together: a row of a 2-d input, or what `offsets` cuts."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes and the mode."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
