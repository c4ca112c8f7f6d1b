"""A declared graph in one file: its text, its variables, its operations; loaded without the code that declared it.

The file is a safetensors file as `tx.save` writes it. Beside the tensors it has the program as text, a table of what is a
placeholder, a variable or an operation, and the versions of the operators that it uses. Reading trusts nothing: the text
is read by the parser of graphs and verified by the operators' own type rules, and nothing in it is ever run to find out.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo import _core
from thixo.errors import GraphError, SerializationError, ThixoError, describe
from thixo.graph import ir
from thixo.graph.constants import as_array, as_it_is, data_text, type_of
from thixo.graph.control import subgraphs
from thixo.graph.parser import parse
from thixo.graph.text import graph_text
from thixo.graph.trace import untraced
from thixo.serialization import load as load_tensors
from thixo.serialization import save as save_tensors
from thixo.static.graph import (
    Declaration,
    Graph,
    Operation,
    Placeholder,
    Variable,
    _Values,
)
from thixo.static.session import DEFAULT, Session
from thixo.tensor import from_numpy

FORMAT = "thixo static graph"
VERSION = 1
_PARTS = {"format", "version", "graph", "about", "variables", "constants", "random", "checksum"}

# ---- writing


def save(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph; see `Session.save`."""
    program = graph.program.copy()
    program.outputs, program.mutations = [], {}
    graphs = [*subgraphs(program), program]
    _name_apart(graphs)
    constants = {
        f"{one.name}.{value.name}": from_numpy(np.ascontiguousarray(as_array(data)))
        for one in graphs
        for value, data in one.constants.items()
        if data_text(data) == "..."
    }
    about = json.dumps(_about(graph, graphs), ensure_ascii=False, sort_keys=True)
    text = graph_text(program, sources=False)
    from thixo.random import get_rng_state

    with untraced(), graph.lock:
        variables = {v.value.name: v.data.detach() for v in graph.variables.values()}
        random = get_rng_state()
        contents = {
            "format": FORMAT,
            "version": VERSION,
            "graph": text,
            "about": about,
            "variables": variables,
            "constants": constants,
            "random": random,
            "checksum": _checksum(text, about, variables, constants, random),
        }
        save_tensors(contents, path)


def _name_apart(graphs: Sequence[ir.Graph]) -> None:
    taken: set[str] = set()
    for one in graphs:
        name, number = one.name, 0
        while one.name in taken:
            number += 1
            one.name = f"{name}_{number}"
        taken.add(one.name)


def _about(graph: Graph, graphs: Sequence[ir.Graph]) -> dict[str, Any]:
    return {
        "placeholders": [[p.value.name, p.source] for p in graph.placeholders.values()],
        "variables": [[v.value.name, v.trainable, v.source] for v in graph.variables.values()],
        "operations": [
            {
                "name": o.name,
                "assigned": [[k.name, v.name] for k, v in o.assigned.items()],
                "needed": [v.name for v in o.needed],
                "source": o.source,
            }
            for o in graph.operations.values()
        ],
        "labels": {name: v.name for name, v in graph.labels.items()},
        "controls": [
            [v.name, [o.name if isinstance(o, Operation) else [o.name] for o in waits]]
            for v, waits in graph.controls.items()
        ],
        "frozen": graph.frozen,
        "operators": {n.op.full_name: n.op.version for one in graphs for n in one.nodes},
        "lines": [[n.source for n in one.nodes] for one in graphs],
        "guards": [[g.line for g in one.guards] for one in graphs],
    }


def _checksum(
    text: str, about: str, variables: dict[str, Any], constants: dict[str, Any], random: Any
) -> str:
    digest = hashlib.sha256(f"{FORMAT} {VERSION}".encode())

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)

    add(text.encode())
    add(about.encode())
    for group in (variables, constants, {"random": random}):
        for name in sorted(group):
            array = np.ascontiguousarray(as_array(group[name]))
            add(f"{name} {array.dtype.name} {array.shape}".encode())
            add(array.tobytes())
    return digest.hexdigest()


# ---- reading


