"""Small pieces that passes look for, and writes."""

from __future__ import annotations

from typing import Any

import numpy as np

import thixo as tx
from tests.fuzz.builder import Item, Scope
from thixo.graph.control import SCAN

floating = (tx.float32, tx.float64, tx.float16)


def add(scope: Scope) -> None:
    """Something that a pass may change."""
    rng = scope.rng
    item = scope.choose(lambda i: i.dtype is not tx.bool) or scope.choose()
    if item is None:
        raise ValueError("nothing to work on")
    kind = rng.choice(list(MOTIFS))
    MOTIFS[kind](scope, item)


def _identity(scope: Scope, item: Item) -> None:
    rng = scope.rng
    ways: list[Any] = [
        lambda t: t * 1,
        lambda t: t - 0,
        lambda t: t * tx.ones(tuple(t.shape), dtype=t.dtype),
        lambda t: t - tx.zeros(tuple(t.shape), dtype=t.dtype),
        lambda t: t.reshape(tuple(t.shape)),
        lambda t: t.expand(tuple(t.shape)),
        lambda t: tx.where(tx.zeros(tuple(t.shape), dtype=tx.bool), t, t),
    ]
    if item.dtype is not tx.bool:
        ways += [lambda t: t.neg().neg(), lambda t: t**1]
    if item.dtype in floating:
        ways += [
            lambda t: t / 1,
            lambda t: t / tx.ones(tuple(t.shape), dtype=t.dtype),
            lambda t: (-t).abs(),
            lambda t: t.abs().abs(),
            lambda t: tx.relu(tx.relu(t)),
            lambda t: tx.maximum(t, t),
            lambda t: tx.minimum(t, t),
        ]
    if item.dtype is tx.bool:
        ways = [lambda t: tx.logical_not(tx.logical_not(t)), ways[4], ways[5]]
    if len(item.shape) > 1:
        ways += [
            lambda t: t.transpose(0, 1).transpose(0, 1),
            lambda t: t.transpose(0, -1).transpose(-1, 0),
        ]
        ways += [lambda t: t.reshape((t.numel(),)).reshape(tuple(t.shape))]
    scope.apply(rng.choice(ways), item)


def _square(scope: Scope, item: Item) -> None:
    """A matrix that keeps its type when it is transposed, and not its elements."""
    rng = scope.rng
    dtype = item.dtype if item.dtype in floating else scope.float
    base = scope.fit((3, 3), dtype, -2, 2)
    if base is None:
        raise ValueError("nothing fits")
    draw = np.random.default_rng(rng.randrange(1 << 30)).uniform(-1, 1, (3, 3))
    x = scope.one(tx.add, base, scope.constant(draw.astype(dtype.numpy)))
    ways: list[Any] = [
        lambda t: t.transpose(0, 1).transpose(0, 1),
        lambda t: t.transpose(0, -1).transpose(-1, 0),
        lambda t: t.transpose(0, 1).transpose(0, 1).transpose(0, 1),
        lambda t: t.transpose(0, 1).reshape((9,)).reshape((3, 3)),
        lambda t: t @ t.transpose(0, 1).transpose(0, 1),
    ]
    scope.apply(rng.choice(ways), x)


def _almost(scope: Scope, item: Item) -> None:
    """What looks like something that may be dropped and is not."""
    rng = scope.rng
    ways: list[Any] = [
        lambda t: t + 0,
        lambda t: t * 2 - t,
        lambda t: 0 - t,
        lambda t: (t - 1) * 1 + 1,
    ]
    if item.dtype in floating:
        ways += [
            lambda t: 1 / (t * t + 1),
            lambda t: t * tx.full(tuple(t.shape), 1.5, dtype=t.dtype),
        ]
        ways += [lambda t: tx.maximum(t, -t), lambda t: (-t.abs()).abs()]
    if len(item.shape) > 1:
        ways += [lambda t: t.transpose(0, 1).reshape((t.numel(),))]
    if len(item.shape) > 2:
        ways += [lambda t: t.transpose(0, 1).transpose(1, 2)]
    scope.apply(rng.choice(ways), item)


