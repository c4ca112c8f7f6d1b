"""Every public operator by its name: `public.exp`, `public.linalg.solve`, `public.nn.functional.gelu`.

The file that declares an operator loads when it is first asked for; afterwards the name is an attribute
like any other. Gradient rules and composites are written with this module as `tx`.
"""

import importlib
from typing import Any

from thixo import config
from thixo.ops import index

_OPERATORS = index.OPERATORS
_ALIASES = index.ALIASES
_INPLACE = index.INPLACE
_METHODS = index.METHODS
_scanned = False


def find(full_name: str) -> Any:
    """The operator of a full name such as "linalg.det", None if there is none.

    In a source checkout, names that the index lacks are looked for in all files of the table.
    """
    operator = _from_index(full_name)
    if operator is None and config.dev_index and not _scanned and not full_name.startswith("__"):
        _scan()
        operator = _from_index(full_name)
    return operator


def find_method(name: str) -> Any:
    """The operator that is the Tensor method of that name, None if there is none."""
    if name not in _METHODS and config.dev_index and not _scanned and not name.startswith("__"):
        _scan()
    return find(_METHODS[name]) if name in _METHODS else None


def declaration(full_name: str) -> Any:
    """The class that declares an operator, None if there is none."""
    base = importlib.import_module("thixo.ops.base")
    name = _ALIASES.get(full_name, full_name)
    found = base.TABLE.get(name)
    if found is None and name in _OPERATORS:
        module = "thixo.ops." + _OPERATORS[name]
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module or not config.dev_index:
                raise
            # The file was renamed since the index was written; a scan will find it.
        found = base.TABLE.get(name)
    return found


def names(namespace: str = "") -> list[str]:
    """The names in a namespace: "", "linalg", "fft", "special", "nn.functional"."""
    if config.dev_index:
        _scan()
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
    if config.dev_index:
        _scan()
    return sorted(_METHODS)


def _from_index(full_name: str) -> Any:
    found = declaration(full_name)
    if found is not None:
        return found.operator
    if full_name in _INPLACE:
        base = importlib.import_module("thixo.ops.base")
        cls = declaration(_INPLACE[full_name])
        if cls is None:
            return None
        # One object for all names of it: `absolute_` is `abs_`.
        own = vars(cls).get("_inplace_operator")
        if own is None:
            own = cls._inplace_operator = base.inplace_operator(cls)
        return own
    return None


def _scan() -> None:
    global _OPERATORS, _ALIASES, _INPLACE, _METHODS, _scanned
    if _scanned:
        return
    _scanned = True  # first: the files that load now may ask for names themselves
    found = importlib.import_module("thixo.ops.build_index").collect(strict=False)
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


linalg = Namespace("linalg")
fft = Namespace("fft")
special = Namespace("special")
nn = _NN()


def __getattr__(name: str) -> Any:
    operator = find(name)
    if operator is None:
        raise AttributeError(f"there is no operator {name}")
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return [*names(), "linalg", "fft", "special", "nn"]