def load(
    path: str | os.PathLike[str], *, random: bool = False, executor: str = DEFAULT, **options: Any
) -> Session:
    """A session of the graph in a file, with the variables as they were saved, those of optimizers too.

    With `random` the default generator goes on where it was when the file was written. Feeds and fetches are by name.

    >>> with tx.static.Graph() as g:
    ...     w = tx.static.variable(1.0, name="w")
    ...     step = tx.optim.SGD([w], lr=0.25).minimize(w * w, name="train")
    >>> session = tx.static.Session(g)
    >>> session.run(step)
    >>> session.save("line.thixo")
    >>> again = tx.static.load("line.thixo")
    >>> again.run("train"), again.run("w")
    (None, tensor(0.2500))
    """
    what = f"static.load: {os.fspath(path)}"
    with untraced():
        contents = load_tensors(path)
        try:
            graph, state = _read(contents, what)
        except SerializationError:
            raise
        except ThixoError as error:
            raise SerializationError(f"{what}: {error}") from None
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError,
                RecursionError, MemoryError, AssertionError) as error:  # fmt: skip
            raise SerializationError(
                f"{what}: it is damaged: {type(error).__name__}: {str(error)[:200]}"
            ) from None
        if random:
            from thixo.random import set_rng_state

            set_rng_state(state)
    return Session(graph, executor=executor, **options)


def _read(contents: Any, what: str) -> tuple[Graph, Any]:
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise SerializationError(f"{what}: is no static graph; tx.load reads other files")
    version = contents.get("version")
    if type(version) is not int or version < 1:
        raise SerializationError(f"{what}: has no version, but {describe(version)}")
    if version > VERSION:
        raise SerializationError(
            f"{what}: is of version {version}, and this Thixo reads up to {VERSION}; it needs a newer one"
        )
    if set(contents) != _PARTS:
        odd = ", ".join(sorted(map(str, set(contents) ^ _PARTS)))
        raise SerializationError(f"{what}: its parts are not those of version {version}: {odd}")
    text, about = contents["graph"], contents["about"]
    variables, constants = contents["variables"], contents["constants"]
    if not isinstance(text, str) or not isinstance(about, str):
        raise SerializationError(f"{what}: its graph is no text")
    for group in (variables, constants, {"random": contents["random"]}):
        if not isinstance(group, dict) or not all(
            isinstance(k, str) and isinstance(t, _core.Tensor) for k, t in group.items()
        ):
            raise SerializationError(f"{what}: its variables are no tensors")
    if contents["checksum"] != _checksum(text, about, variables, constants, contents["random"]):
        raise SerializationError(f"{what}: is damaged: its checksum is not that of its contents")
    table = _Table(json.loads(about), what)
    table.need_operators()
    _need_short_lines(text, what)
    program = parse(text, {k: as_array(t) for k, t in constants.items()})
    graphs = [*subgraphs(program), program]
    for one in graphs:
        for node in one.nodes:
            _need_small(node, what)
    program.verify()
    table.need_versions(graphs)
    table.add_lines(graphs)
    return _made(program, table, variables, what), contents["random"]


_LONG = 10_000


def _need_short_lines(text: str, what: str) -> None:
    for line in text.split("\n"):
        start = line.lstrip()[:6]
        if len(line) > _LONG and (start.startswith(("guard", "sizes")) or "#" in line):
            raise SerializationError(f"{what}: a line of its graph has {len(line)} characters")


_PIECES = 1_000_000


