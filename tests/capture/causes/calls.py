"""Calls of what captured code does not know."""

from tests.capture.causes.cause import cause

cause(
    "a clock",
    """
    def f(x):
        return x * time.time()
    """,
    "script: f cannot be captured: a call of time: it is not known what it does; call it "
    "outside of what is captured (model.py:2)",
    """
    def f(x, now):
        return x * now
    """,
    "(tx.ones(3), 1.5)[: f.__code__.co_argcount]",
)
cause(
    "a lock",
    """
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2
    """,
    "script: f cannot be captured: with: lock is not known to captured code; use it "
    "outside (model.py:5)",
    """
    lock = threading.Lock()

    def g(x):
        return x * 2

    def f(x):
        return g(x)
    """,
)
cause(
    "a stack of contexts",
    """
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(tx.no_grad())
            return x * 2
    """,
    "script: f cannot be captured: with: contextlib.ExitStack is not known to captured "
    "code; use a with for each, or try (model.py:4)",
    """
    def f(x):
        with tx.no_grad():
            return x * 2
    """,
)
cause(
    "a file",
    """
    def f(x):
        with open(os.devnull) as file:
            return x * len(file.read())
    """,
    "script: f cannot be captured: open: a graph has no files; read outside (model.py:3)",
    """
    with open(os.devnull) as file:
        size = len(file.read())

    def f(x):
        return x * size
    """,
)
cause(
    "print to a file",
    """
    log = io.StringIO()

    def f(x):
        print(x.sum().item(), file=log)
        return x
    """,
    "script: f cannot be captured: print: values that the data decide go to a file; "
    "print them to the screen (model.py:4)",
    """
    def f(x):
        print(x.sum().item())
        return x
    """,
)
cause(
    "a copy of an object from outside",
    """
    class Box:
        def __init__(self):
            self.items = {1: object()}

    box = Box()

    def f(x):
        return x * len(copy.deepcopy(box).items)
    """,
    "script: f cannot be captured: copy.deepcopy: how a Box is copied is not known; make "
    "a new one (model.py:8)",
    """
    class Box:
        def __init__(self):
            self.items = {1: object()}

    box = Box()

    def f(x):
        return x * len(box.items)
    """,
)
cause(
    "a generator of random numbers",
    """
    source = tx.Generator()

    def f(x):
        return x + tx.rand(3, generator=source)
    """,
    "script: f cannot be captured: rand: a Generator cannot be part of a graph; draw "
    "from the default one, or outside (model.py:4)",
    """
    def f(x):
        return x + tx.rand(3)
    """,
    same=False,
)
cause(
    "numbers of Python's own generator",
    """
    import random

    def f(x):
        return x * random.random()
    """,
    "script: f cannot be captured: a call of Random.random: it is not known what it "
    "does; call it outside of what is captured (model.py:4)",
    """
    def f(x):
        return x * tx.rand(())
    """,
    same=False,
)
cause(
    "a mode that stays",
    """
    def f(x):
        tx.set_grad_enabled(True)
        tx.set_grad_enabled(False)
        return x * 2
    """,
    "script: f cannot be captured: a mode of gradients: it would stay switched after the call, which no graph does; "
    "switch it by a with, or outside of what is captured (model.py:3)",
    """
    def f(x):
        with tx.set_grad_enabled(False):
            return x * 2
    """,
)
cause(
    "a file of tensors",
    """
    def f(x):
        return x + tx.load("weights")
    """,
    "script: f cannot be captured: a call of load: a graph has no files; call it outside of what "
    "is captured (model.py:2)",
    """
    weights = tx.save(tx.ones(3), file := io.BytesIO()) or tx.load(io.BytesIO(file.getvalue()))

    def f(x):
        return x + weights
    """,
)
