"""Tensors as text, in the form PyTorch's users know."""

from typing import Any

import numpy as np

from thixo.dtype import bfloat16, complex64, float32, get_default_dtype, int64
from thixo.dtype import bool as bool_

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
    if profile is not None:
        _OPTIONS.update(_PROFILES[profile], sci_mode=None)
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    _OPTIONS.update({k: v for k, v in given.items() if v is not None})
    _OPTIONS["sci_mode"] = sci_mode


def tensor_text(self: Any) -> str:
    """What `repr` and `print` show."""
    if self._value is not None:
        return f"traced({self.dtype.short}{list(self.shape)})".replace(" ", "")
    name = "tensor" if type(self).__name__ == "Tensor" else type(self).__name__
    array = self.detach()._ndarray()
    if self.dtype is bfloat16:
        array = array.astype(np.float32)
    suffixes = []
    if array.size == 0 and (array.ndim != 1):
        suffixes.append(f"size={tuple(self.shape)}")
    usual = (get_default_dtype(), int64, bool_)
    is_usual = self.dtype in usual or (self.dtype is complex64 and get_default_dtype() is float32)
    if not is_usual or (array.size == 0 and self.dtype is not get_default_dtype()):
        suffixes.append(f"dtype={self.dtype!r}")
    if self.grad_fn is not None:
        suffixes.append(f"grad_fn=<{self.grad_fn.name()}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    prefix = name + "("
    if name != "tensor":
        inner = "tensor(" + _body(array, len("Parameter containing:\n") and 7) + ")"
        flag = f", requires_grad={self.requires_grad}" if self.requires_grad else ""
        return f"{name} containing:\n{inner[:-1]}{flag})"
    body = _body(array, len(prefix))
    return _wrap(prefix + body, suffixes, len(prefix))


def _wrap(text: str, suffixes: list[str], indent: int) -> str:
    last = len(text) - text.rfind("\n") - 1
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
    """Whole numbers as `1.`, others with `precision` digits, widely spread ones in powers of ten."""
    precision = _OPTIONS["precision"]
    finite = np.abs(flat[np.isfinite(flat) & (flat != 0)].astype(np.float64))
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    whole = bool(np.all(finite == np.ceil(finite))) if finite.size else True
    ratio = high / low if low else 1.0
    if whole:
        powers = high > 1e8 or (ratio > 1000 and high >= 1e8)
    else:
        powers = ratio > 1000 or high > 1e8 or low < 1e-4
    if _OPTIONS["sci_mode"] is not None:
        powers = _OPTIONS["sci_mode"]

    def plain(x: Any) -> str:
        if powers:
            return f"{float(x):.{precision}e}"
        if whole and np.isfinite(x):
            return f"{float(x):.0f}."
        return f"{float(x):.{precision}f}"

    width = max((len(plain(x)) for x in flat), default=0)
    return lambda x: plain(x).rjust(width)


def format_tensor(self: Any, spec: str) -> str:
    """`f"{loss:.3f}"` works for tensors with one element."""
    if spec and self.numel() == 1 and self._value is None:
        return format(self.item(), spec)
    return format(repr(self), spec)
