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
import signal
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


def measure(case: str, options: argparse.Namespace) -> tuple[list[Ratio], dict[str, str]]:
    """All sides in turn: the ratio to each peer, of which the best has the goal, and their versions."""
    goal = GOALS[case]
    names = ["thixo-static", *goal.peers]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with sides({name: in_turns(name, case, options) for name in names}) as running:
        for turn in range(options.rounds):
            for name in names if turn % 2 else reversed(names):
                seconds[name].append(running[name].seconds(options.seconds))
        results = {name: side.end() for name, side in running.items()}
    ours = results["thixo-static"]
    for other in (once(command("thixo", options), case, options), *results.values()):
        need_same(case, ours, other)
    mine = seconds.pop("thixo-static")
    best = min(seconds, key=lambda name: statistics.median(seconds[name]))
    goals = {"torch-compile": 1.0, best: goal.times}  # nothing may be slower than torch.compile
    rows = [
        ratio_of(f"{case}: {name}", mine, times, goals.get(name)) for name, times in seconds.items()
    ]
    return rows, {name: result["version"] for name, result in results.items()}


def cold(case: str, options: argparse.Namespace) -> float:
    """Seconds to the first result of a case where nothing was compiled before."""
    found = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["THIXO_CACHE"] = folder
            found.append(once(command("thixo-static", options), case, options)["compile_s"])
            del os.environ["THIXO_CACHE"]
    return statistics.median(found)


def memory(options: argparse.Namespace) -> float:
    """How much memory a forward and backward pass adds, as a share of what it adds in PyTorch."""
    added = {}
    for name in ("thixo-static", "torch-eager"):
        run = once(command(name, options), "memory", options)
        added[name] = run["peak_rss_mb"] - run["rss_before_mb"]
    print(f"memory: {json.dumps(added)} MB")
    return added["thixo-static"] / added["torch-eager"]


def within(name: str, found: float, allowed: float) -> dict[str, Any]:
    """A number that must not be larger than another."""
    print(f"{name}: {found:.2f}, {allowed} allowed", flush=True)
    return {"found": round(found, 3), "allowed": allowed, "met": found <= allowed}


def keep(name: str, case: str, entry: dict[str, Any], threads: int) -> Path:
    """Write what a case gave; the others stay as they are in the file."""
    path = report.RESULTS / f"{name}.json"
    cases = json.loads(path.read_text())["cases"] if path.exists() else {}
    cases[case] = entry
    return report.write(
        name, {**report.facts(["thixo", "numpy"]), "threads": threads, "cases": cases}
    )


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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the sides would stay, stopped
    rows: list[Ratio] = []
    limits: list[dict[str, Any]] = []
    for case in options.case:
        entry: dict[str, Any] = {}
        if case == "memory":
            entry["memory"] = within("memory, of torch eager's", memory(options), MEMORY)
            limits.append(entry["memory"])
        else:
            found, versions = measure(case, options)
            rows += found
            for r in found:
                print(f"{r.median:6.2f} ({r.lower:.2f} - {r.upper:.2f})  {r.case}", flush=True)
            entry = {"versions": versions, "rows": [r.as_dict() for r in found]}
        if case in COLD:
            entry["cold"] = within(f"{case}, cold compile, s", cold(case, options), COLD[case])
            limits.append(entry["cold"])
        path = keep(options.keep, case, entry, options.threads)
    report.show(f"declared graphs, {options.threads} threads", rows)
    print(f"kept in {path}")
    return 0 if all(r.met for r in rows) and all(one["met"] for one in limits) else 1


if __name__ == "__main__":
    sys.exit(main())
