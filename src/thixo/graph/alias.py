"""Views and writes in a pure graph.

Inside of a graph nothing is written. A symbolic tensor is a box that denotes a value; a write makes a
new value and points the box at it. Views share boxes' fate: a write through a view is put back into
what it is a view of, up to the root, and every living view of that root is looked at anew.
"""

import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.errors import DTypeError, ShapeError, ThixoError, TraceError, describe
from thixo.graph.ir import Node, same_shape
from thixo.ops.base import Spec
from thixo.ops.view_strided import Memory
from thixo.shape import contiguous_strides


class ViewRecord:
    """How a symbolic tensor came to be a view: the operator and its arguments."""

    __slots__ = ("args", "op", "output", "parent", "ref")

    def __init__(self, tensor: Any, op: Any, args: Sequence[Any], output: int) -> None:
        self.ref = weakref.ref(tensor)
        self.op = op
        self.parent = args[0]
        self.args = tuple(args[1:])
        self.output = output  # which of the operator's results it is

    def look_again(self) -> Any:
        """The view of what the parent is now."""
        positional, named = _call(self.op, (self.parent, *self.args))
        made = self.op.operator(*positional, **named)
        return made[self.output] if isinstance(made, tuple | list) else made


class Aliases:
    """Who is a view of whom in one trace; with those of a trace around it, which stay as they are."""

    def __init__(self, trace: Any, outer: "Aliases | None" = None) -> None:
        self.trace = trace
        self.records: dict[int, ViewRecord] = {}  # id of a view that was made in this trace
        self.families: dict[int, list[ViewRecord]] = {}  # id of a root -> those views, oldest first
        # This one and those around it, the innermost first: what is known there is not copied.
        self.levels: tuple[Aliases, ...] = (self, *(() if outer is None else outer.levels))
        self.looking_again = False
        self.before_write: Callable[[Any], None] | None = (
            None  # asked with the root of what is written
        )

    def results(self, op: Any, args: Sequence[Any], node: Node) -> list[Any]:
        """The symbolic tensors of a node's results, remembered where they are views."""
        from thixo.graph.trace import make_symbolic

        if not self._is_view(op, args, node):
            return [make_symbolic(v) for v in node.outputs]
        tensors = []
        for output, value in enumerate(node.outputs):
            tensor = make_symbolic(value, _view_strides(op, args, node))
            tensors.append(tensor)
            if not self.looking_again:
                self._remember(tensor, ViewRecord(tensor, op, args, output))
        return tensors

    def _is_view(self, op: Any, args: Sequence[Any], node: Node) -> bool:
        if not args or not isinstance(args[0], _core.Tensor):
            return False
        if op.kind == "view":
            return True
        return op.full_name == "reshape" and _view_strides(op, args, node) is not None

    def _remember(self, tensor: Any, record: ViewRecord) -> None:
        key, root = id(tensor), id(self._root(record.parent))
        family = self.families.setdefault(root, [])
        self.records[key] = record
        family.append(record)

        def forget(_: Any) -> None:
            if self.records.get(key) is record:
                del self.records[key]
            if record in family:
                family.remove(record)
            if not family and self.families.get(root) is family:
                del self.families[root]

        record.ref = weakref.ref(tensor, forget)

    def record_of(self, tensor: Any) -> ViewRecord | None:
        """How a tensor came to be a view, here or around; None if it is none."""
        key = id(tensor)
        for level in self.levels:
            record = level.records.get(key)
            if record is not None and record.ref() is tensor:  # not one that had this id before
                return record
        return None

    def views_of(self, root: Any) -> list[ViewRecord]:
        """All views of a root, oldest first."""
        key = id(root)  # a record keeps its root alive: nobody else has this id
        return [view for level in reversed(self.levels) for view in level.families.get(key, ())]

    def _root(self, tensor: Any) -> Any:
        record = self.record_of(tensor)
        while record is not None:
            tensor = record.parent
            record = self.record_of(tensor)
        return tensor

    def memory_of(self, tensor: Any) -> Memory:
        """Where a tensor lies in the memory of what it is a view of."""
        record = self.record_of(tensor)
        if record is None:
            return Memory(tensor, contiguous_strides(tensor.shape), 0)
        base, strides, offset = self.memory_of(record.parent)
        shape = tuple(record.parent.shape)
        if base.dtype is tensor.dtype and record.op.full_name != "reshape":
            found = record.op.geometry(shape, strides, offset, *record.args)
            return Memory(base, tuple(found[1]), found[2])
        if base.dtype is tensor.dtype and strides == contiguous_strides(shape):
            return Memory(base, contiguous_strides(tensor.shape), offset)
        raise TraceError(
            f"trace: where {describe(tensor)} lies, a {record.op.full_name} of {describe(record.parent)}, is not "
            "known; call contiguous first"
        )

    # ---- writing

    def write(self, op: Any, args: Sequence[Any]) -> None:
        """An in-place operator: the functional result becomes what its first argument denotes."""
        target = args[0]
        root = self._root(target)

        def before(a: Any) -> Any:
            # The tape keeps arguments: it must keep what they were, not what the write makes of them.
            if isinstance(a, _core.Tensor):
                return self._ghost(a) if self._root(a) is root else a
            return type(a)(map(before, a)) if isinstance(a, list | tuple) else a

        positional, named = _call(op, [before(a) for a in args])
        result = op.operator(*positional, **named)
        self.assign(target, _fitted(op, result, target))

    def assign(self, target: Any, result: Any) -> None:
        """Let a tensor denote a new value, and with it all that shares its memory."""
        if self.before_write is not None:
            self.before_write(self._root(target))
        self._refuse_shared_capture(target)
        node, current = target, result
        record = self.record_of(node)
        while record is not None:
            node, current = record.parent, self._put_back(record, current)
            record = self.record_of(node)
        self._point(node, current)
        self.looking_again = True
        try:
            for view in self.views_of(node):
                tensor = view.ref()
                if tensor is not None:
                    self._point(tensor, view.look_again())
        finally:
            self.looking_again = False

    def _point(self, tensor: Any, new: Any) -> None:
        if tensor._value is None:
            self.trace.value_of(tensor)  # a captured tensor: a constant first, then changed
        if _core.is_grad_enabled():
            _core.become(tensor, new)
        else:
            _core.set_value(tensor, new._value)

    def _ghost(self, tensor: Any) -> Any:
        """The same value and history in a box of its own, which no later write will reach."""
        from thixo.graph.trace import make_symbolic

        ghost = make_symbolic(self.trace.value_of(tensor))
        if tensor._value is not None:
            _core.become(ghost, tensor)
        return ghost

    def _put_back(self, view: ViewRecord, new: Any) -> Any:
        """The parent after its view became `new`."""
        from thixo.ops import public

        parent, op = self._ghost(view.parent), view.op
        scatter = public.find(f"{op.full_name}_scatter")
        if scatter is not None:
            positional, named = _call(op, (parent, *view.args))
            return scatter(parent, new, *positional[1:], **named)
        inverse = _inverse(op, parent, view.args, new)
        if inverse is None:
            raise TraceError(
                f"trace: a write through {op.full_name} of {describe(parent)} has no pure form; "
                "write to the tensor itself, or to a slice of it"
            )
        return inverse

    def _refuse_shared_capture(self, target: Any) -> None:
        root = self._root(target)
        if root._value is not None and id(root) not in self.trace.constants:
            return
        for other, _ in self.trace.constants.values():
            if other is not root and _share_memory(other, root):
                raise TraceError(
                    f"trace: {describe(root)}, which is written, shares memory with another tensor that "
                    "is captured; capture only one of them"
                )


