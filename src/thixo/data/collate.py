"""From a list of items to one batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import thixo as tx
from thixo.errors import ArgumentError, ShapeError, describe
from thixo.tensor import Tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """Items of one structure as one batch of that structure, tensors stacked along a new first axis.

    Numbers and NumPy arrays become tensors; texts stay a list; dicts, tuples and lists are taken
    apart (a tuple of items comes back as a list, a named tuple as itself).

    >>> tx.data.default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ['a', 'b']]
    >>> tx.data.default_collate([{"x": tx.zeros(2)}, {"x": tx.ones(2)}])["x"].shape
    Size([2, 2])
    """
    if not isinstance(batch, Sequence) or len(batch) == 0:
        raise ArgumentError(f"default_collate: a list of items is needed, got {describe(batch)}")
    return _collate(batch, "")


def _collate(items: Sequence[Any], path: str) -> Any:
    """`path` is where in the item this part stands, for messages."""
    first = items[0]
    _require_alike(items, path)
    if isinstance(first, Tensor):
        return tx.stack(items)
    if isinstance(first, np.ndarray | np.generic):
        if first.dtype.kind in "SUO":
            raise ArgumentError(f"default_collate: cannot batch {describe(first)}{_at(path)}")
        return tx.from_numpy(np.stack([np.asarray(x) for x in items]))
    if isinstance(first, bool | int | complex):
        return tx.tensor(items)
    if isinstance(first, float):
        return tx.tensor(items, dtype=tx.float64)  # as exact as the numbers were
    if isinstance(first, str | bytes):
        return list(items)
    if isinstance(first, Mapping):
        parts = {key: _collate([x[key] for x in items], f"{path}[{key!r}]") for key in first}
        return _like(first, parts)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        columns = zip(*items, strict=True)
        named = zip(first._fields, columns, strict=True)
        return type(first)(*(_collate(c, f"{path}.{name}") for name, c in named))
    if isinstance(first, Sequence):
        columns = zip(*items, strict=True)
        made = [_collate(column, f"{path}[{i}]") for i, column in enumerate(columns)]
        return made if isinstance(first, tuple) else _like(first, made)
    raise ArgumentError(
        f"default_collate: cannot batch {describe(first)}{_at(path)}; tensors, arrays, numbers, "
        f"texts and containers of them can be: give the DataLoader a collate_fn for other things"
    )


def _require_alike(items: Sequence[Any], path: str) -> None:
    """Refuse items whose sizes, lengths or keys differ, and say where."""
    first = items[0]
    if isinstance(first, Tensor | np.ndarray):
        shape = tuple(first.shape)
        for i, x in enumerate(items):
            if not hasattr(x, "shape") or tuple(x.shape) != shape:
                raise ShapeError(
                    f"default_collate: sizes differ{_at(path)}: item 0 is {describe(first)}, item "
                    f"{i} is {describe(x)}; to stack them they must be the same"
                )
    elif isinstance(first, Mapping):
        for i, x in enumerate(items):
            if not isinstance(x, Mapping) or x.keys() != first.keys():
                keys = list(x) if isinstance(x, Mapping) else describe(x)
                raise ShapeError(
                    f"default_collate: keys differ{_at(path)}: item 0 has {list(first)}, item {i} "
                    f"has {keys}"
                )
    elif isinstance(first, Sequence) and not isinstance(first, str | bytes):
        for i, x in enumerate(items):
            if not isinstance(x, Sequence) or len(x) != len(first):
                raise ShapeError(
                    f"default_collate: lengths differ{_at(path)}: item 0 has {len(first)} parts, "
                    f"item {i} is {describe(x)}"
                )


def _at(path: str) -> str:
    return f" at item{path}" if path else ""


def _like(container: Any, parts: Any) -> Any:
    """The parts in a container of the same class, where that class can be made from them."""
    try:
        return type(container)(parts)
    except TypeError:
        return parts


def default_convert(data: Any) -> Any:
    """One item with its NumPy arrays as tensors: what a loader without batches applies.

    >>> import numpy as np
    >>> tx.data.default_convert({"x": np.ones(2), "name": "a"})
    {'x': tensor([1., 1.], dtype=thixo.float64), 'name': 'a'}
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return tx.as_tensor(data)
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(x) for x in data))
    if isinstance(data, tuple):
        return [default_convert(x) for x in data]
    if isinstance(data, Sequence):
        return _like(data, [default_convert(x) for x in data])
    return data
