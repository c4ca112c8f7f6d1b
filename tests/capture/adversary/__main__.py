"""The command: every case on every route, and what came of it."""

import argparse
import sys
from collections import Counter

from tests.capture.adversary import CASES
from tests.programs.check import judge
from tests.programs.routes import ROUTES, available

parser = argparse.ArgumentParser(prog="python -m tests.capture.adversary", description=__doc__)
parser.add_argument("--route", nargs="+", choices=list(ROUTES), default=available())
parser.add_argument("--only", default="", help="cases with this in their name")
options = parser.parse_args()
options.route = [route for route in options.route if route in available()]
tally: Counter = Counter()
for case in CASES.values():
    if options.only not in repr(case):
        continue
    for route in options.route:
        verdict = judge(case, ROUTES[route])
        tally[route, verdict.kind] += 1
        if verdict.kind != "same":
            print(f"{verdict.kind:<8}{route:<8}{case!r}: {verdict.reason[:150]}", flush=True)
print(f"{len(CASES)} cases")
for route in options.route:
    kinds = ("same", "refused", "skipped", "wrong")
    print(f"{route:<8}" + ", ".join(f"{kind} {tally[route, kind]}" for kind in kinds))
sys.exit(any(kind == "wrong" for _, kind in tally))
