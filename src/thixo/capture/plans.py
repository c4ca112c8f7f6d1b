"""How the results of a graph become what the function returned, and what it changed."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from thixo import _core
from thixo.capture.effects import kind_of_shown
from thixo.capture.frames import Capture
from thixo.capture.gradients import history
from thixo.capture.journal import Attribute, Content, Global, RequiresGrad, Variable
from thixo.capture.merge import Frozen, attributes, freeze, rebuilt
from thixo.capture.past_tape import WholeTrace
from thixo.capture.paths import PLAIN, Path, path_of
from thixo.capture.refusal import Refused
from thixo.capture.values import (
    TYPES,
    UNSET,
    Choice,
    Maybe,
    Mixed,
    Number,
    Poison,
    Symbolic,
    Text,
    is_partial,
)
from thixo.errors import AutogradError, CaptureError
from thixo.graph.effects import as_kind, shown
from thixo.graph.sizes import symbols_in
from thixo.ops import public as tx
from thixo.symbolic import Dim


class Call:
    """One call of a captured function: its arguments, the graph's results, the sizes."""

    def __init__(self, arguments: list[Any], tensors: list[Any]) -> None:
        self.arguments = arguments
        self.tensors = tensors
        self.outputs: list[Any] = []
        self.sizes: dict[str, int] = {}
        self.made: dict[
            int, Any
        ] = {}  # containers of the result, by what they were while capturing


Maker = Callable[[Call], Any]


@dataclass(frozen=True, eq=False)
class Output:
    """Makes a result of the graph."""

    place: int

    def __call__(self, call: Call) -> Any:
        return call.outputs[self.place]


@dataclass(frozen=True, eq=False)
class OutputNumber:
    """Makes a number of a result of the graph."""

    place: int
    kind: Any

    def __call__(self, call: Call) -> Any:
        return self.kind(call.outputs[self.place].item())


@dataclass(frozen=True, eq=False)
class FreedOutput:
    """Makes a result through which backward has gone already."""

    place: int

    def __call__(self, call: Call) -> Any:
        return without_graph(call.outputs[self.place])


@dataclass(frozen=True, eq=False)
class Given:
    """Makes a tensor of the arguments."""

    place: int

    def __call__(self, call: Call) -> Any:
        return call.tensors[self.place]


@dataclass(frozen=True, eq=False)
class Constant:
    """Makes the same object at each call."""

    value: Any

    def __call__(self, call: Call) -> Any:
        return self.value


class Parts:
    """Makes a container of the result, once for each call."""

    def __init__(self, frozen: Frozen) -> None:
        self.frozen = frozen
        self.parts: list[Maker] = []

    def __call__(self, call: Call) -> Any:
        key, origin = id(self.frozen), self.frozen.origin
        if key not in call.made:
            if isinstance(origin, list | dict | tuple) or attributes(origin) is None:
                call.made[key] = rebuilt(self.frozen, [p(call) for p in self.parts])
            else:
                kind: Any = type(origin)
                new = call.made[key] = kind.__new__(kind)
                for text, part in zip(self.frozen.keys, self.parts, strict=True):
                    object.__setattr__(new, text, part(call))
        return call.made[key]


