"""Kernels for processors that this machine may not be give what the interpreter gives: run under qemu-user.

Every buffer ends at a page that cannot be touched, so a kernel that reads or writes beyond it fails too; that is also
asked of this machine's own kernels.
"""

import itertools
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from emulation import EMULATORS, Pointers, Program
from math_kernels import math_kernel, written

from thixo import _core
from thixo.codegen.builder import Builder
from thixo.codegen.expand import expand
from thixo.codegen.interpret import NUMPY, interpret
from thixo.codegen.kernel import REGISTER, Kernel, Operand
from thixo.codegen.llvm import contract, emit, window, winograd_wide
from thixo.codegen.llvm.pointwise import pointwise
from thixo.codegen.llvm.rows import PAD, along, slots_of
from thixo.codegen.llvm.rows_across import across, width_of

FLOAT = {"f32": (np.float32, np.int32), "f64": (np.float64, np.int64)}


@pytest.fixture(params=EMULATORS)
def program(request, tmp_path):
    emulator = EMULATORS[request.param]
    if emulator.missing:
        pytest.skip(f"needs {' and '.join(emulator.missing)} (see emulation/__init__.py)")
    return Program(emulator, tmp_path)


# ---- pointwise


def places(type, count, seed):
    """Any bit pattern, ordinary numbers, and special ones; a ragged count."""
    dtype, whole = FLOAT[type]
    rng, limits = np.random.default_rng(seed), np.iinfo(whole)
    anything = rng.integers(limits.min, limits.max, count, dtype=whole).view(dtype)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan], dtype)
    return np.concatenate([anything, (rng.standard_normal(count) * 10).astype(dtype), special])


@pytest.mark.parametrize("type", FLOAT)
def test_vector_math_has_the_same_bits(program, type):
    found = []
    for name, count in written(type).items():
        kernel = math_kernel(name, type)
        program.add(pointwise(kernel, f"math_{name}", program.emulator.target))
        inputs = [places(type, 200, seed) for seed in range(count)]
        got, want = np.zeros_like(inputs[0]), np.zeros_like(inputs[0])
        steps = np.full(count + 1, got.itemsize, np.int64)
        program.call(f"math_{name}", Pointers([*inputs, got]), steps, got.size)
        with np.errstate(all="ignore"):
            interpret(kernel, [a.reshape(1, -1) for a in (*inputs, want)])
        found.append((name, inputs, got, want))
    program.run()
    whole = FLOAT[type][1]
    for name, inputs, got, want in found:
        differ = (got.view(whole) != want.view(whole)) & ~(np.isnan(got) & np.isnan(want))
        at = np.flatnonzero(differ)[:3]
        assert not len(at), (name, [(*(a[i] for a in inputs), got[i], want[i]) for i in at])


def arithmetic(dtype):
    """x * y + x, and the larger of the two."""
    b = Builder()
    register = REGISTER.get(dtype, dtype)
    x, y = b.load(0, register), b.load(1, register)
    b.store(2, x * y + x)
    b.store(3, b.select(x < y, y, x))
    operands = (Operand(dtype), Operand(dtype, "one"), *[Operand(dtype, written=True)] * 2)
    return expand(Kernel(operands, tuple(b.instructions)))


def test_every_dtype_in_memory(program):
    rng = np.random.default_rng(0)
    found = []
    for dtype in ("i8", "u8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"):
        kernel = arithmetic(dtype)
        program.add(pointwise(kernel, f"plain_{dtype}", program.emulator.target))
        for count in (1, 3, 17, 64, 131):
            x = rng.integers(-9, 9, count).astype(NUMPY[dtype])
            y = np.array([3]).astype(NUMPY[dtype])
            got = [np.zeros(count, NUMPY[dtype]) for _ in range(2)]
            want = [np.zeros(count, NUMPY[dtype]) for _ in range(2)]
            size = x.itemsize
            steps = np.array([size, 0, size, size], np.int64)
            program.call(f"plain_{dtype}", Pointers([x, y, *got]), steps, count)
            interpret(kernel, [a.reshape(1, -1) for a in (x, y, *want)])
            found.append((dtype, count, got, want))
    program.run()
    for dtype, count, got, want in found:
        for a, b in zip(got, want, strict=True):
            assert a.tobytes() == b.tobytes(), (dtype, count)


