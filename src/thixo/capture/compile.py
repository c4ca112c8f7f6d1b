"""`tx.compile`: a function that runs as a graph where it can, and as it is written where it cannot.

The first call captures the function from its source (017), with everything that it assumes of Python's state. Later calls take the graph
whose assumptions hold. What cannot be captured runs lazily (019): Python each time, with its tensors recorded and compiled. See
docs/design/020-compile.md.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from thixo import _core, config
from thixo.capture import lazy as modes
from thixo.capture.compile_backends import checked_backend
from thixo.capture.compile_cache import Entry, Graphs, Options
from thixo.capture.compile_quick import quick_spec
from thixo.capture.frozen import Frozen
from thixo.capture.rerun import Failed, by_python
from thixo.errors import ArgumentError
from thixo.graph.ir import Graph
from thixo.graph.trace import current_trace

TRIES = 64  # kinds of calls that the core may be told to serve alone

F = TypeVar("F", bound=Callable[..., Any])


class CompiledFunction(_core.Guarded):
    """What `tx.compile` makes of a function. Call it as the function it was made from.

    `graphs` are those that were captured; `tx.explain` tells more.

    >>> double = tx.compile(lambda x: x * 2)
    >>> double(tx.ones(3)), double(tx.ones(5)).shape, len(double.graphs)
    (tensor([2., 2., 2.]), Size([5]), 1)
    """

    def __init__(self, function: Any, options: Options, name: str | None = None) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__name__: str = name or getattr(function, "__name__", None) or type(function).__name__
        self.stands_for = function  # what captured code calls in its place
        self._graphs = Graphs(function, self.__name__, options)
        self._lazily = modes.lazy()(_as_function(function))
        self._tries = 0
        self._slow = self._by_python

    @property
    def graphs(self) -> list[Graph]:
        """The graphs that were captured, as they came."""
        return [entry.captured.graph for entry in self._graphs.entries]

    def _by_python(self, *args: Any, **kwargs: Any) -> Any:
        """A call where something has changed, or that was never met: the first call of a kind captures it."""
        if config.eager or modes.get_mode() == "eager" or current_trace() is not None:
            return self.stands_for(*args, **kwargs)
        graphs = self._graphs
        entry = graphs.find(args, kwargs)
        if entry is None:
            graphs.lazy_calls += 1
            return self._lazily(*args, **kwargs)
        return self._served(entry, args, kwargs)

    def _served(self, entry: Entry, args: Any, kwargs: Any) -> Any:
        """A call for which there is a graph."""
        try:
            result = entry(args, kwargs)
        except Failed as failure:
            failed = failure
        else:
            if isinstance(entry.run, Frozen) and entry.run.is_renewed:
                self._forget()  # programs of constants that are no longer true
                entry.run.is_renewed = False
            if entry.calls > 1 and self._tries < TRIES:
                self._tries += 1
                spec = quick_spec(entry, args, kwargs)
                if spec is not None:
                    self._add_quick(spec)
            return result
        # Nothing has been changed yet, so Python does it all, up to the error if there is one.
        if self._graphs.failed(entry, failed):
            self._forget()
        return by_python(self.stands_for, args, kwargs, failed)

    def __repr__(self) -> str:
        return f"<compiled function {self.__name__}: {len(self.graphs)} graphs>"

    def __reduce__(self) -> Any:
        return _rebuilt, (self.stands_for, self._graphs.options, self.__name__)


_core.quicken(CompiledFunction)


def _rebuilt(function: Any, options: Options, name: str) -> CompiledFunction:
    return _function(function, options, name)


def _as_function(f: Any) -> Callable[..., Any]:
    """A function that calls it: decorators want one."""
    if inspect.isroutine(f):
        return f

    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return call


@overload
def compile(f: F, /) -> F: ...
@overload
def compile(
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "native",
    name: str | None = None,
    verify: bool = False,
    debug: bool = False,
    freeze: bool = False,
    budget: int | float | None = None,
) -> Callable[[F], F]: ...
@overload
def compile(
    f: F,
    /,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "native",
    name: str | None = None,
    verify: bool = False,
    debug: bool = False,
    freeze: bool = False,
    budget: int | float | None = None,
) -> F: ...


def compile(
    f: Any = None,
    /,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "native",
    name: str | None = None,
    verify: bool = False,
    debug: bool = False,
    freeze: bool = False,
    budget: int | float | None = None,
) -> Any:
    """Make a function, a method or a Module run as compiled graphs, with the results that it has.

    The first call captures the function from its source: both sides of its branches, all turns of its loops, what it calls. What was
    assumed (dtypes, ranks, Python's values, globals, attributes) is checked at every call; where it does not hold the function is captured once
    more. Sizes are open, so a new batch size needs no new graph. What cannot be captured runs as Python does, with its
    tensors recorded and compiled in between (`tx.lazy`). `tx.explain` says what became of a function.

    - `fullgraph`: what cannot be captured is a `CaptureError`, with its line and a remedy.
    - `dynamic`: False captures for the very sizes of a call; True never does; None does where nothing else works.
    - `backend`: `"native"`, `"reference"` (NumPy), `"eager"` (operator by operator), or a function that takes a graph and gives a
      callable of its inputs.
    - `name`: what the function is called in messages.
    - `verify`: every call runs both ways; where they differ, a `VerificationError` names the first operator that does, and its line.
    - `debug`: graphs run operator by operator, and `values` has what each of the function's variables held.
    - `freeze`: for models that only answer. Calls that need no gradients take parameters and buffers as constants: batch norms fold
      into convolutions, and weights are prepared once, in memory of their own. After a write in place they are prepared anew. Writes
      that no tensor counts, through `.data` or an array of NumPy that shares memory, are not noticed.
    - `budget`: of memory, where gradients are taken: bytes, or a part of what would be needed (`0.3`). Values are computed again instead of
      being kept until it is met, those first that cost little; results stay the same.

    >>> @tx.compile
    ... def f(x):
    ...     if x.sum() > 0:
    ...         return x * 2
    ...     return -x
    >>> f(tx.ones(2)), f(-tx.ones(3))
    (tensor([2., 2.]), tensor([1., 1., 1.]))

    A Module that is compiled shares its parameters with the one it was made from:

    >>> net = tx.nn.Linear(2, 3)
    >>> quick = tx.compile(net)
    >>> bool((quick(tx.ones(4, 2)) == net(tx.ones(4, 2))).all()), quick.weight is net.weight
    (True, True)
    """
    if dynamic not in (None, True, False):
        raise ArgumentError(f"compile: dynamic must be True, False or None, got {dynamic!r}")
    options = Options(
        bool(fullgraph),
        dynamic,
        checked_backend(backend),
        bool(verify),
        bool(debug),
        bool(freeze),
        _checked_budget(budget),
    )
    if f is None:
        return functools.partial(_compiled, options=options, name=name)
    return _compiled(f, options, name)


def _checked_budget(budget: Any) -> int | float | None:
    number = isinstance(budget, int | float) and not isinstance(budget, bool)
    if budget is None or (number and budget > 0):
        return budget  # type: ignore[no-any-return]
    raise ArgumentError(
        f"compile: budget must be bytes of memory or a part of what is needed without one, such as 0.3; got {budget!r}"
    )


def _compiled(f: Any, options: Options, name: str | None) -> Any:
    if isinstance(f, CompiledFunction):
        f = f.stands_for
    if isinstance(f, staticmethod):
        return staticmethod(_compiled(f.__func__, options, name))
    if isinstance(f, classmethod):
        return classmethod(_compiled(f.__func__, options, name))
    if isinstance(f, type) or not callable(f):
        raise ArgumentError(f"compile: needs a function, a method or a Module, got {f!r}")
    if hasattr(f, "named_parameters") and hasattr(f, "forward"):
        return _with_state_of(f, options, name)
    return _function(f, options, name)


def _function(f: Any, options: Options, name: str | None) -> CompiledFunction:
    if options.verify or options.debug:
        from thixo.capture.compile_checked import CheckedFunction

        return CheckedFunction(f, options, name)
    return CompiledFunction(f, options, name)


# ---- Modules


def _with_state_of(module: Any, options: Options, name: str | None) -> Any:
    """A Module that has the same state, and whose call is compiled."""
    module = getattr(module, "_compiled_function", module)
    module = getattr(module, "stands_for", module)
    made: Any = object.__new__(_compiled_class(module, options, name))
    object.__setattr__(made, "__dict__", module.__dict__)
    return made


def compile_in_place(module: Any, **options: Any) -> None:
    """Make a Module's own calls compiled ones; see `Module.compile`.

    >>> net = tx.nn.Linear(2, 3)
    >>> net.compile()
    >>> net(tx.ones(4, 2)).shape, tx.explain(net).is_whole
    (Size([4, 3]), True)
    """
    compiled = compile(module, **options)
    original = compiled._compiled_function.stands_for
    if original is module:
        # What is captured and what runs where nothing was is a Module of the class that it had.
        original = object.__new__(type(module))
        object.__setattr__(original, "__dict__", module.__dict__)
        function = compiled._compiled_function
        compiled = _with_state_of(original, function._graphs.options, function.__name__)
    module.__class__ = type(compiled)


def _compiled_class(module: Any, options: Options, name: str | None) -> type:
    """A class like the Module's, for one object: its calls are those of a compiled function."""
    original = type(module)
    compiled = _function(module, options, name or original.__name__)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        return compiled(*args, **kwargs)

    def __reduce_ex__(self: Any, protocol: Any) -> Any:  # noqa: N807
        return _compiled, (module, options, name)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:  # noqa: N807
        return _compiled(copy.deepcopy(module, memo), options, name)

    body = {
        "__call__": __call__, "__reduce_ex__": __reduce_ex__, "__deepcopy__": __deepcopy__,
        "_compiled_function": staticmethod(compiled), "__doc__": original.__doc__,
        "__module__": original.__module__, "__qualname__": original.__qualname__,
    }  # fmt: skip
    if options.debug:
        body["values"] = property(lambda self: compiled.values)  # type: ignore[attr-defined]
    kind: Any = type(original)
    return kind(original.__name__, (original,), body)
