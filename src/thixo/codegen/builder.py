"""Writing instructions with Python's operators.

    b = Builder()
    x = b.load(0, "f32")
    b.store(1, x * x + 1.0)

Equal instructions are one. Numbers that Python code mixes in are constants of the other operand's type.
"""

from __future__ import annotations

from typing import Any

from thixo.codegen.instructions import FUNCTIONS, KINDS, Instruction, is_float, is_integer
from thixo.errors import InternalError

Number = bool | int | float


class NotLowered(Exception):
    """This cannot be written as a kernel; the operator runs another way."""


class Value:
    """The value of an instruction.

    A weak one stands for a Python number that is known only when the kernel runs: as a number
    would, it takes the type of the value it meets, and computes in double precision among its kind.
    """

    __slots__ = ("builder", "number", "type", "weak")
    __array_priority__ = 1000  # NumPy's scalars leave arithmetic to this class

    def __init__(self, builder: Builder, number: int, type: str, weak: bool = False) -> None:
        self.builder, self.number, self.type, self.weak = builder, number, type, weak

    def _binary(self, op: str, other: Any, swap: bool = False) -> Value:
        if not isinstance(other, (Value, bool, int, float)):
            return NotImplemented
        a, b = self.builder.alike(self, other)
        if swap:
            a, b = b, a
        made = _logic(op, a, b) if a.type == "bool" else self.builder.emit(op, a, b)
        made.weak = a.weak and b.weak
        return made

    def __add__(self, other: Any) -> Value:
        return self._binary("add", other)

    def __sub__(self, other: Any) -> Value:
        return self._binary("sub", other)

    def __mul__(self, other: Any) -> Value:
        return self._binary("mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self._binary("div", other)

    def __radd__(self, other: Any) -> Value:
        return self._binary("add", other, True)

    def __rsub__(self, other: Any) -> Value:
        return self._binary("sub", other, True)

    def __rmul__(self, other: Any) -> Value:
        return self._binary("mul", other, True)

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary("div", other, True)

    def __lt__(self, other: Any) -> Value:
        return self._binary("lt", other)

    def __le__(self, other: Any) -> Value:
        return self._binary("le", other)

    def __gt__(self, other: Any) -> Value:
        return self._binary("lt", other, True)

    def __ge__(self, other: Any) -> Value:
        return self._binary("le", other, True)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return self._binary("eq", other)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._binary("ne", other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Any) -> Value:
        return self._binary("xor", other)

    def __lshift__(self, other: Any) -> Value:
        return self._binary("shl", other)

    def __rshift__(self, other: Any) -> Value:
        return self._binary("shr", other)

    def __neg__(self) -> Value:
        made = self.builder.emit("neg", self)
        made.weak = self.weak
        return made

    def __abs__(self) -> Value:
        made = self.builder.emit("abs", self)
        made.weak = self.weak
        return made

    def __pow__(self, power: Any) -> Value:
        if not isinstance(power, int) or not 1 <= power <= 4:
            raise NotLowered(f"a power of {power!r}")
        square = self * self
        return [self, square, square * self, square * square][power - 1]

    def __invert__(self) -> Value:
        return self.builder.emit("not", self)

    def __bool__(self) -> bool:
        raise NotLowered(
            "the code asks for the truth of a value that is known only when the kernel runs"
        )

    def cast(self, type: str) -> Value:
        """The same number in another type."""
        return self if self.type == type else self.builder.emit("cast", self, type=type)

    def bits(self, type: str) -> Value:
        """The same bits as another type of equal width."""
        return self if self.type == type else self.builder.emit("bits", self, type=type)


def _logic(op: str, a: Value, b: Value) -> Value:
    """Arithmetic and order of booleans, as of the numbers 0 and 1 without a carry."""
    emit = a.builder.emit
    if op == "lt":
        return emit("and", emit("not", a), b)
    if op == "le":
        return emit("or", emit("not", a), b)
    return emit({"add": "or", "mul": "and"}.get(op, op), a, b)


class Builder:
    """Collects the instructions of a kernel's body."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._known: dict[Instruction, int] = {}

    def emit(
        self, op: str, *arguments: Value, type: str | None = None, attribute: Any = None
    ) -> Value:
        """Append an instruction, or find the equal one that is there."""
        kind = KINDS[op]
        if type is None:
            type = {"same": arguments[-1].type, "bool": "bool", "none": arguments[0].type}[
                kind.result
            ]
        checked = arguments[1:] if op in ("select", "rare") else arguments
        for a in checked:
            if a.type not in kind.types:
                raise NotLowered(f"{op} of {a.type}")
            if a.type != checked[0].type:
                raise NotLowered(f"{op} of {checked[0].type} and {a.type}")
        made = Instruction(op, type, tuple(a.number for a in arguments), attribute)
        # 0.0 and -0.0 are equal in Python, and not here
        key = made if op != "const" else Instruction(op, type, (), repr(attribute))
        at = self._known.get(key)
        if at is None or kind.result == "none":
            at = self._known[key] = len(self.instructions)
            self.instructions.append(made)
        return Value(self, at, type)

    def constant(self, number: Number, type: str) -> Value:
        """A number."""
        if is_float(type):
            number = float(number)
        elif is_integer(type):
            bits = int(type[1:])
            number = int(number) & (1 << bits) - 1
            if type[0] == "i" and number >> bits - 1:
                number -= 1 << bits
        else:
            number = bool(number)
        return self.emit("const", type=type, attribute=number)

    def alike(self, a: Any, b: Any) -> tuple[Value, Value]:
        """Both as values of one type; a plain number takes the other's, and so does a weak one."""
        if not isinstance(a, Value):
            a = self._number(a, b)
        if not isinstance(b, Value):
            b = self._number(b, a)
        if a.weak and (not b.weak or is_float(b.type)):
            a = self._strengthen(a, b)
        if b.weak and (not a.weak or is_float(a.type)):
            b = self._strengthen(b, a)
        return a, b

    def _number(self, number: Number, like: Value) -> Value:
        if isinstance(number, float) and not is_float(like.type):
            if not like.weak:
                raise NotLowered(f"the number {number} beside {like.type}")
            made = self.constant(number, "f64")
        else:
            made = self.constant(number, like.type)
        made.weak = like.weak
        return made

    def _strengthen(self, weak: Value, like: Value) -> Value:
        if is_float(weak.type) and not is_float(like.type):
            raise NotLowered(f"a float beside {like.type}")
        made = weak.cast(like.type)
        made.weak = like.weak
        return made

    def load(self, operand: int, type: str, part: int = 0) -> Value:
        """The element of an operand at this place."""
        return self.emit("load", type=type, attribute=(operand, part))

    def store(self, operand: int, value: Value, part: int = 0) -> None:
        """Make it the result's element at this place."""
        self.emit("store", value, attribute=(operand, part))

    def index(self, type: str = "i64") -> Value:
        """The position along the row."""
        return self.emit("index", type=type)

    def pick(self, operand: int, type: str, place: Value, part: int = 0) -> Value:
        """The element of an operand at a position of the row."""
        return self.emit("pick", place, type=type, attribute=(operand, part))

    def columns(self) -> Value:
        """How many places the row has."""
        return self.emit("columns", type="i64")

    def select(self, condition: Value, a: Any, b: Any) -> Value:
        """A where the condition holds, else b."""
        a, b = self.alike(a, b)
        return self.emit("select", condition, a, b)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        """A * b + c, rounded once; at least one is a value."""
        like = next(v for v in (a, b, c) if isinstance(v, Value))
        return self.emit(
            "fma", *(v if isinstance(v, Value) else self.constant(v, like.type) for v in (a, b, c))
        )

    def lookup(self, table: tuple[float, ...], place: Value, type: str) -> Value:
        """The number of a table at a place, an integer as wide as the type; only its lowest bits count."""
        return self.emit("lookup", place, type=type, attribute=table)

    def reduce(self, combiner: str, value: Value) -> Value:
        """All values along the row in one."""
        return self.emit("reduce", value, attribute=combiner)

    def check(self, condition: Value, bit: int) -> None:
        """Report through the status word where the condition does not hold."""
        self.emit("check", condition, attribute=bit)

    def function(self, name: str, *arguments: Value) -> Value:
        """A mathematical function, to be expanded."""
        if name not in FUNCTIONS:
            raise InternalError(f"no function {name}")
        return self.emit(name, *arguments)
