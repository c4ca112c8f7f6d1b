"""Native walks over nodes: what they find is what the nodes say."""

import pytest

import thixo as tx
from thixo import _core
from thixo.graph import Graph, Type, Value
from thixo.graph.ir import Node, map_values, values_in, with_some_values, with_values
from thixo.graph.operators import find
from thixo.passes.repeats import _key, _Types


def some(count: int) -> list[Value]:
    return [Value(f"v{i}", Type(tx.float32, (2, i))) for i in range(count)]


def nested(a, b, c, d):
    return (a, 1, [b, a, "text"], (None, (c,)), slice(d, None, 2), {"no": a}, 1.5, ())


def test_values_are_found_in_order_however_deep():
    a, b, c, d = some(4)
    assert list(values_in(nested(a, b, c, d))) == [a, b, a, c, d]
    assert list(values_in(x for x in (1, [b], a))) == [b, a]
    assert list(values_in(())) == []


def test_values_are_replaced_and_all_else_stays():
    a, b, c, d = some(4)
    w, x, y, z = some(4)
    table = {a: w, b: x, c: y, d: z}
    assert with_values(nested(a, b, c, d), table) == (
        (w, 1, [x, w, "text"], (None, (y,)), slice(z, None, 2), {"no": a}, 1.5, ())
    )
    args = nested(a, b, c, d)
    assert with_values(args, table) == map_values(args, table.__getitem__)
    assert with_some_values(args, {b: x}) == nested(a, x, c, d)
    with pytest.raises(KeyError) as error:
        with_values(args, {a: w})
    assert error.value.args == (b,)


def chain(length: int) -> Graph:
    graph = Graph("chain")
    value = graph.input("x", "f32[4]")
    for i in range(length):
        value = graph.call("mul" if i % 2 else "add", value, value, source=f"chain.py:{i % 2}")
    graph.outputs = [value]
    return graph


def test_needed_nodes_are_those_that_lead_to_some_values():
    graph = chain(6)
    unused = graph.call("exp", graph.nodes[2].outputs[0])
    last = graph.call("cat", [graph.nodes[1].outputs[0], graph.inputs[0]])
    values = {last}
    assert _core.needed_nodes(graph.nodes, values) == [*graph.nodes[:2], graph.nodes[-1]]
    assert unused not in values
    assert graph.inputs[0] in values
    assert _core.needed_nodes(graph.nodes, set()) == []


def coloured(graph: Graph) -> tuple[list[int], list[list[Value]], dict[Value, int]]:
    return _core.colours([*graph.inputs], graph.nodes, _Types().shared, _key)


def test_colours_are_equal_for_nodes_that_differ_in_nothing_but_values():
    graph = chain(6)
    colours, reads, maker = coloured(graph)
    assert colours == [0, 1, 0, 1, 0, 1]
    assert reads[3] == [graph.nodes[2].outputs[0]] * 2
    assert maker == {n.outputs[0]: i for i, n in enumerate(graph.nodes)}
    assert len({id(v.type) for v in graph.values()}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, True), (1, 1.0), (0.0, -0.0), ((1, 2), (1, 3)), ((1,), [1]), ("a", "b"), (None, 0),
     (slice(0, 2), slice(0, 3)), (tx.float32, tx.float64)],
)  # fmt: skip
def test_colours_tell_arguments_apart(a, b):
    op, outputs = find("exp"), some(4)
    nodes = [Node(op, (x,), (v,)) for x, v in zip((a, b, a, [a]), outputs, strict=True)]
    colours, _, _ = _core.colours([], nodes, _Types().shared, _key)
    assert colours == [0, 1, 0, 2 if [a] != b else 1]


def test_colours_tell_lines_and_types_apart():
    op = find("exp")
    x, y, z = Value("x", Type(tx.float32, (2,))), Value("y", Type(tx.float32, (2,))), some(1)[0]
    nodes = [Node(op, (v,), some(1), line) for v, line in ((x, "a"), (y, "a"), (x, "b"), (z, "a"))]
    colours, _, _ = _core.colours([x, y, z], nodes, _Types().shared, _key)
    assert colours == [0, 0, 1, 2]
    assert x.type is y.type


def test_blocks_have_one_form_if_they_read_in_the_same_way():
    graph = chain(8)
    x = graph.inputs[0]
    graph.nodes[5].args = (graph.nodes[4].outputs[0], x)  # it reads from outside once more
    colours, reads, _ = coloured(graph)
    parts = [
        _core.block_form(graph.nodes, reads, colours, [i, i + 1]) for i in range(0, len(reads), 2)
    ]
    assert parts[0] == ([x], parts[1][1])
    assert parts[1][0] == [graph.nodes[1].outputs[0]]
    assert parts[2][0] == [graph.nodes[3].outputs[0], x]
    assert parts[3][1] == parts[0][1] != parts[2][1]
    with pytest.raises(tx.errors.InternalError, match="a node that is not there"):
        _core.block_form(graph.nodes, reads, colours, [8])
