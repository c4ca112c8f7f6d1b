"""erf, erfc, ndtr and erfinv."""

from __future__ import annotations

import math

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LN2_SHORT, LOG2_E, TABLES
from thixo.codegen.math.exponentials import exp_pieces, remainder, small_expm1, whole_powers
from thixo.codegen.math.formats import (
    INF,
    NAN,
    alone,
    at_most,
    format_of,
    polynomial,
    rarely,
    sign_of,
    with_sign,
)
from thixo.codegen.math.logarithms import natural, split
from thixo.codegen.math.normal_cells import NDTR_CELLS, NDTR_NEAR

ROOT_2 = math.sqrt(2)
# From here erf rounds to 1, and erfc to 0; the fits go as far.
FLAT = {"f32": 3.9375, "f64": 5.9375}
GONE = {"f32": 10.25, "f64": 27.5}
# Below this size ndtr has a table of its own: 32 cells, whose multiples are exact.
CELL = 13 / 64
NEAR = 31 * CELL
ERF = {"f32": "ERF", "f64": "ERF_WIDE"}
# (size + shift) exp(...) of the tail is a polynomial in t = (size - shift) / (size + shift). Last, at 0, how fast the
# tail falls.
ERFC = {"f32": ("ERFC", 2.0, 1.13), "f64": ("ERFC_WIDE", 3.0, 1.13)}
NDTR = {"f64": ("NDTR_WIDE", 4.0, 0.8)}
# How far the first fit of erfinv goes in w = -log(1 - x^2), with its table; those of sqrt(w) beyond, with their middles.
ERFINV = {"f32": (5.0, "ERFINV"), "f64": (6.25, "ERFINV_WIDE")}
ERFINV_TAIL = {"f32": (3.125, "ERFINV_TAIL"), "f64": (3.25, "ERFINV_TAIL_WIDE")}
ERFINV_END = (16.0, 5.0, "ERFINV_END_WIDE")


def erf(b: Builder, x: Value) -> Value:
    """1 - erfc(|x|), whose logarithm is smooth enough for one polynomial: -expm1(-|x| - |x| q(|x|))."""
    f = format_of(x)
    size = at_most(b, abs(x), FLAT[x.type])
    q = polynomial(b, size, [-c for c in TABLES[ERF[x.type]][x.type]])
    w = b.fma(size, q, -size)
    n, held = whole_powers(b, w, LOG2_E[x.type][0], f.bias)
    p = small_expm1(b, remainder(b, w, n))
    power = (held.bits(f.whole) << f.fraction).bits(x.type)
    return with_sign(b, abs(b.fma(power, p, power - 1.0)), sign_of(b, x))


def erfc(b: Builder, x: Value) -> Value:
    """Its tail, or 2 less that for negative x."""
    size = at_most(b, abs(x), GONE[x.type])
    square = size * size
    y = _tail(b, size, square, b.fma(size, size, -square), *ERFC[x.type])
    return b.select(x < 0.0, 2.0 - y, y)


def ndtr(b: Builder, x: Value) -> Value:
    """The normal distribution, erfc(-x / sqrt(2)) / 2."""
    if x.type == "f32":
        size = abs(x)
        # Above it the result is 1, and what the last cell says is less than a last bit of that.
        usual = _near_tail(b, at_most(b, size, NEAR))
        y = rarely(b, ~(x > -NEAR), alone("f32", _short_tail), usual, size)
        return b.select(x > 0.0, 1.0 - y, y)
    size = at_most(b, abs(x), GONE[x.type] * ROOT_2)
    half = size * 0.5
    square = size * half
    y = _tail(b, size, square, b.fma(size, half, -square), *NDTR[x.type])
    y = b.select(size == 0.0, b.constant(0.5, x.type), y)
    return b.select(x > 0.0, 1.0 - y, y)


