"""Bugs of a converter, one or more for each construct: a comparison of programs must find every one.

Each changes a program as a converter that misunderstands the construct would.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.programs.program import NAME, Program

Change = Callable[[Any], Any]  # of a node: what stands in its place; None leaves it out


class _Planter(ast.NodeTransformer):
    """Changes the nodes of one kind, within the program itself."""

    def __init__(self, kind: type[ast.AST], change: Change) -> None:
        self.kind, self.change = kind, change

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        return self.change(node) if isinstance(node, self.kind) else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        for name in ("body", "finalbody"):
            if getattr(node, name, None) == []:
                node.body = [ast.Pass()] if name == "body" else node.body
        return node


def planted(program: Program, what: str) -> Program | None:
    """The program as a converter with this bug would run it; None if it has nothing of that sort."""
    kind, change = PLANTS[what]
    tree = ast.parse(program.text)
    at = next(i for i, n in enumerate(tree.body) if getattr(n, "name", "") == NAME)
    before = ast.unparse(tree)
    tree.body[at] = _Planter(kind, change).generic_visit(tree.body[at])
    text = ast.unparse(ast.fix_missing_locations(tree))
    if text == before:
        return None
    try:
        compile(text, "planted", "exec")
    except SyntaxError:
        return None
    return replace(program, text=text + "\n")


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def when(test: Callable[[Any], bool], change: Change) -> Change:
    return lambda node: change(node) if test(node) else node


def edited(**changes: Callable[[Any], Any]) -> Change:
    """The node with some fields made anew from it."""

    def change(node: Any) -> Any:
        values = {name: make(node) for name, make in changes.items()}
        for name, value in values.items():
            setattr(node, name, value)
        return node

    return change


def gone(node: Any) -> None:
    return None


def one_after_the_other(node: ast.Assign) -> Any:
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple | ast.List):
        return node
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in target.elts):
        return node
    pairs = zip(target.elts, value.elts, strict=True)
    return [ast.copy_location(ast.Assign([t], v), node) for t, v in pairs]


def late(node: ast.Lambda | ast.FunctionDef) -> Any:
    """Default values are looked up when the function runs."""
    for argument, value in zip(
        node.args.args[-len(node.args.defaults) :], node.args.defaults, strict=False
    ):
        if isinstance(value, ast.Name) and isinstance(node, ast.FunctionDef):
            node.body.insert(
                0, ast.Assign([ast.Name(argument.arg, ast.Store())], ast.Name(value.id))
            )
    return node


def once_more(node: ast.While) -> Any:
    """Looks at the condition after a turn, not before it."""
    stop = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
    if isinstance(node.test, ast.Constant):
        return node
    if any(isinstance(n, ast.Continue) for n in ast.walk(node)):
        return node
    node.test, node.body = ast.Constant(True), [*node.body, stop]
    return node


def out_of_place(node: ast.AugAssign) -> Any:
    if not isinstance(node.target, ast.Name):
        return node
    return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id), node.op, node.value))


def in_a_copy(node: ast.Assign) -> Any:
    """Writes into a new tensor, so that views do not see it."""
    target = node.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return node
    name = target.value.id
    if not name.startswith(("e", "w")):
        return node
    fresh = ast.Call(ast.Attribute(ast.Name(name), "clone"), [], [])
    return [ast.Assign([ast.Name(name, ast.Store())], fresh), node]


def stays(node: ast.Assign) -> Any:
    """A write to a place of a name is lost."""
    return gone(node)


def has_place(kind: type[ast.AST]) -> Callable[[ast.Assign], bool]:
    return lambda node: isinstance(node.targets[0], kind)


def of_name(*starts: str) -> Callable[[ast.Assign], bool]:
    return lambda n: (
        isinstance(n.targets[0], ast.Subscript | ast.Attribute)
        and isinstance(n.targets[0].value, ast.Name)
        and n.targets[0].value.id.startswith(starts)
    )


def drawn_twice(node: ast.Call) -> Any:
    again = ast.Tuple([copy.deepcopy(node), node], ast.Load())
    return ast.Subscript(again, ast.Constant(1), ast.Load())


def statement_calls(*names: str) -> Callable[[ast.Expr], bool]:
    return lambda node: called(node.value) in names


def within(node: ast.Try) -> Any:
    """The finally block is run only if nothing was returned or raised."""
    if not node.finalbody:
        return node
    if not node.handlers:
        return [*node.body, *node.finalbody]
    last, node.finalbody = node.finalbody, []
    return [node, *last]


def no_exit(node: ast.For | ast.While) -> Any:
    """A return in a loop only leaves the loop."""

    class Leave(ast.NodeTransformer):
        def visit_Return(self, node: ast.Return) -> Any:
            return ast.Break()

        def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
            return node

    return Leave().generic_visit(node)


def kept_variable(node: ast.For) -> Any:
    """The name of a loop is put back after it."""
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    return [node, *(ast.Delete([ast.Name(n, ast.Del())]) for n in names)]


NONE: Change = lambda node: ast.Constant(None)  # noqa: E731

PLANTS: dict[str, tuple[Any, Change]] = {
    "if: branches swapped": (ast.If, when(lambda n: n.orelse, edited(body=lambda n: n.orelse, orelse=lambda n: n.body))),
    "elif: dropped": (ast.If, when(lambda n: len(n.orelse) == 1 and isinstance(n.orelse[0], ast.If), edited(orelse=lambda n: n.orelse[0].orelse))),
    "else: always runs": (ast.If, when(lambda n: n.orelse, lambda n: [ast.If(n.test, n.body, []), *n.orelse])),
    "not: dropped": (ast.UnaryOp, when(lambda n: isinstance(n.op, ast.Not), lambda n: n.operand)),
    "and: taken for or": (ast.BoolOp, edited(op=lambda n: ast.Or() if isinstance(n.op, ast.And) else n.op)),
    "or: only its last part": (ast.BoolOp, when(lambda n: isinstance(n.op, ast.Or), lambda n: n.values[-1])),
    "comparison: only the start of a chain": (ast.Compare, when(lambda n: len(n.ops) > 1, edited(ops=lambda n: n.ops[:1], comparators=lambda n: n.comparators[:1]))),
    "ternary: swapped": (ast.IfExp, edited(body=lambda n: n.orelse, orelse=lambda n: n.body)),
    "walrus: does not bind": (ast.NamedExpr, lambda n: n.value),
    "while: one turn too many": (ast.While, once_more),
    "for: one element too few": (ast.For, edited(iter=lambda n: ast.Subscript(ast.Call(ast.Name("list"), [n.iter], []), ast.Slice(ast.Constant(1)), ast.Load()))),
    "for: backwards": (ast.For, edited(iter=lambda n: ast.Call(ast.Name("reversed"), [ast.Call(ast.Name("list"), [n.iter], [])], []))),
    "for over a tensor: detached": (ast.For, when(lambda n: getattr(n.iter, "id", "") in ("v", "m"), edited(iter=lambda n: ast.Call(ast.Attribute(n.iter, "detach"), [], [])))),
    "enumerate: starts at one": (ast.Call, when(lambda n: called(n) == "enumerate" and len(n.args) == 1, edited(args=lambda n: [*n.args, ast.Constant(1)]))),
    "zip: the first twice": (ast.Call, when(lambda n: called(n) == "zip", edited(args=lambda n: [n.args[0], n.args[0]]))),
    "range: one more": (ast.Call, when(lambda n: called(n) == "range" and len(n.args) == 1, edited(args=lambda n: [ast.BinOp(n.args[0], ast.Add(), ast.Constant(1))]))),
    "loop: its name is gone after it": (ast.For, kept_variable),
    "break: forgotten": (ast.Break, lambda n: ast.Pass()),
    "continue: forgotten": (ast.Continue, lambda n: ast.Pass()),
    "return: only leaves the loop": ((ast.For, ast.While), no_exit),
    "else of a loop: always runs": ((ast.For, ast.While), when(lambda n: n.orelse, lambda n: [edited(orelse=lambda n: [])(copy.copy(n)), *n.orelse])),
    "augmented assignment: not in place": (ast.AugAssign, out_of_place),
    "augmented assignment: the sign": (ast.AugAssign, edited(op=lambda n: ast.Add() if isinstance(n.op, ast.Sub) else n.op)),
    "tuple assignment: one after the other": (ast.Assign, one_after_the_other),
    "star: reversed": (ast.Assign, when(lambda n: isinstance(n.targets[0], ast.Tuple) and any(isinstance(e, ast.Starred) for e in n.targets[0].elts), edited(value=lambda n: ast.Call(ast.Name("reversed"), [n.value], [])))),
    "chained assignment: the first only": (ast.Assign, when(lambda n: len(n.targets) > 1, edited(targets=lambda n: n.targets[:1]))),
    "comprehension: its condition dropped": (ast.comprehension, edited(ifs=lambda n: [])),
    "comprehension: only the first": (ast.ListComp, lambda n: ast.Subscript(n, ast.Slice(None, ast.Constant(1)), ast.Load())),
    "dict comprehension: empty": (ast.DictComp, lambda n: ast.Dict([], [])),
    "set comprehension: empty": (ast.SetComp, lambda n: ast.Call(ast.Name("set"), [], [])),
    "generator: exhausted": (ast.GeneratorExp, lambda n: ast.Tuple([], ast.Load())),
    "with: no_grad forgotten": (ast.With, when(lambda n: called(n.items[0].context_expr) == "no_grad", lambda n: n.body)),
    "with: a user's never entered": (ast.With, when(lambda n: called(n.items[0].context_expr) == "noted" and len(n.items) == 1, lambda n: n.body)),
    "with: never left": (ast.With, when(lambda n: called(n.items[0].context_expr) == "Tally", lambda n: [ast.Assign([n.items[0].optional_vars], ast.Call(ast.Attribute(n.items[0].context_expr, "__enter__"), [], [])), *n.body])),
    "assert: dropped": (ast.Assert, lambda n: ast.Pass()),
    "print: dropped": (ast.Expr, when(statement_calls("print"), lambda n: ast.Pass())),
    "finally: only without an exit": (ast.Try, within),
    "except: never": (ast.Try, when(lambda n: n.handlers and not n.finalbody, lambda n: [*n.body, *n.orelse])),
    "raise: dropped": (ast.Raise, lambda n: ast.Pass()),
    "else of try: dropped": (ast.Try, edited(orelse=lambda n: [])),
    "nonlocal: dropped": (ast.Nonlocal, lambda n: ast.Pass()),
    "global: dropped": (ast.Global, lambda n: ast.Pass()),
    "closure: the first value stays": (ast.Call, when(lambda n: isinstance(n.func, ast.Name) and n.func.id.startswith("f") and len(n.args) == 1, lambda n: n.args[0])),
    "default argument: looked up late": (ast.FunctionDef, late),
    "lambda: the constant": (ast.Lambda, edited(body=lambda n: ast.Name(n.args.args[0].arg))),
    "recursion: one level": (ast.FunctionDef, when(lambda n: any(called(c) == n.name for c in ast.walk(n)), lambda n: ast.FunctionDef(n.name, n.args, [ast.Return(ast.Name("p"))], []))),
    "list: append lost": (ast.Expr, when(statement_calls("append", "extend", "insert"), lambda n: ast.Pass())),
    "list: += makes a new one": (ast.AugAssign, when(lambda n: isinstance(n.value, ast.List), out_of_place)),
    "dict: writes lost": (ast.Assign, when(of_name("table"), stays)),
    "set: add lost": (ast.Expr, when(statement_calls("add", "discard"), lambda n: ast.Pass())),
    "attribute: writes lost": (ast.Assign, when(of_name("box"), stays)),
    "global: changes lost": (ast.Assign, when(of_name("STATE", "TABLE"), stays)),
    "del: forgotten": (ast.Expr, when(statement_calls("pop"), lambda n: ast.Pass())),
    "write: into a copy": (ast.Assign, in_a_copy),
    "write: lost": (ast.Assign, when(of_name("e"), stays)),
    "view: a copy": (ast.Assign, when(lambda n: getattr(n.targets[0], "id", "").startswith("part"), edited(value=lambda n: ast.Call(ast.Attribute(n.value, "clone"), [], [])))),
    "random: drawn twice": (ast.Call, when(lambda n: called(n) in ("rand", "randn", "rand_like"), drawn_twice)),
    "dtype: not changed": (ast.Call, when(lambda n: called(n) == "to", lambda n: n.func.value)),
    "number of a tensor: of the first call": (ast.Call, when(lambda n: called(n) in ("int", "float") and isinstance(n.func, ast.Name), lambda n: ast.Constant(1))),
    "detach: dropped": (ast.Call, when(lambda n: called(n) == "detach", lambda n: n.func.value)),
    "module: skipped": (ast.Call, when(lambda n: called(n) == "LAYER", lambda n: n.args[0])),
}  # fmt: skip