class Plan:
    """Makes values of a call's results."""

    def __init__(self, capture: Capture, trace: WholeTrace) -> None:
        self.capture = capture
        self.trace = trace
        self._frozen: dict[int, Frozen] = {}
        self._sizes: list[Dim] = []
        self._places: dict[Any, tuple[Any, int]] = {}  # of tensors among the graph's outputs
        self.left: list[tuple[Any, int]] = []  # tensors that are handed out, and their places
        self.replaced: dict[str, Any] = {}  # sizes that turned out to be others

    def of(self, x: Any, what: str) -> Maker:
        """A maker for a value that captured code left."""
        return self._maker(freeze(x, self.capture, self._frozen), what)

    def size_names(self) -> list[str]:
        """The names of sizes that the makers need."""
        known = [size.substitute(self.replaced) for size in self._sizes]
        return sorted({name for size in known for name in symbols_in(size)})

    def _output(self, tensor: Any) -> int:
        """The place of a tensor that is handed out."""
        return self._place(tensor, self.trace.output)

    def _shown(self, tensor: Any) -> int:
        """The place of a tensor that is only read."""
        return self._place(tensor, self.trace.shown)

    def _place(self, tensor: Any, leave: Callable[[Any], Any]) -> int:
        key = id(tensor), leave == self.trace.output
        known = self._places.get(key)
        if known is None:  # one tensor at two places is one object there too
            leave(tensor)
            known = self._places[key] = (tensor, len(self.trace.graph.outputs) - 1)
        return known[1]

    def _maker(self, x: Any, what: str) -> Maker:
        if isinstance(x, Maybe | Poison):
            poison = x if isinstance(x, Poison) else Poison("it is not set on all paths")
            poison.refuse(what)
        if isinstance(x, _core.Tensor):
            return self._tensor(x)
        if isinstance(x, Number):
            place, kind = self._shown(x.tensor), TYPES[x.kind]
            return OutputNumber(place, kind)
        if isinstance(x, Mixed):
            return self._mixed(x)
        if isinstance(x, Choice):
            place, options = self._shown(x.index), [self._maker(o, what) for o in x.options]
            return lambda call: options[int(call.outputs[place])](call)
        if isinstance(x, Text):
            return self._text(x)
        if isinstance(x, Dim):
            self._sizes.append(x)
            return lambda call: _number(x, self.replaced, call.sizes)
        if isinstance(x, _core.Size | slice):
            return self._sizes_of(x, what)
        if isinstance(x, Frozen):
            return self._container(x, what)
        if isinstance(x, Symbolic) or x is UNSET:
            raise Refused(what, f"it is {x!r}", "return tensors and numbers")
        return self._object(x, what)

    def _tensor(self, x: Any) -> Maker:
        for i, given in enumerate(self.trace.inputs):
            if given is x:
                return Given(i)
        path = self.capture.tensors.get(id(x))
        if path is not None and path[0] is x:
            return lambda call: path[1].fetch(call.arguments)
        if x.requires_grad and self._is_freed(x):
            return FreedOutput(self._output(tx.detach(x)))
        if x.requires_grad and self.capture.only_inside is not None:
            raise Refused(
                "a result with gradients", self.capture.only_inside, "return x.detach(), or take gradients inside"
            )  # fmt: skip
        place = self._output(x)
        self.left.append((x, place))
        if self.capture.asked and x.requires_grad:
            return lambda call: _need_gradient(call.outputs[place])
        return Output(place)

    def _sizes_of(self, x: Any, what: str) -> Maker:
        """A shape or a slice, whose numbers may be known only when the program runs."""
        is_slice = isinstance(x, slice)
        numbers = (x.start, x.stop, x.step) if is_slice else tuple(x)
        parts = [self._maker(n, f"a part of {what}") for n in numbers]
        if is_slice:
            return lambda call: slice(*(p(call) for p in parts))
        return lambda call: _core.Size([p(call) for p in parts])

    def _is_freed(self, x: Any) -> bool:
        """Whether backward has gone through what a tensor was computed from."""
        freed = self.capture.freed
        if not freed:
            return False
        needed = {self.trace.value_of(x)}
        for node in reversed(self.trace.graph.nodes):
            # Behind what is detached, no gradient asks for anything.
            if node.op.full_name != "detach" and not needed.isdisjoint(node.outputs):
                needed.update(history(node))
        return not needed.isdisjoint(freed)

    def _text(self, x: Text) -> Maker:
        """Text with values in it."""
        parts: list[Any] = []
        for part in x.parts:
            if isinstance(part, str):
                parts.append(part)
            else:
                kind, tensor = kind_of_shown(part[0])
                parts.append((self._shown(tensor), kind, *part[1:]))

        def make(call: Call) -> str:
            made = ""
            for part in parts:
                if isinstance(part, str):
                    made += part
                else:
                    place, kind, conversion, spec = part
                    made += shown(as_kind(call.outputs[place], kind), conversion, spec)
            return made

        return make

    def _mixed(self, x: Mixed) -> Maker:
        place, flag = self._output(x.tensor), self._shown(x.flag.tensor)
        kind = TYPES.get(x.kind)

        def make(call: Call) -> Any:
            if not bool(call.outputs[flag]):
                return call.outputs[place]
            return None if kind is None else kind(call.outputs[place].item())

        return make

    def _container(self, x: Frozen, what: str) -> Maker:
        origin = x.origin
        if not isinstance(origin, tuple):
            path = path_of(self.capture, origin)
            if path is not None:
                return lambda call: path.fetch(call.arguments)
        key, make = id(x), Parts(x)
        known = self._known.get(key)
        if known is not None:
            return known
        self._known[key] = make
        if type(origin) in (list, dict, defaultdict) and any(isinstance(p, Maybe) for p in x.parts):
            self._known[key] = self._ragged(x, what)
            return self._known[key]
        make.parts += [self._maker(p, f"a part of {what}") for p in x.parts]
        return make

    def _ragged(self, x: Frozen, what: str) -> Maker:
        """A list or a dict of which the data decide what is in it."""
        pairs: list[tuple[int | None, Maker]] = []
        for p in x.parts:
            flag = self._shown(p.flag.tensor) if isinstance(p, Maybe) else None
            pairs.append(
                (flag, self._maker(p.value if isinstance(p, Maybe) else p, f"a part of {what}"))
            )

        def make(call: Call) -> Any:
            if id(x) not in call.made:
                there = [flag is None or bool(call.outputs[flag]) for flag, _ in pairs]
                made = [m(call) for one, (_, m) in zip(there, pairs, strict=True) if one]
                if isinstance(x.origin, dict):
                    kept = Frozen(x.origin, [k for o, k in zip(there, x.keys, strict=True) if o])
                    call.made[id(x)] = rebuilt(kept, made)
                else:
                    call.made[id(x)] = made
            return call.made[id(x)]

        return make

    @property
    def _known(self) -> dict[int, Maker]:
        return self.__dict__.setdefault("_makers", {})

    def _object(self, x: Any, what: str) -> Maker:
        path = path_of(self.capture, x)
        if path is not None:
            return lambda call: path.fetch(call.arguments)
        if isinstance(x, FunctionType):
            raise Refused(
                what, "a function that was made inside would outlive the call", "make it outside"
            )
        if is_partial(x):
            pairs = [(e.value, self._shown(e.flag.tensor)) for e in x if isinstance(e, Maybe)]
            sure = frozenset(e for e in x if not isinstance(e, Maybe))
            return lambda call: set(sure) | {e for e, flag in pairs if bool(call.outputs[flag])}
        if isinstance(x, set):
            if not all(isinstance(e, PLAIN) for e in x):
                raise Refused(what, "a set of other than plain values", "use a tuple")
            kept = frozenset(x)
            return lambda call: set(kept)
        if id(x) in self.capture.created or hasattr(x, "__next__"):
            raise Refused(
                what, f"a {type(x).__name__} cannot outlive the call", "return tensors and numbers"
            )
        return Constant(x)


