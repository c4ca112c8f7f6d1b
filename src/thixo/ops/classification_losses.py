"""Losses for classes: likelihoods of the right class, given as indices or as probabilities."""

from typing import Any

import numpy as np

from thixo.dtype import FLOATS, int64, uint8
from thixo.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    ValueRangeError,
    describe,
)
from thixo.ops import loss_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.loss_reduction import check_same_shape, reduced, reduction_of
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes


def _check_axis(op: str, input: Any, sizes: tuple[Any, ...]) -> None:
    if not sizes:
        raise ShapeError(f"{op}: input is {describe(input)}; it must have an axis of classes")


def _by_class(sizes: tuple[Any, ...], axis: int) -> tuple[Any, tuple[Any, ...]]:
    """How many classes there are, and the shape of a number for each that broadcasts with the scores."""
    return sizes[axis], (sizes[axis], *(1,) * (len(sizes) - axis - 1))


def _check_classes(op: str, input: Any, target: Any, weight: Any, sizes: tuple[Any, ...]) -> None:
    """Scores are (classes), (batch, classes) or (batch, classes, places); targets lack the classes."""
    _check_axis(op, input, sizes)
    wanted = (sizes[0], *sizes[2:]) if len(sizes) > 1 else ()
    if tuple(target.shape) != wanted:
        raise ShapeError(
            f"{op}: input is {describe(input)}, target is {describe(target)}; target's shape must "
            f"be {list(wanted)}"
        )
    if target.dtype is not int64 and target.dtype is not uint8:
        raise DTypeError(f"{op}: target is {describe(target)}; class numbers must be int64")
    if weight is not None:
        _check_weight(op, weight, sizes[1 if len(sizes) > 1 else 0])


def _check_weight(op: str, weight: Any, classes: Any) -> None:
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"{op}: weight is {describe(weight)}; it must have one entry for each of {classes} classes"
        )


def _nll(
    op: str, scores: Any, target: Any, weight: Any, ignore_index: int, raw: bool = False
) -> tuple[Any, Any]:
    """(loss of each sample, its weight): minus the score of the right class, 0 where ignored.

    Raw scores are made logarithms of probabilities on the way, at the right class alone.
    """
    axis = 1 if scores.ndim > 1 else 0
    if raw:
        picked = _log_likelihood(op, scores, target, axis, ignore_index).squeeze(axis)
    ignored = target == ignore_index
    right = tx.where(ignored, 0, target.to(int64))
    if not raw:
        try:
            picked = scores.gather(axis, right.unsqueeze(axis)).squeeze(axis)
        except IndexOutOfRange:
            raise _no_such_class(op, scores, target, ignore_index, axis) from None
    if weight is None:
        weights = tx.where(ignored, 0.0, tx.ones_like(picked))
    else:
        weights = tx.where(
            ignored, 0.0, weight.index_select(0, right.flatten()).reshape(right.shape)
        )
    return tx.where(ignored, 0.0, -picked * weights), weights


def _log_likelihood(op: str, scores: Any, target: Any, axis: int, ignore_index: int) -> Any:
    """The logarithm of the right class's probability, 0 where ignored; with an axis of size 1."""
    if target.dtype is not int64:
        target = target.to(int64)
    try:
        return tx.nn.functional.log_likelihood(scores, target.unsqueeze(axis), axis, ignore_index)[
            0
        ]
    except IndexOutOfRange:
        raise _no_such_class(op, scores, target, ignore_index, axis) from None


def _no_such_class(op: str, scores: Any, target: Any, ignore_index: int, axis: int) -> Exception:
    right = tx.where(target == ignore_index, 0, target.to(int64))
    return IndexOutOfRange(
        f"{op}: target holds classes {right.min().item()} to {right.max().item()}, but input is "
        f"{describe(scores)}: classes are 0 to {scores.shape[axis] - 1}, and ignore_index is "
        f"{ignore_index}"
    )


