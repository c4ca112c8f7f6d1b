"""Every public operator by its name: `public.exp`, `public.linalg.solve`, `public.nn.functional.gelu`.

The file that declares an operator loads when it is first asked for; afterwards the name is an attribute
like any other. Gradient rules and composites are written with this module as `tx`.
"""

import importlib
from typing import Any

from thixo import config
from thixo.ops import index as _index

_OPERATORS = _index.OPERATORS
_ALIASES = _index.ALIASES
_INPLACE = _index.INPLACE
_METHODS = _index.METHODS
_looked_at_files = False
_renamed: dict[str, Any] = {}  # "subtract": the operator `sub` under that name


def find(full_name: str) -> Any:
    """The operator of a full name such as "linalg.det", None if there is none."""
    if full_name.startswith("__"):
        return None  # Python itself asks for these, __path__ for one, while modules load
    _look_at_files()
    found = declaration(full_name)
    if found is not None:
        operator = found.operator
    else:
        operator = _inplace(full_name) if full_name in _INPLACE else None
    name = full_name.rpartition(".")[2]
    if operator is None or getattr(operator, "__name__", name) == name:
        return operator
    # Another name of it: one object each, so that messages say what the user wrote.
    if full_name not in _renamed:
        _renamed[full_name] = operator.renamed(name)
    return _renamed[full_name]


def find_method(name: str) -> Any:
    """The operator that is the Tensor method of that name, None if there is none."""
    _look_at_files()
    return find(_METHODS[name]) if name in _METHODS else None


def declaration(full_name: str) -> Any:
    """The class that declares an operator, None if there is none."""
    base = importlib.import_module("thixo.ops.base")
    name = _ALIASES.get(full_name, full_name)
    found = base.TABLE.get(name)
    if found is None and name in _OPERATORS:
        importlib.import_module("thixo.ops." + _OPERATORS[name])
        found = base.TABLE.get(name)
    return found


def names(namespace: str = "") -> list[str]:
    """The names in a namespace: "", "linalg", "fft", "special", "masked", "nn.functional", ..."""
    _look_at_files()
    prefix = namespace + "." if namespace else ""
    rest = (
        n[len(prefix) :]
        for table in (_OPERATORS, _ALIASES, _INPLACE)
        for n in table
        if n.startswith(prefix)
    )
    return sorted({n for n in rest if "." not in n})


def method_names() -> list[str]:
    """The names of the Tensor methods that are operators."""
    _look_at_files()
    return sorted(_METHODS)


def _inplace(full_name: str) -> Any:
    cls = declaration(_INPLACE[full_name])
    if cls is None:
        return None
    # Made once for all names of it.
    own = vars(cls).get("_inplace_operator")
    if own is None:
        base = importlib.import_module("thixo.ops.base")
        own = cls._inplace_operator = base.inplace_operator(cls)
    return own


def _look_at_files() -> None:
    """In a source checkout, take the names from the files as they are now."""
    global _OPERATORS, _ALIASES, _INPLACE, _METHODS, _looked_at_files
    if _looked_at_files or not config.dev_index:
        return
    _looked_at_files = True  # first: files that load now may ask for names themselves
    found = importlib.import_module("thixo.ops.dev_index").load()
    _OPERATORS, _ALIASES, _INPLACE, _METHODS = found


class Namespace:
    """The operators of a namespace as attributes: `linalg.det`."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        operator = find(f"{self.__name__}.{name}")
        if operator is None:
            raise AttributeError(f"there is no operator {self.__name__}.{name}")
        self.__dict__[name] = operator
        return operator

    def __dir__(self) -> list[str]:
        return names(self.__name__)

    def __repr__(self) -> str:
        return f"<operators thixo.{self.__name__}>"


class _NN:
    functional = Namespace("nn.functional")


class _Signal:
    windows = Namespace("signal.windows")


linalg = Namespace("linalg")
fft = Namespace("fft")
special = Namespace("special")
masked = Namespace("masked")
nn = _NN()
signal = _Signal()


def __getattr__(name: str) -> Any:
    operator = find(name)
    if operator is None:
        raise AttributeError(f"there is no operator {name}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return [*names(), "linalg", "fft", "special", "masked", "nn", "signal"]
