"""`tx.explain`: what became of a compiled function, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thixo.capture.compile import CompiledFunction, compile
from thixo.capture.compile_cache import Break, Recompile
from thixo.capture.paths import Scalar
from thixo.errors import ArgumentError
from thixo.graph.ir import Graph

_HOW = {
    "holds": "is","equal": "is", "is": "is", "type": "is of class", "code": "has the code", "length": "has the length",
        "keys": "has the keys", "missing": "is missing"}  # fmt: skip


@dataclass
class GraphReport:
    """One graph: what it computes, what it assumes, how often it ran."""

    graph: Graph
    guards: list[str]
    calls: int
    left_to_python: int  # calls that ended with an error, or met shared memory

    def __str__(self) -> str:
        inputs = ", ".join(f"{v.name}: {v.type}" for v in self.graph.inputs)
        text = f"{len(self.graph.nodes)} nodes, {_count(self.calls, 'call')}; inputs {inputs or 'none'}"
        if self.left_to_python:
            text += f"; {self.left_to_python} calls were left to Python"
        return text


@dataclass
class Explanation:
    """What `tx.explain` found: `graphs`, `breaks`, `recompiles`; printing it shows all of it."""

    name: str
    graphs: list[GraphReport]
    breaks: list[Break]
    recompiles: list[Recompile]
    given_up: str | None
    lazy_calls: int

    @property
    def is_whole(self) -> bool:
        """Whether everything is captured: nothing runs lazily."""
        return bool(self.graphs) and not self.breaks and not self.given_up

    def __str__(self) -> str:
        lines = [f"{self.name}: {_count(len(self.graphs), 'graph')}, {_count(len(self.breaks), 'break')}, "
                 f"{_count(len(self.recompiles), 'recompile')}"]  # fmt: skip
        for i, one in enumerate(self.graphs):
            lines.append(f"graph {i}: {one}")
            lines += [f"    guard: {guard}" for guard in one.guards]
        lines += [f"break: {one}" for one in self.breaks]
        lines += [f"recompile: {one}" for one in self.recompiles]
        if self.given_up:
            lines.append(f"nothing more is captured: {self.given_up}")
        if self.lazy_calls:
            calls = "one call" if self.lazy_calls == 1 else f"{self.lazy_calls} calls"
            lines.append(
                f"{calls} ran lazily: Python as it is written, its tensors recorded and compiled"
            )
        return "\n".join(lines)

    __repr__ = __str__


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def explain(f: Any, *args: Any, **kwargs: Any) -> Explanation:
    """What becomes of a function when it is compiled: its graphs, what breaks them, what they assume, why there are several.

    With arguments `f` is called once with them. A function that is compiled already is asked for all that it has met so far; without
    arguments it is not called.

    >>> def f(x, n):
    ...     print(x.sum())
    ...     return x * n
    >>> tx.explain(f, tx.ones(4), 3)
    tensor(4.)
    f: 1 graph, 0 breaks, 0 recompiles
    graph 0: 3 nodes, 1 call; inputs x: f32[m]
        guard: x: f32, 1 axis, of 2 or more; no gradients
        guard: n is 3
    """
    compiled: Any = f if isinstance(f, CompiledFunction) else getattr(f, "_compiled_function", None)
    if compiled is None:
        made = compile(f)
        compiled = made if isinstance(made, CompiledFunction) else made._compiled_function
        if not args and not kwargs and not _takes_nothing(f):
            raise ArgumentError(
                f"explain: {compiled.__name__} has not been called; give explain the arguments of a call"
            )
        compiled(*args, **kwargs)
    elif args or kwargs:
        compiled(*args, **kwargs)
    graphs = compiled._graphs
    found = []
    for key, kind in list(graphs.kinds.items()):
        for entry in kind.entries:
            report = GraphReport(
                entry.captured.graph, _guards(graphs.function, key, entry.captured), entry.calls + compiled._calls(entry), entry.failures
            )  # fmt: skip
            found.append(report)
    return Explanation(
        graphs.name, found, list(graphs.breaks), list(graphs.recompiles), graphs.given_up, graphs.lazy_calls
    )  # fmt: skip


def _takes_nothing(f: Any) -> bool:
    import inspect

    try:
        parameters = inspect.signature(getattr(f, "forward", f)).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def _guards(function: Any, key: Any, captured: Any) -> list[str]:
    """What a graph assumes, one line each."""
    (_, parts, grad), dtype, inference = key
    lines = []
    names = _leaf_names(function, captured, parts)
    for name, part in zip(names, parts, strict=True):
        lines.append(f"{name}{_part(part)}")
    lines += [str(guard) for guard in captured.graph.guards]
    for one in captured.assumed:
        value = getattr(one.value, "__name__", None) if one.how == "type" else None
        code = getattr(one.value, "co_qualname", getattr(one.value, "co_name", None))
        shown = value or code or repr(one.value)
        lines.append(
            f"{one.path} {_HOW[one.how]} {shown if len(shown) < 80 else shown[:77] + '...'}"
        )
    for path, value in zip(captured.paths, captured.graph.inputs[captured.given :], strict=True):
        if not isinstance(path, Scalar):
            lines.append(f"{path} is a tensor {value.type}")
        elif not path.is_of_argument:
            lines.append(f"{path} is a number")
    if not grad:
        lines.append("gradients are off")
    if inference:
        lines.append("inference mode is on")
    if dtype.short != "f32":
        lines.append(f"the default dtype is {dtype}")
    return lines


def _leaf_names(function: Any, captured: Any, parts: Any) -> list[str]:
    return (
        captured.names
        if len(captured.names) == len(parts)
        else [f"argument {i}" for i in range(len(parts))]
    )


def _part(part: Any) -> str:
    if len(part) == 4:
        dtype, small, grad, _ = part
        axes = f"{len(small)} axis" if len(small) == 1 else f"{len(small)} axes"
        sizes = ", ".join("2 or more" if s == 2 else str(s) for s in small)
        text = f": {dtype.short}, {axes}" + (f", of {sizes}" if small else "")
        return text + ("; with gradients" if grad else "; no gradients")
    if len(part) == 2:
        return f" is {float.fromhex(part[1]) if part[0] is float else part[1]!r}"
    return f" is a {part[0].__name__}"
