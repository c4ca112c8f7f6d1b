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
import math
import operator
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

from thixo.errors import ArgumentError, DomainError, TraceError, user_line

Size: TypeAlias = "int | Dim"
Monomial: TypeAlias = "tuple[Atom, ...]"  # a product of atoms, sorted; () is 1
Terms: TypeAlias = "dict[Monomial, int]"  # a polynomial: coefficient of each product
Bounds: TypeAlias = "tuple[int | None, int | None]"

_DECIDE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Atom:
    """A symbol, or a quotient, remainder, maximum or minimum that is no polynomial."""

    __slots__ = ("_hash", "args", "bounds", "hint", "kind", "text")

    def __init__(
        self, kind: str, args: tuple[Any, ...], hint: int | None = None, bounds: Bounds = (0, None)
    ) -> None:
        self.kind = kind  # "symbol" | "//" | "%" | "max" | "min"
        self.args = args  # the name, or the two operands
        self.hint = hint
        self.bounds = bounds
        self.text = str(args[0]) if kind == "symbol" else _atom_text(kind, *args)
        self._hash = hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and self.text == other.text)

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: "Atom") -> bool:
        return self.text < other.text

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return Atom, (
            self.kind,
            self.args,
            self.hint,
            self.bounds,
        )  # the hash is this process's own

    def value(self, bindings: Mapping[str, Size], partial: bool) -> Size:
        """This atom with sizes in place of its symbols."""
        if self.kind == "symbol":
            name = self.args[0]
            if name in bindings:
                return bindings[name]
            if partial:
                return Dim._from({(self,): 1})
            raise ArgumentError(
                f"size: no value for {name}; given: {', '.join(bindings) or 'none'}"
            )
        a, b = (_substitute(x, bindings, partial) for x in self.args)
        return _APPLY[self.kind](a, b)


