"""Gradient rules as kernels: each is traced once for what it gets, and fused into one pass.

A rule that is not pointwise, or that needs sizes, runs as it is written.
"""

from __future__ import annotations

from typing import Any

from thixo.codegen.builder import NotLowered
from thixo.codegen.group import lower_group
from thixo.codegen.kernel import Kernel
from thixo.codegen.rowwise import with_sums
from thixo.dtype import BY_CODE
from thixo.errors import ThixoError
from thixo.graph.ir import Type
from thixo.graph.trace import Trace
from thixo.ops.base import gradient_rules
from thixo.runtime.kernels import address, grain
from thixo.runtime.rows import about
from thixo.symbolic import Dim

# Where a gradient comes from, if not from the kernel.
NONE, PASSED_ON = -1, -2


def find_rule(declaration: Any, active: int, needed: int, arguments: tuple[Any, ...]) -> Any:
    """The kernel of an operator's active rules: (address, grain, results, dtypes), or None.

    `arguments` has ((source, index), code, value) for everything that the rules ask for, the gradient
    first: a tensor's dtype code, or -1 and the value itself. `needed` has a bit for each parameter that wants a
    gradient. `results` has for each such parameter, in order, the number of the kernel's result, NONE, or
    PASSED_ON for the gradient as it came.
    """
    try:
        kernel, results, dtypes = rule_kernel(declaration, active, needed, arguments)
    except (NotLowered, ThixoError):
        return None
    if kernel is None:
        return 0, 0, results, dtypes
    code = address(kernel)
    if code is None:
        return None
    return code, grain(kernel), results, dtypes


def find_summed_rule(
    declaration: Any,
    active: int,
    needed: int,
    arguments: tuple[Any, ...],
    views: list[str],
    summed: list[bool],
) -> Any:
    """What `runtime.rows.about` says of the same kernel over rows, with some results summed along them; or None.

    `views` is how each tensor is seen from the rows, `summed` has an entry for each result of the kernel.
    """
    try:
        kernel, _, _ = rule_kernel(declaration, active, needed, arguments)
        return None if kernel is None else about(with_sums(kernel, views, summed))
    except (NotLowered, ThixoError):
        return None


def rule_kernel(
    declaration: Any, active: int, needed: int, arguments: tuple[Any, ...]
) -> tuple[Kernel | None, tuple[int, ...], tuple[int, ...]]:
    """The kernel (None if the rules only pass gradients on), `results`, and the codes of its results' dtypes."""
    graph, gradients = _trace(declaration, active, needed, arguments)
    outputs: list[Any] = []
    results = []
    for value in gradients:
        if value is None or value is graph.inputs[0]:
            results.append(NONE if value is None else PASSED_ON)
            continue
        if value in graph.inputs:
            raise NotLowered("a rule that gives back something else than its gradient")
        if value not in outputs:
            outputs.append(value)
        results.append(outputs.index(value))
    if not outputs:
        return None, tuple(results), ()
    graph.outputs = outputs
    kernel = lower_group(graph, wide=True).kernel
    return kernel, tuple(results), tuple(v.dtype.code for v in outputs)


def _trace(declaration: Any, active: int, needed: int, arguments: tuple[Any, ...]) -> Any:
    size = Dim("n", 7)
    found: list[Any] = []
    with Trace(declaration.sig.name) as trace:
        values = {}
        for source, code, value in arguments:
            if code >= 0:
                value = trace.input(f"{source[0]}{source[1]}", Type(BY_CODE[code], (size,)))
            values[source] = value
        for number, (rule, serves, sources) in enumerate(gradient_rules(declaration)):
            if not active >> number & 1:
                continue
            made = rule(*(values[source] for source in sources))
            made = (made,) if len(serves) == 1 else made
            found += [(p, m) for p, m in zip(serves, made, strict=True) if needed >> p & 1]
        found.sort(key=lambda pair: pair[0])
        gradients = [None if m is None else trace.output(m) for _, m in found]
    graph = trace.finish()
    if trace.graph.guards:
        raise NotLowered("a rule that looks at sizes")
    if any(v.shape != (size,) for v in gradients if v is not None):
        raise NotLowered("a rule that changes the shape")
    return graph, gradients
