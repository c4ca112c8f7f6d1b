"""Whether a path has used a value: what no path uses has no gradient, which is not the same as one of zeros.

On the tape a branch that is not taken sends nothing back. In a graph its gradients are there, as zeros, and zero times an infinite
derivative is not zero. So a gradient that comes from branches and loops has a flag that says whether it counts: True, or a bool
of the graph. What rules make of one that does not count is taken for zeros, by a branch, where it meets others or is a result.
A branch, and no `where`: gradients of gradients have flags by it too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from thixo.autodiff.recording import closed_types, record
from thixo.dtype import bool as bool_
from thixo.graph.control import COND
from thixo.graph.ir import Node, Type, Value, values_in
from thixo.graph.trace import Trace, make_symbolic
from thixo.ops import public as tx
from thixo.ops.base import gradient_rules

if TYPE_CHECKING:
    from thixo.autodiff.reverse import Reverse

BOOL = Type(bool_, ())


class Use(NamedTuple):
    """Whether a gradient counts, and whether it may be other than zeros where it does not."""

    flag: Any = True
    spoilt: bool = False


ALWAYS = Use()


class Uses:
    """The flags of the gradients of one pass."""

    def __init__(
        self, reverse: Reverse, asked: Iterable[Value] = (), known: set[Value] | None = None
    ) -> None:
        # `known`: the values for which flags matter, where the caller says it.
        self._reverse = reverse
        self._of: dict[Value, Use] = {}
        self._asked = set(asked)
        self._exposed = known
        self._known: dict[Any, tuple[Any, Any]] = {}

    def of(self, value: Value) -> Use:
        """How a value's gradient counts."""
        return self._of.get(value, ALWAYS)

    def flag(self, value: Value) -> Any:
        """Whether a value's gradient counts: True, False, or a symbolic tensor."""
        return self.of(value).flag if value in self._reverse.gradients else False

    def matter(self, value: Value) -> bool:
        """Whether it matters if a gradient counts: there is something on the way on that could spoil zeros."""
        if self._exposed is None:
            self._exposed = self._find_exposed()
        return value in self._exposed

    def _find_exposed(self) -> set[Value]:
        active = self._reverse.active
        found = set(self._asked)
        for node in self._reverse.graph.nodes:
            if any(v in active for v in node.outputs) and (
                any(v in found for v in values_in(node.args)) or spoils(node)
            ):
                found.update(v for v in node.outputs if v in active)
        return found

    # ---- gradients that arrive

    def add(self, value: Value, gradient: Any, use: Use) -> Any:
        """The sum of a value's gradient so far and one more part."""
        known = self._reverse.gradients.get(value)
        if use.flag is not True and not use.spoilt and not self.matter(value):
            use = ALWAYS
        if known is None:
            if use is not ALWAYS:
                self._of[value] = use
            return gradient
        old = self.of(value)
        if old.flag is use.flag:
            use = Use(use.flag, old.spoilt or use.spoilt)
        else:
            known, gradient = self._zeros_unless(known, old), self._zeros_unless(gradient, use)
            use = Use(self.either([old.flag, use.flag]))
        self._of[value] = use
        return tx.add(known, gradient)

    def settle(self, values: Sequence[Value]) -> Use:
        """Let gradients of some values count together; how they do."""
        there = [v for v in values if v in self._reverse.gradients]
        uses = [self.of(v) for v in there]
        if all(u.flag is uses[0].flag for u in uses):
            return Use(uses[0].flag, any(u.spoilt for u in uses)) if uses else ALWAYS
        for value in there:
            self.clean(value)
        return Use(self.either([u.flag for u in uses]))

    def clean(self, value: Value) -> Any:
        """The gradient of a value, zeros where it does not count."""
        reverse = self._reverse
        use = self.of(value)
        if use.spoilt:
            reverse.gradients[value] = self._zeros_unless(reverse.gradients[value], use)
            self._of[value] = Use(use.flag)
        return reverse.gradient(value)

    def _zeros_unless(self, gradient: Any, use: Use) -> Any:
        if use.flag is True or not use.spoilt:
            return gradient
        trace = self._reverse.trace
        return make_symbolic(zeros_unless(trace, trace.value_of(gradient), use.flag))

    # ---- flags

    def either(self, flags: Iterable[Any]) -> Any:
        """Whether one of some flags is set."""
        found = {id(f): f for f in flags if f is not False}
        if any(f is True for f in found.values()):
            return True
        made: Any = False
        for flag in found.values():
            made = flag if made is False else self._once("or", tx.logical_or, made, flag)
        return made

    def chosen(self, test: Value, then: Any, other: Any) -> Any:
        """One of two plain flags, as a condition says."""
        if then is other:
            return then
        known = self._reverse.tensor(test)
        return known if then else self._once("not", tx.logical_not, known)

    def value(self, flag: Any) -> Value:
        """A flag as a value of the graph."""
        if isinstance(flag, bool):
            flag = tx.full((), flag, dtype=bool_)
        return self._reverse.trace.value_of(flag)

    def _once(self, name: str, operator: Any, *args: Any) -> Any:
        key = (name, *map(id, args))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (operator(*args), args)  # keeps them alive
        return found[0]


def zeros_unless(trace: Trace, gradient: Value, flag: Any) -> Value:
    """A gradient, or zeros where a flag says that it does not count."""
    (type,) = closed_types([gradient.type])
    with Trace("counts") as counts:
        given = counts.input("g", type)
        counts.graph.outputs = [counts.value_of(given)]
    with Trace("counts_not") as counts_not:
        given = counts_not.input("g", type)
        zeros = tx.zeros(tuple(type.shape), dtype=type.dtype)
        counts_not.graph.outputs = [counts_not.value_of(zeros)]
    test = trace.value_of(flag)
    (made,) = record(trace, COND, test, counts.finish(), counts_not.finish(), [gradient])
    return made


def spoils(node: Node) -> bool:
    """Whether the way back through a node could make something else than zeros of zeros."""
    if node.op.kind == "control":
        return True
    return any(reads_values(node, sources) for _, _, sources in gradient_rules(node.op))


def reads_values(node: Node, sources: Sequence[tuple[str, int]]) -> bool:
    """Whether a gradient rule multiplies by something that may be infinite."""
    pointwise = node.op.kind == "pointwise"
    return any(
        kind == "output" or (kind == "input" and not _is_harmless(node.args[at], pointwise))
        for kind, at in sources
    )


def _is_harmless(argument: Any, pointwise: bool) -> bool:
    """Whether an argument is a plain number, or says only where something is."""
    if isinstance(argument, float | complex) or (pointwise and isinstance(argument, int)):
        return math.isfinite(abs(argument)) and argument != 0
    if isinstance(argument, list | tuple):
        return all(_is_harmless(a, pointwise) for a in argument)
    if not isinstance(argument, Value):
        return True
    dtype = argument.type.dtype
    return dtype is bool_ or not (pointwise or dtype.is_floating_point or dtype.is_complex)
