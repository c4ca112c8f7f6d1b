"""Mathematical functions as straight lines of primitive instructions: what `expand` puts in their place."""

from collections.abc import Callable

from ..builder import Value
from .angles import acos, asin, atan, atan2
from .circles import cos, sin, tan
from .errors import erf, erfc, ndtr
from .exponentials import exp, exp2, expm1
from .hyperbolas import acosh, asinh, atanh, cosh, sinh, tanh
from .logarithms import log, log1p, log2, log10
from .moduli import fmod
from .powers import hypot, nextafter, pow

WRITERS: dict[str, Callable[..., Value]] = {
    one.__name__: one
    for one in (
        exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
        asinh, acosh, atanh, erf, erfc, ndtr, pow, atan2, hypot, nextafter, fmod,
    )
}  # fmt: skip
