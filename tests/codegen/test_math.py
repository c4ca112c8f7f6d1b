"""The mathematical functions, written out, against mpmath and against what IEEE 754 says of special values."""

import math

import mpmath as mp
import numpy as np
import pytest
from math_kernels import math_kernel

from thixo.codegen.builder import Builder
from thixo.codegen.expand import expand
from thixo.codegen.instructions import FUNCTIONS, SPECIAL
from thixo.codegen.interpret import interpret
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.math.integers import integer_power

FLOAT = {"f32": np.float32, "f64": np.float64}
WHOLE = {"f32": np.int32, "f64": np.int64}
ONE = [name for name, count in FUNCTIONS.items() if count == 1]
BOUND = 4.0  # ulp; docs/numerics.md says what was seen
INF, NAN = math.inf, math.nan


def run(name, type, *arguments):
    arrays = [np.asarray(a, FLOAT[type]).reshape(1, -1) for a in arguments]
    result = np.empty_like(arrays[0])
    interpret(math_kernel(name, type), [*arrays, result])
    return result[0]


def places(type, count, seed):
    """Numbers of all sizes, ordinary ones, ones near 1 and near multiples of pi / 2, subnormal ones."""
    rng, dtype, whole = np.random.default_rng(seed), FLOAT[type], WHOLE[type]
    limits = np.iinfo(whole)
    near = np.ldexp(rng.uniform(0.5, 1, count), rng.integers(-30, 1, count))
    subnormal = rng.integers(1, 1 << np.finfo(dtype).nmant, count // 4).astype(whole).view(dtype)
    return np.concatenate([
        rng.integers(limits.min, limits.max, count, dtype=whole).view(dtype),
        *(np.asarray(part, dtype) for part in (
            rng.standard_normal(count), rng.standard_normal(count) * 30, rng.standard_normal(count) * 1000,
            near, -near, 1 + near * rng.choice([-1, 1], count),
            rng.integers(-2000, 2000, count) * (math.pi / 2), subnormal, -subnormal)),
    ])  # fmt: skip


def exact(name, x):
    """The value at a finite x, or None where there is no real one."""
    x = mp.mpf(float(x))
    domain = {
        "log": x > 0, "log2": x > 0, "log10": x > 0, "log1p": x > -1, "asin": abs(x) <= 1, "acos": abs(x) <= 1,
        "acosh": x >= 1, "atanh": abs(x) < 1, "erfinv": abs(x) < 1, "lgamma": x > 0 or x != mp.floor(x),
    }  # fmt: skip
    if not domain.get(name, True):
        return None
    if (
        name in ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "ndtr")
        and abs(x) > 3000
    ):
        x = mp.sign(x) * 3000
    digits = 1300 if name in ("sin", "cos", "tan") or abs(x) < 1e-20 else 200
    with mp.workprec(digits):
        if name == "exp2":
            return mp.power(2, x)
        if name == "ndtr":
            return mp.erfc(-x / mp.sqrt(2)) / 2
        if name == "lgamma":
            return mp.re(mp.loggamma(x))
        if name in ("log2", "log10"):
            return mp.log(x) / mp.log(int(name[3:]))
        return +getattr(mp, name)(x)


def distance(value, got, type):
    """In units of the last place, of the exact value or of the smallest number; inf where it is no number."""
    info = np.finfo(FLOAT[type])
    if not np.isfinite(got):
        fits = abs(value) <= mp.mpf(float(info.max)) * (1 + mp.mpf(2) ** (-info.nmant - 3))
        return INF if np.isnan(got) or fits or (got > 0) != (value > 0) else 0.0
    power = info.minexp if value == 0 else max(int(mp.floor(mp.log(abs(value), 2))), info.minexp)
    return float(abs(mp.mpf(float(got)) - value) / mp.mpf(2) ** (power - info.nmant))


@pytest.mark.parametrize("type", FLOAT)
@pytest.mark.parametrize("name", ONE)
def test_within_its_bound_of_the_exact_value(name, type):
    xs = places(type, 40, seed=len(name))
    xs = xs[np.isfinite(xs)]
    for x, got in zip(xs, run(name, type, xs), strict=True):
        value = exact(name, x)
        if value is None:
            assert np.isnan(got) or np.isinf(got), (x, got)
        elif name == "lgamma" and type == "f64" and x < 0:
            # Its zeros lie where two large numbers cancel: those set the measure.
            scale = max(abs(value), exact(name, -x), 1)
            assert abs(float(got) - value) <= BOUND * np.spacing(float(scale)), (x, got)
        else:
            assert distance(value, got, type) <= BOUND, (x, got)