class Dim:
    """A symbolic size. `hint` is its value in the example at hand, `low` and `high` bound it.

    >>> n = Dim("n", hint=6, low=2)
    >>> n >= 2, (n + 1) // 2, (n * 2).evaluate({"n": 10})
    (True, (n + 1)//2, 20)
    """

    __slots__ = ("_hash", "_hint", "terms")
    terms: Terms

    def __init__(
        self, name: str, hint: int | None = None, low: int = 0, high: int | None = None
    ) -> None:
        if not name.isidentifier() or name in ("max", "min"):
            raise ArgumentError(f"Dim: {name!r} is no name for a size")
        self.terms = {(Atom("symbol", (name,), hint, (low, high)),): 1}
        self._hash: int | None = None
        self._hint: int | None = hint

    @staticmethod
    def _from(terms: Terms) -> "Dim":
        dim = object.__new__(Dim)
        dim.terms = terms
        dim._hash = None
        dim._hint = None
        return dim

    def __reduce__(self) -> tuple[Any, ...]:
        return Dim._from, (self.terms,)

    @property
    def hint(self) -> int | None:
        """The value in the example at hand, None where a symbol has none."""
        if self._hint is None:
            total = 0
            for monomial, coefficient in self.terms.items():
                for atom in monomial:
                    hint = atom.hint if atom.kind == "symbol" else _hint_of(atom)
                    if hint is None:
                        return None
                    coefficient *= hint
                total += coefficient
            self._hint = total
        return self._hint

    @property
    def symbols(self) -> dict[str, Atom]:
        """The symbols in it, by name."""
        found: dict[str, Atom] = {}
        for monomial in self.terms:
            for atom in monomial:
                if atom.kind == "symbol":
                    found[atom.args[0]] = atom
                else:
                    for x in atom.args:
                        found.update(x.symbols if isinstance(x, Dim) else {})
        return found

    @property
    def bounds(self) -> Bounds:
        """The least and the greatest value it can have, None where there is no bound."""
        low: int | None = 0
        high: int | None = 0
        for monomial, c in self.terms.items():
            least, most = _product_bounds(monomial)
            if c < 0:
                least, most = most, least
            low = None if low is None or least is None else low + c * least
            high = None if high is None or most is None else high + c * most
        return low, high

    def evaluate(self, bindings: Mapping[str, int]) -> int:
        """Its value where each symbol has one."""
        return _substitute(self, bindings, False)  # type: ignore[return-value]

    def substitute(self, bindings: Mapping[str, Size]) -> Size:
        """The same expression with other sizes in place of some symbols."""
        return _substitute(self, bindings, True)

    # ---- arithmetic

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Dim):
            return _build(_sum(self.terms, other.terms))
        if isinstance(other, Integral):
            return self if other == 0 else _build(_sum(self.terms, {(): int(other)}))
        return _as_number(self) + other if isinstance(other, Real) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Dim._from({m: -c for m, c in self.terms.items()})

    def __pos__(self) -> "Dim":
        return self

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, Dim | Integral | Real):
            return NotImplemented
        return self + -other  # type: ignore[operator]

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dim):
            product: Terms = {}
            for m1, c1 in self.terms.items():
                for m2, c2 in other.terms.items():
                    m = tuple(sorted(m1 + m2))
                    product[m] = product.get(m, 0) + c1 * c2
            return _build(product)
        if isinstance(other, Integral):
            return (
                self if other == 1 else _build({m: c * int(other) for m, c in self.terms.items()})
            )
        return _as_number(self) * other if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Integral) and exponent >= 0:
            return math.prod([self] * int(exponent))
        return _as_number(self) ** exponent if isinstance(exponent, Real) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        return _floordiv(self, other) if isinstance(other, Dim | int) else self._real("//", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _floordiv(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return _mod(self, other) if isinstance(other, Dim | int) else self._real("%", other)

    def __rmod__(self, other: Any) -> Any:
        return _mod(other, self) if isinstance(other, int) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def _real(self, op: str, other: Any) -> Any:
        if isinstance(other, Integral):
            return _APPLY[op](self, int(other))
        if isinstance(other, Real):
            return _as_number(self) // other if op == "//" else _as_number(self) % other
        return NotImplemented

    # A quotient is a float, which Python has no symbols for: the size is fixed by a guard.
    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Dim):
            return _as_number(self) / _as_number(other)
        return _as_number(self) / other if isinstance(other, Real) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other / _as_number(self) if isinstance(other, Real) else NotImplemented

    # ---- questions that Python wants answered now

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self is other or self.terms == other.terms or _decide(self, "==", other)
        return _decide(self, "==", other) if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __lt__(self, other: Any) -> bool:
        return _decide(self, "<", other)

    def __le__(self, other: Any) -> bool:
        return _decide(self, "<=", other)

    def __gt__(self, other: Any) -> bool:
        return _decide(self, ">", other)

    def __ge__(self, other: Any) -> bool:
        return _decide(self, ">=", other)

    def __bool__(self) -> bool:
        return _decide(self, "!=", 0)

    def __int__(self) -> int:
        hint = self.hint
        if hint is None:
            raise TraceError(f"size {self} must be a number here, and is not known while tracing")
        _keep(Guard(self, "==", hint, True, user_line()))
        return hint

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    # ---- text

    def __str__(self) -> str:
        text = ""
        for monomial, c in sorted(self.terms.items(), key=_print_order):
            sign = "-" if c < 0 else "+"
            body = _monomial_text(monomial, c)
            text = f"{text} {sign} {body}" if text else body if c > 0 else "-" + body
        return text

    __repr__ = __str__


# ---- guards


class Guard(NamedTuple):
    """An answer given while tracing: `left op right` was `result`, asked at `line`."""

    left: Size
    op: str
    right: Size
    result: bool
    line: str | None

    def holds(self, bindings: Mapping[str, int]) -> bool:
        """Whether other sizes give the same answer."""
        left, right = (_substitute(x, bindings, False) for x in (self.left, self.right))
        return bool(_DECIDE[self.op](left, right)) == self.result

    def __str__(self) -> str:
        op = self.op if self.result else _OPPOSITE[self.op]
        return f"{self.left} {op} {self.right}"


class _Active(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[list[Guard], set[str]]] = []


_active = _Active()


@contextmanager
def guards() -> Iterator[list[Guard]]:
    """Collect the answers given by hint inside of the `with` block, each once."""
    kept: list[Guard] = []
    _active.stack.append((kept, set()))
    try:
        yield kept
    finally:
        _active.stack.pop()


def _keep(guard: Guard) -> None:
    if _active.stack:
        kept, seen = _active.stack[-1]
        text = str(guard)
        if text not in seen:
            seen.add(text)
            kept.append(guard)


def _decide(left: "Dim", op: str, right: Any) -> bool:
    if isinstance(right, float):
        return bool(_DECIDE[op](_as_number(left), right))
    if not isinstance(right, Dim | Integral):
        return NotImplemented
    known = compare(left, op, right)  # type: ignore[arg-type]
    if known is not None:
        return known
    hint = (left - right).hint
    if hint is None:
        if op not in ("==", "!=") or isinstance(right, Dim) or right not in (0, 1):
            raise TraceError(
                f"size: {left} {op} {right} is not known while tracing, "
                "and the program branches on it"
            )
        hint = 1  # a size that the data decide is taken to be neither 0 nor 1; the guard checks it
    result = bool(_DECIDE[op](hint, 0))
    _keep(Guard(left, op, right, result, user_line()))  # type: ignore[arg-type]
    return result


def compare(left: Size, op: str, right: Size) -> bool | None:
    """Whether `left op right` for every value of the symbols; None where it depends on them.

    >>> n = Dim("n", low=2)
    >>> compare(n, ">", 1), compare(n, ">", 2), compare(2 * n, "==", n + n)
    (True, None, True)
    """
    difference = left - right
    if not isinstance(difference, Dim):
        return bool(_DECIDE[op](difference, 0))
    low, high = difference.bounds
    if low is not None and low > 0:
        return op in (">", ">=", "!=")
    if high is not None and high < 0:
        return op in ("<", "<=", "!=")
    if low == 0 and op in (">=", "<"):
        return op == ">="
    if high == 0 and op in ("<=", ">"):
        return op == "<="
    return None


def _as_number(x: Size) -> int:
    return int(x)


# ---- functions of sizes


def dim_max(a: Size, b: Size) -> Size:
    """The greater size, without asking which it is.

    >>> n = Dim("n")
    >>> dim_max(n, 3), dim_max(n, n + 1), dim_max(2, 5)
    (max(3, n), n + 1, 5)
    """
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return _greater_or_lesser("max", a, b, ">=")


def dim_min(a: Size, b: Size) -> Size:
    """The lesser size, without asking which it is."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return _greater_or_lesser("min", a, b, "<=")


def _greater_or_lesser(kind: str, a: Size, b: Size, op: str) -> Size:
    if compare(a, op, b):
        return a
    if compare(b, op, a):
        return b
    return _atom(kind, *sorted((a, b), key=str))


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
            return _APPLY[name](_read(a, symbols), _read(b, symbols))
    raise ValueError


# ---- polynomials


def _build(terms: Terms) -> Size:
    terms = {m: c for m, c in terms.items() if c != 0}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Dim._from(terms)


def _sum(a: Terms, b: Terms) -> Terms:
    total = dict(a)
    for m, c in b.items():
        total[m] = total.get(m, 0) + c
    return total


def _terms(x: Size) -> Terms:
    return x.terms if isinstance(x, Dim) else {(): x} if x else {}


def _atom(kind: str, a: Size, b: Size) -> Dim:
    (a_low, a_high), (b_low, b_high) = _bounds(a), _bounds(b)
    bounds: Bounds = (None, None)
    if kind == "max":
        lows = [x for x in (a_low, b_low) if x is not None]
        bounds = (
            max(lows, default=None),
            None if None in (a_high, b_high) else max(a_high, b_high),
        )  # type: ignore[type-var, assignment]
    elif kind == "min":
        highs = [x for x in (a_high, b_high) if x is not None]
        bounds = (None if None in (a_low, b_low) else min(a_low, b_low), min(highs, default=None))  # type: ignore[type-var, assignment]
    elif b_low is not None and b_low > 0:
        if kind == "%":
            bounds = (0, None if b_high is None else b_high - 1)
        elif a_low is not None and a_low >= 0:
            least = 0 if b_high is None else a_low // b_high
            bounds = (least, None if a_high is None else a_high // b_low)
        elif isinstance(b, int):
            bounds = (
                None if a_low is None else a_low // b,
                None if a_high is None else a_high // b,
            )
    return Dim._from({(Atom(kind, (a, b), None, bounds),): 1})


def _bounds(x: Size) -> Bounds:
    return x.bounds if isinstance(x, Dim) else (x, x)


def _product_bounds(monomial: Monomial) -> Bounds:
    if len(monomial) == 1:
        return monomial[0].bounds
    low: int = 1
    high: int | None = 1
    for atom in monomial:
        least, most = atom.bounds
        if least is None or least < 0:
            return None, None
        low *= least
        high = None if high is None or most is None else high * most
    return low, high


def _hint_of(atom: Atom) -> int | None:
    if atom.hint is None:
        a, b = (x.hint if isinstance(x, Dim) else x for x in atom.args)
        if a is None or b is None or (b == 0 and atom.kind in ("//", "%")):
            return None
        atom.hint = _APPLY[atom.kind](a, b)
    return atom.hint


def _substitute(x: Size, bindings: Mapping[str, Size], partial: bool) -> Size:
    if not isinstance(x, Dim):
        return x
    total: Size = 0
    for monomial, c in x.terms.items():
        term: Size = c
        for atom in monomial:
            term = term * atom.value(bindings, partial)
        total = total + term
    return total


# ---- division


def _floordiv(a: Size, b: Size) -> Size:
    if isinstance(b, int):
        if b == 0:
            raise DomainError(f"size: {a} // 0 has no value")
        return _floordiv_number(a, b) if b > 0 else _floordiv_number(-a, -b)
    if isinstance(a, int) and a == 0:
        return 0
    quotient, rest = _divide(a, b)
    return quotient if isinstance(rest, int) and rest == 0 else quotient + _atom("//", rest, b)


def _floordiv_number(a: Size, b: int) -> Size:
    if not isinstance(a, Dim):
        return a // b
    quotient, rest = _split(a, b)
    if not isinstance(rest, Dim):
        return quotient + rest // b
    low, high = rest.bounds
    if low is not None and high is not None and low // b == high // b:
        return quotient + low // b
    # (4n + 2k + 3) // 6 is (2n + k + 1) // 3
    constant = rest.terms.get((), 0)
    shared = math.gcd(b, *(c for m, c in rest.terms.items() if m))
    if shared > 1:
        less = {m: c // shared for m, c in rest.terms.items() if m}
        return quotient + _floordiv_number(_build({**less, (): constant // shared}), b // shared)
    # (x // 2 + 1) // 3 is (x + 2) // 6
    (monomial, c), *others = [(m, c) for m, c in rest.terms.items() if m]
    if not others and c == 1 and len(monomial) == 1 and monomial[0].kind == "//":
        x, divisor = monomial[0].args
        if isinstance(divisor, int):
            return quotient + _floordiv_number(x + constant * divisor, divisor * b)
    return quotient + _atom("//", rest, b)


def _mod(a: Size, b: Size) -> Size:
    if isinstance(b, int):
        if b == 0:
            raise DomainError(f"size: {a} % 0 has no value")
        if not isinstance(a, Dim):
            return a % b
        _, rest = _split(a, abs(b))
        if not isinstance(rest, Dim):
            return rest % b
        low, high = rest.bounds
        if low is not None and high is not None and low >= 0 and high < b:
            return rest
        return _atom("%", rest, b)
    if isinstance(a, int) and a == 0:
        return 0
    _, rest = _divide(a, b)
    return 0 if isinstance(rest, int) and rest == 0 else _atom("%", rest, b)


def _split(a: Dim, b: int) -> tuple[Size, Size]:
    """a = quotient * b + rest, with small coefficients in the rest."""
    quotient: Terms = {}
    rest: Terms = {}
    for m, c in a.terms.items():
        whole = c // b if not m or c > 0 else -(-c // b)
        quotient[m], rest[m] = whole, c - whole * b
    return _build(quotient), _build(rest)


def _divide(a: Size, b: Dim) -> tuple[Size, Size]:
    """a = quotient * b + rest: term by term for a product, all or nothing for a sum."""
    if len(b.terms) == 1:
        ((divisor, factor),) = b.terms.items()
        quotient: Terms = {}
        rest: Terms = {}
        for m, c in _terms(a).items():
            left = _without(m, divisor)
            if left is None or c % factor:
                rest[m] = c
            else:
                quotient[left] = c // factor
        return _build(quotient), _build(rest)
    lead, factor = max(b.terms.items(), key=_degree)
    found: Size = 0
    remaining = a
    while isinstance(remaining, Dim):
        m, c = max(remaining.terms.items(), key=_degree)
        left = _without(m, lead)
        if left is None or c % factor:
            return 0, a
        step = _build({left: c // factor})
        found, remaining = found + step, remaining - step * b
    return (found, 0) if remaining == 0 else (0, a)


def _without(monomial: Monomial, divisor: Monomial) -> "Monomial | None":
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _degree(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    return len(term[0]), [a.text for a in term[0]]


# ---- text


def _print_order(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    return -len(term[0]), [a.text for a in term[0]]


def _monomial_text(monomial: Monomial, c: int) -> str:
    if not monomial:
        return str(abs(c))
    parts = [str(abs(c))] if abs(c) != 1 else []
    for atom in dict.fromkeys(monomial):
        power = monomial.count(atom)
        alone = len(monomial) == 1 and c == 1
        text = atom.text if alone or atom.kind not in ("//", "%") else f"({atom.text})"
        parts.append(text if power == 1 else f"{text}**{power}")
    return "*".join(parts)


def _atom_text(kind: str, a: Size, b: Size) -> str:
    if kind in ("max", "min"):
        return f"{kind}({a}, {b})"
    return f"{_operand_text(a)}{kind}{_operand_text(b)}"


def _operand_text(x: Size) -> str:
    if isinstance(x, Dim):
        ((monomial, c), *others) = x.terms.items()
        simple = not others and c == 1 and len(monomial) == 1
        return str(x) if simple and monomial[0].kind in ("symbol", "max", "min") else f"({x})"
    return str(x) if x >= 0 else f"({x})"


_APPLY: dict[str, Any] = {"//": _floordiv, "%": _mod, "max": dim_max, "min": dim_min}
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
