"""Element types: their names, kinds and limits, and which type two of them meet in.

>>> import thixo as tx
>>> tx.float32.itemsize, tx.promote_types(tx.int32, tx.float16)
(4, thixo.float16)
"""

import builtins
from typing import Any

import numpy as np

from thixo.errors import ArgumentError, DTypeError, describe


class DType:
    """The type of a tensor's elements, such as `thixo.float32`.

    There is one object for each type, so `is` compares them.

    >>> float32.itemsize, float32.is_floating_point, float32.to_complex()
    (4, True, thixo.complex64)
    """

    __slots__ = (
        "name",  # "float32"
        "short",  # "f32", as messages and graphs print it
        "code",  # its number in the native core (core/dtype.h)
        "itemsize",  # bytes of an element
        "kind",  # "b" bool, "i" signed, "u" unsigned, "f" floating, "c" complex
        "is_floating_point",
        "is_complex",
        "is_integer",  # bool is not
        "is_signed",
        "_numpy",
    )
    name: str
    short: str
    code: builtins.int
    itemsize: builtins.int
    kind: str
    is_floating_point: builtins.bool
    is_complex: builtins.bool
    is_integer: builtins.bool
    is_signed: builtins.bool
    _numpy: Any

    def __new__(cls, name: str) -> "DType":
        """The type of that name; there is only the one."""
        found = BY_NAME.get(name) if isinstance(name, str) else None
        if found is None:
            raise DTypeError(f"dtype: {name!r} is no element type; known: {', '.join(BY_NAME)}")
        return found

    @property
    def numpy(self) -> Any:
        """The NumPy dtype with the same elements (bfloat16's comes from ml_dtypes)."""
        if self._numpy is None:
            self._numpy = _numpy_dtype(self.name)
        return self._numpy

    def to_complex(self) -> "DType":
        """The complex type whose parts are of this type, or hold it.

        >>> float64.to_complex(), float32.to_complex()
        (thixo.complex128, thixo.complex64)
        """
        if self.is_complex:
            return self
        if self.is_floating_point:
            return complex128 if self is float64 else complex64
        return get_default_dtype().to_complex()

    def to_real(self) -> "DType":
        """The type of the real part."""
        if self is complex64:
            return float32
        return float64 if self is complex128 else self

    def __repr__(self) -> str:
        return f"thixo.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return DType, (self.name,)

    def __copy__(self) -> "DType":
        return self

    def __deepcopy__(self, memo: object) -> "DType":
        return self


BY_NAME: dict[str, DType] = {}


def _make(name: str, short: str, itemsize: builtins.int) -> DType:
    t = object.__new__(DType)
    t.name, t.short, t.itemsize, t.code = name, short, itemsize, len(BY_NAME)
    t.kind = {"bo": "b", "bf": "f"}.get(short[:2], short[0])
    t.is_floating_point = t.kind == "f"
    t.is_complex = t.kind == "c"
    t.is_integer = t.kind in "iu"
    t.is_signed = t.kind in "ifc"
    t._numpy = None
    BY_NAME[name] = t
    return t


# The order gives the codes, which are those of core/dtype.h.
bool = _make("bool", "bool", 1)
int8 = _make("int8", "i8", 1)
int16 = _make("int16", "i16", 2)
int32 = _make("int32", "i32", 4)
int64 = _make("int64", "i64", 8)
uint8 = _make("uint8", "u8", 1)
uint16 = _make("uint16", "u16", 2)
uint32 = _make("uint32", "u32", 4)
uint64 = _make("uint64", "u64", 8)
float16 = _make("float16", "f16", 2)
bfloat16 = _make("bfloat16", "bf16", 2)
float32 = _make("float32", "f32", 4)
float64 = _make("float64", "f64", 8)
complex64 = _make("complex64", "c64", 8)
complex128 = _make("complex128", "c128", 16)

BY_CODE: tuple[DType, ...] = tuple(BY_NAME.values())
BY_SHORT: dict[str, DType] = {t.short: t for t in BY_CODE}

# Other names that PyTorch users know. `thixo` exports them; here they would hide Python's own.
ALIASES: dict[str, DType] = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}

# Groups, as tuples: `FLOATS + COMPLEX` is what a smooth function takes.
BOOL = (bool,)
SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (float16, bfloat16, float32, float64)
COMPLEX = (complex64, complex128)
ALL = BY_CODE


# ---- promotion