@pytest.mark.parametrize("type", FLOAT)
def test_lgamma_near_its_zeros_and_between_its_ways(type):
    info = np.finfo(FLOAT[type])
    near = np.ldexp(np.linspace(-1, 1, 11), -np.arange(1, info.nmant, 4)[:, None]).ravel()
    xs = [
        1 + near,
        2 + near,
        np.linspace(0.05, 9, 97),
        8.5 + near,
        0.875 + near / 8,
        [2.375, 3.375, 7.375],
    ]
    xs = np.concatenate(xs).astype(FLOAT[type])
    for x, got in zip(xs, run("lgamma", type, xs), strict=True):
        value = exact("lgamma", x)
        assert got == 0 if value == 0 else distance(value, got, type) <= BOUND, (x, got)
    if type == "f32":  # next to the zeros between whole numbers, too
        xs = np.array([-2.4570248, -2.7476826, -3.1435809, -3.9552942, -9.0000028], np.float32)
        for x, got in zip(xs, run("lgamma", type, xs), strict=True):
            assert distance(exact("lgamma", x), got, type) <= BOUND, (x, got)


@pytest.mark.parametrize("type", FLOAT)
def test_erfinv_up_to_the_last_number_below_one(type):
    steps = 2.0 ** -np.arange(1, np.finfo(FLOAT[type]).nmant + 2)
    xs = np.concatenate([1 - steps, steps - 1, 1 - 0.75 * steps[:-1]]).astype(FLOAT[type])
    for x, got in zip(xs, run("erfinv", type, xs), strict=True):
        assert distance(exact("erfinv", x), got, type) <= BOUND, (x, got)


NUMPY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


@pytest.mark.parametrize("name", [n for n in ONE if n not in SPECIAL])
def test_float32_everywhere_as_float64_has_it(name):
    xs = np.arange(-(2**31), 2**31, 44449, dtype=np.int64).astype(np.int32).view(np.float32)
    with np.errstate(all="ignore"):
        value = getattr(np, NUMPY.get(name, name))(xs.astype(np.float64))
        rounded, got = value.astype(np.float32), run(name, "f32", xs)
        assert np.array_equal(np.isnan(rounded), np.isnan(got))
        off = np.abs(got.astype(np.float64) - value) / np.spacing(
            np.abs(rounded).astype(np.float32)
        ).astype(np.float64)
    assert np.array_equal(np.isinf(got), np.isinf(rounded))
    assert np.max(off[np.isfinite(rounded)], initial=0) <= BOUND


# argument and result; the sign of zero counts
ENDS = {
    "exp": {0.0: 1, -INF: 0.0, INF: INF, 1000: INF, -1000: 0.0},
    "exp2": {0.0: 1, -INF: 0.0, INF: INF, 3: 8, -2: 0.25, 2000: INF, -2000: 0.0},
    "expm1": {0.0: 0.0, -INF: -1, INF: INF, -100: -1},
    "log": {0.0: -INF, 1: 0.0, INF: INF, -1: NAN, -INF: NAN},
    "log2": {0.0: -INF, 1: 0.0, 8: 3, 0.125: -3, INF: INF, -1: NAN},
    "log10": {0.0: -INF, 1: 0.0, 10: 1, 1000: 3, 1e10: 10, INF: INF, -1: NAN},
    "log1p": {0.0: 0.0, -1: -INF, INF: INF, -2: NAN},
    "sin": {0.0: 0.0, INF: NAN, -INF: NAN},
    "cos": {0.0: 1, INF: NAN, -INF: NAN},
    "tan": {0.0: 0.0, INF: NAN, -INF: NAN},
    "asin": {0.0: 0.0, 1.5: NAN, -1.5: NAN, INF: NAN},
    "acos": {1: 0.0, 1.5: NAN, -1.5: NAN, INF: NAN},
    "atan": {0.0: 0.0},
    "sinh": {0.0: 0.0, INF: INF, -INF: -INF},
    "cosh": {0.0: 1, INF: INF, -INF: INF},
    "tanh": {0.0: 0.0, INF: 1, -INF: -1, 100: 1},
    "asinh": {0.0: 0.0, INF: INF, -INF: -INF},
    "acosh": {1: 0.0, INF: INF, 0.5: NAN, -5: NAN, -INF: NAN},
    "atanh": {0.0: 0.0, 1: INF, -1: -INF, 2: NAN, -2: NAN, INF: NAN},
    "erf": {0.0: 0.0, INF: 1, -INF: -1},
    "erfc": {0.0: 1, INF: 0.0, -INF: 2},
    "ndtr": {0.0: 0.5, INF: 1, -INF: 0.0},
    "erfinv": {0.0: 0.0, 1: INF, -1: -INF, 1.5: NAN, -2: NAN, INF: NAN, -INF: NAN},
    "lgamma": {0.0: INF, 1: 0.0, 2: 0.0, -1: INF, -2: INF, -1e30: INF, INF: INF, -INF: INF},
}  # fmt: skip


