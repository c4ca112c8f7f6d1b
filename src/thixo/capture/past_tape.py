"""Writes that the tape does not know of: those under no_grad, and to a leaf's data.

A tensor that is written so keeps its history: gradients of the new value go where those of the old one went.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thixo import _core
from thixo.errors import InplaceError, describe
from thixo.graph.alias import Aliases
from thixo.graph.own_gradient import passed_to
from thixo.graph.own_memory import OwnMemory
from thixo.graph.trace import Trace


class KeepingAliases(Aliases):
    """Tensors keep their history where they are written past the tape."""

    trace: "KeepingTrace"

    def write(self, op: Any, args: Any) -> None:
        with self._unshared(args[0]):
            super().write(op, args)

    def assign(self, target: Any, result: Any) -> None:
        root = self._root(target)
        detached = self._is_detached(target)
        if (
            target is not root
            and target.requires_grad
            and self._is_leaf(root)
            and _core.is_grad_enabled()
        ):
            raise InplaceError(
                f"in-place write: a view of a leaf {describe(root)} that requires grad was about to be changed in place; "
                "do it under no_grad(), or on a clone"
            )
        before = self._with_history(root) if self._is_past_tape(target) else []
        enabled = _core.set_grad_enabled(_core.is_grad_enabled() and not detached)
        try:
            with self._unshared(target):
                super().assign(target, result)
        finally:
            _core.set_grad_enabled(enabled)
        for tensor, value in before:  # the tape does not know of the write
            self.trace.renewed[tensor._value] = value
            self.trace._ungraded.add(tensor._value)

    def _is_leaf(self, root: Any) -> bool:
        """Whether it is a leaf of the tape for Python, too: an argument that was computed outside is none."""
        return root.requires_grad and root.is_leaf and id(root) not in self.trace.branched

    def _is_detached(self, tensor: Any) -> bool:
        """Whether it is the memory of another one without its history, or a view of such."""
        record = self.record_of(tensor)
        while record is not None:
            if record.op.full_name == "detach":
                return True
            record = self.record_of(record.parent)
        return False

    def _is_past_tape(self, target: Any) -> bool:
        """Whether a write leaves the history of the memory's owner as it is: under no_grad, by detach() or .data, and always for a leaf."""
        root = self._root(target)
        past = not _core.is_grad_enabled() or self._is_detached(target)
        return self._is_leaf(root) or (self._has_history(root) and past)

    @contextmanager
    def _unshared(self, target: Any) -> Iterator[None]:
        """Values that a write past the tape makes have the tensor's history: nobody else gets them."""
        kept = self.trace.numbers
        if self._is_past_tape(target):
            self.trace.numbers = None
        try:
            yield
        finally:
            self.trace.numbers = kept

    def _with_history(self, root: Any) -> list[tuple[Any, Any]]:
        """Those of a tensor and its views that require gradients, and what they denote."""
        members = [root, *(view.ref() for view in self.views_of(root))]
        living = [t for t in members if t is not None and self._has_history(t)]
        return [(t, self.trace.value_of(t)) for t in living]

    def _has_history(self, tensor: Any) -> bool:
        return tensor.requires_grad

    def _put_back(self, view: Any, new: Any) -> Any:
        parent = view.parent
        if view.op.full_name == "detach" and (parent.is_leaf or not parent.requires_grad):
            return new  # it is the same memory, and there is no history that would not know
        return super()._put_back(view, new)


class KeepingTrace(Trace):
    """A trace in which tensors keep their history where they are written past the tape."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.aliases = KeepingAliases(self)
        self.renewed: dict[Any, Any] = {}  # what tensors became past the tape, and what they were
        self._passed: dict[Any, Any] = {}
        self.branched: set[int] = set()  # ids of inputs that are no leaves of the tape outside

    def known_to_the_tape(self, value: Any) -> Any:
        """What a tensor was when it was last written with gradients on."""
        while value in self.renewed:
            value = self.renewed[value]
        return value

    def _with_gradient_cut(self, value: Any) -> Any:
        """A tensor that was written under no_grad keeps the history that it had."""
        if value not in self.renewed:
            return super()._with_gradient_cut(value)
        found = self._passed.get(value)
        if found is None:
            source = super()._with_gradient_cut(self.known_to_the_tape(value))
            found = self._passed[value] = passed_to(self, value, source)
        return found


class WholeTrace(KeepingTrace):
    """The trace of a function, at whose end what is written is written."""

    is_users = True
    _memory: OwnMemory | None = None

    def output(self, tensor: Any) -> Any:
        """Make a tensor a result of the graph, in memory of its own unless it shares that with others in Python."""
        if self._memory is None:
            self._memory = OwnMemory(self)
        value = self._with_gradient_cut(self._memory.value_of(tensor))
        self.graph.outputs.append(value)
        return value

    def shown(self, tensor: Any) -> Any:
        """Make a tensor a result that is only read, for a number or a flag."""
        return super().output(tensor)

    def _record_mutations(self) -> None:
        self.renewed = {}  # what is written is marked as all that was made under no_grad
        super()._record_mutations()
