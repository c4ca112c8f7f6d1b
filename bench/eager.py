"""Overhead of eager execution: small tensors, one thread, against PyTorch in the same process."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.measure import Ratio, compare

Case = tuple[str, Callable[[Any], Callable[[], Any]], float]


def _tensor(module: Any, shape: tuple[int, ...], dtype: str, grad: bool = False) -> Any:
    count = int(np.prod(shape))
    values = np.linspace(-1, 1, count).reshape(shape) * (10 if dtype == "int64" else 1)
    t = module.tensor(values.astype(dtype))
    return t.requires_grad_() if grad else t


def _add(
    shape: tuple[int, ...], other: tuple[int, ...], dtype: str, grad: bool
) -> Callable[..., Any]:
    def make(module: Any) -> Callable[[], Any]:
        a, b = _tensor(module, shape, dtype, grad), _tensor(module, other, dtype, grad)
        return lambda: a + b

    return make


def _chain(shape: tuple[int, ...], other: tuple[int, ...], dtype: str) -> Callable[..., Any]:
    def make(module: Any) -> Callable[[], Any]:
        x = _tensor(module, shape, dtype, True)
        w, b = _tensor(module, other, dtype, True), _tensor(module, other, dtype, True)

        def step() -> Any:
            x.grad = w.grad = b.grad = None
            ((x * w + b).tanh()).sum().backward()
            return x.grad

        return step

    return make


def cases(target: float) -> Iterator[Case]:
    """Every (name, maker, target)."""
    shapes: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
        ((16,), (16,), "float32"),
        ((1,), (1,), "float32"),
        ((3,), (3,), "float32"),
        ((17,), (17,), "float32"),
        ((4, 5), (4, 5), "float32"),
        ((16,), (16,), "float64"),
        ((4, 5), (5,), "float32"),
        ((4, 1), (1, 5), "float32"),
        ((16,), (16,), "int64"),
    ]
    for shape, other, dtype in shapes:
        what = f"{dtype} {list(shape)}" + (f" with {list(other)}" if other != shape else "")
        yield f"add, {what}", _add(shape, other, dtype, False), target
        if dtype != "int64":
            yield f"add with tape, {what}", _add(shape, other, dtype, True), target
            yield f"chain and backward, {what}", _chain(shape, other, dtype), target


def import_ratio() -> Ratio:
    """`import thixo` over `import numpy`, fresh processes in turn."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    ours, base = [], []
    for _ in range(21):
        for name, kept in (("thixo", ours), ("numpy", base)):
            run = [sys.executable, "-c", code.format(name)]
            kept.append(float(subprocess.run(run, capture_output=True, check=True).stdout))
    ratios = sorted(a / b for a, b in zip(ours, base, strict=True))
    n = len(ratios)
    return Ratio(
        "import thixo / import numpy (at most 3)",
        ratios[n // 2],
        ratios[n // 4],
        ratios[3 * n // 4],
        sorted(ours)[n // 2] * 1e6,
        sorted(base)[n // 2] * 1e6,
        n,
    )


def run(target: float, rounds: int) -> list[Ratio]:
    """Measure all cases; results are compared before they are timed."""
    import torch

    import thixo

    torch.set_num_threads(1)
    thixo.set_num_threads(1)
    rows = []
    for name, make, goal in cases(target):
        ours, peer = make(thixo), make(torch)
        a, b = ours().detach().numpy(), peer().detach().numpy()
        if a.dtype != b.dtype or not np.allclose(a, b, rtol=1e-5, atol=1e-6):
            raise SystemExit(f"{name}: results differ: {a} and {b}")
        rows.append(compare(name, ours, peer, target=goal, rounds=rounds))
    return rows
