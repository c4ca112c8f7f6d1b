"""The scalar instructions, on NumPy arrays.

`Pointwise.scalar(k, ...)` says what one element becomes. `k` gives it the instructions that Python's
operators do not: this module's `k` computes them on whole NumPy arrays; a code generator passes its own
object with the same functions and gets a loop body. So a `scalar` uses operators, functions of `k`,
and branches on attributes or on the kind of a value (`k.is_complex(x)`), never on values.

Arguments arrive in the compute dtype (float32 in place of the half types). On booleans, `&`, `|`, `^`
and `~` are logic; on integers they work on bits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from thixo import _core
from thixo.errors import DomainError, ValueRangeError

Array = Any  # a NumPy array or NumPy scalar


def evaluate(scalar: Callable[..., Any], *arguments: Any) -> Any:
    """Run a `scalar` on NumPy arrays; overflow and NaN are values here, not warnings."""
    with np.errstate(all="ignore"):
        return scalar(k, *arguments)


def _kind(x: Array) -> str:
    return np.asarray(x).dtype.kind


def _refuse_zero(operation: str, divisor: Array) -> None:
    if not np.all(divisor):
        raise DomainError(f"{operation}: integer division by zero; other must not contain 0")


# np.where branches at each element, which costs several times more where the condition has no pattern.
_MANY = 4096
_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}  # by size of an element


def _choose(condition: Array, x: Array, y: Array) -> Array:
    """x where the condition holds, else y, by their bits and without branches."""
    mask = np.asarray(condition).astype(x.dtype)
    np.negative(mask, out=mask)  # all bits, or none
    result = np.empty(np.broadcast_shapes(mask.shape, x.shape, y.shape), x.dtype)
    np.bitwise_xor(x, y, out=result)
    result &= mask
    result ^= y
    return result


class NumPyScalars:
    """Each function takes and returns arrays of one dtype unless it says otherwise."""

    # ---- kinds: known before any value is, so `scalar` may branch on them

    def is_complex(self, x: Array) -> bool:
        return _kind(x) == "c"

    def is_floating(self, x: Array) -> bool:
        return _kind(x) == "f"

    def is_integer(self, x: Array) -> bool:
        return _kind(x) in "iu"

    def is_unsigned(self, x: Array) -> bool:
        return _kind(x) == "u"

    def is_bool(self, x: Array) -> bool:
        return _kind(x) == "b"

    # ---- conversion

    def cast(self, x: Array, like: Array) -> Array:
        """x in the dtype of `like`; complex to real drops the imaginary part."""
        target = np.asarray(like).dtype
        if _kind(x) == "c" and target.kind not in "cb":
            x = np.real(x)
        return np.asarray(x).astype(target, copy=False)

    def truth(self, x: Array) -> Array:
        """x != 0 as a boolean."""
        return np.asarray(x).astype(bool, copy=False)

    def constant(self, value: float, like: Array) -> Array:
        """A number in the dtype of `like`; a float is truncated for integers."""
        dtype = np.asarray(like).dtype
        try:
            return dtype.type(value)
        except (OverflowError, TypeError, ValueError):
            raise ValueRangeError(f"the number {value} does not fit into {dtype.name}") from None

    def scale(self, x: Array, factor: float) -> Array:
        """x * factor, and x itself for 1."""
        return x if factor == 1 else x * self.constant(factor, x)

    def real(self, x: Array) -> Array:
        return np.real(x)

    def imag(self, x: Array) -> Array:
        return np.imag(x)

    def conj(self, x: Array) -> Array:
        return np.conj(x)

    def complex(self, real: Array, imag: Array) -> Array:
        real, imag = np.broadcast_arrays(real, imag)
        result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
        result.real = real
        result.imag = imag
        return result

    # ---- choice

    def where(self, condition: Array, x: Array, y: Array) -> Array:
        if np.size(condition) >= _MANY:
            a, b = np.asarray(x), np.asarray(y)
            bits = _BITS.get(a.dtype.itemsize)
            if bits is not None and a.dtype == b.dtype:
                return _choose(condition, a.view(bits), b.view(bits)).view(a.dtype)
        return np.where(condition, x, y)

    def maximum(self, x: Array, y: Array) -> Array:
        """The larger; NaN if either is; x where both are zero, whatever their signs."""
        return np.maximum(y, x)  # vector units give the second of two zeros

    def minimum(self, x: Array, y: Array) -> Array:
        """The smaller; NaN if either is; x where both are zero, whatever their signs."""
        return np.minimum(y, x)

    def fmax(self, x: Array, y: Array) -> Array:
        """The larger; the other one where one is NaN."""
        return np.fmax(x, y)

    def fmin(self, x: Array, y: Array) -> Array:
        """The smaller; the other one where one is NaN."""
        return np.fmin(x, y)

    # ---- tests: booleans

    def isnan(self, x: Array) -> Array:
        return np.isnan(x)

    def isinf(self, x: Array) -> Array:
        return np.isinf(x)

    def isfinite(self, x: Array) -> Array:
        return np.isfinite(x)

    def signbit(self, x: Array) -> Array:
        """Whether the sign bit is set: true for -0.0; for integers x < 0."""
        return np.signbit(x) if _kind(x) == "f" else np.less(x, 0)

    # ---- rounding and signs

    def abs(self, x: Array) -> Array:
        """Complex gives the real modulus."""
        return np.abs(x)

    def sign(self, x: Array) -> Array:
        """-1, 0 or 1; NaN gives 0. Complex gives x / |x|, 0 at 0."""
        if _kind(x) == "f":
            return np.where(np.isnan(x), np.zeros_like(x), np.sign(x))
        return np.sign(x) if _kind(x) != "b" else x

    def copysign(self, magnitude: Array, sign: Array) -> Array:
        return np.copysign(magnitude, sign)

    def floor(self, x: Array) -> Array:
        return np.floor(x)

    def ceil(self, x: Array) -> Array:
        return np.ceil(x)

    def trunc(self, x: Array) -> Array:
        return np.trunc(x)

    def round(self, x: Array) -> Array:
        """To the nearest integer, halves to even."""
        return np.rint(x) if _kind(x) in "fc" else x

    def nextafter(self, x: Array, y: Array) -> Array:
        return np.nextafter(x, y)

    # ---- division

    def fmod(self, x: Array, y: Array) -> Array:
        """What truncated division leaves: the sign of x."""
        if _kind(y) in "biu":
            _refuse_zero("fmod", y)
        return np.fmod(x, y)

    def remainder(self, x: Array, y: Array) -> Array:
        """What floored division leaves: the sign of y."""
        if _kind(y) in "biu":
            _refuse_zero("remainder", y)
        return np.remainder(x, y)

    def floordiv(self, x: Array, y: Array) -> Array:
        if _kind(y) in "biu":
            _refuse_zero("floor_divide", y)
        return np.floor_divide(x, y)

    def truncdiv(self, x: Array, y: Array) -> Array:
        """The quotient rounded towards zero."""
        if _kind(y) not in "biu":
            return np.trunc(np.true_divide(x, y))
        _refuse_zero("div", y)
        quotient = np.floor_divide(x, y)
        # floored and truncated quotients differ by one where the signs differ and something is left
        rest = np.remainder(x, y)
        return quotient + ((rest != 0) & ((x < 0) != (y < 0))).astype(quotient.dtype)

    def gcd(self, x: Array, y: Array) -> Array:
        return np.gcd(x, y)

    # ---- bits of integers

    def shift_left(self, x: Array, bits: Array) -> Array:
        """0 where bits is negative or at least the width."""
        return np.left_shift(x, bits)

    def shift_right(self, x: Array, bits: Array) -> Array:
        """Copies the sign bit; all of it where bits is negative or at least the width."""
        return np.right_shift(x, bits)

    # ---- powers, exponentials, logarithms

    def sqrt(self, x: Array) -> Array:
        return np.sqrt(x)

    def pow(self, x: Array, y: Array) -> Array:
        """Integers to a negative power are truncated: 0, except for bases 1 and -1."""
        if _kind(x) != "i" or not np.any(np.less(y, 0)):
            return np.power(x, y)
        odd = np.asarray(y) & 1
        inverse = np.where(np.equal(x, 1), 1, np.where(np.equal(x, -1), 1 - 2 * odd, 0))
        return np.where(np.less(y, 0), inverse.astype(x.dtype), np.power(x, np.maximum(y, 0)))

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def exp2(self, x: Array) -> Array:
        return np.exp2(x)

    def expm1(self, x: Array) -> Array:
        y = np.expm1(x)
        if _kind(x) != "c":
            return y
        return np.where(
            np.isfinite(x), y, np.exp(x) - 1
        )  # at infinities NumPy multiplies 0 and inf

    def log(self, x: Array) -> Array:
        return np.log(x)

    def log2(self, x: Array) -> Array:
        return np.log2(x)

    def log10(self, x: Array) -> Array:
        if _kind(x) == "f" and x.dtype.itemsize == 4:  # NumPy's own is an ulp off at powers of ten
            return np.log10(x, dtype=np.float64).astype(np.float32)
        return np.log10(x)

    def log1p(self, x: Array) -> Array:
        if _kind(x) != "c":
            return np.log1p(x)
        # log|1 + x| from |1 + x|^2 - 1, which keeps the digits of a small x
        re, im = np.real(x), np.imag(x)
        near = 0.5 * np.log1p(re * (2 + re) + im * im)
        far = np.log(np.hypot(re + 1, im))
        return self.complex(np.where(np.abs(x) < 0.5, near, far), np.arctan2(im, re + 1))

    # ---- circles and hyperbolas

    def sin(self, x: Array) -> Array:
        return np.sin(x)

    def cos(self, x: Array) -> Array:
        return np.cos(x)

    def tan(self, x: Array) -> Array:
        return np.tan(x)

    def asin(self, x: Array) -> Array:
        return np.arcsin(x)

    def acos(self, x: Array) -> Array:
        return np.arccos(x)

    def atan(self, x: Array) -> Array:
        return np.arctan(x)

    def atan2(self, y: Array, x: Array) -> Array:
        return np.arctan2(y, x)

    def hypot(self, x: Array, y: Array) -> Array:
        return np.hypot(x, y)

    def sinh(self, x: Array) -> Array:
        return np.sinh(x)

    def cosh(self, x: Array) -> Array:
        return np.cosh(x)

    def tanh(self, x: Array) -> Array:
        return np.tanh(x)

    def asinh(self, x: Array) -> Array:
        return np.arcsinh(x)

    def acosh(self, x: Array) -> Array:
        return np.arccosh(x)

    def atanh(self, x: Array) -> Array:
        return np.arctanh(x)

    # ---- special functions of the native library, by name

    def special(self, name: str, x: Array, y: Array | None = None) -> Array:
        """erf, lgamma, igamma...: see `thixo._core.special1` and `special2`."""
        if y is None:
            return _core.special1(name, np.asarray(x))
        return _core.special2(name, *np.broadcast_arrays(x, y))


k = NumPyScalars()
