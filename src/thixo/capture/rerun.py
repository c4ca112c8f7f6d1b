"""Where a graph raises, the function itself runs: it raises on its own line, after all that it does before that.

Nothing has been changed by then but what was printed, since tensors are written after all that can fail, and Python's
objects after the graph.
"""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thixo import _core
from thixo.graph.effects import SAID
from thixo.graph.ir import Graph
from thixo.random import default_generator


class Failed(Exception):  # it never leaves this room
    """A graph that did not run to its end: an error in it, or memory that it does not know of as shared."""

    def __init__(self, why: str, printed: int = 0) -> None:
        super().__init__(why)
        self.printed = printed


class OwnMemory:
    """Raises Failed where a graph would write into a tensor whose memory another one of its inputs shares."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._writes = any(v in graph.mutations for v in graph.inputs)
        self._apart: Any = None  # where tensors were that share no memory

    def __call__(self, tensors: list[Any]) -> None:
        if not self._writes:
            return
        where = ([t.data_ptr() for t in tensors], _core.layouts(tensors))
        if where == self._apart:  # they need no look
            return
        if overlap(self._graph, tensors):
            self._apart = None
            raise Failed("it writes into a tensor whose memory another one shares")
        self._apart = where


def overlap(graph: Graph, tensors: list[Any]) -> bool:
    """Whether a tensor that the graph writes shares memory with another input."""
    spans = []
    for value, tensor in zip(graph.inputs, tensors, strict=True):
        if tensor.numel():
            begin = tensor.data_ptr()
            steps = zip(tensor.shape, tensor.stride(), strict=True)
            reach = sum((size - 1) * stride for size, stride in steps)
            end = begin + (reach + 1) * tensor.element_size()
            spans.append((begin, end, value in graph.mutations))
    spans.sort()
    last, written = 0, False  # of what reaches farthest so far
    for begin, end, is_written in spans:
        if begin < last and (is_written or written):
            return True
        if end > last:
            last, written = end, is_written
        written = written or (is_written and end >= last)
    return False


@contextmanager
def changing_nothing(draws: bool = True, *passing: type[BaseException]) -> Iterator[None]:
    """Inside, a graph runs. Raises Failed where that raises, with the random numbers as they were."""
    state = default_generator._get() if draws else None
    before = SAID.characters
    try:
        yield
    except passing:
        raise
    except Exception as error:
        if state is not None:
            default_generator._set(*state)
        printed = SAID.characters - before
        raise Failed(f"{type(error).__name__}: {error}", printed) from error


def by_python(function: Any, args: Any, kwargs: Any, failed: Failed) -> Any:
    """What the function itself does in a call whose graph failed."""
    with without_first(failed.printed), noted_as(failed.__cause__):
        return function(*args, **kwargs)


@contextmanager
def noted_as(failed: BaseException | None) -> Iterator[None]:
    """What Python raises inside gets the notes of the error that a graph raised before."""
    try:
        yield
    except Exception as error:
        for text in getattr(failed, "__notes__", ()):
            error.add_note(text)
        raise


@contextmanager
def without_first(characters: int) -> Iterator[None]:
    """Inside, so much of what is printed is left out: it has been printed already."""
    if not characters:
        yield
        return
    there = sys.stdout
    sys.stdout = _Rest(there, characters)
    try:
        yield
    finally:
        sys.stdout = there


class _Rest(io.TextIOBase):
    def __init__(self, to: Any, characters: int) -> None:
        self._to, self._left = to, characters

    def write(self, text: str) -> int:
        skipped = min(self._left, len(text))
        self._left -= skipped
        if text[skipped:]:
            self._to.write(text[skipped:])
        return len(text)

    def flush(self) -> None:
        self._to.flush()