def _need_small(node: ir.Node, what: str) -> None:
    """Refuse what a type rule would count to for a very long time."""
    if node.op.kind == "control":
        return
    numbers = [a for a in node.args if isinstance(a, int) and not isinstance(a, bool)]
    if node.op.sig.many:
        given = {p.name: a for p, a in zip(node.op.sig.params, node.args, strict=True)}
        lengths = [s for v in node.inputs for s in v.type.shape if isinstance(s, int)]
        most = max(lengths, default=0)
        part = given.get("split_size", given.get("split_size_or_sections"))
        dim = given.get("dim")
        if isinstance(part, int) and part > 0:
            most //= part
        elif "unbind" in node.op.full_name and isinstance(dim, int) and node.inputs:
            shape = node.inputs[0].type.shape
            size = shape[dim] if -len(shape) <= dim < len(shape) else 0
            most = size if isinstance(size, int) else 0
        elif "split_sizes" in given or len(node.inputs) > 1:
            most = 0
        sections = [given[n] for n in ("chunks", "indices_or_sections") if n in given]
        if sections and isinstance(sections[0], int):
            most = sections[0]
        if most > _PIECES:
            raise SerializationError(f"{what}: {node.op.full_name} would have {most} results")
    elif "r" in [p.name for p in node.op.sig.params] and max(numbers, default=0) > 1000:
        raise SerializationError(f"{what}: {node.op.full_name} of {max(numbers)} is too large")


class _Table:
    """What the file says about its graph, checked."""

    def __init__(self, about: Any, what: str) -> None:
        self.what = what
        kinds = {
            "placeholders": list, "variables": list, "operations": list, "labels": dict, "controls": list,
            "frozen": bool, "operators": dict, "lines": list, "guards": list,
        }  # fmt: skip
        if not isinstance(about, dict) or set(about) != set(kinds):
            raise self.damaged("its table has other parts")
        for name, kind in kinds.items():
            if not isinstance(about[name], kind):
                raise self.damaged(f"{name} is {describe(about[name])}")
        self.about = about

    def damaged(self, why: str) -> SerializationError:
        """The error for a table that cannot be."""
        return SerializationError(f"{self.what}: is damaged: {why}")

    def need_operators(self) -> None:
        """Refuse operators that are not here, or are newer."""
        from thixo.graph.operators import find

        for name, version in self.about["operators"].items():
            try:
                if not all(part.isidentifier() for part in name.split(".")) or "__" in name:
                    raise GraphError(name)
                known = find(name)
            except GraphError:
                raise SerializationError(
                    f"{self.what}: there is no operator {name[:80]!r} in this Thixo; the file may need a newer one"
                ) from None
            if type(version) is not int or version < 1:
                raise self.damaged(f"operator {name} has the version {describe(version)}")
            if version > known.version:
                raise SerializationError(
                    f"{self.what}: operator {name} is of version {version}, and this Thixo has {known.version}; "
                    "it needs a newer one"
                )

    def need_versions(self, graphs: Sequence[ir.Graph]) -> None:
        """Refuse a graph with operators that are not in the table."""
        used = {n.op.full_name for one in graphs for n in one.nodes}
        if used != set(self.about["operators"]):
            raise self.damaged("its table of operators is not that of its graph")

    def add_lines(self, graphs: Sequence[ir.Graph]) -> None:
        """Give nodes and guards the lines that declared them."""
        lines, guards = self.about["lines"], self.about["guards"]
        if len(lines) != len(graphs) or len(guards) != len(graphs):
            raise self.damaged("its table of lines is not that of its graph")
        for one, at, answered in zip(graphs, lines, guards, strict=True):
            if not isinstance(at, list) or not isinstance(answered, list):
                raise self.damaged("its lines are no lists")
            if len(at) != len(one.nodes) or len(answered) != len(one.guards):
                raise self.damaged("its table of lines is not that of its graph")
            for node, line in zip(one.nodes, at, strict=True):
                node.source = self.line(line)
            one.guards = [
                g._replace(line=self.line(line))
                for g, line in zip(one.guards, answered, strict=True)
            ]

    def line(self, x: Any) -> str | None:
        """A line of a program, or None."""
        if x is not None and not isinstance(x, str):
            raise self.damaged(f"a line is {describe(x)}")
        return x

    def rows(self, name: str, *kinds: Any) -> list[list[Any]]:
        """Rows of one part, each with entries of these kinds."""
        for row in self.about[name]:
            if (
                not isinstance(row, list)
                or len(row) != len(kinds)
                or not all(map(isinstance, row, kinds))
            ):
                raise self.damaged(f"{name} has {describe(row)}")
        return self.about[name]


