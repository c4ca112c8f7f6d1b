"""Bugs planted in the converters themselves: random programs must find every one."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from tests.programs.check import judge
from tests.programs.interpreted import interpreted
from tests.programs.program import Generator
from tests.programs.routes import ROUTES
from thixo.capture import convert
from thixo.capture.convert import statements
from thixo.capture.convert.scopes import Scopes
from thixo.capture.convert.statements import Statements


def _before(method: str, change: Callable[[Any], Any]) -> Any:
    """A converter that takes what it converts for something else."""
    right = getattr(Statements, method)

    def wrong(self: Any, node: Any, *args: Any, **kwargs: Any) -> Any:
        change(node)
        return right(self, node, *args, **kwargs)

    return mock.patch.object(Statements, method, wrong)


def _sides_swapped(node: ast.If | ast.IfExp) -> None:
    if node.orelse:
        node.body, node.orelse = node.orelse, node.body


def _or_for_and(node: ast.BoolOp) -> None:
    node.op = ast.Or()


def _start_of_chain(node: ast.Compare) -> None:
    node.ops, node.comparators = node.ops[:1], node.comparators[:1]


def _plus_for_minus(node: ast.AugAssign) -> None:
    node.op = ast.Add() if isinstance(node.op, ast.Sub) else node.op


def _last_statement_lost(node: ast.For | ast.While) -> None:
    node.body = node.body[:-1] or [ast.Pass()]


def _exits_forgotten() -> Any:
    never = lambda flags, test: test if test is not None else ast.Constant(True)  # noqa: E731
    return mock.patch.object(statements, "none_of", never)


def _variable_forgotten() -> Any:
    right = Scopes.state
    return mock.patch.object(Scopes, "state", lambda self, nodes: right(self, nodes)[1:])


BUGS: dict[str, Callable[[], Any]] = {
    "if: its sides swapped": lambda: _before("visit_If", _sides_swapped),
    "ternary: its sides swapped": lambda: _before("visit_IfExp", _sides_swapped),
    "and: taken for or": lambda: _before("visit_BoolOp", _or_for_and),
    "comparison: only the start of a chain": lambda: _before("visit_Compare", _start_of_chain),
    "-=: taken for +=": lambda: _before("visit_AugAssign", _plus_for_minus),
    "for: the last statement lost": lambda: _before("visit_For", _last_statement_lost),
    "while: the last statement lost": lambda: _before("visit_While", _last_statement_lost),
    "loops: exits forgotten": _exits_forgotten,
    "blocks: a variable forgotten": _variable_forgotten,
}


@contextlib.contextmanager
def planted_in_converter(what: str) -> Iterator[None]:
    """Converters have this bug within; what they make is not kept."""
    with BUGS[what](), mock.patch.object(convert, "_converted", {}):
        yield


def programs_until_found(what: str, route: str, seed: int, most: int) -> int | None:
    """How many programs it takes until one goes wrong; None if so many do not find it."""
    generator = Generator(seed)
    with planted_in_converter(what), interpreted():
        for number in range(most):
            if judge(generator.make(number), ROUTES[route]).kind == "wrong":
                return number + 1
    return None
