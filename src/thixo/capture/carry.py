"""How a value travels through a node: as one tensor or two, and back.

`join` finds a form that the values of two paths both have, or says why there is none.
"""

from typing import Any, NamedTuple

import numpy as np

from thixo import _core
from thixo.capture.numbers import as_tensor
from thixo.capture.values import (
    DTYPES,
    Choice,
    Maybe,
    Mixed,
    Number,
    Symbolic,
    Union,
    alike,
    kind_of,
)
from thixo.dtype import bool as bool_
from thixo.dtype import float64, int64
from thixo.graph.trace import size_hint
from thixo.ops import public as tx
from thixo.symbolic import Dim, same
from thixo.tensor import tensor


class Clash(Exception):
    """Two values that no graph can hold as one."""


def looked_up(values: list[Any], index: Any) -> Any:
    """One of some numbers, by a number that is within them."""
    made = tensor(values[-1])
    for place in reversed(range(len(values) - 1)):
        made = tx.where(index == place, tensor(values[place]), made)
    return made


class Carry(NamedTuple):
    """The form of a value: "tensor", "number", "mixed" or "choice"."""

    mode: str
    dtype: Any = None
    shape: tuple[Any, ...] = ()
    kind: str = ""  # of a number, or of what stands beside a tensor
    options: tuple[Any, ...] = ()
    known: Any = None  # a number that Python knows, or None

    def encode(self, x: Any) -> list[Any]:
        """The tensors for a value; what nobody reads where it is missing."""
        if x is MISSING:
            return self._nothing()
        if self.mode == "tensor":
            return [x]
        if self.mode == "number":
            return [as_tensor(x, self.kind)]
        if self.mode == "choice":
            return [self._index(x)]
        if isinstance(x, Mixed):
            return [x.tensor, x.flag.tensor if isinstance(x.flag, Number) else _truth(x.flag)]
        if isinstance(x, _core.Tensor):
            return [x, _truth(False)]
        value = self._nothing()[0] if x is None else tx.to(as_tensor(x), self.dtype)
        return [value, _truth(True)]

    def _nothing(self) -> list[Any]:
        if self.mode == "number":
            return [tx.full((), 0, dtype=DTYPES[self.kind])]
        if self.mode == "choice":
            return [tx.full((), 0, dtype=int64)]
        made = tx.zeros(tuple(self.shape), dtype=self.dtype)
        return [made] if self.mode == "tensor" else [made, _truth(False)]

    def _index(self, x: Any) -> Any:
        if not isinstance(x, Choice):
            return tx.full((), _place(self.options, x), dtype=int64)
        places = [_place(self.options, o) for o in x.options]
        if places == list(range(len(places))):
            return x.index
        return looked_up(places, x.index)

    def decode(self, tensors: list[Any]) -> Any:
        """The value of tensors."""
        if self.mode == "tensor":
            return tensors[0]
        if self.mode == "number":
            return Number(self.kind, tensors[0])
        if self.mode == "choice":
            return Choice(list(self.options), tensors[0])
        return Mixed(self.kind, tensors[0], Number("bool", tensors[1]))

    @property
    def width(self) -> int:
        """How many tensors it takes."""
        return 2 if self.mode == "mixed" else 1


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()  # on a path that never gets here, or where a variable is not set


def _truth(x: bool) -> Any:
    return tx.full((), x, dtype=bool_)


def _place(options: tuple[Any, ...], x: Any) -> int:
    return next(i for i, o in enumerate(options) if alike(o, x))


def form(x: Any) -> Carry:
    """How a value travels by itself."""
    if isinstance(x, _core.Tensor):
        return Carry("tensor", x.dtype, tuple(x.shape))
    if isinstance(x, Mixed):
        return Carry("mixed", x.tensor.dtype, tuple(x.tensor.shape), x.kind)
    if isinstance(x, Union):
        raise Clash(f"is {x!r}")
    if isinstance(x, Choice):
        return Carry("choice", options=tuple(x.options))
    kind = kind_of(x)
    if kind is not None:
        known = None if isinstance(x, Number | Dim) else x
        return Carry("number", kind=kind, known=known)
    if isinstance(x, Symbolic | Maybe):
        raise Clash(f"is {x!r}")
    return Carry("choice", options=(x,))


def join(a: Carry, b: Carry) -> Carry:
    """A form for both."""
    if a.mode > b.mode:  # choice, mixed, number, tensor
        a, b = b, a
    modes = (a.mode, b.mode)
    if modes == ("tensor", "tensor"):
        if a.dtype is not b.dtype or not _same_shape(a.shape, b.shape):
            raise Clash(f"is {_text(a)} on one path and {_text(b)} on another")
        return a
    if modes == ("number", "number"):
        if a.kind == b.kind:
            known = a.known if alike(a.known, b.known) else None
            return Carry("number", kind=a.kind, known=known)
        if a.known is not None and b.known is not None:
            return Carry("choice", options=(a.known, b.known))
    if modes == ("number", "tensor") and _fits(a, b):
        return Carry("mixed", b.dtype, (), a.kind)
    if modes == ("choice", "tensor") and a.options == (None,):
        return Carry("mixed", b.dtype, b.shape, "none")
    if (
        modes == ("mixed", "mixed")
        and (a.kind, a.dtype) == (b.kind, b.dtype)
        and _same_shape(a.shape, b.shape)
    ):
        return a
    if modes == ("mixed", "tensor") and a.dtype is b.dtype and _same_shape(a.shape, b.shape):
        return a
    if modes == ("mixed", "number") and a.kind == b.kind and _fits(b, a):
        return a
    if modes == ("choice", "mixed") and b.kind == "none" and a.options == (None,):
        return b
    if modes == ("choice", "number") and b.known is not None:
        b = Carry("choice", options=(b.known,))
        modes = ("choice", "choice")
    if modes == ("choice", "choice"):
        new = [o for o in b.options if not any(alike(o, p) for p in a.options)]
        if len(a.options) + len(new) <= 64:
            return Carry("choice", options=(*a.options, *new))
    raise Clash(f"is {_text(a)} on one path and {_text(b)} on another")


def _same_shape(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    if len(a) != len(b):
        return False
    for m, n in zip(a, b, strict=True):
        unknown = any(isinstance(s, Dim) and s.hint is None for s in (m, n))
        if not same(m, n) and (unknown or size_hint(m) != size_hint(n)):
            return False
    return True


def _fits(number: Carry, tensor: Carry) -> bool:
    """Whether a number is the same number in a tensor's dtype."""
    if tensor.shape != ():
        return False
    dtype = tensor.dtype
    if number.known is None:
        return dtype is {"float": float64, "int": int64, "bool": bool_}[number.kind]
    if number.kind == "float" and not dtype.is_floating_point:
        return False
    if number.kind == "bool" or dtype is bool_:
        return number.kind == "bool" and dtype is bool_
    if dtype.is_complex:
        return False
    known = number.known
    with np.errstate(all="ignore"):
        try:
            made = dtype.numpy.type(known)
            # As Python's: beside a number of NumPy's another one is rounded before it is compared.
            return (
                known != known or (float(made) if dtype.is_floating_point else int(made)) == known
            )
        except (OverflowError, ValueError):
            return False


def _text(c: Carry) -> str:
    if c.mode == "tensor":
        return f"a tensor {c.dtype.short}[{','.join(map(str, c.shape))}]"
    if c.mode == "number":
        return f"a Python {c.kind}"
    if c.mode == "mixed":
        return f"a tensor or a Python {c.kind}"
    names = dict.fromkeys("None" if o is None else f"a {type(o).__name__}" for o in c.options)
    return " or ".join(names)
