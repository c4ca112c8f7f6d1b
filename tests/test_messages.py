"""What a user reads when something is wrong: one clear exception, which says what arrived, what was needed
and on which line of the user's program. The process and its data survive each of them."""

import gc
import os
import re
import signal
import threading
import time
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

import thixo as tx
from thixo.errors import (
    ArgumentError,
    AutogradError,
    DeviceError,
    DTypeError,
    IndexOutOfRange,
    InplaceError,
    OutOfMemory,
    ShapeError,
    ThixoError,
    ValueRangeError,
)
from thixo.nn import functional as F

HUGE = 2**45  # floats: 128 TiB, more than a process can address


def made():
    """A program's data: a tensor, one for each kind of number, a leaf with what was computed from it."""
    leaf = tx.tensor([1.0, 2.0], requires_grad=True)
    return SimpleNamespace(
        x=tx.arange(6.0).reshape(2, 3), n=tx.tensor([0, 1]), leaf=leaf, loss=(leaf * leaf).sum()
    )


@pytest.fixture
def d():
    """The data, looked at again when the error has passed: all as before, and all still works."""
    data = made()
    yield data
    assert data.x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert data.n.tolist() == [0, 1]
    assert data.leaf.tolist() == [1, 2]
    assert (data.x._version, data.n._version, data.leaf._version) == (0, 0, 0)
    assert data.leaf.grad is None
    data.loss.backward()
    assert data.leaf.grad.tolist() == [2, 4]
    assert (data.x @ data.x.T + data.n).tolist() == [[5, 15], [14, 51]]


def line_of(tb):
    """The innermost line of this file in a traceback: where the user's program was."""
    return [f.lineno for f in traceback.extract_tb(tb) if f.filename == __file__][-1]


def refusal(error, call):
    """The message of the error in which a call ends, after a look at its class and the line it names."""
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ThixoError)
    assert type(caught.value) is error
    message, line = re.fullmatch(
        r"(.*) \(test_messages\.py:(\d+)\)", str(caught.value), re.S
    ).groups()
    assert int(line) == line_of(caught.tb)
    assert "test_messages" not in message.replace("at test_messages", "")
    return message


def check(d, error, call, operation, *words):
    message = refusal(error, lambda: call(d))
    assert message.startswith(operation + ": ")
    for word in words:
        assert word in message


# ---- wrong shapes


