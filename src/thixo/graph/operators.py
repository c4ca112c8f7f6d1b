"""Finding an operator's declaration by name, and a call's arguments in signature order."""

from collections.abc import Sequence
from typing import Any

import thixo.graph.effects  # noqa: F401  (declares operators)
from thixo.errors import ArgumentError, GraphError, nearest
from thixo.graph.control import CONTROL
from thixo.ops.base import TABLE
from thixo.ops.signature import REQUIRED
from thixo.symbolic import Dim


def find(name: str) -> Any:
    """The declaration of an operator, by its full name: "add", "linalg.det"."""
    op: Any = TABLE.get(name)
    if op is None and name not in CONTROL:
        from thixo.ops import public

        found: Any = public
        for part in name.split("."):
            found = getattr(found, part, None)  # loads the file that declares it
        op = TABLE.get(name)
    op = op or CONTROL.get(name)
    if op is None:
        raise GraphError(f"graph: there is no operator {name!r}{nearest(name, (*TABLE, *CONTROL))}")
    return op


def bind(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call, one for each parameter, defaults filled in."""
    params = op.sig.params
    positional = [p for p in params if not p.keyword_only]
    if len(args) > len(positional):
        last = positional[-1] if positional else None
        if last is None or not last.rest:
            raise ArgumentError(
                f"{op.full_name}: takes {len(positional)} positional arguments, got {len(args)}"
            )
        keep = len(positional) - 1
        args = (*args[:keep], tuple(args[keep:]))
    given = dict(zip((p.name for p in positional), args, strict=False))
    for name, value in kwargs.items():
        if op.sig.place(name) < 0 or name in given:
            problem = "twice" if name in given else "but has no such parameter"
            raise ArgumentError(f"{op.full_name}: got {name!r} {problem}: {op.sig.text}")
        given[name] = value
    bound = []
    for p in params:
        value = given.get(p.name, p.default)
        if value is REQUIRED:
            raise ArgumentError(f"{op.full_name}: lacks {p.name!r}: {op.sig.text}")
        bound.append(_as_kind(p.kind, value))
    return tuple(bound)


def _as_kind(kind: str, value: Any) -> Any:
    if kind == "ints":
        if isinstance(value, int | Dim):
            return (value,)
        if isinstance(value, list):
            return tuple(value)
    if kind == "tensors" and isinstance(value, tuple):
        return list(value)
    return value


def call_arguments(op: Any, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments in signature order as a call takes them: positional ones, keyword-only ones."""
    positional, named = [], {}
    for p, a in zip(op.sig.params, args, strict=True):
        if p.keyword_only:
            named[p.name] = a
        else:
            positional.append(a)
    return positional, named