class _Freed:
    """The node of a result through which backward has gone already."""

    _name = "FreedBackward"

    def _run_backward(self, gradients: Any) -> Any:
        raise AutogradError(
            "backward: the graph was already freed by an earlier backward, inside of a captured function; "
            "pass retain_graph=True to the earlier one"
        )


_freed = _Freed()


def without_graph(tensor: Any) -> Any:
    """A result that has a history no more: it says so, as it does in eager mode."""
    if _core.is_grad_enabled():
        anchor = tx.zeros((), dtype=tensor.dtype).requires_grad_()
        node = _core.function_node(_freed, (anchor,))
        _core.save_function(node, (), ())
        _core.attach_function(node, (tensor,), (True,), (-1,))
    return tensor


def _need_gradient(tensor: Any) -> Any:
    """Python's result would have gradients, by a requires_grad_() inside; a graph's has those of its inputs only."""
    if _core.is_grad_enabled() and not tensor.requires_grad:
        raise CaptureError(
            "script: a result is made of a tensor that requires_grad_() was called of inside: a graph has no tape; "
            "call it outside, or return x.detach()"
        )
    return tensor


def _number(size: Dim, replaced: dict[str, Any], sizes: dict[str, int]) -> int:
    known = size.substitute(replaced)
    return known.evaluate(sizes) if isinstance(known, Dim) else known


