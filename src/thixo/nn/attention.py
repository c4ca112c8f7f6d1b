"""Which kernel attention may use: PyTorch's switch, of which Thixo has one choice."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thixo.errors import ArgumentError, describe


class SDPBackend(enum.Enum):
    """The ways to compute `scaled_dot_product_attention` that PyTorch names.

    >>> tx.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Inside, attention is asked to use one of some backends; here all are the same composition.

    >>> with tx.nn.attention.sdpa_kernel(tx.nn.attention.SDPBackend.MATH):
    ...     tx.nn.functional.scaled_dot_product_attention(*[tx.ones(1, 1, 2)] * 3)
    tensor([[[1., 1.]]])
    """
    wanted = backends if isinstance(backends, (list, tuple)) else [backends]
    if not wanted or not all(isinstance(b, SDPBackend) for b in wanted):
        raise ArgumentError(
            f"sdpa_kernel: SDPBackend or a list of them is needed, got {describe(backends)}"
        )
    yield
