"""A pointwise loop takes any number of elements, and does the same however it is asked to treat the cache."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from thixo.codegen.builder import Builder
from thixo.codegen.expand import expand
from thixo.codegen.interpret import NUMPY
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm import compile, target
from thixo.codegen.llvm.pointwise import ROWS, UNAIDED, pointwise

HOST = target.host()
TARGETS = [HOST] + ([target.X86_64_V3] if HOST is target.X86_64_V4 else [])
COUNTS = (0, 1, 7, 16, 17, 63, 64, 65, 128, 257, 511, 512, 513, 1000, 4099)


def loop(dtype, products, machine):
    """first + second * second ..., compiled."""
    b = Builder()
    first, second = b.load(0, dtype), b.load(1, dtype)
    for _ in range(products):
        first = first + second * second
    b.store(2, first)
    kernel = Kernel(
        (Operand(dtype), Operand(dtype), Operand(dtype, written=True)), tuple(b.instructions)
    )
    symbol = f"loop_{dtype}_{products}_{machine.name.replace('-', '_')}"
    code = compile.object_code(pointwise(expand(kernel), symbol, machine), machine)
    (address,) = compile.loaded().addresses(code, [symbol])
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)


def at_a_line(count, dtype):
    """Memory that begins where a line of the cache does."""
    memory = np.zeros(count * dtype.itemsize + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][: count * dtype.itemsize].view(dtype)


@pytest.mark.parametrize("machine", TARGETS, ids=[t.name for t in TARGETS])
@pytest.mark.parametrize("products", [1, 3, 8, 20, 40])  # from light to heavy
@pytest.mark.parametrize("short", ["f32", "f64", "i32", "i64"])
def test_every_count_and_way(short, products, machine):
    call, dtype = loop(short, products, machine), NUMPY[short]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, COUNTS[-1]).astype(dtype) for _ in range(2))
    for n in COUNTS:
        for way in (n, n | UNAIDED, -n):
            for repeated in (False, True):
                got = at_a_line(n + 64, dtype)
                pointers = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in (a, b, got)))
                strides = (ctypes.c_int64 * 3)(
                    dtype.itemsize, 0 if repeated else dtype.itemsize, dtype.itemsize
                )
                call(pointers, strides, way)
                second = b[:1] if repeated else b[:n]
                np.testing.assert_array_equal(got[:n], a[:n] + products * second * second)
                assert not got[n:].any()


@pytest.mark.parametrize("machine", TARGETS, ids=[t.name for t in TARGETS])
@pytest.mark.parametrize("products", [1, 3, 8, 20])
@pytest.mark.parametrize("short", ["f32", "f64", "i32", "i64"])
def test_rows_with_one_call(short, products, machine):
    """Rows that begin anywhere, one after the other or with room between, beside a column, a row and what stays."""
    call, dtype = loop(short, products, machine), NUMPY[short]
    item = dtype.itemsize
    rng = np.random.default_rng(0)
    for columns in (1, 15, 16, 17, 63, 65, 130, 255, 256, 257, 600):
        for rows, room, (along, down) in (
            (1, 0, (item, columns * item)),
            (5, 0, (0, item)),
            (4, 3, (item, 0)),
            (3, 1, (0, 0)),
        ):
            width = columns + room
            a = rng.integers(-9, 9, (rows, width)).astype(dtype)
            b = rng.integers(-9, 9, rows * columns).astype(dtype)
            second = np.lib.stride_tricks.as_strided(b, (rows, columns), (down, along))
            for way in (0, UNAIDED):
                got = at_a_line(rows * width + 64, dtype)
                pointers = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in (a, b, got)))
                strides = (ctypes.c_int64 * 7)(
                    item, along, item, width * item, down, width * item, rows
                )
                call(pointers, strides, columns | ROWS | way)
                shaped = got[: rows * width].reshape(rows, width)
                np.testing.assert_array_equal(
                    shaped[:, :columns], a[:, :columns] + products * second * second
                )
                assert not shaped[:, columns:].any()
                assert not got[rows * width :].any()