def _call(op: Any, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    from thixo.graph.operators import call_arguments

    return call_arguments(op, args)


def _fitted(op: Any, result: Any, target: Any) -> Any:
    """A functional result in the shape and dtype of what it is written into."""
    from thixo.ops import public as tx

    name = op.sig.name + "_"
    if result.dtype is not target.dtype:
        if _category(result.dtype) > _category(target.dtype) and op.sig.name != "copy":
            raise DTypeError(
                f"{name}: the result is {result.dtype.short}, which cannot be written into a tensor of "
                f"{target.dtype.short}; use the out-of-place operation"
            )
        result = tx.to(result, target.dtype)
    if not same_shape(tuple(result.shape), tuple(target.shape)):
        try:
            result = tx.expand(result, tuple(target.shape))
        except ThixoError:
            raise ShapeError(
                f"{name}: the result is {describe(result)} and cannot be written into "
                f"{describe(target)}"
            ) from None
    return result


def _category(dtype: Any) -> int:
    return "biufc".index(dtype.kind) - (dtype.kind in "ufc")


def _inverse(op: Any, parent: Any, args: Sequence[Any], new: Any) -> Any:
    """For a view that shows every element once: its gradient rule puts them back."""
    from thixo.shape import numel

    rule = getattr(op, "vjp", None)
    count, whole = numel(tuple(new.shape)), numel(tuple(parent.shape))
    if rule is None or op.full_name == "expand" or count != whole:
        return None
    given = dict(zip((p.name for p in op.sig.params[1:]), args, strict=True))
    given["g"] = new
    given[f"{op.sig.params[0].name}_type"] = Spec(tuple(parent.shape), parent.dtype)
    return rule(**{name: given[name] for name in inspect.signature(rule).parameters})


def _view_strides(op: Any, args: Sequence[Any], node: Node) -> tuple[int, ...] | None:
    """The strides of a view in the example; None for a reshape that is a copy there."""
    from thixo.graph.trace import size_hint

    parent = args[0]
    shape = tuple(size_hint(s) for s in parent.shape)
    strides = _core.hint_strides(parent)
    rest = [_with_hints(a) for a in args[1:]]
    if op.full_name == "reshape":
        from thixo.ops.layout import regroup_strides

        target = tuple(size_hint(s) for s in node.outputs[0].type.shape)
        found = regroup_strides(shape, strides, target)
        return None if found is None else tuple(found)
    return tuple(op.geometry(shape, strides, 0, *rest)[1])


def _with_hints(a: Any) -> Any:
    from thixo.graph.trace import size_hint
    from thixo.symbolic import Dim

    if isinstance(a, Dim):
        return size_hint(a)
    return tuple(map(_with_hints, a)) if isinstance(a, tuple) else a


def _share_memory(a: Any, b: Any) -> bool:
    return _core.shares_memory(a, b)
