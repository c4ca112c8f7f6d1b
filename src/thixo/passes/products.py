"""Matrix products as programs run them: together with what follows, while each part of the result is in the cache.

>>> graph = tx.jit.trace(lambda x, w: (x @ w).tanh(), (tx.ones(4, 3), tx.ones(3, 2))).graph
>>> print(tx.passes.optimize(graph).graph)
graph matmul_tanh(x0: f32[s0, s1], x1: f32[s1, s2]) {
  matmul: f32[s0, s2] = matmul(x0, x1)
  tanh: f32[s0, s2] = tanh(matmul)
  return tanh
}
<BLANKLINE>
graph traced(x: f32[n, m], w: f32[m, h]) {
  sizes n ~ 4, m ~ 3, h ~ 2
  tanh: f32[n, h] = fused(graph=matmul_tanh, inputs=[x, w])  # ...:1
  return tanh
}

Activations, residuals, scales: whatever fusion has left as one pointwise kernel of the product's own shape. Of several large
products that meet there it follows the last. The bits are those that the operators give one by one.
"""

from __future__ import annotations

from collections import ChainMap
from types import SimpleNamespace
from typing import Any

from thixo.errors import ThixoError
from thixo.graph.control import FUSED, PRODUCTS, ends_of, product_in, subgraphs
from thixo.graph.control_types import instantiate
from thixo.graph.ir import Graph, Node, Value, with_values
from thixo.graph.sizes import sizes_in
from thixo.graph.text import graph_text, node_text
from thixo.graph.typing import result_types
from thixo.passes.fuse import Unfit, body_of, is_number
from thixo.passes.manager import Firing, graph_pass
from thixo.symbolic import guards


@graph_pass("product_epilogues", last=True)
def end_products(graph: Graph, firings: list[Firing]) -> int:
    """Compute what follows a product on the parts of its result, as they are made."""
    inner = subgraphs(graph)
    fused = {id(n.args[0]) for one in (*inner, graph) for n in one.nodes if n.op is FUSED}
    bodies: dict[str, Graph] = {}
    return sum(_end(one, bodies, firings) for one in (*inner, graph) if id(one) not in fused)


def _end(graph: Graph, bodies: dict[str, Graph], firings: list[Firing]) -> int:
    makers = {n.outputs[0]: n for n in graph.nodes if n.op.full_name in PRODUCTS}
    if not makers:
        return 0
    readers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for v in dict.fromkeys(node.inputs):
            if v in makers:
                readers.setdefault(v, []).append(node)
    results = set(graph.results())
    places = {n: i for i, n in enumerate(graph.nodes)}
    gone: set[Node] = set()
    made: dict[Node, Node] = {}
    for node in graph.nodes:
        read = [v for v in dict.fromkeys(node.inputs) if v in makers]
        if not read or (len(read) > 1 and not all(_is_large(makers[v]) for v in read)):
            continue  # where small ones meet, threads share the products out
        last = max(read, key=lambda v: places[makers[v]])
        product = makers[last]
        if last in results or len(readers[last]) != 1 or not _may_end(product, node):
            continue
        if any(graph.mutations.get(v) in node.outputs for v in node.inputs):
            continue  # a new value that is written over the old one, which a product cannot do
        try:
            made[node] = _ended(graph, product, node, bodies)
        except (Unfit, ThixoError):
            continue
        gone.add(product)
        firings.append(Firing("end of a product", node_text(node), node.source))
    graph.nodes = [made.get(n, n) for n in graph.nodes if n not in gone]
    return len(made)


def _is_large(product: Node) -> bool:
    """Whether a product has all threads for itself, wherever it is."""
    from thixo.schedule.cost import cost_of, near_seconds
    from thixo.schedule.lanes import ALONE

    cost, item = cost_of(product), product.outputs[0].dtype.itemsize
    return near_seconds(cost.flops, cost.bytes, itemsize=item) >= ALONE


def _may_end(product: Node, node: Node) -> bool:
    """Whether a node is one pointwise kernel that makes one value like the product's."""
    y = product.outputs[0]
    if len(node.outputs) != 1 or node.outputs[0].type != y.type or y.type.ndim < 2:
        return False
    if not y.dtype.is_floating_point:
        return False
    parts = node.args[0].nodes if node.op is FUSED else [node]
    return product_in(node) is None and all(
        n.op.kind == "pointwise" and not n.op.random for n in parts
    )


def _ended(graph: Graph, product: Node, node: Node, bodies: dict[str, Graph]) -> Node:
    """The node that is both."""
    numbers: dict[Value, Any] = {}
    nodes = [product, *(_inlined(node, numbers) if node.op is FUSED else [node])]
    known: Any = SimpleNamespace(constants=ChainMap(numbers, graph.constants))
    own = {v for n in nodes for v in n.outputs}
    inputs = [
        v
        for v in dict.fromkeys(v for n in nodes for v in n.inputs)
        if v not in own and not is_number(known, v)
    ]
    body = body_of(known, nodes, inputs, [nodes[-1].outputs[0]])
    body.name = "_".join(dict.fromkeys(n.op.sig.name for n in (product, *nodes[1:][-3:])))
    with guards() as kept:
        types = instantiate(body, [v.type for v in inputs], "product")
    if (
        kept
        or types[0] != node.outputs[0].type
        or product_in(Node(FUSED, (body, inputs), [])) is None
    ):
        raise Unfit("types that differ")
    _need_kernel(body)
    body = bodies.setdefault(graph_text(body, sources=False), body)
    return Node(FUSED, (body, inputs), node.outputs, node.source)


def _need_kernel(body: Graph) -> None:
    """Refuse what follows the product if it is no pointwise kernel."""
    from thixo.codegen.group import NotLowered, lowered_group

    try:
        group = lowered_group(ends_of(body))
    except NotLowered as error:
        raise Unfit(str(error)) from None
    if group.kind != "pointwise":
        raise Unfit("rows")


def _inlined(node: Node, numbers: dict[Value, Any]) -> list[Node]:
    """The nodes of a fused node, on the values that it is given; the numbers in it are added to others."""
    body, inputs = node.args
    new: dict[Value, Value] = dict(zip(body.inputs, inputs, strict=True))
    for v, data in body.constants.items():
        new[v] = v
        numbers[v] = data
    made = []
    for one in body.nodes:
        if any(True for _ in sizes_in(one.args)):
            raise Unfit("a size as an argument")
        args = with_values(one.args, new)
        outputs = [
            Value(v.name, t) for v, t in zip(one.outputs, result_types(one.op, args), strict=True)
        ]
        new.update(zip(one.outputs, outputs, strict=True))
        made.append(Node(one.op, args, outputs, one.source))
    if new[body.outputs[0]] is not made[-1].outputs[0]:
        raise Unfit("a result that is not the last value")
    return made
