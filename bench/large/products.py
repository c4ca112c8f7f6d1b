"""Products of matrices: square, thin, batched, in float32 and bfloat16."""

from collections.abc import Iterator
from typing import Any

from bench.large.case import Case, Draw, Family, Floats, both


def _matmul(
    m: int, k: int, n: int, dtype: str, layout: str = "", batch: tuple[int, ...] = ()
) -> Iterator[Case]:
    """layout: n, the first matrix lies transposed; t, the second."""
    a = Floats((*batch, m, k), dtype, turned="n" in layout)
    b = Floats((*batch, k, n), dtype, turned="t" in layout)
    size = "x".join(map(str, (*batch, m))) + f" by {k}x{n}" + (f" {layout}" if layout else "")
    tolerance = 1e-5 if dtype == "float32" else 2e-2
    yield from both(f"{size} {dtype}", lambda lib, a, b: a @ b, a, b, tolerance=tolerance)


def _draw(dtype: str, thin: bool, batched: bool) -> Any:
    def draw(d: Draw) -> tuple[Any, ...]:
        m, k, n = (d.size(60, 700) for _ in range(3))
        if thin:
            m, n = (d.size(1, 16), n) if d.one_of(True, False) else (m, d.size(1, 16))
        batch = (d.size(3, 40),) if batched else ()
        layout = d.one_of("n", "t", "nt") if d.turned else ""
        if batched:
            m, k, n = m // 3 + 5, k // 3 + 5, n // 3 + 5
        return m, k, n, dtype, layout, batch

    return draw


def _families(dtype: str) -> Iterator[Family]:
    squares = [(256, ""), (512, ""), (1024, ""), (512, "t"), (512, "n")]
    yield Family(
        f"product-{dtype}",
        _matmul,
        [*((s, s, s, dtype, w) for s, w in squares), (128, 784, 512, dtype, "t")],
        _draw(dtype, False, False),
    )
    yield Family(
        f"thin-{dtype}",
        _matmul,
        [
            (1, 2048, 2048, dtype, "t"),
            (8, 768, 3072, dtype),
            (8, 768, 3072, dtype, "t"),
            (3072, 768, 8, dtype),
            (2048, 2048, 1, dtype),
        ],
        _draw(dtype, True, False),
    )
    yield Family(
        f"batched-{dtype}",
        _matmul,
        [
            (128, 64, 128, dtype, "t", (8, 4)),
            (128, 128, 64, dtype, "", (8, 4)),
            (32, 32, 32, dtype, "", (256,)),
            (8, 8, 8, dtype, "", (4096,)),
        ],
        _draw(dtype, False, True),
    )


FAMILIES = [*_families("float32"), *_families("bfloat16")]
