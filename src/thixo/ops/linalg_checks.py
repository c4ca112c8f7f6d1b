"""The questions every operator of linear algebra asks of its arguments. Sizes may be `Dim`s."""

from typing import Any

from thixo.dtype import COMPLEX, float32, float64
from thixo.errors import DTypeError, ShapeError, describe
from thixo.shape import broadcast_shapes

FACTORABLE = (float32, float64, *COMPLEX)  # what factorisations and solvers take


def check_ndim(op: str, name: str, x: Any, ndim: int) -> None:
    """Refuses anything but a vector, matrix or batch of matrices, as `ndim` says."""
    if x.ndim != ndim:
        kind = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}[ndim]
        raise ShapeError(f"{op}: {name} is {describe(x)}; it must be {kind}, not {x.ndim} axes")


def check_matrix(op: str, name: str, x: Any) -> None:
    """Refuses anything that is no matrix or batch of them."""
    if x.ndim < 2:
        raise ShapeError(
            f"{op}: {name} is {describe(x)}; it must be a matrix or a batch of them, "
            f"with at least 2 axes"
        )


def check_square(op: str, name: str, x: Any) -> None:
    """Refuses anything but square matrices."""
    check_matrix(op, name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{op}: {name} is {describe(x)}; its last two axes must be equal")


def check_same_dtype(op: str, **tensors: Any) -> None:
    """Refuses to mix element types: a product of matrices is too costly to convert for silently."""
    (first, x), *others = tensors.items()
    for name, y in others:
        if y.dtype is not x.dtype:
            raise DTypeError(
                f"{op}: dtypes differ: {first} is {describe(x)}, {name} is {describe(y)}; "
                f"convert one of them"
            )


def check_inner(op: str, first: str, a: Any, second: str, b: Any) -> None:
    """Refuses factors whose inner sizes differ."""
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ShapeError(
            f"{op}: inner sizes differ: {first} is {describe(a)}, {second} is {describe(b)}"
        )


def check_dtype(op: str, name: str, x: Any, allowed: tuple[Any, ...] = FACTORABLE) -> None:
    """Refuses an element type; for composites, whose parts would name themselves instead."""
    if x.dtype not in allowed:
        listed = ", ".join(d.name for d in allowed)
        raise DTypeError(f"{op}: {name} is {describe(x)}; its dtype must be one of {listed}")


def broadcast_batch(op: str, a: Any, b: Any) -> tuple[Any, ...]:
    """The leading axes that two stacks of matrices broadcast to."""
    return broadcast_shapes(a.shape[:-2], b.shape[:-2], op=op)
