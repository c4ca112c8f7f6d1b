"""Thixo beside the best peer of each case of the peers' suite: what `static` and `compiled` share.

Each side is one process that compiles first and is then timed in turns with the others (`turns.py`). Results are compared with
those of eager code before anything is timed, and with the peers' afterwards. Each peer that a case names must be there, or the case
fails; `--python` says which interpreter has it (one environment for each is easiest; by default this one). Where a case limits the
time to compile, it is taken with an empty cache.
"""

import argparse
import json
import math
import os
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

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
EAGER = "thixo"


def command(peer: str, options: argparse.Namespace) -> list[str]:
    """What starts a run of a peer."""
    own = peer.startswith("thixo")
    python = options.pythons.get(peer) or options.pythons.get(peer.split("-")[0])
    more = ["--onnx-dir", options.onnx] if peer in ("onnxruntime", "openvino") else []
    words = [str(SIDE), str(options.peers), "--peer", peer, *more]
    return [sys.executable if own or not python else python, *words]


def in_turns(peer: str, case: str, options: argparse.Namespace) -> list[str]:
    """What starts a run that waits for its turns; the suite's own timing at its end has nothing to time."""
    python, side, *more = command(peer, options)
    return [python, side, "--turns", *more, *words_of(case, options, 1e-9)]


def same(ours: dict[str, Any], other: dict[str, Any], rel: float = 2e-3) -> bool:
    """Whether results agree."""
    return math.isclose(ours["check"], other["check"], rel_tol=rel, abs_tol=1e-3)


def need_same(case: str, ours: dict[str, Any], other: dict[str, Any], rel: float = 2e-3) -> None:
    """Refuse results that differ."""
    if not same(ours, other, rel):
        raise SystemExit(
            f"{case}: results differ: {ours['check']} and {other['check']} ({other['peer']})"
        )


def checked(case: str, own: str, options: argparse.Namespace) -> dict[str, Any]:
    """The result of eager code, with which ours must agree."""
    short = argparse.Namespace(**{**vars(options), "seconds": 0.01})
    first, eager = (once(command(name, options), case, short) for name in (own, EAGER))
    need_same(case, first, eager, 2e-4)
    return eager


def measure(
    case: str, own: str, others: Sequence[str], options: argparse.Namespace
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Seconds of all sides, neighbours in time at equal places, and their versions."""
    eager = checked(case, own, options)
    names = [own, *others]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with sides({name: in_turns(name, case, options) for name in names}) as running:
        for turn in range(options.rounds):
            for name in names if turn % 2 else reversed(names):
                seconds[name].append(running[name].seconds(options.seconds))
        results = {name: side.end() for name, side in running.items()}
    for other in results.values():
        need_same(case, eager, other)
    return seconds, {name: result["version"] for name, result in results.items()}


def best_of(seconds: dict[str, list[float]]) -> str:
    """The peer whose median is least."""
    return min(seconds, key=lambda name: statistics.median(seconds[name]))


def ratios(
    case: str, mine: list[float], seconds: dict[str, list[float]], goals: dict[str, float]
) -> list[Ratio]:
    """How many times faster than each side ours is; some have a goal."""
    rows = [
        ratio_of(f"{case}: {name}", mine[: len(times)], times, goals.get(name))
        for name, times in seconds.items()
    ]
    for r in rows:
        print(f"{r.median:6.2f} ({r.lower:.2f} - {r.upper:.2f})  {r.case}", flush=True)
    return rows


def cold(case: str, own: str, options: argparse.Namespace) -> float:
    """Seconds to the first result of a case where nothing was compiled before."""
    found = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
            os.environ["THIXO_CACHE"] = folder
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
            found.append(once(command(own, options), case, options)["compile_s"])
    return statistics.median(found)


def memory(own: str, options: argparse.Namespace) -> float:
    """How much memory a forward and backward pass adds, as a share of what it adds in PyTorch."""
    added = {}
    for name in (own, "torch-eager"):
        run = once(command(name, options), "memory", options)
        added[name] = run["peak_rss_mb"] - run["rss_before_mb"]
    print(f"memory: {json.dumps(added)} MB")
    return added[own] / added["torch-eager"]


def within(name: str, found: float, allowed: float) -> dict[str, Any]:
    """A number that must not be larger than another."""
    print(f"{name}: {found:.2f}, {allowed} allowed", flush=True)
    return {"found": round(found, 3), "allowed": allowed, "met": found <= allowed}


def at_least(name: str, found: float, needed: float) -> dict[str, Any]:
    """A number that must not be smaller than another."""
    print(f"{name}: {found:.2f}, {needed} needed", flush=True)
    return {"found": round(found, 3), "needed": needed, "met": found >= needed}


def keep(name: str, case: str, entry: dict[str, Any], threads: int) -> Path:
    """Write what a case gave; the others stay as they are in the file."""
    path = report.RESULTS / f"{name}.json"
    cases = json.loads(path.read_text())["cases"] if path.exists() else {}
    cases[case] = entry
    return report.write(
        name, {**report.facts(["thixo", "numpy"]), "threads": threads, "cases": cases}
    )


def parser_of(suite: str, description: str) -> argparse.ArgumentParser:
    """The options that both suites have."""
    parser = argparse.ArgumentParser(prog=f"python -m bench {suite}", description=description)
    parser.add_argument("--peers", type=Path, required=True, help="the peers' suite.py")
    parser.add_argument("--python", nargs="+", default=[], metavar="PEER=PATH")
    parser.add_argument("--case", nargs="+", choices=[*GOALS, "memory"], default=[*GOALS, "memory"])
    parser.add_argument("--onnx", default="onnx-models", help="where the suite keeps ONNX models")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=0.25, help="of one turn")
    parser.add_argument("--keep", default=suite, help="name of the file in bench/results")
    return parser


def options_of(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options that were given."""
    options = parser.parse_args()
    options.pythons = dict(word.split("=", 1) for word in options.python)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the sides would stay, stopped
    return options


def limits_of(case: str, own: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What a case has limits for beside its speed: memory, and the time to compile."""
    if case == "memory":
        return {"memory": within("memory, of torch eager's", memory(own, options), MEMORY)}
    if case in COLD:
        found = cold(case, own, options)
        return {"cold": within(f"{case}, cold compile, s", found, COLD[case])}
    return {}
