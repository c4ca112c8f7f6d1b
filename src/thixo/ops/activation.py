"""Activations of straight pieces.

Those that PyTorch can also run in place are operators at the top level (`relu`, `hardtanh`), with a
form in `nn.functional` that takes `inplace` (see `activation_forms.py`).
"""

import math

from thixo.dtype import FLOATS, INTEGERS
from thixo.errors import DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.plain import ordered
from thixo.ops.references import elementwise, is_nan
from thixo.ops.samples import Bad, Sample, unary_samples


class Relu(Pointwise):
    """The input where it is positive, 0 elsewhere.

    >>> tx.relu(tx.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    signature = "relu(input) -> y"
    dtypes = INTEGERS + FLOATS
    inplace = True

    def scalar(k, input):
        return k.maximum(input, k.constant(0, input))

    def vjp(g, y):
        return tx.where(y <= 0, 0, g)

    reference = elementwise(lambda a: a if a >= 0 or is_nan(a) else type(a)(0))
    samples = unary_samples(avoid=(0,))


class LeakyRelu(Pointwise):
    """The input where it is positive, negative_slope times it elsewhere.

    >>> tx.leaky_relu(tx.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """

    signature = "leaky_relu(input, negative_slope: float = 0.01) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input, negative_slope):
        return k.where(input > 0, input, input * negative_slope)

    def vjp(g, input, negative_slope):
        return tx.where(input > 0, g, g * negative_slope)

    def reference(input, negative_slope):
        return elementwise(lambda a: a if a > 0 else a * negative_slope)(input)

    samples = unary_samples(avoid=(0,), options=({}, {"negative_slope": 0.3}))


class Hardtanh(Pointwise):
    """Input brought into [min_val, max_val]; the gradient is 0 at the ends.

    >>> tx.hardtanh(tx.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    signature = "hardtanh(input, min_val: float = -1.0, max_val: float = 1.0) -> y"
    dtypes = INTEGERS + FLOATS
    inplace = True

    def check(input, min_val, max_val):
        ordered("hardtanh", min_val=min_val, max_val=max_val)
        if min_val > max_val:
            raise ValueRangeError(
                f"hardtanh: min_val is {min_val}, max_val is {max_val}; min_val must not be greater"
            )
        if min_val < 0 and input.dtype.kind == "u":
            raise DTypeError(f"hardtanh: input is {describe(input)}, min_val is {min_val}; an unsigned "
                             f"input needs min_val of at least 0")  # fmt: skip

    def scalar(k, input, min_val, max_val):
        return k.minimum(k.maximum(input, k.constant(min_val, input)), k.constant(max_val, input))

    def vjp(g, input, min_val, max_val):
        return tx.where((input > min_val) & (input < max_val), g, 0)

    def reference(input, min_val, max_val):
        low, high = int(min_val), int(max_val)

        def of(a):
            if isinstance(a, int):
                return sorted((low, a, high))[1]
            return a if is_nan(a) else sorted((min_val, a, max_val))[1]

        return elementwise(of)(input)

    def samples(s):
        ends = {"min_val": 0, "max_val": 2} if s.dtype.kind == "u" else {}
        yield from unary_samples(avoid=(-1, 0, 1, 1.5), options=(ends,))(s)
        yield Sample(s.real(s.n, s.m), 0, 1)

    def bad(s):
        yield Bad(Sample(s.real(2), 1, 0), ValueRangeError, "min_val")


class Threshold(Pointwise):
    """The input where it is above threshold, value elsewhere.

    >>> tx.threshold(tx.tensor([-1.0, 2.0]), 0.5, 9.0)
    tensor([9., 2.])
    """

    signature = "threshold(input, threshold: float, value: float) -> y"
    dtypes = INTEGERS + FLOATS
    method = False
    inplace = True

    def scalar(k, input, threshold, value):
        return k.where(input <= k.constant(threshold, input), k.constant(value, input), input)

    def vjp(g, input, threshold):
        return tx.where(input <= threshold, 0, g)

    def reference(input, threshold, value):
        return elementwise(lambda a: type(a)(value) if a <= threshold else a)(input)

    samples = unary_samples(avoid=(1,), options=({"threshold": 1, "value": 5},))


class Hardsigmoid(Pointwise):
    """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1.

    >>> tx.hardsigmoid(tx.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    signature = "hardsigmoid(input) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input):
        six = k.constant(6, input)
        return k.minimum(k.maximum(input + 3, k.constant(0, input)), six) / six

    def vjp(g, input):
        return tx.where((input > -3) & (input < 3), g / 6, 0)

    reference = elementwise(lambda a: a if is_nan(a) else min(max(a / 6 + 0.5, 0.0), 1.0))
    samples = unary_samples(low=-5, high=5, avoid=(-3, 3))


class Hardswish(Pointwise):
    """Input times hardsigmoid of input.

    >>> tx.hardswish(tx.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000, 0.6667, 4.0000])
    """

    signature = "hardswish(input) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input):
        return (
            input * k.minimum(k.maximum(input + 3, k.constant(0, input)), k.constant(6, input)) / 6
        )

    def vjp(g, input):
        slope = tx.where(input >= 3, 1, input / 3 + 0.5)
        return g * tx.where(input <= -3, 0, slope)

    reference = elementwise(lambda a: a if is_nan(a) else a * min(max(a + 3, 0.0), 6.0) / 6)
    samples = unary_samples(low=-5, high=5, avoid=(-3, 3))


class Hardshrink(Pointwise):
    """The input, but 0 within lambd of 0.

    >>> tx.hardshrink(tx.tensor([-1.0, 0.3, 1.0]))
    tensor([-1.,  0.,  1.])
    """

    signature = "hardshrink(input, lambd: float = 0.5) -> y"
    aliases = ("nn.functional.hardshrink",)
    dtypes = FLOATS

    def scalar(k, input, lambd):
        return k.where((input >= -lambd) & (input <= lambd), k.constant(0, input), input)

    def vjp(g, input, lambd):
        return tx.where((input < -lambd) | (input > lambd), g, 0)

    def reference(input, lambd):
        return elementwise(lambda a: 0.0 if abs(a) <= lambd else a)(input)

    samples = unary_samples(avoid=(-0.5, 0.5, 1, -1), options=({}, {"lambd": 1.0}))


class Softshrink(Pointwise):
    """The input moved by lambd towards 0, which it does not pass.

    >>> tx.nn.functional.softshrink(tx.tensor([-1.0, 0.3, 1.0]))
    tensor([-0.5000,  0.0000,  0.5000])
    """

    signature = "softshrink(input, lambd: float = 0.5) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def check(input, lambd):
        if not lambd >= 0:
            raise ValueRangeError(f"softshrink: lambd is {lambd}; it must not be negative")

    def scalar(k, input, lambd):
        below = k.where(input < -lambd, input + lambd, input * 0)
        return k.where(input > lambd, input - lambd, below)

    def vjp(g, input, lambd):
        return tx.where((input < -lambd) | (input > lambd), g, 0)

    def reference(input, lambd):
        return elementwise(lambda a: math.copysign(max(abs(a) - lambd, 0.0), a))(input)

    samples = unary_samples(avoid=(-0.5, 0.5, 1, -1), options=({}, {"lambd": 1.0}))

    def bad(s):
        yield Bad(Sample(s.real(2), -1.0), ValueRangeError, "lambd")


class Prelu(Composite):
    """The input where it is positive, weight times it elsewhere; one weight, or one per channel.

    >>> tx.prelu(tx.tensor([-1.0, 2.0]), tx.tensor([0.5]))
    tensor([-0.5000,  2.0000])
    """

    signature = "prelu(input, weight) -> y"
    aliases = ("nn.functional.prelu",)
    dtypes = FLOATS

    def compose(input, weight):
        if input.dtype is not weight.dtype:
            raise DTypeError(
                f"prelu: input is {describe(input)}, weight is {describe(weight)}; they must be of one "
                f"dtype"
            )
        if weight.ndim > 1:
            raise ShapeError(f"prelu: weight is {describe(weight)}; it must have 0 or 1 axes")
        if weight.ndim == 1 and weight.shape[0] != 1:
            channels = input.shape[1] if input.ndim > 1 else 1
            if weight.shape[0] != channels:
                raise ShapeError(
                    f"prelu: input is {describe(input)}, weight is {describe(weight)}; weight needs "
                    f"one element, or one for each of the {channels} channels (axis 1)"
                )
            weight = tx.reshape(weight, (weight.shape[0],) + (1,) * (input.ndim - 2))
        elif weight.ndim == 1 and input.ndim == 0:
            weight = tx.reshape(weight, ())
        # the negative part alone, so that an infinite positive one gives weight no NaN
        return tx.where(input > 0, input, weight * tx.clamp_max(input, 0))

    def reference(input, weight):
        if weight.size > 1:
            weight = weight.reshape((weight.size,) + (1,) * (input.ndim - 2))
        else:
            weight = weight.reshape(())
        return elementwise(lambda a, w: a if a > 0 else w * a)(input, weight)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(1))
        yield Sample(s.real(s.n, s.m, s.k), s.real(s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.m))
        yield Sample(s.real(), s.real())
        yield Sample(s.real(0, s.m), s.real(s.m))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(4)), ShapeError, "channels")
