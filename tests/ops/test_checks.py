"""The checks themselves: defects planted on purpose are all found."""

# ruff: noqa: N805  (the functions of a declaration take no self)

import checks
import numpy as np
import pytest
from gradient_checks import check_gradients
from traced_checks import check_traced

import thixo as tx
from thixo.dtype import FLOATS, INTEGERS
from thixo.errors import ShapeError
from thixo.ops.base import TABLE, Composite, Op, Pointwise, Spec, View
from thixo.ops.samples import Bad, Sample, binary_samples, unary_samples


@pytest.fixture(autouse=True)
def clean_table():
    """Operators that a test declares leave the table again."""
    yield
    for name in [name for name, op in TABLE.items() if op.__module__ == __name__]:
        del TABLE[name]


def found(check, *args) -> str:
    with pytest.raises(AssertionError) as error:
        check(*args)
    return str(error.value)


def declare_square(**changed):
    """A correct operator x * x, with some parts replaced."""
    parts = {
        "__doc__": "x * x.",
        "__module__": __name__,
        "signature": "planted_square(input) -> y",
        "dtypes": INTEGERS + FLOATS,
        "infer": lambda input: Spec(input.shape, input.dtype),
        "kernel": lambda input: input * input,
        "vjp": lambda g, input: g * 2 * input,
        "reference": lambda input: np.power(input, 2),
        "samples": staticmethod(unary_samples()),
    }
    return type("PlantedSquare", (Op,), parts | changed)


def test_a_correct_operator_passes_all():
    op = declare_square(inplace=True)
    assert checks.check_values(op, tx.float32) > 3
    assert checks.check_values(op, tx.int8) > 3
    checks.check_layouts(op, tx.float64)
    assert check_gradients(op, tx.float64) > 3
    assert check_traced(op, tx.float64) > 3
    assert check_traced(op, tx.float64, True) > 3


def test_a_wrong_kernel():
    def kernel(input):
        y = input * input
        if y.size:
            y.reshape(-1)[-1] += 0.01  # one element, a little
        return y

    op = declare_square(kernel=kernel)
    assert "planted_square float64" in found(checks.check_values, op, tx.float64)
    found(checks.check_values, op, tx.float32)


def test_a_kernel_that_is_wrong_in_one_dtype():
    def kernel(input):
        return np.abs(input) if input.dtype == np.int16 else input * input

    op = declare_square(kernel=kernel)
    checks.check_values(op, tx.int32)
    found(checks.check_values, op, tx.int16)


def test_a_kernel_that_forgets_strides():
    def kernel(input):
        flat = np.lib.stride_tricks.as_strided(input, (input.size,), (input.itemsize,))
        return (flat * flat).reshape(input.shape)

    op = declare_square(kernel=kernel)
    checks.check_values(op, tx.float64)
    assert "transposed" in found(checks.check_layouts, op, tx.float64)


def test_a_kernel_that_loses_a_nan():
    op = declare_square(kernel=lambda input: np.nan_to_num(input * input))
    op.samples = lambda s: iter([Sample(s.array([1.0, np.nan]))])
    found(checks.check_values, op, tx.float64)


@pytest.mark.parametrize(
    "vjp",
    [
        lambda g, input: g * input,
        lambda g, input: g * 2 * input + 1e-3,
        lambda g: g * 2,
        lambda g, input: g * 2 * input.abs(),
        lambda g, y: g * 2 * y.sqrt(),
        lambda g, input: tx.zeros_like(input),
    ],
)
def test_a_wrong_gradient(vjp):
    assert "finite differences" in found(check_gradients, declare_square(vjp=vjp), tx.float64)


def test_a_gradient_that_is_wrong_in_one_element():
    def vjp(g, input):
        wrong = tx.zeros_like(input)
        if wrong.numel():
            wrong.view(-1)[0] = 0.05
        return g * (2 * input + wrong)

    found(check_gradients, declare_square(vjp=vjp), tx.float64)


def test_a_gradient_that_cannot_be_differentiated_again():
    op = declare_square(vjp=lambda g, input: g * 2 * input.detach())
    assert "second gradient" in found(check_gradients, op, tx.float64)


def test_a_gradient_that_forgets_the_incoming_one_s_second_order():
    op = declare_square(vjp=lambda g, input: g.detach() * 2 * input)
    assert "second gradient" in found(check_gradients, op, tx.float64)