def _made(program: ir.Graph, table: _Table, variables: dict[str, Any], what: str) -> Graph:
    graph = Graph(program.name)
    values = {v.name: v for v in program.values()}
    inputs = {v.name: v for v in program.inputs}
    line = (str, type(None))
    for name, source in table.rows("placeholders", str, line):
        value = _taken(inputs, name, table)
        graph.placeholders[value] = Placeholder(value, source)
    for name, trainable, source in table.rows("variables", str, bool, line):
        value = _taken(inputs, name, table)
        data = variables.get(name)
        if data is None or type_of(data) != value.type:
            raise table.damaged(f"variable {value} has {describe(data)}")
        graph.variables[value] = Variable(value, data.detach().clone(), trainable, source)
    if inputs or len(graph.variables) != len(variables):
        raise table.damaged("its inputs are not its placeholders and variables")

    kept: Any = _Values(program.name)
    for part in ("inputs", "constants", "guards", "nodes"):
        setattr(kept, part, getattr(program, part))
    kept._names = dict(program._names)
    for value in kept.values():
        kept._reserve_symbols(value.type)
    kept.constants = {v: as_it_is(d) for v, d in kept.constants.items()}
    graph.program = kept
    graph.declaration = Declaration(graph)
    graph.frozen = table.about["frozen"]

    def named(name: Any) -> ir.Value:
        if not isinstance(name, str) or name not in values:
            raise table.damaged(f"there is no value {describe(name)}")
        return values[name]

    for one in table.about["operations"]:
        _operation(graph, one, named, table)
    graph.labels = {name: named(value) for name, value in table.about["labels"].items()}
    for name, waits in table.rows("controls", str, list):
        found: list[Any] = []
        for wait in waits:
            if isinstance(wait, str):
                if wait not in graph.operations:
                    raise table.damaged(f"there is no operation {wait[:80]!r}")
                found.append(graph.operations[wait])
            elif isinstance(wait, list) and len(wait) == 1:
                found.append(named(wait[0]))
            else:
                raise table.damaged(f"controls has {describe(wait)}")
        graph.controls[named(name)] = tuple(found)
    _need_no_cycle(graph, table)
    return graph


def _taken(inputs: dict[str, ir.Value], name: str, table: _Table) -> ir.Value:
    if name not in inputs:
        raise table.damaged(f"{name[:80]!r} is no input of its graph, or is there twice")
    return inputs.pop(name)


def _operation(graph: Graph, one: Any, named: Any, table: _Table) -> None:
    if not isinstance(one, dict) or set(one) != {"name", "assigned", "needed", "source"}:
        raise table.damaged(f"an operation is {describe(one)}")
    name = one["name"]
    if not isinstance(name, str) or name in graph.operations:
        raise table.damaged(f"an operation is called {describe(name)}, or there twice")
    if not isinstance(one["assigned"], list) or not isinstance(one["needed"], list):
        raise table.damaged(f"operation {name[:80]} has no lists")
    assigned: dict[ir.Value, ir.Value] = {}
    for pair in one["assigned"]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise table.damaged(f"operation {name[:80]} assigns {describe(pair)}")
        target, value = map(named, pair)
        same = target.type.dtype is value.type.dtype
        if target not in graph.variables or not same:
            raise table.damaged(f"operation {name[:80]} cannot assign {value} to {target}")
        if not ir.same_shape(target.type.shape, value.type.shape):
            raise table.damaged(f"operation {name[:80]} cannot assign {value} to {target}")
        assigned[target] = value
    needed = [named(n) for n in one["needed"]]
    graph.operations[name] = Operation(graph, name, assigned, needed, table.line(one["source"]))


def _need_no_cycle(graph: Graph, table: _Table) -> None:
    """What a node waits for must be computed from what stands before it."""
    at: dict[ir.Value, int] = {}
    for i, node in enumerate(graph.program.nodes):
        at.update(dict.fromkeys(node.outputs, i))
    for value, waits in graph.controls.items():
        for one in waits:
            parts = (*one.assigned.values(), *one.needed) if isinstance(one, Operation) else (one,)
            if any(at.get(p, -1) >= at.get(value, -1) for p in parts if p in at):
                raise table.damaged(f"{value.name} waits for what comes after it: a cycle")
