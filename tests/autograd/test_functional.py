"""jacobian, hessian, vjp, jvp, hvp, vhp; gradcheck and gradgradcheck; anomaly mode."""

import inspect
import re

import numpy as np
import pytest

import thixo as tx
from thixo.autograd import functional
from thixo.errors import ArgumentError, AutogradError, ShapeError


def vector(*values):
    return tx.tensor(list(values), dtype=tx.float64)


A = np.arange(6.0).reshape(2, 3) / 3


def linear(x):
    return tx.tensor(A) @ x


def cubic(x):
    return (x**3).sum()


def close(a, b):
    return np.allclose(np.asarray(a.detach() if isinstance(a, tx.Tensor) else a), np.asarray(b))


def test_jacobian_of_one_input_and_result():
    assert close(functional.jacobian(linear, vector(1.0, 2.0, 3.0)), A)


def test_jacobian_has_the_shape_of_result_then_input():
    j = functional.jacobian(lambda x: x.t() * 2, tx.ones(2, 3, dtype=tx.float64))
    assert tuple(j.shape) == (3, 2, 2, 3)
    assert close(j.reshape(6, 6).sum(0), [2.0] * 6)


def test_jacobian_of_several_inputs_and_results():
    def function(a, b):
        return a * b, a.sum()

    a, b = vector(1.0, 2.0), vector(3.0, 4.0)
    (aa, ab), (sa, sb) = functional.jacobian(function, (a, b))
    assert close(aa, np.diag([3.0, 4.0]))
    assert close(ab, np.diag([1.0, 2.0]))
    assert close(sa, [1.0, 1.0])
    assert close(sb, [0.0, 0.0])
    with pytest.raises(
        AutogradError, match="does not depend on one of the inputs, and strict=True"
    ):
        functional.jacobian(function, (a, b), strict=True)


def test_jacobian_of_empty_and_scalar():
    assert tuple(functional.jacobian(lambda x: x[0:0], vector(1.0, 2.0)).shape) == (0, 2)
    assert functional.jacobian(lambda x: x * x, tx.tensor(3.0)).item() == 6.0


def test_jacobian_can_be_differentiated():
    x = vector(1.0, 2.0).requires_grad_()
    j = functional.jacobian(lambda x: x**3, x, create_graph=True)
    j.sum().backward()
    assert close(x.grad, [6.0, 12.0])
    assert not functional.jacobian(lambda x: x**3, x).requires_grad


def test_hessian():
    h = functional.hessian(lambda x: (x**3).sum() + x[0] * x[1], vector(1.0, 2.0))
    assert close(h, [[6.0, 1.0], [1.0, 12.0]])


def test_hessian_of_several_inputs():
    h = functional.hessian(lambda a, b: (a * b).sum() + (a**2).sum(), (vector(1.0), vector(2.0)))
    values = [[block.item() for block in row] for row in h]
    assert values == [[2.0, 1.0], [1.0, 0.0]]


def test_hessian_needs_one_number():
    with pytest.raises(
        ShapeError, match=r"hessian: the function must return one number, got f64\[2\]"
    ):
        functional.hessian(lambda x: x * 2, vector(1.0, 2.0))


def test_vjp():
    y, g = functional.vjp(linear, vector(1.0, 2.0, 3.0), vector(1.0, 10.0))
    assert close(y, A @ [1.0, 2.0, 3.0])
    assert close(g, [1.0, 10.0] @ A)


def test_jvp():
    _, d = functional.jvp(linear, vector(1.0, 2.0, 3.0), vector(1.0, 0.0, 10.0))
    assert close(d, A @ [1.0, 0.0, 10.0])
    _, d = functional.jvp(lambda x: x.exp(), vector(0.5), vector(2.0))
    assert close(d, 2 * np.exp(0.5))


def test_jvp_of_several_inputs_and_results():
    def function(a, b):
        return a * b, a + b

    (p, s), (dp, ds) = functional.jvp(
        function, (vector(2.0), vector(3.0)), (vector(1.0), vector(10.0))
    )
    assert (dp.item(), ds.item()) == (23.0, 11.0)
    assert (p.item(), s.item()) == (6.0, 5.0)


@pytest.mark.parametrize("product", [functional.hvp, functional.vhp])
def test_products_with_the_hessian(product):
    y, p = product(cubic, vector(1.0, 2.0), vector(1.0, 10.0))
    assert y.item() == 9.0
    assert close(p, [6.0, 120.0])


def test_vectors_that_do_not_fit():
    with pytest.raises(
        ArgumentError, match="v may only be left out where it would be a single number"
    ):
        functional.vjp(linear, vector(1.0, 2.0, 3.0))
    with pytest.raises(ShapeError, match=r"v is f64\[3\], it must have the shape of f64\[2\]"):
        functional.vjp(linear, vector(1.0, 2.0, 3.0), vector(1.0, 2.0, 3.0))
    with pytest.raises(ArgumentError, match="v has 2 tensors, 1 are needed"):
        functional.jvp(linear, vector(1.0, 2.0, 3.0), (vector(1.0), vector(1.0)))
    with pytest.raises(ArgumentError, match="inputs must be Tensors"):
        functional.jacobian(linear, (3.0,))
    with pytest.raises(ArgumentError, match="the function must return Tensors"):
        functional.jacobian(lambda x: (1.0,), vector(1.0))


