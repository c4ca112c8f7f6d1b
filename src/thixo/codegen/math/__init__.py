"""Mathematical functions as straight lines of primitive instructions: what `expand` puts in their place."""

from collections.abc import Callable

from thixo.codegen.builder import Value
from thixo.codegen.math.angles import acos, asin, atan, atan2
from thixo.codegen.math.circles import cos, sin, tan
from thixo.codegen.math.errors import erf, erfc, erfinv, ndtr
from thixo.codegen.math.exponentials import exp, exp2, expm1
from thixo.codegen.math.gammas import lgamma
from thixo.codegen.math.hyperbolas import acosh, asinh, atanh, cosh, sinh, tanh
from thixo.codegen.math.logarithms import log, log1p, log2, log10
from thixo.codegen.math.moduli import fmod
from thixo.codegen.math.powers import hypot, nextafter, pow

WRITERS: dict[str, Callable[..., Value]] = {
    one.__name__: one
    for one in (
        exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
        asinh, acosh, atanh, erf, erfc, ndtr, erfinv, lgamma, pow, atan2, hypot, nextafter, fmod,
    )
}  # fmt: skip
