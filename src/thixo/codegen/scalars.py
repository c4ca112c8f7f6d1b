"""The scalar instructions for the code generator: the `k` that turns a `Pointwise.scalar` into a kernel.

It has the functions of `thixo.ops.scalars.NumPyScalars`, with the same meaning, on `Value`s. A complex number
is a `Pair` of them. What cannot be written as straight-line code raises `NotLowered`.
"""

from __future__ import annotations

from typing import Any

from thixo.codegen.builder import Builder, NotLowered, Value
from thixo.codegen.instructions import BITS, SPECIAL, is_float, is_integer, is_signed, width
from thixo.codegen.math.integers import integer_power

DIVISION_BY_ZERO = 0  # a bit of the status word


class Pair:
    """A complex number: two values of one float type."""

    __slots__ = ("im", "re")
    __array_priority__ = 1000

    def __init__(self, re: Value, im: Value) -> None:
        self.re, self.im = re, im

    @property
    def type(self) -> str:
        """Of each part."""
        return self.re.type

    def _pair(self, other: Any) -> Pair:
        if isinstance(other, Pair):
            return other
        if isinstance(other, complex):
            other_re, other_im = other.real, other.imag
        else:
            other_re, other_im = other, 0.0
        b = self.re.builder
        return Pair(b.alike(other_re, self.re)[0], b.alike(other_im, self.re)[0])

    def __add__(self, other: Any) -> Pair:
        y = self._pair(other)
        return Pair(self.re + y.re, self.im + y.im)

    def __sub__(self, other: Any) -> Pair:
        y = self._pair(other)
        return Pair(self.re - y.re, self.im - y.im)

    def __mul__(self, other: Any) -> Pair:
        y = self._pair(other)
        return Pair(self.re * y.re - self.im * y.im, self.re * y.im + self.im * y.re)

    def __truediv__(self, other: Any) -> Pair:
        # Scaled by the larger part of the divisor, so that nothing overflows on the way.
        y = self._pair(other)
        b = self.re.builder
        wide = abs(y.re) >= abs(y.im)
        large, small = b.select(wide, y.re, y.im), b.select(wide, y.im, y.re)
        ratio = small / large
        scale = 1.0 / (large + small * ratio)
        first, second = b.select(wide, self.re, self.im), b.select(wide, self.im, self.re)
        re = (first + second * ratio) * scale
        im = (second - first * ratio) * scale
        zero = (y.re == 0.0) & (y.im == 0.0)
        made = Pair(re, b.select(wide, im, -im))
        return Pair(
            b.select(zero, self.re / abs(y.re), made.re),
            b.select(zero, self.im / abs(y.re), made.im),
        )

    def __radd__(self, other: Any) -> Pair:
        return self._pair(other) + self

    def __rsub__(self, other: Any) -> Pair:
        return self._pair(other) - self

    def __rmul__(self, other: Any) -> Pair:
        return self._pair(other) * self

    def __rtruediv__(self, other: Any) -> Pair:
        return self._pair(other) / self

    def __neg__(self) -> Pair:
        return Pair(-self.re, -self.im)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        y = self._pair(other)
        return (self.re == y.re) & (self.im == y.im)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return ~(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __pow__(self, power: Any) -> Pair:
        if power != 2:
            raise NotLowered(f"a complex power of {power!r}")
        return self * self

    def __bool__(self) -> bool:
        raise NotLowered("the truth of a complex value")


Scalar = Any  # a Value, a Pair, or a Python number


def _type(x: Scalar) -> str:
    return "c" if isinstance(x, Pair) else x.type


def _real(x: Scalar, what: str) -> Value:
    if isinstance(x, Pair):
        raise NotLowered(f"{what} of complex numbers")
    return x


class KernelScalars:
    """`k` for one kernel under construction."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder

    # ---- kinds

    def is_complex(self, x: Scalar) -> bool:
        return isinstance(x, Pair)

    def is_floating(self, x: Scalar) -> bool:
        return not isinstance(x, Pair) and is_float(x.type)

    def is_integer(self, x: Scalar) -> bool:
        return not isinstance(x, Pair) and is_integer(x.type)

    def is_unsigned(self, x: Scalar) -> bool:
        return _type(x)[0] == "u"

    def is_bool(self, x: Scalar) -> bool:
        return _type(x) == "bool"

    # ---- conversion

    def cast(self, x: Scalar, like: Scalar) -> Scalar:
        if not isinstance(x, (Value, Pair)):
            return self.constant(x, like)
        if isinstance(like, Pair):
            if isinstance(x, Pair):
                return Pair(x.re.cast(like.type), x.im.cast(like.type))
            return Pair(x.cast(like.type), self.b.constant(0.0, like.type))
        if isinstance(x, Pair):
            return self.truth(x) if like.type == "bool" else x.re.cast(like.type)
        return x.cast(like.type)

    def truth(self, x: Scalar) -> Value:
        if isinstance(x, Pair):
            return self.truth(x.re) | self.truth(x.im)
        return x if x.type == "bool" else x != self.b.constant(0, x.type)

    def constant(self, value: Any, like: Scalar) -> Scalar:
        if isinstance(like, Pair):
            return like._pair(value)
        if isinstance(value, Value):
            return value.cast(like.type)
        if isinstance(value, complex) or (
            is_integer(like.type) and int(value) != self._wrapped(value, like.type)
        ):
            raise NotLowered(
                f"the number {value} as {like.type}"
            )  # the reference says what is wrong with it
        return self.b.constant(value, like.type)

    def _wrapped(self, value: Any, type: str) -> int:
        bits = width(type)
        low = -(1 << bits - 1) if is_signed(type) else 0
        return (int(value) - low) % (1 << bits) + low

    def scale(self, x: Scalar, factor: Any) -> Scalar:
        if not isinstance(factor, Value) and factor == 1:
            return x
        return x * self.constant(factor, x)

    def real(self, x: Scalar) -> Value:
        return x.re if isinstance(x, Pair) else x

    def imag(self, x: Scalar) -> Value:
        return x.im if isinstance(x, Pair) else self.b.constant(0, x.type)

    def conj(self, x: Scalar) -> Scalar:
        return Pair(x.re, -x.im) if isinstance(x, Pair) else x

    def complex(self, real: Value, imag: Value) -> Pair:
        return Pair(real, imag)

    # ---- choice

    def where(self, condition: Value, x: Scalar, y: Scalar) -> Scalar:
        if isinstance(x, Pair) or isinstance(y, Pair):
            x, y = (x, x._pair(y)) if isinstance(x, Pair) else (y._pair(x), y)
            return Pair(self.b.select(condition, x.re, y.re), self.b.select(condition, x.im, y.im))
        return self.b.select(condition, x, y)

    def maximum(self, x: Scalar, y: Scalar) -> Value:
        x, y = self.b.alike(_real(x, "maximum"), _real(y, "maximum"))
        if x.type == "bool":
            return x | y
        return self._or_nan(y, y, self.b.select(x < y, y, x))

    def minimum(self, x: Scalar, y: Scalar) -> Value:
        x, y = self.b.alike(_real(x, "minimum"), _real(y, "minimum"))
        if x.type == "bool":
            return x & y
        return self._or_nan(y, y, self.b.select(y < x, y, x))

    def fmax(self, x: Scalar, y: Scalar) -> Value:
        x, y = self.b.alike(_real(x, "fmax"), _real(y, "fmax"))
        return (
            self._or_nan(y, x, self.b.select(y < x, x, y))
            if is_float(x.type)
            else self.maximum(x, y)
        )

    def fmin(self, x: Scalar, y: Scalar) -> Value:
        x, y = self.b.alike(_real(x, "fmin"), _real(y, "fmin"))
        return (
            self._or_nan(y, x, self.b.select(x < y, x, y))
            if is_float(x.type)
            else self.minimum(x, y)
        )

    def _or_nan(self, y: Value, instead: Value, extreme: Value) -> Value:
        """What vector units make of two floats in one instruction, the second where one is NaN, and `instead` where y is."""
        return self.b.select(self.isnan(y), instead, extreme) if is_float(y.type) else extreme

    # ---- tests

    def isnan(self, x: Scalar) -> Value:
        if isinstance(x, Pair):
            return self.isnan(x.re) | self.isnan(x.im)
        return x != x if is_float(x.type) else self.b.constant(False, "bool")

    def isinf(self, x: Scalar) -> Value:
        if isinstance(x, Pair):
            return self.isinf(x.re) | self.isinf(x.im)
        return abs(x) == float("inf") if is_float(x.type) else self.b.constant(False, "bool")

    def isfinite(self, x: Scalar) -> Value:
        if isinstance(x, Pair):
            return self.isfinite(x.re) & self.isfinite(x.im)
        return abs(x) < float("inf") if is_float(x.type) else self.b.constant(True, "bool")

    def signbit(self, x: Scalar) -> Value:
        x = _real(x, "signbit")
        if x.type == "bool" or x.type[0] == "u":
            return self.b.constant(False, "bool")
        return (x.bits(BITS[x.type]) if is_float(x.type) else x) < 0

    # ---- rounding and signs

    def abs(self, x: Scalar) -> Value:
        if isinstance(x, Pair):
            return self.b.function("hypot", x.re, x.im)
        return x if x.type == "bool" or x.type[0] == "u" else abs(x)

    def sign(self, x: Scalar) -> Scalar:
        if isinstance(x, Pair):
            return self._complex("sign", x)
        if x.type == "bool":
            return x
        one, zero = self.b.constant(1, x.type), self.b.constant(0, x.type)
        if x.type[0] == "u":
            return self.b.select(x != zero, one, zero)
        return self.b.select(
            x > zero, one, self.b.select(x < zero, self.b.constant(-1, x.type), zero)
        )

    def copysign(self, magnitude: Scalar, sign: Scalar) -> Value:
        a, s = self.b.alike(_real(magnitude, "copysign"), _real(sign, "copysign"))
        if not is_float(a.type):
            raise NotLowered(f"copysign of {a.type}")
        whole = BITS[a.type]
        top = self.b.constant(1 << width(whole) - 1, whole)
        return ((a.bits(whole) & ~top) | (s.bits(whole) & top)).bits(a.type)

    def _rounded(self, op: str, x: Scalar) -> Value:
        x = _real(x, op)
        return self.b.emit(op, x) if is_float(x.type) else x

    def floor(self, x: Scalar) -> Value:
        return self._rounded("floor", x)

    def ceil(self, x: Scalar) -> Value:
        return self._rounded("ceil", x)

    def trunc(self, x: Scalar) -> Value:
        return self._rounded("trunc", x)

    def round(self, x: Scalar) -> Scalar:
        return self._rounded("rint", x)

    # ---- division

    def _divisor(self, y: Value) -> Value:
        """The divisor, or 1 where it is zero: the status word says so, and nothing is computed with it."""
        self.b.check(y != 0, DIVISION_BY_ZERO)
        return self.b.select(y == 0, self.b.constant(1, y.type), y)

    def _whole(self, x: Scalar, y: Scalar, what: str) -> tuple[Value, Value]:
        x, y = self.b.alike(_real(x, what), _real(y, what))
        if not is_integer(x.type):
            raise NotLowered(f"{what} of {x.type}")
        return x, self._divisor(y)

    def _floats(self, x: Scalar, y: Scalar) -> bool:
        """Whether both are float32, whose fmod is known; that of float64 would take a thousand instructions."""
        return not isinstance(x, Pair) and self.b.alike(x, y)[0].type == "f32"

    def fmod(self, x: Scalar, y: Scalar) -> Value:
        if self._floats(x, y):
            return self.b.function("fmod", *self.b.alike(x, y))
        x, y = self._whole(x, y, "fmod")
        return self.b.emit("rem", x, y)

    def remainder(self, x: Scalar, y: Scalar) -> Value:
        if self._floats(x, y):
            x, y = self.b.alike(x, y)
            rest = self.fmod(x, y)
            other = (rest < 0.0) ^ (y < 0.0)
            return self.b.select(
                rest == 0.0, self.copysign(rest, y), self.b.select(other, rest + y, rest)
            )
        x, y = self._whole(x, y, "remainder")
        rest = self.b.emit("rem", x, y)
        if not is_signed(x.type):
            return rest
        return self.b.select((rest != 0) & ((rest < 0) ^ (y < 0)), rest + y, rest)

    def _floor_quotient(self, x: Value, y: Value) -> Value:
        """The quotient of x less its remainder, which is whole but for rounding."""
        rest = self.fmod(x, y)
        whole = (x - rest) / y
        whole = self.b.select((rest != 0.0) & ((rest < 0.0) ^ (y < 0.0)), whole - 1.0, whole)
        floor = self.b.emit("floor", whole)
        floor = self.b.select(whole - floor > 0.5, floor + 1.0, floor)
        floor = self.b.select(whole == 0.0, self.copysign(whole, x / y), floor)
        return self.b.select(y == 0.0, x / y, floor)

    def floordiv(self, x: Scalar, y: Scalar) -> Value:
        if self._floats(x, y):
            return self._floor_quotient(*self.b.alike(x, y))
        x, y = self._whole(x, y, "floor_divide")
        quotient = x / y
        if not is_signed(x.type):
            return quotient
        rest = self.b.emit("rem", x, y)
        return self.b.select((rest != 0) & ((rest < 0) ^ (y < 0)), quotient - 1, quotient)

    def truncdiv(self, x: Scalar, y: Scalar) -> Value:
        x, y = self.b.alike(_real(x, "div"), _real(y, "div"))
        if is_float(x.type):
            return self.b.emit("trunc", x / y)
        x, y = self._whole(x, y, "div")
        return x / y

    def gcd(self, x: Scalar, y: Scalar) -> Value:
        raise NotLowered("gcd")

    # ---- bits of integers

    def shift_left(self, x: Value, bits: Value) -> Value:
        return x << bits

    def shift_right(self, x: Value, bits: Value) -> Value:
        return x >> bits

    # ---- functions

    def sqrt(self, x: Scalar) -> Scalar:
        return self._complex("sqrt", x) if isinstance(x, Pair) else self.b.emit("sqrt", x)

    def _complex(self, name: str, x: Pair) -> Pair:
        from thixo.codegen.complex_scalars import COMPLEX

        if name not in COMPLEX:
            raise NotLowered(f"{name} of complex numbers")
        return COMPLEX[name](self.b, x)

    def pow(self, x: Scalar, y: Scalar) -> Value:
        x, y = self.b.alike(_real(x, "pow"), _real(y, "pow"))
        return self.b.function("pow", x, y) if is_float(x.type) else integer_power(self.b, x, y)

    def special(self, name: str, x: Scalar, y: Scalar | None = None) -> Value:
        if name not in SPECIAL or y is not None:
            raise NotLowered(f"the special function {name}")
        return self.b.function(name, _real(x, name))

    def __getattr__(self, name: str) -> Any:
        from thixo.codegen.instructions import FUNCTIONS

        if name not in FUNCTIONS:
            raise AttributeError(name)

        def call(*arguments: Scalar) -> Scalar:
            if len(arguments) == 1 and isinstance(arguments[0], Pair):
                return self._complex(name, arguments[0])
            values = [_real(x, name) for x in arguments]
            if len(values) == 2:
                values = list(self.b.alike(*values))
            if not is_float(values[0].type):
                raise NotLowered(f"{name} of {values[0].type}")
            return self.b.function(name, *values)

        return call
