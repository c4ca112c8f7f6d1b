"""Windows of signal processing: weights that fade a stretch of samples out at its ends.

All have M weights, 1 at the middle. `sym=True` makes them symmetric, for filters; `sym=False` makes them
fit end to end, for spectra: the first M weights of a symmetric window of M + 1.
"""

import math

import numpy as np

from thixo.dtype import float32, float64, get_default_dtype, int64
from thixo.errors import ArgumentError, DTypeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Creation, Spec
from thixo.ops.create_options import check_options
from thixo.ops.plain import real
from thixo.ops.samples import Bad, Sample
from thixo.shape import Dim


def _spec(op, M, dtype, layout, device):
    op = f"signal.windows.{op}"
    check_options(op, device, layout)
    dtype = dtype or get_default_dtype()
    if dtype not in (float32, float64):
        raise DTypeError(f"{op}: dtype is {dtype.name}; needs float32 or float64")
    if not isinstance(M, Dim) and M < 0:
        raise ValueRangeError(f"{op}: M is {M}; a window cannot have a negative number of weights")
    return Spec((M,), dtype)


def _steps(M, sym):
    """The places 0 to M - 1, and how many steps the whole window has."""
    return np.arange(M, dtype=np.float64), max(M - 1 if sym else M, 1)


def _weights(M, values):
    return np.ones(1) if M == 1 else values  # one weight is the middle


def _scipy(name, *arguments):
    """The window of that name as scipy has it; `arguments` are what it takes besides M and sym."""

    def reference(M, *given):
        from scipy.signal import windows

        *own, sym = given[: len(arguments) + 1]
        return getattr(windows, name)(M, **dict(zip(arguments, own, strict=True)), sym=sym)

    return reference


def _samples(*options):
    def samples(s):
        for given in options or ({},):
            yield Sample(s.n, **given)
            yield Sample(s.m, sym=False, **given)
            yield Sample(s.b, dtype=s.dtype, **given)
            for M in (0, 1, 2):
                yield Sample(M, **given)
            yield Sample(1, sym=False, **given)

    return samples


def _bad(**given):
    def bad(s):
        yield Bad(Sample(-1, **given), ValueRangeError, "a negative number of weights")
        yield Bad(Sample(3, dtype=int64, **given), DTypeError, "needs float32 or float64")

    return bad


