"""The fuzzer's command; see tests/README.md."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

from tests.fuzz.differential import Tally, fails
from tests.fuzz.material import operators
from tests.fuzz.part import PART, failed
from tests.fuzz.shrink import Shrinker, as_test
from tests.workers import run_parts
from thixo.graph.control import CONTROL
from thixo.passes import PASSES
from thixo.runtime.executor import EXECUTORS

ENOUGH = 500  # graphs that must have everything among them


def main() -> int:
    """Run it; 0 if nothing was found and nothing is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first graph")
    parser.add_argument(
        "--pass", dest="passes", action="append", choices=list(PASSES), help="this pass alone"
    )
    parser.add_argument(
        "--executor", action="append", choices=list(EXECUTORS), help="only this one"
    )
    parser.add_argument(
        "--alone", type=int, default=1000, help="how many graphs run with each pass alone too"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument(
        "--side-by-side", action="store_true", help="small nodes too, wherever they can"
    )
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    last = options.start + options.count
    parts = [(at, min(PART, last - at)) for at in range(options.start, last, PART)]
    total = Tally()
    died = lambda number, reason: failed(number, reason, options)  # noqa: E731
    for tally in run_parts(parts, options.workers, "tests.fuzz.part", options, died):
        _take(total, tally, options, began)
    print(file=sys.stderr)
    return report(total, options)


def _take(total: Tally, tally: Tally, options: Any, began: float) -> None:
    total.add(tally)
    seconds = time.monotonic() - began
    print(
        f"\r{total.graphs} of {options.count} graphs, {total.runs} runs, {len(total.failures)} failures, {seconds:.0f} s ",
        end="", file=sys.stderr, flush=True,
    )  # fmt: skip


def report(total: Tally, options: Any) -> int:
    """Print what was seen; 0 if all is well."""
    names = [op.full_name for op in operators()]
    missing = [n for n in names if n not in total.used]
    share = lambda count: count / max(1, total.graphs)  # noqa: E731
    median = statistics.median(total.sizes)
    print(
        f"graphs       {total.graphs}, median {median:g} nodes, {share(total.control):.0%} with control flow, "
        f"{share(total.symbolic):.0%} with symbolic sizes, {share(total.empty):.0%} with sizes of zero"
    )
    dtypes = sorted(total.dtypes.items(), key=lambda one: -one[1])
    print("dtypes       " + ", ".join(f"{name} {share(count):.0%}" for name, count in dtypes))
    print(
        f"runs         {total.runs} at {total.bindings} sets of inputs ({total.unfit} more did not fit)"
    )
    print(f"operators    {len(names) - len(missing)} of {len(names)}, and {', '.join(CONTROL)}")
    rare = sorted((total.used.get(n, 0), n) for n in names)[:10]
    print("rarest       " + ", ".join(f"{n} {c}" for c, n in rare))
    reasons: dict[str, int] = {}
    for failure in total.failures:
        key = f"{failure.way}: {failure.reason[:60]}"
        reasons[key] = reasons.get(key, 0) + 1
        if reasons[key] == 1:
            print(
                f"\ngraph {failure.number} of seed {options.seed}: {failure.way}: {failure.reason}"
            )
    if total.failures:
        smallest = min(total.failures, key=lambda f: len(f.graph.nodes))
        graph, inputs = smallest.graph, smallest.inputs
        wrong = lambda g, i: fails(g, i, smallest.way, smallest.number)  # noqa: E731
        if not options.no_shrink and wrong(graph, inputs):  # not where the process died
            graph, inputs = Shrinker(graph, inputs, wrong).run()
        print(f"\nthe smallest of {len(total.failures)}:\n")
        print(as_test(graph, inputs, f"{smallest.way}: {smallest.reason}"))
    wanted = {
        "an operator is missing": not missing,
        "graphs are small": median >= 20,
        "control flow is rare": share(total.control) >= 0.3,
        "symbolic sizes are rare": share(total.symbolic) >= 0.3,
        "sizes of zero are rare": share(total.empty) >= 0.1,
        "dtypes are few": len(dtypes) >= 8,
        "the reference refuses many": total.unfit <= 0.05 * total.bindings,
    }
    short = [what for what, holds in wanted.items() if not holds and options.count >= ENOUGH]
    if missing and options.count >= ENOUGH:
        print("\nmissing: " + ", ".join(missing))
    if short:
        print("\nnot the graphs that were asked for: " + "; ".join(short))
    ok = not total.failures and not short
    print("\nok" if ok else "\nfailed")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
