"""Leaving the tape, as an operator: traced graphs keep it, so that gradients stop there too."""

from thixo.ops.base import Spec, View
from thixo.ops.samples import unary_samples


class Detach(View):
    """The same memory, outside of the tape.

    >>> tx.detach(tx.ones(2, requires_grad=True)).requires_grad
    False
    """

    signature = "detach(input) -> input"
    method = False
    vjp = None

    def infer(input):
        return Spec(tuple(input.shape), input.dtype)

    def geometry(shape, strides, offset):
        return shape, strides, offset

    def reference(input):
        return input.copy()

    samples = unary_samples()
