"""What `tx.compile(fullgraph=True)` refuses, and options that are none."""

import thixo as tx
from tests.capture.causes.cause import cause

FULL = "result = tx.compile(f, fullgraph=True)(*args)"

cause(
    "compile: a value that Python needs",
    """
    def f(x):
        y = x * 2
        return tx.tensor(y.numpy() + 1)
    """,
    "compile: f cannot be captured: numpy(): it needs the values of a tensor; use "
    "operators of tensors (model.py:3)",
    """
    def f(x):
        y = x * 2
        return y + 1
    """,
    call=FULL,
)
cause(
    "compile: a function without source",
    """
    exec("def f(x): return x * 2 if x.sum() > 0 else x")
    """,
    "compile: f cannot be captured: function f: its source is not known (<string> has no "
    "text); define it in a file or a notebook, since capture reads source (call.py:1)",
    """
    def f(x):
        return x * 2 if x.sum() > 0 else x
    """,
    call=FULL,
)
cause(
    "compile: in a function that it calls",
    """
    def norm(x):
        return math.hypot(x[0].item(), x[1].item())

    def f(x):
        return x / norm(x)
    """,
    "compile: f cannot be captured: float: it needs the value of a tensor f32[] while "
    "the program is captured; keep it a tensor, or leave this part out of what is "
    "captured (model.py:2)",
    """
    def norm(x):
        return tx.hypot(x[0], x[1])

    def f(x):
        return x / norm(x)
    """,
    call=FULL,
)
cause(
    "compile: a method of a module",
    """
    class Net(tx.nn.Module):
        def forward(self, x):
            self.last = tx.nn.Linear(3, 3)
            return self.last(x)

    f = Net()
    """,
    "compile: Net cannot be captured: Linear(...): it keeps state of its own; make it "
    "outside of what is captured (model.py:3)",
    """
    class Net(tx.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = tx.nn.Linear(3, 3)

        def forward(self, x):
            return self.last(x)

    f = Net()
    """,
    call=FULL,
    same=False,
)
cause(
    "compile: no function",
    """
    f = "model"
    """,
    "compile: needs a function, a method or a Module, got 'model' (call.py:1)",
    """
    def f(x):
        return x * 2
    """,
    call="result = tx.compile(f)(*args)",
    error=tx.errors.ArgumentError,
)
cause(
    "compile: no such backend",
    """
    def f(x):
        return x * 2
    """,
    "compile: there is no backend 'inductor'; there are native, reference, eager, and "
    "any function of a graph (call.py:1)",
    """
    def f(x):
        return x * 2
    """,
    call='result = tx.compile(f, backend="inductor")(*args)',
    mended_call='result = tx.compile(f, backend="native")(*args)',
    error=tx.errors.ArgumentError,
)
cause(
    "compile: no such option",
    """
    def f(x):
        return x * 2
    """,
    "compile: dynamic must be True, False or None, got 'yes' (call.py:1)",
    """
    def f(x):
        return x * 2
    """,
    call='result = tx.compile(f, dynamic="yes")(*args)',
    mended_call="result = tx.compile(f, dynamic=True)(*args)",
    error=tx.errors.ArgumentError,
)
