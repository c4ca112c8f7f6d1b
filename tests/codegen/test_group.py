"""Bodies of fused nodes as kernels: the bits that the operators give one by one."""

import numpy as np
import pytest
from groups import run_group

import thixo as tx
from thixo.codegen.builder import NotLowered
from thixo.codegen.group import lower_group
from thixo.graph import Interpreter, parse

F = tx.nn.functional
SEED = 5


def tensors(body, sizes, seed=SEED):
    rng = np.random.default_rng(seed)
    found = []
    for v in body.inputs:
        shape = [s if isinstance(s, int) else s.evaluate(sizes) for s in v.shape]
        if v.dtype.is_floating_point or v.dtype.is_complex:
            array = rng.normal(size=shape)
        else:
            array = rng.integers(0, 2 if v.dtype is tx.bool else 20, shape)
        found.append(tx.tensor(np.asarray(array)).to(v.dtype))
    return found


def check(text, sizes, exact=True, kind=None, tolerance=2e-6):
    body = (parse(text) if isinstance(text, str) else text).verify()
    group = lower_group(body)
    assert kind is None or group.kind == kind
    inputs = tensors(body, sizes)
    expected = Interpreter(body).run(*inputs)
    for a, b in zip(run_group(body, group, inputs), expected, strict=True):
        b = b.numpy()
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), tolerance, tolerance
            )
    return group


def body(results, *lines, inputs):
    inner = "\n  ".join(lines)
    return f"graph g({inputs}) {{\n  {inner}\n  return {results}\n}}"


def test_broadcast_operands_keep_their_shapes():
    text = body("y, b", "a: f32[n, m] = mul(x, w)", "b: f32[n, m] = add(a, c)",
                "y: f32[n, m] = nn.functional.gelu(b)",
                inputs="x: f32[n, m], w: f32[m], c: f32[n, 1]")  # fmt: skip
    group = check(text, {"n": 5, "m": 7}, kind="pointwise")
    assert [p.axes for p in group.operands] == [(0, 1), (-1, 0), (0, -1), (0, 1), (0, 1)]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_types_are_rounded_between_operators(dtype):
    text = body("y, z", f"a: {dtype}[n] = exp(x)", f"b: {dtype}[n] = mul(a, 0.1)",
                f"c: {dtype}[n] = add(b, x)", f"y: {dtype}[n] = true_divide(c, a)",
                f"d: {dtype}[n] = mul(y, 1e-6)", f"z: {dtype}[n] = mul(d, d)",
                inputs=f"x: {dtype}[n]")  # fmt: skip
    check(text, {"n": 4096})


def test_types_change_as_operators_say():
    text = body("y, p", "a: f32[n] = add(i, x)", "b: f64[n] = cast(a, dtype=f64)",
                "c: f64[n] = mul(b, 3)", "p: bool[n] = gt(c, z)", "y: f32[n] = where(p, x, 0)",
                inputs="i: i32[n], x: f32[n], z: f64[]")  # fmt: skip
    check(text, {"n": 100}, kind="pointwise")


def test_numbers_may_be_expressions_of_sizes():
    text = body("y", "a: f32[n, m] = true_divide(x, n*m + 1)", "y: f32[n, m] = add(a, 1)",
                inputs="x: f32[n, m]")  # fmt: skip
    group = check(text, {"n": 3, "m": 11})
    assert [p.what for p in group.operands] == ["input", "number", "output"]


def test_complex_numbers_are_pairs():
    text = body("y, r", "a: c64[n] = mul(x, x)", "y: c64[n] = add(a, x)", "r: f32[n] = abs(y)",
                inputs="x: c64[n]")  # fmt: skip
    check(text, {"n": 33})


def test_views_move_axes():
    text = body("y", "t: f32[m, n] = transpose(x, 0, 1)", "e: f32[m, 1] = unsqueeze(w, 1)",
                "a: f32[m, n] = mul(t, e)", "p: f32[n, m] = permute(a, dims=(1, 0))",
                "r: f32[1, n, m] = reshape(p, shape=(1, n, m))", "y: f32[1, n, m] = neg(r)",
                inputs="x: f32[n, m], w: f32[m]")  # fmt: skip
    check(text, {"n": 4, "m": 6}, kind="pointwise")


def test_what_is_filled_with_a_number_needs_no_memory():
    text = body("y", "o: f32[] = ones(size=())", "u: f32[1] = unsqueeze(o, 0)",
                "e: f32[n] = expand(u, size=(n,))", "y: f32[n] = sub(e, x)", inputs="x: f32[n]")  # fmt: skip
    group = check(text, {"n": 9})
    assert len(group.operands) == 2


