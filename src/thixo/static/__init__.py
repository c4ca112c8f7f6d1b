"""Declare a computation once, look at it, differentiate it, and run it many times.

>>> with tx.static.Graph() as g:
...     x = tx.static.placeholder((None, 2), tx.float32, "x")
...     w = tx.static.variable(tx.ones(2), name="w")
...     loss = ((x @ w) ** 2).mean()
...     step = tx.optim.SGD([w], lr=0.1).minimize(loss)
>>> session = tx.static.Session(g)
>>> for _ in range(3):
...     value, _ = session.run([loss, step], {x: [[1.0, 0.0], [0.0, 1.0]]})
>>> value < 1
tensor(True)
"""

from thixo.static.declare import (
    assign,
    constant,
    control_dependencies,
    gradients,
    group,
    name_scope,
    named,
    placeholder,
    variable,
)
from thixo.static.declare import device_scope as device
from thixo.static.files import load
from thixo.static.flow import cond, scan, switch, while_loop
from thixo.static.flow import show as print
from thixo.static.graph import Graph, Operation
from thixo.static.session import Session

__all__ = [
    "Graph",
    "Operation",
    "Session",
    "assign",
    "cond",
    "constant",
    "control_dependencies",
    "device",
    "gradients",
    "group",
    "load",
    "name_scope",
    "named",
    "placeholder",
    "print",
    "scan",
    "switch",
    "variable",
    "while_loop",
]
