"""The switches, all of them; each can be set in the environment before Thixo is imported.

This is the only place that reads the environment. `python -m thixo.config` prints the table.
"""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from thixo.errors import ValueRangeError

T = TypeVar("T")


class Switch(NamedTuple):
    """One line of the table."""

    variable: str
    value: object
    meaning: str


SWITCHES: list[Switch] = []


def _switch(variable: str, read: Callable[[str], T], default: T, meaning: str) -> T:
    text = os.environ.get(variable, "").strip()
    try:
        value = read(text) if text else default
    except ValueError as error:
        raise ValueRangeError(f"{variable}={text!r}: {error}") from None
    SWITCHES.append(Switch(variable, value, meaning))
    return value


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError("needs 0 or 1")


def _count(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= 4096:
        raise ValueError("needs a whole number from 1 to 4096")
    return int(text)


def _openmp_count() -> int | None:
    """What programs that know OpenMP alone are told; a list is for nested loops, of which there are none here."""
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(text) if text.isdigit() and 0 < int(text) <= 4096 else None


LOG_TOPICS = ("ops", "autograd", "trace", "graph", "memory")


def _topics(text: str) -> frozenset[str]:
    topics = frozenset(t.strip() for t in text.split(",") if t.strip())
    unknown = sorted(topics - set(LOG_TOPICS))
    if unknown:
        raise ValueError(f"unknown {', '.join(unknown)}; known: {', '.join(LOG_TOPICS)}")
    return topics


def _in_checkout() -> bool:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.exists(os.path.join(root, "pyproject.toml"))


check: bool = _switch(
    "THIXO_CHECK",
    _flag,
    False,
    "check each kernel's result against its shape and dtype rule, and each graph after each change",
)
progress: bool = _switch(
    "THIXO_PROGRESS", _flag, True, "say on the standard error what takes more than two seconds"
)
eager: bool = _switch(
    "THIXO_EAGER", _flag, False, "run functions as they are where they would be traced or compiled"
)
log: frozenset[str] = _switch(
    "THIXO_LOG", _topics, frozenset(), f"what to write to stderr: {', '.join(LOG_TOPICS)}"
)
num_threads: int | None = _switch(
    "THIXO_NUM_THREADS",
    _count,
    _openmp_count(),
    "threads of the kernels; by default OMP_NUM_THREADS, or one for each usable processor",
)
dev_index: bool = _switch(
    "THIXO_DEV",
    _flag,
    _in_checkout(),
    "take operators from their files as they are, not from ops/index.py; on in a source checkout",
)
cache: str | None = _switch(
    "THIXO_CACHE",
    str,
    None,
    "folder of the compiled kernels; by default in the user's cache folder",
)
target: str | None = _switch(
    "THIXO_TARGET",
    str,
    None,
    "kind of processor that kernels are made for; by default this machine's",
)


def environment() -> Mapping[str, str]:
    """The environment as it is now, for those who look for the user's folders."""
    return os.environ


if __name__ == "__main__":
    for switch in SWITCHES:
        print(f"{switch.variable:20} {switch.value!s:12} {switch.meaning}")
