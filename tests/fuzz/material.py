"""What random graphs are made of: the operators' own samples, in symbols and at sizes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

import thixo as tx
from thixo.dtype import DType
from thixo.ops.base import TABLE
from thixo.ops.build_index import load_all
from thixo.ops.samples import SIZES, Maker, Sample, symbolic_sizes

# Where a graph is run again. The first order the sizes as the example does, which guards may have asked for.
BINDINGS: tuple[dict[str, int], ...] = (
    {"n": 4, "m": 5, "k": 3, "b": 7},
    {"n": 2, "m": 6, "k": 5, "b": 3},
)
NAMES = tuple(SIZES)
_known: dict[Any, list[Sample]] = {}


def operators() -> list[Any]:
    """Every operator of the table that makes tensors."""
    load_all()
    return [op for _, op in sorted(TABLE.items()) if op.full_name not in NO_TENSORS]


# Their samples answer with Python's own numbers, or with something whose elements nobody set.
NO_TENSORS = {
    "allclose",
    "equal",
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
}


def dtypes_of(op: Any) -> list[DType]:
    """What an operator is drawn in: what it is mostly used with, and a few others."""
    claimed = list(op.dtypes)
    usual = [d for d in (tx.float32, tx.float64, tx.int64, tx.complex64, tx.bool) if d in claimed]
    others = [d for d in claimed if d not in usual]
    return [*usual, *others[:: max(1, len(others) // 3)]] or [tx.float32]


def samples_of(op: Any, dtype: DType, sizes: dict[str, Any] | None = None) -> list[Sample]:
    """An operator's samples: with symbols, or at these sizes. The same place is the same call."""
    key = (op.full_name, dtype.name, None if sizes is None else tuple(sizes.values()))
    found = _known.get(key)
    if found is None:
        if len(_known) > 6000:
            _known.clear()
        maker = Maker(dtype, symbolic_sizes() if sizes is None else sizes, seed=1)
        found = _known[key] = list(op.samples(maker))
    return found


class Source:
    """Where the data of an input come from, at any sizes: an array of a sample, or numbers of a range."""

    def __init__(
        self, array: np.ndarray, op: Any = None, dtype: Any = None, place: int = 0, which: int = 0
    ) -> None:
        self.array = array  # at the sizes of the example
        self.dims = tuple(getattr(array, "dims", array.shape))
        self.op, self.dtype, self.place, self.which = op, dtype, place, which

    def at(self, sizes: dict[str, int]) -> np.ndarray:
        """The data where the sizes are these."""
        shape = tuple(s if type(s) is int else s.evaluate(sizes) for s in self.dims)
        if self.op is not None and shape != self.array.shape:
            samples = samples_of(self.op, self.dtype, sizes)
            arrays = samples[self.place].arrays if self.place < len(samples) else []
            if self.which < len(arrays) and arrays[self.which].shape == shape:
                return np.array(arrays[self.which])
        if shape == self.array.shape:
            return np.array(self.array).view(np.ndarray)
        plain = np.array(self.array).view(np.ndarray)
        return np.resize(plain, shape) if plain.size else np.zeros(shape, plain.dtype)


def number(rng: Random) -> float:
    """A number that is easy to read."""
    return rng.choice([0.5, -0.25, 1.5, 2.0, -1.0, 0.125, 3.0, 0.75])
