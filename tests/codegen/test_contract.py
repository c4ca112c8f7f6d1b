"""Generated kernels of matrix products: those of this machine compute, those of others compile; and the operator on them."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

import thixo as tx

llvmlite = pytest.importorskip("llvmlite")

from thixo import _core  # noqa: E402
from thixo.codegen.llvm import contract, contract_parts, emit, target  # noqa: E402
from thixo.codegen.llvm.compile import loaded, object_code  # noqa: E402

ADDRESS, NUMBER = ctypes.c_void_p, ctypes.c_int64


def runnable() -> list[str]:
    """Targets whose code this machine runs."""
    names = ["portable", "x86-64-v3", "x86-64-v4"]
    best = _core.host_target()
    found = names[: names.index(best) + 1] if best in names else [best]
    return found


@pytest.mark.parametrize("name", runnable())
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_tiles_compute(name: str, dtype: str) -> None:
    """Every number of rows and columns, all layouts of A, with and without what was in C; and what they do at the end."""
    chosen = target.named(name)
    functions, constants = contract.tile_functions(dtype, chosen)
    code = object_code(emit.module(functions, constants), chosen)
    tiles = {"tile": contract.tile_of(dtype, chosen)}
    wide = contract.wide_tile_of(dtype, chosen)
    if wide is not None:
        tiles["tile_wide"] = wide
    addresses = loaded().addresses(code, [f"gemm_{dtype}_{which}" for which in tiles])
    for tile, address in zip(tiles.values(), addresses, strict=True):
        check_tile(address, tile, dtype)
        check_end(address, tile, dtype)


def check_tile(address: int, tile: contract.Tile, dtype: str) -> None:
    """One of them."""
    call = ctypes.CFUNCTYPE(
        None, NUMBER, ADDRESS, NUMBER, NUMBER, ADDRESS, NUMBER, ADDRESS, *[NUMBER] * 4
    )(address)
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    random = np.random.default_rng(0)
    for rows in range(1, tile.rows + 1):
        for columns in range(1, tile.columns + 1, 1 if rows in (1, tile.rows) else 5):
            k, add = int(random.integers(0, 70)), int(random.integers(2))
            a = random.integers(-4, 5, (rows, k)).astype(kind)
            b = random.integers(-4, 5, (k, tile.columns)).astype(kind)
            panel = np.zeros((k, tile.width), kind)
            panel[:, :rows] = a.T
            lies = {(k, 1): a, (1, rows): np.ascontiguousarray(a.T), (1, tile.width): panel}
            for strides, memory in lies.items():
                c = random.integers(-4, 5, (rows, columns + 3)).astype(kind)
                wanted = c.copy()
                wanted[:, :columns] = add * c[:, :columns] + a @ b[:, :columns]
                call(k, memory.ctypes.data, *strides, b.ctypes.data, tile.columns, c.ctypes.data,
                     columns + 3, rows, columns, add)  # fmt: skip
                assert (c == wanted).all(), (rows, columns, k, strides, add)


def check_end(address: int, tile: contract.Tile, dtype: str) -> None:
    """A matrix that lies as C does, anywhere, is added, and relu follows; NaN stays."""
    call = ctypes.CFUNCTYPE(
        None, NUMBER, ADDRESS, NUMBER, NUMBER, ADDRESS, NUMBER, ADDRESS, *[NUMBER] * 4
    )(address)
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    random = np.random.default_rng(0)
    ends = [(a, d, r) for a in (0, 1) for d in (-1, 0, 1) for r in (0, 1)]
    for rows in (1, 2, tile.rows):
        for columns in range(1, tile.columns + 1):
            for adds, apart, relu in ends:
                k = int(random.integers(0, 9))
                a = random.integers(-4, 5, (rows, k)).astype(kind)
                b = random.integers(-4, 5, (k, tile.columns)).astype(kind)
                memory = random.integers(-9, 9, (3, rows, columns + 3)).astype(kind)
                memory[1 + apart, 0, 0] = np.nan
                wanted = memory.copy()
                total = a @ b[:, :columns] + (adds * memory[1, :, :columns] if adds else 0)
                if apart:
                    total = total + memory[1 + apart, :, :columns]
                wanted[1, :, :columns] = np.where(total < 0, 0, total) if relu else total
                code_of_end = adds | 2 * relu | apart * memory[0].nbytes
                call(k, a.ctypes.data, k, 1, b.ctypes.data, tile.columns, memory[1].ctypes.data,
                     columns + 3, rows, columns, code_of_end)  # fmt: skip
                np.testing.assert_array_equal(memory, wanted)


@pytest.mark.parametrize("name", runnable())
def test_copying_tiles_compute_and_pack(name: str) -> None:
    """Every number of rows: C is right, and the panel is what packing B would have made of it."""
    chosen = target.named(name)
    functions, constants = contract.tile_functions("f32", chosen)
    code = object_code(emit.module(functions, constants), chosen)
    (address,) = loaded().addresses(code, ["gemm_f32_tile_copying"])
    call = ctypes.CFUNCTYPE(
        None, NUMBER, ADDRESS, NUMBER, NUMBER, ADDRESS, NUMBER, ADDRESS, *[NUMBER] * 4, ADDRESS
    )(address)
    tile = contract.tile_of("f32", chosen)
    random = np.random.default_rng(0)
    for rows in range(1, tile.rows + 1):
        k, add = int(random.integers(0, 150)), int(random.integers(2))
        a = random.integers(-4, 5, (k, tile.width)).astype(np.float32)
        b = random.integers(-4, 5, (k, tile.columns + 5)).astype(np.float32)
        c = random.integers(-4, 5, (rows, tile.columns + 3)).astype(np.float32)
        panel = np.full((k + 1, tile.columns), 7, np.float32)
        wanted = c.copy()
        wanted[:, : tile.columns] = add * c[:, : tile.columns]
        wanted[:, : tile.columns] += a[:, :rows].T @ b[:, : tile.columns]
        call(k, a.ctypes.data, 1, tile.width, b.ctypes.data, tile.columns + 5, c.ctypes.data,
             tile.columns + 3, rows, tile.columns, add, panel.ctypes.data)  # fmt: skip
        assert (c == wanted).all(), (rows, k, add)
        assert (panel[:k] == b[:, : tile.columns]).all()
        assert (panel[k] == 7).all()


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_everything_shipped_compiles(name: str) -> None:
    """For every machine, on every machine."""
    chosen = target.named(name)
    names = set()
    for part, text in contract_parts.parts(chosen):
        assert object_code(text, chosen)[:4] == b"\x7fELF"
        names.add(part)
    assert {"gemm-f32", "gemm-f64", "gemm-f16", "gemm-bf16", "gemm-f32-tile"} <= names


PROGRAM = """
import numpy as np
import thixo as tx

