"""Control flow by hand whose parts do not fit together."""

import thixo as tx
from tests.capture.causes.cause import TRACE, cause

PLAIN = "result = f(*args)"
WRONG = {"call": PLAIN, "error": tx.ThixoError}
TRACED = {"call": TRACE, "error": tx.ThixoError}

cause(
    "cond: a condition of many elements",
    """
    def f(x):
        return tx.cond(x > 0, lambda: x, lambda: -x)
    """,
    "cond: pred must be one bool, got bool[3]; say x.any() or x.all() (model.py:2)",
    """
    def f(x):
        return tx.cond((x > 0).all(), lambda: x, lambda: -x)
    """,
    **WRONG,
)
cause(
    "cond: results of two structures",
    """
    def f(x):
        return tx.cond(x.sum() > 0, lambda: (x, x), lambda: x)
    """,
    "cond: the functions must return the same structure of tensors: branch_0 returns (*, "
    "*) (* is a tensor), branch_1 returns a tensor (model.py:2)",
    """
    def f(x):
        return tx.cond(x.sum() > 0, lambda: (x, x), lambda: (x, -x))
    """,
    **TRACED,
)
cause(
    "cond: results of two dtypes",
    """
    def f(x):
        return tx.cond(x.sum() > 0, lambda: x, lambda: x.long())
    """,
    "cond: the functions must return the same types: result 0 of branch_0 is f32[n], of "
    "branch_1 i64[n] (model.py:2)",
    """
    def f(x):
        return tx.cond(x.sum() > 0, lambda: x, lambda: x.long().float())
    """,
    **TRACED,
)
cause(
    "cond: a branch that is no function",
    """
    def f(x):
        return tx.cond(x.sum() > 0, x, -x)
    """,
    "cond: true_fn must be a function, got f32[3] (model.py:2)",
    """
    def f(x):
        return tx.cond(x.sum() > 0, lambda: x, lambda: -x)
    """,
    **WRONG,
)
cause(
    "switch: no branches",
    """
    def f(x):
        return tx.switch(x.argmax(), [])
    """,
    "switch: needs at least one function, got none (model.py:2)",
    """
    def f(x):
        return tx.switch(x.argmax(), [lambda: x, lambda: -x])
    """,
    **WRONG,
)
cause(
    "while_loop: a body that changes a shape",
    """
    def f(x):
        return tx.while_loop(lambda y: y.sum() < 10, lambda y: (tx.cat([y, y]),), (x,))
    """,
    "while_loop: the body must return the state as it gets it: part 0 is f32[3] and "
    "becomes f32[6] (model.py:2)",
    """
    def f(x):
        return tx.while_loop(lambda y: y.sum() < 10, lambda y: (y * 2,), (x,))
    """,
    **WRONG,
)
cause(
    "while_loop: a body that returns too few",
    """
    def f(x):
        return tx.while_loop(lambda y, n: n < 3, lambda y, n: y * 2, (x, tx.tensor(0)))
    """,
    "while_loop: the body must return the state as it gets it: (*, *) (* is a tensor), "
    "returns a tensor (model.py:2)",
    """
    def f(x):
        return tx.while_loop(lambda y, n: n < 3, lambda y, n: (y * 2, n + 1), (x, tx.tensor(0)))
    """,
    **WRONG,
)
cause(
    "scan: a state that changes its dtype",
    """
    def f(x):
        return tx.scan(lambda total, v: (total + v, v), tx.tensor(0), x)
    """,
    "scan: the body must return the state as it gets it: part 0 is i64[] and becomes "
    "f32[] (model.py:2)",
    """
    def f(x):
        return tx.scan(lambda total, v: (total + v, v), tx.tensor(0.0), x)
    """,
    **WRONG,
)
cause(
    "scan: nothing to go over",
    """
    def f(x):
        return tx.scan(lambda total, v: (total + 1, total), x.sum())
    """,
    "scan: needs xs, or a length (model.py:2)",
    """
    def f(x):
        return tx.scan(lambda total, v: (total + 1, total), x.sum(), length=3)
    """,
    **WRONG,
)
cause(
    "map: over a number",
    """
    def f(x):
        return tx.map(lambda v: v * 2, x.sum())
    """,
    "map: f32[] has no axis 0 to slice (model.py:2)",
    """
    def f(x):
        return tx.map(lambda v: v * 2, x)
    """,
    **WRONG,
)
