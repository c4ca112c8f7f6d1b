"""Machine code computes the same bits as the interpreter, on each target that this machine can run."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from math_kernels import math_kernel, written

from thixo.codegen.instructions import FUNCTIONS
from thixo.codegen.interpret import interpret
from thixo.codegen.llvm import compile, target
from thixo.codegen.llvm.pointwise import pointwise

FLOAT = {"f32": (np.float32, np.int32), "f64": (np.float64, np.int64)}
HOST = target.host()
TARGETS = [HOST] + ([target.X86_64_V3] if HOST is target.X86_64_V4 else [])


def places(type, count, seed):
    dtype, whole = FLOAT[type]
    rng, limits = np.random.default_rng(seed), np.iinfo(whole)
    anything = rng.integers(limits.min, limits.max, count, dtype=whole).view(dtype)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan], dtype)
    ordinary = (rng.standard_normal(count) * 10).astype(dtype)
    return np.concatenate([anything, ordinary, rng.standard_normal(count).astype(dtype), special])


@pytest.mark.parametrize("machine", TARGETS, ids=[t.name for t in TARGETS])
@pytest.mark.parametrize("type", FLOAT)
def test_the_same_bits(type, machine):
    for name in written(type):
        kernel = math_kernel(name, type)
        symbol = f"same_{name}_{type}_{machine.name.replace('-', '_')}"
        code = compile.object_code(pointwise(kernel, symbol, machine), machine)
        (address,) = compile.loaded().addresses(code, [symbol])
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
        arrays = [places(type, 1000, seed) for seed in range(FUNCTIONS[name])]
        arrays += [np.empty_like(arrays[0]), np.empty_like(arrays[0])]
        *inputs, got, want = arrays
        pointers = (ctypes.c_void_p * (len(inputs) + 1))(*(a.ctypes.data for a in (*inputs, got)))
        strides = (ctypes.c_int64 * (len(inputs) + 1))(*[got.itemsize] * (len(inputs) + 1))
        call(pointers, strides, got.size)
        interpret(kernel, [a.reshape(1, -1) for a in (*inputs, want)])
        whole = FLOAT[type][1]
        differ = (got.view(whole) != want.view(whole)) & ~(np.isnan(got) & np.isnan(want))
        at = np.flatnonzero(differ)[:3]
        assert not len(at), (name, [(*(a[i] for a in inputs), got[i], want[i]) for i in at])
