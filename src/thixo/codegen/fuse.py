"""From a graph of pointwise operators to one kernel.

All tensors of such a graph have one shape (operands that broadcast are the caller's affair), so the whole of
it is one body: each node's `scalar` is written after the other, and what is between them never reaches memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo.codegen.builder import Builder, NotLowered, Value
from thixo.codegen.kernel import REGISTER, Kernel, Operand
from thixo.codegen.scalars import KernelScalars, Pair
from thixo.dtype import DType, combine, get_default_dtype, type_of_number
from thixo.graph.ir import Graph
from thixo.graph.ir import Value as GraphValue

_SAME = ("clone", "detach")  # of a tensor that nobody writes


def fuse(graph: Graph, outputs: Sequence[GraphValue]) -> Kernel:
    """The kernel that takes the graph's inputs and writes these of its values."""
    if graph.constants:
        raise NotLowered("a graph with constants")
    builder = Builder()
    k = KernelScalars(builder)
    operands: list[Operand] = []
    known: dict[GraphValue, Any] = {}
    for value in graph.inputs:
        operand = Operand(value.dtype.short)
        parts = [builder.load(len(operands), operand.register, p) for p in range(operand.parts)]
        known[value] = Pair(*parts) if operand.parts == 2 else parts[0]
        operands.append(operand)
    for node in graph.nodes:
        (result,) = node.outputs
        known[result] = _node(k, node, known, result.dtype)
    for value in outputs:
        operand = Operand(value.dtype.short, written=True)
        made = known[value]
        for part, one in enumerate([made.re, made.im] if isinstance(made, Pair) else [made]):
            builder.store(len(operands), one, part)
        operands.append(operand)
    return Kernel(tuple(operands), tuple(builder.instructions))


def _node(k: KernelScalars, node: Any, known: dict[GraphValue, Any], result: DType) -> Any:
    op = node.op
    if op.full_name in _SAME:
        return known[node.args[0]]
    if op.full_name == "cast":
        return convert(k, known[node.args[0]], result.short)
    if op.kind != "pointwise":
        raise NotLowered(f"the operator {op.full_name}")
    promoted = [i for i, p in enumerate(op.sig.params) if p.holds_tensors]
    if op.promotes is not None:
        promoted = [op.sig.place(name) for name in op.promotes]
    taking_part = [node.args[i] for i in promoted if node.args[i] is not None]
    compute = combine([a.dtype for a in taking_part if isinstance(a, GraphValue)], [],
                      [type_of_number(a) for a in taking_part if not isinstance(a, GraphValue)])  # fmt: skip
    if op.result == "float" and not (compute.is_floating_point or compute.is_complex):
        compute = get_default_dtype()
    arguments = []
    for i, a in enumerate(node.args):
        if i in promoted and a is not None:
            value = known[a] if isinstance(a, GraphValue) else a
            arguments.append(convert(k, value, compute.short))
        else:
            arguments.append(known[a] if isinstance(a, GraphValue) else a)
    return convert(k, op.scalar(k, *arguments), result.short)


def convert(k: KernelScalars, x: Any, dtype: str) -> Any:
    """A value or a number in the registers of a dtype."""
    register = REGISTER.get(dtype, dtype)
    if isinstance(x, (bool, int, float, complex)):
        if dtype in ("c64", "c128"):
            number = complex(x)
            return Pair(k.b.constant(number.real, register), k.b.constant(number.imag, register))
        if isinstance(x, complex):
            raise NotLowered("a complex number beside reals")
        return k.b.constant(x, register)
    zero = k.b.constant(0, register)
    made = k.cast(x, Pair(zero, zero) if dtype in ("c64", "c128") else zero)
    if isinstance(made, Value):
        made.weak = False
    return made
