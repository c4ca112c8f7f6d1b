"""Data that come with Thixo."""

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from thixo.tensor import Tensor


def digits() -> "tuple[Tensor, Tensor]":
    """1,797 handwritten digits: images float32[1797,8,8] from 0 to 1, labels int64[1797].

    By E. Alpaydin and C. Kaynak, CC BY 4.0; see `digits.md` beside this file.

    >>> images, labels = digits()
    >>> tuple(images.shape), labels[:4].tolist()
    ((1797, 8, 8), [0, 1, 2, 3])
    """
    from thixo.tensor import from_numpy

    with files("thixo.data").joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        images = arrays["images"].astype(np.float32) / 16
        labels = arrays["labels"].astype(np.int64)
    return from_numpy(images), from_numpy(labels)
