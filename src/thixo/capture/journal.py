"""One journal for everything captured code changes: attributes, lists, dicts, sets, globals, cells.

Changes are made as the code asks, after what was there has been noted. A branch that was traced is taken back, and what it left is
merged with what the other branch left; at the end all is taken back, and what is left are the effects of the captured function.
"""

from collections import deque
from typing import Any, ClassVar

from thixo.capture.values import UNSET, Poison, Symbolic


class Attribute:
    """An attribute of an object."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self.key = (id(owner), name)

    def _holder(self) -> dict[str, Any] | None:
        state = getattr(self.owner, "__dict__", None)
        if state is None:
            return None
        for table in ("_parameters", "_buffers", "_modules"):  # of a Module
            inner = state.get(table)
            if isinstance(inner, dict) and self.name in inner:
                return inner
        return state

    def read(self) -> Any:
        holder = self._holder()
        if holder is not None and (
            self.name in holder or not hasattr(type(self.owner), "__slots__")
        ):
            return holder.get(self.name, UNSET)
        try:
            return getattr(self.owner, self.name)
        except AttributeError:
            return UNSET

    def write(self, value: Any) -> None:
        holder = self._holder()
        slot: Any = getattr(type(self.owner), self.name, None)
        if hasattr(slot, "__set__") and not isinstance(slot, property):  # of __slots__
            if value is UNSET:
                slot.__delete__(self.owner)
            else:
                slot.__set__(self.owner, value)
        elif value is UNSET:
            assert holder is not None
            holder.pop(self.name, None)
        else:
            assert holder is not None
            holder[self.name] = value

    def __str__(self) -> str:
        return f"attribute {self.name} of {type(self.owner).__name__}"


class Gradient(Attribute):
    """The `.grad` of a tensor."""

    # What no tensor can hold, such as a gradient that is None on some paths; only while something is captured.
    odd: ClassVar[dict[int, Any]] = {}

    def read(self) -> Any:
        return self.odd.get(id(self.owner), self.owner.grad)

    def write(self, value: Any) -> None:
        self.odd.pop(id(self.owner), None)
        if isinstance(value, Symbolic | Poison):
            self.odd[id(self.owner)], value = value, None
        self.owner.grad = value

    def __str__(self) -> str:
        return "the gradient of a tensor"


class RequiresGrad(Attribute):
    """Whether a tensor requires gradients."""

    def read(self) -> Any:
        return self.owner.requires_grad

    def write(self, value: Any) -> None:
        self.owner.requires_grad_(value)

    def __str__(self) -> str:
        return "whether a tensor requires gradients"


class Content:
    """What a list, dict, set or deque holds."""

    def __init__(self, owner: Any, poisoned: dict[int, Poison]) -> None:
        self.owner = owner
        self.key = (id(owner), None)
        self._poisoned = poisoned

    def read(self) -> Any:
        found = self._poisoned.get(id(self.owner))
        if found is not None:
            return found
        return dict(self.owner) if isinstance(self.owner, dict) else _plain(self.owner)

    def write(self, value: Any) -> None:
        if isinstance(value, Poison):
            self._poisoned[id(self.owner)] = value
            return
        self._poisoned.pop(id(self.owner), None)
        self.owner.clear()
        if isinstance(self.owner, dict | set):
            self.owner.update(value)
        else:
            self.owner.extend(value)

    def __str__(self) -> str:
        return f"a {type(self.owner).__name__}"


def _plain(x: Any) -> Any:
    return set(x) if isinstance(x, set) else list(x)


class Global:
    """A global variable."""

    def __init__(self, scope: dict[str, Any], name: str) -> None:
        self.owner = scope
        self.name = name
        self.key = (id(scope), name)

    def read(self) -> Any:
        return self.owner.get(self.name, UNSET)

    def write(self, value: Any) -> None:
        if value is UNSET:
            self.owner.pop(self.name, None)
        else:
            self.owner[self.name] = value

    def __str__(self) -> str:
        return f"global variable {self.name}"


class Variable:
    """A variable of an enclosing function that was there before: a closure's cell."""

    def __init__(self, cell: Any, name: str) -> None:
        self.owner = cell
        self.name = name
        self.key = (id(cell), None)

    def read(self) -> Any:
        try:
            return self.owner.cell_contents
        except ValueError:
            return UNSET

    def write(self, value: Any) -> None:
        if value is UNSET:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value

    def __str__(self) -> str:
        return f"variable {self.name}"


Cell = Attribute | Content | Global | Variable
CONTAINERS = (list, dict, set, deque)


class Journal:
    """What was changed, level by level: each branch that is being traced has one."""

    def __init__(self) -> None:
        self.levels: list[dict[Any, tuple[Cell, Any]]] = [{}]

    def note(self, cell: Cell) -> None:
        """Keep what a cell holds, once for each level."""
        top = self.levels[-1]
        if cell.key not in top:
            top[cell.key] = (cell, cell.read())

    def write(self, cell: Cell, value: Any) -> None:
        """Change a cell."""
        self.note(cell)
        cell.write(value)

    def begin(self) -> None:
        """A new level."""
        self.levels.append({})

    def take_back(self) -> dict[Any, tuple[Cell, Any]]:
        """End a level: everything is as it was; what the cells held at the end."""
        top = self.levels.pop()
        left = {key: (cell, cell.read()) for key, (cell, _) in top.items()}
        for cell, old in reversed(top.values()):
            cell.write(old)
        return left
