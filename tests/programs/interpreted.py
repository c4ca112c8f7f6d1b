"""Graphs run operator by operator: converters, capture and gradients as ever, without passes, schedules and kernels.

Compiling takes most of a program's time, and passes and kernels have fuzzers of their own. So most programs of a long run have
their graphs interpreted, and some go through the whole compiler.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

from thixo.capture import recorded
from thixo.capture.compile_backends import _executor_of
from thixo.capture.segments import Settings
from thixo.graph.ir import Graph
from thixo.graph.own_gradient import forward_only
from thixo.runtime.serial import Serial


def _build(graph: Graph) -> Callable[..., Sequence[Any]]:
    serial = Serial(graph)
    return lambda *tensors: serial(tensors)


_HANDED = _executor_of(_build)


def _executor(graph: Graph, run_by: Any = None, **options: Any) -> Any:
    return _HANDED(forward_only(graph), **options)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Graphs that are made within are interpreted, forward and back."""
    with (
        mock.patch.object(recorded, "optimized", lambda graph: graph),
        mock.patch.object(recorded, "executor", _executor),
        mock.patch.object(recorded, "Sized", _executor),  # also for the sizes that come first
        mock.patch.object(Settings, "sights", 0),
    ):
        yield
