"""autograd.Function: the user's own forward and backward."""

import re
import weakref

import numpy as np
import pytest

import thixo as tx
from thixo.autograd import Function
from thixo.errors import AutogradError, InplaceError


def leaf(*values):
    return tx.tensor(list(values), dtype=tx.float64, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Exp(Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_forward_and_backward():
    x = leaf(2.0, -1.0)
    y = Cube.apply(x)
    assert y.tolist() == [8.0, -1.0]
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [12.0, 3.0]


@pytest.mark.parametrize("function", [Cube, Exp])
def test_second_and_third_order(function):
    x = leaf(0.5, -1.0)
    assert tx.autograd.gradcheck(function.apply, (x,))
    assert tx.autograd.gradgradcheck(function.apply, (x,))
    y = function.apply(x)
    for _ in range(3):
        (y,) = tx.autograd.grad(y.sum(), x, create_graph=True)
    expected = np.exp([0.5, -1.0]) if function is Exp else [6.0, 6.0]
    assert np.allclose(y.detach().numpy(), expected)


def test_an_intermediate_may_be_saved():
    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            middle = x.cos()
            ctx.save_for_backward(middle, None)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            middle, none = ctx.saved_tensors
            assert none is None
            return g * middle

    x = leaf(0.5)
    Sine.apply(x).sum().backward()
    assert x.grad.item() == pytest.approx(np.cos(0.5))


def test_arguments_that_are_no_tensors():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor, options):
            ctx.factor = factor
            return x * factor * options["again"]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor * 10, None, None

    x = leaf(1.0)
    Scale.apply(x, 3.0, {"again": 10}).sum().backward()
    assert x.grad.item() == 30.0


def test_needs_input_grad():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, a, number, b):
            ctx.save_for_backward(a, b)
            return a * b * number

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            a, b = ctx.saved_tensors
            return g * b, None, g * a

    a, b = leaf(2.0), tx.tensor([3.0], dtype=tx.float64)
    Product.apply(a, 1.0, b).sum().backward()
    assert seen == [(True, False, False)]
    assert a.grad.item() == 3.0
    assert b.grad is None


def test_forward_runs_with_gradients_off():
    modes = []

    class Probe(Function):
        @staticmethod
        def forward(ctx, x):
            modes.append(tx.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, g):
            modes.append(tx.is_grad_enabled())
            return g * 2

    x = leaf(1.0)
    Probe.apply(x).sum().backward()
    tx.autograd.grad(Probe.apply(x).sum(), x, create_graph=True)
    assert modes == [False, False, False, True]


def test_without_gradients_nothing_is_recorded():
    plain = tx.ones(2)
    assert Cube.apply(plain).grad_fn is None
    with tx.no_grad():
        assert Cube.apply(leaf(1.0)).grad_fn is None


def test_setup_context_apart_from_forward():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    Square.apply(x).sum().backward()
    assert x.grad.item() == 6.0


# ---- results


class TwoResults(Function):
    @staticmethod
    def forward(ctx, x, materialize=True):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        TwoResults.seen = (a, b)
        total = sum(g * k for g, k in ((a, 2), (b, 3)) if g is not None)
        return total, None


def test_several_results():
    x = leaf(1.0)
    a, b = TwoResults.apply(x)
    (a + 10 * b).sum().backward()
    assert x.grad.item() == 32.0
    assert (a.output_nr, b.output_nr) == (0, 1)


def test_results_that_were_not_used_come_as_zeros_or_none():
    x = leaf(1.0)
    TwoResults.apply(x)[1].sum().backward()
    assert TwoResults.seen[0].tolist() == [0.0]
    TwoResults.apply(x, False)[1].sum().backward()
    assert TwoResults.seen[0] is None
    assert x.grad.item() == 6.0