@pytest.mark.parametrize(
    ("call", "operation", "arrived", "needed"),
    [
        (
            lambda d: d.x @ tx.ones(4, 5),
            "matmul",
            ["f32[2,3]", "f32[4,5]"],
            "input's last axis must equal other's second to last",
        ),
        (
            lambda d: d.x + tx.ones(2, 2),
            "add",
            ["[2,3]", "[2,2]"],
            "sizes 3 and 2 at axis -1 must be equal, or one of them 1",
        ),
        (lambda d: d.x.view(4), "view", ["f32[2,3]", "6 elements", "[4]"], "cannot see"),
        (lambda d: d.x.T.view(6), "view", ["f32[3,2]", "strides [1,3]"], "use reshape()"),
        (
            lambda d: d.x.expand(4, 3),
            "expand",
            ["f32[2,3]", "[4,3]"],
            "only dimensions of size 1 grow",
        ),
        (lambda d: d.x.add_(tx.ones(4, 2, 3)), "add_", ["[4,2,3]"], "written into f32[2,3]"),
        (lambda d: d.x.__setitem__(0, tx.ones(4)), "setitem", ["f32[4]"], "must broadcast to [3]"),
        (
            lambda d: tx.cat([d.x, tx.ones(3, 4)]),
            "cat",
            ["f32[2,3]", "f32[3,4]"],
            "must agree in all axes but 0",
        ),
        (
            lambda d: tx.nn.Linear(4, 2)(d.x),
            "linear",
            ["f32[2,3]", "f32[2,4]"],
            "the last axes must agree",
        ),
        (
            lambda d: F.cross_entropy(d.x, tx.zeros(3, dtype=tx.int64)),
            "cross_entropy",
            ["f32[2,3]", "i64[3]"],
            "target's shape must be [2]",
        ),
        (lambda d: d.x.item(), "item", ["f32[2,3]"], "one element is needed"),
        (lambda d: bool(d.x), "bool", ["6 elements", "f32[2,3]"], "use any() or all()"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_wrong_shapes(d, call, operation, arrived, needed):
    check(d, ShapeError, call, operation, *arrived, needed)


# ---- wrong dtypes


@pytest.mark.parametrize(
    ("call", "operation", "arrived", "needed"),
    [
        (
            lambda d: d.x @ tx.ones(3, 2, dtype=tx.float64),
            "matmul",
            ["f32[2,3]", "f64[3,2]"],
            "convert one of them",
        ),
        (lambda d: d.x & d.x, "bitwise_and", ["f32"], "it takes bool, i8"),
        (lambda d: d.n.mean(), "mean", ["i64[2]"], "needs a floating-point or complex dtype"),
        (
            lambda d: d.n.add_(0.5),
            "add_",
            ["the result is f32", "a tensor of i64"],
            "use the out-of-place operation",
        ),
        (
            lambda d: d.x[tx.tensor([0.5])],
            "index",
            ["f32[1]"],
            "an index tensor must hold integers or bool",
        ),
        (lambda d: tx.ones(2, dtype="floaty"), "ones", ["'floaty'"], "thixo.float32"),
        (
            lambda d: tx.tensor([1], dtype="floaty"),
            "tensor",
            ["'floaty'"],
            "known: bool, int8",
        ),
        (
            lambda d: tx.tensor([1j], dtype=tx.float32),
            "tensor",
            ["complex numbers"],
            "do not fit in",
        ),
        (
            lambda d: tx.from_numpy(np.array(["text"])),
            "from_numpy",
            ["dtype('<U4')"],
            "numbers and bool have one",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_wrong_dtypes(d, call, operation, arrived, needed):
    check(d, DTypeError, call, operation, *arrived, needed)


def test_integers_cannot_require_grad(d):
    for call in (lambda: d.n.requires_grad_(), lambda: tx.tensor([1], requires_grad=True)):
        message = refusal(DTypeError, call)
        assert "only floating-point and complex tensors can require grad, this is i64[" in message
    assert not d.n.requires_grad


def test_requires_grad_is_a_truth_value(d):
    for wrong in (np.ones(2), "yes", 1, None):
        message = refusal(ArgumentError, lambda wrong=wrong: d.x.requires_grad_(wrong))
        assert message.startswith("requires_grad_: requires_grad must be True or False, got ")
    assert not d.x.requires_grad
    assert d.x.clone().requires_grad_(np.True_).requires_grad


# ---- wrong devices


@pytest.mark.parametrize(
    "call",
    [
        lambda d: tx.ones(2, device="gpu"),
        lambda d: tx.tensor([1.0], device="gpu"),
        lambda d: tx.zeros_like(d.x, device="gpu"),
        lambda d: d.x.to("gpu"),
        lambda d: d.x.to(device="gpu"),
        lambda d: tx.nn.Linear(2, 2).to("gpu"),
    ],
    ids=["ones", "tensor", "zeros_like", "to", "to-keyword", "module"],
)
def test_wrong_devices(d, call):
    message = refusal(DeviceError, lambda: call(d))
    assert "there is no device 'gpu'; available: cpu" in message


def test_devices_that_are_no_names(d):
    assert "needs a name such as 'cpu', got 3" in refusal(ArgumentError, lambda: tx.device(3))
    assert "there is no cpu:3; available: cpu" in refusal(DeviceError, lambda: tx.device("cpu", 3))


# ---- indices out of range


@pytest.mark.parametrize(
    ("call", "operation", "arrived", "needed"),
    [
        (lambda d: d.x[5], "index", "5", "axis 0 of f32[2,3], which has size 2"),
        (lambda d: d.x[0, -4], "index", "-4", "axis 1 of f32[2,3], which has size 3"),
        (lambda d: d.x[0, 0, 0], "index", "3 for", "f32[2,3], which has 2 dimensions"),
        (lambda d: d.x[2**70], "index", str(2**70), "axis 0 of f32[2,3], which has size 2"),
        (
            lambda d: d.x[tx.tensor([True, False, True])],
            "index",
            "bool[3]",
            "axis 0 has size 2, the mask 3",
        ),
        (lambda d: d.x.__setitem__(4, 0.0), "setitem", "4", "f32[2,3], which has size 2"),
        (lambda d: d.x.index_select(0, d.n + 2), "index_select", "index 3", "axis 0 with size 2"),
        (
            lambda d: d.x.gather(0, tx.tensor([[-7]])),
            "gather",
            "index -7",
            "axis 0 with size 2",
        ),
        (lambda d: F.embedding(tx.tensor([3]), d.x), "embedding", "3", "there are 2 rows"),
        (lambda d: d.x.sum(dim=2), "sum", "dimension 2", "it must be in [-2, 1]"),
        (lambda d: d.x.size(4), "size", "dimension 4", "f32[2,3], which has 2 dimensions"),
        (lambda d: d.x.narrow(0, 1, 5), "narrow", "start 1 and length 5", "axis 0 of size 2"),
    ],
    ids=lambda v: v if isinstance(v, str) and v.isidentifier() else "",
)
def test_indices_out_of_range(d, call, operation, arrived, needed):
    check(d, IndexOutOfRange, call, operation, arrived, needed)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.x[tx.tensor([0, 7])],
        lambda d: d.x[[0, 7]],
        lambda d: d.x.__setitem__(tx.tensor([0, 7]), 1.0),
    ],
    ids=["tensor", "list", "written"],
)
def test_index_arrays_out_of_range(d, call):
    message = refusal(IndexOutOfRange, lambda: call(d))
    assert "index 7 is out of range for axis 0 with size 2" in message


# ---- gradients that cannot be had


def test_an_overwritten_saved_value_names_the_line_that_saved_and_the_line_that_overwrote(d):
    lines = []

    def program():
        y = d.leaf.exp()
        lines.append(here() - 1)
        y.add_(1)
        lines.append(here() - 1)
        y.sum().backward()

    message = refusal(InplaceError, program)
    assert message.startswith("backward of ExpBackward: a value it needs, f32[2], saved at ")
    assert re.findall(r"(saved|overwritten in place) at test_messages\.py:(\d+)", message) == [
        ("saved", str(lines[0])),
        ("overwritten in place", str(lines[1])),
    ]
    assert message.endswith("clone it before the write, or use the out-of-place operation")


def here():
    return traceback.extract_stack(limit=2)[0].lineno


def test_a_second_backward(d):
    w = tx.tensor([2.0], requires_grad=True)
    y = w.exp().sum()
    y.backward()
    message = refusal(AutogradError, lambda: y.backward())
    assert message.startswith("backward: the graph was already freed by an earlier backward (at ")
    assert message.endswith("pass retain_graph=True to the first backward if you need two")
    assert w.grad.item() == pytest.approx(np.exp(2.0))


def test_backward_from_a_non_scalar(d):
    y = d.leaf * 2
    for call in (lambda: y.backward(), lambda: tx.autograd.grad(y, d.leaf)):
        message = refusal(ShapeError, call)
        assert "left out for a result with one element, this is f32[2]" in message
        assert message.endswith("reduce it first (sum(), mean()) or pass a gradient")


def test_a_gradient_of_another_shape(d):
    message = refusal(ShapeError, lambda: (d.leaf * 2).backward(tx.ones(3)))
    assert message.endswith(
        "the gradient is f32[3], the result is f32[2]; their shapes must be equal"
    )


def test_backward_of_what_requires_nothing(d):
    message = refusal(AutogradError, lambda: d.x.sum().backward())
    assert message.endswith(
        "f32[] does not require grad and was not computed from anything that does"
    )


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (lambda w: w.add_(1), "add_: a leaf f32[2]"),
        (lambda w: w.__iadd__(1), "add_: a leaf f32[2]"),
        (lambda w: w.zero_(), "a leaf f32[2]"),
        (lambda w: w.__setitem__(0, 5.0), "a leaf f32[2]"),
        (lambda w: w[1:].mul_(2), "mul_: a view of a leaf f32[2]"),
    ],
    ids=["method", "operator", "zero_", "setitem", "view"],
)
def test_a_leaf_changed_in_place(d, write, what):
    message = refusal(InplaceError, lambda: write(d.leaf))
    assert what in message
    assert message.endswith("about to be changed in place; do it under no_grad(), or on a clone")


# ---- data that make no tensor


@pytest.mark.parametrize(
    ("data", "place", "lengths"),
    [
        ([[1, 2], [3]], "the outer list", "[2, 1]"),
        ([[1, 2], 3], "the outer list", "[2, 'a number']"),
        ([[[1, 2], [3]], [[4, 5], [6, 7]]], "[0]", "[2, 1]"),
        ([[[1], [2]], [[3], [4]], [[5], []]], "[2]", "[1, 0]"),
        (((1.0, 2.0), [3.0, 4.0, 5.0]), "the outer list", "[2, 3]"),
    ],
)
def test_ragged_nested_lists(d, data, place, lengths):
    for make in (tx.tensor, tx.as_tensor, tx.asarray):
        message = refusal(ShapeError, lambda make=make: make(data))
        assert message == (
            f"tensor: nested lists must be rectangular; at {place} the items have lengths {lengths}"
        )


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("text", "data is 'text' (str)"),
        (["1", "2"], "data[0] is '1' (str)"),
        ([1, None], "data[1] is None"),
        ([[1, 2], [3, {}]], "data[1][1] is {} (dict)"),
        ({1, 2}, "data is {1, 2} (set)"),
        ([1, [2, b"3"]], "data[1][1] is b'3' (bytes)"),
        (print, "data is <built-in function print>"),
    ],
)
def test_objects_that_are_no_numbers(d, data, what):
    message = refusal(ArgumentError, lambda: tx.tensor(data))
    assert message.startswith(f"tensor: {what}")
    assert message.endswith("which is no number")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda d: d.x + "one",
            ["add: a Tensor or a number is needed beside f32[2,3]", "str 'one'"],
        ),
        (lambda d: d.x * None, ["mul: a Tensor or a number is needed beside f32[2,3]", "None"]),
        (
            lambda d: d.x - [1, 2, 3],
            ["sub: ", "got list [1, 2, 3]; make one with thixo.tensor(...)"],
        ),
        (lambda d: tx.add(d.x, {}), ["add: other must be a Tensor or a number, got dict {}"]),
        (lambda d: tx.sin([1.0]), ["sin: input must be a Tensor, got list [1.0]; make one with"]),
        (lambda d: d.x["first"], ["index: an index is made of ints, slices", "got 'first' (str)"]),
        (lambda d: d.x.sum(dim="rows"), ["sum: dim must be an int", "'rows'"]),
    ],
)
def test_operands_that_are_no_numbers(d, call, words):
    message = refusal(ArgumentError, lambda: call(d))
    for word in words:
        assert word in message


