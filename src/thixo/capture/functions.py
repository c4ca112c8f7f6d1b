"""Users' `autograd.Function`s in captured code: forward and backward are converted, the way back is a part of the graph."""

from typing import Any

from thixo.autograd.function import Function, FunctionCtx, apply
from thixo.capture.frames import Inner, current
from thixo.capture.paths import Path, read
from thixo.capture.refusal import Refused
from thixo.graph.trace import Trace

APPLY = Function.__dict__["apply"].__func__


class _Converted:
    """A Function whose methods run as captured code."""

    def __init__(self, function: Any) -> None:
        from thixo.capture.callees import call

        self.__name__ = function.__name__
        self.forward = lambda *args, **kwargs: call(function.forward, *args, **kwargs)
        self.backward = lambda *args: call(function.backward, *args)
        if hasattr(function, "setup_context"):
            self.setup_context = lambda *args: call(function.setup_context, *args)


def apply_captured(function: Any, args: Any, kwargs: Any) -> Any:
    """`function.apply(...)`"""
    for name in ("forward", "backward", "setup_context"):
        if hasattr(function, name):
            path = Path(function, function.__name__).step("attr", name)
            read(current(), path, getattr(function, name))
    context = current().made(FunctionCtx(_Converted(function)))  # type: ignore[arg-type]
    made = apply(context._function, context, args, kwargs)
    if context._dirty:
        raise Refused(
            f"{function.__name__}.apply", "its forward changes an input in place", "return a new tensor"
        )  # fmt: skip
    return made


class Back(Inner):
    """The trace of a way back; what it changes besides tensors is taken back."""

    def __init__(self, name: str, outer: Trace) -> None:
        super().__init__(name, outer)

    def __enter__(self) -> "Back":
        capture = current()
        capture.journal.begin()
        capture.depth += 1
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        capture = current()
        capture.depth -= 1
        capture.journal.take_back()
