"""Statements: branches and loops become functions that a hook calls, once, often, or on symbols."""

import ast
import copy
from collections.abc import Sequence
from typing import Any

from thixo.capture.convert.assignments import Assignments
from thixo.capture.convert.exits import Exits, none_of
from thixo.capture.convert.names import (
    assign,
    constant,
    function,
    has,
    hook,
    name,
    no_parameters,
    parameters,
    store,
)
from thixo.capture.convert.patterns import compared
from thixo.capture.convert.scopes import Scope, Scopes
from thixo.capture.refusal import Refused


class Statements(Assignments):
    """Rewrites one function and all functions inside of it."""

    def __init__(self, free: Sequence[str], owner_class: str | None) -> None:
        super().__init__()
        self.scopes = Scopes(free)
        self.owner_class = owner_class

    def body_of(self, args: ast.arguments, body: list[ast.stmt], outer: Any = ()) -> list[ast.stmt]:
        """A function's rewritten body."""
        kept, self.before = self.before, []
        if not has(body, ast.Yield, ast.YieldFrom):
            body = Exits().function(body)
        scope = Scope(args, body, outer)
        self.scopes.stack.append(scope)
        head: list[ast.stmt] = [
            assign(n, hook("unset")) for n in sorted(scope.tracked - scope.parameters)
        ]
        around = sorted(n for n in scope.nonlocals if isinstance(self.scopes.owner(n), Scope))
        if around:
            head.insert(0, ast.Nonlocal(around))
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:] or [ast.Pass()]
        made = self.block(body)
        self.scopes.stack.pop()
        self.before = kept
        for s in head:
            ast.copy_location(s, body[0])
        return [*head, *made]

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for s in body:
            kept, self.before = self.before, []
            result = self.visit(s)
            new = result if isinstance(result, list) else [] if result is None else [result]
            for one in (*self.before, *new):
                if one is not s:
                    _locate(one, s)
                made.append(one)
            self.before = kept
        return made or [ast.Pass()]

    def _stays(self, node: ast.stmt) -> bool:
        """Whether a statement of a generator yields or leaves, so that it has to stay what it is."""
        kinds = (ast.Yield, ast.YieldFrom, ast.Return, ast.Break, ast.Continue)
        return self.scopes.stack[-1].generates and has([node], *kinds)

    def part(self, what: str, names: list[str], body: list[ast.stmt], *args: str) -> str:
        """Define a block as a function that shares the variables it sets."""
        text = self.fresh(what)
        head: list[ast.stmt] = [ast.Nonlocal(names)] if names else []
        self.before.append(function(text, parameters(*args), head + body))
        return text

    def _else(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return self.block(body) if body else []

    # ---- branches and loops

    def visit_If(self, node: ast.If) -> Any:
        if self._stays(node):
            test = hook("truth", self.visit(node.test))
            return ast.If(test, self.block(node.body), self._else(node.orelse))
        state = self.scopes.state([*node.body, *node.orelse])
        test = self.condition(node.test)
        then = self.part("then", state, self.block(node.body))
        other = self.part("else", state, self.block(node.orelse))
        return ast.Expr(hook("if_", test, name(then), name(other), *self.state(state)))

    def visit_While(self, node: ast.While) -> Any:
        if self._stays(node):
            before, test = self.inner(node.test)
            if before:
                raise Refused("while in a generator", "its test has functions", "name them before")
            return ast.While(hook("truth", test), self.block(node.body), self._else(node.orelse))
        test = none_of(getattr(node, "stops", ()), node.test)
        tested, inside = self.scopes.state([node.test]), self.scopes.state(node.body)
        before, asked = self.inner(test, asked=True)
        ask = self.part("test", tested, [*before, ast.Return(asked)])
        body = self.part("body", inside, self.block(node.body))
        state = self.state(sorted({*tested, *inside}))
        return ast.Expr(hook("while_", name(ask), name(body), *state))

    def visit_For(self, node: ast.For) -> Any:
        names = self.scopes.state([node.target, *node.body])
        items = self.visit(node.iter)
        first = _locate_all(self.put(node.target, name("_item")), node)
        if self._stays(node):
            loop = ast.For(ast.Name("_item", ast.Store()), hook("iterate", items), [], [])
            loop.body = [*first, *self.block(node.body)]
            loop.orelse = self.block(node.orelse) if node.orelse else []
            return loop
        body = self.part("body", names, [*first, *self.block(node.body)], "_item")
        stops = getattr(node, "stops", ())
        go = self.later(none_of(stops, None)) if stops else constant(None)
        return ast.Expr(hook("for_", items, name(body), go, *self.state(names)))

    # ---- other statements with blocks

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            item.context_expr = hook("context", self.visit(item.context_expr))
            target = item.optional_vars
            if target is not None and not (
                isinstance(target, ast.Name) and isinstance(self.scopes.owner(target.id), Scope)
            ):
                raise Refused("with ... as", "its target is not a local variable", "name it")
        node.body = self.block(node.body)
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        node.body = self.block(node.body)
        if hasattr(node, "keeps"):
            (handler,) = node.handlers
            handler.body = self.block(handler.body)
            return node
        if node.handlers:
            node.body = [ast.With([ast.withitem(self._trying(node.handlers))], node.body)]
        for handler in node.handlers:
            handler.type = None if handler.type is None else self.visit(handler.type)
            handler.body = self.block(handler.body)
            if handler.name:
                # Python forgets the name behind the handler, so others could not ask for it.
                caught, target = self.fresh("caught"), store(handler.name)
                begin = self.put(target, name(caught))
                end = self.put(target, hook("unset"))
                handler.body = [*begin, *handler.body, *end]
                _locate_all(begin + end, handler)
                handler.name = caught
        node.orelse = self.block(node.orelse) if node.orelse else []
        node.finalbody = self.block(node.finalbody) if node.finalbody else []
        return node

    def _trying(self, handlers: list[ast.ExceptHandler]) -> ast.expr:
        """What knows the classes that are caught, where these are plain names."""
        kinds: list[ast.expr] = []
        for handler in handlers:
            inside = [] if handler.type is None else list(ast.walk(handler.type))
            plain = (ast.Name, ast.Attribute, ast.Tuple, ast.expr_context)
            if not inside or not all(isinstance(n, plain) for n in inside):
                return hook("trying")
            assert handler.type is not None
            kinds.append(self.visit(copy.deepcopy(handler.type)))
        return hook("trying", *kinds)

    def visit_TryStar(self, node: ast.TryStar) -> Any:
        raise Refused("except*", "a graph has no groups of exceptions", "use except")

    def visit_Match(self, node: ast.Match) -> Any:
        patterns = tuple(compared(c.pattern) for c in node.cases)
        classes = [
            p for c in node.cases for p in ast.walk(c.pattern) if isinstance(p, ast.MatchClass)
        ]
        names = tuple(dict.fromkeys(name for p in classes for name in p.kwd_attrs))
        by_place = any(p.patterns for p in classes)
        asked = [constant(patterns), constant(names), constant(by_place)]
        node.subject = hook("subject", self.visit(node.subject), *asked)
        for case in node.cases:
            if case.guard is not None:
                before, guard = self.inner(case.guard)
                if before:
                    raise Refused("match", "a guard has functions in it", "use if and elif")
                case.guard = hook("truth", guard)
            case.body = self.block(case.body)
        return node

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        cause = constant(None) if node.cause is None else self.visit(node.cause)
        return ast.Expr(hook("raise_", self.visit(node.exc), cause))

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = constant(None) if node.msg is None else self.later(node.msg)
        return ast.Expr(hook("assert_", self.condition(node.test), message))

    def visit_Global(self, node: ast.Global) -> Any:
        return None

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return None  # said once, at the beginning of the function

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node  # its methods are converted when they are called

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        raise Refused("async def", "a graph has no coroutines", "define a plain function")

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        raise Refused("async for", "a graph has no coroutines", "use a plain loop")

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        raise Refused("async with", "a graph has no coroutines", "use a plain with")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Any:
        return ast.YieldFrom(hook("iterate", self.visit(node.value)))


def _locate(made: ast.AST, original: ast.AST) -> None:
    """Give nodes without a place the one of the statement that they are made from."""
    if not hasattr(original, "lineno"):
        return
    for node in ast.walk(made):
        if "lineno" in node._attributes and getattr(node, "lineno", None) is None:
            # One line: Python takes the last one of a call of an attribute for its line.
            node.lineno = node.end_lineno = original.lineno  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = original.col_offset  # type: ignore[attr-defined]


def _locate_all(made: list[ast.stmt], original: ast.AST) -> list[ast.stmt]:
    for one in made:
        _locate(one, original)
    return made


__all__ = ["Statements", "no_parameters"]
