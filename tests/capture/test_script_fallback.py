"""jit.script(fallback=True): statements that no graph holds run in Python; and gradients that a path does not have."""

import pytest

import thixo as tx


def same(f, scripted, *args):
    found, expected = scripted(*args), f(*args)
    assert repr(found) == repr(expected)


def test_one_statement_runs_in_python_and_the_rest_are_graphs():
    def f(x):
        y = x * 2
        seen = {float(v) for v in y}
        return y.sum() + len(seen)

    scripted = tx.jit.script(f, fallback=True)
    for x in (tx.ones(3), tx.arange(4.0), tx.ones(2, 2)[0]):
        same(f, scripted, x)
    assert len(scripted.graphs) >= 2
    assert [line - f.__code__.co_firstlineno for line in scripted.in_python] == [2]


def test_what_is_one_graph_stays_one():
    scripted = tx.jit.script(lambda x: x * 2 if x.sum() > 0 else -x, fallback=True)
    scripted(tx.ones(2)), scripted(-tx.ones(2))
    assert len(scripted.graphs) == 1
    assert not scripted.in_python


def test_variables_that_may_be_unset_returns_and_errors_are_pythons():
    def f(x, limit=3):
        if x.sum() > limit:
            found = {x.sum().item(): 1}
            w = x * 2
        else:
            found = {}
        if len(found) > 0:
            return w, list(found)
        if x.sum() < 0:
            return w
        return x * limit, []

    scripted = tx.jit.script(f, fallback=True)
    same(f, scripted, tx.ones(5))
    same(f, scripted, tx.ones(2))
    with pytest.raises(UnboundLocalError, match="'w'"):
        scripted(-tx.ones(2))


def test_cells_globals_and_gradients_of_parts():
    scale = tx.tensor(3.0, requires_grad=True)
    count = 0

    def f(x):
        nonlocal count
        y = (x * scale).tanh()
        names = {str(y.tolist())}
        count += len(names)
        return (y * y).sum() * count

    scripted = tx.jit.script(f, fallback=True)
    x = tx.ones(3, requires_grad=True)
    scripted(x).backward()
    assert count == 1
    assert scripted.in_python
    first = (x.grad.clone(), scale.grad.clone())
    x.grad = scale.grad = None
    count = 0
    f(x).backward()
    assert x.grad.tolist() == first[0].tolist()
    assert scale.grad.item() == first[1].item()