def test_a_missing_gradient_of_one_input():
    class PlantedProduct(Pointwise):
        """a * b."""

        signature = "planted_product(input, other: operand) -> y"
        dtypes = FLOATS

        def scalar(k, input, other):
            return input * other

        def vjp_input(g, other):
            return g * other

        def vjp_other(g, input):
            return g * input * 0

        reference = staticmethod(np.multiply)
        samples = staticmethod(binary_samples())

    found(check_gradients, PlantedProduct, tx.float64)


def test_a_complex_gradient_without_its_conjugate():
    class PlantedSine(Pointwise):
        """sin."""

        signature = "planted_sine(input) -> y"
        dtypes = (*FLOATS, tx.complex128)

        def scalar(k, input):
            return k.sin(input)

        def vjp(g, input):
            return g * input.cos()

        reference = staticmethod(np.sin)
        samples = staticmethod(unary_samples())

    check_gradients(PlantedSine, tx.float64)
    found(check_gradients, PlantedSine, tx.complex128)


def test_a_wrong_type_rule():
    def infer(input):
        return Spec((*input.shape[:-1], 3) if len(input.shape) else (), input.dtype)

    with pytest.raises((AssertionError, tx.ThixoError)):
        checks.check_values(declare_square(infer=infer), tx.float64)


def test_a_rule_that_bakes_a_size_in():
    op = declare_square(infer=lambda input: Spec(tuple(int(s) for s in input.shape), input.dtype))
    checks.check_values(op, tx.float64)
    found(check_traced, op, tx.float64)


def test_a_gradient_that_bakes_a_size_in():
    op = declare_square(vjp=lambda g, input: g * 2 * input * tx.ones(tuple(map(int, input.shape))))
    check_gradients(op, tx.float64)
    check_traced(op, tx.float64)
    found(check_traced, op, tx.float64, True)


def test_a_composite_that_looks_at_values():
    class PlantedChoice(Composite):
        """x or 2x."""

        signature = "planted_choice(input) -> y"
        dtypes = FLOATS

        def compose(input):
            return input * 2 if bool((input > 100).any()) else input

        reference = staticmethod(np.array)
        samples = staticmethod(unary_samples())

    checks.check_values(PlantedChoice, tx.float64)
    assert "not known while tracing" in found(check_traced, PlantedChoice, tx.float64)


def test_an_in_place_form_that_differs():
    op = declare_square(inplace=True, signature="planted_place(input) -> y")
    from thixo.ops import public

    class Off:
        def __call__(self, target, *args, **kwargs):
            target += 1
            return target

    public._INPLACE["planted_place_"] = "planted_place"
    try:
        op._inplace_operator = Off()
        assert "in place" in found(checks.check_inplace, op, tx.float64)
    finally:
        del public._INPLACE["planted_place_"]


def test_a_view_with_wrong_geometry():
    class PlantedFlip(View):
        """Two axes exchanged."""

        signature = "planted_flip(input) -> input"

        def geometry(shape, strides, offset):
            if len(shape) < 2:
                return shape, strides, offset
            return shape[::-1], strides, offset  # the strides should be reversed too

        def infer(input):
            return Spec(tuple(input.shape)[::-1], input.dtype)

        def vjp(g):
            return g

        def reference(input):
            return input.T

        samples = staticmethod(unary_samples())

    with pytest.raises((AssertionError, tx.ThixoError)):
        checks.check_values(PlantedFlip, tx.float64)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Bad(Sample(np.ones(2)), ShapeError, "nothing"), "was not refused"),
        (Bad(Sample(np.ones(2), 3), ShapeError, "nothing"), "raised ArgumentError"),
    ],
)
def test_a_call_that_is_not_refused_as_promised(bad, words):
    assert words in found(checks.check_bad, declare_square(), bad)


def test_a_message_without_the_promised_words():
    def infer(input):
        raise ShapeError("planted_square: no")

    op = declare_square(infer=infer)
    bad = Bad(Sample(np.ones(2)), ShapeError, "of that shape")
    assert "the message is" in found(checks.check_bad, op, bad)
    checks.check_bad(op, Bad(Sample(np.ones(2)), ShapeError, "no"))


def test_a_dtype_that_is_taken_without_being_claimed():
    class PlantedOpen(Composite):
        """Itself."""

        signature = "planted_open(input) -> y"
        dtypes = FLOATS

        def compose(input):
            return input

        reference = staticmethod(np.array)
        samples = staticmethod(unary_samples())

    # A composite refuses where what it is made of refuses.
    checks.check_dtypes_refused(PlantedOpen)
    checks.check_dtypes_refused(declare_square(dtypes=FLOATS))
