"""Attention: values mixed by how well queries match keys."""

import math
from typing import Any

import numpy as np

from thixo.dtype import FLOATS
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.attention_core import LOW, check, shares
from thixo.ops.base import Composite
from thixo.ops.samples import Bad, Sample


def _check(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, gqa: bool) -> None:
    op = "scaled_dot_product_attention"
    check(op, query, key, value, attn_mask)
    if not 0 <= dropout_p <= 1:
        raise ValueRangeError(f"{op}: dropout_p is {dropout_p}; a probability is between 0 and 1")
    if gqa:
        given = f"query is {describe(query)}, key is {describe(key)}, value is {describe(value)}"
        if min(query.ndim, key.ndim, value.ndim) < 3:
            raise ShapeError(f"{op}: {given}; enable_gqa needs an axis of heads")
        for other in (key, value):
            if query.shape[-3] % other.shape[-3] != 0:
                raise ShapeError(f"{op}: {given}; key's and value's heads must divide query's")


def _for_heads(x: Any, heads: Any) -> Any:
    """Each head as often as it serves one of `heads`."""
    each = heads // x.shape[-3]
    return x if each == 1 else x.repeat_interleave(each, -3)


class ScaledDotProductAttention(Composite):
    """softmax(query @ key.T * scale + mask) @ value, over the last two axes (time, features).

    A boolean mask is True where attention is allowed. A query that may attend to nothing gives zeros.

    >>> q = tx.zeros(1, 2, 4)
    >>> v = tx.tensor([[[1.0], [3.0]]])
    >>> tx.nn.functional.scaled_dot_product_attention(q, q, v, is_causal=True)
    tensor([[[1.],
             [2.]]])
    """

    signature = (
        "scaled_dot_product_attention(query, key, value, attn_mask = None, dropout_p: float = 0.0, "
        "is_causal: bool = False, scale: float? = None, enable_gqa: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
        _check(query, key, value, attn_mask, dropout_p, enable_gqa)
        if scale is None:
            scale = 1 / math.sqrt(query.shape[-1])
        if enable_gqa:
            key, value = (_for_heads(t, query.shape[-3]) for t in (key, value))
        if not dropout_p:
            return tx.nn.functional.attention(query, key, value, attn_mask, is_causal, scale)[0]
        weights = shares(query, key, attn_mask, is_causal, scale)
        return tx.matmul(tx.nn.functional.dropout(weights, dropout_p, True), value)

    def reference(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
        if enable_gqa:
            key = np.repeat(key, query.shape[-3] // key.shape[-3], axis=-3)
            value = np.repeat(value, query.shape[-3] // value.shape[-3], axis=-3)
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        q, k, v = (np.broadcast_to(a, lead + a.shape[-2:]) for a in (query, key, value))
        masks = np.zeros((*lead, q.shape[-2], k.shape[-2]))
        if attn_mask is not None:
            added = np.where(attn_mask, 0.0, -np.inf) if attn_mask.dtype == bool else attn_mask
            masks = masks + added
        y = np.zeros((*lead, q.shape[-2], v.shape[-1]))
        for at in np.ndindex(*lead, q.shape[-2]):
            scores = k[at[:-1]] @ q[at] * scale + masks[at]
            if is_causal:
                scores[at[-1] + 1 :] = -np.inf
            if scores.max() > -np.inf:
                shares = np.exp(scores - scores.max())
                y[at] = shares @ v[at[:-1]] / shares.sum()
        return y

    def samples(s):
        q, k, v = s.real(s.n, 3, 4), s.real(s.n, s.m, 4), s.real(s.n, s.m, 2)
        yield Sample(q, k, v)
        yield Sample(q, k, v, is_causal=True, scale=0.7)
        yield Sample(q, k, v, s.real(3, s.m))
        allowed = np.array([[True, False], [False, False], [True, True]])
        yield Sample(s.real(3, 4), s.real(2, 4), s.real(2, 2), s.array(allowed, bool_))
        yield Sample(
            s.real(2, 4, 3, 4), s.real(2, 2, s.m, 4), s.real(2, 2, s.m, 3), enable_gqa=True
        )

    def bad(s):
        q, k = s.real(2, 3, 4), s.real(2, 5, 4)
        yield Bad(Sample(q, s.real(2, 5, 3), k), ShapeError, "same features")
        yield Bad(Sample(q, k, s.real(2, 6, 4)), ShapeError, "same length")
        yield Bad(Sample(q, k, k, dropout_p=2.0), ValueRangeError, "dropout_p is 2.0")
        yield Bad(Sample(q, k, k, s.ints(3, 5)), DTypeError, "attn_mask")
        yield Bad(Sample(q[0], k[0], k[0], enable_gqa=True), ShapeError, "axis of heads")


# ---- many heads


def _additive(op: str, name: str, mask: Any, dtype: Any) -> Any:
    """A mask as numbers to add: a True entry, which shuts out, becomes minus infinity."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not bool_:
        raise DTypeError(f"{op}: {name} is {describe(mask)}; it must be bool or of a floating type")
    return tx.zeros_like(mask, dtype=dtype).masked_fill(mask, LOW)


def _projections(
    query: Any, key: Any, value: Any, packed: Any, bias: Any, separate: Any
) -> tuple[Any, Any, Any]:
    size = query.shape[-1]
    linear = tx.nn.functional.linear
    biases = (None,) * 3 if bias is None else tuple(bias.chunk(3))
    if separate is not None:
        weights = separate
    else:
        if tuple(packed.shape) != (3 * size, size):
            raise ShapeError(
                f"multi_head_attention_forward: in_proj_weight is {describe(packed)}; it must be "
                f"[{3 * size},{size}]"
            )
        if query is key and key is value:  # one product instead of three
            return tuple(linear(query, packed, bias).chunk(3, -1))
        weights = tuple(packed.chunk(3))
    inputs = (query, key, value)
    return tuple(map(linear, inputs, weights, biases))


def _heads(x: Any, batch: Any, heads: int, size: Any) -> Any:
    """(time, batch, heads * size) as (batch, heads, time, size)."""
    return x.reshape(x.shape[0], batch, heads, size).permute(1, 2, 0, 3)


def _check_heads(query: Any, key: Any, value: Any, embed: int, heads: int) -> None:
    op = "multi_head_attention_forward"
    given = f"query is {describe(query)}, key is {describe(key)}, value is {describe(value)}"
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        raise ShapeError(f"{op}: {given}; each must be (time, batch, features) or (time, features)")
    if query.shape[-1] != embed:
        raise ShapeError(f"{op}: {given}; query must have {embed} features")
    if embed % heads != 0:
        raise ValueRangeError(f"{op}: num_heads is {heads}; it must divide {embed} features")
    if tuple(key.shape[:-1]) != tuple(value.shape[:-1]):
        raise ShapeError(f"{op}: {given}; key and value must have the same length and batch")


class MultiHeadAttentionForward(Composite):
    """Attention with several heads and their projections: what `nn.MultiheadAttention` runs.

    Inputs are (time, batch, features). Gives the output and, if wanted, the attention weights.

    >>> x = tx.ones(2, 1, 2)
    >>> w, b = tx.ones(6, 2), tx.zeros(6)
    >>> y, weights = tx.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, w, b, None, None, False, 0.0, tx.eye(2), None)
    >>> weights
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """

    signature = (
        "multi_head_attention_forward(query, key, value, embed_dim_to_check: int, num_heads: int, "
        "in_proj_weight: tensor?, in_proj_bias: tensor?, bias_k: tensor?, bias_v: tensor?, "
        "add_zero_attn: bool, dropout_p: float, out_proj_weight, out_proj_bias: tensor?, "
        "training: bool = True, key_padding_mask = None, need_weights: bool = True, "
        "attn_mask = None, use_separate_proj_weight: bool = False, q_proj_weight = None, "
        "k_proj_weight = None, v_proj_weight = None, static_k = None, static_v = None, "
        "average_attn_weights: bool = True, is_causal: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k,
        bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training,
        key_padding_mask, need_weights, attn_mask, use_separate_proj_weight, q_proj_weight,
        k_proj_weight, v_proj_weight, static_k, static_v, average_attn_weights, is_causal,
    ):  # fmt: skip
        op = "multi_head_attention_forward"
        _check_heads(query, key, value, embed_dim_to_check, num_heads)
        if is_causal and attn_mask is None:
            raise ArgumentError(
                f"{op}: is_causal is a hint about attn_mask, which must be given too"
            )
        lone = query.ndim == 2
        if lone:
            same = query is key and key is value
            query = query.unsqueeze(1)
            key, value = (query, query) if same else (key.unsqueeze(1), value.unsqueeze(1))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        time, batch, size = query.shape
        each = size // num_heads
        separate = (
            (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
        )
        q, k, v = _projections(query, key, value, in_proj_weight, in_proj_bias, separate)
        mask = _additive(op, "attn_mask", attn_mask, query.dtype)
        padding = _additive(op, "key_padding_mask", key_padding_mask, query.dtype)
        added = 0  # sources beyond the keys
        if bias_k is not None and bias_v is not None:
            k = tx.cat([k, bias_k.reshape(1, 1, size).expand(1, batch, size)])
            v = tx.cat([v, bias_v.reshape(1, 1, size).expand(1, batch, size)])
            added += 1
        q = _heads(q, batch, num_heads, each)
        k = (
            _heads(k, batch, num_heads, each)
            if static_k is None
            else _static(static_k, batch, num_heads)
        )
        v = (
            _heads(v, batch, num_heads, each)
            if static_v is None
            else _static(static_v, batch, num_heads)
        )
        if add_zero_attn:
            none = k.new_zeros((batch, num_heads, 1, each))
            k, v = tx.cat([k, none], 2), tx.cat([v, none], 2)
            added += 1
        only_causal = is_causal and padding is None and not need_weights and not added
        bias = (
            None
            if only_causal
            else _bias(op, mask, padding, added, time, k.shape[2], batch, num_heads)
        )
        drop = dropout_p if training else 0.0
        weights = None
        if need_weights:
            scores = tx.matmul(q * (1 / math.sqrt(each)), k.transpose(2, 3))
            weights = tx.softmax(scores if bias is None else scores + bias, -1)
            if drop:
                weights = tx.nn.functional.dropout(weights, drop, True)
            y = tx.matmul(weights, v)
            if average_attn_weights:
                weights = weights.mean(1)
            if lone:
                weights = weights.squeeze(0)
        else:
            y = tx.nn.functional.scaled_dot_product_attention(q, k, v, bias, drop, only_causal)
        y = y.permute(2, 0, 1, 3).reshape(time, batch, size)
        y = tx.nn.functional.linear(y, out_proj_weight, out_proj_bias)
        return (y.squeeze(1) if lone else y), weights

    def reference(
        query, key, value, embed, heads, packed, bias, bias_k, bias_v, add_zero, dropout_p, out,
        out_bias, training=True, padding=None, need_weights=True, mask=None, separate=False,
        q_weight=None, k_weight=None, v_weight=None, static_k=None, static_v=None, average=True,
        is_causal=False,
    ):  # fmt: skip
        lone = query.ndim == 2
        if lone:
            query, key, value = query[:, None], key[:, None], value[:, None]
            padding = None if padding is None else padding[None]
        weights = (q_weight, k_weight, v_weight) if separate else np.split(packed, 3)
        biases = (0, 0, 0) if bias is None else np.split(bias, 3)
        q, k, v = (
            x @ w.T + b for x, w, b in zip((query, key, value), weights, biases, strict=True)
        )
        width = embed // heads
        y = np.zeros((len(q), q.shape[1], embed))
        shares = np.zeros((q.shape[1], heads, len(q), len(k)))
        for b, h, t in np.ndindex(q.shape[1], heads, len(q)):
            part = slice(h * width, (h + 1) * width)
            scores = k[:, b, part] @ q[t, b, part] / math.sqrt(width)
            if mask is not None:
                row = mask[t] if mask.ndim == 2 else mask[b * heads + h, t]
                scores = np.where(row, -np.inf, scores) if row.dtype == bool else scores + row
            if padding is not None:
                scores = np.where(padding[b], -np.inf, scores)
            share = np.exp(scores - scores.max())
            shares[b, h, t] = share / share.sum()
            y[t, b, part] = shares[b, h, t] @ v[:, b, part]
        y = y @ out.T + (0 if out_bias is None else out_bias)
        shares = shares.mean(1) if average else shares
        if lone:
            y, shares = y[:, 0], shares[0]
        return (y, shares) if need_weights else (y, None)

    def samples(s):
        q, k, v = s.real(3, s.n, 4), s.real(s.m, s.n, 4), s.real(s.m, s.n, 4)
        w, b, out, out_b = s.real(12, 4), s.real(12), s.real(4, 4), s.real(4)
        fixed = (4, 2, w, b, None, None, False, 0.0, out, out_b)
        yield Sample(q, k, v, *fixed)
        yield Sample(q, k, v, *fixed, attn_mask=s.real(3, s.m), average_attn_weights=False)
        shut = s.array([[False, True], [False, False]], bool_)
        yield Sample(
            s.real(3, 2, 4), s.real(2, 2, 4), s.real(2, 2, 4), *fixed, key_padding_mask=shut
        )
        yield Sample(s.real(3, 4), s.real(s.m, 4), s.real(s.m, 4), *fixed)

    def bad(s):
        x = s.real(3, 2, 4)
        fixed = (s.real(12, 4), s.real(12), None, None, False, 0.0, s.real(4, 4), None)
        yield Bad(Sample(x, x, x, 5, 1, *fixed), ShapeError, "query must have 5 features")
        yield Bad(Sample(x, x, x, 4, 3, *fixed), ValueRangeError, "num_heads is 3")
        yield Bad(Sample(x, x, x, 4, 2, *fixed, is_causal=True), ArgumentError, "is_causal")


def _static(x: Any, batch: Any, heads: int) -> Any:
    return x.reshape(batch, heads, *x.shape[1:])


def _bias(
    op: str, mask: Any, padding: Any, added: int, time: Any, source: Any, batch: Any, heads: int
) -> Any:
    """Both masks together, as (batch, heads, time, source) or smaller; what was added is never shut."""
    pad = tx.nn.functional.pad
    if mask is not None:
        if mask.ndim not in (2, 3):
            raise ShapeError(f"{op}: attn_mask is {describe(mask)}; it needs 2 or 3 dimensions")
        wanted = (time, source - added) if mask.ndim == 2 else (batch * heads, time, source - added)
        if tuple(mask.shape) != wanted:
            raise ShapeError(
                f"{op}: attn_mask is {describe(mask)}; its shape must be {list(wanted)}"
            )
        mask = pad(mask, (0, added)) if added else mask
        mask = mask.reshape(batch, heads, time, source) if mask.ndim == 3 else mask
    if padding is not None:
        if tuple(padding.shape) != (batch, source - added):
            raise ShapeError(
                f"{op}: key_padding_mask is {describe(padding)}; its shape must be "
                f"{[batch, source - added]}"
            )
        padding = (pad(padding, (0, added)) if added else padding).reshape(batch, 1, 1, source)
    if mask is None or padding is None:
        return padding if mask is None else mask
    return mask + padding
