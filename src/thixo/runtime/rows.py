"""Row kernels for the eager tensor. The core asks once for each operator and kind of arguments."""

from __future__ import annotations

import contextlib
from typing import Any

from thixo.codegen.builder import NotLowered
from thixo.codegen.expand import expand
from thixo.codegen.kernel import VIEWS, Kernel
from thixo.codegen.llvm import target
from thixo.codegen.rowwise import lower_rows, parameters
from thixo.codegen.rowwise_split import Split, split
from thixo.dtype import ALL
from thixo.runtime import kernels
from thixo.runtime.batch import Pending

_CODES = {dtype.short: dtype.code for dtype in ALL}
_splits: dict[str, Split | None] = {}  # of kernels by their keys
LAYOUTS = ("along", "across", "joined")
ALONG, ACROSS, JOINED = range(3)  # the last one is for what `halves` gives second
# As the core has them: the input's type; the same, of floats and complex alone; int64 for integers and bool; bool, but
# uint8 stays; int64.
TYPES = ("asked", "same", "float", "sum", "truth", "index")


def describe(declaration: Any) -> tuple[Any, ...]:
    """What the core needs to know of a declaration.

    Places of the parameters that rows are made from, those of them whose numbers become part of the kernel, the
    places of `dim`, `dtype` and `keepdim`, how the result's type follows from the input's, the rule for the axes,
    the check of values, the places of a parameter that holds positions along the row (the check is then asked only
    where one is not there) and of one that is a position to ignore.
    """
    sig = declaration.sig
    places = tuple(sig.place(name) for name in parameters(declaration))
    fixed = tuple(sig.place(name) for name in getattr(declaration, "row_fixed", ()))
    positions = (sig.place(name) for name in getattr(declaration, "row_positions", ("", "")))
    rules = (getattr(declaration, name, None) for name in ("row_axes", "row_check"))
    type = TYPES.index(getattr(declaration, "row_type", "asked"))
    return (
        places,
        fixed,
        *(sig.place(name) for name in ("dim", "dtype", "keepdim")),
        type,
        *rules,
        *positions,
    )


def find(declaration: Any, arguments: tuple[Any, ...], results: tuple[str, ...]) -> Any:
    """What the core's RowKernel has, and the kernel; None where there is none.

    That is operands as (view, written, dtype), scratch lines, rows at once, whether positions matter, elements worth a
    thread, and whether places may be cut anywhere, since it reduces nothing.
    """
    try:
        return about(lower_rows(declaration, arguments, results))
    except NotLowered:
        return None


def about(lowered: Kernel) -> tuple[Any, ...]:
    """The same of a row kernel that was lowered already."""
    from thixo.codegen.llvm.rows import slots_of
    from thixo.codegen.llvm.rows_across import width_of

    kernel = expand(lowered)
    operands = tuple((VIEWS.index(o.view), o.written, _CODES[o.dtype]) for o in kernel.operands)
    ordered = any(one.op in ("index", "pick") for one in kernel.body)
    width, grain = width_of(kernel, target.host()), kernels.grain(kernel)
    loose = not any(one.op in ("reduce", "columns", "pick") for one in kernel.body)
    return operands, slots_of(kernel), width, ordered, grain, kernel, loose


def halves(kernel: Kernel) -> tuple[Kernel, Kernel, tuple[int, ...]] | None:
    """The two kernels that reduce few long rows in blocks, and the operands that the second one takes."""
    if kernel.key not in _splits:  # each step of a program asks
        _splits[kernel.key] = split(kernel)
    made = _splits[kernel.key]
    if made is None:
        return None
    with contextlib.suppress(Pending):  # who needs one needs both: they are made side by side
        address(made.combine, JOINED)
    return made.partial, made.combine, made.passed


def address(kernel: Kernel, layout: int) -> int | None:
    """Where its machine code is; None if this machine cannot make any."""
    return kernels.load(
        symbol(kernel, layout), lambda name, machine: llvm_text(kernel, layout, name, machine)
    )


def symbol(kernel: Kernel, layout: int) -> str:
    """The name of its function in this layout."""
    return f"rows_{LAYOUTS[layout]}_{kernel.key}_{kernels.generator()}"


def llvm_text(kernel: Kernel, layout: int, name: str, machine: Any) -> str:
    """The module of this kernel, for a target."""
    from thixo.codegen.llvm.emit import PLAIN
    from thixo.codegen.llvm.rows import along, joined
    from thixo.codegen.llvm.rows_across import across
    from thixo.codegen.llvm.rows_stages import is_plain

    text = (along, across, joined)[layout](kernel, name, machine)
    return PLAIN + text if is_plain(kernel) else text
