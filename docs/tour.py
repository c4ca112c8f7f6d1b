"""A tour of Thixo, from a number to a trained network and a graph. Run it: python docs/tour.py

Read it from top to bottom; an assert stands wherever a screenshot would. It walks through every room of
src/thixo, in the order in which they are built on each other, and says where to look further.
"""

import io
import tempfile
from collections import Counter
from collections.abc import Callable

import numpy as np

import thixo as tx
from thixo.codegen.interpret import interpret
from thixo.codegen.lower import TENSOR, lower_pointwise
from thixo.ops.base import Composite
from thixo.ops.samples import unary_samples
from thixo.runtime.kernels import address


def refusal(error: type[Exception], call: Callable[[], object]) -> str:
    """The message of the error that a call ends in."""
    try:
        call()
    except error as raised:
        return str(raised)
    raise AssertionError(f"{error.__name__} was expected")


# ---- 1. Tensors ----------------------------------------------------------------------------------
# A tensor is numbers of one type in a box of some shape. tensor.py is its Python face; the object itself
# is native (_core): a pointer into memory that is counted, sizes, and strides, the steps from one element
# to the next.

x = tx.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
assert x.shape == (2, 3)
assert x.dtype is tx.float32
assert x.stride() == (3, 1)
assert str(x) == "tensor([[1., 2., 3.],\n        [4., 5., 6.]])"

