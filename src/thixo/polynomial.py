"""Polynomials with whole coefficients: how symbolic sizes are kept, bounded and printed.

A polynomial is a dictionary from products of atoms to coefficients; an atom is a symbol or an expression
that is no polynomial, such as a quotient.
"""

from typing import Any, TypeAlias

Monomial: TypeAlias = "tuple[Atom, ...]"  # a product of atoms, sorted; () is 1
Terms: TypeAlias = "dict[Monomial, int]"  # a polynomial: coefficient of each product
Bounds: TypeAlias = "tuple[int | None, int | None]"


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
        self.text = str(args[0]) if kind == "symbol" else atom_text(kind, *args)
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


def add(a: Terms, b: Terms) -> Terms:
    """Two polynomials added."""
    total = dict(a)
    for m, c in b.items():
        total[m] = total.get(m, 0) + c
    return total


def product_bounds(monomial: Monomial) -> Bounds:
    """The least and the greatest value of a product, None where there is no bound."""
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


def without(monomial: Monomial, divisor: Monomial) -> "Monomial | None":
    """A product without some factors, None where it lacks one of them."""
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def degree(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    """The order in which a long division takes the terms."""
    return len(term[0]), [a.text for a in term[0]]


# ---- text


def polynomial_text(terms: Terms) -> str:
    """How a polynomial prints: "2*n + 1"."""
    text = ""
    for monomial, c in sorted(terms.items(), key=_print_order):
        body = _monomial_text(monomial, c)
        if text:
            text += f" - {body}" if c < 0 else f" + {body}"
        else:
            text = "-" + body if c < 0 else body
    return text


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


def atom_text(kind: str, a: Any, b: Any) -> str:
    """How a quotient, remainder, maximum or minimum prints."""
    if kind in ("max", "min"):
        return f"{kind}({a}, {b})"
    return f"{_operand_text(a)}{kind}{_operand_text(b)}"


def _operand_text(x: Any) -> str:
    if not isinstance(x, int):
        ((monomial, c), *others) = x.terms.items()
        simple = not others and c == 1 and len(monomial) == 1
        return str(x) if simple and monomial[0].kind in ("symbol", "max", "min") else f"({x})"
    return str(x) if x >= 0 else f"({x})"
