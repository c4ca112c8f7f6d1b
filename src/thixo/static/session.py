"""Running a declared graph: what is fetched decides what runs."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from thixo import _core
from thixo.errors import ArgumentError, DTypeError, GraphError, ShapeError, describe
from thixo.graph import ir
from thixo.graph.constants import type_of
from thixo.graph.sizes import symbol_name
from thixo.graph.specialise import specialise
from thixo.graph.trace import current_trace, untraced
from thixo.ops import public as tx
from thixo.passes.manager import need_known
from thixo.progress import task
from thixo.pytree import tree_flatten, tree_unflatten
from thixo.runtime.executor import EXECUTORS, Executor, executor
from thixo.runtime.kept import optimized
from thixo.runtime.sunk import Sunk
from thixo.static.graph import Graph, Operation, need_own
from thixo.static.prune import prune
from thixo.symbolic import Dim

DEFAULT = "sunk"


class Session:
    """Runs a graph. Its variables belong to the graph: sessions of one graph share them.

    `executor` is one of `thixo.runtime.executor.EXECUTORS`; `off` names passes that are left out. With a `budget` of memory,
    in bytes or as a part of the peak, values are computed again in place of being kept, cheap ones first.

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
        order = [self._placeholder(f, "bind") for f in feeds]
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
        values = program.feed(feed_dict or {})
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
            given = _as_tensor(value, target.value, "Session.load")
            if type_of(given) != target.value.type:
                raise ShapeError(
                    f"Session.load: {target.value} cannot become {describe(given)} ({target.source})"
                )
            with self.graph.lock.writing:
                _write(target.data, given)

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
        return found

    def _fetch(self, leaf: Any) -> ir.Value | Operation:
        if isinstance(leaf, Operation):
            need_own(self.graph, leaf, "Session.run: fetch")
            return leaf
        if isinstance(leaf, str) and leaf in self.graph.operations:
            return self.graph.operations[leaf]
        return self.graph.value_of(leaf, "Session.run: fetch")

    def _placeholder(self, key: Any, what: str) -> ir.Value:
        value = self.graph.value_of(key, f"Session.{what}: feed")
        if value not in self.graph.placeholders:
            line = self.graph.source_of(value)
            where = f" ({line})" if line else ""
            raise GraphError(f"Session.{what}: {value} is no placeholder and cannot be fed{where}")
        return value


