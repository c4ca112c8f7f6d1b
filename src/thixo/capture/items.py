"""What a for loop goes over, where its length is known only when the graph runs."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.capture.frames import current
from thixo.capture.numbers import as_tensor, calculate
from thixo.capture.paths import look
from thixo.capture.ragged import numbered
from thixo.capture.refusal import Refused
from thixo.capture.values import Choice, Mixed, Number, Symbolic, is_partial, is_ragged
from thixo.dtype import int64
from thixo.graph.trace import current_trace
from thixo.ops import public as tx
from thixo.ops.getitem import getitem
from thixo.symbolic import Dim, dim_min


class Items:
    """Rows of tensors, and what each turn makes of its rows.

    `length` is an int, a Dim, or a Number; in the last case there are no slices and `at` makes an item of its place.
    """

    def __init__(
        self, length: Any, slices: Sequence[Any], build: Callable[[Sequence[Any]], Any],
        place: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self.length = length
        self.slices = list(slices)
        self.build = build
        self._place = place

    def at(self, i: Number) -> Any:
        """The item at a place that the data decide."""
        if self._place is not None:
            return self._place(i)
        return self.build([row(s, i.tensor) for s in self.slices])

    def listed(self) -> list[Any]:
        """All items, where the length is known."""
        return [self.build([indexed(s, i) for s in self.slices]) for i in range(self.length)]

    def first(self) -> Any:
        """The first item."""
        return self.build([indexed(s, 0) for s in self.slices])

    def rest(self) -> "Items":
        """All but the first item."""
        rest = slice(1, None)
        return Items(self.length - 1, [indexed(s, rest) for s in self.slices], self.build)


class GoneOver:
    """Containers that something goes over: Python's iterators see what they hold now, which the data must not decide meanwhile."""

    def __init__(self, x: Any) -> None:
        self._were = [(one, list(one)) for one in _containers(x)]

    def check(self) -> None:
        """Refuse where the data have decided on other elements since then."""
        for x, was in self._were:
            if not _same(list(x), was) and (is_ragged(x) or is_partial(x)):
                raise Refused(
                    f"a {type(x).__name__} that is gone over",
                    "the data decide whether it gets or loses elements meanwhile",
                    f"go over a copy, {type(x).__name__}(x)",
                )


_ITERATORS: tuple[type, ...] = (type(iter([])), type(reversed([])), enumerate, zip, map, filter)


def _containers(x: Any) -> list[Any]:
    """The lists, dicts and sets behind an iterable."""
    if type(x) in (list, dict, set):
        return [x]
    if isinstance(x, _ITERATORS):
        return [one for part in x.__reduce__()[1] for one in _containers(part)]
    return []


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(map(operator.is_, a, b))


def indexed(x: Any, index: Any) -> Any:
    """`x[index]` of a tensor, as nodes: of one from outside, the core would take a view by itself."""
    return getitem(x, index)


def row(x: Any, place: Any) -> Any:
    """A row, or what else lies at a place that the data decide: a copy, where Python has a view."""
    made = indexed(x, place)
    trace = current_trace()
    assert trace is not None
    copies = current().copies
    copies.note(trace.aliases._root(made), copies.reached(trace.aliases, x))
    return made


def as_items(x: Any) -> Any:
    """Items where something's length is symbolic, else an iterable of Python's."""
    if isinstance(x, Items):
        return x
    if isinstance(x, _core.Tensor):
        return rows_of(x)
    if isinstance(x, Choice | Mixed | Symbolic):
        raise Refused("for", f"it goes over {x!r}", "loop over a tensor or a list")
    return x


def rows_of(x: Any) -> Items:
    """The rows of a tensor."""
    if x.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return Items(x.shape[0], [x], lambda rows: rows[0])


def range_(*args: Any) -> Any:
    """`range`, of sizes and of numbers that the data decide."""
    if all(isinstance(a, int) for a in args):
        return range(*args)
    args = tuple(_bound(a) if isinstance(a, _core.Tensor) else a for a in args)
    low, high, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    if type(step) is not int or step == 0:
        raise Refused("range", "its step is not known", "use a fixed step")
    if any(isinstance(a, Number) for a in (low, high)):
        return _range_of_numbers(low, high, step)
    span = high - low if step > 0 else low - high
    length = (span + abs(step) - 1) // abs(step)
    if not length > 0:
        return range(0)
    if not isinstance(length, Dim):
        return Items(length, [tx.arange(length) * step + low], _as_number)
    return Items(length, [tx.arange(length, dtype=int64) * step + low], _as_number)


