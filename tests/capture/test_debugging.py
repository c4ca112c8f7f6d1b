"""Looking into captured code: values, differences, lines of errors and of NaN, prints, breakpoints."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import thixo as tx
from thixo.capture.verify import difference, first_difference
from thixo.errors import ArgumentError, AutogradError, IndexOutOfRange, VerificationError

HERE = "test_debugging.py"


def line_of(f, offset):
    return f"{HERE}:{f.__code__.co_firstlineno + offset}"


def scale(x):
    factor = x * 3
    return factor


def program(x):
    h = x * 2
    if h.sum() > 0:
        y = scale(h) + 1
    else:
        y = h - 1
    while y.sum() < 100 and y.sum() > 0:
        y = y * 2
    return y


WAYS = {
    "script": lambda f, **options: tx.jit.script(f, **options),
    "compile": lambda f, **options: tx.compile(f, **options),
}
both = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


# ---- debug=True


@both
def test_values_by_the_names_of_variables(way):
    looked = way(program, debug=True)
    assert looked(tx.ones(2)).tolist() == program(tx.ones(2)).tolist()
    values = looked.values
    assert values["h"].tolist() == [2, 2]
    assert values.line("h") == line_of(program, 1)
    assert values["factor"].tolist() == [6, 6]  # of a function that it calls
    assert values.line("factor") == line_of(scale, 1)
    assert values["y"].tolist() == [56, 56]
    turns = [one.value.tolist() for one in values.every("y") if one.line == line_of(program, 7)]
    assert turns == [[14, 14], [28, 28], [56, 56]]
    assert looked(-tx.ones(2)).tolist() == [-3, -3]  # the other branch
    assert "factor" not in looked.values
    assert looked.values["y"].tolist() == [-3, -3]
    assert f"h: f32[2], {line_of(program, 1)}" in repr(looked.values)


@both
def test_values_have_gradients_and_state_is_written_once(way):
    layer = tx.nn.Linear(2, 2)
    seen = tx.zeros(2)

    def f(x):
        h = layer(x)
        seen.add_(h.detach().sum(0))
        return h.sum()

    looked = way(f, debug=True)
    x = tx.ones(3, 2, requires_grad=True)
    looked(x).backward()
    assert tx.allclose(x.grad, layer.weight.detach().sum(0).expand(3, 2))
    assert tx.allclose(seen, looked.values["h"].detach().sum(0))


@both
def test_a_variable_that_is_not_there(way):
    looked = way(program, debug=True)
    with pytest.raises(ArgumentError, match="debug=True"):
        _ = looked.values
    looked(tx.ones(2))
    with pytest.raises(KeyError, match="no variable 'facto' held a tensor; did you mean 'factor'"):
        looked.values["facto"]


def test_values_of_a_module():
    class Net(tx.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = tx.nn.Linear(2, 2)

        def forward(self, x):
            hidden = self.first(x)
            return hidden.relu()

    net = Net()
    looked = tx.compile(net, debug=True)
    looked(tx.ones(1, 2))
    assert tx.allclose(looked.values["hidden"], net.first(tx.ones(1, 2)))


# ---- verify=True


@both
def test_what_agrees_is_returned_and_done_once(way, capsys):
    log = []
    count = tx.zeros(1)

    def f(x):
        print("called", x.sum())
        log.append(x.shape[0])
        count.add_(1)
        return program(x) + tx.rand(2)

    checked = way(f, verify=True)
    tx.manual_seed(0)
    found = checked(tx.ones(2))
    tx.manual_seed(0)
    assert (found - tx.rand(2)).tolist() == pytest.approx([56, 56])
    assert log == [2]
    assert count.item() == 1
    assert capsys.readouterr().out == "called tensor(2.)\n"


def test_a_difference_between_graph_and_python_names_the_operator():
    checked = tx.jit.script(program, verify=True)
    captured = checked.captured(tx.ones(2))
    first = captured.graph.nodes[0]
    first.args = (first.args[0], 3)  # a mistake of the capture: 3 in the place of 2
    with pytest.raises(VerificationError) as caught:
        checked(tx.ones(2))
    text = str(caught.value)
    assert "verify: program: result 0 of the graph is not Python's" in text
    assert f"the first operator that differs is mul, which makes h at {line_of(program, 1)}" in text
    assert "the largest difference is 1, at [0]: 3.0 and 2.0" in text


def test_a_difference_in_a_compiled_program_names_the_operator():
    def f(x):
        a = x + 1
        b = a.exp()
        return b * a

    graph = tx.jit.trace(f, tx.ones(3)).graph

    def wrong(graph, tensors):
        run = Wrong(graph)
        return run.run(*tensors)

    class Wrong(tx.graph.Interpreter):
        def run_node(self, node, args):
            results = super().run_node(node, args)
            return [r + 0.5 for r in results] if node.op.full_name == "exp" else results

    assert first_difference(graph, [tx.zeros(3)]) is None
    text = first_difference(graph, [tx.zeros(3)], wrong)
    assert text.startswith(
        f"the first operator that differs is exp(add: f32[3]) at {line_of(f, 2)}"
    )
    assert "the largest difference is 0.5, at [0]" in text


def test_verify_of_a_whole_step():
    net = tx.nn.Linear(2, 1)
    optimizer = tx.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    before = net.weight.detach().clone()
    checked = tx.compile(step, verify=True)
    losses = [checked(tx.ones(4, 2)).item() for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]
    assert not tx.allclose(net.weight, before)


@both
def test_verify_lets_exceptions_be_pythons(way):
    def f(x):
        if x.sum() > 5:
            raise ValueError("too large")
        return x * 2

    checked = way(f, verify=True)
    assert checked(tx.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="too large"):
        checked(tx.ones(2) * 9)


def test_how_values_differ():
    assert difference(np.float32([1, 2]), np.float32([1, 2 + 1e-6])) is None
    assert difference(np.array([np.nan]), np.array([np.nan])) is None
    assert difference(np.array([1, 5]), np.array([1, 2])).endswith("at [1]: 5 and 2")
    assert "one is float32[2]" in difference(np.float32([1, 2]), np.float32([1]))
    assert difference(3, 4) == "3 and 4"
    assert difference(np.array(np.nan), np.array(1.0)).startswith("the largest difference is inf")


# ---- exceptions


def select(x, i):
    y = x * 2
    return tx.index_select(y, 0, i).sum()


@both
@pytest.mark.parametrize("debug", [False, True])
def test_errors_in_a_graph_say_line_types_and_sizes(way, debug):
    scripted = way(select, debug=debug)
    scripted(tx.ones(3, 2), tx.tensor([0, 1]))
    with pytest.raises(IndexOutOfRange) as caught:
        scripted(tx.ones(4, 2), tx.tensor([1, 9]))
    where = line_of(select, 2)
    assert str(caught.value).endswith(f"({where})")
    (first, *_) = caught.value.__notes__
    assert first.startswith("in index_select(mul: f32[4,2]")
    assert "i: i64[2]" in first
    assert first.endswith(where)


# ---- NaN


def root(x):
    h = x - 1
    y = h.sqrt()
    return (y * 0).sum()


@pytest.mark.parametrize(
    "way", [tx.jit.script, tx.compile, lambda f: tx.jit.trace(f, tx.ones(2) * 3)]
)
def test_nan_names_the_line_in_both_directions(way):
    found = way(root)
    x = tx.ones(2, requires_grad=True)
    for _ in range(4):
        found(x)  # it is compiled, and its calls are native, before anybody looks for NaN
    with tx.autograd.detect_anomaly():
        with pytest.raises(AutogradError) as caught:
            found(x).backward()
        with pytest.warns(RuntimeWarning) as warned:
            found(tx.zeros(2))
    text = str(caught.value)
    assert "backward of SqrtBackward made a NaN" in text
    assert f"the forward operation was at {line_of(root, 2)}" in text
    (one,) = [w for w in warned if "NaN" in str(w.message)]
    assert str(one.message) == f"sqrt(sub: f32[2]) made a NaN ({line_of(root, 2)})"


def test_nan_in_a_loop_names_its_line():
    def f(x):
        while x.sum() > 0.5:
            x = (x - 1).log() + 2
        return x

    scripted = tx.jit.script(f)
    with tx.autograd.detect_anomaly(), pytest.warns(RuntimeWarning) as warned:
        scripted(tx.ones(2) * 1.2)
    assert f"log(sub: f32[2]) made a NaN ({line_of(f, 2)})" in str(warned[0].message)


def test_nothing_is_said_where_there_is_no_nan():
    x = tx.ones(2, requires_grad=True)
    with warnings.catch_warnings(), tx.autograd.detect_anomaly():
        warnings.simplefilter("error")
        y = tx.jit.script(program)(x)
        y.sum().backward()
    assert x.grad.tolist() == [48, 48]


# ---- prints, breakpoints, and no capture at all


@both
def test_prints_show_values_in_order_at_each_call(way, capsys):
    def f(x):
        print("begin", x)
        if x.sum() > 0:
            print("positive", x.sum())
        for i in range(2):
            x = x * 2
            print(i, x[0])
        return x

    found = way(f)
    for data in (tx.ones(2), -tx.ones(2), tx.ones(2) * 3):
        found(data)
        shown = capsys.readouterr().out
        f(data)
        assert shown == capsys.readouterr().out


@pytest.mark.parametrize("way", [tx.compile, lambda f: tx.jit.script(f, fallback=True)])
def test_a_breakpoint_stops_in_the_users_frame(way, monkeypatch):
    stops = []

    def stop():
        frame = sys._getframe(1)
        stops.append((frame.f_code.co_name, frame.f_lineno, frame.f_locals["h"].tolist()))

    monkeypatch.setattr(sys, "breakpointhook", stop)

    def f(x):
        h = x + 1
        breakpoint()
        return h * 2

    found = way(f)
    for _ in range(2):
        assert found(tx.ones(2)).tolist() == [4, 4]
    assert stops == [("f", f.__code__.co_firstlineno + 2, [2, 2])] * 2


def test_a_breakpoint_in_a_scripted_function_is_refused():
    def f(x):
        breakpoint()
        return x

    with pytest.raises(tx.errors.CaptureError, match=r"breakpoint\(\): a graph has no frame"):
        tx.jit.script(f)(tx.ones(2))


def test_a_switch_in_the_environment_turns_capture_off(tmp_path):
    program = tmp_path / "model.py"
    program.write_text(
        "import thixo as tx\n"
        "def f(x):\n"
        "    return x * 2 if float(x.sum()) > 0 else x\n"
        "for way in (tx.jit.script, tx.compile):\n"
        "    g = way(f)\n"
        "    print(g(tx.ones(2)).tolist(), len(g.graphs))\n"
        "print(tx.jit.script(f, fallback=True)(tx.ones(1)).tolist(), tx.get_mode())\n"
    )
    from thixo.config import environment

    found = subprocess.run(
        [sys.executable, str(program)],
        env={**environment(), "THIXO_EAGER": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "[2.0, 2.0] 0\n[2.0, 2.0] 0\n[2.0] eager\n"
