"""Losses that ask for a margin between what should be near or large and what should not."""

from typing import Any

import numpy as np

from thixo.dtype import BOOL, COMPLEX, FLOATS, INTEGERS, SIGNED, int64
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import loss_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.loss_reduction import check_broadcast, reduced, reduction_of
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes


class HingeEmbeddingLoss(Composite):
    """The input itself where target is 1, what it lacks to the margin where target is -1.

    >>> x, t = tx.tensor([0.5, 0.25]), tx.tensor([1.0, -1.0])
    >>> tx.nn.functional.hinge_embedding_loss(x, t, reduction="none")
    tensor([0.5000, 0.7500])
    """

    signature = (
        "hinge_embedding_loss(input, target, margin: float = 1.0, size_average: bool? = None, "
        "reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, margin, size_average, reduce, reduction):
        op = "hinge_embedding_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        check_broadcast(op, input, target)
        far = tx.where(target != 1, tx.clamp(margin - input, min=0), 0)
        near = tx.where(target != -1, input, 0)
        return reduced(far + near, reduction)

    def reference(input, target, margin, size_average, reduce, reduction):
        def one(x, t):
            return (max(0.0, margin - x) if t != 1 else 0.0) + (x if t != -1 else 0.0)

        return slow.reduced(slow.elementwise(one, input, target), size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.distinct(s.n, s.m), s.ints(s.n, s.m, low=1, high=2))
        yield Sample(s.distinct(s.n, s.m), s.ints(s.n, s.m, low=-1, high=0), 0.3, reduction="none")
        mixed = s.array([1, -1, 1, 0], int64)
        yield Sample(s.distinct(4), mixed, 0.3, reduction="sum")

    def bad(s):
        yield Bad(
            Sample(s.real(2), s.real(2), reduction="avg"), ValueRangeError, "reduction is 'avg'"
        )


class MarginRankingLoss(Composite):
    """What input1 lacks to be above input2 by the margin (below it, where target is -1).

    >>> a, b = tx.tensor([1.0]), tx.tensor([3.0])
    >>> tx.nn.functional.margin_ranking_loss(a, b, tx.tensor([1.0]), margin=0.5)
    tensor(2.5000)
    """

    signature = (
        "margin_ranking_loss(input1, input2, target, margin: float = 0, size_average: bool? = None, "
        "reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + SIGNED

    def compose(input1, input2, target, margin, size_average, reduce, reduction):
        op = "margin_ranking_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        if input1.ndim != input2.ndim or input1.ndim != target.ndim:
            raise ShapeError(
                f"{op}: input1 is {describe(input1)}, input2 is {describe(input2)}, target is "
                f"{describe(target)}; they must have the same number of dimensions"
            )
        return reduced(tx.clamp(-target * (input1 - input2) + margin, min=0), reduction)

    def reference(input1, input2, target, margin, size_average, reduce, reduction):
        def one(a, b, t):
            return max(0.0, -t * (a - b) + margin)

        losses = slow.elementwise(one, input1, input2, target)
        return slow.reduced(losses, size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.distinct(s.n), s.distinct(s.n), s.real(s.n), 0.05, reduction="none")
        yield Sample(s.distinct(s.n, s.m), s.distinct(s.n, s.m), s.real(s.n, s.m), 0.1)

    def bad(s):
        x = s.real(5, 4)
        yield Bad(Sample(x, x, s.real(5)), ShapeError, "same number of dimensions")
        yield Bad(Sample(x, x, x, reduction="avg"), ValueRangeError, "reduction is 'avg'")


class CosineEmbeddingLoss(Composite):
    """1 - cosine of two vectors where target is 1, the cosine above the margin where it is -1.

    >>> a = tx.tensor([[1.0, 0.0]])
    >>> tx.nn.functional.cosine_embedding_loss(a, tx.tensor([[0.0, 1.0]]), tx.tensor([1]))
    tensor(1.)
    """

    signature = (
        "cosine_embedding_loss(input1, input2, target, margin: float = 0, "
        "size_average: bool? = None, reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + INTEGERS + BOOL

    def compose(input1, input2, target, margin, size_average, reduce, reduction):
        op = "cosine_embedding_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        if input1.ndim != target.ndim + 1 or input2.ndim != input1.ndim or target.ndim > 1:
            raise ShapeError(
                f"{op}: input1 is {describe(input1)}, input2 is {describe(input2)}, target is "
                f"{describe(target)}; needs (batch, features) twice and (batch), or all without batch"
            )
        check_broadcast(op, input1, input2)
        tiny = 1e-12
        dot = (input1 * input2).sum(-1)
        norms = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
        cosine = dot / tx.sqrt(norms)
        far = tx.where(target == -1, tx.clamp(cosine - margin, min=0), 0)
        return reduced(tx.where(target == 1, 1 - cosine, 0) + far, reduction)

    def reference(input1, input2, target, margin, size_average, reduce, reduction):
        a, b = np.broadcast_arrays(input1, input2)
        a, b = a.astype(np.float64), b.astype(np.float64)
        norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        cosines = (a * b).sum(-1) / np.maximum(norms, 1e-12)

        def one(c, t):
            return 1 - c if t == 1 else max(0.0, c - margin) if t == -1 else 0.0

        return slow.reduced(slow.elementwise(one, cosines, target), size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.positive(s.n, 4), s.positive(s.n, 4), s.ints(s.n, low=1, high=2))
        far = s.ints(s.n, low=-1, high=0)
        yield Sample(s.positive(s.n, 4), s.positive(s.n, 4), far, 0.4, reduction="none")
        yield Sample(s.positive(4), s.positive(4), s.array(-1, int64), reduction="sum")

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2, 3), s.real(2, 3)), ShapeError, "(batch, features)")


