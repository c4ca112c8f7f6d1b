"""Looking into captured code: values by the user's variables, errors and NaN at the user's lines.

A graph that is looked into runs operator by operator. Each operator is called from a frame that has the file and the line of the
user's code that it was captured from, so the tape, errors and warnings name that line.
"""

import functools
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.function import write_changes
from thixo.capture.rerun import changing_nothing
from thixo.capture.results import outputs_of_run
from thixo.capture.watch import watching
from thixo.errors import CaptureError, at_line, describe, nearest
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.sizes import symbol_name
from thixo.ops import public as tx

# The variables that held a value, each with the line that set it.
Names = dict[Value, list[tuple[str, str]]]


class Kept(NamedTuple):
    """A value that was computed: its variable ("" if it has none), the line, the operator, the tensor."""

    name: str
    line: str
    operator: str
    value: Any


class Values(Mapping[str, Any]):
    """The tensors of one call by the names of variables; the last one that a variable held.

    >>> def f(x):
    ...     h = x * 2
    ...     for _ in range(2):
    ...         h = h + 1
    ...     return h
    >>> scripted = tx.jit.script(f, debug=True)
    >>> y = scripted(tx.tensor(1.0))
    >>> scripted.values["h"], [kept.value.item() for kept in scripted.values.every("h")]
    (tensor(4.), [2.0, 3.0, 4.0])
    """

    def __init__(self, kept: Sequence[Kept]) -> None:
        self.kept = list(kept)  # every value, in the order in which they were computed
        self._last = {one.name: one for one in kept if one.name}

    def __getitem__(self, name: str) -> Any:
        if name not in self._last:
            known = ", ".join(self._last) or "none"
            raise KeyError(
                f"no variable {name!r} held a tensor{nearest(str(name), self._last)}; there are {known}"
            )
        return self._last[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def line(self, name: str) -> str:
        """The line that set a variable last."""
        self[name]
        return self._last[name].line

    def every(self, name: str) -> list[Kept]:
        """All that a variable held, in order."""
        self[name]
        return [one for one in self.kept if one.name == name]

    def __repr__(self) -> str:
        rows = [f"{k}: {describe(v.value)}, {v.line}" for k, v in self._last.items()]
        return "<values\n  " + "\n  ".join(rows) + ">" if rows else "<values: none>"


def named(capture: Callable[[], Any]) -> tuple[Any, Names]:
    """What a capture gives, and the variables that its values were held by."""
    names: Names = {}

    def told(name: str, tensor: Any, line: str) -> None:
        if tensor._value is not None:
            held = names.setdefault(tensor._value, [])
            if all(
                name != known for known, _ in held
            ):  # blocks of a function see its variables too
                held.append((name, line))

    with watching(told):
        made = capture()
    return made, names


class LineByLine(Interpreter):
    """Runs a graph operator by operator, each from the user's line that it was captured from.

    `kept` are the values that were computed; with `finds_nan` an operator that makes the first NaN is warned of.
    """

    def __init__(
        self, graph: Graph, names: Names | None = None, keeps: bool = True, finds_nan: bool = False
    ) -> None:
        super().__init__(graph, "eager")
        self.kept: list[Kept] = []
        self._names = {} if names is None else names
        self._keeps = keeps
        self._finds_nan = finds_nan

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """The results of one node."""
        try:
            results = _from_line(node.source)(super().run_node, node, args)
        except Exception as error:
            note(error, f"in {call_text(node, args)}, {node.source or 'unknown line'}")
            at_line(error, node.source)
            raise
        if self._keeps:
            for value, result in zip(node.outputs, results, strict=True):
                self._keep(value, result, node.op.full_name, node.source)
        if self._finds_nan and node.op.kind != "control":
            self._look_for_nan(node, args, results)
        return results

    def _keep(self, value: Value, result: Any, operator: str, line: str | None) -> None:
        for name, set_at in self._names.get(value, [("", line or "")]):
            self.kept.append(Kept(name, set_at, operator, result))

    def _look_for_nan(self, node: Node, args: list[Any], results: Sequence[Any]) -> None:
        if any(map(_has_nan, results)) and not any(map(_has_nan, args)):
            name = self._names.get(node.outputs[0], [("", "")])[0][0]
            variable = f" in {name}" if name else ""
            _from_line(node.source)(
                warnings.warn,
                f"{call_text(node, args)} made a NaN{variable} ({node.source})",
                RuntimeWarning,
                1,
            )

    def called(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes; what the graph changes is changed."""
        if self._keeps:
            for value, tensor in zip(self.graph.inputs, tensors, strict=True):
                self._keep(value, tensor, "input", None)
        results = self.run_all(*tensors)
        count = len(self.graph.outputs)
        outputs, changes = results[:count], results[count:]
        if changes:
            write_changes(self.graph, list(tensors), outputs, changes)
        return outputs_of_run(self.graph, tensors, outputs), self.sizes


def looked_into(captured: Any, args: Any, kwargs: Any) -> tuple[Any, Values]:
    """The result of a captured function, with every value on the way."""
    tensors = captured.inputs(args, kwargs)
    captured.need_own_memory(tensors)
    run = LineByLine(captured.graph, captured.variables)
    with changing_nothing(True, CaptureError):
        outputs, sizes = run.called(tensors)
    return captured.finished(args, kwargs, tensors, outputs, sizes), Values(run.kept)


def _has_nan(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_has_nan, x))
    if not isinstance(x, _core.Tensor) or not (x.dtype.is_floating_point or x.dtype.is_complex):
        return False
    enabled = _core.set_grad_enabled(False)
    try:
        return bool(tx.any(tx.isnan(x)))
    finally:
        _core.set_grad_enabled(enabled)


@functools.lru_cache(maxsize=4096)
def _from_line(source: str | None) -> Callable[..., Any]:
    """A function that calls another, and that seems to stand at a line of the user's."""
    file, _, number = (source or "").rpartition(":")
    if not file or not number.isdigit():
        return _call
    code = _call.__code__.replace(
        co_filename=file, co_firstlineno=int(number) - 1, co_name="<captured>"
    )
    return types.FunctionType(code, {"__name__": "captured"})


def _call(f: Any, *args: Any) -> Any:
    return f(*args)


def call_text(node: Node, args: Sequence[Any]) -> str:
    """A node's call with the types and sizes of its arguments.

    >>> graph = tx.jit.trace(lambda x: x.sum(0), tx.ones(2, 3)).graph
    >>> call_text(graph.nodes[0], [tx.ones(4, 5), 0, False])
    'sum(x: f32[4,5], dim=0)'
    """
    parts = []
    for p, value, given in zip(node.op.sig.params, node.args, args, strict=False):
        if isinstance(value, Value):
            parts.append(f"{value.name}: {describe(given)}")
        elif isinstance(given, Graph) or given is None or given is p.default:
            continue
        elif isinstance(given, list) and any(isinstance(g, _core.Tensor) for g in given):
            parts.append(f"{p.name}=[{', '.join(map(describe, given))}]")
        elif not isinstance(given, list) or not any(isinstance(g, Graph) for g in given):
            parts.append(f"{p.name}={given!r}")
    return f"{node.op.full_name}({', '.join(parts)})"


def note(error: BaseException, text: str) -> None:
    """Add a note to an exception, once: the innermost place counts."""
    if not getattr(error, "_noted", False):
        error.add_note(text)
        error._noted = True  # type: ignore[attr-defined]


def note_types(error: BaseException, graph: Graph, tensors: Sequence[Any]) -> None:
    """Say of an error of a compiled program what the operator at its line was given."""
    if getattr(error, "_noted", False):
        return
    error._noted = True  # type: ignore[attr-defined]
    text = str(error)
    operator = text.split(":", 1)[0]
    sizes: dict[str, int] = {}
    for value, tensor in zip(graph.inputs, tensors, strict=False):
        for size, actual in zip(value.type.shape, tensor.shape, strict=False):
            name = symbol_name(size)
            if name is not None:
                sizes[name] = actual
    given = [f"{v.name}: {describe(t)}" for v, t in zip(graph.inputs, tensors, strict=False)]
    for node in graph.nodes:
        if node.source and text.endswith(f"({node.source})"):
            if node.op.full_name.rsplit(".", 1)[-1] == operator:
                error.add_note(f"in {_typed(node, sizes)}, {node.source}")
                break
    error.add_note(f"in {graph.name}({', '.join(given)})")


def _typed(node: Node, sizes: Mapping[str, int]) -> str:
    parts = []
    for a in node.args:
        if isinstance(a, Value):
            shape = [s if isinstance(s, int) else _size(s, sizes) for s in a.type.shape]
            parts.append(f"{a.name}: {a.type.dtype.short}[{','.join(map(str, shape))}]")
    return f"{node.op.full_name}({', '.join(parts)})"


def _size(size: Any, sizes: Mapping[str, int]) -> Any:
    return size.evaluate(sizes) if size.symbols.keys() <= sizes.keys() else size
