"""Python's built-in functions for captured code, and which functions may be called as they are."""

import builtins
import collections
import copy
import dataclasses
import functools
import itertools
import math
import operator
import types
from typing import Any

from thixo import _core
from thixo.capture import control, operators
from thixo.capture.effects import Listed, Text, is_open, say
from thixo.capture.frames import current
from thixo.capture.items import Items, as_items, enumerate_, range_, reversed_, zip_
from thixo.capture.numbers import as_tensor, number
from thixo.capture.paths import look
from thixo.capture.refusal import Refused
from thixo.capture.values import Choice, Maybe, Mixed, Number, Symbolic, is_ragged, kind_of
from thixo.dtype import DType, float32
from thixo.ops import public as tx
from thixo.symbolic import Dim
from thixo.tensor import tensor

_PURE_MODULES = frozenset(
    ("math", "cmath", "operator", "_operator", "itertools", "fractions", "numbers", "string")
)
_PURE: list[Any] = [
    abs, ascii, bin, bytes, callable, chr, complex, divmod, format, frozenset, hex, object, oct, ord, pow, repr,
    round, slice, str, type, collections.OrderedDict, collections.defaultdict, collections.deque, collections.Counter,
    functools.partial, functools.wraps, functools.update_wrapper, staticmethod, classmethod, property,
    collections.namedtuple,
]  # fmt: skip
_pure_ids = {id(f) for f in _PURE}


def is_pure(f: Any) -> bool:
    """Whether a function does nothing but compute, without looking at tensors' values."""
    if id(f) in _pure_ids or isinstance(f, DType):
        return True
    module = getattr(f, "__module__", None)
    return module in _PURE_MODULES and not isinstance(f, types.FunctionType)


def as_callable(x: Any) -> Any:
    """A user's function as code that is not converted may call it."""
    if isinstance(x, types.FunctionType | types.MethodType | functools.partial):
        module = getattr(x, "__module__", "") or ""
        if not module.startswith("thixo."):
            from thixo.capture.callees import call

            def called(*args: Any, **kwargs: Any) -> Any:
                return call(x, *args, **kwargs)

            called.stands_for = x  # type: ignore[attr-defined]
            return called
    return x


def iterate(x: Any) -> Any:
    """An iterable as Python may go over it."""
    from thixo.capture.callees import call_function

    if isinstance(x, _core.Tensor | Items):
        items = as_items(x)
        if not isinstance(items.length, int):
            raise Refused(
                "a sequence", "its length is not known here", "use operators of whole tensors"
            )
        return items.listed()
    if isinstance(x, Symbolic):
        raise Refused("a sequence", f"it is {x!r}", "use a tensor or a list")
    look(current(), x)
    current().advancing(x)
    method = getattr(type(x), "__iter__", None)
    if isinstance(method, types.FunctionType) and not isinstance(x, tuple):
        return call_function(method, (x,), {})
    if method is None and isinstance(getattr(type(x), "__getitem__", None), types.FunctionType):
        raise Refused("for", f"it goes over a {type(x).__name__} by its places", "give it __iter__")
    return x


def _len(x: Any) -> Any:
    from thixo.capture.callees import call_function

    if isinstance(x, Choice):
        return operators.spread(x, _len)
    if isinstance(x, _core.Tensor):
        if not x.ndim:
            raise TypeError("len() of a 0-d tensor")
        return x.shape[0]
    if isinstance(x, Items):
        return x.length
    if isinstance(x, Symbolic):
        raise Refused("len", f"of {x!r}", "use tensors")
    if is_ragged(x):
        look(current(), x, ragged=True)
        sure = sum(not isinstance(e, Maybe) for e in x)
        flags = tx.stack([e.flag.tensor for e in x if isinstance(e, Maybe)])
        return Number("int", tx.sum(flags) + sure)
    look(current(), x)
    method = getattr(type(x), "__len__", None)
    return call_function(method, (x,), {}) if isinstance(method, types.FunctionType) else len(x)


def _convert(kind: str) -> Any:
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
        return plain(x)

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


def _tolist(x: Any) -> Any:
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


