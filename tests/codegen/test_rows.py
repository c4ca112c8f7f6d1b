"""Row kernels: machine code against the interpreter, in both layouts of lanes; and through the eager tensor."""

import ctypes
import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.codegen.builder import Builder, Value
from thixo.codegen.expand import expand
from thixo.codegen.instructions import is_float, is_integer
from thixo.codegen.interpret import NUMPY, interpret
from thixo.codegen.kernel import REGISTER, Kernel, Operand
from thixo.codegen.llvm.compile import loaded, object_code
from thixo.codegen.llvm.rows import PAD, along, slots_of
from thixo.codegen.llvm.rows_across import across, width_of
from thixo.codegen.llvm.rows_past_cache import PAST_CACHE
from thixo.codegen.llvm.target import PORTABLE, host
from thixo.codegen.rowwise_split import split

LAYOUTS = {"along": along, "across": across}
SIZES = [
    (1, 1, 1),
    (3, 1, 7),
    (5, 2, 16),
    (17, 1, 33),
    (70, 3, 5),
    (1, 1, 5003),
    (131, 1, 19),
    (4, 0, 3),
    (33, 1, 0),
]


@functools.cache
def _function(kernel, layout, target):
    name = f"test_rows_{layout}_{target.name.replace('-', '_')}_{kernel.key}"
    code = object_code(LAYOUTS[layout](kernel, name, target), target)
    where = loaded().addresses(code, [name])[0]
    numbers = (ctypes.c_int64,) * 3
    return ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, *numbers, ctypes.c_void_p, *numbers[:2]
    )(where)


def run(kernel, arrays, sizes, layout, target):
    """Call the machine code; arrays have the axes (rows, segments, columns), of size 1 where they do not vary.

    Whether it asks for memory ahead of time, or leaves that to the processor, is all the same to the results.
    """
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    strides = []
    for operand, a in zip(kernel.operands, arrays, strict=True):
        steps = [s if n > 1 else 0 for s, n in zip(a.strides, a.shape, strict=True)]
        if operand.view in ("full", "column") and layout == "along":
            steps[2] = a.itemsize
        strides += steps
    at_once = width_of(kernel, target) if layout == "across" else 1
    room = slots_of(kernel) * (sizes[1] * sizes[2] + PAD) * 8 * at_once
    scratch = np.empty(room + 64, np.uint8)
    steps = (ctypes.c_int64 * len(strides))(*strides)
    results = [a for o, a in zip(kernel.operands, arrays, strict=True) if o.written]
    before, found = [a.copy() for a in results], []
    for fetches in (0, -1):
        for a, old in zip(results, before, strict=True):
            a[...] = old
        call = _function(kernel, layout, target)
        call(pointers, steps, *sizes, scratch.ctypes.data, fetches, 0)
        found.append([a.copy() for a in results])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def _shape(operand, sizes):
    rows, segments, columns = sizes
    return {"full": sizes, "row": (rows, 1, 1), "column": (1, segments, columns), "one": (1, 1, 1)}[
        operand.view
    ]