NORMED = body("y", "s: f32[n, m] = softmax(x, dim=-1)",
              "y: f32[n, m], a: f32[n, 1], r: f32[n, 1], v: f32[n, 1] = "
              "nn.functional.scaled_standardize(s, w, b, dim=(-1,))",
              inputs="x: f32[n, m], w: f32[m], b: f32[m]")  # fmt: skip


def test_row_operators_follow_each_other():
    group = check(NORMED, {"n": 5, "m": 40}, exact=False, kind="rows")
    assert group.reduced == (False, True)
    assert [o.view for o in group.kernel.operands] == ["full", "column", "column", "full"]


def test_rows_with_pointwise_before_and_after():
    text = body("z, m1, t", "a: f32[k, n, m] = mul(x, w)", "m1: f32[k, m] = amax(a, dim=(1,))",
                "u: f32[k, 1, m] = unsqueeze(m1, 1)", "z: f32[k, n, m] = sub(a, u)",
                "t: f32[k, m] = abs(m1)", inputs="x: f32[k, n, m], w: f32[n, 1]")  # fmt: skip
    group = check(text, {"k": 2, "n": 7, "m": 5}, kind="rows")
    assert group.reduced == (False, True, False)


def test_whole_numbers_and_positions():
    text = body("t, p, y", "a: i64[n, m] = mul(x, 3)", "t: i64[n] = sum(a, dim=(1,))",
                "p: i64[n] = argmax(a, dim=1)", "b: bool[n, m] = gt(a, 7)",
                "y: bool[n] = any(b, dim=(1,))", inputs="x: i64[n, m]")  # fmt: skip
    check(text, {"n": 6, "m": 13})


def test_sums_down_the_rows_beside_a_row_operator():
    text = body("y, s", "y: f32[n, m] = softmax_gradient(g, p, dim=-1)",
                "s: f32[m] = sum(y, dim=(0,))", inputs="g: f32[n, m], p: f32[n, m]")  # fmt: skip
    group = check(text, {"n": 6, "m": 13}, exact=False)
    assert [o.view for o in group.kernel.operands] == ["full", "full", "full", "column"]


def test_gradients_of_normalisation():
    text = body("y, slope, d", "h: f32[n, m] = mul(g, x)",
                "y: f32[n, m], slope: f32[1, m], total: f32[1, m] = "
                "nn.functional.standardize_gradients(h, x, mean, rstd, w, dim=(1,), by_row=False, eps=1e-05)",
                "d: f32[n, m] = add(y, h)",
                inputs="g: f32[n, m], x: f32[n, m], mean: f32[n, 1], rstd: f32[n, 1], w: f32[m]")  # fmt: skip
    check(text, {"n": 6, "m": 13}, exact=False, tolerance=1e-5)


@pytest.mark.parametrize("text", [
    body("y", "y: f32[n, k] = matmul(x, w)", inputs="x: f32[n, m], w: f32[m, k]"),
    body("y", "a: i32[n] = floor_divide(x, x)", "y: i32[n] = add(a, 1)", inputs="x: i32[n]"),
    body("y, z", "y: f32[n, m] = mul(x, w)", "z: f32[m] = neg(w)", inputs="x: f32[n, m], w: f32[m]"),
    body("y, z", "y: f32[n, m] = softmax(x, dim=1)", "z: f32[n, m] = softmax(x, dim=0)", inputs="x: f32[n, m]"),
    body("y", "a: f32[6] = reshape(x, shape=(6,))", "y: f32[6] = neg(a)", inputs="x: f32[2, 3]"),
    body("y", "a: f32[n] = select(x, 0, 0)", "y: f32[n] = neg(a)", inputs="x: f32[3, n]"),
    body("y", "a: f32[n] = diagonal(x)", "y: f32[n] = neg(a)", inputs="x: f32[n, n]"),
    body("y", "t: f32[n, n] = transpose(x, 0, 1)", "y: f32[n, n] = add(x, t)", inputs="x: f32[n, n]"),
    body("y", "d: f16[n] = cast(x, dtype=f16)", "y: f16[n] = neg(d)", inputs="x: f64[n]"),
    body("y", "e: f32[n, m] = expand(x, size=(n, m))", "y: f32[n] = sum(e, dim=(1,))",
         inputs="x: f32[n, 1], z: f32[m]"),
])  # fmt: skip
def test_what_cannot_be_one_kernel_is_refused(text):
    with pytest.raises(NotLowered):
        lower_group(parse(text))


def test_too_many_operands_are_refused():
    names = [f"x{i}" for i in range(17)]
    lines = ["a1: f32[n] = add(x0, x1)"]
    lines += [f"a{i}: f32[n] = add(a{i - 1}, x{i})" for i in range(2, 17)]
    text = body("a16", *lines, inputs=", ".join(f"{n}: f32[n]" for n in names))
    with pytest.raises(NotLowered, match="18 operands"):
        lower_group(parse(text))
