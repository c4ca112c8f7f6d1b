"""Control flow in random graphs: branches, loops, calls, and one inside of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import thixo as tx
from tests.fuzz.builder import Item, Rejected, Scope, at_example, eagerly
from thixo.graph import Graph, Interpreter
from thixo.graph.control import CALL, COND, SCAN, SWITCH, WHILE_LOOP
from thixo.symbolic import Dim

if TYPE_CHECKING:
    from tests.fuzz.generate import _Growth

DEEPEST = 2


def add_control(scope: Scope, growth: _Growth) -> None:
    """One node with graphs inside."""
    if not scope.items:
        raise ValueError("nothing to work on")
    rng = scope.rng
    kind = rng.choice([_cond, _cond, _while, _while, _scan, _scan, _switch, _call])
    kind(scope, growth)


def captured(scope: Scope, count: int) -> list[Item]:
    """Some values that a graph inside may use, and the one that binds every size."""
    found: list[Item] = []
    for _ in range(count):
        item = scope.choose(lambda i: i not in found)
        if item is not None:
            found.append(item)
    return found


def size_carrier(scope: Scope) -> Item:
    """The input that binds every size, in a scope."""
    tensor = scope.trace.inputs[0 if scope.parent is None else -1]
    with eagerly():
        return Item(tensor, tx.zeros(tuple(_hint(s) for s in tensor.shape), dtype=tx.bool))


def _hint(size: Any) -> int:
    return size if type(size) is int else size.hint


class Body:
    """A graph inside of a node while it grows. The last input binds every size."""

    def __init__(self, scope: Scope, growth: _Growth, name: str, inputs: list[Item]) -> None:
        self.scope = Scope(scope.rng, name, scope)
        self.growth = growth
        self.trace = self.scope.trace
        self.outputs: list[Item] = []
        self.given = inputs

    def __enter__(self) -> Body:
        self.trace.__enter__()
        try:
            self.parameters = [
                self.scope.parameter(f"x{i}", item) for i, item in enumerate(self.given)
            ]
        except BaseException as error:
            self.trace.__exit__(type(error), error, None)
            raise
        self.scope.items.pop()  # the carrier of sizes is not computed with
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self.trace.graph.outputs = [self.trace.value_of(i.tensor) for i in self.outputs]
        finally:
            self.trace.__exit__(*error)

    @property
    def graph(self) -> Graph:
        return self.trace.graph

    def grow(self) -> None:
        """Some steps, maybe with control flow of their own."""
        rng, scope = self.scope.rng, self.scope
        for _ in range(rng.randint(1, 4)):
            if scope.depth < DEEPEST and rng.random() < 0.2:
                self.growth.attempt(add_control, scope, self.growth)
            self.growth.step(scope)


def record(scope: Scope, op: Any, *args: Any) -> list[Item]:
    """A node of control flow, run in the example too."""
    with eagerly():
        tx.manual_seed(0)
        made = op.run(_run, _Example(), *_data(args))
    results = scope.trace.record(op, _denoted(args))
    results = results if isinstance(results, tuple) else (results,)
    found = [Item(a, b) for a, b in zip(results, made, strict=True)]
    for item in found:
        if item.known or item.real.ndim == 0:
            scope.keep(item)
    return found


class _Example:
    """What control flow asks of values, in the example."""

    truth = staticmethod(bool)
    number = staticmethod(int)

    def at(self, value: Any, place: int) -> Any:
        return value[place]

    def stack(self, rows: list[list[Any]], state: int) -> list[Any]:
        if not rows:
            raise ValueError("nothing to stack")
        return [tx.stack(list(column)) for column in zip(*rows, strict=True)]


def _run(graph: Graph, inputs: Any) -> list[Any]:
    return Interpreter(graph).run(*inputs)


def _data(args: Any) -> Any:
    if isinstance(args, Item):
        return args.real
    if isinstance(args, list | tuple):
        return type(args)(map(_data, args))
    return at_example(args) if isinstance(args, Dim) else args


def _denoted(args: Any) -> Any:
    if isinstance(args, Item):
        return args.tensor
    return type(args)(map(_denoted, args)) if isinstance(args, list | tuple) else args


# ---- branches


def _predicate(scope: Scope) -> Item:
    item = scope.choose(lambda i: len(i.shape) == 0 and i.dtype is tx.bool)
    if item is not None and scope.rng.random() < 0.5:
        return item
    value = scope.fit((), scope.float)
    if value is None:
        raise ValueError("nothing to ask")
    limit = scope.rng.choice([0.0, 0.5, -0.5])
    return scope.one(lambda t: t > limit, value)


def _branches(scope: Scope, growth: _Growth, count: int) -> tuple[list[Graph], list[Item]]:
    rng = scope.rng
    inputs = [*captured(scope, rng.randint(1, 4)), size_carrier(scope)]
    graphs = []
    first: list[Item] = []
    for number in range(count):
        with Body(scope, growth, f"branch{number}", inputs) as body:
            body.grow()
            if number == 0:
                known = [i for i in body.scope.items if i.known]
                newest = known[-4:] if rng.random() < 0.8 else known
                body.outputs = rng.sample(newest, rng.randint(1, min(3, len(newest))))
                first = body.outputs
            else:
                found = [body.scope.fit(i.shape, i.dtype) for i in first]
                if any(f is None for f in found):
                    raise ValueError("nothing fits")
                body.outputs = [f for f in found if f is not None]
        graphs.append(body.graph)
    return graphs, inputs


def _cond(scope: Scope, growth: _Growth) -> None:
    pred = _predicate(scope)
    (then, other), inputs = _branches(scope, growth, 2)
    if scope.rng.random() < 0.3:
        then, other = other, then
    record(scope, COND, pred, then, other, inputs)


def _switch(scope: Scope, growth: _Growth) -> None:
    rng = scope.rng
    count = rng.randint(2, 3)
    item = scope.fit((), tx.int64, -1, count + 1)
    if item is None:
        raise ValueError("nothing to choose by")
    graphs, inputs = _branches(scope, growth, count)
    rng.shuffle(graphs)
    record(scope, SWITCH, item, graphs, inputs)


def _call(scope: Scope, growth: _Growth) -> None:
    graphs, inputs = _branches(scope, growth, 1)
    for _ in range(scope.rng.randint(1, 2)):
        made = record(scope, CALL, graphs[0], inputs)
        for place, item in enumerate(inputs[:-1]):  # once more, with what it gave
            for result in made:
                if result.type == item.type:
                    inputs = [*inputs[:place], result, *inputs[place + 1 :]]
                    break


# ---- loops


def _next_state(body: Body, before: Item) -> Item:
    """What a state becomes: from what the body made, and never far away."""
    scope, rng = body.scope, body.scope.rng
    new = scope.fit(before.shape, before.dtype)
    if new is None or rng.random() < 0.1:
        return before
    if before.dtype in (tx.float32, tx.float64, tx.float16, tx.bfloat16):
        ways: list[Any] = [
            lambda a, b: tx.tanh(b) + a * 0.5,
            lambda a, b: a * 0.5 + tx.sin(b),
            lambda a, b: tx.clamp(a + b, -2, 2),
        ]
        return scope.one(rng.choice(ways), before, new)
    return new


def _states(scope: Scope) -> list[Item]:
    found: list[Item] = []
    for _ in range(scope.rng.randint(1, 2)):
        item = scope.choose(lambda i: not i.dtype.is_complex and i not in found)
        if item is not None:
            found.append(item)
    return found


def _while(scope: Scope, growth: _Growth) -> None:
    rng = scope.rng
    zero = scope.one(lambda: tx.zeros((), dtype=tx.int64))
    turns = scope.fit((), tx.int64, 0, 5)
    state = [zero, *_states(scope)]
    if turns is None:
        raise ValueError("nothing says how often")
    inputs = [*state, turns, *captured(scope, rng.randint(0, 3)), size_carrier(scope)]
    with Body(scope, growth, "step", inputs) as body:
        body.grow()
        count, *states = body.parameters[: len(state)]
        after = [body.scope.one(lambda t: t + 1, count)]
        after += [_next_state(body, s) for s in states]
        extra = [i for i in body.scope.items if i.known] if rng.random() < 0.3 else []
        body.outputs = [*after, *rng.sample(extra, min(1, len(extra)))]
    by_value = rng.random() < 0.4 and len(state) > 1 and state[1].dtype.is_floating_point
    with Body(scope, growth, "more", inputs) as test:
        i, limit = test.parameters[0], test.parameters[len(state)]
        verdict = test.scope.one(lambda a, b: a < b, i, limit)
        if by_value:
            value = test.scope.shaped(test.scope.typed(test.parameters[1], scope.float), ())
            verdict = test.scope.one(lambda p, v: tx.logical_and(p, v < 1.5), verdict, value)
        test.outputs = [verdict]
    most = rng.choice([None, None, 2, 0])
    made = record(scope, WHILE_LOOP, test.graph, body.graph, state, inputs[len(state) :], most)
    for item in made[len(state) :]:
        if item.dtype is not tx.bool and not item.known:
            try:
                scope.apply(lambda t: tx.sum(t, dim=(0,)), item)
            except Rejected:
                continue


def _scan(scope: Scope, growth: _Growth) -> None:
    rng = scope.rng
    first = scope.choose(lambda i: len(i.shape) > 0)
    if first is None:
        raise ValueError("nothing to go through")
    length = first.shape[0]
    slices = [first]
    second = scope.choose(lambda i: len(i.shape) > 0 and str(i.shape[0]) == str(length))
    if second is not None and second is not first:
        slices.append(second)
    state = _states(scope)
    others = [*captured(scope, rng.randint(0, 3)), size_carrier(scope)]
    rows = []
    for item in slices:
        if item.real.shape[0] == 0:
            with eagerly():
                real = tx.zeros(tuple(item.real.shape[1:]), dtype=item.dtype)
            rows.append(_Row(item, real))
        else:
            with eagerly():
                rows.append(_Row(item, item.real[0]))
    inputs: list[Any] = [*state, *rows, *others]
    with Body(scope, growth, "turn", inputs) as body:
        body.grow()
        after = [_next_state(body, s) for s in body.parameters[: len(state)]]
        every = [i for i in body.scope.items if i.known]
        body.outputs = [*after, *rng.sample(every, min(len(every), rng.randint(0, 2)))]
        if not body.outputs:
            raise ValueError("a scan of nothing")
    reverse = rng.random() < 0.4
    record(scope, SCAN, body.graph, state, slices, others, length, reverse)


class _Row:
    """One slice of an item, as a body gets it."""

    def __init__(self, item: Item, real: Any) -> None:
        self.real = real
        self.type = tx.graph.Type(item.dtype, item.shape[1:])