def _print(
    *args: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False
) -> None:
    if file is None:
        say(args, " " if sep is None else sep, "\n" if end is None else end)
        return
    from thixo.capture.callees import call

    if any(map(is_open, args)):
        raise Refused(
            "print", "values that the data decide go to a file", "print them to the screen"
        )
    text = (" " if sep is None else sep).join(map(str, args))
    for part in (text, "\n" if end is None else end):
        if part:
            call(file.write, part)


def _extreme(op: str) -> Any:
    plain = {"gt": max, "lt": min}[op]

    def extreme(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        from thixo.capture.callees import call

        items = list(iterate(args[0])) if len(args) == 1 else list(args)
        keys = items if key is None else [call(key, x) for x in items]
        if not any(
            isinstance(k, Symbolic | _core.Tensor) or operators._user_method(k, f"__{op}__")
            for k in keys
        ):
            if all(not isinstance(k, tuple | list) for k in keys):
                if key is None:
                    return plain(items, **kwargs)
                places = range(len(items))
                return (
                    items[plain(places, key=keys.__getitem__)] if items else plain(items, **kwargs)
                )
        if not items:
            return plain(items, **kwargs)
        best, best_key = items[0], keys[0]
        for x, k in zip(items[1:], keys[1:], strict=True):
            better = _less(best_key, k) if op == "gt" else _less(k, best_key)
            pair = control.ifexp(
                better, lambda x=x, k=k: (x, k), lambda b=best, c=best_key: (b, c), None, None, ()
            )
            best, best_key = (control.usable(p, f"the result of {plain.__name__}") for p in pair)
        return best

    return extreme


def _sum(items: Any, start: Any = 0) -> Any:
    if isinstance(items, _core.Tensor | Items):
        found = as_items(items)
        if not isinstance(found.length, int):
            raise Refused("sum", "the number of parts is not known here", "use x.sum(0)")
    total = start
    if is_ragged(items):
        look(current(), items, ragged=True)
        for e in items:
            if isinstance(e, Maybe):
                total = control.ifexp(
                    e.flag,
                    lambda t=total, e=e: operators.binary("add", t, e.value),
                    lambda t=total: t,
                    None,
                    None,
                    (),
                )
            else:
                total = operators.binary("add", total, e)
        return total
    for x in iterate(items):
        total = operators.binary("add", total, x)
    return total


def _any(items: Any) -> Any:
    if isinstance(items, _core.Tensor) and items.ndim == 1:
        return Number("bool", tx.any(items))
    return _logic(items, control.or_, False)


def _all(items: Any) -> Any:
    if isinstance(items, _core.Tensor) and items.ndim == 1:
        return Number("bool", tx.all(items))
    return _logic(items, control.and_, True)


def _logic(items: Any, combine: Any, empty: bool) -> Any:
    source = iterate(items)
    if isinstance(source, list | tuple | set | dict):
        parts = [lambda x=x: operators.truth(x) for x in source]
        return operators.truth(combine(parts, None, None, ())) if parts else empty
    found = empty  # taken one by one, as long as Python would
    for x in source:
        truth = operators.truth(x)
        if isinstance(found, Number) or isinstance(truth, Number):
            found = combine([lambda a=found: a, lambda b=truth: b], None, None, ())
        else:
            found = truth
            if found is not empty:
                return found
    return found


def _less(a: Any, b: Any) -> Any:
    """`a < b`; tuples by their first parts that differ."""
    if not (isinstance(a, tuple | list) and type(a) is type(b)):
        return operators.truth(operators.binary("lt", a, b))

    def step(i: int) -> Any:
        if i == min(len(a), len(b)):
            return len(a) < len(b)
        equal = a[i] is b[i] or operators.truth(operators.binary("eq", a[i], b[i]))
        if not isinstance(equal, Number):
            return step(i + 1) if equal else _less(a[i], b[i])
        return control.ifexp(equal, lambda: step(i + 1), lambda: _less(a[i], b[i]), None, None, ())

    return step(0)


class _Unknown(Exception):
    """An order that the data decide."""


def _sorted(items: Any, *, key: Any = None, reverse: bool = False) -> list[Any]:
    from thixo.capture.callees import call

    every = list(iterate(items))
    keys = every if key is None else [call(key, x) for x in every]

    def order(i: int, j: int) -> int:
        for one, other, result in ((i, j, -1), (j, i, 1)):
            found = _less(keys[one], keys[other])
            if isinstance(found, Number):
                raise _Unknown
            if found:
                return result
        return 0

    try:
        places = sorted(range(len(every)), key=functools.cmp_to_key(order), reverse=reverse)
    except _Unknown:
        return _network(every, keys, reverse)
    return current().made([every[i] for i in places])


def _network(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """Sort by comparing neighbours, so that what is equal keeps its order."""
    if len(items) > 24:
        raise Refused("sorted", "many things are sorted by what the data decide", "use tx.sort")
    pairs = list(zip(items, keys, strict=True))
    for end in range(len(pairs) - 1, 0, -1):
        for i in range(end):
            (a, j), (b, k) = pairs[i], pairs[i + 1]
            wrong = _less(j, k) if reverse else _less(k, j)
            swapped = control.ifexp(
                wrong,
                lambda a=a, b=b, j=j, k=k: (b, k, a, j),
                lambda a=a, b=b, j=j, k=k: (a, j, b, k),
                None,
                None,
                (),
            )
            swapped = tuple(control.usable(p, "the result of sorted") for p in swapped)
            pairs[i], pairs[i + 1] = swapped[:2], swapped[2:]
    return current().made([x for x, _ in pairs])


def _listed(kind: type) -> Any:
    def make(*args: Any) -> Any:
        if not args:
            return current().made(kind())
        x = args[0]
        if isinstance(x, Items) and not isinstance(x.length, int):
            raise Refused(
                kind.__name__, "its length is not known here", "use operators of whole tensors"
            )
        made = kind(iterate(x))
        if kind is set and any(isinstance(e, _core.Tensor) for e in made):
            raise Refused("set", "a set of tensors depends on identity", "use a list")
        return made if kind is tuple else current().made(made)

    return make


def _dict(*args: Any, **kwargs: Any) -> Any:
    parts = [a if isinstance(a, dict) else list(iterate(a)) for a in args]
    for a in args:
        look(current(), a)
    return current().made(dict(*parts, **kwargs))


def _abs(x: Any) -> Any:
    if isinstance(x, Number):
        kind = "int" if x.kind == "bool" else x.kind
        return Number(kind, tx.abs(as_tensor(x, kind)))
    if isinstance(x, Mixed) and x.kind != "none":
        return Mixed(x.kind, tx.abs(x.tensor), x.flag)
    if isinstance(x, Choice):
        return operators.spread(x, _abs)
    return abs(x)


def _round(x: Any, digits: Any = None) -> Any:
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


def _divmod(a: Any, b: Any) -> Any:
    if isinstance(a, Symbolic) or isinstance(b, Symbolic):
        return operators.binary("floordiv", a, b), operators.binary("mod", a, b)
    return divmod(a, b)


def _isinstance(x: Any, kinds: Any) -> Any:
    if isinstance(x, Choice):
        return operators.spread(x, lambda v: isinstance(v, kinds))
    if isinstance(x, Number):
        return issubclass({"bool": bool, "int": int, "float": float}[x.kind], kinds)
    if isinstance(x, Dim):
        return issubclass(int, kinds)
    if isinstance(x, Mixed):
        other = (
            type(None) if x.kind == "none" else {"bool": bool, "int": int, "float": float}[x.kind]
        )
        if isinstance(x.tensor, kinds) == issubclass(other, kinds):
            return isinstance(x.tensor, kinds)
        return x.flag if issubclass(other, kinds) else control.not_(x.flag)
    return isinstance(x, kinds)


def _type(x: Any, *rest: Any) -> Any:
    if rest:
        raise Refused("type", "a class is made", "define it outside")
    kind = kind_of(x)
    if isinstance(x, Mixed | Choice):
        raise Refused("type", f"of {x!r}", "use one kind of value on all paths")
    return {"bool": bool, "int": int, "float": float}[kind] if kind else type(x)


def _math(name: str) -> Any:
    plain = getattr(math, name)
    domains = {"sqrt": lambda t: t >= 0, "log": lambda t: t > 0, "log2": lambda t: t > 0, "log10": lambda t: t > 0, "log1p": lambda t: t > -1,
               "acos": lambda t: tx.abs(t) <= 1, "asin": lambda t: tx.abs(t) <= 1}  # fmt: skip

    def apply(*args: Any) -> Any:
        if not any(isinstance(a, Symbolic | _core.Tensor) for a in args):
            return plain(*(int(a) if isinstance(a, Dim) else a for a in args))
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


def _reduce(f: Any, items: Any, *start: Any) -> Any:
    from thixo.capture.callees import call

    every = [*start, *iterate(items)]
    if not every:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(lambda a, b: call(f, a, b), every)


def _map(f: Any, *columns: Any) -> Any:
    from thixo.capture.callees import call

    return map(lambda *a: call(f, *a), *map(iterate, columns))


def _filter(f: Any, items: Any) -> Any:
    from thixo.capture.callees import call

    def keeps(x: Any) -> bool:
        found = operators.truth(x if f is None else call(f, x))
        if isinstance(found, Number):
            raise Refused("filter", "the data decide what is left", "use tx.where or a mask")
        return found

    return filter(keeps, iterate(items))


def _getattr(x: Any, name: str, *default: Any) -> Any:
    from thixo.capture.hooks import Hooks, possible

    found = possible(x, name)
    if found is not None and default:
        return control.ifexp(found.flag, lambda: found.value, lambda: default[0], None, None, ())
    try:
        return Hooks.attr(x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _hasattr(x: Any, name: str) -> Any:
    from thixo.capture.hooks import possible

    found = possible(x, name)
    if found is not None:
        return found.flag
    try:
        _getattr(x, name)
    except AttributeError:
        return False
    return True


def _setattr(x: Any, name: str, value: Any) -> None:
    from thixo.capture.hooks import Hooks

    Hooks.set_attr(x, name, value)


def _next(x: Any, *default: Any) -> Any:
    current().advancing(x)
    return next(x, *default)


def _iter(x: Any) -> Any:
    return iter(iterate(x))


def _str(*args: Any) -> Any:
    if len(args) == 1 and is_open(args[0]):
        from thixo.capture.effects import shown

        return args[0] if isinstance(args[0], Text) else shown(args[0], ord("s"), "")
    return str(*args)


def _copy(x: Any) -> Any:
    if isinstance(x, _core.Tensor | Symbolic):
        return copy.copy(x) if isinstance(x, _core.Tensor) else x
    if type(x) in (list, dict, set, tuple):
        look(current(), x)
        return current().made(copy.copy(x)) if not isinstance(x, tuple) else x
    raise Refused("copy.copy", f"of a {type(x).__name__}", "make a new one")


def _deepcopy(x: Any) -> Any:
    if isinstance(x, _core.Tensor):
        return tx.clone(x)
    if isinstance(x, Symbolic | str | int | float | bool | type(None)):
        return x
    look(current(), x)
    if type(x) in (list, tuple):
        made = type(x)(_deepcopy(e) for e in x)
        return made if isinstance(x, tuple) else current().made(made)
    if type(x) is dict:
        return current().made({k: _deepcopy(v) for k, v in x.items()})
    raise Refused("copy.deepcopy", f"of a {type(x).__name__}", "make a new one")


def _replace(x: Any, **changes: Any) -> Any:
    from thixo.capture.callees import call
    from thixo.capture.hooks import Hooks

    given = {f.name: Hooks.attr(x, f.name) for f in dataclasses.fields(x) if f.init}
    return call(type(x), **{**given, **changes})


def _operator(name: str) -> Any:
    if name in ("neg", "pos", "invert"):
        return lambda x: operators.unary(name, x)
    return lambda a, b: operators.binary(name, a, b)


def _refused(name: str, reason: str, remedy: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Refused(name, reason, remedy)

    return refuse


REPLACED: dict[Any, Any] = {
    len: _len, int: _convert("int"), float: _convert("float"), bool: _convert("bool"), print: _print, max: _extreme("gt"),
    min: _extreme("lt"), sum: _sum, any: _any, all: _all, sorted: _sorted, list: _listed(list), tuple: _listed(tuple),
    set: _listed(set), dict: _dict, abs: _abs, round: _round, divmod: _divmod, isinstance: _isinstance, type: _type,
    range: range_, zip: zip_, enumerate: enumerate_, reversed: reversed_, functools.reduce: _reduce, map: _map,
    filter: _filter, getattr: _getattr, hasattr: _hasattr, setattr: _setattr, next: _next, iter: _iter, str: _str,
    copy.copy: _copy, copy.deepcopy: _deepcopy, dataclasses.replace: _replace,
    issubclass: issubclass, callable: callable, functools.partial: functools.partial, functools.wraps: functools.wraps,
    functools.update_wrapper: functools.update_wrapper, staticmethod: staticmethod, classmethod: classmethod, property: property,
    operator.not_: control.not_, operator.truth: operators.truth, operator.contains: operators.contains,
    id: _refused("id", "identity is not part of a graph", "compare values"),
    hash: _refused("hash", "identity is not part of a graph", "compare values"),
    input: _refused("input", "a graph cannot ask", "ask outside"),
    open: _refused("open", "a graph has no files", "read outside"),
}  # fmt: skip


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    if not any(isinstance(x, Symbolic | _core.Tensor) for x in (a, b)):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    convert = _convert("float")
    left, right = (as_tensor(convert(x), "float") for x in (a, b))
    largest = tx.maximum(tx.abs(left), tx.abs(right))
    near = tx.abs(left - right) <= tx.clamp(largest * rel_tol, min=abs_tol)
    same = tx.logical_or(left == right, tx.logical_and(near, tx.isfinite(largest)))
    return Number("bool", same)


REPLACED[math.isclose] = _isclose
for _name in "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh floor ceil trunc isnan isinf isfinite fabs".split():
    REPLACED[getattr(math, _name)] = _math(_name)
for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lt le gt ge eq ne neg pos invert".split():
    REPLACED[getattr(operator, _name)] = _operator(_name)


def _tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
    """`tx.tensor`, of lists with numbers in them that the data decide."""
    look(current(), data)
    if isinstance(data, _core.Tensor) or not _has_number(data):
        return tensor(data, *args, **kwargs)
    dtype = kwargs.get("dtype", args[0] if args else None)
    made = _stacked(data)
    if dtype is None and made.dtype.is_floating_point:
        dtype = float32
    return made if dtype is None else tx.to(made, dtype)


def _has_number(x: Any) -> bool:
    if isinstance(x, list | tuple):
        current().readable(x)
        return any(map(_has_number, x))
    return isinstance(x, Symbolic)


def _stacked(x: Any) -> Any:
    if isinstance(x, list | tuple):
        kinds = {kind_of(e) for e in x}
        wide = "float" if "float" in kinds else "int" if "int" in kinds else "bool"
        if None not in kinds:
            return tx.stack([as_tensor(e, wide) for e in x])
        return tx.stack([_stacked(e) for e in x])
    if isinstance(x, Number):
        return x.tensor
    if isinstance(x, _core.Tensor) and not x.ndim:
        return tx.detach(x)
    raise Refused("tensor", f"of {x!r}", "use numbers")


def _requires_grad(x: Any, *args: Any) -> Any:
    """For gradients that are taken inside; a result that would be a leaf of the tape is refused when it is made."""
    capture, trace = current(), control.current_trace()
    assert trace is not None
    if x._value is None or x._value not in trace._own:
        raise Refused("requires_grad_()", "of a tensor from outside", "call it outside")
    capture.asked = True
    return x.requires_grad_(*args)


def _backward(x: Any, *args: Any, **kwargs: Any) -> Any:
    raise Refused(
        "backward()", "it leaves gradients in tensors", "return the loss, or use tx.autograd.grad"
    )


REPLACED[tensor] = _tensor
METHODS: dict[str, Any] = {
    "requires_grad": _requires_grad,
    "retain_grad": _refused("retain_grad()", "a graph has no tape", "use it outside"),
    "register_hook": _refused("register_hook()", "a graph has no tape", "use it outside"),
    "item": item, "tolist": _tolist, "backward": _backward,
    "numpy": _refused("numpy()", "it needs the values of a tensor", "use operators of tensors"),
    "__len__": _len, "__bool__": operators.truth,
}  # fmt: skip

__all__ = ["METHODS", "REPLACED", "Listed", "builtins", "is_pure", "itertools"]
