"""Rows from an operator's declaration.

An operator that works along rows says once how: `rows(k, input, ...)` takes its parameters by name and computes with
`k`, which has the functions of a `Pointwise.scalar` and those that see the row as a whole:

    def rows(k, input):
        e = k.exp(input - k.reduce_max(input))
        return e / k.reduce_sum(e)

A value that was reduced is one for each row, and so is a result made of such values alone. Which axes make
up a row is what the operator's parameter `dim` says; `row_axes(...)`, with the operator's arguments, says it where
there is no such parameter. Tensors broadcast. Numbers may be used as numbers, but not asked for their value.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thixo.codegen.builder import Builder, NotLowered, Value
from thixo.codegen.instructions import Instruction, is_float
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.lower import load_operand
from thixo.codegen.scalars import KernelScalars, Pair, Scalar

NUMBER = "number"  # stands for an argument that is a number, passed when the kernel runs


class ColumnSum:
    """A result for each place along the row: the sum of a value over all rows."""

    def __init__(self, value: Value) -> None:
        self.value = value


class RowScalars(KernelScalars):
    """`k` for a kernel over rows."""

    def __init__(self, builder: Builder, operands: list[Operand]) -> None:
        super().__init__(builder)
        self.operands = operands

    def refuse(self, why: str) -> Any:
        """There is no kernel for this; the operator runs another way."""
        raise NotLowered(why)

    def reduce_sum(self, x: Scalar) -> Scalar:
        """The sum along the row; of integers and bool in 64 bits, which wrap."""
        return self._total("add", x)

    def reduce_prod(self, x: Scalar) -> Scalar:
        """The product along the row."""
        if isinstance(x, Pair):
            raise NotLowered("a product of complex numbers")
        return self._total("mul", x)

    def _total(self, combiner: str, x: Scalar) -> Scalar:
        if isinstance(x, Pair):
            return Pair(self.b.reduce(combiner, x.re), self.b.reduce(combiner, x.im))
        return self.b.reduce(combiner, x if is_float(x.type) else x.cast("i64"))

    def reduce_max(self, x: Scalar) -> Value:
        """The greatest along the row; NaN where there is one."""
        return self._extreme("max", x)

    def reduce_min(self, x: Scalar) -> Value:
        """The least along the row; NaN where there is one."""
        return self._extreme("min", x)

    def _extreme(self, combiner: str, x: Scalar) -> Value:
        if isinstance(x, Pair):
            raise NotLowered("the order of complex numbers")
        return self.b.reduce(combiner, x)

    def reduce_any(self, x: Scalar) -> Value:
        """Whether any along the row is not 0."""
        return self.b.reduce("or", self.truth(x))

    def reduce_all(self, x: Scalar) -> Value:
        """Whether none along the row is 0."""
        return self.b.reduce("and", self.truth(x))

    def sum_over_rows(self, x: Value) -> ColumnSum:
        """A result, and nothing else: the sum over all rows, for each place along them."""
        return ColumnSum(x)

    def columns(self) -> Value:
        """How many places the row has; a number, which takes the type of what it meets."""
        made = self.b.columns()
        made.weak = True
        return made

    def index(self) -> Value:
        """The position along the row, 32 bits."""
        return self.b.index("i32")

    def pick(self, x: Value, place: Value) -> Value:
        """The element of an operand at a position, one for each row, that is known to be there."""
        one = self.b.instructions[x.number]
        if one.op != "load" or self.operands[one.attribute[0]].view != "full":
            raise NotLowered("an element of what is no operand of full size")
        if not self.is_uniform(place):
            raise NotLowered("several positions of a row")
        return self.b.pick(one.attribute[0], x.type, place.cast("i64"), one.attribute[1])

    def is_uniform(self, x: Value) -> bool:
        """Whether it is one for each row."""
        return not _varying(self.b.instructions, self.operands)[x.number]

    def wide(self, x: Scalar) -> Scalar:
        """In double precision."""
        if isinstance(x, Pair):
            return Pair(x.re.cast("f64"), x.im.cast("f64"))
        return x.cast("f64")

    def number(self, x: Any, like: Value) -> Value:
        """A number, or a value of any type, in the type of another value."""
        return x.cast(like.type) if isinstance(x, Value) else self.b.constant(x, like.type)


def parameters(declaration: Any) -> list[str]:
    """The operator's parameters that its rows are made from."""
    return list(inspect.signature(declaration.rows).parameters)[1:]