class Program:
    """What one set of fetches runs."""

    def __init__(self, session: Session, fetches: tuple[ir.Value | Operation, ...]) -> None:
        self.session = session
        self.owner = session.graph
        self.fetches = fetches
        self.graph = prune(session.graph, fetches)
        owner = session.graph
        self.feeds = [v for v in self.graph.inputs if v in owner.placeholders]
        self.variables = [owner.variables[v] for v in self.graph.inputs if v in owner.variables]
        self.state = [v.data for v in self.variables]
        self.outputs = len(self.graph.outputs)
        self.changed = [owner.variables[v].data for v in self.graph.mutations]
        self._by_sizes: dict[Any, Executor] = {}
        self._by_types: dict[Any, Executor] = {}
        self._optimized: ir.Graph | None = None
        self.lock: Any = owner.lock.writing if self.changed else owner.lock

    def optimized(self) -> ir.Graph:
        """The program after the passes, for sizes that are neither 0 nor 1."""
        if self._optimized is None:
            self._optimized = optimized(self.graph, self.session.off, self.session.budget)
        return self._optimized

    def __call__(self, values: list[Any]) -> list[Any]:
        """The fetched values; variables are written at the end."""
        run = self.executor(values)
        with self.lock:
            found = run([*values, *self.state])
            self._store(found)
        return found

    def executor(self, values: list[Any]) -> Executor:
        """What runs tensors of these types."""
        return self._by_types.get(tuple([(t.dtype, t.shape) for t in values])) or self._chosen(
            values
        )

    def arranged(self, found: list[Any]) -> list[Any]:
        """One result for each fetch, None for operations."""
        results = iter(found)
        return [None if isinstance(f, Operation) else next(results) for f in self.fetches]

    def arranger(self, fetches: Any, leaves: list[Any], tree: Any) -> Callable[[list[Any]], Any]:
        """A function from results to the structure of the fetches; the usual ones cost next to nothing."""
        outputs, has_more = self.outputs, bool(self.changed)
        if len(leaves) == 1 and leaves[0] is fetches:
            if outputs:
                return operator.itemgetter(0)
            return lambda found: None
        is_flat = type(fetches) in (list, tuple) and len(leaves) == len(fetches)
        if not is_flat or any(a is not b for a, b in zip(fetches, leaves, strict=True)):
            return lambda found: tree_unflatten(tree, self.arranged(found))
        kind = type(fetches)
        if outputs < len(leaves):
            numbers = iter(range(outputs))
            places = [None if isinstance(f, Operation) else next(numbers) for f in self.fetches]
            return lambda found: kind([None if i is None else found[i] for i in places])
        if kind is list and not has_more:
            return lambda found: found
        return lambda found: kind(found[:outputs])

    def bound(
        self, order: list[ir.Value], arrange: Callable[[list[Any]], Any]
    ) -> Callable[..., Any]:
        """A function of tensors in this order."""
        places = [order.index(v) for v in self.feeds]
        count = len(order)
        in_order = places == list(range(count))
        state, lock, changed = self.state, self.lock, self.changed
        alone = not state  # then there is nothing that others could write meanwhile
        quick: Any = (
            None  # the native program of the last call; it gives None for inputs of another kind
        )

        def call(*given: Any) -> Any:
            nonlocal quick
            if len(given) != count:
                names = ", ".join(v.name for v in order)
                raise ArgumentError(
                    f"bound program: takes {count} tensors ({names}), got {len(given)}"
                )
            values: Any = given if in_order else [given[i] for i in places]
            found = None
            if quick is not None:
                if alone:
                    found = quick(values)
                else:
                    with lock:
                        found = quick([*values, *state])
                        if found is not None and changed:
                            self._store(found)
            if found is None:
                for value, one in zip(self.feeds, values, strict=True):
                    self._need_data(value, one)
                with untraced():
                    found = self(list(values))
                quick = self._native(values)
            return arrange(found)

        return call

    def _native(self, values: Sequence[Any]) -> Any:
        """What runs inputs like these at once, after they have been looked at, if there is such a thing."""
        run = self._by_types[tuple([(t.dtype, t.shape) for t in values])]
        programs = getattr(run, "programs", None)
        return programs[0].run if programs else None

    def _options(self) -> dict[str, Any]:
        """Of the executor: one that can is told to write what changes itself, into the memory that it has."""
        takes = inspect.signature(EXECUTORS[self.session.executor]).parameters
        own = {"writes": True} if self.changed and "writes" in takes else {}
        if self.session.budget is not None and "side_by_side" in takes:
            own["side_by_side"] = False  # which takes some memory
        return {**own, **self.session.options}

    def _store(self, found: list[Any]) -> None:
        for old, new in zip(self.changed, found[self.outputs :], strict=False):
            if new is not old:
                _write(old, new)

    # ---- feeds

    def feed(self, given: Mapping[Any, Any]) -> list[Any]:
        """The tensors for the placeholders, in order."""
        named = {self.session._placeholder(k, "run"): v for k, v in given.items()}
        found = []
        for value in self.feeds:
            if value not in named:
                raise self.not_fed(value, "run")
            found.append(_as_tensor(named[value], value, "Session.run"))
            self._need_data(value, found[-1])
        return found

    def not_fed(self, value: ir.Value, what: str) -> GraphError:
        """The error for a placeholder without a value."""
        needs = next((f for f in self.fetches if isinstance(f, Operation)), None) or self.fetches[0]
        line = self.owner.placeholders[value].source
        where = f" ({line})" if line else ""
        labels = {labelled: label for label, labelled in self.owner.labels.items()}
        name = needs.name if isinstance(needs, Operation) else labels.get(needs, needs.name)
        return GraphError(
            f"Session.{what}: placeholder {value} is not fed, and {name} needs it{where}"
        )

    def _chosen(self, values: list[Any]) -> Executor:
        """The executor for tensors of these types, after looking at them."""
        sizes: dict[str, int] = {}
        for value, given in zip(self.feeds, values, strict=True):
            self._check(value, given, sizes)
        special = {k: v for k, v in sizes.items() if v < 2}
        key = tuple(sorted(special.items()))
        found = self._by_sizes.get(key)
        if found is None:
            with untraced(), task(f"compiling graph {self.owner.name}"):
                if special:
                    small = specialise(self.graph, special)
                    program = optimized(small, self.session.off, self.session.budget)
                else:
                    program = self.optimized()
                found = executor(program, self.session.executor, **self._options())
            found = self._by_sizes.setdefault(key, found)
        for guard in self.graph.guards:
            names = [n for s in (guard.left, guard.right) if isinstance(s, Dim) for n in s.symbols]
            if all(n in sizes for n in names) and not guard.holds(sizes):
                shown = ", ".join(f"{n} = {sizes[n]}" for n in dict.fromkeys(names))
                where = f" ({guard.line})" if guard.line else ""
                raise ShapeError(
                    f"graph {self.owner.name}: it needs {guard}, and was fed {shown}{where}"
                )
        self._by_types[tuple([(t.dtype, t.shape) for t in values])] = found
        return found

    def _need_data(self, value: ir.Value, given: Any) -> None:
        if isinstance(given, _core.Tensor) and given._value is None:
            return
        line = self.owner.placeholders[value].source
        where = f" ({line})" if line else ""
        declared = ", which is only declared" if isinstance(given, _core.Tensor) else ""
        if isinstance(given, np.ndarray):
            declared = " as an array; make it a tensor with tx.from_numpy"
        raise ArgumentError(
            f"Session.run: {value} must be fed a tensor with data, got {describe(given)}{declared}{where}"
        )

    def _check(self, value: ir.Value, given: Any, sizes: dict[str, int]) -> None:
        line = self.owner.placeholders[value].source
        where = f" ({line})" if line else ""
        if given.dtype is not value.type.dtype:
            raise DTypeError(f"Session.run: {value} is fed {describe(given)}: another dtype{where}")
        if given.ndim != value.type.ndim:
            raise ShapeError(
                f"Session.run: {value} is fed {describe(given)}: another number of axes{where}"
            )
        for axis, (size, actual) in enumerate(zip(value.type.shape, given.shape, strict=True)):
            name = symbol_name(size)
            if name is not None and name not in sizes:
                sizes[name] = actual
            expected = sizes[name] if name is not None else size
            if isinstance(expected, Dim):
                expected = expected.evaluate(sizes)
            if actual != expected:
                raise ShapeError(
                    f"Session.run: {value} is fed {describe(given)}: axis {axis} must be {expected}{where}"
                )


def _as_tensor(given: Any, value: ir.Value, what: str) -> Any:
    """What is fed, as a tensor; lists and numbers take the placeholder's dtype."""
    if isinstance(given, _core.Tensor):
        return given
    from thixo.tensor import from_numpy, tensor

    with untraced():
        if isinstance(given, np.ndarray):
            return from_numpy(given)
        if isinstance(given, np.generic):
            return from_numpy(np.asarray(given))
        if isinstance(given, bool | int | float | complex | list | tuple):
            return tensor(given, dtype=value.type.dtype)
    raise ArgumentError(f"{what}: {value} needs a tensor, got {describe(given)}")


def _write(old: Any, new: Any) -> None:
    enabled = _core.set_grad_enabled(False)
    try:
        tx.copy_(old, new)
    finally:
        _core.set_grad_enabled(enabled)
