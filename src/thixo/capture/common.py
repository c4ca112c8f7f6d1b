"""The kernels that are compiled when Thixo is built, so that the first use of an operator waits for nothing.

Which they are is a matter of taste, not of meaning: any other kernel is made when it is first needed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import thixo.ops
from thixo.capture.rules import rule_kernel
from thixo.codegen.builder import NotLowered
from thixo.codegen.kernel import Kernel
from thixo.codegen.lower import NUMBER, TENSOR, lower_pointwise
from thixo.dtype import BY_SHORT
from thixo.errors import ThixoError
from thixo.ops.base import TABLE, gradient_rules
from thixo.ops.signature import REQUIRED
from thixo.runtime.kernels import llvm_text, symbol

if TYPE_CHECKING:
    from thixo.codegen.llvm.target import Target

DTYPES = ("f32", "f64", "bf16", "f16", "i64", "i32", "bool")
GRADIENT_DTYPES = ("f32", "f64", "bf16")


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """(name, module) of each of them."""
    seen = set()
    for kernel in kernels():
        if kernel.key not in seen:
            seen.add(kernel.key)
            yield symbol(kernel), llvm_text(kernel, symbol(kernel), target)


def kernels() -> Iterator[Kernel]:
    """Every pointwise operator with its arguments at their defaults, forward and backward."""
    for module in pkgutil.iter_modules(thixo.ops.__path__):
        importlib.import_module(f"thixo.ops.{module.name}")
    for name in sorted(TABLE):
        declaration = TABLE[name]
        if declaration.kind != "pointwise":
            continue
        claimed = {d.short for d in declaration.dtypes}
        for dtype in DTYPES:
            if dtype in claimed and (declaration.result != "float" or BY_SHORT[dtype].is_floating_point):
                yield from _forward(declaration, dtype)
        for dtype in GRADIENT_DTYPES:
            if dtype in claimed:
                yield from _backward(declaration, dtype)


def _forward(declaration: Any, dtype: str) -> Iterator[Kernel]:
    parameters = declaration.sig.params
    own = [p for p in parameters if p.kind == "tensor" and not _promoted(declaration, p)]
    others = {p.name: "bool" for p in own}  # masks and conditions
    for numbers in (False, True):
        arguments: list[Any] = []
        for p in parameters:
            if p.holds_tensors:
                arguments.append(TENSOR if p in own or _promoted(declaration, p) else NUMBER)
            else:
                arguments.append(NUMBER if numbers and p.kind in ("scalar", "float") else p.default)
        if numbers and NUMBER not in arguments:
            return
        if REQUIRED in arguments:
            continue
        try:
            yield lower_pointwise(declaration, dtype, others, arguments)
        except (NotLowered, ThixoError):
            continue


def _promoted(declaration: Any, parameter: Any) -> bool:
    return declaration.promotes is None or parameter.name in declaration.promotes


def _backward(declaration: Any, dtype: str) -> Iterator[Kernel]:
    rules = gradient_rules(declaration)
    for active in range(1, 1 << len(rules)):
        needed = 0
        sources: dict[tuple[str, int], None] = {("grad", 0): None}
        for number, (_, serves, asked) in enumerate(rules):
            if active >> number & 1:
                needed |= sum(1 << p for p in serves)
                sources |= dict.fromkeys(asked)
        if any(kind not in ("grad", "input", "output") for kind, _ in sources):
            continue  # it asks for sizes, so it runs as it is written
        arguments = tuple(_source(declaration, source, dtype) for source in sources)
        if any(value is REQUIRED for _, _, value in arguments):
            continue
        try:
            kernel, _, _ = rule_kernel(declaration, active, needed, arguments)
        except (NotLowered, ThixoError):
            continue
        if kernel is not None:
            yield kernel


def _source(declaration: Any, source: tuple[str, int], dtype: str) -> tuple[Any, int, Any]:
    kind, at = source
    if kind in ("grad", "output"):
        return source, BY_SHORT[dtype].code, None
    parameter = declaration.sig.params[at]
    if not parameter.holds_tensors:
        return source, -1, parameter.default
    promoted = _promoted(declaration, parameter) or parameter.kind == "operand"
    return source, BY_SHORT[dtype if promoted else "bool"].code, None

