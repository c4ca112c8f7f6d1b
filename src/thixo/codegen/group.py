"""From the body of a fused node to one kernel.

The body is a graph of pointwise operators, casts, row operators over the same rows, and views that only move axes. Its
values keep their own shapes: an operand says for each axis of the iteration space which axis of its own that is.

>>> from thixo.graph import parse
>>> body = parse('''graph scaled(x: f32[n, m], w: f32[m]) {
...   y: f32[n, m] = mul(x, w)
...   s: f32[n] = sum(y, dim=(1,))
...   return y, s
... }''')
>>> group = lower_group(body)
>>> group.kind, group.shape, group.reduced
('rows', (n, m), (False, True))
>>> for operand in group.operands:
...     print(operand)
Placed(what='input', which=0, axes=(0, 1))
Placed(what='input', which=1, axes=(-1, 0))
Placed(what='output', which=0, axes=(0, 1))
Placed(what='output', which=1, axes=(0, -1))

Between two operators a value is rounded to its dtype, so that a group gives the bits that its operators give one by
one; only sums of floats may be added up in another order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thixo.codegen.axes import FILLED, Axes
from thixo.codegen.builder import Builder, NotLowered
from thixo.codegen.builder import Value as Register
from thixo.codegen.kernel import REGISTER, Kernel, Operand
from thixo.codegen.lower import load_operand
from thixo.codegen.rowwise import ColumnSum, RowScalars, parameters
from thixo.codegen.scalars import Pair
from thixo.dtype import DType, get_default_dtype
from thixo.errors import ThixoError
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.text import graph_text
from thixo.graph.typing import pointwise_type, promoted_params
from thixo.symbolic import Dim, Size, guards

MOST_OPERANDS = 16  # that a kernel can have, as the core says
HALVES = ("f16", "bf16")
# Integers that a half type's registers hold exactly: from others conversion would round twice.
_EXACT = ("bool", "i8", "u8", "i16", "u16", "f16", "bf16", "f32")


class Placed(NamedTuple):
    """An operand of a group's kernel: an input or an output of the body by its place, or a number.

    A number may be an expression of the body's sizes. `axes` has for each axis of the iteration space the operand's own
    axis, or -1 where it repeats.
    """

    what: str
    which: Any
    axes: tuple[int, ...]


class Group(NamedTuple):
    """A kernel and how it runs: over `shape`, in the body's sizes, with rows along the `reduced` axes."""

    kind: str  # pointwise | rows
    kernel: Kernel
    shape: tuple[Size, ...]
    reduced: tuple[bool, ...]
    operands: tuple[Placed, ...]


def lower_group(body: Graph, wide: bool = False) -> Group:
    """The kernel of a body; `NotLowered` where it cannot be one.

    A `wide` one keeps half types between its operators as float32, as gradient rules do, and has all inputs for operands,
    also those that nothing reads.
    """
    try:
        with guards():
            return _Lowering(body, wide).run()
    except (ThixoError, TypeError, ValueError, OverflowError) as error:
        raise NotLowered(str(error)) from None


# What passes and programs ask for one after the other, and graphs that have bodies in common.
_KNOWN: dict[Any, Group | str] = {}
MOST_KNOWN = 512


def lowered_group(body: Graph, text: str | None = None) -> Group:
    """The same, found again where it was lowered before; `text` is the body's, where it is known."""
    text = graph_text(body, sources=False) if text is None else text
    # What the text does not say: operators of a name that was given anew, data that have no text.
    numbers = tuple(
        d.tobytes() if isinstance(d, np.ndarray | np.generic) else None
        for d in body.constants.values()
    )
    key = text, tuple(n.op for n in body.nodes), numbers, get_default_dtype()
    found = _KNOWN.pop(key, None)
    if found is None:
        try:
            found = lower_group(body)
        except NotLowered as error:
            found = str(error)
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)), None)
    _KNOWN[key] = found  # as the last one: the first goes when there are too many
    if isinstance(found, str):
        raise NotLowered(found)
    return found