def lower_rows(declaration: Any, arguments: Sequence[Any], results: Sequence[str]) -> Kernel:
    """The kernel of an operator's `rows`.

    `arguments` has an entry for each parameter of `rows`: [dtype, view] for a tensor, `NUMBER`, or what it is.
    `results` are the dtypes of the results. Operands: the tensors, the numbers (float64), the results.
    """
    builder = Builder()
    operands: list[Operand] = []
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, list):
            values.append(load_operand(builder, operands, Operand(*argument)))
        else:
            values.append(argument)
    for at, argument in enumerate(arguments):
        if argument == NUMBER:
            values[at] = load_operand(builder, operands, Operand("f64", "one"))
            values[at].weak = True
    made = declaration.rows(RowScalars(builder, operands), *values)
    made = made if isinstance(made, tuple) else (made,)
    if len(made) != len(results):
        raise NotLowered(f"{len(made)} results where the operator has {len(results)}")
    varying = _varying(builder.instructions, operands)
    for value, dtype in zip(made, results, strict=True):
        if isinstance(value, ColumnSum):
            if dtype not in ("f32", "f64"):
                raise NotLowered(f"sums over rows in {dtype}")
            _store(builder, operands, Operand(dtype, "column", True), value.value)
            continue
        first = value.re if isinstance(value, Pair) else value
        view = "full" if varying[first.number] else "row"
        _store(builder, operands, Operand(dtype, view, True), value)
    return Kernel(tuple(operands), tuple(builder.instructions))


def with_sums(kernel: Kernel, views: Sequence[str], summed: Sequence[bool]) -> Kernel:
    """A kernel of places as one of rows: its operands seen as `views` says, some of its results summed along the row."""
    inputs = kernel.operands[: len(views)]
    operands = [replace(o, view=view) for o, view in zip(inputs, views, strict=True)]
    for operand, sums in zip(kernel.operands[len(views) :], summed, strict=True):
        operands.append(replace(operand, view="row" if sums else "full"))
    varying = _varying(kernel.body, operands)
    body: list[Instruction] = []
    numbers: list[int] = []  # of the instructions, in the new body
    for one in kernel.body:
        arguments = tuple(numbers[a] for a in one.arguments)
        if one.op == "store":
            if not varying[one.arguments[0]]:
                raise NotLowered("a result that is one for each row")
            if operands[one.attribute[0]].view == "row":
                body.append(Instruction("reduce", one.type, arguments, "add"))
                arguments = (len(body) - 1,)
        numbers.append(len(body))
        body.append(replace(one, arguments=arguments))
    return Kernel(tuple(operands), tuple(body))


def _varying(body: Sequence[Instruction], operands: Sequence[Operand]) -> list[bool]:
    found: list[bool] = []
    for one in body:
        if one.op == "load":
            found.append(operands[one.attribute[0]].view in ("full", "column"))
        elif one.op == "index":
            found.append(True)
        else:
            found.append(one.op != "reduce" and any(found[a] for a in one.arguments))
    return found


def _store(builder: Builder, operands: list[Operand], operand: Operand, value: Any) -> None:
    at = len(operands)
    operands.append(operand)
    if isinstance(value, Pair) != (operand.parts == 2):
        raise NotLowered("a complex result of a real body, or the reverse")
    for part, one in enumerate([value.re, value.im] if isinstance(value, Pair) else [value]):
        builder.store(at, one.cast(operand.register), part)