# Python's operators work, sizes broadcast as in NumPy, and every statement runs at once.
row_means = x.mean(dim=1, keepdim=True)  # (2, 1)
centred = x - row_means  # (2, 3) - (2, 1)
assert centred.tolist() == [[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]

# Types mix by PyTorch's rules (dtype.py): a Python number takes part only by its kind.
assert (tx.tensor([1, 2]) + 0.5).dtype is tx.float32
assert (tx.tensor([1], dtype=tx.int8) + 1).dtype is tx.int8
assert tx.promote_types(tx.uint8, tx.int8) is tx.int16

# NumPy arrays come and go without a copy, through this and through DLPack.
array = np.arange(4.0)
shared = tx.from_numpy(array)
array[0] = 7
assert shared[0].item() == 7
assert np.from_dlpack(tx.ones(3)).tolist() == [1, 1, 1]

# What goes wrong says so in one line: the operation, what arrived, what was needed, and where in your
# program. Each cause has a class (errors.py), which is also the built-in class that fits it.
message = refusal(tx.errors.ShapeError, lambda: tx.ones(2, 3) @ tx.ones(4, 5))
assert message.startswith("matmul: inner sizes differ: input is f32[2,3], other is f32[4,5]; ")
assert "(tour.py:" in message
assert issubclass(tx.errors.ShapeError, ValueError)

# ---- 2. Views and writes in place ----------------------------------------------------------------
# A view looks at the memory of another tensor. Nothing is copied; a write shows in both.

first_column = x[:, 0]
assert first_column.data_ptr() == x.data_ptr()
assert first_column.stride() == (3,)
first_column += 10
assert x[:, 0].tolist() == [11.0, 14.0]
x[:, 0] -= 10  # indexing reads and writes in all of NumPy's ways
x[x > 5] = 5
assert x.tolist() == [[1, 2, 3], [4, 5, 5]]

# A name that ends in _ writes into its first argument.
assert tx.zeros(3).add_(2).tolist() == [2, 2, 2]

# ---- 3. Gradients --------------------------------------------------------------------------------
# Where a tensor asks for gradients, what is computed from it is recorded on a tape; backward() walks the
# tape in reverse. Only what gradients need is kept, and it is freed on the way.

w = tx.tensor([2.0, 3.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
assert w.grad.tolist() == [4.0, 6.0]

# The tape can be looked at: each step knows the steps that made its inputs.
loss = (w * w).sum()
node = loss.grad_fn
assert repr(node).startswith("<SumBackward")
[(product, _)] = node.next_functions
assert repr(product).startswith("<MulBackward")
[(leaf, _), _] = product.next_functions
assert leaf.variable is w

# A second walk needs the first to keep what it used; without that, it says so.
loss.backward()
assert "retain_graph=True" in refusal(tx.errors.AutogradError, lambda: loss.backward())

# Gradients are themselves computed by operators, so they have gradients: d2/dw2 of w^3 is 6 w.
t = tx.tensor(5.0, requires_grad=True)
(first,) = tx.autograd.grad(t**3, t, create_graph=True)
(second,) = tx.autograd.grad(first, t)
assert (first.item(), second.item()) == (75.0, 30.0)

# A value that the tape needs must not be overwritten. The error names both lines.
s = tx.tensor([1.0], requires_grad=True)
y = s.exp()
y.add_(1)
message = refusal(tx.errors.InplaceError, lambda: y.sum().backward())
assert message.count("tour.py:") >= 2

# no_grad() records nothing; Jacobians and Hessians are there when asked for (autograd/functional.py).
with tx.no_grad():
    assert (w * 2).grad_fn is None
hessian = tx.autograd.functional.hessian(lambda v: (v**3).sum(), tx.tensor([1.0, 2.0]))
assert hessian.tolist() == [[6.0, 0.0], [0.0, 12.0]]


# ---- 4. A function of your own -------------------------------------------------------------------
# Where a gradient should be another than the tape's, write forward and backward.


class ClipGradient(tx.autograd.Function):
    """The identity, whose gradient is cut to [-1, 1]."""

    @staticmethod
    def forward(ctx, x):
        """Nothing to do, nothing to save."""
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        """Cut."""
        return g.clamp(-1, 1)


v = tx.tensor([1.0, 2.0], requires_grad=True)
(ClipGradient.apply(v) * tx.tensor([0.5, 100.0])).sum().backward()
assert v.grad.tolist() == [0.5, 1.0]

# ---- 5. Operators --------------------------------------------------------------------------------
# Everything above ran operators, and an operator is one class in ops/. All that the system knows of it
# is there: the signature, the type rule, the kernel, the gradient rule, a reference, samples for tests.

tanh = tx.tanh.declaration
assert tanh.__module__ == "thixo.ops.trigonometry"
assert tanh.signature == "tanh(input) -> y"
assert "tensor" in tanh.__doc__  # an example, which is run by the tests

# A declaration of ours, complete. It becomes an operator as soon as the class is read; in the package it
# would be a file in ops/. docs/adding-an-operator.md has one with every part.


class Hat(Composite):
    """A hat: 1 at 0, falling to 0 at -1 and 1.

    >>> tx.hat(tx.tensor([0.0, 0.5]))
    tensor([1.0000, 0.5000])
    """

    signature = "hat(input) -> y"

    def compose(input):
        """In other operators; its type and its gradient follow from theirs."""
        return (1 - input.abs()).clamp_min(0)

    def reference(input):
        """By another road, to test it against."""
        return np.interp(input, [-1, 0, 1], [0, 1, 0])

    samples = unary_samples(avoid=(-1, 0, 1))


assert tx.hat(tx.tensor([0.0, 0.5, 3.0])).tolist() == [1.0, 0.5, 0.0]
slope = tx.tensor([0.3], dtype=tx.float64, requires_grad=True)
assert tx.autograd.gradcheck(tx.hat, (slope,))  # against finite differences

# Random operators are counters: seed and place in the program decide, not the number of threads.
tx.manual_seed(1)
a = tx.randn(3)
tx.manual_seed(1)
assert tx.equal(a, tx.randn(3))

# The same operators stand in namespaces, and once more under the names of the Array API standard.
assert tx.linalg.det(tx.eye(3)).item() == 1
assert tx.fft.rfft(tx.signal.windows.hann(8)).shape == (5,)
assert tx.masked.mean(tx.tensor([1.0, 9.0, 3.0]), mask=tx.tensor([True, False, True])).item() == 2
xp = tx.ones(2).__array_namespace__()
assert xp is tx.array_api
assert xp.matrix_transpose(tx.ones(2, 3)).shape == (3, 2)

# ---- 6. A network, trained -----------------------------------------------------------------------
# nn has modules with parameters, optim what moves them, data what feeds them. Here: 8x8 pictures of
# handwritten digits, which come with Thixo.

images, labels = tx.data.digits()
assert images.shape == (1797, 8, 8)
held_out = tx.data.TensorDataset(images[-360:], labels[-360:])
digits = tx.data.TensorDataset(images[:-360], labels[:-360])

tx.manual_seed(0)
model = tx.nn.Sequential(
    tx.nn.Flatten(),  # (batch, 64)
    tx.nn.Linear(64, 32),
    tx.nn.ReLU(),
    tx.nn.Linear(32, 10),
)
optimizer = tx.optim.Adam(model.parameters(), lr=0.01)
loader = tx.data.DataLoader(digits, batch_size=64, shuffle=True)
for _ in range(3):  # epochs
    for batch, target in loader:
        loss = tx.nn.functional.cross_entropy(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

model.eval()
test_images, test_labels = held_out.tensors
with tx.no_grad():
    correct = (model(test_images).argmax(1) == test_labels).float().mean().item()
assert correct > 0.8

# ---- 7. Saving -----------------------------------------------------------------------------------
# Files are safetensors: arrays and JSON, never code (serialization/).

file = io.BytesIO()
tx.save({"model": model.state_dict(), "epoch": 3}, file)
file.seek(0)
saved = tx.load(file)
again = tx.nn.Sequential(tx.nn.Flatten(), tx.nn.Linear(64, 32), tx.nn.ReLU(), tx.nn.Linear(32, 10))
again.load_state_dict(saved["model"])
assert saved["epoch"] == 3
assert tx.equal(again(test_images), model(test_images))

# ---- 8. Graphs -----------------------------------------------------------------------------------
# jit.trace (capture/) runs a function on symbolic tensors: they have a type but no elements, and sizes
# that are letters (dim.py). What is recorded is a Graph (graph/): typed, pure, and readable.


def normalize(x, scale):
    """Rows of length `scale`."""
    length = (x * x).sum(dim=1, keepdim=True).sqrt()
    return x / length * scale


traced = tx.jit.trace(normalize, (tx.rand(2, 3), tx.tensor(2.0)))
print(traced.graph)
text = str(traced.graph)
assert text.startswith("graph normalize(x: f32[n, m], scale: f32[]) {")
assert Counter(node.op.sig.name for node in traced.graph.nodes)["mul"] == 2

# It holds for other sizes, its text is the graph, and gradients go through it.
wide = tx.rand(5, 7, requires_grad=True)
assert tx.allclose(traced(wide, tx.tensor(2.0)), normalize(wide, tx.tensor(2.0)))
assert tx.graph.parse(text) == traced.graph
traced(wide, tx.tensor(2.0)).sum().backward()
assert wide.grad.shape == (5, 7)

# An interpreter is a walk over the nodes. The reference backend computes each with the declaration's
# reference, on NumPy arrays in float64: the judge of everything that will run graphs.
judge = tx.graph.Interpreter(traced.graph, "reference")
result = judge.run(wide.detach(), tx.tensor(2.0))
assert tx.allclose(tx.as_tensor(result), normalize(wide, tx.tensor(2.0)))

# Gradients of a graph are a graph as well: autodiff/ walks it from the result back, with the operators' own rules.
# passes/ change graphs into better ones, and say what they did.
total = tx.jit.trace(lambda x: (x * 1).tanh().sum(), tx.ones(4)).graph
both = tx.autodiff.gradient_graph(total)
better = tx.passes.optimize(both)
assert better.counts["simplify"] >= 1
_, gradient = tx.graph.Interpreter(better.graph).run(tx.zeros(4))
assert gradient.tolist() == [1.0, 1.0, 1.0, 1.0]
tangents = tx.autodiff.tangent_graph(total)  # forward mode: how the result moves where x moves so
assert tx.graph.Interpreter(tangents).run(tx.zeros(4), tx.ones(4))[1].item() == 4.0
print(tx.graph.python_text(better.graph))

# schedule/ knows before a run in which order nodes will run, how many bytes each needs and how many at most.
plan = both.plan({"n": 1000})
print(plan)
assert plan.peak <= plan.arena < 4 * 4096

# A value that Python wants to see cannot be traced. That is an error with its line, never a silent guess.


def branch(x):
    """Depends on a value."""
    return x if x.sum() > 0 else -x


message = refusal(tx.errors.TraceError, lambda: tx.jit.trace(branch, tx.ones(3)))
assert "(tour.py:" in message

# A graph can also be declared (static/): placeholders are fed in each run, variables are kept between runs, and
# nothing is computed before a session runs what is fetched. The parameters of a Module become variables.

layer = tx.nn.Linear(2, 1)
with tx.static.Graph("regression") as declared:
    points = tx.static.placeholder((None, 2), tx.float32, "points")
    wanted = tx.static.placeholder((None, 1), tx.float32, "wanted")
    error = tx.nn.functional.mse_loss(layer(points), wanted)
    train = tx.optim.Adam(layer.parameters(), lr=0.1).minimize(error, clip_norm=1.0)
session = tx.static.Session(declared)
given = tx.rand(20, 2)
feeds = {points: given, wanted: given.sum(1, keepdim=True)}
errors = [session.run([error, train], feeds)[0].item() for _ in range(50)]
assert errors[-1] < errors[0] / 2

# Saved, it needs none of this program: tensors and operations are found by name, training goes on bit for bit.
with tempfile.TemporaryDirectory() as folder:
    session.save(f"{folder}/regression.thixo")
    elsewhere = tx.static.load(f"{folder}/regression.thixo")
by_name = {"points": given, "wanted": given.sum(1, keepdim=True)}
elsewhere.run("train", by_name)
session.run(train, feeds)
assert tx.equal(elsewhere.run("weight", by_name), layer.weight)

# ---- 9. Kernels -----------------------------------------------------------------------------------
# What one element becomes, a declaration's `scalar` says. codegen/ writes it down as scalar instructions,
# sets them into a loop over vectors and lets LLVM make machine code of it; runtime/ finds the code again.

kernel = lower_pointwise(tx.ops.public.declaration("relu"), "f32", {}, [TENSOR])
print(kernel)
assert [one.op for one in kernel.body][:1] == ["load"]
assert [one.op for one in kernel.body][-1:] == ["store"]
elements, results = np.array([[-1.0, 2.0, np.nan]], np.float32), np.empty((1, 3), np.float32)
interpret(kernel, [elements, results])  # slowly; machine code has to agree with it
assert np.array_equal(results, tx.relu(tx.tensor(elements)).numpy(), equal_nan=True)
assert isinstance(address(kernel), int)

# ---- 10. The last rooms --------------------------------------------------------------------------
# testing compares with a message, utils has the places where PyTorch keeps things, and every switch that
# an environment variable can set is one line of config.py.

tx.testing.assert_close(tx.tensor([1.0]), tx.tensor([1.0 + 1e-7]))
assert tx.utils.data.DataLoader is tx.data.DataLoader
assert all(switch.variable.startswith("THIXO_") for switch in tx.config.SWITCHES)

# A NaN in a gradient: anomaly mode names the line of the forward pass that it came from.
with tx.autograd.detect_anomaly():
    z = tx.tensor([0.0], requires_grad=True)
    nothing = (z.sqrt() * 0).sum()
    message = refusal(tx.errors.AutogradError, lambda: nothing.backward())
assert "sqrt" in message.lower()

print("The tour ends here. docs/design/ has the reasons, src/thixo the rooms.")
