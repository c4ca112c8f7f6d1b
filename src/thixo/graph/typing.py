"""The type rules of the operator table, on types: one rule for eager, traced and parsed programs.

A generic operator and a view have their own `infer`. A pointwise operator's type follows from its
`result` and `promotes`, by the rule here, which is that of the native core.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo.device import cpu
from thixo.dtype import DType, combine, get_default_dtype, type_of_number
from thixo.dtype import bool as bool_
from thixo.errors import DTypeError, GraphError
from thixo.graph.ir import Type, same_shape, values_in
from thixo.ops.base import Spec
from thixo.shape import broadcast_shapes


class PointwiseType(NamedTuple):
    """What a pointwise operator computes in, and what it returns."""

    compute: DType  # the promoted arguments are converted to this
    result: DType
    shape: tuple[Any, ...]


def promoted_params(op: Any) -> tuple[int, ...]:
    """The parameters whose types decide what a pointwise operator computes in."""
    if op.promotes is not None:
        return tuple(op.sig.place(name) for name in op.promotes)
    return tuple(i for i, p in enumerate(op.sig.params) if p.kind in ("tensor", "operand"))


def pointwise_type(op: Any, args: Sequence[Any]) -> PointwiseType:
    """The rule of pointwise operators: promotion, then broadcasting.

    Tensors with axes decide the dtype; 0-d tensors, then Python numbers, only where their category
    (bool, integer, float, complex) is higher.
    """
    check = getattr(op, "check", None)
    if check is not None:
        check(*args)
    arrays: list[DType] = []
    scalars: list[DType] = []
    numbers: list[DType] = []
    for i in promoted_params(op):
        a = args[i]
        if a is None:
            continue
        if _is_tensor(a):
            (arrays if len(a.shape) else scalars).append(a.dtype)
        else:
            numbers.append(type_of_number(a))
    common = combine(arrays, scalars, numbers)
    if common not in op.dtypes:
        refuse_dtype(op, common)
    if op.result == "float" and not (common.is_floating_point or common.is_complex):
        common = get_default_dtype()
    shapes = [a.shape for a in args if _is_tensor(a)]
    shape = shapes[0] if shapes else ()
    if any(other is not shape and not same_shape(other, shape) for other in shapes):
        shape = broadcast_shapes(*shapes, op=op.sig.name)
    return PointwiseType(common, _result_dtype(op.result, common), shape)


def refuse_dtype(op: Any, dtype: DType) -> None:
    """Say that an operator does not take a dtype."""
    names = ", ".join(t.short for t in op.dtypes)
    raise DTypeError(f"{op.sig.name}: {dtype.short} is not supported; it takes {names}")


def _result_dtype(result: str, common: DType) -> DType:
    if result == "bool":
        return bool_
    return common.to_real() if result == "real" else common


def _is_tensor(a: Any) -> bool:
    return hasattr(a, "dtype") and hasattr(a, "shape")


def infer_types(op: Any, args: Sequence[Any]) -> list[Spec]:
    """The types of an operator's results, from arguments in signature order.

    Tensors may be anything with a shape and a dtype: Values, Types, Tensors.

    >>> infer_types(tx.tanh.declaration, [tx.graph.parse_type("f32[n, 2*m]")])
    [Spec(shape=(n, 2*m), dtype=thixo.float32)]
    """
    if op.kind == "pointwise":
        rule = pointwise_type(op, args)
        return [Spec(rule.shape, rule.result)]
    if op.kind == "control":
        return [Spec(t.shape, t.dtype) for t in op.infer(*args)]
    if op.kind == "composite":
        raise GraphError(
            f"graph: {op.full_name} is a composition of other operators and has no node of its own; "
            "trace a function that calls it"
        )
    first = next((a for a in args if _is_tensor(a)), None)
    if first is not None and first.dtype not in op.dtypes:
        refuse_dtype(op, first.dtype)
    found = op.infer(*args)
    if isinstance(found, Spec):
        return [found]
    return list(found)


def result_types(op: Any, args: Sequence[Any]) -> list[Type]:
    """As `infer_types`, with the device the arguments are on."""
    if op.kind == "control":
        return list(op.infer(*args))
    inputs = list(values_in(args))
    device = inputs[0].type.device if inputs else cpu
    found = []
    for spec in infer_types(op, args):
        for value in inputs:  # one object for equal types: they are printed and compared faster
            known = value.type
            if known.dtype is spec.dtype and known.shape is spec.shape:
                break
        else:
            known = Type(spec.dtype, spec.shape, device)
        found.append(known)
    return found