# ---- rows


def softmax():
    b = Builder()
    x = b.load(0, "f32")
    e = b.function("exp", x - b.reduce("max", x))
    b.store(1, e / b.reduce("add", e))
    return Kernel((Operand("f32"), Operand("f32", written=True)), tuple(b.instructions))


def normalised():
    """Rows less their mean, scaled by a weight for each column."""
    b = Builder()
    x, w = b.load(0, "f32"), b.load(1, "f32")
    centred = x - b.reduce("add", x) / b.columns().cast("f32")
    b.store(2, centred * w)
    b.store(3, b.reduce("add", centred * centred))
    operands = (Operand("bf16"), Operand("f32", "column"), Operand("f16", written=True),
                Operand("f32", "row", True))  # fmt: skip
    return Kernel(operands, tuple(b.instructions))


def reduction(dtype, combiner):
    b = Builder()
    b.store(1, b.reduce(combiner, b.load(0, REGISTER.get(dtype, dtype))))
    return Kernel((Operand(dtype), Operand(dtype, "row", True)), tuple(b.instructions))


ROWS = {
    "softmax": softmax(),
    "normalised": normalised(),
    "sum_f32": reduction("f32", "add"),
    "sum_f64": reduction("f64", "add"),
    "sum_i64": reduction("i64", "add"),
    "max_bf16": reduction("bf16", "max"),
    "min_i8": reduction("i8", "min"),
}


@pytest.mark.parametrize("layout", ["along", "across"])
def test_rows(program, layout):
    target = program.emulator.target
    rng = np.random.default_rng(0)
    found = []
    for name, plain in ROWS.items():
        kernel = expand(plain)
        write = {"along": along, "across": across}[layout]
        program.add(write(kernel, f"rows_{name}", target))
        for rows, columns in ((1, 1), (3, 7), (5, 16), (17, 33), (2, 1003), (70, 5)):
            arrays = []
            for o in kernel.operands:
                shape = {"full": (rows, columns), "row": (rows, 1), "column": (1, columns)}[o.view]
                values = rng.normal(size=shape) * (20 if o.dtype[0] == "i" else 1)
                arrays.append(values.astype(NUMPY[o.dtype]))
            want = [a.copy() for a in arrays]
            interpret(kernel, want, columns)
            if layout == "across":  # rows lie side by side
                arrays = [np.ascontiguousarray(a.T).T for a in arrays]
            steps = []
            for o, a in zip(kernel.operands, arrays, strict=True):
                row, column = (s if n > 1 else 0 for s, n in zip(a.strides, a.shape, strict=True))
                if o.view != "row" and layout == "along":
                    column = a.itemsize
                steps += [row, 0, column]
            at_once = width_of(kernel, target) if layout == "across" else 1
            scratch = np.zeros(slots_of(kernel) * (columns + PAD) * at_once + 8, np.float64)
            table = Pointers(arrays)
            program.call(
                f"rows_{name}", table, np.array(steps, np.int64), rows, 1, columns, scratch
            )
            found.append((name, kernel, arrays, want))
    program.run()
    for name, kernel, arrays, want in found:
        for o, a, b in zip(kernel.operands, arrays, want, strict=True):
            if o.dtype[0] == "i":
                np.testing.assert_array_equal(a, b, err_msg=name)
            else:
                loose = {"f16": 2e-3, "bf16": 1e-2, "f64": 1e-12}.get(o.dtype, 1e-5)
                a, b = a.astype(np.float64), b.astype(np.float64)
                scale = max(1.0, np.abs(b).max(initial=0))
                np.testing.assert_allclose(a / scale, b / scale, 0, loose, err_msg=name)


