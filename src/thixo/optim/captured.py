"""Steps of optimizers and of schedules in captured code.

A step records the optimizer's own rule, as `minimize` does: parameters and states are inputs that the program overwrites, learning rates
are inputs too, so another rate is no other program. All parameters of a group that have had as many steps share one count.
"""

from collections.abc import Callable
from typing import Any

import thixo as tx
from thixo import _core
from thixo.capture.callees import call, read_members
from thixo.capture.frames import Capture, current
from thixo.capture.gradients import gradient_of, set_gradient
from thixo.capture.paths import AllEqual, Assumed, Path, Scalar, look, path_of, read
from thixo.capture.plain_calls import plain_call
from thixo.capture.plans import AddOne, Change, Constant, Plan
from thixo.capture.refusal import Refused
from thixo.capture.values import Number
from thixo.dtype import float64
from thixo.graph.trace import Trace, current_trace, make_symbolic, untraced
from thixo.nn.modules.module import Module
from thixo.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
)
from thixo.optim.lbfgs import LBFGS
from thixo.optim.optimizer import Optimizer
from thixo.optim.sgd import SGD
from thixo.tensor import Tensor, tensor

_OUTSIDE = "do it outside of what is captured"
_NO_OPTIONS = ("params", "lr", "initial_lr", "param_names")


def form_of(f: Any) -> Callable[..., Any] | None:
    """What stands for a function of Thixo's in captured code, if something does."""
    found = _FORMS.get(f)
    if found is None and f.__module__.startswith("thixo.optim.lr_scheduler"):
        found = {"step": _schedule, "get_last_lr": _last_rates}.get(f.__name__)
    return found


def _path(x: Any, what: str) -> Path:
    capture = current()
    path = path_of(capture, x)
    if path is None:
        raise Refused(what, f"a {type(x).__name__} that is made inside", "make it outside")
    if id(x) in capture.scheduled:
        raise Refused(
            what, "a schedule has changed it before in this call", "step the schedule last"
        )
    return path


# ---- gradients


def _zero_grad(optimizer: Any, set_to_none: bool = True) -> None:
    path = _path(optimizer, "zero_grad()")
    for number, group in enumerate(_groups(current(), path, optimizer)):
        for param in _params(current(), path, number, group):
            _forget(param, set_to_none)


def _zero_module(module: Any, set_to_none: bool = True) -> None:
    for param in read_members(Module.parameters, (module,), {}):
        _forget(param, set_to_none)


def _forget(param: Any, set_to_none: bool) -> None:
    if set_to_none:
        set_gradient(param, None)
    elif (grad := gradient_of(param)) is not None:
        set_gradient(param, tx.zeros_like(grad))


def _clip(f: Any) -> Callable[..., Any]:
    def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        params = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        for param in params:
            gradient_of(param)
        return plain_call(f, (params, *args), kwargs)

    return clip


# ---- steps


def _step(optimizer: Any, closure: Any = None) -> Any:
    path, capture = _path(optimizer, "step()"), current()
    if type(optimizer)._update is Optimizer._update:
        _refuse_step(optimizer)
    _need_no_hooks(capture, path, optimizer)
    loss = None
    if closure is not None:
        with tx.enable_grad():
            loss = call(closure)
    was = _core.set_grad_enabled(False)
    try:
        for number, group in enumerate(_groups(capture, path, optimizer)):
            _step_group(capture, optimizer, path, number, group)
    finally:
        _core.set_grad_enabled(was)
    return loss


def _refuse_step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
    raise Refused(
        f"{type(optimizer).__name__}.step()", "it has no rule for one step: it evaluates the loss again", _OUTSIDE
    )  # fmt: skip


def _need_no_hooks(capture: Capture, path: Path, optimizer: Any) -> None:
    """Refuse hooks around the step; that there are none is assumed from now on."""
    place = path.step("attr", "_hooks")
    for kind in ("step_pre", "step_post"):
        way, hooks = place.step("item", kind), optimizer._hooks.get(kind)
        if hooks:
            raise Refused("step()", "the optimizer has hooks", "remove them before")
        how, value = ("missing", kind) if hooks is None else ("keys", ())
        capture.guards.setdefault((way.key, how), Assumed(way, how, value))


