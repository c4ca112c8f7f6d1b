"""Operators that leave out the elements a mask hides: `tx.masked.mean(x, mask=seen)`."""

from typing import Any

from thixo.ops import public


def __getattr__(name: str) -> Any:
    operator = public.find("masked." + name)
    if operator is None:
        raise AttributeError(f"module 'thixo.masked' has no attribute {name!r}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return public.names("masked")