@pytest.mark.parametrize("type", FLOAT)
@pytest.mark.parametrize("name", ONE)
def test_special_values(name, type):
    # 0.0 and -0.0 are one key, so the odd functions are asked again for both
    pairs = [*ENDS[name].items(), (NAN, NAN)]
    if name in (
        "expm1",
        "log1p",
        "sin",
        "tan",
        "asin",
        "atan",
        "sinh",
        "tanh",
        "asinh",
        "atanh",
        "erf",
        "erfinv",
    ):
        pairs = [p for p in pairs if p[0] != 0] + [(0.0, 0.0), (-0.0, -0.0)]
    got = run(name, type, [x for x, _ in pairs])
    for (x, value), y in zip(pairs, got, strict=True):
        same = np.isnan(y) if np.isnan(value) else y == value and np.signbit(y) == np.signbit(value)
        assert same, (name, x, y)


@pytest.mark.parametrize("type", FLOAT)
@pytest.mark.parametrize(
    "name", ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p"]
)
def test_tiny_arguments_are_their_own_values(name, type):
    tiny = np.finfo(FLOAT[type]).smallest_subnormal * np.array([1, 2, 3, 5, 1001], FLOAT[type])
    assert np.array_equal(run(name, type, tiny), tiny)
    assert np.array_equal(run(name, type, -tiny), -tiny)


@pytest.mark.parametrize("type", FLOAT)
def test_sine_and_cosine_stay_within_one(type):
    xs = places(type, 2000, seed=3)
    for name in ("sin", "cos"):
        got = run(name, type, xs[np.isfinite(xs)])
        assert np.all(np.abs(got) <= 1)


def all_pairs(type):
    info = np.finfo(FLOAT[type])
    some = [0.0, -0.0, INF, -INF, NAN, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, 1e5, 2.0**53,
            info.max, -info.max, info.tiny, info.smallest_subnormal, -info.smallest_subnormal,
            1 + info.eps, 1 - info.eps]  # fmt: skip
    xs, ys = np.meshgrid(np.array(some, FLOAT[type]), np.array(some, FLOAT[type]))
    return xs.ravel(), ys.ravel()


@pytest.mark.parametrize("type", FLOAT)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot", "nextafter"])
def test_special_values_of_two_arguments(name, type):
    xs, ys = all_pairs(type)
    reference = {
        "pow": np.power,
        "atan2": np.arctan2,
        "hypot": np.hypot,
        "nextafter": np.nextafter,
    }[name]
    with np.errstate(all="ignore"):
        if name == "nextafter":
            value = reference(xs, ys)
        else:
            value = reference(xs.astype(np.float64), ys.astype(np.float64)).astype(FLOAT[type])
        got = run(name, type, xs, ys)
        near = np.abs(got - value) <= (0 if name == "nextafter" else 2) * np.spacing(np.abs(value))
    same = (got == value) | (np.isnan(got) & np.isnan(value)) | (near & np.isfinite(value))
    same &= np.isnan(value) | (np.signbit(got) == np.signbit(value))
    assert np.all(same), list(zip(xs[~same], ys[~same], got[~same], value[~same], strict=True))[:5]


