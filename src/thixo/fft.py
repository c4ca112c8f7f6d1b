"""Discrete Fourier transforms."""

from typing import Any

from thixo.ops import public


def __getattr__(name: str) -> Any:
    operator = public.find("fft." + name)
    if operator is None:
        raise AttributeError(f"module 'thixo.fft' has no attribute {name!r}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return public.names("fft")
