"""Objects that captured code makes."""

import dataclasses
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from thixo import _core
from thixo.capture.builtin import is_pure
from thixo.capture.callees import call, call_function
from thixo.capture.frames import current
from thixo.capture.plain_calls import LEAVE_OUT, plain_call
from thixo.capture.refusal import Refused
from thixo.device import device
from thixo.errors import TraceError, user_place

_CONTAINERS = (list, dict, tuple, set, frozenset, deque, OrderedDict, defaultdict)


def instantiate(cls: type, args: Any, kwargs: Any) -> Any:
    capture = current()
    module = cls.__module__ or ""
    if issubclass(cls, BaseException):
        return capture.made_error(cls(*args, **kwargs))
    if cls in _CONTAINERS or is_pure(cls):
        return plain_call(cls, args, kwargs)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return cls(*args, **kwargs)
    if module.startswith("thixo."):
        return _own(cls, args, kwargs)
    if cls.__new__ is not object.__new__ or type(cls) is not type:
        if issubclass(cls, tuple | str | int | float):
            raise Refused(
                f"{cls.__name__}(...)", "its class makes objects in its own way", LEAVE_OUT
            )
        if type(cls).__name__ != "ABCMeta":
            raise Refused(
                f"{cls.__name__}(...)", "its class makes objects in its own way", LEAVE_OUT
            )
    made = capture.made(object.__new__(cls))
    if dataclasses.is_dataclass(cls) and not _written_init(cls):
        _init_dataclass(cls, made, args, kwargs)
        return made
    init = cls.__init__  # type: ignore[misc]
    if isinstance(init, types.FunctionType):
        call_function(init, (made, *args), kwargs)
    elif args or kwargs:
        cls(*args, **kwargs)  # raises as Python does
    return made


def _own(cls: type, args: Any, kwargs: Any) -> Any:
    """An object of a class of Thixo's: a plain value, a mode, or a layer that holds nothing."""
    capture = current()
    if cls in (device, _core.Size) or cls.__name__ in ("finfo", "iinfo"):
        return cls(*args, **kwargs)
    if hasattr(cls, "__enter__"):
        if cls.__name__.startswith("set_"):
            capture.switched = user_place()
        return cls(*args, **kwargs)
    if hasattr(cls, "forward"):
        try:
            layer: Any = cls(*args, **kwargs)
        except TraceError:  # its parameters are drawn
            layer = None
        tables = () if layer is None else (layer._parameters, layer._buffers, layer._modules)
        if tables and all(held is None for table in tables for held in table.values()):
            return capture.made(layer)
    raise Refused(
        f"{cls.__name__}(...)", "it keeps state of its own", "make it outside of what is captured"
    )


def _written_init(cls: type) -> bool:
    init = cls.__dict__.get("__init__")
    return isinstance(init, types.FunctionType) and init.__code__.co_filename != "<string>"


def _init_dataclass(cls: type, made: Any, args: Any, kwargs: Any) -> None:
    """What a generated `__init__` does, with factories and `__post_init__` converted."""
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    names = [x.name for x in fields if x.init and not x.kw_only]
    if len(args) > len(names):
        raise TypeError(
            f"{cls.__name__}.__init__() takes {len(names) + 1} positional arguments but {len(args) + 1} were given"
        )
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    for x in fields:
        if x.name in given and x.init:
            value = given.pop(x.name)
        elif x.default is not dataclasses.MISSING:
            value = x.default
        elif x.default_factory is not dataclasses.MISSING:
            value = call(x.default_factory)
        elif x.init:
            raise TypeError(
                f"{cls.__name__}.__init__() missing 1 required positional argument: {x.name!r}"
            )
        else:
            continue
        object.__setattr__(made, x.name, value)
    if given:
        raise TypeError(
            f"{cls.__name__}.__init__() got an unexpected keyword argument {next(iter(given))!r}"
        )
    post = getattr(cls, "__post_init__", None)
    if post is not None:
        call_function(post, (made,), {})
