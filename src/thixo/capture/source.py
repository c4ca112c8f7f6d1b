"""The source of a function: its syntax tree, found by the position of its code.

Names do not identify functions: decorators, lambdas of one line and functions defined twice would confuse them. A code object
knows where each of its instructions was written.
"""

import ast
import copy
import functools
import inspect
import linecache
import tokenize
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from thixo.capture.refusal import Refused

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def place_of(code: CodeType, line: int | None = None) -> str:
    """Where a function stands, as "train.py:41"."""
    return f"{code.co_filename.rpartition('/')[2]}:{line or code.co_firstlineno}"


@contextmanager
def refused_at(f: Any) -> Iterator[None]:
    """What is refused after a function's end is refused where it stands."""
    try:
        yield
    except Refused as refusal:
        code = getattr(getattr(f, "forward", f), "__code__", None)
        if code is not None:
            refusal.line = place_of(code)
        raise


_given: dict[CodeType, ast.FunctionDef] = {}  # trees of functions that were made of others


def give(code: CodeType, tree: ast.FunctionDef) -> None:
    """Say what the tree of a function is that stands in no file."""
    _given[code] = tree


def find(code: CodeType, module: dict[str, object] | None = None) -> Definition:
    """The tree of a function's definition, a copy that may be changed."""
    if code in _given:
        return copy.deepcopy(_given[code])
    lines = linecache.getlines(code.co_filename, module)
    if not lines:
        raise Refused(
            f"function {code.co_name}",
            f"its source is not known ({code.co_filename} has no text)",
            "define it in a file or a notebook, since capture reads source",
        )
    found = _by_itself(lines, code)
    if found is None:
        tree = _parsed(code.co_filename, "".join(lines))
        found = _definition(_around(tree, code.co_firstlineno), code)
        if found is None:  # what stands in a formatted string says other lines than those it is on
            found = _definition(ast.walk(tree), code)
        found = copy.deepcopy(found)
    if found is None or _parameters(found.args) != _code_parameters(code):
        raise Refused(
            f"function {code.co_name}",
            f"its source is not found at line {code.co_firstlineno} of {code.co_filename}",
            "import the file anew if it has changed",
        )
    return found


def _by_itself(lines: list[str], code: CodeType) -> Definition | None:
    """The tree of a function from its own lines, if these can be read alone: a large file takes long to parse."""
    first = code.co_firstlineno - 1
    try:
        block = inspect.getblock(lines[first:])
        indented = block[:1] != [] and block[0][:1].isspace()
        tree = ast.parse("".join(["if 1:\n", *block] if indented else block))
    except (SyntaxError, tokenize.TokenError):
        return None
    ast.increment_lineno(tree, first - indented)
    found = _definition(ast.walk(tree), code)
    if isinstance(found, ast.Lambda) and not _is_whole(found, code):
        return None  # it goes on in further lines of a statement that began before
    return found


def _definition(nodes: Iterable[ast.AST], code: CodeType) -> Definition | None:
    found: Definition | None = None
    for node in nodes:
        if isinstance(node, ast.Lambda):
            # The innermost lambda comes last.
            if code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
                found = node if _holds(node, code) else found
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if found is None and node.name == code.co_name:
                found = node if _first_line(node) == code.co_firstlineno else None
    return found


def _first_line(node: Any) -> int:
    """Of a statement: that of its first decorator, if it has some."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _around(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """The nodes of a tree that go over a line, outer ones first; a large file has many others."""
    pending = deque([tree])
    while pending:
        node = pending.popleft()
        yield node
        for inner in ast.iter_child_nodes(node):
            last = getattr(inner, "end_lineno", None)
            if last is None or (line <= last and _first_line(inner) <= line):
                pending.append(inner)


@functools.lru_cache(64)
def _parsed(filename: str, text: str) -> ast.Module:
    """The tree of a file."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise Refused(
            f"file {filename}",
            f"it does not parse: {error.msg}",
            "import it anew if it has changed",
            f"{filename.rpartition('/')[2]}:{error.lineno}",
        ) from None


def _holds(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda's body is where the code's instructions come from."""
    body = node.body
    low = (body.lineno, body.col_offset)
    high = (body.end_lineno or body.lineno, body.end_col_offset or 0)
    for line, _, column, _ in code.co_positions():
        if line is None or column is None or (line, column) == (code.co_firstlineno, 0):
            continue
        if not low <= (line, column) <= high:
            return False
    return True


def _is_whole(node: ast.Lambda, code: CodeType) -> bool:
    """Whether none of the code's instructions ends behind a lambda's body."""
    high = (node.body.end_lineno or 0, node.body.end_col_offset or 0)
    return all(
        line is None or column is None or (line, column) <= high
        for _, line, _, column in code.co_positions()
    )


def _parameters(args: ast.arguments) -> list[str]:
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return names + [a.arg for a in (args.vararg, args.kwarg) if a is not None]


def _code_parameters(code: CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return list(code.co_varnames[:count])
