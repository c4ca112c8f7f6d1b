"""Convolutions of ResNet and CIFAR networks, depthwise ones, and pooling."""

from collections.abc import Iterator
from typing import Any

from bench.conv import CIFAR, DEPTHWISE, OTHERS, Shape, resnet
from bench.large.case import Case, Draw, Family, Floats, backward, forward, shown


def _convolution(s: Shape, turned: bool = False) -> Iterator[Case]:
    def run(m: Any, x: Any, w: Any, b: Any) -> Any:
        return m.nn.functional.conv2d(x, w, b, s.stride, s.padding, s.dilation, s.groups)

    images = Floats(
        (s.batch, s.inner, s.size, s.size),
        turned=turned,
        grad=s.inner > 3,  # nobody asks for the gradient of colours
    )
    weight = Floats((s.outer, s.inner // s.groups, s.kernel, s.kernel))
    bias = Floats((s.outer,))
    name = s.name + (" transposed" if turned else "")
    yield Case(name, forward(run, images, weight, bias), 1e-4)
    yield Case(f"{name} backward", backward(run, images, weight, bias), 1e-4)


def _draw_convolution(d: Draw) -> tuple[Any, ...]:
    kernel, stride = d.one_of(1, 3, 5), d.one_of(1, 1, 2)
    batch, inner, outer = d.size(1, 16), d.size(8, 130), d.size(8, 130)
    size = d.size(9, 50)
    name = f"{kernel}x{kernel}/{stride} {inner}-{outer}@{size} b{batch}"
    return Shape(name, batch, inner, outer, size, kernel, stride), d.turned


def _draw_depthwise(d: Draw) -> tuple[Any, ...]:
    kernel, stride = d.one_of(3, 5), d.one_of(1, 1, 2)
    batch, channels, size = d.size(1, 16), d.size(16, 300), d.size(9, 60)
    name = f"{kernel}x{kernel}/{stride} {channels}@{size} b{batch}"
    return Shape(name, batch, channels, channels, size, kernel, stride, channels), d.turned


def _pooling(
    shape: tuple[int, ...], kernel: int, stride: int, padding: int, turned: bool = False
) -> Iterator[Case]:
    x = Floats(shape, turned=turned)
    for kind in ("max", "avg"):

        def run(m: Any, x: Any, kind: str = kind) -> Any:
            return getattr(m.nn.functional, f"{kind}_pool2d")(x, kernel, stride, padding)

        name = f"{kind} {kernel}/{stride} {shown(shape, turned)}"
        yield Case(name, forward(run, x))
        yield Case(f"{name} backward", backward(run, x))


def _draw_pooling(d: Draw) -> tuple[Any, ...]:
    kernel = d.one_of(2, 3)
    shape = (d.size(1, 16), d.size(8, 130), d.size(14, 80), d.size(14, 80))
    return shape, kernel, d.one_of(1, 2), d.one_of(0, 1), d.turned


FAMILIES = [
    Family(
        "convolution",
        _convolution,
        [(s,) for s in (*resnet(1), *resnet(8)[1:9:2], *CIFAR, *OTHERS)],
        _draw_convolution,
    ),
    Family("depthwise", _convolution, [(s,) for s in DEPTHWISE], _draw_depthwise),
    Family(
        "pooling",
        _pooling,
        [((8, 64, 112, 112), 3, 2, 1), ((64, 32, 32, 32), 2, 2, 0), ((1, 512, 14, 14), 3, 1, 1)],
        _draw_pooling,
    ),
]
