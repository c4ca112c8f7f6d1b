"""Python's built-in functions for captured code, and which functions may be called as they are."""

import collections
import copy
import dataclasses
import functools
import inspect
import itertools
import math
import operator
import types
from typing import Any

from thixo.autograd.backward import backward, grad
from thixo.capture import asked, control, gradients, operators
from thixo.capture.builtin_numbers import (
    abs_,
    as_tensor_,
    converter,
    divmod_,
    isclose,
    item,
    math_function,
    round_,
    tensor_,
    tolist,
)
from thixo.capture.builtin_objects import (
    copy_,
    deepcopy_,
    format_,
    getattr_,
    hasattr_,
    isinstance_,
    object_setattr,
    print_,
    replace,
    repr_,
    setattr_,
    str_,
    type_,
)
from thixo.capture.builtin_order import extreme, sorted_
from thixo.capture.builtin_sequences import (
    all_,
    any_,
    dict_,
    filter_,
    from_iterable,
    fromkeys,
    iter_,
    len_,
    listed,
    map_,
    next_,
    reduce,
    sum_,
)
from thixo.capture.items import enumerate_, range_, reversed_, zip_
from thixo.capture.refusal import Refused
from thixo.dtype import DType
from thixo.making import as_tensor
from thixo.ops import public
from thixo.tensor import tensor

_PURE_MODULES = frozenset(
    ("math", "cmath", "operator", "_operator", "itertools", "fractions", "numbers", "string")
)
_PURE: list[Any] = [
    abs, ascii, bin, bytes, callable, chr, complex, divmod, format, frozenset, hex, object, oct, ord, pow, repr,
    round, slice, str, type, collections.OrderedDict, collections.defaultdict, collections.deque, collections.Counter,
    functools.partial, functools.wraps, functools.update_wrapper, staticmethod, classmethod, property,
    collections.namedtuple,
]  # fmt: skip
_pure_ids = {id(f) for f in _PURE}


def is_pure(f: Any) -> bool:
    """Whether a function does nothing but compute, without looking at tensors' values."""
    if id(f) in _pure_ids or isinstance(f, DType):
        return True
    module = getattr(f, "__module__", None)
    return module in _PURE_MODULES and not isinstance(f, types.FunctionType)


def as_callable(x: Any) -> Any:
    """A user's function as code that is not converted may call it."""
    if isinstance(x, types.FunctionType | types.MethodType | functools.partial):
        module = getattr(x, "__module__", "") or ""
        if not module.startswith("thixo."):
            from thixo.capture.callees import call

            def called(*args: Any, **kwargs: Any) -> Any:
                return call(x, *args, **kwargs)

            called.stands_for = x  # type: ignore[attr-defined]
            return called
    return x


def _operator(name: str) -> Any:
    if name in ("neg", "pos", "invert"):
        return lambda x: operators.unary(name, x)
    return lambda a, b: operators.binary(name, a, b)


def _refused(name: str, reason: str, remedy: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Refused(name, reason, remedy)

    return refuse


REPLACED: dict[Any, Any] = {
    len: len_, int: converter("int"), float: converter("float"), bool: converter("bool"), print: print_, max: extreme("gt"),
    min: extreme("lt"), sum: sum_, any: any_, all: all_, sorted: sorted_, list: listed(list), tuple: listed(tuple),
    set: listed(set), frozenset: listed(frozenset), dict: dict_, dict.fromkeys: fromkeys,
    itertools.chain.from_iterable: from_iterable, abs: abs_, round: round_, divmod: divmod_, isinstance: isinstance_, type: type_,
    range: range_, zip: zip_, enumerate: enumerate_, reversed: reversed_, functools.reduce: reduce, map: map_,
    filter: filter_, getattr: getattr_, hasattr: hasattr_, setattr: setattr_, next: next_, iter: iter_, str: str_, repr: repr_,
    format: format_,
    copy.copy: copy_, copy.deepcopy: deepcopy_, dataclasses.replace: replace,
    issubclass: issubclass, callable: callable, functools.partial: functools.partial, functools.wraps: functools.wraps,
    functools.update_wrapper: functools.update_wrapper, staticmethod: staticmethod, classmethod: classmethod, property: property,
    inspect.signature: inspect.signature, object.__setattr__: object_setattr,
    operator.not_: control.not_, operator.truth: operators.truth, operator.contains: operators.contains,
    id: _refused("id", "identity is not part of a graph", "compare values"),
    hash: _refused("hash", "identity is not part of a graph", "compare values"),
    input: _refused("input", "a graph cannot ask", "ask outside"),
    breakpoint: _refused(
        "breakpoint()", "a graph has no frame to stop in", "use tx.compile, which runs such a function as Python"
    ),
    open: _refused("open", "a graph has no files", "read outside"),
}  # fmt: skip


REPLACED[math.isclose] = isclose
for _name in "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh floor ceil trunc isnan isinf isfinite fabs".split():
    REPLACED[getattr(math, _name)] = math_function(_name)
for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lt le gt ge eq ne neg pos invert".split():
    REPLACED[getattr(operator, _name)] = _operator(_name)


REPLACED[tensor] = tensor_
REPLACED[as_tensor] = as_tensor_
REPLACED[backward] = gradients.backward
REPLACED[grad] = gradients.grad
METHODS: dict[str, Any] = {
    "requires_grad": gradients.requires_grad, "detach_": gradients.detach_,
    "retain_grad": gradients.retain_grad,
    "register_hook": gradients.register_hook,
    "register_after_hook": _refused(
        "register_post_accumulate_grad_hook()", "a hook runs code that no graph has", "register it outside"
    ),
    "item": item, "tolist": tolist, "backward": gradients.backward,
    **asked.METHODS,
    "numpy": _refused("numpy()", "it needs the values of a tensor", "use operators of tensors"),
    "detach": public.detach, "deepcopy": deepcopy_, "contains": operators.contains,
}  # fmt: skip


def _element(name: str) -> Any:
    def use(*args: Any) -> Any:
        from thixo.capture import elements

        return getattr(elements, name)(*args)

    return use


# What Python's syntax does, by the names of its methods; one that changes what it is called of is no pure function.
SYNTAX: dict[str, Any] = {
    "getitem": _element("item"), "setitem": _element("set_item"), "delitem": _element("del_item"),
    "len": len_, "bool": operators.truth, "iter": iter_, "contains": operators.contains,
}  # fmt: skip
for _name in operators.INPLACE:
    SYNTAX["i" + _name.rstrip("_")] = functools.partial(operators.inplace, _name)
for _name in SYNTAX:
    if hasattr(operator, _name):
        REPLACED[getattr(operator, _name)] = SYNTAX[_name]
REPLACED[operator.iconcat] = SYNTAX["iadd"]
