"""What an operator owes the system, and the table that holds them all.

A declaration is a class that is never instantiated; its functions take no `self`. Loading the class
makes a native `Operator` (the object users call) and enters it in `TABLE`. A part that is missing is
an error here, by name, not a surprise later.
"""

import functools
import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thixo import _core
from thixo.dtype import ALL, DType
from thixo.errors import OutOfMemory
from thixo.ops.signature import REQUIRED, Param, Signature, parse

TABLE: dict[str, type["Op"]] = {}  # "add", "linalg.det", "nn.functional.gelu" -> its declaration
_RESULT_TYPES: dict[str, Any] = {}  # the named tuples of those with several results


class Spec(NamedTuple):
    """The type a result will have: what a shape and dtype rule returns."""

    shape: tuple[Any, ...]
    dtype: DType

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


class DeclarationError(Exception):
    """An operator's declaration lacks a part, or has one that does not fit."""


class Op:
    """An operator. See `docs/design/001-one-declaration.md` for each part."""

    signature: ClassVar[str]
    infer: ClassVar[Callable[..., Any]]  # (arguments) -> Spec, or a tuple or list of them
    kernel: ClassVar[Callable[..., Any]]  # (arrays and arguments) -> arrays
    reference: ClassVar[Callable[..., Any]]  # the same meaning by another road
    samples: ClassVar[Callable[..., Any]]  # (maker) -> Samples
    vjp: ClassVar[Callable[..., Any] | None]  # None: not differentiable

    namespace: ClassVar[str] = ""  # "", "linalg", "fft", "special", "masked", "nn.functional"
    aliases: ClassVar[tuple[str, ...]] = ()  # other public names
    method: ClassVar[bool | None] = None  # a Tensor method too? by default if at the top level
    dtypes: ClassVar[tuple[DType, ...]] = ALL  # what the first tensor may be
    inplace: ClassVar[bool] = False  # make `name_` as well
    nondifferentiable: ClassVar[tuple[str, ...]] = ()  # results that carry no gradient
    first_alone: ClassVar[str | None] = (
        None  # what gives the first of its results alone, by the same arguments
    )
    random: ClassVar[bool] = False
    total: ClassVar[bool] = False  # arguments of fitting types never make it fail
    # How it takes images as they lie in memory: "ordered"; "any" where strides are all the same to it; "kept" where it also
    # gives them as it gets them; "channels" where it had best give them with their channels side by side.
    images: ClassVar[str] = "ordered"
    cost: ClassVar[Callable[..., int] | None] = None  # (results, *arguments) -> operations
    commutative: ClassVar[bool] = False
    version: ClassVar[int] = 1

    sig: ClassVar[Signature]
    operator: ClassVar[Any]  # the native object users call
    full_name: ClassVar[str]
    kind: ClassVar[str] = "generic"
    required: ClassVar[tuple[str, ...]] = ("infer", "kernel", "vjp", "reference", "samples")

    def __init_subclass__(cls, abstract: bool = False) -> None:
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value) and not name.startswith("__"):
                setattr(cls, name, staticmethod(value))
        if not abstract:
            _declare(cls)


class Pointwise(Op, abstract=True):
    """Each result element depends on one element of each input; inputs broadcast.

    `scalar(k, ...)` says what one element becomes, with operators and the functions of `k`.
    """

    scalar: ClassVar[Callable[..., Any]]
    result: ClassVar[str] = "same"  # same | float (integers become floats) | bool | real
    promotes: ClassVar[tuple[str, ...] | None] = None  # parameters that decide the dtype; all
    kind = "pointwise"
    total = True
    required = ("scalar", "vjp", "reference", "samples")


class View(Op, abstract=True):
    """The result shares memory with the input: `geometry` says where it looks.

    geometry(shape, strides, offset, *arguments) -> (shape, strides, offset), in elements.
    `is_part` says that it shows distinct elements, chosen by numbers alone: the engine then adds its gradient
    in place into that of the input, so that many parts of one tensor cost no more than the tensor.
    """

    geometry: ClassVar[Callable[..., Any]]
    is_part: ClassVar[bool] = False
    keeps_axes: ClassVar[bool] = False  # in their order: what lies in order, less some of it
    kind = "view"
    total = True
    required = ("infer", "geometry", "vjp", "reference", "samples")