def _values(rng, dtype, shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype[0] in "iu":
        info = np.iinfo(NUMPY[dtype])
        return rng.integers(max(info.min, -50), min(info.max, 50), shape).astype(NUMPY[dtype])
    return rng.normal(size=shape).astype(NUMPY[dtype])


def check(kernel, sizes, layout, target, seed=0, exact=False):
    """The machine code gives what the interpreter gives."""
    rng = np.random.default_rng(seed)
    arrays = [_values(rng, o.dtype, _shape(o, sizes)) for o in kernel.operands]
    if layout == "across":  # rows lie side by side
        arrays = [np.ascontiguousarray(a.transpose(1, 2, 0)).transpose(2, 0, 1) for a in arrays]
    flat = [np.array(a).reshape(a.shape[0], -1) for a in arrays]
    interpret(kernel, flat, sizes[1] * sizes[2])
    run(kernel, arrays, sizes, layout, target)
    for operand, made, expected in zip(kernel.operands, arrays, flat, strict=True):
        if not operand.written:
            continue
        made = np.array(made).reshape(expected.shape)
        if made.dtype.kind in "fcV" and not exact:
            wide = np.complex128 if made.dtype.kind == "c" else np.float64
            made, expected = made.astype(wide), expected.astype(wide)
            loose = {"f16": 2e-3, "bf16": 2e-2, "f64": 1e-9, "c128": 1e-9}.get(operand.dtype, 1e-4)
            scale = np.maximum(
                1, np.abs(np.where(np.isfinite(expected), expected, 1)).max(initial=0)
            )
            np.testing.assert_allclose(made / scale, expected / scale, rtol=loose, atol=loose)
        else:
            np.testing.assert_array_equal(made, expected)


@st.composite
def kernels(draw):
    """Random bodies: operands of all views, some reductions, values used before and after them."""
    b = Builder()
    register = draw(st.sampled_from(["f32", "f64", "i32", "i64", "u8", "i16"]))
    memory = {"f32": ["f32", "f16", "bf16"]}.get(register, [register])
    operands, values = [], []
    for view in (
        "full",
        *draw(st.lists(st.sampled_from(["full", "row", "column", "one"]), max_size=3)),
    ):
        dtype = draw(st.sampled_from(memory))
        values.append(b.load(len(operands), REGISTER.get(dtype, dtype)))
        operands.append(Operand(dtype, view))
    if draw(st.booleans()):
        values.append(b.index("i32").cast(register))
    combiners = ["add", "max", "min"] + (["mul"] if is_integer(register) else [])
    ops = ["add", "sub", "mul", "larger", "reduce", "reduce", "half"]
    for _ in range(draw(st.integers(2, 9))):
        op = draw(st.sampled_from(ops))
        x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        made: Value
        if op == "reduce":
            made = b.reduce(draw(st.sampled_from(combiners)), x)
        elif op == "larger":
            made = b.select(x < y, y, x)
        elif op == "half":
            made = b.function("tanh", x) if is_float(register) else x - (x >> 1)
        else:
            made = b.emit(op, x, y)
        if is_float(register) and op in ("mul", "reduce"):
            made = b.function("tanh", made)  # so that nothing grows
        values.append(made)
    last = b.reduce(draw(st.sampled_from(combiners)), values[-1])
    outputs = draw(st.sampled_from([("row",), ("full",), ("full", "row")]))
    for view in outputs:
        operands.append(Operand(draw(st.sampled_from(memory)), view, True))
        b.store(len(operands) - 1, last if view == "row" else last + values[-1] - values[0])
    return Kernel(tuple(operands), tuple(b.instructions))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels(), st.sampled_from(SIZES), st.sampled_from(list(LAYOUTS)), st.integers(0, 9))
def test_random_bodies(kernel, sizes, layout, seed):
    check(expand(kernel), sizes, layout, host(), seed)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels(), st.sampled_from(SIZES), st.sampled_from(list(LAYOUTS)))
def test_random_bodies_without_masks(kernel, sizes, layout):
    check(expand(kernel), sizes, layout, PORTABLE)


@pytest.mark.parametrize("columns", [1, 37, 255, 256, 257, 1025, 4099])
def test_rows_in_blocks_and_rows_alone(columns):
    """Rows that are walked again: short ones in blocks, longer ones one after the other, the longest while the next one is on its way."""
    b = Builder()
    x, weight = b.load(0, "f32"), b.load(1, "f32")
    count = b.columns().cast("f32")
    mean = b.reduce("add", x) / count
    centred = x - mean
    var = b.reduce("add", centred * centred) / count
    scale = b.emit("div", b.constant(1.0, "f32"), b.emit("sqrt", var + b.constant(0.1, "f32")))
    b.store(2, centred * scale * weight)
    b.store(3, mean)
    operands = (Operand("f32"), Operand("f32", "column"), Operand("f32", "full", True), Operand("f32", "row", True))  # fmt: skip
    kernel = Kernel(operands, tuple(b.instructions))
    for target in (host(), PORTABLE):
        for rows in (1, 19):
            check(kernel, (rows, 1, columns), "along", target)


