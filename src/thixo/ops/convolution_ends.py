"""A convolution and what follows it, as programs run it: one operator, which passes over graphs put there."""

from typing import Any

import numpy as np

from thixo.dtype import FLOATS
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op
from thixo.ops.convolution import Convolve
from thixo.ops.convolution_references import convolve as slow_convolve
from thixo.ops.samples import Bad, Sample


def _slope(g: Any, y: Any, relu: bool) -> Any:
    """The gradient before `relu`."""
    return tx.where(y <= 0, 0, g) if relu else g


class ConvolveThen(Op):
    """A convolution to which `addend` is added, and of which `relu` leaves nothing below zero.

    With `wide`, results may be computed by Winograd's F(4x4, 3x3), if the weight is a constant of a compiled graph: their
    error is at most 1e-5 of the largest result. The passes `epilogues` and `winograd` make this operator.

    >>> x, w = tx.tensor([[[1.0, -3.0, 1.0]]]), tx.ones(1, 1, 2)
    >>> tx.nn.functional.convolve_then(x, w, (1,), (0,), (1,), 1, None, tx.tensor([[[1.0, 3.0]]]), True)
    tensor([[[0., 1.]]])
    """

    total = True
    signature = (
        "convolve_then(input, weight, stride: ints, padding: ints, dilation: ints, groups: int, "
        "bias: tensor? = None, addend: tensor? = None, relu: bool = False, wide: bool = False) -> y"
    )
    images = "channels"
    namespace = "nn.functional"
    dtypes = FLOATS

    cost = Convolve.cost

    def infer(input, weight, stride, padding, dilation, groups, bias, addend, relu, wide):
        made = Convolve.infer(input, weight, stride, padding, dilation, groups, bias)
        if addend is None:
            return made
        if addend.dtype != made.dtype:
            raise DTypeError(
                f"convolve_then: dtypes differ: input is {describe(input)}, addend is {describe(addend)}; "
                "they should be the same"
            )
        if addend.ndim != len(made.shape) or any(
            a != b for a, b in zip(addend.shape, made.shape, strict=True)
        ):
            raise ShapeError(
                f"convolve_then: addend is {describe(addend)}; it must have the result's shape, {made.shape}"
            )
        return made

    def kernel(input, weight, stride, padding, dilation, groups, bias, addend, relu, wide):
        y = Convolve.kernel(input, weight, stride, padding, dilation, groups, bias)
        if addend is not None:
            y = y + addend
        return np.where(y < 0, np.zeros((), y.dtype), y) if relu else y

    def vjp_input(g, y, input_type, weight, stride, padding, dilation, groups, relu):
        sizes = tuple(input_type.shape[2:])
        return tx.nn.functional.convolve_transposed(
            _slope(g, y, relu), weight, sizes, stride, padding, dilation, groups
        )

    def vjp_weight(g, y, input, weight_type, stride, padding, dilation, groups, relu):
        taps = tuple(weight_type.shape[2:])
        return tx.nn.functional.convolve_weight(
            input, _slope(g, y, relu), taps, stride, padding, dilation, groups
        )

    def vjp_bias(g, y, relu):
        return _slope(g, y, relu).sum((0, *range(2, g.ndim)))

    def vjp_addend(g, y, relu):
        return _slope(g, y, relu)

    def reference(input, weight, stride, padding, dilation, groups, bias, addend, relu, wide):
        y = slow_convolve(input, weight, stride, padding, dilation, groups, bias)
        if addend is not None:
            y = y + addend
        return np.where(y < 0, np.zeros((), y.dtype), y) if relu else y

    def samples(s):
        one, plain = (1,), ((1,), (0,), (1,), 1)
        yield Sample(s.real(s.n, 2, s.m + 3), s.real(3, 2, 2), *plain, None, None, True)
        yield Sample(s.real(s.n, 2, 5), s.real(3, 2, 2), *plain, s.real(3), s.real(s.n, 3, 4))
        yield Sample(
            s.real(s.n, 4, s.m, 6), s.real(6, 2, 3, 3), (1, 1), (1, 1), (1, 1), 2, s.real(6),
            s.real(s.n, 6, s.m, 6), True, True,
        )  # fmt: skip
        yield Sample(s.real(0, 2, 5), s.real(3, 2, 2), one, (0,), one, 1, None, None, True)

    def bad(s):
        yield Bad(
            Sample(s.real(2, 2, 5), s.real(3, 2, 2), (1,), (0,), (1,), 1, None, s.real(2, 3, 5)),
            ShapeError,
            "it must have the result's shape",
        )
