"""The peers' suite, alternating with Thixo's side of the same cases: one fresh process for each run.

python -m bench peers --peers PATH/suite.py [--python PYTHON] [--peer torch-eager ...] [--case NAME ...] [--threads 2]

PYTHON is an interpreter that has the peer (by default this one). A run is one line of JSON; the ratio of a round is the
peer's median over ours. Results are compared: the suite's `check` is a sum or a loss after some steps.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import report
from bench.measure import Ratio, ratio_of

SIDE = Path(__file__).with_name("peers_side.py")

# Times faster than PyTorch eager; cases without a number are for orientation.
TARGETS: dict[str, float | None] = {
    "op_add_nograd": 8.0,
    "op_add_grad": 8.0,
    "op_chain_backward": 8.0,
    "mlp_train": 1.1,
    "conv_train": 1.1,
    "gpt_train": 1.1,
    "lstm_loop": 1.1,
    "elementwise_fused": None,
    "softmax_ln": None,
    "conv_infer_b1": None,
    "conv_infer_b8": None,
    "gpt_prefill": None,
    "gpt_decode": None,
    "while_data_dep": None,
    "branch": None,
    "parallel_branches": None,
    "memory": None,
}
DEFAULT_CASES = [case for case, target in TARGETS.items() if target is not None]


def words_of(case: str, options: argparse.Namespace, seconds: float) -> list[str]:
    """What the suite needs to know of a run."""
    threads = 1 if case.startswith("op_") else options.threads
    return ["--case", case, "--threads", str(threads), "--seconds", str(seconds)]


def once(command: list[str], case: str, options: argparse.Namespace) -> dict[str, Any]:
    """The line of one run."""
    words = [*command, *words_of(case, options, options.seconds)]
    done = subprocess.run(words, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{' '.join(words)} printed no result:\n{done.stderr}")
    found: dict[str, Any] = json.loads(lines[-1])
    if "error" in found:
        raise SystemExit(f"{case} with {found['peer']}: {found['error']}\n{done.stderr}")
    return found


def measure(peer: str, case: str, options: argparse.Namespace) -> Ratio | None:
    """Both sides in turn; None where the peer has no such case."""
    theirs = [options.python, str(options.peers), "--peer", peer]
    own = [sys.executable, str(SIDE), str(options.peers), "--peer", "thixo"]
    ours_seconds, peer_seconds = [], []
    for turn in range(options.rounds):
        runs = [once(command, case, options) for command in (own, theirs)[:: 1 if turn % 2 else -1]]
        ours, other = runs[:: 1 if turn % 2 else -1]
        for run in (ours, other):
            if "skip" in run:
                print(f"{case}: {run['peer']} skips it: {run['skip']}")
                return None
        if not math.isclose(ours["check"], other["check"], rel_tol=2e-3, abs_tol=1e-3):
            raise SystemExit(f"{case}: results differ: {ours['check']} and {other['check']}")
        ours_seconds.append(ours["median_s"])
        peer_seconds.append(other["median_s"])
    target = TARGETS.get(case) if peer == "torch-eager" else None
    return ratio_of(f"{case}: {peer}", ours_seconds, peer_seconds, target)


def main() -> int:
    """Print the ratios and keep them; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench peers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--peers", type=Path, required=True, help="the peers' suite.py")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peer")
    parser.add_argument("--peer", nargs="+", default=["torch-eager"], help="as the suite names it")
    parser.add_argument("--case", nargs="+", choices=list(TARGETS), default=DEFAULT_CASES)
    parser.add_argument(
        "--threads", type=int, default=2, help="of both; operators always run on one"
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side, at least 2")
    parser.add_argument("--seconds", type=float, default=1.0, help="that one process measures")
    parser.add_argument("--keep", default="peers", help="name of the file in bench/results")
    options = parser.parse_args()
    rows = []
    for peer in options.peer:
        for case in options.case:
            row = measure(peer, case, options)
            if row is None:
                continue
            rows.append(row)
            print(f"{row.median:6.2f} ({row.lower:.2f} - {row.upper:.2f})  {row.case}", flush=True)
    report.show(f"peers' suite, {options.threads} threads", rows)
    print(f"kept in {report.keep(options.keep, rows, ['thixo', 'numpy'], threads=options.threads)}")
    return 0 if all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
