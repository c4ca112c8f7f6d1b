"""What a node costs: operations, bytes moved, and seconds guessed from both.

An operator may declare `cost(results, *args) -> operations`, with arguments as shape rules get them. Without that each
element of what is read or made counts as one operation, which is right for whatever moves more than it computes.

Sizes that are not known are those of the example; a size without one counts as `UNKNOWN`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thixo.graph.ir import Node, Type, Value, values_in
from thixo.symbolic import Dim, Size

UNKNOWN = 32  # a symbolic size of which nothing is known
OPERATIONS = 4e10  # in a second, on one core
BANDWIDTH = 8e9  # bytes in a second, between one core and memory
START = 3e-7  # seconds until a node computes at all

# The same for what is small and lies in the cache.
NEAR = 1 << 20  # bytes
NEAR_BANDWIDTH = 6e10
PRODUCTS = 1.5e11  # operations of products of 4-byte numbers
NEAR_OPERATIONS = 1e10  # other operations, on single elements


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
        flops = declared_flops(node, guess)
    return cost(flops, moved)


def declared_flops(node: Node, size: Callable[[Size], int]) -> int:
    """What the operator of a node says that it computes, or 0; `size` makes numbers of sizes."""
    declared = getattr(node.op, "cost", None)
    if declared is None:
        return 0
    results = [_Sized(v, size) for v in node.outputs]
    return int(declared(results, *(_sized(a, size) for a in node.args)))


def cost(flops: int, moved: int) -> Cost:
    """Whichever is slower decides: computing or moving."""
    return Cost(flops, moved, START + max(flops / OPERATIONS, moved / BANDWIDTH))


def near_seconds(products: float, moved: float, others: float = 0.0, itemsize: int = 4) -> float:
    """Seconds on one core of something small whose data lie in the cache: operations of products, bytes, other operations."""
    bandwidth = NEAR_BANDWIDTH if moved <= NEAR else BANDWIDTH
    computing = products * itemsize / (4 * PRODUCTS) + others / NEAR_OPERATIONS
    return START + max(computing, moved / bandwidth)


class _Sized:
    """A value with numbers for sizes, as cost rules see it."""

    __slots__ = ("dtype", "ndim", "shape")

    def __init__(self, value: Value, size: Callable[[Size], int]) -> None:
        self.dtype = value.type.dtype
        self.shape = tuple(map(size, value.type.shape))
        self.ndim = len(self.shape)


def _sized(a: Any, size: Callable[[Size], int]) -> Any:
    if isinstance(a, Value):
        return _Sized(a, size)
    if isinstance(a, Dim):
        return size(a)
    return type(a)(_sized(e, size) for e in a) if isinstance(a, list | tuple) else a


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
