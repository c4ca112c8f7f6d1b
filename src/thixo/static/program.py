"""What one set of fetches runs: pruned, optimised for the sizes that are fed, and kept."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thixo import _core
from thixo.errors import ArgumentError, DTypeError, GraphError, ShapeError, describe
from thixo.graph import ir
from thixo.graph.constants import as_array
from thixo.graph.sizes import symbol_name
from thixo.graph.specialise import specialise
from thixo.graph.trace import untraced
from thixo.ops import public as tx
from thixo.progress import task
from thixo.pytree import tree_unflatten
from thixo.runtime.executor import EXECUTORS, Executor, executor
from thixo.runtime.kept import optimized
from thixo.schedule.collecting import without_collecting
from thixo.static.graph import Operation
from thixo.static.prune import prune
from thixo.symbolic import Dim

if TYPE_CHECKING:
    from thixo.static.session import Session


class Program:
    """What one set of fetches runs."""

    def __init__(self, session: Session, fetches: tuple[ir.Value | Operation, ...]) -> None:
        self.session = session
        self.owner = session.graph
        self.fetches = fetches
        self.graph = prune(session.graph, fetches)
        owner = session.graph
        self.feeds = [v for v in self.graph.inputs if v in owner.placeholders]
        variables = [v for v in self.graph.inputs if v in owner.variables]
        self.frozen: dict[ir.Value, Any] = {}
        self.state = [owner.variables[v].data for v in variables]
        self.outputs = len(self.graph.outputs)
        self.changed = [owner.variables[v].data for v in self.graph.mutations]
        self._versions: list[int] = []
        self._by_sizes: dict[Any, Executor] = {}
        self._by_types: dict[Any, Executor] = {}
        self._optimized: ir.Graph | None = None
        self.lock: Any = owner.lock.writing if self.changed else owner.lock
        if session.freeze:
            self._need_no_changes()
            self.frozen = dict(zip(variables, self.state, strict=True))
            self.state = []
            self.graph.inputs = self.feeds.copy()
            self.renew()

    def optimized(self) -> ir.Graph:
        """The program after the passes, for sizes that are neither 0 nor 1."""
        if self._optimized is None:
            self._optimized = optimized(self.graph, self.session.off, self.session.budget)
        return self._optimized

    # ---- variables as constants

    def _need_no_changes(self) -> None:
        if not self.graph.mutations:
            return
        changed = [str(v) for v in self.graph.mutations]
        names = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if changed[3:] else "")
        line = self.owner.source_of(next(iter(self.graph.mutations.values())))
        where = f" ({line})" if line else ""
        raise GraphError(
            f"Session.run: these fetches change {names}, and with freeze=True variables are constants; "
            f"fetch them in another session of this graph{where}"
        )

    def is_current(self) -> bool:
        """Whether frozen variables hold what they held when they were made constants."""
        return self._versions == [data._version for data in self.frozen.values()]

    def renew(self) -> None:
        """Make what frozen variables hold now constants of the program; it is compiled anew."""
        with self.owner.lock:
            self._versions = [data._version for data in self.frozen.values()]
            for value, data in self.frozen.items():
                self.graph.constants[value] = array = np.array(as_array(data))
                array.flags.writeable = False
        self._optimized = None
        self._by_sizes, self._by_types = {}, {}

    # ---- running

    def __call__(self, values: list[Any]) -> list[Any]:
        """The fetched values; variables are written at the end."""
        run = self._known(values)
        if run is None:
            with without_collecting():  # once for all that is made now
                run = self._chosen(values)
                with self.lock:
                    run.prepare([*values, *self.state])
        with self.lock:
            found = run([*values, *self.state])
            self._store(found)
        return found

    def executor(self, values: list[Any]) -> Executor:
        """What runs tensors of these types."""
        return self._known(values) or self._chosen(values)

    def _known(self, values: list[Any]) -> Executor | None:
        return self._by_types.get(tuple([(t.dtype, t.shape) for t in values]))

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
        freezes = bool(self.frozen)
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
            if freezes and not self.is_current():
                quick = None
                self.renew()
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
                write(old, new)

    # ---- feeds

    def feed(self, given: Mapping[Any, Any], what: str = "run") -> list[Any]:
        """The tensors for the placeholders, in order."""
        named = {self.session.placeholder(k, what): v for k, v in given.items()}
        found = []
        for value in self.feeds:
            if value not in named:
                raise self.not_fed(value, what)
            found.append(as_tensor(named[value], value, f"Session.{what}"))
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


def as_tensor(given: Any, value: ir.Value, what: str) -> Any:
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


def write(old: Any, new: Any) -> None:
    """Put a value into a variable's memory, past the tape."""
    enabled = _core.set_grad_enabled(False)
    try:
        tx.copy_(old, new)
    finally:
        _core.set_grad_enabled(enabled)
