"""Products of matrices: against the peak of this machine, PyTorch, and oneDNN where it is installed.

    python -m bench.matmul [--threads 1 2] [--rounds 30] [--dtype float32 bfloat16 float64] [--keep matmul]

All sides are timed in turn, after their results were compared. Five shapes are drawn from a seed that is printed,
with primes and transposed inputs; the worst ratio to each peer is reported last.
"""

import argparse
import concurrent.futures
import ctypes
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import report
from bench.measure import SETTLE_SECONDS, WARM_SECONDS, Ratio, calibrate, ratio_of, repeat, warm_up

FIXED = [
    (256, 256, 256, ""),
    (512, 512, 512, ""),
    (1024, 1024, 1024, ""),
    (512, 512, 512, "t"),
    (1024, 1024, 1024, "n"),
    (8, 768, 3072, ""),
    (8, 768, 3072, "t"),
    (3072, 768, 8, ""),
    (1, 2048, 2048, "t"),
    (128, 784, 512, "t"),
]
SQUARES = ((512, 512, 512, ""), (1024, 1024, 1024, ""))
PRIMES = [7, 13, 31, 61, 127, 251, 509, 743, 1021]


def shapes(seed: int) -> list[tuple[int, int, int, str]]:
    """The fixed ones, and five from the seed. t: the second matrix is transposed; n: the first."""
    draw = random.Random(seed)
    layouts = ["", "t", "n", "nt"]
    primes = [(*(draw.choice(PRIMES) for _ in range(3)), draw.choice(layouts)) for _ in range(2)]
    any_size = [(*(round(2 ** draw.uniform(3, 11)) for _ in range(3)), draw.choice(layouts)) for _ in range(3)]  # fmt: skip
    return [*FIXED, *primes, *any_size]


