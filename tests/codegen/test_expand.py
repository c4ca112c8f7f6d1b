"""Expanding a kernel: no function is left, nothing changes, and what is known or unused goes."""

import numpy as np
import pytest

from thixo.codegen.builder import Builder
from thixo.codegen.expand import expand
from thixo.codegen.instructions import FUNCTIONS
from thixo.codegen.interpret import interpret
from thixo.codegen.kernel import Kernel, Operand

F32, OUT = Operand("f32"), Operand("f32", written=True)


def made(write, count=1):
    b = Builder()
    b.store(count, write(b, *(b.load(i, "f32") for i in range(count))))
    return Kernel((*[F32] * count, OUT), tuple(b.instructions))


def run(kernel, *arrays):
    result = np.empty((1, len(arrays[0])), np.float32)
    interpret(kernel, [*(np.asarray(a, np.float32).reshape(1, -1) for a in arrays), result])
    return result[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_is_left(name):
    kernel = expand(made(lambda b, *xs: b.function(name, *xs), FUNCTIONS[name]))
    assert not any(one.op in FUNCTIONS for one in kernel.body)


def test_the_rest_of_the_body_is_as_it_was():
    kernel = made(lambda b, x: b.select(x > 0.0, b.function("exp", x) * 2.0, x - 1.0))
    xs = np.linspace(-3, 3, 50, dtype=np.float32)
    expected = np.where(xs > 0, np.exp(xs) * 2, xs - 1)
    np.testing.assert_allclose(run(expand(kernel), xs), expected, rtol=1e-6)


def test_numbers_are_computed_at_once():
    kernel = expand(made(lambda b, x: x * b.function("exp", b.constant(1.0, "f32"))))
    assert [one.op for one in kernel.body] == ["load", "const", "mul", "store"]
    assert kernel.body[1].attribute == pytest.approx(np.exp(np.float32(1)), rel=2e-7)


def test_what_nobody_needs_is_left_out():
    def write(b, x):
        b.function("sin", x)
        return b.select(b.constant(True, "bool"), x + 1.0, b.function("log", x))

    assert [one.op for one in expand(made(write)).body] == ["load", "const", "add", "store"]


def test_checks_stay():
    b = Builder()
    x = b.load(0, "i32")
    b.check(x != 0, 0)
    b.store(1, b.emit("rem", b.constant(7, "i32"), b.select(x == 0, b.constant(1, "i32"), x)))
    kernel = expand(Kernel((Operand("i32"), Operand("i32", written=True)), tuple(b.instructions)))
    result = np.empty((1, 3), np.int32)
    assert interpret(kernel, [np.array([[2, 0, 5]], np.int32), result]) == 1
    assert result.tolist() == [[1, 0, 2]]


def test_one_kernel_is_written_one_way():
    one, other = (expand(made(lambda b, x: b.function("tanh", x))) for _ in range(2))
    assert one.key == other.key
