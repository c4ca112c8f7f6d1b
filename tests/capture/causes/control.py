"""Branches and loops whose meaning no graph has."""

from tests.capture.causes.cause import cause

cause(
    "a recursion that a tensor ends",
    """
    def f(x):
        if x.sum() > 1:
            return f(x / 2)
        return x
    """,
    "script: f cannot be captured: recursion: it ends where a tensor says so, which no "
    "graph can hold; use a loop (model.py:2)",
    """
    def f(x):
        while x.sum() > 1:
            x = x / 2
        return x
    """,
)
cause(
    "a loop without an end",
    """
    def f(x):
        n = 0
        while n < 10**9:
            n += 1
        return x * n
    """,
    "script: f cannot be captured: while: more than 2000 turns are unrolled; let a "
    "tensor decide (model.py:3)",
    """
    def f(x):
        n = tx.zeros((), dtype=tx.int64)
        while n < 10**3:
            n = n + 1
        return x * n
    """,
)
cause(
    "a list that changes while it is gone over",
    """
    def f(x):
        items = [x, x + 1, x + 2]
        for item in items:
            if item.sum() > 1:
                items.pop()
        return x * len(items)
    """,
    "script: f cannot be captured: a list that is gone over: the data decide whether it gets or "
    "loses elements meanwhile; go over a copy, list(x) (model.py:3)",
    """
    def f(x):
        items = [x, x + 1, x + 2]
        for item in list(items):
            if item.sum() > 1:
                items.pop()
        return x * len(items)
    """,
)
cause(
    "a set that a loop changes",
    """
    def f(x):
        seen = {0}
        while x.sum() > 1:
            x = x / 2
            seen.add(len(seen))
        return x * len(seen)
    """,
    "script: f cannot be captured: a set that a loop changes: a graph has no sets; use a "
    "tensor (model.py:3)",
    """
    def f(x):
        seen = tx.tensor(1)
        while x.sum() > 1:
            x = x / 2
            seen = seen + 1
        return x * seen
    """,
)
cause(
    "a variable that grows in every turn",
    """
    def f(x):
        y = x
        while y.sum() < 10:
            y = tx.cat([y, x])
        return y.sum()
    """,
    "script: f cannot be captured: variable y in a loop: it is a tensor f32[3] on one "
    "path and a tensor f32[6] on another; give it its final kind and shape before the "
    "loop (model.py:3)",
    """
    def f(x):
        total = x.sum()
        while total < 10:
            total = total + x.sum()
        return total
    """,
)
cause(
    "a variable that is another object in each turn",
    """
    def f(x):
        turn = 0
        while x.sum() < 30:
            if turn > 0:
                x = x + last()
            x = x * 2
            last = lambda: 1
            turn += 1
        return x
    """,
    "script: f cannot be captured: variable last: it is set in a loop that a tensor ends, "
    "and it is another object in each turn; give it one kind of value on all paths "
    "(model.py:5)",
    """
    def f(x):
        turn = 0
        last = lambda: 1
        while x.sum() < 30:
            if turn > 0:
                x = x + last()
            x = x * 2
            turn += 1
        return x
    """,
)
cause(
    "an attribute that is another object in each turn",
    """
    class Box:
        pass

    def f(x):
        box = Box()
        while x.sum() < 30:
            x = x * 2
            box.last = lambda: 1
        return x + hasattr(box, "last")
    """,
    "script: f cannot be captured: attribute last of Box in a loop: it is another object "
    "in each turn; give it its final kind and shape before the loop (model.py:6)",
    """
    class Box:
        pass

    def f(x):
        box = Box()
        box.last = lambda: 1
        while x.sum() < 30:
            x = x * 2
        return x + hasattr(box, "last")
    """,
)
cause(
    "an exception of a loop that says something else in each turn",
    """
    def f(x):
        try:
            while x.sum() < 30:
                x = x * 2
                if x.sum() > 20:
                    raise ValueError(x.sum() + 1)
        except ValueError as error:
            return x * error.args[0]
        return x
    """,
    "script: f cannot be captured: raise: it is raised in a loop that a tensor ends, and "
    "what it says changes from turn to turn; give it the same arguments in each turn "
    "(model.py:6)",
    """
    def f(x):
        try:
            while x.sum() < 30:
                x = x * 2
                if x.sum() > 20:
                    raise ValueError("large")
        except ValueError:
            return x * (x.sum() + 1)
        return x
    """,
)
cause(
    "an exception from one of several",
    """
    def f(x):
        try:
            if x.sum() > 5:
                raise KeyError("large")
            if x.sum() > 2:
                raise IndexError("small")
        except LookupError as error:
            raise ValueError("either") from error
        return x
    """,
    "script: f cannot be captured: raise: what it is from is one of several exceptions; "
    "name it in an except of its own (model.py:8)",
    """
    def f(x):
        try:
            if x.sum() > 5:
                raise KeyError("large")
            if x.sum() > 2:
                raise IndexError("small")
        except KeyError as error:
            raise ValueError("either") from error
        except IndexError as error:
            raise ValueError("either") from error
        return x
    """,
    "(tx.zeros(3),)",
)
cause(
    "an exception inside of try",
    """
    def check(x):
        if x.sum() > 5:
            raise ValueError("large")
        return x

    def f(x):
        try:
            return x + check(x)
        except ValueError:
            return x / 2
    """,
    "script: f cannot be captured: raise ValueError: it is raised under a tensor's "
    "condition inside of try; return a value that says so (model.py:2)",
    """
    def f(x):
        if x.sum() > 5:
            return x / 2
        return x + x
    """,
)
cause(
    "an assertion inside of try",
    """
    def check(x):
        assert x.sum() > 5
        return x

    def f(x):
        try:
            return x + check(x)
        except AssertionError:
            return x / 2
    """,
    "script: f cannot be captured: assert: a tensor decides it inside of try; return a "
    "value that says so (model.py:2)",
    """
    def f(x):
        if x.sum() > 5:
            return x + x
        return x / 2
    """,
)
cause(
    "an exception of a user's class",
    """
    class TooLarge(Exception):
        pass

    def f(x):
        if x.sum() > 5:
            raise TooLarge("large")
        return x
    """,
    "script: f cannot be captured: raise TooLarge: a graph can raise built-in exceptions "
    "only; raise one of those (model.py:5)",
    """
    def f(x):
        if x.sum() > 5:
            raise ValueError("large")
        return x
    """,
)
cause(
    "an exception with two arguments",
    """
    def f(x):
        if x.sum() > 5:
            raise ValueError("large", 5)
        return x
    """,
    "script: f cannot be captured: raise ValueError: its arguments are not one text; "
    "give it one message (model.py:2)",
    """
    def f(x):
        if x.sum() > 5:
            raise ValueError("large: 5")
        return x
    """,
)
cause(
    "both sides raise",
    """
    def f(x):
        if x.sum() > 5:
            raise ValueError("large")
        else:
            raise ValueError("small")
    """,
    "script: f cannot be captured: if: both sides raise an exception; raise without a "
    "condition (model.py:2)",
    """
    def f(x):
        if x.sum() > 5:
            raise ValueError("large")
        return x
    """,
)
cause(
    "an iterator that a branch takes from",
    """
    def f(x):
        parts = iter([x, -x])
        if x.sum() > 0:
            return next(parts)
        return next(parts) + 1
    """,
    "script: f cannot be captured: an iterator: it goes on under a tensor's condition; "
    "make it there, or use a list (model.py:4)",
    """
    def f(x):
        parts = [x, -x]
        if x.sum() > 0:
            return parts[0]
        return parts[0] + 1
    """,
)
cause(
    "an order of many things",
    """
    def f(x):
        return sorted([v.sum() for v in x])[-1]
    """,
    "script: f cannot be captured: sorted: many things are sorted by what the data "
    "decide; use tx.sort (model.py:2)",
    """
    def f(x):
        return tx.sort(x.sum(1))[0][-1]
    """,
    "(tx.arange(80.0).reshape(40, 2),)",
)
cause(
    "gradients switched under a condition",
    """
    def f(x):
        if x.sum() > 0:
            tx.set_grad_enabled(False)
        return x * 2
    """,
    "script: f cannot be captured: set_grad_enabled: it is set under a tensor's "
    "condition; use a with around it (model.py:2)",
    """
    def f(x):
        with tx.set_grad_enabled(False):
            return x * 2
    """,
)
