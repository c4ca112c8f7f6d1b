"""Attention with several heads as a layer."""

from typing import Any

import thixo as tx
from thixo.errors import ValueRangeError
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.linear import NonDynamicallyQuantizableLinear
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention with several heads: queries look up values by how well they match keys.

    Inputs are (time, batch, features), with `batch_first` (batch, time, features), or without batch.
    Gives the output and, with `need_weights`, the attention weights.

    >>> layer = tx.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = tx.randn(3, 5, 8)
    >>> y, weights = layer(x, x, x)
    >>> y.shape, weights.shape
    (Size([3, 5, 8]), Size([3, 5, 5]))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueRangeError(
                f"MultiheadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}, both "
                f"positive"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        made = {"device": device, "dtype": dtype}

        def parameter(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(tx.empty(*shape, **made)) if wanted else None

        packed, e = self._qkv_same_embed_dim, embed_dim
        self.register_parameter("q_proj_weight", parameter(not packed, e, e))
        self.register_parameter("k_proj_weight", parameter(not packed, e, self.kdim))
        self.register_parameter("v_proj_weight", parameter(not packed, e, self.vdim))
        self.register_parameter("in_proj_weight", parameter(packed, 3 * e, e))
        self.register_parameter("in_proj_bias", parameter(bias, 3 * e))
        self.out_proj = NonDynamicallyQuantizableLinear(e, e, bias=bias, **made)
        self.register_parameter("bias_k", parameter(add_bias_kv, 1, 1, e))
        self.register_parameter("bias_v", parameter(add_bias_kv, 1, 1, e))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
        ):  # fmt: skip
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None,
        need_weights: bool = True, attn_mask: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Attend. A mask is True (or -inf) where attention is shut out."""
        turned = self.batch_first and query.ndim == 3
        if turned:  # (time, batch, features) inside; one tensor stays one tensor
            same_key, same_value = key is query, value is key
            query = query.transpose(0, 1)
            key = query if same_key else key.transpose(0, 1)
            value = key if same_value else value.transpose(0, 1)
        y, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return (y.transpose(0, 1) if turned else y), weights
