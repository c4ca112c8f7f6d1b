"""Nodes that are there for what they do. Passes keep them, and their order, as they keep random ones."""

import builtins
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from thixo.graph.control import Control, Run, subgraphs
from thixo.graph.ir import Graph, Type, with_some_values


def _show_types(x: Any, text: str) -> list[Type]:
    return [x.type]


def _show(run: Run, machine: Any, x: Any, text: str) -> list[Any]:
    line = f"{text} {x!s}" if text else str(x)
    print(line)
    SAID.characters += len(line) + 1
    return [x]


SHOW = Control("show(x: tensor, *, text: str = '') -> y", _show_types, _show)
SHOW.random = True


class _Said(threading.local):
    characters = 0  # printed by programs of this thread


SAID = _Said()


def _nothing(*args: Any) -> list[Type]:
    return []


def _say(run: Run, machine: Any, values: Sequence[Any], text: str, end: str) -> list[Any]:
    line = filled(text, values)
    print(line, end=end)
    SAID.characters += len(line) + len(end)
    return []


# `text` is a template (see `filled`); captured programs print with it.
SAY = Control("say(values: tensors, *, text: str, end: str = '\\n') -> tensors", _nothing, _say)
SAY.random = True


def _check(
    run: Run, machine: Any, pred: Any, values: Sequence[Any], error: str, text: str
) -> list[Any]:
    if not machine.truth(pred):
        raise getattr(builtins, error)(*([filled(text, values)] if text else []))
    return []


# Raises a built-in exception where `pred` does not hold.
CHECK = Control(
    "check(pred, values: tensors, *, error: str, text: str = '') -> tensors", _nothing, _check
)
CHECK.random = True

EFFECTS = (SHOW, SAY, CHECK)


def without_effects(graph: Graph) -> Graph:
    """A copy that prints nothing and checks nothing, at any depth: of what has run once and is computed again.

    >>> graph = tx.jit.script(lambda x: (print("here"), x * 2)[1])
    >>> y = graph(tx.ones(1))
    here
    >>> [n.op.full_name for n in without_effects(graph.graph).nodes]
    ['mul']
    """
    made = graph.copy()
    for one in (*subgraphs(made), made):
        shown = {n.outputs[0]: n.args[0] for n in one.nodes if n.op is SHOW}
        for value, of in shown.items():
            shown[value] = shown.get(of, of)  # what was shown before stands first
        one.nodes = [n for n in one.nodes if n.op not in EFFECTS]
        if shown:
            for node in one.nodes:
                node.args = with_some_values(node.args, shown)
            one.outputs = [shown.get(v, v) for v in one.outputs]
            one.mutations = {v: shown.get(new, new) for v, new in one.mutations.items()}
    return made


def draws_numbers(graphs: Iterable[Graph]) -> bool:
    """Whether one of these graphs draws random numbers, at any depth: computed again it would draw others."""
    return any(
        n.op.random and n.op not in EFFECTS
        for graph in graphs
        for one in (*subgraphs(graph), graph)
        for n in one.nodes
    )


def filled(text: str, values: Sequence[Any]) -> str:
    """A template with values in it: `{0|tensor||}` is the first one as it prints, `{0|float||.3f}` as a number.

    >>> filled("{0|float||.2f} of {{all}}", [tx.tensor(0.5)])
    '0.50 of {all}'
    """
    out, rest = "", text
    while rest:
        before, brace, rest = _next(rest)
        out += before
        if brace:
            number, kind, conversion, spec = rest[: rest.index("}")].split("|", 3)
            rest = rest[rest.index("}") + 1 :]
            out += shown(as_kind(values[int(number)], kind), conversion, spec)
    return out


def _next(text: str) -> tuple[str, bool, str]:
    for i, c in enumerate(text):
        if c == "}" and text[i + 1 : i + 2] == "}":
            return text[: i + 1], False, text[i + 2 :]
        if c == "{":
            double = text[i + 1 : i + 2] == "{"
            return (
                (text[: i + 1], False, text[i + 2 :]) if double else (text[:i], True, text[i + 1 :])
            )
    return text, False, ""


def as_kind(value: Any, kind: str) -> Any:
    """A tensor as what is shown of it: itself, a list, a number."""
    if kind == "tensor":
        return value
    if kind == "list":
        return value.tolist()
    return {"int": int, "float": float, "bool": bool}[kind](value.item())


def shown(value: Any, conversion: str, spec: str) -> str:
    """A value as an f-string shows it."""
    if conversion == "r":
        value = repr(value)
    elif conversion == "s":
        value = str(value)
    return format(value, spec)
