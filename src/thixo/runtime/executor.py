"""Executors: the ways to run a graph, behind one interface.

An executor is made once for a graph and called with its inputs. What it gives are the graph's outputs, then the new
values of what the graph changes (`graph.mutations`), in order; nothing outside of it is written. All give the same
values; they differ in what they do before the first call and in what a call costs.

    serial    operator by operator, as eager code would run it: the judge of the others
    frames    dataflow: whatever has all its inputs runs, iterations and branches side by side (runtime/frames.py)
    sunk      one native program for the sizes of the inputs, made at the first call with them (runtime/sunk.py)
    ready     the same, its steps run as soon as what they need is there, several at once

>>> from thixo.graph import parse
>>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = mul(x, x)\\n  return y\\n}")
>>> executor(graph, "serial")([tx.tensor([1.0, 2.0, 3.0])])
[tensor([1., 4., 9.])]
"""

from __future__ import annotations

from typing import Any

from thixo.errors import ArgumentError
from thixo.graph.ir import Graph
from thixo.graph.own_gradient import forward_only
from thixo.runtime.base import Executor
from thixo.runtime.frames import Frames
from thixo.runtime.serial import Serial
from thixo.runtime.sunk import Ready, Sunk

__all__ = ["EXECUTORS", "Executor", "executor"]

EXECUTORS: dict[str, type[Executor]] = {one.name: one for one in (Serial, Frames, Ready, Sunk)}


def executor(graph: Graph, name: str | type[Executor] = "serial", **options: Any) -> Executor:
    """An executor of a graph, by its name or its class."""
    if not isinstance(name, str):
        return name(forward_only(graph), **options)
    if name not in EXECUTORS:
        raise ArgumentError(
            f"executor: there is none called {name!r}; there are {', '.join(sorted(EXECUTORS))}"
        )
    return EXECUTORS[name](forward_only(graph), **options)
