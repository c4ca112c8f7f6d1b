"""What `jit.trace` refuses: values are not known while it runs, and a trace is one path."""

import thixo as tx
from tests.capture.causes.cause import SCRIPT, TRACE, cause

BY_TRACE = {"call": TRACE, "error": tx.errors.TraceError}

cause(
    "trace: a branch on a value",
    """
    def f(x):
        if x.sum() > 0:
            return x
        return -x
    """,
    "trace: bool needs the value of a tensor bool[], which is not known while tracing; "
    "it would be baked in for this example. Choose with tx.where in place of if, keep "
    "numbers as 0-d tensors, capture branches and loops with tx.jit.script, or leave "
    "this part out of the traced function (model.py:2)",
    """
    def f(x):
        return tx.where(x.sum() > 0, x, -x)
    """,
    **BY_TRACE,
)
cause(
    "trace: a loop on a value",
    """
    def f(x):
        while x.sum() > 1:
            x = x / 2
        return x
    """,
    "trace: bool needs the value of a tensor bool[], which is not known while tracing; "
    "it would be baked in for this example. Choose with tx.where in place of if, keep "
    "numbers as 0-d tensors, capture branches and loops with tx.jit.script, or leave "
    "this part out of the traced function (model.py:2)",
    """
    def f(x):
        while x.sum() > 1:
            x = x / 2
        return x
    """,
    mended_call=SCRIPT,
    **BY_TRACE,
)
cause(
    "trace: a number",
    """
    def f(x):
        return x * x.max().item()
    """,
    "trace: item() needs the value of a tensor f32[], which is not known while tracing; "
    "it would be baked in for this example. Choose with tx.where in place of if, keep "
    "numbers as 0-d tensors, capture branches and loops with tx.jit.script, or leave "
    "this part out of the traced function (model.py:2)",
    """
    def f(x):
        return x * x.max()
    """,
    **BY_TRACE,
)
cause(
    "trace: an array of numpy",
    """
    def f(x):
        return tx.tensor(np.sin(x.numpy()))
    """,
    "trace: numpy() needs the value of a tensor f32[n], which is not known while "
    "tracing; it would be baked in for this example. Choose with tx.where in place of "
    "if, keep numbers as 0-d tensors, capture branches and loops with tx.jit.script, or "
    "leave this part out of the traced function (model.py:2)",
    """
    def f(x):
        return tx.sin(x)
    """,
    **BY_TRACE,
)
cause(
    "trace: something that changes from call to call",
    """
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)
    """,
    "jit.trace: on the example, result 0 of the trace of f is not that of the function: "
    "it depends on something that a trace does not see (a value turned into a Python "
    "number, a global that changes, another library); pass that as an argument, or leave "
    "it out (call.py:1)",
    """
    calls = []

    def f(x):
        calls.append(1)
        return x
    """,
    **BY_TRACE,
)
cause(
    "trace: a generator of random numbers",
    """
    source = tx.Generator()

    def f(x):
        return x + tx.rand(3, generator=source)
    """,
    "rand: trace: a Generator cannot be part of a graph; draw from the default one, or "
    "outside (model.py:4)",
    """
    def f(x):
        return x + tx.rand(3)
    """,
    same=False,
    **BY_TRACE,
)
cause(
    "trace: a value that leaked out",
    """
    kept = []

    def f(x):
        kept.append(x * 2)
        return x
    """,
    "add: a traced tensor is used after its trace has ended: it was made in f at model.py:4; return what you need "
    "from the traced function, or, of a declared graph, go on inside of `with graph:` or fetch it with Session.run "
    "(call.py:2)",
    """
    kept = []

    def f(x):
        return x * 2
    """,
    call="traced = tx.jit.trace(f, args, check=False)\nresult = kept[-1] + 1 if kept else traced(*args)",
    error=tx.errors.TraceError,
)
cause(
    "trace: another number than traced",
    """
    def f(x, n):
        return x * n
    """,
    "f: argument 1 was 2 when it was traced and is part of the graph, got 3; trace it "
    "again (call.py:1)",
    """
    def f(x, n):
        return x * n
    """,
    "(tx.ones(3), 2)",
    call="result = tx.jit.trace(f, args)(args[0], 3)",
    mended_call="result = tx.jit.trace(f, args)(args[0], 2)",
    error=tx.errors.TraceError,
)
cause(
    "trace: no function",
    """
    f = 3
    """,
    "jit.trace: needs a function or a Module, got 3 (call.py:1)",
    """
    def f(x):
        return x * 3
    """,
    call=TRACE,
    error=tx.errors.ArgumentError,
)
cause(
    "script: no function",
    """
    f = [1, 2]
    """,
    "jit.script: needs a function or a Module, got [1, 2] (call.py:1)",
    """
    def f(x):
        return x * 3
    """,
    error=tx.errors.ArgumentError,
)
