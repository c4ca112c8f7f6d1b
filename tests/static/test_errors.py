"""What is refused, and the line that each message names."""

import pytest

import thixo as tx
from thixo.errors import ThixoError

static = tx.static


@pytest.fixture
def line():
    with static.Graph("line") as g:
        x = static.placeholder((None, 3), tx.float32, "x")
        w = static.variable(2.0, name="w")
        y = (x * w).sum()
    return g, x, w, y


CASES = [
    ({}, r"placeholder x: f32\[n, 3\] is not fed, and sum needs it \(test_errors.py:14\)"),
    ({"x": tx.ones(2, 3, dtype=tx.float64)}, r"x: f32\[n, 3\] is fed f64\[2,3\]: another dtype \(.*:14\)"),
    ({"x": tx.ones(3)}, r"is fed f32\[3\]: another number of axes \(.*:14\)"),
    ({"x": tx.ones(2, 4)}, r"is fed f32\[2,4\]: axis 1 must be 3 \(.*:14\)"),
    ({"w": tx.ones(())}, r"w: f32\[\] is no placeholder and cannot be fed \(.*:15\)"),
    ({"sum": tx.ones(())}, r"sum: f32\[\] is no placeholder and cannot be fed \(.*:16\)"),
    ({"z": tx.ones(())}, "graph line has nothing that is called 'z'"),
    ({"x": object()}, "x: .* needs a tensor, got <object"),
]  # fmt: skip