def _check_labelled(op: str, input: Any, target: Any) -> None:
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0):
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must be (classes) or (batch, classes), with at "
            f"least one class"
        )


class MultiMarginLoss(Composite):
    """What each wrong class lacks to be below the right one by the margin, averaged over the classes.

    >>> tx.nn.functional.multi_margin_loss(tx.tensor([[0.0, 1.0]]), tx.tensor([0]))
    tensor(1.)
    """

    signature = (
        "multi_margin_loss(input, target, p: int = 1, margin: float = 1.0, weight = None, "
        "size_average: bool? = None, reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, p, margin, weight, size_average, reduce, reduction):
        op = "multi_margin_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueRangeError(f"{op}: p is {p}; it must be 1 or 2")
        if weight is not None and weight.ndim != 1:
            raise ShapeError(f"{op}: weight is {describe(weight)}; it must have one dimension")
        _check_labelled(op, input, target)
        one = input.ndim < 2
        classes = input.shape[-1] if input.ndim else 1
        fits = target.numel() == 1 if one else tuple(target.shape) == tuple(input.shape[:1])
        if not fits or target.ndim > 1:
            raise ShapeError(
                f"{op}: input is {describe(input)}, target is {describe(target)}; there must be one "
                f"class number for each sample"
            )
        if target.dtype != int64:
            raise DTypeError(f"{op}: target is {describe(target)}; class numbers must be int64")
        if weight is not None and weight.shape[0] != classes:
            raise ShapeError(f"{op}: weight is {describe(weight)}; there are {classes} classes")
        x = input.reshape(1, classes) if one else input
        right = target.reshape(-1, 1) if one else target.unsqueeze(1)
        lack = tx.clamp(margin - x.gather(1, right) + x, min=0)
        if p == 2:
            lack = lack * lack
        if weight is not None:
            lack = lack * weight.index_select(0, right.flatten()).unsqueeze(1)
        wrong = tx.arange(classes, device=x.device) != right
        loss = tx.where(wrong, lack, 0).sum(1) / classes
        return reduced(loss.reshape(tuple(target.shape)) if one else loss, reduction)

    reference = slow.multi_margin_loss

    def samples(s):
        yield Sample(s.distinct(s.n, 4), s.ints(s.n, high=4))
        yield Sample(
            s.distinct(s.n, 4), s.ints(s.n, high=4), 2, 0.7, s.positive(4), reduction="none"
        )
        yield Sample(s.distinct(4), s.ints(high=4), reduction="sum")

    def bad(s):
        x, t = s.real(5, 4), s.ints(5, high=4)
        yield Bad(Sample(x, t, 3), ValueRangeError, "p is 3")
        yield Bad(Sample(x, s.real(5, dtype=FLOATS[2])), DTypeError, "int64")
        yield Bad(Sample(s.real(5, 0), t), ShapeError, "at least one class")
        yield Bad(Sample(x, t, weight=s.real(5)), ShapeError, "weight")
        yield Bad(Sample(x, s.ints(4, high=4)), ShapeError, "one class number for each sample")


class MultilabelMarginLoss(Composite):
    """The margin loss between every label of a sample and every class that is none of its labels.

    A row of `target` lists a sample's classes and ends at the first -1.

    >>> x, t = tx.tensor([[0.0, 1.0]]), tx.tensor([[1, -1]])
    >>> tx.nn.functional.multilabel_margin_loss(x, t)
    tensor(0.)
    """

    signature = (
        "multilabel_margin_loss(input, target, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, size_average, reduce, reduction):
        op = "multilabel_margin_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        _check_labelled(op, input, target)
        if tuple(input.shape) != tuple(target.shape):
            raise ShapeError(
                f"{op}: input is {describe(input)}, target is {describe(target)}; the shapes must agree"
            )
        if target.dtype != int64:
            raise DTypeError(f"{op}: target is {describe(target)}; class numbers must be int64")
        one = input.ndim < 2
        classes = input.shape[-1] if input.ndim else 1
        x, t = input, target
        if one:
            x, t = input.reshape(1, classes), target.reshape(1, classes)
        listed = (t < 0).to(int64).cumsum(1) == 0
        labels = tx.where(listed, t, 0)
        is_label = tx.zeros_like(t).scatter_add(1, labels, listed.to(int64)) > 0
        lack = tx.clamp(1 - x.gather(1, labels).unsqueeze(2) + x.unsqueeze(1), min=0)
        counts = listed.unsqueeze(2) & ~is_label.unsqueeze(1)  # (sample, label, class)
        loss = tx.where(counts, lack, 0).sum((1, 2)) / classes
        return reduced(loss.squeeze(0) if one else loss, reduction)

    reference = slow.multilabel_margin_loss

    def samples(s):
        t = s.array([[2, 0, -1, 1], [3, -1, -1, -1], [1, 3, 2, 0]], int64)
        yield Sample(s.distinct(3, 4), t)
        yield Sample(s.distinct(3, 4), t, reduction="none")
        yield Sample(s.distinct(4), t[0], reduction="sum")

    def bad(s):
        yield Bad(Sample(s.real(5, 4), s.ints(4)), ShapeError, "shapes must agree")
        yield Bad(Sample(s.real(5, 0), s.ints(5, 0)), ShapeError, "at least one class")


class MultilabelSoftMarginLoss(Composite):
    """Binary cross entropy with logits, averaged over the classes of each sample.

    >>> tx.nn.functional.multilabel_soft_margin_loss(tx.zeros(1, 2), tx.ones(1, 2))
    tensor(0.6931)
    """

    signature = (
        "multilabel_soft_margin_loss(input, target, weight = None, size_average: bool? = None, "
        "reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, weight, size_average, reduce, reduction):
        op = "multilabel_soft_margin_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        check_broadcast(op, input, target)
        if input.ndim == 0:
            raise ShapeError(f"{op}: input is {describe(input)}; it must have an axis of classes")
        log = tx.nn.functional.logsigmoid
        loss = -(target * log(input) + (1 - target) * log(-input))
        if weight is not None:
            check_broadcast(op, input, weight)
            loss = loss * weight
        return reduced(loss.sum(-1) / input.shape[-1], reduction)

    def reference(input, target, weight, size_average, reduce, reduction):
        p = 1 / (1 + np.exp(-input))
        losses = -(target * np.log(p) + (1 - target) * np.log(1 - p))
        losses = losses if weight is None else losses * weight
        return slow.reduced(losses.mean(axis=-1), size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m, low=0, high=1))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), s.positive(s.m), reduction="none")
        yield Sample(s.real(s.m), s.real(s.m), reduction="sum")


