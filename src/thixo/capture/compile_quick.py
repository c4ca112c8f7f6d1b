"""The way of a compiled function's call that needs no Python: what the native core checks, and what it then runs.

After Python has found that a graph serves a call, everything that this depended on is written down as places in memory and what is there
(`Watch` in the core): entries of dicts, cells, elements of lists, code of functions, classes. As long as all of them are the same
objects, the same graph serves. Where one is not, Python looks again: it may be another object that is equal.
"""

from __future__ import annotations

import functools
from typing import Any

from thixo import _core
from thixo.capture.compile_after import after
from thixo.capture.compile_backends import Compiled
from thixo.capture.compile_places import Places, Unsupported
from thixo.capture.frozen import Frozen
from thixo.capture.open_numbers import OpenNumber
from thixo.capture.paths import Path, Scalar
from thixo.random import default_generator

_EQUAL = (int, float, str)
_CONTAINERS: dict[Any, str] = {list: "list", tuple: "tuple", dict: "dict"}
_MOST = 64  # arguments, with what is in them


def quick_spec(entry: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """What `_core.Guarded` needs to serve calls like this one, which has just been served; None where Python is needed."""
    run, captured = entry.run, entry.captured
    if captured.sizes or entry.says:
        return None
    if isinstance(run, Frozen):
        if _core.is_grad_enabled() or captured.needs:
            return None  # whether weights need gradients matters then
    elif not isinstance(run, Compiled) or run.replayed:
        return None
    try:
        # The call itself may have changed what it depends on.
        return _spec(entry, args, kwargs) if captured.fits(args, kwargs) else None
    except (Unsupported, AttributeError, LookupError, TypeError, ValueError, RuntimeError):
        return None


def _spec(entry: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    captured, run = entry.captured, entry.run
    state = run.state if isinstance(run, Frozen) else None
    function = run.function if state is None else state.function
    call = _Arguments(captured, args, kwargs)
    watch = Places([args, kwargs])
    for one in captured.assumed:
        watch.assume(one)
    matters = _core.is_grad_enabled() or bool(captured.needs)
    tensors = captured.inputs(args, kwargs)
    inputs: list[Any] = []
    for tensor in tensors[: captured.given]:
        inputs.append((call.places[id(tensor)], None, -1, None, None))
    for path in captured.paths:
        if isinstance(path, Scalar):
            inputs.append(_number(path, call, watch))
        else:
            tensor = watch.follow(path)
            inputs.append((-1, tensor, int(tensor.requires_grad) if matters else -1, None, None))
    for tensor in function._tensors:
        inputs.append((-1, tensor, int(tensor.requires_grad) if matters else -1, None, None))
    given = [*tensors, *function._tensors]
    if state is not None:
        if any(tensors[i] is not t for i, t in zip(run.places, state.tensors, strict=True)):
            return None  # another thread's call was in between
        inputs = [*[inputs[i] for i in run.left], (-2, state.unwritten, -1, None, None)]
        given = [*[given[i] for i in run.left], state.mark]
    found = _program(function, given)
    if found is None:
        return None
    program, plan = found
    then = after(captured, function, watch, given, plan is not None)
    return {
        "arguments": call.leaves,
        "names": tuple(kwargs),
        "positional": len(args),
        "inputs": inputs,
        "watch": watch.spec(),
        "grad": _core.is_grad_enabled(),
        "program": program,
        "plan": plan,
        "generator": default_generator if entry.draws and entry.may_fail else None,
        "after": then,
        "owner": entry,
    }


class _Arguments:
    """The arguments of a call one after another, each container before what is in it."""

    def __init__(self, captured: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.leaves: list[Any] = []
        self.places: dict[int, int] = {}  # of tensors
        self.numbers: dict[Any, int] = {}  # of those that are inputs, by their paths
        open_ = {p.key: p for p in captured.paths if isinstance(p, OpenNumber) and p.is_of_argument}
        self._open = {key[1]: p for key, p in open_.items()}
        for i, arg in enumerate(args):
            self._add(arg, (0, i))
        for name, arg in kwargs.items():
            self._add(arg, (1, name))
        if len(self.leaves) > _MOST or len(self.places) != captured.given:
            raise Unsupported

    def _add(self, arg: Any, at: tuple[int, Any] | None) -> None:
        place = len(self.leaves)
        how = _CONTAINERS.get(type(arg))
        path = None
        if at is not None:
            path = next((p for p in self._open.values() if _is_argument(p, *at)), None)
        if isinstance(arg, _core.Tensor):
            first = self.places.setdefault(id(arg), place)
            graded = (1 if arg.is_leaf else 2) if arg.requires_grad else 0
            self.leaves.append(("tensor", None, graded, first))
        elif path is not None:
            self.numbers[path.key] = place
            self.leaves.append(("number", None, 0, place))
        elif how is not None:
            keys = tuple(arg) if how == "dict" else None
            if keys is not None and not all(type(k) in _EQUAL for k in keys):
                raise Unsupported
            self.leaves.append((how, keys, 0, len(arg)))
            for inner in arg.values() if how == "dict" else arg:
                self._add(inner, None)
        elif isinstance(arg, list | tuple | dict | set):
            raise Unsupported  # it may hold other tensors at each call
        else:
            kind = "equal" if type(arg) in _EQUAL else "same"
            self.leaves.append((kind, arg, 0, place))


def _is_argument(path: Path, position: int, key: Any) -> bool:
    return path.start.position == position and path.steps == (("item", key),)


def _number(path: Scalar, call: _Arguments, watch: Places) -> Any:
    """A number that is an input."""
    kind = path.kind if isinstance(path, OpenNumber) else None
    if path.is_of_argument:
        return (call.numbers[path.key], None, -1, None, kind)
    try:
        return (-3, *_with_key(watch.number(path)), kind)
    except Unsupported:
        return (-2, functools.partial(path.fetch, []), -1, None, None)


def _with_key(found: tuple[Any, Any]) -> tuple[Any, int, Any]:
    return found[0], -1, found[1]


def _program(function: Any, given: list[Any]) -> tuple[Any, Any] | None:
    """The native program that served these inputs, and how it is recorded."""
    plan = None
    made = function._plain
    if _core.is_grad_enabled():
        needs = tuple(t.requires_grad for t in given)
        if True in needs and needs not in function._unmoved:
            recorded = function._recorded.get(needs)
            plan = recorded.native_plan() if recorded is not None else None
            if plan is None:
                return None
            made = recorded._forward
    executor = getattr(made, "_executor", None)
    if executor is None or getattr(executor, "_room", True):
        return None
    for program in executor.programs:
        if program.fits(given):
            return program, plan
    return None
