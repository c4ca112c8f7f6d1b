"""What a node costs: operations, bytes moved, and seconds guessed from both.

An operator may declare `cost(results, *args) -> operations`, with arguments as shape rules get them. Without that each
element of what is read or made counts as one operation, which is right for whatever moves more than it computes.

Sizes that are not known are those of the example; a size without one counts as `UNKNOWN`.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo.graph.ir import Node, Type, Value, values_in
from thixo.symbolic import Dim, Size

UNKNOWN = 32  # a symbolic size of which nothing is known
OPERATIONS = 4e10  # in a second, on one core
BANDWIDTH = 8e9  # bytes in a second, between one core and memory
START = 3e-7  # seconds until a node computes at all


class Cost(NamedTuple):
    """What a node costs.

    >>> graph = tx.jit.trace(lambda a, b: a @ b, (tx.ones(64, 64), tx.ones(64, 64))).graph
    >>> [cost_of(node).flops for node in graph.nodes]
    [524288]
    """

    flops: int
    bytes: int
    seconds: float

    def __add__(self, other: Any) -> "Cost":
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Cost(0, 0, 0.0)


def guess(size: Size) -> int:
    """A size in the example, or a plausible one."""
    if not isinstance(size, Dim):
        return size
    hint = size.hint
    if hint is not None:
        return hint
    low, high = size.bounds
    found = max(UNKNOWN, low or 0)
    return found if high is None else min(found, high)


def elements(type: Type) -> int:
    """How many elements a value has, guessed where sizes are not known."""
    return math.prod(map(guess, type.shape))


def bytes_of(type: Type) -> int:
    """How many bytes a value has, guessed where sizes are not known."""
    return elements(type) * type.dtype.itemsize


def cost_of(node: Node) -> Cost:
    """The cost of a node without graphs in it; views cost nothing."""
    if node.op.kind == "view":
        return NOTHING
    values = list(values_in(node.args))
    moved = sum(bytes_of(v.type) for v in (*values, *node.outputs))
    declared = getattr(node.op, "cost", None)
    if declared is None:
        flops = sum(elements(v.type) for v in (*values, *node.outputs))
    else:
        flops = int(declared(list(map(_Sized, node.outputs)), *map(_sized, node.args)))
    return cost(flops, moved)


def cost(flops: int, moved: int) -> Cost:
    """Whichever is slower decides: computing or moving."""
    return Cost(flops, moved, START + max(flops / OPERATIONS, moved / BANDWIDTH))


class _Sized:
    """A value with numbers for sizes, as cost rules see it."""

    __slots__ = ("dtype", "ndim", "shape")

    def __init__(self, value: Value) -> None:
        self.dtype = value.type.dtype
        self.shape = tuple(map(guess, value.type.shape))
        self.ndim = len(self.shape)


def _sized(a: Any) -> Any:
    if isinstance(a, Value):
        return _Sized(a)
    if isinstance(a, Dim):
        return guess(a)
    return type(a)(map(_sized, a)) if isinstance(a, list | tuple) else a


def control_cost(node: Node, inner: Sequence[Cost]) -> Cost:
    """The cost of a node with graphs, from what each of them costs."""
    name = node.op.full_name
    if name in ("cond", "switch"):
        return max(inner, key=lambda c: c.seconds)
    turns = 1
    if name == "while_loop":
        turns = UNKNOWN if node.args[4] is None else min(node.args[4], UNKNOWN)
    elif name == "scan":
        turns = guess(node.args[4])
    elif name == "fused":  # one pass over what comes in and goes out
        moved = sum(bytes_of(v.type) for v in (*node.args[1], *node.outputs))
        return cost(sum(c.flops for c in inner), moved)
    total = sum(inner, NOTHING)
    return Cost(total.flops * turns, total.bytes * turns, total.seconds * turns + START)