def _twice(scope: Scope, item: Item) -> None:
    """The same computed two times and put together in a way that minds the order."""
    f = scope.rng.choice([tx.sin, tx.tanh, tx.exp, tx.sigmoid])
    if item.dtype not in floating:
        item = scope.typed(item, scope.float)
    bounded = scope.ranged(item, -2, 2)
    (a,) = scope.apply(f, bounded, keep=False)
    (b,) = scope.apply(f, bounded, keep=False)
    scope.apply(lambda x, y: x - y * 0.5, a, b)


def _chain(scope: Scope, item: Item) -> None:
    """Pointwise operators in a row, a reduction, and the result broadcast back."""
    rng = scope.rng
    if item.dtype not in floating:
        item = scope.typed(item, scope.float)
    item = scope.ranged(item, -2, 2)
    for _ in range(rng.randint(2, 5)):
        ways: list[Any] = [
            tx.tanh,
            tx.sin,
            tx.relu,
            lambda t: t * 0.5 + 1,
            lambda t: t * t,
            tx.sigmoid,
            tx.neg,
        ]
        item = scope.one(rng.choice(ways), item)
    other = scope.fit(item.shape, item.dtype, -2, 2)
    if other is not None:
        item = scope.one(rng.choice([tx.add, tx.mul, tx.sub, tx.maximum]), item, other)
    if item.shape and rng.random() < 0.6:
        axis = rng.choice([-1, 0])
        ways = [
            lambda t: t - t.mean(dim=axis, keepdim=True),
            lambda t: tx.softmax(t, dim=axis),
            lambda t: t / (1 + (t * t).sum(dim=(axis,), keepdim=True)),
            lambda t: tx.nn.functional.layer_norm(t, tuple(t.shape[-1:])),
            lambda t: tx.log_softmax(t, dim=axis),
        ]
        scope.apply(rng.choice(ways), item)
    else:
        scope.keep(item)


def _product(scope: Scope, item: Item) -> None:
    """A matrix product with something before and after it."""
    rng = scope.rng
    dtype = item.dtype if item.dtype in floating else scope.float
    if len(item.shape) < 2:
        raise ValueError("no matrix")
    x = scope.ranged(scope.typed(item, dtype), -2, 2)
    w = scope.fit((x.shape[-1], 3), dtype, -1, 1)
    b = scope.fit((3,), dtype, -1, 1)
    if w is None or b is None:
        raise ValueError("nothing fits")
    ways: list[Any] = [
        lambda x, w, b: tx.relu(x @ w + b),
        lambda x, w, b: tx.tanh(x @ w) * b,
        lambda x, w, b: tx.nn.functional.gelu(tx.nn.functional.linear(x, w.transpose(0, 1), b)),
        lambda x, w, b: tx.softmax((x @ w) * 0.5, dim=-1) @ w.transpose(0, 1),
        lambda x, w, b: (x * 2) @ (w + b),
    ]
    scope.apply(rng.choice(ways), x, w, b)


def _convolution(scope: Scope, item: Item) -> None:
    """A convolution, normalised by running numbers, which may be constants already, and what follows it."""
    dtype = item.dtype if item.dtype in (tx.float32, tx.float64) else scope.float
    x = scope.fit((2, 3, 5, 4), dtype, -1, 1)
    w = scope.fit((4, 3, 3, 3), dtype, -1, 1)
    m = scope.fit((4,), dtype, -1, 1)
    v = scope.fit((4,), dtype, 0.5, 2)
    if x is None or w is None or m is None or v is None:
        raise ValueError("nothing fits")
    functional = tx.nn.functional

    def normalised(x: Any, w: Any, m: Any, v: Any) -> Any:
        y = functional.conv2d(x, w, m, padding=1)
        y = functional.batch_norm(y, m, v, v, m, training=False)
        return tx.relu(y)

    def scaled(x: Any, other: Any, w: Any, m: Any, v: Any) -> Any:
        y = functional.conv2d(x, w, m, padding=1) * v
        return tx.relu(y) - other

    def added(x: Any, other: Any, w: Any, m: Any, v: Any) -> Any:
        y = functional.conv2d(x, w, m, padding=1)
        return tx.relu(other + y) * v

    if scope.rng.random() < 0.5:
        scope.apply(normalised, x, w, m, v)
        return
    draw = np.random.default_rng(scope.rng.randrange(1 << 30))
    w, m, v = (scope.constant(draw.uniform(low, 2, shape).astype(dtype.numpy))
               for low, shape in ((-2, (4, 3, 3, 3)), (-2, (4,)), (1, (4, 1, 1))))  # fmt: skip
    other = scope.fit((2, 4, 5, 4), dtype, -1, 1)
    if other is None:
        raise ValueError("nothing fits")
    scope.apply(scope.rng.choice((scaled, added)), x, other, w, m, v)


