"""What one call of a program does: results, gradients, printed text, changed arguments and globals, random numbers, errors."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import thixo as tx
from tests.programs.values import unlike


@dataclass
class Loaded:
    """A function with all its state new, and how to see that state."""

    function: Callable[..., Any]
    scope: dict[str, Any]  # the names of its file
    state: Callable[[], Any]  # what it may change outside of its arguments
    parameters: Sequence[Any] = ()  # tensors of that state that have gradients
    before: Callable[[int], None] = lambda call: None  # what happens before a call, by its number


@dataclass
class Observation:
    """All that can be seen of one call; copies that no later call changes."""

    error: BaseException | None = None
    result: Any = None
    gradients: Any = None  # a list of arrays; the name of an error
    printed: str = ""
    arguments: Any = None
    globals: Any = None
    numbers: Any = None  # the state of the random generator
    pure: bool = (
        True  # nothing was printed and no Python object changed; tensors in the arguments may have
    )


def copied(value: Any) -> Any:
    """Plain data in the place of tensors and objects, to compare and to print."""
    if isinstance(value, tx.Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return (
            type(value)(map(copied, value))
            if type(value) in (list, tuple)
            else list(map(copied, value))
        )
    if isinstance(value, tx.nn.Module):
        return [copied(p) for p in value.parameters()]
    if hasattr(value, "__dict__") and not callable(value):
        return {"kind": type(value).__name__, **copied(vars(value))}
    return set(value) if isinstance(value, set) else value


def tensors(value: Any) -> list[Any]:
    """Every tensor in containers and objects, in order."""
    if isinstance(value, tx.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors(item)]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors(item)]
    if hasattr(value, "__dict__") and not callable(value):
        return tensors(vars(value))
    return []


def identities(value: Any) -> Any:
    """As `copied`, with which tensor it is in the place of its numbers."""
    if isinstance(value, tx.Tensor):
        return id(value)
    if isinstance(value, dict):
        return {key: identities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [identities(item) for item in value]
    return identities(vars(value)) if hasattr(value, "__dict__") else value


def observe(call: Callable[..., Any], arguments: list[Any], loaded: Loaded) -> Observation:
    """Call what was captured of a function, and see what it did."""
    leaves = [t for t in tensors(arguments) if t.is_leaf and t.requires_grad]
    leaves += loaded.parameters
    seen = Observation()
    before = (identities(arguments), copied(loaded.state()))
    printed = io.StringIO()
    tx.manual_seed(7)
    try:
        with contextlib.redirect_stdout(printed):
            result = call(*arguments)
            # A result that is looked at later may fail later: within the call, all the same.
            seen.result = copied(result)
    except Exception as error:
        seen.error = error
        return seen
    seen.arguments = copied(arguments)
    seen.globals = copied(loaded.state())
    seen.pure = (
        not printed.getvalue() and unlike(before, (identities(arguments), seen.globals)) is None
    )
    with contextlib.redirect_stdout(printed):  # the way back says and draws nothing
        seen.gradients = gradients((result, arguments), leaves)
    seen.printed = printed.getvalue()
    seen.numbers = copied(tx.get_rng_state())
    return seen


def gradients(found: Any, leaves: list[Any]) -> Any:
    """Of a weighted sum of all that came out, with respect to the leaves."""
    # One that is there twice counts twice: which of two equal tensors is the same object is no matter here.
    outputs = [t for t in tensors(found) if t.requires_grad]
    if not outputs:
        return [np.zeros(tuple(leaf.shape)) for leaf in leaves]
    draw = np.random.default_rng(0)
    weights = [tx.tensor(draw.normal(size=tuple(t.shape))).to(t.dtype) for t in outputs]
    try:
        found = tx.autograd.grad(outputs, leaves, weights, allow_unused=True)
    except tx.ThixoError as error:
        return type(error).__name__
    return [
        np.zeros(tuple(leaf.shape)) if grad is None else grad.numpy().copy()
        for leaf, grad in zip(leaves, found, strict=True)
    ]
