"""Captured code that switches modes, uses files or writes parameters by Thixo's own functions does what Python does."""

import pytest

import thixo as tx

ROUTES = {
    "compile": tx.compile,
    "fullgraph": lambda f: tx.compile(f, fullgraph=True),
    "script": tx.jit.script,
}


@pytest.fixture(autouse=True)
def put_back():
    yield
    tx.set_grad_enabled(True)
    tx.set_default_dtype(tx.float32)
    tx.set_printoptions(precision=4)


@pytest.fixture(params=ROUTES.values(), ids=ROUTES)
def route(request):
    return request.param


def off_for_a_while(x):
    before = tx.is_grad_enabled()
    tx.set_grad_enabled(False)
    y = x * 2
    y.tolist()  # needs the sizes: a first attempt to capture ends here
    tx.set_grad_enabled(before)
    return y + x


def entered_by_hand(x):
    mode = tx.no_grad()
    mode.__enter__()
    y = x * 2
    y.tolist()
    mode.__exit__(None, None, None)
    return y + x


def stays_off(x):
    tx.set_grad_enabled(False)
    return x * 2


def off_while_it_is_refused(x):
    tx.set_grad_enabled(False)
    size = int(x.numpy().size)
    tx.set_grad_enabled(True)
    return x * size


@pytest.mark.parametrize("function", [off_for_a_while, entered_by_hand])
def test_an_attempt_that_fails_leaves_the_mode(function, route):
    x = tx.ones(3, requires_grad=True)
    captured = route(function)
    for _ in range(3):
        result = captured(x)
        assert result.requires_grad
        assert tx.is_grad_enabled()
        (gradient,) = tx.autograd.grad(result.sum(), x)
        assert gradient.tolist() == [1.0] * 3


def test_a_mode_that_stays_is_the_call_s_own_doing():
    captured = tx.compile(stays_off)
    for _ in range(3):
        tx.set_grad_enabled(True)
        assert not captured(tx.ones(3, requires_grad=True)).requires_grad
        assert not tx.is_grad_enabled()
    tx.set_grad_enabled(True)
    with pytest.raises(tx.errors.CaptureError, match="stay switched"):
        tx.jit.script(stays_off)(tx.ones(3))
    assert tx.is_grad_enabled()


def test_a_refused_capture_leaves_the_mode():
    with pytest.raises(tx.errors.CaptureError):
        tx.compile(off_while_it_is_refused, fullgraph=True)(tx.ones(3))
    assert tx.is_grad_enabled()
    assert tx.compile(off_while_it_is_refused)(tx.ones(3)).tolist() == [3.0] * 3
    assert tx.is_grad_enabled()


def test_a_scripted_function_knows_inference_mode_from_no_grad():
    scripted = tx.jit.script(lambda x: x * 2 if tx.is_inference_mode_enabled() else x)
    with tx.inference_mode():
        assert scripted(tx.ones(1)).item() == 2
    with tx.no_grad():
        assert scripted(tx.ones(1)).item() == 1


@pytest.mark.parametrize("function", [tx.compile, tx.jit.script])
def test_an_exception_s_text_may_be_one_that_the_data_decide(function):
    def failing(x, kind):
        raise kind(str(x * 2))

    with pytest.raises(LookupError, match="tensor"):
        function(failing)(tx.ones(2), LookupError)


def test_what_is_in_a_file_is_read_by_every_call(tmp_path):
    path = tmp_path / "kept"

    @tx.compile
    def added(x):
        return x + tx.load(path)["y"]

    for i in range(3):
        tx.save({"y": tx.full((2,), float(i))}, path)
        assert added(tx.ones(2)).tolist() == [i + 1.0] * 2


def test_what_is_saved_is_saved_by_every_call(tmp_path):
    path = tmp_path / "kept"
    weight = tx.zeros(2)

    @tx.compile
    def saving(x):
        tx.save({"w": weight}, path)
        return x + 1

    for i in range(3):
        weight.fill_(i)
        saving(tx.ones(2))
        assert tx.load(path)["w"].tolist() == [float(i)] * 2


def test_defaults_are_set_by_every_call():
    @tx.compile
    def setting(x):
        tx.set_printoptions(precision=1)
        tx.set_default_dtype(tx.float64)
        return x + tx.ones(2)

    for _ in range(3):
        tx.set_printoptions(precision=4)
        tx.set_default_dtype(tx.float32)
        assert setting(tx.ones(2, dtype=tx.float32)).dtype is tx.float64
        assert tx.get_default_dtype() is tx.float64
        assert str(tx.tensor(1.25)) == "tensor(1.2)"


def test_parameters_are_written_from_a_vector_by_every_call(route):
    net = tx.nn.Linear(2, 2)

    def load(x):
        tx.nn.utils.vector_to_parameters(tx.arange(6.0) * x.sum(), net.parameters())
        return net(x)

    captured = route(load)
    for i in range(1, 4):
        captured(tx.full((2,), float(i)))
        assert net.bias.tolist() == [4.0 * 2 * i, 5.0 * 2 * i]


def test_explain_explains_inside_of_compiled_code():
    counted = tx.compile(lambda x: x * len(tx.explain(lambda y: y * 2, x).graphs))
    assert counted(tx.ones(2)).tolist() == [1.0, 1.0]


def test_layers_that_hold_nothing_are_made_inside(route):
    def scored(x, y):
        hidden = tx.nn.Softmax(dim=-1)(tx.nn.ReLU()(x))
        return (
            tx.nn.CrossEntropyLoss(reduction="none")(hidden, y) + tx.nn.Dropout(0.0)(hidden).sum()
        )

    x, y = tx.randn(4, 3, requires_grad=True), tx.tensor([0, 2, 1, 1])
    found, expected = route(scored)(x, y), scored(x, y)
    assert tx.allclose(found, expected)
    pairs = [tx.autograd.grad(r.sum(), x)[0] for r in (found, expected)]
    assert tx.allclose(*pairs, atol=1e-6)


def test_devices_and_sizes_are_made_inside(route):
    def moved(x):
        y = tx.zeros(tx.Size([x.shape[0], 2]), device=tx.device("cpu")) + x
        return y.to(tx.device("cpu")), tx.Size([2, 3]).numel()

    for rows in (3, 5):
        y, count = route(moved)(tx.ones(rows, 2))
        assert y.shape == (rows, 2)
        assert count == 6


def test_layers_with_parameters_are_made_anew_by_every_call():
    def drawn(x):
        return tx.nn.Linear(2, 3)(x)

    compiled = tx.compile(drawn)
    found = []
    for function in (drawn, compiled, compiled):
        tx.manual_seed(1)
        found.append([function(tx.ones(2)).tolist() for _ in range(3)])
    assert found[0] == found[1] == found[2]
    assert found[0][0] != found[0][1]
