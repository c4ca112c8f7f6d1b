"""The source of a function: its syntax tree, found by the position of its code.

Names do not identify functions: decorators, lambdas of one line and functions defined twice would confuse them. A code object
knows where each of its instructions was written.
"""

import ast
import copy
import functools
import linecache
from collections.abc import Iterator
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
    found = None
    for node, name, first in _definitions(code.co_filename, "".join(lines)):
        if name != code.co_name or first != code.co_firstlineno:
            continue
        if isinstance(node, ast.Lambda) and not _holds(node, code):
            continue
        if found is None or isinstance(node, ast.Lambda):  # the innermost lambda comes last
            found = node
    if found is None or _parameters(found.args) != _code_parameters(code):
        raise Refused(
            f"function {code.co_name}",
            f"its source is not found at line {code.co_firstlineno} of {code.co_filename}",
            "import the file anew if it has changed",
        )
    return copy.deepcopy(found)


@functools.lru_cache(64)
def _definitions(filename: str, text: str) -> list[tuple[Definition, str, int]]:
    """All functions of a file, with their names and first lines, outer ones first."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Refused(
            f"file {filename}",
            f"it does not parse: {error.msg}",
            "import it anew if it has changed",
            f"{filename.rpartition('/')[2]}:{error.lineno}",
        ) from None
    found: list[tuple[Definition, str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.append((node, "<lambda>", node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.append((node, node.name, first))
    return found


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


def _parameters(args: ast.arguments) -> list[str]:
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return names + [a.arg for a in (args.vararg, args.kwarg) if a is not None]


def _code_parameters(code: CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return list(code.co_varnames[:count])