class Change:
    """Something that the function changes for good: whose it is, and what it becomes."""

    def __init__(self, text: str, apply: Callable[[Call, Any], None], maker: Maker) -> None:
        self.text = text
        self.how = apply
        self.maker = maker

    def value(self, call: Call) -> Any:
        """What it becomes; computed before anything is changed."""
        return self.maker(call)

    def apply(self, call: Call, value: Any) -> None:
        self.how(call, value)

    def __repr__(self) -> str:
        return f"<change of {self.text}>"


def changes(capture: Capture, plan: Plan) -> list[Change]:
    """What the journal says is left changed, as changes to make at each call."""
    found = []
    for key, (cell, before) in list(capture.journal.levels[0].items()):
        now = cell.read()
        if id(cell.owner) in capture.created and not isinstance(cell, Variable):
            continue
        if isinstance(cell, RequiresGrad) and now == before:
            continue
        path = capture.outside.get(key) or path_of(capture, cell.owner)
        if path is None:
            if isinstance(cell, Content):
                continue  # made inside by code that is not converted, or a part of a merged value
            raise Refused(
                f"a change of {cell}", "it is not known where it belongs", "return the new value"
            )
        found.append(_change(capture, plan, cell, path, before, now))
    return found


def _change(capture: Capture, plan: Plan, cell: Any, path: Path, before: Any, now: Any) -> Change:
    what = f"a change of {cell}"
    if isinstance(now, Poison):
        now.refuse(what)
    if isinstance(cell, Content):
        if isinstance(now, list) and id(cell.owner) not in capture.looked:
            if len(now) >= len(before) and all(a is b for a, b in zip(before, now, strict=False)):
                maker = plan.of(now[len(before) :], what)
                return Change(
                    str(path), lambda call, new: path.fetch(call.arguments).extend(new), maker
                )
        maker = plan.of(now, what)
        return Change(str(path), lambda call, new: _refill(path.fetch(call.arguments), new), maker)
    if now is UNSET:
        return Change(str(path), lambda call, new: _set(cell, path, call, UNSET), lambda call: None)
    return Change(f"{path}.{cell}", SetCell(cell, path), plan.of(now, what))


@dataclass(frozen=True, eq=False)
class SetCell:
    """Sets an attribute, a gradient or a variable."""

    cell: Any
    path: Path

    def __call__(self, call: Call, new: Any) -> None:
        _set(self.cell, self.path, call, new)


@dataclass(frozen=True, eq=False)
class AddOne:
    """Adds one to counts that an object has."""

    path: Path
    counts: Callable[[Any], list[Any]]

    def __call__(self, call: Call, new: Any) -> None:
        was = _core.set_grad_enabled(False)
        try:
            for count in self.counts(self.path.fetch(call.arguments)):
                count.add_(1)
        finally:
            _core.set_grad_enabled(was)


def _refill(container: Any, new: Any) -> None:
    new = dict(new) if isinstance(container, dict) else list(new)
    container.clear()
    if isinstance(container, dict | set):
        container.update(new)
    else:
        container.extend(new)


def _set(cell: Any, path: Path, call: Call, new: Any) -> None:
    owner = path.fetch(call.arguments)
    if isinstance(cell, Attribute):
        if isinstance(owner, type):
            setattr(owner, cell.name, new) if new is not UNSET else delattr(owner, cell.name)
        else:
            type(cell)(owner, cell.name).write(new)
    elif isinstance(cell, Global):
        Global(owner, cell.name).write(new)
    else:
        Variable(cell.owner, cell.name).write(new)