@pytest.mark.parametrize("combiner", ["max", "add", "or"])
@pytest.mark.parametrize("columns", [5, 130, 1027])
def test_results_beside_what_is_reduced_on_the_same_walk(combiner, columns):
    """Wherever rows begin in memory."""
    b = Builder()
    x = b.load(0, "f32")
    b.store(1, x + x)
    b.store(2, b.reduce(combiner, x < b.constant(0.0, "f32") if combiner == "or" else x))
    kinds = Operand("f32"), Operand("f32", written=True)
    row = Operand("bool" if combiner == "or" else "f32", "row", True)
    for layout in LAYOUTS:
        check(Kernel((*kinds, row), tuple(b.instructions)), (7, 1, columns), layout, host())


@pytest.mark.parametrize("also", [False, True])
@pytest.mark.parametrize("rows", [40, 197, 330, 1100])
def test_walks_side_by_side_are_those_of_each_block(rows, also):
    """Long columns of a matrix: processors that foresee streams go through them in another order, to the same bits.

    So do those that write results past the cache; and nothing beside the results is written.
    """
    b = Builder()
    x, count = b.load(0, "f32"), b.columns().cast("f32")
    mean = b.reduce("add", x) / count
    centred = x - mean
    var = b.reduce("add", centred * centred) / count
    y = centred / b.emit("sqrt", var)
    b.store(1, y * b.load(3, "f32") if also else y)
    b.store(2, mean)
    operands = [
        Operand("f32"),
        Operand("f32", "full", True),
        Operand("f32", "row", True),
        Operand("f32"),
    ]
    kernel = Kernel(tuple(operands[: 3 + also]), tuple(b.instructions))
    columns = 2051
    rng = np.random.default_rng(rows)
    x, factor = rng.normal(size=(2, columns, rows)).astype(np.float32)
    address = ctypes.cast(_function(kernel, "across", host()), ctypes.c_void_p).value
    numbers = (ctypes.c_int64,) * 3
    call = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, *numbers, ctypes.c_void_p, *numbers[:2]
    )(address)
    found = []
    for fetches in (0, PAST_CACHE, -1):
        room = np.full(x.size + 64, 7, np.float32)
        y = room[21:][: x.size].reshape(x.shape)  # at the begin of no line
        arrays = x, y, np.zeros(rows, np.float32), factor
        pointers = (ctypes.c_void_p * 4)(*(a.ctypes.data for a in arrays))
        strides = (ctypes.c_int64 * 12)(4, 0, 4 * rows, 4, 0, 4 * rows, 4, 0, 0, 4, 0, 4 * rows)
        call(pointers, strides, rows, 1, columns, None, fetches, 0)
        assert (room[:21] == 7).all()
        assert (room[21 + x.size :] == 7).all()
        found.append(arrays[1:3])
    for one, mean in found:
        np.testing.assert_array_equal(one, found[-1][0])
        np.testing.assert_array_equal(mean, found[-1][1])
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(0)) / wide.std(0) * (factor if also else 1)
    np.testing.assert_allclose(found[0][0], expected, rtol=1e-4, atol=1e-4)


def _reduction(dtype, combiner):
    b = Builder()
    register = REGISTER.get(dtype, dtype)
    b.store(1, b.reduce(combiner, b.load(0, register)))
    return Kernel((Operand(dtype), Operand(dtype, "row", True)), tuple(b.instructions))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"],
)
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_every_dtype(dtype, layout):
    combiners = ["max", "min"] + (["and", "or"] if dtype == "bool" else ["add"])
    for combiner in combiners:
        for sizes in ((7, 1, 131), (40, 2, 9)):
            check(_reduction(dtype, combiner), sizes, layout, host())


@pytest.mark.parametrize("dtype", ["i8", "i64", "f16", "bf16", "f32", "f64"])
def test_rows_of_every_short_length(dtype):
    for combiner in ("add", "max"):
        kernel = _reduction(dtype, combiner)
        for columns in (*range(9), *range(15, 18), 31, 32, 33, 49, 63, 64, 65, 100, 127, 128, 129):
            for rows in (1, 16, 35):
                check(kernel, (rows, 1, columns), "along", host())


