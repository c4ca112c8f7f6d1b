"""Declared graphs beside the best peer of each case of the peers' suite, timed in turns.

python -m bench static --peers PATH/suite.py [--python jax=PYTHON tf=PYTHON ...] [--case NAME ...] [--threads 2]

The models are the suite's own, declared through Thixo's public functions (`static_side.py`). `envelope.py` says how they are timed.
"""

import sys
from pathlib import Path
from typing import Any

from bench import report
from bench.envelope import (
    GOALS,
    best_of,
    keep,
    limits_of,
    measure,
    options_of,
    parser_of,
    ratios,
)
from bench.measure import Ratio

OWN = "thixo-static"


def main() -> int:
    """Print the ratios and keep them; exit 1 if a goal was missed."""
    options = options_of(parser_of("static", (__doc__ or "").splitlines()[0]))
    rows: list[Ratio] = []
    limits: list[dict[str, Any]] = []
    path: Path | None = None
    for case in options.case:
        entry: dict[str, Any] = {}
        if case in GOALS:
            goal = GOALS[case]
            seconds, versions = measure(case, OWN, goal.peers, options)
            mine = seconds.pop(OWN)
            # Nothing may be slower than torch.compile.
            found = ratios(
                case, mine, seconds, {"torch-compile": 1.0, best_of(seconds): goal.times}
            )
            rows += found
            entry = {"versions": versions, "rows": [r.as_dict() for r in found]}
        more = limits_of(case, OWN, options)
        limits += more.values()
        path = keep(options.keep, case, {**entry, **more}, options.threads)
    report.show(f"declared graphs, {options.threads} threads", rows)
    print(f"kept in {path}")
    return 0 if all(r.met for r in rows) and all(one["met"] for one in limits) else 1


if __name__ == "__main__":
    sys.exit(main())
