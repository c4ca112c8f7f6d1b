"""exp, exp2, expm1.

x = n log 2 + r with |r| <= log(2)/2; a polynomial gives exp(r). n is found by adding a large number, whose
low bits then hold it.
"""

from __future__ import annotations

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LN2, LOG2_E, TABLES
from thixo.codegen.math.formats import at_least, at_most, format_of, polynomial, sign_of, with_sign

# Beyond these exp is infinite, or rounds to zero.
HIGHEST = {"f32": 89.0, "f64": 710.0}
LOWEST = {"f32": -104.0, "f64": -746.0}
# Beyond these 2^x is.
HIGHEST2 = {"f32": 129.0, "f64": 1025.0}
LOWEST2 = {"f32": -151.0, "f64": -1076.0}
# Below these expm1 rounds to -1.
FLAT = {"f32": -18.0, "f64": -38.0}


def whole_powers(b: Builder, x: Value, per_power: float, bias: int) -> tuple[Value, Value]:
    """The integer nearest to x * per_power, as a float, and a float whose low bits hold it, `bias` added."""
    magic = format_of(x).magic + bias
    held = b.fma(x, per_power, magic)
    return held - magic, held


def remainder(b: Builder, x: Value, n: Value) -> Value:
    """X - n log 2."""
    high, low = LN2[x.type]
    return b.fma(n, -low, b.fma(n, -high, x))


def exp_pieces(
    b: Builder, x: Value, less: Value | None = None, less_one: bool = False
) -> tuple[Value, Value]:
    """exp(r), or 1 less, and n; x must be within the limits. `less` is a small number to be taken from x."""
    n, _ = whole_powers(b, x, LOG2_E[x.type][0], 0)
    r = remainder(b, x, n)
    if less is not None:
        r = r - less
    q = polynomial(b, r, TABLES["EXP"][x.type])
    y = b.fma(q, r, 1.0)
    return (y * r if less_one else b.fma(y, r, 1.0)), n


def exp(b: Builder, x: Value) -> Value:
    """E to the power of x."""
    x = at_most(b, at_least(b, x, LOWEST[x.type]), HIGHEST[x.type])
    return b.emit("scale", *exp_pieces(b, x))


def exp2(b: Builder, x: Value) -> Value:
    """2 to the power of x."""
    x = at_most(b, at_least(b, x, LOWEST2[x.type]), HIGHEST2[x.type])
    magic = format_of(x).magic
    n = (x + magic) - magic
    r = x - n
    return b.emit("scale", b.fma(polynomial(b, r, TABLES["EXP2"][x.type]), r, 1.0), n)


def small_expm1(b: Builder, r: Value) -> Value:
    """expm1(r) for |r| <= log(2)/2."""
    square = r * r
    return b.fma(polynomial(b, r, TABLES["EXPM1"][r.type], square), square, r)


def expm1(b: Builder, x: Value) -> Value:
    """exp(x) - 1, exact also for small x: 2^n expm1(r) + (2^n - 1)."""
    f = format_of(x)
    sign = sign_of(b, x)
    x = at_most(b, at_least(b, x, FLAT[x.type]), HIGHEST[x.type])
    n, held = whole_powers(b, x, LOG2_E[x.type][0], f.bias - 1)
    p = small_expm1(b, remainder(b, x, n))
    half = (held.bits(f.whole) << f.fraction).bits(x.type)  # 2^(n - 1), which never overflows
    y = b.fma(half, p, half - 0.5)
    return with_sign(b, b.select(n == 0.0, p, y + y), sign)
