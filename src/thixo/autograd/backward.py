"""backward and grad: from results back to what they were computed from."""

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo._core import Tensor
from thixo.errors import ArgumentError, AutogradError, ShapeError, describe
from thixo.ops import public as tx

Tensors = Tensor | Sequence[Tensor]

# What runs a pass while a graph is recorded, where gradients of paths that are not taken must not count.
_traced: list[Callable[..., Any]] = []


def let_traces_run(way: Callable[..., Any]) -> None:
    """Say what runs a pass of the tape while a graph is recorded; it gets what `_core.backward` gets."""
    _traced[:] = [way]


def _run(*args: Any) -> Any:
    if _traced and _core.is_tracing():
        return _traced[0](*args)
    return _core.backward(*args)


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to `.grad` of the leaves (or of `inputs`).

    >>> import thixo as tx
    >>> x = tx.tensor([1.0, 2.0], requires_grad=True)
    >>> tx.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    roots = _tuple(tensors, "backward", "tensors")
    only = () if inputs is None else _tuple(inputs, "backward", "inputs")
    if inputs is not None and not only:
        raise ArgumentError("backward: inputs is empty; leave it out to reach every leaf")
    for i, t in enumerate(only):
        if not t.requires_grad:
            raise AutogradError(f"backward: input {i}, {describe(t)}, does not require grad")
        if not t.is_leaf:
            t.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    _run(roots, _seeds(roots, grad_tensors, "backward"), only, True, keep, create_graph)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    >>> import thixo as tx
    >>> x = tx.tensor(3.0, requires_grad=True)
    >>> tx.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    roots = _tuple(outputs, "grad", "outputs")
    wanted = _tuple(inputs, "grad", "inputs")
    if not wanted:
        raise ArgumentError("grad: inputs is empty")
    for i, t in enumerate(wanted):
        if not t.requires_grad:
            raise AutogradError(f"grad: input {i}, {describe(t)}, does not require grad")
    if allow_unused is None:
        allow_unused = materialize_grads
    keep = create_graph if retain_graph is None else retain_graph
    seeds = _seeds(roots, grad_outputs, "grad")
    found = list(_run(roots, seeds, wanted, False, keep, create_graph))
    for i, g in enumerate(found):
        if g is None and materialize_grads:
            found[i] = tx.zeros_like(wanted[i])
        elif g is None and not allow_unused:
            raise AutogradError(
                f"grad: input {i}, {describe(wanted[i])}, was not used to compute the outputs; pass "
                "allow_unused=True to get None for it"
            )
    return tuple(found)


def _tuple(tensors: Any, op: str, name: str) -> tuple[Tensor, ...]:
    if isinstance(tensors, Tensor):
        return (tensors,)
    if not isinstance(tensors, Sequence):
        raise ArgumentError(
            f"{op}: {name} must be a Tensor or a list of them, got {describe(tensors)}"
        )
    found = tuple(tensors)
    for t in found:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"{op}: {name} must be Tensors, got {describe(t)}")
    return found


def _seeds(roots: tuple[Tensor, ...], given: Any, op: str) -> tuple[Tensor, ...]:
    if given is None or isinstance(given, Tensor):
        given = (given,) * (1 if isinstance(given, Tensor) else len(roots))
    if not isinstance(given, Sequence):
        raise ArgumentError(f"{op}: the gradient must be a Tensor, got {describe(given)}")
    if len(given) != len(roots):
        raise ArgumentError(f"{op}: {len(roots)} outputs but {len(given)} gradients for them")
    seeds = []
    for root, seed in zip(roots, given, strict=True):
        if seed is None:
            if root.numel() != 1:
                raise ShapeError(
                    f"{op}: the gradient can only be left out for a result with one element, this is "
                    f"{describe(root)}; reduce it first (sum(), mean()) or pass a gradient"
                )
            if root.dtype.is_complex:
                raise AutogradError(
                    f"{op}: the gradient can only be left out for a real result, this is "
                    f"{describe(root)}; take abs() or .real, or pass a gradient"
                )
            seed = tx.ones_like(root.detach())
        elif not isinstance(seed, Tensor):
            raise ArgumentError(f"{op}: the gradient must be a Tensor, got {describe(seed)}")
        elif tuple(seed.shape) != tuple(root.shape):
            raise ShapeError(
                f"{op}: the gradient is {describe(seed)}, the result is {describe(root)}; their "
                "shapes must be equal"
            )
        seeds.append(seed)
    return tuple(seeds)
