"""Windows by PyTorch's older names: periodic, for spectra, unless asked otherwise."""

from thixo.dtype import float32, float64
from thixo.errors import ValueRangeError
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.samples import Bad, Sample


def _scipy(name, *arguments):
    def reference(window_length, periodic, *given):
        from scipy.signal import windows

        own = dict(zip(arguments, given, strict=False))
        if name == "general_hamming":
            return windows.general_cosine(
                window_length, [own["alpha"], own["beta"]], sym=not periodic
            )
        return getattr(windows, name)(window_length, **own, sym=not periodic)

    return reference


def _samples(s):
    yield Sample(s.n, dtype=s.dtype)
    yield Sample(s.m, False)
    for length in (0, 1, 2):
        yield Sample(length, periodic=length % 2 == 0)


def _bad(s):
    yield Bad(Sample(-1), ValueRangeError, "a negative number of weights")


def _options(options):
    dtype, layout, device, _, requires_grad = options
    return {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}


class HannWindow(Composite):
    """Hann's window, as `signal.windows.hann`.

    >>> tx.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    signature = (
        "hann_window(window_length: int, periodic: bool = True, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, pin_memory: bool = False, "
        "requires_grad: bool = False) -> y"
    )
    dtypes = (float32, float64)

    def compose(window_length, periodic, *options):
        return tx.signal.windows.hann(window_length, sym=not periodic, **_options(options))

    reference = _scipy("hann")
    samples = _samples
    bad = _bad


class HammingWindow(Composite):
    """Hamming's window: alpha less beta cosines.

    >>> tx.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """

    signature = (
        "hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, pin_memory: bool = False, "
        "requires_grad: bool = False) -> y"
    )
    dtypes = (float32, float64)

    def compose(window_length, periodic, alpha, beta, *options):
        return tx.signal.windows.general_cosine(
            window_length, a=(alpha, beta), sym=not periodic, **_options(options)
        )

    reference = _scipy("general_hamming", "alpha", "beta")
    samples = _samples
    bad = _bad


class BartlettWindow(Composite):
    """A triangle from 0 to 1 and back, as `signal.windows.bartlett`.

    >>> tx.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    signature = (
        "bartlett_window(window_length: int, periodic: bool = True, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, pin_memory: bool = False, "
        "requires_grad: bool = False) -> y"
    )
    dtypes = (float32, float64)

    def compose(window_length, periodic, *options):
        return tx.signal.windows.bartlett(window_length, sym=not periodic, **_options(options))

    reference = _scipy("bartlett")
    samples = _samples
    bad = _bad


class BlackmanWindow(Composite):
    """Blackman's window, as `signal.windows.blackman`.

    >>> tx.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """

    signature = (
        "blackman_window(window_length: int, periodic: bool = True, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, pin_memory: bool = False, "
        "requires_grad: bool = False) -> y"
    )
    dtypes = (float32, float64)

    def compose(window_length, periodic, *options):
        return tx.signal.windows.blackman(window_length, sym=not periodic, **_options(options))

    reference = _scipy("blackman")
    samples = _samples
    bad = _bad


class KaiserWindow(Composite):
    """Kaiser's window, as `signal.windows.kaiser`.

    >>> tx.kaiser_window(3, periodic=False, beta=4.0)
    tensor([0.0885, 1.0000, 0.0885])
    """

    signature = (
        "kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, pin_memory: bool = False, "
        "requires_grad: bool = False) -> y"
    )
    dtypes = (float32, float64)

    def compose(window_length, periodic, beta, *options):
        return tx.signal.windows.kaiser(
            window_length, beta=beta, sym=not periodic, **_options(options)
        )

    reference = _scipy("kaiser", "beta")
    samples = _samples
    bad = _bad
