"""Every error Thixo raises: one class per cause.

A message says the operation, what arrived and what was needed; the class adds the line of the user's
program, so that `str(error)` ends in `(train.py:41)`. Each class is also the built-in class that fits
it, so `except ValueError` and PyTorch's `except RuntimeError` both work.
"""

import difflib
import os
import re
import reprlib
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

import numpy as np

_HOME = os.path.dirname(sys._getframe().f_code.co_filename) + os.sep
_NUMPY = os.path.dirname(np.__file__) + os.sep
_STANDARD = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LOCATION = re.compile(r" \([^()\n]+:\d+\)$")


def user_line() -> str | None:
    """Where in the user's program we are: the innermost line outside of Thixo, as "train.py:41".

    >>> user_line()
    '...:1'
    """
    frame = _beyond(sys._getframe(1))
    return None if frame is None else _place(frame)


def user_place() -> str | None:
    """The user's line; where it has called a library from there, the place in that too: "train.py:41, in encoder.py:249".

    >>> user_place()
    '...:1'
    """
    frame = inner = _beyond(sys._getframe(1))
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = _beyond(frame.f_back)
    if frame is None or inner is None or frame is inner:
        return None if inner is None else _place(inner)
    return f"{_place(frame)}, in {_place(inner)}"


def raised_at(error: BaseException) -> str | None:
    """The user's line that an exception came from, as `user_line` names lines.

    >>> try:
    ...     tx.ones(2).reshape(3)
    ... except ValueError as error:
    ...     print(raised_at(error))
    <doctest ...>:2
    """
    trace, found = error.__traceback__, None
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((_HOME, _NUMPY, "<frozen")) and not _is_library(name):
            found = f"{os.path.basename(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _beyond(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside of Thixo."""
    while frame is not None:
        name = frame.f_code.co_filename
        inner = (
            name.startswith((_HOME, _NUMPY, "<frozen"))
            or frame.f_globals.get("__name__") == "threading"
        )
        if not inner:
            return frame
        frame = frame.f_back
    return None


def _is_library(file: str) -> bool:
    return file.startswith(_STANDARD) or any(folder in file for folder in _INSTALLED)


