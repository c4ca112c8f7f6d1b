"""Tensors to and from other libraries and processes: NumPy, DLPack, buffers, pickle, copies."""

import array
import copy
import gc
import io
import pickle
import weakref

import ml_dtypes
import numpy as np
import pytest

import thixo as tx
from thixo.dtype import ALL, PROMOTION
from thixo.errors import ArgumentError, AutogradError, DTypeError, ShapeError, ValueRangeError

PLAIN = [d for d in ALL if d is not tx.bfloat16]  # what NumPy itself has


def shares(tensor, array):
    return np.shares_memory(tensor.detach().numpy(), array)


# ---- NumPy


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_from_numpy_shares_memory(dtype):
    a = np.ones((2, 3), dtype.numpy)
    t = tx.from_numpy(a)
    assert t.dtype is dtype
    assert shares(t, a)
    a[1, 2] = 0
    assert t[1, 2] == 0
    t[0, 0] = 0
    assert a[0, 0] == 0
    assert t.numpy().dtype == a.dtype
    assert t.numpy() is not a


def test_bfloat16_is_ml_dtypes():
    t = tx.ones(2, dtype=tx.bfloat16)
    assert t.numpy().dtype == ml_dtypes.bfloat16
    assert t.tolist() == [1.0, 1.0]


def test_layouts_of_numpy():
    a = np.arange(24.0).reshape(2, 3, 4)
    views = {
        "turned": a.T,
        "steps": a[:, ::2, 1:],
        "backwards": a[::-1, :, ::-1],
        "stretched": np.broadcast_to(a[0, 0], (5, 4)),
        "scalar": a[1, 1, 1:2].reshape(()),
        "empty": a[:0],
        "fortran": np.asfortranarray(a),
    }
    for name, view in views.items():
        t = tx.from_numpy(view)
        assert np.array_equal(t.numpy(), view), name
        assert view.size == 0 or shares(t, view), name
        assert np.array_equal((t * 2).numpy(), view * 2), name
        assert np.array_equal(t.clone().contiguous().numpy(), view), name
    t = tx.from_numpy(views["backwards"])
    t += 1
    assert a[0, 0, 0] == 1.0


def test_read_only_arrays_give_read_only_tensors():
    a = np.arange(3.0)
    a.flags.writeable = False
    for t in (tx.from_numpy(a), tx.from_dlpack(a), tx.from_numpy(np.broadcast_to(np.ones(1), 3))):
        with pytest.raises(
            tx.ThixoError, match="looks at memory that is read-only; clone it first"
        ):
            t.add_(1)
        with pytest.raises(tx.ThixoError, match="read-only"):
            t[0] = 5
        assert (t + 1).sum() >= 6.0
        t.clone().add_(1)
        assert not t.numpy().flags.writeable
        assert memoryview(t).readonly
    assert a.tolist() == [0, 1, 2]


def test_arrays_that_must_be_copied():
    swapped = np.arange(3, dtype=">i4")
    raw = np.frombuffer(bytearray(b"\0" + np.arange(3.0).tobytes()), np.uint8)
    misaligned = raw[1:].view(np.float64)
    packed = np.zeros(2, np.dtype([("a", "u1"), ("b", "<f4")]))
    packed["b"] = [1, 2]
    for a, expected in ((swapped, [0, 1, 2]), (misaligned, [0, 1, 2]), (packed["b"], [1, 2])):
        t = tx.from_numpy(a)
        assert t.tolist() == expected
        assert not shares(t, a)
        assert t.numpy().flags.aligned
        assert tx.tensor(a).tolist() == expected


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(2, [("a", "i4")]),
        np.array(["text"]),
        np.array([None]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "S3"),
    ],
    ids=lambda a: str(a.dtype),
)
def test_arrays_that_are_no_numbers(bad):
    with pytest.raises(DTypeError, match=r"from_numpy: arrays of dtype .* have no counterpart"):
        tx.from_numpy(bad)
    with pytest.raises((DTypeError, ArgumentError), match=r"test_exchange\.py"):
        tx.tensor(bad)


def test_from_numpy_wants_an_array():
    with pytest.raises(ArgumentError, match=r"a numpy\.ndarray is needed, got list"):
        tx.from_numpy([1])


def test_numpy_of_a_tensor_with_history():
    x = tx.ones(2, requires_grad=True)
    for convert in (lambda: x.numpy(), lambda: np.asarray(x), lambda: np.array(x * 2)):
        with pytest.raises(AutogradError, match=r"requires grad.*use detach\(\)\.numpy\(\)"):
            convert()
    assert x.numpy(force=True).tolist() == [1, 1]
    with tx.no_grad():
        assert np.asarray(x * 2).tolist() == [2, 2]


