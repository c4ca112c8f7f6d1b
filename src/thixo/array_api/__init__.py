"""The Python array API standard, version 2024.12, with Thixo's tensors as its arrays.

Libraries that speak the standard get this module from `x.__array_namespace__()`. Functions that mean
the same in the standard and in Thixo are the operators themselves; the others, thin functions over them.

>>> import thixo.array_api as xp
>>> x = xp.asarray([3.0, 4.0])
>>> xp.sqrt(xp.sum(x * x))
tensor(5.)

Four things of an array object are PyTorch's and not the standard's, because Tensor is one class:
`x.size` is a method (`x.numel()` is the number, as is `math.prod(x.shape)`); in `x + y` a 0-d array
counts by its category only (`xp.add(x, y)` promotes as the standard says); `x // y` with infinities is
as in Python (the standard allows that; `xp.floor_divide` does as it prefers); a uint8 array as an index
could be a mask and is refused (`xp.take` takes it).
"""

from math import e, inf, nan, pi
from typing import Any

from thixo.array_api import fft, linalg
from thixo.array_api.creation import *  # noqa: F403
from thixo.array_api.creation import __all__ as _creation
from thixo.array_api.data_types import *  # noqa: F403
from thixo.array_api.data_types import __all__ as _data_types
from thixo.array_api.elementwise import *  # noqa: F403
from thixo.array_api.elementwise import __all__ as _elementwise
from thixo.array_api.info import DTYPES as _DTYPES
from thixo.array_api.info import namespace_info as __array_namespace_info__
from thixo.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from thixo.array_api.manipulation import *  # noqa: F403
from thixo.array_api.manipulation import __all__ as _manipulation
from thixo.array_api.searching import *  # noqa: F403
from thixo.array_api.searching import __all__ as _searching
from thixo.array_api.statistical import *  # noqa: F403
from thixo.array_api.statistical import __all__ as _statistical
from thixo.ops import public as _public

VERSIONS = ("2022.12", "2023.12", "2024.12")
__array_api_version__ = VERSIONS[-1]

newaxis = None

# Functions of one array that are the operator of the same name; they load when first used.
_SHARED = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp floor imag "
    "isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal "
    "signbit sin sinh sqrt square tan trunc"
).split()

__all__ = [
    *_creation, *_data_types, *_elementwise, *_manipulation, *_searching, *_statistical, *_SHARED,
    *_DTYPES, "VERSIONS", "__array_namespace_info__", "e", "fft", "inf", "linalg", "matmul", "matrix_transpose", "nan",
    "newaxis", "pi", "tensordot", "vecdot",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _SHARED:
        raise AttributeError(f"module 'thixo.array_api' has no attribute {name!r}")
    operator = _public.find(name)
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return sorted({*__all__, "__array_api_version__", "__array_namespace_info__"})


globals().update(_DTYPES)  # last: `bool` hides Python's own
