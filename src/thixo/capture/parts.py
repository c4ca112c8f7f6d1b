"""A function in parts: statements that become graphs, and between them those that run in Python.

The statements of a function's body are cut into parts. Each part is a function of its own, which takes the variables
that are set and gives those it leaves; it has the lines, globals and cells of the function it comes from.
"""

import ast
import copy
from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

from thixo.capture.source import find, give

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STATE = "_left"  # what a part returns begins with this, or with RESULT
RESULT = "_result"


class Uncut(Exception):
    """A function that cannot be cut into parts."""


class Body:
    """The statements of a function, and parts of it as functions."""

    def __init__(self, f: FunctionType) -> None:
        self.function = f
        node = find(f.__code__, f.__globals__)
        if not isinstance(node, ast.FunctionDef) or f.__code__.co_flags & 0x20:
            raise Uncut
        self.name = node.name
        self.statements = list(node.body)
        if _is_docstring(self.statements[0]):
            del self.statements[0]
        self.names = {*f.__code__.co_varnames, *f.__code__.co_cellvars}
        self._declared = [s for s in _own(node.body) if isinstance(s, ast.Global | ast.Nonlocal)]
        self._refuse_shared_cells()

    def _refuse_shared_cells(self) -> None:
        """A variable that inner functions know and several statements set is one cell, which parts would not share."""
        if any(isinstance(s, ast.Delete) for s in _own(self.statements)):
            raise Uncut
        inner = set(self.function.__code__.co_cellvars)
        seen: dict[str, int] = dict.fromkeys(_parameters(self.function.__code__), 0)
        for s in self.statements:
            for name in stored([s]) & inner:
                seen[name] = seen.get(name, 0) + 1
            if inner and any(isinstance(n, ast.Nonlocal) for n in ast.walk(s)):
                raise Uncut
        if any(
            n in inner and count + (n in _parameters(self.function.__code__)) > 1
            for n, count in seen.items()
        ):
            raise Uncut

    def line_of(self, error: BaseException, low: int, high: int) -> int | None:
        """Which statement of a part an error came from."""
        at = error.__traceback__
        found = None
        while at is not None:
            if at.tb_frame.f_code.co_filename == self.function.__code__.co_filename:
                line = at.tb_lineno
                for i in range(low, high):
                    s = self.statements[i]
                    if s.lineno <= line <= (s.end_lineno or s.lineno):
                        found = i if found is None else found
            at = at.tb_next
        return found

    def reads(self, low: int, high: int | None = None) -> set[str]:
        """The variables that some statements look at."""
        return loaded(self.statements[low:high]) & self.names

    def open_ends(self, low: int, high: int, known: Iterable[str]) -> set[str]:
        """The variables that a part may leave set or not, and that are read behind it."""
        part = self.statements[low:high]
        return (stored(part) & self.names & self.reads(high)) - definite(part) - set(known)

    def left(self, low: int, high: int) -> set[str]:
        """The variables that a part sets and that are read behind it."""
        return stored(self.statements[low:high]) & self.names & self.reads(high)

    def part(self, low: int, high: int, given: Sequence[str], left: Sequence[str] | None) -> Any:
        """The statements as a function of `given`. It returns ("_result", x) or ("_left", {...}); `left` None: all that is set."""
        body: list[ast.stmt] = [copy.deepcopy(s) for s in self._declared]
        unset = self.reads(low, high) - set(given) - stored(self.statements[low:high])
        body += [_placed(_unset(n), self.statements[low]) for n in sorted(unset)]
        body += [_Returns().visit(copy.deepcopy(s)) for s in self.statements[low:high]]
        at = self.statements[high - 1]
        if left is None:
            end: ast.expr = ast.Call(ast.Name("locals", ast.Load()), [], [])
        else:
            end = ast.Dict([ast.Constant(n) for n in left], [ast.Name(n, ast.Load()) for n in left])
        if not _leaves(self.statements[low:high]):
            pair = ast.Tuple([ast.Constant(STATE), end], ast.Load())
            body.append(_placed(ast.Return(pair), at))
        return self._made(body, given, low, high)

    def _made(
        self, body: list[ast.stmt], given: Sequence[str], low: int, high: int
    ) -> FunctionType:
        f, code = self.function, self.function.__code__
        node = ast.FunctionDef(self.name, _plain(given), body, [], None)
        first, last = self.statements[low], self.statements[high - 1]
        node.lineno, node.col_offset = first.lineno, 0
        node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset
        outer = ast.FunctionDef("_factory", _plain(code.co_freevars), [node], [], None)
        tree = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, node)], []))
        whole = compile(copy.deepcopy(tree), code.co_filename, "exec")
        factory = next(c for c in whole.co_consts if isinstance(c, CodeType))
        new = next(c for c in factory.co_consts if isinstance(c, CodeType))
        new = new.replace(co_qualname=code.co_qualname)
        give(new, node)
        cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
        closure = tuple(cells[n] for n in new.co_freevars)
        return FunctionType(new, f.__globals__, f.__name__, None, closure)


def _plain(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def _unset(name: str) -> ast.stmt:
    """A statement that makes a name a variable which is not set."""
    never = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))
    return ast.If(ast.Constant(False), [never], [])


def _placed(node: Any, at: ast.stmt) -> Any:
    node.lineno = node.end_lineno = at.lineno if isinstance(node, ast.If) else at.end_lineno
    node.col_offset = node.end_col_offset = 0
    return ast.fix_missing_locations(node)


def _is_docstring(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)]


class _Returns(ast.NodeTransformer):
    """`return x` says that it is the result."""

    def visit_Return(self, node: ast.Return) -> Any:
        value = node.value or ast.Constant(None)
        pair = ast.Tuple([ast.Constant(RESULT), value], ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Return(pair), node))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return node if isinstance(node, _SCOPES) else super().generic_visit(node)


# ---- what statements set and read


def _own(statements: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """The nodes of statements, without what is inside of other scopes."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)


def stored(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements may set."""
    found = set()
    for node in _own(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return found


def loaded(statements: Iterable[ast.AST]) -> set[str]:
    """The names that statements may read, those that are added to included."""
    found = set()
    for s in statements:
        for node in ast.walk(s):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


def definite(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that are set wherever statements come to their end."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign):
            if getattr(s, "value", None) is not None:
                targets = s.targets if isinstance(s, ast.Assign) else [s.target]
                found |= {
                    n.id for t in targets for n in ast.walk(t)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }  # fmt: skip
        elif isinstance(s, ast.FunctionDef | ast.ClassDef):
            found.add(s.name)
        elif isinstance(s, ast.Import | ast.ImportFrom):
            found |= stored([s])
        elif isinstance(s, ast.If):
            sides = [definite(b) for b in (s.body, s.orelse) if not _leaves(b)]
            found |= set.intersection(*sides) if sides else set()
        elif isinstance(s, ast.With):
            found |= definite(s.body)
    return found


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements never come to their end."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)
