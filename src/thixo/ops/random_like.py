"""Random tensors with the type of another: rand_like, randn_like, randint_like."""

from typing import Any

from thixo.dtype import FLOATS, DType
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.create_options import check_memory_format
from thixo.ops.plain import whole
from thixo.ops.random import drawn
from thixo.ops.samples import Sample


def like(
    operation: str,
    input: Any,
    dtype: DType | None,
    layout: Any,
    device: Any,
    requires_grad: bool,
    memory_format: Any,
) -> dict[str, Any]:
    """The options of a random tensor that is like another."""
    check_memory_format(operation, memory_format)
    return {
        "dtype": dtype or input.dtype,
        "layout": layout,
        "device": input.device if device is None else device,
        "requires_grad": requires_grad,
    }


class RandLike(Composite):
    """Random numbers in [0, 1) in the shape and dtype of another tensor.

    >>> tx.rand_like(tx.zeros(2)).shape
    Size([2])
    """

    signature = (
        "rand_like(input, *, generator: generator? = None, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "memory_format: any? = None) -> y"
    )
    random = True
    method = False

    def compose(input, generator, *given):
        return tx.rand(tuple(input.shape), generator=generator, **like("rand_like", input, *given))

    def reference(input, *options):
        return drawn(input.shape)

    dtypes = FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m))


class RandnLike(Composite):
    """Random normal numbers in the shape and dtype of another tensor.

    >>> tx.randn_like(tx.zeros(2)).shape
    Size([2])
    """

    signature = (
        "randn_like(input, *, generator: generator? = None, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "memory_format: any? = None) -> y"
    )
    random = True
    method = False

    def compose(input, generator, *given):
        return tx.randn(
            tuple(input.shape), generator=generator, **like("randn_like", input, *given)
        )

    def reference(input, *options):
        return drawn(input.shape)

    dtypes = FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m))


class RandintLike(Composite):
    """Random whole numbers in the shape and dtype of another tensor.

    >>> tx.randint_like(tx.zeros(2), 5, 6)
    tensor([5., 5.])
    """

    signature = (
        "randint_like(input, low: any, high: any? = None, *, generator: generator? = None, "
        "dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, memory_format: any? = None) -> y"
    )
    random = True
    method = False

    def compose(input, low, high, generator, *given):
        low, high = (0, low) if high is None else (low, high)
        low, high = whole("randint_like", "low", low), whole("randint_like", "high", high)
        given = like("randint_like", input, *given)
        return tx.random_integers(low, high, tuple(input.shape), generator=generator, **given)

    def reference(input, *options):
        return drawn(input.shape)

    dtypes = FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m), 5)
        yield Sample(s.real(s.n, s.m), 2, 5)
