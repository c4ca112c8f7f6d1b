"""Data that moves: sorting, running sums, picking places, joining."""

from collections.abc import Iterator
from typing import Any

from bench.large.case import Case, Draw, Family, Ints, backward, both, forward, matrix, shown


def _sort(shape: tuple[int, ...], dim: int, turned: bool = False) -> Iterator[Case]:
    x, what = matrix(*shape, turned=turned), f"{shown(shape, turned)} dim {dim}"
    yield Case(f"sort {what}", forward(lambda m, x: tuple(m.sort(x, dim)), x))
    # Stable, so that both sides send the gradients of equal elements to the same places.
    stable = backward(lambda m, x: m.sort(x, dim=dim, stable=True)[0], x)
    yield Case(f"sort {what} backward", stable)
    yield Case(f"topk 10 {what}", forward(lambda m, x: m.topk(x, 10, dim)[0], x))


def _cumsum(shape: tuple[int, ...], dim: int, turned: bool = False) -> Iterator[Case]:
    x = matrix(*shape, turned=turned)
    yield from both(f"{shown(shape, turned)} dim {dim}", lambda m, x: m.cumsum(x, dim), x)


def _select(shape: tuple[int, ...], dim: int, count: int, turned: bool = False) -> Iterator[Case]:
    yield from both(
        f"{shown(shape, turned)} dim {dim}, {count} places",
        lambda m, x, i: m.index_select(x, dim, i),
        matrix(*shape, turned=turned),
        Ints((count,), shape[dim]),
    )


def _cat(rows: int, widths: tuple[int, ...], dim: int, turned: bool = False) -> Iterator[Case]:
    """Parts of these widths along the axis."""
    shapes = [(rows, w) if dim == 1 else (w, rows) for w in widths]
    name = f"{' + '.join(map(shown, shapes))} dim {dim}{' transposed' if turned else ''}"
    parts = [matrix(*s, turned=turned) for s in shapes]
    yield from both(name, lambda m, *parts: m.cat(parts, dim), *parts)


def _rows_and_columns(d: Draw) -> tuple[int, int]:
    return d.size(60, 2500), d.size(60, 2500)


def _draw_select(d: Draw) -> tuple[Any, ...]:
    return _rows_and_columns(d), d.one_of(0, 1), d.size(100, 5000), d.turned


def _draw_cat(d: Draw) -> tuple[Any, ...]:
    widths = tuple(d.size(30, 1000) for _ in range(d.one_of(2, 3, 5)))
    return d.size(200, 2000), widths, d.one_of(0, 1), d.turned


FAMILIES = [
    Family(
        "sort",
        _sort,
        [((1_000_003,), 0), ((2048, 1024), 1), ((2048, 1024), 0), ((20_000, 50), 1)],
        lambda d: (_rows_and_columns(d), d.one_of(0, 1), d.turned),
    ),
    Family(
        "cumsum",
        _cumsum,
        [((1_000_003,), 0), ((2048, 1024), 1), ((2048, 1024), 0), ((64, 128, 512), 1)],
        lambda d: (_rows_and_columns(d), d.one_of(0, 1), d.turned),
    ),
    Family(
        "index_select",
        _select,
        [((50_000, 64), 0, 4096), ((2048, 1024), 1, 512), ((2048, 1024), 0, 3001)],
        _draw_select,
    ),
    Family(
        "cat",
        _cat,
        [(1024, (1024,) * 4, 0), (1024, (512,) * 4, 1), (997, (331,) * 3, 1, True)],
        _draw_cat,
    ),
]
