"""Objects and state that outlive the call, or that two names share."""

from tests.capture.causes.cause import cause

cause(
    "a write to one of two tensors",
    """
    def f(x):
        y = x * 2 if x.sum() > 0 else x
        y += 1
        return y
    """,
    "script: f cannot be captured: a write to a tensor: it is a row, or one of several "
    "tensors, at a place that the data decide; write to a clone() of it (model.py:3)",
    """
    def f(x):
        y = x * 2 if x.sum() > 0 else x
        y = y.clone()
        y += 1
        return y
    """,
)
cause(
    "a row that was written since",
    """
    def f(x):
        row = x[int(x.argmax())]
        x[0] = 7.0
        return row + 1
    """,
    "script: f cannot be captured: a tensor: it was taken from another one, at a place "
    "that the data decide, which was written since; take a clone() of it (model.py:4)",
    """
    def f(x):
        row = x[int(x.argmax())].clone()
        x[0] = 7.0
        return row + 1
    """,
)
cause(
    "an iterator from outside",
    """
    numbers = iter([1.0, 2.0, 3.0])

    def f(x):
        return x * next(numbers)
    """,
    "script: f cannot be captured: an iterator from outside: where it stands is not part "
    "of a graph; make it inside (model.py:4)",
    """
    def f(x):
        numbers = iter([1.0, 2.0, 3.0])
        return x * next(numbers)
    """,
)
cause(
    "an attribute of a class",
    """
    class Counter:
        calls = 0

    def f(x):
        Counter.calls = 1
        return x * 2
    """,
    "script: f cannot be captured: .calls = ...: an attribute of a class or a module is "
    "set; set it outside (model.py:5)",
    """
    class Counter:
        calls = 0

    counter = Counter()

    def f(x):
        counter.calls = 1
        return x * 2
    """,
)
cause(
    "a cached property",
    """
    class Scale:
        @functools.cached_property
        def value(self):
            return 2.0

    scale = Scale()

    def f(x):
        return x * scale.value
    """,
    "script: f cannot be captured: .value: a cached property keeps its result; use a "
    "property (model.py:9)",
    """
    class Scale:
        @property
        def value(self):
            return 2.0

    scale = Scale()

    def f(x):
        return x * scale.value
    """,
)
cause(
    "all attributes of an object",
    """
    class Scale:
        def __init__(self):
            self.value = 2.0

    scale = Scale()

    def f(x):
        return x * scale.__dict__["value"]
    """,
    "script: f cannot be captured: .__dict__: it shows all of an object; name what you "
    "need (model.py:8)",
    """
    class Scale:
        def __init__(self):
            self.value = 2.0

    scale = Scale()

    def f(x):
        return x * scale.value
    """,
)
cause(
    "a class that makes its objects in its own way",
    """
    class Once:
        def __new__(cls):
            return super().__new__(cls)

        scale = 2.0

    def f(x):
        return x * Once().scale
    """,
    "script: f cannot be captured: Once(...): its class makes objects in its own way; "
    "call it outside of what is captured (model.py:8)",
    """
    class Once:
        def __new__(cls):
            return super().__new__(cls)

        scale = 2.0

    once = Once()

    def f(x):
        return x * once.scale
    """,
)
cause(
    "a module of layers that is made inside",
    """
    def f(x):
        return tx.nn.Linear(3, 2)(x)
    """,
    "script: f cannot be captured: Linear(...): it keeps state of its own; make it "
    "outside of what is captured (model.py:2)",
    """
    layer = tx.nn.Linear(3, 2)

    def f(x):
        return layer(x)
    """,
    same=False,
)
cause(
    "a function that outlives the call",
    """
    def f(x):
        return lambda y: x + y
    """,
    "script: f cannot be captured: return: a function that was made inside would outlive "
    "the call; make it outside (model.py:1)",
    """
    def add(x, y):
        return x + y

    def f(x):
        return add(x, x)
    """,
)
cause(
    "a new object that outlives the call",
    """
    def f(x):
        return iter([x, x])
    """,
    "script: f cannot be captured: return: a list_iterator cannot outlive the call; "
    "return tensors and numbers (model.py:1)",
    """
    def f(x):
        return [x, x]
    """,
)
cause(
    "keys of a dict from outside",
    """
    class Key:
        pass

    table = {Key(): 2.0}

    def f(x):
        return x * sum(table.values())
    """,
    "script: f cannot be captured: a dict from outside: its keys are not plain values; "
    "use strings (model.py:7)",
    """
    table = {"key": 2.0}

    def f(x):
        return x * sum(table.values())
    """,
)
cause(
    "a leaf of the tape that is made inside",
    """
    def f(x):
        w = tx.ones(3, requires_grad=True)
        return x * w
    """,
    "script: f cannot be captured: ones: a graph makes no leaves of a tape; call it "
    "outside of what is captured (model.py:2)",
    """
    w = tx.ones(3, requires_grad=True)

    def f(x):
        return x * w
    """,
)
cause(
    "gradients asked for inside, of a tensor from outside",
    """
    def f(x):
        x.requires_grad_()
        return x * 2
    """,
    "script: a result is made of a tensor that requires_grad_() was called of inside: a "
    "graph has no tape; call it outside, or return x.detach() (call.py:1)",
    """
    def f(x):
        return x * 2
    """,
)
