"""Functions inside of functions: lambdas and comprehensions become definitions before their statement."""

import ast
from typing import Any

from thixo.capture.convert.expressions import Expressions
from thixo.capture.convert.names import (
    assigned,
    constant,
    declared,
    function,
    hook,
    name,
    parameters,
    store,
)
from thixo.capture.convert.scopes import Scope


class InnerFunctions(Expressions):
    """Rewrites what has a scope of its own."""

    def body_of(self, args: ast.arguments, body: list[ast.stmt], outer: Any = ()) -> list[ast.stmt]:
        raise NotImplementedError

    def _without_defaults(self, args: ast.arguments) -> tuple[list[ast.expr], list[ast.expr]]:
        """Take the defaults out of parameters; they are evaluated where the function was written."""
        plain = [self.visit(d) for d in args.defaults]
        named: list[ast.expr] = [
            ast.Tuple([constant(a.arg), self.visit(d)], ast.Load())
            for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if d is not None
        ]
        args.defaults = [constant(None) for _ in plain]
        args.kw_defaults = [None if d is None else constant(None) for d in args.kw_defaults]
        for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if a is not None:
                a.annotation = None
        return plain, named

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        plain, named = self._without_defaults(node.args)
        text = self.fresh("lambda")
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
        self.before.append(function(text, node.args, self.body_of(node.args, body)))
        return self._defined(text, plain, named)

    def _defined(self, text: str, plain: list[ast.expr], named: list[ast.expr]) -> ast.expr:
        if not plain and not named:
            return hook("defined", name(text))
        parts = [ast.Tuple(plain, ast.Load()), ast.Tuple(named, ast.Load())]
        return hook("defined", name(text), *parts)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        decorators = [self.visit(d) for d in node.decorator_list]
        plain, named = self._without_defaults(node.args)
        node.decorator_list, node.returns = [], None
        node.body = self.body_of(node.args, node.body)
        made = self._defined(node.name, plain, named)
        for decorator in reversed(decorators):
            made = hook("call", decorator, made)
        return [node, ast.Assign([store(node.name)], made)]

    # ---- comprehensions

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        add = ast.Call(ast.Attribute(name("_made"), "append", ast.Load()), [node.elt], [])
        return self._comprehension(node, ast.List([], ast.Load()), ast.Expr(add))

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        add = ast.Call(ast.Attribute(name("_made"), "add", ast.Load()), [node.elt], [])
        return self._comprehension(
            node, ast.Set([ast.Starred(ast.Tuple([], ast.Load()), ast.Load())]), ast.Expr(add)
        )

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        place = ast.Subscript(name("_made"), node.key, ast.Store())
        return self._comprehension(node, ast.Dict([], []), ast.Assign([place], node.value))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        made = self._comprehension(node, None, ast.Expr(ast.Yield(node.elt)))
        return hook("iterator", made)

    def _comprehension(self, node: Any, empty: ast.expr | None, last: ast.stmt) -> Any:
        first = self.visit(node.generators[0].iter)
        body: list[ast.stmt] = [last]
        for generator in reversed(node.generators):
            for test in reversed(generator.ifs):
                body = [ast.If(test, body, [])]
            source = name("_first") if generator is node.generators[0] else generator.iter
            body = [ast.For(generator.target, source, body, [])]
        if empty is not None:
            body = [ast.Assign([store("_made")], empty), *body, ast.Return(name("_made"))]
        for statement in body:
            for part in ast.walk(statement):
                if not hasattr(part, "lineno"):
                    ast.copy_location(part, node)
        walruses = [n.target.id for s in body for n in ast.walk(s) if isinstance(n, ast.NamedExpr)]
        outer = [n for n in walruses if isinstance(self.scopes.owner(n), Scope)]
        text = self.fresh("items")
        made = self.body_of(parameters("_first"), body, outer)
        self.before.append(function(text, parameters("_first"), made))
        return ast.Call(name(text), [first], [])


__all__ = ["InnerFunctions", "assigned", "declared"]
