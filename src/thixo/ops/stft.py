"""The short-time Fourier transform: spectra of overlapping pieces of a signal, and the way back."""

from typing import Any

import numpy as np

from thixo.dtype import COMPLEX, float32, float64
from thixo.errors import (
    ArgumentError,
    DTypeError,
    LinearAlgebraError,
    ShapeError,
    TraceError,
    ValueRangeError,
    describe,
)
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_max

TAKES = (float32, float64, *COMPLEX)
_PAD_MODES = ("constant", "reflect", "replicate", "circular")


def _check_window(op: str, window: Any, n_fft: int, win_length: int) -> None:
    if not 0 < win_length <= n_fft:
        raise ValueRangeError(
            f"{op}: win_length is {win_length}; it must be from 1 to n_fft={n_fft}"
        )
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise ShapeError(
            f"{op}: window is {describe(window)}; it must be a vector of win_length={win_length}"
        )


def _padded_window(window: Any, like: Any, n_fft: int, win_length: int) -> Any:
    """The window in the middle of n_fft points, zeros around it; ones where there is none."""
    if window is None:
        window = tx.ones((win_length,), dtype=like.dtype.to_real())
    left = (n_fft - win_length) // 2
    if win_length == n_fft:
        return window
    return tx.constant_pad_nd(window, (left, n_fft - win_length - left))


# ---- there


