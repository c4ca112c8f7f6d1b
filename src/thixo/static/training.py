"""Optimizers in a graph: their own update rules, recorded, with their state as variables."""

from collections.abc import Iterable, Sequence
from typing import Any

from thixo import _core
from thixo.errors import ArgumentError, GraphError, TraceError, describe
from thixo.graph import ir
from thixo.graph.trace import make_symbolic, untraced
from thixo.ops import public as tx
from thixo.static.declare import gradients
from thixo.static.graph import (
    Declaration,
    Graph,
    Operation,
    innermost,
    operation,
)


def minimize(
    optimizer: Any,
    loss: Any,
    variables: Sequence[Any] | None,
    clip_norm: float | None,
    clip_value: float | None,
    name: str,
) -> Operation:
    """See `Optimizer.minimize`."""
    innermost("minimize")
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if variables is not None:
        chosen = {id(v) for v in variables}
        unknown = [v for v in variables if all(v is not p for p in params)]
        if unknown:
            raise ArgumentError(
                f"{_name(optimizer)}.minimize: {describe(unknown[0])} is none of its parameters"
            )
        params = [p for p in params if id(p) in chosen]
    found = gradients(loss, params)
    was = _core.set_grad_enabled(False)
    try:
        if clip_value is not None:
            found = [tx.clamp(g, -clip_value, clip_value) for g in found]
        if clip_norm is not None:
            found = clipped(found, clip_norm)
    finally:
        _core.set_grad_enabled(was)
    return apply_gradients(optimizer, list(zip(found, params, strict=True)), name, loss)


def clipped(gradients: Sequence[Any], limit: float) -> list[Any]:
    """Gradients scaled so that their norm, as one vector, is at most `limit`."""
    norms = tx.stack([tx.linalg.vector_norm(g) for g in gradients])
    total = tx.linalg.vector_norm(norms)
    factor = tx.clamp(limit / (total + 1e-6), max=1.0)
    return [g * factor for g in gradients]


def apply_gradients(
    optimizer: Any, pairs: Iterable[tuple[Any, Any]], name: str, loss: Any = None
) -> Operation:
    """See `Optimizer.apply_gradients`."""
    declaration = innermost("apply_gradients")
    owner = declaration.owner
    if type(optimizer)._update is _base(optimizer)._update:
        raise ArgumentError(
            f"{_name(optimizer)}: it has no rule for one step and cannot be part of a graph; "
            "it needs to evaluate the loss again"
        )
    given = {id(v): g for g, v in pairs}
    known = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if not given.keys() <= known:
        raise ArgumentError(
            f"{_name(optimizer)}.apply_gradients: a variable is none of its parameters"
        )
    assigned: dict[ir.Value, ir.Value] = {} if loss is None else _writes(declaration, loss)
    was = _core.set_grad_enabled(False)
    declaration.numbers = {}  # all parameters of a group have the same count of steps
    try:
        for number, group in enumerate(optimizer.param_groups):
            for param in group["params"]:
                if id(param) in given:
                    _update(declaration, optimizer, number, param, given[id(param)], assigned)
    finally:
        declaration.numbers = None
        _core.set_grad_enabled(was)
    return operation(owner, name, assigned)


def _update(
    declaration: Declaration,
    optimizer: Any,
    number: int,
    param: Any,
    gradient: Any,
    assigned: dict[ir.Value, ir.Value],
) -> None:
    owner, group = declaration.owner, optimizer.param_groups[number]
    target = owner.variable_of(param, f"{_name(optimizer)}.minimize")
    slots = _slots(owner, optimizer, number, target)
    state = {k: make_symbolic(declaration.value_of(make_symbolic(v))) for k, v in slots.items()}
    box = make_symbolic(declaration.value_of(param))
    optimizer._update(group, box, -gradient if group.get("maximize") else gradient, state)
    assigned[target] = box._value
    for key, slot in slots.items():
        assigned[slot] = state[key]._value


def _slots(owner: Graph, optimizer: Any, number: int, target: ir.Value) -> dict[str, ir.Value]:
    """The variables of an optimizer's state for a variable; the count of steps is one for a whole group."""
    slots = owner.slots.setdefault(id(optimizer), (optimizer, {}))[1]
    found = slots.get(target)
    if found is not None:
        return found
    state: dict[str, Any] = {}
    with untraced():
        try:
            optimizer._start(optimizer.param_groups[number], owner.variables[target].data, state)
        except TraceError:
            raise GraphError(
                f"{_name(optimizer)}: its state begins with an option that a graph does not know before it runs; "
                "give it as a number"
            ) from None
    prefix = _name(optimizer).lower()
    found = slots[target] = {}
    for key, data in state.items():
        if data.ndim == 0 and key == "step":
            common = slots.setdefault(("step", number), {})
            if key not in common:
                common[key] = owner.declaration.new_variable(data, f"{prefix}_step", False)
            found[key] = common[key]
        else:
            name = f"{prefix}_{target.name}_{key}"
            found[key] = owner.declaration.new_variable(data.detach(), name, False)
    return found


def _writes(declaration: Declaration, loss: Any) -> dict[ir.Value, ir.Value]:
    """Writes in place that the declaration made and that need no more feeds than the loss does.

    These are what a forward pass changes, such as the running means of batch normalization.
    """
    writes = declaration.writes()
    if not writes:
        return {}
    fed = _placeholders(declaration.owner, declaration.value_of(loss))
    return {k: v for k, v in writes.items() if _placeholders(declaration.owner, v) <= fed}


def _placeholders(owner: Graph, value: ir.Value) -> set[ir.Value]:
    needed = {value}
    for node in reversed(owner.program.nodes):
        if any(v in needed for v in node.outputs):
            needed.update(ir.values_in(node.args))
    return needed & owner.placeholders.keys()


def _name(optimizer: Any) -> str:
    return type(optimizer).__name__


def _base(optimizer: Any) -> Any:
    return next(c for c in type(optimizer).__mro__ if c.__name__ == "Optimizer")