class SoftMarginLoss(Composite):
    """log(1 + exp(-target * input)), for targets 1 and -1.

    >>> tx.nn.functional.soft_margin_loss(tx.zeros(2), tx.tensor([1.0, -1.0]))
    tensor(0.6931)
    """

    signature = (
        "soft_margin_loss(input, target, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, size_average, reduce, reduction):
        op = "soft_margin_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        check_broadcast(op, input, target)
        return reduced(-tx.nn.functional.logsigmoid(target * input), reduction)

    def reference(input, target, size_average, reduce, reduction):
        return slow.reduced(np.log1p(np.exp(-target * input)), size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), reduction="none")

    def bad(s):
        yield Bad(Sample(s.real(5, 4), s.real(5)), ShapeError, "shapes differ")
        yield Bad(
            Sample(s.real(2), s.real(2), reduction="avg"), ValueRangeError, "reduction is 'avg'"
        )


def _triplet(
    op: str, anchor: Any, positive: Any, negative: Any, distance: Any, margin: float, swap: bool,
    reduction: str,
) -> Any:  # fmt: skip
    if margin <= 0:
        raise ValueRangeError(f"{op}: margin is {margin}; it must be positive")
    if anchor.ndim != positive.ndim or anchor.ndim != negative.ndim:
        raise ShapeError(
            f"{op}: anchor is {describe(anchor)}, positive is {describe(positive)}, negative is "
            f"{describe(negative)}; they must have the same number of dimensions"
        )
    broadcast_shapes(*(tuple(t.shape) for t in (anchor, positive, negative)), op=op)
    if not callable(distance):
        raise ArgumentError(f"{op}: distance_function must be a function, got {describe(distance)}")

    def between(a: Any, b: Any) -> Any:
        try:
            return distance(a, b)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside of the function: its own affair
            raise ArgumentError(
                f"{op}: distance_function does not take two Tensors: {error}"
            ) from None

    near, far = between(anchor, positive), between(anchor, negative)
    if swap:
        far = tx.minimum(far, between(positive, negative))
    if not is_tensor(near) or not is_tensor(far):
        raise ArgumentError(
            f"{op}: distance_function must return a Tensor, it gave {describe(near)}"
        )
    return reduced(tx.clamp(margin + near - far, min=0), reduction)


