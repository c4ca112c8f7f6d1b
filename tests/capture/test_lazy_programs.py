"""Random programs of operators, views and writes in place: lazy is eager, whatever they do and whenever they look."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.capture import segments

POINTWISE = ("neg", "abs", "tanh", "sin", "relu", "sigmoid")
PAIRS = ("add", "sub", "mul", "maximum", "minimum")


@st.composite
def steps(draw):
    """A program: each step has a kind and numbers that choose what it works on."""
    kinds = "unary pair scalar view view view write write slice_write matmul sum where look dead grad".split()
    return draw(
        st.lists(
            st.tuples(st.sampled_from(kinds), *(st.integers(0, 99),) * 3), min_size=3, max_size=25
        )
    )


def look_through(x, a, b):
    """Some view of a tensor."""
    if x.ndim == 0:
        return x.unsqueeze(0)
    axis = a % x.ndim
    way = b % 6
    if way == 0:
        return x.transpose(0, x.ndim - 1)
    if way == 1 and x.shape[axis] > 1:
        return x.narrow(axis, 1, x.shape[axis] - 1)
    if way == 2 and x.ndim > 1:
        return x.select(axis, a % x.shape[axis])
    if way == 3:
        return x.reshape(-1)
    if way == 4:
        return x[tuple(slice(None, None, 2) for _ in x.shape)]
    return x.unsqueeze(axis)


def run(program, seed):
    rng = np.random.default_rng(seed)
    leaf = tx.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    pool = [tx.tensor(rng.normal(size=(3, 4))), tx.tensor(rng.normal(size=(4,))), leaf * 1]
    seen = []
    for kind, a, b, c in program:
        x, y = pool[a % len(pool)], pool[b % len(pool)]
        try:
            if kind == "unary":
                pool.append(getattr(x, POINTWISE[c % len(POINTWISE)])())
            elif kind == "pair":
                pool.append(getattr(tx, PAIRS[c % len(PAIRS)])(x, y))
            elif kind == "scalar":
                pool.append(x * (c / 7) + b)
            elif kind == "view":
                pool.append(look_through(x, b, c))
            elif kind == "write":
                x.copy_(y) if c % 3 == 0 else x.add_(y) if c % 3 == 1 else x.mul_(0.5)
            elif kind == "slice_write":
                look_through(x, b, c).fill_(c / 10)
            elif kind == "matmul":
                pool.append(x @ y)
            elif kind == "sum":
                pool.append(x.sum(c % max(x.ndim, 1)) if c % 2 and x.ndim else x.sum())
            elif kind == "where":
                pool.append(tx.where(x > 0, x, y))
            elif kind == "look":
                seen.append(x.detach().numpy().copy())
            elif kind == "dead":
                x.exp().sum()
            elif kind == "grad":
                x.sum().backward(retain_graph=True)
        except tx.ThixoError as error:
            seen.append(type(error).__name__)
    seen += [x.detach().numpy().copy() for x in pool]
    seen += [(x._version, x.stride(), x.storage_offset(), x.requires_grad) for x in pool]
    seen.append(None if leaf.grad is None else leaf.grad.numpy().copy())
    return seen


@pytest.mark.parametrize("sights", [0, 1])
def test_random_programs(sights):
    @settings(max_examples=25 if sights else 60, deadline=None)
    @given(steps(), st.integers(0, 5))
    def check(program, seed):
        expected = run(program, seed)
        with tx.lazy():
            found = run(program, seed)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            if isinstance(other, np.ndarray):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
            else:
                assert one == other

    before, segments.Settings.sights = segments.Settings.sights, sights
    try:
        check()
    finally:
        segments.Settings.sights = before
        segments.forget()
