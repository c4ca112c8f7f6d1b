"""x[index] and x[index] = value against NumPy, with gradients and refusals."""

import itertools

import numpy as np
import pytest

import thixo as tx

SHAPE = (3, 4, 5)
VECTOR = np.array([2, 0, -1])
COLUMN = np.array([[0], [2]])
MASK = np.arange(3) != 1
MASK_2D = np.arange(12).reshape(3, 4) % 5 > 1

INDICES = [
    0,
    -1,
    slice(1, None),
    slice(None, -1, 2),
    slice(3, 1),
    slice(-100, 100),
    slice(None, None, -1),
    slice(-1, 0, -2),
    slice(0, 2, -1),
    (slice(None), slice(None, 1, -2), VECTOR),
    (slice(2, None, -1), MASK_2D[0], slice(None, None, -1)),
    None,
    Ellipsis,
    (),
    True,
    False,
    (1, 2),
    (1, 2, 3),
    (Ellipsis, 0),
    (0, Ellipsis, None),
    (slice(None), 1, slice(0, 4, 3)),
    (None, slice(1, 3), Ellipsis, None, 2),
    [0, 2],
    [True, False, True],
    VECTOR,
    COLUMN,
    MASK,
    MASK_2D,
    np.arange(60).reshape(SHAPE) % 7 == 0,
    np.zeros(SHAPE, bool),
    (VECTOR, VECTOR),
    (COLUMN, VECTOR),
    (slice(None), VECTOR),
    (slice(None), VECTOR, VECTOR),
    (slice(None), COLUMN, VECTOR),
    (VECTOR, slice(None), VECTOR),
    (COLUMN, slice(1, 3), VECTOR),
    (MASK, slice(None), [0, 1]),
    (slice(None), np.arange(4) > 1, None, slice(0, 2)),
    (MASK_2D, 1),
    (MASK_2D, slice(None, None, 2)),
    (Ellipsis, VECTOR),
    (Ellipsis, None, VECTOR, slice(2)),
    (True, VECTOR),
    (np.array(1), slice(None), np.array(-1)),
    (np.zeros(0, int),),
]


def text(index):
    """A name for a test."""
    return "_".join(str(index).split())


def on_tensors(index):
    """The index with tensors in place of arrays."""
    if isinstance(index, tuple):
        return tuple(map(on_tensors, index))
    return tx.tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("index", INDICES, ids=text)
def test_reads_what_numpy_reads(index):
    a = np.random.default_rng(0).standard_normal(SHAPE)
    wanted = a[index]
    for given in (index, on_tensors(index)):
        got = tx.tensor(a)[given]
        assert got.shape == wanted.shape
        assert np.array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("index", INDICES, ids=text)
def test_gradient_adds_up_where_elements_were_read(index):
    a = np.random.default_rng(0).standard_normal(SHAPE)
    weights = np.random.default_rng(1).standard_normal(a[index].shape)
    x = tx.tensor(a, requires_grad=True)
    (x[on_tensors(index)] * tx.tensor(weights)).sum().backward()
    wanted = np.zeros(SHAPE)
    np.add.at(wanted, index, weights)
    assert np.allclose(x.grad.numpy(), wanted)


@pytest.mark.parametrize("index", INDICES, ids=text)
def test_writes_what_numpy_writes(index):
    a = np.random.default_rng(0).standard_normal(SHAPE)
    whole = np.random.default_rng(1).standard_normal(a[index].shape)
    for value in (2.5, np.array(1.5), whole, whole[:1] if whole.ndim else whole):
        if has_repeats(a, index) and np.ndim(value):
            continue  # which of two values written to one place stays is nobody's promise
        wanted = a.copy()
        wanted[index] = value
        got = tx.tensor(a)
        got[on_tensors(index)] = tx.tensor(value) if isinstance(value, np.ndarray) else value
        assert np.array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("index", INDICES, ids=text)
def test_gradients_of_a_write(index):
    a = np.random.default_rng(0).standard_normal(SHAPE)
    if has_repeats(a, index):
        pytest.skip("it names an element twice")
    weights = np.random.default_rng(2).standard_normal(SHAPE)
    x = tx.tensor(a, requires_grad=True)
    value = tx.tensor(np.zeros(a[index].shape), requires_grad=True)
    y = x * 1
    y[on_tensors(index)] = value
    (y * tx.tensor(weights)).sum().backward()
    kept = np.ones(SHAPE)
    kept[index] = 0
    assert np.allclose(x.grad.numpy(), weights * kept)
    assert np.allclose(value.grad.numpy(), weights[index])


