"""Square roots by multiply-adds have the bits of the instruction, whatever estimate they begin with."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from thixo.codegen.builder import Builder
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm import compile, target
from thixo.codegen.llvm.emit import Function, module
from thixo.codegen.llvm.pointwise import lanes_of, pointwise, uniform_of
from thixo.codegen.llvm.roots import LANES, corrected, root
from thixo.codegen.scalars import KernelScalars

HOST = target.host()
needs_estimates = pytest.mark.skipif(not HOST.scales, reason="no instruction for the estimate")
REAL = f"<{LANES} x float>"


def compiled(name, write):
    """A loop over vectors: what `write` makes of two of them goes to the third place."""
    parameters = [("ptr", "x"), ("ptr", "y"), ("ptr", "to"), ("i64", "n")]
    f = Function(name, parameters, attributes=HOST.attributes)
    with f.loop(0, "%n", LANES) as i:
        x, y = (f.load(REAL, f.at(p, i, "float"), 4) for p in ("%x", "%y"))
        f.store(REAL, write(f, x, y), f.at("%to", i, "float"), 4)
    (address,) = compile.loaded().addresses(compile.object_code(module([f]), HOST), [name])
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(address)

    def run(x, y):
        to = np.empty_like(x)
        call(x.ctypes.data, y.ctypes.data, to.ctypes.data, x.size)
        return to

    return run


def assert_bits(got, x):
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(x)
    nan = np.isnan(expected)
    assert (np.isnan(got) == nan).all()
    assert (got.view(np.int32)[~nan] == expected.view(np.int32)[~nan]).all()


@needs_estimates
def test_every_mantissa():
    """Of two powers of two; all others only have other exponents."""
    run = compiled("roots_of_mantissas", lambda f, x, y: root(f, x))
    x = np.arange(0x3F800000, 0x40800000, dtype=np.int32).view(np.float32)
    assert_bits(run(x, x), x)


@needs_estimates
def test_every_exponent_and_what_has_no_root():
    rng = np.random.default_rng(0)
    run = compiled("roots_of_exponents", lambda f, x, y: root(f, x))
    bits = rng.integers(0, 1 << 32, 1 << 20, dtype=np.uint64).astype(np.uint32)
    ends = np.array([0, 1 << 31, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
                     0x7FC00000, 0x0C7FFFFF, 0x0C800000, 0x0C800001], np.uint32)  # fmt: skip
    bits[: ends.size] = ends
    # vectors of one kind alone, which take one of the two ways
    bits[1 << 19 :] = (bits[1 << 19 :] & 0x3FFFFFFF) + 0x10000000
    x = bits.view(np.float32)
    assert_bits(run(x, x), x)


@needs_estimates
def test_hard_roots_with_every_estimate():
    """Roots so near to the middle of two floats that an estimate could matter."""
    mantissas = np.arange(1 << 23, 1 << 24, dtype=np.int64)
    hard = []
    for shift, exponent in ((23, 1.0), (24, 2.0)):
        whole = mantissas << shift
        below = np.sqrt(whole.astype(np.float64)).astype(np.int64)
        below -= below * below > whole
        beside = whole - below * below - below  # 0 or 1 would be next to the middle
        hard.append(mantissas[np.abs(beside) <= 64] / 2.0**23 * exponent)
    x = np.concatenate(hard).astype(np.float32)
    assert x.size > 50
    exact = 1 / np.sqrt(x.astype(np.float64))
    steps = np.arange(-2304, 2304, dtype=np.int32)
    near = (exact.astype(np.float32).view(np.int32)[:, None] + steps).view(np.float32)
    allowed = np.abs(near / exact[:, None] - 1) <= 2.0**-14
    assert not allowed[:, [0, -1]].any()
    run = compiled("roots_of_estimates", corrected)
    given = np.repeat(x, steps.size)
    got = run(given, near.ravel())[allowed.ravel()]
    assert_bits(got, given[allowed.ravel()])


def quotient(machine, name):
    """a / sqrt(b * scale), with a scale that is one number for all."""
    b = Builder()
    k = KernelScalars(b)
    first, second, scale = b.load(0, "f32"), b.load(1, "f32"), b.load(2, "f64")
    scale.weak = True
    made = (
        first / (k.sqrt(second * scale) * scale + first * first * scale) - second * second - first
    )
    b.store(3, made)
    operands = (Operand("f32"), Operand("f32"), Operand("f64", "one"), Operand("f32", written=True))
    kernel = Kernel(operands, tuple(b.instructions))
    code = compile.object_code(pointwise(kernel, name, machine), machine)
    (address,) = compile.loaded().addresses(code, [name])
    return kernel, ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def test_results_do_not_depend_on_where_a_vector_is():
    """Vectors that make their root one way or the other, and what is left of the last."""
    kernel, call = quotient(HOST, "quotient")
    assert uniform_of(kernel)
    assert lanes_of(kernel, HOST) == HOST.lanes(4)  # the one number is a double
    rng = np.random.default_rng(1)
    for count in (1, 15, 16, 17, 32, 33, 100, 1000):
        a, b = (rng.uniform(-1e-3, 3, count).astype(np.float32) for _ in range(2))
        b[rng.random(count) < 0.1] = 0
        scale, got = np.array(0.7), np.empty(count, np.float32)
        pointers = (ctypes.c_void_p * 4)(*(x.ctypes.data for x in (a, b, scale, got)))
        call(pointers, (ctypes.c_int64 * 4)(4, 4, 0, 4), count)
        s = np.float32(0.7)
        with np.errstate(all="ignore"):
            expected = a / (np.sqrt(b * s) * s + a * a * s) - b * b - a
        np.testing.assert_array_equal(got, expected)
