"""What every optimizer is: groups of parameters with options, and a state for each parameter."""

import copy
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import thixo as tx
from thixo import _core
from thixo.errors import ArgumentError, SerializationError, TraceError, ValueRangeError, describe
from thixo.optim import fused
from thixo.optim.arguments import Number, Pair, check_argument, check_constructor, is_real
from thixo.tensor import RemovableHandle, Tensor

_numbers = itertools.count()

Step = tuple[Tensor, Tensor, dict[str, Any]]  # parameter, gradient, state


class Optimizer:
    """The base of all optimizers. A subclass says how one parameter is changed, in `_update`.

    >>> class Halve(tx.optim.Optimizer):
    ...     def __init__(self, params):
    ...         super().__init__(params, {"factor": 0.5})
    ...     def _update(self, group, param, grad, state):
    ...         param.mul_(group["factor"])
    >>> p = tx.nn.Parameter(tx.ones(1))
    >>> p.sum().backward()
    >>> Halve([p]).step()
    >>> p.detach()
    tensor([0.5000])
    """

    def __init_subclass__(cls) -> None:
        check_constructor(cls)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor | np.ndarray) or not isinstance(params, Iterable):
            raise ArgumentError(
                f"{type(self).__name__}: a list of parameters is needed, got {describe(params)}"
            )
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._hooks: dict[str, dict[int, Any]] = {}
        groups = list(params)
        if not groups:
            raise ValueRangeError(f"{type(self).__name__}: the list of parameters is empty")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own; what is not given is the default.

        >>> a, b = tx.nn.Parameter(tx.ones(1)), tx.nn.Parameter(tx.ones(1))
        >>> optimizer = tx.optim.SGD([a], lr=0.1)
        >>> optimizer.add_param_group({"params": [b], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        name = type(self).__name__
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise ArgumentError(
                f"{name}: a group is a dictionary with 'params', got {describe(param_group)}"
            )
        group = dict(param_group)
        given = group["params"]
        if isinstance(given, set):
            raise ArgumentError(f"{name}: parameters must be in an order; a set has none")
        if isinstance(given, np.ndarray) or not isinstance(given, Iterable):
            raise ArgumentError(f"{name}: parameters must be tensors, got {describe(given)}")
        given = [given] if isinstance(given, Tensor) else list(given)
        if given and isinstance(given[0], tuple):
            group["param_names"] = [n for n, _ in given]
            given = [p for _, p in given]
        for param in given:
            if not isinstance(param, Tensor):
                raise ArgumentError(f"{name}: parameters must be tensors, got {describe(param)}")
            if not param.is_leaf and not self.defaults.get("differentiable"):
                raise ArgumentError(f"{name}: cannot optimize {describe(param)}, which is no leaf")
        group["params"] = given
        for option, default in self.defaults.items():
            group.setdefault(option, default)
            if group[option] is _REQUIRED:
                raise ArgumentError(f"{name}: a group lacks {option!r}, which has no default")
            if is_real(default):
                check_argument(name, option, Number, group[option])
            elif isinstance(default, tuple) and len(default) == 2:
                check_argument(name, option, Pair, group[option])
        present = {id(p) for g in self.param_groups for p in g["params"]}
        ids = [id(p) for p in given]
        if len(set(ids)) != len(ids) or present & set(ids):
            raise ArgumentError(f"{name}: a parameter is given twice")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or set them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.grad = None if set_to_none else tx.zeros_like(param.grad)

    # ---- stepping

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        """Change one parameter in place; `state` is its own and empty at first."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it steps")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient; `closure` recomputes the loss first."""
        if closure is not None and not callable(closure):
            raise ArgumentError(
                f"{type(self).__name__}: closure must be a function, got {describe(closure)}"
            )
        if _core.is_tracing():
            raise TraceError(
                f"{type(self).__name__}.step: while tracing, gradients and the optimizer's state have no "
                "values; trace the loss and its gradients (tx.autograd.grad) and step outside, or declare "
                "the graph (tx.static) and minimize the loss there"
            )
        for hook in list(self._hooks.get("step_pre", {}).values()):
            hook(self, (closure,), {})
        loss = None
        if closure is not None:
            with tx.enable_grad():
                loss = closure()
        with tx.no_grad():
            for group in self.param_groups:
                ready = [
                    (param.detach(), param.grad.detach(), self.state[param])
                    for param in group["params"]
                    if param.grad is not None
                ]
                for param, grad, state in self._update_together(group, ready):
                    self._update(group, param, -grad if group.get("maximize") else grad, state)
        for hook in list(self._hooks.get("step_post", {}).values()):
            hook(self, (closure,), {})
        return loss

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        """Make the state that a parameter has before its first step."""

    # ---- in a static graph

    def minimize(
        self,
        loss: Tensor,
        variables: Sequence[Any] | None = None,
        *,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        name: str = "train",
    ) -> Any:
        """An operation of a static graph: one step on the parameters, or on some of them, against a loss.

        Options that are tensors of the graph (`lr` a placeholder or a variable) count as they are in each run. It also
        does what the declaration wrote in place on the way to the loss, such as running means.

        >>> with tx.static.Graph() as g:
        ...     w = tx.static.variable(4.0, name="w")
        ...     step = tx.optim.SGD([w], lr=0.25).minimize(w * w)
        >>> session = tx.static.Session(g)
        >>> session.run(step), session.run(step), session.run(w)
        (None, None, tensor(1.))
        """
        from thixo.static.training import minimize

        return minimize(self, loss, variables, clip_norm, clip_value, name)

    def apply_gradients(self, pairs: Iterable[tuple[Any, Any]], *, name: str = "train") -> Any:
        """An operation of a static graph: one step with these gradients, given as (gradient, variable).

        >>> with tx.static.Graph() as g:
        ...     w = tx.static.variable(4.0, name="w")
        ...     (slope,) = tx.static.gradients(w * w, [w])
        ...     step = tx.optim.SGD([w], lr=0.25).apply_gradients([(slope.clamp(max=1.0), w)])
        >>> session = tx.static.Session(g)
        >>> session.run(step), session.run(w)
        (None, tensor(3.7500))
        """
        from thixo.static.training import apply_gradients

        return apply_gradients(self, pairs, name)

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        """Update as many parameters as possible in one launch; those that are left."""
        return ready

    # ---- hooks

    def _add_hook(self, kind: str, hook: Any) -> RemovableHandle:
        hooks = self._hooks.setdefault(kind, {})
        number = next(_numbers)
        hooks[number] = hook
        return RemovableHandle(lambda: hooks.pop(number, None))

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return self._add_hook("step_pre", hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._add_hook("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is collected."""
        return self._add_hook("state_pre", hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after; what it returns replaces the state."""
        return self._add_hook("state_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; what it returns is loaded."""
        return self._add_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return self._add_hook("load_post", hook)

    # ---- saving

    def state_dict(self) -> dict[str, Any]:
        """The state and the options, with numbers in place of the parameters.

        >>> p = tx.nn.Parameter(tx.ones(1))
        >>> tx.optim.SGD([p], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in list(self._hooks.get("state_pre", {}).values()):
            hook(self)
        number = {id(p): i for i, p in enumerate(self._all_params())}
        groups = [
            {**group, "params": [number[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {number[id(p)]: dict(s) for p, s in self.state.items() if id(p) in number}
        made = {"state": state, "param_groups": groups}
        for hook in list(self._hooks.get("state_post", {}).values()):
            made = hook(self, made) or made
        return made

    def _all_params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state, so that the next step is what it would have been."""
        for hook in list(self._hooks.get("load_pre", {}).values()):
            state_dict = hook(self, state_dict) or state_dict
        name = type(self).__name__
        if not isinstance(state_dict, dict) or not {"state", "param_groups"} <= set(state_dict):
            raise SerializationError(
                f"{name}.load_state_dict: needs a dictionary with 'state' and 'param_groups', got "
                f"{describe(state_dict)}"
            )
        mine = [len(g["params"]) for g in self.param_groups]
        given = [len(g["params"]) for g in state_dict["param_groups"]]
        if mine != given:
            raise SerializationError(
                f"{name}.load_state_dict: the state has groups of {given} parameters, this optimizer "
                f"of {mine}"
            )
        numbers = [n for g in state_dict["param_groups"] for n in g["params"]]
        params = dict(zip(numbers, self._all_params(), strict=True))
        state: dict[Any, dict[str, Any]] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            if number in params:
                param = params[number]
                state[param] = {k: _taken_over(v, param) for k, v in values.items()}
        groups = []
        for group, new in zip(self.param_groups, state_dict["param_groups"], strict=True):
            options = {k: copy.deepcopy(v) for k, v in new.items() if k != "params"}
            groups.append({**options, "params": group["params"]})
        self.state = state
        self.param_groups = groups
        for hook in list(self._hooks.get("load_post", {}).values()):
            hook(self)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            shown = sorted(k for k in group if k not in ("params", "param_names"))
            lines += [f"    {k}: {group[k]}" for k in shown]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults, "state": dict(self.state),
            "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.state = defaultdict(dict, self.state)
        self._hooks = {}


_REQUIRED = object()


def _taken_over(value: Any, param: Tensor) -> Any:
    """A value of a loaded state for a parameter: a copy; averages in the parameter's dtype."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    value = value.detach().clone()
    is_average = tuple(value.shape) == tuple(param.shape) and value.dtype.is_floating_point
    return value.to(param.dtype) if is_average and param.dtype.is_floating_point else value


# ---- what the rules share


def check(name: str, **ranges: tuple[Any, Any]) -> None:
    """Refuse options out of range: name=(value, whether it is fine)."""
    for option, (value, fine) in ranges.items():
        if isinstance(fine, Tensor) and fine._value is not None:
            continue  # in a graph it is known when that runs
        if not fine:
            raise ValueRangeError(f"{name}: {option} is {value!r}, which is out of range")


def check_betas(name: str, betas: Any) -> None:
    """Refuse decay rates outside of [0, 1)."""
    check_argument(name, "betas", Pair, betas)
    fine = all(0 <= b < 1 for b in betas)
    check(name, betas=(betas, fine))


def no_gradient_of_steps(name: str, differentiable: bool) -> None:
    """A step is written in place, outside of the tape."""
    if differentiable:
        raise ArgumentError(f"{name}: differentiable=True is not available: steps are in place")


def real(x: Tensor) -> Tensor:
    """A complex tensor as pairs of reals over the same memory; a real one as it is."""
    return tx.view_as_real(x) if x.dtype.is_complex else x


def number(x: Tensor) -> Any:
    """The value of a 0-d tensor; while tracing, when there is none, a float64 tensor."""
    if x._value is not None:
        return x.to(tx.float64)
    try:
        return x.item()
    except TraceError:
        return x.to(tx.float64)


def is_on(option: Any) -> bool:
    """Whether an option is other than zero; one that a graph knows only when it runs is."""
    return True if isinstance(option, Tensor) and option._value is not None else bool(option)


def counted(state: dict[str, Any]) -> Any:
    """Count a step, and give its number."""
    return number(state["step"].add_(1))


def new_count() -> Tensor:
    """A count of steps that is part of the state."""
    return tx.tensor(0.0, dtype=tx.float32)


def zeros(state: dict[str, Any], param: Tensor, *names: str) -> None:
    """Make averages of the parameter's shape that begin at zero."""
    for name in names:
        state[name] = tx.zeros_like(param)


def same_step(ready: list[Step]) -> Any:
    """How often these parameters have been updated, if all as often; else None. Their state must have begun."""
    return same_number(ready, "step")


def same_number(ready: list[Step], name: str) -> Any:
    """The number of this name in the states of these parameters, if all have the same; else None."""
    found = {number(state[name]) for _, _, state in ready}
    value = found.pop() if len(found) == 1 else None
    return None if isinstance(value, Tensor) else value


def in_one_kernel(
    ready: list[Step], kernel: Any, names: Sequence[str], numbers: Sequence[float]
) -> bool:
    """Update all of these at once, and count the step; False if that cannot be done. `names` are their states."""
    groups = [(p, g, *(state[n] for n in names)) for p, g, state in ready]
    if not fused.run(kernel, (0, *range(2, 2 + len(names))), groups, numbers):
        return False
    for _, _, state in ready:
        counted(state)
    return True


def with_decay(group: dict[str, Any], param: Tensor, grad: Tensor) -> Tensor:
    """The gradient, with that of half the squared norm of the parameter where it is wanted."""
    decay = group["weight_decay"]
    return grad + param * decay if decay else grad


Params = Iterable[Any]
