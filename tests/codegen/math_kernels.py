"""A kernel for each function of the generator, down to its primitives."""

import functools

from thixo.codegen.builder import Builder
from thixo.codegen.expand import expand
from thixo.codegen.instructions import FUNCTIONS
from thixo.codegen.kernel import Kernel, Operand


@functools.cache
def math_kernel(name, type):
    count = FUNCTIONS[name]
    b = Builder()
    b.store(count, b.function(name, *(b.load(i, type) for i in range(count))))
    operands = (*[Operand(type)] * count, Operand(type, written=True))
    return expand(Kernel(operands, tuple(b.instructions)))


def written(type):
    """The functions of a type, and how many arguments each has; fmod of float64 is left to NumPy."""
    return {n: c for n, c in FUNCTIONS.items() if (n, type) != ("fmod", "f64")}
