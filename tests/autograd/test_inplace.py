"""Views and writes in place, in all combinations, against finite differences; saved values overwritten."""

import inspect
import re

import numpy as np
import pytest

import thixo as tx
from thixo.errors import AutogradError, InplaceError

# Windows on a 3x4 base. All can be written through, except expanded ones.
VIEWS = {
    "row": lambda b: b[1],
    "column": lambda b: b[:, 2],
    "element": lambda b: b[2, 1],
    "block": lambda b: b[0:2, 1:3],
    "steps": lambda b: b[::2, ::3],
    "transposed": lambda b: b.t(),
    "transposed block": lambda b: b.t()[1:3],
    "diagonal": lambda b: b.diagonal(),
    "off diagonal": lambda b: b.diagonal(1),
    "flat": lambda b: b.view(-1),
    "part of flat": lambda b: b.view(-1)[3:8],
    "reshaped": lambda b: b.view(2, 6)[1],
    "unsqueezed": lambda b: b.unsqueeze(1)[:, 0, 1:],
    "squeezed": lambda b: b.unsqueeze(0).squeeze(0)[1:],
    "permuted": lambda b: b.unsqueeze(0).permute(2, 0, 1)[1],
    "strided": lambda b: b.as_strided((2, 2), (5, 2), 1),
    "narrow": lambda b: b.narrow(1, 1, 2),
    "select": lambda b: b.select(0, 2),
    "unbound": lambda b: b.unbind(1)[3],
    "split": lambda b: b.split(2, 1)[1],
    "chunk": lambda b: b.chunk(3)[2],
    "unfolded": lambda b: b.unfold(1, 2, 2)[1],
    "movedim": lambda b: b.movedim(0, 1)[2:],
    "view_as": lambda b: b.view_as(b)[1],
    "nothing": lambda b: b[1:1],
}

WRITES = {
    "mul_": lambda v, w: v.mul_(w),
    "add_ number": lambda v, w: v.add_(2.5),
    "mul_ number": lambda v, w: v.mul_(0.5),
    "copy_": lambda v, w: v.copy_(w.expand(v.shape)),
    "fill_": lambda v, w: v.fill_(1.25),
    "zero_": lambda v, w: v.zero_(),
    "sin_": lambda v, w: v.sin_(),
    "exp_": lambda v, w: v.exp_(),
    "setitem": lambda v, w: v.__setitem__(..., w * 2),
    "square_": lambda v, w: v.square_(),
}


def start():
    rng = np.random.default_rng(3)
    x = tx.tensor(rng.uniform(0.5, 1.5, (3, 4)), requires_grad=True)
    w = tx.tensor(1.5, dtype=tx.float64, requires_grad=True)
    return x, w


def weights(t):
    """Different weights for all elements, so that a misplaced gradient shows."""
    return tx.tensor(1.0 + np.arange(t.numel()).reshape(tuple(t.shape)) * 0.25)


def agrees(function, *inputs):
    return tx.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_write_through_a_view_then_read_the_base(view, write):
    def function(x, w):
        base = x * 2
        WRITES[write](VIEWS[view](base), w)
        return (base * weights(base)).sum() + w

    assert agrees(function, *start())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", ["mul_", "copy_", "exp_"])
def test_write_to_the_base_then_read_a_view_made_before(view, write):
    def function(x, w):
        base = x * 2
        seen = VIEWS[view](base)
        WRITES[write](base, w)
        return (seen * weights(seen)).sum() + w + base.sum()

    assert agrees(function, *start())


@pytest.mark.parametrize("view", VIEWS)
def test_write_through_one_view_then_read_another(view):
    def function(x, w):
        base = x * 2
        first, second = VIEWS[view](base), base[0:2]
        first.mul_(w)
        second.mul_(3)
        first.add_(w)
        return (first * weights(first)).sum() + (second * weights(second)).sum() + w

    assert agrees(function, *start())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", ["mul_", "copy_", "setitem"])
def test_a_base_that_starts_without_gradient(view, write):
    def function(x, w):
        base = tx.ones(3, 4, dtype=tx.float64)
        seen = VIEWS[view](base)
        other = base[1:]
        assert not seen.requires_grad
        WRITES[write](seen, w)
        if seen.numel():
            assert base.requires_grad
            assert seen.requires_grad
            assert other.requires_grad
        return (base * weights(base)).sum() + (other * weights(other)).sum() + w + x.sum()

    assert agrees(function, *start())


