"""Attention as an operator: what `scaled_dot_product_attention` runs where nothing is dropped.

Its native kernel keeps no matrix of scores; the gradient computes them again, block by block, from the logsumexp of
each query. The gradient of the gradient is written in public operators.
"""

import math
from typing import Any

import numpy as np

from thixo.dtype import FLOATS, float32, float64
from thixo.dtype import bool as bool_
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes

LOW = float("-inf")


def check(op: str, query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    """Refuse what does not fit together."""
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeError(_given(op, query, key, value, "each needs at least (time, features)"))
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise DTypeError(_given(op, query, key, value, "the dtypes must agree"))
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError(_given(op, query, key, value, "query and key must have the same features"))
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(_given(op, query, key, value, "key and value must have the same length"))
    if attn_mask is not None and attn_mask.dtype is not bool_ and attn_mask.dtype != query.dtype:
        raise DTypeError(
            f"{op}: attn_mask is {describe(attn_mask)}; it must be bool or of query's dtype, "
            f"{describe(query)}"
        )


def _given(op: str, query: Any, key: Any, value: Any, needed: str) -> str:
    return (
        f"{op}: query is {describe(query)}, key is {describe(key)}, value is {describe(value)}; "
        f"{needed}"
    )


def shares(query: Any, key: Any, attn_mask: Any, is_causal: bool, scale: float) -> Any:
    """The weight of each key for each query, in public operators."""
    scores = tx.matmul(query * scale, key.transpose(-2, -1))  # (..., time, source)
    if is_causal:
        time = tx.arange(query.shape[-2], device=query.device).unsqueeze(1)
        past = tx.arange(key.shape[-2], device=query.device) <= time
        scores = tx.where(past, scores, LOW)
    if attn_mask is None:
        return tx.softmax(scores, -1)
    if attn_mask.dtype is bool_:
        scores = tx.where(attn_mask, scores, LOW)
    else:
        scores = scores + attn_mask
    shut = (scores == LOW).all(-1, keepdim=True)
    return tx.where(shut, 0, tx.softmax(tx.where(shut, 0, scores), -1))


def _lead(op: str, *tensors: Any) -> tuple[Any, ...]:
    given = [t.shape[:-2] for t in tensors if t is not None]
    lead = given[0]
    for other in given[1:]:
        lead = broadcast_shapes(lead, other, op=op)
    return tuple(lead)


def _scores(query: Any, key: Any, attn_mask: Any, is_causal: bool, scale: float) -> np.ndarray:
    scores = np.matmul(query * np.asarray(scale, query.dtype), np.swapaxes(key, -2, -1))
    if attn_mask is not None:
        with np.errstate(invalid="ignore"):
            scores = np.where(attn_mask, scores, LOW) if attn_mask.dtype == bool else scores + attn_mask  # fmt: skip
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, LOW)
    return scores


