"""The command; see tests/README.md."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from tests.programs.bugs import BUGS, programs_until_found
from tests.programs.check import Failure, Tally
from tests.programs.constructs import WANTED
from tests.programs.part import PART, failed
from tests.programs.program import Generator
from tests.programs.routes import ROUTES, available
from tests.programs.shrink import Shrinker, as_file, cause, fails_on
from tests.workers import run_parts

ENOUGH = 1000  # programs that must have every construct among them


def main() -> int:
    """Run it; 0 if no route is wrong and no construct is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    parser.add_argument("--route", nargs="+", choices=list(ROUTES), help="only these")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--whole", type=int, default=8, metavar="N",
        help="every Nth program goes through the whole compiler, the others have their graphs interpreted",
    )  # fmt: skip
    parser.add_argument("--show", action="store_true", help="print the programs, run nothing")
    parser.add_argument(
        "--bugs", action="store_true", help="plant bugs in the converters; each must be found"
    )
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--seconds", type=float, default=60, help="to make one failure small")
    parser.add_argument("--keep", type=Path, help="a folder for small failing programs")
    options = parser.parse_args()
    if options.show:
        for program in Generator(options.seed).programs(options.count, options.start):
            print(program.text)
        return 0
    if options.bugs:
        return find_bugs(options)
    there = available()
    routes = [name for name in options.route or there if name in there]
    for name in set(options.route or ()) - set(routes):
        print(f"there is no route {name} yet")
    began, total = time.monotonic(), Tally()
    last = options.start + options.count
    parts = [(at, min(PART, last - at)) for at in range(options.start, last, PART)]
    options.routes = routes
    died = lambda number, reason: failed(number, reason, options)  # noqa: E731
    for tally in run_parts(parts, options.workers, "tests.programs.part", options, died):
        total.add(tally)
        for failure in tally.failures:  # at once: a long run may be stopped
            print(
                f"\rprogram {failure.number}, {failure.route}: {failure.verdict.reason[:120]}",
                flush=True,
            )
        seconds = time.monotonic() - began
        print(
            f"\r{total.programs} of {options.count} programs, {len(total.failures)} wrong, {seconds:.0f} s ",
            end="", file=sys.stderr, flush=True,
        )  # fmt: skip
    print(file=sys.stderr)
    return report(total, routes, options)


def find_bugs(options: argparse.Namespace) -> int:
    """Print how many programs it takes to find each bug of a converter; 0 if all are found."""
    missed = 0
    for what in BUGS:
        for route in options.route or ["script", "compile"]:
            found = programs_until_found(what, route, options.seed, options.count)
            missed += found is None
            print(f"{what:<40}{route:<9}{found or 'not found'}", flush=True)
    return 1 if missed else 0


def report(total: Tally, routes: list[str], options: argparse.Namespace) -> int:
    """Print what was seen; 0 if all is well."""
    share = lambda count: f"{count / max(1, total.programs):.1%}"  # noqa: E731
    median = statistics.median(total.sizes)
    print(
        f"programs    {total.programs}, median {median:g} statements; {share(total.errors)} end with an error in Python, "
        f"{share(total.no_gradient)} write over what a gradient needs"
    )
    print(
        f"ways        {total.whole} through the whole compiler, {total.programs - total.whole} with graphs interpreted"
    )
    for route in routes:
        counts = [
            f"{kind} {total.verdicts[route, kind]}" for kind in ("same", "refused", "skipped", "wrong")
        ]  # fmt: skip
        print(f"{route:<11} " + ", ".join(counts))
    print("constructs  (programs with it; refused by " + ", ".join(total.refused) + ")")
    for name in sorted(WANTED, key=lambda n: -total.constructs[n]):
        refused = (f"{total.refused[r][name]:>6}" for r in total.refused)
        print(f"  {name:<32}{total.constructs[name]:>6}  " + " ".join(refused))
    for route, reasons in total.reasons.items():
        print(f"why {route} refuses")
        for reason, count in reasons.most_common(15):
            print(f"  {count:>5}  {reason}")
    _show_failures(total.failures, options)
    missing = [n for n in WANTED if not total.constructs[n]] if options.count >= ENOUGH else []
    if missing:
        print("\nmissing: " + ", ".join(missing))
    if median < 10:
        print("\nthe programs are too short")
    errors = total.errors > 0.05 * total.programs and total.programs >= 100
    if errors:
        print("\ntoo many programs end with an error")
    ok = not total.failures and not missing and median >= 10 and not errors
    print("\nok" if ok else "\nfailed")
    return 0 if ok else 1


def _show_failures(failures: list[Failure], options: argparse.Namespace) -> None:
    kinds: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        kinds.setdefault((failure.route, cause(failure.verdict)), []).append(failure)
    for (route, _), found in kinds.items():
        found.sort(key=lambda f: len(f.program.text))
        first = found[0]
        print(
            f"\n{len(found)} like program {first.number} of seed {options.seed}, {route}: {first.verdict.reason}"
        )
        print("numbers " + " ".join(str(f.number) for f in found[:20]))
        if options.no_shrink or "died" in first.verdict.reason:
            continue
        small = Shrinker(
            first.program, fails_on(route, first.verdict, first.whole), options.seconds
        ).run()
        text = as_file(small, route, first.verdict)
        print(text)
        if options.keep:
            options.keep.mkdir(exist_ok=True, parents=True)
            (options.keep / f"{route}_{options.seed}_{first.number}.py").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