@pytest.mark.parametrize(
    "view", ["row", "steps", "transposed block", "diagonal", "strided", "unfolded"]
)
@pytest.mark.parametrize("write", ["mul_", "exp_", "square_"])
def test_second_order_through_writes(view, write):
    def function(x, w):
        base = x.sin()
        WRITES[write](VIEWS[view](base), w)
        return (base * base).sum() * w

    x, w = start()
    assert tx.autograd.gradgradcheck(function, (x, w))


def test_chains_of_views_and_writes():
    def function(x, w):
        base = x * 1
        a = base.t()
        b = a[1:]
        c = b[:, ::2]
        c.mul_(w)
        base.add_(c.sum())
        b[0].mul_(2)
        a.diagonal().copy_(base[:, 0])
        c.add_(w)
        return (base * weights(base)).sum() + (c * b[:, 0:2]).sum()

    assert agrees(function, *start())


def test_in_place_forms_of_syntax():
    def function(x, w):
        base = x * 1
        base[0] += w
        base[:, 1] *= base[:, 2].clone()
        base[1:, 0] = w
        base[base > 1] = 0.5 * w
        base[[0, 2], [1, 3]] = w * 2
        base -= x
        base /= w
        base **= 2
        return (base * weights(base)).sum()

    assert agrees(function, *start())


@pytest.mark.parametrize("part", ["real", "imag"])
def test_writes_through_parts_of_complex_numbers(part):
    def function(x, w):
        z = tx.complex(x, x * 2)
        getattr(z, part).mul_(w)
        tx.view_as_real(z)[0].add_(w)
        return (z * z.conj()).real.sum() + z.imag.sum()

    assert agrees(function, *start())


def test_writes_through_complex_views_of_pairs():
    def function(x, w):
        base = x * 1
        z = tx.view_as_complex(base.view(3, 2, 2))
        z.mul_(tx.complex(w, w))
        base[0].mul_(2)
        return (base * weights(base)).sum() + z.real.sum()

    assert agrees(function, *start())


def test_a_write_with_itself_as_operand():
    def function(x, w):
        y = x * 1
        y.mul_(y)
        y.add_(y)
        return y.sum()

    assert agrees(function, *start())


def test_reading_an_expanded_view_of_written_memory():
    def function(x, w):
        base = x * 1
        wide = base[:, 0:1].expand(3, 5)
        base.mul_(w)
        return (wide * weights(wide)).sum()

    assert agrees(function, *start())


def test_writing_to_an_expanded_view_is_refused():
    wide = tx.ones(3, 1).expand(3, 4)
    for write in (lambda: wide.add_(1), lambda: wide.zero_(), lambda: wide.copy_(tx.ones(3, 4))):
        with pytest.raises(
            InplaceError, match=r"f32\[3,4\] are the same memory \(it was expanded\); clone it"
        ):
            write()
    with pytest.raises(InplaceError, match="same memory"):
        wide[0] = 5.0
    assert wide.sum().item() == 12.0


def test_a_view_shows_the_write_and_has_the_versions_of_its_base():
    base = tx.zeros(4)
    view = base[1:3]
    assert view._base is base
    assert view[0:1]._base is base
    before = base._version
    view.fill_(7)
    assert base.tolist() == [0.0, 7.0, 7.0, 0.0]
    assert base._version == view._version == before + 1


def test_the_node_of_a_written_base_and_view():
    x = tx.ones(4, requires_grad=True)
    base = x * 2
    view = base[1:3]
    view.mul_(3)
    assert base.grad_fn.name() == "CopySlices"
    assert view.grad_fn.name() == "AsStridedBackward"
    assert view.grad_fn.next_functions[0][0] is base.grad_fn


def test_a_view_made_under_no_grad_stays_out_of_the_tape():
    x = tx.ones(3, requires_grad=True)
    base = x * 1
    with tx.no_grad():
        view = base[0:2]
    assert not view.requires_grad
    assert not (view * 2).requires_grad
    with pytest.raises(InplaceError, match=r"this view was made under no_grad\(\)"):
        view.mul_(2)
    with tx.no_grad():
        view.mul_(2)
    assert base.tolist() == [2.0, 2.0, 1.0]
    base.mul_(2)
    with pytest.raises(
        InplaceError, match=r"made under no_grad\(\) is used after its base was changed"
    ):
        view * 2


