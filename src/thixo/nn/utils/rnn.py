"""Sequences of unequal length in one tensor."""

from collections.abc import Sequence
from typing import Any

import thixo as tx
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.tensor import Tensor


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:  # fmt: skip
    """Sequences (time, ...) of unequal length as one tensor (time, batch, ...), padded.

    >>> tx.nn.utils.rnn.pad_sequence([tx.tensor([1, 2]), tx.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    sequences = list(sequences)
    if not sequences or not all(isinstance(s, Tensor) for s in sequences):
        raise ArgumentError(f"pad_sequence: a list of tensors is needed, got {describe(sequences)}")
    if padding_side not in ("left", "right"):
        raise ValueRangeError(
            f"pad_sequence: padding_side is {padding_side!r}; it must be 'left' or 'right'"
        )
    rest = tuple(sequences[0].shape[1:])
    if any(s.ndim == 0 or tuple(s.shape[1:]) != rest for s in sequences):
        raise ShapeError(
            f"pad_sequence: all sequences must agree but for their length, got {describe(sequences)}"
        )
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        gap = s.new_full((longest - s.shape[0], *rest), padding_value)
        rows.append(tx.cat([s, gap] if padding_side == "right" else [gap, s]))
    return tx.stack(rows, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Any, batch_first: bool = False
) -> list[Tensor]:
    """The sequences that `pad_sequence` put together.

    >>> padded = tx.tensor([[1, 2], [3, 0]])
    >>> tx.nn.utils.rnn.unpad_sequence(padded, tx.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    wanted = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    if len(wanted) != rows.shape[0]:
        raise ShapeError(
            f"unpad_sequence: {len(wanted)} lengths for a batch of {rows.shape[0]} sequences"
        )
    return [row[:length] for row, length in zip(rows, wanted, strict=True)]
