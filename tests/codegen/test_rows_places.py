"""Row kernels that reduce nothing, with lanes across many rows: memory in its own order, places shared out among threads."""

import ctypes

import numpy as np
import pytest

import thixo as tx
from thixo.codegen.builder import Builder
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.compile import loaded, object_code
from thixo.codegen.llvm.rows_across import across
from thixo.codegen.llvm.target import PORTABLE, host


def _kernel():
    """x * row + position."""
    operands = (Operand("f32"), Operand("f32", "row"), Operand("f32", "full", True))
    b = Builder()
    b.store(2, b.load(0, "f32") * b.load(1, "f32") + b.index().cast("f32"))
    return Kernel(operands, tuple(b.instructions))


@pytest.mark.parametrize("target", [host(), PORTABLE], ids=lambda t: t.name)
def test_every_place_of_many_rows(target):
    kernel = _kernel()
    name = f"test_rows_places_{target.name.replace('-', '_')}"
    where = loaded().addresses(object_code(across(kernel, name, target), target), [name])[0]
    whole, place = ctypes.c_int64, ctypes.c_void_p
    call = ctypes.CFUNCTYPE(None, place, place, *[whole] * 3, place, *[whole] * 2)(where)
    rng = np.random.default_rng(0)
    for rows in (1, 16, 65, 128, 131, 1024, 1025, 2100):
        for segments, columns in ((1, 0), (1, 1), (1, 4), (3, 7), (2, 9)):
            x = rng.normal(size=(segments, columns, rows)).astype(np.float32)
            row = rng.normal(size=rows).astype(np.float32)
            numbers = np.arange(segments * columns, dtype=np.float32).reshape(segments, columns, 1)
            for first in (0, 5):
                y = np.full((segments, columns, rows + 3), 7, np.float32)  # rows lie apart
                pointers = (place * 3)(*(a.ctypes.data for a in (x, row, y)))
                apart = 4 * (rows + 3)
                strides = (whole * 9)(
                    4, 4 * rows * columns, 4 * rows, 4, 0, 0, 4, apart * columns, apart
                )
                call(pointers, strides, rows, segments, columns, None, 0, first)
                np.testing.assert_allclose(
                    y[..., :rows], x * row + numbers + first, rtol=1e-6, atol=1e-6
                )
                assert np.all(y[..., rows:] == 7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    ("rows", "classes"),
    [(523, 299), (1000, 100), (130, 8), (2049, 33), (40, 700), (300, 1), (0, 5)],
)
def test_gradients_of_cross_entropy_of_logits_that_lie_transposed(rows, classes, dtype):
    rng = np.random.default_rng(rows)
    logits = tx.tensor(rng.normal(size=(classes, rows))).to(getattr(tx, dtype))
    x = logits.transpose(0, 1)
    grad = tx.tensor(rng.normal(size=(rows, 1))).to(x.dtype)
    target = tx.tensor(rng.integers(0, classes, (rows, 1)))
    lse = tx.logsumexp(x.to(tx.float64), 1, True)
    lse = lse.to(tx.float64 if dtype == "float64" else tx.float32)
    found, before = [], tx.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            tx.set_num_threads(threads)
            y = tx.nn.functional.log_likelihood_gradient(grad, x, target, lse, 1)
            found.append(y.to(tx.float64).numpy())
    finally:
        tx.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    a, g = x.to(tx.float64).numpy(), grad.to(tx.float64).numpy()
    chosen = np.arange(classes) == target.numpy()
    wanted = g * (chosen - np.exp(a - lse.to(tx.float64).numpy()))
    near = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(found[0], wanted, rtol=near, atol=near)
