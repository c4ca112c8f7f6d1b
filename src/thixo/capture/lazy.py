"""Lazy execution: plain Python runs, operators record, and what was recorded runs when somebody looks.

A lazy tensor is a tensor like any other, whose bytes come later: its shape, dtype, strides, place on the tape and
version are there at once. Views, writes in place, gradients and hooks are therefore those of eager code; the native core
leaves out nothing but the kernels (docs/design/019-lazy.md). Here are the modes, and what the core asks of Python.
"""

from __future__ import annotations

import os
from typing import Any

from thixo import _core, config
from thixo.autograd.modes import _Bare, _Mode
from thixo.capture import segments
from thixo.errors import ArgumentError, nearest

MODES = ("eager", "graph", "lazy")

_mode = "eager" if config.eager else "graph"


def set_mode(mode: str) -> None:
    """Choose how plain code runs, in all threads.

    - `"eager"`: every operator runs when it is called.
    - `"graph"`: the same, and functions that are compiled run as graphs. It is so from the start.
    - `"lazy"`: operators record. What was recorded is compiled and runs when a value is looked at: printed, made a
      number or an array, used in an `if`, or handed to another library.

    With `THIXO_EAGER=1` in the environment every mode is `"eager"`.

    >>> tx.set_mode("lazy")
    >>> x = tx.ones(3) * 2 + 1
    >>> x
    tensor([3., 3., 3.])
    >>> tx.set_mode("graph")
    """
    global _mode
    if mode not in MODES:
        raise ArgumentError(
            f"set_mode: there is no mode {mode!r}{nearest(str(mode), MODES)}; there are {', '.join(MODES)}"
        )
    if config.eager:
        return
    _mode = mode
    _core.guards_switch(mode != "eager")
    if mode == "lazy":
        install()
    _core.lazy_set_everywhere(mode == "lazy")
    if mode != "lazy":
        _core.lazy_settle_all()


def get_mode() -> str:
    """How plain code runs: see `set_mode`.

    >>> tx.get_mode()
    'graph'
    """
    return _mode


class lazy(_Mode, metaclass=_Bare):  # noqa: N801
    """Operators record inside, in this thread; at the end, or when somebody looks, what was recorded runs.

    >>> with tx.lazy():
    ...     x = tx.arange(4.0)
    ...     x += 1
    ...     y = (x * x).sum()
    >>> y
    tensor(30.)
    """

    def _switch(self) -> int:
        if config.eager:
            return _core.lazy_set_here(0)
        install()
        return _core.lazy_set_here(1)

    def _restore(self, before: int) -> None:
        _core.lazy_set_here(before)
        if not _core.lazy_is_on():
            _core.lazy_settle_here()


# ---- what the core asks


AT_ONCE, NO, YES, MAY_FAIL = -2, -1, 1, 2

# They give what they get, or a view of it, where that will do: nothing is computed.
_ALIASES = {"reshape", "detach"}


def can_record(op: Any) -> int:
    """Whether calls of an operator may be recorded: it does nothing but compute what its rule says."""
    if op.full_name in _ALIASES:
        return AT_ONCE
    if op.random:
        return NO
    if not op.__module__.startswith("thixo."):
        return NO  # others' operators may do anything
    if not any(p.kind in ("tensor", "operand", "tensors") for p in op.sig.params):
        return NO
    return YES if op.total else MAY_FAIL


def lead_back(error: Any, recorded: str, looked: str) -> Any:
    """An error of a recorded operator names the line that recorded it, not the one that looked."""
    text = str(error)
    if recorded and looked and text.endswith(f"({looked})"):
        error.args = (f"{text.removesuffix(f'({looked})')}({recorded})", *error.args[1:])
    return error


_installed = False


def install() -> None:
    """Give the native core its hooks, once."""
    global _installed
    if _installed:
        return
    _core.configure(lazy_can=can_record, lazy_run=segments.run, lazy_error=lead_back)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_core.lazy_settle_all
        )  # a child has one thread, and runs for none of the others
    _installed = True