def _promote(a: DType, b: DType) -> DType | None:
    """Where two types meet; None where no integer type holds both (uint64 and a signed one)."""
    if a is b:
        return a
    if a.code > b.code:
        a, b = b, a
    if b.is_complex:
        return complex128 if a is float64 or b is complex128 else complex64
    if b.is_floating_point:
        if not a.is_floating_point:
            return b
        return float32 if b is bfloat16 else b  # float16 with bfloat16 meet above both
    if a is bool or a.kind == b.kind:
        return b if a is bool or b.itemsize > a.itemsize else a
    signed, unsigned = a, b
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: int16, 2: int32, 4: int64}.get(unsigned.itemsize)


PROMOTION: tuple[tuple[DType | None, ...], ...] = tuple(
    tuple(_promote(a, b) for b in BY_CODE) for a in BY_CODE
)


def promote_types(type1: DType, type2: DType) -> DType:
    """The type that elements of both types are converted to when they meet.

    >>> promote_types(uint8, int8), promote_types(int64, float16), promote_types(float16, bfloat16)
    (thixo.int16, thixo.float16, thixo.float32)
    """
    if not isinstance(type1, DType) or not isinstance(type2, DType):
        raise ArgumentError(f"promote_types: needs two dtypes, got {type1!r} and {type2!r}")
    found = PROMOTION[type1.code][type2.code]
    if found is None:
        raise DTypeError(
            f"promote_types: {type1.name} and {type2.name} have no common type; convert one of them"
        )
    return found