# ---- numbers and sizes that do not fit


@pytest.mark.parametrize(
    ("call", "error", "arrived"),
    [
        (lambda d: tx.zeros(2**63), ValueRangeError, str(2**63)),
        (lambda d: d.x.view(2**64), ValueRangeError, str(2**64)),
        (lambda d: tx.arange(2**70), ValueRangeError, str(2**70)),
        (lambda d: tx.zeros(2**32, 2**32), ShapeError, "f32[4294967296,4294967296]"),
        (lambda d: tx.ones(1).expand(2**62), ShapeError, f"f32[{2**62}]"),
        (lambda d: d.x.repeat(2**62, 1), ShapeError, str(2**62)),
        (lambda d: F.pad(d.x, (2**62, 2**62)), ShapeError, str(2**63 + 3)),
        (lambda d: d.x.clone().resize_(2**62), ShapeError, f"f32[{2**62}]"),
        (lambda d: d.n + 2**70, ValueRangeError, f"the integer {2**70}"),
        (lambda d: tx.tensor([1, 2**70]), ArgumentError, f"the integer {2**70}"),
    ],
    ids="zeros view arange product expand repeat pad resize operand data".split(),
)
def test_sizes_that_overflow(d, call, error, arrived):
    message = refusal(error, lambda: call(d))
    assert arrived in message
    assert "fit in 64 bits" in message


