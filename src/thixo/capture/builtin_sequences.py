"""Built-in functions that go over something: len, sum, any, all, list, dict, map, filter, next."""

import functools
import itertools
import types
from typing import Any

from thixo import _core
from thixo.capture import control, operators, partial
from thixo.capture.frames import current
from thixo.capture.items import GoneOver, Items, as_items
from thixo.capture.keys import pinned
from thixo.capture.paths import look
from thixo.capture.refusal import Refused
from thixo.capture.values import Choice, Maybe, Number, Symbolic, is_partial, is_ragged
from thixo.ops import public as tx


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


def len_(x: Any) -> Any:
    from thixo.capture.callees import call_function

    if isinstance(x, Choice):
        return operators.spread(x, len_)
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
    if is_partial(x):
        look(current(), x, ragged=True)
        return Number("int", partial.length(x))
    look(current(), x)
    method = getattr(type(x), "__len__", None)
    return call_function(method, (x,), {}) if isinstance(method, types.FunctionType) else len(x)


def sum_(items: Any, start: Any = 0) -> Any:
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


def any_(items: Any) -> Any:
    if isinstance(items, _core.Tensor) and items.ndim == 1:
        return Number("bool", tx.any(items))
    return _logic(items, control.or_, False)


def all_(items: Any) -> Any:
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


def listed(kind: type) -> Any:
    def make(*args: Any) -> Any:
        if not args:
            return current().made(kind())
        x = args[0]
        if is_partial(x):
            x = partial.copied(x) if kind is set and type(x) is set else partial.view(x, "keys")
        if is_ragged(x) and kind is list:
            look(current(), x, ragged=True)
            return current().made(x[:])
        if isinstance(x, Items) and not isinstance(x.length, int):
            raise Refused(
                kind.__name__, "its length is not known here", "use operators of whole tensors"
            )
        made = kind(iterate(x) if kind in (list, tuple) else map(pinned, iterate(x)))
        if kind in (set, frozenset) and any(isinstance(e, _core.Tensor) for e in made):
            raise Refused("set", "a set of tensors depends on identity", "use a list")
        return made if kind in (tuple, frozenset) else current().made(made)

    return make


def dict_(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and type(args[0]) is dict and is_partial(args[0]):
        made = partial.copied(args[0])
        for name, value in kwargs.items():
            partial.set_item(made, name, value)
        return made
    parts = [a if isinstance(a, dict) else [(pinned(k), v) for k, v in iterate(a)] for a in args]
    for a in args:
        look(current(), a)
    return current().made(dict(*parts, **kwargs))


def fromkeys(keys: Any, value: Any = None) -> Any:
    return current().made(dict.fromkeys(map(pinned, iterate(keys)), value))


def from_iterable(items: Any) -> Any:
    return itertools.chain.from_iterable(map(iterate, iterate(items)))


def reduce(f: Any, items: Any, *start: Any) -> Any:
    from thixo.capture.callees import call

    every = [*start, *iterate(items)]
    if not every:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(lambda a, b: call(f, a, b), every)


def map_(f: Any, *columns: Any) -> Any:
    from thixo.capture.callees import call

    gone_over = [GoneOver(one) for one in columns]

    def one(*a: Any) -> Any:
        found = call(f, *a)
        for x in gone_over:
            x.check()
        return found

    return map(one, *map(iterate, columns))


def filter_(f: Any, items: Any) -> Any:
    from thixo.capture.callees import call

    gone_over = GoneOver(items)

    def keeps(x: Any) -> bool:
        found = operators.truth(x if f is None else call(f, x))
        gone_over.check()
        if isinstance(found, Number):
            raise Refused("filter", "the data decide what is left", "use tx.where or a mask")
        return found

    return filter(keeps, iterate(items))


def next_(x: Any, *default: Any) -> Any:
    current().advancing(x)
    return next(x, *default)


def iter_(x: Any) -> Any:
    return iter(iterate(x))