@pytest.mark.parametrize("dtype", ["i32", "f16", "bf16", "f32", "f64"])
def test_rows_of_every_short_length_that_are_walked_again(dtype):
    """A value is kept from walk to walk, and there are more operands than one."""
    b, register = Builder(), REGISTER.get(dtype, dtype)
    x, y = b.load(0, register), b.load(1, register)
    top = b.reduce("max", x)
    kept = b.function("exp", x - top) if is_float(register) else (x - top) * (x - top)
    total = b.reduce("add", kept)
    where = b.reduce("min", b.select(x == top, b.index("i64"), b.constant(1 << 40, "i64")))
    b.store(2, (kept + total) * y)
    b.store(3, where)
    operands = (Operand(dtype), Operand(dtype), Operand(dtype, "full", True), Operand("i64", "row", True))  # fmt: skip
    kernel = expand(Kernel(operands, tuple(b.instructions)))
    for columns in (*range(5), 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 129, 255):
        for rows in (1, 16, 35):
            check(kernel, (rows, 1, columns), "along", host())
    check(kernel, (19, 1, 21), "along", PORTABLE)


def test_short_rows_add_up_like_one_that_stays_and_store_anywhere():
    b = Builder()
    b.store(2, b.reduce("add", b.load(0, "f32") * b.load(1, "f32")))
    operands = (Operand("f32"), Operand("f32", "column"), Operand("f32", "row", True))
    kernel = Kernel(operands, tuple(b.instructions))
    rng = np.random.default_rng(3)
    for columns in (1, 16, 17, 49, 64, 70, 200):
        sizes = (37, 1, columns)
        x = rng.normal(size=sizes).astype(np.float32)
        found = []
        for step in (1, 3):  # results side by side, and apart
            made = np.zeros((37 * step, 1, 1), np.float32)[::step]
            run(kernel, [x, np.ones((1, 1, columns), np.float32), made], sizes, "along", host())
            found.append(made.copy())
        one = np.zeros(
            (37, 1, 1), np.float32
        )  # where an operand stays, short rows have no form of their own
        arrays = x, np.ones(1, np.float32), one
        pointers = (ctypes.c_void_p * 3)(*(a.ctypes.data for a in arrays))
        strides = (ctypes.c_int64 * 9)(4 * columns, 0, 4, 0, 0, 0, 4, 0, 0)
        _function(kernel, "along", host())(pointers, strides, *sizes, None, -1, 0)
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], one)


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("combiner", ["max", "min"])
def test_nan_comes_through_wherever_it_is(layout, combiner):
    kernel = _reduction("f32", combiner)
    for place in (0, 15, 16, 63, 64, 200, 256):
        x = np.zeros((40, 1, 257), np.float32)
        x[:, 0, place] = np.nan
        made = np.zeros((40, 1, 1), np.float32)
        if layout == "across":
            x = np.ascontiguousarray(x.transpose(1, 2, 0)).transpose(2, 0, 1)
        run(kernel, [x, made], x.shape, layout, host())
        assert np.isnan(made).all()


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_sums_are_as_exact_as_a_tree(layout):
    kernel = _reduction("f32", "add")
    x = np.full((16, 1, 1_000_003), 0.1, np.float32)
    x = np.broadcast_to(x[:, :, :1], x.shape).copy()
    if layout == "across":
        x = np.ascontiguousarray(x.transpose(1, 2, 0)).transpose(2, 0, 1)
    made = np.zeros((16, 1, 1), np.float32)
    run(kernel, [x, made], x.shape, layout, host())
    exact = float(np.float32(0.1)) * 1_000_003
    assert np.abs(made / exact - 1).max() < 2e-6


def test_a_value_that_stays_is_read_like_one_that_moves():
    b = Builder()
    b.store(2, b.reduce("add", b.load(0, "f32") * b.load(1, "f32")))
    kernel = Kernel(
        (Operand("f32"), Operand("f32"), Operand("f32", "row", True)), tuple(b.instructions)
    )
    x, y = np.arange(6 * 37, dtype=np.float32).reshape(6, 37), np.arange(6, dtype=np.float32)
    made = np.zeros(6, np.float32)
    pointers = (ctypes.c_void_p * 3)(x.ctypes.data, y.ctypes.data, made.ctypes.data)
    steps = (ctypes.c_int64 * 9)(37 * 4, 0, 4, 4, 0, 0, 4, 0, 0)
    _function(kernel, "along", host())(pointers, steps, 6, 1, 37, None, -1, 0)
    np.testing.assert_allclose(made, (x * y[:, None]).sum(1), rtol=1e-6)


