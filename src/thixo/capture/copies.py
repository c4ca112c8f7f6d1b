"""Tensors that are copies in a graph where Python may have the same tensor under two names.

A row at a place that the data decide, a result of a branch, a variable that a loop carries: for Python each may be another
tensor, or a view of it, and a write to one shows in the other. Here each is a value of its own. So it may not be written, nor
read after what it may be a part of was written.
"""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thixo import _core
from thixo.capture.refusal import Refused
from thixo.capture.values import Mixed
from thixo.graph.trace import current_trace


class Copies:
    """Which tensors may be others for Python."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, dict[int, Any]]] = {}  # id -> the copy, and those by id
        self._stale: dict[int, Any] = {}  # copies of what was written: Python would show the write

    def note(self, copy: Any, others: Sequence[Any]) -> None:
        """Note that a tensor may be one of others for Python, or a view of it."""
        key = id(copy)
        known = self._found.get(key)
        if known is None or known[0]() is not copy:

            def forget(ref: Any) -> None:
                found = self._found.get(key)
                if found is not None and found[0] is ref:
                    del self._found[key]

            known = self._found[key] = (weakref.ref(copy, forget), {})
        for other in others:
            if other is not copy:
                known[1][id(other)] = other

    def others(self, tensor: Any) -> list[Any]:
        """What a tensor may be for Python besides itself."""
        found = self._found.get(id(tensor))
        return list(found[1].values()) if found is not None and found[0]() is tensor else []

    def reached(self, aliases: Any, tensor: Any) -> list[Any]:
        """The tensors that have the memory of this one for Python, or may have it."""
        root = aliases._root(tensor)
        return [root, *self.others(root)]

    def written(self, root: Any) -> None:
        """A tensor is about to be written: refuse copies, and remember those of it."""
        if self.others(root):
            raise Refused(
                "a write to a tensor",
                "it is a row, or one of several tensors, at a place that the data decide",
                "write to a clone() of it",
            )
        for key, (ref, others) in self._found.items():
            if id(root) in others:
                self._stale[key] = ref

    def need_fresh(self, tensor: Any) -> None:
        """Refuse a copy of what Python would show a write in that came meanwhile."""
        if not self._stale:
            return
        trace = current_trace()
        roots = [tensor] if trace is None else [tensor, trace.aliases._root(tensor)]
        for one in roots:
            ref = self._stale.get(id(one))
            if ref is not None and ref() is one:
                raise Refused(
                    "a tensor",
                    "it was taken from another one, at a place that the data decide, which was written since",
                    "take a clone() of it",
                )


def tensor_of(x: Any) -> Any:
    """The tensor that a value is or may be, or None."""
    x = x.tensor if isinstance(x, Mixed) else x
    return x if isinstance(x, _core.Tensor) else None


def is_outside(frame: Any, root: Any) -> bool:
    """Whether a tensor was there before a branch or a turn of a loop."""
    return root._value is None or root._value not in frame._own or id(root) in frame._seen


def note_results(
    copies: Copies, kept: Sequence[tuple[int, Any, Any]], values: Sequence[Any], frames: Any
) -> None:
    """Note results of branches that for Python are tensors which others know too."""
    for side, frame in enumerate(frames):
        left = [(place, tensor_of(pair[side])) for place, *pair in kept]
        tensors = [(place, t) for place, t in left if t is not None]
        own: dict[int, Any] = {}  # made in the branch -> the first result that it is
        for place, t in sorted(tensors, key=lambda one: frame.aliases._root(one[1]) is not one[1]):
            for root in copies.reached(frame.aliases, t):
                if is_outside(frame, root):
                    copies.note(values[place], [root])
                else:
                    first = own.setdefault(id(root), values[place])
                    if first is not values[place]:
                        copies.note(values[place], [first])


class Turns:
    """What the tensors that a loop carries may be for Python: what they were before, what a turn left, in any turn."""

    def __init__(self) -> None:
        self.others: dict[int, dict[int, Any]] = {}  # place -> tensors from outside, by id
        self.together: set[tuple[int, int]] = set()  # places that may be one tensor

    def take(
        self,
        copies: Copies,
        frames: tuple[Any, Any],
        given: Mapping[int, Any],
        left: Mapping[int, Any],
        stands_for: Mapping[int, Any],
    ) -> bool:
        """Look at a turn: tensors before the loop and behind a turn, by place; whether that tells something new.

        What a turn begins with stands for a place, or for a tensor from outside.
        """
        outer, frame = frames
        made: dict[int, set[Any]] = {}  # ids of what a turn made, places that it began with
        others = {p: {id(r): r for r in copies.reached(outer.aliases, t)} for p, t in given.items()}
        for place, t in left.items():
            made[place] = set()
            for root in copies.reached(frame.aliases, t):
                begun = stands_for.get(id(root))
                if isinstance(begun, int):
                    made[place].add(("place", begun))
                elif begun is not None or is_outside(frame, root):
                    base = root if begun is None else begun
                    found = copies.reached(outer.aliases, base)
                    others.setdefault(place, {}).update((id(r), r) for r in found)
                else:
                    made[place].add(("made", id(root)))
        together = {(p, q) for p in made for q in made if p != q and made[p] & made[q]}
        before = {p: {q for kind, q in found if kind == "place"} for p, found in made.items()}
        while True:  # and so in each turn
            size = len(together) + sum(map(len, others.values()))
            for p in made:
                for q in before[p]:
                    others.setdefault(p, {}).update(others.get(q, {}))
            together |= {
                (p, q)
                for p in made
                for q in made
                if p != q and any((i, j) in together for i in before[p] for j in before[q])
            }
            if size == len(together) + sum(map(len, others.values())):
                break
        new = any(id(r) not in self.others.get(p, {}) for p in others for r in others[p].values())
        self.others, self.together = others, together
        return new

    def begin(self, copies: Copies, inputs: Sequence[Any]) -> None:
        """A turn begins with these."""
        for place, others in self.others.items():
            if place < len(inputs):
                copies.note(inputs[place], list(others.values()))

    def end(self, copies: Copies, values: Sequence[Any]) -> None:
        """The loop left these."""
        for place, others in self.others.items():
            copies.note(values[place], list(others.values()))
        for p, q in self.together:
            if p > q:
                copies.note(values[p], [values[q]])


def tensors_by_place(slots: Sequence[Any], parts: Sequence[Iterator[Any]]) -> dict[int, Any]:
    """The tensors among the parts of what a loop carries, by their places among its tensors."""
    found, place = {}, 0
    for slot, given in zip(slots, parts, strict=True):
        for form in slot.forms:
            part = next(given, None)
            if form is None:
                continue
            tensor = tensor_of(part) if form.mode in ("tensor", "mixed") else None
            if tensor is not None:
                found[place] = tensor
            place += form.width
        place += slot.carried_flag
    return found
