"""`jit.script(f, fallback=True)`: a statement that cannot be captured runs in Python, the rest are graphs."""

import functools
import inspect
from types import FunctionType, MethodType
from typing import Any

from thixo import config
from thixo.capture.parts import RESULT, Body, Uncut
from thixo.capture.refusal import Refused
from thixo.capture.script import ScriptedFunction, kinds_of, plain_function
from thixo.errors import CaptureError
from thixo.graph.ir import Graph


class PartedFunction(ScriptedFunction):
    """A scripted function that runs in parts where it cannot be one graph.

    `in_python` says which lines run in Python, and why.

    >>> def f(x):
    ...     y = x * 2
    ...     sizes = {float(v) for v in y}
    ...     return y.sum() + len(sizes)
    >>> mixed = tx.jit.script(f, fallback=True)
    >>> mixed(tx.ones(3)), len(mixed.graphs), list(mixed.in_python)
    (tensor(7.), 2, [3])
    """

    def __init__(self, f: Any, verify: bool = False, debug: bool = False) -> None:
        super().__init__(f, verify, debug)
        self.in_python: dict[int, str] = {}
        self._refused: set[Any] = set()  # kinds of arguments that are not one graph
        self._body: Body | None = None
        self._python: set[int] = set()  # statements
        self._parts: dict[Any, Any] = {}

    @property
    def graphs(self) -> list[Graph]:
        """All graphs that are kept, those of parts too."""
        parts = [p for p in self._parts.values() if isinstance(p, ScriptedFunction)]
        return [*super().graphs, *(g for p in parts for g in p.graphs)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph, or the parts."""
        if config.eager:
            return self._function(*args, **kwargs)
        try:
            kinds = kinds_of(args, kwargs)
        except RecursionError:  # an argument contains itself
            return self._function(*args, **kwargs)
        if kinds not in self._refused:
            try:
                return super().__call__(*args, **kwargs)
            except CaptureError as error:
                if error.refused is None:
                    raise
                self._refused.add(kinds)
                self._cut(error)
        if self._body is None:
            return self._function(*args, **kwargs)
        return self._run(self._body, args, kwargs)

    def _cut(self, error: CaptureError) -> None:
        if self._body is not None:
            return
        f = plain_function(self._function)
        try:
            if error.refused.construct == "breakpoint()":
                raise Uncut  # it shows all variables of the function
            partial = isinstance(
                self._function, functools.partial
            )  # its arguments are not the function's
            if partial or not isinstance(f, FunctionType) or _has_hooks(self._function):
                raise Uncut
            self._body = Body(f)
        except (Uncut, Refused):
            line = f.__code__.co_firstlineno if isinstance(f, FunctionType) else 0
            self.in_python[line] = str(error)

    def _run(self, body: Body, args: Any, kwargs: Any) -> Any:
        owner = self._owner()
        bound = inspect.signature(body.function).bind(*owner, *args, **kwargs)
        bound.apply_defaults()
        state = dict(bound.arguments)
        at, count = 0, len(body.statements)
        while at < count:
            if at in self._python:
                given = sorted(state.keys() & (body.reads(at, at + 1)))
                run, end = self._plain(body, at, tuple(given)), at + 1
            else:
                end = self._end(body, at, state)
                if end == at:
                    continue
                run = self._scripted(body, at, end, state)
                given = run.given
            try:
                kind, made = run(*[state[n] for n in given])
            except CaptureError as error:
                refused = error.refused
                if refused is None or at in self._python:
                    raise
                self._give_up(body, refused, at, end)
                continue
            if kind == RESULT:
                return made
            state.update(made)
            at = end
        return None

    def _owner(self) -> tuple[Any, ...]:
        f = self._function
        if isinstance(f, MethodType):
            return (f.__self__,)
        return () if isinstance(f, FunctionType) else (f,)

    def _end(self, body: Body, at: int, state: dict[str, Any]) -> int:
        """Where the graph that begins here ends: before Python's statements, and before variables that may be unset."""
        end = at
        while end < len(body.statements) and end not in self._python:
            end += 1
        for k in range(at, end):
            if body.open_ends(at, k + 1, state):
                if k == at:
                    self._note(body, k, "it may leave a variable unset")
                return k
        return end

    def _give_up(self, body: Body, refused: Refused, low: int, high: int) -> None:
        """Let one statement run in Python."""
        at = body.line_of(refused, low, high)
        reason = f"{refused.construct}: {refused.reason}"
        self._note(body, low if at is None else at, reason)

    def _note(self, body: Body, at: int, reason: str) -> None:
        self._python.add(at)
        self.in_python[body.statements[at].lineno] = reason

    def _plain(self, body: Body, at: int, given: tuple[str, ...]) -> Any:
        key = (at, at, given)
        if key not in self._parts:
            self._parts[key] = body.part(at, at + 1, given, None)
        return self._parts[key]

    def _scripted(self, body: Body, low: int, high: int, state: dict[str, Any]) -> Any:
        left = tuple(sorted(body.left(low, high)))
        needed = body.reads(low, high) | set(left)
        given = tuple(sorted(state.keys() & needed))
        key = (low, high, given)
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = _Part(body.part(low, high, given, left), given)
        return found


class _Part(ScriptedFunction):
    def __init__(self, f: Any, given: tuple[str, ...]) -> None:
        super().__init__(f)
        self.given = given


def _has_hooks(f: Any) -> bool:
    """Whether calling a Module does more than its forward."""
    return any(value for name, value in getattr(f, "__dict__", {}).items() if "hook" in name)