# ---- tiles of products and convolutions; whole numbers, so that every order of addition gives the same


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_tiles_of_products(program, dtype):
    functions, constants = contract.tile_functions(dtype, program.emulator.target)
    program.add(emit.module(functions, constants))
    tile = contract.tile_of(dtype, program.emulator.target)
    kind = FLOAT[dtype][0]
    rng = np.random.default_rng(0)
    found = []
    for rows in range(1, tile.rows + 1):
        for columns in {1, 3, tile.columns // 2 + 1, tile.columns - 1, tile.columns}:
            k, add = int(rng.integers(0, 40)), int(rng.integers(2))
            a = rng.integers(-4, 5, (rows, k)).astype(kind)
            b = rng.integers(-4, 5, (k, tile.columns)).astype(kind)
            for by_rows in (False, True):
                c = rng.integers(-4, 5, (rows, columns + 3)).astype(kind)
                want = c.copy()
                want[:, :columns] = add * c[:, :columns] + a @ b[:, :columns]
                lies = a.copy() if by_rows else np.ascontiguousarray(a.T)
                program.call(f"gemm_{dtype}_tile", k, lies, *((k, 1) if by_rows else (1, rows)), b,
                             tile.columns, c, columns + 3, rows, columns, add)  # fmt: skip
                found.append(((rows, columns, k, by_rows), c, want))
    program.run()
    for what, c, want in found:
        np.testing.assert_array_equal(c, want, err_msg=str(what))


def test_tiles_of_convolutions(program):
    target = program.emulator.target
    functions, constants = window.tile_functions("f32", target)
    program.add(emit.module(functions, constants))
    lanes = target.lanes(4)
    rng = np.random.default_rng(0)
    found = []
    for vectors in range(1, window.VECTORS + 1):
        most = window.tile_rows(target, vectors)
        for rows in {1, 2, most - 1, most} - {0}:
            k, add, width = 23, int(rng.integers(2)), vectors * lanes
            a = rng.integers(-4, 5, (rows, k)).astype(np.float32)
            b = rng.integers(-4, 5, 300).astype(np.float32)
            starts = rng.integers(0, 300 - width, k)
            c = rng.integers(-4, 5, (rows, width)).astype(np.float32)
            want = add * c + a @ np.stack([b[s : s + width] for s in starts])
            table = np.stack([np.arange(k) * 4, starts * 4], 1).astype(np.int64)
            program.call("conv_f32_tile", k, a, k, b, table, c, width, rows, vectors, add)
            found.append(((rows, vectors), c, want))
    program.run()
    for what, c, want in found:
        np.testing.assert_array_equal(c, want, err_msg=str(what))


# ---- Winograd's F(4x4, 3x3), and the end of a convolution


def along_both(matrix, a):
    return np.einsum("ia,jb,ab...->ij...", matrix, matrix, a)


def test_wide_transforms(program):
    target = program.emulator.target
    program.add(emit.module(winograd_wide.wide_functions(target)))
    lanes, rng = target.lanes(4), np.random.default_rng(0)
    points = [0, 0.75, -0.75, 1.5, -1.5]
    others = [np.poly([q for q in points if q is not p])[::-1] for p in (*points, None)]
    turn_in = np.stack([np.pad(p, (0, 6 - len(p))) for p in others])
    powers = [np.power(points, i) for i in range(4)]
    turn_out = np.column_stack([np.stack(powers), [0, 0, 0, 1]])
    found = []
    for tiles, count in ((1, lanes), (3, 2 * lanes)):
        image = rng.integers(-8, 9, (6, 4 * tiles + 2, count)).astype(np.float32)
        v = np.full((6, 6, tiles, count), 9, np.float32)
        program.call(
            "conv_f32_wide_in", Pointers(image), count, v, count, lanes, tiles * count, tiles, count
        )
        pieces = np.stack([image[:, 4 * t : 4 * t + 6] for t in range(tiles)], 2)
        found.append((v, along_both(turn_in, pieces)))
        m = rng.integers(-8, 9, (6, 6, tiles, count)).astype(np.float32)
        for odd in (0, 1):
            m[0, 1, 0, 2] = np.inf if odd else 1
            y, wrong = np.zeros((4, 4 * tiles, count), np.float32), np.zeros(1, np.int64)
            program.call(
                "conv_f32_wide_out", m.copy(), tiles * count, count, y, 4 * tiles * count, count, tiles, count, wrong
            )  # fmt: skip
            want = along_both(turn_out, m).swapaxes(1, 2).reshape(4, 4 * tiles, count)
            found += [(wrong, np.array([odd])), *([] if odd else [(y, want)])]
    program.run()
    for got, want in found:
        np.testing.assert_allclose(got, want, 1e-6, 1e-5)


def test_ends_of_convolutions(program):
    target = program.emulator.target
    program.add(emit.module(winograd_wide.wide_functions(target)))
    rng, found = np.random.default_rng(0), []
    for count in (1, 5, target.lanes(4), 2 * target.lanes(4) + 3):
        for bias, more, relu in itertools.product((0, 1), (0, 1), (0, 1)):
            sums = rng.standard_normal((3, count + 2)).astype(np.float32)
            sums[0, 0], sums[1, 0] = np.nan, -0.0
            added = rng.standard_normal(count).astype(np.float32)
            other = rng.standard_normal((3, count + 1)).astype(np.float32)
            to = np.full((3, count + 1), 7, np.float32)
            want = sums[:, :count] + added * np.float32(bias) if bias else sums[:, :count]
            want = want + other[:, :count] if more else want
            want = np.where(want < 0, np.float32(0), want) if relu else want
            program.call("conv_f32_end", sums, count + 2, to, count + 1, 3, count,
                         added if bias else 0, other if more else 0, relu)  # fmt: skip
            found.append((to, np.column_stack([want, np.full(3, 7, np.float32)])))
    program.run()
    for got, want in found:
        np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))


