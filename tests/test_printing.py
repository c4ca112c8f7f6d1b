"""Tensors as text: what people who know PyTorch expect to read."""

import math

import pytest

import thixo as tx
from thixo.errors import ArgumentError

NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def _options():
    yield
    tx.set_printoptions(profile="default")
    tx.set_default_dtype(tx.float32)


def text(data, **options):
    return repr(tx.tensor(data, **options))


# ---- numbers


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (1, "tensor(1)"),
        (1.0, "tensor(1.)"),
        (-1.5, "tensor(-1.5000)"),
        (True, "tensor(True)"),
        (-0.0, "tensor(-0.)"),
        (NAN, "tensor(nan)"),
        (-INF, "tensor(-inf)"),
        (1 + 2j, "tensor(1.+2.j)"),
        (1e10, "tensor(1.0000e+10)"),
        (1e-10, "tensor(1.0000e-10)"),
        (100000.5, "tensor(100000.5000)"),
        (123456789, "tensor(123456789)"),
    ],
)
def test_scalars(data, expected):
    assert text(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1, 2, -3], "tensor([ 1,  2, -3])"),
        ([1000000, 1], "tensor([1000000,       1])"),
        ([1.0, 2.0], "tensor([1., 2.])"),
        ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
        ([0.1, 100.0], "tensor([  0.1000, 100.0000])"),
        ([-1.0, 10.0], "tensor([-1., 10.])"),
        ([True, False], "tensor([ True, False])"),
        ([True, True], "tensor([True, True])"),
        ([12345.678], "tensor([12345.6777])"),
    ],
)
def test_elements_are_lined_up(data, expected):
    assert text(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1000.0, 1.0], "tensor([1000.,    1.])"),
        ([1001.0, 1.0], "tensor([1.0010e+03, 1.0000e+00])"),
        ([100000.0, 1.0], "tensor([1.0000e+05, 1.0000e+00])"),
        ([100000.0, 200000.0], "tensor([100000., 200000.])"),
        ([1e8], "tensor([100000000.])"),
        ([1e9], "tensor([1.0000e+09])"),
        ([0.1, 1000.0], "tensor([1.0000e-01, 1.0000e+03])"),
        ([0.00001, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        ([0.00001], "tensor([1.0000e-05])"),
        ([0.001, 0.002], "tensor([0.0010, 0.0020])"),
        ([0.0, 100000.0], "tensor([     0., 100000.])"),
        ([1e-45], "tensor([1.4013e-45])"),
        ([3.4e38], "tensor([3.4000e+38])"),
    ],
)
def test_widely_spread_numbers_are_in_powers_of_ten(data, expected):
    assert text(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1.0, NAN], "tensor([1., nan])"),
        ([1.5, NAN], "tensor([1.5000,    nan])"),
        ([NAN, NAN], "tensor([nan, nan])"),
        ([-INF, 1.0, 2.0], "tensor([-inf, 1., 2.])"),
        ([-0.0, 1.0], "tensor([-0., 1.])"),
        ([-0.0, NAN, INF, -INF, 1.5], "tensor([-0.0000,    nan,    inf,   -inf, 1.5000])"),
        ([1e-8, NAN], "tensor([1.0000e-08,        nan])"),
        ([INF, 1e10], "tensor([       inf, 1.0000e+10])"),
    ],
)
def test_nan_infinities_and_negative_zero(data, expected):
    assert text(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1 + 2j, -1.5 - 0.25j], "tensor([ 1.0000+2.0000j, -1.5000-0.2500j])"),
        ([1j, NAN], "tensor([0.+1.j, nan+0.j])"),
        ([complex(NAN, INF), 1], "tensor([nan+infj, 1.+0.j])"),
        ([1e10 + 1j, 1], "tensor([1.0000e+10+1.j, 1.0000e+00+0.j])"),
        ([complex(-0.0, -0.0)], "tensor([-0.-0.j])"),
    ],
)
def test_complex_numbers(data, expected):
    assert text(data) == expected


# ---- types


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (tx.float32, "tensor([1., 2.])"),
        (tx.int64, "tensor([1, 2])"),
        (tx.bool, "tensor([True, True])"),
        (tx.complex64, "tensor([1.+0.j, 2.+0.j])"),
        (tx.float64, "tensor([1., 2.], dtype=thixo.float64)"),
        (tx.float16, "tensor([1., 2.], dtype=thixo.float16)"),
        (tx.bfloat16, "tensor([1., 2.], dtype=thixo.bfloat16)"),
        (tx.int32, "tensor([1, 2], dtype=thixo.int32)"),
        (tx.uint8, "tensor([1, 2], dtype=thixo.uint8)"),
        (tx.complex128, "tensor([1.+0.j, 2.+0.j], dtype=thixo.complex128)"),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_a_dtype_is_shown_where_the_numbers_do_not_say_it(dtype, expected):
    assert repr(tx.tensor([1, 2]).to(dtype)) == expected


