"""The scalar instructions: all that a backend has to know.

A kernel's body is a list of them, in static single assignment: an instruction's number is its value.
Registers hold `bool`, `i8`..`i64`, `u8`..`u64`, `f32` and `f64`; float16, bfloat16 and complex numbers exist in memory
only (loads and stores convert; a complex number is two registers). Mathematical functions are
instructions too, until `expand` writes them with the others, so a backend never sees one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f32", "f64")
TYPES = ("bool", *INTEGERS, *FLOATS)
BYTES = {"bool": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16,
         **{t: int(t[1:]) // 8 for t in INTEGERS}}  # fmt: skip
BITS = {"f32": "i32", "f64": "i64"}  # the integer that holds a float's bits

_ANY, _NUMBER, _FLOAT, _WHOLE, _LOGIC = (
    TYPES,
    INTEGERS + FLOATS,
    FLOATS,
    INTEGERS,
    ("bool", *INTEGERS),
)


@dataclass(frozen=True)
class Kind:
    """What an instruction takes. `result` is "same" (as the arguments), "bool" or "free" (it says itself)."""

    arguments: int
    types: tuple[str, ...]
    result: str = "same"


KINDS: dict[str, Kind] = {
    # memory and places
    "const": Kind(0, _ANY, "free"),  # attribute: the number
    "load": Kind(0, _ANY, "free"),  # attribute: (operand, part); part 1 is the imaginary part
    "store": Kind(1, _ANY, "none"),  # attribute: (operand, part)
    "index": Kind(0, ("i32", "i64"), "free"),  # the position along the row
    "columns": Kind(0, ("i64",), "free"),  # how many places the row has
    # attribute: (operand, part), of the view `full`; its element at this position of the row, which is one for each
    # row. A position that the row does not have gives one of the others.
    "pick": Kind(1, ("i64",), "free"),
    "check": Kind(
        1, ("bool",), "none"
    ),  # attribute: a bit of the status word, set where it does not hold
    # arithmetic: integers wrap; division truncates, and of integers is defined for any divisor but 0
    "add": Kind(2, _NUMBER),
    "sub": Kind(2, _NUMBER),
    "mul": Kind(2, _NUMBER),
    "div": Kind(2, _NUMBER),
    "rem": Kind(2, _WHOLE),
    "fma": Kind(3, _FLOAT),  # a * b + c, rounded once
    "neg": Kind(1, _NUMBER),
    "abs": Kind(1, _NUMBER),
    "sqrt": Kind(1, _FLOAT),
    "floor": Kind(1, _FLOAT),
    "ceil": Kind(1, _FLOAT),
    "trunc": Kind(1, _FLOAT),
    "rint": Kind(1, _FLOAT),  # halves to even
    # the parts of a float: what some processors have instructions for, and `math.binary` writes for the others
    "scale": Kind(2, _FLOAT),  # a * 2^b, rounded once; b is whole, below 2^20
    "exponent": Kind(1, _FLOAT),  # of a positive finite number, which is mantissa * 2^exponent
    "mantissa": Kind(1, _FLOAT),  # from 3/4 up to 3/2
    # comparison: with a NaN all are false but ne
    "eq": Kind(2, _ANY, "bool"),
    "ne": Kind(2, _ANY, "bool"),
    "lt": Kind(2, _NUMBER, "bool"),
    "le": Kind(2, _NUMBER, "bool"),
    "select": Kind(3, _ANY),  # the first argument is a bool
    # Condition, usual value, arguments: where the condition holds, what the kernel in the attribute makes of the
    # arguments. It hardly ever holds, and a backend branches around that kernel when no lane needs it.
    "rare": Kind(3, _NUMBER),  # or more
    # the number at this place of the table in the attribute, 16 or 32 of them; higher bits of the place do not count
    "lookup": Kind(1, ("i32", "i64"), "free"),
    # logic on bool, bits on integers; shifts by at least the width give 0, or the sign for signed shr
    "and": Kind(2, _LOGIC),
    "or": Kind(2, _LOGIC),
    "xor": Kind(2, _LOGIC),
    "not": Kind(1, _LOGIC),
    "shl": Kind(2, _WHOLE),
    "shr": Kind(2, _WHOLE),
    # conversion: by value (float to integer truncates, out of range as `copy` of the core does); by bits
    "cast": Kind(1, _ANY, "free"),
    "bits": Kind(1, _ANY, "free"),  # equal widths
    # along the row: one value for each row, by the combiner in the attribute
    "reduce": Kind(1, _ANY),  # "add", "mul", "max", "min", "and", "or"
}

# Functions that NumPy has not: the core's own (`_core.special1`) are their oracle.
SPECIAL = ("erf", "erfc", "ndtr", "erfinv", "lgamma")
# Functions that `expand` writes with the instructions above; the number of their arguments.
FUNCTIONS: dict[str, int] = {
    **dict.fromkeys("exp exp2 expm1 log log2 log10 log1p".split(), 1),
    **dict.fromkeys("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split(), 1),
    **dict.fromkeys(SPECIAL, 1),
    **dict.fromkeys("pow atan2 hypot nextafter fmod".split(), 2),
}
KINDS |= {name: Kind(count, _FLOAT) for name, count in FUNCTIONS.items()}

COMBINERS = ("add", "mul", "max", "min", "and", "or")


@dataclass(frozen=True)
class Instruction:
    """One of them: its operation, the type of its value, the numbers of its arguments."""

    op: str
    type: str
    arguments: tuple[int, ...] = ()
    attribute: Any = None


def is_float(type: str) -> bool:
    """Whether registers of this type hold floats."""
    return type in FLOATS


def is_signed(type: str) -> bool:
    """Whether it is an integer with a sign."""
    return type[0] == "i"


def is_integer(type: str) -> bool:
    """Whether it is an integer."""
    return type in INTEGERS


def width(type: str) -> int:
    """Bits of an integer or float register."""
    return BYTES[type] * 8
