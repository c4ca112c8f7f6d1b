"""python -m bench {eager,matmul,conv,moves,rows} [options]: one suite beside its peers; `--help` after its name."""

import argparse
import importlib
import sys

from bench import eager, report

SUITES = ("eager", "matmul", "conv", "moves", "rows")


def main() -> int:
    """Run a suite, print its table, keep its results; exit 1 if a target was missed."""
    if len(sys.argv) > 1 and sys.argv[1] in SUITES[1:]:
        suite = importlib.import_module(f"bench.{sys.argv.pop(1)}")
        return int(suite.main() or 0)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--target", type=float, default=4.0, help="times faster than the peer")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--keep", default="eager", help="name of the file in bench/results")
    options = parser.parse_args()
    rows = eager.run(options.target, options.rounds)
    report.show("eager overhead, 1 thread, against torch eager", rows)
    imports = eager.import_ratio()
    print(f"{imports.case}: {imports.median:.2f} ({imports.lower:.2f} - {imports.upper:.2f})")
    path = report.keep(options.keep, [*rows, imports], ["thixo", "torch", "numpy"])
    print(f"kept in {path}")
    return 0 if all(r.met for r in rows) and imports.median <= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
