"""What the user's own variables hold, line by line, while a function runs."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from thixo import _core
from thixo.capture.values import Maybe, Number

_PACKAGE = os.path.dirname(_core.__path__[0]) + os.sep
_NOT_USERS = (_PACKAGE, "<frozen", os.path.dirname(os.__file__) + os.sep)

# What is told of a variable that got a tensor: its name, the tensor, and the line ("train.py:41").
Told = Callable[[str, Any, str], None]


@contextmanager
def watching(told: Told) -> Iterator[None]:
    """Tell of each tensor that a variable of the user's code gets, in this thread.

    >>> def f(x):
    ...     h = x + 1
    ...     return h * 2
    >>> seen = []
    >>> with watching(lambda name, tensor, line: seen.append((name, tensor.item()))):
    ...     y = f(tx.tensor(1.0))
    >>> seen
    [('x', 1.0), ('h', 2.0)]
    """
    before = sys.gettrace()
    sys.settrace(_Watch(told).enter)
    try:
        yield
    finally:
        sys.settrace(before)


class _Watch:
    def __init__(self, told: Told) -> None:
        self._told = told

    def enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A frame begins: only the user's own are looked at."""
        if frame.f_code.co_filename.startswith(_NOT_USERS):
            return None
        seen: dict[str, Any] = {}
        line = [frame.f_lineno]

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            self._look(frame, seen, line[0])
            line[0] = frame.f_lineno
            return step

        return step

    def _look(self, frame: FrameType, seen: dict[str, Any], line: int) -> None:
        for name, value in frame.f_locals.items():
            tensor = value.value if isinstance(value, Maybe) else value
            tensor = tensor.tensor if isinstance(tensor, Number) else tensor
            if not isinstance(tensor, _core.Tensor) or name.startswith("_"):
                continue
            known = seen.get(name)
            if known is not None and known[0] is tensor and known[1] is tensor._value:
                continue
            seen[name] = (tensor, tensor._value)
            self._told(name, tensor, f"{os.path.basename(frame.f_code.co_filename)}:{line}")