def test_array_protocol():
    x = tx.arange(3)
    assert shares(x, np.asarray(x))
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert not shares(x, np.array(x))
    assert x.__array__(np.int64, copy=False).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="another dtype needs a copy"):
        x.__array__(np.float32, copy=False)
    assert np.sum(tx.ones(3)) == 3
    assert np.concatenate([tx.ones(2), np.zeros(1)]).tolist() == [1, 1, 0]


def test_arrays_meet_tensors_as_tensors():
    x = tx.tensor([1.0, 2.0], dtype=tx.float64, requires_grad=True)
    a = np.array([3.0, 4.0])
    for y in (x * a, a * x):
        assert isinstance(y, tx.Tensor)
        (gradient,) = tx.autograd.grad(y.sum(), x)
        assert gradient.tolist() == [3, 4]
    assert (x.detach() == np.array([1.0, 5.0])).tolist() == [True, False]
    assert (np.array([1.0, 5.0]) == x.detach()).tolist() == [True, False]
    assert (a - x).tolist() == [2, 2]
    assert (a @ x).item() == 11
    assert (np.float64(2) * tx.ones(2)).dtype is tx.float32
    with pytest.raises(TypeError):
        _ = x + object()
    with pytest.raises(DTypeError):
        _ = x + np.array(["text", "more"])
    assert (x == "text") is False


def test_numpys_functions_of_tensors_give_tensors():
    x = tx.tensor([1.0, 4.0])
    for found, expected in (
        (np.sqrt(x), [1, 2]),
        (np.add(x, x), [2, 8]),
        (np.add(x, np.ones(2)), [2, 5]),
        (np.maximum(2, x), [2, 4]),
        (np.isnan(x), [False, False]),
        (np.add.reduce(x), 5),
        (np.cumsum(x), [1, 5]),
        (np.reshape(x, (2, 1)), [[1], [4]]),
        (np.modf(x)[1], [1, 4]),
    ):
        assert type(found) is tx.Tensor
        assert found.tolist() == expected
    assert np.sqrt(x).dtype is tx.float32
    assert np.isnan(x).dtype is tx.bool
    assert np.sqrt(tx.tensor([4])).dtype is tx.float64  # NumPy's own promotion
    with pytest.raises(AutogradError, match=r"requires grad.*use detach\(\)\.numpy\(\)"):
        np.sqrt(x.clone().requires_grad_())
    with pytest.raises(ArgumentError, match=r"^std: .*test_exchange\.py:\d+\)$"):
        np.std(x)  # NumPy calls the method, with arguments of its own


def test_arrays_are_changed_in_place_by_tensors():
    x = tx.tensor([1.0, 2.0])
    a = np.array([3.0, 4.0])
    same = a
    a += x
    a *= x
    assert a is same
    assert a.tolist() == [4, 12]
    found = np.multiply(x, x, out=a)
    assert found is a
    assert a.tolist() == [1, 4]
    with pytest.raises(AutogradError, match="requires grad"):
        a += x.clone().requires_grad_()
    with pytest.raises(
        ArgumentError, match=r"numpy\.add: out must be a NumPy array, got the tensor f32"
    ):
        np.add(a, a, out=x)
    assert a.tolist() == [1, 4]
    assert x.tolist() == [1, 2]
    x += a
    assert type(x) is tx.Tensor
    assert x.tolist() == [2, 6]


def test_arrays_without_axes_meet_tensors_as_numbers():
    x, a = tx.ones(2), np.array(2.0)
    for y in (x + a, a + x, x * a, np.float64(2) * x, a / x):
        assert type(y) is tx.Tensor
        assert y.dtype is tx.float32
    assert (np.int64(3) > x).all()
    assert (a > x).all()
    x *= a
    assert x.tolist() == [2, 2]


def test_other_libraries_decide_for_themselves_what_a_ufunc_does():
    class Decides:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return f"decided {ufunc.__name__}"

    assert np.add(tx.ones(2), Decides()) == "decided add"
    assert np.add(Decides(), tx.ones(2)) == "decided add"


def test_native_promotion_is_the_table():
    for a in ALL:
        for b in ALL:
            expected = PROMOTION[a.code][b.code]
            x, y = tx.ones(1, dtype=a), tx.ones(1, dtype=b)
            if expected is None:
                with pytest.raises(DTypeError, match="no common"):
                    _ = x * y
            else:
                assert (x * y).dtype is expected


# ---- asarray, as_tensor


