"""Growing a graph and its example side by side.

Every value of a graph that grows has a tensor with data beside it, at the sizes of the example. So a step that fails
is seen before it is recorded, and what a value is connected to can be chosen by what it holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

import thixo as tx
from tests.fuzz.material import NAMES, Source
from thixo import _core
from thixo.dtype import DType, from_numpy_dtype
from thixo.errors import ThixoError
from thixo.graph import Graph, Type
from thixo.graph.ir import Node, Value, same_shape, values_in
from thixo.graph.trace import Trace, make_symbolic
from thixo.ops.samples import SIZES, symbolic_sizes
from thixo.pytree import tree_leaves
from thixo.symbolic import Dim

LARGEST = 4096  # elements of a value
Rejected = (ThixoError, ArithmeticError, ValueError)  # a step that is not taken


class Item:
    """A value: the tensor that denotes it in the graph, and the one that has its data in the example."""

    __slots__ = ("known", "real", "tensor", "writable")

    def __init__(self, tensor: Any, real: Any, writable: bool = False) -> None:
        self.tensor = tensor
        self.real = real
        self.writable = writable
        # Whether every size is one of the graph's own: those that the data decide fit nothing else.
        self.known = all(
            not isinstance(s, Dim) or all(n in NAMES for n in s.symbols) for s in tensor.shape
        )

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.tensor.shape)

    @property
    def type(self) -> Type:
        return Type(self.dtype, self.shape)


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """Operators on data run now although a trace is active."""
    was = _core.set_tracing(False)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _core.set_tracing(was)


class Scope:
    """One graph that grows: the outer one, or the body of a loop or branch."""

    def __init__(
        self, rng: Random, name: str, parent: Scope | None = None, smooth: bool = False
    ) -> None:
        self.rng = rng
        self.parent = parent
        self.trace = Trace(name)
        self.items: list[Item] = []
        self.sources: list[Source] = []  # of the inputs of the outer graph, in order
        self.depth = 0 if parent is None else parent.depth + 1
        self.smooth = parent.smooth if parent is not None else smooth
        self.float: DType = tx.float64 if self.smooth else tx.float32  # where a float is needed
        self.symbolic = parent.symbolic if parent is not None else rng.random() < 0.7

    @property
    def graph(self) -> Graph:
        return self.trace.graph

    # ---- what there is

    def input(self, name: str, source: Source) -> Item:
        """An input of the outer graph."""
        tensor = self.trace.input(name, Type(from_numpy_dtype(source.array.dtype), source.dims))
        self.sources.append(source)
        return self.keep(Item(tensor, as_tensor(source.array), writable=True))

    def parameter(self, name: str, given: Item) -> Item:
        """An input of a body, with the data it gets first."""
        tensor = self.trace.input(name, given.type)
        with eagerly():
            return self.keep(Item(tensor, given.real.clone()))

    def constant(self, array: np.ndarray) -> Item:
        """Data that are part of the graph."""
        plain = np.array(array).view(np.ndarray)
        value = self.graph.constant("c", plain)
        self.trace.own([value])
        return self.keep(Item(make_symbolic(value), as_tensor(plain)))

    def keep(self, item: Item) -> Item:
        """Let later steps use a value."""
        self.items.append(item)
        return item

    # ---- steps

    def apply(self, function: Callable[..., Any], *items: Any, keep: bool = True) -> list[Item]:
        """What a function of tensors makes of items, in the graph and in the example.

        Lists of items become lists of tensors. Raises one of `Rejected` if the step cannot be taken.
        """
        with eagerly():
            tx.manual_seed(0)
            real = _tensors(function(*_map(items, lambda i: i.real, at_example)))
            if any(t.numel() > LARGEST for t in real):
                raise ValueError("too large")
            if self.rng.random() < 0.9 and not all(map(_is_tame, real)):
                raise ValueError("wild values")
        before = len(self.graph.nodes)
        made = _tensors(function(*_map(items, lambda i: i.tensor)))
        found = [Item(a, b) for a, b in zip(made, real, strict=True)]
        if self.smooth:
            still = without_gradient(self.graph.nodes[before:])
            found = [i for i in found if self.trace.value_of(i.tensor) not in still]
            if not found:
                raise ValueError("no gradient by its declaration")
        if any(not _fits(i) for i in found):
            raise ValueError("the example is not the graph's")
        if keep:
            self.items.extend(found)
        return found

    def one(self, function: Callable[..., Any], *items: Any) -> Item:
        """The result of a step with one result, which is kept only where it is used."""
        return self.apply(function, *items, keep=False)[0]

    def choose(self, test: Callable[[Item], bool] = lambda _: True) -> Item | None:
        """Some item that passes a test; newer ones rather than older."""
        found = [i for i in self.items if i.known and test(i)]
        if not found:
            return None
        if self.rng.random() < 0.6:
            found = found[-6:]
        return self.rng.choice(found)

    # ---- connecting

    def fit(
        self, dims: Sequence[Any], dtype: DType, low: Any = None, high: Any = None
    ) -> Item | None:
        """A value made from those that are there: of this type, and in this range if there is one."""
        dims = tuple(dims)
        item = self.choose(lambda i: same_shape(i.shape, dims) and i.dtype is dtype)
        if item is None or self.rng.random() < 0.2:
            item = self.choose(lambda i: same_shape(i.shape, dims)) or self.choose()
        if item is None:
            return None
        item = self.shaped(self.typed(item, dtype), dims)
        return item if low is None else self.ranged(item, low, high)

    def typed(self, item: Item, dtype: DType) -> Item:
        """A value in another dtype."""
        if item.dtype is dtype:
            return item
        if dtype is tx.bool:
            limit = 0 if not item.dtype.is_complex else None
            return self.one(lambda t: t != 0 if limit is None else t > limit, item)
        if item.dtype.is_complex and not dtype.is_complex:
            item = self.one(tx.real, item)
        if item.dtype.is_floating_point and dtype.is_integer:
            item = self.one(lambda t: tx.clamp(t, 0 if not dtype.is_signed else -100, 100), item)
            item = self.one(tx.nan_to_num, item)
        return self.one(lambda t: t.to(dtype), item)

    def shaped(self, item: Item, dims: tuple[Any, ...]) -> Item:
        """A value in another shape: a part of it, or repeated, or summed."""
        if same_shape(item.shape, dims):
            return item
        rng = self.rng
        numeric = item.dtype is not tx.bool
        while len(item.shape) > len(dims):  # an axis too many
            if item.real.shape[0] == 0 or (numeric and rng.random() < 0.4):
                item = self.one(lambda t: _summed(t), item)
            else:
                item = self.one(lambda t: t.select(0, 0), item)
        for axis in range(-1, -len(item.shape) - 1, -1):
            have, want = item.shape[axis], dims[axis]
            if _same(have, want):
                continue
            if type(have) is int and type(want) is int and 0 < want < have:
                start = rng.randrange(have - want + 1)
                item = self.one(lambda t, a=axis, s=start, w=want: t.narrow(a, s, w), item)
            elif type(want) is int and want == 0:
                item = self.one(lambda t, a=axis: t.narrow(a, 0, 0), item)
            elif item.real.shape[axis] == 0:
                item = self.one(lambda t, a=axis: _summed(t, a), item)
            elif not _same(have, 1):
                item = self.one(lambda t, a=axis: t.narrow(a, 0, 1), item)
        if same_shape(item.shape, dims):
            return item
        return self.one(lambda t, d: t.expand(d), item, dims)

    def ranged(self, item: Item, low: Any, high: Any) -> Item:
        """A value in a range."""
        if item.dtype is tx.bool or not item.real.numel():
            return item
        if item.dtype.is_complex:
            return self.one(lambda t: t / (1 + t.abs()) * high, item)
        array = item.real.detach().numpy()
        found = array.min().item(), array.max().item()
        if low <= found[0] and found[1] <= high:
            return item
        if item.dtype.is_integer:
            return self.one(lambda t: tx.clamp(t, int(low), int(high)), item)
        low, high = round(float(low), 3), round(float(high), 3)
        how = self.rng.randrange(3)
        if how == 0:
            return self.one(lambda t: tx.clamp(t, low, high), item)
        if how == 1:
            return self.one(lambda t: tx.sigmoid(t) * (high - low) + low, item)
        return self.one(lambda t: (tx.sin(t) + 1) * ((high - low) / 2) + low, item)


def without_gradient(nodes: Sequence[Node]) -> set[Value]:
    """Results that move with their arguments and have no gradient by their operators' declarations, and what follows from these alone.

    They are there for gradients' own sake (the gates of a layer, means) or cannot have one (singular values of a solution).
    """
    found: set[Value] = set()
    for node in nodes:
        moving = [v for v in values_in(node.args) if v.type.dtype.is_floating_point or v.type.dtype.is_complex]  # fmt: skip
        if moving and all(v in found for v in moving):
            found.update(node.outputs)
        elif not node.op.sig.many:
            names = [o.rstrip("!") for o in node.op.sig.outputs]
            found.update(
                v
                for v, name in zip(node.outputs, names, strict=True)
                if name in getattr(node.op, "nondifferentiable", ())
            )
    return {v for v in found if v.type.dtype.is_floating_point or v.type.dtype.is_complex}


def every_size() -> Source:
    """An input that is never read and binds every symbol, also those that are only in attributes."""
    array = np.zeros(tuple(SIZES.values()), bool)
    source = Source(array)
    source.dims = tuple(symbolic_sizes().values())
    return source


def as_tensor(array: np.ndarray) -> Any:
    """A tensor with a copy of the array."""
    with eagerly():
        return tx.from_numpy(np.array(array, order="C").view(np.ndarray))


def _summed(t: Any, axis: int | None = None) -> Any:
    made = tx.sum(t, dim=(0 if axis is None else axis,), keepdim=axis is not None)
    return made if made.dtype is t.dtype else made.to(t.dtype)


def _tensors(result: Any) -> list[Any]:
    found = [t for t in tree_leaves(result) if isinstance(t, _core.Tensor)]
    if not found:
        raise ValueError("no tensor")
    return found


def _is_tame(t: Any) -> bool:
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        return True
    array = t.detach().numpy()
    return bool((np.abs(array.astype(np.complex128)) < 1e3).all())


def _fits(item: Item) -> bool:
    if len(item.shape) != item.real.ndim or item.dtype is not item.real.dtype:
        return False
    if not item.known:
        return True
    sizes = [s.evaluate(SIZES) if isinstance(s, Dim) else s for s in item.shape]
    return sizes == list(item.real.shape)


def _same(a: Any, b: Any) -> bool:
    return str(a) == str(b)


def at_example(size: Any) -> Any:
    """A size in the example."""
    return size.evaluate(SIZES)


def _map(x: Any, change: Callable[[Item], Any], size: Callable[[Any], Any] = lambda s: s) -> Any:
    if isinstance(x, Item):
        return change(x)
    if isinstance(x, list | tuple):
        return type(x)(_map(e, change, size) for e in x)
    if isinstance(x, slice):
        return slice(*(_map(e, change, size) for e in (x.start, x.stop, x.step)))
    return size(x) if isinstance(x, Dim) else x