def _place(frame: FrameType) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def user_level() -> int:
    """How many frames up from its caller the user's line is: `stacklevel` of a warning.

    >>> user_level()
    1
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    return level


class ThixoError(RuntimeError):
    """Anything that went wrong in Thixo.

    Fails:  tx.ones(2) + tx.ones(3)
    Fixed:  tx.ones(3) + tx.ones(3), or `except tx.ThixoError` around it
    """

    def __init__(self, message: object = "") -> None:
        text = str(message)
        if not _LOCATION.search(text):
            line = user_line()
            if line is not None:
                text = f"{text} ({line})"
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        # Not through __init__: the process that unpickles would add its own line.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[ThixoError], args: tuple[Any, ...], state: dict[str, Any]) -> ThixoError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ShapeError(ThixoError, ValueError):
    """Sizes that do not fit each other or the operation.

    Fails:  tx.ones(2, 3) @ tx.ones(4, 5)
    Fixed:  tx.ones(2, 3) @ tx.ones(3, 5)
    """


class DTypeError(ThixoError, TypeError):
    """An element type that the operation does not take, or two that do not mix.

    Fails:  tx.linalg.inv(tx.eye(2, dtype=tx.int64))
    Fixed:  tx.linalg.inv(tx.eye(2, dtype=tx.float32))
    """


class DeviceError(ThixoError):
    """A device that does not exist here, or tensors on different devices.

    Fails:  tx.ones(2, device="gpu")
    Fixed:  tx.ones(2, device="cpu")
    """


class IndexOutOfRange(ThixoError, IndexError):
    """An index, or the number of an axis, beyond what there is.

    Fails:  tx.ones(2, 3).sum(dim=2)
    Fixed:  tx.ones(2, 3).sum(dim=1)
    """


class ArgumentError(ThixoError, TypeError):
    """An argument that is missing, unknown, or of a kind the operation does not take.

    Fails:  tx.ones(2).sum(dim="rows")
    Fixed:  tx.ones(2).sum(dim=0)
    """


class ValueRangeError(ThixoError, ValueError):
    """An argument of the right kind whose value makes no sense.

    Fails:  tx.nn.Dropout(p=1.5)
    Fixed:  tx.nn.Dropout(p=0.5)
    """


class DomainError(ThixoError, ZeroDivisionError):
    """Integer division by zero, which has no result (floats give inf or nan instead).

    Fails:  tx.tensor([1, 2]) // tx.tensor([1, 0])
    Fixed:  tx.tensor([1, 2]) // tx.tensor([1, 1])
    """


class LinearAlgebraError(ThixoError, ArithmeticError):
    """A matrix that has no such factor, inverse or solution, or an iteration that did not converge.

    Fails:  tx.linalg.inv(tx.zeros(2, 2))
    Fixed:  tx.linalg.pinv(tx.zeros(2, 2)), or tx.linalg.inv_ex(...), which reports instead
    """


class AutogradError(ThixoError):
    """A gradient that cannot be had.

    Fails:  y = (x * x).sum(); y.backward(); y.backward()
    Fixed:  y = (x * x).sum(); y.backward(retain_graph=True); y.backward()
    """


class InplaceError(AutogradError):
    """A write in place that would spoil a gradient.

    Fails:  y = x.exp(); y.add_(1); y.sum().backward()      # exp keeps its result
    Fixed:  y = x.exp(); y = y + 1; y.sum().backward()
    """


class OutOfMemory(ThixoError, MemoryError):
    """Memory that could not be had.

    Fails:  tx.zeros(10**7, 10**7)
    Fixed:  tx.zeros(10**4, 10**4)
    """


class GraphError(ThixoError):
    """A graph that is not well formed: a value used before it is made, types that do not match.

    Fails:  tx.graph.parse("graph f(x: f32[n]) {\\n return y\\n}")
    Fixed:  tx.graph.parse("graph f(x: f32[n]) {\\n y: f32[n] = tanh(x)\\n return y\\n}")
    """


class TraceError(ThixoError):
    """Something that a traced function cannot do, such as branching on a value not known yet.

    Fails:  tx.jit.trace(lambda x: x if x.sum() > 0 else -x, example)
    Fixed:  tx.jit.trace(lambda x: tx.where(x.sum() > 0, x, -x), example)
    """


class CaptureError(TraceError):
    """A construct that a captured function cannot have: its line, the reason, and what to write instead.

    Fails:  tx.jit.script(f) where f returns None for some values and a tensor for others
    Fixed:  f returns a tensor for all values
    """

    refused: Any = None  # where it is, for those who can do without a graph


class VerificationError(CaptureError):
    """A captured function does not compute what it computes as Python; found with `verify=True`.

    Fails:  tx.jit.script(f, verify=True)(x) where f calls an operator of yours whose kernels disagree
    Fixed:  the kernels of that operator, which the message names with its line
    """


class SerializationError(ThixoError):
    """A file that cannot be read or an object that cannot be saved.

    Fails:  tx.save({"f": lambda x: x}, "model.safetensors")
    Fixed:  tx.save(model.state_dict(), "model.safetensors")
    """


class InternalError(ThixoError):
    """A fault in Thixo itself; please report it with the program that shows it.

    Fails:  a kernel returns another shape than its shape rule promised
    Fixed:  nothing a user can change: report it
    """


# ---- errors that leave an operator

# What Python and NumPy raise of arguments that they do not take.
_RAW = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError)


def lead_error(error: Exception, shown: str, name: str, full_name: str) -> Exception:
    """The error that an operator's caller sees: its message begins with the name that the caller wrote.

    `shown` is that name, `name` and `full_name` are the operator's own. Each operator on the way out is asked;
    the outermost and the innermost stay in the message.

    >>> str(lead_error(ShapeError("matmul: inner sizes differ (a.py:1)"), "linear", "linear", "nn.functional.linear"))
    'linear: matmul: inner sizes differ (a.py:1)'
    """
    if not isinstance(error, ThixoError):
        return _of_operator(error, shown)
    text = str(error)
    head, colon, rest = text.partition(": ")
    if colon and head == getattr(error, "_led_by", None):
        text = rest
        head, colon, rest = text.partition(": ")
    by_full_name = head == full_name and shown == name and not name.endswith("_")
    if head != shown and not by_full_name:
        inner = head.rpartition(".")[2].rstrip("_")
        itself = colon and inner in (shown.rstrip("_"), name.rstrip("_"))
        text = f"{shown}: {rest if itself else text}"
    error.args = (text,)
    error._led_by = shown  # type: ignore[attr-defined]
    return error


def at_line(error: Exception, line: str | None) -> Exception:
    """The same error, of a line of the user's program rather than of where it was found.

    >>> str(at_line(ShapeError("f: sizes differ (a.py:1)"), "model.py:7"))
    'f: sizes differ (model.py:7)'
    """
    if line is None or getattr(error, "_at_line", False):
        return error
    if isinstance(error, ThixoError) and error.args:
        text = _LOCATION.sub("", str(error.args[0]))
        error.args = (f"{text} ({line})", *error.args[1:])
    else:
        error.add_note(f"in a graph, at {line}")
    error._at_line = True  # type: ignore[attr-defined]
    return error


def _of_operator(error: Exception, name: str) -> Exception:
    """A failure inside of an operator as an error of ours; one that the user's own code raised stays."""
    if not isinstance(error, (*_RAW, MemoryError)) or isinstance(error, Warning):
        return error
    step = error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith((_HOME, _NUMPY, "<")):
            return error
        step = step.tb_next
    made: ThixoError
    if isinstance(error, MemoryError):
        made = OutOfMemory(f"{name}: {error}")
    else:
        made = InternalError(f"{name}: fails on these arguments: {type(error).__name__}: {error}")
    made.__cause__ = error
    return made


_SHORT_DTYPE = re.compile(r"(bfloat|float|uint|int|complex)(\d+)$")
_PREFIX = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


def nearest(name: str, names: Iterable[str]) -> str:
    """Names that somebody may have meant, as the end of a message, or nothing.

    >>> nearest("featurs", ["features", "label"])
    "; did you mean 'features'?"
    """
    found = difflib.get_close_matches(str(name), dict.fromkeys(names), 3)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def describe(x: object) -> str:
    """What an argument is, in a few characters, for messages.

    >>> import numpy as np
    >>> describe(np.zeros((2, 3), np.float32)), describe("rows"), describe(None)
    ('f32[2,3]', "'rows' (str)", 'None')
    """
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    if dtype is not None and isinstance(shape, tuple):
        return f"{_short(dtype)}[{','.join(map(str, shape))}]"
    if isinstance(x, list | tuple) and 0 < len(x) <= 8 and any(hasattr(e, "dtype") for e in x):
        return f"[{', '.join(map(describe, x))}]"
    if x is None or isinstance(x, type):
        return "None" if x is None else f"class {x.__name__}"
    return f"{reprlib.repr(x)} ({type(x).__name__})"


def _short(dtype: Any) -> str:
    short = getattr(dtype, "short", None)
    if isinstance(short, str):
        return short
    name = str(getattr(dtype, "name", dtype))
    match = _SHORT_DTYPE.match(name)
    return _PREFIX[match[1]] + match[2] if match else name
