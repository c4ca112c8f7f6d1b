"""try and with at run time: nothing may be raised inside by a tensor that code of the user's would catch."""

import builtins
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thixo.capture import control
from thixo.capture.callees import call_function
from thixo.capture.frames import current
from thixo.capture.refusal import Refused
from thixo.graph.control import graphs_in


@contextmanager
def trying(*caught: Any) -> Iterator[None]:
    """Around what stands inside of try; `caught` are the classes of its handlers, none where they are not known."""
    capture = current()
    capture.trying += 1
    trace = control.current_trace()
    assert trace is not None
    before = len(trace.graph.nodes)
    try:
        yield
    finally:
        capture.trying -= 1
    for node in trace.graph.nodes[before:]:
        if _may_raise(node, caught):
            raise Refused(
                "try", f"{node.op.full_name} may raise when the program runs, where no except is", "test before",
                node.source,
            )  # fmt: skip


def context(x: Any) -> Any:
    """What stands behind `with`."""
    module = type(x).__module__ or ""
    enter = getattr(type(x), "__enter__", None)
    if module.startswith("thixo."):
        if module.startswith(("thixo.autograd", "thixo.determinism")):
            return x
        raise Refused("with", f"{type(x).__name__} is not known to captured code", "use it outside")
    if type(x).__name__ == "_GeneratorContextManager":
        return _Guarded(x)
    if module == "contextlib" and type(x).__name__ in ("nullcontext", "suppress", "ExitStack"):
        if type(x).__name__ == "nullcontext":
            return x
        if type(x).__name__ == "suppress":
            return _Suppressed(x)
        raise Refused(
            "with",
            f"contextlib.{type(x).__name__} is not known to captured code",
            "use a with for each, or try",
        )
    if isinstance(enter, types.FunctionType):
        return _Guarded(_UserContext(x))
    raise Refused("with", f"{type(x).__name__} is not known to captured code", "use it outside")


class _Suppressed:
    """contextlib.suppress: an except around what is inside."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> None:
        self.guard = trying()
        self.guard.__enter__()
        self.owner.__enter__()

    def __exit__(self, *error: Any) -> Any:
        try:
            self.guard.__exit__(*error)
        except BaseException as raised:
            if raised is not error[1]:
                raise
        return self.owner.__exit__(*error)


class _Guarded:
    """A context of the user's: it may see and swallow what is raised inside, so nothing is raised there by a tensor."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> Any:
        found = self.owner.__enter__()
        current().trying += 1
        return found

    def __exit__(self, *error: Any) -> Any:
        current().trying -= 1
        return self.owner.__exit__(*error)


class _UserContext:
    """A context of the user's, with its methods converted."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> Any:
        return call_function(type(self.owner).__enter__, (self.owner,), {})

    def __exit__(self, *error: Any) -> Any:
        if isinstance(error[1], Refused):
            return False
        return call_function(type(self.owner).__exit__, (self.owner, *error), {})


def _may_raise(node: Any, caught: tuple[Any, ...] = ()) -> bool:
    """Whether a node may raise what handlers would catch."""
    name = node.op.full_name
    if name == "check":
        error = getattr(builtins, node.args[2])
        if error is OverflowError:
            return False  # a number that is too large for a graph; Python's never are
        classes = [c for one in caught for c in (one if isinstance(one, tuple) else (one,))]
        if classes and all(isinstance(c, type) for c in classes):
            return issubclass(error, tuple(classes))
        return True
    if node.op.kind == "control":
        return any(_may_raise(n, caught) for graph in graphs_in(node) for n in graph.nodes)
    if (
        node.op.kind == "pointwise"
    ):  # what is not total there fails for integers only: a division by zero
        return not node.op.total and all(not v.type.dtype.is_floating_point for v in node.outputs)
    return node.op.kind != "view" and not getattr(node.op, "total", False)
