"""Where tensors live. A device registers its type here; nothing else lists devices.

>>> device("cpu"), device("cpu", 0).index
(device(type='cpu'), 0)
"""

import re
from collections.abc import Callable
from typing import Any

from thixo.errors import ArgumentError, DeviceError

_COUNTS: dict[str, Callable[[], int]] = {}  # device type -> how many of it there are
_NAME = re.compile(r"([a-z][a-z0-9_]*)(?::(\d+))?$")


def register_device(type: str, count: Callable[[], int]) -> None:
    """Make a device type known; `count` says how many there are when someone asks.

    >>> register_device("cpu", lambda: 1)
    """
    _COUNTS[type] = count


def available_devices() -> list[str]:
    """The devices of this machine.

    >>> available_devices()
    ['cpu']
    """
    found = []
    for type, count in _COUNTS.items():
        n = count()
        found += [type] if type == "cpu" else [f"{type}:{i}" for i in range(n)]
    return found


class device:  # noqa: N801  (PyTorch's name)
    """A place for tensors: a type such as "cpu" and, where there are several, an index.

    >>> device("cpu") == device("cpu:0"), str(device("cpu"))
    (True, 'cpu')
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: "str | device", index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index if index is None else index
            return
        if not isinstance(type, str):
            raise ArgumentError(f"device: needs a name such as 'cpu', got {type!r}")
        match = _NAME.match(type)
        name = match[1] if match else type
        if match is None or name not in _COUNTS:
            raise DeviceError(
                f"device: there is no device {type!r}; available: {', '.join(available_devices())}"
            )
        if match[2] is not None:
            if index is not None:
                raise ArgumentError(f"device: {type!r} has an index already, got {index} as well")
            index = int(match[2])
        if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
            raise ArgumentError(f"device: needs an int as index, got {index!r}")
        if index is not None and not 0 <= index < _COUNTS[name]():
            raise DeviceError(
                f"device: there is no {name}:{index}; available: {', '.join(available_devices())}"
            )
        self.type, self.index = name, index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and (self.index or 0) == (other.index or 0)

    def __hash__(self) -> int:
        return hash((self.type, self.index or 0))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)


register_device("cpu", lambda: 1)
cpu = device("cpu")


def as_device(value: "str | device | None") -> device:
    """A device from its name; None is the CPU."""
    if value is None:
        return cpu
    return value if isinstance(value, device) else device(value)
