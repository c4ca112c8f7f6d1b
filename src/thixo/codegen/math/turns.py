"""The angle that is left of a large argument after all whole turns.

Only the digits of 1 / (2 pi) below a certain place matter for it: those above give whole turns.
"""

from __future__ import annotations

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import PI, TURN_CHUNKS, TURN_WORDS
from thixo.codegen.math.formats import INF, NAN

_LIMBS = 6  # of 32 bits, of the digits that matter: 53 for the argument, and 139 beyond


def turned(b: Builder, x: Value, per_pi: int, shift: float) -> tuple[Value, Value]:
    """R, and an integer whose lowest bit is that of n, where x = (n + shift) pi / per_pi + r."""
    r, n = (_short if x.type == "f32" else _long)(b, x, per_pi, shift)
    return b.select(abs(x) < INF, r, b.constant(NAN, x.type)), n


def _short(b: Builder, x: Value, per_pi: int, shift: float) -> tuple[Value, Value]:
    """For float32, in float64: times each chunk of the digits is exact, and so is taking away whole turns."""
    wide = x.cast("f64")
    total = b.constant(0.0, "f64")
    for chunk in TURN_CHUNKS:
        product = wide * chunk
        total = total + (product - b.emit("rint", product))
    steps = 2.0 * per_pi
    n = b.emit("rint", b.fma(total, steps, -shift))
    rest = b.fma(n + shift, -1.0 / steps, total)
    # n is small, so a large number added has it in its low bits
    held = (n + 1.5 * 2.0**52).bits("i64").cast("i32")
    return (rest * (2.0 * PI["f64"][0])).cast("f32"), held


def _long(b: Builder, x: Value, per_pi: int, shift: float) -> tuple[Value, Value]:
    """For float64, in integers: the product of the fraction and the digits that matter, modulo 1."""
    whole = "u64"

    def c(number: int) -> Value:
        return b.constant(number, whole)

    bits = x.bits(whole)
    low_mask = c(0xFFFFFFFF)
    exponent = ((bits >> c(52)) & c(0x7FF)) - c(
        1075 - 32
    )  # of the last bit; the words begin with 32 zeros
    mantissa = (bits & c((1 << 52) - 1)) | c(1 << 52)
    # The words from `exponent / 32` on: halve what is left to choose from, five times.
    words = [c(w) for w in TURN_WORDS]
    for level in (4, 3, 2, 1, 0):
        step = 1 << level
        chosen = ((exponent >> c(5 + level)) & c(1)) != c(0)
        count = _LIMBS + 1 + step - 1
        words = [b.select(chosen, words[i + step], words[i]) for i in range(count)]
    shift_by = c(32) - (exponent & c(31))
    limbs = [(((words[i] << c(32)) | words[i + 1]) >> shift_by) & low_mask for i in range(_LIMBS)]
    # Times the mantissa; what is carried over the top is whole turns.
    m0, m1 = mantissa & low_mask, mantissa >> c(32)
    by0, by1 = [limb * m0 for limb in limbs], [limb * m1 for limb in limbs]
    carry = c(0)
    fraction: list[Value] = []
    for i in (3, 2, 1, 0):
        column = (
            (by0[i] & low_mask)
            + (by0[i + 1] >> c(32))
            + (by1[i + 1] & low_mask)
            + (by1[i + 2] >> c(32))
            + carry
        )
        fraction.insert(0, column & low_mask)
        carry = column >> c(32)
    top = (fraction[0] << c(32)) | fraction[1]
    # To the nearest step: pi / per_pi is 2^(63 - k) of 2^64 in a turn.
    place = 64 - per_pi  # 63 for half turns, 62 for quarters
    offset = int(shift * (1 << place))
    moved = top - c(offset)
    n = (moved + c(1 << place - 1)) >> c(place)
    rest = (moved - (n << c(place))).bits("i64")
    high, low = rest >> 32, rest.bits(whole) & low_mask
    r = (fraction[2].cast("f64") * 2.0**-32) + low.cast("f64") + fraction[3].cast("f64") * 2.0**-64
    r = b.fma(high.cast("f64"), 2.0**32, r) * 2.0**-64 * (2.0 * PI["f64"][0])
    negative = bits >> c(63) != c(0)
    # For -x: r and n change sign, and with a shift n becomes -n - 1.
    n = b.select(negative, ~n, n) if shift else n
    return b.select(negative, -r, r), n.bits("i64")
