"""Passes: functions from graph to graph, run in order, counted, and shown.

>>> graph = tx.jit.trace(lambda x: (x * 1 + x * 1).neg().neg(), tx.ones(3)).graph
>>> result = tx.passes.optimize(graph)
>>> print(result.graph)
graph traced(x: f32[n]) {
  sizes n ~ 3
  add: f32[n] = add(x, x)  # ...:1
  return add
}
>>> result.counts["simplify"]
2
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from thixo import progress
from thixo.errors import ArgumentError, GraphError, describe
from thixo.graph.ir import Graph
from thixo.graph.verify import Known, verify

PASSES: "dict[str, Pass]" = {}  # in the order in which they were declared


@dataclass(frozen=True)
class Firing:
    """One change that a pass made: by which rule, to what, and the user's line of that.

    >>> graph = tx.jit.trace(lambda x: x * 1, tx.ones(3)).graph
    >>> optimize(graph).reports[0].firings[0].rule
    'x * 1 is x'
    """

    rule: str
    node: str
    source: str | None


@dataclass
class Report:
    """What one run of a pass did; the texts are there if they were asked for.

    >>> graph = tx.jit.trace(lambda x: x * 1, tx.ones(3)).graph
    >>> report = optimize(graph, show=True).reports[0]
    >>> report.name, report.changes, "mul" in report.before, "mul" in report.after
    ('simplify', 1, True, False)
    """

    name: str
    changes: int
    firings: list[Firing]
    before: str | None = None
    after: str | None = None


@dataclass
class Optimized:
    """A graph after its passes, and what each of them did.

    >>> graph = tx.jit.trace(lambda x: x.exp() + x.exp(), tx.ones(3)).graph
    >>> optimize(graph).counts
    {'common': 1, 'fuse': 1}
    """

    graph: Graph
    reports: list[Report] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many changes each pass made."""
        found: dict[str, int] = {}
        for report in self.reports:
            found[report.name] = found.get(report.name, 0) + report.changes
        return found


class Pass:
    """A named change of graphs. The function works in place and gives the number of its changes."""

    def __init__(
        self,
        name: str,
        function: Callable[[Graph, list[Firing]], int],
        last: bool = False,
        first: bool = False,
    ) -> None:
        self.name = name
        self.function = function
        self.last = last
        self.first = first
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<pass {self.name}: {(self.__doc__ or '').splitlines()[0]}>"


def graph_pass(
    name: str, last: bool = False, first: bool = False
) -> Callable[[Callable[[Graph, list[Firing]], int]], Pass]:
    """Declare a pass; the last ones run once, when the others find nothing more to do, and so do the first, before them."""

    def declare(function: Callable[[Graph, list[Firing]], int]) -> Pass:
        if name in PASSES:
            raise ArgumentError(f"passes: there is a pass {name!r} already")
        PASSES[name] = Pass(name, function, last, first)
        return PASSES[name]

    return declare


ROUNDS = 8  # passes make work for one another; a graph that still changes then has a rule that undoes another


def optimize(
    graph: Graph,
    *,
    off: Iterable[str] = (),
    only: Sequence[str] | None = None,
    show: bool = False,
    budget: int | float | None = None,
) -> Optimized:
    """Run the passes on a copy of a graph until nothing changes; `off` leaves some out by name.

    With `show` the reports have the text before and after each pass that changed something. With a `budget` of memory,
    in bytes or as a part of the peak, cheap values are computed again in place of being kept (recompute.py).

    >>> graph = tx.jit.trace(lambda x: x.neg().neg(), tx.ones(3)).graph
    >>> len(optimize(graph).graph.nodes), len(optimize(graph, off=["simplify", "fuse"]).graph.nodes)
    (0, 2)
    """
    if not isinstance(graph, Graph):
        raise ArgumentError(
            f"optimize: needs a graph.Graph, got {describe(graph)}; a Session optimises a declared graph itself"
        )
    need_known([*off, *(only or ())])
    left_out = set(off)
    chosen = [p for n, p in PASSES.items() if n not in left_out and (only is None or n in only)]
    again = None if "recompute" in left_out else budget
    plan = _Plan(chosen, budget is None, again, show)
    with suppress(Exception):
        result = _optimized(graph, plan, verified=False)
        if result.reports:
            verify(result.graph)
        if _signature(result.graph) == _signature(graph):
            return result
    # Something is broken. Which pass broke it is found by looking after each of them.
    return _optimized(graph, plan, verified=True)


@dataclass
class _Plan:
    """Which passes run and how."""

    chosen: list[Pass]
    first: bool  # those that come before the others run too
    budget: int | float | None  # of memory, where values may be computed again
    show: bool


def _optimized(graph: Graph, plan: _Plan, verified: bool) -> Optimized:
    result = Optimized(graph.copy())
    signature = _signature(graph) if verified else None
    known: Known = {}
    found_nothing: dict[Pass, int] = {}  # after how many reports a pass did

    def run(one: Pass) -> int:
        if found_nothing.get(one) == len(result.reports):
            return 0  # and nothing has changed since
        report = _run(one, result.graph, plan.show)
        if report.changes:
            result.reports.append(report)
            if verified:
                try:
                    verify(result.graph, known)
                except GraphError as error:
                    raise GraphError(f"pass {one.name}: {error}") from None
                if _signature(result.graph) != signature:
                    raise GraphError(f"pass {one.name}: changed the type of graph {graph.name}")
        else:
            found_nothing[one] = len(result.reports)
        return report.changes

    for one in plan.chosen:
        if one.first and plan.first:
            run(one)
    for _ in range(ROUNDS):
        if sum([run(one) for one in plan.chosen if not one.last and not one.first]):
            continue
        closing = [p for p in plan.chosen if p.last]
        if any(p.name == "repeats" for p in plan.chosen):
            closing.append(_put_in_place())
        if plan.budget is not None:
            closing.append(_recompute(plan.budget))  # last: fusion would join what is made twice
        for one in closing:
            run(one)
        return result
    last = {r.name: r.firings[-1].rule for r in result.reports[-len(plan.chosen) :] if r.firings}
    raise GraphError(
        f"passes: graph {graph.name} still changes after {ROUNDS} rounds; the last rules were "
        + ", ".join(f"{rule} ({name})" for name, rule in last.items())
    )


def _put_in_place() -> Pass:
    from thixo.passes.repeats import put_in_place

    return Pass("repeats", put_in_place, last=True)


def _recompute(budget: int | float) -> Pass:
    from thixo.passes.recompute import recompute

    def within_budget(graph: Graph, firings: list[Firing]) -> int:
        """Compute cheap values again in place of keeping them."""
        return recompute(graph, budget, firings)

    return Pass("recompute", within_budget, last=True)


def need_known(names: Iterable[str]) -> None:
    """Refuse names that no pass has."""
    for name in names:
        if name not in PASSES and name != "recompute":
            raise ArgumentError(f"passes: there is no pass {name!r}; they are {', '.join(PASSES)}")


def _run(one: Pass, graph: Graph, show: bool) -> Report:
    before = str(graph) if show else None
    firings: list[Firing] = []
    progress.step(f"pass {one.name}")
    changes = one.function(graph, firings)
    return Report(one.name, changes, firings, before, str(graph) if show else None)


def _signature(graph: Graph) -> Any:
    return (
        [v.type for v in graph.inputs],
        [v.type for v in graph.outputs],
        [(k.name, v.type) for k, v in graph.mutations.items()],
    )
