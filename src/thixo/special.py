"""Special functions of mathematics."""

from typing import Any

from thixo.ops import public


def __getattr__(name: str) -> Any:
    operator = public.find("special." + name)
    if operator is None:
        raise AttributeError(f"module 'thixo.special' has no attribute {name!r}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return public.names("special")