class _Lowering:
    def __init__(self, body: Graph, wide: bool) -> None:
        self.body = body
        self.wide = wide
        self.axes = Axes()
        self.builder = Builder()
        self.operands: list[Operand] = []
        self.placed: list[Placed] = []
        self.k = RowScalars(self.builder, self.operands)
        self.known: dict[Value, Any] = {}

    def run(self) -> Group:
        body, axes = self.body, self.axes
        used = {v for n in body.nodes for v in n.inputs} | set(body.outputs)
        if self.wide:
            used.update(body.inputs)
        for v in (*body.inputs, *body.constants):
            if v in used:
                axes.add_input(v)
        for node in body.nodes:
            axes.add(node)
        self._choose_rows()
        self._choose_order()
        for i, v in enumerate(body.inputs):
            if v in used:
                self._place("input", i, v)
                self.known[v] = load_operand(
                    self.builder, self.operands, Operand(v.dtype.short, self._view(v))
                )
        for v, data in body.constants.items():
            if v in used:
                self.known[v] = self._constant(v, data)
        for node in body.nodes:
            self._node(node)
        for j, v in enumerate(body.outputs):
            self._store(j, v)
        return self._finish()

    # ---- the iteration space

    def _choose_rows(self) -> None:
        """Which axes make up the row; sums that go along all the others are results for each place of it."""
        axes = self.axes
        rows = {node: axes.of_rows(node) for node in axes.reduced}
        self.everything = frozenset(a for v in axes.places for a in axes.of(v) if a is not None)
        kinds = {reduced for _, reduced in rows.values()}
        if any(full != self.everything for full, _ in rows.values()) or frozenset() in kinds:
            raise NotLowered("a row operator that does not see all axes")
        self.row: frozenset[int] = frozenset()
        self.down: set[Node] = set()
        if len(kinds) == 1:
            (self.row,) = kinds
        elif len(kinds) == 2:
            one, other = kinds
            down = [
                kind
                for kind in (one, other)
                if all(n.op.full_name == "sum" for n, (_, r) in rows.items() if r == kind)
            ]
            if one & other or (one | other) != self.everything or not down:
                raise NotLowered("row operators along different axes")
            last = max(self.everything, key=lambda a: _depth(axes, a))
            summed = next((kind for kind in down if last not in kind), down[0])
            self.row = self.everything - summed
            self.down = {n for n, (_, r) in rows.items() if r == summed}
        elif kinds:
            raise NotLowered("row operators along different axes")

    def _choose_order(self) -> None:
        """The order of the axes: that of a result that has them all."""
        axes = self.axes
        candidates = [*self.body.outputs, *axes.places]
        for v in candidates:
            found = [a for a in axes.of(v) if a is not None]
            if len(found) != len(set(found)):
                raise NotLowered("one axis twice")
            if len(found) == len(self.everything):
                self.order = found
                return
        raise NotLowered("no value has all axes")

    def _view(self, v: Value) -> str:
        found = {a for a in self.axes.of(v) if a is not None}
        if not found:
            return "one"
        if not self.row or (found & self.row and found - self.row):
            return "full"
        return "column" if found & self.row else "row"

    def _place(self, what: str, which: Any, v: Value | None) -> None:
        places = self.axes.of(v) if v is not None else ()
        found = [a for a in places if a is not None]
        if len(found) != len(set(found)):
            raise NotLowered("one axis twice")
        own = tuple(places.index(a) if a in places else -1 for a in self.order)
        self.placed.append(Placed(what, which, own))

    # ---- values

    def _constant(self, v: Value, data: Any) -> Any:
        if v.type.ndim or not isinstance(data, np.ndarray | np.generic):
            raise NotLowered("a constant that is no number")
        return self._converted(data.item(), None, v.dtype)

    def _number(self, size: Dim) -> Register:
        """An expression of sizes: an operand that is known when the sizes are."""
        self._place("number", size, None)
        made = load_operand(self.builder, self.operands, Operand("f64", "one"))
        made.weak = True
        return made

    def _converted(self, x: Any, source: DType | None, to: DType) -> Any:
        """A value, or a number where there is no source, in a dtype and rounded to it."""
        b, short = self.builder, to.short
        register = REGISTER.get(short, short)
        if isinstance(x, Dim):
            return self._number(x).cast(register)
        if isinstance(x, bool | int | float | complex):
            if short in HALVES and not self.wide:
                x = float(np.asarray(x).astype(to.numpy))
            if short in ("c64", "c128"):
                z = complex(x)
                return Pair(b.constant(z.real, register), b.constant(z.imag, register))
            if isinstance(x, complex):
                raise NotLowered("a complex number beside reals")
            return self.k.constant(x, b.constant(0, register))
        zero = b.constant(0, register)
        made = self.k.cast(x, Pair(zero, zero) if short in ("c64", "c128") else zero)
        if isinstance(made, Register):
            made.weak = False
        if short in HALVES and source is not to and not self.wide:
            if source is not None and source.short not in _EXACT:
                raise NotLowered(f"{source.short} as {short} in one step")
            made = rounded_to_half(b, made, short)
        return made

    # ---- nodes

    def _node(self, node: Node) -> None:
        op = node.op
        if op.kind == "pointwise":
            made: tuple[Any, ...] = (self._pointwise(node),)
        elif node in self.axes.reduced:
            made = self._rows(node)
        elif op.full_name in FILLED:
            number = FILLED[op.full_name]
            number = node.args[op.sig.place("fill_value")] if number is None else number
            made = (self._converted(number, None, node.outputs[0].dtype),)
        elif op.full_name == "cast":
            made = (
                self._converted(
                    self.known[node.args[0]], node.args[0].dtype, node.outputs[0].dtype
                ),
            )
        else:  # a view, or a copy: the same element at another place
            made = (self.known[node.args[0]],)
        self.known.update(zip(node.outputs, made, strict=True))

    def _pointwise(self, node: Node) -> Any:
        op, result = node.op, node.outputs[0].dtype
        compute = pointwise_type(op, node.args).compute
        promoted = promoted_params(op)
        arguments = []
        for i, a in enumerate(node.args):
            if isinstance(a, Value):
                x = self.known[a]
                if isinstance(x, ColumnSum):
                    raise NotLowered("a use of sums over rows")
                arguments.append(self._converted(x, a.dtype, compute) if i in promoted else x)
            elif i in promoted and a is not None:
                arguments.append(self._converted(a, None, compute))
            else:
                arguments.append(self._number(a) if isinstance(a, Dim) else a)
        return self._result(op.scalar(self.k, *arguments), result)

    def _result(self, x: Any, result: DType) -> Any:
        return self._converted(x, None, result)

    def _rows(self, node: Node) -> tuple[Any, ...]:
        op = node.op
        if node in self.down:
            (x,) = [a for a in node.args if isinstance(a, Value)]
            result = node.outputs[0].dtype
            if result.short not in ("f32", "f64"):
                raise NotLowered(f"sums over rows in {result.short}")
            return (ColumnSum(self._converted(self.known[x], x.dtype, result)),)
        named = dict(zip((p.name for p in op.sig.params), node.args, strict=True))
        wanted = named.get("dtype")
        arguments = []
        for name in parameters(op):
            a = named[name]
            if isinstance(a, Value):
                x = self.known[a]
                if isinstance(x, ColumnSum):
                    raise NotLowered("a use of sums over rows")
                arguments.append(x if wanted is None else self._converted(x, a.dtype, wanted))
            elif name == "dim" and not isinstance(a, bool):
                arguments.append(None)  # which axes they are, the iteration space says
            else:
                arguments.append(self._number(a) if isinstance(a, Dim) else a)
        made = op.rows(self.k, *arguments)
        made = made if isinstance(made, tuple) else (made,)
        return tuple(
            x if isinstance(x, ColumnSum) else self._result(x, v.dtype)
            for x, v in zip(made, node.outputs, strict=True)
        )

    # ---- results

    def _store(self, j: int, v: Value) -> None:
        value, dtype = self.known[v], v.dtype.short
        found = {a for a in self.axes.of(v) if a is not None}
        if isinstance(value, ColumnSum):
            if found != self.row or dtype not in ("f32", "f64"):
                raise NotLowered("sums over rows of another kind")
            view, value = "column", value.value
        elif found == self.everything:
            view = "full"
        elif self.row and found == self.everything - self.row:
            view = "row"
        else:
            raise NotLowered("a result that repeats")
        at = len(self.operands)
        self._place("output", j, v)
        operand = Operand(dtype, view, True)
        self.operands.append(operand)
        for part, one in enumerate([value.re, value.im] if isinstance(value, Pair) else [value]):
            self.builder.store(at, one.cast(operand.register), part)

    def _finish(self) -> Group:
        kernel = Kernel(tuple(self.operands), tuple(self.builder.instructions))
        _refuse(kernel)
        rows = kernel.rowwise or any(o.written and o.view == "column" for o in kernel.operands)
        orders = {
            p.axes for p, o in zip(self.placed, kernel.operands, strict=True)
            if o.written and o.view == "full"
        }  # fmt: skip
        orders = {tuple(sorted(range(len(a)), key=a.__getitem__)) for a in orders}
        if len(orders) > 1:
            raise NotLowered("results that lie in different orders")
        if not rows:  # the nest outside is the caller's affair
            plain = [
                Operand(o.dtype, "one" if o.view == "one" and not o.written else "full", o.written)
                for o in kernel.operands
            ]
            if any(o.written and o.view != "full" for o in kernel.operands):
                raise NotLowered("results of several shapes")
            kernel = Kernel(tuple(plain), kernel.body)
        return Group(
            "rows" if rows else "pointwise",
            kernel,
            tuple(self.axes.sizes[a] for a in self.order),
            tuple(a in self.row for a in self.order) if rows else (False,) * len(self.order),
            tuple(self.placed),
        )