def test_sums_over_rows():
    b = Builder()
    x, s = b.load(0, "f32"), b.load(1, "f32")
    b.store(2, x * s)
    b.store(3, x - b.reduce("max", x))
    operands = (
        Operand("f32"),
        Operand("f32", "row"),
        Operand("f32", "column", True),
        Operand("f32", written=True),
    )
    kernel = Kernel(operands, tuple(b.instructions))
    rng = np.random.default_rng(0)
    for rows, columns in ((1, 1), (5, 37), (40, 130), (3, 5003)):
        x, s = rng.normal(size=(rows, 1, columns)), rng.normal(size=(rows, 1, 1))
        arrays = [x.astype(np.float32), s.astype(np.float32), np.zeros((1, 1, columns), np.float32)]
        arrays.append(np.zeros((rows, 1, columns), np.float32))
        flat = [a.reshape(a.shape[0], -1).copy() for a in arrays]
        interpret(kernel, flat)
        run(kernel, arrays, (rows, 1, columns), "along", host())
        np.testing.assert_allclose(arrays[2][0], flat[2], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(arrays[3][:, 0], flat[3])


def test_split_kernels_give_the_same():
    b = Builder()
    x, s = b.load(0, "f32"), b.load(1, "f32")
    b.store(2, b.reduce("add", x * s) / b.columns().cast("f32") + s)
    b.store(3, b.reduce("max", x))
    row = Operand("f32", "row", True)
    kernel = Kernel((Operand("f32"), Operand("f32", "row"), row, row), tuple(b.instructions))
    halves = split(kernel)
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(3, 40)).astype(np.float32), rng.normal(size=(3, 1)).astype(np.float32)
    whole, largest = np.zeros((2, 3, 1), np.float32)
    interpret(kernel, [x, s, whole, largest])
    parts = np.zeros((2, 3, 4), np.float32)
    for block in range(4):
        piece = x[:, 10 * block : 10 * block + 10]
        interpret(halves.partial, [piece, s, *(p[:, block : block + 1] for p in parts)])
    again, top = np.zeros((2, 3, 1), np.float32)
    interpret(halves.combine, [*parts, s, np.array([[40]]), again, top])
    np.testing.assert_allclose(again, whole, rtol=1e-5)
    np.testing.assert_array_equal(top, largest)


# ---- through the tensor


def _functions():
    return {
        "sum": lambda t, d: tx.sum(t, d),
        "mean": lambda t, d: tx.mean(t, d),
        "amax": lambda t, d: tx.amax(t, d),
        "var": lambda t, d: tx.var(t, d),
        "norm": lambda t, d: tx.linalg.vector_norm(t, 2, d),
        "softmax": lambda t, d: tx.softmax(t, d) if isinstance(d, int) else tx.sum(t, d),
        "argmax": lambda t, d: tx.argmax(t, d) if isinstance(d, int) else tx.amin(t, d),
    }


