"""Sample makers: the same draw each time, in every dtype, at plain and symbolic sizes."""

import numpy as np
import pytest

from thixo.dtype import ALL, COMPLEX, FLOATS, INTEGERS, float32, float64, int32, uint8
from thixo.ops.samples import (
    SIZES,
    Maker,
    Sample,
    binary_samples,
    reduction_samples,
    symbolic_sizes,
    unary_samples,
)
from thixo.shape import same

SHARED = {
    "unary": unary_samples(low=-1, high=1, avoid=(0,)),
    "binary": binary_samples(numbers="both", other_nonzero=True),
    "reduction": reduction_samples(distinct=True),
}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", SHARED)
def test_arrays_have_the_dtype_under_test(name, dtype):
    for sample in SHARED[name](Maker(dtype)):
        assert all(a.dtype == dtype.numpy for a in sample.arrays)


@pytest.mark.parametrize("name", SHARED)
def test_samples_cover_scalars_several_axes_and_nothing(name):
    ranks = {a.ndim for s in SHARED[name](Maker()) for a in s.arrays}
    sizes = {a.size for s in SHARED[name](Maker()) for a in s.arrays}
    assert {0, 1, 2, 3} <= ranks
    assert 0 in sizes


@pytest.mark.parametrize("name", SHARED)
def test_the_same_seed_draws_the_same(name):
    first, again, other = (list(SHARED[name](Maker(float64, seed=s))) for s in (1, 1, 2))
    equal = [np.array_equal(a, b) for x, y in zip(first, again, strict=True)
             for a, b in zip(x.arrays, y.arrays, strict=True)]  # fmt: skip
    assert all(equal)
    assert any(
        not np.array_equal(x.arrays[0], y.arrays[0]) for x, y in zip(first, other, strict=True)
    )


@pytest.mark.parametrize("name", SHARED)
def test_symbolic_samples_are_the_plain_ones_with_symbols(name):
    plain = list(SHARED[name](Maker(float32)))
    symbolic = list(SHARED[name](Maker(float32, symbolic_sizes())))
    for p, s in zip(plain, symbolic, strict=True):
        for a, b in zip(p.arrays, s.arrays, strict=True):
            assert np.array_equal(a, b)
            dims = getattr(b, "dims", b.shape)
            assert tuple(d if isinstance(d, int) else d.evaluate(SIZES) for d in dims) == a.shape


def test_arrays_know_their_symbolic_shape():
    s = Maker(float32, symbolic_sizes())
    x = s.real(s.n * s.m, 2)
    assert x.shape == (12, 2)
    assert same(x.dims[0], s.n * s.m)
    assert x.dims[1] == 2
    assert (x + 1).dims == (12, 2)  # a new array is plain
    assert s.ints(s.k, high=s.n).max() < 3


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX + INTEGERS)
def test_domains_are_kept(dtype):
    s = Maker(dtype)
    x = s.real(200, low=-1, high=1).real.astype(np.float64)
    assert x.min() >= -1
    assert x.max() <= 1
    assert s.positive(200).real.astype(np.float64).min() > 0
    values = s.distinct(4, 5)
    assert len(np.unique(values.astype(np.complex128))) == 20


@pytest.mark.parametrize("dtype", ALL)
def test_divisors_are_not_zero(dtype):
    for sample in binary_samples(other_nonzero=True)(Maker(dtype)):
        other = np.asarray(sample.args[1])
        assert np.all(other != 0)


def test_kinks_are_avoided_and_ends_are_reached():
    drawn = list(unary_samples(-1, 1, avoid=(0,))(Maker(float64)))
    smooth = np.concatenate([s.args[0].ravel() for s in drawn if s.grad])
    assert np.abs(smooth).min() >= 0.09
    ends = drawn[-1]
    assert not ends.grad
    assert ends.args[0].min() < -0.98
    assert ends.args[0].max() > 0.98


def test_numbers_are_of_the_dtypes_category():
    assert type(Maker(int32).number()) is int
    assert type(Maker(float32).number()) is float
    assert Maker(uint8).number(-5, -1) >= 0


def test_a_sample_can_be_mapped():
    sample = Sample([np.ones(2)], 3, slice(0, 2), x=np.zeros(2), grad=False, after=abs)
    twice = sample.map(lambda a: 2 * a)
    assert np.array_equal(twice.args[0][0], [2, 2])
    assert twice.args[1:] == (3, slice(0, 2))
    assert not twice.grad
    assert twice.after is abs
    assert repr(Sample(np.ones((2, 3)), dim=0)) == "Sample(float64[2, 3], dim=0)"
