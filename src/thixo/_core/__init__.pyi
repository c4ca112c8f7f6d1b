# Written by tools/build_stubs.py from the operator table: do not edit.
"""The native core: Tensor, Operator, the tape and its engine, kernels, thread pool."""

from thixo._core._native import *
from thixo._core._native import Tensor as Tensor

class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple that can count its elements."""

    def numel(self) -> int: ...
