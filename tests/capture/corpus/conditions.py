"""Conditions of Python and of tensors together: flags, None, isinstance, shapes, dtypes, options."""

import enum

import thixo as tx
from tests.capture.corpus.registry import call, case, t


class Mode(enum.Enum):
    MEAN = "mean"
    SUM = "sum"
    NONE = "none"


@case(
    lambda d: (d.normal(4), True),
    lambda d: (d.normal(4), False),
    lambda d: (d.normal(4) * 100, True),
    grad=(0,),
)
def flag_and_tensor(x, clip):
    if clip and x.abs().max() > 10:
        x = x / x.abs().max()
    elif not clip:
        x = x + 1
    return x * 2


@case(
    lambda d: (d.normal(3),),
    lambda d: (d.normal(3), d.normal(3)),
    lambda d: call(d.normal(3), bias=d.normal(3)),
    grad=(0,),
)
def optional_tensors(x, weight=None, bias=None):
    if weight is not None:
        x = x * weight
    y = x.exp()
    if bias is not None and weight is None:
        y = y + bias
    return y


@case(
    lambda d: (t(2.0), 3.0), lambda d: (t(2.0), t(3.0)), lambda d: (t(2.0), [1.0, 2.0]), grad=(0,)
)
def number_tensor_or_list(x, other):
    if isinstance(other, (int, float)):
        return x + other
    if isinstance(other, tx.Tensor):
        return x * other
    return x - sum(other)


@case(
    lambda d: (d.normal(3),), lambda d: (d.normal(2, 3),), lambda d: (d.normal(2, 2, 3),), grad=(0,)
)
def by_number_of_dimensions(x):
    if x.dim() == 1:
        x = x.unsqueeze(0)
    elif x.ndim == 3:
        x = x.flatten(0, 1)
    return (x @ x.T).trace()


@case(
    lambda d: (d.normal(2, 5),), lambda d: (d.normal(5, 2),), lambda d: (d.normal(4, 4),), grad=(0,)
)
def wide_tall_or_square(a):
    n, m = a.shape
    if n == m:
        return a.diagonal().prod()
    gram = a @ a.T if n < m else a.T @ a
    return gram.sum() / max(n, m)


@case(
    lambda d: (tx.tensor([1, 2, 3]),),
    lambda d: (tx.tensor([1.0, 2.0, 3.0]),),
    lambda d: (tx.tensor([True, False]),),
    answers=[6.0, 2.0, 1.0],
)
def by_dtype(x):
    if x.dtype == tx.bool:
        return x.sum()
    if not x.is_floating_point():
        x = x.to(tx.float32)
        return x.sum()
    return x.mean()


@case(
    lambda d: call(d.normal(3), d.normal(3)),
    lambda d: call(d.normal(3), d.normal(3), reduction="sum"),
    lambda d: call(d.normal(3), d.normal(3), reduction="none", kind="l1"),
    lambda d: call(d.normal(3), d.normal(3), kind="huber"),
    grad=(0,),
)
def loss_by_name(x, y, reduction="mean", kind="l2"):
    gap = x - y
    if kind == "l2":
        loss = gap * gap
    elif kind == "l1":
        loss = gap.abs()
    elif kind == "huber":
        loss = tx.where(gap.abs() < 1, 0.5 * gap * gap, gap.abs() - 0.5)
    else:
        raise ValueError(f"no such loss: {kind}")
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


@case(
    lambda d: (d.normal(4), Mode.MEAN),
    lambda d: (d.normal(4), Mode.SUM),
    lambda d: (d.normal(4), Mode("none")),
    grad=(0,),
)
def by_enumeration(x, mode):
    if mode is Mode.MEAN:
        return x.mean()
    if mode == Mode.SUM:
        return x.sum()
    return x * len(mode.value)


@case(lambda d: (d.normal(6), 2), lambda d: (d.normal(7), 2), lambda d: (d.normal(0), 2), grad=(0,))
def pad_to_a_multiple(x, multiple):
    if len(x) == 0:
        return tx.ones(multiple, dtype=x.dtype)
    missing = -len(x) % multiple
    if missing:
        x = tx.cat([x, x.new_zeros(missing)])
    return x.reshape(-1, multiple).sum(0)


@case(
    lambda d: ([],),
    lambda d: ([t([1.0])],),
    lambda d: ([t([1.0]), t([2.0]), t([4.0])],),
    answers=[0, [1.0], [3.0]],
)
def truth_of_containers(items):
    if not items:
        return 0
    if len(items) == 1:
        return items[0]
    return items[0] + (items[1:] and items[1])


@case(
    lambda d: (d.normal(3), 4, 0.01),
    lambda d: (d.normal(3), 4, 100.0),
    lambda d: (d.normal(3), 0, 0.5),
    grad=(0,),
)
def iteration_limit_or_tolerance(x, limit, tolerance):
    for step in range(limit):
        new = x - 0.3 * (x - x.mean())
        moved = (new - x).abs().max()
        x = new
        if moved < tolerance and step >= 1:
            break
    return x


@case(
    lambda d: (d.normal(2, 3), 0),
    lambda d: (d.normal(2, 3), -1),
    lambda d: (d.normal(2, 3), None),
    grad=(0,),
)
def dim_or_none(x, dim):
    if dim is None:
        x, dim = x.flatten(), 0
    elif dim < 0:
        dim += x.dim()
        x = x * dim
    shifted = x - x.amax(dim, keepdim=True)
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)


@case(
    lambda d: (d.normal(3), 2),
    lambda d: (d.normal(3), "3"),
    lambda d: (d.normal(3), (1, 2)),
    grad=(0,),
)
def kinds_of_argument(x, size):
    if type(size) is str:
        size = int(size)
    try:
        low, high = size
    except TypeError:
        low = high = size
    return x.repeat(low) * high


class _Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale


@case(
    lambda d: (d.normal(3), _Scaled(2.0)),
    lambda d: (d.normal(3), None),
    lambda d: (d.normal(3), tx.sin),
    grad=(0,),
)
def callable_or_not(x, transform):
    if callable(transform):
        x = transform(x)
        if hasattr(transform, "scale"):
            x = x / transform.scale
    return x + 1


@case(
    lambda d: (t([0.2, 0.9]), True, None),
    lambda d: (t([0.2, 0.9]), False, None),
    lambda d: (t([0.2, 0.9]), True, t(0.5)),
    lambda d: (t([0.2, 0.9]), False, t(2.0)),
    grad=(0,),
)
def many_conditions(x, training, limit):
    if (training or x.sum() > 1) and (limit is None or x.max() < limit):
        x = x * 3
    if training and not (limit is not None and x.max() > limit):
        x = x - 1
    return x if limit is None else x + limit


@case(
    lambda d: (d.normal(3), {"scale": 2.0}),
    lambda d: (d.normal(3), {"scale": 2.0, "shift": t(1.0)}),
    lambda d: (d.normal(3), {}),
    grad=(0,),
)
def options_with_in(x, options):
    if "scale" in options:
        x = x * options["scale"]
    if "shift" in options:
        x = x + options["shift"]
    return x if options else -x
