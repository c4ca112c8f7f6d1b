"""Causes for which capture refuses a function: the source, the whole message, and the source with the remedy applied."""

from tests.capture.causes import by_hand, calls, compiled, control, objects, syntax, traced, values
from tests.capture.causes.cause import CAUSES, Cause

__all__ = [
    "CAUSES",
    "Cause",
    "by_hand",
    "calls",
    "compiled",
    "control",
    "objects",
    "syntax",
    "traced",
    "values",
]
