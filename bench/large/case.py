"""What a case of the large suite is, and how one is written: once, for either module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Call = Callable[[], Any]
Function = Callable[..., Any]  # (module, *tensors) -> tensor or tensors


@dataclass(frozen=True)
class Case:
    """One thing to time: `make` gives, for thixo or torch, the call that is timed."""

    name: str
    make: Callable[[Any], Call]
    tolerance: float = 1e-4  # of the largest magnitude in the result


@dataclass(frozen=True)
class Family:
    """Cases of one kind: `cases` takes the arguments in `fixed`, and those that `draw` makes from a seed."""

    name: str
    cases: Callable[..., Iterator[Case]]
    fixed: Sequence[tuple[Any, ...]]
    draw: Callable[[Draw], tuple[Any, ...]]
    drawn: int = 5

    def all(self, seed: int, quick: bool = False) -> Iterator[Case]:
        """The fixed ones and those of the seed; quick: every fourth of the fixed and two of the seed."""
        for arguments in self.fixed[:: 4 if quick else 1]:
            yield from self.cases(*arguments)
        for turn in range(2 if quick else self.drawn):
            for case in self.cases(*self.draw(Draw(self.name, seed, turn))):
                yield Case(f"drawn {turn}: {case.name}", case.make, case.tolerance)


class Draw:
    """Sizes from a seed. Turns take primes, ragged tails and any size by turns; every other one is transposed."""

    def __init__(self, family: str, seed: int, turn: int) -> None:
        self.turn = turn
        self.turned = turn % 2 == 1
        self.rng = np.random.default_rng([seed, turn, *family.encode()])

    def size(self, low: int, high: int) -> int:
        """A size between the two."""
        n = int(np.exp(self.rng.uniform(np.log(low), np.log(high))))
        if self.turn % 3 == 0:
            return next(p for p in range(max(n, 2), 2 * n + 3) if _is_prime(p))
        if self.turn % 3 == 1:  # just past, or just short of, whole vectors
            return max(low, n // 16 * 16 + int(self.rng.choice([-1, 1, 3, 7])))
        return n

    def one_of(self, *choices: Any) -> Any:
        """One of them."""
        return choices[int(self.rng.integers(len(choices)))]


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


# ---- inputs


@dataclass(frozen=True)
class Floats:
    """Normal values. turned: the last two axes lie the other way round in memory."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    turned: bool = False
    grad: bool = True

    def tensor(self, module: Any, seed: int) -> Any:
        """Of a module."""
        shape = self.shape
        if self.turned:
            shape = (*shape[:-2], shape[-1], shape[-2])
        t = module.tensor(_normal(shape, seed)).to(getattr(module, self.dtype))
        return t.transpose(-1, -2) if self.turned else t


@dataclass(frozen=True)
class Ints:
    """Whole numbers from 0 to high - 1."""

    shape: tuple[int, ...]
    high: int
    grad = False

    def tensor(self, module: Any, seed: int) -> Any:
        """Of a module."""
        return module.tensor(np.random.default_rng(seed).integers(0, self.high, self.shape))


@functools.lru_cache(maxsize=8)
def _normal(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


Input = Floats | Ints


def matrix(*shape: int, turned: bool = False) -> Floats:
    """Float32 of this shape."""
    return Floats(shape, turned=turned)


# ---- calls


def forward(function: Function, *inputs: Input) -> Callable[[Any], Call]:
    """The way there, without a tape."""

    def make(module: Any) -> Call:
        tensors = [x.tensor(module, i) for i, x in enumerate(inputs)]
        return lambda: function(module, *tensors)

    return make


def backward(function: Function, *inputs: Input) -> Callable[[Any], Call]:
    """Only the way back, for all inputs of floats: what the way there keeps is made once."""

    def make(module: Any) -> Call:
        tensors, leaves = [], []
        for i, x in enumerate(inputs):
            t = x.tensor(module, i)
            if x.grad:
                t = t.detach().requires_grad_()
                leaves.append(t)
            tensors.append(t)
        y = function(module, *tensors)
        g = Floats(tuple(y.shape)).tensor(module, 99).to(y.dtype)
        return lambda: module.autograd.grad(y, leaves, g, retain_graph=True)

    return make


def both(name: str, function: Function, *inputs: Input, tolerance: float = 1e-4) -> Iterator[Case]:
    """Forward and backward."""
    yield Case(name, forward(function, *inputs), tolerance)
    yield Case(f"{name} backward", backward(function, *inputs), tolerance)


def shown(shape: Sequence[int], turned: bool = False) -> str:
    """4096x1024, and a prime where it lies transposed."""
    return "x".join(map(str, shape)) + (" transposed" if turned else "")
