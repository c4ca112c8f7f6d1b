"""Row kernels for the eager tensor. The core asks once for each operator and kind of arguments."""

from __future__ import annotations

import hashlib
from typing import Any

from thixo.codegen.builder import NotLowered
from thixo.codegen.expand import expand
from thixo.codegen.kernel import VIEWS, Kernel
from thixo.codegen.llvm import target
from thixo.codegen.rowwise import lower_rows, parameters
from thixo.dtype import ALL

from . import cache, kernels

_CODES = {dtype.short: dtype.code for dtype in ALL}
LAYOUTS = ("along", "across")


def describe(declaration: Any) -> tuple[Any, ...]:
    """What the core needs to know of a declaration.

    Places of the parameters that rows are made from, those of them whose numbers become part of the kernel, the
    places of `dim` and `dtype`, the rule for the axes, the check of values.
    """
    sig = declaration.sig
    places = tuple(sig.place(name) for name in parameters(declaration))
    fixed = tuple(sig.place(name) for name in getattr(declaration, "row_fixed", ()))
    rules = (getattr(declaration, name, None) for name in ("row_axes", "row_check"))
    return places, fixed, sig.place("dim"), sig.place("dtype"), *rules


def find(declaration: Any, arguments: tuple[Any, ...], results: tuple[str, ...]) -> Any:
    """(operands as (view, written, dtype), scratch lines, rows at once, whether positions matter, kernel), or None."""
    from thixo.codegen.llvm.rows import slots_of
    from thixo.codegen.llvm.rows_across import width_of

    try:
        kernel = expand(lower_rows(declaration, arguments, results))
        operands = tuple((VIEWS.index(o.view), o.written, _CODES[o.dtype]) for o in kernel.operands)
        ordered = any(one.op == "index" for one in kernel.body)
        return operands, slots_of(kernel), width_of(kernel, target.host()), ordered, kernel
    except NotLowered:
        return None


def address(kernel: Kernel, layout: int) -> int | None:
    """Where its machine code is; None if this machine cannot make any."""
    from thixo.codegen.llvm import compile

    machine = target.host()
    name = f"rows_{LAYOUTS[layout]}_{kernel.key}"
    try:
        with kernels._loading:
            seed = f"{name} {machine.name} {kernels._generator()} {compile.version()}"
            key = hashlib.sha256(seed.encode()).hexdigest()
            code = cache.get(key)
            if code is None:
                code = compile.object_code(llvm_text(kernel, layout, name, machine), machine)
                cache.put(key, code)
            return compile.loaded().addresses(code, [name])[0]
    except ImportError as error:
        kernels._say_once(f"kernels cannot be compiled ({error}); operators run on NumPy, slower")
        return None


def llvm_text(kernel: Kernel, layout: int, name: str, machine: Any) -> str:
    """The module of this kernel, for a target."""
    from thixo.codegen.llvm.rows import along
    from thixo.codegen.llvm.rows_across import across

    return (along, across)[layout](kernel, name, machine)