def _depth(axes: Axes, axis: int) -> int:
    """How far to the right an axis stands among those of the values that have it."""
    return max(
        (d - len(p) for v in axes.places if axis in (p := axes.of(v)) for d in [p.index(axis)]),
        default=0,
    )


def _refuse(kernel: Kernel) -> None:
    """What no group may have."""
    if len(kernel.operands) > MOST_OPERANDS:
        raise NotLowered(f"{len(kernel.operands)} operands")
    varying: list[bool] = []
    for one in kernel.body:
        if one.op == "check":
            raise NotLowered("a check of values")
        if one.op == "load":
            varying.append(kernel.operands[one.attribute[0]].view in ("full", "column"))
        elif one.op == "index":
            varying.append(True)
        else:
            if one.op == "reduce" and not varying[one.arguments[0]]:
                raise NotLowered("a sum of what is the same along the row")
            varying.append(one.op != "reduce" and any(varying[a] for a in one.arguments))


def rounded_to_half(b: Builder, x: Register, dtype: str) -> Register:
    """A float32 register with a value that the half type has: the nearest, ties to even."""
    bits = x.bits("i32")
    drop = 16 if dtype == "bf16" else 13
    half = b.constant((1 << drop - 1) - 1, "i32")
    even = (bits >> b.constant(drop, "i32")) & b.constant(1, "i32")
    near = ((bits + half + even) & b.constant(-(1 << drop), "i32")).bits("f32")
    if dtype == "f16":
        # Below the normal numbers the last place is 2^-24: that of numbers from one half on.
        size = abs(x)
        small = (size + 0.5) - 0.5
        sign = bits & b.constant(-(1 << 31), "i32")
        tiny = (small.bits("i32") | sign).bits("f32")
        near = b.select(size < b.constant(2.0**-14, "f32"), tiny, near)
        huge = (b.constant(float("inf"), "f32").bits("i32") | sign).bits("f32")
        near = b.select(size >= b.constant(65520.0, "f32"), huge, near)
    return b.select(x == x, near, x)
