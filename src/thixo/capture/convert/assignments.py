"""Assignments: what may be kept elsewhere, or taken apart, goes through hooks."""

import ast
from typing import Any

from thixo.capture.convert.expressions import OPERATORS
from thixo.capture.convert.inner import InnerFunctions
from thixo.capture.convert.names import assign, constant, hook, name, store
from thixo.capture.convert.scopes import Scope


class Assignments(InnerFunctions):
    """Rewrites statements that set something."""

    def put(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that assign a rewritten value to a target."""
        if isinstance(target, ast.Name):
            owner = self.scopes.owner(target.id)
            if isinstance(owner, Scope):
                return [assign(target.id, value)]
            text = "set_free" if owner == "free" else "set_glob"
            return [ast.Expr(hook(text, constant(target.id), value))]
        if isinstance(target, ast.Attribute):
            place = [self.visit(target.value), constant(self.mangled(target.attr))]
            return [ast.Expr(hook("put_attr", value, *place))]  # the value first, as Python
        if isinstance(target, ast.Subscript):
            place = [self.visit(target.value), self.visit(target.slice)]
            return [ast.Expr(hook("put_item", value, *place))]
        assert isinstance(target, ast.Tuple | ast.List)
        return self._unpack(target.elts, value)

    def _unpack(self, targets: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        stars = [i for i, one in enumerate(targets) if isinstance(one, ast.Starred)]
        star = constant(stars[0] if stars else None)
        made = hook("unpack", value, constant(len(targets)), star)
        parts: list[Any] = []
        later: list[tuple[ast.expr, str]] = []
        for one in targets:
            inner = one.value if isinstance(one, ast.Starred) else one
            own = isinstance(inner, ast.Name) and isinstance(self.scopes.owner(inner.id), Scope)
            if isinstance(inner, ast.Name) and own and not later:  # places may depend on names
                parts.append(store(inner.id))
            else:
                parts.append(store(self.fresh("part")))
                later.append((inner, parts[-1].id))
        statements: list[ast.stmt] = [ast.Assign([ast.Tuple(parts, ast.Store())], made)]
        for one, text in later:
            statements += self.put(one, name(text))
        return statements

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.put(node.targets[0], value)
        text = self.fresh("value")
        made: list[ast.stmt] = [assign(text, value)]
        for target in node.targets:
            made += self.put(target, name(text))
        return made

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return [] if node.value is None else self.put(node.target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        op, target = constant(OPERATORS[type(node.op)]), node.target
        if isinstance(target, ast.Name):
            now = self.visit(ast.Name(target.id, ast.Load()))
            return self.put(target, hook("inplace", op, now, self.visit(node.value)))
        if isinstance(target, ast.Attribute):
            place = [self.visit(target.value), constant(self.mangled(target.attr))]
            return ast.Expr(hook("change_attr", *place, op, self.later(node.value)))
        place = [self.visit(target.value), self.visit(target.slice)]
        return ast.Expr(hook("change_item", *place, op, self.later(node.value)))

    def visit_Delete(self, node: ast.Delete) -> Any:
        made: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                gone = hook("deleted", self.visit(ast.Name(target.id, ast.Load())))
                made += self.put(target, gone)
            elif isinstance(target, ast.Attribute):
                place = [self.visit(target.value), constant(self.mangled(target.attr))]
                made.append(ast.Expr(hook("del_attr", *place)))
            elif isinstance(target, ast.Subscript):
                place = [self.visit(target.value), self.visit(target.slice)]
                made.append(ast.Expr(hook("del_item", *place)))
            else:
                made += self.visit_Delete(ast.Delete(target.elts))  # type: ignore[attr-defined]
        return made
