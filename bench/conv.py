"""Convolutions and pooling against torch eager: python -m bench.conv [--threads 1 2] [--only WORD] [--rounds 20].

Each shape forward, and backward for the input and for the weight. Results are compared before they are timed.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

import thixo as tx
from bench.measure import Ratio, compare

F = tx.nn.functional
Make = Callable[[], object]


@dataclass(frozen=True)
class Shape:
    """One two-dimensional convolution."""

    name: str
    batch: int
    inner: int
    outer: int
    size: int
    kernel: int
    stride: int = 1
    groups: int = 1
    dilation: int = 1

    @property
    def padding(self) -> int:
        """What keeps the size at stride 1."""
        return self.dilation * (self.kernel // 2)

    @property
    def work(self) -> float:
        """Multiplications and additions."""
        places = ((self.size - 1) // self.stride + 1) ** 2
        return 2.0 * self.batch * self.outer * self.inner / self.groups * self.kernel**2 * places


def resnet(batch: int) -> list[Shape]:
    """The convolutions of ResNet-18."""
    return [
        Shape(f"stem 7x7/2 b{batch}", batch, 3, 64, 224, 7, 2),
        Shape(f"3x3 64@56 b{batch}", batch, 64, 64, 56, 3),
        Shape(f"3x3/2 64-128@56 b{batch}", batch, 64, 128, 56, 3, 2),
        Shape(f"1x1/2 64-128@56 b{batch}", batch, 64, 128, 56, 1, 2),
        Shape(f"3x3 128@28 b{batch}", batch, 128, 128, 28, 3),
        Shape(f"3x3/2 128-256@28 b{batch}", batch, 128, 256, 28, 3, 2),
        Shape(f"3x3 256@14 b{batch}", batch, 256, 256, 14, 3),
        Shape(f"3x3/2 256-512@14 b{batch}", batch, 256, 512, 14, 3, 2),
        Shape(f"3x3 512@7 b{batch}", batch, 512, 512, 7, 3),
        Shape(f"1x1 64-256@56 b{batch}", batch, 64, 256, 56, 1),
    ]


CIFAR = [
    Shape("cifar 3-16@32 b64", 64, 3, 16, 32, 3),
    Shape("cifar 16@32 b64", 64, 16, 16, 32, 3),
    Shape("cifar 16-32@32/2 b64", 64, 16, 32, 32, 3, 2),
    Shape("cifar 32@16 b64", 64, 32, 32, 16, 3),
    Shape("cifar 32-64@16/2 b64", 64, 32, 64, 16, 3, 2),
    Shape("cifar 64@8 b64", 64, 64, 64, 8, 3),
]
DEPTHWISE = [
    Shape("depthwise 3x3 128@56 b1", 1, 128, 128, 56, 3, 1, 128),
    Shape("depthwise 3x3/2 96@56 b8", 8, 96, 96, 56, 3, 2, 96),
    Shape("depthwise 5x5 240@14 b8", 8, 240, 240, 14, 5, 1, 240),
]
OTHERS = [
    Shape("grouped 3x3 128@28 g4 b8", 8, 128, 128, 28, 3, 1, 4),
    Shape("dilated 3x3 64@28 d2 b8", 8, 64, 64, 28, 3, 1, 1, 2),
]


def drawn(seed: int, count: int = 5) -> list[Shape]:
    """Shapes from a seed: primes and ragged tails."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        kernel, stride = int(rng.choice([1, 3, 5])), int(rng.integers(1, 3))
        inner, outer = (int(rng.choice([3, 7, 13, 19, 31, 37, 61, 97, 131])) for _ in range(2))
        size, batch = int(rng.integers(7, 60)), int(rng.integers(1, 17))
        name = f"drawn {i}: {kernel}x{kernel}/{stride} {inner}-{outer}@{size} b{batch}"
        made.append(Shape(name, batch, inner, outer, size, kernel, stride))
    return made


@dataclass(frozen=True)
class Case:
    """One thing to time."""

    name: str
    ours: Make
    peer: Make
    work: float


def _close(name: str, ours: object, peer: object) -> None:
    a, b = np.asarray(ours), peer.numpy()  # type: ignore[attr-defined]
    scale = float(np.abs(b).max()) or 1.0
    error = float(np.abs(a - b).max()) / scale
    if not error < 2e-5:
        sys.exit(f"{name}: results differ by {error:.2g} of the largest")