class Composite(Op, abstract=True):
    """Written with public operators; its type and gradient follow from theirs."""

    compose: ClassVar[Callable[..., Any]]
    kind = "composite"
    required = ("compose", "reference", "samples")


class Creation(Op, abstract=True):
    """Makes a tensor from sizes and numbers alone."""

    counts: ClassVar[bool] = False  # each element is another: cheaper read than made again
    vjp = None
    method = False
    required = ("infer", "kernel", "reference", "samples")


def _declare(cls: type[Op]) -> None:
    where = f"operator {cls.__name__}"
    if "signature" not in vars(cls):
        raise DeclarationError(f"{where} has no signature")
    cls.sig = parse(cls.signature)
    where = f"operator {cls.sig.name}"
    if not cls.__doc__ or cls.__doc__ == cls.__base__.__doc__:
        raise DeclarationError(f"{where} has no docstring")
    rules = gradient_rules(cls)
    for part in cls.required:
        if part == "vjp" and rules:
            continue
        if not hasattr(cls, part):
            raise DeclarationError(f"{where} lacks {part!r}; a {cls.kind} operator needs "
                                   f"{', '.join(cls.required)}")  # fmt: skip
    cls.full_name = f"{cls.namespace}.{cls.sig.name}" if cls.namespace else cls.sig.name
    if cls.method is None:
        first = cls.sig.params[0] if cls.sig.params else None
        cls.method = (
            cls.namespace == "" and first is not None and first.kind in ("tensor", "operand")
        )
    cls.operator = _operator(cls, cls.sig, cls.kind, rules)
    _enter(cls, cls.full_name, where)


def _enter(cls: type[Op], name: str, where: str) -> None:
    other = TABLE.get(name)
    if other is not None and other.__module__ != cls.__module__:
        raise DeclarationError(f"{where} is declared twice: {other.__module__}, {cls.__module__}")
    TABLE[name] = cls


def _operator(cls: type[Op], sig: Signature, kind: str, rules: tuple[Any, ...]) -> Any:
    result_type = _result_type(sig, cls.full_name) if len(sig.outputs) > 1 else None
    return _core.Operator(
        name=sig.name,
        full_name=cls.full_name,
        doc=f"{sig.text}\n\n{inspect.cleandoc(cls.__doc__ or '')}",
        kind=kind,
        params=tuple(_native_param(p) for p in sig.params),
        outputs=len(sig.outputs),
        many=sig.many,
        result_type=result_type,
        rules=rules,
        differentiable=tuple(o not in cls.nondifferentiable for o in sig.outputs),
        dtypes=tuple(d.code for d in cls.dtypes),
        result=getattr(cls, "result", "same"),
        promotes=_promotes(cls, sig),
        random=cls.random,
        declaration=cls,
    )


def _result_type(sig: Signature, full_name: str) -> Any:
    """A named tuple for several results, with the name users call: `max_dim` is a form of `max`."""
    made = namedtuple(sig.name.removesuffix("_dim"), sig.outputs)  # type: ignore[misc]
    setattr(made, "__reduce__", lambda self: (_results, (full_name, tuple(self))))  # noqa: B010
    _RESULT_TYPES[full_name] = made
    return made


def _results(full_name: str, values: tuple[Any, ...]) -> Any:
    """Results as they were pickled: their class is not in a module, it belongs to its operator."""
    if full_name not in _RESULT_TYPES:
        from thixo.ops import public

        public.declaration(full_name)  # loads its file
    return _RESULT_TYPES[full_name](*values)


def inplace_operator(cls: type[Op]) -> Any:
    """The native `name_` of an operator: the same computation, written into its first argument."""
    first = cls.sig.params[0]._replace(written=True, kind="tensor")
    sig = cls.sig._replace(
        name=cls.sig.name + "_",
        params=(first, *cls.sig.params[1:]),
        outputs=(first.name + "!",),
        text=cls.sig.text.replace(cls.sig.name + "(", cls.sig.name + "_(", 1),
    )
    return _operator(cls, sig, "inplace", gradient_rules(cls))


