"""Nodes that are there for what they do. Passes keep them, and their order, as they keep random ones."""

from typing import Any

from thixo.graph.control import Control, Run
from thixo.graph.ir import Type


def _show_types(x: Any, text: str) -> list[Type]:
    return [x.type]


def _show(run: Run, machine: Any, x: Any, text: str) -> list[Any]:
    print(text, x) if text else print(x)
    return [x]


SHOW = Control("show(x: tensor, *, text: str = '') -> y", _show_types, _show)
SHOW.random = True
