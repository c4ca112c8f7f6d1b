"""Symbolic sizes inside of types and arguments."""

from typing import Any

from thixo.symbolic import Dim, Size


def symbol_name(size: Size) -> str | None:
    """The name, where a size is one symbol and nothing else."""
    if not isinstance(size, Dim) or len(size.terms) != 1:
        return None
    ((factors, coefficient),) = size.terms.items()
    if coefficient != 1 or len(factors) != 1 or factors[0].kind != "symbol":
        return None
    return factors[0].args[0]


def symbols_in(size: Size) -> dict[str, Any]:
    """The symbols of a size, by name."""
    return size.symbols if isinstance(size, Dim) else {}


def sizes_in(a: Any) -> list[Dim]:
    """The symbolic sizes in an argument."""
    if isinstance(a, Dim):
        return [a]
    if isinstance(a, list | tuple):
        return [d for e in a for d in sizes_in(e)]
    if isinstance(a, slice):
        return sizes_in((a.start, a.stop, a.step))
    return []
