"""Capturing a call: the function runs once on symbols, and becomes a graph with what is around it.

captured = capture_call(f, args, kwargs)
captured.graph       what is computed
captured.assumed     what was assumed of Python's state: fits(args, kwargs) asks whether it still holds
captured.changes     what it changes besides tensors: attributes, containers, globals
captured(args, kwargs)
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MethodType
from typing import Any

from thixo import _core
from thixo.capture.callees import call as call_captured
from thixo.capture.frames import Capture, Outer, capturing
from thixo.capture.held import Kind
from thixo.capture.journal import CONTAINERS
from thixo.capture.leaf_hooks import note_no_hooks
from thixo.capture.naming import captured_names, input_names
from thixo.capture.open_numbers import open_arguments
from thixo.capture.paths import (
    Argument,
    Assumed,
    Path,
    assumption,
    note_apart,
    note_same,
    path_of,
)
from thixo.capture.plans import Call, Change, Plan, changes
from thixo.capture.refusal import RaisedInTry, Refused, refusal_of
from thixo.capture.rerun import OwnMemory
from thixo.capture.runner import Runner
from thixo.capture.simplify import unify_sizes
from thixo.capture.source import refused_at
from thixo.capture.unclear import refuse_unclear
from thixo.capture.values import Symbolic
from thixo.errors import TraceError
from thixo.graph.constants import type_of
from thixo.graph.control import subgraphs
from thixo.graph.ir import RESERVED, Graph, Type
from thixo.graph.sizes import symbol_name, symbols_in
from thixo.graph.trace import size_hint
from thixo.pytree import tree_flatten, tree_unflatten
from thixo.symbolic import Dim

_LETTERS = "nmkhpqrstuvwdijabcefglo"
# While a function is captured, objects it changes are changed and put back. A fork waits for the end of that: a child has one
# thread, which would wait for the others' for ever.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class Captured:
    """A graph and everything around it."""

    def __init__(
        self,
        graph: Graph,
        paths: list[Path],
        result: Any,
        made: list[Change],
        assumed: list[Assumed],
        given: int,
    ) -> None:
        self.graph = graph
        self.paths = paths  # of the inputs behind those of the arguments
        self.changes = made
        self.assumed = assumed
        self.sizes: list[str] = []  # those that the result and the changes need
        self.names: list[str] = []  # of the leaves of the arguments
        self.variables: Any = {}  # that held values, where somebody wants to know
        self.makes_leaves = False  # whether requires_grad_() was called inside
        self.needs: list[
            bool
        ] = []  # which inputs by paths need gradients, where these are taken inside
        self.result = result
        self.given = given  # inputs that are arguments
        self.need_own_memory = OwnMemory(graph)
        self._run: Runner | None = None

    def fits(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether all that was assumed holds for these arguments, of the kinds it was captured for."""
        arguments = [args, kwargs]
        if not all(a.holds(arguments) for a in self.assumed):
            return False
        try:
            tensors = self.inputs(args, kwargs)
        except (AttributeError, LookupError, TypeError, ValueError):
            return False
        if not all(isinstance(t, _core.Tensor) for t in tensors):
            return False  # such as a gradient that is not there now
        if self.needs and [t.requires_grad for t in tensors[self.given :]] != self.needs:
            return False
        return _fits(self.graph, tensors)

    def inputs(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The tensors that the graph takes, those from outside fetched anew."""
        arguments = [args, kwargs]
        seen: dict[int, Any] = {}
        for leaf in tree_flatten((tuple(args), kwargs))[0]:
            if isinstance(leaf, _core.Tensor):
                seen.setdefault(id(leaf), leaf)
        return [*seen.values(), *(p.fetch(arguments) for p in self.paths)]

    def __call__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run the graph; the result, after everything that the function changes has been changed."""
        tensors = self.inputs(args, kwargs)
        return self.finished(args, kwargs, tensors, *self.run(tensors))

    def run(self, tensors: list[Any]) -> tuple[list[Any], dict[str, int]]:
        """The graph's outputs, and the sizes of this call; what the graph writes is written."""
        if self._run is None:
            self._run = Runner(self.graph)
        return self._run(tensors)

    def finished(
        self, args: Any, kwargs: Any, tensors: list[Any], outputs: list[Any], sizes: dict[str, int]
    ) -> Any:
        """The result of a call whose graph has run; what the function changes is changed."""
        call = Call([args, kwargs], tensors[: self.given])
        call.outputs, call.sizes = outputs, sizes
        new = [change.value(call) for change in self.changes]
        result = self.result(call)
        for change, value in zip(self.changes, new, strict=True):
            change.apply(call, value)
        return result


def _fits(graph: Graph, tensors: list[Any]) -> bool:
    sizes: dict[str, int] = {}
    for value, tensor in zip(graph.inputs, tensors, strict=True):
        wanted = value.type
        if (
            not isinstance(tensor, _core.Tensor)
            or tensor.dtype is not wanted.dtype
            or tensor.ndim != wanted.ndim
        ):
            return False
        for size, actual in zip(wanted.shape, tensor.shape, strict=True):
            name = symbol_name(size)
            if name is not None and name not in sizes:
                assert isinstance(size, Dim)
                low, high = size.bounds
                if actual < (low or 0) or (high is not None and actual > high):
                    return False
                sizes[name] = actual
    for value, tensor in zip(graph.inputs, tensors, strict=True):
        for size, actual in zip(value.type.shape, tensor.shape, strict=True):
            expected = size.evaluate(sizes) if isinstance(size, Dim) else size
            if expected != actual:
                return False
    for guard in graph.guards:
        names = {n for s in (guard.left, guard.right) for n in symbols_in(s)}
        if names <= sizes.keys() and not guard.holds(sizes):
            return False
    return True


def capture_call(
    f: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    fixed: bool = False,
    most: int | None = None,
    runs_again: bool = False,
    open: frozenset[Any] = frozenset(),
) -> Captured:
    """Capture what `f` does with these arguments; sizes are symbolic unless `fixed`. Raises Refused.

    `most` is how many branches may be traced. With `runs_again` the caller runs the function itself where the graph raises,
    so that messages need not be part of the graph. `open` are numbers from outside that are inputs (`open_numbers.py`).
    """
    with _lock:
        capture = Capture(most=most, open=open)
        capture.runs_again = runs_again
        try:
            made = _capture(f, tuple(args), dict(kwargs), fixed, capture)
        except RaisedInTry as refusal:
            capture = Capture(most=most, open=open)
            capture.runs_again, capture.attempts = runs_again, True
            try:
                made = _capture(f, tuple(args), dict(kwargs), fixed, capture)
            except Refused:
                raise refusal from None
        return made


def _capture(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool, capture: Capture
) -> Captured:
    leaves, tree = tree_flatten((args, kwargs))
    names = _names(f, args, kwargs, leaves)
    trace = Outer(_function_name(f))
    trace.names.update(captured_names(f))
    types = _types(leaves, names, fixed)
    try:
        with capturing(capture), trace, _modes_kept(capture) as stays:
            try:
                symbolic: dict[int, Any] = {}
                given = list(leaves)
                for i, type in enumerate(types):
                    if type is not None:
                        leaf = leaves[i]
                        if id(leaf) not in symbolic:
                            symbolic[id(leaf)] = trace.input(names[i], type, leaf.requires_grad)
                        given[i] = symbolic[id(leaf)]
                own_args, own_kwargs = open_arguments(capture, *tree_unflatten(tree, given))
                known: dict[int, Any] = {}
                own_args = _shared(args, own_args, known)
                own_kwargs = _shared(kwargs, own_kwargs, known)
                _note_given(capture, args, own_args, Path(Argument(0), "args"))
                _note_given(capture, kwargs, own_kwargs, Path(Argument(1), "kwargs"))
                _register(capture, args, own_args, Path(Argument(0), "args"))
                _register(capture, kwargs, own_kwargs, Path(Argument(1), "kwargs"))
                owner = getattr(f, "__self__", f)
                capture.sources[id(owner)] = (owner, Path(owner, "self"))
                result = call_captured(f, *own_args, **own_kwargs)
                stays()
                note_no_hooks(capture, [args, kwargs])
                plan = Plan(capture, trace)
                with refused_at(f):
                    maker = plan.of(result, "return")
                    made = [*changes(capture, plan), *(later(plan) for later in capture.later)]
                apart = note_apart(capture)
            except BaseException:
                for undo in reversed(capture.undo):
                    undo()
                raise
            finally:
                capture.journal.take_back()
    except TraceError as error:
        raise refusal_of(error) from error
    for one in apart:
        if not one.holds([args, kwargs]):
            raise Refused(
                f"a change of {one.path}",
                "another path leads to that object too",
                "hand over a copy",
            )
    graph, plan.replaced = unify_sizes(trace.finish(), numbers=True)
    live = list(graph.constants.values())
    paths = _constants_to_inputs(graph, capture)
    left = set(map(id, graph.constants.values()))
    needs = [d.requires_grad for d in live if id(d) not in left] if capture.takes_gradients else []
    try:
        graph.verify()
    except Exception as error:
        raise Refused("a graph", f"it does not verify: {error}") from error
    _refuse_open_guards(graph)
    refuse_unclear(graph, trace, capture.copies, plan.left)
    captured = Captured(graph, paths, maker, made, list(capture.guards.values()), len(trace.inputs))
    captured.sizes, captured.names = plan.size_names(), names
    captured.makes_leaves, captured.needs = capture.asked, needs
    return captured


@contextmanager
def _modes_kept(capture: Capture) -> Iterator[Callable[[], None]]:
    """Switches of the thread are as they were afterwards; what is yielded refuses if they are not by then."""
    graded, inference, anomaly = modes = _modes()

    def stays() -> None:
        if _modes() != modes:
            raise Refused(
                "a mode of gradients", "it would stay switched after the call, which no graph does",
                "switch it by a with, or outside of what is captured", capture.switched,
            )  # fmt: skip

    try:
        yield stays
    finally:
        _core.set_grad_enabled(graded)
        _core.set_inference_mode(inference)
        _core.set_anomaly(anomaly)


def _modes() -> tuple[bool, bool, bool]:
    return _core.is_grad_enabled(), _core.is_inference_mode(), _core.is_anomaly()


def _refuse_open_guards(graph: Graph) -> None:
    """Refuse what is right for some sizes only that the data decide."""
    for one in (graph, *subgraphs(graph)):
        known = {n for v in one.inputs for s in v.type.shape for n in symbols_in(s)}
        for guard in one.guards:
            if not known >= {n for s in (guard.left, guard.right) for n in symbols_in(s)}:
                raise Refused(
                    "a size that the data decide", f"the program is another one where {guard} does not hold",
                    "use tx.where and masks, which keep sizes", guard.line,
                )  # fmt: skip


def _is_taken_apart(x: Any) -> bool:
    """Whether what is in an argument is a part of the key, unlike what is in containers of other classes."""
    plain = type(x) in (list, tuple, dict, OrderedDict)
    return plain or (isinstance(x, tuple) and hasattr(x, "_fields"))


def _register(capture: Capture, original: Any, own: Any, path: Path) -> None:
    """Note where the containers and objects of the arguments are."""
    if isinstance(own, _core.Tensor | Symbolic):
        return
    if _is_taken_apart(own) and own is not original:
        note_same(capture, path, own, "type")
        capture.looked[id(own)] = own  # their structure is part of the key
        keys = own.keys() if isinstance(own, dict) else range(len(own))
        for key in keys:
            _register(capture, original[key], own[key], path.step("item", key))
    elif own is not None and not isinstance(own, bool | int | float | str | bytes | complex):
        how, seen = ("equal", own) if isinstance(own, _core.Size) else assumption(own)
        note_same(capture, path, own, how)
        capture.ways.setdefault(id(own), []).append(path)
        # The class is a part of the key; what a method brings along is noted where it is used.
        if how != "type" and not isinstance(own, MethodType):
            capture.guards.setdefault((path.key, how), Assumed(path, how, seen))


def _shared(original: Any, own: Any, known: dict[int, Any]) -> Any:
    """The containers of the arguments, with one for what is one for the caller at several places."""
    if own is original or not isinstance(own, tuple | list | dict):
        return own
    if isinstance(own, tuple):
        parts = [_shared(a, b, known) for a, b in zip(original, own, strict=True)]
        return type(own)(*parts) if hasattr(own, "_fields") else tuple(parts)
    if id(original) not in known:
        known[id(original)] = own
        for key in own.keys() if isinstance(own, dict) else range(len(own)):
            own[key] = _shared(original[key], own[key], known)
    return known[id(original)]


def _note_given(capture: Capture, original: Any, own: Any, path: Path) -> None:
    """Note where the tensors of the arguments are; each has the gradient that the caller's has."""
    if isinstance(own, _core.Tensor):
        capture.given.setdefault(id(own), (own, path))
        capture.originals[id(original)] = original
        capture.callers[id(own)] = original
        if original.is_leaf:
            own.grad = original.grad
        elif own.requires_grad:
            capture.branched.add(id(own))
            if original.retains_grad:
                own.grad = original.grad
    elif _is_taken_apart(own) and own is not original:
        for key in own.keys() if isinstance(own, dict) else range(len(own)):
            _note_given(capture, original[key], own[key], path.step("item", key))


def _constants_to_inputs(graph: Graph, capture: Capture) -> list[Path]:
    """Tensors that were found by a path are fetched for each call."""
    paths = []
    for value, data in list(graph.constants.items()):
        found = capture.tensors.get(id(data))
        if found is not None and found[0] is data:
            del graph.constants[value]
            graph.inputs.append(value)
            paths.append(found[1])
    inputs = {path.key for path in paths}
    for tensor, path in capture.tensors.values():
        if (
            path.key not in inputs and tensor._value is None
        ):  # its size or dtype may have been asked for
            capture.guards.setdefault((path.key, "equal"), Assumed(path, "equal", Kind(tensor)))
    return paths


# ---- names and types of inputs


def _function_name(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else "captured"


def _names(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> list[str]:
    names = input_names(f, args)
    for key, value in kwargs.items():
        count = len(tree_flatten(value)[0])
        names += [key if count == 1 else f"{key}_{i}" for i in range(count)]
    if len(names) != len(leaves):
        names = [f"x{i}" for i in range(len(leaves))]
    return names


def _types(leaves: list[Any], names: list[str], fixed: bool) -> list[Type | None]:
    taken = set(names) | RESERVED
    letters = (f"{c}{i or ''}" for i in range(10**6) for c in _LETTERS)
    types: list[Type | None] = []
    for leaf in leaves:
        if not isinstance(leaf, _core.Tensor):
            types.append(None)
            continue
        shape: list[Any] = []
        for size in leaf.shape:
            if size > 1 and not fixed:
                symbol = next(c for c in letters if c not in taken)
                shape.append(Dim(symbol, hint=size_hint(size), low=2))
            else:
                shape.append(int(size))
        types.append(Type(leaf.dtype, shape, type_of(leaf).device))
    return types


__all__ = ["CONTAINERS", "Captured", "capture_call", "path_of"]
