"""Linear maps of features, with their bias."""

import math

import numpy as np

from thixo.dtype import ALL, COMPLEX, FLOATS, INTEGERS
from thixo.dtype import bool as bool_
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.rules import conj
from thixo.ops.samples import Bad, Sample


class Linear(Op):
    """input @ weight.T + bias, over the last axis of input.

    >>> tx.nn.functional.linear(tx.tensor([1.0, 2.0]), tx.tensor([[3.0, 4.0]]), tx.tensor([0.5]))
    tensor([11.5000])
    """

    total = True
    signature = "linear(input, weight, bias = None) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX + INTEGERS

    def cost(results, input, weight, bias):
        return 2 * math.prod(results[0].shape) * weight.shape[-1]

    def infer(input, weight, bias):
        if weight.ndim not in (1, 2) or input.ndim == 0:
            raise ShapeError(
                f"linear: input is {describe(input)}, weight is {describe(weight)}; needs "
                f"(..., features) and (outputs, features)"
            )
        if input.shape[-1] != weight.shape[-1]:
            raise ShapeError(
                f"linear: features differ: input is {describe(input)}, weight is {describe(weight)}; "
                f"the last axes must agree"
            )
        for name, other in (("weight", weight), ("bias", bias)):
            if other is not None and other.dtype != input.dtype:
                raise DTypeError(
                    f"linear: dtypes differ: input is {describe(input)}, {name} is {describe(other)}"
                )
        if weight.ndim == 1 and bias is not None and bias.ndim != 0:
            raise ShapeError(
                f"linear: bias is {describe(bias)}; with one row of weights it must be a scalar"
            )
        if bias is not None and (bias.ndim > 1 or (bias.ndim == 1 and not _fits(bias, weight))):
            raise ShapeError(
                f"linear: bias is {describe(bias)}; it must have one entry for each row of weight, "
                f"which is {describe(weight)}"
            )
        return Spec((*input.shape[:-1], *weight.shape[:-1]), input.dtype)

    def kernel(input, weight, bias):
        y = np.asarray(np.matmul(input, weight.T))
        return y if bias is None else np.asarray(y + bias, y.dtype)

    def vjp_input(g, weight):
        weight = conj(weight)
        return g.unsqueeze(-1) * weight if weight.ndim == 1 else tx.matmul(g, weight)

    def vjp_weight(g, input, weight_type):
        input = conj(input)
        if len(weight_type.shape) == 1:
            return g * input if input.ndim == 1 else tx.matmul(g.flatten(), input.flatten(0, -2))
        if input.ndim == 1:
            return g.unsqueeze(-1) * input
        if input.ndim > 2:
            g, input = g.flatten(0, -2), input.flatten(0, -2)
        return tx.matmul(g.mT, input)  # it lies as the weight does

    def vjp_bias(g):
        return g

    def reference(input, weight, bias=None):
        y = np.tensordot(input, weight, ([-1], [-1]))
        return y if bias is None else y + bias

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.k, s.m))
        yield Sample(s.real(s.n, 2, s.m), s.real(s.k, s.m), s.real(s.k))
        yield Sample(s.real(s.m), s.real(s.k, s.m), s.real(s.k))
        yield Sample(s.real(s.n, s.m), s.real(s.m), s.real())
        yield Sample(s.real(0, s.m), s.real(s.k, s.m), s.real(s.k))

    def bad(s):
        x, w = s.real(2, 3), s.real(4, 3)
        yield Bad(Sample(s.real(2, 4), w), ShapeError, "features differ")
        yield Bad(Sample(x, w, s.real(3)), ShapeError, "bias is")
        yield Bad(Sample(x, s.real(4, 3, 1)), ShapeError, "needs (..., features)")


def _fits(bias, weight):
    return bias.shape[0] == weight.shape[0] or bias.shape[0] == 1


class Bilinear(Composite):
    """A quadratic form of two inputs for each output: input1 @ weight[o] @ input2 + bias[o].

    >>> a, b = tx.tensor([1.0, 2.0]), tx.tensor([3.0])
    >>> tx.nn.functional.bilinear(a, b, tx.ones(1, 2, 1))
    tensor([9.])
    """

    signature = "bilinear(input1, input2, weight, bias = None) -> y"
    namespace = "nn.functional"
    aliases = ("bilinear",)
    dtypes = tuple(d for d in ALL if d is not bool_ and not d.is_complex)

    def compose(input1, input2, weight, bias):
        described = f"input1 is {describe(input1)}, input2 is {describe(input2)}, weight is {describe(weight)}"
        if input1.ndim != input2.ndim or tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]):
            raise ShapeError(f"bilinear: {described}; the inputs must agree but for the last axis")
        if (
            weight.ndim != 3
            or input1.ndim == 0
            or weight.shape[1] != input1.shape[-1]
            or weight.shape[2] != input2.shape[-1]
        ):
            raise ShapeError(
                f"bilinear: {described}; weight must be (outputs, features1, features2)"
            )
        if bias is not None and tuple(bias.shape) != (weight.shape[0],):
            raise ShapeError(f"bilinear: bias is {describe(bias)}; weight is {describe(weight)}")
        outputs, first, second = weight.shape
        by_input1 = weight.permute(1, 0, 2).reshape(first, outputs * second)
        y = tx.matmul(input1, by_input1).reshape(*input1.shape[:-1], outputs, second)
        y = tx.matmul(y, input2.unsqueeze(-1)).squeeze(-1)
        return y if bias is None else y + bias

    def reference(input1, input2, weight, bias=None):
        y = np.einsum("...i,oij,...j->...o", input1, weight, input2)
        return y if bias is None else y + bias

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.k), s.real(4, s.m, s.k))
        yield Sample(s.real(2, s.n, s.m), s.real(2, s.n, s.k), s.real(3, s.m, s.k), s.real(3))
        yield Sample(s.real(s.m), s.real(s.k), s.real(3, s.m, s.k))

    def bad(s):
        w = s.real(4, 2, 3)
        yield Bad(
            Sample(s.real(5, 2), s.real(4, 3), w), ShapeError, "must agree but for the last axis"
        )
        yield Bad(Sample(s.real(5, 3), s.real(5, 3), w), ShapeError, "weight must be")
        yield Bad(Sample(s.real(5, 2), s.real(5, 3), w, s.real(3)), ShapeError, "bias is")
