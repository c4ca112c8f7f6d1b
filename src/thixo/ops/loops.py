"""References by slow loops: a result built element by element from indices alone."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def build(
    shape: Sequence[int], dtype: Any, element: Callable[[tuple[int, ...]], Any]
) -> np.ndarray:
    """The array whose element at each index is `element(index)`.

    >>> build((2, 2), int, lambda i: 10 * i[0] + i[1])
    array([[ 0,  1],
           [10, 11]])
    """
    result = np.empty(tuple(shape), dtype)
    for index in np.ndindex(*result.shape):
        result[index] = element(index)
    return result


def replaced(index: tuple[int, ...], dim: int, value: int) -> tuple[int, ...]:
    """An index with another number at one axis.

    >>> replaced((1, 2, 3), -1, 0)
    (1, 2, 0)
    """
    changed = list(index)
    changed[dim] = value
    return tuple(changed)
