"""Fit the polynomials of the mathematical functions and write them to codegen/math/coefficients.py (and normal_cells.py).

python tools/fit_polynomials.py [NAME ...]     fit these (all without names), keep the others; "-" only writes

Each is the polynomial of its degree with the least largest weighted error on its interval (Remez' exchange on a
dense grid, in 50 digits). The weights make it the relative error of the function. The lowest coefficients matter
most, so they are rounded to the type first, one by one, and what is left is fitted anew each time.
"""

import pprint
import runpy
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 50
TARGET = Path(__file__).parent.parent / "src/thixo/codegen/math/coefficients.py"
CELLS = TARGET.with_name("normal_cells.py")
Function = Callable[[Any], Any]


@dataclass
class Fit:
    """target(x) by a polynomial in x; its error counts `weight(x)` times."""

    what: str
    target: Function
    weight: Function
    low: Any
    high: Any
    degree: dict[str, int]  # per type


def rounded(x: Any, type: str) -> Any:
    return mp.mpf(float(np.float32(float(x))) if type == "f32" else float(x))


def grid(low: Any, high: Any, count: int) -> list[Any]:
    """Points as Chebyshev has them; an even number, so that 0 is none of them."""
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    return [middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count) for i in range(count)]


def horner(coefficients: list[Any], x: Any) -> Any:
    value = mp.mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def exchange(
    xs: list[Any], gs: list[Any], ws: list[Any], first: int, count: int
) -> tuple[list[Any], Any]:
    """Coefficients of x**first ... with the least largest |w (g - p)| on the grid, and that error."""
    need = count + 1
    chosen = sorted(
        {round((len(xs) - 1) * (1 - mp.cos(mp.pi * i / (need - 1))) / 2) for i in range(need)}
    )
    spare = [i for i in range(len(xs)) if i not in chosen]
    chosen = sorted(chosen + spare[: need - len(chosen)])
    best: tuple[list[Any], Any] | None = None
    for _ in range(25):
        matrix, right = mp.matrix(need), mp.matrix(need, 1)
        for row, i in enumerate(chosen):
            power = xs[i] ** first
            for column in range(count):
                matrix[row, column] = power
                power *= xs[i]
            matrix[row, count] = (-1) ** row / ws[i]
            right[row] = gs[i]
        solved = mp.lu_solve(matrix, right)
        coefficients, level = list(solved[:count]), abs(solved[count])
        errors = [
            w * (g - x**first * horner(coefficients, x)) for x, g, w in zip(xs, gs, ws, strict=True)
        ]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = coefficients, worst
        if worst <= level * mp.mpf("1.01"):
            break
        # the largest of each run of one sign
        peaks: list[int] = []
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > need:
            if len(peaks) == need + 1 or abs(errors[peaks[0]]) < abs(errors[peaks[-1]]):
                peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
            else:
                peaks.pop()
        if len(peaks) < need:
            break
        chosen = peaks
    assert best is not None
    return best


def fit(one: Fit, type: str) -> tuple[list[float], float]:
    """The best of those that round some of the lowest coefficients before they fit the others."""
    count = one.degree[type] + 1
    xs = grid(one.low, one.high, max(120, 16 * count))
    gs, ws = [one.target(x) for x in xs], [one.weight(x) for x in xs]
    tried = []
    for early in range(count) if type == "f32" else range(4):
        done: list[Any] = []
        rest = list(gs)
        while len(done) < count:
            made, _ = exchange(xs, rest, ws, len(done), count - len(done))
            for c in made[: 1 if len(done) < early else len(made)]:
                c, power = rounded(c, type), len(done)
                rest = [g - c * x**power for g, x in zip(rest, xs, strict=True)]
                done.append(c)
        error = max(abs(w * (g - horner(done, x))) for x, g, w in zip(xs, gs, ws, strict=True))
        tried.append((float(error), [float(c) for c in done]))
    error, coefficients = min(tried)
    return coefficients, error


def number(x: str) -> Any:
    return mp.mpf(x)


def even(f: Function) -> Function:
    """A function of z = x * x from one of x."""
    return lambda z: f(mp.sqrt(z))


LN2 = mp.log(2)
HALF = (
    LN2 / 2 * mp.mpf("1.0001")
)  # what is left after whole powers of two, and a little for rounding
BELOW, ABOVE = mp.mpf("-0.25"), mp.mpf("0.5")
PI = mp.pi * mp.mpf("1.01")  # whole turns are found by a rounded quotient