def _native_param(p: Param) -> tuple[Any, ...]:
    default = None if p.default is REQUIRED else p.default
    return (p.name, p.kind, p.optional, p.default is not REQUIRED, default, p.keyword_only, p.rest)


def _promotes(cls: type[Op], sig: Signature) -> tuple[int, ...]:
    names = getattr(cls, "promotes", None)
    if names is None:
        return tuple(i for i, p in enumerate(sig.params) if p.kind in ("tensor", "operand"))
    return tuple(sig.place(n) for n in names)


# ---- gradient rules: a rule's own argument names say what the tape must keep


def gradient_rules(cls: Any) -> tuple[Any, ...]:
    """(function, inputs it serves, where each argument comes from) for each gradient rule."""
    sig = cls.sig
    rules = []
    joint = getattr(cls, "vjp", None)
    if joint is not None:
        serves = tuple(i for i, p in enumerate(sig.params) if p.holds_tensors)
        rules.append((joint, serves, _sources(cls, joint)))
    for i, p in enumerate(sig.params):
        rule = getattr(cls, "vjp_" + p.name, None)
        if rule is not None:
            rules.append((rule, (i,), _sources(cls, rule)))
    return tuple(rules)


@functools.cache  # a gradient of a graph asks for each of its nodes
def _sources(cls: Any, rule: Any) -> tuple[tuple[str, int], ...]:
    sig = cls.sig
    outputs = [o.rstrip("!") for o in sig.outputs]
    found = []
    for name in inspect.signature(rule).parameters:
        if name == "g":
            found.append(("grad", 0))
        elif name == "needs":
            found.append(("needs", 0))
        elif name.startswith("g_") and name[2:] in outputs:
            found.append(("grad", outputs.index(name[2:])))
        elif sig.place(name) >= 0:
            found.append(("input", sig.place(name)))
        elif name in outputs:
            found.append(("output", outputs.index(name)))
        elif name.endswith("_type") and sig.place(name[:-5]) >= 0:
            found.append(("type", sig.place(name[:-5])))
        else:
            raise DeclarationError(
                f"operator {sig.name}: gradient rule asks for {name!r}, which is no gradient, "
                f"parameter or result of {sig.text!r}"
            )
    return tuple(found)


# ---- what the native side asks of the table


def find_operator(full_name: str) -> Any:
    """The operator of a full name; its file loads if need be."""
    from thixo.ops import public

    operator = public.find(full_name)
    if operator is None:
        raise DeclarationError(f"there is no operator {full_name!r}")
    return operator


def _run_kernel(kernel: Callable[..., Any], *arguments: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return kernel(*arguments)
    except MemoryError as error:
        raise _no_memory(kernel, error) from error
    except ValueError as error:
        # What NumPy says of arrays that no address could reach.
        if any(words in str(error) for words in ("Maximum allowed", "array is too big")):
            raise _no_memory(kernel, error) from error
        raise


def _run_scalar(scalar: Callable[..., Any], *arguments: Any) -> Any:
    from thixo.ops import scalars

    try:
        return scalars.evaluate(scalar, *arguments)
    except MemoryError as error:
        raise _no_memory(scalar, error) from error


def _no_memory(function: Callable[..., Any], error: Exception) -> Exception:
    if isinstance(error, OutOfMemory):
        return error
    return OutOfMemory(f"{function.__qualname__.partition('.')[0].lower()}: {error}")


def _find_kernel(*arguments: Any) -> Any:
    from thixo.runtime import kernels

    return kernels.find_pointwise(*arguments)


def _find_rule(*arguments: Any) -> Any:
    from thixo.capture import rules

    return rules.find_rule(*arguments)


def _find_summed_rule(*arguments: Any) -> Any:
    from thixo.capture import rules

    return rules.find_summed_rule(*arguments)


_core.configure(
    spec=Spec,
    load=find_operator,
    run_kernel=_run_kernel,
    run_scalar=_run_scalar,
    find_kernel=_find_kernel,
    find_rule=_find_rule,
    find_summed_rule=_find_summed_rule,
)
