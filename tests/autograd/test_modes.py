"""no_grad, enable_grad, set_grad_enabled, inference_mode: as blocks, decorators, on generators, in threads."""

import threading

import pytest

import thixo as tx
from thixo.errors import AutogradError, InplaceError

MODES = {
    "no_grad": (tx.no_grad, False),
    "enable_grad": (tx.enable_grad, True),
    "set_grad_enabled(False)": (lambda: tx.set_grad_enabled(False), False),
    "set_grad_enabled(True)": (lambda: tx.set_grad_enabled(True), True),
    "inference_mode": (tx.inference_mode, False),
    "inference_mode(False)": (lambda: tx.inference_mode(False), True),
}


@pytest.fixture(autouse=True)
def modes_are_restored():
    assert tx.is_grad_enabled()
    yield
    assert tx.is_grad_enabled()
    assert not tx.is_inference_mode_enabled()


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("outer", [True, False])
def test_a_block_switches_and_restores(name, outer):
    make, inside = MODES[name]
    with tx.set_grad_enabled(outer):
        with make():
            assert tx.is_grad_enabled() is inside
            x = tx.ones(2)
            assert (x.requires_grad_() * 2).requires_grad is inside
        assert tx.is_grad_enabled() is outer


@pytest.mark.parametrize("name", MODES)
def test_a_block_restores_after_an_exception(name):
    make, _ = MODES[name]
    with pytest.raises(KeyError), make():
        raise KeyError("out")
    assert tx.is_grad_enabled()


@pytest.mark.parametrize("name", MODES)
def test_a_decorator_holds_while_the_function_runs(name):
    make, inside = MODES[name]

    @make()
    def function(a, *, b):
        """Its words."""
        return tx.is_grad_enabled(), a, b

    assert tx.is_grad_enabled()
    assert function(1, b=2) == (inside, 1, 2)
    assert tx.is_grad_enabled()
    assert function.__name__ == "function"
    assert function.__doc__ == "Its words."


def test_decorators_without_parentheses():
    @tx.no_grad
    def quiet():
        return tx.is_grad_enabled()

    @tx.inference_mode
    def infer():
        return tx.is_inference_mode_enabled()

    assert quiet() is False
    assert infer() is True


def test_a_decorated_function_may_call_itself():
    @tx.no_grad()
    def depth(n):
        assert not tx.is_grad_enabled()
        return n if n == 0 else depth(n - 1)

    assert depth(5) == 0


def test_one_object_may_be_entered_inside_itself():
    mode = tx.no_grad()
    with mode:
        with mode:
            assert not tx.is_grad_enabled()
        assert not tx.is_grad_enabled()
    assert tx.is_grad_enabled()


def test_set_grad_enabled_as_a_statement():
    tx.set_grad_enabled(False)
    try:
        assert not tx.is_grad_enabled()
    finally:
        tx.set_grad_enabled(True)


@pytest.mark.parametrize("name", MODES)
def test_a_generator_has_the_mode_and_its_consumer_does_not(name):
    make, inside = MODES[name]
    events = []

    @make()
    def numbers():
        try:
            for i in range(3):
                assert tx.is_grad_enabled() is inside
                events.append((yield i))
        except ValueError as error:
            assert tx.is_grad_enabled() is inside
            yield str(error)
        finally:
            events.append(("closed", tx.is_grad_enabled()))
        return "end"

    steps = numbers()
    assert next(steps) == 0
    assert tx.is_grad_enabled()
    assert steps.send("sent") == 1
    assert tx.is_grad_enabled()
    assert steps.throw(ValueError("thrown")) == "thrown"
    assert tx.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "end"
    assert events == ["sent", ("closed", inside)]

    steps = numbers()
    next(steps)
    steps.close()
    assert events[-1] == ("closed", inside)
    assert list(numbers()) == [0, 1, 2]


def test_modes_belong_to_a_thread():
    seen = []
    with tx.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tx.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_results_under_no_grad_are_leaves():
    x = tx.ones(2, requires_grad=True)
    with tx.no_grad():
        y = x * 2
        assert y.is_leaf
        assert not y.requires_grad
        made = tx.zeros(2, requires_grad=True)
    assert made.requires_grad  # a leaf can be made anywhere
    assert (made * 2).requires_grad


def test_inference_tensors_are_marked_and_stay_out_of_tapes():
    weight = tx.ones(2, requires_grad=True)
    with tx.inference_mode():
        x = tx.ones(2)
        y = x * weight
        x += 1  # writes are free inside
        view = x[0:1]
    assert x.is_inference()
    assert y.is_inference()
    assert view.is_inference()
    assert not y.requires_grad
    assert not tx.ones(2).is_inference()
    assert (x * 2).tolist() == [4.0, 4.0]  # plain arithmetic outside is fine
    with pytest.raises(AutogradError, match=r"made in inference_mode cannot be kept for backward"):
        x * weight
    with pytest.raises(AutogradError, match="cannot require grad outside of it"):
        x.requires_grad_()
    with pytest.raises(
        InplaceError, match="made in inference_mode cannot be changed in a recorded"
    ):
        x.add_(weight)
    fresh = x.clone()
    assert not fresh.is_inference()
    assert (fresh * weight).requires_grad


def test_inference_mode_can_be_switched_off_inside():
    with tx.inference_mode():
        with tx.inference_mode(False):
            assert tx.is_grad_enabled()
            assert not tx.is_inference_mode_enabled()
            assert not tx.ones(1).is_inference()
        assert tx.is_inference_mode_enabled()
        with tx.enable_grad():
            assert tx.is_grad_enabled()


def test_backward_runs_where_gradients_are_off():
    x = tx.ones(2, requires_grad=True)
    y = (x * 3).sum()
    with tx.no_grad():
        y.backward()
        assert not tx.is_grad_enabled()
    assert x.grad.tolist() == [3.0, 3.0]


def test_create_graph_records_although_gradients_are_off_outside():
    x = tx.ones(2, requires_grad=True)
    y = (x * x).sum()
    with tx.no_grad():
        (g,) = tx.autograd.grad(y, x, create_graph=True)
    assert g.requires_grad