def test_asarray_copies_when_told():
    a = np.arange(3.0)
    x = tx.arange(3.0)
    assert shares(tx.asarray(a), a)
    assert tx.asarray(x) is x
    assert not shares(tx.asarray(a, copy=True), a)
    assert shares(tx.asarray(a, copy=False), a)
    assert tx.asarray(x, copy=False) is x
    for refused in ([1.0], 3, a.astype(">f8"), "ab"):
        with pytest.raises((ValueRangeError, ArgumentError)):
            tx.asarray(refused, copy=False)
    with pytest.raises(ValueRangeError, match="copy=False"):
        tx.asarray(a, dtype=tx.float32, copy=False)


def test_integers_beyond_int64():
    for data in ([2**63 + 1, 1], [[2**64 - 1], [0]]):
        for dtype in (None, tx.uint64):
            x = tx.tensor(data, dtype=dtype)
            assert x.dtype is tx.uint64
            assert x.tolist() == data
    with pytest.raises(ArgumentError, match="cannot make a tensor"):
        tx.tensor([2**63, -1])
    with pytest.raises(ArgumentError, match="does not fit in 64 bits"):
        tx.tensor([2**64])


def test_python_buffers():
    assert tx.asarray(array.array("d", [1, 2])).tolist() == [1, 2]
    assert tx.asarray(memoryview(b"ab")).tolist() == [97, 98]
    assert tx.tensor(np.array([[1, 2]])).tolist() == [[1, 2]]
    with pytest.raises(ShapeError, match="nested lists must be rectangular"):
        tx.asarray([[1], [2, 3]])


# ---- buffers

FORMATS = dict(zip((d.name for d in PLAIN), "?bhiqBHIQefd", strict=False))


@pytest.mark.parametrize("dtype", PLAIN, ids=lambda d: d.name)
def test_memoryview(dtype):
    x = tx.arange(6).reshape(2, 3).to(dtype).T
    view = memoryview(x)
    assert view.shape == (3, 2)
    assert view.strides == tuple(s * dtype.itemsize for s in x.stride())
    assert view.format == {"complex64": "Zf", "complex128": "Zd"}.get(
        dtype.name, FORMATS.get(dtype.name)
    )
    assert np.array_equal(np.asarray(x), x.numpy())
    assert view.tobytes() == x.numpy().tobytes()


def test_buffers_that_cannot_be_lent():
    with pytest.raises(BufferError, match="bf16 tensor has no buffer format"):
        memoryview(tx.ones(2, dtype=tx.bfloat16))
    with pytest.raises(BufferError, match="requires grad"):
        memoryview(tx.ones(2, requires_grad=True))
    with pytest.raises(BufferError, match=r"call contiguous\(\)"):
        io.BytesIO().write(tx.ones(2, 2).T)


def test_a_lent_buffer_keeps_its_tensor():
    view = memoryview(tx.arange(1000))
    gc.collect()
    junk = [tx.ones(1000, dtype=tx.int64) for _ in range(10)]
    assert view[999] == 999
    assert len(junk) == 10


# ---- DLPack


@pytest.mark.parametrize("dtype", PLAIN, ids=lambda d: d.name)
def test_dlpack_with_numpy(dtype):
    x = tx.arange(12).reshape(3, 4).to(dtype)
    for view in (x, x.T, x[1:, ::2], x[1, 1], x[:0]):
        a = np.from_dlpack(view)
        assert a.dtype == dtype.numpy
        assert np.array_equal(a, view.numpy())
        assert view.numel() == 0 or shares(view, a)
        back = tx.from_dlpack(a)
        assert back.dtype is dtype
        assert back.stride() == view.stride() or view.numel() < 2
        assert np.array_equal(back.numpy(), a)


def test_dlpack_keeps_the_memory_alive():
    x = tx.arange(1000)
    a = np.from_dlpack(x)
    del x
    gc.collect()
    junk = [tx.zeros(1000, dtype=tx.int64) for _ in range(10)]
    assert a[999] == 999
    assert len(junk) == 10
    b = np.arange(1000)
    alive = weakref.ref(b)
    t = tx.from_dlpack(b)
    del b
    gc.collect()
    assert alive() is not None
    assert t[999] == 999
    del t
    gc.collect()
    assert alive() is None


def test_a_capsule_is_taken_once():
    for versioned in (None, (1, 0)):
        capsule = tx.ones(2).__dlpack__(max_version=versioned)
        assert tx.from_dlpack(capsule).tolist() == [1, 1]
        with pytest.raises(ArgumentError, match=r"this capsule was already used; .* taken once"):
            tx.from_dlpack(capsule)


def test_a_capsule_nobody_takes_is_freed():
    a = np.ones(2)
    alive = weakref.ref(a)
    capsule = tx.from_dlpack(a).__dlpack__()
    del a
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


class Lender:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self):  # from before version 1: no arguments
        return self.capsule