def _images(scope: Scope, item: Item) -> None:
    """Convolutions that follow each other, whose images programs may lay out otherwise, with something between them."""
    dtype = item.dtype if item.dtype in (tx.float32, tx.float64) else scope.float
    x = scope.fit((2, 3, 5, 4), dtype, -1, 1)
    v = scope.fit((3, 3, 3, 3), dtype, -1, 1)
    w = scope.fit((3, 3, 3, 3), dtype, -1, 1)
    b = scope.fit((3,), dtype, -1, 1)
    if x is None or v is None or w is None or b is None:
        raise ValueError("nothing fits")
    conv, pool = tx.nn.functional.conv2d, tx.nn.functional.max_pool2d

    def block(x: Any, v: Any, w: Any, b: Any) -> Any:
        y = tx.tanh(conv(x, v, b, padding=1))
        return tx.tanh(conv(y, w, b, padding=1) + y)

    def normalised(x: Any, v: Any, w: Any, b: Any) -> Any:
        y = conv(x, v, padding=1)
        y = y - y.mean(dim=(0, 2, 3), keepdim=True)
        return conv(tx.tanh(y) * y, w, b, padding=1)

    def pooled(x: Any, v: Any, w: Any, b: Any) -> Any:
        y = pool(tx.relu(conv(x, v, b, padding=1)), 2, stride=1)
        return conv(y, w, padding=1), y.sum(dim=1)

    def looked_at(x: Any, v: Any, w: Any, b: Any) -> Any:
        y = conv(x, v, padding=1)
        z = tx.tanh(y)
        return conv(z, w, padding=1), z.transpose(1, 2) * 2, (y + z).reshape(2, 3, 20)

    scope.apply(scope.rng.choice([block, normalised, pooled, looked_at]), x, v, w, b)


def _attention(scope: Scope, item: Item) -> None:
    """Attention written out."""
    dtype = item.dtype if item.dtype in (tx.float32, tx.float64) else scope.float
    parts = [scope.fit((2, 3, 4), dtype, -2, 2) for _ in range(3)]
    if any(p is None for p in parts):
        raise ValueError("nothing fits")
    scope.apply(lambda q, k, v: tx.softmax(q @ k.transpose(-1, -2) / 2.0, dim=-1) @ v, *parts)


def _recurrence(scope: Scope, item: Item) -> None:
    """A loop with products of slices, of states, and a sum of products over its turns."""
    from tests.fuzz.flow import record

    rng = scope.rng
    dtype = item.dtype if item.dtype in (tx.float32, tx.float64) else scope.float
    t = dtype.short
    shapes = ((2, 3), (4, 3), (5, 2, 4), (4, 3))  # state, sum, slices, weight
    state, total, rows, weight = (scope.fit(shape, dtype, -1, 1) for shape in shapes)
    if state is None or total is None or rows is None or weight is None:
        raise ValueError("nothing fits")
    body = tx.graph.parse(f"""
    graph turn(h: {t}[2, 3], total: {t}[4, 3], x: {t}[2, 4], w: {t}[4, 3]) {{
      a: {t}[2, 3] = matmul(x, w)
      b: {t}[2, 3] = sub(h, a)
      y: {t}[2, 3] = {rng.choice(["tanh", "sin"])}(b)
      xt: {t}[4, 2] = transpose(x, 0, 1)
      g: {t}[4, 3] = matmul(xt, y)
      more: {t}[4, 3] = add(total, g)
      wt: {t}[3, 4] = transpose(w, 0, 1)
      z: {t}[2, 4] = matmul(y, wt)
      return y, more, z
    }}""")
    record(scope, SCAN, body, [state, total], [rows], [weight], 5, rng.random() < 0.5)


