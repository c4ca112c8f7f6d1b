"""Running a declared graph: what is fetched decides what runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from thixo.errors import ArgumentError, GraphError, ShapeError, describe
from thixo.graph import ir
from thixo.graph.constants import type_of
from thixo.graph.trace import current_trace, untraced
from thixo.passes.manager import need_known
from thixo.pytree import tree_flatten, tree_unflatten
from thixo.runtime.executor import EXECUTORS
from thixo.runtime.sunk import Sunk
from thixo.static.graph import Graph, Operation, need_own
from thixo.static.program import Program, as_tensor, write

DEFAULT = "sunk"


class Session:
    """Runs a graph. Its variables belong to the graph: sessions of one graph share them.

    `executor` is one of `thixo.runtime.executor.EXECUTORS`; `off` names passes that are left out. With a `budget` of memory,
    in bytes or as a part of the peak, values are computed again in place of being kept, cheap ones first.
    With `freeze` variables are constants as they are now: batch norms fold, weights are prepared once. A run notices that one was
    changed meanwhile, and compiles anew; operations that change variables are refused.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((None,), tx.float32, "x")
    ...     w = tx.static.variable(3.0, name="w")
    ...     y = x * w
    >>> with tx.static.Session(g) as session:
    ...     session.run({"y": y, "w": "w"}, {x: [1.0, 2.0]})
    {'y': tensor([3., 6.]), 'w': tensor(3.)}
    """

    def __init__(
        self,
        graph: Graph,
        executor: str = DEFAULT,
        off: Iterable[str] = (),
        budget: int | float | None = None,
        freeze: bool = False,
        **options: Any,
    ) -> None:
        if not isinstance(graph, Graph):
            raise ArgumentError(f"Session: needs a static Graph, got {describe(graph)}")
        if executor not in EXECUTORS:
            raise ArgumentError(
                f"Session: there is no executor {executor!r}; there are {', '.join(sorted(EXECUTORS))}"
            )
        self.graph = graph
        self.executor = executor
        self.off = (off,) if isinstance(off, str) else tuple(off or ())
        need_known(self.off)
        self.budget = budget
        self.freeze = freeze
        self.options = options
        self._programs: dict[Any, Program] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._programs.clear()

    # ---- running

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of the fetches, in the structure in which they are given.

        A fetch is a tensor, a name, or an operation, whose value is None. Only what they need is computed, and a
        variable changes only if an operation that is fetched says so, after everything has succeeded.
        """
        leaves, tree = tree_flatten(fetches)
        program = self._program(leaves)
        values = program.feed(feed_dict or {})
        with untraced():
            found = program(values)
        return tree_unflatten(tree, program.arranged(found))

    def bind(self, fetches: Any, feeds: Sequence[Any] = ()) -> Callable[..., Any]:
        """A function of the feeds, in this order, that gives what `run` gives, with as little as possible on the way.

        It takes tensors.

        >>> with tx.static.Graph() as g:
        ...     x = tx.static.placeholder((None,), tx.float32, "x")
        ...     y = x * 2
        >>> double = tx.static.Session(g).bind(y, [x])
        >>> double(tx.ones(2)), double(tx.ones(3))
        (tensor([2., 2.]), tensor([2., 2., 2.]))
        """
        if not isinstance(feeds, list | tuple):
            raise ArgumentError(
                f"Session.bind: feeds must be a list of placeholders, got {describe(feeds)}"
            )
        leaves, tree = tree_flatten(fetches)
        program = self._program(leaves)
        order = [self.placeholder(f, "bind") for f in feeds]
        for i, value in enumerate(order):
            if value in order[:i]:
                raise ArgumentError(f"Session.bind: {value.name} is twice among the feeds")
        for value in program.feeds:
            if value not in order:
                raise program.not_fed(value, "bind")
        return program.bound(order, program.arranger(fetches, leaves, tree))

    def program(self, fetches: Any) -> ir.Graph:
        """The optimised program that computes these fetches.

        >>> with tx.static.Graph("f") as g:
        ...     x = tx.static.placeholder((2,), tx.float32, "x")
        ...     y = (x * 1).exp()
        >>> print(tx.static.Session(g).program(y))
        graph f(x: f32[2]) {
          exp: f32[2] = exp(x)  # ...:3
          return exp
        }
        """
        return self._program(tree_flatten(fetches)[0]).optimized()

    def plan(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """What a run of these fetches with such feeds will do and need, before it runs; print it to see a table.

        Besides order, bytes and arena it has what the program needs with the present number of threads: weights that are prepared
        for kernels, and scratch memory.

        >>> with tx.static.Graph("f") as g:
        ...     x = tx.static.placeholder((2, 3), tx.float32, "x")
        ...     y = x.exp() @ x.t()
        >>> print(tx.static.Session(g).plan(y, {x: tx.ones(2, 3)}))
        plan of graph f
           node                   group  bytes     offset  living
        0  exp = exp                        24          0      64
        1  transpose = transpose                view of x      64
        2  matmul = matmul                  16     result      64
        arena 64 bytes, peak of living values 64; inputs and constants 24, results 16
        its program needs 64 bytes of arena, 0 of prepared weights, 0 of scratch memory
        """
        program = self._program(tree_flatten(fetches)[0])
        values = program.feed(feed_dict or {}, "plan")
        with untraced():
            run = program.executor(values)
            if not isinstance(run, Sunk):
                raise ArgumentError(
                    f"Session.plan: executor {self.executor} makes no program; sunk and ready do"
                )
            return run.plan([*values, *program.state])

    def load(self, variable: Any, value: Any) -> None:
        """Give a variable a value from outside.

        >>> with tx.static.Graph() as g:
        ...     w = tx.static.variable(1.0, name="w")
        >>> session = tx.static.Session(g)
        >>> session.load(w, 5.0)
        >>> session.run(w)
        tensor(5.)
        """
        target = self.graph.variables[self.graph.variable_of(variable, "Session.load")]
        with untraced():
            given = as_tensor(value, target.value, "Session.load")
            if type_of(given) != target.value.type:
                raise ShapeError(
                    f"Session.load: {target.value} cannot become {describe(given)} ({target.source})"
                )
            with self.graph.lock.writing:
                write(target.data, given)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph, its variables and its operations to a file that `load` reads.

        The file needs none of the code that declared the graph. It is complete or not there.
        """
        from thixo.static.files import save

        save(self.graph, path)

    # ---- programs

    def _program(self, leaves: list[Any]) -> Program:
        wanted = tuple(self._fetch(leaf) for leaf in leaves)
        found = self._programs.get(wanted)
        if found is None:
            if current_trace() is not None:
                # Writes in place of a declaration that is going on are known when it ends.
                with untraced():
                    found = Program(self, wanted)
            else:
                found = Program(self, wanted)
            found = self._programs.setdefault(wanted, found)
        elif not found.is_current():
            found.renew()
        return found

    def _fetch(self, leaf: Any) -> ir.Value | Operation:
        if isinstance(leaf, Operation):
            need_own(self.graph, leaf, "Session.run: fetch")
            return leaf
        if isinstance(leaf, str) and leaf in self.graph.operations:
            return self.graph.operations[leaf]
        return self.graph.value_of(leaf, "Session.run: fetch")

    def placeholder(self, key: Any, what: str) -> ir.Value:
        """The placeholder that a feed names."""
        value = self.graph.value_of(key, f"Session.{what}: feed")
        if value not in self.graph.placeholders:
            line = self.graph.source_of(value)
            where = f" ({line})" if line else ""
            raise GraphError(f"Session.{what}: {value} is no placeholder and cannot be fed{where}")
        return value