def erfinv(b: Builder, x: Value) -> Value:
    """X times a polynomial in w = -log(1 - x^2); of its root near -1 and 1, where the root is nearly the result."""
    limit, table = ERFINV[x.type]
    rest = b.fma(-x, x, 1.0)
    w = -natural(b, *split(b, rest))
    usual = x * polynomial(b, w - limit / 2, TABLES[table][x.type])
    far = ~(rest > math.exp(-limit))
    return rarely(b, far, alone(x.type, _inverse_tail), usual, x)


def _inverse_tail(b: Builder, x: Value) -> Value:
    """Erfinv where |x| is near 1, and what it is from there on."""
    size = abs(x)
    w = -natural(b, *split(b, b.fma(-size, size, 1.0)))
    root = b.emit("sqrt", w)
    middle, table = ERFINV_TAIL[x.type]
    q = polynomial(b, root - middle, TABLES[table][x.type])
    if x.type == "f64":
        limit, middle, table = ERFINV_END
        q = b.select(w > limit, polynomial(b, root - middle, TABLES[table][x.type]), q)
    end = b.select(size == 1.0, b.constant(INF, x.type), b.constant(NAN, x.type))
    return with_sign(b, b.select(size < 1.0, size * q, end), sign_of(b, x))


def _near_tail(b: Builder, size: Value) -> Value:
    """ndtr(-size) in float32, of sizes that are usual: a polynomial for each cell."""
    f = format_of(size)
    held = b.fma(size, 1 / CELL, f.magic)
    step = b.fma(held - f.magic, -CELL, size)
    place = held.bits(f.whole)
    y = b.lookup(NDTR_NEAR[-1], place, "f32")
    for table in reversed(NDTR_NEAR[:-1]):
        y = b.fma(y, step, b.lookup(table, place, "f32"))
    return y


def _short_tail(b: Builder, size: Value) -> Value:
    """ndtr(-size) in float32, of all sizes: exp(-size^2 / 2) times a polynomial of its own for each of 32 cells.

    Cells are eighths of the powers of two from 1 to 16, of size + 1.
    """
    size = at_most(b, size, GONE["f32"] * ROOT_2)
    half = size * 0.5
    n, _ = whole_powers(b, size * half, -LOG2_E["f32"][0], 0)
    # n times the first part of log 2 is exact, so nothing of the square is lost
    r = b.fma(-size, half, n * -LN2_SHORT[0])
    r = b.fma(n, -LN2_SHORT[1], r)
    p = b.fma(polynomial(b, r, TABLES["EXP"]["f32"]), r, 1.0) * r
    bits = (size + 1.0).bits("i32")
    middle = (bits & (-1 << 20) | (1 << 19)).bits("f32")
    step = size - (middle - 1.0)
    place = bits >> 20
    y = b.lookup(NDTR_CELLS[-1], place, "f32")
    for table in reversed(NDTR_CELLS[:-1]):
        y = b.fma(y, step, b.lookup(table, place, "f32"))
    return b.emit("scale", b.fma(y, p, y), n)


def _tail(
    b: Builder, size: Value, square: Value, lost: Value, table: str, shift: float, fall: float
) -> Value:
    """exp(-square - lost) q(t) / (size + shift), for a size that is not negative.

    What rounding takes from the inverse, from q and from the exponential is small, so it is added up and comes in last.
    """
    p, n = exp_pieces(b, -square, lost, less_one=True)
    total = size + shift
    inverse = 1.0 / total
    t = b.fma(inverse, -2.0 * shift, 1.0)
    constant, *others = TABLES[table][size.type]
    rest = polynomial(b, t, others)
    q = b.fma(rest, t, constant)
    q_low = b.fma(rest, t, constant - q)
    # 1 - inverse * (size + shift); the tail changes by as much for large sizes, by more for small ones
    rounded_off = size - (total - shift)  # exact: the shift has few digits
    off = b.fma(-inverse, rounded_off, b.fma(-inverse, total, 1.0))
    more = shift * fall
    off = off * b.fma(t, (1 - more) / 2, (1 + more) / 2)
    whole = q + b.fma(q, off + p, q_low)
    return b.emit("scale", inverse * whole, n)
