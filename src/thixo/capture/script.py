"""A scripted function: captured when it is first called, once for each kind of arguments."""

import functools
import warnings
from collections import OrderedDict
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from thixo import _core, config
from thixo.capture import captured as capturing
from thixo.capture.captured import Captured, capture_call
from thixo.capture.convert import convert_code
from thixo.capture.debug import Values, looked_into, named
from thixo.capture.refusal import Refused, refusal_of_raised
from thixo.capture.rerun import Failed, by_python, changing_nothing
from thixo.capture.verify import verified
from thixo.dtype import DType, get_default_dtype
from thixo.errors import ArgumentError, CaptureError
from thixo.graph.ir import Graph
from thixo.graph.trace import current_trace
from thixo.progress import task
from thixo.pytree import tree_flatten

LIMIT = 64  # graphs that one function keeps


class ScriptedFunction:
    """What `jit.script` returns. Call it as the function it was made from.

    `graph` is what was captured last, `code` the rewritten source.

    >>> def f(x):
    ...     return x * 2 if x.sum() > 0 else -x
    >>> double = tx.jit.script(f)
    >>> double(tx.ones(2)), double(-tx.ones(3))
    (tensor([2., 2.]), tensor([1., 1., 1.]))
    """

    def __init__(self, f: Any, verify: bool = False, debug: bool = False) -> None:
        self._function = f
        self._verify, self._debug = verify, debug
        self._values: Values | None = None
        self._cache: OrderedDict[Any, list[Captured]] = OrderedDict()
        self._last: Captured | None = None
        self.stands_for = f  # what captured code calls in its place
        functools.update_wrapper(self, f, updated=())
        self.__name__: str = getattr(f, "__name__", type(f).__name__)
        self.__qualname__: str = getattr(f, "__qualname__", type(f).__qualname__)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """In a class it is a method, as the function is."""
        if owner is None or not isinstance(self._function, FunctionType):
            return self
        return MethodType(self, owner)

    def __getattr__(self, name: str) -> Any:
        """What a Module has, such as its parameters."""
        function = self.__dict__.get("_function")
        if name.startswith("__") or not hasattr(function, "named_parameters"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(function, name)

    def __reduce__(self) -> Any:
        return type(self), (self._function, self._verify, self._debug)

    @property
    def graph(self) -> Graph:
        """The graph that was captured last."""
        if self._last is None:
            raise ArgumentError(
                f"{self.__name__}: it has no graph before it is called the first time"
            )
        return self._last.graph

    @property
    def graphs(self) -> list[Graph]:
        """All graphs that are kept."""
        return [c.graph for entries in self._cache.values() for c in entries]

    @property
    def code(self) -> str:
        """The function's source as it was rewritten."""
        function = plain_function(self._function)
        try:
            return convert_code(function.__code__, function.__globals__).text
        except Refused as refusal:
            raise refusal.error(self.__name__) from None

    @property
    def values(self) -> Values:
        """The values of the last call by the names of variables, where `debug=True` was said."""
        if self._values is None:
            raise ArgumentError(
                f"{self.__name__}: it keeps values with debug=True, and after a call: script(f, debug=True)"
            )
        return self._values

    def __repr__(self) -> str:
        return f"<scripted function {self.__name__}: {len(self.graphs)} graphs>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph for arguments of this kind; the first call of a kind captures it."""
        if config.eager:
            return self._function(*args, **kwargs)
        try:
            captured = self.captured(*args, **kwargs)
        except CaptureError:
            raise
        except Exception as error:
            if current_trace() is not None:
                raise
            raised = error
        else:
            if self._verify:
                return verified(captured, self._function, args, kwargs, self.__name__)
            return self._perform(captured, args, kwargs)
        return self._as_python(args, kwargs, raised)

    def _perform(self, captured: Captured, args: Any, kwargs: Any) -> Any:
        """Run the graph. Where it raises, the function itself runs: what it changes before the exception is changed."""
        if current_trace() is not None and not self._debug:
            return captured(args, kwargs)
        try:
            if self._debug:
                result, self._values = looked_into(captured, args, kwargs)
                return result
            tensors = captured.inputs(args, kwargs)
            captured.need_own_memory(tensors)
            with changing_nothing(True, CaptureError):
                outputs, sizes = captured.run(tensors)
        except Failed as failure:
            failed = failure
        else:
            return captured.finished(args, kwargs, tensors, outputs, sizes)
        return by_python(self._function, args, kwargs, failed)

    def _as_python(self, args: Any, kwargs: Any, raised: Exception) -> Any:
        """The function itself, which raised while it was captured: what it does before that is done."""
        result = self._function(*args, **kwargs)
        why = refusal_of_raised(raised)
        warnings.warn(
            f"script: {self.__name__} ran as Python: while it was captured it raised {why.text()}",
            RuntimeWarning,
            stacklevel=3,
        )
        return result

    def captured(self, *args: Any, **kwargs: Any) -> Captured:
        """The captured form that serves these arguments."""
        key = (kinds_of(args, kwargs), get_default_dtype(), _core.is_inference_mode())
        known = self._known(key, args, kwargs)
        if known is not None:
            return known
        with capturing._lock:
            known = self._known(key, args, kwargs)  # another thread may have been first
            if known is not None:
                return known
            with task(f"capturing {self.__name__}"):
                made = self._capture(args, kwargs)
            self._cache.setdefault(key, []).append(made)
            self._cache.move_to_end(key)
            self._last = made
            while len(self.graphs) > LIMIT:
                oldest = next(iter(self._cache))
                self._cache[oldest].pop(0)
                if not self._cache[oldest]:
                    del self._cache[oldest]
            return made

    def _known(self, key: Any, args: Any, kwargs: Any) -> Captured | None:
        for one in tuple(self._cache.get(key, ())):
            if one.fits(args, kwargs):
                return one
        return None

    def _capture(self, args: Any, kwargs: Any) -> Captured:
        if not self._debug and not self._verify:
            return self._captured(args, kwargs)
        made, variables = named(lambda: self._captured(args, kwargs))
        made.variables = variables
        return made

    def _captured(self, args: Any, kwargs: Any) -> Captured:
        """With symbolic sizes where that works; else for these sizes, since some programs depend on them."""
        try:
            return capture_call(self._function, args, kwargs, most=BRANCHES, runs_again=True)
        except Refused as refusal:
            if refusal.construct == "branches":  # sizes that are known do not make them fewer
                raise self._error(refusal) from None
        except Exception:  # it may have needed a size where a number was wanted
            pass
        try:
            return capture_call(
                self._function, args, kwargs, fixed=True, most=BRANCHES, runs_again=True
            )
        except Refused as refusal:
            raise self._error(refusal) from None

    def _error(self, refusal: Refused) -> Exception:
        error = refusal.error(self.__name__)
        error.refused = refusal
        return error


BRANCHES = 200_000  # that may be traced for one graph: a minute or two; recursions and lists that grow in loops can have more
_BY_VALUE = (bool, int, str, bytes, complex, type, Enum, ModuleType, BuiltinFunctionType, DType)


def plain_function(f: Any) -> Any:
    while isinstance(f, functools.partial):
        f = f.func
    f = getattr(f, "forward", f) if not isinstance(f, FunctionType | MethodType) else f
    f = getattr(f, "__func__", f)
    return f if isinstance(f, FunctionType) else type(f).__call__


def kinds_of(args: Any, kwargs: Any) -> Any:
    """What a graph is made for: dtypes, ranks and which sizes are 0 or 1 of tensors, classes of objects, other values."""
    leaves, tree = tree_flatten((tuple(args), kwargs))
    seen: dict[int, int] = {}
    parts: list[tuple[Any, ...]] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, _core.Tensor):
            small = tuple(s if s < 2 else 2 for s in leaf.shape)
            first = seen.setdefault(id(leaf), i)  # one tensor twice is another program
            graded = leaf.requires_grad and (leaf.is_leaf or 2)  # inside, backward ends at leaves
            parts.append((leaf.dtype, small, graded, first))
        elif isinstance(leaf, float):
            parts.append((type(leaf), leaf.hex()))
        elif isinstance(leaf, _BY_VALUE):
            parts.append((type(leaf), leaf))
        else:
            parts.append((type(leaf),))
    return (tree, tuple(parts), _core.is_grad_enabled())