def test_the_default_dtype_is_not_shown():
    tx.set_default_dtype(tx.float64)
    assert repr(tx.ones(1)) == "tensor([1.])"
    assert repr(tx.ones(1, dtype=tx.complex128)) == "tensor([1.+0.j])"
    assert repr(tx.ones(1, dtype=tx.float32)) == "tensor([1.], dtype=thixo.float32)"
    assert repr(tx.ones(1, dtype=tx.complex64)) == "tensor([1.+0.j], dtype=thixo.complex64)"


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((0,), tx.float32, "tensor([])"),
        ((0,), tx.int64, "tensor([], dtype=thixo.int64)"),
        ((0,), tx.bool, "tensor([], dtype=thixo.bool)"),
        ((0, 3), tx.float32, "tensor([], size=(0, 3))"),
        ((2, 0, 3), tx.float64, "tensor([], size=(2, 0, 3), dtype=thixo.float64)"),
    ],
)
def test_empty_tensors_say_their_size(shape, dtype, expected):
    assert repr(tx.zeros(shape, dtype=dtype)) == expected


# ---- gradients


def test_requires_grad_and_grad_fn():
    x = tx.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward>)"
    assert repr(x.sum()) == "tensor(3., grad_fn=<SumBackward>)"
    assert repr(x.detach()) == "tensor([1., 2.])"
    with tx.no_grad():
        assert repr(x * 2) == "tensor([2., 4.])"
    y = x.double()
    assert repr(y) == f"tensor([1., 2.], dtype=thixo.float64, grad_fn=<{y.grad_fn.name()}>)"


def test_what_follows_the_numbers_goes_to_its_own_line_where_the_line_is_full():
    assert repr(tx.zeros(13, dtype=tx.float16)) == (
        "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],\n       dtype=thixo.float16)"
    )
    assert repr(tx.zeros(3, dtype=tx.float16)) == "tensor([0., 0., 0.], dtype=thixo.float16)"


def test_parameters():
    p = tx.nn.Parameter(tx.ones(2, 2))
    assert repr(p) == (
        "Parameter containing:\ntensor([[1., 1.],\n        [1., 1.]], requires_grad=True)"
    )
    p = tx.nn.Parameter(tx.ones(1, dtype=tx.float64), requires_grad=False)
    assert repr(p) == "Parameter containing:\ntensor([1.], dtype=thixo.float64)"


# ---- many elements


def test_nested():
    assert repr(tx.arange(4).reshape(2, 2)) == "tensor([[0, 1],\n        [2, 3]])"
    assert repr(tx.zeros(1, 1, 1)) == "tensor([[[0.]]])"
    assert repr(tx.arange(12).reshape(2, 3, 2)) == (
        "tensor([[[ 0,  1],\n"
        "         [ 2,  3],\n"
        "         [ 4,  5]],\n"
        "\n"
        "        [[ 6,  7],\n"
        "         [ 8,  9],\n"
        "         [10, 11]]])"
    )


def test_long_rows_are_broken():
    lines = repr(tx.arange(30)).split("\n")
    assert lines == [
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,",
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])",
    ]
    assert max(map(len, repr(tx.arange(1000.0) / 3).split("\n"))) <= 80


def test_large_tensors_are_summarised():
    assert repr(tx.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    assert repr(tx.zeros(1001, dtype=tx.bool)) == (
        "tensor([False, False, False,  ..., False, False, False])"
    )
    assert "..." not in repr(tx.zeros(1000))
    assert repr(tx.arange(10000).reshape(100, 100)) == (
        "tensor([[   0,    1,    2,  ...,   97,   98,   99],\n"
        "        [ 100,  101,  102,  ...,  197,  198,  199],\n"
        "        [ 200,  201,  202,  ...,  297,  298,  299],\n"
        "        ...,\n"
        "        [9700, 9701, 9702,  ..., 9797, 9798, 9799],\n"
        "        [9800, 9801, 9802,  ..., 9897, 9898, 9899],\n"
        "        [9900, 9901, 9902,  ..., 9997, 9998, 9999]])"
    )
    assert repr(tx.zeros(2, 1001)) == (
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.]])"
    )


