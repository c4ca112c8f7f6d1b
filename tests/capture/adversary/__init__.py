"""Constructs that capture is likely to get wrong. Each route gives Python's result or refuses; it is never wrong.

python -m tests.capture.adversary --route script compile
"""

from tests.capture.adversary import containers, flow, functions, numbers, objects, outside, state
from tests.capture.adversary.registry import CASES, Case

__all__ = [
    "CASES",
    "Case",
    "containers",
    "flow",
    "functions",
    "numbers",
    "objects",
    "outside",
    "state",
]
