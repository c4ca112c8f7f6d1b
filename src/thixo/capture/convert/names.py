"""Small pieces of syntax trees, and which names a block sets."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

HOOKS = "_tx"  # what rewritten code calls the hooks; a cell of its own, not a global of the user's

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.While, ast.For, ast.AsyncFor)


def name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def store(text: str) -> ast.Name:
    return ast.Name(text, ast.Store())


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def hook(text: str, *args: ast.expr, keywords: Iterable[ast.keyword] = ()) -> ast.Call:
    return ast.Call(ast.Attribute(name(HOOKS), text, ast.Load()), list(args), list(keywords))


def assign(text: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([store(text)], value)


def texts(names: Iterable[str]) -> ast.Tuple:
    return ast.Tuple([constant(n) for n in names], ast.Load())


def no_parameters() -> ast.arguments:
    return parameters()


def parameters(*names: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def function(text: str, args: ast.arguments, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(text, args, list(body) or [ast.Pass()], [])


def parameter_names(args: ast.arguments) -> list[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return [a.arg for a in every + [x for x in (args.vararg, args.kwarg) if x is not None]]


def walk(nodes: Iterable[ast.AST], into_loops: bool = True) -> Iterator[ast.AST]:
    """Nodes of this function, not of functions and classes inside of it."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, SCOPES):
            # What is evaluated here and now: decorators and defaults.
            todo += getattr(node, "decorator_list", ())
            arguments = getattr(node, "args", None)
            if isinstance(arguments, ast.arguments):
                todo += [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
        elif not into_loops and isinstance(node, LOOPS):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)


def has(nodes: Iterable[ast.AST], *kinds: type, into_loops: bool = True) -> bool:
    return any(isinstance(n, kinds) for n in walk(nodes, into_loops))


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that a block may set or delete, in order."""
    found: dict[str, None] = {}
    inner: set[int] = set()
    for node in walk(nodes):
        if isinstance(node, COMPREHENSIONS):  # targets of comprehensions are their own
            for generator in node.generators:
                inner.update(id(n) for n in ast.walk(generator.target))
    for node in walk(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if id(node) not in inner:
                found[node.id] = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = None
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).split(".")[0]] = None
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found[node.rest] = None
    return sorted(found)


def declared(nodes: Iterable[ast.AST], kind: type) -> set[str]:
    """The names in `global` or `nonlocal` statements of a block."""
    found = [node for node in walk(nodes) if isinstance(node, kind)]
    return {text for node in found for text in getattr(node, "names", ())}
