"""Built-in functions that compare: max, min, sorted."""

import functools
from typing import Any

from thixo import _core
from thixo.capture import control, operators
from thixo.capture.builtin_sequences import iterate
from thixo.capture.effects import check
from thixo.capture.frames import current
from thixo.capture.paths import look
from thixo.capture.refusal import Refused
from thixo.capture.values import Maybe, Number, Symbolic, is_ragged


def extreme(op: str) -> Any:
    plain = {"gt": max, "lt": min}[op]

    def extreme(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        from thixo.capture.callees import call

        if len(args) == 1 and key is None and not kwargs and is_ragged(args[0]):
            return _of_ragged(op, args[0], plain.__name__)
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
            better = less(best_key, k) if op == "gt" else less(k, best_key)
            pair = control.ifexp(
                better, lambda x=x, k=k: (x, k), lambda b=best, c=best_key: (b, c), None, None, ()
            )
            best, best_key = (control.usable(p, f"the result of {plain.__name__}") for p in pair)
        return best

    return extreme


def _of_ragged(op: str, items: list[Any], name: str) -> Any:
    """The largest or smallest element of a list of which the data decide what is in it."""
    look(current(), items, ragged=True)
    best: Any = None
    there: Any = False  # whether there is one yet
    for e in items:
        value, flag = (e.value, e.flag) if isinstance(e, Maybe) else (e, True)
        if there is False:
            best, there = value, flag
            continue

        def better(value: Any = value, best: Any = best) -> Any:
            return less(best, value) if op == "gt" else less(value, best)

        first = there if there is True else operators.truth(there)
        taken = control.and_(
            [lambda f=flag: f, lambda t=first, b=better: control.or_([lambda: control.not_(t), b], None, None, ())],
            None, None, (),
        )  # fmt: skip
        best = control.ifexp(taken, lambda v=value: v, lambda b=best: b, None, None, ())
        there = control.or_([lambda t=there: t, lambda f=flag: f], None, None, ())
    if isinstance(there, Number):
        check(there.tensor, "ValueError", f"{name}() arg is an empty sequence")
    return control.usable(best, f"the result of {name}")


def less(a: Any, b: Any) -> Any:
    """`a < b`; tuples by their first parts that differ."""
    if not (isinstance(a, tuple | list) and type(a) is type(b)):
        return operators.truth(operators.binary("lt", a, b))

    def step(i: int) -> Any:
        if i == min(len(a), len(b)):
            return len(a) < len(b)
        equal = a[i] is b[i] or operators.truth(operators.binary("eq", a[i], b[i]))
        if not isinstance(equal, Number):
            return step(i + 1) if equal else less(a[i], b[i])
        return control.ifexp(equal, lambda: step(i + 1), lambda: less(a[i], b[i]), None, None, ())

    return step(0)


class _Unknown(Exception):
    """An order that the data decide."""


def sorted_(items: Any, *, key: Any = None, reverse: bool = False) -> list[Any]:
    from thixo.capture.callees import call

    every = list(iterate(items))
    keys = every if key is None else [call(key, x) for x in every]

    def order(i: int, j: int) -> int:
        for one, other, result in ((i, j, -1), (j, i, 1)):
            found = less(keys[one], keys[other])
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
            wrong = less(j, k) if reverse else less(k, j)
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