def has_repeats(a, index):
    """Whether an index reads an element twice."""
    places = np.arange(a.size).reshape(a.shape)[index]
    return len(np.unique(places)) < places.size


def test_basic_indices_are_views():
    x = tx.zeros(3, 4)
    for view in (x[1], x[:, 1:3], x[None, ..., 0], x[...], x[tx.tensor(1)]):
        before = x.sum().item()
        view.add_(1)
        assert x.sum().item() == before + view.numel()


def test_a_list_of_tensors_and_numbers():
    x = tx.arange(5)
    assert x[[tx.tensor(1), 3]].tolist() == [1, 3]
    assert x[range(1, 3)].tolist() == [1, 2]
    assert x[np.int64(2)].item() == 2
    assert x[tx.tensor(1) : tx.tensor(3)].tolist() == [1, 2]


def test_a_value_may_have_axes_of_size_1_in_front():
    x = tx.zeros(2, 3)
    x[0] = tx.ones(1, 1, 3)
    x[1, [0, 2]] = tx.full((1, 2), 5.0)
    assert x.tolist() == [[1, 1, 1], [5, 0, 5]]


def test_a_value_is_converted_to_the_dtype():
    x = tx.zeros(3, dtype=tx.int64)
    x[0] = 2.7
    x[[1]] = tx.tensor([3.9])
    x[x == 0] = True
    assert x.tolist() == [2, 3, 1]


REFUSED = [
    (3, IndexError, "3 is out of range for axis 0"),
    ((0, -5), IndexError, "-5 is out of range for axis 1"),
    ((slice(None), [4]), IndexError, "index 4 is out of range for axis 1 with size 4"),
    ((0, [0, -6]), IndexError, "index -6 is out of range for axis 1"),
    ((0, None, slice(None), [5]), IndexError, "index 5 is out of range for axis 2"),
    ((0, 0, 0, 0), IndexError, "too many indices: 4"),
    ((Ellipsis, 0, Ellipsis), IndexError, "one Ellipsis"),
    (slice(None, None, 0), ValueError, "step"),
    (1.5, TypeError, "got 1.5"),
    ("a", TypeError, "'a'"),
    ([0.5], TypeError, "integers or bool"),
    ([[0, 1], [2]], TypeError, "ints or bools"),
    (tx.ones(3), TypeError, "must hold integers or bool"),
    (tx.ones(3, dtype=tx.uint8), TypeError, "a mask or integers"),
    (tx.ones(4, dtype=tx.bool), IndexError, "axis 0 has size 3, the mask 4"),
    (([0, 1], [0, 1, 2]), ValueError, "do not broadcast"),
]


@pytest.mark.parametrize(("index", "error", "words"), REFUSED, ids=[text(r[0]) for r in REFUSED])
def test_refuses(index, error, words):
    x = tx.zeros(SHAPE)
    actions = (lambda y: y[index], lambda y: y.__setitem__(index, 0.0))
    for action, recorded in itertools.product(actions, (False, True)):
        y = x.clone().requires_grad_() * 1 if recorded else x
        with pytest.raises(error) as caught:
            action(y)
        assert isinstance(caught.value, tx.ThixoError)
        assert words in str(caught.value)
        assert "test_getitem.py:" in str(caught.value)


def test_refuses_values_that_do_not_fit():
    x = tx.zeros(3, 4)
    for index in (0, slice(1), [0, 1], tx.ones(3, dtype=tx.bool), (slice(None), [1])):
        with pytest.raises(ValueError, match="must broadcast"):
            x[index] = tx.ones(5)
    assert x.sum().item() == 0


def test_an_integer_beside_index_tensors_is_taken_first():
    # As in PyTorch; NumPy counts the 0 among the index arrays and puts their axes in front.
    assert tx.zeros(2, 3, 4)[0, :, [1, 2]].shape == (3, 2)


@pytest.mark.parametrize("kinds", itertools.product("nsvm", repeat=3), ids="".join)
def test_index_put_takes_single_numbers_among_its_tensors(kinds):
    if set(kinds) == {"n"}:
        return
    places = {"n": None, "s": np.array(0), "v": np.array([1, 2]), "m": np.array([[0], [1]])}
    expected = np.arange(60.0).reshape(3, 4, 5)
    x = tx.tensor(expected)
    index = tuple(None if places[k] is None else tx.tensor(places[k]) for k in kinds)
    y = tx.index_put(x, index, tx.tensor(7.0, dtype=tx.float64))
    expected[tuple(slice(None) if places[k] is None else places[k] for k in kinds)] = 7.0
    np.testing.assert_array_equal(y.numpy(), expected)
