"""Hooks on tensors, leaves and nodes; retain_grad."""

import gc
import weakref

import pytest

import thixo as tx
from thixo.errors import ArgumentError, AutogradError


def leaf(*values):
    return tx.tensor(list(values), dtype=tx.float64, requires_grad=True)


def test_a_hook_sees_the_gradient_once():
    seen = []
    x = leaf(1.0, 2.0)
    h = x * 2
    h.register_hook(lambda g: seen.append(g.tolist()))
    (h * tx.tensor([3.0, 4.0]) + h).sum().backward()
    assert seen == [[4.0, 5.0]]


def test_what_a_hook_returns_replaces_the_gradient():
    x = leaf(1.0)
    h = x * 2
    h.register_hook(lambda g: g * 10)
    h.register_hook(lambda g: g + 1)
    h.sum().backward()
    assert x.grad.item() == 22.0


def test_hooks_of_a_leaf_run_before_its_grad_is_added():
    seen = []
    x = leaf(1.0)
    x.register_hook(lambda g: seen.append(x.grad) or g * 5)
    (x * 2).sum().backward()
    assert seen == [None]
    assert x.grad.item() == 10.0


def test_hooks_of_a_leaf_also_run_for_grad():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    (g,) = tx.autograd.grad((x * 2).sum(), x)
    assert g.item() == 20.0
    assert x.grad is None


def test_a_hook_may_change_the_gradient_of_a_second_order():
    x = leaf(2.0)
    h = x * x
    h.register_hook(lambda g: g * g)
    (first,) = tx.autograd.grad((h * 3).sum(), x, create_graph=True)  # 9 * 2x
    (second,) = tx.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (36.0, 18.0)


def test_removed_hooks_are_silent():
    calls = []
    x = leaf(1.0)
    h = x * 2
    for t in (x, h):
        handle = t.register_hook(lambda g: calls.append(1))
        handle.remove()
        handle.remove()
    with h.register_hook(lambda g: calls.append(2)):
        pass
    h.sum().backward()
    assert calls == []


def test_a_hook_is_removed_after_a_write_in_place_and_after_its_tensor_died():
    calls = []
    x = leaf(1.0)
    h = x * 2
    handle = h.register_hook(lambda g: calls.append("written"))
    h.mul_(3)
    handle.remove()
    gone = x * 2
    handle = gone.register_hook(lambda g: calls.append("dead"))
    total = (h + gone).sum()
    del gone
    handle.remove()
    total.backward()
    assert calls == []


def test_removing_one_hook_leaves_the_others():
    calls = []
    x = leaf(1.0)
    handles = [x.register_hook(lambda g, i=i: calls.append(i)) for i in range(3)]
    handles[1].remove()
    (x * 1).sum().backward()
    assert calls == [0, 2]


def test_a_hook_before_a_write_sees_the_gradient_of_the_old_value():
    old, new = [], []
    x = leaf(1.0)
    h = x * 2
    h.register_hook(lambda g: old.append(g.item()))
    h.mul_(3)
    h.register_hook(lambda g: new.append(g.item()))
    (h * 5).sum().backward()
    assert (old, new) == ([15.0], [5.0])


def test_hooks_may_add_and_remove_hooks_while_they_run():
    calls = []
    x = leaf(1.0)

    def first(g):
        calls.append("first")
        handle.remove()
        x.register_hook(lambda g: calls.append("late"))

    handle = x.register_hook(first)
    (x * 1).sum().backward()
    (x * 1).sum().backward()
    assert calls == ["first", "late"]


def test_hooks_that_return_nonsense():
    x = leaf(1.0, 2.0)
    for wrong, message in [
        (lambda g: 3, "a hook must return a Tensor or None, got int"),
        (lambda g: g.sum(), r"a hook changed a gradient from f64\[2\] to f64\[\]"),
        (lambda g: g.to(tx.float32), r"from f64\[2\] to f32\[2\]; shape and dtype must stay"),
    ]:
        handle = x.register_hook(wrong)
        with pytest.raises(AutogradError, match=message):
            (x * 2).sum().backward()
        handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_exception_in_a_hook_arrives_as_it_is():
    class Mine(Exception):
        pass

    def hook(g):
        raise Mine("from the hook")

    x = leaf(1.0)
    h = x * 2
    h.register_hook(hook)
    with pytest.raises(Mine, match="from the hook"):
        h.sum().backward()
    assert x.grad is None
    assert tx.is_grad_enabled()
    (x * 2).sum().backward()  # the engine is fine afterwards
    assert x.grad.item() == 2.0


def test_who_cannot_have_hooks():
    with pytest.raises(AutogradError, match="register_hook: this tensor does not require grad"):
        tx.ones(2).register_hook(print)
    with pytest.raises(ArgumentError, match="a function is needed, got 'no'"):
        leaf(1.0).register_hook("no")
    with pytest.raises(AutogradError, match="only leaf tensors accumulate"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)


def test_post_accumulate_hooks_see_the_finished_grad():
    seen = []
    x = leaf(1.0)
    x.register_hook(lambda g: seen.append("before") or g * 2)
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    for _ in range(2):
        (x * 3).sum().backward()
    assert seen == ["before", (True, 6.0), "before", (True, 12.0)]


