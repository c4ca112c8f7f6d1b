"""Python's numbers from outside that are another one at many calls: counters, steps, rates.

A number is assumed to stay what it is, since most decide the shape of a program. Where one has had some values, the next graph
takes it as an input, if the function can be captured so; then no other value captures again.
"""

from __future__ import annotations

from typing import Any

from thixo.capture.frames import Capture
from thixo.capture.paths import Argument, Path, Scalar, read
from thixo.capture.values import Number
from thixo.dtype import float64, int64
from thixo.graph.trace import current_trace, make_symbolic, untraced
from thixo.tensor import tensor

VALUES = 3  # that a number has had before it is taken for an input
_KINDS = {int: ("int", int64), float: ("float", float64)}
_MOST = 2**62  # whole numbers of graphs are smaller


class OpenNumber(Scalar):
    """A way to a number, which is an input of the graph. One of another type is another program."""

    def __init__(self, path: Path, kind: type) -> None:
        super().__init__(path.start, path.label, path.steps)
        self.kind = kind

    def fetch(self, leaves: list[Any]) -> Any:
        found = Path.fetch(self, leaves)
        if type(found) is not self.kind or not can_be_open(found):
            raise TypeError(f"a number of type {self.kind.__name__} was expected")
        return tensor(found, dtype=_KINDS[self.kind][1])


# What stands for any number in the kind of a call; the names are for messages.
_ANY = {int: type("whole number", (), {})(), float: type("number", (), {})()}
ANY = tuple(map(type, _ANY.values()))


class OpenNumbers:
    """Which numbers of one function are inputs."""

    def __init__(self) -> None:
        self.open: frozenset[Any] = frozenset()  # keys of their paths
        self._shut: set[Any] = set()  # those with which it could not be captured
        self._values: dict[Any, set[Any]] = {}

    def kind(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments with what stands for those numbers that may be any."""
        if not self.open:
            return args, kwargs
        return (
            tuple(self._any(a, _argument(0, i)) for i, a in enumerate(args)),
            {name: self._any(a, _argument(1, name)) for name, a in kwargs.items()},
        )

    def _any(self, value: Any, path: Path) -> Any:
        return _ANY[type(value)] if path.key in self.open and can_be_open(value) else value

    def look(self, args: Any, kwargs: Any, known: list[Any]) -> None:
        """Note the numbers of a call for which there is no graph, beside the graphs of its kind."""
        arguments = [args, kwargs]
        for i, value in enumerate(args):
            self._note(_argument(0, i), value)
        for name, value in kwargs.items():
            self._note(_argument(1, name), value)
        for captured in known:
            for one in captured.assumed:
                if one.how == "equal" and type(one.value) in _KINDS and not one.holds(arguments):
                    self._note(one.path, one.value)
                    try:
                        self._note(one.path, one.path.fetch(arguments))
                    except (AttributeError, LookupError, TypeError, ValueError):
                        continue

    def _note(self, path: Path, value: Any) -> None:
        if not can_be_open(value) or path.key in self._shut or path.key in self.open:
            return
        values = self._values.setdefault(path.key, set())
        values.add((type(value), value))
        if len(values) >= VALUES:
            self.open |= {path.key}
            del self._values[path.key]

    def shut(self) -> None:
        """The function cannot be captured with those that are open."""
        self._shut |= self.open
        self.open = frozenset()


def can_be_open(value: Any) -> bool:
    """Whether a number can be an input: it is a plain one and fits."""
    return type(value) is float or (type(value) is int and -_MOST < value < _MOST)


def read_number(capture: Capture, path: Path, value: Any) -> Any:
    """Note that something from outside was read; what stands for it."""
    if path.key in capture.open and can_be_open(value):
        return opened(capture, path, value)
    return read(capture, path, value)


def opened(capture: Capture, path: Path, value: Any) -> Number:
    """A number from outside as an input of the graph."""
    kind, dtype = _KINDS[type(value)]
    known = capture.scalars.get((path.key, kind))
    if known is None:
        with untraced():
            known = tensor(value, dtype=dtype)
        capture.scalars[path.key, kind] = known
        capture.tensors[id(known)] = (known, OpenNumber(path, type(value)))
    trace = current_trace()
    assert trace is not None
    return Number(kind, make_symbolic(trace.value_of(known)))


def open_arguments(capture: Capture, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments, with numbers that are inputs for those that are open."""
    if not capture.open:
        return args, kwargs

    def given(value: Any, path: Path) -> Any:
        if path.key in capture.open and can_be_open(value):
            return opened(capture, path, value)
        return value

    return (
        tuple(given(a, _argument(0, i)) for i, a in enumerate(args)),
        {name: given(a, _argument(1, name)) for name, a in kwargs.items()},
    )


def _argument(position: int, key: Any) -> Path:
    return Path(Argument(position), ("args", "kwargs")[position]).step("item", key)
