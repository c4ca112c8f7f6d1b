"""Overhead of eager execution: small tensors, one thread, against PyTorch in the same process.

python -m bench eager [--rounds 40] [--only TEXT] [--keep eager]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench import report
from bench.measure import Ratio, compare, ratio_of

Make = Callable[[Any], Callable[[], Any]]

# How many times faster than PyTorch; the import at most so many times as long as NumPy's.
BASIC, OTHERS = 8.0, 4.0
IMPORT_LIMIT = 2.5

Shape = tuple[int, ...]
PAIRS: list[tuple[Shape, Shape, str]] = [
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


def _tensor(module: Any, shape: Shape, dtype: str = "float32", grad: bool = False) -> Any:
    count = int(np.prod(shape))
    values = np.linspace(-1, 1, count).reshape(shape) * (10 if dtype == "int64" else 1)
    t = module.tensor(values.astype(dtype))
    return t.requires_grad_() if grad else t


def _add(a: Shape, b: Shape, dtype: str, grad: bool) -> Make:
    def make(module: Any) -> Callable[[], Any]:
        x, y = _tensor(module, a, dtype, grad), _tensor(module, b, dtype, grad)
        return lambda: x + y

    return make


def _chain(a: Shape, b: Shape, dtype: str) -> Make:
    def make(module: Any) -> Callable[[], Any]:
        x = _tensor(module, a, dtype, True)
        w, c = _tensor(module, b, dtype, True), _tensor(module, b, dtype, True)

        def step() -> Any:
            x.grad = w.grad = c.grad = None
            ((x * w + c).tanh()).sum().backward()
            return x.grad

        return step

    return make


def _others() -> Iterator[tuple[str, Make]]:
    def multiply(a: Shape, b: Shape) -> Make:
        def make(m: Any) -> Callable[[], Any]:
            x, y = _tensor(m, a), _tensor(m, b)
            return lambda: x * y

        return make

    def matmul(a: Shape, b: Shape) -> Make:
        def make(m: Any) -> Callable[[], Any]:
            x, y = _tensor(m, a), _tensor(m, b)
            return lambda: x @ y

        return make

    def one(build: Callable[[Any], Callable[[], Any]], shape: Shape = (8, 6)) -> Make:
        return lambda m: build(_tensor(m, shape))

    yield "multiply [4, 5] with [5]", multiply((4, 5), (5,))
    yield "multiply [8, 1] with [1, 6]", multiply((8, 1), (1, 6))
    yield "multiply [2, 3, 4] with [3, 1]", multiply((2, 3, 4), (3, 1))
    yield "sum [16]", one(lambda x: lambda: x.sum(), (16,))
    yield "sum [8, 6] dim 0", one(lambda x: lambda: x.sum(0))
    yield "sum [8, 6] dim 1", one(lambda x: lambda: x.sum(1))
    yield "reshape [8, 6] to [6, 8]", one(lambda x: lambda: x.reshape(6, 8))
    yield "reshape [8, 6] to [-1]", one(lambda x: lambda: x.reshape(-1))
    yield "index x[3]", one(lambda x: lambda: x[3])
    yield "index x[1:5]", one(lambda x: lambda: x[1:5])
    yield "index x[2, 1:3]", one(lambda x: lambda: x[2, 1:3])
    yield "matmul [8, 8] by [8, 8]", matmul((8, 8), (8, 8))
    yield "matmul [5, 16] by [16, 3]", matmul((5, 16), (16, 3))
    yield "matmul [16] by [16]", matmul((16,), (16,))


def cases() -> Iterator[tuple[str, Make, float]]:
    """Every (name, maker, target)."""
    for a, b, dtype in PAIRS:
        what = f"{dtype} {list(a)}" + (f" with {list(b)}" if a != b else "")
        yield f"add, {what}", _add(a, b, dtype, False), BASIC
        if dtype != "int64":
            yield f"add with tape, {what}", _add(a, b, dtype, True), BASIC
            yield f"chain and backward, {what}", _chain(a, b, dtype), BASIC
    for name, make in _others():
        yield name, make, OTHERS


def import_ratio() -> Ratio:
    """`import thixo` over `import numpy`, fresh processes in turn."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    seconds: dict[str, list[float]] = {"thixo": [], "numpy": []}
    # With bytecode, as packages are installed.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(21):
        for name, kept in seconds.items():
            run = [sys.executable, "-c", code.format(name)]
            done = subprocess.run(run, capture_output=True, check=True, env=environment)
            kept.append(float(done.stdout))
    # Turned round: here the ratio is a cost, not a speed.
    row = ratio_of(
        f"import thixo / import numpy (at most {IMPORT_LIMIT})", seconds["numpy"], seconds["thixo"]
    )
    row.ours_us, row.peer_us = row.peer_us, row.ours_us
    return row


def run(rounds: int, only: str) -> list[Ratio]:
    """Measure the cases; results are compared before they are timed."""
    import torch

    import thixo

    torch.set_num_threads(1)
    thixo.set_num_threads(1)
    rows = []
    for name, make, goal in cases():
        if only not in name:
            continue
        ours, peer = make(thixo), make(torch)
        a, b = ours().detach().numpy(), peer().detach().numpy()
        if a.dtype != b.dtype or not np.allclose(a, b, rtol=1e-5, atol=1e-6):
            raise SystemExit(f"{name}: results differ: {a} and {b}")
        rows.append(compare(name, ours, peer, target=goal, rounds=rounds))
    return rows


def main() -> int:
    """Print the table, keep the results; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench eager", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--keep", default="eager", help="name of the file in bench/results")
    options = parser.parse_args()
    rows = run(options.rounds, options.only)
    report.show("eager overhead, 1 thread, against torch eager", rows)
    if options.only:
        return 0 if all(r.met for r in rows) else 1
    imports = import_ratio()
    print(f"{imports.case}: {imports.median:.2f} ({imports.lower:.2f} - {imports.upper:.2f})")
    path = report.keep(options.keep, [*rows, imports], ["thixo", "torch", "numpy"])
    print(f"kept in {path}")
    return 0 if all(r.met for r in rows) and imports.median <= IMPORT_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
