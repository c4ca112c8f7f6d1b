"""Large arrays: every family, forward and backward, against PyTorch eager in the same process.

python -m bench large [--threads 1 2] [--family NAME ...] [--seed N] [--only TEXT] [--quick]

Fixed shapes, and five for each family from a seed that is printed: primes, ragged tails, transposed inputs. Results
are compared before they are timed. Kept in bench/results/large-THREADS.json: a run of some families replaces those.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from bench import report
from bench.large import images, losses, moves, pointwise, products, rows
from bench.large.case import Family
from bench.measure import Others, Ratio, compare

EVERY_CASE, MEAN = 0.95, 1.5

FAMILIES: list[Family] = [
    *pointwise.FAMILIES,
    *rows.FAMILIES,
    *losses.FAMILIES,
    *products.FAMILIES,
    *images.FAMILIES,
    *moves.FAMILIES,
]


def spare_the_peer() -> None:
    """Keep PyTorch from instructions that a processor names and its system does not allow (AMX in some sandboxes).

    Its products of bfloat16 would end this process.
    """
    code = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
    if subprocess.run([sys.executable, "-c", code], capture_output=True).returncode < 0:
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_FP16"
        print("PyTorch's tiles (AMX) do not run on this system: it does without them")


def arrays(result: Any) -> list[np.ndarray]:
    """All tensors of a result, as NumPy arrays of a dtype that NumPy has."""
    if isinstance(result, (tuple, list)):
        return [a for one in result for a in arrays(one)]
    if "bfloat16" in str(result.dtype):
        result = result.float()
    return [np.asarray(result.detach().numpy())]


def check(name: str, ours: Any, peer: Any, tolerance: float) -> None:
    """Stop if results differ. Whole numbers (places of equal elements) may differ here and there."""
    for a, b in zip(arrays(ours), arrays(peer), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            sys.exit(f"{name}: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}")
        if a.dtype.kind in "iub":
            if (a != b).mean() > 0.01:
                sys.exit(f"{name}: {(a != b).mean():.1%} of the places differ")
            continue
        scale = float(np.abs(b).max(initial=0.0)) or 1.0
        error = float(np.abs(a.astype(np.float64) - b).max(initial=0.0)) / scale
        if not error <= tolerance:
            sys.exit(f"{name}: results differ by {error:.2g} of the largest")


def measure(family: Family, seed: int, only: str, quick: bool) -> list[Ratio]:
    """Each case of a family, printed as it is done."""
    import torch

    import thixo

    found = []
    for case in family.all(seed, quick):
        name = f"{family.name}: {case.name}"
        if only not in name:
            continue
        ours, peer = case.make(thixo), case.make(torch)
        check(name, ours(), peer(), case.tolerance)
        row = compare(
            name,
            ours,
            peer,
            target=EVERY_CASE,
            rounds=8 if quick else 21,
            seconds=0.01,
            anew=lambda case=case: (case.make(thixo), case.make(torch)),
        )
        found.append(row)
        mark = "" if row.met else "  <--"
        print(
            f"{row.median:7.2f} ({row.lower:5.2f} - {row.upper:5.2f}) {row.ours_us:10.0f} us "
            f"{row.peer_us:10.0f} us  {name}{mark}",
            flush=True,
        )
    return found


def geometric_mean(ratios: Iterable[float]) -> float:
    """Of some ratios."""
    logs = [math.log(r) for r in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def keep(threads: int, seed: int, found: dict[str, list[Ratio]], others: float) -> str:
    """Write the families that were run; those that were not stay as they are in the file."""
    name = f"large-{threads}"
    path = report.RESULTS / f"{name}.json"
    kept = json.loads(path.read_text())["families"] if path.exists() else {}
    for family, ratios in found.items():
        kept[family] = {
            "seed": seed,
            "other_cpus": round(others, 2),
            "geometric_mean": geometric_mean(r.median for r in ratios),
            "worst": min(r.median for r in ratios),
            "rows": [r.as_dict() for r in ratios],
        }
    every = [row["median"] for one in kept.values() for row in one["rows"]]
    content = {
        **report.facts(["thixo", "torch", "numpy"]),
        "threads": threads,
        "geometric_mean": geometric_mean(every),
        "worst": min(every),
        "missed": sorted(
            row["case"] for one in kept.values() for row in one["rows"] if not row["met"]
        ),
        "families": {f.name: kept[f.name] for f in FAMILIES if f.name in kept},
    }
    return str(report.write(name, content))


def summary(threads: int, found: dict[str, list[Ratio]]) -> bool:
    """Print the mean and the worst of each family, and of all; whether every target is met."""
    print(f"\n{threads} threads{'':12}  cases   mean  worst")
    for family, ratios in found.items():
        worst = min(ratios, key=lambda r: r.median)
        mean = geometric_mean(r.median for r in ratios)
        print(f"{family:20}  {len(ratios):5d}  {mean:5.2f}  {worst.median:5.2f}  {worst.case}")
    every = [r for ratios in found.values() for r in ratios]
    missed = [r for r in every if not r.met]
    mean = geometric_mean(r.median for r in every)
    print(f"{len(every)} cases: geometric mean {mean:.2f} (target {MEAN}), ", end="")
    print(f"{len(missed)} below {EVERY_CASE} (median, or lower quartile below 0.95 of that)\n")
    return not missed and mean >= MEAN


def main() -> int:
    """Run, print, keep; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench large", description=(__doc__ or "").splitlines()[0]
    )
    names = [f.name for f in FAMILIES]
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--family", nargs="+", choices=names, metavar="NAME", default=names,
                        help="one or more of " + ", ".join(names))  # fmt: skip
    parser.add_argument("--seed", type=int, default=None, help="of the drawn shapes")
    parser.add_argument("--only", default="", help="cases with this in their name; not kept")
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds; not kept")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}")
    spare_the_peer()
    good = True
    for threads in options.threads:
        good = run(threads, options, seed) and good
    return 0 if good else 1


def run(threads: int, options: argparse.Namespace, seed: int) -> bool:
    """All families that were asked for, with so many threads on both sides."""
    import torch

    import thixo

    torch.set_num_threads(threads)
    thixo.set_num_threads(threads)
    start, others = time.perf_counter(), Others()
    found: dict[str, list[Ratio]] = {}
    for family in FAMILIES:
        if family.name not in options.family:
            continue
        ratios = measure(family, seed, options.only, options.quick)
        if ratios:
            found[family.name] = ratios
            print(f"-- {family.name}: {time.perf_counter() - start:.0f} s so far", flush=True)
    if not found:
        return True
    good = summary(threads, found)
    busy = others.cpus()
    crowded = threads + busy > (os.cpu_count() or 1) + 0.2
    print(f"other processes kept {busy:.1f} processors busy", end="")
    print(": too many for these ratios to mean much, nothing is kept" if crowded else "")
    if not options.only and not options.quick and not crowded:
        print(f"kept in {keep(threads, seed, found, busy)}")
    return good