def test_a_view_of_a_buffer_made_under_no_grad_refuses_recorded_writes():
    x, buffer = tx.ones(2, requires_grad=True), tx.zeros(3)
    with tx.no_grad():
        view = buffer[0:2]
    with pytest.raises(InplaceError, match=r"made under no_grad\(\)"):
        view.copy_(x)


def test_a_detached_view_stays_detached():
    x = tx.ones(3, requires_grad=True)
    base = x * 1
    seen = base.detach()[0:2]
    base.mul_(2)
    assert not seen.requires_grad
    assert seen.tolist() == [2.0, 2.0]
    assert seen._base is not base


# ---- saved values


def here():
    return inspect.currentframe().f_back.f_lineno


def lines_of(error):
    return [int(n) for n in re.findall(r"test_inplace\.py:(\d+)", str(error))]


def test_an_overwritten_input_names_both_lines():
    x, w = tx.ones(3, requires_grad=True), tx.ones(3)
    saved = here() + 1
    y = x * w
    written = here() + 1
    w[1] = 5.0
    with pytest.raises(InplaceError) as caught:
        y.sum().backward()
    assert lines_of(caught.value)[:2] == [saved, written]


def helper_that_writes(t):
    t.zero_()
    return here() - 1


def test_the_lines_are_the_users_wherever_they_are():
    x = tx.ones(3, requires_grad=True)
    h = x * 2
    saved = here() + 1
    y = h.pow(3)
    written = helper_that_writes(h.detach())
    with pytest.raises(InplaceError) as caught:
        y.sum().backward()
    assert lines_of(caught.value)[:2] == [saved, written]


@pytest.mark.parametrize(
    "write",
    [
        lambda h: h.add_(1),
        lambda h: h[0].zero_(),
        lambda h: h.t().diagonal().fill_(2),
        lambda h: h.detach().mul_(2),
        lambda h: h.__setitem__((0, 1), 3.0),
        lambda h: tx.add(tx.ones(2, 2), 1, out=h.detach()),
        lambda h: tx.nn.init.zeros_(h.detach()),
        lambda h: h.detach().random_(),
        lambda h: h.detach().resize_(5, 5),
    ],
)
def test_every_kind_of_write_is_noticed(write):
    h = tx.ones(2, 2, requires_grad=True) * 1
    y = h * h
    write(h)
    if y._version == 0 and h._version == 0:
        return  # a tensor of its own was resized: h is as it was
    with pytest.raises(InplaceError, match="was overwritten in place"):
        y.sum().backward()


def test_a_write_after_backward_is_no_matter():
    x = tx.ones(3, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    y.add_(1)
    assert x.grad.tolist() == pytest.approx([np.e] * 3, rel=1e-6)


def test_a_write_to_what_no_gradient_needs_is_no_matter():
    x, w = tx.ones(3, requires_grad=True), tx.ones(3)
    y = x + w  # needs neither
    w.zero_()
    h = x * 2
    z = h + 1
    h.mul_(5)
    (y + z).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_overwritten_once_out_of_many():
    x = tx.ones(3, requires_grad=True)
    parts = [(x * i).exp() for i in range(4)]
    parts[2].zero_()
    with pytest.raises(InplaceError, match="ExpBackward"):
        sum(p.sum() for p in parts).backward()


def test_retained_graph_then_write_then_backward():
    x = tx.ones(3, requires_grad=True)
    y = x.exp()
    y.sum().backward(retain_graph=True)
    y.mul_(2)
    with pytest.raises(InplaceError):
        y.sum().backward()


def test_optimizer_like_writes_to_weights_spoil_a_second_backward():
    w = tx.ones(2, requires_grad=True)
    y = (w * w).sum()
    y.backward(retain_graph=True)
    with tx.no_grad():
        w.sub_(0.1)
    with pytest.raises(AutogradError, match=r"f32\[2\], saved at .* overwritten in place at"):
        y.backward()


def test_in_place_on_a_tensor_and_then_its_old_consumers():
    x = tx.ones(2, requires_grad=True)
    h = x * 2
    kept = h + 0  # needs no value of h
    h.mul_(10)
    (kept.sum() + h.sum()).backward()
    assert x.grad.tolist() == [22.0, 22.0]


def test_writes_without_gradient_rules_cut_the_tape():
    """eq_ and friends overwrite the value with something that has no gradient: nothing flows back."""
    x = tx.ones(2, requires_grad=True)
    h = x * 2
    h.eq_(2)
    total = (h * 3).sum()
    if total.requires_grad:
        total.backward()
    assert x.grad is None or x.grad.tolist() == [0.0, 0.0]
