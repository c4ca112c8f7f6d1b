"""The first step in a fresh process, import included: how long a user waits, against PyTorch's same step.

python -m bench first_use [--rounds 9] [--program digits operators] [--keep first_use]

Fresh processes in turn: PyTorch, Thixo with an empty cache of kernels, Thixo with a warm one. In a checkout the kernels
that come with an installed package must have been made: python tools/native.py --operators.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import report
from bench.measure import Ratio, ratio_of

PROGRAM = Path(__file__).with_name("first_steps.py")

# Ours over PyTorch's, at most: with an empty cache, and with a warm one.
LIMITS = {"digits": (0.7, 0.3), "operators": (1.0, 0.3)}


def once(program: str, library: str, folder: str) -> tuple[float, float]:
    """Seconds of one fresh process, and its number."""
    # As an installed package is: a checkout looks at every operator's file, and may be without bytecode.
    environment = {**os.environ, "THIXO_CACHE": folder, "THIXO_DEV": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for variable in ("OMP_NUM_THREADS", "THIXO_NUM_THREADS"):
        environment.setdefault(variable, "1")
    command = [sys.executable, str(PROGRAM), program, library]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{program} with {library} failed:\n{done.stderr}")
    seconds, value = done.stdout.split()[-2:]
    return float(seconds), float(value)


def measure(program: str, rounds: int) -> list[Ratio]:
    """Costs with an empty and with a warm cache."""
    seconds: dict[str, list[float]] = {"torch": [], "empty": [], "warm": []}
    values: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as base:
        warm = os.path.join(base, "warm")
        for library in (
            "torch",
            "thixo",
        ):  # what the disk has to read is read; the warm cache is filled
            once(program, library, warm)
        for turn in range(rounds):
            empty = os.path.join(base, f"empty-{turn}")
            for side, library, folder in (
                ("torch", "torch", warm), ("empty", "thixo", empty), ("warm", "thixo", warm),
            ):  # fmt: skip
                taken, value = once(program, library, folder)
                seconds[side].append(taken)
                values[side] = value
                if turn == 0:
                    print(f"{program}, {side}: {taken:.3f} s (result {value:.4f})", flush=True)
    # The digits draw their weights, each library from its own generator.
    if program == "operators" and not math.isclose(values["torch"], values["warm"], rel_tol=1e-3):
        raise SystemExit(f"{program}: results differ: {values}")
    rows = []
    for side, limit in zip(("empty", "warm"), LIMITS[program], strict=True):
        # Turned round: the ratio is a cost here.
        row = ratio_of(
            f"{program}, {side} cache (at most {limit})", seconds["torch"], seconds[side]
        )
        row.ours_us, row.peer_us = row.peer_us, row.ours_us
        rows.append(row)
    return rows


def main() -> int:
    """Print the costs, keep them; exit 1 if one is above its limit."""
    parser = argparse.ArgumentParser(
        prog="python -m bench first_use", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--program", nargs="+", choices=list(LIMITS), default=list(LIMITS))
    parser.add_argument("--keep", default="first_use", help="name of the file in bench/results")
    options = parser.parse_args()
    rows, good = [], True
    for program in options.program:
        for row, limit in zip(measure(program, options.rounds), LIMITS[program], strict=True):
            met = row.median <= limit and row.upper <= limit / 0.95
            good = good and met
            rows.append(row)
            print(
                f"{row.case}: {row.median:.2f} ({row.lower:.2f} - {row.upper:.2f}), "
                f"{row.ours_us / 1e6:.2f} s against {row.peer_us / 1e6:.2f} s{'' if met else '  <--'}"
            )
    print(f"kept in {report.keep(options.keep, rows, ['thixo', 'torch', 'numpy'])}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