def test_a_method_of_a_module_in_parts():
    class Counting(tx.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = tx.nn.Linear(3, 3)
            self.seen = set()

        def forward(self, x):
            h = self.inner(x).tanh()
            self.seen.add(h.sum().item())
            return h * len(self.seen)

    model = Counting()
    scripted = tx.jit.script(model, fallback=True)
    one = scripted(tx.ones(2, 3))
    two = scripted(tx.zeros(2, 3))
    assert len(model.seen) == 2
    model.seen.clear()
    assert (one == model(tx.ones(2, 3))).all()
    assert (two == model(tx.zeros(2, 3))).all()


# ---- what a path does not use has no gradient


def gradients(f, *shapes, sign=1.0):
    inputs = [tx.full(s, sign).requires_grad_() for s in shapes]
    result = f(*inputs)
    if result.requires_grad:
        result.sum().backward()
    found = [None if x.grad is None else x.grad.tolist() for x in inputs]
    return found, result.requires_grad


def test_a_tensor_that_the_taken_path_does_not_use_has_no_gradient():
    def branch(x, w):
        return x * 2 if x.sum() > 0 else x * w

    def inner(x, w):
        y = x * 1
        if x.sum() > -5:
            y = y + 1
            if x.sum() > 0:
                y = y * w
        return y

    def loop(x, w):
        n = x.sum().detach()
        while n > 0:
            x = x * w
            n = n - 1
        return x

    def turns(x, w):
        n = x.sum().detach()
        y = x * 1
        while n > -5:
            if n > 2:
                y = y * w
            n = n - 1
        return y

    for f in (branch, inner, loop, turns):
        scripted = tx.jit.script(f)
        for sign in (1.0, -1.0):
            assert gradients(scripted, (3,), (3,), sign=sign) == gradients(f, (3,), (3,), sign=sign)


def test_a_result_that_depends_on_nothing_requires_no_gradient():
    def f(x, w):
        return w * 2 if x.detach().sum() > 0 else x.detach()

    scripted = tx.jit.script(f)
    for sign in (1.0, -1.0):
        assert gradients(scripted, (2,), (2,), sign=sign) == gradients(f, (2,), (2,), sign=sign)


# ---- exceptions


def test_what_is_changed_before_an_exception_of_the_graph_is_changed():
    seen = []

    def f(x):
        seen.append(len(seen))
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

    scripted = tx.jit.script(f)
    scripted(tx.ones(2))
    with pytest.raises(ValueError, match=r"^negative\n"):
        scripted(-tx.ones(2))
    assert seen == [0, 1]


def both(f, *vectors):
    """Whether the scripted function does on each vector what the function does, captured once or not at all."""
    scripted = tx.jit.script(f)
    for v in vectors:
        found = []
        for one in (f, scripted):
            try:
                found.append(repr(one(tx.tensor(v))))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
        assert found[0] == found[1]
    return scripted


VECTORS = ([1.0, 2.0], [-1.0, 0.0], [-1.0, 2.5], [-3.0, -3.0], [-2.0, -0.5], [3.0, 4.0])


def test_an_exception_under_a_condition_reaches_its_handler():
    def plain(x):
        try:
            if x.sum() > 0:
                raise ValueError("positive")
            y = x * 2
        except ValueError:
            y = x * 3
        return y

    def in_a_loop(x):
        n = 0
        try:
            for i in range(3):
                if x.sum() > i:
                    n += 1
                    {}["missing"]
                n += 10
        except KeyError:
            n += 100
        else:
            n += 1000
        finally:
            n += 10000
        return x * n

    def one_in_another(x):
        try:
            try:
                if x.sum() > 0:
                    raise ValueError("a")
                if x.sum() < -5:
                    raise KeyError("k")
                z = x
            except ValueError:
                z = x + 1
                if x.sum() > 3:
                    raise
            z = z * 2
        except (KeyError, ValueError):
            z = x * 7
        return z

    def an_assertion(x):
        try:
            assert x.sum() > 0, "negative"
            y = x
        except AssertionError:
            return x - 1
        return y + 1

    def not_caught(x):
        try:
            if x.sum() > 0:
                raise ValueError("v")
            return x * 5
        except KeyError:
            return x

    for f in (plain, in_a_loop, one_in_another, an_assertion, not_caught):
        assert len(both(f, *VECTORS).graphs) == 1


# ---- values of other kinds


def test_results_and_variables_of_other_kinds_on_other_paths():
    def shapes(x):
        y = x if x.sum() > 0 else tx.cat([x, x])
        return y * 2, y.shape[0]

    def nothing(x):
        if x.sum() > 0:
            return None
        return x, [x * 2] if x[0] < -1 else {"a": x}

    def lists(x):
        parts = [x] if x.sum() > 0 else (x, x + 1)
        return len(parts), parts[0] * 2

    def words(x):
        text = f"{x[0].item():.1f}" if x.sum() > 0 else "none"
        return text + "!"

    for f in (shapes, nothing, lists, words):
        try:
            assert len(both(f, *VECTORS).graphs) == 1
        except tx.errors.CaptureError as error:
            raise AssertionError(f"{f.__name__}: {error}") from error


def test_a_loop_that_no_node_holds_becomes_branches_where_python_bounds_it():
    def f(x):
        found, turn = [], 0
        while turn < 4 and x.sum() < 5:
            turn += 1
            x = x * 2 + 1
            found.append(x)
        return found, turn

    assert len(both(f, *VECTORS).graphs) == 1


def test_the_largest_of_a_list_whose_length_the_data_decide():
    def f(x):
        found = [v * 2 for v in x if v > 0]
        return max(found) + min(found)

    assert len(both(f, *VECTORS).graphs) == 1
