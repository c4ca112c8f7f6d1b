"""A number that changes when an element does."""

import struct
from functools import reduce
from operator import xor

import numpy as np

from thixo.dtype import BOOL, FLOATS, INTEGERS, uint64
from thixo.errors import IndexOutOfRange, ValueRangeError
from thixo.ops.base import Op, Spec
from thixo.ops.reduce_references import over_axes
from thixo.ops.reduce_rules import axes, reduced_shape, require_elements
from thixo.ops.samples import Bad, Sample, reduction_samples


class HashTensor(Op):
    """The bits of all elements, or of those along the axes `dim`, each in 64 of them, xored together.

    >>> tx.hash_tensor(tx.tensor([1, 2, 4]))
    tensor(7, dtype=thixo.uint64)
    """

    signature = (
        "hash_tensor(input, dim: ints? = None, *, keepdim: bool = False, mode: int = 0) -> y"
    )
    dtypes = BOOL + INTEGERS + FLOATS
    vjp = None

    def infer(input, dim, keepdim, mode):
        if mode != 0:
            raise ValueRangeError(f"hash_tensor: mode is {mode}; the only one is 0, xor")
        dims = axes(dim, input.ndim, "hash_tensor")
        require_elements("hash_tensor", input, dims)
        return Spec(reduced_shape(input.shape, dims, keepdim), uint64)

    def kernel(input, dim, keepdim, mode):
        dims = axes(dim, input.ndim, "hash_tensor")
        if input.dtype.kind == "f":
            bits = input.astype(np.float64).view(np.uint64)
        else:
            bits = input.astype(np.uint64)  # negative numbers keep their 64-bit form
        return np.bitwise_xor.reduce(bits, axis=dims, keepdims=keepdim)

    def reference(input, dim, keepdim, mode):
        def bits(value):
            if isinstance(value, float):
                return struct.unpack("<Q", struct.pack("<d", value))[0]
            return int(value) % 2**64

        found = over_axes(input, dim, keepdim, lambda v: np.uint64(reduce(xor, map(bits, v))))
        return found.astype(np.uint64)

    samples = reduction_samples(identity=False)

    def bad(s):
        yield Bad(Sample(s.real(2), mode=1), ValueRangeError, "the only one is 0")
        yield Bad(Sample(s.real(0, 2), dim=0), IndexOutOfRange, "is empty")
