"""What one element of a recurrent step becomes, forward and backward, as kernels for the core.

The products of a step are the core's; between them each unit of each sequence is on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from thixo.codegen.builder import Builder
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.scalars import KernelScalars
from thixo.runtime.kernels import address

# (k, operands) -> results
Cell = Callable[..., tuple[Any, ...]]


def _sigmoid(k: Any, x: Any) -> Any:
    return 1 / (1 + k.exp(-x))


def lstm(k: Any, xi: Any, xf: Any, xz: Any, xo: Any, hi: Any, hf: Any, hz: Any, ho: Any, c: Any) -> Any:  # fmt: skip
    """The shares of input and state in the gates, and the cell: the gates, the next cell and state."""
    i, f, o = _sigmoid(k, xi + hi), _sigmoid(k, xf + hf), _sigmoid(k, xo + ho)
    z = k.tanh(xz + hz)
    c = f * c + i * z
    return i, f, z, o, c, o * k.tanh(c)


def lstm_back(k: Any, i: Any, f: Any, z: Any, o: Any, c: Any, before: Any, gy: Any, gh: Any, gc: Any) -> Any:  # fmt: skip
    """Gradients of what went into the gates, and of the cell before.

    From the gates, the cell and the one before, and gradients: of the output, of the state by the next step, of the cell.
    """
    t = k.tanh(c)
    g = gy + gh
    gc = gc + g * o * (1 - t * t)
    return (
        gc * z * (i * (1 - i)),
        gc * before * (f * (1 - f)),
        gc * i * (1 - z * z),
        g * t * (o * (1 - o)),
        gc * f,
    )


def gru(k: Any, xr: Any, xz: Any, xn: Any, hr: Any, hz: Any, hn: Any, h: Any) -> Any:
    """The shares of input and state in the gates, and the state: the gates, one share, the next state."""
    r, z = _sigmoid(k, xr + hr), _sigmoid(k, xz + hz)
    n = k.tanh(xn + r * hn)
    return r, z, n, hn, (1 - z) * n + z * h


def gru_back(k: Any, r: Any, z: Any, n: Any, hn: Any, before: Any, gy: Any, gh: Any, carried: Any) -> Any:  # fmt: skip
    """Gradients of both shares in the gates, and of what the state before gave as it was.

    From what `gru` kept, the state before, and gradients: of the output, of the state by the next step's gates, and of
    what that step carried over.
    """
    g = gy + gh + carried
    to_n = g * (1 - z) * (1 - n * n)
    to_z = g * (before - n) * (z * (1 - z))
    to_r = to_n * hn * (r * (1 - r))
    return to_r, to_z, to_n, to_r, to_z, to_n * r, g * z


def tanh(k: Any, x: Any, h: Any) -> Any:
    """The next state."""
    return (k.tanh(x + h),)


def tanh_back(k: Any, y: Any, gy: Any, gh: Any) -> Any:
    """The gradient of what went in."""
    return ((gy + gh) * (1 - y * y),)


def relu(k: Any, x: Any, h: Any) -> Any:
    """The next state."""
    return (k.maximum(x + h, 0.0),)


def relu_back(k: Any, y: Any, gy: Any, gh: Any) -> Any:
    """The gradient of what went in."""
    return (k.where(y > 0.0, gy + gh, 0.0),)


# Each way: the cell, and how many operands it reads.
CELLS: dict[str, tuple[Cell, int, Cell, int]] = {
    "lstm": (lstm, 9, lstm_back, 9),
    "gru": (gru, 7, gru_back, 8),
    "tanh": (tanh, 2, tanh_back, 3),
    "relu": (relu, 2, relu_back, 3),
}
DTYPES = ("f32", "f64")  # half types are computed in float32


def build(cell: Cell, inputs: int, dtype: str) -> Kernel:
    """The kernel of a cell: inputs, then results."""
    b = Builder()
    operands = [Operand(dtype)] * inputs
    made = cell(KernelScalars(b), *(b.load(i, o.register) for i, o in enumerate(operands)))
    for value in made:
        b.store(len(operands), value)
        operands.append(Operand(dtype, written=True))
    return Kernel(tuple(operands), tuple(b.instructions))


def kernels() -> Iterator[Kernel]:
    """All of them, to be shipped."""
    for forward, inputs, backward, back_inputs in CELLS.values():
        for dtype in DTYPES:
            yield build(forward, inputs, dtype)
            yield build(backward, back_inputs, dtype)


def find(name: str, dtype: str) -> tuple[int, int] | None:
    """Where the machine code of a cell is, forward and backward; None if this machine cannot make any."""
    forward, inputs, backward, back_inputs = CELLS[name]
    first, second = (
        address(build(forward, inputs, dtype)),
        address(build(backward, back_inputs, dtype)),
    )
    return None if first is None or second is None else (first, second)
