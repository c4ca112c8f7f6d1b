"""Plain Python with one decorator beside the best peer of each case of the peers' suite, and beside eager code, timed in turns.

python -m bench compiled --peers PATH/suite.py [--python jax=PYTHON ...] [--case NAME ...] [--decorator compile|script|lazy]

The models are the suite's own, as it writes them for PyTorch (`compiled_side.py`). `envelope.py` says how they are timed. No case
may be slower than eager code. The geometric means over all cases are those to the best peer of each and to torch.compile.
`--all-peers` lets every peer of the suite take turns (`everyone.py`), and the best of a case is the best of all of them. `--alone`
leaves the peers out: it compares with eager code only, and keeps nothing.
"""

import statistics
import sys
from collections.abc import Sequence
from typing import Any

from bench import report
from bench.envelope import (
    EAGER,
    GOALS,
    at_least,
    best_of,
    cold,
    keep,
    limits_of,
    measure,
    options_of,
    parser_of,
    ratios,
)
from bench.everyone import Everyone
from bench.measure import Ratio

OVER_BEST, OVER_TORCH = 1.5, 1.8  # geometric means over all cases


def sides_of(peers: Sequence[str], alone: bool) -> list[str]:
    """Whom to time: eager code, the case's peers, and torch.compile in any case."""
    if alone:
        return [EAGER]
    more = [] if any(p.startswith("torch-compile") for p in peers) else ["torch-compile"]
    return [EAGER, *peers, *more]


def run(case: str, own: str, options: Any) -> tuple[list[Ratio], dict[str, Any], dict[str, float]]:
    """The rows of a case, what is kept of it, and its ratios to the best peer and to torch.compile."""
    goal = GOALS[case]
    entry: dict[str, Any] = {}
    if options.all_peers:
        everyone = Everyone(case, own, options).measure()
        seconds, versions = everyone.seconds, everyone.versions
        entry["left_out"] = everyone.left_out
        peers = [name for name in seconds if name not in (own, EAGER)]
    else:
        peers = list(goal.peers)
        seconds, versions = measure(case, own, sides_of(peers, options.alone), options)
    mine = seconds.pop(own)
    goals = {EAGER: 1.0}
    found: dict[str, str] = {}  # the sides that means are taken over
    if not options.alone:
        found["best"] = best_of({name: seconds[name] for name in peers})
        torch = {name: s for name, s in seconds.items() if name.startswith("torch-compile")}
        goals |= dict.fromkeys(torch, 1.0)
        goals[found["best"]] = goal.times
        if torch:
            found["torch"] = best_of(torch)
    rows = ratios(case, mine, seconds, goals)
    medians = {name: r.median for name, r in zip(seconds, rows, strict=True)}
    entry |= {"versions": versions, "rows": [r.as_dict() for r in rows]}
    return rows, entry, {mean: medians[name] for mean, name in found.items()}


def main() -> int:
    """Print the ratios and keep them; exit 1 if a goal was missed or a case failed."""
    parser = parser_of("compiled", (__doc__ or "").splitlines()[0])
    parser.add_argument("--decorator", choices=["compile", "script", "lazy"], default="compile")
    parser.add_argument("--alone", action="store_true", help="without peers; keeps nothing")
    parser.add_argument("--all-peers", action="store_true", help="every peer of the suite")
    parser.add_argument(
        "--ready", type=float, default=600, help="seconds in which each of all peers must be ready"
    )
    parser.add_argument(
        "--environment",
        nargs="+",
        default=[],
        metavar="PEER=NAME=VALUE",
        help="variables of some of all peers' processes",
    )
    parser.add_argument("--cold", action="store_true", help="time the first call of every case")
    options = options_of(parser)
    if options.alone and options.all_peers:
        parser.error("--alone leaves out what --all-peers asks for")
    own = f"thixo-compiled-{options.decorator}"
    rows: list[Ratio] = []
    limits: list[dict[str, Any]] = []
    means: dict[str, list[float]] = {"best": [], "torch": []}
    failed: list[str] = []
    for case in options.case:
        entry: dict[str, Any] = {}
        try:
            if case in GOALS:
                found, entry, ratio = run(case, own, options)
                rows += found
                for name, value in ratio.items():
                    means[name].append(value)
            if options.cold and case in GOALS:
                entry["cold_s"] = round(cold(case, own, options), 3)
                print(f"{case}, cold compile, s: {entry['cold_s']:.2f}", flush=True)
            elif not options.alone:
                more = limits_of(case, own, options)
                entry |= more
                limits += more.values()
        except SystemExit as error:  # the other cases are still worth knowing
            print(f"{case} FAILED: {error}", flush=True)
            failed.append(case)
            continue
        if not options.alone:
            keep(options.keep, case, entry, options.threads)
    report.show(f"plain Python, {options.decorator}, {options.threads} threads", rows)
    for name, text, needed in (
        ("best", "the best peer of each case", OVER_BEST),
        ("torch", "torch.compile", OVER_TORCH),
    ):
        if means[name]:
            mean = statistics.geometric_mean(means[name])
            limits.append(at_least(f"geometric mean over {text}", mean, needed))
    if failed:
        print("failed: " + ", ".join(failed))
    met = all(r.met for r in rows) and all(one["met"] for one in limits)
    return 0 if met and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
