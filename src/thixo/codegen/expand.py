"""Functions become primitive instructions; what is known is computed, what nobody needs is left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from thixo.codegen.builder import Builder, Value
from thixo.codegen.instructions import FUNCTIONS, KINDS, Instruction
from thixo.codegen.interpret import NUMPY, evaluate
from thixo.codegen.kernel import Kernel
from thixo.codegen.math import WRITERS


def expand(kernel: Kernel) -> Kernel:
    """The same kernel in primitive instructions only."""
    b = _Folding()
    values: list[Value] = []
    for one in kernel.body:
        arguments = [values[a] for a in one.arguments]
        if one.op in FUNCTIONS:
            values.append(WRITERS[one.op](b, *arguments))
        else:
            values.append(b.emit(one.op, *arguments, type=one.type, attribute=one.attribute))
    return Kernel(kernel.operands, tuple(_needed(b.instructions)))


class _Folding(Builder):
    """Computes at once what depends on numbers only, and leaves out what changes nothing."""

    def emit(
        self, op: str, *arguments: Value, type: str | None = None, attribute: Any = None
    ) -> Value:
        kind = KINDS[op]
        if op == "select":
            same = arguments[1].number == arguments[2].number
            if same or (known := self._fixed(arguments[0])) is not None:
                return arguments[1] if same or known else arguments[2]
        if (op == "cast" and type == arguments[0].type) or (
            op == "bits" and type == arguments[0].type
        ):
            return arguments[0]
        if (
            arguments
            and kind.result in ("same", "bool", "free")
            and op not in (*FUNCTIONS, "reduce", "rare", "lookup", "pick")
        ):
            numbers = [self._fixed(a) for a in arguments]
            if all(n is not None for n in numbers) and not self._by_zero(op, numbers):
                made = {"same": arguments[-1].type, "bool": "bool"}.get(kind.result, type)
                assert made is not None
                with np.errstate(all="ignore"):
                    found = evaluate(
                        op,
                        made,
                        [
                            np.asarray(n, NUMPY[a.type])
                            for n, a in zip(numbers, arguments, strict=True)
                        ],
                    )
                return self.constant(found.item(), made)
        return super().emit(op, *arguments, type=type, attribute=attribute)

    def _by_zero(self, op: str, numbers: list[Any]) -> bool:
        return op in ("div", "rem") and isinstance(numbers[1], int) and numbers[1] == 0

    def _fixed(self, value: Value) -> Any:
        one = self.instructions[value.number]
        return one.attribute if one.op == "const" else None


def _needed(body: list[Instruction]) -> list[Instruction]:
    """What a store or a check depends on, in the same order."""
    wanted = [KINDS[one.op].result == "none" for one in body]
    for number in reversed(range(len(body))):
        if wanted[number]:
            for a in body[number].arguments:
                wanted[a] = True
    places: dict[int, int] = {}
    made: list[Instruction] = []
    for number, one in enumerate(body):
        if wanted[number]:
            places[number] = len(made)
            made.append(
                Instruction(
                    one.op, one.type, tuple(places[a] for a in one.arguments), one.attribute
                )
            )
    return made