@pytest.mark.parametrize("type", FLOAT)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_two_arguments_within_their_bound(name, type):
    rng, dtype = np.random.default_rng(5), FLOAT[type]
    limits = np.iinfo(WHOLE[type])
    count = 150
    xs = rng.integers(limits.min, limits.max, count, dtype=WHOLE[type]).view(dtype)
    xs[::2] = rng.standard_normal(len(xs[::2]))
    with np.errstate(all="ignore"):
        if name == "pow":
            xs = np.abs(xs)
            reach = np.finfo(dtype).maxexp / np.abs(
                np.log2(np.where(xs > 0, xs, 2).astype(np.float64))
            )
            ys = (rng.uniform(-1.05, 1.02, count) * reach).astype(dtype)
            ys[::4] = rng.standard_normal(len(ys[::4])) * 4
        else:
            ys = (xs * rng.standard_normal(count)).astype(dtype)
    usual = np.isfinite(xs) & np.isfinite(ys) & (xs != 0)
    xs, ys = xs[usual], ys[usual]
    for x, y, got in zip(xs, ys, run(name, type, xs, ys), strict=True):
        a, b = mp.mpf(float(x)), mp.mpf(float(y))
        with mp.workprec(300):
            value = {"pow": mp.power, "atan2": mp.atan2, "hypot": mp.hypot}[name](a, b)
        assert distance(value, got, type) <= BOUND, (x, y, got)


def test_fmod_is_exact():
    rng = np.random.default_rng(7)
    xs, ys = (
        rng.integers(-(2**31), 2**31, 5000, dtype=np.int64).astype(np.int32).view(np.float32)
        for _ in range(2)
    )
    xs[::2], ys[::2] = rng.standard_normal(2500) * 1000, rng.standard_normal(2500)
    special_xs, special_ys = all_pairs("f32")
    xs, ys = np.concatenate([xs, special_xs]), np.concatenate([ys, special_ys])
    with np.errstate(all="ignore"):
        value = np.fmod(xs, ys)
    got = run("fmod", "f32", xs, ys)
    assert np.array_equal(got, value, equal_nan=True)
    assert np.array_equal(np.signbit(got)[~np.isnan(value)], np.signbit(value)[~np.isnan(value)])


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "i32", "i64", "u64"])
def test_powers_of_integers_wrap_as_products_do(dtype):
    numpy = np.dtype(dtype.replace("i", "int") if dtype[0] == "i" else f"uint{dtype[1:]}")
    limits = np.iinfo(numpy)
    bases = np.array([0, 1, 2, 3, 7, 10, limits.max, limits.min, limits.max // 3], numpy)
    powers = np.array([0, 1, 2, 5, 7, 31, 63, 64, 100, limits.max], object)
    powers = np.array([p for p in powers if p <= limits.max], numpy)
    xs, ys = (a.ravel() for a in np.meshgrid(bases, powers))
    b = Builder()
    b.store(2, integer_power(b, b.load(0, dtype), b.load(1, dtype)))
    result = np.empty((1, len(xs)), numpy)
    written = Kernel(
        (Operand(dtype), Operand(dtype), Operand(dtype, written=True)), tuple(b.instructions)
    )
    interpret(expand(written), [xs.reshape(1, -1), ys.reshape(1, -1), result])
    size = 1 << numpy.itemsize * 8
    exact = [pow(int(x), int(y), size) for x, y in zip(xs, ys, strict=True)]
    assert [int(r) % size for r in result[0]] == exact


@pytest.mark.parametrize("type", FLOAT)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 0.5, -0.5, -1, -2])
def test_powers_by_a_number_that_is_known(exponent, type):
    b = Builder()
    b.store(1, b.function("pow", b.load(0, type), b.constant(exponent, type)))
    made = expand(Kernel((Operand(type), Operand(type, written=True)), tuple(b.instructions)))
    assert len(made.body) < 12
    x = np.array([0.0, -0.0, INF, -INF, NAN, 1.5, -1.5, 3, 1e-3, -1e-3], FLOAT[type])
    got, want = np.empty((1, x.size), FLOAT[type]), run("pow", type, x, np.full_like(x, exponent))
    interpret(made, [x.reshape(1, -1), got])
    np.testing.assert_allclose(got[0], want, rtol=4 * np.finfo(FLOAT[type]).eps)
    known = ~np.isnan(want)
    assert np.array_equal(np.signbit(got[0][known]), np.signbit(want[known]))
