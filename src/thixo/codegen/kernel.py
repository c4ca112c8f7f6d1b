"""The kernel IR: operands, and what is computed from them at each place of a loop nest.

A kernel runs over rows and along each row. Operands are seen from there: `full` has an element for each place,
`row` one for each row, `column` one for each place along the row, `one` a single one. A kernel without
`reduce` has no use for rows: it runs over places in any order, and the nest outside of it is the caller's.
Sizes and strides are arguments when it runs, so one kernel serves all shapes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from thixo.codegen.instructions import BITS, BYTES, COMBINERS, KINDS, Instruction
from thixo.errors import InternalError

VIEWS = ("full", "row", "column", "one")
REGISTER = {"f16": "f32", "bf16": "f32", "c64": "f32", "c128": "f64"}  # what a load gives


@dataclass(frozen=True)
class Operand:
    """Memory that a kernel reads or writes."""

    dtype: str
    view: str = "full"
    written: bool = False

    @property
    def bytes(self) -> int:
        """Of one element."""
        return BYTES[self.dtype]

    @property
    def register(self) -> str:
        """The type that a load of it gives and a store takes."""
        return REGISTER.get(self.dtype, self.dtype)

    @property
    def parts(self) -> int:
        """Registers of one element: two for complex numbers."""
        return 2 if self.dtype in ("c64", "c128") else 1


@dataclass(frozen=True)
class Kernel:
    """Operands in the order in which they are passed, and the body."""

    operands: tuple[Operand, ...]
    body: tuple[Instruction, ...]

    def __post_init__(self) -> None:
        verify(self)

    @cached_property
    def text(self) -> str:
        """What it says; two kernels of one text are the same kernel."""
        lines = [
            f"operand {i}: {o.dtype} {o.view}{', written' if o.written else ''}"
            for i, o in enumerate(self.operands)
        ]
        for number, one in enumerate(self.body):
            arguments = ", ".join(f"%{a}" for a in one.arguments)
            attribute = "" if one.attribute is None else f" [{one.attribute!r}]"
            if isinstance(one.attribute, Kernel):
                attribute = " {\n  " + one.attribute.text.replace("\n", "\n  ") + "\n}"
            name = f"%{number} = " if KINDS[one.op].result != "none" else ""
            lines.append(f"{name}{one.op} {one.type} {arguments}{attribute}".rstrip())
        return "\n".join(lines)

    @cached_property
    def key(self) -> str:
        """A short name that follows from the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:24]

    @cached_property
    def rowwise(self) -> bool:
        """Whether it reduces along rows, so that the rows matter."""
        return any(i.op in ("reduce", "index", "columns", "pick") for i in self.body)

    def __str__(self) -> str:
        return self.text


def verify(kernel: Kernel) -> None:
    """Refuse a body that is not well formed; such a one is a mistake of the generator, not of a user."""

    def wrong(number: int, why: str) -> InternalError:
        return InternalError(f"kernel: instruction {number} ({kernel.body[number].op}) {why}")

    for operand in kernel.operands:
        if operand.dtype not in BYTES or operand.view not in VIEWS:
            raise InternalError(f"kernel: unknown operand {operand}")
    written = set()
    for number, one in enumerate(kernel.body):
        kind = KINDS.get(one.op)
        if kind is None:
            raise InternalError(f"kernel: unknown instruction {one.op!r}")
        if len(one.arguments) != kind.arguments and not (
            one.op == "rare" and len(one.arguments) > 3
        ):
            raise wrong(number, f"takes {kind.arguments} arguments, has {len(one.arguments)}")
        types = []
        for a in one.arguments:
            if not 0 <= a < number:
                raise wrong(number, f"uses %{a}, which does not come before it")
            if KINDS[kernel.body[a].op].result == "none":
                raise wrong(number, f"uses %{a}, which has no value")
            types.append(kernel.body[a].type)
        if one.op in ("select", "rare"):
            if types[0] != "bool":
                raise wrong(number, f"chooses by {types[0]}")
            types = types[1:]
        if len(set(types)) > 1 or not set(types) <= set(kind.types):
            raise wrong(number, f"of {', '.join(types)}")
        expected = {"same": types[-1] if types else one.type, "bool": "bool"}.get(
            kind.result, one.type
        )
        if one.type != expected:
            raise wrong(number, f"says {one.type} of {', '.join(types)}")
        if one.op == "bits" and BYTES[one.type] != BYTES[types[0]]:
            raise wrong(number, f"changes the width from {types[0]} to {one.type}")
        if one.op == "lookup" and (
            len(one.attribute) not in (16, 32) or BITS.get(one.type) != types[0]
        ):
            raise wrong(number, f"of {types[0]} in {len(one.attribute)} numbers of {one.type}")
        if one.op == "reduce" and one.attribute not in COMBINERS:
            raise wrong(number, f"combines by {one.attribute!r}")
        if one.op in ("load", "store", "pick"):
            at, part = one.attribute
            if not 0 <= at < len(kernel.operands) or not 0 <= part < kernel.operands[at].parts:
                raise wrong(number, f"names operand {at}, part {part}")
            operand = kernel.operands[at]
            if one.type != operand.register:
                raise wrong(number, f"is of {one.type}, operand {at} of {operand.dtype}")
            if one.op == "pick" and operand.view != "full":
                raise wrong(number, f"chooses among {operand.view} elements")
            if one.op == "store":
                if not operand.written or (at, part) in written:
                    raise wrong(number, f"writes operand {at} against its declaration")
                written.add((at, part))
    for at, operand in enumerate(kernel.operands):
        if operand.written and not {(at, p) for p in range(operand.parts)} <= written:
            raise InternalError(f"kernel: nothing writes operand {at}")
