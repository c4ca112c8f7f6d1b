"""The core's special functions against SciPy: wide ranges, borders of domains, strides, dtypes."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.special as sp

from thixo import _core

RANGES = {  # name: SciPy's function, low, high
    "erfcx": (sp.erfcx, -20, 60),
    "erfinv": (sp.erfinv, -1, 1),
    "ndtr": (sp.ndtr, -30, 8),
    "ndtri": (sp.ndtri, 0, 1),
    "log_ndtr": (sp.log_ndtr, -100, 10),
    "lgamma": (sp.gammaln, 0, 200),
    "digamma": (sp.digamma, 0, 100),
    "trigamma": (lambda x: sp.zeta(2, x), 0, 100),
    "i0": (sp.i0, -50, 50),
    "i0e": (sp.i0e, -500, 500),
    "i1": (sp.i1, -50, 50),
    "i1e": (sp.i1e, -500, 500),
    "k0": (sp.k0, 0, 100),
    "k0e": (sp.k0e, 0, 1000),
    "k1": (sp.k1, 0, 100),
    "k1e": (sp.k1e, 0, 1000),
    "bessel_j0": (sp.j0, -100, 100),
    "bessel_j1": (sp.j1, -100, 100),
    "bessel_y0": (sp.y0, 0, 100),
    "bessel_y1": (sp.y1, 0, 100),
    "airy_ai": (lambda x: sp.airy(x)[0], -10, 10),
    "entr": (sp.entr, 0, 10),
}
BORDERS = [0.0, 1.0, -1.0, -0.5, -2.0, np.nan]


@pytest.mark.parametrize("name", RANGES)
def test_function_of_one_number(name: str) -> None:
    function, low, high = RANGES[name]
    x = np.random.default_rng(0).uniform(low, high, 2000)
    # SciPy itself is good to some 1e-12 here and there
    np.testing.assert_allclose(_core.special1(name, x), function(x), rtol=1e-11, atol=1e-14)
    borders = np.array(BORDERS)
    np.testing.assert_allclose(_core.special1(name, borders), function(borders), rtol=1e-11)


@pytest.mark.parametrize(
    ("name", "function", "high"),
    [
        ("igamma", sp.gammainc, (300, 300)),
        ("igammac", sp.gammaincc, (300, 300)),
        ("zeta", sp.zeta, (30, 50)),
    ],
)
def test_function_of_two_numbers(
    name: str, function: Callable[..., np.ndarray], high: tuple[float, float]
) -> None:
    generator = np.random.default_rng(1)
    a, b = (generator.uniform(1e-3, most, 2000) for most in high)
    np.testing.assert_allclose(_core.special2(name, a, b), function(a, b), rtol=1e-10, atol=1e-300)


def test_upper_incomplete_gamma_of_a_small_order_keeps_its_digits() -> None:
    # Q(a, x) is a E1(x) to first order in a: 1 - P would be all rounding
    a = np.full(3, 1e-12)
    x = np.array([0.1, 0.9, 1.05])
    np.testing.assert_allclose(_core.special2("igammac", a, x), a * sp.exp1(x), rtol=1e-10)


def test_any_strides_and_single_precision() -> None:
    x = np.linspace(0.1, 9, 2000, dtype=np.float32).reshape(40, 50)
    whole = _core.special1("lgamma", np.ascontiguousarray(x.T[::-1]))
    np.testing.assert_array_equal(_core.special1("lgamma", x.T[::-1]), whole)
    assert whole.dtype == np.float32
    np.testing.assert_allclose(
        whole, sp.gammaln(x.T[::-1].astype(np.float64)), rtol=1e-6, atol=1e-7
    )