class TripletMarginLoss(Composite):
    """How much nearer than `margin` the negative is to the anchor, compared with the positive.

    >>> a, p, n = tx.tensor([[0.0]]), tx.tensor([[1.0]]), tx.tensor([[1.5]])
    >>> tx.nn.functional.triplet_margin_loss(a, p, n)
    tensor(0.5000)
    """

    signature = (
        "triplet_margin_loss(anchor, positive, negative, margin: float = 1.0, p: float = 2, "
        "eps: float = 1e-6, swap: bool = False, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX + SIGNED

    def compose(anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction):
        op = "triplet_margin_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)

        def distance(a, b):
            return tx.nn.functional.pairwise_distance(a, b, p, eps)

        return _triplet(op, anchor, positive, negative, distance, margin, swap, reduction)

    def reference(
        anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None,
        reduce=None, reduction="mean",
    ):  # fmt: skip
        near, far = slow.distance(anchor, positive, p, eps), slow.distance(anchor, negative, p, eps)
        if swap:
            far = np.minimum(far, slow.distance(positive, negative, p, eps))
        return slow.reduced(np.maximum(margin + near - far, 0), size_average, reduce, reduction)

    def samples(s):
        x = [s.distinct(s.n, s.m) for _ in range(3)]
        yield Sample(*x, margin=4.0)
        yield Sample(*x, margin=9.0, p=3.0, swap=True, reduction="none")

    def bad(s):
        x = s.real(3, 4)
        yield Bad(Sample(x, x, x, margin=-1.0), ValueRangeError, "margin")
        yield Bad(Sample(x, x, s.real(3)), ShapeError, "same number of dimensions")
        yield Bad(Sample(x, x, s.real(3, 5)), ShapeError, "do not broadcast")


class TripletMarginWithDistanceLoss(Composite):
    """`triplet_margin_loss` with a distance of the user's own.

    >>> a, p, n = tx.tensor([[0.0]]), tx.tensor([[1.0]]), tx.tensor([[1.5]])
    >>> absolute = lambda a, b: (a - b).abs().sum(-1)
    >>> tx.nn.functional.triplet_margin_with_distance_loss(a, p, n, distance_function=absolute)
    tensor(0.5000)
    """

    signature = (
        "triplet_margin_with_distance_loss(anchor, positive, negative, *, "
        "distance_function: any = None, margin: float = 1.0, swap: bool = False, "
        "reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX + SIGNED

    def compose(anchor, positive, negative, distance_function, margin, swap, reduction):
        op = "triplet_margin_with_distance_loss"
        reduction = reduction_of(op, None, None, reduction)
        distance = distance_function or tx.nn.functional.pairwise_distance
        return _triplet(op, anchor, positive, negative, distance, margin, swap, reduction)

    def reference(
        anchor, positive, negative, distance_function=None, margin=1.0, swap=False, reduction="mean"
    ):
        near, far = slow.distance(anchor, positive), slow.distance(anchor, negative)
        if swap:
            far = np.minimum(far, slow.distance(positive, negative))
        return slow.reduced(np.maximum(margin + near - far, 0), None, None, reduction)

    def samples(s):
        x = [s.distinct(s.n, s.m) for _ in range(3)]
        yield Sample(*x, margin=4.0)
        yield Sample(*x, margin=9.0, swap=True, reduction="sum")