def test_only_what_is_shown_decides_the_form():
    x = tx.zeros(2000)
    x[1000] = 0.123
    assert repr(x) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_views_print_what_they_show():
    x = tx.arange(6.0).reshape(2, 3)
    assert repr(x.T) == "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]])"
    assert repr(x[:, 1]) == "tensor([1., 4.])"
    assert repr(tx.ones(1).expand(2, 2)) == "tensor([[1., 1.],\n        [1., 1.]])"


def test_str_is_repr():
    x = tx.tensor([1.5, NAN])
    assert str(x) == repr(x) == f"{x}"
    assert str([x]) == f"[{x!r}]"


# ---- several results


def test_results_have_the_name_that_was_called():
    x = tx.tensor([[1.0, 2.0]])
    pair = "(values=tensor([2.]), indices=tensor([1]))"
    assert repr(x.max(1)) == "max" + pair
    assert repr(x.topk(1, 0)).startswith("topk(values=tensor([[1., 2.]])")
    for name in ("min", "median", "nanmedian", "mode", "sort"):
        assert type(getattr(x, name)(1)).__name__ == name


# ---- options


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"precision": 2}, "tensor([3.14, 2.00])"),
        ({"precision": 8}, "tensor([3.14159012, 2.00000000])"),
        ({"precision": 0}, "tensor([3, 2])"),
        ({"sci_mode": True}, "tensor([3.1416e+00, 2.0000e+00])"),
        ({"linewidth": 12}, "tensor([3.1416,\n        2.0000])"),
        ({"profile": "short"}, "tensor([3.14, 2.00])"),
    ],
)
def test_options(options, expected):
    tx.set_printoptions(**options)
    assert text([3.14159, 2.0]) == expected
    tx.set_printoptions(profile="default")
    assert text([3.14159, 2.0]) == "tensor([3.1416, 2.0000])"


def test_options_of_large_tensors():
    tx.set_printoptions(threshold=5, edgeitems=1)
    assert repr(tx.arange(12.0)) == "tensor([ 0.,  ..., 11.])"
    assert repr(tx.arange(12).reshape(4, 3)) == (
        "tensor([[ 0,  ...,  2],\n        ...,\n        [ 9,  ..., 11]])"
    )
    tx.set_printoptions(profile="full")
    assert "..." not in repr(tx.zeros(1200))
    tx.set_printoptions(profile="short")
    assert repr(tx.arange(1200)) == "tensor([   0,    1,  ..., 1198, 1199])"


def test_powers_of_ten_can_be_switched_off():
    tx.set_printoptions(sci_mode=False)
    assert text([1e10, 1.0]) == "tensor([10000000000.,           1.])"
    assert text([1e-10, 1.5]) == "tensor([0.0000, 1.5000])"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"profile": "long"}, "profile must be one of default, short, full, got 'long'"),
        ({"precision": -1}, "precision must be a whole number, 0 or more, got -1"),
        ({"linewidth": "wide"}, "linewidth must be a whole number, 0 or more, got 'wide'"),
        ({"edgeitems": 1.5}, "edgeitems must be a whole number, 0 or more, got 1.5"),
    ],
)
def test_options_that_make_no_sense_change_nothing(wrong, words):
    with pytest.raises(ArgumentError, match=words):
        tx.set_printoptions(**{"precision": 1, **wrong})
    assert text([1.5]) == "tensor([1.5000])"


# ---- format


def test_format():
    assert f"{tx.tensor(1.5):.3f}" == "1.500"
    assert f"{tx.tensor(3):05d}" == "00003"
    assert f"{tx.tensor(1.5):>6}" == "   1.5"
    assert f"{tx.tensor(1 + 2j):.1f}" == "1.0+2.0j"
    assert f"{tx.tensor([2.25]):.2f}" == "2.25"
    assert f"{tx.tensor(3.0)}" == "3.0"
    assert f"{tx.tensor([1.0, 2.0])}" == "tensor([1., 2.])"
    assert f"{tx.ones(2, requires_grad=True).sum():.1f}" == "2.0"
    assert "%.2f %d" % (tx.tensor(1.5), tx.tensor(2)) == "1.50 2"  # noqa: UP031


def test_a_tensor_that_is_being_traced():
    seen = []

    def f(x):
        seen.append((repr(x), f"{x}"))
        return x * 2

    tx.jit.trace(f, tx.ones(2, 3))
    assert any(shown.startswith("traced(f32[") for shown, _ in seen)
    assert all(shown == formatted for shown, formatted in seen)
