"""Reductions and row-wise operators on large arrays, against PyTorch in the same process.

python -m bench.rows [--threads 1 2] [--rounds 15] [--only TEXT] [--keep NAME]
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench import report
from bench.measure import Ratio, compare

Make = Callable[[Any], Callable[[], Any]]


def _values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _forward(
    function: Callable[[Any, Any], Any], shape: tuple[int, ...], transposed: bool = False
) -> Make:
    def make(module: Any) -> Callable[[], Any]:
        x = module.tensor(_values(shape))
        if transposed:
            x = module.tensor(_values(shape[::-1])).transpose(0, 1)
        return lambda: function(module, x)

    return make


def _backward(
    function: Callable[..., Any],
    shape: tuple[int, ...],
    *others: tuple[int, ...],
    seed_grad: bool = True,
) -> Make:
    """Only the way back: the forward pass is kept."""

    def make(module: Any) -> Callable[[], Any]:
        leaves = [
            module.tensor(_values(s, i)).requires_grad_() for i, s in enumerate((shape, *others))
        ]
        y = function(module, *leaves)
        g = module.tensor(_values(tuple(y.shape), 9))

        def step() -> Any:
            return module.autograd.grad(y, leaves, g, retain_graph=True)[0]

        return step

    return make


def _reductions() -> dict[str, Callable[..., Any]]:
    return {
        "sum": lambda m, x, d: m.sum(x, d),
        "mean": lambda m, x, d: m.mean(x, d),
        "amax": lambda m, x, d: m.amax(x, d),
        "argmax": lambda m, x, d: m.argmax(x, d),
        "var": lambda m, x, d: m.var(x, d),
        "logsumexp": lambda m, x, d: m.logsumexp(x, d),
        "norm": lambda m, x, d: m.linalg.vector_norm(x, 2, d),
        "softmax": lambda m, x, d: m.softmax(x, d),
        "log_softmax": lambda m, x, d: m.log_softmax(x, d),
    }


def _layer_norm(m: Any, x: Any, w: Any, b: Any) -> Any:
    return m.nn.functional.layer_norm(x, tuple(w.shape), w, b)


def _batch_norm(m: Any, x: Any, w: Any, b: Any) -> Any:
    return m.nn.functional.batch_norm(x, None, None, w, b, True)


def _targets(m: Any, rows: int, classes: int) -> Any:
    return m.tensor(np.random.default_rng(3).integers(0, classes, rows))


SHAPES = ((4096, 1024), (512, 8191), (8, 100003), (97, 1009))


def cases() -> Iterator[tuple[str, Make]]:
    """Every (name, maker)."""
    for name, f in _reductions().items():
        for shape in SHAPES:
            for dim in (0, 1):
                yield (
                    f"{name} {shape} dim {dim}",
                    _forward(lambda m, x, f=f, d=dim: f(m, x, d), shape),
                )
        yield (
            f"{name} transposed (1024, 4096) dim 1",
            _forward(lambda m, x, f=f: f(m, x, 1), (1024, 4096), True),
        )
        yield f"{name} (64, 128, 512) dim 1", _forward(lambda m, x, f=f: f(m, x, 1), (64, 128, 512))
        if name in ("sum", "mean", "amax", "var", "logsumexp", "norm"):
            image = (64, 128, 28, 28)
            yield (
                f"{name} {image} dims (0, 2, 3)",
                _forward(lambda m, x, f=f: f(m, x, (0, 2, 3)), image),
            )
        if name in ("sum", "mean", "amax", "var", "norm", "argmax"):
            yield (
                f"{name} (2048, 2048) all",
                _forward(lambda m, x, f=f: f(m, x, None), (2048, 2048)),
            )
    for name in ("softmax", "log_softmax", "logsumexp", "amax", "var"):
        f = _reductions()[name]
        for shape in SHAPES:
            for dim in (0, 1):
                yield (
                    f"{name} backward {shape} dim {dim}",
                    _backward(lambda m, x, f=f, d=dim: f(m, x, d), shape),
                )
    for rows, width in ((4096, 1024), (512, 8191), (16384, 257), (97, 1009)):
        params = ((width,), (width,))

        def forward(m: Any, x: Any, width: int = width) -> Any:
            w, b = m.tensor(_values((width,), 1)), m.tensor(_values((width,), 2))
            return _layer_norm(m, x, w, b)

        yield f"layer_norm ({rows}, {width})", _forward(forward, (rows, width))
        yield (
            f"layer_norm backward ({rows}, {width})",
            _backward(_layer_norm, (rows, width), *params),
        )
    for shape in ((64, 128, 28, 28), (32, 512, 7, 7), (128, 64, 31, 17), (4096, 1000)):

        def forward(m: Any, x: Any, n: int = shape[1]) -> Any:
            return _batch_norm(m, x, m.tensor(_values((n,), 1)), m.tensor(_values((n,), 2)))

        yield f"batch_norm {shape}", _forward(forward, shape)
        yield (
            f"batch_norm backward {shape}",
            _backward(_batch_norm, shape, (shape[1],), (shape[1],)),
        )
    for rows, classes in ((4096, 1000), (1024, 32003), (8192, 10)):

        def loss(m: Any, x: Any, rows: int = rows, classes: int = classes) -> Any:
            if not hasattr(m, "_bench_targets"):
                m._bench_targets = {}
            kept = m._bench_targets
            if (rows, classes) not in kept:
                kept[rows, classes] = _targets(m, rows, classes)
            return m.nn.functional.cross_entropy(x, kept[rows, classes])

        yield f"cross_entropy ({rows}, {classes})", _forward(loss, (rows, classes))
        yield f"cross_entropy backward ({rows}, {classes})", _backward(loss, (rows, classes))


def run(threads: int, rounds: int, only: str) -> list[Ratio]:
    """Measure all cases; results are compared before they are timed."""
    import torch

    import thixo

    torch.set_num_threads(threads)
    thixo.set_num_threads(threads)
    rows = []
    for name, make in cases():
        if only not in name:
            continue
        ours, peer = make(thixo), make(torch)
        a, b = ours().detach().numpy(), peer().detach().numpy()
        if a.dtype != b.dtype or not np.allclose(a, b, rtol=1e-4, atol=2e-5):
            raise SystemExit(f"{name}: results differ: {np.abs(a - b).max()}")
        rows.append(
            compare(
                f"{name}, {threads} threads", ours, peer, target=0.95, rounds=rounds, seconds=0.003
            )
        )
        print(f"{rows[-1].median:6.2f} {rows[-1].ours_us:9.0f} us  {rows[-1].case}", flush=True)
    return rows


def main() -> int:
    """Print each ratio, the worst and the geometric mean; keep them."""
    parser = argparse.ArgumentParser(prog="python -m bench.rows", description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    rows = [r for t in options.threads for r in run(t, options.rounds, options.only)]
    mean = math.exp(sum(math.log(r.median) for r in rows) / len(rows))
    worst = sorted(rows, key=lambda r: r.median)[:12]
    print(f"{len(rows)} cases, geometric mean {mean:.2f}; the worst:")
    for r in worst:
        print(f"{r.median:6.2f} ({r.lower:.2f} - {r.upper:.2f}) {r.ours_us:9.0f} us  {r.case}")
    if options.keep:
        print(f"kept in {report.keep(options.keep, rows, ['thixo', 'torch', 'numpy'])}")
    return 0 if worst[0].median >= 0.95 and mean >= 1.5 else 1


if __name__ == "__main__":
    sys.exit(main())
