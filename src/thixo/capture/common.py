"""The kernels that are compiled when Thixo is built, so that the first use of an operator waits for nothing.

Which they are is a matter of taste, not of meaning: any other kernel is made when it is first needed.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import thixo.ops
from thixo.capture.rules import rule_kernel
from thixo.codegen.builder import NotLowered
from thixo.codegen.expand import expand
from thixo.codegen.kernel import Kernel
from thixo.codegen.lower import NUMBER, TENSOR, lower_pointwise
from thixo.codegen.rowwise import with_sums
from thixo.codegen.rowwise_split import split
from thixo.dtype import BY_SHORT, float32
from thixo.errors import ThixoError
from thixo.ops.base import TABLE, gradient_rules
from thixo.ops.samples import Maker
from thixo.ops.signature import REQUIRED
from thixo.runtime import attention, recurrent, rows
from thixo.runtime.kernels import llvm_text, symbol
from thixo.tensor import tensor

if TYPE_CHECKING:
    from thixo.codegen.llvm.target import Target

DTYPES = ("f32", "f64", "bf16", "f16", "i64", "i32", "bool")
GRADIENT_DTYPES = ("f32", "f64", "bf16")


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """(name, module) of each of them."""
    load_operators()
    seen: set[str] = set()
    for kernel in kernels():
        if kernel.key not in seen:
            seen.add(kernel.key)
            yield symbol(kernel), llvm_text(kernel, symbol(kernel), target)

    for kernel, layout in row_kernels():
        name = rows.symbol(kernel, layout)
        if name in seen:
            continue
        seen.add(name)
        try:
            yield name, rows.llvm_text(kernel, layout, name, target)
        except NotLowered:  # not every kernel exists in every layout
            continue


def row_kernels(names: Iterable[str] | None = None) -> Iterator[tuple[Kernel, int]]:
    """What row-wise operators ask for when they run on their own samples, forward and backward, in float32; in each layout."""
    found: dict[str, Kernel] = {}
    ask = rows.find

    def note(*asked: Any) -> None:
        answer = ask(*asked)
        if answer is not None:
            kernel = next(one for one in answer if isinstance(one, Kernel))
            found.setdefault(kernel.key, kernel)

    setattr(rows, "find", note)  # noqa: B010  the core takes None for an answer and computes on NumPy
    try:
        for name in sorted(TABLE if names is None else names):
            if hasattr(TABLE[name], "rows"):
                _run_samples(TABLE[name])
    finally:
        setattr(rows, "find", ask)  # noqa: B010
    whole = [attention.softmax_kernel(dtype) for dtype in attention.DTYPES]
    whole += [attention.finish_kernel(dtype) for dtype in attention.DTYPES]
    whole += summed_kernels()
    for kernel in found.values():
        whole.append(kernel)
        halves = split(kernel)
        if halves is not None:
            whole.append(halves.partial)
            yield halves.combine, rows.JOINED
    for kernel in whole:
        yield kernel, rows.ALONG
        yield kernel, rows.ACROSS


def _run_samples(declaration: Any) -> None:
    sizes = {
        "n": 67,
        "m": 71,
        "k": 2,
        "b": 5,
    }  # some are long enough for ways that short rows do not take
    for sample in declaration.samples(Maker(float32, sizes)):
        with contextlib.suppress(ThixoError):
            arguments = [_tensor(a) for a in sample.args]
            made = declaration.operator(
                *arguments, **{k: _tensor(a) for k, a in sample.kwargs.items()}
            )
            results = made if isinstance(made, tuple) else (made,)
            graded = [r for r in results if r.requires_grad]
            if graded:
                sum((r.sum() for r in graded[1:]), graded[0].sum()).backward()


def _tensor(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray):
        return argument
    made = tensor(np.asarray(argument))
    return made.requires_grad_() if made.dtype.is_floating_point else made


def load_operators() -> None:
    """All declarations: the table loads them one by one otherwise."""
    for module in pkgutil.iter_modules(thixo.ops.__path__):
        importlib.import_module(f"thixo.ops.{module.name}")


def kernels() -> Iterator[Kernel]:
    """Every pointwise operator with its arguments at their defaults, forward and backward."""
    for name in sorted(TABLE):
        declaration: Any = TABLE[name]
        if declaration.kind != "pointwise":
            continue
        claimed = {d.short for d in declaration.dtypes}
        for dtype in DTYPES:
            if dtype in claimed and (
                declaration.result != "float" or BY_SHORT[dtype].is_floating_point
            ):
                yield from _forward(declaration, dtype)
        for dtype in GRADIENT_DTYPES:
            if dtype in claimed:
                yield from _backward(declaration, dtype)
    yield from recurrent.kernels()
    yield from (attention.back_kernel(dtype) for dtype in attention.DTYPES)


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


def summed_kernels() -> Iterator[Kernel]:
    """Gradients of two operands in float32 where one of them, either one, was broadcast."""
    for name in sorted(TABLE):
        declaration: Any = TABLE[name]
        if declaration.kind != "pointwise" or float32 not in declaration.dtypes:
            continue
        for active, needed, arguments in _rules(declaration, "f32"):
            parts = [p for p in range(len(declaration.sig.params)) if needed >> p & 1]
            if len(parts) == 2:
                with contextlib.suppress(NotLowered, ThixoError):
                    kernel, results, _ = rule_kernel(declaration, active, needed, arguments)
                    yield from _summed(kernel, results, parts, arguments)


def _summed(
    kernel: Kernel | None, results: tuple[int, ...], parts: list[int], arguments: tuple[Any, ...]
) -> Iterator[Kernel]:
    if kernel is None or sorted(results) != [0, 1]:  # one is passed on, or both are the same
        return
    for part, result in zip(parts, results, strict=True):
        tensors = [source for source, code, _ in arguments if code >= 0]
        views = ["row" if source == ("input", part) else "full" for source in tensors]
        yield expand(with_sums(kernel, views, [at == result for at in range(2)]))


def _backward(declaration: Any, dtype: str) -> Iterator[Kernel]:
    for active, needed, arguments in _rules(declaration, dtype):
        try:
            kernel, _, _ = rule_kernel(declaration, active, needed, arguments)
        except (NotLowered, ThixoError):
            continue
        if kernel is not None:
            yield kernel


def _rules(declaration: Any, dtype: str) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    """What `rule_kernel` takes, for each choice of rules."""
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
        yield active, needed, arguments


def _source(declaration: Any, source: tuple[str, int], dtype: str) -> tuple[Any, int, Any]:
    kind, at = source
    if kind in ("grad", "output"):
        return source, BY_SHORT[dtype].code, None
    parameter = declaration.sig.params[at]
    if not parameter.holds_tensors:
        return source, -1, parameter.default
    promoted = _promoted(declaration, parameter) or parameter.kind == "operand"
    return source, BY_SHORT[dtype if promoted else "bool"].code, None
