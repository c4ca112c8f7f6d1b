"""Seeds and generators. The same seed gives the same numbers on any machine and number of threads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thixo import _core
from thixo._core import Generator as _Generator
from thixo._core import Tensor
from thixo.errors import ArgumentError, describe

default_generator = _core.default_generator


class Generator(_Generator):
    """A stream of random numbers of one's own.

    >>> import thixo as tx
    >>> g = tx.Generator().manual_seed(7)
    >>> bool((tx.rand(3, generator=g) == tx.rand(3, generator=g.manual_seed(7))).all())
    True
    """

    device = property(lambda self: _device())

    def seed(self) -> int:
        """Take a fresh seed from the system and return it."""
        return _reseed(self)

    def get_state(self) -> Tensor:
        """Seed and position as a tensor that `set_state` takes back."""
        return _state(self)

    def set_state(self, new_state: Tensor) -> "Generator":
        """Go on from a saved state."""
        _restore(self, new_state)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._get()


def _rebuild(seed: int, offset: int) -> Generator:
    made = Generator()
    made._set(seed, offset)
    return made


def _device() -> Any:
    from thixo.device import device

    return device("cpu")


def manual_seed(seed: int) -> Any:
    """Seed the default generator.

    >>> import thixo as tx
    >>> generator = tx.manual_seed(0)
    >>> a = tx.rand(2); generator = tx.manual_seed(0)
    >>> bool((a == tx.rand(2)).all())
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Give the default generator a fresh seed and return it.

    >>> import thixo as tx
    >>> isinstance(tx.seed(), int)
    True
    """
    return _reseed(default_generator)


def initial_seed() -> int:
    """The default generator's seed.

    >>> import thixo as tx
    >>> generator = tx.manual_seed(5); tx.initial_seed()
    5
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state: keep it, and `set_rng_state` brings its numbers back.

    >>> import thixo as tx
    >>> state = tx.get_rng_state(); a = tx.rand(2)
    >>> tx.set_rng_state(state); bool((tx.rand(2) == a).all())
    True
    """
    return _state(default_generator)


def set_rng_state(new_state: Tensor) -> None:
    """Bring the default generator to a saved state.

    >>> import thixo as tx
    >>> tx.set_rng_state(tx.get_rng_state())
    """
    _restore(default_generator, new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Draw inside without a trace: afterwards the default generator is where it was.

    >>> import thixo as tx
    >>> generator = tx.manual_seed(0); a = tx.rand(1); generator = tx.manual_seed(0)
    >>> with tx.random.fork_rng():
    ...     _ = tx.rand(100)
    >>> bool(tx.rand(1) == a)
    True
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


def _reseed(generator: _Generator) -> int:
    fresh = int.from_bytes(os.urandom(8), "little")
    generator.manual_seed(fresh)
    return fresh


def _state(generator: _Generator) -> Tensor:
    return _core.from_numpy(np.array(generator._get(), np.uint64).view(np.uint8).copy())


def _restore(generator: _Generator, state: Tensor) -> None:
    if not isinstance(state, Tensor) or state.dtype.name != "uint8" or tuple(state.shape) != (16,):
        raise ArgumentError(f"set_state: a state from get_state() is needed, got {describe(state)}")
    seed, offset = np.array(state.numpy()).view(np.uint64)
    generator._set(int(seed), int(offset))