def _pieces(scope: Scope, item: Item) -> None:
    """Parts with zeros around them, added up."""
    dtype = item.dtype if item.dtype in floating else scope.float
    first, second, third = (scope.fit(shape, dtype, -2, 2) for shape in ((2, 3), (2, 1), (2, 4)))
    if first is None or second is None or third is None:
        raise ValueError("nothing fits")
    places = scope.rng.choice([(0, 3, 3, 4), (1, 4, 0, 1), (0, 3, 2, 3), (-3, None, 0, 1)])

    def joined(a: Any, b: Any, c: Any) -> Any:
        around = tx.zeros((2, 4), dtype=a.dtype)
        left = tx.slice_scatter(around, a, 1, *places[:2])
        right = tx.slice_scatter(around, b, 1, *places[2:])
        return left + right - c

    scope.apply(joined, first, second, third)


def _folded(scope: Scope, item: Item) -> None:
    """What depends on constants alone."""
    rng = scope.rng
    a = scope.constant(
        np.array(
            [[rng.choice([0.5, 1.5, -2.0]) for _ in range(3)] for _ in range(2)], scope.float.numpy
        )
    )
    b = scope.constant(
        np.array([rng.choice([1.0, -1.0, 0.25]) for _ in range(3)], scope.float.numpy)
    )
    ways: list[Any] = [
        lambda a, b: (a - b).exp().sum(dim=(0,)),
        lambda a, b: a @ b,
        lambda a, b: tx.where(a > b, a, b * 2),
        lambda a, b: tx.sort(a - b, dim=1)[0],
        lambda a, b: a.transpose(0, 1) - b.unsqueeze(1),
    ]
    (made,) = scope.apply(rng.choice(ways), a, b, keep=False)
    other = scope.fit(made.shape, scope.float, -2, 2)
    if other is None:
        scope.keep(made)
    else:
        scope.apply(lambda x, y: x - y, made, other)


def _draws(scope: Scope, item: Item) -> None:
    """Random numbers, some of which nobody reads: those after them must not change for that."""
    if scope.smooth:
        raise ValueError("draws have no slope")
    scope.apply(lambda: tx.rand(3), keep=False)
    scope.apply(lambda t: tx.rand(2, 3) * t.shape[0] if t.shape else tx.rand(3), item)


MOTIFS = {
    "draws": _draws,
    "identity": _identity,
    "square": _square,
    "almost": _almost,
    "twice": _twice,
    "chain": _chain,
    "product": _product,
    "convolution": _convolution,
    "images": _images,
    "attention": _attention,
    "folded": _folded,
    "recurrence": _recurrence,
    "pieces": _pieces,
}


def write(scope: Scope) -> None:
    """An in-place operator: to an input (the graph then changes it), or to a value made here, maybe through a view."""
    rng = scope.rng
    target = scope.choose(lambda i: i.writable and i.dtype is not tx.bool and i.real.numel() > 0)
    if scope.depth or target is None or rng.random() < 0.6:
        item = scope.choose(lambda i: i.dtype is not tx.bool and i.real.numel() > 0)
        if item is None:
            raise ValueError("nothing to write to")
        target = scope.one(lambda t: t.clone(), item)
        scope.keep(target)
    view = target
    if target.shape and rng.random() < 0.6:
        ways: list[Any] = [
            lambda t: t[0],
            lambda t: t[..., :1],
            lambda t: t.transpose(0, -1),
            lambda t: t[1:],
            lambda t: t.unsqueeze(0),
        ]
        view = scope.one(rng.choice(ways), target)
    other = scope.fit(view.shape, view.dtype, -2, 2) if rng.random() < 0.7 else None
    if other is None:
        steps: list[Any] = [
            lambda t: t.mul_(2),
            lambda t: t.neg_(),
            lambda t: t.zero_(),
            lambda t: t.add_(1),
            lambda t: t.fill_(3),
        ]
        step = rng.choice(steps)
        with_other: tuple[Item, ...] = (view,)
    else:
        steps = [
            lambda t, o: t.add_(o),
            lambda t, o: t.copy_(o),
            lambda t, o: t.sub_(o),
            lambda t, o: t.mul_(o),
        ]
        step = rng.choice(steps)
        with_other = (view, other)
    made = scope.apply(step, *with_other, keep=False)
    if view is not target:
        scope.keep(view)
    del made