@pytest.mark.parametrize(("feeds", "message"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_wrong_feeds(line, feeds, message):
    g, _, _, y = line
    with pytest.raises(ThixoError, match=message):
        static.Session(g).run(y, feeds)


def test_fetching_what_is_not_there(line):
    g, x, *_ = line
    session = static.Session(g)
    with pytest.raises(ThixoError, match="fetch: graph line has nothing that is called 'loss'"):
        session.run("loss")
    with pytest.raises(
        ThixoError, match="fetch: needs a tensor, a name or an operation of graph line"
    ):
        session.run(3)
    with pytest.raises(ThixoError, match="not fed"):
        session.bind("sum", [])
    with static.Graph("other") as other:
        z = static.placeholder((), tx.float32, "z")
        w = static.variable(0.0)
        up = static.assign(w, w + 1)
    with pytest.raises(ThixoError, match=r"z: f32\[\] belongs to another graph than line"):
        session.run(z)
    with pytest.raises(ThixoError, match="belongs to graph other, not to line"):
        session.run(up)
    with pytest.raises(ThixoError, match="belongs to another graph; feed its value through"), other:
        x + 1
    with pytest.raises(ThixoError, match="another graph than line"):
        session.run("sum", {z: 1.0})


def test_foreign_and_unknown_things_in_a_declaration(line):
    g, x, w, y = line
    with pytest.raises(ThixoError, match="no graph is being declared here"):
        static.placeholder((2,), tx.float32)
    with pytest.raises(ThixoError, match="is no variable, and keeps nothing"), g:
        static.assign(y, 1.0)
    with pytest.raises(ThixoError, match=r"w: f32\[\] cannot become f64\[\]"), g:
        static.assign(w, w.to(tx.float64))
    with pytest.raises(ThixoError, match="is no scalar"), g:
        static.gradients(x * 2, [w])
    with pytest.raises(ThixoError, match="it is being declared already"), g, g:
        pass
    with pytest.raises(ThixoError, match="depends on x, which a run decides"), g:
        static.variable(x * 2)
    with pytest.raises(ThixoError, match="no name for a size"), g:
        static.placeholder(("a b",), tx.float32)
    with pytest.raises(ThixoError, match="a size is a number, a name or None"), g:
        static.placeholder((-1,), tx.float32)
    with g:
        g.freeze()
        with pytest.raises(ThixoError, match="it is frozen; nothing can be added"):
            x * 2
    with pytest.raises(ThixoError, match="it is frozen"), g:
        pass
    assert static.Session(g).run(y, {x: tx.ones(1, 3)}).item() == 6  # it still runs


def test_a_branch_on_a_value_names_its_line(line):
    g, x, *_ = line
    with pytest.raises(ThixoError, match=r"only declared here.*static.cond.*test_errors.py"), g:
        bool(x.sum() > 0)


def test_a_value_of_a_declared_tensor_is_fetched(line):
    _, x, *_ = line
    with pytest.raises(ThixoError, match=r"fetch it with Session.run.*test_errors.py"):
        float(x)


def test_errors_of_nodes_name_the_line_that_declared_them():
    with static.Graph() as g:
        i = static.placeholder((1,), tx.int64, "i")
        y = tx.index_select(tx.zeros(2), 0, i)
    with pytest.raises(ThixoError, match=r"\(test_errors.py:\d+\)") as caught:
        static.Session(g).run(y, {i: [5]})
    assert f":{test_errors_of_nodes_name_the_line_that_declared_them.__code__.co_firstlineno + 3})" in str(caught.value)  # fmt: skip


def test_unknown_executors_and_passes(line):
    g = line[0]
    with pytest.raises(ThixoError, match="no executor 'quick'"):
        static.Session(g, executor="quick")
    with pytest.raises(ThixoError, match="there is no pass 'magic'"):
        static.Session(g, off=["magic"]).run("w")


def test_bodies_write_nothing_outside():
    with static.Graph():
        x = static.placeholder((2,), tx.float32, "x")
        y = x * 2
        with pytest.raises(ThixoError, match=r"writes to mul: f32\[2\].*return the new value"):
            static.cond(x.sum() > 0, lambda: y.add_(1), lambda: y)


def test_state_of_loops_and_branches_keep_their_types():
    with static.Graph():
        x = static.placeholder((None,), tx.float32, "x")
        with pytest.raises(ThixoError, match="must return the state as it gets it"):
            static.while_loop(lambda s: s.sum() < 9, lambda s: tx.cat([s, s]), x)
        with pytest.raises(ThixoError, match="the same structure"):
            static.cond(x.sum() > 0, lambda: x, lambda: (x, x))
        with pytest.raises(ThixoError, match="same types"):
            static.cond(x.sum() > 0, lambda: x, lambda: x.sum())


def test_names_that_are_nearly_right_are_suggested():
    with static.Graph("other") as h:
        static.named(static.placeholder((), tx.float32, "features") * 2, "doubled")
    with pytest.raises(ThixoError, match="called 'featurs'; did you mean 'features'"):
        static.Session(h).run("doubled", {"featurs": 1.0})
    with pytest.raises(ThixoError, match="did you mean 'doubled'"):
        static.Session(h).run("doubledd")


def test_a_bound_function_refuses_what_is_no_tensor_with_data(line):
    g, x, _, y = line
    run = static.Session(g).bind(y, [x])
    for _ in range(2):  # before and after there is a program
        for wrong in (1, None, x, tx.ones(2, 3).numpy(), tx.ones(2, 4)):
            with pytest.raises(ThixoError, match=r"x: f32\[n, 3\] .*test_errors.py:14"):
                run(wrong)
        assert run(tx.ones(2, 3)).item() == 12
    with pytest.raises(ThixoError, match=r"x: .*only declared"):
        static.Session(g).run(y, {x: x})


def test_feeds_of_bind_are_a_list_without_repetition(line):
    g, x, _, y = line
    session = static.Session(g)
    for feeds, message in ((x, "list of placeholders"), ("x", "list"), ([x, x], "x is twice")):
        with pytest.raises(ThixoError, match=message):
            session.bind(y, feeds)


def test_passes_to_leave_out_are_checked_when_the_session_is_made(line):
    g, _, _, y = line
    assert static.Session(g, off="fuse").run(y, {"x": tx.ones(1, 3)}).item() == 6
    with pytest.raises(ThixoError, match="no pass 'fusion'"):
        static.Session(g, off=["fusion"])


def test_a_graph_has_a_name_that_a_file_can_hold():
    for name in ("two words", "", "f(x) {", None):
        with pytest.raises(ThixoError, match="a name is letters"):
            static.Graph(name)


def test_a_limit_of_turns_is_a_number():
    with static.Graph():
        x = static.placeholder((), tx.float32, "x")
        for limit in (-1, "three", 2.5):
            with pytest.raises(ThixoError, match="limit must be a number of turns"):
                static.while_loop(lambda y: y > 0, lambda y: y - 1, x, limit=limit)


def test_passes_and_scopes_say_what_they_need(line):
    g, *_ = line
    with pytest.raises(ThixoError, match=r"optimize: needs a graph\.Graph"):
        tx.passes.optimize(g)
    with g, pytest.raises(ThixoError, match="None is no name"), static.name_scope(None):
        pass
