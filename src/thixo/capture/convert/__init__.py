"""Source conversion: a function rewritten so that control flow asks at run time whether a tensor decides it.

The result keeps the user's file name, lines, globals and closure cells. It is cached for each code object.
"""

import ast
import threading
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from thixo.capture.convert.attempts import Attempts, telling
from thixo.capture.convert.names import HOOKS, constant, function, name, parameters
from thixo.capture.convert.statements import Statements
from thixo.capture.refusal import Refused
from thixo.capture.source import find, place_of

COROUTINE = (
    0x80 | 0x100 | 0x200
)  # flags of code: coroutine, iterable coroutine, asynchronous generator


class Converted(NamedTuple):
    """A rewritten function's code, and its text."""

    code: CodeType
    text: str


# What is converted: as it is, with calls inside of try taken apart, or so that it says how it ended too.
PLAIN, APART, TELLING = range(3)
_converted: dict[tuple[CodeType, int], Converted] = {}
_made: set[CodeType] = set()  # codes that are results of a conversion
_lock = threading.Lock()


def is_converted(code: CodeType) -> bool:
    """Whether code is the result of a conversion."""
    return code in _made


def convert_code(
    code: CodeType, module: dict[str, Any] | None = None, way: int = PLAIN
) -> Converted:
    """The rewritten form of a function's code."""
    found = _converted.get((code, way))
    if found is None:
        with _lock:
            found = _converted[code, way] = _convert(code, module, way)
    return found


def convert(f: FunctionType, hooks: Any, way: int = PLAIN) -> FunctionType:
    """A function, rewritten, with the same globals, defaults and cells."""
    made = convert_code(f.__code__, f.__globals__, way)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    closure = tuple(cells[n] for n in made.code.co_freevars)
    new = FunctionType(made.code, f.__globals__, f.__name__, f.__defaults__, closure)
    new.__kwdefaults__ = f.__kwdefaults__
    new.__qualname__ = f.__qualname__
    return new


def _convert(code: CodeType, module: dict[str, Any] | None, way: int) -> Converted:
    if code.co_flags & COROUTINE:
        raise Refused(
            "async def", "a graph has no coroutines", "define a plain function", place_of(code)
        )
    node = find(code, module)
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
        node = ast.copy_location(function("lambda_", node.args, body), node)
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list, node.returns = [], None
    if way == TELLING:
        node.body = telling(node.body)
    if way != PLAIN:
        node.body = Attempts().block(node.body)
    args = node.args
    for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if a is not None:
            a.annotation = None
    args.defaults = [constant(None) for _ in args.defaults]
    args.kw_defaults = [None if d is None else constant(None) for d in args.kw_defaults]
    rewriter = Statements(code.co_freevars, _class_of(code))
    try:
        node.body = rewriter.body_of(args, node.body)
    except Refused as refusal:
        refusal.line = place_of(code, refusal.number or node.lineno)
        raise
    cells = sorted({HOOKS, *code.co_freevars})
    outer = function("_factory", parameters(*cells), [node, ast.Return(name(node.name))])
    tree = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, node)], []))
    text = ast.unparse(node)
    whole = compile(tree, code.co_filename, "exec")
    factory = next(c for c in whole.co_consts if isinstance(c, CodeType))
    new = next(c for c in factory.co_consts if isinstance(c, CodeType) and c.co_name == node.name)
    _mark(new)
    return Converted(new, text)


def _class_of(code: CodeType) -> str | None:
    """The class whose method it is, for names that begin with two underscores."""
    parts = code.co_qualname.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


def _mark(code: CodeType) -> None:
    _made.add(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _mark(inner)
