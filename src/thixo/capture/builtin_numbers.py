"""Built-in functions that make numbers and tensors: int, float, abs, round, math, item, tensor."""

import math
from typing import Any

from thixo import _core
from thixo.capture import operators
from thixo.capture.frames import current
from thixo.capture.numbers import as_tensor, number
from thixo.capture.paths import look
from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import call_told, is_told, special, stand_in
from thixo.capture.values import DTYPES, Choice, Mixed, Number, Symbolic, kind_of
from thixo.dtype import bool as bool_
from thixo.dtype import get_default_dtype
from thixo.making import as_tensor as as_a_tensor
from thixo.ops import public as tx
from thixo.symbolic import Dim
from thixo.tensor import tensor


def converter(kind: str) -> Any:
    plain = {"int": int, "float": float, "bool": bool}[kind]

    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return plain(*args, **kwargs)
        x = args[0]
        if isinstance(x, Choice):
            return operators.spread(x, convert)
        if kind == "bool":
            return operators.truth(x)
        if isinstance(x, Mixed):
            x = operators.as_plain_tensor(x, kind) if x.kind == "none" else x.tensor
        if isinstance(x, _core.Tensor):
            return item(x, kind)
        if isinstance(x, Number):
            tensor = tx.trunc(x.tensor) if kind == "int" and x.kind == "float" else x.tensor
            return number(tensor, kind)
        if isinstance(x, Dim):
            return x if kind == "int" else Number(kind, as_tensor(x, kind))
        return plain(stand_in(x))

    return convert