def test_numbers_that_do_not_fit_their_dtype(d):
    message = refusal(ValueRangeError, lambda: tx.tensor([1, 300], dtype=tx.uint8))
    assert message == "tensor: 300 does not fit in thixo.uint8, which holds 0 to 255"
    message = refusal(ArgumentError, lambda: tx.tensor([2**63, -1]))
    assert message.endswith("[9223372036854775808, -1] (list): no dtype holds all of its numbers")


@pytest.mark.parametrize(
    "call",
    [
        lambda: tx.zeros(HUGE),
        lambda: tx.randn(HUGE),
        lambda: tx.ones(1).expand(HUGE) + 1,  # a native kernel
        lambda: tx.ones(1).expand(HUGE).cumsum(0),  # one of NumPy's
        lambda: tx.ones(1).expand(HUGE).clone(),
        lambda: tx.ones(2).resize_(HUGE),
    ],
    ids=["zeros", "randn", "add", "cumsum", "clone", "resize_"],
)
def test_allocation_failure(d, call):
    gc.collect()
    before = tx._core.memory_stats()["in_use"]
    message = refusal(OutOfMemory, call)
    gc.collect()  # the traceback held what the operation had
    assert re.search(r"128(\.0)?\.? TiB", message)
    assert tx._core.memory_stats()["in_use"] == before


