"""Derivatives of functions: jacobian, hessian, vjp, jvp and products with them."""

from collections.abc import Callable
from typing import Any

from thixo._core import Tensor
from thixo.autograd.backward import grad
from thixo.autograd.modes import enable_grad
from thixo.errors import ArgumentError, AutogradError, ShapeError, describe
from thixo.ops import public as tx

Function = Callable[..., Any]
Inputs = Any  # a Tensor or a tuple of them


def vjp(
    func: Function,
    inputs: Inputs,
    v: Inputs = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(inputs), and the product of `v` with its Jacobian.

    >>> import thixo as tx
    >>> tx.autograd.functional.vjp(lambda x: x * x, tx.tensor([1.0, 2.0]), tx.tensor([1.0, 10.0]))[1]
    tensor([ 2., 40.])
    """
    with enable_grad():
        single, xs = _inputs(inputs, "vjp", create_graph)
        one, ys = _outputs(func(*xs), "vjp")
        seeds = _vectors(v, ys, "vjp", needed=not (len(ys) == 1 and ys[0].numel() == 1))
        found = _grad(ys, xs, seeds, create_graph, strict, "vjp")
    return _plain(ys, one, create_graph), _plain(found, single, create_graph)


def jvp(
    func: Function,
    inputs: Inputs,
    v: Inputs = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(inputs), and the product of its Jacobian with `v`.

    It runs reverse mode twice: the vjp is linear in its vector, and the gradient of that is the jvp.

    >>> import thixo as tx
    >>> tx.autograd.functional.jvp(lambda x: x * x, tx.tensor([1.0, 2.0]), tx.tensor([1.0, 10.0]))[1]
    tensor([ 2., 40.])
    """
    with enable_grad():
        single, xs = _inputs(inputs, "jvp", create_graph)
        directions = _vectors(v, xs, "jvp", needed=not (single and xs[0].numel() == 1))
        one, ys = _outputs(func(*xs), "jvp")
        dummies = tuple(tx.zeros_like(y).requires_grad_() for y in ys)
        products = _grad(ys, xs, dummies, True, strict, "jvp")
        found = _grad(products, dummies, directions, create_graph, False, "jvp")
    return _plain(ys, one, create_graph), _plain(found, one, create_graph)


def jacobian(
    func: Function,
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
) -> Any:
    """All partial derivatives: result shape followed by input shape, for each pair.

    >>> import thixo as tx
    >>> tx.autograd.functional.jacobian(lambda x: x * x, tx.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    with enable_grad():
        single, xs = _inputs(inputs, "jacobian", create_graph)
        one, ys = _outputs(func(*xs), "jacobian")
        rows = tuple(tuple(_jacobian_of(y, xs, create_graph, strict)) for y in ys)
    if not create_graph:
        rows = tuple(tuple(b.detach() for b in row) for row in rows)
    shaped = tuple(row[0] if single else row for row in rows)
    return shaped[0] if one else shaped


def hessian(
    func: Function,
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
) -> Any:
    """The second derivatives of a function with one number as its result.

    >>> import thixo as tx
    >>> tx.autograd.functional.hessian(lambda x: (x ** 3).sum(), tx.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    single = isinstance(inputs, Tensor)

    def gradient(*xs: Tensor) -> Any:
        one, ys = _outputs(func(*xs), "hessian")
        if not one or ys[0].numel() != 1:
            raise ShapeError(
                f"hessian: the function must return one number, got {describe(ys[0])}"
                + ("" if one else f" and {len(ys) - 1} more")
            )
        found = _grad(ys, xs, (tx.ones_like(ys[0]),), True, strict, "hessian")
        return found[0] if single else found

    return jacobian(gradient, inputs, create_graph, strict)


def vhp(
    func: Function,
    inputs: Inputs,
    v: Inputs = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(inputs), and the product of `v` with its Hessian.

    >>> import thixo as tx
    >>> tx.autograd.functional.vhp(lambda x: (x ** 3).sum(), tx.ones(2), tx.tensor([1.0, 2.0]))[1]
    tensor([ 6., 12.])
    """
    with enable_grad():
        single, xs = _inputs(inputs, "vhp", create_graph)
        seeds = _vectors(v, xs, "vhp", needed=not (single and xs[0].numel() == 1))
        one, ys = _outputs(func(*xs), "vhp")
        if not one or ys[0].numel() != 1:
            raise ShapeError(f"vhp: the function must return one number, got {describe(ys[0])}")
        first = _grad(ys, xs, (tx.ones_like(ys[0]),), True, strict, "vhp")
        found = _grad(first, xs, seeds, create_graph, strict, "vhp")
    return _plain(ys, one, create_graph), _plain(found, single, create_graph)


def hvp(
    func: Function,
    inputs: Inputs,
    v: Inputs = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func(inputs), and the product of its Hessian with `v`; the Hessian is symmetric.

    >>> import thixo as tx
    >>> tx.autograd.functional.hvp(lambda x: (x ** 3).sum(), tx.ones(2), tx.tensor([1.0, 2.0]))[1]
    tensor([ 6., 12.])
    """
    return vhp(func, inputs, v, create_graph, strict)


# ---- shared


def _inputs(inputs: Inputs, op: str, create_graph: bool) -> tuple[bool, tuple[Tensor, ...]]:
    single = isinstance(inputs, Tensor)
    xs = (inputs,) if single else tuple(inputs)
    for x in xs:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{op}: inputs must be Tensors, got {describe(x)}")
    if create_graph and any(x.requires_grad for x in xs):
        # A view keeps the connection to the caller's own graph.
        return single, tuple(x.view_as(x) if x.requires_grad else _leaf(x) for x in xs)
    return single, tuple(_leaf(x) for x in xs)


def _leaf(x: Tensor) -> Tensor:
    return x.detach().requires_grad_()


def _outputs(outputs: Any, op: str) -> tuple[bool, tuple[Tensor, ...]]:
    one = isinstance(outputs, Tensor)
    ys = (outputs,) if one else tuple(outputs)
    for y in ys:
        if not isinstance(y, Tensor):
            raise ArgumentError(f"{op}: the function must return Tensors, got {describe(y)}")
    return one, ys


def _vectors(v: Inputs, like: tuple[Tensor, ...], op: str, needed: bool) -> tuple[Tensor, ...]:
    if v is None:
        if needed:
            raise ArgumentError(f"{op}: v may only be left out where it would be a single number")
        return tuple(tx.ones_like(t) for t in like)
    vectors = (v,) if isinstance(v, Tensor) else tuple(v)
    if len(vectors) != len(like):
        raise ArgumentError(f"{op}: v has {len(vectors)} tensors, {len(like)} are needed")
    for a, b in zip(vectors, like, strict=True):
        if tuple(a.shape) != tuple(b.shape):
            raise ShapeError(f"{op}: v is {describe(a)}, it must have the shape of {describe(b)}")
    return vectors


def _grad(
    ys: tuple[Tensor, ...],
    xs: tuple[Tensor, ...],
    seeds: tuple[Tensor, ...],
    create_graph: bool,
    strict: bool,
    op: str,
) -> tuple[Tensor, ...]:
    """Gradients of those ys that depend on anything; zeros for xs they do not depend on."""
    used = [(y, s) for y, s in zip(ys, seeds, strict=True) if y.requires_grad]
    if strict and len(used) < len(ys):
        raise AutogradError(f"{op}: a result does not depend on the inputs, and strict=True")
    found: tuple[Any, ...] = (None,) * len(xs)
    if used:
        found = grad(
            [y for y, _ in used],
            xs,
            [s for _, s in used],
            create_graph=create_graph,
            retain_graph=True,
            allow_unused=True,
        )
    if strict and any(g is None for g in found):
        raise AutogradError(f"{op}: a result does not depend on one of the inputs, and strict=True")
    return tuple(tx.zeros_like(x) if g is None else g for g, x in zip(found, xs, strict=True))


def _jacobian_of(
    y: Tensor, xs: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> list[Tensor]:
    rows: list[tuple[Tensor, ...]] = []
    for i in range(y.numel()):
        seed = tx.zeros_like(y).reshape(-1)
        seed[i] = 1
        rows.append(_grad((y,), xs, (seed.reshape(y.shape),), create_graph, strict, "jacobian"))
    if not rows:
        return [tx.zeros(tuple(y.shape) + tuple(x.shape), dtype=x.dtype) for x in xs]
    return [
        tx.stack([row[k] for row in rows]).reshape(tuple(y.shape) + tuple(x.shape))
        for k, x in enumerate(xs)
    ]


def _plain(values: tuple[Tensor, ...], single: bool, create_graph: bool) -> Any:
    kept = values if create_graph else tuple(t.detach() for t in values)
    return kept[0] if single else kept
