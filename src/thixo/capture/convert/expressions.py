"""Expressions: each construct that may look at a tensor's value becomes a call of a hook."""

import ast
import copy
from typing import Any

from thixo.capture.convert.names import (
    HOOKS,
    assigned,
    constant,
    function,
    hook,
    name,
    no_parameters,
    parameters,
    store,
    texts,
)
from thixo.capture.convert.scopes import Scope, Scopes
from thixo.capture.refusal import Refused

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
}  # fmt: skip


# Built-in functions that take all elements before they do anything.
CONSUMERS = ("sum", "list", "tuple", "sorted", "max", "min", "set", "frozenset")


def _filters(node: ast.expr) -> bool:
    return isinstance(node, ast.GeneratorExp) and any(g.ifs for g in node.generators)


class Expressions(ast.NodeTransformer):
    """Rewrites expressions. Definitions that one needs go before its statement."""

    scopes: Scopes
    owner_class: str | None

    def __init__(self) -> None:
        self.count = 0
        self.before: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> Any:
        try:
            return super().visit(node)
        except Refused as refusal:
            refusal.number = refusal.number or getattr(node, "lineno", None)
            raise

    def fresh(self, what: str) -> str:
        self.count += 1
        return f"_{what}{self.count}"

    def inner(self, node: ast.expr, asked: bool = False) -> tuple[list[ast.stmt], Any]:
        """A rewritten expression with the definitions that it needs."""
        kept, self.before = self.before, []
        made = self.condition(node) if asked else self.visit(node)
        own, self.before = self.before, kept
        return own, made

    def later(self, node: ast.expr, asked: bool = False) -> ast.expr:
        """A function without parameters that gives an expression's value, or its truth, when it is called."""
        sets = self.scopes.state_of_names(assigned([node]))
        own, made = self.inner(node, asked)
        if asked:
            made = hook("asked", made)
        if not own and not sets:
            return ast.Lambda(no_parameters(), made)
        text = self.fresh("part")
        head: list[ast.stmt] = [ast.Nonlocal(sets)] if sets else []
        self.before.append(function(text, no_parameters(), [*head, *own, ast.Return(made)]))
        return name(text)

    def state(self, names: list[str]) -> list[ast.expr]:
        """The functions that get and put variables, and their names.

        Which variables a statement may set is asked before it is rewritten: its parts are functions then.
        """
        if not names:
            return [constant(None), constant(None), texts(())]
        get, put = self.fresh("get"), self.fresh("put")
        values = ast.Tuple([name(n) for n in names], ast.Load())
        target = ast.Tuple([store(n) for n in names], ast.Store())
        self.before.append(function(get, no_parameters(), [ast.Return(values)]))
        body: list[ast.stmt] = [ast.Nonlocal(names), ast.Assign([target], name("_values"))]
        self.before.append(function(put, parameters("_values"), body))
        return [name(get), name(put), texts(names)]

    # ---- conditions

    def condition(self, node: ast.expr) -> Any:
        """An expression of which only the truth is asked."""
        if isinstance(node, ast.BoolOp):
            return self.visit_BoolOp(node, asked=True)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return hook("not_", self.condition(node.operand))
        return self.visit(node)

    def visit_BoolOp(self, node: ast.BoolOp, asked: bool = False) -> Any:
        text = "and_" if isinstance(node.op, ast.And) else "or_"
        names = self.scopes.state(node.values[1:])
        parts = [self.later(v, asked) for v in node.values]
        return hook(text, ast.Tuple(parts, ast.Load()), *self.state(names))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        names = self.scopes.state([node.body, node.orelse])
        test = self.condition(node.test)
        parts = [self.later(node.body), self.later(node.orelse)]
        return hook("ifexp", test, *parts, *self.state(names))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return hook("not_", self.condition(node.operand))
        operand = self.visit(node.operand)
        if isinstance(operand, ast.Constant):
            return ast.UnaryOp(node.op, operand)
        return hook("unary", constant(OPERATORS[type(node.op)]), operand)

    def visit_Compare(self, node: ast.Compare) -> Any:
        operators = [OPERATORS[type(op)] for op in node.ops]
        if len(operators) == 1:
            left, right = self.visit(node.left), self.visit(node.comparators[0])
            return hook("compare", constant(operators[0]), left, right)
        names = self.scopes.state(node.comparators[1:])
        parts = [self.later(v) for v in (node.left, *node.comparators)]
        return hook("chain", texts(operators), ast.Tuple(parts, ast.Load()), *self.state(names))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        if not isinstance(self.scopes.owner(node.target.id), Scope):
            raise Refused(":=", f"{node.target.id} is not a local variable", "assign it before")
        return ast.NamedExpr(node.target, self.visit(node.value))

    # ---- operators and reads

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return ast.BinOp(left, node.op, right)
        return hook("binary", constant(OPERATORS[type(node.op)]), left, right)

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id == HOOKS or node.id == "__class__":
            return node
        owner = self.scopes.owner(node.id)
        if isinstance(owner, Scope):
            return hook("var", node, constant(node.id)) if node.id in owner.tracked else node
        if owner == "free":
            return hook("free", constant(node.id))
        return hook("glob", constant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return hook("attr", self.visit(node.value), constant(self.mangled(node.attr)))

    def mangled(self, text: str) -> str:
        private = text.startswith("__") and not text.endswith("__")
        if private and self.owner_class is not None:
            return f"_{self.owner_class.lstrip('_')}{text}"
        return text

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return hook("item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> Any:
        parts = [
            constant(None) if p is None else self.visit(p)
            for p in (node.lower, node.upper, node.step)
        ]
        return hook("slice_", *parts)

    def visit_List(self, node: ast.List) -> Any:
        return hook("made", ast.List(self._elements(node.elts), ast.Load()))

    def visit_Set(self, node: ast.Set) -> Any:
        parts = [
            ast.Starred(hook("keys", hook("iterate", self.visit(p.value))), ast.Load())
            if isinstance(p, ast.Starred)
            else self._key(p)
            for p in node.elts
        ]
        return hook("made", ast.Set(parts))

    def _key(self, node: ast.expr) -> ast.expr:
        made: ast.expr = self.visit(node)
        return made if isinstance(made, ast.Constant) else hook("key", made)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return ast.Tuple(self._elements(node.elts), ast.Load())

    def _elements(self, parts: list[ast.expr]) -> list[ast.expr]:
        return [
            ast.Starred(hook("iterate", self.visit(p.value)), ast.Load())
            if isinstance(p, ast.Starred)
            else self.visit(p)
            for p in parts
        ]

    def visit_Dict(self, node: ast.Dict) -> Any:
        keys = [None if k is None else self._key(k) for k in node.keys]
        values = [
            hook("mapping", self.visit(v)) if k is None else self.visit(v)
            for k, v in zip(node.keys, node.values, strict=True)
        ]
        return hook("made", ast.Dict(keys, values))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = constant("") if part.format_spec is None else self.visit(part.format_spec)
                parts.append(hook("shown", self.visit(part.value), constant(part.conversion), spec))
            else:
                parts.append(part)
        return hook("text", *parts)

    # ---- calls

    def visit_Call(self, node: ast.Call) -> Any:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            if called.value.id == HOOKS:
                return node  # made by the pass before
        if isinstance(called, ast.Name) and not isinstance(self.scopes.owner(called.id), Scope):
            if called.id == "super" and not node.args:
                return self._super()
            if called.id in ("locals", "eval", "exec", "vars", "dir", "globals"):
                raise Refused(
                    f"{called.id}()",
                    "it looks at names while the program runs",
                    "name what you need",
                )
            if called.id in CONSUMERS and len(node.args) and _filters(node.args[0]):
                node.args[0] = self._consumed(called, node.args[0])
        args = self._elements(node.args)
        keywords = [
            ast.keyword(
                k.arg, self.visit(k.value) if k.arg else hook("mapping", self.visit(k.value))
            )
            for k in node.keywords
        ]
        how = "attempt" if hasattr(node, "attempts") else "call"
        return hook(how, self.visit(called), *args, keywords=keywords)

    def _consumed(self, called: ast.Name, node: Any) -> ast.expr:
        """A generator that a built-in function goes through at once: a list, in which elements may be missing."""
        listed = ast.ListComp(copy.deepcopy(node.elt), copy.deepcopy(node.generators))
        parts = [self.later(ast.copy_location(listed, node)), self.later(node)]
        return hook("consumed", self.visit(copy.deepcopy(called)), *parts)

    def _super(self) -> ast.expr:
        # Blocks become functions, so super has to be told whose it is.
        first = next((s.first for s in reversed(self.scopes.stack) if s.first), None)
        if first is None:
            raise Refused("super()", "it stands in no method", "call the class by its name")
        return hook("super_", name("__class__"), name(first))

    def visit_Await(self, node: ast.Await) -> Any:
        raise Refused("await", "a graph has no coroutines", "leave it out of what is captured")
