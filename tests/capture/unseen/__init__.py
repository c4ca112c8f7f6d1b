"""Functions that were written after capture was, in the manner of other projects' tests of theirs. None is changed to suit it.

`UNSEEN` has all of them by name; `captured.txt` lists those that `jit.script` makes one graph of: none leaves that list.
"""

import importlib

from tests.capture.unseen.table import UNSEEN

THEMES = ("idioms", "loops", "decisions", "programs")

for _theme in THEMES:
    importlib.import_module(f"{__name__}.{_theme}")

__all__ = ["THEMES", "UNSEEN"]
