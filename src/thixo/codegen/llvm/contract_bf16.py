"""bfloat16."""
from __future__ import annotations
from collections.abc import Iterator
from .target import Target
def parts(target: Target) -> Iterator[tuple[str, str]]:
    yield from ()