def survival(a: Any) -> Any:
    return -mp.log(mp.erfc(a)) / a - 1


def erf_fit(high: float, degree: dict[str, int]) -> Fit:
    return Fit(
        f"erf(a) = 1 - exp(-a - a q(a)), 0 <= a <= {high}",
        survival, lambda a: a * mp.erfc(a) / mp.erf(a), number("1e-30"), mp.mpf(high), degree,
    )  # fmt: skip


def tail_fit(what: str, scaled: Function, shift: float, high: float, degree: dict[str, int]) -> Fit:
    """Of a tail without its exponential, which falls like 1 / x."""

    def lifted(t: Any) -> Any:
        x = shift * (1 + t) / (1 - t)
        return scaled(x) * (x + shift)

    return Fit(
        f"(x + {shift}) {what} = q(t), t = (x - {shift}) / (x + {shift}), 0 <= x <= {high}",
        lifted, lambda t: 1 / lifted(t), mp.mpf(-1), (mp.mpf(high) - shift) / (mp.mpf(high) + shift), degree,
    )  # fmt: skip


def erfc_fit(shift: float, high: float, degree: dict[str, int]) -> Fit:
    return tail_fit("exp(x^2) erfc(x)", lambda x: mp.exp(x * x) * mp.erfc(x), shift, high, degree)


def ndtr_fit(shift: float, high: float, degree: dict[str, int]) -> Fit:
    def scaled(x: Any) -> Any:
        return mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2)) / 2

    return tail_fit("exp(x^2 / 2) ndtr(-x)", scaled, shift, high, degree)


def inverse_fit(high: float, degree: dict[str, int]) -> Fit:
    def ratio(v: Any) -> Any:
        x = mp.sqrt(-mp.expm1(-(v + mp.mpf(high) / 2)))
        return mp.erfinv(x) / x

    return Fit(
        f"erfinv(x) = x q(w - {high / 2}), w = -log(1 - x^2), 0 <= w <= {high}",
        ratio, lambda v: 1 / ratio(v), number("1e-30") - mp.mpf(high) / 2, mp.mpf(high) / 2, degree,
    )  # fmt: skip


def inverse_tail_fit(low: float, middle: float, high: float, degree: dict[str, int]) -> Fit:
    def ratio(v: Any) -> Any:
        x = mp.sqrt(-mp.expm1(-((v + middle) ** 2)))
        return mp.erfinv(x) / x

    return Fit(
        f"erfinv(x) = x q(s - {middle}), s = sqrt(-log(1 - x^2)), {low} <= s^2, s <= {high}",
        ratio, lambda v: 1 / ratio(v), mp.sqrt(mp.mpf(low)) * mp.mpf("0.9999") - middle, mp.mpf(high) - middle, degree,
    )  # fmt: skip


GAMMA_MIDDLE = mp.mpf("0.625")


def gamma_fit(degree: dict[str, int]) -> Fit:
    def smooth(u: Any) -> Any:
        a = u + GAMMA_MIDDLE
        return mp.loggamma(a + 1) / (a * (a - 1))

    return Fit(
        "lgamma(1 + a) = a (a - 1) q(a - 0.625), -0.125 <= a <= 1.375",
        smooth, lambda u: 1 / smooth(u), mp.mpf("-0.75001"), mp.mpf("0.75001"), degree,
    )  # fmt: skip


