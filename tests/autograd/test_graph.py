"""Walking the tape: grad_fn, next_functions, names, sources, what was saved."""

import gc
import inspect
import re
import weakref

import pytest

import thixo as tx
from thixo.errors import AutogradError


def here():
    return inspect.currentframe().f_back.f_lineno


def test_names_and_edges():
    x, w = tx.ones(2, requires_grad=True), tx.ones(2, requires_grad=True)
    y = (x * w).tanh().sum()
    total = y.grad_fn
    assert total.name() == "SumBackward"
    ((tanh, number),) = total.next_functions
    assert (tanh.name(), number) == ("TanhBackward", 0)
    ((product, _),) = tanh.next_functions
    assert product.name() == "MulBackward"
    (left, _), (right, _) = product.next_functions
    assert left.name() == right.name() == "AccumulateGrad"
    assert left.variable is x
    assert right.variable is w
    assert left.next_functions == ()


def test_the_same_node_is_the_same_object():
    x = tx.ones(2, requires_grad=True)
    y = x * 2
    assert y.grad_fn is y.grad_fn
    assert (y + 1).grad_fn.next_functions[0][0] is y.grad_fn
    assert (x * 3).grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0]
    assert (x * 2).grad_fn is not y.grad_fn
    assert len({y.grad_fn, y.grad_fn}) == 1


def test_results_have_their_number():
    x = tx.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
    values, vectors = tx.linalg.eigh(x)
    assert values.grad_fn is vectors.grad_fn
    assert (values.output_nr, vectors.output_nr) == (0, 1)
    assert vectors.sum().grad_fn.next_functions[0] == (values.grad_fn, 1)


def test_the_line_of_each_operation():
    x = tx.ones(2, requires_grad=True)
    line = here() + 1
    y = x * 2
    assert y.grad_fn.source == f"test_graph.py:{line}"
    assert repr(y.grad_fn) == f"<MulBackward from test_graph.py:{line}>"


def test_the_line_is_the_users_even_through_modules():
    layer = tx.nn.Linear(2, 2)
    line = here() + 1
    y = layer(tx.ones(1, 2))
    assert y.grad_fn.source == f"test_graph.py:{line}"


def test_what_was_saved_by_name():
    x, w = tx.ones(2, requires_grad=True), tx.full((2,), 3.0, requires_grad=True)
    saved = (x * w).grad_fn.saved
    assert saved["input"] is x
    assert saved["other"] is w
    y = x.exp()
    (kept,) = y.grad_fn.saved.values()
    assert kept.tolist() == y.tolist()


def test_what_was_saved_after_it_was_freed():
    x = tx.ones(2, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    with pytest.raises(AutogradError, match="already freed"):
        _ = y.grad_fn.saved


def test_walking_counts_every_node_once():
    x = tx.ones(1, requires_grad=True)
    y = x
    for _ in range(10):
        y = y * y
    seen, waiting = set(), [y.grad_fn]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(n for n, _ in node.next_functions if n is not None)
    assert len(seen) == 11


def test_a_node_keeps_its_part_of_the_graph():
    x = tx.ones(1, requires_grad=True)
    node = (x * 2).exp().grad_fn
    gc.collect()
    assert node.next_functions[0][0].name() == "MulBackward"
    assert node.next_functions[0][0].next_functions[0][0].variable is x


def test_the_variable_of_a_leaf_that_died():
    x = tx.ones(1, requires_grad=True)
    y = x + 1
    accumulate = y.grad_fn.next_functions[0][0]
    reference = weakref.ref(x)
    del x
    assert reference() is None
    assert accumulate.variable is None
    y.sum().backward()  # there is nobody to tell
    with pytest.raises(AttributeError, match="only AccumulateGrad nodes have a variable"):
        _ = y.grad_fn.variable


def test_nodes_cannot_be_made_by_hand():
    with pytest.raises(TypeError, match="cannot create"):
        tx.autograd.Node()


def test_shapes_in_the_graph_are_not_values():
    """A view adds a node, not a copy."""
    x = tx.ones(4, 4, requires_grad=True)
    y = x.t()[1:, 0]
    assert y.data_ptr() != 0
    names = []
    node = y.grad_fn
    while node is not None and node.name() != "AccumulateGrad":
        names.append(node.name())
        node = node.next_functions[0][0]
    assert node.variable is x
    assert all(re.fullmatch(r"\w+Backward", n) for n in names)
