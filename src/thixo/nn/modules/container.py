"""Modules that hold others, in a row, a list or a dictionary."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from thixo.errors import ArgumentError, IndexOutOfRange, describe
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter
from thixo.tensor import Tensor


def _place(index: Any, count: int, what: str) -> int:
    index = operator.index(index)
    if not -count <= index < count:
        raise IndexOutOfRange(f"{what}: index {index} is out of range for {count} entries")
    return index % count


class _ModuleRow(Module):
    """Modules numbered from 0: what Sequential and ModuleList share."""

    def _renumber(self, modules: Iterable[Module]) -> None:
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(modules)}

    def _row(self) -> list[Module]:
        return list(self._modules.values())  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._row())

    def __contains__(self, module: object) -> bool:
        return any(m is module for m in self._modules.values())

    def _key(self, index: Any) -> str:
        return list(self._modules)[_place(index, len(self), type(self).__name__)]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)._of(list(self._modules.items())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        keys = list(self._modules)
        gone = keys[index] if isinstance(index, slice) else [self._key(index)]
        kept = [m for k, m in self._modules.items() if k not in gone]
        if all(k.isdigit() for k in keys):
            self._renumber(kept)  # type: ignore[arg-type]
        else:
            for key in gone:
                del self._modules[key]

    @classmethod
    def _of(cls, items: list[tuple[str, Any]]) -> Any:
        return cls([m for _, m in items])

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: a Module is needed, got {describe(module)}")
        row = self._row()
        row.insert(index, module)
        self._renumber(row)
        return self

    def pop(self, index: Any = -1) -> Module:
        """Take a module out."""
        module = self[index]
        del self[index]
        return module


class Sequential(_ModuleRow):
    """Modules called one after the other, each on the result of the one before.

    >>> net = tx.nn.Sequential(tx.nn.Linear(2, 3), tx.nn.ReLU(), tx.nn.Linear(3, 1))
    >>> net(tx.ones(2)).shape
    Size([1])
    >>> net[1]
    ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    @classmethod
    def _of(cls, items: list[tuple[str, Any]]) -> Any:
        return cls(OrderedDict(items))

    def __add__(self, other: "Sequential") -> "Sequential":
        if not isinstance(other, Sequential):
            raise TypeError(
                f"Sequential: only another Sequential can be added, got {describe(other)}"
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: "Sequential") -> "Sequential":
        return self.extend(other)

    def __mul__(self, count: int) -> "Sequential":
        if not isinstance(count, int) or count < 1:
            raise ArgumentError(f"Sequential: can be repeated 1 time or more, not {count!r}")
        return Sequential(*(m for _ in range(count) for m in self))

    __rmul__ = __mul__

    def forward(self, input: Any) -> Any:
        """Run the modules in order."""
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input


class ModuleList(_ModuleRow):
    """A list of modules whose parameters are known.

    >>> layers = tx.nn.ModuleList([tx.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __iadd__(self, modules: Iterable[Module]) -> "ModuleList":
        return self.extend(modules)

    def __repr__(self) -> str:
        """Like any module, but equal neighbours are one entry: (0-2): 3 x Linear(...)."""
        runs: list[tuple[str, int]] = []
        for module in self:
            text = repr(module)
            if runs and runs[-1][0] == text:
                runs[-1] = (text, runs[-1][1] + 1)
            else:
                runs.append((text, 1))
        if not runs:
            return f"{self._get_name()}()"
        lines, first = [], 0
        for text, count in runs:
            name = f"({first})" if count == 1 else f"({first}-{first + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"{name}: {times}" + text.replace("\n", "\n  "))
            first += count
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])


class ModuleDict(Module):
    """A dictionary of modules whose parameters are known.

    >>> layers = tx.nn.ModuleDict({"a": tx.nn.Linear(2, 2), "b": tx.nn.ReLU()})
    >>> layers["b"], list(layers)
    (ReLU(), ['a', 'b'])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs."""
        pairs = modules.items() if isinstance(modules, Mapping | ModuleDict) else modules
        for key, module in pairs:
            self[key] = module


def _as_parameter(value: Any) -> Any:
    """Tensors in parameter containers become parameters; other things stay."""
    is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


class ParameterList(Module):
    """A list of parameters; plain tensors become parameters, other values are kept beside them.

    >>> p = tx.nn.ParameterList([tx.ones(2), tx.zeros(3)])
    >>> len(p), [tuple(x.shape) for x in p.parameters()]
    (2, [(2,), (3,)])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_place(index, len(self), "ParameterList")))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(_place(index, len(self), "ParameterList")), _as_parameter(value))

    def append(self, value: Any) -> "ParameterList":
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> "ParameterList":
        """Add several values at the end."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"ParameterList: a list of values is needed, got {describe(values)}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> "ParameterList":
        return self.extend(values)

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join(f"({i}): {_summary(value)}" for i, value in enumerate(self))


class ParameterDict(Module):
    """A dictionary of parameters; plain tensors become parameters, other values are kept beside them.

    >>> p = tx.nn.ParameterDict({"scale": tx.ones(2)})
    >>> list(p), [name for name, _ in p.named_parameters()]
    (['scale'], ['scale'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._names: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: a key must be a string, got {describe(key)}")
        self._names[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._names[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def keys(self) -> Any:
        """The names."""
        return self._names.keys()

    def values(self) -> list[Any]:
        """The values."""
        return [self[k] for k in self._names]

    def items(self) -> list[tuple[str, Any]]:
        """Names and values."""
        return [(k, self[k]) for k in self._names]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[key] if key in self else default  # noqa: SIM401

    def pop(self, key: str) -> Any:
        """Take a value out."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._names):
            del self[key]

    def copy(self) -> "ParameterDict":
        """Another dictionary with the same values."""
        return ParameterDict(dict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is set to the default if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping, or of pairs."""
        is_map = isinstance(parameters, Mapping | ParameterDict)
        for key, value in parameters.items() if is_map else parameters:
            self[key] = value

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        made = self.copy()
        made.update(other)
        return made

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join(f"({k}): {_summary(value)}" for k, value in self.items())


def _summary(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"{type(value).__name__}: {value!r}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}]"
