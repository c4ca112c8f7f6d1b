"""Bessel functions and their kin."""

from thixo.dtype import BOOL, FLOATS, INTEGERS
from thixo.ops import public as tx
from thixo.ops.base import Pointwise
from thixo.ops.references import from_scipy
from thixo.ops.samples import unary_samples

REALS = BOOL + INTEGERS + FLOATS


def _over(y, x, limit):
    """y / x, and the limit where x is 0."""
    zero = x == 0
    return tx.where(zero, limit, y / tx.where(zero, 1, x))


class I0(Pointwise):
    """Modified Bessel function of the first kind, order 0.

    >>> tx.i0(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """

    signature = "i0(input) -> y"
    aliases = ("special.i0", "special.modified_bessel_i0")
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.special("i0", input)

    def vjp(g, input):
        return g * tx.special.i1(input)

    reference = from_scipy("special.i0")
    samples = unary_samples(low=-4, high=4)


class I0e(Pointwise):
    """i0 scaled by exp(-|input|).

    >>> tx.special.i0e(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 0.4658])
    """

    signature = "i0e(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("i0e", input)

    def vjp(g, input, y):
        return g * (tx.special.i1e(input) - tx.sgn(input) * y)

    reference = from_scipy("special.i0e")
    samples = unary_samples(low=-4, high=4, avoid=(0,))


class I1(Pointwise):
    """Modified Bessel function of the first kind, order 1.

    >>> tx.special.i1(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """

    signature = "i1(input) -> y"
    aliases = ("special.modified_bessel_i1",)
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("i1", input)

    def vjp(g, input, y):
        return g * (tx.i0(input) - _over(y, input, 0.5))

    reference = from_scipy("special.i1")
    samples = unary_samples(low=-4, high=4, avoid=(0,))


class I1e(Pointwise):
    """i1 scaled by exp(-|input|).

    >>> tx.special.i1e(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2079])
    """

    signature = "i1e(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("i1e", input)

    def vjp(g, input, y):
        return g * (tx.special.i0e(input) - tx.sgn(input) * y - _over(y, input, 0.5))

    reference = from_scipy("special.i1e")
    samples = unary_samples(low=-4, high=4, avoid=(0,))


class BesselJ0(Pointwise):
    """Bessel function of the first kind, order 0.

    >>> tx.special.bessel_j0(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 0.7652])
    """

    signature = "bessel_j0(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("bessel_j0", input)

    def vjp(g, input):
        return -g * tx.special.bessel_j1(input)

    reference = from_scipy("special.j0")
    samples = unary_samples(low=-8, high=8)


class BesselJ1(Pointwise):
    """Bessel function of the first kind, order 1.

    >>> tx.special.bessel_j1(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.4401])
    """

    signature = "bessel_j1(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("bessel_j1", input)

    def vjp(g, input, y):
        return g * (tx.special.bessel_j0(input) - _over(y, input, 0.5))

    reference = from_scipy("special.j1")
    samples = unary_samples(low=-8, high=8, avoid=(0,))


class BesselY0(Pointwise):
    """Bessel function of the second kind, order 0.

    >>> tx.special.bessel_y0(tx.tensor([1.0, 2.0]))
    tensor([0.0883, 0.5104])
    """

    signature = "bessel_y0(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("bessel_y0", input)

    def vjp(g, input):
        return -g * tx.special.bessel_y1(input)

    reference = from_scipy("special.y0")
    samples = unary_samples(low=0.5, high=8)


class BesselY1(Pointwise):
    """Bessel function of the second kind, order 1.

    >>> tx.special.bessel_y1(tx.tensor([1.0, 2.0]))
    tensor([-0.7812, -0.1070])
    """

    signature = "bessel_y1(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("bessel_y1", input)

    def vjp(g, input, y):
        return g * (tx.special.bessel_y0(input) - y / input)

    reference = from_scipy("special.y1")
    samples = unary_samples(low=0.5, high=8)


class ModifiedBesselK0(Pointwise):
    """Modified Bessel function of the second kind, order 0.

    >>> tx.special.modified_bessel_k0(tx.tensor([1.0]))
    tensor([0.4210])
    """

    signature = "modified_bessel_k0(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("k0", input)

    def vjp(g, input):
        return -g * tx.special.modified_bessel_k1(input)

    reference = from_scipy("special.k0")
    samples = unary_samples(low=0.5, high=6)


class ModifiedBesselK1(Pointwise):
    """Modified Bessel function of the second kind, order 1.

    >>> tx.special.modified_bessel_k1(tx.tensor([1.0]))
    tensor([0.6019])
    """

    signature = "modified_bessel_k1(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("k1", input)

    def vjp(g, input, y):
        return -g * (tx.special.modified_bessel_k0(input) + y / input)

    reference = from_scipy("special.k1")
    samples = unary_samples(low=0.5, high=6)


class ScaledModifiedBesselK0(Pointwise):
    """modified_bessel_k0 scaled by exp(input).

    >>> tx.special.scaled_modified_bessel_k0(tx.tensor([1.0]))
    tensor([1.1445])
    """

    signature = "scaled_modified_bessel_k0(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("k0e", input)

    def vjp(g, y, input):
        return g * (y - tx.special.scaled_modified_bessel_k1(input))

    reference = from_scipy("special.k0e")
    samples = unary_samples(low=0.5, high=6)


class ScaledModifiedBesselK1(Pointwise):
    """modified_bessel_k1 scaled by exp(input).

    >>> tx.special.scaled_modified_bessel_k1(tx.tensor([1.0]))
    tensor([1.6362])
    """

    signature = "scaled_modified_bessel_k1(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("k1e", input)

    def vjp(g, input, y):
        return g * (y - y / input - tx.special.scaled_modified_bessel_k0(input))

    reference = from_scipy("special.k1e")
    samples = unary_samples(low=0.5, high=6)


class SphericalBesselJ0(Pointwise):
    """Spherical Bessel function of the first kind, order 0: sin(input) / input.

    >>> tx.special.spherical_bessel_j0(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """

    signature = "spherical_bessel_j0(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        zero = input == 0
        x = k.where(zero, k.constant(1, input), input)
        y = k.where(zero, k.constant(1, input), k.sin(x) / x)
        return k.where(k.isinf(input), k.constant(0, input), y)

    def vjp(g, input, y):
        return g * _over(tx.cos(input) - y, input, 0)

    def reference(input):
        from scipy.special import spherical_jn

        return spherical_jn(0, input.astype(float))

    samples = unary_samples(low=-8, high=8, avoid=(0,))


class AiryAi(Pointwise):
    """Airy function Ai.

    >>> tx.special.airy_ai(tx.tensor([0.0, 1.0]))
    tensor([0.3550, 0.1353])
    """

    signature = "airy_ai(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS
    vjp = None

    def scalar(k, input):
        return k.special("airy_ai", input)

    def reference(input):
        from scipy.special import airy

        return airy(input.astype(float))[0]

    samples = unary_samples(low=-6, high=6)