# ---- the package itself on a processor without AVX-512

PACKAGE = """
import numpy as np
import thixo as tx
from thixo import _core
from thixo.codegen.llvm import target

assert target.host().name == "x86-64-v3", target.host()
assert _core.shipped_kernel("gemm_f32_tile"), "the kernels for this processor do not serve"
_core.shipped_kernel = lambda name: 0  # those of operators are made here, whether the build made them or not
rng = np.random.default_rng(0)
x = rng.standard_normal((37, 53)).astype("float32")
t = tx.tensor(x)
np.testing.assert_allclose((t @ t.T).numpy(), x @ x.T, rtol=1e-4, atol=1e-4)
np.testing.assert_allclose(tx.tanh(t).numpy(), np.tanh(x), rtol=1e-5)
np.testing.assert_allclose(tx.softmax(t, 1).sum(1).numpy(), np.ones(37), rtol=1e-5)
image, kernel = tx.ones(1, 2, 9, 9), tx.ones(3, 2, 3, 3)
assert tx.nn.functional.conv2d(image, kernel).tolist() == tx.full((1, 3, 7, 7), 18.0).tolist()
print("right")
"""

X86 = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64",
    reason="a Python for x86-64 is needed",
)


def package(folder, *emulator, **environment):
    kept = {"PYTHONPATH": os.pathsep.join(sys.path), "THIXO_CACHE": str(folder / "kernels")}
    done = subprocess.run(
        [*emulator, sys.executable, "-c", PACKAGE],
        env={**os.environ, **kept, **environment},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "right"), done.stderr


@X86
def test_a_machine_without_avx512_is_served_by_v3_kernels(tmp_path):
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("needs qemu-x86_64 (see emulation/__init__.py)")
    package(tmp_path, "qemu-x86_64", "-cpu", "Haswell", THIXO_TARGET="")


@X86
def test_v3_kernels_serve_where_the_switch_asks_for_them(tmp_path):
    if _core.host_target() not in ("x86-64-v3", "x86-64-v4"):
        pytest.skip(f"this processor is {_core.host_target()}")
    package(tmp_path, THIXO_TARGET="x86-64-v3")