class Stft(Composite):
    """The spectrum of each piece of n_fft points of a signal, taken every hop_length points.

    The result is (batch, frequencies, pieces), complex, or with a last axis of real and imaginary parts
    for `return_complex=False`. With `center` the signal is padded, so that pieces are centred.

    >>> tx.stft(tx.ones(8), 4, return_complex=True).shape
    Size([3, 9])
    """

    signature = (
        "stft(input, n_fft: int, hop_length: int? = None, win_length: int? = None, "
        "window: tensor? = None, center: bool = True, pad_mode: str = 'reflect', "
        "normalized: bool = False, onesided: bool? = None, return_complex: bool? = None, "
        "align_to_window: bool? = None) -> y"
    )
    dtypes = TAKES

    def compose(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
        return_complex, align_to_window,
    ):  # fmt: skip
        hop = n_fft // 4 if hop_length is None else hop_length
        width = n_fft if win_length is None else win_length
        mixed = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
        _check_stft(input, n_fft, hop, width, window, center, pad_mode, align_to_window)
        if return_complex is None:
            if not mixed:
                raise ArgumentError(
                    "stft: return_complex is missing; for real input it must be True or False"
                )
            return_complex = True
        if onesided and mixed:
            raise ValueRangeError("stft: onesided=True needs a real input and a real window")
        onesided = not mixed if onesided is None else onesided
        signal = input.unsqueeze(0) if input.ndim == 1 else input  # (batch, time)
        if center:
            around = (n_fft // 2, n_fft // 2)
            signal = tx.nn.functional.pad(signal.unsqueeze(1), around, mode=pad_mode).squeeze(1)
        pieces = _pieces(signal, n_fft, hop, width, window, bool(align_to_window))
        transform = tx.fft.rfft if onesided else tx.fft.fft
        y = transform(pieces, norm="ortho" if normalized else "backward").mT
        y = y.squeeze(0) if input.ndim == 1 else y
        return y if return_complex else tx.view_as_real(y)

    def reference(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
        return_complex, align_to_window,
    ):  # fmt: skip
        hop, width = hop_length or n_fft // 4, win_length or n_fft
        window = np.ones(width) if window is None else window
        mixed = np.iscomplexobj(input) or np.iscomplexobj(window)
        if center:
            modes = {"reflect": "reflect", "constant": "constant", "replicate": "edge"}
            around = [(0, 0)] * (input.ndim - 1) + [(n_fft // 2, n_fft // 2)]
            input = np.pad(input, around, modes.get(pad_mode, "wrap"))
        left = (n_fft - width) // 2
        first = 0 if align_to_window else left
        points = input.shape[-1] - (width if align_to_window else n_fft)
        frequencies = n_fft // 2 + 1 if (not mixed if onesided is None else onesided) else n_fft
        y = np.zeros((*input.shape[:-1], frequencies, points // hop + 1), complex)
        for t in range(y.shape[-1]):
            for k in range(frequencies):
                for j in range(width):
                    wave = np.exp(-2j * np.pi * k * (left + j) / n_fft)
                    y[..., k, t] += input[..., t * hop + first + j] * window[j] * wave
        y = y / np.sqrt(n_fft) if normalized else y
        return y if return_complex or return_complex is None else np.stack([y.real, y.imag], -1)

    def samples(s):
        window = s.positive(4)
        yield Sample(s.real(s.n + 8), 4, return_complex=True)
        yield Sample(s.real(s.k, s.n + 8), 4, 3, window=window, return_complex=True)
        yield Sample(s.real(s.n + 8), 8, 2, 4, window, return_complex=True, normalized=True)
        yield Sample(s.real(s.n + 8), 4, center=False, onesided=False, return_complex=True)
        yield Sample(s.real(s.n + 8), 4, pad_mode="constant", return_complex=True)
        yield Sample(
            s.real(s.n + 8),
            8,
            2,
            4,
            window,
            center=False,
            align_to_window=True,
            return_complex=True,
        )
        if not s.dtype.is_complex:
            yield Sample(s.real(s.n + 8), 4, return_complex=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 2, 9), 4, return_complex=True), ShapeError, "1 or 2 axes")
        yield Bad(Sample(s.real(9), 0, return_complex=True), ValueRangeError, "n_fft is 0")
        yield Bad(Sample(s.real(9), 4, 0, return_complex=True), ValueRangeError, "hop_length is 0")
        yield Bad(
            Sample(s.real(9), 4, 1, 5, return_complex=True), ValueRangeError, "win_length is 5"
        )
        yield Bad(
            Sample(s.real(9), 4, window=s.real(3), return_complex=True), ShapeError, "window is"
        )


def _check_stft(
    input: Any,
    n_fft: int,
    hop: int,
    width: int,
    window: Any,
    center: bool,
    pad_mode: str,
    align: Any,
) -> None:
    if input.ndim not in (1, 2):
        raise ShapeError(f"stft: input is {describe(input)}; it must have 1 or 2 axes")
    if align and center:
        raise ValueRangeError("stft: align_to_window is only for center=False")
    if center and pad_mode not in _PAD_MODES:
        raise ValueRangeError(f"stft: pad_mode is {pad_mode!r}; it must be one of {_PAD_MODES}")
    length = input.shape[-1] + (n_fft // 2 * 2 if center else 0)
    if n_fft <= 0 or (length < n_fft and not align):
        raise ValueRangeError(
            f"stft: n_fft is {n_fft}; it must be from 1 to the length of the signal, {length}"
        )
    if hop <= 0:
        raise ValueRangeError(f"stft: hop_length is {hop}; it must be positive")
    _check_window("stft", window, n_fft, width)
    if align and length < width:
        raise ValueRangeError(f"stft: win_length is {width}; the signal has {length} points")


def _pieces(signal: Any, n_fft: int, hop: int, width: int, window: Any, align: bool) -> Any:
    """(batch, pieces, n_fft): each piece of the signal, weighed by the window."""
    if not align:
        pieces = tx.unfold(signal, -1, n_fft, hop)
        if window is None and width == n_fft:
            return pieces
        return pieces * _padded_window(window, signal, n_fft, width)
    pieces = tx.unfold(signal, -1, width, hop)
    pieces = pieces if window is None else pieces * window
    left = (n_fft - width) // 2
    return tx.constant_pad_nd(pieces, (left, n_fft - width - left))


# ---- and back


class Istft(Composite):
    """The signal whose `stft` comes nearest to the input: pieces added up, divided by their windows.

    >>> x = tx.arange(8.0)
    >>> tx.istft(tx.stft(x, 4, return_complex=True), 4).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """

    signature = (
        "istft(input, n_fft: int, hop_length: int? = None, win_length: int? = None, "
        "window: tensor? = None, center: bool = True, normalized: bool = False, "
        "onesided: bool? = None, length: int? = None, return_complex: bool = False) -> y"
    )
    dtypes = COMPLEX

    def compose(
        input, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
        return_complex,
    ):  # fmt: skip
        hop = n_fft // 4 if hop_length is None else hop_length
        width = n_fft if win_length is None else win_length
        spectra = input.unsqueeze(0) if input.ndim == 2 else input  # (batch, frequencies, pieces)
        onesided = _check_istft(input, n_fft, hop, width, window, onesided, return_complex)
        spectra, norm = spectra.mT, "ortho" if normalized else "backward"
        if return_complex:
            pieces = tx.fft.ifft(spectra, norm=norm)
        else:
            half = spectra if onesided else spectra[..., : n_fft // 2 + 1]
            pieces = tx.fft.irfft(half, n_fft, norm=norm)
        window = _padded_window(window, input, n_fft, width)
        total = _overlap_add(pieces * window, hop)
        weight = _overlap_add(tx.expand((window * window), (1, *pieces.shape[1:])), hop)
        start = n_fft // 2 if center else 0
        whole = total.shape[-1]
        stop = whole - start if length is None else start + length
        missing = dim_max(stop - whole, 0)  # points asked for beyond what the pieces cover
        count = stop - missing - start
        total, weight = tx.narrow(total, -1, start, count), tx.narrow(weight, -1, start, count)
        _check_cover(weight)
        y = total / weight
        if not (isinstance(missing, int) and missing == 0):
            y = tx.constant_pad_nd(y, (0, missing))
        return y.squeeze(0) if input.ndim == 2 else y

    def reference(
        input, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
        return_complex,
    ):  # fmt: skip
        hop, width = hop_length or n_fft // 4, win_length or n_fft
        left = (n_fft - width) // 2
        full = np.zeros(n_fft)
        full[left : left + width] = 1 if window is None else window
        spectra = np.moveaxis(input, -1, 0)  # pieces first
        if not return_complex:  # the other half mirrors this one
            half = spectra[..., : n_fft // 2 + 1]
            spectra = np.zeros((*half.shape[:-1], n_fft), complex)
            for k in range(n_fft):
                spectra[..., k] = half[..., k] if k <= n_fft // 2 else half[..., n_fft - k].conj()
            spectra[..., 0] = spectra[..., 0].real
            if n_fft % 2 == 0:
                spectra[..., n_fft // 2] = spectra[..., n_fft // 2].real
        steps = np.arange(n_fft)
        waves = np.exp(2j * np.pi * np.outer(steps, steps) / n_fft)
        pieces = spectra @ waves / (np.sqrt(n_fft) if normalized else n_fft)
        whole = n_fft + hop * (len(pieces) - 1)
        total, weight = np.zeros((*input.shape[:-2], whole), complex), np.zeros(whole)
        for t, piece in enumerate(pieces):
            total[..., t * hop : t * hop + n_fft] += piece * full
            weight[t * hop : t * hop + n_fft] += full**2
        start = n_fft // 2 if center else 0
        stop = whole - start if length is None else min(start + length, whole)
        y = total[..., start:stop] / weight[start:stop]
        if length is not None:
            y = np.pad(y, [(0, 0)] * (y.ndim - 1) + [(0, length - y.shape[-1])])
        return y if return_complex else y.real

    def samples(s):
        window = s.positive(4, low=0.5, dtype=s.dtype.to_real())
        yield Sample(s.real(3, s.n), 4)
        yield Sample(s.real(s.k, 3, s.n), 4, 2, window=window, normalized=True)
        yield Sample(s.real(4, s.n), 4, center=False, onesided=False)
        yield Sample(s.real(4, s.n), 4, onesided=False, return_complex=True, window=window)
        yield Sample(s.real(3, s.n + 4), 4, 1, 2, length=3)
        yield Sample(s.real(3, 3), 4, 2, length=20)

    def bad(s):
        yield Bad(Sample(s.real(3), 4), ShapeError, "2 or 3 axes")
        yield Bad(Sample(s.real(2, 3), 4), ShapeError, "frequencies")
        yield Bad(Sample(s.real(3, 3), 4, 5), ValueRangeError, "hop_length is 5")
        window = s.array(np.zeros(4), s.dtype.to_real())
        yield Bad(Sample(s.real(3, 3), 4, window=window), LinearAlgebraError, "window")


def _check_istft(
    input: Any, n_fft: int, hop: int, width: int, window: Any, onesided: Any, return_complex: bool
) -> bool:
    """Refuses what cannot be put together; says whether the spectra are halves."""
    if input.ndim not in (2, 3):
        raise ShapeError(f"istft: input is {describe(input)}; it must have 2 or 3 axes")
    if any(isinstance(n, int) and n == 0 for n in input.shape):
        raise ShapeError(f"istft: input is {describe(input)}; it must not be empty")
    frequencies = input.shape[-2]
    onesided = frequencies != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != wanted:
        raise ShapeError(
            f"istft: input is {describe(input)}; for n_fft={n_fft} it must have {wanted} frequencies "
            f"(onesided={onesided})"
        )
    _check_window("istft", window, n_fft, width)
    if not 0 < hop <= width:
        raise ValueRangeError(
            f"istft: hop_length is {hop}; it must be from 1 to win_length={width}"
        )
    if return_complex and onesided:
        raise ValueRangeError("istft: return_complex=True needs whole spectra, onesided=False")
    if not return_complex and window is not None and window.dtype.is_complex:
        raise DTypeError(f"istft: window is {describe(window)}; it must be real for a real result")
    return onesided


def _overlap_add(pieces: Any, hop: int) -> Any:
    """(batch, pieces, size) added up where they lie in the signal: (batch, time)."""
    batch, count, size = pieces.shape
    places = tx.arange(count).unsqueeze(1) * hop + tx.arange(size)
    silence = tx.zeros((batch, hop * (count - 1) + size), dtype=pieces.dtype)
    return tx.index_add(silence, 1, tx.flatten(places), tx.flatten(pieces, 1))


def _check_cover(weight: Any) -> None:
    try:
        least = tx.amin(tx.abs(weight.detach())).item() if weight.shape[-1] != 0 else 1.0
    except TraceError:
        return  # a graph has no values to look at: points without a window will be infinite or NaN
    if least < 1e-11:
        raise LinearAlgebraError(
            f"istft: the windows leave some points of the signal with no weight (least: {least}); "
            f"use a smaller hop_length or another window"
        )