def _groups(capture: Capture, path: Path, optimizer: Any) -> list[dict[str, Any]]:
    """The groups of an optimizer; how many there are is assumed."""
    place, groups = path.step("attr", "param_groups"), optimizer.param_groups
    capture.guards.setdefault((place.key, "length"), Assumed(place, "length", len(groups)))
    return groups


def _params(capture: Capture, path: Path, number: int, group: dict[str, Any]) -> list[Any]:
    """The parameters of a group, each with its path."""
    place = path.step("attr", "param_groups").step("item", number).step("item", "params")
    params = group["params"]
    key = (place.key, "length")
    if key not in capture.guards:
        capture.guards[key] = Assumed(place, "length", len(params))
        for i, param in enumerate(params):
            if id(param) in capture.originals:
                raise Refused(
                    "an optimizer", "one of its parameters is an argument too", "pass the model"
                )
            read(capture, place.step("item", i), param)
    return params


def _step_group(
    capture: Capture, optimizer: Any, path: Path, number: int, group: dict[str, Any]
) -> None:
    trace = current_trace()
    assert trace is not None
    options = _options(capture, trace, optimizer, path, number, group)
    ready = []
    for place, param in enumerate(_params(capture, path, number, group)):
        grad = gradient_of(param)
        if grad is not None and not isinstance(grad, Tensor):
            raise Refused("step()", "a gradient is there on some paths only", "zero_grad() before")
        if grad is not None:
            state = _state(capture, optimizer, path, number, place, param)
            ready.append((place, param, grad, state))
    common = _common_count(capture, optimizer, path, number, ready)
    count = None if common is None else _box(trace, common)
    for _, param, grad, state in ready:
        boxes = {k: _box(trace, t) if isinstance(t, Tensor) else t for k, t in state.items()}
        if count is not None:
            boxes["step"] = make_symbolic(count._value)
        target = _box(trace, param)
        optimizer._update(options, target, -grad if group.get("maximize") else grad, boxes)
        _assign(trace, param, target)
        for key, old in state.items():
            if isinstance(old, Tensor) and not (count is not None and key == "step"):
                _assign(trace, old, boxes[key])
        after = boxes.get("step")
    if common is not None:
        _assign(trace, common, after)


def _box(trace: Trace, x: Any) -> Any:
    return make_symbolic(trace.value_of(x))


def _assign(trace: Trace, target: Any, new: Any) -> None:
    if trace.value_of(target) is not new._value:
        trace.aliases.assign(target, new)


def _options(
    capture: Capture, trace: Trace, optimizer: Any, path: Path, number: int, group: dict[str, Any]
) -> dict[str, Any]:
    """The options of a group: the rate is an input, all else is assumed."""
    place = path.step("attr", "param_groups").step("item", number)
    cycled = _cycled(optimizer, group)
    for key, value in group.items():
        if key not in _NO_OPTIONS and key != cycled:
            read(capture, place.step("item", key), value)
            look(capture, value)
    found = dict(group)
    if "lr" in group:
        found["lr"] = _number(capture, trace, place.step("item", "lr"), group["lr"])
    if cycled == "momentum":
        at = place.step("item", "momentum")
        found["momentum"] = _number(capture, trace, at, group["momentum"])
    elif cycled == "betas":
        beta, *rest = group["betas"]
        at = place.step("item", "betas")
        for i, value in enumerate(rest, 1):
            read(capture, at.step("item", i), value)
        found["betas"] = (_number(capture, trace, at.step("item", 0), beta), *rest)
    return found


def _cycled(optimizer: Any, group: dict[str, Any]) -> str | None:
    """Which option a schedule moves besides the rate, as cycles do: the momentum, or the first of the decay rates."""
    if "max_momentum" not in group and "base_momentum" not in group:
        return None
    if isinstance(optimizer, SGD) and group["momentum"]:
        return "momentum"
    return "betas" if "betas" in group else None


def _number(capture: Capture, trace: Trace, path: Path, value: Any) -> Any:
    """A number from outside as an input."""
    if isinstance(value, Tensor):
        read(capture, path, value)
        return _box(trace, value)
    known = capture.scalars.get(path.key)
    if known is None:
        with untraced():
            known = tensor(float(value), dtype=float64)
        capture.scalars[path.key] = known
        capture.tensors[id(known)] = (known, Scalar(path.start, path.label, path.steps))
    return _box(trace, known)


