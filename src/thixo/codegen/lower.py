"""From an operator's declaration to a kernel."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from thixo.codegen.builder import Builder, NotLowered, Value
from thixo.codegen.instructions import is_float
from thixo.codegen.kernel import REGISTER, Kernel, Operand
from thixo.codegen.scalars import KernelScalars, Pair


class Placeholder(enum.Enum):
    """What stands for an argument that is known only when the kernel runs."""

    TENSOR = "a tensor, or a number that is promoted like one"
    NUMBER = "a plain number"


TENSOR, NUMBER = Placeholder.TENSOR, Placeholder.NUMBER
REAL = {"c64": "f32", "c128": "f64"}


def lower_pointwise(
    declaration: Any, compute: str, others: Mapping[str, str], arguments: Sequence[Any]
) -> Kernel:
    """The kernel of a `Pointwise` operator that computes in the dtype `compute`.

    `arguments` has an entry for each parameter: `TENSOR` (of the dtype in `others` if it keeps its own), `NUMBER`,
    or what the argument is. Operands: the tensors, the numbers (float64), the result.
    """
    builder = Builder()
    k = KernelScalars(builder)
    operands: list[Operand] = []
    values: list[Any] = []
    numbers = []
    for parameter, argument in zip(declaration.sig.params, arguments, strict=True):
        if argument is NUMBER:
            numbers.append(len(values))
            values.append(None)
        elif argument is TENSOR:
            dtype = others.get(parameter.name, compute)
            values.append(load_operand(builder, operands, Operand(dtype)))
        else:
            values.append(argument)
    for at in numbers:
        if not is_float(REGISTER.get(compute, compute)):
            raise NotLowered(
                "a number beside integers: whether it fits is known only when it is there"
            )
        values[at] = load_operand(builder, operands, Operand("f64", "one"))
        values[at].weak = True
    result = declaration.scalar(k, *values)
    dtype = {"bool": "bool", "real": REAL.get(compute, compute)}.get(declaration.result, compute)
    _store(builder, operands, Operand(dtype, written=True), result)
    return Kernel(tuple(operands), tuple(builder.instructions))


def load_operand(builder: Builder, operands: list[Operand], operand: Operand) -> Any:
    """Take one more operand; its element, as a value or a pair."""
    at = len(operands)
    operands.append(operand)
    parts = [builder.load(at, operand.register, p) for p in range(operand.parts)]
    return Pair(*parts) if operand.parts == 2 else parts[0]


def _store(builder: Builder, operands: list[Operand], operand: Operand, value: Any) -> None:
    at = len(operands)
    operands.append(operand)
    if operand.parts == 2 and not isinstance(value, Pair):
        raise NotLowered("a complex result of a real body")
    if isinstance(value, (bool, int, float)):
        value = builder.constant(value, operand.register)
    if operand.parts == 1 and not isinstance(value, Value):
        raise NotLowered("a real result of a complex body")
    parts = [value.re, value.im] if isinstance(value, Pair) else [value]
    for part, one in enumerate(parts):
        if one.type != operand.register:
            if not one.weak and one.type != "bool":
                raise NotLowered(
                    f"a body that gives {one.type} where the result is {operand.dtype}"
                )
            one = one.cast(operand.register)
        builder.store(at, one, part)
