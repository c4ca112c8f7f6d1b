"""The Tensor as a Python object: its attributes, how it meets Python's own functions and syntax, and how it is
made, converted and read back."""

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import thixo as tx
from thixo.dtype import ALL
from thixo.errors import (
    ArgumentError,
    AutogradError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    ThixoError,
)


@pytest.fixture
def x():
    return tx.arange(6.0).reshape(2, 3)


# ---- attributes


def test_sizes(x):
    assert x.shape == x.size() == (2, 3)
    assert (x.ndim, x.dim(), x.ndimension()) == (2, 2, 2)
    assert (x.numel(), x.nelement()) == (6, 6)
    assert (x.size(0), x.size(-1), x.size(dim=1)) == (2, 3, 3)
    assert tx.tensor(1).shape == ()
    assert tx.zeros(2, 0).numel() == 0


def test_a_shape_is_a_tuple(x):
    shape = x.shape
    assert isinstance(shape, tuple)
    assert type(shape[:1]) is type(shape + shape) is tx.Size
    assert shape.numel() == 6
    rows, columns = shape
    assert (rows, columns) == (2, 3)
    assert repr(shape) == "Size([2, 3])"
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert {shape: 1}[(2, 3)] == 1


def test_places_in_memory(x):
    assert x.stride() == (3, 1)
    assert x.T.stride() == (1, 3)
    assert (x.stride(0), x.stride(-1)) == (3, 1)
    assert x[1].storage_offset() == 3
    assert x[1].data_ptr() == x.data_ptr() + 12
    assert x.is_contiguous()
    assert not x.T.is_contiguous()
    assert x.contiguous() is x
    assert x.T.contiguous().stride() == (2, 1)


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_bytes(dtype):
    x = tx.ones(2, 3, dtype=dtype)
    assert x.dtype is dtype
    assert x.element_size() == x.itemsize == dtype.numpy.itemsize
    assert x.nbytes == 6 * x.itemsize
    assert x.is_floating_point() == (dtype.numpy.kind == "f" or dtype is tx.bfloat16)
    assert x.is_complex() == (dtype.numpy.kind == "c")
    assert x.is_signed() == (dtype.numpy.kind not in "bu")


def test_where_it_is(x):
    assert x.device == tx.device("cpu")
    assert x.get_device() == -1
    assert x.is_cpu
    assert not x.is_cuda
    assert not x.is_sparse
    assert not x.is_pinned()
    assert x.layout is tx.strided


