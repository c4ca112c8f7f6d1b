"""python -m bench SUITE [options]: one suite beside its peers; `--help` after its name; bench/README.md says more."""

import importlib
import sys

from bench import report

SUITES = {
    "eager": "overhead of a call on small tensors, and of the import",
    "large": "large arrays, family by family",
    "first_use": "the first step in a fresh process, with an empty and a warm cache",
    "peers": "the cases of the peers' suite, alternating with Thixo's side of them",
    "static": "declared graphs beside the best peer of each case of the peers' suite",
    "compiled": "plain Python with one decorator beside the best peer of each case, and beside eager",
    "matmul": "products of matrices, also against the machine's peak and oneDNN",
    "conv": "convolutions and pooling, each gradient alone",
    "moves": "operators that move, sort and scan data",
    "training": "whole training steps of small models",
    "growth": "how compile time grows with equal layers",
    "branches": "operators side by side: many small branches, two small products",
    "memory": "is the memory of declared graphs what their plans say?",
    "soak": "ten million small operations: does memory stay where it is?",
}


def main() -> int:
    """Run a suite; its exit code is 1 if a target was missed."""
    if len(sys.argv) < 2 or sys.argv[1] not in SUITES:
        print(__doc__, *(f"  {name:10} {what}" for name, what in SUITES.items()), sep="\n")
        return 2
    name = sys.argv.pop(1)
    report.suite = name
    return int(importlib.import_module(f"bench.{name}").main() or 0)


if __name__ == "__main__":
    sys.exit(main())
