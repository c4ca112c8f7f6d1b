"""Windows: weights that fade a stretch of samples out at its ends."""

from typing import Any

from thixo.ops import public


def __getattr__(name: str) -> Any:
    operator = public.find("signal.windows." + name)
    if operator is None:
        raise AttributeError(f"module 'thixo.signal.windows' has no attribute {name!r}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return public.names("signal.windows")
