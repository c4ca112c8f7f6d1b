"""Calls inside of try whose functions raise where a tensor says so.

Such a function is rewritten to say how it ended: (whether it raised, what it returned, the exception). The statement that calls it asks, and
raises the exception itself, in a branch of its own: that is what `exits.py` knows. Only programs that could not be captured
otherwise are rewritten so.
"""

import ast
from collections.abc import Sequence
from typing import Any

from thixo.capture.convert.exits import leaves
from thixo.capture.convert.names import SCOPES, assign, constant, hook, name

_SPECIAL = ("super", "locals", "eval", "exec", "vars", "dir", "globals", "any", "all", "sum")


class Attempts(ast.NodeTransformer):
    """Takes calls apart that stand alone, are assigned or are returned inside of try statements."""

    def __init__(self) -> None:
        self._count = 0
        self._inside = False

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        if isinstance(node, SCOPES):
            return node
        if isinstance(node, ast.Try):
            return self._try(node)
        if isinstance(node, ast.stmt) and self._inside and _call_of(node) is not None:
            return self._apart(node)
        return super().visit(node)  # type: ignore[no-any-return]

    def _try(self, node: ast.Try) -> ast.Try:
        was, self._inside = self._inside, bool(node.handlers) or self._inside
        node.body = self.block(node.body)
        self._inside = was
        for handler in node.handlers:
            handler.body = self.block(handler.body)
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return node

    def block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """A block, rewritten."""
        made: list[ast.stmt] = []
        for s in block:
            new = self.visit(s)
            made += new if isinstance(new, list) else [new]  # type: ignore[list-item]
        return made

    def _apart(self, s: ast.stmt) -> list[ast.stmt]:
        self._count += 1
        ended = f"_ended{self._count}"
        call = _call_of(s)
        assert call is not None
        call.attempts = True  # type: ignore[attr-defined]  # for whoever rewrites it
        test = ast.If(
            hook("attempted", name(ended)), [ast.Raise(hook("failure", name(ended)), None)], []
        )
        s.value = hook("outcome", name(ended))  # type: ignore[attr-defined]
        made = [assign(ended, call), test, s]
        return [ast.fix_missing_locations(ast.copy_location(one, s)) for one in made]


def _call_of(s: ast.stmt) -> ast.Call | None:
    if not isinstance(s, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
        return None
    call = s.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name | ast.Attribute):
        return None
    return None if getattr(call.func, "id", "") in _SPECIAL else call


def telling(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function that says how it ended."""
    last = body[-1]
    if not leaves(body):
        body = [*body, ast.copy_location(ast.Return(None), last)]
    told: list[Any] = [_Told().visit(s) for s in body]
    failed = ast.Return(_ended(True, hook("unset"), name("_failed")))
    handler = ast.ExceptHandler(name("Exception"), "_failed", [failed])
    made = [
        ast.Try(told, [handler], [], []),
        ast.Return(_ended(False, hook("unset"), hook("unset"))),
    ]
    return [ast.fix_missing_locations(ast.copy_location(s, body[0])) for s in made]


def _ended(raised: bool, value: ast.expr, error: ast.expr) -> ast.Tuple:
    return ast.Tuple([constant(raised), value, error], ast.Load())


class _Told(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, SCOPES):
            return node
        if isinstance(node, ast.Return):
            value = _ended(False, node.value or constant(None), hook("unset"))
            return ast.fix_missing_locations(ast.copy_location(ast.Return(value), node))
        return self.generic_visit(node)
