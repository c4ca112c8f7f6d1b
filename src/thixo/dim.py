"""`Dim`: a size that is not known yet, an integer expression of symbols. See `symbolic.py`."""

import math
import sys
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeAlias

from thixo.errors import ArgumentError, DomainError, TraceError, user_line
from thixo.guards import DECIDE, Guard, collecting, compare, decide, keep
from thixo.polynomial import (
    Atom,
    Bounds,
    Terms,
    add,
    degree,
    polynomial_text,
    product_bounds,
    without,
)

Size: TypeAlias = "int | Dim"


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

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        """`int` where a program asks that is being traced, since that is what a size is there; a `Dim` for all others."""
        if not collecting():
            return Dim
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__") == "abc" and frame.f_back:  # asks for somebody else
            frame = frame.f_back
        asks = frame.f_globals.get("__name__", "")
        return Dim if asks.partition(".")[0] == "thixo" else int

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
            least, most = product_bounds(monomial)
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
            return _build(add(self.terms, other.terms))
        if isinstance(other, Integral):
            return self if other == 0 else _build(add(self.terms, {(): int(other)}))
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
        if isinstance(exponent, Integral) and int(exponent) >= 0:
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

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self) if isinstance(other, int) else NotImplemented

    def _real(self, op: str, other: Any) -> Any:
        if isinstance(other, Integral):
            return APPLY[op](self, int(other))
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
            return self is other or self.terms == other.terms or decide(self, "==", other)
        if isinstance(other, complex):
            return not other.imag and self == other.real
        if isinstance(other, float):
            return other.is_integer() and decide(self, "==", int(other))
        return decide(self, "==", int(other)) if isinstance(other, Integral) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __lt__(self, other: Any) -> bool:
        return _ask(self, "<", other)

    def __le__(self, other: Any) -> bool:
        return _ask(self, "<=", other)

    def __gt__(self, other: Any) -> bool:
        return _ask(self, ">", other)

    def __ge__(self, other: Any) -> bool:
        return _ask(self, ">=", other)

    def __bool__(self) -> bool:
        return decide(self, "!=", 0)

    def __int__(self) -> int:
        hint = self.hint
        if hint is None:
            raise TraceError(f"size {self} must be a number here, and is not known while tracing")
        keep(Guard(self, "==", hint, True, user_line()))
        return hint

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    # ---- text

    def __str__(self) -> str:
        return polynomial_text(self.terms)

    __repr__ = __str__


def _ask(left: Dim, op: str, right: Any) -> bool:
    if isinstance(right, Dim | Integral):
        return decide(left, op, right if isinstance(right, Dim) else int(right))
    if isinstance(right, Real):
        return bool(DECIDE[op](_as_number(left), right))
    return NotImplemented


def _as_number(x: Size) -> int:
    return int(x)


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


# ---- polynomials


def _build(terms: Terms) -> Size:
    terms = {m: c for m, c in terms.items() if c != 0}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Dim._from(terms)


def _terms(x: Size) -> Terms:
    return x.terms if isinstance(x, Dim) else {(): x} if x else {}


def _atom(kind: str, a: Size, b: Size) -> Dim:
    (a_low, a_high), (b_low, b_high) = _bounds(a), _bounds(b)
    bounds: Bounds = (None, None)
    lows = [x for x in (a_low, b_low) if x is not None]
    highs = [x for x in (a_high, b_high) if x is not None]
    if kind == "max":
        bounds = (max(lows, default=None), max(highs) if len(highs) == 2 else None)
    elif kind == "min":
        bounds = (min(lows) if len(lows) == 2 else None, min(highs, default=None))
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


def _hint_of(atom: Atom) -> int | None:
    if atom.hint is None:
        a, b = (x.hint if isinstance(x, Dim) else x for x in atom.args)
        if a is None or b is None or (b == 0 and atom.kind in ("//", "%")):
            return None
        atom.hint = APPLY[atom.kind](a, b)
    return atom.hint


def _substitute(x: Size, bindings: Mapping[str, Size], partial: bool) -> Size:
    if not isinstance(x, Dim):
        return x
    total: Size = 0
    for monomial, c in x.terms.items():
        term: Size = c
        for atom in monomial:
            term = term * _value(atom, bindings, partial)
        total = total + term
    return total


def _value(atom: Atom, bindings: Mapping[str, Size], partial: bool) -> Size:
    if atom.kind == "symbol":
        name = atom.args[0]
        if name in bindings:
            return bindings[name]
        if partial:
            return Dim._from({(atom,): 1})
        raise ArgumentError(f"size: no value for {name}; given: {', '.join(bindings) or 'none'}")
    a, b = (_substitute(x, bindings, partial) for x in atom.args)
    return APPLY[atom.kind](a, b)


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
            left = without(m, divisor)
            if left is None or c % factor:
                rest[m] = c
            else:
                quotient[left] = c // factor
        return _build(quotient), _build(rest)
    lead, factor = max(b.terms.items(), key=degree)
    found: Size = 0
    remaining = a
    while isinstance(remaining, Dim):
        m, c = max(remaining.terms.items(), key=degree)
        left = without(m, lead)
        if left is None or c % factor:
            return 0, a
        step = _build({left: c // factor})
        found, remaining = found + step, remaining - step * b
    return (found, 0) if remaining == 0 else (0, a)


APPLY: dict[str, Any] = {"//": _floordiv, "%": _mod, "max": dim_max, "min": dim_min}
