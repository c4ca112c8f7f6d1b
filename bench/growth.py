"""How compile time grows with equal layers: 48 of them against one, with an empty cache.

python -m bench growth [--rounds 5] [--case mlp_train gpt_train] [--layers 48]

Each time is that of a fresh process: from a declared graph to the first result, so passes, schedule, kernels and binding, less
what a second run takes. How long declaring took, in which Python walks through every layer, is told beside.

Models have ends that are no layers, so that all layers are equal, the first and the last too, and one layer is one of the 48: something
before them learns, so the first hands a gradient back as the others do, and what comes after them hands one to the last.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

LIMIT = 1.5  # times the seconds of one layer
WIDTH, HEADS, LENGTH, BATCH = 64, 2, 16, 4
FEATURES, CLASSES = 24, 10  # of the MLP's ends


def mlp(tx: Any, layers: int) -> tuple[Any, list[Any], list[Any]]:
    """A loss, its parameters, and what is fed: layers of one width and GELU."""
    f, variable = tx.nn.functional, tx.static.variable
    x = tx.static.placeholder((BATCH, FEATURES), tx.float32, "x")
    parameters: list[Any] = []

    def linear(y: Any, size: int, to: int) -> Any:
        parameters.extend([variable(tx.full((to, size), 0.01)), variable(tx.zeros(to))])
        return f.linear(y, *parameters[-2:])

    y = f.gelu(linear(x, FEATURES, WIDTH))
    for _ in range(layers):
        y = f.gelu(linear(y, WIDTH, WIDTH))
    y = linear(y, WIDTH, CLASSES)
    return (y * y).mean(), parameters, [x]


def gpt(tx: Any, layers: int) -> tuple[Any, list[Any], list[Any]]:
    """The same for blocks of a GPT."""
    f, variable = tx.nn.functional, tx.static.variable
    x = tx.static.placeholder((BATCH, LENGTH, WIDTH), tx.float32, "x")
    parameters: list[Any] = []

    def linear(y: Any, size: int, to: int) -> Any:
        parameters.extend([variable(tx.full((to, size), 0.01)), variable(tx.zeros(to))])
        return f.linear(y, *parameters[-2:])

    def norm(y: Any) -> Any:
        parameters.extend([variable(tx.ones(WIDTH)), variable(tx.zeros(WIDTH))])
        return f.layer_norm(y, (WIDTH,), *parameters[-2:])

    def heads(y: Any) -> Any:
        y = y.reshape(BATCH, LENGTH, HEADS, WIDTH // HEADS)
        return y.transpose(1, 2)  # (batch, head, time, size)

    parameters.append(variable(tx.zeros((LENGTH, WIDTH))))  # of positions
    y = x + parameters[-1]
    for _ in range(layers):
        q, k, v = linear(norm(y), WIDTH, 3 * WIDTH).split(WIDTH, 2)
        seen = f.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
        y = y + linear(seen.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH), WIDTH, WIDTH)
        y = y + linear(f.gelu(linear(norm(y), WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)
    return (norm(y) * norm(y)).mean(), parameters, [x]


CASES = {
    "mlp_train": (mlp, True), "gpt_forward": (gpt, False), "gpt_train": (gpt, True),
}  # fmt: skip


def one(case: str, layers: int) -> tuple[float, float]:
    """Seconds to declare a model and to its first result, in this process."""
    import thixo as tx

    model, trains = CASES[case]
    start = time.perf_counter()
    with tx.static.Graph() as graph:
        loss, parameters, given = model(tx, layers)
        fetched = [loss, tx.optim.Adam(parameters, 1e-3).minimize(loss)] if trains else loss
    fed = [tx.ones(p.shape) for p in given]
    declared = time.perf_counter()
    call = tx.static.Session(graph).bind(fetched, given)
    call(*fed)
    first = time.perf_counter()
    call(*fed)
    return declared - start, 2 * first - declared - time.perf_counter()


def fresh(case: str, layers: int) -> tuple[float, float]:
    """The same in a process of its own, with a cache that is empty."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "THIXO_CACHE": folder, "THIXO_DEV": "0"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as an installed package is
        command = [sys.executable, "-m", "bench", "growth", "--one", case, "--layers", str(layers)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case} with {layers} layers failed:\n{done.stderr}")
    declared, compiled = map(float, done.stdout.split()[-2:])
    return declared, compiled


def main() -> int:
    """Print what more layers cost; exit 1 if one case is above the limit."""
    parser = argparse.ArgumentParser(
        prog="python -m bench growth", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--case", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--one", choices=list(CASES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(*one(options.one, options.layers))
        return 0
    good = True
    for case in options.case:
        turns = [[fresh(case, n) for n in (1, options.layers)] for _ in range(options.rounds)]
        ratios = sorted(many[1] / few[1] for few, many in turns)
        ratio = statistics.median(ratios)
        few, many, few_declared, many_declared = (
            statistics.median(turn[which][part] for turn in turns)
            for part in (1, 0)
            for which in (0, 1)
        )
        met = ratio <= LIMIT
        good = good and met
        print(
            f"{case}: {ratio:.2f} ({ratios[0]:.2f} - {ratios[-1]:.2f}), "
            f"{few:.3f} s for 1 layer, {many:.3f} s for {options.layers}; "
            f"declared in {few_declared:.3f} and {many_declared:.3f} s{'' if met else '  <--'}",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
