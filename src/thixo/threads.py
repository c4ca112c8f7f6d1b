"""How many threads kernels use. Results never depend on it."""

from thixo import _core
from thixo.errors import ArgumentError, describe


def get_num_threads() -> int:
    """The number of threads that work on one operation.

    >>> import thixo as tx
    >>> tx.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


def set_num_threads(int: int) -> None:
    """Let operations use that many threads.

    >>> import thixo as tx
    >>> tx.set_num_threads(1); tx.get_num_threads()
    1
    """
    if not hasattr(int, "__index__"):
        raise ArgumentError(f"set_num_threads: an int is needed, got {describe(int)}")
    _core.set_num_threads(int.__index__())