def _state(
    capture: Capture, optimizer: Any, path: Path, number: int, place: int, param: Any
) -> dict[str, Any]:
    """The state of a parameter, made where it has none yet."""
    state = optimizer.state[param]
    if all(value is None for value in state.values()):
        before = dict(state)
        with untraced():
            like = tx.zeros(tuple(param.shape), dtype=param.dtype)
            optimizer._start(optimizer.param_groups[number], like, state)

        def undo() -> None:
            state.clear()
            state.update(before)

        capture.undo.append(undo)
    here = path.step("state", (number, place))
    capture.guards.setdefault((here.key, "keys"), Assumed(here, "keys", tuple(state)))
    for key, value in state.items():
        read(capture, here.step("item", key), value)
    return state


# ---- counts of steps


def _common_count(
    capture: Capture, optimizer: Any, path: Path, number: int, ready: list[Any]
) -> Any:
    """One count for all parameters of a group, where all have had as many steps; None where each has its own."""
    counts = [state["step"] for *_, state in ready if isinstance(state.get("step"), Tensor)]
    places = tuple(place for place, *_ in ready)
    known = capture.counts.get((id(optimizer), number))
    if known is None:
        if capture.depth or len(counts) < 2 or len(counts) != len(ready):
            return None
        if any(t._value is not None for t in counts) or len({t.item() for t in counts}) > 1:
            return None
        capture.counts[id(optimizer), number] = places
        key = (path.key, "counts", number)
        capture.guards[key] = Assumed(path, "holds", _EqualCounts(number, places))
    elif capture.depth or known != places:
        raise Refused("step()", "other parameters have gradients than at the step before", _OUTSIDE)

    add = AddOne(path, lambda found: _counts(found, number, places[1:]))
    capture.later.append(lambda plan: Change(f"counts of {path}", add, Constant(None)))
    return counts[0]


def _counts(optimizer: Any, number: int, places: tuple[int, ...]) -> list[Any]:
    params, state = optimizer.param_groups[number]["params"], optimizer.state
    return [state[params[i]]["step"] for i in places]


class _EqualCounts(AllEqual):
    """Assumed: parameters of a group have had as many steps."""

    def __init__(self, number: int, places: tuple[int, ...]) -> None:
        self._number, self._places = number, places

    def counts(self, found: Any) -> list[Any]:
        return _counts(found, self._number, self._places)

    def __repr__(self) -> str:
        return f"at one count of steps for all parameters of group {self._number}"


# ---- schedules


def _schedule(scheduler: Any, *args: Any, **kwargs: Any) -> None:
    """A schedule is Python's: it steps after each call."""
    path, capture = _path(scheduler, "step() of a schedule"), current()
    if capture.depth:
        raise Refused("step() of a schedule", "a tensor decides whether it is done", _OUTSIDE)

    def change(plan: Plan) -> Change:
        def apply(call: Any, new: Any) -> None:
            given, named = new
            path.fetch(call.arguments).step(*given, **named)

        return Change(str(path), apply, plan.of((args, kwargs), "an argument of a schedule"))

    capture.later.append(change)
    for x in (scheduler, getattr(scheduler, "optimizer", None)):
        capture.scheduled[id(x)] = x


def _last_rates(scheduler: Any) -> Any:
    path, capture, trace = _path(scheduler, "get_last_lr()"), current(), current_trace()
    assert trace is not None
    rates = scheduler.get_last_lr()
    place = path.step("call", "get_last_lr")
    capture.guards.setdefault((place.key, "length"), Assumed(place, "length", len(rates)))
    found = [
        Number("float", _number(capture, trace, place.step("item", i), float(rate)))
        for i, rate in enumerate(rates)
    ]
    return capture.made(found)


_FORMS: dict[Any, Callable[..., Any]] = {
    Optimizer.zero_grad: _zero_grad,
    Optimizer.step: _step,
    LBFGS.step: _refuse_step,
    Module.zero_grad: _zero_module,
    **{f: _clip(f) for f in (clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_)},
}  # fmt: skip
