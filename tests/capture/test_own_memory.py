"""What leaves a captured function shares memory where the plain function's results do, and nowhere else."""

import itertools

import pytest

import thixo as tx

PLAIN, COMPILED, SCRIPTED = (lambda f: f), tx.compile, tx.jit.script
BOTH = pytest.mark.parametrize("how", [COMPILED, SCRIPTED], ids=["compile", "script"])


def positive():
    return tx.tensor([1.0, 2.0])


def negative():
    return tx.tensor([-1.0, -2.0])


def graded():
    return positive().requires_grad_()


def seen(how, make, given, calls=3):
    """Who shares memory with whom, and what all hold after each result is written, for several calls."""
    f, found = how(make()), []
    for _ in range(calls):
        x = given()
        made = f(x)
        tensors = [x, *(made if isinstance(made, tuple | list) else [made])]
        pairs = list(itertools.combinations(range(len(tensors)), 2))
        same = [tensors[i] is tensors[j] for i, j in pairs]
        shared = [tx._core.shares_memory(tensors[i], tensors[j]) for i, j in pairs]
        graph = [t.requires_grad for t in tensors]
        with tx.no_grad():
            for i, t in enumerate(tensors[1:]):
                t.add_(10.0 * (i + 1))
        found.append((same, shared, graph, [t.tolist() for t in tensors]))
    return found


def equal_values(x):
    p, q = x * 2, x * 2
    return p[0], q[0], p, q, p[1], p.detach()


def equal_without_gradients(x):
    with tx.no_grad():
        a, b = x * 2, x * 2
    return a, b, a[0], x * 2, (x * 2)[0]


def equal_writes(x):
    a, b = x * 2, x * 2
    with tx.no_grad():
        a.add_(1)
        b.add_(1)
    return a, b, b[0]


def written_to_the_same(x):
    a = x * 2
    x.mul_(2)
    return a, x[0]


def equal_reshapes(x):
    rows = x.expand(3, 2) * 2
    return rows.t().reshape(-1), rows.t().reshape(-1), rows.reshape(-1), rows


def constants(x):
    c = tx.tensor([3.0, 4.0])
    return c, c[0], tx.tensor([3.0, 4.0]), tx.zeros(2), tx.zeros(2)


def equal_in_a_branch(x):
    if x.sum() > 0:
        a, b = x * 2, x * 2
    else:
        a, b = tx.tensor([5.0, 6.0]), tx.tensor([5.0, 6.0])
    return a, b


def no_turns(x):
    a, b = tx.zeros(2), tx.zeros(2)
    while a.sum() < x.sum() - 10:
        a, b = a + 1, b + 1
    return a, b


RESULTS = [
    lambda x: (x.clone(), x.clone(), x),
    lambda x: [x * 1 for _ in range(3)],
    lambda x: ((x * 2).split(1)[0], (x * 2).split(1)[0]),
    equal_values,
    equal_without_gradients,
    equal_writes,
    equal_reshapes,
    constants,
    equal_in_a_branch,
    no_turns,
]


@BOTH
@pytest.mark.parametrize("given", [positive, negative, graded])
@pytest.mark.parametrize("f", [*RESULTS, written_to_the_same])
def test_results_share_memory_as_in_python(how, f, given):
    if given is graded and f is written_to_the_same:
        return  # a leaf
    assert seen(how, lambda: f, given) == seen(PLAIN, lambda: f, given)


@pytest.mark.parametrize("f", RESULTS[:-2])
def test_a_trace_too(f):
    def traced(f):
        return tx.jit.trace(f, positive())

    def without_objects(found):
        return [rest for _, *rest in found]

    assert without_objects(seen(traced, lambda: f, positive)) == without_objects(
        seen(PLAIN, lambda: f, positive)
    )


@pytest.mark.parametrize("f", [equal_values, equal_writes, constants])
def test_in_lazy_code_too(f):
    def lazily(f):
        def run(x):
            with tx.lazy():
                return f(x)

        return run

    assert seen(lazily, lambda: f, positive) == seen(PLAIN, lambda: f, positive)


