"""Sums of products named by their indices.

A subscript is read into one list of labels for each operand. Repeated labels become diagonals, pairs of
operands become batched matrix products in the order opt_einsum proposes, and labels that nobody needs any
more are summed out. All of it is public operators, so gradients and graphs follow.
"""

import string
from collections import Counter
from typing import Any

import numpy as np

from thixo.errors import ArgumentError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.linalg_checks import check_same_dtype
from thixo.ops.matmul import NUMBERS
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample
from thixo.shape import hint_of, numel

ELLIPSIS = "..."
Labels = list[Any]  # letters, or ints of the sublist form, or ("...", i) for an axis of an ellipsis


# ---- reading


def read_terms(text: str) -> list[Labels]:
    """The labels of each comma-separated term.

    >>> read_terms("ij, ...k")
    [['i', 'j'], ['...', 'k']]
    """
    terms: list[Labels] = []
    for term in text.split(","):
        labels: Labels = []
        rest = term.replace(" ", "")
        while rest:
            if rest.startswith(ELLIPSIS):
                labels.append(ELLIPSIS)
                rest = rest[3:]
            elif rest[0] in string.ascii_letters:
                labels.append(rest[0])
                rest = rest[1:]
            else:
                raise ArgumentError(
                    f"einsum: {rest[0]!r} in {text!r} is no subscript; use letters, '...', ',' and '->'"
                )
        terms.append(labels)
    return terms


def read_equation(equation: str) -> tuple[list[Labels], Labels | None]:
    """The labels of the operands and of the result, None where it is implied."""
    left, arrow, right = equation.partition("->")
    if "->" in right:
        raise ArgumentError(f"einsum: {equation!r} has more than one '->'")
    terms = read_terms(left)
    if not arrow:
        return terms, None
    if "," in right:
        raise ArgumentError(f"einsum: {equation!r} names more than one result after '->'")
    return terms, read_terms(right)[0]