def test_allocation_failure_in_backward(d):
    w = tx.ones(1, requires_grad=True)
    y = w.expand(HUGE)[:2].sum()
    message = refusal(OutOfMemory, lambda: y.backward())
    assert "128.0 TiB" in message
    assert w.grad is None
    (w * 3).sum().backward()
    assert w.grad.item() == 3


# ---- from outside


def test_an_interrupt_in_a_long_kernel(d):
    x, y = tx.ones(4_000_000), tx.zeros(4_000_000)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    interrupted = False
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            y.copy_(x.tanh())
    except KeyboardInterrupt:
        interrupted = True
    timer.join()
    assert interrupted
    assert (x + x).sum().item() == 8_000_000  # the data are whole: all of a write, or nothing of it
    assert y.sum().item() in (0.0, pytest.approx(4_000_000 * np.tanh(1.0), rel=1e-4))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_an_error_in_a_child_process_after_fork(d):
    """The child has the same data and the same errors, goes on after them, and leaves the parent's alone."""
    tx.ones(500_000).sum()  # the pool of threads has run; they do not exist in the child
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            message = refusal(ShapeError, lambda: d.x @ tx.ones(4, 5))
            d.loss.backward()
            d.leaf.detach().zero_()
            assert d.leaf.grad.tolist() == [2, 4]
            assert tx.ones(500_000).sum().item() == 500_000
            os.write(write, message.encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        message = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert message.startswith("matmul: inner sizes differ: input is f32[2,3], other is f32[4,5]")


def test_a_foreign_capsule_used_twice(d):
    lender = np.arange(3.0)
    for options in ({}, {"max_version": (1, 0)}):
        capsule = lender.__dlpack__(**options)
        first = tx.from_dlpack(capsule)
        message = refusal(ArgumentError, lambda capsule=capsule: tx.from_dlpack(capsule))
        assert message == "from_dlpack: this capsule was already used; a capsule can be taken once"
        assert first.tolist() == [0, 1, 2]
    lender[0] = 5
    assert first[0] == 5  # still the lender's memory


def test_objects_without_memory_to_lend(d):
    message = refusal(ArgumentError, lambda: tx.from_dlpack([1, 2]))
    assert message == "from_dlpack: an object with __dlpack__ is needed, got [1, 2] (list)"


# ---- text


def test_formats_that_do_not_fit(d):
    message = refusal(ArgumentError, lambda: f"{d.x:.3f}")
    assert message.startswith("format: '.3f' is for a single number, this is f32[2,3]")
    message = refusal(ValueRangeError, lambda: f"{d.x.sum():q}")
    assert message.startswith("format: 'q' is no format for the only element of f32[]")