def test_results_without_gradient():
    class SortWithIndex(Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            rank = index.to(tx.float64)
            ctx.mark_non_differentiable(rank)
            ctx.save_for_backward(index)
            return values, index, rank

        @staticmethod
        def backward(ctx, g, g_index, g_rank):
            (index,) = ctx.saved_tensors
            return tx.zeros_like(g).scatter(0, index, g)

    x = leaf(3.0, 1.0, 2.0)
    values, index, rank = SortWithIndex.apply(x)
    assert values.requires_grad
    assert not index.requires_grad
    assert not rank.requires_grad
    (values * tx.tensor([1.0, 10.0, 100.0], dtype=tx.float64)).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_results_that_are_no_tensors():
    class WithNote(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "note"

        @staticmethod
        def backward(ctx, g, note):
            assert note is None
            return g * 2

    x = leaf(1.0)
    y, note = WithNote.apply(x)
    assert note == "note"
    y.sum().backward()
    assert x.grad.item() == 2.0


def test_an_input_returned_as_it_is():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.item() == 7.0


def test_one_result_twice_and_a_foreign_tensor():
    outside = leaf(5.0)

    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y, outside

        @staticmethod
        def backward(ctx, a, b, c):
            return a * 2 + b * 20 + c * 0

    x = leaf(1.0)
    a, b, c = Odd.apply(x)
    (a + b).sum().backward()
    assert x.grad.item() == 22.0
    assert outside.is_leaf  # its own history is untouched
    assert c is not outside


# ---- what backward returns


def test_gradients_of_none_and_of_another_shape():
    class Partly(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return None, g.sum()  # b is a scalar

    a, b = leaf(1.0, 2.0), tx.tensor(3.0, dtype=tx.float64, requires_grad=True)
    Partly.apply(a, b).sum().backward()
    assert a.grad is None
    assert b.grad.item() == 2.0


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda g: (g, g), "backward returned 2 gradients for 1 arguments of forward"),
        (lambda g: (), "backward returned 0 gradients for 1 arguments"),
        (lambda g: "g", r"backward must return Tensors or None, gradient 0 is 'g'"),
        (lambda g: tx.ones(5, dtype=tx.float64), r"the gradient that reached .* is f64\[5\]"),
    ],
)
def test_wrong_gradients(made, message):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return made(g)

    x = leaf(1.0, 2.0)
    with pytest.raises(AutogradError, match=message):
        Wrong.apply(x).sum().backward()
    assert x.grad is None


def test_more_nones_than_arguments_are_fine():
    class Trailing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x = leaf(1.0)
    Trailing.apply(x).sum().backward()
    assert x.grad.item() == 2.0


def test_a_function_without_forward_or_backward():
    class Half(Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    with pytest.raises(AutogradError, match="has no backward"):
        Half.apply(leaf(1.0)).sum().backward()
    with pytest.raises(AutogradError, match="has no forward"):
        Function.apply(leaf(1.0))


def test_exceptions_in_forward_and_backward_arrive_as_they_are():
    class Mine(Exception):
        pass

    class Fails(Function):
        @staticmethod
        def forward(ctx, x, where):
            if where == "forward":
                raise Mine(where)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise Mine("backward")

    x = leaf(1.0)
    with pytest.raises(Mine, match="forward"):
        Fails.apply(x, "forward")
    assert tx.is_grad_enabled()
    y = Fails.apply(x, "backward")
    with pytest.raises(Mine, match="backward"):
        y.sum().backward()
    (x * 2).sum().backward()
    assert x.grad.item() == 2.0


# ---- saved tensors


def test_save_for_backward_takes_tensors():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x

    with pytest.raises(AutogradError, match=r"save_for_backward takes Tensors, got 3 \(int\)"):
        Wrong.apply(leaf(1.0))


def test_overwriting_what_was_saved_is_noticed():
    x = leaf(1.0)
    h = x * 2
    y = Cube.apply(h)
    h.mul_(2)
    with pytest.raises(
        InplaceError, match=r"CubeBackward: a value it needs.*overwritten in place at"
    ):
        y.sum().backward()
    y = Exp.apply(x)
    y.zero_()
    with pytest.raises(InplaceError, match="ExpBackward"):
        y.sum().backward()


def test_saved_tensors_after_the_graph_was_freed():
    x = leaf(1.0)
    y = Cube.apply(x)
    y.sum().backward()
    with pytest.raises(AutogradError, match="already freed by an earlier backward"):
        y.sum().backward()
    y = Cube.apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.item() == 9.0


def test_saved_tensors_are_freed_by_backward():
    class Holder(Function):
        @staticmethod
        def forward(ctx, x):
            middle = x * 5
            Holder.middle = weakref.ref(middle)
            ctx.save_for_backward(middle)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(1.0)
    base = tx._core.memory_stats()["in_use"]
    y = Holder.apply(x)
    y.sum().backward()
    x.grad = None
    assert tx._core.memory_stats()["in_use"] - base <= 64  # y itself


# ---- one inside of another


def test_nested_functions():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Cube.apply(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with tx.enable_grad():
                y = Cube.apply(x)
            return tx.autograd.grad(y, x, g, create_graph=tx.is_grad_enabled())[0]

    x = leaf(2.0)
    Outer.apply(x).sum().backward()
    assert x.grad.item() == 12.0


def test_where_a_function_was_called():
    y = Cube.apply(leaf(1.0))
    assert re.fullmatch(r"test_function\.py:\d+", y.grad_fn.source)
