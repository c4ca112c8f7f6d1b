"""Products that need not be made turn by turn: one product of all turns, before the loop or after it.

A turn of a recurrent network multiplies few rows at a time, where a product of many rows is faster and reads its weights once.

- A product of a slice with something that stays the same is made of all slices before the loop; each turn gets its part.
- A sum over the turns of products of what they make (the gradient of a weight) is one product after it, along all turns.
- A stacked result that is a product with something that stays the same is made after it, of what was multiplied.
- A matrix that every turn multiplies by, and that lies transposed, is copied once.

>>> def turn(h, x, wx, wh):
...     return tx.tanh(x @ wx + h @ wh)
>>> with tx.static.Graph() as g:
...     x, w = tx.static.placeholder((20, 2, 4)), tx.static.variable(tx.rand(4, 4))
...     h, _ = tx.static.scan(lambda h, x: (turn(h, x, w, w), None), tx.zeros(2, 4), x)
>>> sorted(node.op.full_name for node in tx.static.Session(g).program([h]).nodes)
['matmul', 'scan', 'zeros']

What is added up over turns is added up in another order (a few units in the last place).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thixo.errors import ThixoError
from thixo.graph.control import SCAN
from thixo.graph.ir import Graph, Node, Value, map_values, values_in
from thixo.graph.operators import bind, find
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.graph.text import node_text
from thixo.graph.trace import remove_dead
from thixo.graph.typing import result_types
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.simplify import filled_with
from thixo.passes.sweep import in_all_graphs, sweep
from thixo.symbolic import Size, guards, same

MANY_ROWS = 256  # a product of so many rows gains nothing from more
WIDER = 8  # a result that is stacked may have so many times the elements of what it is made of
FEW_TURNS = 4  # a copy is not worth it for fewer
_LINEAR = "nn.functional.linear"
_is_zero = filled_with(0)

Later = Callable[[dict[Value, Value]], Value]  # from what is stacked inside of the loop


@graph_pass("hoist")
def hoist(graph: Graph, firings: list[Firing]) -> int:
    """Make one product of many small ones: before a loop, or after it."""
    return in_all_graphs(graph, lambda one: _change(one, firings))


def _change(graph: Graph, firings: list[Firing]) -> int:
    if not any(n.op is SCAN for n in graph.nodes):
        return 0
    makers: dict[Value, Node] = {}

    def replace(node: Node) -> Sequence[Value] | None:
        makers.update(dict.fromkeys(node.outputs, node))
        if node.op is not SCAN or not _is_closed(node.args[0]) or len(node.args[0].nodes) == 0:
            return None
        mark = len(graph.nodes)
        loop = _Loop(graph, node, makers)
        made: list[Value] | None = None
        try:
            with guards() as kept:
                if loop.change():
                    made = loop.rebuilt()
        except ThixoError:
            made = None
        if made is None or kept or any(a.type != b.type for a, b in zip(made, node.outputs)):  # noqa: B905
            del graph.nodes[mark:]
            return None
        firings.extend(Firing(rule, text, node.source) for rule, text in loop.fired)
        return made

    return sweep(graph, replace)


def _is_closed(body: Graph) -> bool:
    """Whether the data decide no size in it."""
    known = {n for v in body.inputs for s in v.type.shape for n in symbols_in(s)}
    return all(
        known.issuperset(symbols_in(s))
        for node in body.nodes
        for v in node.outputs
        for s in v.type.shape
    )


class _Loop:
    """A scan that is taken apart and put together anew, with less in its body."""

    def __init__(self, graph: Graph, node: Node, makers: dict[Value, Node]) -> None:
        self.graph, self.node, self.outside = graph, node, makers
        body, state, slices, captured, self.length, self.reverse = node.args
        self.body = body = body.copy()
        n, m = len(state), len(slices)
        inputs = body.inputs
        self.state = list(zip(inputs[:n], state, strict=True))
        self.slices = dict(zip(inputs[n : n + m], slices, strict=True))
        self.captured = dict(zip(inputs[n + m :], captured, strict=True))
        self.makers = {v: made for made in body.nodes for v in made.outputs}
        # For each of the node's results: a value of the body, or what is made of stacked ones after the loop.
        self.next: list[Value | Later] = list(body.outputs[:n])
        self.rows: list[Value | Later] = list(body.outputs[n:])
        self.wanted: dict[Value, None] = {}  # values of the body that are needed stacked besides
        self.fired: list[tuple[str, str]] = []

    # ---- what there is

    def _uses(self) -> dict[Value, int]:
        found: dict[Value, int] = {}
        for node in self.body.nodes:
            for v in values_in(node.args):
                found[v] = found.get(v, 0) + 1
        for result in (*self.next, *self.rows):
            if isinstance(result, Value):
                found[result] = found.get(result, 0) + 1
        return found

    def _stays(self, value: Any) -> bool:
        return value in self.captured

    def _moves(self, value: Any) -> bool:
        """Whether it is another one in each turn, as far as one sees."""
        return (
            isinstance(value, Value)
            and value not in self.captured
            and value not in self.body.constants
        )

    def _is(self, value: Any, *names: str) -> Node | None:
        made = self.makers.get(value) if isinstance(value, Value) else None
        return made if made is not None and made.op.full_name in names else None

    def _turned(self, value: Any) -> Value | None:
        """What a value is the transpose of."""
        made = self._is(value, "transpose")
        if made is None or value.type.ndim != 2 or same(made.args[1] % 2, made.args[2] % 2):
            return None
        found: Value = made.args[0]
        return found

    def _say(self, rule: str, node: Node) -> None:
        self.fired.append((rule, node_text(node)))

    # ---- changes

    def change(self) -> bool:
        """Take out what can be taken out; whether there was something."""
        for i in range(len(self.state)):
            self._sum(i)
        self._sums_of_columns()
        for j in range(len(self.rows)):
            self._product_after(j)
        self._tidy()
        for node in list(self.body.nodes):
            self._product_before(node)
            self._lies_transposed(node)
        return bool(self.fired)

    def _added(self, i: int) -> tuple[Node, Value] | None:
        """The node that adds to a state, and what it adds, where that is all that the state is for."""
        given, result = self.state[i][0], self.next[i]
        made = self._is(result, "add")
        if made is None or made.args[2] != 1 or not isinstance(result, Value):
            return None
        a, b, _ = made.args
        more = b if a is given else a
        uses = self._uses()
        if (a is not given and b is not given) or uses.get(given) != 1 or uses[result] != 1:
            return None
        if not isinstance(more, Value) or more.type != given.type:
            return None
        return made, more

    def _sum(self, i: int) -> None:
        """The sum over all turns of a^T b."""
        found = self._added(i)
        product = None if found is None else self._is(found[1], "matmul")
        if found is None or product is None:
            return
        a, b = self._turned(product.args[0]), product.args[1]
        if a is None or b.type.ndim != 2 or not self._moves(a) or not self._moves(b):
            return
        if _is_many(a.type.shape[0]):
            return
        start = self.state[i][1]
        left, right = a, b

        def total(stacked: dict[Value, Value]) -> Value:
            x, y = self._flat(stacked[left]), self._flat(stacked[right])
            turned = self._call("transpose", x, 0, 1)
            return self._plus(start, self._call("matmul", turned, y))

        self._later(i, total, (a, b))
        self._say("a sum of products over turns", product)

    def _sums_of_columns(self) -> None:
        """Sums over all turns and rows of what is stacked anyway: gradients of biases."""
        for i in range(len(self.state)):
            found = self._added(i)
            if found is None:
                continue
            more = found[1]
            reshaped = self._is(more, "reshape", "squeeze")
            added = self._is(more if reshaped is None else reshaped.args[0], "sum")
            if added is None or added.args[3] is not None or added.args[0] not in self.wanted:
                continue
            value, dims = added.args[0], added.args[1]
            if not isinstance(dims, tuple | list) or any(d < 0 for d in dims):
                continue
            start, shape = self.state[i][1], tuple(self.node.outputs[i].type.shape)
            axes = (0, *(d + 1 for d in dims))

            def total(
                stacked: dict[Value, Value],
                value: Value = value,
                start: Value = start,
                axes: tuple[int, ...] = axes,
                shape: tuple[Size, ...] = shape,
            ) -> Value:
                made = self._call("sum", stacked[value], axes)
                if tuple(made.type.shape) != shape:
                    made = self._call("reshape", made, shape)
                return self._plus(start, made)

            self._later(i, total, (value,))
            self._say("a sum over turns", added)

    def _product_after(self, j: int) -> None:
        """A stacked product with what stays."""
        result = self.rows[j]
        product = self._is(result, "matmul")
        if product is None or not isinstance(result, Value) or self._uses()[result] != 1:
            return
        value, other = product.args
        source = self._turned(other)
        kept = other if source is None else source
        if not self._stays(kept) or other.type.ndim != 2 or not self._moves(value):
            return
        if value in self.slices or not _is_worth(result, value):
            return
        outer = self.captured[kept]

        def all_of_it(stacked: dict[Value, Value]) -> Value:
            weight = outer if source is None else self._call("transpose", outer, 0, 1)
            return self._call("matmul", stacked[value], weight)

        self.rows[j] = all_of_it
        self.wanted.setdefault(value)
        self._say("a stacked product", product)

    def _product_before(self, node: Node) -> None:
        """A product of slices with what stays."""
        name = node.op.full_name
        if name not in ("matmul", _LINEAR):
            return
        value, weight = node.args[:2]
        stay = [v for v in node.args[1:] if v is not None]
        result = node.outputs[0]
        if not all(map(self._stays, stay)) or weight.type.ndim != 2 or not _is_worth(value, result):
            return
        rows = self._of_all_turns(value)
        if rows is None:
            return
        args = [rows, *(v if v is None else self.captured[v] for v in node.args[1:])]
        made = self._add(node.op, args, node.source)
        inside = self.body._value(result.name, result.type)
        self.slices[inside] = made
        self._replace(result, inside)
        self.body.nodes.remove(node)
        self._say("a product with what stays the same", node)

    def _of_all_turns(self, value: Any) -> Value | None:
        """What a value of the body is for all turns at once, if it is made of slices alone, place by place."""
        if value in self.slices:
            return self.slices[value]
        made = self.makers.get(value)
        if made is None or made.op.kind != "pointwise" or made.op.random or sizes_in(made.args):
            return None
        new: dict[Value, Value] = {}
        for v in values_in(made.args):
            if self._stays(v):
                if v.type.ndim > value.type.ndim:
                    return None
                new[v] = self.captured[v]
                continue
            rows = self._of_all_turns(v) if v.type.ndim == value.type.ndim else None
            if rows is None:
                return None
            new[v] = rows
        return self._add(made.op, map_values(made.args, new.__getitem__), made.source)

    def _lies_transposed(self, node: Node) -> None:
        """What every turn multiplies by lies in order."""
        if node.op.full_name != "matmul" or (
            isinstance(self.length, int) and self.length < FEW_TURNS
        ):
            return
        value, other = node.args
        source = self._turned(other)
        if source is None or not self._stays(source) or not self._moves(value):
            return
        if value.type.ndim > 2 or (value.type.ndim == 2 and _is_many(value.type.shape[0])):
            return
        turned = self._call("transpose", self.captured[source], 0, 1)
        inside = self.body._value(other.name, other.type)
        self.captured[inside] = self._call("clone", turned)
        self._replace(other, inside)
        self._say("what every turn multiplies by", node)

    # ---- putting it together

    def _later(self, i: int, total: Later, needed: Sequence[Value]) -> None:
        self.next[i] = total
        self.wanted.update(dict.fromkeys(needed))

    def _tidy(self) -> None:
        """Nothing stays in the body that only what was taken out has needed."""
        body = self.body
        kept = [v for v in (*self.next, *self.rows) if isinstance(v, Value)]
        body.outputs = [*kept, *self.wanted]
        remove_dead(body)

    def _replace(self, old: Value, new: Value) -> None:
        for node in self.body.nodes:
            node.args = map_values(node.args, lambda v: new if v is old else v)
        self.next = [new if v is old else v for v in self.next]
        self.rows = [new if v is old else v for v in self.rows]
        self.wanted = {new if v is old else v: None for v in self.wanted}

    def rebuilt(self) -> list[Value]:
        """The loop anew; values in the place of the old one's results."""
        self._tidy()
        body = self.body
        kept = [i for i, v in enumerate(self.next) if isinstance(v, Value)]
        rows = list(dict.fromkeys(v for v in self.rows if isinstance(v, Value)))
        rows += [v for v in self.wanted if v not in rows and v not in self.slices]
        body.outputs = [*(self.next[i] for i in kept), *rows]  # type: ignore[list-item]
        self._forget_unused(kept)
        state = [self.state[i][1] for i in kept]
        body.inputs = [*(self.state[i][0] for i in kept), *self.slices, *self.captured]
        slices, captured = list(self.slices.values()), list(self.captured.values())
        args = (body, state, slices, captured, self.length, self.reverse)
        names = [self.node.outputs[i].name for i in kept] + [v.name for v in rows]
        made = self.graph.add(SCAN, args, result_types(SCAN, args), names, self.node.source).outputs
        stacked = dict(zip(rows, made[len(kept) :], strict=True))
        stacked.update({v: self.slices[v] for v in self.wanted if v in self.slices})
        states = dict(zip(kept, made, strict=False))
        found = [v(stacked) if callable(v) else states[i] for i, v in enumerate(self.next)]
        return found + [v(stacked) if callable(v) else stacked[v] for v in self.rows]

    def _forget_unused(self, kept: list[int]) -> None:
        """Slices and captured values that nothing reads, unless they say how large something is."""
        body = self.body
        read = {v for node in body.nodes for v in values_in(node.args)} | set(body.outputs)
        states = [self.state[i][0] for i in kept]
        bound = {
            symbol_name(s)
            for v in (*states, *self.slices, *self.captured)
            if v in read or v in states
            for s in v.type.shape
        }
        if not all(bound.issuperset(_names_in(node)) for node in body.nodes):
            return
        if any(
            not bound.issuperset(symbols_in(s))
            for v in (*states, *self.slices, *self.captured)
            if v in read or v in states
            for s in v.type.shape
        ):
            return
        if any(not bound.issuperset(symbols_in(s)) for g in body.guards for s in (g.left, g.right)):
            return
        needed = read | self.wanted.keys()
        self.slices = {v: outer for v, outer in self.slices.items() if v in needed}
        self.captured = {v: outer for v, outer in self.captured.items() if v in read}

    # ---- outside of the loop

    def _add(self, op: Any, args: Sequence[Any], source: str | None) -> Value:
        return self.graph.add(op, args, result_types(op, args), None, source).outputs[0]

    def _call(self, name: str, *args: Any) -> Value:
        op = find(name)
        return self._add(op, bind(op, args, {}), self.node.source)

    def _flat(self, value: Value) -> Value:
        """Rows of all turns, one below the other."""
        turns, rows, columns = value.type.shape
        return self._call("reshape", value, (turns * rows, columns))

    def _plus(self, start: Value, more: Value) -> Value:
        return more if _is_zero(self.outside.get(start)) else self._call("add", start, more)


def _names_in(node: Node) -> set[str]:
    sizes = [s for v in node.outputs for s in v.type.shape]
    return {n for s in (*sizes, *sizes_in(list(node.args))) for n in symbols_in(s)}


def _is_many(rows: Size) -> bool:
    return isinstance(rows, int) and rows >= MANY_ROWS


def _is_worth(small: Value, large: Value) -> bool:
    """Whether one product gains something, and stacking its result does not need much more memory than its input."""
    if small.type.ndim > 1 and _is_many(small.type.shape[-2]):
        return False
    a, b = small.type.shape[-1] if small.type.ndim else 1, large.type.shape[-1:]
    return not (b and isinstance(a, int) and isinstance(b[0], int)) or b[0] <= WIDER * a
