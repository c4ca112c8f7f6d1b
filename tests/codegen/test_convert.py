"""Conversions between dtypes: those of large tensors are kernels, those of small ones the core's own loops."""

import numpy as np
import pytest

import thixo as tx
from thixo.codegen.convert import DTYPES, conversion
from thixo.codegen.interpret import interpret
from thixo.codegen.kernel import verify
from thixo.dtype import BY_SHORT

COUNT = 3000  # a kernel's, while pieces of 100 are not


def numbers(dtype, rng):
    """Of all sizes, and for wide types the neighbours of what lies half-way between two half-precision numbers."""
    if dtype == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype == "u8":
        return rng.integers(0, 256, COUNT).astype(np.uint8)
    if dtype in ("i32", "i64"):
        bits = int(dtype[1:])
        found = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, COUNT)
        found >>= rng.integers(0, bits - 1, COUNT)
        halfway = (rng.integers(128, 256, COUNT) * 2 + 1) << rng.integers(0, bits - 11, COUNT)
        found[::2] = (halfway + rng.integers(-1, 2, COUNT))[::2]
        return found.astype(np.int64 if bits == 64 else np.int32)
    if dtype in ("f16", "bf16"):
        return rng.integers(0, 1 << 16, COUNT).astype(np.uint16).view(np.int16)
    if dtype == "f32":
        found = rng.integers(0, 1 << 32, COUNT, dtype=np.uint64).astype(np.uint32).view(np.float32)
        return np.where(
            np.arange(COUNT) % 2, found, np.float32(100) * rng.standard_normal(COUNT, np.float32)
        )
    found = rng.integers(0, 1 << 63, COUNT, dtype=np.uint64).view(np.float64)
    near = 1 + rng.integers(-1, 2, COUNT) * 2.0**-50
    short = (rng.integers(128, 256, COUNT) * 2 + 1) * 2.0 ** rng.integers(-145, 120, COUNT) * near
    half = (rng.integers(1024, 2048, COUNT) * 2 + 1) * 2.0 ** rng.integers(-37, 6, COUNT) * near
    return np.choose(np.arange(COUNT) % 4, [found, short, half, 100 * rng.standard_normal(COUNT)])


def given(dtype):
    made = tx.tensor(numbers(dtype, np.random.default_rng(0)))
    return made.view(BY_SHORT[dtype]) if dtype in ("f16", "bf16") else made


def bits(x):
    """Whole numbers that are equal where the elements are; one for all NaN."""
    if not x.dtype.is_floating_point:
        return x.numpy()
    whole = {2: tx.int16, 4: tx.int32, 8: tx.int64}[x.dtype.itemsize]
    return tx.where(tx.isnan(x), tx.full_like(x, float("nan")), x).view(whole).numpy()


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_large_tensors_are_converted_as_small_ones_are(source, target):
    x = given(source)
    whole = x.to(BY_SHORT[target])
    pieces = tx.cat([part.to(BY_SHORT[target]) for part in x.split(100)])
    assert np.array_equal(bits(whole), bits(pieces))
    turned = x.reshape(60, 50).t().to(BY_SHORT[target])
    assert np.array_equal(bits(turned.contiguous()), bits(whole.reshape(60, 50).t().contiguous()))


def test_halves_are_rounded_once():
    x = given("f64").numpy()
    verify(conversion("f64", "f16"))
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    result = np.empty((1, COUNT), np.float16)
    interpret(conversion("f64", "f16"), [x.reshape(1, -1), result])
    same = (result[0] == expected) | (np.isnan(expected) & np.isnan(result[0]))
    assert same.all()