class NllLoss(Composite):
    """Minus the log-probability of the right class, where `input` holds log-probabilities.

    >>> logs = tx.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    >>> tx.nn.functional.nll_loss(logs, tx.tensor([0, 1]), reduction="none")
    tensor([0.6931, 0.2877])
    """

    signature = (
        "nll_loss(input, target, weight = None, size_average: bool? = None, ignore_index: int = -100, "
        "reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, weight, size_average, ignore_index, reduce, reduction):
        reduction = reduction_of("nll_loss", size_average, reduce, reduction)
        _check_classes("nll_loss", input, target, weight, tuple(input.shape))
        loss, weights = _nll("nll_loss", input, target, weight, ignore_index)
        return loss.sum() / weights.sum() if reduction == "mean" else reduced(loss, reduction)

    reference = slow.nll_loss

    def samples(s):
        yield Sample(s.real(s.n, 4), s.ints(s.n, high=4))
        yield Sample(s.real(s.n, 4, s.m), s.ints(s.n, s.m, high=4), s.positive(4), reduction="none")
        yield Sample(s.real(s.n, 3, 2, s.m), s.ints(s.n, 2, s.m, high=3), reduction="sum")
        yield Sample(s.real(4), s.ints(high=4), s.positive(4))
        yield Sample(s.real(s.n, 4), s.ints(s.n, high=4), ignore_index=1, reduction="sum")

    def bad(s):
        x = s.real(2, 3)
        yield Bad(Sample(x, s.ints(3, high=3)), ShapeError, "target's shape must be [2]")
        yield Bad(Sample(x, s.real(2, dtype=FLOATS[2])), DTypeError, "class numbers must be int64")
        yield Bad(Sample(x, s.ints(2, high=3), s.real(2)), ShapeError, "weight")
        yield Bad(Sample(x, s.ints(2, low=5, high=6)), IndexError, "target holds classes 5 to 5")


class CrossEntropy(Composite):
    """Cross entropy of scores with the right classes, or with probabilities of the scores' shape.

    >>> scores = tx.tensor([[2.0, 0.0], [0.0, 0.0]])
    >>> tx.nn.functional.cross_entropy(scores, tx.tensor([0, 1]), reduction="none")
    tensor([0.1269, 0.6931])
    """

    signature = (
        "cross_entropy(input, target, weight = None, size_average: bool? = None, "
        "ignore_index: int = -100, reduce: bool? = None, reduction: str = 'mean', "
        "label_smoothing: float = 0.0) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(
        input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
    ):
        op = "cross_entropy"
        reduction = reduction_of(op, size_average, reduce, reduction)
        if not 0 <= label_smoothing <= 1:
            raise ValueRangeError(
                f"{op}: label_smoothing is {label_smoothing}; it must be between 0 and 1"
            )
        sizes = tuple(input.shape)
        axis = 1 if len(sizes) > 1 else 0
        if target.dtype.is_floating_point:
            _check_axis(op, input, sizes)
            if len(target.shape) < len(sizes):
                raise ShapeError(
                    f"{op}: input is {describe(input)}, target is {describe(target)}: numbers of classes are "
                    f"whole numbers (target.long()), probabilities have the input's shape"
                )
            check_same_shape(op, input, target)
            classes, by_class = _by_class(sizes, axis)
            _check_weight(op, weight, classes)
            logs = tx.log_softmax(input, axis)
            if label_smoothing:
                target = target * (1 - label_smoothing) + label_smoothing / classes
            if weight is not None:
                target = target * weight.reshape(by_class)
            return reduced(-(logs * target).sum(axis), reduction)
        _check_classes(op, input, target, weight, sizes)
        if weight is None and not label_smoothing:
            logs = _log_likelihood(op, input, target, axis, ignore_index)
            if reduction == "none":
                return 0.0 - logs.squeeze(axis)
            total = 0.0 - logs.sum()
            return total / (target != ignore_index).sum() if reduction == "mean" else total
        classes, by_class = _by_class(sizes, axis)
        logs = tx.log_softmax(input, axis) if label_smoothing else None
        loss, weights = _nll(
            op, input if logs is None else logs, target, weight, ignore_index, logs is None
        )
        if label_smoothing:
            every = logs if weight is None else logs * weight.reshape(by_class)
            smooth = tx.where(target == ignore_index, 0.0, -every.sum(axis))
            loss = loss * (1 - label_smoothing) + smooth * label_smoothing / classes
        return loss.sum() / weights.sum() if reduction == "mean" else reduced(loss, reduction)

    reference = slow.cross_entropy

    def samples(s):
        yield Sample(s.real(s.n, 4), s.ints(s.n, high=4))
        yield Sample(s.real(s.n, 4, s.m), s.ints(s.n, s.m, high=4), s.positive(4), reduction="none")
        yield Sample(s.real(s.n, 3, 2, s.m), s.positive(s.n, 3, 2, s.m), label_smoothing=0.2)
        yield Sample(s.real(4), s.ints(high=4), s.positive(4), label_smoothing=0.1)
        yield Sample(
            s.real(s.n, 4),
            s.ints(s.n, high=4),
            ignore_index=1,
            label_smoothing=0.1,
            reduction="sum",
        )
        yield Sample(s.real(s.n, 4), s.positive(s.n, 4), s.positive(4), reduction="sum")
        yield Sample(s.real(4), s.positive(4))

    def bad(s):
        x = s.real(2, 3)
        yield Bad(Sample(x, s.ints(3, high=3)), ShapeError, "target's shape must be [2]")
        yield Bad(Sample(x, s.real(2, 4)), ShapeError, "shapes differ")
        yield Bad(Sample(x, s.real(2)), ShapeError, "whole numbers (target.long())")
        yield Bad(
            Sample(x, s.ints(2, high=3), label_smoothing=2.0), ValueRangeError, "between 0 and 1"
        )
        yield Bad(Sample(x, s.ints(2, high=3), s.real(2)), ShapeError, "weight")
        yield Bad(Sample(x, s.ints(2, low=5, high=6)), IndexError, "target holds classes 5 to 5")


class LinearCrossEntropy(Composite):
    """Cross entropy of a linear layer's outputs: `cross_entropy(linear(input, linear_weight), target)`.

    `options` chooses how PyTorch cuts the work into pieces; the result is the same.

    >>> x, w = tx.ones(1, 2), tx.zeros(4, 2)
    >>> tx.nn.functional.linear_cross_entropy(x, w, tx.tensor([3]))
    tensor(1.3863)
    """

    signature = (
        "linear_cross_entropy(input, linear_weight, target, *, linear_bias = None, weight = None, "
        "reduction: str = 'mean', ignore_index: int? = None, label_smoothing: float = 0.0, "
        "options: any = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(
        input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing,
        options,
    ):  # fmt: skip
        op = "linear_cross_entropy"
        if input.ndim not in (1, 2):
            raise ShapeError(f"{op}: input is {describe(input)}; it must have 1 or 2 dimensions")
        if linear_weight.ndim < 2:
            raise ShapeError(
                f"{op}: linear_weight is {describe(linear_weight)}; it needs at least 2 dimensions"
            )
        if input.shape[-1] != linear_weight.shape[-1]:
            raise ShapeError(
                f"{op}: features differ: input is {describe(input)}, linear_weight is "
                f"{describe(linear_weight)}; the last axes must agree"
            )
        if linear_weight.ndim > 2 and input.ndim == 1:
            raise ShapeError(
                f"{op}: linear_weight is {describe(linear_weight)}, which needs a batch, but input "
                f"is {describe(input)}"
            )
        if target.dtype.is_floating_point and ignore_index is not None:
            raise ArgumentError(f"{op}: ignore_index has no meaning for a target of probabilities")
        outputs = tuple(linear_weight.shape[:-1])
        if linear_bias is not None and tuple(linear_bias.shape) != outputs:
            raise ShapeError(
                f"{op}: linear_bias is {describe(linear_bias)}; its shape must be {list(outputs)}"
            )
        logits = input @ linear_weight.flatten(0, -2).transpose(0, 1)
        logits = logits.reshape(*input.shape[:-1], *outputs)
        if linear_bias is not None:
            logits = logits + linear_bias
        return tx.nn.functional.cross_entropy(
            logits, target, weight, ignore_index=-100 if ignore_index is None else ignore_index,
            reduction=reduction, label_smoothing=label_smoothing,
        )  # fmt: skip

    def reference(
        input, linear_weight, target, linear_bias=None, weight=None, reduction="mean",
        ignore_index=None, label_smoothing=0.0, options=None,
    ):  # fmt: skip
        logits = np.tensordot(input, linear_weight, ([-1], [-1]))
        logits = logits if linear_bias is None else logits + linear_bias
        index = -100 if ignore_index is None else ignore_index
        return slow.cross_entropy(
            logits, target, weight, None, index, None, reduction, label_smoothing
        )

    def samples(s):
        x, w = s.real(s.n, 3), s.real(4, 3)
        yield Sample(x, w, s.ints(s.n, high=4))
        yield Sample(x, w, s.ints(s.n, high=4), linear_bias=s.real(4), reduction="none")
        yield Sample(x, w, s.positive(s.n, 4), weight=s.positive(4), label_smoothing=0.1)
        yield Sample(x, s.real(4, 2, 3), s.ints(s.n, 2, high=4), linear_bias=s.real(4, 2))
        yield Sample(s.real(3), w, s.ints(high=4), reduction="sum", ignore_index=1)

    def bad(s):
        w, t = s.real(2, 3), s.ints(2, high=2)
        yield Bad(Sample(s.real(2, 3, 3), w, t), ShapeError, "1 or 2 dimensions")
        yield Bad(Sample(s.real(2, 4), w, t), ShapeError, "features differ")
        yield Bad(Sample(s.real(2, 3), s.real(2), t), ShapeError, "at least 2 dimensions")
        yield Bad(Sample(s.real(3), s.real(2, 2, 3), t), ShapeError, "needs a batch")
        yield Bad(Sample(s.real(2, 3), w, t, linear_bias=s.real(3)), ShapeError, "linear_bias")
        yield Bad(
            Sample(s.real(2, 3), w, s.real(2, 2), ignore_index=0), ArgumentError, "no meaning"
        )


# ---- yes or no


class BinaryCrossEntropyElements(Op):
    """-(target log input + (1 - target) log(1 - input)) of each element, the logarithms at least -100.

    >>> tx.nn.functional.binary_cross_entropy_elements(tx.tensor([0.5]), tx.tensor([1.0]))
    tensor([0.6931])
    """

    signature = "binary_cross_entropy_elements(input, target) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(input, target):
        op = "binary_cross_entropy"
        check_same_shape(op, input, target)
        if input.dtype != target.dtype:
            raise DTypeError(
                f"{op}: dtypes differ: input is {describe(input)}, target is {describe(target)}"
            )
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, target):
        outside = (input < 0) | (input > 1)
        if outside.any():
            value = input[outside].ravel()[0]
            raise ValueRangeError(
                f"binary_cross_entropy: input holds {value:g}; all of it must be between 0 and 1"
            )
        with np.errstate(all="ignore"):
            yes, no = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
            return -(target * yes + (1 - target) * no)

    def vjp_input(g, input, target):
        return g * (input - target) / tx.clamp(input * (1 - input), min=1e-12)

    def vjp_target(g, input):
        return g * (tx.clamp(tx.log1p(-input), min=-100) - tx.clamp(tx.log(input), min=-100))

    def reference(input, target):
        import math

        def one(x, t):
            yes = max(math.log(x), -100) if x else -100
            no = max(math.log(1 - x), -100) if x < 1 else -100
            return -(t * yes + (1 - t) * no)

        return slow.elementwise(one, input, target)

    def samples(s):
        inside = {"low": 0.05, "high": 0.95}
        yield Sample(s.real(s.n, s.m, **inside), s.real(s.n, s.m, **inside))
        yield Sample(s.array([0.0, 1.0, 0.0, 1.0]), s.array([0.0, 1.0, 1.0, 0.0]), grad=False)
        yield Sample(s.real(0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.array([1.5]), s.array([1.0])), ValueRangeError, "between 0 and 1")


