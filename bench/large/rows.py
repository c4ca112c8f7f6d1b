"""Along an axis: reductions, softmax, normalisation."""

from collections.abc import Iterator
from typing import Any

from bench.large.case import Case, Draw, Family, both, forward, matrix, shown

Dims = int | tuple[int, ...] | None

# With a gradient that users ask for; argmax has none.
REDUCTIONS: dict[str, Any] = {
    "sum": lambda m, x, d: m.sum(x, d),
    "mean": lambda m, x, d: m.mean(x, d),
    "amax": lambda m, x, d: m.amax(x, d if d is not None else (0, 1)),
    "var": lambda m, x, d: m.var(x, d),
    "logsumexp": lambda m, x, d: m.logsumexp(x, d if d is not None else (0, 1)),
    "norm": lambda m, x, d: m.linalg.vector_norm(x, 2, d),
    "argmax": lambda m, x, d: m.argmax(x, d),
}


def _reduction(
    name: str, shape: tuple[int, ...], dim: Dims, turned: bool = False
) -> Iterator[Case]:
    function = REDUCTIONS[name]
    what = f"{name} {shown(shape, turned)} over {'all' if dim is None else dim}"

    def run(m: Any, x: Any) -> Any:
        return function(m, x, dim)

    x = matrix(*shape, turned=turned)
    if name == "argmax":
        yield Case(what, forward(run, x))
    else:
        # PyTorch adds all squares of a norm up one after the other: of millions it loses four digits.
        yield from both(what, run, x, tolerance=1e-3 if name == "norm" else 1e-4)


def _softmax(shape: tuple[int, ...], dim: int, turned: bool = False) -> Iterator[Case]:
    what, x = f"{shown(shape, turned)} dim {dim}", matrix(*shape, turned=turned)
    yield from both(f"softmax {what}", lambda m, x: m.softmax(x, dim), x)
    yield from both(f"log_softmax {what}", lambda m, x: m.log_softmax(x, dim), x)


def _layernorm(rows: int, width: int, turned: bool = False) -> Iterator[Case]:
    def run(m: Any, x: Any, w: Any, b: Any) -> Any:
        return m.nn.functional.layer_norm(x, (width,), w, b)

    x = matrix(rows, width, turned=turned)
    yield from both(shown((rows, width), turned), run, x, matrix(width), matrix(width))


def _batchnorm(shape: tuple[int, ...], turned: bool = False) -> Iterator[Case]:
    def run(m: Any, x: Any, w: Any, b: Any) -> Any:
        return m.nn.functional.batch_norm(x, None, None, w, b, True)

    x, channels = matrix(*shape, turned=turned), matrix(shape[1])
    yield from both(shown(shape, turned), run, x, channels, channels)


def _draw_reduction(d: Draw) -> tuple[Any, ...]:
    shape = d.size(100, 3000), d.size(100, 3000)
    return d.one_of(*REDUCTIONS), shape, d.one_of(0, 1, None), d.turned


FIXED = [(4096, 1024), (97, 10007)]

FAMILIES = [
    Family(
        "reductions",
        _reduction,
        [
            *((name, shape, dim) for name in REDUCTIONS for shape in FIXED for dim in (0, 1, None)),
            ("sum", (64, 128, 512), 1),
            ("var", (64, 128, 28, 28), (0, 2, 3)),
            ("mean", (64, 512, 7, 7), (2, 3)),
        ],
        _draw_reduction,
        drawn=10,
    ),
    Family(
        "softmax",
        _softmax,
        [((4096, 1024), 1), ((4096, 1024), 0), ((64, 32003), 1), ((64, 8, 128, 128), -1)],
        lambda d: ((d.size(50, 3000), d.size(50, 3000)), d.one_of(0, 1), d.turned),
    ),
    Family(
        "layernorm",
        _layernorm,
        [(4096, 1024), (1024, 256), (512, 8191)],
        lambda d: (d.size(100, 8000), d.size(50, 2000), d.turned),
    ),
    Family(
        "batchnorm",
        _batchnorm,
        [((64, 16, 32, 32),), ((64, 64, 8, 8),), ((8, 64, 56, 56),), ((4096, 1000),)],
        lambda d: (
            (d.size(4, 60), d.size(8, 200), d.size(7, 50), d.size(7, 50)),
            d.turned,
        ),
    ),
]
