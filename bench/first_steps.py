"""Programs whose first step is timed: python bench/first_steps.py {digits,operators} {thixo,torch}.

Each is written once, for either library. The clock starts before the library is loaded, so that a user's wait is
what is measured; the last line says the seconds and a number by which results are compared.
"""

import sys
import time

START = time.perf_counter()

import importlib  # noqa: E402  (everything that a program needs is in its time)
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

DIGITS = Path(__file__).parents[1] / "src" / "thixo" / "data" / "digits.npz"


def digits(lib: Any) -> float:
    """The first step of examples/digits.py: data, augmentation, network, loss, gradients, optimizer."""
    nn, functional = lib.nn, lib.nn.functional
    data = importlib.import_module("torch.utils.data" if lib.__name__ == "torch" else "thixo.data")
    stored = np.load(DIGITS)
    given = lib.tensor(stored["images"].reshape(-1, 1, 8, 8).astype(np.float32))
    wanted = lib.tensor(stored["labels"].astype(np.int64))

    def layer(inputs: int, outputs: int) -> list[Any]:
        convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]

    lib.manual_seed(0)
    model = nn.Sequential(
        *layer(1, 16), *layer(16, 32), nn.MaxPool2d(2), *layer(32, 32), nn.Flatten(),
        nn.Linear(512, 10),
    )  # fmt: skip
    optimizer = lib.optim.AdamW(model.parameters(), lr=5e-3)
    generator = lib.Generator().manual_seed(0)
    loader = data.DataLoader(
        data.TensorDataset(given, wanted), 64, shuffle=True, drop_last=True, generator=generator
    )
    x, y = next(iter(loader))

    def draw(amount: float) -> Any:
        return (2 * lib.rand(len(x), generator=generator) - 1) * amount

    turn, stretch = draw(0.25), 1 + draw(0.2)
    across = lib.stack([stretch * turn.cos(), draw(0.2) - turn.sin(), draw(0.2)], dim=1)
    down = lib.stack([turn.sin(), stretch * turn.cos(), draw(0.2)], dim=1)
    theta = lib.stack([across, down], dim=1)
    places = functional.affine_grid(theta, list(x.shape), align_corners=False)
    bent = functional.grid_sample(x, places, align_corners=False)
    loss = functional.cross_entropy(model(bent), y, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.item())


def operators(lib: Any) -> float:
    """Twenty-four operators that the digits do not use, with the gradients of most."""
    f = lib.nn.functional
    rng = np.random.default_rng(0)
    x = lib.tensor(rng.standard_normal((48, 64), np.float32)).requires_grad_()
    w = lib.tensor(rng.standard_normal((64, 64), np.float32)).requires_grad_()
    i = lib.tensor(rng.integers(0, 48, 30))
    j = lib.tensor(rng.integers(0, 64, (48, 5)))
    h = f.layer_norm(x, (64,))  # 1
    h = f.gelu(h @ w)  # 2, 3
    h = h + f.silu(x)  # 4
    h = lib.softmax(h, 1) * lib.sin(x)  # 5, 6
    h = lib.where(x > 0, h, lib.clamp(h, -0.5, 0.5))  # 7, 8
    h = h.masked_fill(x > 2, 0.0)  # 9
    h = lib.cat([h, h.index_select(0, i)])  # 10, 11
    h = f.pad(h, (1, 1))  # 12
    h = lib.tril(h, 20)  # 13
    h = lib.cumsum(h, 1)  # 14
    picked = lib.gather(x, 1, j)  # 15
    added = lib.zeros(48, 64).scatter_add(1, j, picked)  # 16
    rows = f.embedding(i, w)  # 17
    spread = lib.var(x, 0) + lib.amax(x, 0)  # 18, 19
    best = lib.topk(x, 3, 1)[0]  # 20
    ordered = lib.sort(x, 1)[0]  # 21
    total = lib.logsumexp(x, 1).sum() + lib.log1p(x * x).mean()  # 22, 23
    batch = lib.bmm(x.reshape(4, 12, 64), x.reshape(4, 64, 12))  # 24
    parts = (h, added, rows, spread, best, ordered[:, ::7], batch)
    loss = total + sum(p.mean() for p in parts)
    loss.backward()
    return float(loss.item()) + float(x.grad.abs().sum().item())


def main() -> None:
    """Run one; say the seconds since this file began, and the number."""
    program, library = sys.argv[1:3]
    lib = importlib.import_module(library)
    value = {"digits": digits, "operators": operators}[program](lib)
    print(time.perf_counter() - START, value)


if __name__ == "__main__":
    main()
