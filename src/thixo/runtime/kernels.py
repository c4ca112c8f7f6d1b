"""Kernels for the eager tensor: found among those shipped, on disk, or made on first use.

The core asks once for each (operator, dtype, combination of arguments) and keeps the address.
"""

from __future__ import annotations

import functools
import hashlib
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thixo import _core
from thixo.codegen.builder import NotLowered
from thixo.codegen.instructions import FUNCTIONS
from thixo.codegen.kernel import Kernel
from thixo.codegen.lower import NUMBER, TENSOR, lower_pointwise
from thixo.dtype import BY_CODE
from thixo.runtime import cache
from thixo.runtime.batch import Pending, current

# What the core says of each parameter; see binding/pointwise.cpp.
ABSENT, PROMOTED, DEFAULT, NUMERIC, FIXED, OTHER_DTYPE = range(6)

_loading = threading.Lock()
_addresses: dict[str, int] = {}  # of the kernels in this process


def find_pointwise(
    declaration: Any, dtype: Any, states: tuple[int, ...], arguments: tuple[Any, ...]
) -> Any:
    """The kernel of a pointwise operator: (address, grain, checks, fixed), or None where there is none.

    `fixed` has a bit for each parameter whose number became part of the kernel.
    """
    others, values, numbers = {}, [], 0
    for at, (parameter, state, argument) in enumerate(
        zip(declaration.sig.params, states, arguments, strict=True)
    ):
        if state == PROMOTED:
            values.append(TENSOR)
        elif state == NUMERIC:
            numbers |= 1 << at
            values.append(NUMBER)
        elif state >= OTHER_DTYPE:
            others[parameter.name] = BY_CODE[state - OTHER_DTYPE].short
            values.append(TENSOR)
        else:
            values.append(argument)
    fixed = 0
    kernel = _lowered(declaration, dtype.short, others, values)
    if kernel is None and numbers:
        # The body branches on a number: it becomes part of the kernel.
        fixed = sum(1 << i for i, p in enumerate(declaration.sig.params)
                    if numbers >> i & 1 and not p.holds_tensors)  # fmt: skip
        values = [arguments[i] if fixed >> i & 1 else v for i, v in enumerate(values)]
        kernel = _lowered(declaration, dtype.short, others, values)
    if kernel is None:
        return None
    code = address(kernel)
    if code is None:
        return None
    return code, grain(kernel), any(i.op == "check" for i in kernel.body), fixed


def _lowered(
    declaration: Any, compute: str, others: dict[str, str], values: list[Any]
) -> Kernel | None:
    try:
        return lower_pointwise(declaration, compute, others, values)
    except (
        NotLowered,
        TypeError,
        ValueError,
        OverflowError,
    ):  # the last three: NumPy says what is wrong
        return None


# Rough costs in instructions of a plain addition.
_COSTS = {"div": 8, "rem": 30, "sqrt": 8, "const": 0, **dict.fromkeys(FUNCTIONS, 25)}


def grain(kernel: Kernel) -> int:
    """Elements that one thread takes at a time."""
    cost = sum(_COSTS.get(i.op, 1) for i in kernel.body)
    return max(2048, 32768 * 6 // max(6, cost))


def address(kernel: Kernel) -> int | None:
    """Where its machine code is in this process; None if this machine cannot make any."""
    return load(symbol(kernel), lambda name, machine: llvm_text(kernel, name, machine))


def symbol(kernel: Kernel) -> str:
    """The name of its function: it says what the kernel computes, and by which generator."""
    return f"kernel_{kernel.key}_{generator()}"


def load(name: str, text: Callable[[str, Any], str]) -> int | None:
    """Where the function of this name is: in this process already, shipped, on disk, or made now from its text.

    The name must say everything that the text depends on, but for the target. Raises `Pending` while a batch is open
    and it is yet to be made.
    """
    found = _addresses.get(name)
    if found is not None:
        return found
    with _loading:
        if name not in _addresses:
            try:
                _addresses[name] = _core.shipped_kernel(name) or _made(name, text)
            except ImportError as error:
                _say_once(f"kernels cannot be compiled ({error}); operators run on NumPy, slower")
                return None
        return _addresses[name]


def _made(name: str, text: Callable[[str, Any], str]) -> int:
    from thixo.codegen.llvm import compile, target

    machine = target.host()
    about = f"{name} {machine.name} {compile.version()} hasty"
    key = hashlib.sha256(about.encode()).hexdigest()

    def code() -> bytes:
        return compile.object_code(text(name, machine), machine, hasty=True)

    def linked(code: bytes) -> int:
        return compile.loaded().addresses(code, [name])[0]

    def keep(code: bytes) -> None:
        cache.put(key, code)
        with _loading:
            if name not in _addresses:
                _addresses[name] = linked(code)

    found = cache.get(key)
    if found is None:
        batch = current()
        if batch is not None:
            batch.add(name, code, keep)
            raise Pending
        found = code()
        cache.put(key, found)
    return linked(found)


@functools.cache
def _say_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def llvm_text(kernel: Kernel, name: str, machine: Any) -> str:
    """The module of this kernel, for a target."""
    from thixo.codegen.expand import expand
    from thixo.codegen.llvm.pointwise import pointwise

    return pointwise(expand(kernel), name, machine)


@functools.cache
def generator() -> str:
    """A fingerprint of the generator's own source: what another version made is not taken for this one's."""
    import thixo.codegen

    digest = hashlib.sha256()
    for path in sorted(Path(thixo.codegen.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