def _bound(x: Any) -> Number:
    """A tensor of one whole number, which Python takes as that number."""
    if x.dtype.is_floating_point or x.dtype.is_complex or x.numel() != 1:
        raise Refused(
            "range", "a bound is no tensor of one whole number", "use x.long(), or one element"
        )
    return Number("int", tx.to(tx.reshape(x, ()), int64))


def _as_number(rows: Sequence[Any]) -> Number:
    return Number("int", rows[0])


def _range_of_numbers(low: Any, high: Any, step: int) -> Items:
    first, last = as_tensor(low, "int"), as_tensor(high, "int")
    span = last - first if step > 0 else first - last
    length = Number("int", tx.clamp((span + abs(step) - 1) // abs(step), min=0))
    start = Number("int", first)
    return Items(
        length, [], lambda rows: None, lambda i: calculate("add", start, calculate("mul", i, step))
    )


def is_open(x: Any) -> bool:
    """Whether going over it needs a loop in the graph, or could."""
    return isinstance(x, Items | _core.Tensor)


def zip_(*args: Any, strict: bool = False) -> Any:
    """`zip`, where something in it has rows."""
    for a in args:
        if is_ragged(a):
            look(current(), a)  # says why not: where an element stands depends on those before
    if not any(map(is_open, args)):
        return zip(*args, strict=strict)
    parts: list[Any] = [as_items(a) if is_open(a) else list(a) for a in args]
    lengths = [p.length if isinstance(p, Items) else len(p) for p in parts]
    if any(isinstance(n, Number) for n in lengths):
        raise Refused("zip", "a length is known only when the program runs", "use equal tensors")
    length = lengths[0]
    for other in lengths[1:]:
        if strict and not length == other:
            raise ValueError("zip() arguments have different lengths")
        length = _shorter(length, other)
    if isinstance(length, Dim) and not all(isinstance(p, Items) for p in parts):
        known = min(n for n in lengths if not isinstance(n, Dim))
        if not length == known:
            raise Refused("zip", "a list and a tensor of an open size", "use equal lengths")
        length = known
    if not isinstance(length, Dim):
        columns = [
            Items(length, [indexed(s, slice(length)) for s in p.slices], p.build).listed()
            if isinstance(p, Items)
            else p[:length]
            for p in parts
        ]
        return zip(*columns, strict=True)
    counts = [len(p.slices) for p in parts]
    slices = [indexed(s, slice(length)) for p in parts for s in p.slices]

    def build(rows: Sequence[Any]) -> Any:
        found, at = [], 0
        for p, count in zip(parts, counts, strict=True):
            found.append(p.build(rows[at : at + count]))
            at += count
        return tuple(found)

    return Items(length, slices, build)


def _shorter(a: Any, b: Any) -> Any:
    if isinstance(a, Dim) and isinstance(b, Dim):
        return a if a == b else dim_min(a, b)
    return a if a <= b else b


def enumerate_(x: Any, start: Any = 0) -> Any:
    """`enumerate`, of something with rows, or of a list with elements that may be missing."""
    if is_ragged(x):
        return numbered(x, start)
    if not is_open(x):
        return enumerate(x, start)
    items = as_items(x)
    if isinstance(items.length, int):
        return enumerate(items.listed(), start)
    if isinstance(items.length, Number):
        return Items(
            items.length, [], lambda rows: None, lambda i: (calculate("add", i, start), items.at(i))
        )
    numbers = tx.arange(items.length, dtype=int64)
    places = Items(items.length, [numbers + start if start else numbers], _as_number)
    return zip_(places, items)


def reversed_(x: Any) -> Any:
    """`reversed`, of something with rows, or of a list with elements that may be missing."""
    if is_ragged(x):
        look(current(), x, ragged=True)
        return list(reversed(x))
    if not is_open(x):
        return reversed(x)
    items = as_items(x)
    if isinstance(items.length, Number):
        raise Refused("reversed", "the length is known only when the program runs", "use a tensor")
    return Items(items.length, [tx.flip(s, (0,)) for s in items.slices], items.build)
