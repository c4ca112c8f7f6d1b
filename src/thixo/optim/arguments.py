"""Arguments of optimizers and schedules, checked against the annotations of their constructors."""

import functools
import inspect
import numbers
import types
from collections import abc
from collections.abc import Callable, Sequence
from typing import Any, get_args, get_origin

from thixo.errors import ArgumentError, describe
from thixo.tensor import Tensor

Number = float | Tensor  # a tensor may be changed between steps, by compiled code too
Pair = Sequence[Number]
Each = Number | Sequence[Number]  # one for all groups, or one for each


def is_real(value: Any) -> bool:
    """Whether it is a real number, a 0-d tensor included.

    >>> is_real(0.1), is_real(tx.tensor(0.1)), is_real("0.1"), is_real(1j)
    (True, True, False, False)
    """
    if isinstance(value, Tensor):
        return value.numel() == 1 and not value.dtype.is_complex
    return isinstance(value, numbers.Real)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | range) and all(map(is_real, value))


def _is_flag(value: Any) -> bool:
    return isinstance(value, numbers.Integral) or (
        isinstance(value, Tensor) and is_real(value) and value.ndim == 0
    )


_KINDS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    float: (is_real, "a real number"),
    int: (is_real, "a whole number"),
    bool: (_is_flag, "a bool"),
    str: (lambda x: isinstance(x, str), "a str"),
    Number: (is_real, "a real number"),
    Pair: (lambda x: _is_list(x) and len(x) == 2, "two real numbers"),
    Each: (lambda x: is_real(x) or _is_list(x), "a real number, or a list with one for each group"),
    Sequence[int]: (_is_list, "a list of whole numbers"),
}


def _test_of(kind: Any) -> tuple[Callable[[Any], bool], str] | None:
    """How to tell a value of a kind, and what it is called; None if it may be anything."""
    if kind in _KINDS:
        return _KINDS[kind]
    if isinstance(kind, types.UnionType) and types.NoneType in kind.__args__:
        test = _test_of(kind.__args__[0])
        if len(kind.__args__) != 2 or test is None:
            return None
        return lambda x: x is None or test[0](x), f"{test[1]} or None"
    if get_origin(kind) is abc.Sequence:
        test = _test_of(get_args(kind)[0])
        if test is None:
            return None
        return (
            lambda x: isinstance(x, list | tuple) and all(map(test[0], x)),
            f"a list, each {test[1]}",
        )
    if get_origin(kind) is abc.Callable:
        return callable, "a function"
    if isinstance(kind, type) and kind.__module__.startswith("thixo.optim"):
        return lambda x: isinstance(x, kind), f"an {kind.__name__}"
    return None


def check_argument(owner: str, name: str, kind: Any, value: Any) -> None:
    """Refuse what is not of the annotated kind; kinds that are not known here may be anything.

    >>> check_argument("SGD", "lr", float, 0.1)
    """
    test = _test_of(kind)
    if test is not None and not test[0](value):
        raise ArgumentError(f"{owner}: {name} must be {test[1]}, got {describe(value)}")


def check_constructor(cls: type) -> None:
    """Make a class check what its own constructor gets."""
    init = cls.__dict__.get("__init__")
    if init is None or not cls.__module__.startswith("thixo."):
        return  # another's class may take what it likes
    signature = inspect.signature(init)
    kinds = {p.name: p.annotation for p in signature.parameters.values()}

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        owner = type(self).__name__
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{owner}: {error}; usage: {owner}{_usage(signature)}") from None
        for name, value in bound.arguments.items():
            check_argument(owner, name, kinds[name], value)
        init(self, *args, **kwargs)

    cls.__init__ = checked  # type: ignore[misc]


def _usage(signature: inspect.Signature) -> str:
    parameters = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    return str(inspect.Signature(parameters))