def test_dlpack_refusals():
    x = tx.ones(2)
    with pytest.raises(ArgumentError, match="an object with __dlpack__ is needed, got 3"):
        tx.from_dlpack(3)
    with pytest.raises(ArgumentError, match="must return a DLPack capsule, got int"):
        tx.from_dlpack(Lender(3))
    assert tx.from_dlpack(Lender(np.ones(2).__dlpack__())).tolist() == [1, 1]
    with pytest.raises(AutogradError, match=r"requires grad; call detach\(\) first"):
        x.clone().requires_grad_().__dlpack__()
    with pytest.raises(BufferError, match=r"only the CPU \(1, 0\) is served, asked for \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ArgumentError, match="the CPU has no streams, got 1"):
        x.__dlpack__(stream=1)
    misaligned = np.frombuffer(bytearray(9), np.uint8)[1:].view(np.float32)
    with pytest.raises(ArgumentError, match="do not begin at a multiple of that; lend a copy"):
        tx.from_dlpack(misaligned)


def test_dlpack_options():
    x = tx.ones(2)
    assert x.__dlpack_device__() == (1, 0)
    copied = tx.from_dlpack(x.__dlpack__(copy=True))
    copied += 1
    assert x.tolist() == [1, 1]
    assert not shares(tx.from_dlpack(x, copy=True), x.numpy())
    assert "versioned" in repr(x.__dlpack__(max_version=(1, 1)))
    assert "versioned" not in repr(x.__dlpack__(max_version=(0, 8)))
    read_only = np.ones(2)
    read_only.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only memory needs a consumer"):
        tx.from_numpy(read_only).__dlpack__()


# ---- pickle and copies


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(dtype, protocol):
    for x in (
        tx.arange(6).reshape(2, 3).to(dtype).T,
        tx.zeros((), dtype=dtype),
        tx.zeros(0, dtype=dtype),
    ):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert type(y) is tx.Tensor
        assert y.dtype is dtype
        assert np.array_equal(y.numpy(), x.numpy())
        y.fill_(1)


def test_pickle_keeps_what_belongs_to_a_tensor():
    x = tx.ones(2, requires_grad=True)
    x.note = "mine"
    first, second = pickle.loads(pickle.dumps([x, x]))
    assert first is second
    assert first.requires_grad
    assert first.note == "mine"
    p = pickle.loads(pickle.dumps(tx.nn.Parameter(tx.ones(2))))
    assert type(p) is tx.nn.Parameter
    assert p.requires_grad
    for thing in (tx.float32, tx.device("cpu"), tx.ones(2, 3).shape, tx.bool):
        assert pickle.loads(pickle.dumps(thing)) == thing
    assert pickle.loads(pickle.dumps(tx.float32)) is tx.float32


def test_modules_can_be_pickled_and_copied():
    model = tx.nn.Sequential(tx.nn.Linear(3, 2), tx.nn.ReLU())
    model[0].twin = model[0].weight  # tied
    x = tx.ones(4, 3)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (other(x) == model(x)).all()
        assert other[0].twin is other[0].weight
        assert other[0].weight is not model[0].weight


def test_deepcopy():
    x = tx.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad
    assert y.is_leaf
    assert y.grad.tolist() == [3, 3]
    assert y.grad is not x.grad
    assert not shares(y, x.detach().numpy())
    both = copy.deepcopy({"a": x, "b": x})
    assert both["a"] is both["b"]


def test_copy_shares_memory():
    x = tx.ones(2)
    x.note = "mine"
    y = copy.copy(x)
    assert y is not x
    assert y.note == "mine"
    y += 1
    assert x.tolist() == [2, 2]
    p = copy.copy(tx.nn.Parameter(tx.ones(2)))
    assert type(p) is tx.nn.Parameter
    assert p.requires_grad


def test_only_leaves_leave():
    y = tx.ones(2, requires_grad=True) * 2
    with pytest.raises(
        AutogradError, match=r"only leaf tensors can be deep-copied.*use detach\(\)"
    ):
        copy.deepcopy(y)
    with pytest.raises(AutogradError, match=r"only leaf tensors can be pickled; use detach\(\)"):
        pickle.dumps(y)


# ---- the standard's methods


def test_array_object():
    x = tx.arange(6.0).reshape(2, 3)
    assert x.to_device("cpu") is x
    with pytest.raises(ArgumentError, match="the CPU has no streams"):
        x.to_device("cpu", stream=1)
    assert x.mT.shape == (3, 2)
    assert x.device == tx.device("cpu")
    assert complex(tx.tensor(2.0)) == 2
    assert range(5)[tx.tensor(2)] == 2
    assert x[::-1, ::-2].tolist() == [[5, 3], [2, 0]]