def test_functional_leaves_the_inputs_alone():
    x = vector(1.0, 2.0).requires_grad_()
    functional.jacobian(lambda x: x * 2, x)
    functional.hessian(cubic, x)
    assert x.grad is None
    assert x.is_leaf


# ---- gradcheck


class WrongSine(tx.autograd.Function):
    """Its gradient is off by a percent, and its second order by a sign."""

    @staticmethod
    def forward(ctx, x, error):
        ctx.save_for_backward(x)
        ctx.error = error
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if ctx.error == "first":
            return g * x.cos() * 1.01, None
        return g * WrongCosine.apply(x), None


class WrongCosine(tx.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].sin()  # should be negative


def test_gradcheck_catches_a_wrong_gradient():
    x = vector(0.3, 1.0).requires_grad_()
    assert tx.autograd.gradcheck(lambda x: WrongSine.apply(x, "second"), (x,))
    with pytest.raises(AutogradError, match=r"result 0, input 0: .*finite differences differ"):
        tx.autograd.gradcheck(lambda x: WrongSine.apply(x, "first"), (x,))
    assert not tx.autograd.gradcheck(
        lambda x: WrongSine.apply(x, "first"), (x,), raise_exception=False
    )


def test_gradgradcheck_catches_a_wrong_second_order():
    x = vector(0.3, 1.0).requires_grad_()
    assert tx.autograd.gradgradcheck(lambda x: x.sin(), (x,))
    with pytest.raises(AutogradError, match="finite differences differ"):
        tx.autograd.gradgradcheck(lambda x: WrongSine.apply(x, "second"), (x,))


def test_gradcheck_catches_a_misplaced_gradient():
    class Shifted(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return tx.roll(g, 1) * 2

    x = vector(0.3, 1.0, 2.0).requires_grad_()
    assert not tx.autograd.gradcheck(Shifted.apply, (x,), raise_exception=False)


def test_gradcheck_of_complex_functions():
    z = tx.tensor([0.3 + 1j, 1.0 - 2j], dtype=tx.complex128, requires_grad=True)
    x = vector(1.0, 2.0).requires_grad_()
    assert tx.autograd.gradcheck(lambda z, x: (z * x).exp(), (z, x))
    assert tx.autograd.gradcheck(lambda z: z.abs(), (z,))
    assert not tx.autograd.gradcheck(
        lambda z: WrongSine.apply(z, "first"), z, raise_exception=False
    )


def test_gradcheck_catches_a_gradient_that_varies():
    class Noisy(tx.autograd.Function):
        count = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            Noisy.count += 1
            return g * (2 + 1e-7 * Noisy.count)

    with pytest.raises(AutogradError, match="differs between two runs"):
        tx.autograd.gradcheck(Noisy.apply, (vector(1.0).requires_grad_(),))


def test_gradcheck_needs_precision_and_something_to_check():
    with pytest.raises(
        ArgumentError, match=r"need float64 or complex128, an input is thixo\.float32"
    ):
        tx.autograd.gradcheck(lambda x: x, (tx.ones(2, requires_grad=True),))
    with pytest.raises(ArgumentError, match="no input requires grad"):
        tx.autograd.gradcheck(lambda x: x, (vector(1.0),))


# ---- anomaly mode


def here():
    return inspect.currentframe().f_back.f_lineno


def test_anomaly_mode_names_the_forward_line_of_a_nan():
    x = vector(0.0, 1.0).requires_grad_()
    line = here() + 1
    root = x.sqrt()
    y = (root * 0).sum()
    with tx.autograd.detect_anomaly(), pytest.raises(AutogradError) as caught:
        y.backward()
    assert re.search(
        rf"^backward of SqrtBackward made a NaN in the gradient of its input 0; the forward operation was at "
        rf"test_functional\.py:{line} ",
        str(caught.value),
    )


def test_without_anomaly_mode_a_nan_is_only_a_number():
    x = vector(0.0, 1.0).requires_grad_()
    (x.sqrt() * 0).sum().backward()
    assert np.isnan(x.grad.numpy()[0])


def test_anomaly_mode_names_the_line_inside_a_function_and_a_module():
    class Root(tx.nn.Module):
        def forward(self, x):
            self.line = here() + 1
            return x.sqrt()

    module = Root()
    x = tx.zeros(2, requires_grad=True)
    y = (module(x) * 0).sum()
    with tx.autograd.set_detect_anomaly(True), pytest.raises(AutogradError) as caught:
        y.backward()
    assert f"test_functional.py:{module.line}" in str(caught.value)


def test_anomaly_mode_of_a_function_of_the_users():
    class Bad(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    line = here() + 1
    y = Bad.apply(vector(1.0).requires_grad_())
    with tx.autograd.detect_anomaly(), pytest.raises(AutogradError) as caught:
        y.sum().backward()
    assert re.search(rf"BadBackward made a NaN.*test_functional\.py:{line}", str(caught.value))


def test_anomaly_mode_lets_good_gradients_and_infinities_pass():
    x = vector(0.0, 1.0).requires_grad_()
    with tx.autograd.detect_anomaly():
        x.sqrt().sum().backward()
    assert x.grad.tolist() == [float("inf"), 0.5]
