"""Axes made longer at their ends: with a number, mirrored, repeated or wrapped around."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.errors import ArgumentError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample


def pad_pairs(operation: str, pad: Sequence[Any], ndim: int) -> list[tuple[int, Any, Any]]:
    """(before, after) for each axis from the last one backwards, as `pad` lists them."""
    if len(pad) % 2:
        raise ArgumentError(f"{operation}: pad needs a pair for each axis, got {tuple(pad)}")
    if len(pad) > 2 * ndim:
        raise ShapeError(
            f"{operation}: pad {tuple(pad)} is for {len(pad) // 2} axes, input has {ndim}"
        )
    return [(ndim - 1 - i // 2, pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]


class ConstantPadNd(Op):
    """The input with a number added before and after its last axes; negative amounts cut.

    >>> tx.constant_pad_nd(tx.tensor([1, 2]), (1, 2), 7)
    tensor([7, 1, 2, 7, 7])
    """

    total = True
    signature = "constant_pad_nd(input, pad: ints, value: scalar = 0) -> y"
    method = False

    def infer(input, pad, value=0):
        shape = list(input.shape)
        for d, before, after in pad_pairs("constant_pad_nd", pad, input.ndim):
            shape[d] = shape[d] + before + after
            if shape[d] < 0:
                raise ShapeError(
                    f"constant_pad_nd: pad {tuple(pad)} cuts more than axis {d} of "
                    f"{describe(input)} has"
                )
        return Spec(tuple(shape), input.dtype)

    def kernel(input, pad, value=0):
        shape = list(input.shape)
        source, target = [slice(None)] * input.ndim, [slice(None)] * input.ndim
        for d, before, after in pad_pairs("constant_pad_nd", pad, input.ndim):
            source[d] = slice(max(-before, 0), input.shape[d] - max(-after, 0))
            shape[d] += before + after
            target[d] = slice(max(before, 0), shape[d] - max(after, 0))
        y = np.full(shape, value, input.dtype)
        y[tuple(target)] = input[tuple(source)]
        return y

    def vjp(g, pad):
        return tx.constant_pad_nd(g, tuple(-n for n in pad), 0)

    def reference(input, pad, value=0):
        before, shape = [0] * input.ndim, list(input.shape)
        for i in range(0, len(pad), 2):
            d = input.ndim - 1 - i // 2
            before[d] = pad[i]
            shape[d] += pad[i] + pad[i + 1]

        def element(index):
            place = tuple(i - b for i, b in zip(index, before, strict=True))
            inside = all(0 <= i < n for i, n in zip(place, input.shape, strict=True))
            return input[place] if inside else value

        return build(shape, input.dtype, element)

    def samples(s):
        yield Sample(s.real(s.n, s.m), (1, 2))
        yield Sample(s.real(s.n, s.m), (0, 1, 2, 0), 1)
        yield Sample(s.real(s.n, s.m), (-1, 2), 1)
        yield Sample(s.real(s.n), (2, -1))
        yield Sample(s.real(s.n, 0), (1, 1))
        yield Sample(s.real(), ())

    def bad(s):
        yield Bad(Sample(s.real(2), (1,)), ArgumentError, "a pair for each axis")
        yield Bad(Sample(s.real(2), (1, 1, 1, 1)), ShapeError, "input has 1")
        yield Bad(Sample(s.real(2), (-1, -2)), ShapeError, "cuts more")


def padded_index(mode: str, size: Any, before: Any, after: Any) -> Any:
    """Which elements of an axis the padded axis shows, as an index tensor."""
    i = tx.arange(-before, size + after)
    if mode == "replicate":
        return tx.clamp(i, 0, size - 1)
    if mode == "circular":
        return tx.remainder(i, size)
    return (size - 1) - tx.abs((size - 1) - tx.abs(i))  # reflect


class Pad(Composite):
    """The input made longer at the ends of its last axes.

    `pad` lists (before, after) for the last axis, then for the one before it. `mode` is "constant"
    (with `value`), "reflect" (mirrored without the border), "replicate" or "circular".

    >>> tx.nn.functional.pad(tx.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """

    signature = "pad(input, pad: ints, mode: str = 'constant', value: float? = None) -> y"
    namespace = "nn.functional"

    def compose(input, pad, mode, value):
        if mode == "constant":
            return tx.constant_pad_nd(input, pad, 0 if value is None else value)
        if mode not in ("reflect", "replicate", "circular"):
            raise ArgumentError(
                f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got {mode!r}"
            )
        if value:
            raise ArgumentError(f"pad: mode {mode!r} takes no value, got {value}")
        axes = len(pad) // 2
        if len(pad) % 2 or not axes or input.ndim not in (axes + 1, axes + 2):
            raise ShapeError(
                f"pad: mode {mode!r} pads all but the first one or two axes, input is "
                f"{describe(input)} and pad {tuple(pad)}"
            )
        for d, before, after in pad_pairs("pad", pad, input.ndim):
            size = input.shape[d]
            most = {"reflect": size - 1, "circular": size, "replicate": None}[mode]
            if most is not None and (before > most or after > most):
                raise ShapeError(
                    f"pad: mode {mode!r} can add at most {most} to axis {d} of {describe(input)}, "
                    f"pad is {tuple(pad)}"
                )
            if size + before + after < 1 or size < 1:
                raise ShapeError(
                    f"pad: nothing is left of axis {d} of {describe(input)}, pad is {tuple(pad)}"
                )
            if mode == "circular" and (before < 0 or after < 0):
                # What is cut off takes no part in the circle.
                first, last = max(-before, 0), size - max(-after, 0)
                input = tx.slice(input, d, first, last)
                size, before, after = last - first, max(before, 0), max(after, 0)
            if not (
                isinstance(before, int) and before == 0 and isinstance(after, int) and after == 0
            ):
                input = tx.index_select(input, d, padded_index(mode, size, before, after))
        return tx.clone(input) if not any(isinstance(n, int) and n for n in pad) else input

    def reference(input, pad, mode="constant", value=None):
        if mode == "constant":
            return ConstantPadNd.reference(input, pad, value or 0)
        name = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
        widths = [(0, 0)] * input.ndim
        crop = [slice(None)] * input.ndim
        for i in range(0, len(pad), 2):
            d = input.ndim - 1 - i // 2
            widths[d] = (max(pad[i], 0), max(pad[i + 1], 0))
            crop[d] = slice(max(-pad[i], 0), min(pad[i + 1], 0) or None)
        if mode == "circular":
            return np.pad(input[tuple(crop)], widths, name)
        return np.pad(input, widths, name)[tuple(crop)]

    def samples(s):
        yield Sample(s.real(s.n, s.m), (1, 2))
        yield Sample(s.real(s.n, s.m), (1, 0, 2, 1), value=0.0)
        yield Sample(s.real(s.n, s.m), (1, 1), mode="reflect")
        yield Sample(s.real(s.n, s.m, s.m), (1, 0, 0, 1), mode="reflect")
        yield Sample(s.real(s.n, s.m), (3, 2), mode="replicate")
        yield Sample(s.real(2, s.n, s.m, s.m), (-1, 2, 1, 0), mode="replicate")
        yield Sample(s.real(s.n, s.m), (1, 2), mode="circular")
        yield Sample(s.real(2, s.n, s.k, s.m), (1, 1, 0, 2), mode="circular")
        yield Sample(s.real(s.n, s.m + 1), (1, -1), mode="circular")

    def bad(s):
        yield Bad(Sample(s.real(2, 3), (3, 0), "reflect"), ShapeError, "at most 2")
        yield Bad(Sample(s.real(2, 3), (1, 0), "mirror"), ArgumentError, "mode must be")
        yield Bad(Sample(s.real(3), (1, 1, 1, 1), "replicate"), ShapeError, "first one or two axes")