class BinaryCrossEntropy(Composite):
    """Cross entropy of probabilities with targets between 0 and 1.

    >>> p, t = tx.tensor([0.5, 0.9]), tx.tensor([1.0, 1.0])
    >>> tx.nn.functional.binary_cross_entropy(p, t, reduction="none")
    tensor([0.6931, 0.1054])
    """

    signature = (
        "binary_cross_entropy(input, target, weight = None, size_average: bool? = None, "
        "reduce: bool? = None, reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, weight, size_average, reduce, reduction):
        op = "binary_cross_entropy"
        reduction = reduction_of(op, size_average, reduce, reduction)
        check_same_shape(op, input, target)
        loss = tx.nn.functional.binary_cross_entropy_elements(input, target)
        if weight is not None:
            _check_broadcast(op, "weight", weight, input)
            loss = loss * weight
        return reduced(loss, reduction)

    def reference(input, target, weight, size_average, reduce, reduction):
        losses = -(target * np.log(input) + (1 - target) * np.log(1 - input))
        losses = losses if weight is None else losses * weight
        return slow.reduced(losses, size_average, reduce, reduction)

    def samples(s):
        inside = {"low": 0.05, "high": 0.95}
        x, t = s.real(s.n, s.m, **inside), s.real(s.n, s.m, **inside)
        yield Sample(x, t)
        yield Sample(x, t, s.positive(s.m), reduction="none")
        yield Sample(x, t, reduction="sum")

    def bad(s):
        yield Bad(Sample(s.positive(2) / 3, s.positive(3)), ShapeError, "shapes differ")
        yield Bad(Sample(s.array([1.5]), s.array([1.0])), ValueRangeError, "between 0 and 1")


def _check_broadcast(op: str, name: str, value: Any, input: Any) -> None:
    shape = tuple(input.shape)
    try:
        fits = tuple(broadcast_shapes(shape, tuple(value.shape))) == shape
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{op}: {name} is {describe(value)}; it must broadcast to {describe(input)}"
        )


