"""Losses as layers."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class _Loss(Module):
    """A layer that calls one loss function with its own attributes."""

    function: str
    options: tuple[str, ...] = ()

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self._reduction(size_average, reduce, reduction)

    def _reduction(self, size_average: Any, reduce: Any, reduction: str) -> None:
        if size_average is not None or reduce is not None:
            whole = reduce is None or reduce
            reduction = ("sum" if size_average is False else "mean") if whole else "none"
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Any:
        """The loss of the input, given the target."""
        given = {name: getattr(self, name) for name in self.options}
        return getattr(F, self.function)(input, target, reduction=self.reduction, **given)


class L1Loss(_Loss):
    """Absolute error.

    >>> tx.nn.L1Loss()(tx.zeros(2), tx.tensor([1.0, 3.0]))
    tensor(2.)
    """

    function = "l1_loss"


class MSELoss(_Loss):
    """Squared error.

    >>> tx.nn.MSELoss()(tx.zeros(2), tx.tensor([1.0, 3.0]))
    tensor(5.)
    """

    function = "mse_loss"


class SmoothL1Loss(_Loss):
    """Absolute error, quadratic below beta.

    >>> tx.nn.SmoothL1Loss()(tx.zeros(2), tx.tensor([1.0, 3.0]))
    tensor(1.5000)
    """

    function = "smooth_l1_loss"
    options = ("beta",)

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean", beta: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """Half the squared error, linear above delta.

    >>> tx.nn.HuberLoss()(tx.zeros(2), tx.tensor([1.0, 3.0]))
    tensor(1.5000)
    """

    function = "huber_loss"
    options = ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta


class _WeightedLoss(_Loss):
    def __init__(
        self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of scores with class numbers or class probabilities.

    >>> tx.nn.CrossEntropyLoss()(tx.zeros(2, 4), tx.tensor([0, 3]))
    tensor(1.3863)
    """

    function = "cross_entropy"
    options = ("weight", "ignore_index", "label_smoothing")

    def __init__(
        self, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the right class.

    >>> tx.nn.NLLLoss()(tx.tensor([[-1.0, -2.0]]), tx.tensor([1]))
    tensor(2.)
    """

    function = "nll_loss"
    options = ("weight", "ignore_index")

    def __init__(
        self, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under its old name for images.

    >>> tx.nn.NLLLoss2d()(tx.zeros(1, 2, 1, 1), tx.tensor([[[0]]])).item() == 0
    True
    """


class BCELoss(_WeightedLoss):
    """Cross entropy of probabilities with targets between 0 and 1.

    >>> tx.nn.BCELoss()(tx.tensor([0.5]), tx.tensor([1.0]))
    tensor(0.6931)
    """

    function = "binary_cross_entropy"
    options = ("weight",)


class BCEWithLogitsLoss(_WeightedLoss):
    """Cross entropy of sigmoid(input) with targets between 0 and 1.

    >>> tx.nn.BCEWithLogitsLoss()(tx.zeros(1), tx.tensor([1.0]))
    tensor(0.6931)
    """

    function = "binary_cross_entropy_with_logits"
    options = ("weight", "pos_weight")

    def __init__(
        self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean", pos_weight: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence from log-probabilities.

    >>> p = tx.tensor([[0.25, 0.75]])
    >>> tx.nn.KLDivLoss(reduction="batchmean")(p.log(), p)
    tensor(0.)
    """

    function = "kl_div"
    options = ("log_target",)

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean", log_target: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of counts under a Poisson distribution.

    >>> tx.nn.PoissonNLLLoss()(tx.zeros(1), tx.ones(1))
    tensor(1.)
    """

    function = "poisson_nll_loss"
    options = ("log_input", "full", "eps")

    def __init__(
        self, log_input: bool = True, full: bool = False, size_average: bool | None = None,
        eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps


class GaussianNLLLoss(_Loss):
    """Negative log-likelihood under normal distributions with predicted variances.

    >>> tx.nn.GaussianNLLLoss()(tx.zeros(1), tx.ones(1), tx.ones(1))
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:  # type: ignore[override]
        """The loss of means `input` and variances `var`, given the target."""
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class HingeEmbeddingLoss(_Loss):
    """The input where target is 1, what it lacks to the margin where target is -1.

    >>> tx.nn.HingeEmbeddingLoss()(tx.tensor([0.5]), tx.tensor([1.0]))
    tensor(0.5000)
    """

    function = "hinge_embedding_loss"
    options = ("margin",)

    def __init__(
        self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)).

    >>> tx.nn.SoftMarginLoss()(tx.zeros(1), tx.ones(1))
    tensor(0.6931)
    """

    function = "soft_margin_loss"


class MultiLabelMarginLoss(_Loss):
    """The margin loss between every label and every other class.

    >>> tx.nn.MultiLabelMarginLoss()(tx.zeros(1, 2), tx.tensor([[0, -1]]))
    tensor(0.5000)
    """

    function = "multilabel_margin_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy with logits, averaged over classes.

    >>> tx.nn.MultiLabelSoftMarginLoss()(tx.zeros(1, 2), tx.ones(1, 2))
    tensor(0.6931)
    """

    function = "multilabel_soft_margin_loss"
    options = ("weight",)


class MultiMarginLoss(_WeightedLoss):
    """What each wrong class lacks to be below the right one by the margin.

    >>> tx.nn.MultiMarginLoss()(tx.zeros(1, 2), tx.tensor([0]))
    tensor(0.5000)
    """

    function = "multi_margin_loss"
    options = ("p", "margin", "weight")

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Any = None,
        size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.p = p
        self.margin = margin


class CosineEmbeddingLoss(HingeEmbeddingLoss):
    """1 - cosine where target is 1, the cosine above the margin where it is -1.

    >>> x = tx.tensor([[1.0, 0.0]])
    >>> tx.nn.CosineEmbeddingLoss()(x, x, tx.tensor([1]))
    tensor(0.)
    """

    function = "cosine_embedding_loss"

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        """The loss of two vectors (or numbers), given whether they belong together."""
        function = getattr(F, self.function)
        return function(input1, input2, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(CosineEmbeddingLoss):
    """What input1 lacks to be above input2 by the margin.

    >>> tx.nn.MarginRankingLoss()(tx.zeros(1), tx.ones(1), tx.ones(1))
    tensor(1.)
    """

    function = "margin_ranking_loss"


class TripletMarginLoss(_Loss):
    """How much nearer than the margin the negative is, compared with the positive.

    >>> a, p, n = tx.zeros(1, 1), tx.ones(1, 1), tx.ones(1, 1) * 1.5
    >>> tx.nn.TripletMarginLoss()(a, p, n)
    tensor(0.5000)
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
        size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        """The loss of three vectors."""
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of the user's own.

    >>> a, p, n = tx.zeros(1, 1), tx.ones(1, 1), tx.ones(1, 1) * 1.5
    >>> tx.nn.TripletMarginWithDistanceLoss(margin=2.0)(a, p, n)
    tensor(1.5000)
    """

    def __init__(
        self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(reduction=reduction)
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:  # type: ignore[override]
        """The loss of three vectors."""
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


class CTCLoss(_Loss):
    """Connectionist temporal classification.

    >>> logs = tx.zeros(4, 1, 3).log_softmax(2)
    >>> loss = tx.nn.CTCLoss()
    >>> loss(logs, tx.tensor([[1, 2]]), tx.tensor([4]), tx.tensor([2])).ndim
    0
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(  # type: ignore[override]
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Any:
        """The loss of log-probabilities (time, batch, classes), given labels."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )  # fmt: skip
