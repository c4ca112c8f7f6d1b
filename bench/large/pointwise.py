"""Element by element: arithmetic, functions, broadcasting, choices."""

from collections.abc import Iterator
from typing import Any

from bench.large.case import Case, Draw, Family, Floats, both, forward, matrix, shown

FUNCTIONS: dict[str, tuple[int, Any]] = {
    "add": (2, lambda m, x, y: x + y),
    "mul": (2, lambda m, x, y: x * y),
    "div": (2, lambda m, x, y: x / (y * y + 1)),
    "maximum": (2, lambda m, x, y: m.maximum(x, y)),
    "where": (2, lambda m, x, y: m.where(x > 0, x, y)),
    "exp": (1, lambda m, x: m.exp(x)),
    "tanh": (1, lambda m, x: m.tanh(x)),
    "sigmoid": (1, lambda m, x: m.sigmoid(x)),
    "relu": (1, lambda m, x: m.relu(x)),
    "gelu": (1, lambda m, x: m.nn.functional.gelu(x)),
    "silu": (1, lambda m, x: m.nn.functional.silu(x)),
    "erf": (1, lambda m, x: m.erf(x)),
    "sin": (1, lambda m, x: m.sin(x)),
    "log1p": (1, lambda m, x: m.log1p(x * x)),
    "sqrt": (1, lambda m, x: m.sqrt(x * x + 1)),
    "pow": (1, lambda m, x: (x * x + 1) ** 1.7),
}


def _cases(name: str, shape: tuple[int, ...], turned: bool = False) -> Iterator[Case]:
    count, function = FUNCTIONS[name]
    others = (matrix(*shape),) * (count - 1)
    yield from both(
        f"{name} {shown(shape, turned)}", function, matrix(*shape, turned=turned), *others
    )


def _broadcast(rows: int, columns: int, where: str, turned: bool = False) -> Iterator[Case]:
    other = {"row": (columns,), "column": (rows, 1)}[where]
    x, y = matrix(rows, columns, turned=turned), matrix(*other)
    name = f"{shown((rows, columns), turned)} with a {where}"
    yield from both(f"mul {name}", lambda m, x, y: x * y, x, y)
    yield from both(f"add {name}", lambda m, x, y: x + y, x, y)


def _half(rows: int, columns: int, turned: bool = False) -> Iterator[Case]:
    x, y = Floats((rows, columns), "bfloat16", turned), Floats((rows, columns), "bfloat16")
    name = f"{shown((rows, columns), turned)} bfloat16"
    yield Case(f"add {name}", forward(lambda m, x, y: x + y, x, y), 1e-2)
    yield Case(f"tanh {name}", forward(lambda m, x: m.tanh(x), x), 1e-2)


def _draw(draw: Draw) -> tuple[Any, ...]:
    name = draw.one_of(*FUNCTIONS)
    return name, (draw.size(300, 3000), draw.size(300, 3000)), draw.turned


FAMILIES = [
    Family("pointwise", _cases, [(name, (2048, 1024)) for name in FUNCTIONS], _draw, drawn=10),
    Family(
        "broadcast",
        _broadcast,
        [(2048, 1024, "row"), (2048, 1024, "column"), (64, 65536, "row")],
        lambda d: (d.size(200, 3000), d.size(200, 3000), d.one_of("row", "column"), d.turned),
    ),
    Family(
        "bfloat16",
        _half,
        [(2048, 1024)],
        lambda d: (d.size(300, 3000), d.size(300, 3000), d.turned),
    ),
]