class BinaryCrossEntropyWithLogits(Composite):
    """Cross entropy of sigmoid(input) with targets between 0 and 1; positives weigh `pos_weight`.

    >>> tx.nn.functional.binary_cross_entropy_with_logits(tx.zeros(2), tx.tensor([0.0, 1.0]))
    tensor(0.6931)
    """

    signature = (
        "binary_cross_entropy_with_logits(input, target, weight = None, size_average: bool? = None, "
        "reduce: bool? = None, reduction: str = 'mean', pos_weight = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, weight, size_average, reduce, reduction, pos_weight):
        op = "binary_cross_entropy_with_logits"
        reduction = reduction_of(op, size_average, reduce, reduction)
        check_same_shape(op, input, target)
        yes = tx.nn.functional.logsigmoid(input)
        if pos_weight is not None:
            _check_broadcast(op, "pos_weight", pos_weight, input)
            yes = yes * ((pos_weight - 1) * target + 1)
        loss = (1 - target) * input - yes
        if weight is not None:
            _check_broadcast(op, "weight", weight, input)
            loss = loss * weight
        return reduced(loss, reduction)

    def reference(input, target, weight, size_average, reduce, reduction, pos_weight):
        p = 1 if pos_weight is None else pos_weight
        yes, no = -np.log1p(np.exp(-input)), -np.log1p(np.exp(input))
        losses = -(p * target * yes + (1 - target) * no)
        losses = losses if weight is None else losses * weight
        return slow.reduced(losses, size_average, reduce, reduction)

    def samples(s):
        x, t = s.real(s.n, s.m), s.real(s.n, s.m, low=0, high=1)
        yield Sample(x, t)
        yield Sample(x, t, s.positive(s.m), reduction="none", pos_weight=s.positive(s.m))
        yield Sample(x, t, reduction="sum")

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(3)), ShapeError, "shapes differ")
        yield Bad(Sample(s.real(2), s.real(2), s.real(3)), ShapeError, "weight is")
