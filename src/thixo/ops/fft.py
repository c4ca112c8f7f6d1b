"""Fourier transforms over any axes. Four primitives: complex to complex forward and back, real to half
a spectrum, half a spectrum to real. The others, here and in `fft_forms.py`, are made of them.
"""

from typing import Any

import numpy as np

from thixo.dtype import BOOL, COMPLEX, INTEGERS, float32, float64, get_default_dtype
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, ValueRangeError, describe
from thixo.ops import fft_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.rules import conj
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dims, same

REALS = BOOL + INTEGERS + (float32, float64)
TAKES = REALS + COMPLEX
NORMS = ("backward", "ortho", "forward")


# ---- arguments


def adjoint_norm(norm: str | None) -> str:
    """The mode that scales the way back as `norm` scales the way there: it makes the adjoint."""
    return {"forward": "backward", "ortho": "ortho"}.get(norm or "backward", "forward")


def check_norm(op: str, norm: str | None) -> None:
    """Refuses an unknown way to scale."""
    if norm is not None and norm not in NORMS:
        raise ValueRangeError(f"{op}: norm is {norm!r}; it must be one of {', '.join(NORMS)}")


def axes_and_sizes(op: str, input: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The transformed axes, and how many points of each are taken (-1: all)."""
    if dim is not None:
        dims = normalize_dims(tuple(dim), input.ndim, op) if input.ndim else ()
        if dim and input.ndim == 0:
            raise IndexOutOfRange(
                f"{op}: dim is {tuple(dim)}, but input, {describe(input)}, has no axes"
            )
        if s is not None and len(s) != len(dims):
            raise ShapeError(
                f"{op}: s is {tuple(s)}, dim is {tuple(dim)}; they must be equally long"
            )
    elif s is not None:
        if len(s) > input.ndim:
            raise ShapeError(f"{op}: s is {tuple(s)}; input, {describe(input)}, has fewer axes")
        dims = tuple(range(input.ndim - len(s), input.ndim))
    else:
        dims = tuple(range(input.ndim))
    given = [-1] * len(dims) if s is None else s
    sizes = [
        input.shape[d] if isinstance(n, int) and n == -1 else n
        for d, n in zip(dims, given, strict=True)
    ]
    return dims, sizes


def check_sizes(op: str, input: Any, sizes: Any) -> None:
    """Refuses a transform of nothing."""
    for n in sizes:
        if n < 1:
            raise ValueRangeError(
                f"{op}: there must be at least 1 point to transform, not {n}; input is {describe(input)}"
            )


def require_axes(op: str, dims: tuple[int, ...]) -> None:
    """Refuses to transform no axis, where one of them is special."""
    if not dims:
        raise ShapeError(f"{op}: at least one axis must be transformed")


def require_real(op: str, input: Any) -> None:
    """Refuses complex input where half the spectrum would not be enough."""
    if input.dtype.is_complex:
        raise DTypeError(f"{op}: input is {describe(input)}; it must be real")


def real_type(dtype: Any) -> Any:
    """The real dtype that a transform of this dtype has in its parts."""
    if dtype.is_complex or dtype.is_floating_point:
        return dtype.to_real()
    return get_default_dtype()


def replaced(shape: Any, dims: Any, sizes: Any) -> tuple[Any, ...]:
    """A shape with other sizes at some axes."""
    result = list(shape)
    for d, n in zip(dims, sizes, strict=True):
        result[d] = n
    return tuple(result)


def fitted(x: Any, dims: Any, shape: Any) -> Any:
    """x cut, or filled up with zeros, to a shape's sizes along some axes."""
    for d in dims:
        have, want = x.shape[d], shape[d]
        if same(have, want) or have == want:
            continue
        if have > want:
            x = tx.narrow(x, d, 0, want)
        else:
            x = tx.constant_pad_nd(x, [0, 0] * (x.ndim - 1 - d) + [0, want - have])
    return x


def _arguments(op: str, input: Any, s: Any, dim: Any, norm: Any) -> tuple[tuple[int, ...], Any]:
    check_norm(op, norm)
    dims, sizes = axes_and_sizes(op, input, s, dim)
    check_sizes(op, input, sizes)
    return dims, sizes


def _computed(transform: Any, input: np.ndarray, s: Any, dim: Any, norm: Any) -> np.ndarray:
    dims, sizes = axes_and_sizes("fft", input, s, dim)
    if not dims:
        return input.astype(np.result_type(input, np.complex64))
    return np.asarray(transform(input, tuple(sizes), dims, norm))


# ---- complex to complex


def _samples(s):
    yield Sample(s.real(s.n))
    yield Sample(s.real(s.n, s.m), dim=(1,))
    yield Sample(s.real(s.n, s.m, s.k), dim=(0, -1), norm="ortho")
    yield Sample(s.real(s.n, 4), s=(5,), norm="forward")
    yield Sample(s.real(4, s.m, 5), s=(3, 7), dim=(0, 2), norm="backward")
    yield Sample(s.real(s.n, 5), s=(-1, 3))
    yield Sample(s.real(0, s.m), dim=(1,))


def _bad(s):
    yield Bad(Sample(s.real(3), norm="x"), ValueRangeError, "norm is 'x'")
    yield Bad(Sample(s.real(3), s=(0,)), ValueRangeError, "at least 1 point")
    yield Bad(Sample(s.real(3), dim=(1,)), IndexOutOfRange, "dim 1")
    yield Bad(Sample(s.real(3, 3), dim=(0, 0)), ValueRangeError, "names an axis twice")
    yield Bad(Sample(s.real(3, 3), s=(2,), dim=(0, 1)), ShapeError, "equally long")


class Fftn(Op):
    """The discrete Fourier transform over several axes (all, if none are named).

    `s` cuts or zero-fills each of them first; `norm` is "backward", "ortho" or "forward".

    >>> tx.fft.fftn(tx.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """

    signature = "fftn(input, s: ints? = None, dim: ints? = None, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def infer(input, s, dim, norm):
        dims, sizes = _arguments("fft.fftn", input, s, dim, norm)
        return Spec(replaced(input.shape, dims, sizes), real_type(input.dtype).to_complex())

    def kernel(input, s, dim, norm):
        return _computed(np.fft.fftn, input, s, dim, norm)

    def vjp(g, input_type, s, dim, norm):
        dims, _ = axes_and_sizes("fft.fftn", g, s, dim)
        g = tx.fft.ifftn(g, dim=dims, norm=adjoint_norm(norm))
        return g if s is None else fitted(g, dims, input_type.shape)

    reference = slow.fftn
    samples = _samples
    bad = _bad


class Ifftn(Op):
    """The inverse of `fft.fftn`.

    >>> tx.fft.ifftn(tx.fft.fftn(tx.ones(2))).real
    tensor([1., 1.])
    """

    signature = "ifftn(input, s: ints? = None, dim: ints? = None, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def infer(input, s, dim, norm):
        dims, sizes = _arguments("fft.ifftn", input, s, dim, norm)
        return Spec(replaced(input.shape, dims, sizes), real_type(input.dtype).to_complex())

    def kernel(input, s, dim, norm):
        return _computed(np.fft.ifftn, input, s, dim, norm)

    def vjp(g, input_type, s, dim, norm):
        dims, _ = axes_and_sizes("fft.ifftn", g, s, dim)
        g = tx.fft.fftn(g, dim=dims, norm=adjoint_norm(norm))
        return g if s is None else fitted(g, dims, input_type.shape)

    reference = slow.ifftn
    samples = _samples
    bad = _bad


# ---- real and half a spectrum


class Rfftn(Op):
    """The transform of real input: half of the last axis, since the other half mirrors it.

    >>> tx.fft.rfftn(tx.ones(2, 4)).shape
    Size([2, 3])
    """

    signature = "rfftn(input, s: ints? = None, dim: ints? = None, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = REALS

    def infer(input, s, dim, norm):
        require_real("fft.rfftn", input)
        dims, sizes = _arguments("fft.rfftn", input, s, dim, norm)
        require_axes("fft.rfftn", dims)
        sizes[-1] = sizes[-1] // 2 + 1
        return Spec(replaced(input.shape, dims, sizes), real_type(input.dtype).to_complex())

    def kernel(input, s, dim, norm):
        return _computed(np.fft.rfftn, input, s, dim, norm)

    def vjp(g, input_type, s, dim, norm):
        dims, _ = axes_and_sizes("fft.rfftn", g, s, dim)
        last = dims[-1]
        n = input_type.shape[last] if s is None or _is_all(s[-1]) else s[-1]
        behind = [0, 0] * (g.ndim - 1 - last)
        g = tx.constant_pad_nd(g, [*behind, 0, n - (n // 2 + 1)])  # the half that was not computed
        g = tx.fft.ifftn(g, dim=dims, norm=adjoint_norm(norm)).real
        return g if s is None else fitted(g, dims, input_type.shape)

    reference = slow.rfftn
    samples = _samples

    def bad(s):
        yield from _bad(s)
        yield Bad(Sample(s.real(3), dim=()), ShapeError, "at least one axis")


def _is_all(n: Any) -> bool:
    return isinstance(n, int) and n == -1


def half_axes(op: str, input: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The axes of a half spectrum and the sizes of the real result, the last one even by default."""
    dims, sizes = axes_and_sizes(op, input, s, dim)
    require_axes(op, dims)
    if s is None or _is_all(s[-1]):
        sizes[-1] = 2 * (input.shape[dims[-1]] - 1)
    check_sizes(op, input, sizes)
    return dims, sizes


def _half_samples(s):
    yield Sample(s.real(s.n))
    yield Sample(s.real(s.n, s.m), dim=(1,))
    yield Sample(s.real(s.n, s.m, s.k), dim=(0, -1), norm="ortho")
    yield Sample(s.real(s.n, 4), s=(5,), norm="forward")
    yield Sample(s.real(4, s.m, 5), s=(3, 7), dim=(0, 2), norm="backward")
    yield Sample(s.real(s.n, 5), s=(-1, 3))
    yield Sample(s.real(s.n, 3), s=(8,), dim=(1,))


class Irfftn(Op):
    """The real tensor whose half spectrum the input is: the inverse of `fft.rfftn`.

    The last axis becomes 2 (n - 1) long unless `s` says otherwise.

    >>> tx.fft.irfftn(tx.fft.rfftn(tx.ones(2, 4)))
    tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]])
    """

    signature = "irfftn(input, s: ints? = None, dim: ints? = None, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def infer(input, s, dim, norm):
        check_norm("fft.irfftn", norm)
        dims, sizes = half_axes("fft.irfftn", input, s, dim)
        return Spec(replaced(input.shape, dims, sizes), real_type(input.dtype))

    def kernel(input, s, dim, norm):
        dims, sizes = half_axes("fft.irfftn", input, s, dim)
        return np.fft.irfftn(input, tuple(sizes), dims, norm)

    def vjp(g, input_type, s, dim, norm):
        dims, _ = axes_and_sizes("fft.irfftn", g, s, dim)
        last = dims[-1]
        n = g.shape[last]
        g = tx.fft.rfftn(g, dim=dims, norm=adjoint_norm(norm))
        # All but the first and, for even n, the last one stood for two: themselves and their mirror.
        k = tx.arange(n // 2 + 1)
        count = tx.where((k == 0) | (k * 2 == n), 1, 2)
        g = g * count.reshape([n // 2 + 1] + [1] * (g.ndim - 1 - last))
        return g if s is None else fitted(g, dims, input_type.shape)

    reference = slow.irfftn
    samples = _half_samples

    def bad(s):
        yield from _bad(s)
        yield Bad(Sample(s.real(1)), ValueRangeError, "at least 1 point")


class Hfftn(Composite):
    """The transform of half a signal whose other half mirrors it, conjugated: it is real.

    >>> tx.fft.hfftn(tx.ones(3)).shape
    Size([4])
    """

    signature = "hfftn(input, s: ints? = None, dim: ints? = None, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, s, dim, norm):
        check_norm("fft.hfftn", norm)
        half_axes("fft.hfftn", input, s, dim)
        return tx.fft.irfftn(conj(input), s, dim, adjoint_norm(norm))

    reference = slow.hfftn
    samples = _half_samples
    bad = _bad


class Ihfftn(Composite):
    """Half of the inverse transform of real input: the inverse of `fft.hfftn`.

    >>> tx.fft.ihfftn(tx.ones(4)).shape
    Size([3])
    """

    signature = "ihfftn(input, s: ints? = None, dim: ints? = None, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = REALS

    def compose(input, s, dim, norm):
        require_real("fft.ihfftn", input)
        dims, _ = _arguments("fft.ihfftn", input, s, dim, norm)
        require_axes("fft.ihfftn", dims)
        return tx.fft.rfftn(input, s, dim, adjoint_norm(norm)).conj()

    reference = slow.ihfftn
    samples = _samples
    bad = _bad
