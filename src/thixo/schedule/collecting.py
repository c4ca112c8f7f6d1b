"""Python's search for cycles, held back while much is made that lives long."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

MANY_OBJECTS = 2000  # that are new; Python would look through all that there are


@contextmanager
def without_collecting() -> Iterator[None]:
    """Large graphs make millions of small lists, none in a cycle: looking for cycles would take half of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_count()[0] > MANY_OBJECTS and not gc.get_freeze_count():
                _make_old()
            gc.enable()


_compiled = itertools.count(1)


def _make_old() -> None:
    """What was made lives long: count it as old now, in place of looking through all of it. Now and then old garbage goes."""
    if next(_compiled) % 8:
        gc.freeze()
        gc.unfreeze()
    else:
        gc.collect()
