"""Sizes that are not known yet: integer expressions of symbols.

A `Dim` is kept as a polynomial, so two ways of writing one size are equal, hash alike and print alike.
Division, remainder, max and min of expressions are atoms of the polynomial, next to the symbols.

>>> n, m = Dim("n", hint=6), Dim("m", hint=4)
>>> (n + 1) * 2 - 1, (n * m) // m, n - n, (4 * n + 6) // 4
(2*n + 1, n, 0, n + 1)

Python asks some questions at once (`if n > 3`). They are answered by the hint, the size of the example
at hand, and the answer is kept as a guard: what was decided holds for other sizes only where the guard does.

>>> with guards() as kept:
...     n > 3, n == m, n * 2 == n + n      # the last one needs no hint
(True, False, True)
>>> [str(g) for g in kept]
['n > 3', 'n != m']
"""

import ast
import operator
import threading
from collections.abc import Mapping
from typing import Any

from thixo.dim import APPLY, Dim, Size, dim_max, dim_min
from thixo.errors import ArgumentError, DomainError, TraceError
from thixo.guards import Guard, compare, guards

__all__ = [
    "Dim",
    "Guard",
    "Size",
    "compare",
    "dim_max",
    "dim_min",
    "evaluate",
    "fresh_dim",
    "guards",
    "hint_of",
    "is_symbolic",
    "parse_dim",
    "same",
]


def same(a: Size, b: Size) -> bool:
    """Whether two sizes are one expression. Unlike `==` it decides nothing.

    >>> same(Dim("n"), Dim("m")), same(Dim("n") * 2, Dim("n") + Dim("n"))
    (False, True)
    """
    if isinstance(a, Dim):
        return isinstance(b, Dim) and a.terms == b.terms
    return not isinstance(b, Dim) and a == b


def is_symbolic(x: object) -> bool:
    """Whether a size, or a size in a shape, is symbolic.

    >>> is_symbolic(Dim("n")), is_symbolic((2, Dim("n"))), is_symbolic((2, 3))
    (True, True, False)
    """
    if isinstance(x, tuple | list):
        return any(isinstance(s, Dim) for s in x)
    return isinstance(x, Dim)


def evaluate(x: Size, bindings: Mapping[str, int]) -> int:
    """A size where each symbol has a value; plain numbers are themselves."""
    return x.evaluate(bindings) if isinstance(x, Dim) else x


def hint_of(x: Size) -> int:
    """A size in the example at hand."""
    if not isinstance(x, Dim):
        return x
    hint = x.hint
    if hint is None:
        raise TraceError(f"size {x} has no value in the example")
    return hint


_fresh: dict[str, int] = {}
_fresh_lock = threading.Lock()


def fresh_dim(
    name: str = "u", hint: int | None = None, low: int = 0, high: int | None = None
) -> Dim:
    """A size of its own, for results whose size the data decide: u0, u1, ...

    >>> a, b = fresh_dim("found"), fresh_dim("found")
    >>> same(a, b)
    False
    """
    with _fresh_lock:
        number = _fresh[name] = _fresh.get(name, -1) + 1
    return Dim(f"{name}{number}", hint, low, high)


def parse_dim(text: str, symbols: Mapping[str, Size] | None = None) -> Size:
    """Read a size as `str` prints it. Names not in `symbols` become new symbols.

    >>> parse_dim("2*n + 1") - parse_dim("n"), parse_dim("max(3, n)//2"), parse_dim("7")
    (n + 1, max(3, n)//2, 7)
    """
    try:
        return _read(ast.parse(text.strip(), mode="eval").body, symbols or {})
    except ZeroDivisionError:
        raise DomainError(f"size: {text!r} divides by zero and has no value") from None
    except (SyntaxError, KeyError, ValueError):
        raise ArgumentError(f"size: cannot read {text!r}; needs such as '2*n + 1'") from None


def _read(node: ast.AST, symbols: Mapping[str, Size]) -> Size:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return symbols[name] if name in symbols else Dim(name)
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return -_read(x, symbols)
        case ast.BinOp(left=a, op=op, right=b):
            return _OPERATORS[type(op)](_read(a, symbols), _read(b, symbols))
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[a, b], keywords=[]):
            return APPLY[name](_read(a, symbols), _read(b, symbols))
    raise ValueError


_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
