"""Constructs of the language that a graph cannot hold."""

from tests.capture.causes.cause import cause

cause(
    "a coroutine",
    """
    async def f(x):
        return x * 2
    """,
    "script: f cannot be captured: async def: a graph has no coroutines; define a plain "
    "function (model.py:1)",
    """
    def f(x):
        return x * 2
    """,
)
cause(
    "names looked up while it runs",
    """
    def f(x):
        y = x * 2
        return eval("y + 1")
    """,
    "script: f cannot be captured: eval(): it looks at names while the program runs; "
    "name what you need (model.py:3)",
    """
    def f(x):
        y = x * 2
        return y + 1
    """,
)
cause(
    "the local variables as a dict",
    """
    def f(x):
        scale = 2.0
        return x * locals()["scale"]
    """,
    "script: f cannot be captured: locals(): it looks at names while the program runs; "
    "name what you need (model.py:3)",
    """
    def f(x):
        scale = 2.0
        return x * scale
    """,
)
cause(
    "a return in finally",
    """
    def f(x):
        try:
            y = x * 2
        finally:
            return y
    """,
    "script: f cannot be captured: finally: it leaves the function or a loop; leave "
    "after the try (model.py:5)",
    """
    def f(x):
        try:
            y = x * 2
        finally:
            pass
        return y
    """,
)
cause(
    "groups of exceptions",
    """
    def f(x):
        try:
            y = x * 2
        except* ValueError:
            y = x
        return y
    """,
    "script: f cannot be captured: except*: a graph has no groups of exceptions; use "
    "except (model.py:2)",
    """
    def f(x):
        try:
            y = x * 2
        except ValueError:
            y = x
        return y
    """,
)
cause(
    "a global that := sets",
    """
    def f(x):
        global last
        return (last := x.sum()) + last
    """,
    "script: f cannot be captured: :=: last is not a local variable; assign it before (model.py:3)",
    """
    def f(x):
        global last
        last = x.sum()
        return last + last
    """,
)
cause(
    "with that sets no variable",
    """
    class Box:
        pass

    box = Box()

    def f(x):
        with contextlib.nullcontext(2.0) as box.scale:
            return x * box.scale
    """,
    "script: f cannot be captured: with ... as: its target is not a local variable; name "
    "it (model.py:7)",
    """
    class Box:
        pass

    box = Box()

    def f(x):
        with contextlib.nullcontext(2.0) as scale:
            return x * scale
    """,
)
cause(
    "a lambda in the guard of a case",
    """
    def f(x, n):
        match n:
            case k if (lambda i: i > 1)(k):
                return x * k
        return x
    """,
    "script: f cannot be captured: match: a guard has functions in it; use if and elif "
    "(model.py:2)",
    """
    def f(x, n):
        if n > 1:
            return x * n
        return x
    """,
    "(tx.ones(3), 2)",
)
cause(
    "match on what the data decide",
    """
    def f(x):
        match x.argmax().item():
            case 0:
                return x
        return -x
    """,
    "script: f cannot be captured: match: it compares with something the data decide; "
    "use if and elif (model.py:4)",
    """
    def f(x):
        if x.argmax().item() == 0:
            return x
        return -x
    """,
)
cause(
    "a condition of a generator",
    """
    def parts(x):
        for row in (x, -x):
            if row.sum() > 0:
                yield row

    def f(x):
        return sum(parts(x))
    """,
    "script: f cannot be captured: a condition: a tensor decides it inside of a "
    "generator or a match; use if in a plain function (model.py:3)",
    """
    def parts(x):
        made = []
        for row in (x, -x):
            if row.sum() > 0:
                made.append(row)
        return made

    def f(x):
        return sum(parts(x), tx.zeros(3))
    """,
)
cause(
    "no source",
    """
    exec("def g(x): return x * 2")

    def f(x):
        return g(x)
    """,
    "script: f cannot be captured: function g: its source is not known (<string> has no "
    "text); define it in a file or a notebook, since capture reads source (model.py:4)",
    """
    def g(x):
        return x * 2

    def f(x):
        return g(x)
    """,
)