def stirling_fit(degree: dict[str, int]) -> Fit:
    def rest(z: Any) -> Any:
        x = 1 / mp.sqrt(z)
        mp.mp.dps = 80  # what is left is small beside the others
        found = (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x
        mp.mp.dps = 50
        return found

    return Fit(
        "lgamma(x) = (x - 1/2) log(x) - x + log(2 pi) / 2 + q(1 / x^2) / x, 8.5 <= x",
        rest, lambda z: mp.sqrt(z) / mp.loggamma(1 / mp.sqrt(z)), number("1e-12"), 1 / mp.mpf("8.5") ** 2, degree,
    )  # fmt: skip


FITS: dict[str, Fit] = {
    "EXP": Fit("exp(r) = 1 + r + r^2 q(r), |r| <= log(2)/2",
               lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r**2 / mp.exp(r), -HALF, HALF, {"f32": 4, "f64": 9}),
    "EXPM1": Fit("expm1(r) = r + r^2 q(r), |r| <= log(2)/2",
                 lambda r: (mp.expm1(r) - r) / r**2, lambda r: abs(r**2 / mp.expm1(r)), -HALF, HALF,
                 {"f32": 5, "f64": 9}),
    "TWICE": Fit("expm1(2 r) = 2 r + r^2 q(r), |r| <= log(2)/4",
                 lambda r: (mp.expm1(2 * r) - 2 * r) / r**2, lambda r: abs(r**2 / mp.expm1(2 * r)),
                 -HALF / 2, HALF / 2, {"f32": 4, "f64": 9}),
    "EXP2": Fit("2^r = 1 + r q(r), |r| <= 1/2",
                lambda r: (2**r - 1) / r, lambda r: abs(r) / 2**r, number("-0.5"), number("0.5"), {"f32": 5, "f64": 10}),
    "LOG": Fit("log(1 + f) = f + f^2 q(f), 3/4 <= 1 + f <= 3/2",
               lambda f: (mp.log1p(f) - f) / f**2, lambda f: abs(f**2 / mp.log1p(f)), BELOW, ABOVE, {"f32": 7, "f64": 20}),
    "LOG2": Fit("log2(1 + f) = f + f q(f), 3/4 <= 1 + f <= 3/2",
                lambda f: mp.log1p(f) / LN2 / f - 1, lambda f: abs(f * LN2 / mp.log1p(f)), BELOW, ABOVE,
                {"f32": 9, "f64": 21}),
    "LOG10": Fit("log10(1 + f) = f / 2 + f q(f), 3/4 <= 1 + f <= 3/2",
                 lambda f: mp.log1p(f) / mp.log(10) / f - mp.mpf(1) / 2, lambda f: abs(f * mp.log(10) / mp.log1p(f)),
                 BELOW, ABOVE, {"f32": 9, "f64": 21}),
    "SIN": Fit("sin(r) = r + r^3 q(r^2), |r| <= pi/2",
               even(lambda r: (mp.sin(r) - r) / r**3), even(lambda r: r**3 / mp.sin(r)), number("1e-30"), (PI / 2) ** 2,
               {"f32": 3, "f64": 7}),
    "TAN": Fit("tan(r) = r + r^3 q(r^2), |r| <= pi/4",
               even(lambda r: (mp.tan(r) - r) / r**3), even(lambda r: r**3 / mp.tan(r)), number("1e-30"), (PI / 4) ** 2,
               {"f32": 6, "f64": 14}),
    "ASIN": Fit("asin(x) = x + x^3 q(x^2), |x| <= 1/2",
                even(lambda x: (mp.asin(x) - x) / x**3), even(lambda x: x**3 / mp.asin(x)), number("1e-30"), number("0.25"),
                {"f32": 4, "f64": 12}),
    "ATAN": Fit("atan(x) = x + x^3 q(x^2), |x| <= 1",
                even(lambda x: (mp.atan(x) - x) / x**3), even(lambda x: x**3 / mp.atan(x)), number("1e-30"), number("1"),
                {"f32": 8, "f64": 20}),
    "SINH": Fit("sinh(r) = r + r^3 q(r^2), |r| <= log(2)/2",
                even(lambda r: (mp.sinh(r) - r) / r**3), even(lambda r: r**3 / mp.sinh(r)), number("1e-30"), HALF**2,
                {"f32": 2, "f64": 5}),
    "COSH": Fit("cosh(r) = 1 + r^2 q(r^2), |r| <= log(2)/2",
                even(lambda r: (mp.cosh(r) - 1) / r**2), even(lambda r: r**2 / mp.cosh(r)), number("1e-30"), HALF**2,
                {"f32": 2, "f64": 5}),
    "ERF": erf_fit(3.9375, {"f32": 8}),
    "ERF_WIDE": erf_fit(5.9375, {"f64": 25}),
    "ERFC": erfc_fit(2.0, 10.25, {"f32": 10}),
    "ERFC_WIDE": erfc_fit(3.0, 27.5, {"f64": 23}),
    "NDTR_WIDE": ndtr_fit(4.0, 38.9, {"f64": 23}),
    "ERFINV": inverse_fit(5.0, {"f32": 10}),
    "ERFINV_WIDE": inverse_fit(6.25, {"f64": 24}),
    "ERFINV_TAIL": inverse_tail_fit(5.0, 3.125, 4.0, {"f32": 9}),
    "ERFINV_TAIL_WIDE": inverse_tail_fit(6.25, 3.25, 4.01, {"f64": 20}),
    "ERFINV_END_WIDE": inverse_tail_fit(16.0, 5.0, 6.07, {"f64": 18}),
    "LGAMMA": gamma_fit({"f64": 26}),
    "LGAMMA_SHORT": gamma_fit({"f64": 11}),
    "STIRLING": stirling_fit({"f64": 4}),
    "STIRLING_SHORT": stirling_fit({"f64": 1}),
    "POWER_LOG2": Fit("log2(1 + f) = f q(f), for powers of float32",
                      lambda f: mp.log1p(f) / LN2 / f, lambda f: abs(f * LN2 / mp.log1p(f)), BELOW, ABOVE, {"f64": 13}),
    "POWER_EXP2": Fit("2^r = q(r), |r| <= 1/2, for powers of float32",
                      lambda r: 2**r, lambda r: 1 / 2**r, number("-0.5"), number("0.5"), {"f64": 7}),
    "POWER_ATANH": Fit("atanh(s) = s + s^3 / 3 + s^5 q(s^2), |s| <= 1/5",
                       even(lambda s: (mp.atanh(s) - s - s**3 / 3) / s**5), even(lambda s: s**5 / mp.atanh(s)),
                       number("1e-16"), mp.mpf("0.0401"), {"f64": 8}),
}  # fmt: skip


def pieces(x: Any, type: str, count: int) -> tuple[float, ...]:
    """A number as a sum of floats, each the best for what is left."""
    made = []
    for _ in range(count):
        made.append(rounded(x, type))
        x -= made[-1]
    return tuple(float(c) for c in made)


def constants() -> dict[str, Any]:
    """Numbers that are needed to more digits than a float has."""
    mp.mp.dps = 500
    known = {"LN2": (mp.log(2), 2), "LOG2_E": (1 / mp.log(2), 2), "LOG10_2": (mp.log10(2), 2), "PI": (+mp.pi, 3),
             "THIRD": (mp.mpf(1) / 3, 2), "LOG2_E_TWICE": (2 / mp.log(2), 2)}  # fmt: skip
    made: dict[str, Any] = {
        name: {type: pieces(x, type, count) for type in ("f32", "f64")}
        for name, (x, count) in known.items()
    }
    turn = 1 / (2 * mp.pi)
    # 29 bits each: times a float32 exact in float64
    made["TURN_CHUNKS"] = tuple(
        float(mp.ldexp(int(mp.floor(mp.ldexp(turn, 29 * (i + 1)))) % (1 << 29), -29 * (i + 1)))
        for i in range(7)
    )
    # 32 bits each, after 32 bits that are 0
    made["TURN_WORDS"] = (
        0,
        *(int(mp.floor(mp.ldexp(turn, 32 * (i + 1)))) % (1 << 32) for i in range(39)),
    )
    mp.mp.dps = 50
    # log 2 in two floats, of which the first has few digits
    high = mp.floor(mp.log(2) * 2**14) / 2**14
    made["LN2_SHORT"] = (float(high), float(rounded(mp.log(2) - high, "f32")))
    return made


def ndtr_near() -> tuple[tuple[float, ...], ...]:
    """ndtr(-s) around each multiple of 13/64 up to 31 of them: coefficients of what s has more."""
    degree, half = 6, mp.mpf(13) / 128
    cells = []
    for number in range(32):
        middle = mp.mpf(number) * 13 / 64
        points = [
            half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / (degree + 1)) for i in range(degree + 1)
        ]
        # the constant is the value itself, rounded: the others make up for it
        first = rounded(mp.erfc(middle / mp.sqrt(2)) / 2, "f32")
        matrix, right = mp.matrix(degree + 1, degree), mp.matrix(degree + 1, 1)
        for row, p in enumerate(points):
            right[row] = mp.erfc((middle + p) / mp.sqrt(2)) / 2 - first
            for column in range(degree):
                matrix[row, column] = p ** (column + 1)
        solved = mp.lu_solve(matrix, right)  # the least squares
        # Around 0 even powers are next to nothing, and numbers below the normal ones are slow to add.
        made = [mp.mpf(0) if abs(c) < 1e-30 else c for c in solved]
        cells.append([float(first), *(float(rounded(c, "f32")) for c in made)])
    return tuple(zip(*cells, strict=True))


