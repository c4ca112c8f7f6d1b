"""autograd.Function: writes in place, one order only, and how long its context lives."""

import gc
import weakref

import pytest

import thixo as tx
from thixo.autograd import Function
from thixo.autograd.function import once_differentiable
from thixo.errors import AutogradError, InplaceError


def leaf(*values):
    return tx.tensor(list(values), dtype=tx.float64, requires_grad=True)


# ---- in place


class Double(Function):
    @staticmethod
    def forward(ctx, x, by=None):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2, None


def test_a_function_that_writes_in_place():
    x = leaf(1.0, 2.0)
    h = x * 3
    y = Double.apply(h)
    assert y is h
    assert h.tolist() == [6.0, 12.0]
    assert h.grad_fn.name() == "DoubleBackward"
    (h * 5).sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


def test_a_function_that_writes_through_a_view():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    Double.apply(base[0:2])
    (base * base).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 6.0]


def test_writing_through_a_view_keeps_the_other_gradients():
    class ScaleBy(Function):
        @staticmethod
        def forward(ctx, s, x):
            ctx.save_for_backward(s, x.clone())
            x.mul_(s)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            s, x = ctx.saved_tensors
            return (g * x).sum(), g * s

    s, x = tx.tensor(2.0, dtype=tx.float64, requires_grad=True), leaf(1.0, 2.0, 3.0)
    base = x * 1
    ScaleBy.apply(s, base[1:])
    (base * tx.tensor([1.0, 10.0, 100.0], dtype=tx.float64)).sum().backward()
    assert x.grad.tolist() == [1.0, 20.0, 200.0]
    assert s.grad.item() == 320.0


def test_writes_that_are_refused():
    with pytest.raises(
        InplaceError, match=r"a leaf f64\[1\] that requires grad was changed in place"
    ):
        Double.apply(leaf(1.0))

    class NotReturned(Double):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x * 1

    with pytest.raises(AutogradError, match="marked it dirty, so it must return it"):
        NotReturned.apply(leaf(1.0) * 1)

    class NotAnInput(Double):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(tx.ones(1))
            return x * 1

    with pytest.raises(AutogradError, match="mark_dirty takes inputs of forward"):
        NotAnInput.apply(leaf(1.0) * 1)


# ---- once_differentiable


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return tx.tensor(2 * x.detach().numpy() * g.detach().numpy())  # NumPy: no second order


def test_once_differentiable_gives_a_first_order():
    x = leaf(3.0)
    Once.apply(x).sum().backward()
    assert x.grad.item() == 6.0


def test_once_differentiable_refuses_a_second_order():
    x = leaf(3.0)
    (g,) = tx.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(AutogradError, match=r"OnceBackward: .*once_differentiable and cannot be"):
        g.sum().backward()


# ---- life


@pytest.mark.parametrize("what", ["input", "output", "itself", "both"])
def test_cycles_through_the_context_are_collected(what):
    class Marker:
        pass

    class Cyclic(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.marker = Cyclic.marker()
            if what in ("input", "both"):
                ctx.x = x
            if what in ("output", "both"):
                ctx.y = y
            if what == "itself":
                ctx.ctx = ctx
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

        marker = None

    def build(backward):
        marker = Marker()
        Cyclic.marker = weakref.ref(marker)
        y = Cyclic.apply(leaf(1.0) * 1)
        if backward:
            y.sum().backward()
        del marker
        return Cyclic.marker

    for backward in (False, True):
        reference = build(backward)
        gc.collect()
        assert reference() is None


def test_the_context_used_after_its_graph_is_an_error_not_a_crash():
    kept = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    y = Keeps.apply(leaf(1.0))
    assert kept[0].saved_tensors[0].item() == 1.0
    del y
    gc.collect()
    with pytest.raises(AutogradError, match="used after its part of the graph was dropped"):
        _ = kept[0].saved_tensors


def test_a_context_spoiled_by_its_user_is_an_error_not_a_crash():
    class Spoiled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx._name = 3
            ctx._positions = [0, 0]
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    y = Spoiled.apply(leaf(1.0))
    assert y.grad_fn.name() == "FunctionBackward"
    with pytest.raises(RuntimeError):
        y.sum().backward()
