"""What a variable of captured code may hold besides tensors and plain objects.

UNSET        no value at all
Maybe        a value if a flag is set; reading it is checked when the program runs
Number       a Python number that the data decide: a 0-d tensor that calculates as Python does
Mixed        on some paths a tensor, on others a Python number or None
Choice       one of some plain objects, by number
Union        one of some values of any kind, by number: tensors of other shapes, containers, None
Poison       two paths left values here that no graph can hold as one; the reason
"""

from collections import defaultdict
from typing import Any

from thixo import _core
from thixo.capture.held import Held, is_value
from thixo.capture.refusal import Refused
from thixo.device import device
from thixo.dtype import bool as bool_
from thixo.dtype import float64, int64
from thixo.symbolic import Dim, same

DTYPES = {"bool": bool_, "int": int64, "float": float64}
TYPES = {"bool": bool, "int": int, "float": float}


class Unset:
    """A variable that has no value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Symbolic:
    """A value that is known when the graph runs; Python itself may not look at it."""

    def _refuse(self, what: str) -> Any:
        raise Refused(what, f"it needs {self!r} while the program is captured", _REMEDY)

    def __bool__(self) -> bool:
        return self._refuse("a condition in code that is not converted")

    def __int__(self) -> int:
        return self._refuse("a whole number in code that is not converted")

    def __index__(self) -> int:
        return self._refuse("a whole number in code that is not converted")

    def __float__(self) -> float:
        return self._refuse("a number in code that is not converted")

    def __hash__(self) -> int:
        return self._refuse("a key of a dict or a set")

    def __str__(self) -> str:
        return self._refuse("text")

    def __format__(self, spec: str) -> str:
        return self._refuse("text")


def _refuses(what: str) -> Any:
    def method(self: Symbolic, *others: Any) -> Any:
        return self._refuse(what)

    return method


for _name in "lt le gt ge eq ne add radd sub rsub mul rmul truediv rtruediv floordiv mod pow neg matmul and or".split():
    setattr(Symbolic, f"__{_name}__", _refuses(f"operator {_name} in code that is not converted"))
for _name in "iter len getitem setitem delitem contains call enter exit".split():
    setattr(Symbolic, f"__{_name}__", _refuses(f"{_name} in code that is not converted"))

_REMEDY = "keep it a tensor, or leave this part out of what is captured"


class Maybe:
    """A value that is there if `flag` (a Number) says so."""

    def __init__(self, value: Any, flag: Any) -> None:
        self.value = value
        self.flag = flag


class Poison(Symbolic):
    """What two paths left here does not go together."""

    def __init__(
        self,
        reason: str,
        line: str | None = None,
        remedy: str = "give it one kind of value on all paths",
    ) -> None:
        self.reason = reason
        self.line = line
        self.remedy = remedy

    def __repr__(self) -> str:
        return f"not one kind of value: {self.reason}"

    def refuse(self, name: str) -> Any:
        reason = self.reason.removeprefix(f"{name} ")
        reason = f"it {reason}" if reason != self.reason else reason
        raise Refused(name, reason, self.remedy, self.line)


class Number(Symbolic):
    """A Python number that the data decide."""

    def __init__(self, kind: str, tensor: Any) -> None:
        self.kind = kind
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"a {self.kind} that the data decide"


class Mixed(Symbolic):
    """A tensor, or where `flag` is set a number of `kind` ("none": None)."""

    def __init__(self, kind: str, tensor: Any, flag: Any) -> None:
        self.kind = kind
        self.tensor = tensor
        self.flag = flag

    def __repr__(self) -> str:
        other = "None" if self.kind == "none" else f"a {self.kind}"
        return f"a tensor on some paths and {other} on others"


class Choice(Symbolic):
    """One of some plain objects, by a number that the data decide."""

    source: Any = None  # the choice whose options these were made of, one by one

    def __init__(self, options: list[Any], index: Any) -> None:
        self.options = options
        self.index = index

    def goes_with(self, other: "Choice") -> bool:
        """Whether the option at some place is chosen where that of another choice is."""
        one, two = (c if c.source is None else c.source for c in (self, other))
        return one is two

    def __repr__(self) -> str:
        return f"one of {len(self.options)} objects that the data choose"


class Union(Choice):
    """One of some values that no one form holds: those that are not chosen are there, and nobody uses them."""

    origin: Any = None  # of a frozen one: what it was made from

    def __repr__(self) -> str:
        return f"one of {len(self.options)} values of other kinds that the data choose"


class Text(Symbolic):
    """Text with values in it that the data decide: literals and (value, conversion, spec)."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return "text with values that the data decide"


def is_ragged(x: Any) -> bool:
    """Whether the data decide which elements a list has: those that may be missing are Maybe."""
    return type(x) is list and any(type(e) is Maybe for e in x)


def is_partial(x: Any) -> bool:
    """Whether the data decide which keys a dict has, or what is in a set: values of keys that may be missing, and such elements, are Maybe."""
    if type(x) in (dict, defaultdict):
        return any(type(v) is Maybe for v in x.values())
    return type(x) is set and any(type(e) is Maybe for e in x)


def is_open_size(x: Any) -> bool:
    """Whether it is a size that the data decide, such as that of `nonzero`: Python cannot ask for it."""
    return isinstance(x, Dim) and any(atom.hint is None for atom in x.symbols.values())


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor of a graph."""
    return isinstance(x, _core.Tensor) and x._value is not None


def decides(x: Any) -> bool:
    """Whether a condition is known only when the graph runs."""
    if isinstance(x, Symbolic):
        return True
    return isinstance(x, _core.Tensor)


def kind_of(x: Any) -> str | None:
    """The kind of a Python number, known or not: "bool", "int", "float"; None for all else."""
    if isinstance(x, Number):
        return x.kind
    kind = type(x)
    if kind is bool:
        return "bool"
    if kind is int or kind is Dim:
        return "int"
    return "float" if kind is float else None


def alike(a: Any, b: Any) -> bool:
    """Whether two plain objects are the same to any program."""
    if a is b:
        return True
    if isinstance(b, Held):
        return b.is_of(a)
    if type(a) is not type(b):
        return False
    if isinstance(a, Dim):
        return same(a, b)
    if isinstance(a, float):
        return a.hex() == b.hex() if a == a else b != b
    if isinstance(
        a, bool | int | str | bytes | complex | type(None) | range | slice | _core.Size | device
    ):
        return bool(a == b)
    return is_value(a) and bool(a == b) and repr(a) == repr(b)