def ndtr_cells() -> tuple[tuple[float, ...], ...]:
    """exp(s^2 / 2) ndtr(-s) in 32 cells of s + 1, eighths of powers of two: coefficients of s less the cell's middle.

    Interpolation at Chebyshev's points: by far exact enough. A cell's place is the low five bits of its float's upper
    twelve.
    """
    degree = 5
    cells: list[list[float]] = [[]] * 32
    for octave in range(4):
        for eighth in range(8):
            half = mp.mpf(2) ** octave / 16
            middle = mp.mpf(2) ** octave * (1 + mp.mpf(2 * eighth + 1) / 16) - 1
            points = [
                half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / (degree + 1)) for i in range(degree + 1)
            ]
            values = [
                mp.exp((middle + p) ** 2 / 2) * mp.erfc((middle + p) / mp.sqrt(2)) / 2
                for p in points
            ]
            matrix = mp.matrix(degree + 1)
            for row, p in enumerate(points):
                for column in range(degree + 1):
                    matrix[row, column] = p**column
            solved = mp.lu_solve(matrix, mp.matrix(values))
            bits = int(np.float32(float(middle + 1)).view(np.int32))
            cells[bits >> 20 & 31] = [float(rounded(c, "f32")) for c in solved]
    return tuple(zip(*cells, strict=True))


