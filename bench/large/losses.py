"""Cross-entropy, embedding, attention."""

from collections.abc import Iterator
from typing import Any

from bench.large.case import Case, Family, Floats, Ints, both, matrix, shown


def _cross_entropy(rows: int, classes: int, turned: bool = False) -> Iterator[Case]:
    yield from both(
        shown((rows, classes), turned),
        lambda m, x, y: m.nn.functional.cross_entropy(x, y),
        matrix(rows, classes, turned=turned),
        Ints((rows,), classes),
    )


def _embedding(words: int, width: int, places: tuple[int, ...]) -> Iterator[Case]:
    yield from both(
        f"{shown((words, width))} at {shown(places)}",
        lambda m, w, i: m.nn.functional.embedding(i, w),
        matrix(words, width),
        Ints(places, words),
    )


def _attention(
    shape: tuple[int, ...], causal: bool, dtype: str = "float32", turned: bool = False
) -> Iterator[Case]:
    """shape: batch, heads, time, size. turned: heads are cut from (batch, time, heads, size)."""
    batch, heads, time, size = shape

    def run(m: Any, q: Any, k: Any, v: Any) -> Any:
        if turned:
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    given = (batch, time, heads, size) if turned else shape
    name = (
        f"{shown(shape)}{' from time-major' if turned else ''}{' causal' if causal else ''} {dtype}"
    )
    one = Floats(given, dtype)
    yield from both(name, run, one, one, one, tolerance=1e-4 if dtype == "float32" else 3e-2)


FAMILIES = [
    Family(
        "cross-entropy",
        _cross_entropy,
        [(4096, 1000), (1024, 32003), (8192, 10), (1024, 512)],
        lambda d: (d.size(100, 8000), d.size(10, 3000), d.turned),
    ),
    Family(
        "embedding",
        _embedding,
        [(32000, 512, (16, 256)), (512, 256, (8, 128)), (50000, 64, (4096,))],
        lambda d: (d.size(100, 50000), d.size(20, 600), (d.size(4, 64), d.size(16, 200))),
    ),
    Family(
        "attention",
        _attention,
        [
            ((8, 4, 128, 64), True),
            ((8, 4, 128, 64), True, "float32", True),
            ((1, 12, 512, 64), False),
            ((2, 8, 1024, 64), True),
            ((4, 8, 256, 64), False, "bfloat16"),
        ],
        lambda d: (
            (d.size(1, 9), d.size(2, 12), d.size(40, 500), d.one_of(32, 40, 64, 80, 96)),
            d.one_of(True, False),
            "float32",
            d.turned,
        ),
    ),
]
