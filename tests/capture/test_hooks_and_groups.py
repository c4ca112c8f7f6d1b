"""A captured step serves the optimizer, the hooks and the methods that it was captured with, and no others."""

import pytest

import thixo as tx
from thixo.errors import CaptureError


class World:
    """Two parameters, of which the optimizer knows the first."""

    def __init__(self):
        self.a, self.b = (tx.nn.Parameter(tx.ones(1)) for _ in range(2))
        self.opt = tx.optim.SGD([self.a], lr=0.1)
        self.log = []

    def step(self):
        self.opt.zero_grad()
        (self.a * self.b).sum().backward()
        self.opt.step()

    def state(self):
        return self.a.tolist(), self.b.tolist(), self.log

    # what may happen to it

    def add_group(self):
        self.opt.add_param_group({"params": [self.b], "lr": 0.01})

    def append(self):
        self.opt.param_groups[0]["params"].append(self.b)

    def hook(self):
        self.a.register_hook(lambda g: (self.log.append("hook"), g * 2)[1])

    def hook_behind(self):
        self.a.register_post_accumulate_grad_hook(lambda p: self.log.append("behind"))

    def before_step(self):
        self.opt.register_step_pre_hook(lambda *args: self.log.append("before"))

    def after_step(self):
        self.opt.register_step_post_hook(lambda *args: self.log.append("after"))

    def other_step(self):
        old = self.opt.step
        self.opt.step = lambda: (self.log.append("step"), old())

    def other_zero_grad(self):
        old = self.opt.zero_grad
        self.opt.zero_grad = lambda: (self.log.append("zero"), old())


HOOKS = ["hook", "hook_behind", "before_step", "after_step"]
EVENTS = [*HOOKS, "add_group", "append", "other_step", "other_zero_grad"]


def states(decorate, event, first):
    world = World()
    step = decorate(world.step)
    found = []
    for i in range(8):
        if i == first:
            getattr(world, event)()
        step()
        found.append(world.state())
    return found


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("event", EVENTS)
def test_compiled_steps_see_what_has_changed(event, first):
    assert states(tx.compile, event, first) == states(lambda f: f, event, first)


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("event", EVENTS)
def test_scripted_steps_see_what_has_changed(event, first):
    if event in HOOKS:
        with pytest.raises(CaptureError, match="hook"):
            states(tx.jit.script, event, first)
    else:
        assert states(tx.jit.script, event, first) == states(lambda f: f, event, first)


def test_hooks_that_are_taken_away_again():
    world = World()
    step = tx.compile(world.step)
    step()
    with world.a.register_hook(lambda g: g * 2):
        step()
    step()
    assert world.a.item() == pytest.approx(1 - 0.1 - 0.2 - 0.1)


def test_hooks_of_other_leaves_need_no_graph():
    world = World()
    step = tx.compile(world.step)
    step(), step()
    known = len(step.graphs)
    for _ in range(4):
        tx.ones(1, requires_grad=True).register_hook(print)
        step()
    assert len(step.graphs) == known


def test_a_leaf_that_is_an_argument():
    seen = []

    def f(x):
        (x * x).sum().backward()
        return x.detach()

    compiled = tx.compile(f)
    for _ in range(3):
        x = tx.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
        compiled(tx.ones(2, requires_grad=True))
        compiled(x)
    assert seen == [[2.0, 2.0]] * 3


def test_hooks_on_leaves_run_behind_a_compiled_forward():
    seen = []
    w = tx.ones(2, requires_grad=True)
    forward = tx.compile(lambda x: (w * x).sum())
    for _ in range(3):
        forward(tx.ones(2)).backward()
    w.register_hook(lambda g: seen.append(g.tolist()))
    for _ in range(3):
        forward(tx.ones(2)).backward()
    assert seen == [[1.0, 1.0]] * 3
    assert len(forward.graphs) == 1


def test_a_hook_that_is_given_inside():
    p, seen = tx.ones(2, requires_grad=True), []

    def f(x):
        with p.register_post_accumulate_grad_hook(lambda q: seen.append(1)):
            (p * x).sum().backward()
        return x

    compiled = tx.compile(f)
    compiled(tx.ones(2)), compiled(tx.ones(2))
    assert seen == [1, 1]
    with pytest.raises(CaptureError, match="register_post_accumulate_grad_hook"):
        tx.jit.script(f)(tx.ones(2))


@pytest.mark.parametrize("decorate", [tx.compile, tx.jit.script])
def test_a_method_that_is_another_one_later(decorate):
    class Scale:
        def factor(self):
            return 2

    scale = Scale()
    f = decorate(lambda x: x * scale.factor())
    found = [f(tx.ones(1)).item() for _ in range(3)]
    Scale.factor = lambda self: 3
    found += [f(tx.ones(1)).item() for _ in range(3)]
    scale.factor = lambda: 4
    found += [f(tx.ones(1)).item() for _ in range(3)]
    del scale.factor
    found.append(f(tx.ones(1)).item())
    assert found == [2, 2, 2, 3, 3, 3, 4, 4, 4, 3]