class Bartlett(Creation):
    """A triangle from 0 to 1 and back.

    >>> tx.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """

    signature = (
        "bartlett(M: int, *, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def infer(M, sym, dtype, layout, device, requires_grad):
        return _spec("bartlett", M, dtype, layout, device)

    def kernel(M, sym, *options):
        i, steps = _steps(M, sym)
        return _weights(M, 1 - np.abs(2 * i / steps - 1))

    reference = _scipy("bartlett")
    samples = _samples()
    bad = _bad()


class Cosine(Creation):
    """Half a wave of the sine, which comes near 0 but not to it.

    >>> tx.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """

    signature = (
        "cosine(M: int, *, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def infer(M, sym, dtype, layout, device, requires_grad):
        return _spec("cosine", M, dtype, layout, device)

    def kernel(M, sym, *options):
        i, steps = _steps(M, sym)
        return _weights(M, np.sin(math.pi * (i + 0.5) / (steps + 1)))

    reference = _scipy("cosine")
    samples = _samples()
    bad = _bad()


class Exponential(Creation):
    """exp(-|i - center| / tau); the center is the middle unless `sym` is False.

    >>> tx.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """

    signature = (
        "exponential(M: int, *, center: float? = None, tau: float = 1.0, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def infer(M, center, tau, sym, dtype, layout, device, requires_grad):
        if tau <= 0:
            raise ValueRangeError(f"signal.windows.exponential: tau is {tau}; it must be above 0")
        if sym and center is not None:
            raise ArgumentError(
                f"signal.windows.exponential: center is {center}; a symmetric window has its own"
            )
        return _spec("exponential", M, dtype, layout, device)

    def kernel(M, center, tau, sym, *options):
        i, steps = _steps(M, sym)
        middle = steps / 2 if center is None else center
        return _weights(M, np.exp(-np.abs(i - middle) / tau))

    reference = _scipy("exponential", "center", "tau")
    samples = _samples({}, {"tau": 2.5})

    def bad(s):
        yield from _bad()(s)
        yield Bad(Sample(3, tau=-1.0), ValueRangeError, "must be above 0")
        yield Bad(Sample(3, center=1.0), ArgumentError, "has its own")


class Gaussian(Creation):
    """The bell curve of standard deviation `std`, in weights.

    >>> tx.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """

    signature = (
        "gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def infer(M, std, sym, dtype, layout, device, requires_grad):
        if std <= 0:
            raise ValueRangeError(f"signal.windows.gaussian: std is {std}; it must be above 0")
        return _spec("gaussian", M, dtype, layout, device)

    def kernel(M, std, sym, *options):
        i, steps = _steps(M, sym)
        return _weights(M, np.exp(-0.5 * np.square((i - steps / 2) / std)))

    reference = _scipy("gaussian", "std")
    samples = _samples({"std": 1.0}, {"std": 0.7})

    def bad(s):
        yield from _bad()(s)
        yield Bad(Sample(3, std=0.0), ValueRangeError, "must be above 0")


class Kaiser(Creation):
    """Kaiser's window, narrow in frequency; the larger `beta`, the faster it fades.

    >>> tx.signal.windows.kaiser(3, beta=4.0)
    tensor([0.0885, 1.0000, 0.0885])
    """

    signature = (
        "kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def infer(M, beta, sym, dtype, layout, device, requires_grad):
        if not beta >= 0:
            raise ValueRangeError(f"signal.windows.kaiser: beta is {beta}; it must be at least 0")
        return _spec("kaiser", M, dtype, layout, device)

    def kernel(M, beta, sym, *options):
        i, steps = _steps(M, sym)
        inside = np.maximum(1 - np.square(2 * i / steps - 1), 0)
        return _weights(M, np.i0(beta * np.sqrt(inside)) / np.i0(beta))

    reference = _scipy("kaiser", "beta")
    samples = _samples({}, {"beta": 3.5}, {"beta": 0.0})

    def bad(s):
        yield from _bad()(s)
        yield Bad(Sample(3, beta=-1.0), ValueRangeError, "must be at least 0")


# ---- sums of cosines


def _cosines(M, a, sym, options):
    dtype, layout, device, requires_grad = options
    return tx.signal.windows.general_cosine(
        M, a=a, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


class GeneralCosine(Creation):
    """A sum of cosines with the weights `a`: a[0] - a[1] cos(t) + a[2] cos(2 t) - ...

    >>> tx.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """

    signature = (
        "general_cosine(M: int, *, a: any, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def infer(M, a, sym, dtype, layout, device, requires_grad):
        if not isinstance(a, tuple | list) or not a:
            raise ArgumentError(
                f"signal.windows.general_cosine: a is {describe(a)}; needs a list of numbers, one at least"
            )
        for c in a:
            real("signal.windows.general_cosine", "each of a", c)
        return _spec("general_cosine", M, dtype, layout, device)

    def kernel(M, a, sym, *options):
        i, steps = _steps(M, sym)
        turn = 2 * math.pi * i / steps
        a = [real("signal.windows.general_cosine", "each of a", c) for c in a]
        return _weights(M, sum((-1) ** n * c * np.cos(n * turn) for n, c in enumerate(a)))

    reference = _scipy("general_cosine", "a")
    samples = _samples({"a": (0.3, 0.4, 0.2, 0.1)}, {"a": (1.0,)})

    def bad(s):
        yield from _bad(a=(0.5, 0.5))(s)
        yield Bad(Sample(3, a=()), ArgumentError, "one at least")
        yield Bad(Sample(3, a=2.0), ArgumentError, "needs a list of numbers")


class GeneralHamming(Composite):
    """alpha less (1 - alpha) cosines: Hamming's window for 0.54, Hann's for 0.5.

    >>> tx.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """

    signature = (
        "general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def compose(M, alpha, sym, *options):
        return _cosines(M, (alpha, 1.0 - alpha), sym, options)

    reference = _scipy("general_hamming", "alpha")
    samples = _samples({"alpha": 0.54}, {"alpha": 0.4})
    bad = _bad()


class Hamming(Composite):
    """Hamming's window: one cosine, which ends at 0.08.

    >>> tx.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """

    signature = (
        "hamming(M: int, *, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def compose(M, sym, *options):
        return _cosines(M, (0.54, 0.46), sym, options)

    reference = _scipy("hamming")
    samples = _samples()
    bad = _bad()


class Hann(Composite):
    """Hann's window: one cosine, which ends at 0.

    >>> tx.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """

    signature = (
        "hann(M: int, *, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def compose(M, sym, *options):
        return _cosines(M, (0.5, 0.5), sym, options)

    reference = _scipy("hann")
    samples = _samples()
    bad = _bad()


class Blackman(Composite):
    """Blackman's window: two cosines.

    >>> tx.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """

    signature = (
        "blackman(M: int, *, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def compose(M, sym, *options):
        return _cosines(M, (0.42, 0.5, 0.08), sym, options)

    reference = _scipy("blackman")
    samples = _samples()
    bad = _bad()


class Nuttall(Composite):
    """Nuttall's window with a continuous first derivative: three cosines.

    >>> tx.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """

    signature = (
        "nuttall(M: int, *, sym: bool = True, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False) -> y"
    )
    namespace = "signal.windows"
    dtypes = (float32, float64)

    def compose(M, sym, *options):
        return _cosines(M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym, options)

    reference = _scipy("nuttall")
    samples = _samples()
    bad = _bad()
