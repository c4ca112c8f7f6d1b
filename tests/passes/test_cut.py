"""Gradients of a tensor that was cut into parts are those parts side by side."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Interpreter, parse
from thixo.passes import optimize


def names(graph):
    return [node.op.full_name for node in graph.nodes]


@pytest.mark.parametrize("heads", [False, True])
def test_the_gradient_of_chunks_is_one_tensor(heads):
    with tx.static.Graph() as g:
        x = tx.static.placeholder((2, 3, 12), tx.float32, "x")
        a, b, c = x.chunk(3, -1)
        if heads:
            a, b, c = (t.reshape(2, 3, 2, 2).permute(0, 2, 1, 3) for t in (a, b, c))
        (slope,) = tx.static.gradients((a * b * b * c * c * c).sum(), [x])
    session = tx.static.Session(g)
    made = names(session.program([slope]))
    assert "slice_scatter" not in made
    assert made.count("cat") == 1
    given = tx.tensor(np.random.default_rng(0).uniform(0.5, 1.5, (2, 3, 12)).astype(np.float32))
    found = session.run(slope, {x: given})
    plain = tx.static.Session(g, off=["pieces"]).run(slope, {x: given})
    np.testing.assert_allclose(found.numpy(), plain.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "parts",
    [
        [(0, 2), (3, 5)],  # a gap
        [(0, 3), (2, 5)],  # twice the same
    ],
)
def test_other_sums_stay(parts):
    (a, b), (c, d) = parts
    graph = parse(
        f"""graph main(x: f32[{b - a}], y: f32[{d - c}]) {{
          zeros: f32[5] = zeros(size=(5,), dtype=f32)
          p: f32[5] = slice_scatter(zeros, x, dim=0, start={a}, end={b})
          q: f32[5] = slice_scatter(zeros, y, dim=0, start={c}, end={d})
          z: f32[5] = add(p, q)
          return z
        }}"""
    )
    result = optimize(graph)
    assert "pieces" not in result.counts
    given = [tx.arange(1.0, 1.0 + n) for n in (b - a, d - c)]
    (found,), (expected,) = Interpreter(result.graph).run(*given), Interpreter(graph).run(*given)
    assert tx.equal(found, expected)