def cells_text() -> str:
    """The file of tables that kernels look coefficients up in: one table for each power, a place for each cell."""
    text = '"""The normal distribution of float32 by cells, written by tools/fit_polynomials.py, which says what they are."""\n'
    text += "\n# fmt: off\n"
    for name, made in (("NDTR_CELLS", ndtr_cells()), ("NDTR_NEAR", ndtr_near())):
        shown = pprint.pformat(made, width=110, compact=True)
        text += f"{name}: tuple[tuple[float, ...], ...] = (\n {shown[1:]}\n"
    return text


def main(names: list[str]) -> None:
    tables: dict[str, dict[str, Any]] = {}
    notes: dict[str, dict[str, float]] = {}
    if names and TARGET.exists():
        old = runpy.run_path(
            str(TARGET)
        )  # alone: what imports it may want numbers that are not there yet
        tables, notes = old["TABLES"], old["ERRORS"]
    # nothing to fit only writes the file anew
    for name in (n for n in names or FITS if n in FITS):
        tables[name], notes[name] = {}, {}
        for kind in FITS[name].degree:
            made, error = fit(FITS[name], kind)
            tables[name][kind], notes[name][kind] = tuple(made), float(f"{error:.3g}")
            print(
                f"{name} {kind}: {len(made)} coefficients, error 2^{mp.nstr(mp.log(error, 2), 4)}",
                flush=True,
            )
    text = '"""Coefficients from the lowest power, written by tools/fit_polynomials.py, which says how each was fitted."""\n\n# fmt: off\n'
    text += "# What each is, and the largest relative error of the fit:\n"
    for name in (n for n in FITS if n in tables):
        text += f"# {name}: {FITS[name].what}\n"
    text += f"ERRORS: dict[str, dict[str, float]] = {pprint.pformat(notes, sort_dicts=False)}\n\n"
    text += "TABLES: dict[str, dict[str, tuple[float, ...]]] = {\n"
    for name in (n for n in FITS if n in tables):
        text += f'    "{name}": {{\n'
        for kind, made in tables[name].items():
            lines = textwrap.wrap(", ".join(map(repr, made)), 100)
            text += (
                f'        "{kind}": (\n'
                + "".join(f"            {line}\n" for line in lines)
                + "        ),\n"
            )
        text += "    },\n"
    text += "}\n\n# Numbers in several floats, the largest first; and 1 / (2 pi) in pieces.\n"
    for name, value in constants().items():
        kind = (
            "dict[str, tuple[float, ...]]"
            if isinstance(value, dict)
            else f"tuple[{type(value[-1]).__name__}, ...]"
        )
        text += f"{name}: {kind} = {pprint.pformat(value, sort_dicts=False)}\n"
    TARGET.write_text(text)
    CELLS.write_text(cells_text())


if __name__ == "__main__":
    main(sys.argv[1:])
