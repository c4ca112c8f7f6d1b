"""Which gradients count, while the tape takes them inside of what is recorded.

A branch that is not taken sends back zeros here, and nothing in Python. So the gradients of one pass have flags, as those that
graphs are differentiated with (`autodiff/used.py`): nodes with graphs in them say which of their inputs a path has used, operators
hand that on, and what does not count is taken for zeros where it meets others or is a result.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thixo import _core
from thixo.autodiff.depending import has_gradient
from thixo.autodiff.used import ALWAYS, Use, spoils, zeros_unless
from thixo.autograd.backward import let_traces_run
from thixo.capture.refusal import Refused
from thixo.graph.ir import Node, Value
from thixo.graph.trace import Trace, current_trace, make_symbolic
from thixo.ops import public as tx

_PRODUCTS = ("mul", "div")  # of a gradient and of what is none


class Counting:
    """The flags of one pass. The keys are values of gradients; all others are what rules multiply by."""

    def __init__(self, trace: Trace, at_once: bool, before: Sequence[Any] = ()) -> None:
        self.trace = trace
        self.began = False
        self._before = {id(t): t for t in before if t is not None}
        # Gradients that have a history themselves are made zeros as soon as a node gets them: the history knows it then.
        self._at_once = at_once
        self._uses: dict[Value, Use] = {}
        self._either: dict[tuple[int, ...], tuple[Any, Any]] = {}
        self.tensors: dict[
            Value, Any
        ] = {}  # one for each value of a flag, so that equal flags are one

    def of(self, gradient: Any) -> Use:
        """How a gradient counts."""
        return self._uses.get(gradient._value, ALWAYS)

    def note(self, gradient: Any, use: Use) -> None:
        """Say how a gradient counts that a node with graphs in it has made."""
        self._uses[gradient._value] = use

    def clean(self, gradient: Any) -> Any:
        """A gradient, zeros where it does not count."""
        use = self.of(gradient)
        if use.flag is True or not use.spoilt:
            return gradient
        trace, goes_on = self.trace, _core.is_grad_enabled()
        with self.paused():
            value = trace.value_of(gradient)
            given = trace._with_gradient_cut(value) if goes_on else value
            made = zeros_unless(trace, given, use.flag)
            cleaned = make_symbolic(made)
            if goes_on:
                self._attach(given, gradient, cleaned)
            elif trace.cuts:
                trace._ungraded.add(made)
        self._uses[made] = Use(use.flag)
        return cleaned

    def _attach(self, value: Value, gradient: Any, cleaned: Any) -> None:
        from thixo.capture.tape import attach

        node = self.trace.graph.nodes[-1]
        attach(self.trace, node, {value: gradient}, [cleaned], [has_gradient(cleaned.dtype)])

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record what is no gradient."""
        before, self.trace.counting = self.trace.counting, None
        try:
            yield
        finally:
            self.trace.counting = before

    # ---- what a trace asks

    def arrived(self, gradient: Any) -> Any:
        """A gradient that a node of the tape gets."""
        if gradient._value is None:
            return gradient
        self._uses.setdefault(gradient._value, ALWAYS)
        return self.clean(gradient) if self._at_once else gradient

    def meet(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of an operator: gradients that count in other cases become zeros where they do not."""
        uses = self._met(op, args)
        if len({id(u.flag) for u in uses}) < 2 or not any(u.spoilt for u in uses):
            return args
        if _core.is_grad_enabled():
            raise Refused(
                "gradients of gradients",
                f"{op.full_name} joins gradients of results that different paths use",
                "take them outside of what is captured",
            )

        def cleaned(a: Any) -> Any:
            if isinstance(a, _core.Tensor):
                return self.clean(a)
            return type(a)(map(cleaned, a)) if isinstance(a, list | tuple) else a

        return [cleaned(a) for a in args]

    def made(self, args: Sequence[Any], node: Node) -> None:
        """Note what an operator has made of gradients."""
        uses = self._met(node.op, args)
        if not uses:
            return
        flag = self.either([u.flag for u in uses])
        use = ALWAYS
        if flag is not True:
            mixed = len({id(u.flag) for u in uses}) > 1
            spoilt = not mixed and any(u.spoilt for u in uses)
            use = Use(flag, spoilt or _spoils(node, len(uses)))
        for value in node.outputs:
            self._uses[value] = use

    def _met(self, op: Any, args: Sequence[Any]) -> list[Use]:
        found = []
        for tensor in _tensors(args):
            use = self._uses.get(tensor._value)
            if use is None and id(tensor) in self._before:
                use = ALWAYS
            if use is not None:
                found.append(use)
        if len(found) > 1 and op.full_name in _PRODUCTS:
            return [u for u in found if u.flag is not True] or found
        return found

    def either(self, flags: Sequence[Any]) -> Any:
        """Whether one of some flags is set."""
        different = {id(f): f for f in flags if f is not False}
        if any(f is True for f in different.values()) or not different:
            return bool(different)
        if len(different) == 1:
            return next(iter(different.values()))
        key = tuple(sorted(different))
        found = self._either.get(key)
        if found is None:
            with self.paused():
                first, *others = different.values()
                for other in others:
                    first = tx.logical_or(first, other)
            found = self._either[key] = (first, different)  # keeps them alive
        return found[0]


def _tensors(args: Sequence[Any]) -> Iterator[Any]:
    for a in args:
        if isinstance(a, _core.Tensor):
            yield a
        elif isinstance(a, list | tuple):
            yield from _tensors(a)


def _spoils(node: Node, count: int) -> bool:
    """Whether an operator could make something else than zeros of gradients that are zeros."""
    tensors = [a for a in node.args if isinstance(a, Value)]
    if node.op.kind == "pointwise" and (len(tensors) > count or node.op.full_name not in _LINEAR):
        return True
    return spoils(node)


_LINEAR = ("add", "sub", "neg", "mul", "div", "cast", "clone", "real", "conj")


@contextmanager
def counting(at_once: bool, before: Sequence[Any] = ()) -> Iterator[Counting]:
    """Let gradients of the next pass have flags, in the current trace; `before`: what is there already and is added to."""
    trace = current_trace()
    assert trace is not None
    outer, trace.counting = trace.counting, Counting(trace, at_once, before)
    try:
        yield trace.counting
    finally:
        trace.counting = outer


def _pass(
    roots: Any, seeds: Any, inputs: Any, accumulates: bool, keep: bool, create_graph: bool
) -> Any:
    """A pass of the tape while a graph is recorded."""
    trace = current_trace()
    args = (roots, seeds, inputs, accumulates, keep, create_graph)
    if trace is None:
        return _core.backward(*args)
    known = trace.counting
    if known is not None and not known.began:
        known.began = True
        return _core.backward(*args)
    with counting(create_graph or accumulates) as counts:
        counts.began = True
        found = _core.backward(*args)
        if accumulates:
            return found
        return tuple([None if g is None else counts.clean(g) for g in found])


let_traces_run(_pass)