@pytest.mark.parametrize("name", list(_functions()))
def test_threads_do_not_change_a_bit(name):
    rng = np.random.default_rng(1)
    arrays = [
        ((4, 5, 3001), 2),
        ((501, 130), 0),
        ((90001, 3), 0),
        ((3, 200003), 1),
        ((9, 7, 41, 43), (0, 2, 3)),
    ]
    before = tx.get_num_threads()
    try:
        for shape, dim in arrays:
            t = tx.tensor(rng.normal(size=shape).astype(np.float32))
            found = []
            for threads in (1, 2, 3, 7):
                tx.set_num_threads(threads)
                found.append(_functions()[name](t, dim).numpy())
            assert all(np.array_equal(found[0], other) for other in found[1:])
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("dim", [0, 1, 2, 3, (0, 2), (1, 3), (0, 1), (0, 2, 3), (0, 1, 2, 3)])
def test_any_layout_of_the_input(dim):
    """Transposed, stepped, reversed and repeated inputs give what their copies give."""
    base = np.random.default_rng(2).normal(size=(6, 10, 14, 9)).astype(np.float32)
    t = tx.tensor(base)
    inputs = [
        t,
        t.permute(3, 1, 0, 2),
        t.permute(2, 3, 1, 0),
        t[:, ::2, 1:, ::3],
        t[:, :1].expand(6, 5, 14, 9),
    ]
    inputs.append(t.transpose(0, 1)[1:, :, ::2])
    for x in inputs:
        plain = tx.tensor(np.ascontiguousarray(x.numpy()))
        for f in (tx.sum, tx.amax, tx.var):
            np.testing.assert_allclose(
                f(x, dim).numpy(), f(plain, dim).numpy(), rtol=1e-5, atol=1e-5
            )
        if isinstance(dim, int):
            np.testing.assert_allclose(
                tx.softmax(x, dim).numpy(), tx.softmax(plain, dim).numpy(), rtol=1e-5
            )
            np.testing.assert_array_equal(tx.argmax(x, dim).numpy(), plain.numpy().argmax(dim))


def test_first_of_equals_in_logical_order():
    x = tx.tensor(np.zeros((30, 40), np.float32))
    x[7, 3] = 1.0
    x[3, 7] = 1.0
    assert tx.argmax(x).item() == 3 * 40 + 7
    assert tx.argmax(x.transpose(0, 1)).item() == 3 * 30 + 7
    assert tx.argmax(x.transpose(0, 1).contiguous().transpose(0, 1)).item() == 3 * 40 + 7


def test_gradients_of_layer_norm_do_not_depend_on_threads():
    rng = np.random.default_rng(4)
    x, g = rng.normal(size=(2, 700, 131)).astype(np.float32)
    w, b = rng.normal(size=(2, 131)).astype(np.float32)
    before, found = tx.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            tx.set_num_threads(threads)
            leaves = [tx.tensor(v).requires_grad_() for v in (x, w, b)]
            y = tx.nn.functional.layer_norm(leaves[0], (131,), *leaves[1:])
            found.append([v.numpy() for v in tx.autograd.grad(y, leaves, tx.tensor(g))])
    finally:
        tx.set_num_threads(before)
    for other in found[1:]:
        assert all(np.array_equal(a, c) for a, c in zip(found[0], other, strict=True))
    h = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found[0][1], (g * h).sum(0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[0][2], g.sum(0), rtol=1e-3, atol=1e-4)


def test_norms_of_images_match_their_parts():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8, 5, 7, 6)).astype(np.float32)
    w, b = rng.normal(size=(2, 5)).astype(np.float32)
    y = tx.nn.functional.batch_norm(tx.tensor(x), None, None, tx.tensor(w), tx.tensor(b), True)
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    shape = (1, 5, 1, 1)
    expected = (x - mean) / np.sqrt(var + 1e-5) * w.reshape(shape) + b.reshape(shape)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_types_follow_arguments_that_change():
    """The rule of an operator is not asked again for arguments that it has seen: shapes, axes, dtypes count."""
    standardize = tx.nn.functional.standardize
    for _ in range(2):
        for n in range(2, 14):  # more than are remembered
            for dtype in (tx.float32, tx.float64):
                x = tx.arange(float(3 * n)).reshape(n, 3).to(dtype)
                for dim, shape in (
                    ((0,), (1, 3)),
                    ((1,), (n, 1)),
                    ((0, 1), (1, 1)),
                    ((-1,), (n, 1)),
                ):
                    y, mean, _ = standardize(x, dim, 0.0)
                    assert (y.shape, mean.shape, mean.dtype) == (x.shape, shape, dtype)
                    expected = x.numpy().mean(axis=dim, keepdims=True)
                    np.testing.assert_allclose(mean.numpy(), expected, rtol=1e-6)
        with pytest.raises(IndexError, match="out of range"):
            standardize(tx.ones(2, 3), (2,), 0.0)