def convolutions(shapes: list[Shape]) -> Iterator[Case]:
    """Forward and both gradients of each shape."""
    rng = np.random.default_rng(0)
    for s in shapes:
        x = rng.standard_normal((s.batch, s.inner, s.size, s.size), np.float32)
        w = rng.standard_normal((s.outer, s.inner // s.groups, s.kernel, s.kernel), np.float32)
        window = ((s.stride,) * 2, (s.padding,) * 2, (s.dilation,) * 2, s.groups)
        size, kernel = (s.size,) * 2, (s.kernel,) * 2
        tx_x, tx_w, t_x, t_w = tx.tensor(x), tx.tensor(w), torch.from_numpy(x), torch.from_numpy(w)
        b = rng.standard_normal(s.outer, np.float32)
        tx_b, t_b = tx.tensor(b), torch.from_numpy(b)

        def ours_forward(x=tx_x, w=tx_w, b=tx_b, a=window):
            return F.conv2d(x, w, b, *a)

        def peer_forward(x=t_x, w=t_w, b=t_b, a=window):
            return torch.nn.functional.conv2d(x, w, b, *a)

        y = peer_forward()
        g = rng.standard_normal(tuple(y.shape), np.float32)
        tx_g, t_g = tx.tensor(g), torch.from_numpy(g)

        def ours_input(g=tx_g, w=tx_w, n=size, a=window):
            return F.convolve_transposed(g, w, n, *a)

        def ours_weight(g=tx_g, x=tx_x, n=kernel, a=window):
            return F.convolve_weight(x, g, n, *a)

        def peer_back(mask, g=t_g, x=t_x, w=t_w, a=window):
            return torch.ops.aten.convolution_backward(
                g, x, w, None, *a[:3], False, [0, 0], a[3], mask
            )

        pairs = (
            ("forward", ours_forward, peer_forward),
            ("input", ours_input, lambda p=peer_back: p([True, False, False])[0]),
            ("weight", ours_weight, lambda p=peer_back: p([False, True, False])[1]),
        )
        for way, ours, peer in pairs:
            if way == "input" and s.inner == 3:
                continue  # nobody asks for the gradient of the images
            _close(f"{s.name} {way}", ours(), peer())
            yield Case(f"{s.name} {way}", ours, peer, s.work)


def pools() -> Iterator[Case]:
    """Largest value and average, both ways."""
    rng = np.random.default_rng(1)
    for batch, channels, size, kernel, stride, padding in (
        (8, 64, 112, 3, 2, 1),
        (64, 32, 32, 2, 2, 0),
        (1, 512, 14, 3, 1, 1),
    ):
        x = rng.standard_normal((batch, channels, size, size), np.float32)
        for kind in ("max", "avg"):
            name = f"{kind}pool {kernel}/{stride} {channels}@{size} b{batch}"
            ours = getattr(F, f"{kind}_pool2d")
            peer = getattr(torch.nn.functional, f"{kind}_pool2d")
            a, b = tx.tensor(x), torch.from_numpy(x)
            arguments = (kernel, stride, padding)

            def ours_forward(f=ours, a=a, n=arguments):
                return f(a, *n)

            def peer_forward(f=peer, b=b, n=arguments):
                return f(b, *n)

            _close(name, ours_forward(), peer_forward())
            yield Case(f"{name} forward", ours_forward, peer_forward, float(x.size))
            a_grad, b_grad = tx.tensor(x, requires_grad=True), torch.from_numpy(x).requires_grad_()
            y, t = ours(a_grad, *arguments), peer(b_grad, *arguments)
            g = rng.standard_normal(tuple(t.shape), np.float32)
            tx_g, t_g = tx.tensor(g), torch.from_numpy(g)

            def ours_backward(y=y, x=a_grad, g=tx_g):
                return tx.autograd.grad(y, x, g, retain_graph=True)[0]

            def peer_backward(y=t, x=b_grad, g=t_g):
                return torch.autograd.grad(y, x, g, retain_graph=True)[0]

            _close(f"{name} backward", ours_backward(), peer_backward())
            yield Case(f"{name} backward", ours_backward, peer_backward, float(x.size))


def run(threads: int, only: str, rounds: int, seed: int) -> list[Ratio]:
    """Time everything whose name has the word."""
    tx.set_num_threads(threads)
    torch.set_num_threads(threads)
    shapes = [*resnet(1), *resnet(8), *CIFAR, *DEPTHWISE, *OTHERS, *drawn(seed)]
    shapes = [
        s for s in shapes if any(only in f"{s.name} {w}" for w in ("forward", "input", "weight"))
    ]
    rows = []
    for source in (convolutions(shapes), pools()):
        for case in source:
            if only not in case.name:
                continue
            row = compare(
                case.name, case.ours, case.peer, target=0.95, rounds=rounds, seconds=0.004
            )
            rows.append(row)
            rate = case.work / row.ours_us / 1e3, case.work / row.peer_us / 1e3
            print(
                f"{threads} {row.case:36s} {row.median:6.2f} ({row.lower:.2f}-{row.upper:.2f})"
                f"  {row.ours_us:9.1f} us  {rate[0]:6.1f} G/s  torch {rate[1]:6.1f}",
                flush=True,
            )
    return rows


def main() -> int:
    """Print the table; exit 1 if a case is slower than 0.95 of torch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = int(np.random.SeedSequence().entropy % 10**6) if options.seed is None else options.seed
    print(f"seed {seed}")
    worst = 1e9
    for threads in options.threads:
        rows = run(threads, options.only, options.rounds, seed)
        if rows:
            mean = statistics.geometric_mean(r.median for r in rows)
            low = min(rows, key=lambda r: r.median)
            worst = min(worst, low.median)
            print(
                f"{threads} threads: geometric mean {mean:.2f}, worst {low.median:.2f} ({low.case})"
            )
    return 0 if worst >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