@pytest.mark.parametrize("f", RESULTS)
def test_operator_by_operator_too(f):
    def looked_into(f):
        return tx.jit.script(f, debug=True)

    assert seen(looked_into, lambda: f, positive) == seen(PLAIN, lambda: f, positive)


def test_results_of_a_session():
    graph = tx.static.Graph()
    with graph:
        x = tx.static.placeholder((2,), name="x")
        fetched = [x * 2, x * 2, tx.tensor([1.0, 2.0]), tx.zeros(2), tx.zeros(2)]
    session = tx.static.Session(graph)
    for _ in range(3):
        found = session.run(fetched, {"x": positive()})
        assert [t.tolist() for t in found] == [[2, 4], [2, 4], [1, 2], [0, 0], [0, 0]]
        for t in found:
            t.add_(10)
        assert [t.tolist() for t in found] == [[12, 14], [12, 14], [11, 12], [10, 10], [10, 10]]


# ---- state


class Averages(tx.nn.Module):
    def forward(self, x):
        self.fast, self.slow = x.mean(0), x.mean(0)
        self.start = tx.tensor([1.0, 2.0])
        return x


@BOTH
def test_state_of_a_module(how):
    def run(how):
        model, found = Averages(), []
        f = how(model)
        for _ in range(3):
            f(tx.ones(2, 2))
            model.fast.add_(1)
            model.start.add_(1)
            found.append([model.fast.tolist(), model.slow.tolist(), model.start.tolist()])
        return found

    assert run(how) == run(PLAIN)


@BOTH
def test_a_log_and_the_state_of_an_optimizer(how):
    def run(how):
        log, state = [], {}

        def start(n):
            state["m"], state["v"] = tx.zeros(n), tx.zeros(n)
            for _ in range(3):
                log.append(tx.zeros(n))

        def update(g):
            state["m"].mul_(0.9).add_(g)
            state["v"].add_(g * g)
            log[0].add_(g)

        how(start)(2)
        step = how(update)
        for _ in range(3):
            step(positive())
        return [t.tolist() for t in (*state.values(), *log)]

    assert run(how) == run(PLAIN)


# ---- gradients


@BOTH
@pytest.mark.parametrize("cell", [tx.nn.LSTMCell, tx.nn.GRUCell, tx.nn.RNNCell])
def test_gradients_of_cells_accumulate(how, cell):
    def run(how):
        tx.manual_seed(0)
        model = cell(2, 3)

        def step(x):
            h = model(x)
            (h[0] if isinstance(h, tuple) else h).sum().backward()

        f, found = how(step), []
        for _ in range(3):
            f(tx.ones(2, 2))
            found.append([p.grad.sum().item() for p in model.parameters()])
        return found

    for got, want in zip(run(how), run(PLAIN), strict=True):
        assert got == pytest.approx(want, rel=1e-5)


def leaves(count):
    return [tx.nn.Parameter(tx.ones(2)) for _ in range(count)]


@BOTH
def test_equal_gradients_are_clipped_each(how):
    w, v = leaves(2)

    @how
    def step(x):
        ((x * w).sum() + (x * v).sum()).backward()

    step(positive())
    tx.nn.utils.clip_grad_norm_([w, v], 1.0)
    assert w.grad.tolist() == pytest.approx([0.1**0.5, 0.4**0.5])


@BOTH
@pytest.mark.parametrize("keeps", [False, True])
def test_two_passes_and_a_write(how, keeps):
    def run(how):
        p, q = leaves(2)

        def step(x):
            for _ in range(2):
                ((x + p).sum() + (x + q).sum()).backward(create_graph=keeps)
            return p.grad + 0

        f, found = how(step), []
        for _ in range(3):
            f(positive())
            with tx.no_grad():
                p.grad.mul_(0.5)
            p.grad[0] = 7
            found.append([p.grad.tolist(), q.grad.tolist(), p.grad.stride(), q.grad.stride()])
        return found

    assert run(how) == run(PLAIN)


