"""Random graphs for tests of schedules: pointwise, views, products, sums, loops and branches, random numbers."""

import random

from thixo.graph import Graph, Type, Value, parse
from thixo.graph.control import CALL, COND, SCAN, WHILE_LOOP
from thixo.graph.operators import find
from thixo.graph.typing import result_types

BODIES = """
graph more(x: f32[r, c], i: i64[]) {
  p: bool[] = lt(i, 3)
  return p
}

graph turn(x: f32[r, c], i: i64[]) {
  a: f32[r, c] = exp(x)
  b: f32[r, c] = tanh(x)
  y: f32[r, c] = mul(a, b)
  j: i64[] = add(i, 1)
  return y, j
}

graph left(x: f32[r, c]) {
  a: f32[r, c] = exp(x)
  t: f32[c, r] = transpose(a, dim0=0, dim1=1)
  b: f32[r, r] = matmul(a, t)
  y: f32[r, c] = matmul(b, x)
  return y
}

graph right(x: f32[r, c]) {
  y: f32[r, c] = neg(x)
  return y
}

graph row(s: f32[c], x: f32[c]) {
  a: f32[c] = exp(x)
  y: f32[c] = add(s, a)
  return y, a
}

graph both(x: f32[r, c], p: bool[], zero: i64[], s: f32[c]) {
  a: f32[r, c], n: i64[] = while_loop(test=more, body=turn, state=[x, zero], captured=[])
  b: f32[r, c] = cond(p, then=left, other=right, inputs=[x])
  l: f32[r, c] = call(graph=left, inputs=[x])
  t: f32[c], rows: f32[r, c] = scan(body=row, state=[s], slices=[x], captured=[], length=r)
  return a, b, l, t
}
"""


def random_graph(seed: int, size: int, control: bool = True) -> Graph:
    """A graph of about `size` nodes; sizes are n and m, or numbers."""
    pick = random.Random(seed)
    bodies = parse(BODIES)
    inner = {
        g.name: g for node in bodies.nodes for a in node.args if isinstance(a, Graph) for g in [a]
    }
    graph = Graph("random")
    values = [
        graph.input("x", "f32[n, m]"),
        graph.input("y", "f32[n, m]"),
        graph.input("v", "f32[m]"),
    ]
    flag = graph.input("p", "bool[]")
    zero = graph.input("zero", "i64[]")

    def add(name: str, *args: object) -> None:
        op = find(name)
        bound = [*args, *(p.default for p in op.sig.params[len(args) :])]
        values.extend(graph.add(op, bound, result_types(op, bound)).outputs)

    def flow(op: object, *args: object) -> None:
        node = graph.add(op, args, op.infer(*args))  # type: ignore[attr-defined]
        values.extend(v for v in node.outputs if v.type.dtype.short == "f32")

    while len(graph.nodes) < size:
        x = pick.choice(values[-12:])
        alike = [v for v in values[-40:] if v.type == x.type]
        kind = pick.randrange(14 if control else 11)
        if kind <= 2:
            add(pick.choice(["exp", "tanh", "neg", "sigmoid"]), x)
        elif kind <= 5:
            add(pick.choice(["add", "mul", "maximum"]), x, pick.choice(alike))
        elif kind == 6 and x.ndim == 2:
            add("transpose", x, 0, 1)
        elif kind == 7 and x.ndim == 2:
            add("reshape", x, (x.shape[0] * x.shape[1],))
        elif kind == 8 and x.ndim:
            add("sum", x, (0,), bool(pick.randrange(2)))
        elif kind == 9 and x.ndim == 2:
            matching = [
                v for v in values[-40:] if v.ndim == 2 and str(v.shape[0]) == str(x.shape[1])
            ]
            if matching:
                add("matmul", x, pick.choice(matching))
        elif kind == 10:
            if pick.randrange(3):
                add("select" if x.ndim else "neg", *((x, 0, 0) if x.ndim else (x,)))
            else:
                add("rand", tuple(x.shape))
        elif kind == 11 and x.ndim == 2 and _symbolic(x):
            flow(WHILE_LOOP, inner["more"], inner["turn"], [x, zero], [], None)
        elif kind == 12 and x.ndim == 2 and _symbolic(x):
            flow(pick.choice([COND]), flag, inner["left"], inner["right"], [x])
        elif kind == 13 and x.ndim == 2 and _symbolic(x):
            state = [v for v in values[-40:] if v.ndim == 1 and str(v.shape[0]) == str(x.shape[1])]
            if state:
                flow(SCAN, inner["row"], [pick.choice(state)], [x], [], x.shape[0], False)
            else:
                flow(CALL, inner["left"], [x])
    made = [v for node in graph.nodes for v in node.outputs]
    graph.outputs = pick.sample(made, min(len(made), pick.randrange(1, 4)))
    for target in (graph.inputs[0], graph.inputs[1]):
        fit = [v for v in made if v.type == target.type]
        if fit and pick.randrange(2):
            graph.mutations[target] = pick.choice(fit)
    return graph


def _symbolic(value: Value) -> bool:
    return all(str(s) in ("n", "m") for s in value.shape)


def typed(text: str) -> Type:
    """A type from its text."""
    return Graph().input("x", text).type