random = np.random.default_rng(0)
for dtype in (tx.float32, tx.float64, tx.bfloat16, tx.float16):
    for m, k, n in [(1, 300, 40), (5, 40, 33), (40, 300, 70), (65, 17, 3), (0, 3, 4), (3, 0, 4), (20, 300, 40),
                    (90, 7, 90), (2, 90, 3), (2, 5, 3)]:
        a = random.integers(-3, 4, (m, k))
        b = random.integers(-3, 4, (n, k))
        got = tx.matmul(tx.tensor(a).to(dtype), tx.tensor(b).to(dtype).mT).to(tx.float64).numpy()
        wanted = tx.tensor((a @ b.T).astype("float64")).to(dtype).to(tx.float64).numpy()
        assert (got == wanted).all(), (dtype, m, k, n)
print("right")
"""


@pytest.mark.parametrize("name", [*runnable(), "none such"])
def test_forced_target(name: str) -> None:
    """THIXO_TARGET chooses the kernels; whole numbers come out exactly with any of them."""
    environment = {**os.environ, "THIXO_TARGET": name}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    if name == "none such":
        assert done.returncode != 0
        assert "does not run on this processor" in done.stderr
    else:
        assert done.stdout.strip() == "right", done.stderr


# ---- the operator


def pair(random: np.random.Generator, batch: tuple[int, ...], rows: int, columns: int, layout: int):
    """The same matrix as a tensor and as an array: plain, transposed, or every second element."""
    if layout == 0:
        array = random.standard_normal((*batch, rows, columns))
        return tx.tensor(array), array
    if layout == 1:
        array = random.standard_normal((*batch, columns, rows))
        return tx.tensor(array).mT, array.swapaxes(-1, -2)
    array = random.standard_normal((*batch, 2 * rows, 3 * columns))
    return tx.tensor(array)[..., ::2, 1::3], array[..., ::2, 1::3]


def test_random_products() -> None:
    """Sizes from 0 to 40, layouts, batches that broadcast."""
    random = np.random.default_rng(1)
    batches = [((), ()), ((3,), ()), ((), (3,)), ((2, 1), (3,)), ((2, 3), (2, 3)), ((0,), (1,))]
    for i in range(300):
        m, k, n = (int(x) for x in random.integers(0, 41, 3))
        first, second = batches[i % len(batches)]
        a, x = pair(random, first, m, k, int(random.integers(3)))
        b, y = pair(random, second, k, n, int(random.integers(3)))
        made = tx.matmul(a, b)
        wanted = x @ y
        assert made.is_contiguous()
        assert made.shape == wanted.shape
        np.testing.assert_allclose(made.numpy(), wanted, atol=1e-11)


def test_vectors() -> None:
    random = np.random.default_rng(2)
    for shapes in [
        ((5,), (5,)),
        ((4, 5), (5,)),
        ((5,), (5, 3)),
        ((2, 4, 5), (5,)),
        ((5,), (2, 5, 3)),
    ]:
        x, y = (random.standard_normal(s) for s in shapes)
        made = tx.matmul(tx.tensor(x), tx.tensor(y)).numpy()
        assert made.shape == (x @ y).shape
        np.testing.assert_allclose(made, x @ y)


def test_threads_do_not_matter() -> None:
    random = np.random.default_rng(3)
    before = tx.get_num_threads()
    try:
        sizes = [(200, 700, 300), (3, 900, 800), (900, 300, 5), (800, 11, 700), (20, 600, 400)]
        for m, k, n in sizes:
            plain = tx.tensor(random.standard_normal((m, k)).astype("float32"))
            b = tx.tensor(random.standard_normal((k, n)).astype("float32"))
            turned = tx.tensor(np.ascontiguousarray(b.numpy().T)).mT
            for a, other in [(plain, b), (plain, turned)]:
                results = []
                for count in (1, 2, 3, 7):
                    tx.set_num_threads(count)
                    results.append(tx.matmul(a, other).numpy().tobytes())
                assert len(set(results)) == 1
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("dtype", [tx.float32, tx.float64, tx.bfloat16])
@pytest.mark.parametrize("turned", [False, True])
def test_lines_of_the_first_matrix_that_are_4_kib_apart(dtype: tx.dtype, turned: bool) -> None:
    """They are copied where that pays; products are those of the same numbers elsewhere, on any number of threads."""
    random = np.random.default_rng(4)
    apart = 4096 // dtype.itemsize
    m, k = 150, 70  # of a larger matrix
    whole = tx.tensor(random.standard_normal((2, k if turned else m, apart))).to(dtype)
    near = whole[..., :m].mT if turned else whole[..., :k]
    b = tx.tensor(random.standard_normal((k, 700))).to(dtype)
    bias = tx.tensor(random.standard_normal(700)).to(dtype)
    before = tx.get_num_threads()
    try:
        for a in (near[0], near):
            results = []
            for count in (1, 2, 3):
                tx.set_num_threads(count)
                results.append(tx.nn.functional.linear(a, b.T, bias).double().numpy())
                results.append((tx.matmul(a, b).double() + bias.double()).numpy())
            wanted = a.double().numpy() @ b.double().numpy() + bias.double().numpy()
            error = {tx.float32: 1e-4, tx.float64: 1e-12, tx.bfloat16: 0.3}[dtype]
            for made in results:
                np.testing.assert_allclose(made, wanted, atol=error)
            for made, first in zip(results[2:], results[:2] * 2, strict=True):
                assert made.tobytes() == first.tobytes()
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("dtype", [tx.int8, tx.uint16, tx.int32, tx.int64, tx.uint64])
def test_integers_wrap(dtype) -> None:
    random = np.random.default_rng(4)
    x = random.integers(0, 120, (7, 300)).astype(dtype.name)
    y = random.integers(0, 120, (300, 9)).astype(dtype.name)
    assert (tx.matmul(tx.tensor(x), tx.tensor(y)).numpy() == x @ y).all()
    assert (tx.matmul(tx.tensor(x), tx.tensor(y.T.copy()).mT).numpy() == x @ y).all()


def test_bias_of_linear_with_and_without_tape() -> None:
    random = np.random.default_rng(5)
    for m, k, n in [(1, 300, 50), (40, 30, 20), (0, 3, 4), (6, 0, 4)]:
        x, w, b = (random.standard_normal(s) for s in [(m, k), (n, k), (n,)])
        plain = tx.nn.functional.linear(tx.tensor(x), tx.tensor(w), tx.tensor(b))
        taped = tx.nn.functional.linear(
            tx.tensor(x), tx.tensor(w).requires_grad_(), tx.tensor(b).requires_grad_()
        )
        np.testing.assert_allclose(plain.numpy(), x @ w.T + b, atol=1e-12)
        np.testing.assert_allclose(taped.detach().numpy(), x @ w.T + b, atol=1e-12)


def test_messages() -> None:
    with pytest.raises(tx.errors.ShapeError, match="matmul: inner sizes differ"):
        tx.matmul(tx.ones(2, 3), tx.ones(4, 5))
    with pytest.raises(tx.errors.ShapeError, match="do not broadcast"):
        tx.matmul(tx.ones(2, 3, 4), tx.ones(3, 4, 2))
    with pytest.raises(tx.errors.DTypeError, match="dtypes differ"):
        tx.matmul(tx.ones(2, 3), tx.ones(3, 2).to(tx.float64))


@pytest.mark.parametrize(
    ("m", "k", "n"), [(8, 8, 8), (1, 8, 8), (14, 32, 32), (8, 64, 3), (15, 9, 9), (6, 257, 31)]
)
def test_small_products_of_a_batch_are_those_alone(m: int, k: int, n: int) -> None:
    """The same bits, for any number of threads and every layout."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((70, m, k), (70, k, n)))
    before = tx.get_num_threads()
    try:
        for turned in (False, True):
            x, y = tx.tensor(a), tx.tensor(b)
            if turned:
                x, y = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (x, y))
            alone = np.stack([tx.matmul(x[i], y[i]).numpy() for i in range(len(a))])
            np.testing.assert_allclose(alone, a @ b, rtol=1e-4, atol=1e-4)
            for threads in (1, 3):
                tx.set_num_threads(threads)
                assert np.array_equal(tx.matmul(x, y).numpy(), alone)
    finally:
        tx.set_num_threads(before)


def test_products_of_a_batch_that_no_cache_holds_are_those_alone() -> None:
    draw = np.random.default_rng(5)
    x = tx.tensor(draw.standard_normal((14, 23, 97)).astype(np.float32))
    # An odd number of columns, and rows that begin within a line of the cache.
    y = tx.tensor(draw.standard_normal((14, 97, 1801)).astype(np.float32))[:, :, 1:]
    together = (x @ y).numpy()
    for i in range(14):
        np.testing.assert_array_equal(together[i], (x[i] @ y[i]).numpy())
    np.testing.assert_allclose(together[3], x[3].numpy() @ y[3].numpy(), rtol=1e-4, atol=1e-4)