@BOTH
def test_an_input_as_a_gradient_is_copied(how):
    x, (p,) = positive(), leaves(1)

    @how
    def step(x):
        p.backward(x)
        return p.grad

    step(x).add_(10)
    assert x.tolist() == [1, 2]
    assert p.grad.tolist() == [11, 12]


@BOTH
def test_a_constant_as_a_gradient(how):
    (p,) = leaves(1)

    @how
    def step():
        p.grad = tx.tensor([1.0, 2.0])

    for _ in range(3):
        step()
        assert p.grad.tolist() == [1, 2]
        p.grad.add_(10)


def test_nothing_is_copied_in_a_step_that_shares_nothing():
    model = tx.nn.Sequential(tx.nn.Linear(4, 8), tx.nn.Tanh(), tx.nn.Linear(8, 2))
    optimizer = tx.optim.Adam(model.parameters(), lr=0.1)

    @tx.jit.script
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(2):
        step(tx.ones(3, 4))
    assert "clone" not in {node.op.full_name for node in step.graph.nodes}


# ---- results that may be arguments


def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


def nested(x):
    if x.sum() > 0:
        if x.max() > 5:
            return x[0:1] * 2
        return x
    return x.view(-1)


def the_best(x):
    best = x
    for i in range(x.shape[0]):
        y = x * i
        if y.sum() > best.sum():
            best = y
    return best


def one_of_two_results(x):
    h = x * 2
    best = h if h.sum() > 3 else h * 2
    return h, best, best[0]


def global_or_argument():
    w = tx.zeros(2)
    return lambda x: w if x.sum() > 0 else x


def written_before(x):
    x.add_(1)
    return x if x.sum() > 3 else x * 2


MAY_BE = [
    lambda: lambda x: x if x.sum() > 0 else -x,
    lambda: lambda x: x[0] if x.sum() > 0 else x[1],
    lambda: lambda x: tx.cond(x.sum() > 0, lambda a: a, lambda a: -a, (x,)),
    lambda: lambda x: tx.while_loop(lambda a: a.sum() > 5, lambda a: a / 2, x),
    lambda: lambda x: tx.scan(lambda s, row: (s, s), x, x),
    lambda: halved,
    lambda: nested,
    lambda: the_best,
    lambda: one_of_two_results,
    global_or_argument,
]


@BOTH
@pytest.mark.parametrize("given", [positive, negative, graded])
@pytest.mark.parametrize("make", MAY_BE)
def test_a_result_is_the_argument_where_the_branch_says_so(how, make, given):
    assert seen(how, make, given) == seen(PLAIN, make, given)


@BOTH
@pytest.mark.parametrize("given", [positive, negative])
def test_an_argument_that_was_written(how, given):
    assert seen(how, lambda: written_before, given) == seen(PLAIN, lambda: written_before, given)


@BOTH
def test_gradients_go_where_the_branch_says(how):
    def run(how):
        f, found = how(lambda x: x * 1 if x.sum() > 5 else x), []
        for given in (positive, lambda: tx.tensor([5.0, 6.0])):
            x = given().requires_grad_()
            y = f(x)
            (y * y).sum().backward()
            found.append([y is x, y.is_leaf, x.grad.tolist()])
        return found

    assert run(how) == run(PLAIN)


def one_tensor_on_one_path(x):
    if x.sum() > 0:
        a = b = x * 2
    else:
        a, b = x * 3, x * 4
    return a, b


@pytest.mark.parametrize("given", [positive, negative])
def test_two_results_that_may_be_one(given):
    """Nothing in a graph says on which paths they are."""
    make = lambda: one_tensor_on_one_path  # noqa: E731
    assert seen(COMPILED, make, given) == seen(PLAIN, make, given)
    with pytest.raises(tx.errors.CaptureError, match=r"two of them are one tensor.*clone\(\)"):
        SCRIPTED(one_tensor_on_one_path)(given())