class Attention(Op):
    """softmax(query @ key.T * scale + mask) @ value, and the logarithm of the sum of each query's exponentials.

    The latter is infinity for a query that a mask allows nothing; its result is zero.

    >>> q = tx.zeros(2, 4)
    >>> y, logsumexp = tx.nn.functional.attention(q, q, tx.tensor([[1.0], [3.0]]))
    >>> y.T, logsumexp
    (tensor([[2., 2.]]), tensor([0.6931, 0.6931]))
    """

    total = True
    signature = (
        "attention(query, key, value, attn_mask = None, is_causal: bool = False, "
        "scale: float = 1.0) -> (y, logsumexp)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    nondifferentiable = ("logsumexp",)

    def cost(results, query, key, value, *rest):
        return (
            2 * math.prod(query.shape) * key.shape[-2]
            + 2 * math.prod(results[0].shape) * key.shape[-2]
        )

    def infer(query, key, value, attn_mask, is_causal, scale):
        check("attention", query, key, value, attn_mask)
        lead = _lead("attention", query, key, value)
        if attn_mask is not None:
            wanted = (*lead, query.shape[-2], key.shape[-2])
            lead = tuple(broadcast_shapes(attn_mask.shape, wanted, op="attention")[:-2])
        kept = float64 if query.dtype == float64 else float32
        return (
            Spec((*lead, query.shape[-2], value.shape[-1]), query.dtype),
            Spec((*lead, query.shape[-2]), kept),
        )

    def kernel(query, key, value, attn_mask, is_causal, scale):
        scores = _scores(query, key, attn_mask, is_causal, scale)
        top = scores.max(-1, keepdims=True, initial=LOW)
        weights = np.exp(scores - np.where(top == LOW, 0, top))
        total = weights.sum(-1, keepdims=True)
        shut = (total == 0) & (attn_mask is not None or scores.shape[-1] == 0)
        y = np.matmul(weights / np.where(shut, 1, total), value)
        logsumexp = np.where(shut, np.inf, np.log(total) + top)[..., 0]
        return y, logsumexp

    def vjp(g_y, query, key, value, attn_mask, y, logsumexp, is_causal, scale, needs):
        if not needs[3]:
            made = tx.nn.functional.attention_backward(
                g_y, query, key, value, y, logsumexp, attn_mask, is_causal, scale
            )
            return (*made, None)
        slopes = tx.matmul(g_y, value.mT)
        weights = shares(query, key, attn_mask, is_causal, scale).expand(slopes.shape)
        g_value = tx.matmul(weights.mT, g_y)
        g_scores = tx.softmax_gradient(slopes, weights, -1)
        g_query = tx.matmul(g_scores, key) * scale
        g_key = tx.matmul(g_scores.mT, query) * scale
        return g_query, g_key, g_value, g_scores if needs[3] else None

    def reference(query, key, value, attn_mask=None, is_causal=False, scale=1.0):
        lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        if attn_mask is not None:
            masks = np.where(attn_mask, 0.0, LOW) if attn_mask.dtype == bool else attn_mask
            lead = np.broadcast_shapes(lead, masks.shape[:-2])
        else:
            masks = np.zeros(())
        q, k, v = (np.broadcast_to(a, lead + a.shape[-2:]) for a in (query, key, value))
        masks = np.broadcast_to(masks, (*lead, q.shape[-2], k.shape[-2]))
        y = np.zeros((*lead, q.shape[-2], v.shape[-1]))
        logsumexp = np.full(y.shape[:-1], np.inf)
        for at in np.ndindex(*y.shape[:-1]):
            scores = k[at[:-1]] @ q[at] * scale + masks[at]
            if is_causal:
                scores[at[-1] + 1 :] = LOW
            if scores.size and scores.max() > LOW:
                weights = np.exp(scores - scores.max())
                y[at] = weights @ v[at[:-1]] / weights.sum()
                logsumexp[at] = np.log(weights.sum()) + scores.max()
        return y, logsumexp

    def samples(s):
        q, k, v = s.real(s.n, 3, 4), s.real(s.n, s.m, 4), s.real(s.n, s.m, 2)
        yield Sample(q, k, v, scale=0.5)
        yield Sample(q, k, v, is_causal=True)
        yield Sample(q, k, v, s.real(3, s.m), scale=0.5)
        allowed = np.array([[True, False], [False, False], [True, True]])
        yield Sample(s.real(3, 4), s.real(2, 4), s.real(2, 2), s.array(allowed, bool_))
        yield Sample(s.real(2, 1, 3, 4), s.real(s.n, s.m, 4), s.real(s.m, 2))
        yield Sample(s.real(3, 0), s.real(s.m, 0), s.real(s.m, 2))
        yield Sample(s.real(0, 4), s.real(s.m, 4), s.real(s.m, 2))

    def bad(s):
        q, k = s.real(2, 3, 4), s.real(2, 5, 4)
        yield Bad(Sample(q, s.real(2, 5, 3), k), ShapeError, "same features")
        yield Bad(Sample(q, k, s.real(2, 6, 4)), ShapeError, "same length")
        yield Bad(Sample(q, k, k, s.ints(3, 5)), DTypeError, "attn_mask")
        yield Bad(Sample(q, k, k, s.bools(3, 4)), ShapeError, "do not broadcast")


class AttentionBackward(Op):
    """The gradients of `attention` in its query, key and value.

    Its results, where they are known, save the way there. They follow from the other arguments, and so have no
    gradients of their own.

    >>> q, v = tx.zeros(2, 4), tx.ones(2, 1)
    >>> y, logsumexp = tx.nn.functional.attention(q, q, v)
    >>> tx.nn.functional.attention_backward(tx.ones(2, 1), q, q, v, y, logsumexp)[2]
    tensor([[1.],
            [1.]])
    """

    total = True
    signature = (
        "attention_backward(grad, query, key, value, y = None, logsumexp = None, attn_mask = None, "
        "is_causal: bool = False, scale: float = 1.0) -> (g_query, g_key, g_value)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def cost(results, grad, query, key, *rest):
        return 2 * (3 * math.prod(query.shape) + 2 * math.prod(grad.shape)) * key.shape[-2]

    def infer(grad, query, key, value, y, logsumexp, attn_mask, is_causal, scale):
        check("attention_backward", query, key, value, attn_mask)
        lead = tuple(grad.shape[:-2])
        wanted = (*lead, query.shape[-2], value.shape[-1])
        for name, given, shape in (("grad", grad, wanted), ("y", y, wanted), ("logsumexp", logsumexp, wanted[:-1])):  # fmt: skip
            if given is not None and tuple(given.shape) != shape:
                raise ShapeError(
                    f"attention_backward: {name} is {describe(given)}; with query {describe(query)} and "
                    f"value {describe(value)} it must be {list(shape)}"
                )
        scores = (*lead, query.shape[-2], key.shape[-2])
        masks = () if attn_mask is None else tuple(attn_mask.shape)
        fits = _lead("attention_backward", grad, query, key, value) == lead
        if not fits or tuple(broadcast_shapes(masks, scores, op="attention_backward")) != scores:
            raise ShapeError(
                f"attention_backward: grad is {describe(grad)}; its leading sizes must be those that query, "
                "key, value and attn_mask broadcast to"
            )
        return tuple(Spec((*lead, *t.shape[-2:]), query.dtype) for t in (query, key, value))

    def kernel(grad, query, key, value, y, logsumexp, attn_mask, is_causal, scale):
        if y is None or logsumexp is None:
            y, logsumexp = Attention.kernel(query, key, value, attn_mask, is_causal, scale)
        scores = _scores(query, key, attn_mask, is_causal, scale)
        weights = np.exp(scores - logsumexp[..., None])
        slopes = np.matmul(grad, np.swapaxes(value, -2, -1)) - (grad * y).sum(-1, keepdims=True)
        g_scores = weights * slopes * np.asarray(scale, grad.dtype)
        lead = grad.shape[:-2]
        g_query = np.matmul(g_scores, np.broadcast_to(key, lead + key.shape[-2:]))
        g_key = np.matmul(np.swapaxes(g_scores, -2, -1), query)
        return g_query, g_key, np.matmul(np.swapaxes(weights, -2, -1), grad)

    def vjp(g_g_query, g_g_key, g_g_value, grad, query, key, value, attn_mask, is_causal, scale):
        slopes = tx.matmul(grad, value.mT)
        weights = shares(query, key, attn_mask, is_causal, scale).expand(slopes.shape)
        g_scores = tx.softmax_gradient(slopes, weights, -1)
        # What the gradient of scores meets; what slopes then get, and weights.
        met = (tx.matmul(g_g_query, key.mT) + tx.matmul(query, g_g_key.mT)) * scale
        to_slopes = tx.softmax_gradient(met, weights, -1)
        mean = (weights * slopes).sum(-1, keepdim=True)
        mean_met = (weights * met).sum(-1, keepdim=True)
        to_weights = met * (slopes - mean) - slopes * mean_met + tx.matmul(grad, g_g_value.mT)
        to_scores = tx.softmax_gradient(to_weights, weights, -1)
        to_grad = tx.matmul(to_slopes, value) + tx.matmul(weights, g_g_value)
        to_query = (tx.matmul(to_scores, key) + tx.matmul(g_scores, g_g_key)) * scale
        to_key = (tx.matmul(to_scores.mT, query) + tx.matmul(g_scores.mT, g_g_query)) * scale
        to_value = tx.matmul(to_slopes.mT, grad)
        added = attn_mask is not None and attn_mask.dtype is not bool_
        return to_grad, to_query, to_key, to_value, None, None, to_scores if added else None

    def reference(grad, query, key, value, y=None, logsumexp=None, attn_mask=None, is_causal=False, scale=1.0):  # fmt: skip
        if y is None:
            y, logsumexp = Attention.reference(query, key, value, attn_mask, is_causal, scale)
        lead = grad.shape[:-2]
        q, k, v = (np.broadcast_to(a, lead + a.shape[-2:]) for a in (query, key, value))
        made = tuple(np.zeros(a.shape) for a in (q, k, v))
        for at in np.ndindex(*lead, q.shape[-2], k.shape[-2]):
            i, j = at[:-1], (*at[:-2], at[-1])
            score = float(q[i] @ k[j]) * scale
            if attn_mask is not None:
                shape = (*lead, q.shape[-2], k.shape[-2])
                said = np.broadcast_to(attn_mask, shape)[at]
                score = (score if said else LOW) if attn_mask.dtype == bool else score + said
            if is_causal and at[-1] > at[-2]:
                score = LOW
            weight = np.exp(score - logsumexp[i])
            slope = weight * (grad[i] @ v[j] - grad[i] @ y[i]) * scale
            made[0][i] += slope * k[j]
            made[1][j] += slope * q[i]
            made[2][j] += weight * grad[i]
        return made

    def samples(s):
        q, k, v = s.real(s.n, 3, 4), s.real(s.n, s.m, 4), s.real(s.n, s.m, 2)
        g, y, total = s.real(s.n, 3, 2), s.real(s.n, 3, 2), s.real(s.n, 3)
        yield Sample(g, q, k, v, scale=0.5)
        yield Sample(g, q, k, v, is_causal=True)
        yield Sample(g, q, k, v, None, None, s.real(3, s.m), scale=0.5)
        # What is given must be attention's results for gradients to be right.
        yield Sample(g, q, k, v, y, total, is_causal=True, grad=False)
        yield Sample(g, q, k, v, y, total, s.bools(3, s.m), grad=False)

    def bad(s):
        q, k = s.real(2, 3, 4), s.real(2, 5, 4)
        g, total = s.real(2, 3, 4), s.real(2, 3)
        yield Bad(Sample(g[:, 1:], q, k, k, g, total), ShapeError, "grad is")
        yield Bad(Sample(g, q, k, k, g[:, 1:], total), ShapeError, "y is")
        yield Bad(Sample(g, q, k, k, g, total[1:]), ShapeError, "logsumexp is")
        yield Bad(Sample(g, q, k, k, g, total, s.bools(2, 5)), ShapeError, "do not broadcast")
