"""What the native core changes and returns after the program of a compiled function has run.

What is set to results, constants and numbers is told to the core as a list; all else is done by Python.
"""

from __future__ import annotations

from typing import Any

from thixo import _core
from thixo.capture.compile_places import Places, Unsupported
from thixo.capture.journal import Attribute, Global, Gradient, RequiresGrad, Variable
from thixo.capture.plans import (
    AddOne,
    Constant,
    FreedOutput,
    Given,
    Output,
    OutputNumber,
    Parts,
    SetCell,
    without_graph,
)
from thixo.capture.results import _EAGER, _filled
from thixo.ops import public as tx
from thixo.symbolic import Dim

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS: dict[Any, str] = {list: "list", tuple: "tuple", dict: "dict"}
_NOTHING = ("constant", 0, None, None)


def after(captured: Any, function: Any, watch: Places, given: list[Any], recorded: bool) -> Any:
    """(changes, result) for the core; where that cannot be, a function that does it."""
    results = function._results
    try:
        values = _Values(function, given, recorded)
        changes = [one for change in captured.changes for one in _change(change, values, watch)]
        return changes, values.of(captured.result)
    except Unsupported:
        count = captured.given

    def finish(args: Any, kwargs: Any, tensors: list[Any], computed: list[Any]) -> Any:
        outputs = results.of(computed, tensors)
        return captured.finished(args, kwargs, tensors[:count], outputs, {})

    return finish


def _change(change: Any, values: _Values, watch: Places) -> list[Any]:
    how = change.how
    if isinstance(how, AddOne):
        return [("count", t, None, _NOTHING) for t in watch.counts(how.path, how.counts)]
    if not isinstance(how, SetCell) or isinstance(how.cell, RequiresGrad):
        raise Unsupported
    owner, cell = watch.follow(how.path), how.cell
    new = values.of(change.maker)
    if isinstance(cell, Gradient):
        return [
            ("gradient", values.argument(owner) if how.path.is_of_argument else owner, None, new)
        ]
    if how.path.is_of_argument:
        raise Unsupported
    if isinstance(cell, Variable):
        return [("variable", cell.owner, None, new)]
    if isinstance(cell, Global) and type(owner) is dict:
        return [("entry", owner, cell.name, new)]
    if isinstance(cell, Attribute):
        return [("entry", watch.attribute(owner, cell.name), cell.name, new)]
    raise Unsupported


class _Values:
    """What the core makes of the program's results."""

    def __init__(self, function: Any, given: list[Any], recorded: bool) -> None:
        self._results = function._results
        self._given = given
        self._recorded = recorded
        self._met: set[int] = set()  # containers
        self._seen = [look.place for look in self._results.looks if look.computed]

    def argument(self, tensor: Any) -> int:
        """Where a tensor of the arguments is among the inputs: it is another one at each call."""
        for place, one in enumerate(self._given):
            if one is tensor:
                return place
        raise Unsupported

    def of(self, maker: Any) -> Any:
        """One value."""
        if isinstance(maker, Constant):
            if type(maker.value) not in _PLAIN:
                raise Unsupported
            return ("constant", 0, maker.value, None)
        if isinstance(maker, Given):
            return ("tensor", -1 - maker.place, None, None)
        if isinstance(maker, OutputNumber):
            place, sizes = self._place(maker.place)
            return ("number", place, maker.kind, None)
        if isinstance(maker, Output):
            place, sizes = self._place(maker.place)
            return ("tensor", place, None, sizes)
        if isinstance(maker, FreedOutput):
            place, sizes = self._place(maker.place)
            if not _core.is_grad_enabled():
                return ("tensor", place, None, sizes)
            return ("made", place, without_graph, sizes)
        if isinstance(maker, Parts):
            return self._container(maker)
        raise Unsupported

    def _container(self, maker: Parts) -> Any:
        kind = _CONTAINERS.get(type(maker.frozen.origin))
        if kind is None or id(maker) in self._met:
            raise Unsupported  # of another class, or one object at two places
        self._met.add(id(maker))
        keys = tuple(maker.frozen.keys) if kind == "dict" else ()
        return (kind, [self.of(part) for part in maker.parts], keys)

    def _place(self, output: int) -> tuple[int, Any]:
        """Where a result is among what the program gives, or (negative) among its inputs; the sizes it gets."""
        if output in self._results.others:
            raise Unsupported  # a flag says what it is
        look = self._results.looks[output]
        if not look.computed:
            if look.views:
                raise Unsupported
            return -1 - look.place, None
        views = [n for n in look.views if n.op.full_name != "detach"]
        if look.views and self._recorded:
            raise Unsupported
        if not look.views:
            return look.place, None
        if self._seen.count(look.place) > 1:
            raise Unsupported  # two results share memory
        if not views:
            return look.place, None
        return look.place, self._sizes(look.place, views)

    def _sizes(self, place: int, views: list[Any]) -> tuple[int, ...]:
        """What views make of the sizes of a result, which stay in their order in memory."""
        sizes = self._results.sizes_of(self._given)
        value = self._results.computed[place]
        shape = [s.evaluate(sizes) if isinstance(s, Dim) else s for s in value.type.shape]
        tensor = start = tx.zeros(tuple(shape), dtype=value.type.dtype)
        for node in views:
            (tensor,) = _EAGER.apply(node, [tensor, *(_filled(a, sizes) for a in node.args[1:])])
        if (
            tensor.data_ptr() != start.data_ptr()
            or tensor.numel() != start.numel()
            or not tensor.is_contiguous()
        ):
            raise Unsupported
        return tuple(tensor.shape)