def read_sublists(arguments: list[Any]) -> tuple[list[Any], list[Labels], Labels | None]:
    """Operands, labels and result of the form einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    result = None
    if len(arguments) % 2:
        *arguments, last = arguments
        result = _sublist(last)
    operands = arguments[::2]
    for x in operands:
        if not is_tensor(x):
            raise ArgumentError(
                f"einsum: needs a tensor before each list of labels, got {describe(x)}"
            )
    return operands, [_sublist(x) for x in arguments[1::2]], result


def _sublist(labels: Any) -> Labels:
    if not isinstance(labels, (list, tuple)):
        raise ArgumentError(
            f"einsum: needs a list of labels after each tensor, got {describe(labels)}"
        )
    for label in labels:
        is_label = isinstance(label, int) and not isinstance(label, bool) and 0 <= label < 52
        if label is not Ellipsis and not is_label:
            raise ArgumentError(f"einsum: label {label!r} must be from 0 to 51, or Ellipsis")
    return [ELLIPSIS if label is Ellipsis else string.ascii_letters[label] for label in labels]


def spread_ellipses(
    operands: list[Any], terms: list[Labels], result: Labels | None
) -> tuple[list[Labels], Labels]:
    """A label for every axis of every operand, and those of the result in order."""
    spread = []
    widest = 0
    for n, (x, labels) in enumerate(zip(operands, terms, strict=True)):
        if labels.count(ELLIPSIS) > 1:
            raise ArgumentError(f"einsum: operand {n} has more than one ellipsis")
        named = len(labels) - labels.count(ELLIPSIS)
        hidden = x.ndim - named
        if hidden < 0 or (hidden > 0 and ELLIPSIS not in labels):
            raise ShapeError(
                f"einsum: operand {n} is {describe(x)} with {x.ndim} axes, "
                f"but its subscript names {named}"
            )
        spread.append(_expanded(labels, hidden))
        widest = max(widest, hidden if ELLIPSIS in labels else 0)
    if result is None:
        counts = Counter(label for labels in terms for label in labels)
        once = sorted(label for label, c in counts.items() if c == 1 and label != ELLIPSIS)
        return spread, _expanded([ELLIPSIS, *once], widest)
    _check_result(result, terms)
    return spread, _expanded(result, widest)


def _expanded(labels: Labels, hidden: int) -> Labels:
    # The axes of ellipses are aligned at their end, as in broadcasting.
    axes = [(ELLIPSIS, i) for i in range(-hidden, 0)]
    return [e for label in labels for e in (axes if label == ELLIPSIS else [label])]


def _check_result(result: Labels, terms: list[Labels]) -> None:
    known = {label for labels in terms for label in labels}
    for label, count in Counter(result).items():
        if count > 1:
            raise ArgumentError(f"einsum: {label!r} is named twice in the result")
        if label not in known and label != ELLIPSIS:
            raise ArgumentError(f"einsum: {label!r} of the result is in no operand")


# ---- computing


def _diagonals(x: Any, labels: Labels, n: int) -> tuple[Any, Labels]:
    """Takes the diagonal wherever an operand names a label twice."""
    while len(set(labels)) < len(labels):
        label = next(a for a in labels if labels.count(a) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        if x.shape[i] != x.shape[j]:
            raise ShapeError(
                f"einsum: operand {n} is {describe(x)}; its axes {i} and {j} are both {label!r} "
                f"and must be equal"
            )
        x = tx.diagonal(x, 0, i, j)
        labels = [*labels[:i], *labels[i + 1 : j], *labels[j + 1 :], label]
    return x, labels


def _sizes(operands: list[Any], terms: list[Labels]) -> dict[Any, Any]:
    sizes: dict[Any, Any] = {}
    for n, (x, labels) in enumerate(zip(operands, terms, strict=True)):
        for label, size in zip(labels, x.shape, strict=True):
            have = sizes.get(label, 1)
            if size == 1 and label in sizes:
                continue
            if label in sizes and have != 1 and have != size:
                raise ShapeError(
                    f"einsum: operand {n} is {describe(x)}; subscript {label!r} has size {size} there, "
                    f"but {have} in an operand before it"
                )
            sizes[label] = size
    return sizes


def _without_ones(x: Any, labels: Labels, sizes: dict[Any, Any]) -> tuple[Any, Labels]:
    """Drops axes of size 1 that stand for a larger size: they are broadcast, so nothing is lost."""
    for i in reversed(range(len(labels))):
        if x.shape[i] == 1 and sizes[labels[i]] != 1:
            x = tx.squeeze(x, i)
            labels = labels[:i] + labels[i + 1 :]
    return x, labels


def _sum_out(x: Any, labels: Labels, needed: set[Any], alone: bool = False) -> tuple[Any, Labels]:
    gone = [i for i, label in enumerate(labels) if label not in needed]
    if not gone:
        return x, labels
    # A sum of whole numbers is int64, but a factor of a product keeps its type.
    total = tx.sum(x, gone, dtype=None if alone else x.dtype)
    return total, [label for label in labels if label in needed]


def _arranged(x: Any, labels: Labels, order: Labels) -> Any:
    dims = [labels.index(label) for label in order]
    return x if dims == list(range(len(dims))) else tx.permute(x, dims)


def _contract(
    a: Any, a_labels: Labels, b: Any, b_labels: Labels, needed: set[Any]
) -> tuple[Any, Labels]:
    """The product of two operands, summed over the labels that only they have."""
    a, a_labels = _sum_out(a, a_labels, needed | set(b_labels))
    b, b_labels = _sum_out(b, b_labels, needed | set(a_labels))
    both = [label for label in a_labels if label in b_labels]
    batch = [label for label in both if label in needed]
    inner = [label for label in both if label not in needed]
    left = [label for label in a_labels if label not in both]
    right = [label for label in b_labels if label not in both]
    size = dict(zip(a_labels, a.shape, strict=True)) | dict(zip(b_labels, b.shape, strict=True))
    if not inner:
        a = _arranged(a, a_labels, [*batch, *left])
        a = a.reshape([*(size[i] for i in [*batch, *left]), *[1] * len(right)])
        b = _arranged(b, b_labels, [*batch, *right])
        b = b.reshape([*(size[i] for i in batch), *[1] * len(left), *(size[i] for i in right)])
        return a * b, [*batch, *left, *right]
    batch_shape = [size[i] for i in batch]
    rows, shared, columns = (numel([size[i] for i in part]) for part in (left, inner, right))
    a = _arranged(a, a_labels, [*batch, *left, *inner]).reshape([*batch_shape, rows, shared])
    b = _arranged(b, b_labels, [*batch, *inner, *right]).reshape([*batch_shape, shared, columns])
    order = [*batch, *left, *right]
    return tx.matmul(a, b).reshape([size[i] for i in order]), order


def _path(terms: list[Labels], result: Labels, sizes: dict[Any, Any]) -> list[tuple[int, ...]]:
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    from opt_einsum.paths import auto

    hints = {label: max(1, hint_of(size)) for label, size in sizes.items()}
    return list(auto([frozenset(labels) for labels in terms], frozenset(result), hints))


def contract_all(operands: list[Any], terms: list[Labels], result: Labels) -> Any:
    """The sum of products over all labels that are not in the result."""
    pairs = [
        _diagonals(x, labels, n) for n, (x, labels) in enumerate(zip(operands, terms, strict=True))
    ]
    sizes = _sizes([x for x, _ in pairs], [labels for _, labels in pairs])
    pairs = [_without_ones(x, labels, sizes) for x, labels in pairs]
    for step in _path([labels for _, labels in pairs], result, sizes):
        taken = [pairs[i] for i in sorted(step, reverse=True)]
        pairs = [pair for i, pair in enumerate(pairs) if i not in step]
        needed = set(result).union(*(labels for _, labels in pairs))
        x, labels = taken.pop()
        while taken:
            later = needed.union(*(more for _, more in taken[:-1]))
            x, labels = _contract(x, labels, *taken.pop(), later)
        pairs.append(_sum_out(x, labels, needed, alone=len(operands) == 1))
    ((x, labels),) = pairs
    missing = [label for label in result if label not in labels]  # ellipsis axes nobody had
    for label in missing:
        x, labels = x.unsqueeze(-1), [*labels, label]
    return _arranged(x, labels, result)


class Einsum(Composite):
    """The sum of products that an equation such as "ij,jk->ik" names.

    Operands follow as arguments or in one list; or each is followed by its list of labels (0 to 51), the
    labels of the result last. Labels that the result lacks are summed over, a label named twice by
    one operand takes its diagonal, and "..." stands for broadcast axes.

    >>> tx.einsum("ii->i", tx.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    >>> tx.einsum("ij,j", tx.ones(2, 3), tx.ones(3))
    tensor([3., 3.])
    """

    signature = "einsum(equation: any, operands: any...) -> y"
    dtypes = NUMBERS
    method = False

    def compose(equation, operands):
        operands, terms, result = _read(equation, operands)
        if not operands:
            raise ArgumentError("einsum: needs at least one operand")
        if len(operands) != len(terms):
            raise ArgumentError(
                f"einsum: {equation!r} has {len(terms)} terms, but {len(operands)} operands arrived"
            )
        first = operands[0]
        for n, x in enumerate(operands):
            check_same_dtype("einsum", **{"operand 0": first, f"operand {n}": x})
        return contract_all(operands, *spread_ellipses(operands, terms, result))

    def reference(equation, operands):
        operands = operands if isinstance(operands, list | tuple) else [operands]
        return np.einsum(equation, *operands, optimize=False)

    def samples(s):
        yield Sample("i->", s.real(s.n))
        yield Sample("ij->ji", s.real(s.n, s.m))
        yield Sample("ii->i", s.real(s.n, s.n))
        yield Sample("ii", s.real(s.n, s.n))
        yield Sample("i,j", s.real(s.n), s.real(s.m))
        yield Sample("ij,jk", s.real(s.n, s.m), s.real(s.m, s.k))
        yield Sample("bij,bjk->bik", s.real(s.b, s.n, s.m), s.real(s.b, s.m, s.k))
        yield Sample("ij,ij->j", s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample("...ij,...jk->...ik", s.real(s.b, s.n, s.m), s.real(s.m, s.k))
        yield Sample("i...->...", s.real(s.n, s.m, s.k))
        yield Sample(
            "ij,jk,kl,l->i", s.real(s.n, s.m), s.real(s.m, s.k), s.real(s.k, s.b), s.real(s.b)
        )
        yield Sample("ijk,ljm,i->kl", s.real(s.n, s.m, s.k), s.real(2, s.m, s.b), s.real(s.n))
        yield Sample("ij,jk", s.real(s.n, 0), s.real(0, s.k))
        yield Sample(s.real(s.n, s.m), [0, 1], s.real(s.m, s.k), [1, 2], [2, 0])
        yield Sample(s.real(s.n, s.m), [Ellipsis, 1], [1, Ellipsis])

    def bad(s):
        yield Bad(Sample("ij,jk", s.real(2, 3), s.real(4, 2)), ShapeError, "subscript 'j'")
        yield Bad(Sample("ij", s.real(2)), ShapeError, "its subscript names 2")
        yield Bad(Sample("i,j", s.real(2)), ArgumentError, "2 terms")
        yield Bad(Sample("i?", s.real(2)), ArgumentError, "no subscript")
        yield Bad(Sample("i->j", s.real(2)), ArgumentError, "in no operand")
        yield Bad(Sample("i->ii", s.real(2)), ArgumentError, "named twice")
        yield Bad(Sample("ii->i", s.real(2, 3)), ShapeError, "must be equal")


def _read(equation: Any, operands: Any) -> tuple[list[Any], list[Labels], Labels | None]:
    operands = [operands] if is_tensor(operands) else list(operands)
    if not isinstance(equation, str):
        return read_sublists([equation, *operands])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    for n, x in enumerate(operands):
        if not is_tensor(x):
            raise ArgumentError(f"einsum: operand {n} must be a tensor, got {describe(x)}")
    terms, result = read_equation(equation)
    return operands, terms, result
