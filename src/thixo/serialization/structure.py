"""Nested Python data as JSON and back, with numbers in place of tensors.

Numbers, texts, True, False and None are themselves; everything else is an object with one key that says
what it is:

    {"list": [...]}, {"tuple": [...]}, {"dict": [[key, value], ...]}, {"ordered": [[key, value], ...]}
    {"state_dict": [pairs, metadata]}   an OrderedDict with the `_metadata` of `Module.state_dict()`
    {"tensor": 3}        the fourth of the file's tensors
    {"float": "nan"}     numbers that JSON has no text for: nan, inf, -inf
    {"complex": [1.0, 2.0]}, {"dtype": "float32"}, {"device": "cpu"}, {"size": [2, 3]}

Other objects are refused by their place: there is no way to store one that would not run code to read it.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from thixo._core import Size
from thixo.device import device
from thixo.dtype import BY_NAME, DType
from thixo.errors import SerializationError, describe
from thixo.tensor import Tensor

DEPTH_LIMIT = 200


class Encoder:
    """Turns nested data into JSON and collects the tensors it meets, each with its path."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.paths: list[str] = []
        self._numbers: dict[int, int] = {}  # id of a tensor -> its number
        self._open: list[Any] = []  # the containers we are in

    def encode(self, value: Any, path: tuple[Any, ...] = ()) -> Any:
        """The JSON for a value at a path."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, Tensor):
            return {"tensor": self._tensor(value, path)}
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is complex:
            parts = (value.real, value.imag)
            return {"complex": [self.encode(part, path) for part in parts]}
        if isinstance(value, DType):
            return {"dtype": value.name}
        if isinstance(value, device):
            return {"device": str(value)}
        if type(value) is Size:
            return {"size": list(value)}
        return self._container(value, path)

    def _container(self, value: Any, path: tuple[Any, ...]) -> Any:
        kind = _CONTAINERS.get(type(value))
        if kind is None:
            raise _refusal(value, path)
        if any(value is outer for outer in self._open):
            raise SerializationError(f"save: {_place(path)} contains itself")
        if len(self._open) >= DEPTH_LIMIT:
            raise SerializationError(f"save: {_place(path[:3])}... is nested {DEPTH_LIMIT} deep")
        self._open.append(value)
        if kind in ("list", "tuple"):
            items = [self.encode(item, (*path, i)) for i, item in enumerate(value)]
        else:
            items = [
                [self._key(key, path), self.encode(item, (*path, key))]
                for key, item in value.items()
            ]
        self._open.pop()
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:
            return {"state_dict": [items, self.encode(metadata, (*path, "_metadata"))]}
        return {kind: items}

    def _key(self, key: Any, path: tuple[Any, ...]) -> Any:
        if key is None or type(key) in (bool, int, str):
            return key
        if type(key) is float:
            return self.encode(key, path)
        if type(key) is tuple:
            return {"tuple": [self._key(part, path) for part in key]}
        raise SerializationError(
            f"save: a key of {_place(path)} is {describe(key)}; keys can be texts, numbers, None and "
            "tuples of these"
        )

    def _tensor(self, tensor: Tensor, path: tuple[Any, ...]) -> int:
        number = self._numbers.get(id(tensor))
        if number is None:
            if tensor._value is not None:
                raise SerializationError(f"save: {_place(path)} is being traced and has no value")
            number = self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
            self.paths.append(".".join(map(str, path)) or "tensor")
        return number


_CONTAINERS: dict[type, str] = {list: "list", tuple: "tuple", dict: "dict", OrderedDict: "ordered"}


def _refusal(value: Any, path: tuple[Any, ...]) -> SerializationError:
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    hint = ""
    if hasattr(value, "state_dict"):
        hint = "; save its state_dict()"
    elif hasattr(value, "__array__"):
        hint = "; make a tensor of it with tx.tensor, or a number with .item()"
    elif isinstance(value, dict | list | tuple):
        base = next(b for b in (dict, list, tuple) if isinstance(value, b)).__name__
        hint = f"; make a plain {base} of it"
    return SerializationError(
        f"save: {_place(path)} is of class {name}, which is no tensor, number, text, list, tuple or "
        f"dict{hint}"
    )


def _place(path: tuple[Any, ...]) -> str:
    return "the object" + "".join(f"[{key!r}]" for key in path)


# ---- reading


def decode(node: Any, tensor: Callable[[int], Tensor], what: str, depth: int = 0) -> Any:
    """The value that JSON stands for; `tensor` gives the tensor of a number."""

    def inner(part: Any) -> Any:
        return decode(part, tensor, what, depth + 1)

    if node is None or type(node) in (bool, int, float, str):
        return node
    if depth > DEPTH_LIMIT or not isinstance(node, dict) or len(node) != 1:
        raise _broken(node, what)
    (kind, body), *_ = node.items()
    if kind in ("list", "tuple") and isinstance(body, list):
        items = [inner(item) for item in body]
        return items if kind == "list" else tuple(items)
    if kind == "state_dict" and isinstance(body, list) and len(body) == 2:
        state = inner({"ordered": body[0]})
        state._metadata = inner(body[1])
        return state
    if kind in ("dict", "ordered") and _pairs(body):
        pairs = [(_hashable(inner(key), what), inner(value)) for key, value in body]
        return dict(pairs) if kind == "dict" else OrderedDict(pairs)
    if kind == "tensor" and type(body) is int and body >= 0:
        return tensor(body)
    return _leaf(kind, body, what)


def _leaf(kind: str, body: Any, what: str) -> Any:
    if kind == "float" and body in ("nan", "inf", "-inf"):
        return float(body)
    if kind == "complex" and isinstance(body, list) and len(body) == 2:
        real, imag = (part if type(part) is float else _leaf_float(part, what) for part in body)
        return complex(real, imag)
    if kind == "dtype" and isinstance(body, str) and body in BY_NAME:
        return BY_NAME[body]
    if kind == "device" and isinstance(body, str):
        return device(body)
    if kind == "size" and isinstance(body, list) and all(type(n) is int for n in body):
        return Size(body)
    raise _broken({kind: body}, what)


def _leaf_float(part: Any, what: str) -> float:
    if not isinstance(part, dict) or set(part) != {"float"}:
        raise _broken(part, what)
    found: float = _leaf("float", part["float"], what)
    return found


def _pairs(body: Any) -> bool:
    return isinstance(body, list) and all(isinstance(p, list) and len(p) == 2 for p in body)


def _hashable(key: Any, what: str) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, tuple):
            _hashable(part, what)
        elif part is not None and type(part) not in (bool, int, float, str):
            raise SerializationError(f"load: {what} has a dict with the key {describe(key)}")
    return key


def _broken(node: Any, what: str) -> SerializationError:
    return SerializationError(f"load: {what} has a structure that cannot be read: {describe(node)}")
