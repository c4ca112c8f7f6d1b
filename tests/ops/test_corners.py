"""Every pointwise operator equals its reference at NaN, infinities, both zeros and the ends of float64."""

import itertools
import math
import platform

import numpy as np
import pytest
from checks import call, expected, on_tensors, to_array

import thixo as tx
from thixo.ops.samples import Sample

CORNERS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 5e-324, 1e308, -1e308]

# What the parameters that are not numbers of the result's kind get.
OPTIONS = {
    "threshold": {"threshold": 0.25, "value": 5.0},
    "replace_nonfinite": {"nan": 7.0, "posinf": 8.0, "neginf": 9.0},
}

# Operators that this grid does not suit, and why.
LEFT_OUT = {
    "masked_fill": "its value is one number",
    "polygamma": "the reference does not end for huge arguments; zeta, its kernel, is here",
}

# Operators whose zeros are compared without their signs, and why.
EITHER_ZERO = {
    "fmax": "of two zeros NumPy gives the first or the second, by the place in the vector",
    "fmin": "of two zeros NumPy gives the first or the second, by the place in the vector",
    "lerp": "where equal zeros meet, the sign depends on the order of the sum",
    "erfinv": "scipy loses the sign of -0.0",
    "special.i1": "scipy loses the sign of -0.0",
    "special.i1e": "scipy loses the sign of -0.0",
}
if platform.machine() not in ("x86_64", "AMD64"):
    for name in (
        "maximum",
        "minimum",
        "clamp",
        "clamp_min",
        "clamp_max",
        "relu",
        "elu",
        "celu",
        "selu",
    ):
        EITHER_ZERO[name] = "other processors order the zeros"

# Arguments at which the reference is no judge: (operator, whether an element is one, why).
UNJUDGED = {
    "special.bessel_j0": (lambda x: abs(x) == 1e308, "scipy does not reduce a huge phase"),
    "special.bessel_j1": (lambda x: abs(x) == 1e308, "scipy does not reduce a huge phase"),
    "special.bessel_y0": (lambda x: x == 1e308, "scipy does not reduce a huge phase"),
    "special.bessel_y1": (lambda x: x == 1e308, "scipy does not reduce a huge phase"),
    "special.airy_ai": (lambda x: x >= 1e308, "scipy gives NaN where the limit is 0"),
    "igamma": (lambda a, x: a == 5e-324, "scipy gives 0 where the limit for a -> 0 is 1"),
    "special.zeta": (lambda s, q: math.isnan(s), "scipy gives infinity for NaN at a pole"),
    "lerp": (
        lambda a, b, w: max(map(abs, (a, b, w))) >= 1e308,
        "end - input overflows, or is inf - inf, where a weighted mean is not",
    ),
}


def operands(op):
    return [p for p in op.sig.params if p.kind in ("tensor", "operand")]


def takes_floats(op):
    if op.kind != "pointwise" or op.random or op.full_name in LEFT_OUT:
        return False
    return tx.float64 in op.dtypes


def corner_sample(op):
    """All combinations of the corners as one array for each operand; masks are true and false."""
    choices = [[False, True] if p.name in ("condition", "mask") else CORNERS for p in operands(op)]
    columns = [np.array(column) for column in zip(*itertools.product(*choices), strict=True)]
    return Sample(*columns, **OPTIONS.get(op.sig.name, {}))


@pytest.mark.over(lambda op: takes_floats(op))
def test_corners(op):
    sample = corner_sample(op)
    (got,) = map(to_array, call(op, on_tensors(sample)))
    (wanted,) = expected(op, sample)
    wanted = np.asarray(wanted).astype(got.dtype)
    unjudged = UNJUDGED.get(op.full_name, (lambda *x: False, ""))[0]
    wrong = [
        f"{args}: {a} and not {b}"
        for *args, a, b in zip(*(c.tolist() for c in (*sample.arrays, got, wanted)), strict=True)
        if not agree(a, b, op.full_name not in EITHER_ZERO) and not unjudged(*args)
    ]
    assert not wrong, f"{op.full_name}: {op.sig.text}\n" + "\n".join(wrong)


def agree(a, b, signs):
    """Whether two Python numbers are both NaN, the same infinity or zero, or almost equal."""
    if isinstance(a, complex):
        return agree(a.real, b.real, signs) and agree(a.imag, b.imag, signs)
    if a != a or b != b:
        return a != a and b != b
    if a == b:
        return a != 0 or not signs or math.copysign(1, a) == math.copysign(1, b)
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 1e-9 * abs(b) + 1e-300


def test_hypot_has_no_slope_at_its_tip():
    a, b = (tx.tensor(x, requires_grad=True) for x in ([0.0, 3.0, 0.0], [0.0, 4.0, 2.0]))
    tx.hypot(a, b).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), [0, 0.6, 0], rtol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), [0, 0.8, 1], rtol=1e-6)
