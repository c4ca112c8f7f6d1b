"""Why a graph did not fit a call, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.capture.naming import input_names
from thixo.capture.open_numbers import ANY
from thixo.pytree import tree_flatten

_WORDS = {"holds": "was", "equal": "was", "is": "was", "type": "was of class", "code": "had the code", "length": "had the length",
          "keys": "had the keys", "missing": "was missing"}  # fmt: skip


def why(
    function: Any, keys: Sequence[Any], key: Any, entries: Sequence[Any], args: Any, kwargs: Any
) -> str:
    """Why no graph serves a call: what is not as it was when one of the kinds that it knows was met."""
    if entries:
        return of_entry(entries[-1].captured, args, kwargs)
    if not keys:
        return "the first call"
    names = _names(function, args, kwargs)
    return _of_keys(min(keys, key=lambda known: _distance(known, key)), key, names)


def _distance(old: Any, new: Any) -> int:
    """In how many respects two kinds of calls differ."""
    (old_tree, old_parts, old_grad), (new_tree, new_parts, new_grad) = old[0], new[0]
    if old_tree != new_tree:
        return 1000
    differing = sum(a != b for a, b in zip(old_parts, new_parts, strict=True))
    return (
        differing
        + (old_grad != new_grad)
        + sum(a != b for a, b in zip(old[1:], new[1:], strict=True))
    )


def of_entry(captured: Any, args: Any, kwargs: Any) -> str:
    """What one graph assumed that does not hold for a call of its kind."""
    arguments = [args, kwargs]
    for assumed in captured.assumed:
        if not assumed.holds(arguments):
            try:
                now = assumed.path.fetch(arguments)
            except (AttributeError, LookupError, TypeError, ValueError):
                return f"{assumed.path} is missing"
            return f"{assumed.path} {_WORDS[assumed.how]} {_short(assumed.value)}, is {_short(now)}"
    try:
        tensors = captured.inputs(args, kwargs)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return f"a tensor is no longer there: {error}"
    for value, tensor in zip(captured.graph.inputs, tensors, strict=True):
        if not isinstance(tensor, _core.Tensor):
            return f"{value.name} was a tensor, is {_short(tensor)}"
        if tensor.dtype is not value.type.dtype or tensor.ndim != value.type.ndim:
            return f"{value.name} was {value.type}, is {_kind(tensor)}"
    shapes = ", ".join(
        f"{v.name} {tuple(t.shape)}"
        for v, t in zip(captured.graph.inputs, tensors, strict=True)
        if t.ndim
    )
    guards = "; ".join(str(g) for g in captured.graph.guards)
    wanted = ", ".join(f"{v.name}: {v.type}" for v in captured.graph.inputs)
    return f"sizes: {shapes} do not fit {wanted}" + (f" where {guards}" if guards else "")


def _of_keys(old: Any, new: Any, names: Sequence[str]) -> str:
    (old_kinds, old_dtype, old_inference), (new_kinds, new_dtype, new_inference) = old, new
    (old_tree, old_parts, old_grad), (new_tree, new_parts, new_grad) = old_kinds, new_kinds
    if old_tree != new_tree:
        return f"the arguments were {old_tree}, are {new_tree}"
    for i, (a, b) in enumerate(zip(old_parts, new_parts, strict=True)):
        if a != b:
            name = names[i] if i < len(names) else f"argument {i}"
            if b[0] in ANY:  # it has had some values, and is an input of the next graph
                return (
                    f"{name} was {_part(a)}, is another {b[0].__name__}, and may be any from now on"
                )
            return f"{name} was {_part(a)}, is {_part(b)}"
    if old_grad != new_grad:
        return f"gradients were {'on' if old_grad else 'off'}, are {'on' if new_grad else 'off'}"
    if old_dtype is not new_dtype:
        return f"the default dtype was {old_dtype}, is {new_dtype}"
    if old_inference != new_inference:
        return f"inference mode was {'on' if old_inference else 'off'}, is {'on' if new_inference else 'off'}"
    return "something else of the arguments"


def _part(part: Any) -> str:
    if len(part) == 4:
        dtype, small, grad, _ = part
        sizes = ", ".join("..." if s == 2 else str(s) for s in small)
        return f"{dtype.short}[{sizes}]" + (" with gradients" if grad else "")
    if len(part) == 2:
        return _short(float.fromhex(part[1]) if part[0] is float else part[1])
    return f"a {part[0].__name__}"


def _names(function: Any, args: Any, kwargs: Any) -> list[str]:
    names = input_names(function, args)
    for key, value in kwargs.items():
        count = len(tree_flatten(value)[0])
        names += [key] * count
    return names


def _kind(tensor: Any) -> str:
    return f"{tensor.dtype.short}[{', '.join(map(str, tensor.shape))}]"


def _short(x: Any) -> str:
    if isinstance(x, _core.Tensor):
        return f"a tensor {_kind(x)}"
    if isinstance(x, type):
        return x.__name__
    name = getattr(x, "__qualname__", None) or getattr(x, "co_qualname", None)
    text = str(name) if name else repr(x)
    return text if len(text) <= 60 else text[:57] + "..."
