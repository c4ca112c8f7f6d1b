"""Functions as Python programmers write them, with arguments that take them along different paths.

Each file is a theme. A function is never removed and never changed to suit a converter: it says what
users write. `CASES` has all of them by name; `registry.py` says what a case is.
"""

import importlib

from tests.capture.corpus.registry import CASES, Call, Case, Run, call, perform, snapshot

THEMES = tuple(
    "branches loops containers functions state conditions iterations matrices sequences "
    "simulations networks recurrent training statements effects "
    "classes objects tables choices writes scopes layers updates solvers searches arithmetic pictures".split()
)

for _theme in THEMES:
    importlib.import_module(f"{__name__}.{_theme}")

__all__ = ["CASES", "THEMES", "Call", "Case", "Run", "call", "perform", "snapshot"]
