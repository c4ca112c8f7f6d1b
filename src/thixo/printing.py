"""Tensors as text, in the form PyTorch's users know."""

from typing import Any

import numpy as np

from thixo.dtype import bfloat16, get_default_dtype, int64
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, ValueRangeError, describe

_OPTIONS: dict[str, Any] = {
    "precision": 4,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": 80,
    "sci_mode": None,
}
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print: digits, how many elements before they are cut, line width.

    >>> import thixo as tx
    >>> tx.set_printoptions(precision=2); print(tx.tensor(3.14159)); tx.set_printoptions("default")
    tensor(3.14)
    """
    if isinstance(precision, str):
        profile, precision = precision, None
    if profile is not None and profile not in _PROFILES:
        raise ArgumentError(
            f"set_printoptions: profile must be one of {', '.join(_PROFILES)}, got {describe(profile)}"
        )
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    given = {k: v for k, v in given.items() if v is not None}
    for name, value in given.items():
        unbounded = name == "threshold" and value == float("inf")
        if not unbounded and (not isinstance(value, int) or value < 0):
            raise ArgumentError(
                f"set_printoptions: {name} must be a whole number, 0 or more, got {describe(value)}"
            )
    if profile is not None:
        _OPTIONS.update(_PROFILES[profile])
    _OPTIONS.update(given)
    _OPTIONS["sci_mode"] = sci_mode


def tensor_text(self: Any) -> str:
    """What `repr` and `print` show."""
    if self._value is not None:
        return f"traced({self.dtype.short}{list(self.shape)})".replace(" ", "")
    array = self.detach()._ndarray()
    if self.dtype is bfloat16:
        array = array.astype(np.float32)
    suffixes = []
    if array.size == 0 and array.ndim != 1:
        suffixes.append(f"size={tuple(self.shape)}")
    default = get_default_dtype()
    usual = (default,) if array.size == 0 else (default, int64, bool_, default.to_complex())
    if self.dtype not in usual:
        suffixes.append(f"dtype={self.dtype!r}")
    if self.grad_fn is not None:
        suffixes.append(f"grad_fn=<{self.grad_fn.name()}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    title = "" if type(self).__name__ == "Tensor" else f"{type(self).__name__} containing:\n"
    return title + _wrap("tensor(" + _body(array, len("tensor(")), suffixes, len("tensor("))


def _wrap(text: str, suffixes: list[str], indent: int) -> str:
    last = len(text) - text.rfind("\n") + 1  # with the comma and a space
    for suffix in suffixes:
        if last + len(suffix) + 2 > _OPTIONS["linewidth"]:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"


def _body(array: np.ndarray, indent: int) -> str:
    if array.size == 0:
        return "[]"
    shown = _summary(array) if array.size > _OPTIONS["threshold"] else array
    number = _formatter(shown.ravel())
    return _rows(array, number, indent, array.size > _OPTIONS["threshold"])


def _summary(array: np.ndarray) -> np.ndarray:
    edge = _OPTIONS["edgeitems"]
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            keep = [*range(edge), *range(size - edge, size)]
            array = np.take(array, keep, axis)
    return array


def _rows(array: np.ndarray, number: Any, indent: int, cut: bool) -> str:
    edge = _OPTIONS["edgeitems"]
    if array.ndim == 0:
        return number(array[()])
    size = array.shape[0]
    skip = cut and size > 2 * edge
    picks = [*range(edge), *range(size - edge, size)] if skip else range(size)
    if array.ndim == 1:
        items = [number(array[i]) for i in picks]
        if skip:
            items.insert(edge, " ...")
        width = max(len(i) for i in items) + 2
        per_line = max(1, (_OPTIONS["linewidth"] - indent) // width)
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_rows(array[i], number, indent + 1, cut) for i in picks]
    if skip:
        parts.insert(edge, "...")
    gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + gap.join(parts) + "]"


def _formatter(flat: np.ndarray) -> Any:
    kind = flat.dtype.kind
    if kind == "b":
        width = max((len(str(bool(x))) for x in flat), default=0)
        return lambda x: str(bool(x)).rjust(width if flat.size > 1 else 0)
    if kind in "iu":
        width = max((len(str(x)) for x in flat), default=0)
        return lambda x: str(x).rjust(width)
    if kind == "c":
        real, imag = _float_formatter(flat.real), _float_formatter(flat.imag)

        def text(z: Any) -> str:
            im = imag(z.imag).strip()
            return real(z.real) + (im if im.startswith("-") else "+" + im) + "j"

        return text
    return _float_formatter(flat)


def _float_formatter(flat: np.ndarray) -> Any:
    """Whole numbers as `1.`, others with `precision` digits, widely spread ones in powers of ten.

    The width is that of the widest finite number other than zero, as PyTorch's users know it: a nan, an
    infinity or a -0. among narrower numbers stands out of line.
    """
    precision = _OPTIONS["precision"]
    telling = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
    sizes = np.abs(telling)
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    whole = bool(np.all(sizes == np.ceil(sizes)))
    powers = high / low > 1000 or high > 1e8 or low < 1e-4
    if _OPTIONS["sci_mode"] is not None:
        powers = _OPTIONS["sci_mode"]

    def plain(x: Any) -> str:
        if powers:
            return f"{float(x):.{precision}e}"
        if whole and np.isfinite(x):
            return f"{float(x):.0f}."
        return f"{float(x):.{precision}f}"

    width = max((len(plain(x)) for x in telling), default=0)
    return lambda x: plain(x).rjust(width)


def format_tensor(self: Any, spec: str) -> str:
    """`f"{loss:.3f}"` is for tensors with one element; a 0-d tensor formats as its number."""
    if self._value is not None or (not spec and self.ndim > 0):
        return format(repr(self), spec)
    if self.numel() != 1:
        raise ArgumentError(
            f"format: {spec!r} is for a single number, this is {describe(self)}; format its elements one "
            "by one, or set_printoptions()"
        )
    try:
        return format(self.item(), spec)
    except ValueError as error:
        raise ValueRangeError(
            f"format: {spec!r} is no format for the only element of {describe(self)}, "
            f"a Python {type(self.item()).__name__}"
        ) from error