def test_attributes_that_cannot_be_set(x):
    for name in ("shape", "dtype", "ndim", "device", "is_leaf", "grad_fn"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        x.frobnicate()
    assert not hasattr(x, "frobnicate")


def test_own_attributes_of_users(x):
    x.label = "mine"
    assert x.label == "mine"
    assert copy.copy(x).label == copy.deepcopy(x).label == "mine"
    assert not hasattr(x + 1, "label")


def test_transposes(x):
    z = x + 1j
    assert x.T.tolist() == x.mT.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert z.H.tolist() == z.mH.tolist() == [[0 - 1j, 3 - 1j], [1 - 1j, 4 - 1j], [2 - 1j, 5 - 1j]]
    assert z.real.tolist() == x.tolist()
    assert z.imag.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert x.real is x or x.real.data_ptr() == x.data_ptr()
    with pytest.raises(DTypeError):
        _ = x.imag


def test_every_operator_is_listed(x):
    names = dir(x)
    assert {"sum", "exp_", "reshape", "shape", "backward", "T"} <= set(names)
    assert "frobnicate" not in names


# ---- Python's functions


def test_len_and_iteration(x):
    assert len(x) == 2
    assert len(tx.zeros(0, 3)) == 0
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert [v.item() for v in tx.arange(3)] == [0, 1, 2]
    assert list(tx.zeros(0)) == []
    first, second = x
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [3, 4, 5]
    assert [v.item() for v in reversed(tx.arange(3))] == [2, 1, 0]
    assert sum(tx.arange(4)).item() == 6
    assert max(tx.tensor([3, 1])).item() == 3
    with pytest.raises(ArgumentError, match="len: a 0-d tensor has no length"):
        len(tx.tensor(1))
    with pytest.raises(ArgumentError, match="iter: a 0-d tensor cannot be iterated over"):
        iter(tx.tensor(1))


def test_pythons_round_trunc_and_divmod():
    x = tx.tensor([1.26, -2.51], dtype=tx.float64, requires_grad=True)
    assert round(x).tolist() == [1.0, -3.0]
    np.testing.assert_allclose(round(x, 1).detach().numpy(), [1.3, -2.5])
    assert round(tx.tensor(7)).item() == 7
    assert math.trunc(tx.tensor(-2.7)) == -2
    n = tx.tensor([7, -7])
    for (quotient, rest), (a, b) in (
        (divmod(n, 2), (n, 2)),
        (divmod(9, n), (9, n)),
        (divmod(n, n + 4), (n, n + 4)),
    ):
        assert quotient.tolist() == (a // b).tolist()
        assert rest.tolist() == (a % b).tolist()
    divmod(x, 0.5)[1].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(tx.errors.ArgumentError, match="got str"):
        divmod(x, "a")


def test_rows_of_an_iteration_are_views_with_gradients(x):
    for row in x:
        row.add_(1)
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    w = tx.ones(2, requires_grad=True)
    a, b = w
    (a * 2 + b * 3).backward()
    assert w.grad.tolist() == [2, 3]


@pytest.mark.parametrize("make", [lambda v: tx.tensor(v), lambda v: tx.tensor([[v]])])
def test_conversion_to_python_numbers(make):
    assert (int(make(-2.7)), int(make(3)), int(make(True))) == (-2, 3, 1)
    assert (float(make(2.5)), float(make(3))) == (2.5, 3.0)
    assert complex(make(1 + 2j)) == 1 + 2j
    assert complex(make(2.5)) == 2.5
    assert bool(make(0.5))
    assert bool(make(float("nan")))
    assert not bool(make(0))
    assert type(int(make(3))) is int
    assert type(float(make(3))) is float


def test_conversions_that_are_refused(x):
    for convert in (int, float, bool, complex):
        with pytest.raises(ShapeError, match=r"f32\[2,3\]"):
            convert(x)
        with pytest.raises(ShapeError):
            convert(tx.zeros(0))
    for convert in (int, float):
        with pytest.raises(DTypeError, match=r"a complex number is no .*c64\[\]"):
            convert(tx.tensor(1j))
    with pytest.raises(OverflowError):
        int(tx.tensor(float("inf")))


def test_index():
    assert operator.index(tx.tensor(3)) == 3
    assert operator.index(tx.tensor([3])) == 3
    assert [10, 20, 30][tx.tensor(1)] == 20
    assert list(range(tx.tensor(3))) == [0, 1, 2]
    assert [0] * tx.tensor(2) == [0, 0]
    with pytest.raises(DTypeError, match=r"only integer tensors can be used as an index.*f32\[\]"):
        operator.index(tx.tensor(1.0))


def test_truth_in_conditions():
    assert (tx.tensor(0) or 5) == 5
    assert not tx.tensor([False])
    assert all(tx.tensor([1, 2]))
    assert not any(tx.zeros(2))
    assert sorted([tx.tensor(2), tx.tensor(1)])[0].item() == 1


def test_contains():
    x = tx.tensor([1.0, 2.0])
    assert 2 in x
    assert 2.5 not in x
    assert tx.tensor(1) in x
    assert np.float64(1) in x
    assert 1 not in tx.zeros(0)
    for wrong in ("a", None, [1]):
        with pytest.raises(
            ArgumentError, match=r"in: only a Tensor or a number .* of f32\[2\], got"
        ):
            _ = wrong in x


def test_equality_and_identity(x):
    assert (x == x).all()
    assert (x == 1.0).sum() == 1
    assert (x != None) is True  # noqa: E711
    assert (x == None) is False  # noqa: E711
    assert (x == "text") is False
    assert (x != "text") is True
    assert x is not x.clone()
    with pytest.raises(ShapeError):
        _ = x == tx.ones(5)


def test_tensors_are_keys_by_identity(x):
    assert hash(x) == hash(x)
    twin = x.clone()
    names = {x: "x", twin: "twin"}
    assert (names[x], names[twin]) == ("x", "twin")
    assert x in {x}
    assert twin not in {x}


def test_python_operators():
    i = tx.tensor([5, 7])
    assert (2 - i).tolist() == [-3, -5]
    assert (2**i).tolist() == [32, 128]
    assert (7 // i).tolist() == [1, 1]
    assert (7 % i).tolist() == [2, 0]
    assert (1 << i).tolist() == [32, 128]
    assert (6 & i).tolist() == [4, 6]
    assert (6 | i).tolist() == [7, 7]
    assert (6 ^ i).tolist() == [3, 1]
    assert (-i).tolist() == [-5, -7]
    assert (+i).tolist() == [5, 7]
    assert (~i).tolist() == [-6, -8]
    assert abs(-i).tolist() == [5, 7]
    assert (1 / tx.tensor([2, 4])).tolist() == [0.5, 0.25]
    assert (3 < i).all()  # noqa: SIM300
    assert (5 >= i).tolist() == [True, False]  # noqa: SIM300


def test_operators_in_place_keep_the_tensor():
    x = tx.tensor([4.0, 9.0])
    same = x
    x += 1
    x -= 2
    x *= 4
    x /= 2
    x //= 2
    x **= 2
    x %= 5
    assert x is same
    assert x.tolist() == [4, 4]
    n = tx.tensor([6])
    same = n
    n &= 3
    n |= 5
    n ^= 1
    n <<= 2
    n >>= 1
    assert n is same
    assert n.item() == 12


def test_other_classes_may_answer_for_a_tensor(x):
    class Answers:
        def __radd__(self, other):
            return "answered"

        def __add__(self, other):
            return "left"

    assert x + Answers() == "answered"
    assert Answers() + x == "left"


# ---- reading back


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_item_and_tolist(dtype):
    kind = complex if dtype.is_complex else float if dtype.is_floating_point else int
    kind = bool if dtype is tx.bool else kind
    x = tx.tensor([1, 0]).to(dtype)
    assert x.tolist() == [1, 0]
    assert type(x[0].item()) is type(x.tolist()[0]) is kind
    assert x[:1].item() == 1
    assert x[0].tolist() == 1


def test_item_and_tolist_of_other_shapes(x):
    assert tx.tensor([[7]]).item() == 7
    assert x.T.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tx.zeros(2, 0).tolist() == [[], []]
    assert tx.zeros(0).tolist() == []
    assert tx.ones(1, requires_grad=True).tolist() == [1]
    assert tx.ones((), requires_grad=True).item() == 1
    for wrong in (x, tx.zeros(0)):
        with pytest.raises(ShapeError, match="item: one element is needed"):
            wrong.item()


# ---- making and converting


def test_new_tensors_are_like_the_one_asked():
    x = tx.ones(2, dtype=tx.float64, requires_grad=True)
    for made, shape in (
        (x.new_zeros(2), (2,)),
        (x.new_zeros(2, 3), (2, 3)),
        (x.new_ones((2, 3)), (2, 3)),
        (x.new_empty(0, 4), (0, 4)),
        (x.new_full((2,), 7), (2,)),
        (x.new_tensor([1, 2]), (2,)),
    ):
        assert made.shape == shape
        assert made.dtype is tx.float64
        assert not made.requires_grad
    assert x.new_full((2,), 7).tolist() == [7, 7]
    assert x.new_ones(2, dtype=tx.int32).dtype is tx.int32
    assert x.new_zeros(1, requires_grad=True).requires_grad
    assert tx.tensor([1]).new_tensor([1.5]).tolist() == [1]
    source = tx.tensor([1.0])
    assert source.new_tensor(source).data_ptr() != source.data_ptr()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("double", tx.float64),
        ("half", tx.float16),
        ("bfloat16", tx.bfloat16),
        ("int", tx.int32),
        ("long", tx.int64),
        ("short", tx.int16),
        ("char", tx.int8),
        ("byte", tx.uint8),
        ("bool", tx.bool),
        ("cfloat", tx.complex64),
        ("cdouble", tx.complex128),
    ],
)
def test_conversions_by_name(x, name, dtype):
    assert getattr(x, name)().dtype is dtype
    assert x.to(dtype).dtype is x.type(dtype).dtype is dtype


def test_to(x):
    n = tx.tensor([1])
    assert x.to(tx.float32) is x.to("cpu") is x.cpu() is x.float() is x.type(tx.float32) is x
    assert x.to(tx.float32, copy=True).data_ptr() != x.data_ptr()
    assert x.to("cpu", tx.float64).dtype is tx.float64
    assert x.to(tx.device("cpu"), dtype=tx.int32).dtype is tx.int32
    assert x.to(n).dtype is x.type_as(n).dtype is tx.int64
    assert x.type() == "thixo.FloatTensor"
    assert n.type() == "thixo.LongTensor"
    assert x.type("thixo.DoubleTensor").dtype is tx.float64
    with pytest.raises(ThixoError):
        x.to("nowhere")
    with pytest.raises(ArgumentError, match="type: needs a dtype or the name of one"):
        x.type(3)


def test_conversions_carry_gradients(x):
    w = x.requires_grad_()
    (w.double() * 2).sum().backward()
    assert w.grad.dtype is tx.float32
    assert w.grad.tolist() == [[2, 2, 2], [2, 2, 2]]
    assert not w.long().requires_grad


def test_the_class_makes_tensors():
    assert tx.Tensor([1, 2]).dtype is tx.float32
    assert tx.Tensor([1, 2]).tolist() == [1, 2]
    assert tx.Tensor(2, 3).shape == (2, 3)
    assert tx.Tensor(4).shape == (4,)
    assert tx.Tensor().shape == (0,)
    n = tx.arange(3)
    assert tx.Tensor(n).dtype is tx.int64
    assert tx.Tensor(n).data_ptr() == n.data_ptr()
    assert tx.is_tensor(n)
    assert not tx.is_tensor([1])
    assert not tx.is_tensor(np.ones(1))


def test_tensor_of_python_data():
    assert tx.tensor([[1, 2], [3, 4]]).dtype is tx.int64
    assert tx.tensor([1, 2.5]).dtype is tx.float32
    assert tx.tensor([True, 2]).dtype is tx.int64
    assert tx.tensor([1, 2j]).dtype is tx.complex64
    assert tx.tensor([]).dtype is tx.float32
    assert tx.tensor([[], []]).shape == (2, 0)
    assert tx.tensor((1, (2).__add__(1))).tolist() == [1, 3]
    assert tx.tensor([tx.tensor(1), tx.tensor(2)]).tolist() == [1, 2]
    assert tx.tensor([tx.ones(2), tx.zeros(2)]).shape == (2, 2)
    assert tx.tensor(range(3)).tolist() == [0, 1, 2]
    assert tx.tensor(np.float64(1.5)).dtype is tx.float64
    assert tx.tensor([1], dtype="float64").dtype is tx.float64
    assert tx.tensor([1], dtype=np.int8).dtype is tx.int8


def test_tensor_copies_and_leaves_the_tape():
    a = np.zeros(2)
    t = tx.tensor(a)
    a[0] = 1
    assert t.tolist() == [0, 0]
    w = tx.ones(2, requires_grad=True)
    made = tx.tensor(w)
    assert not made.requires_grad
    assert made.data_ptr() != w.data_ptr()
    assert tx.tensor(w, requires_grad=True).is_leaf


# ---- copies


def test_copies_share_and_deep_copies_do_not(x):
    assert copy.copy(x).data_ptr() == x.data_ptr()
    deep = copy.deepcopy(x)
    deep += 1
    assert x[0, 0] == 0
    both = copy.deepcopy([x, x])
    assert both[0] is both[1]
    assert copy.deepcopy(x.T).tolist() == x.T.tolist()


def test_named_results_can_be_copied_and_pickled(x):
    for found in (x.max(1), x.sort(0), tx.linalg.qr(x)):
        for twin in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
            assert type(twin) is type(found)
            assert all((a == b).all() for a, b in zip(twin, found, strict=True))


def test_what_was_computed_is_not_pickled():
    y = tx.ones(1, requires_grad=True) * 2
    with pytest.raises(AutogradError, match=r"only leaf tensors can be pickled; use detach\(\)"):
        pickle.dumps(y)
    assert pickle.loads(pickle.dumps(y.detach())).item() == 2


# ---- shape in place


def test_shapes_changed_in_place():
    x = tx.arange(6)
    assert x.resize_(2, 3) is x
    assert x.shape == (2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    x.resize_as_(tx.ones(4))
    assert x.tolist() == [0, 1, 2, 3]
    assert x.unsqueeze_(0).shape == (1, 4)
    assert x.t_().shape == (4, 1)
    assert x.squeeze_().shape == (4,)
    with pytest.raises(IndexOutOfRange):
        x.unsqueeze_(5)
    assert x.shape == (4,)
