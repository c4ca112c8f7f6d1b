"""Declared graphs beside the best peer of each case of the peers' suite, timed in turns.

python -m bench static --peers PATH/suite.py [--python jax=PYTHON tf=PYTHON ...] [--case NAME ...] [--threads 2]

The models are the suite's own, declared through Thixo's public functions (`static_side.py`). Each side is one process that
compiles first and is then timed in turns with the others (`turns.py`). Results are compared, with those of eager code too.
Each peer that a case names must be there, or the run fails; `--python` says which interpreter has it (one environment for
each is easiest; by default this one). Where a case limits the time to compile, it is taken with an empty cache.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from bench import report
from bench.measure import Ratio, ratio_of
from bench.peers import SIDE, once, words_of
from bench.turns import sides


class Goal(NamedTuple):
    """How many times faster than the best of these peers a case must be."""

    times: float
    peers: tuple[str, ...]


GOALS = {
    "op_chain_backward": Goal(6.0, ("jax",)),
    "elementwise_fused": Goal(2.0, ("torch-compile",)),
    "softmax_ln": Goal(2.0, ("torch-eager", "torch-compile")),
    "mlp_train": Goal(1.5, ("jax", "tf-xla", "torch-compile")),
    "conv_infer_b1": Goal(1.4, ("openvino", "torch-compile-freeze")),
    "conv_infer_b8": Goal(1.4, ("openvino", "torch-compile-freeze")),
    "conv_train": Goal(1.7, ("torch-compile",)),
    "gpt_train": Goal(1.2, ("tf-xla", "torch-compile")),
    "gpt_prefill": Goal(1.1, ("onnxruntime", "torch-compile")),
    "gpt_decode": Goal(1.8, ("jax", "torch-compile")),
    "lstm_loop": Goal(2.0, ("jax", "torch-compile")),
    "while_data_dep": Goal(3.0, ("jax", "torch-compile")),
    "branch": Goal(1.2, ("torch-eager", "torch-compile")),
    "parallel_branches": Goal(1.1, ("jax", "torch-compile")),
}
MEMORY = 0.6  # of what torch eager adds, at most
COLD = {"mlp_train": 0.4, "conv_train": 0.8, "gpt_train": 1.0}  # seconds to the first result


def command(peer: str, options: argparse.Namespace) -> list[str]:
    """What starts a run of a peer."""
    own = peer.startswith("thixo")
    python = options.pythons.get(peer) or options.pythons.get(peer.split("-")[0])
    more = ["--onnx-dir", options.onnx] if peer in ("onnxruntime", "openvino") else []
    words = [str(SIDE), str(options.peers), "--peer", peer, *more]
    return [sys.executable if own or not python else python, *words]


def in_turns(peer: str, case: str, options: argparse.Namespace) -> list[str]:
    """What starts a run that waits for its turns; the suite's own timing at its end is short."""
    python, side, *more = command(peer, options)
    return [python, side, "--turns", *more, *words_of(case, options, 0.01)]


def need_same(case: str, ours: dict[str, Any], other: dict[str, Any]) -> None:
    """Refuse results that differ."""
    if not math.isclose(ours["check"], other["check"], rel_tol=2e-3, abs_tol=1e-3):
        raise SystemExit(
            f"{case}: results differ: {ours['check']} and {other['check']} ({other['peer']})"
        )


def measure(case: str, options: argparse.Namespace) -> list[Ratio]:
    """All sides in turn; the ratio to each peer, and to the best of them, which has the goal."""
    goal = GOALS[case]
    names = ["thixo-static", *goal.peers]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with sides({name: in_turns(name, case, options) for name in names}) as running:
        for turn in range(options.rounds):
            for name in names if turn % 2 else reversed(names):
                seconds[name].append(running[name].seconds(options.seconds))
        results = {name: side.end() for name, side in running.items()}
    ours = results.pop("thixo-static")
    for other in (once(command("thixo", options), case, options), *results.values()):
        need_same(case, ours, other)
    mine = seconds.pop("thixo-static")
    best = min(seconds, key=lambda name: statistics.median(seconds[name]))
    return [
        ratio_of(f"{case}: {name}", mine, times, goal.times if name == best else None)
        for name, times in seconds.items()
    ]


def cold(case: str, options: argparse.Namespace) -> bool:
    """Whether the first result of a case comes soon enough where nothing was compiled before."""
    found = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["THIXO_CACHE"] = folder
            found.append(once(command("thixo-static", options), case, options)["compile_s"])
            del os.environ["THIXO_CACHE"]
    taken = statistics.median(found)
    print(f"{case}: {taken:.2f} s to the first result, {COLD[case]} allowed", flush=True)
    return taken <= COLD[case]


def memory(options: argparse.Namespace) -> bool:
    """Whether a forward and backward pass adds little enough memory."""
    added = {}
    for name in ("thixo-static", "torch-eager"):
        run = once(command(name, options), "memory", options)
        added[name] = run["peak_rss_mb"] - run["rss_before_mb"]
    share = added["thixo-static"] / added["torch-eager"]
    print(f"memory: {json.dumps(added)} MB, {share:.2f} of torch eager, {MEMORY} allowed")
    return share <= MEMORY


def main() -> int:
    """Print the ratios and keep them; exit 1 if a goal was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench static", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--peers", type=Path, required=True, help="the peers' suite.py")
    parser.add_argument("--python", nargs="+", default=[], metavar="PEER=PATH")
    parser.add_argument("--case", nargs="+", choices=[*GOALS, "memory"], default=[*GOALS, "memory"])
    parser.add_argument("--onnx", default="onnx-models", help="where the suite keeps ONNX models")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=0.25, help="of one turn")
    parser.add_argument("--keep", default="static", help="name of the file in bench/results")
    options = parser.parse_args()
    options.pythons = dict(word.split("=", 1) for word in options.python)
    rows: list[Ratio] = []
    for case in (c for c in options.case if c != "memory"):
        found = measure(case, options)
        rows += found
        for row in found:
            print(f"{row.median:6.2f} ({row.lower:.2f} - {row.upper:.2f})  {row.case}", flush=True)
    fits = [cold(case, options) for case in options.case if case in COLD]
    if "memory" in options.case:
        fits.append(memory(options))
    report.show(f"declared graphs, {options.threads} threads", rows)
    print(f"kept in {report.keep(options.keep, rows, ['thixo', 'numpy'], threads=options.threads)}")
    return 0 if all(fits) and all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
