"""Transforms of Winograd's F(4x4, 3x3): sixteen results of a 3x3 window from thirty-six products.

As in winograd.py, with pieces of six by six. The points at which polynomials are taken are 0, ±3/4, ±3/2 and infinity: all
constants are exact, and the error is a quarter of that of 0, ±1, ±2. The driver is core/conv_winograd_wide.cpp, which also
transforms the kernels.

    conv_f32_wide_in   pieces of a row of tiles become V
    conv_f32_wide_out  products become four rows of results
"""

from __future__ import annotations

from thixo.codegen.llvm.emit import Function, float_bits, vector
from thixo.codegen.llvm.target import Target
from thixo.codegen.llvm.winograd import OUT_PARAMETERS, report_odd

NEAR, FAR = 0.75, 1.5  # the points beside zero, of both signs
SIDE = 6  # of a piece
MADE = 4  # results along one axis


class _Rows:
    """One-dimensional transforms of vectors."""

    def __init__(self, f: Function, lanes: int) -> None:
        self.f, self.lanes, self.vec = f, lanes, vector("float", lanes)

    def number(self, value: float) -> str:
        one = f"float {float_bits(value, 'float')}"
        return "<" + ", ".join([one] * self.lanes) + ">"

    def times(self, factor: float, a: str, more: str) -> str:
        """factor * a + more, rounded once."""
        return self.f.intrinsic("fma", self.vec, self.number(factor), a, more)

    def scaled(self, factor: float, a: str) -> str:
        return self.f.op(f"fmul {self.vec} {self.number(factor)}, {a}")

    def add(self, a: str, b: str) -> str:
        return self.f.op(f"fadd {self.vec} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.f.op(f"fsub {self.vec} {a}, {b}")

    def pieces(self, d: list[str]) -> list[str]:
        """B' d: values at the points of polynomials that vanish at all others."""
        both, product = NEAR**2 + FAR**2, NEAR**2 * FAR**2
        first = self.times(product, d[0], self.times(-both, d[2], d[4]))
        last = self.times(product, d[1], self.times(-both, d[3], d[5]))
        made = [first]
        for point, other in ((NEAR, FAR), (FAR, NEAR)):
            even = self.times(-(other**2), d[2], d[4])
            odd = self.times(-(other**2), d[1], d[3])
            made += [self.times(point, odd, even), self.times(-point, odd, even)]
        return [*made, last]

    def results(self, m: list[str]) -> list[str]:
        """A' m: sums of m by powers of their points."""
        near, far = self.add(m[1], m[2]), self.add(m[3], m[4])
        near_odd, far_odd = self.sub(m[1], m[2]), self.sub(m[3], m[4])
        return [
            self.add(m[0], self.add(near, far)),
            self.times(NEAR, near_odd, self.scaled(FAR, far_odd)),
            self.times(NEAR**2, near, self.scaled(FAR**2, far)),
            self.times(NEAR**3, near_odd, self.times(FAR**3, far_odd, m[5])),
        ]


def wide_input_function(target: Target) -> Function:
    """V of the pieces whose six rows begin at rows[r] + 4 t * pitch, for t < tiles and channels c < count.

    It lies at V[xi * between + t * v_row + c // lanes * v_run + c % lanes]. `rows` are six pointers. Whole vectors are read
    and written.
    """
    parameters = (
        ("ptr noalias readonly", "rows"), ("i64", "pitch"), ("ptr noalias", "v"), ("i64", "v_row"), ("i64", "v_run"),
        ("i64", "between"), ("i64", "tiles"), ("i64", "count"),
    )  # fmt: skip
    f = Function("conv_f32_wide_in", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    turn, vec = _Rows(f, lanes), vector("float", lanes)
    starts = [f.load("ptr", f.at("%rows", 8 * r), 8) for r in range(SIDE)]
    step = f.mul("%pitch", MADE)
    with f.loop(0, "%tiles") as t:
        from_left = f.mul(t, step)
        into = f.at("%v", f.mul(t, "%v_row"), "float")
        with f.loop(0, "%count", lanes) as c:
            first = f.add(from_left, c)
            columns = []
            for _ in range(SIDE):
                columns.append(
                    turn.pieces([f.load(vec, f.at(s, first, "float"), 4) for s in starts])
                )
                first = f.add(first, "%pitch")
            to = f.at(into, f.mul(f.div(c, lanes), "%v_run"), "float")
            for r in range(SIDE):
                for value in turn.pieces([column[r] for column in columns]):
                    f.store(vec, value, to, 4)
                    to = f.at(to, "%between", "float")
    return f


def wide_output_function(target: Target) -> Function:
    """Four rows of results: y[r * y_row + 4 t * y_place + ...] from m[xi * between + t * ld + j], t < tiles, j < count.

    `wrong` is set where a result is no finite number.
    """
    f = Function("conv_f32_wide_out", OUT_PARAMETERS, attributes=target.attributes)
    lanes = target.lanes(4)
    turn, vec = _Rows(f, lanes), vector("float", lanes)
    seen = f.variable(vec, "zeroinitializer")
    with f.loop(0, "%tiles") as t, f.loop(0, "%count", lanes) as j:
        first = f.at("%m", f.add(f.mul(t, "%ld"), j), "float")
        rows = []
        for _ in range(SIDE):
            pieces = []
            for _ in range(SIDE):
                pieces.append(f.load(vec, first, 4))
                first = f.at(first, "%between", "float")
            rows.append(turn.results(pieces))
        to = f.at("%y", f.add(f.mul(f.mul(t, MADE), "%y_place"), j), "float")
        odd = f.load(vec, seen)
        for c in range(MADE):
            place = to
            for value in turn.results([row[c] for row in rows]):
                # Zero times anything finite is zero; all else is no number.
                odd = f.intrinsic("fma", vec, value, "zeroinitializer", odd)
                f.store(vec, value, place, 4)
                place = f.at(place, "%y_row", "float")
            to = f.at(to, "%y_place", "float")
        f.store(vec, odd, seen)
    report_odd(f, vec, lanes, seen)
    return f


def end_function(target: Target) -> Function:
    """to[p * to_row + i] = end(sums[p * ld + i] + bias[i] + more[p * to_row + i]) for p < places, i < count.

    `bias` and `more` may be null; with `relu` set, `end` gives zero for what is below it. Sums may
    lie where results go.
    """
    parameters = (
        ("ptr", "sums"), ("i64", "ld"), ("ptr", "to"), ("i64", "to_row"), ("i64", "places"), ("i64", "count"),
        ("ptr noalias readonly", "bias"), ("ptr noalias readonly", "more"), ("i64", "relu"),
    )  # fmt: skip
    f = Function("conv_f32_end", parameters, attributes=target.attributes)
    lanes = target.lanes(4)
    has_bias, has_more = (f.compare("ne", f"%{name}", "null", "ptr") for name in ("bias", "more"))
    cuts = f.compare("ne", "%relu", 0)
    many = f.op(f"and i64 %count, {-lanes}")

    def part(i: str, n: int) -> None:
        """Channels i ..., of all places."""
        vec, zero = vector("float", n), "zeroinitializer" if n > 1 else "0.0"
        kept, value_at = f.variable(vec, zero), f.variable(vec, zero)
        with f.when(has_bias):
            f.store(vec, f.load(vec, f.at("%bias", i, "float"), 4), kept)
        bias = f.load(vec, kept)
        with f.loop(0, "%places") as p:
            sums = f.load(vec, f.at("%sums", f.add(f.mul(p, "%ld"), i), "float"), 4)
            at = f.add(f.mul(p, "%to_row"), i)
            with_bias = f.op(f"fadd {vec} {sums}, {bias}")
            f.store(vec, f.choose(has_bias, vec, with_bias, sums), value_at)
            with f.when(has_more):
                more = f.load(vec, f.at("%more", at, "float"), 4)
                f.store(vec, f.op(f"fadd {vec} {f.load(vec, value_at)}, {more}"), value_at)
            value = f.load(vec, value_at)
            low = f.op(f"fcmp olt {vec} {value}, {zero}")
            flags = f"<{n} x i1>" if n > 1 else "i1"
            cut = f.op(f"select {flags} {low}, {vec} {zero}, {vec} {value}")
            into = f.at("%to", at, "float")
            f.store(vec, f.choose(cuts, vec, cut, value), into, 4)

    with f.loop(0, many, lanes) as i:
        part(i, lanes)
    with f.loop(many, "%count") as i:
        part(i, 1)
    return f


def wide_functions(target: Target) -> list[Function]:
    """All of them."""
    return [make(target) for make in (wide_input_function, wide_output_function, end_function)]
