"""The operators of neural networks, as functions."""

from typing import Any

from thixo.ops import public


def __getattr__(name: str) -> Any:
    operator = public.find("nn.functional." + name)
    if operator is None:
        raise AttributeError(f"module 'thixo.nn.functional' has no attribute {name!r}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return public.names("nn.functional")