def test_an_optimizer_step_inside_the_backward():
    """Each parameter is updated and its gradient dropped as soon as it is known."""
    x = leaf(1.0)

    def step(p):
        with tx.no_grad():
            p -= 0.5 * p.grad
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.item() == 0.0
    assert x.grad is None
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.item() == 3.0


def test_retain_grad_keeps_the_gradient_of_a_tensor_in_the_middle():
    x = leaf(2.0)
    h = x * 3
    assert not h.retains_grad
    h.retain_grad()
    h.retain_grad()
    assert h.retains_grad
    (h * h).sum().backward()
    assert h.grad.item() == 12.0
    leaf(1.0).retain_grad()  # a leaf keeps it anyway
    with pytest.raises(AutogradError, match="retain_grad: this tensor does not require grad"):
        tx.ones(1).retain_grad()


def test_without_retain_grad_a_warning_says_why_it_is_none():
    h = leaf(2.0) * 3
    h.sum().backward()
    with pytest.warns(
        UserWarning, match=r"not a leaf is None after backward; call retain_grad\(\)"
    ):
        assert h.grad is None


def test_retained_gradients_add_up():
    x = leaf(1.0)
    h = x * 2
    h.retain_grad()
    y = (h * 3).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert h.grad.item() == 6.0


@pytest.mark.parametrize("retain_first", [True, False])
def test_retained_gradients_are_what_hooks_made_of_them(retain_first):
    x = leaf(1.0)
    h = x * 2
    if retain_first:
        h.retain_grad()
    h.register_hook(lambda g: g * 10)
    if not retain_first:
        h.retain_grad()
    (h * 2).sum().backward()
    assert h.grad.item() == 20.0


def test_retain_grad_follows_the_newest_value():
    x = leaf(1.0)
    h = x * 2
    h.retain_grad()
    h.mul_(3)
    (h * 5).sum().backward()
    assert h.grad.item() == 5.0
    assert x.grad.item() == 30.0


def test_hooks_around_a_node():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = {}

    def before(grads):
        seen["before"] = grads[0].tolist()
        return (grads[0] * 2,)

    def after(made, given):
        seen["made"], seen["given"] = made[0].tolist(), given[0].tolist()
        return tuple(None if g is None else g + 1 for g in made)

    tx.autograd.graph.register_prehook(y.grad_fn, before)
    tx.autograd.graph.register_hook(y.grad_fn, after)
    y.sum().backward()
    assert seen == {"before": [1.0, 1.0], "made": [6.0, 6.0], "given": [2.0, 2.0]}
    assert x.grad.tolist() == [7.0, 7.0]


def test_hooks_around_a_node_are_removed():
    calls = []
    y = leaf(1.0) * 3
    tx.autograd.graph.register_prehook(y.grad_fn, lambda g: calls.append(1)).remove()
    tx.autograd.graph.register_hook(y.grad_fn, lambda m, g: calls.append(1)).remove()
    y.sum().backward()
    assert calls == []


def test_node_hooks_that_return_nonsense():
    for wrong, message in [
        (lambda grads: (1,), "a hook must return Tensors or None, item 0 is int"),
        (lambda grads: 7, "a hook must return Tensors or None, got int"),
        (lambda grads: grads * 2, "a hook returned 2 gradients where 1 are needed"),
    ]:
        y = leaf(1.0) * 3
        tx.autograd.graph.register_prehook(y.grad_fn, wrong)
        with pytest.raises(AutogradError, match=message):
            y.sum().backward()


def test_a_hook_that_runs_backward_itself():
    inner = []
    x, w = leaf(1.0), leaf(2.0)

    def hook(g):
        with tx.enable_grad():  # backward itself runs with gradients off
            (w * w).sum().backward()
        inner.append(w.grad.item())

    h = x * 2
    h.register_hook(hook)
    h.sum().backward()
    assert inner == [4.0]
    assert x.grad.item() == 2.0


def test_a_hook_that_never_stops_calling_backward_is_an_error():
    x = leaf(1.0)

    def hook(g):
        with tx.enable_grad():
            y = x * 2
            y.register_hook(hook)
            y.sum().backward()

    h = x * 2
    h.register_hook(hook)
    with pytest.raises(AutogradError, match="called inside itself more than 60 times"):
        h.sum().backward()


@pytest.mark.parametrize("where", ["leaf", "middle", "after", "node"])
def test_cycles_through_hooks_are_collected(where):
    class Big:
        pass

    def build():
        marker = Big()
        x = leaf(1.0)
        y = x * 2
        held = {"x": x, "y": y, "marker": marker}
        if where == "leaf":
            x.register_hook(lambda g: held)
            del held["y"]
        elif where == "middle":
            y.register_hook(lambda g: held)
        elif where == "after":
            x.register_post_accumulate_grad_hook(lambda t: held)
            del held["y"]
        else:
            tx.autograd.graph.register_hook(y.grad_fn, lambda m, g: held)
        return weakref.ref(marker)

    gc.collect()
    reference = build()
    gc.collect()
    assert reference() is None


def test_a_node_that_keeps_itself_through_a_hook_is_collected():
    class Big:
        pass

    def build():
        marker = Big()
        y = leaf(1.0) * 2
        node = y.grad_fn
        del y
        tx.autograd.graph.register_hook(node, lambda m, g: (node, marker))
        return weakref.ref(marker)

    reference = build()
    gc.collect()
    assert reference() is None
    assert gc.is_tracked((leaf(1.0) * 2).grad_fn)
