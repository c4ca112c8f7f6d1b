"""Linear algebra: determinants, decompositions, solvers, norms."""

from typing import Any

from thixo.errors import LinearAlgebraError as LinAlgError  # noqa: F401  (PyTorch's name)
from thixo.ops import public


def __getattr__(name: str) -> Any:
    operator = public.find("linalg." + name)
    if operator is None:
        raise AttributeError(f"module 'thixo.linalg' has no attribute {name!r}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return [*public.names("linalg"), "LinAlgError"]