def fma_peak(clock: Callable[[], float], threads: int) -> Callable[[], float]:
    """A function that measures what fused multiply-adds in registers reach now, in GFLOP/s of all threads at once."""
    from thixo.codegen.llvm import emit, target
    from thixo.codegen.llvm.compile import loaded, object_code

    here = target.host()
    # More chains than two units of a latency of four or five need; a register is left for the factor.
    lanes, chains = here.lanes(4), here.registers - 4
    vec = emit.vector("float", lanes)
    f = emit.Function("fma_peak", [("i64", "turns"), ("ptr", "out")], attributes=here.attributes)
    sums = [f.variable(vec, "zeroinitializer") for _ in range(chains)]
    factor = f.load(vec, "%out", 4)
    with f.loop(0, "%turns"):
        for place in sums:
            f.store(vec, f.intrinsic("fma", vec, factor, factor, f.load(vec, place)), place)
    total = f.load(vec, sums[0])
    for place in sums[1:]:
        total = f.op(f"fadd {vec} {total}, {f.load(vec, place)}")
    f.store(vec, total, "%out", 4)
    (address,) = loaded().addresses(object_code(emit.module([f]), here), ["fma_peak"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)
    memories = [np.zeros(1024, np.float32) for _ in range(threads)]
    turns = (
        400_000  # milliseconds: wide units are slow in their first microseconds, clocks are coarse
    )

    def one(memory: np.ndarray) -> float:
        call(turns // 20, memory.ctypes.data)
        start = clock()
        call(turns, memory.ctypes.data)
        return turns * chains * lanes * 2 / (clock() - start) / 1e9

    if threads == 1:
        return lambda: one(memories[0])
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    return lambda: sum(pool.map(one, memories))


def onednn() -> Any:
    """dnnl_sgemm of the package onednn-cpu-gomp, or None."""
    path = Path(sys.prefix) / "lib" / "libdnnl.so"
    if not path.exists():
        return None
    call = ctypes.CDLL(str(path)).dnnl_sgemm
    n, p, x = ctypes.c_int64, ctypes.c_void_p, ctypes.c_float
    call.argtypes = [ctypes.c_char, ctypes.c_char, n, n, n, x, p, n, p, n, x, p, n]
    return call


def matrices(module: Any, a: np.ndarray, b: np.ndarray, dtype: str, layout: str) -> tuple[Any, Any]:
    """Both as tensors, turned in memory where the layout says so."""
    kind = getattr(module, dtype)
    left, right = module.tensor(a).to(kind), module.tensor(b).to(kind)
    if "n" in layout:
        left = left.transpose(0, 1).contiguous().transpose(0, 1)
    if "t" in layout:
        right = right.transpose(0, 1).contiguous().transpose(0, 1)
    return left, right


def library_call(call: Any, a: np.ndarray, b: np.ndarray, layout: str) -> Callable[[], Any]:
    """The product by oneDNN."""
    (m, k), n = a.shape, b.shape[1]
    left = np.ascontiguousarray(a.T if "n" in layout else a)
    right = np.ascontiguousarray(b.T if "t" in layout else b)
    out = np.empty((m, n), np.float32)
    turned = [b"T" if c in layout else b"N" for c in "nt"]
    arguments = (*turned, m, n, k, 1.0, left.ctypes.data, left.shape[1], right.ctypes.data, right.shape[1],
                 0.0, out.ctypes.data, n)  # fmt: skip

    def run() -> np.ndarray:
        call(*arguments)
        return out

    run.keeps = (left, right)  # type: ignore[attr-defined]
    return run


def run(threads: int, dtype: str, seed: int, rounds: int) -> list[Ratio]:
    """Ratios to each peer, and of the squares to the peak."""
    import torch

    import thixo

    torch.set_num_threads(threads)
    thixo.set_num_threads(threads)
    # Of one thread only the time that it runs counts: others may use the machine too.
    clock = time.thread_time if threads == 1 else time.perf_counter
    peak = fma_peak(clock, threads)
    library = onednn() if dtype == "float32" else None
    rows = []
    for m, k, n, layout in shapes(seed):
        draw = np.random.default_rng(0)
        a = draw.standard_normal((m, k)).astype(np.float32)
        b = draw.standard_normal((k, n)).astype(np.float32)
        x, y = matrices(thixo, a, b, dtype, layout)
        u, v = matrices(torch, a, b, dtype, layout)
        sides: dict[str, Callable[[], Any]] = {
            "ours": lambda x=x, y=y: thixo.matmul(x, y),
            "torch": lambda u=u, v=v: torch.matmul(u, v),
        }
        mine = sides["ours"]().to(thixo.float32).numpy()
        theirs = sides["torch"]().to(torch.float32).numpy()
        size = np.abs(a) @ np.abs(b)
        if (np.abs(mine - theirs) > size * (2e-2 if dtype == "bfloat16" else 1e-5)).any():
            raise SystemExit(f"{m}x{k}x{n}{layout}: results differ")
        if library is not None:
            sides["onednn"] = library_call(library, a, b, layout)
            if (np.abs(mine - sides["onednn"]()) > size * 1e-5).any():
                raise SystemExit(f"{m}x{k}x{n}{layout}: results differ from oneDNN's")
        counts = {name: calibrate(side, 0.01) for name, side in sides.items()}
        taken: dict[str, list[float]] = {name: [] for name in (*sides, "peak")}
        flops = 2e-9 * m * k * n
        for i in range(rounds):
            taken["peak"].append(flops / peak())
            for name in list(sides)[:: 1 if i % 2 else -1]:
                if threads > 1:  # threads of the other side still spin
                    time.sleep(SETTLE_SECONDS)
                warm_up(sides[name], WARM_SECONDS if threads > 1 else 0.0)
                taken[name].append(repeat(sides[name], counts[name], clock))
        what = f"{dtype} {m}x{k}x{n}{' ' + layout if layout else ''}, {threads} threads"
        for peer, goal in (("torch", 0.95), ("onednn", 0.97), ("peak", 0.92)):
            if peer not in taken or (
                peer == "peak" and (dtype != "float32" or (m, k, n, layout) not in SQUARES)
            ):
                continue
            rows.append(ratio_of(f"{what}: {peer}", taken["ours"], taken[peer], goal))
            shown = flops / statistics.median(taken["ours"])
            print(f"{rows[-1].case}: {rows[-1].median:.2f} ({rows[-1].lower:.2f}), best {min(taken[peer]) / min(taken['ours']):.2f}, {shown:.0f} GFLOP/s", flush=True)  # fmt: skip
    return rows


def worst(rows: list[Ratio]) -> str:
    """The lowest ratio to each peer, and the geometric mean of all."""
    lines = []
    for peer in ("torch", "onednn", "peak"):
        own = [r for r in rows if r.case.endswith(peer)]
        if own:
            low = min(own, key=lambda r: r.median)
            mean = statistics.geometric_mean(r.median for r in own)
            lines.append(f"{peer}: mean {mean:.2f}, worst {low.median:.2f} ({low.case})")
    return "\n".join(lines)


def main() -> int:
    """Run, print, keep; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.matmul", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtype", nargs="+", default=["float32", "bfloat16", "float64"])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", default="matmul", help="name of the file in bench/results")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(options.threads)))
    if "bfloat16" in options.dtype:
        from bench.large.run import spare_the_peer

        spare_the_peer()
    rows = [
        row
        for threads in options.threads
        for dtype in options.dtype
        for row in run(threads, dtype, seed, options.rounds)
    ]
    report.show(f"products of matrices, seed {seed}", rows)
    print(worst(rows))
    print(f"kept in {report.keep(options.keep, rows, ['thixo', 'torch', 'numpy'])}")
    return 0 if all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
