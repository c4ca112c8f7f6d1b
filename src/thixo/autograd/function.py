"""autograd.Function: an operation with the user's own forward and backward."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo._core import Tensor
from thixo.autograd.modes import no_grad
from thixo.errors import AutogradError, InplaceError, describe
from thixo.ops import public as tx


class FunctionCtx:
    """What `forward` leaves for `backward`."""

    def __init__(self, function: type["Function"]) -> None:
        self._name = function.__name__ + "Backward"
        self._function = function
        self._node: Any = None
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._materialize = True
        self._result_types: list[Any] = []
        self._positions: list[int] = []
        self._count = 0
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs, results or others) for backward; overwriting them is noticed."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AutogradError(
                    f"{self._name}: save_for_backward takes Tensors, got {describe(t)}; keep other "
                    "values as attributes of ctx"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        if self._node is None:
            return self._to_save
        return _core.load_function(self._node)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for results that were not used."""
        self._materialize = value

    def _own(self, outputs: tuple[Any, ...], inputs: tuple[Tensor, ...]) -> tuple[Any, ...]:
        """Results that may be given a history: others' tensors are handed out as aliases."""
        owned: list[Any] = []
        for o in outputs:
            if isinstance(o, Tensor) and not any(o is d for d in self._dirty):
                foreign = o.requires_grad or any(o is t for t in (*inputs, *owned))
                o = o.detach() if foreign else o
            owned.append(o)
        return tuple(owned)

    def _written(self, outputs: tuple[Any, ...], inputs: tuple[Tensor, ...]) -> tuple[int, ...]:
        """For each result the input it is, written in place, or -1."""
        for t in self._dirty:
            if not any(t is i for i in inputs):
                raise AutogradError(
                    f"{self._name}: mark_dirty takes inputs of forward, got {describe(t)}"
                )
            if not any(t is o for o in outputs):
                raise AutogradError(
                    f"{self._name}: forward changed its input {describe(t)} in place and marked it "
                    "dirty, so it must return it"
                )
            if t.is_leaf and t.requires_grad:
                raise InplaceError(
                    f"{self._name}: a leaf {describe(t)} that requires grad was changed in place; do "
                    "it on a clone"
                )
            if t._base is not None and len(outputs) > 1:
                raise AutogradError(
                    f"{self._name}: a view that forward changes in place must be its only result"
                )
        places = {id(t): i for i, t in enumerate(inputs) if any(t is d for d in self._dirty)}
        return tuple(places.get(id(o), -1) for o in outputs)

    def _run_backward(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._materialize:
            grads = tuple(
                tx.zeros(shape, dtype=dtype) if g is None and shape is not None else g
                for g, (shape, dtype) in zip(grads, self._result_types, strict=True)
            )
        made = self._function.backward(self, *grads)
        made = made if isinstance(made, tuple) else (made,)
        if len(made) > self._count and all(g is None for g in made[self._count :]):
            made = made[: self._count]
        if len(made) != self._count:
            raise AutogradError(
                f"{self._name}: backward returned {len(made)} gradients for {self._count} arguments of "
                "forward; return None for arguments without a gradient"
            )
        for i, g in enumerate(made):
            if g is not None and not isinstance(g, Tensor):
                raise AutogradError(
                    f"{self._name}: backward must return Tensors or None, gradient {i} is "
                    f"{describe(g)}"
                )
        return tuple(made[i] for i in self._positions)


class Function:
    """Subclass with static `forward(ctx, ...)` and `backward(ctx, ...)`; call it by `apply`.

    >>> import thixo as tx
    >>> class Square(tx.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = tx.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward(); x.grad
    tensor(6.)
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; keep in ctx what backward needs."""
        raise AutogradError("this Function has no forward; define it as a staticmethod")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient, or None, for each argument of forward."""
        raise AutogradError("this Function has no backward; define it as a staticmethod")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record backward."""
        return apply(cls, FunctionCtx(cls), args, kwargs)


# Set where graphs are: gives the results of a traced Function their gradient in the graph.
in_graph: Callable[[Any, Any, Any, Any], tuple[Any, ...]] | None = None


def apply(function: Any, ctx: FunctionCtx, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What `Function.apply` does; `function` has forward, backward and perhaps setup_context."""
    ctx._count = len(args)
    ctx._positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    inputs = tuple(args[i] for i in ctx._positions)
    graded = _core.is_grad_enabled()
    records = graded and any(t.requires_grad for t in inputs)
    # A graph may be called with other inputs that need gradients than those it was traced with.
    traced = graded and in_graph is not None and _core.is_tracing()
    ctx.needs_input_grad = tuple(
        isinstance(a, Tensor) and (_moves(a) if traced else records and a.requires_grad)
        for a in args
    )
    node = _core.function_node(ctx, inputs) if records else None
    with no_grad():
        if hasattr(function, "setup_context"):
            result = function.forward(*args, **kwargs)
            function.setup_context(ctx, args, result)
        else:
            result = function.forward(ctx, *args, **kwargs)
    if not records and not traced:
        return result
    single = not isinstance(result, tuple)
    outputs = ctx._own((result,) if single else result, inputs)
    ctx._result_types = [
        (tuple(o.shape), o.dtype) if isinstance(o, Tensor) else (None, None) for o in outputs
    ]
    differentiable = tuple(
        isinstance(o, Tensor) and _moves(o) and not any(o is n for n in ctx._non_differentiable)
        for o in outputs
    )
    dirty = ctx._written(outputs, inputs)
    which = tuple(next((i for i, o in enumerate(outputs) if o is t), -1) for t in ctx._to_save)
    if traced and in_graph is not None and not ctx._dirty:
        outputs = in_graph(ctx, inputs, outputs, differentiable)
        ctx._to_save = tuple(
            outputs[i] if i >= 0 else t for i, t in zip(which, ctx._to_save, strict=True)
        )
    if records:
        ctx._node = node
        _core.save_function(node, ctx._to_save, which)
        _core.attach_function(node, outputs, differentiable, dirty)
        ctx._to_save = ()
    return outputs[0] if single else outputs


def _moves(t: Tensor) -> bool:
    return t.dtype.is_floating_point or t.dtype.is_complex


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward that cannot be differentiated again: a second order is then a clear error.

    >>> import thixo as tx
    >>> class Exp(tx.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp(); ctx.save_for_backward(y); return y
    ...     @staticmethod
    ...     @tx.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return g * ctx.saved_tensors[0]
    """

    @functools.wraps(function)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        recorded = _core.is_grad_enabled() and any(
            isinstance(g, Tensor) and g.requires_grad for g in grads
        )
        with no_grad():
            made = function(ctx, *grads)
        if not recorded and not (_core.is_grad_enabled() and any(ctx.needs_input_grad)):
            return made
        outputs = made if isinstance(made, tuple) else (made,)
        marked = tuple(
            _Refuse.apply(ctx._name, *grads, g) if isinstance(g, Tensor) else g for g in outputs
        )
        return marked if isinstance(made, tuple) else marked[0]

    return wrapped


class _Refuse(Function):
    """Passes a value on; its own gradient is an error."""

    @staticmethod
    def forward(ctx: Any, name: str, *tensors: Any) -> Any:
        ctx.name = name
        return tensors[-1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AutogradError(
            f"{ctx.name}: its backward is marked once_differentiable and cannot be differentiated again"
        )