def category(dtype: DType) -> builtins.int:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex: what a number brings to a mix."""
    return "biufc".index(dtype.kind) - (dtype.kind in "ufc")


def type_of_number(number: object) -> DType:
    """The dtype that a Python number alone becomes.

    >>> type_of_number(2), type_of_number(2.0), type_of_number(True)
    (thixo.int64, thixo.float32, thixo.bool)
    """
    if isinstance(number, builtins.bool | np.bool_):
        return bool
    if isinstance(number, builtins.int | np.integer):
        return int64
    if isinstance(number, builtins.float | np.floating):
        return get_default_dtype()
    if isinstance(number, builtins.complex | np.complexfloating):
        return get_default_dtype().to_complex()
    if hasattr(number, "__index__"):  # a symbolic size
        return int64
    raise ArgumentError(f"needs a number, got {number!r} ({type(number).__name__})")


def combine(arrays: list[DType], scalars: list[DType], numbers: list[DType]) -> DType:
    """The common type of tensors with axes, 0-d tensors, and Python numbers, given their types.

    A lower group takes part only where its category (bool, integer, float, complex) is higher than
    that of the groups before it.

    >>> combine([int32], [], [type_of_number(2.5)]), combine([float16], [float64], [])
    (thixo.float32, thixo.float16)
    """
    result: DType | None = None
    for group in (arrays, scalars, numbers):
        if not group:
            continue
        met = group[0]
        for t in group[1:]:
            met = promote_types(met, t)
        if result is None:
            result = met
        elif category(met) > category(result):
            # A complex number meets floats in their precision, not in its own.
            floats_meet_complex = met.is_complex and result.is_floating_point
            result = result.to_complex() if floats_meet_complex else met
    if result is None:
        raise ArgumentError("result_type: needs at least one tensor, dtype or number")
    return result


def result_type(*values: Any) -> DType:
    """The dtype that an operation between these tensors, dtypes and numbers computes in.

    >>> result_type(int32, 1.5), result_type(float64, 1), result_type(uint8, int8)
    (thixo.float32, thixo.float64, thixo.int16)
    """
    arrays: list[DType] = []
    scalars: list[DType] = []
    numbers: list[DType] = []
    for value in values:
        if isinstance(value, DType):
            arrays.append(value)
        elif isinstance(getattr(value, "dtype", None), DType):
            (arrays if len(value.shape) else scalars).append(value.dtype)
        else:
            numbers.append(type_of_number(value))
    return combine(arrays, scalars, numbers)


def can_cast(from_: DType, to: DType) -> builtins.bool:
    """Whether a conversion keeps the category or raises it: no complex to float, float to integer.

    >>> can_cast(float64, float32), can_cast(float32, int64), can_cast(int64, uint8)
    (True, False, True)
    """
    return category(from_) <= category(to)


# ---- limits


class finfo:  # noqa: N801  (the standard's name)
    """The limits of a floating-point type (of its parts, for a complex one).

    >>> finfo(float16).max, finfo(float32).bits
    (65504.0, 32)
    """

    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    tiny: builtins.float
    smallest_normal: builtins.float
    resolution: builtins.float
    dtype: DType

    def __init__(self, type: DType | None = None) -> None:
        t = get_default_dtype() if type is None else _of(type, "finfo")
        if not (t.is_floating_point or t.is_complex):
            raise DTypeError(f"finfo: needs a floating-point dtype, got {t.name}; see iinfo")
        self.dtype = t = t.to_real()
        mantissa, exponent = {"f16": (10, 15), "bf16": (7, 127), "f32": (23, 127)}.get(
            t.short, (52, 1023)
        )
        self.bits = t.itemsize * 8
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = {10: 1e-3, 7: 1e-2, 23: 1e-6}.get(mantissa, 1e-15)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype.name})"
        )


class iinfo:  # noqa: N801
    """The limits of an integer type.

    >>> iinfo(int8).min, iinfo(uint16).max
    (-128, 65535)
    """

    bits: builtins.int
    max: builtins.int
    min: builtins.int
    dtype: DType

    def __init__(self, type: DType) -> None:
        t = _of(type, "iinfo")
        if not t.is_integer:
            raise DTypeError(f"iinfo: needs an integer dtype, got {t.name}; see finfo")
        self.dtype = t
        self.bits = t.itemsize * 8
        self.min = -(1 << (self.bits - 1)) if t.is_signed else 0
        self.max = (1 << (self.bits - t.is_signed)) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"


def _of(x: Any, op: str) -> DType:
    t = x if isinstance(x, DType) else getattr(x, "dtype", None)
    if not isinstance(t, DType):
        raise ArgumentError(f"{op}: needs a dtype, got {x!r} ({type(x).__name__})")
    return t


# ---- the default


_default = [float32]
default_listeners: list[Any] = []  # the native core keeps a copy and is told here


def get_default_dtype() -> DType:
    """The type that Python floats become.

    >>> get_default_dtype()
    thixo.float32
    """
    return _default[0]


def set_default_dtype(d: DType) -> None:
    """Make Python floats become another floating-point type.

    >>> set_default_dtype(float64); print(get_default_dtype()); set_default_dtype(float32)
    thixo.float64
    """
    if not isinstance(d, DType) or not d.is_floating_point:
        raise DTypeError(f"set_default_dtype: needs a floating-point dtype, got {d!r}")
    _default[0] = d
    for listener in default_listeners:
        listener(d)


# ---- NumPy


def _numpy_dtype(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes  # at first use: bfloat16 is rare, and its import is not free

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


_FROM_NUMPY: dict[Any, DType] = {
    np.dtype(t.name): t for t in BY_CODE if t.name not in ("bfloat16",)
}


def from_numpy_dtype(dtype: Any) -> DType:
    """The DType with the elements of a NumPy dtype, whatever its byte order.

    >>> from_numpy_dtype(np.dtype("f8")), from_numpy_dtype(np.int16)
    (thixo.float64, thixo.int16)
    """
    if isinstance(dtype, np.dtype) and dtype in _FROM_NUMPY:
        return _FROM_NUMPY[dtype]
    try:
        if not isinstance(dtype, np.dtype | type | str):
            raise TypeError("no NumPy dtype is written like that")
        dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        raise ArgumentError(f"needs a dtype, got {describe(dtype)}") from None
    found = _FROM_NUMPY.get(dtype.newbyteorder("="))
    if found is None and dtype.name == "bfloat16":
        found = _FROM_NUMPY[dtype] = bfloat16
    if found is None:
        raise DTypeError(
            f"arrays of {dtype} have no Thixo type; convert to one of {', '.join(BY_NAME)}"
        )
    return found


def as_dtype(value: Any, op: str = "dtype") -> DType:
    """A DType from a DType, its name, a Python type or a NumPy dtype.

    >>> as_dtype("float32"), as_dtype(float), as_dtype(np.uint8)
    (thixo.float32, thixo.float32, thixo.uint8)
    """
    if isinstance(value, DType):
        return value
    if value is builtins.float:
        return get_default_dtype()
    if value is builtins.int:
        return int64
    if value is builtins.bool:
        return bool
    if value is builtins.complex:
        return get_default_dtype().to_complex()
    if isinstance(value, str):
        found = BY_NAME.get(value) or BY_SHORT.get(value) or ALIASES.get(value)
        if found is None:
            raise DTypeError(f"{op}: {value!r} is no dtype; known: {', '.join(BY_NAME)}")
        return found
    try:
        return from_numpy_dtype(value)
    except ArgumentError:
        raise ArgumentError(
            f"{op}: needs a dtype, got {value!r} ({type(value).__name__})"
        ) from None
