"""What a cause is, and how its sources run.

    cause("numpy()", BAD, MESSAGE, MENDED, "tx.ones(3)")

A source is a module that defines `f` (and what it needs); its file is called `model.py`, its first line is line 1. `args` is an
expression for the arguments. `call` is what is done with `f` and `args`, a statement in a file called `call.py` that sets `result`.
"""

import linecache
import textwrap
from dataclasses import dataclass
from typing import Any

import thixo as tx

FILE, CALL_FILE = "model.py", "call.py"
PRELUDE = "import collections, contextlib, copy, functools, io, itertools, math, os, threading, time\nimport numpy as np\nimport thixo as tx"


@dataclass(frozen=True)
class Cause:
    """One cause of a refusal."""

    name: str
    bad: str
    message: str
    mended: str
    args: str
    call: str
    mended_call: str
    error: type[Exception]
    same: bool  # whether the mended function gives what it gives as Python

    def __repr__(self) -> str:
        return self.name


CAUSES: dict[str, Cause] = {}


SCRIPT = "result = tx.jit.script(f)(*args)"
TRACE = "result = tx.jit.trace(f, args)(*args)"


def cause(
    name: str,
    bad: str,
    message: str,
    mended: str,
    args: str = "(tx.ones(3),)",
    call: str = SCRIPT,
    error: type[Exception] = tx.errors.CaptureError,
    same: bool = True,
    mended_call: str | None = None,
) -> None:
    """Enter one in the table."""
    if name in CAUSES:
        raise ValueError(f"two causes are called {name}")
    texts = (textwrap.dedent(text).lstrip("\n") for text in (bad, mended))
    bad, mended = texts
    CAUSES[name] = Cause(name, bad, message, mended, args, call, mended_call or call, error, same)


def load(text: str) -> dict[str, Any]:
    """The names that a source defines; its lines are known, as those of a file are."""
    scope: dict[str, Any] = {"__name__": "cause"}
    exec(PRELUDE, scope)
    linecache.cache[FILE] = (len(text), None, text.splitlines(True), FILE)
    exec(compile(text, FILE, "exec"), scope)
    return scope


def run(cause: Cause, text: str, call: str) -> Any:
    """What a source's `f` gives for the cause's arguments, called in that way."""
    scope = load(text)
    scope["args"] = eval(cause.args, scope)
    exec(compile(call, CALL_FILE, "exec"), scope)
    return scope["result"]