def item(x: Any, kind: str | None = None) -> Any:
    """`x.item()`, or int(x) and the like."""
    if any(not isinstance(s, int) or s != 1 for s in x.shape):
        raise Refused(
            "item()",
            f"a tensor of shape {list(x.shape)} has more than one element",
            "reduce it before",
        )
    own = {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(x.dtype.kind)
    if own is None:
        raise Refused("item()", f"of {x.dtype}", "use real numbers")
    if kind == "int" and own == "float":
        x = tx.trunc(x)
    return number(x, kind or own)


def tolist(x: Any) -> Any:
    if x.ndim == 0:
        return item(x)
    if not all(isinstance(s, int) for s in x.shape):
        raise Refused("tolist()", "its length is not known here", "use operators of whole tensors")
    own = {"b": "bool", "i": "int", "u": "int", "f": "float"}[x.dtype.kind]
    flat = tx.detach(x)

    def level(part: Any) -> Any:
        if part.ndim == 0:
            return number(part, own)
        return current().made([level(part[i]) for i in range(part.shape[0])])

    return level(flat)


def abs_(x: Any) -> Any:
    if isinstance(x, Number):
        kind = "int" if x.kind == "bool" else x.kind
        return Number(kind, tx.abs(as_tensor(x, kind)))
    if isinstance(x, Mixed) and x.kind != "none":
        return Mixed(x.kind, tx.abs(x.tensor), x.flag)
    if isinstance(x, Choice):
        return operators.spread(x, abs_)
    if isinstance(x, Dim):
        return x if x >= 0 else -x  # a guard, where it may be either
    return abs(x) if special(x, "abs") is None else _call(special(x, "abs"), x)


def round_(x: Any, digits: Any = None) -> Any:
    if special(x, "round") is not None:
        return _call(special(x, "round"), x, *([] if digits is None else [digits]))
    if not isinstance(x, Number):
        return round(x) if digits is None else round(x, digits)
    if x.kind != "float":
        return x if digits is None or digits >= 0 else _refuse_round()
    if digits is None:
        return Number("int", tx.to(tx.round(x.tensor), tx_int64()))
    return _refuse_round()


def _refuse_round() -> Any:
    raise Refused("round", "decimal digits of a number that the data decide", "round a tensor")


def tx_int64() -> Any:
    from thixo.dtype import int64

    return int64


def divmod_(a: Any, b: Any) -> Any:
    if isinstance(a, Symbolic | Dim) or isinstance(b, Symbolic | Dim):
        return operators.binary("floordiv", a, b), operators.binary("mod", a, b)
    return call_told(divmod, a, b) if is_told(a) or is_told(b) else divmod(a, b)


def _call(method: Any, *args: Any) -> Any:
    from thixo.capture.callees import call_function

    return call_function(method, args, {})


def math_function(name: str) -> Any:
    plain = getattr(math, name)
    domains = {"sqrt": lambda t: t >= 0, "log": lambda t: t > 0, "log2": lambda t: t > 0, "log10": lambda t: t > 0, "log1p": lambda t: t > -1,
               "acos": lambda t: tx.abs(t) <= 1, "asin": lambda t: tx.abs(t) <= 1}  # fmt: skip

    def apply(*args: Any) -> Any:
        if not any(isinstance(a, Symbolic | _core.Tensor) for a in args):
            return plain(*(int(a) if isinstance(a, Dim) else stand_in(a) for a in args))
        if len(args) != 1 or isinstance(args[0], Mixed | Choice):
            raise Refused(f"math.{name}", "of values that the data decide", f"use tx.{name}")
        x = args[0]
        tensor = (
            item(x, "float")
            if isinstance(x, _core.Tensor)
            else Number("float", as_tensor(x, "float"))
        ).tensor
        if name in domains:
            from thixo.capture.effects import check

            check(
                tx.logical_or(domains[name](tensor), tensor != tensor),
                "ValueError",
                "math domain error",
            )
        if name in ("floor", "ceil", "trunc"):
            return Number("int", tx.to(getattr(tx, name)(tensor), tx_int64()))
        if name in ("isnan", "isinf", "isfinite"):
            return Number("bool", getattr(tx, name)(tensor))
        made = getattr(tx, "abs" if name == "fabs" else name)(tensor)
        if name in ("exp", "cosh", "sinh", "expm1"):
            from thixo.capture.effects import check

            check(
                tx.logical_or(tx.isfinite(made), tx.logical_not(tx.isfinite(tensor))),
                "OverflowError",
                "math range error",
            )
        return Number("float", made)

    return apply


def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    if not any(isinstance(x, Symbolic | _core.Tensor) for x in (a, b)):
        return math.isclose(stand_in(a), stand_in(b), rel_tol=rel_tol, abs_tol=abs_tol)
    convert = converter("float")
    left, right = (as_tensor(convert(x), "float") for x in (a, b))
    largest = tx.maximum(tx.abs(left), tx.abs(right))
    near = tx.abs(left - right) <= tx.clamp(largest * rel_tol, min=abs_tol)
    same = tx.logical_or(left == right, tx.logical_and(near, tx.isfinite(largest)))
    return Number("bool", same)


def tensor_(data: Any, *args: Any, **kwargs: Any) -> Any:
    """`tx.tensor`, of lists with numbers in them that the data decide."""
    look(current(), data)
    if is_told(data):
        raise Refused("tensor", "of an object whose class has code of its own", "use numbers")
    if isinstance(data, _core.Tensor):
        data = tx.detach(data)  # as a node: of one from outside, too
    if isinstance(data, _core.Tensor) or not _has_number(data):
        return tensor(data, *args, **kwargs)
    dtype = kwargs.get("dtype", args[0] if args else None)
    made = _stacked(data)
    if dtype is None and made.dtype.is_floating_point:
        dtype = get_default_dtype()
    return made if dtype is None else tx.to(made, dtype)


def as_tensor_(data: Any, *args: Any, **kwargs: Any) -> Any:
    """`tx.as_tensor`, which is `tx.tensor` of a list."""
    if not isinstance(data, list | tuple) and not is_told(data):
        return as_a_tensor(data, *args, **kwargs)
    names = ("dtype", "device")
    return tensor_(data, **dict(zip(names, args, strict=False)), **kwargs)


def _has_number(x: Any) -> bool:
    if isinstance(x, list | tuple):
        current().readable(x)
        return any(map(_has_number, x))
    return isinstance(x, Symbolic | Dim | _core.Tensor)


def _stacked(x: Any) -> Any:
    if isinstance(x, list | tuple):
        kinds = {_kind(e) for e in x}
        wide = "float" if "float" in kinds else "int" if "int" in kinds else "bool"
        if None not in kinds:
            return tx.stack([_as_kind(e, wide) for e in x])
        return tx.stack([_stacked(e) for e in x])
    if isinstance(x, Number | Dim):
        return as_tensor(x)
    if isinstance(x, _core.Tensor) and not x.ndim:
        return tx.detach(x)
    raise Refused("tensor", f"of {x!r}", "use numbers")


def _kind(x: Any) -> str | None:
    """The kind of a number, or of what a tensor of one element holds."""
    if not isinstance(x, _core.Tensor) or x.ndim:
        return kind_of(x)
    if x.dtype is bool_:
        return "bool"
    return None if x.dtype.is_complex else "float" if x.dtype.is_floating_point else "int"


def _as_kind(x: Any, kind: str) -> Any:
    if isinstance(x, _core.Tensor):
        return tx.to(tx.detach(x), DTYPES[kind])
    return as_tensor(x, kind)
