"""Transformers: layers of attention and small networks, as in "Attention is all you need"."""

import copy
from typing import Any

import thixo as tx
from thixo.errors import ShapeError, describe
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.attention import MultiheadAttention
from thixo.nn.modules.container import ModuleList
from thixo.nn.modules.dropout import Dropout
from thixo.nn.modules.linear import Linear
from thixo.nn.modules.module import Module
from thixo.nn.modules.normalization import LayerNorm


def _activation(given: Any) -> Any:
    if isinstance(given, str):
        if given not in ("relu", "gelu"):
            raise ValueError(f"activation is {given!r}; it must be 'relu', 'gelu' or a function")
        return getattr(F, given)
    return given


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """The small network that every layer ends with, and where the norms stand."""

    norm_first: bool

    def _make_network(
        self, d_model: int, hidden: int, dropout: float, activation: Any, bias: bool, made: Any
    ) -> None:
        self.linear1 = Linear(d_model, hidden, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(hidden, d_model, bias=bias, **made)
        self.activation = _activation(activation)

    def _network(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _add(self, x: Any, norm: Module, dropout: Module, part: Any) -> Any:
        """x plus a part of the layer, normalised before the part or after the sum."""
        if self.norm_first:
            return x + dropout(part(norm(x)))
        return norm(x + dropout(part(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a small network, each added to its input.

    >>> layer = tx.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(tx.randn(3, 5, 8)).shape
    Size([3, 5, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made
        )
        self._make_network(d_model, dim_feedforward, dropout, activation, bias, made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Encode a sequence; masks as in `MultiheadAttention`."""

        def attend(x: Any) -> Any:
            return self.self_attn(
                x, x, x, attn_mask=src_mask, key_padding_mask=src_key_padding_mask,
                need_weights=False, is_causal=is_causal,
            )[0]  # fmt: skip

        x = self._add(src, self.norm1, self.dropout1, attend)
        return self._add(x, self.norm2, self.dropout2, self._network)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, then a small network.

    >>> layer = tx.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(tx.randn(3, 5, 8), tx.randn(3, 7, 8)).shape
    Size([3, 5, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            layer = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made
            )
            setattr(self, name, layer)
        self._make_network(d_model, dim_feedforward, dropout, activation, bias, made)
        self.norm_first = norm_first
        for i in (1, 2, 3):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **made))
        for i in (1, 2, 3):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Decode a sequence, given the encoder's output."""

        def attend(x: Any) -> Any:
            return self.self_attn(
                x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask,
                need_weights=False, is_causal=tgt_is_causal,
            )[0]  # fmt: skip

        def attend_memory(x: Any) -> Any:
            return self.multihead_attn(
                x, memory, memory, attn_mask=memory_mask,
                key_padding_mask=memory_key_padding_mask, need_weights=False,
                is_causal=memory_is_causal,
            )[0]  # fmt: skip

        x = self._add(tgt, self.norm1, self.dropout1, attend)
        x = self._add(x, self.norm2, self.dropout2, attend_memory)
        return self._add(x, self.norm3, self.dropout3, self._network)


def _is_causal(mask: Any, given: bool | None) -> bool:
    """Whether a mask is said to be the causal one; what is not said is taken as no."""
    return bool(given) and mask is not None


class TransformerEncoder(Module):
    """A stack of encoder layers.

    >>> layer = tx.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> tx.nn.TransformerEncoder(layer, num_layers=2)(tx.randn(5, 3, 8)).shape
    Size([5, 3, 8])
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Any:  # fmt: skip
        """Encode a sequence."""
        causal = _is_causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of decoder layers.

    >>> layer = tx.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> tx.nn.TransformerDecoder(layer, num_layers=2)(tx.randn(5, 3, 8), tx.randn(4, 3, 8)).shape
    Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Decode a sequence, given the encoder's output."""
        causal = _is_causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                causal, memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder.

    >>> net = tx.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> net(tx.randn(4, 3, 8), tx.randn(5, 3, 8)).shape
    Size([5, 3, 8])
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias,
        )  # fmt: skip
        if custom_encoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
            layer = TransformerEncoderLayer(*options, **made)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
            decoder_layer = TransformerDecoderLayer(*options, **made)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None,
        memory_mask: Any = None, src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Encode `src`, then decode `tgt` with it."""
        batch = 0 if self.batch_first else 1
        batches_differ = src.ndim == 3 and tgt.ndim == 3 and src.shape[batch] != tgt.shape[batch]
        if batches_differ or src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError(
                f"Transformer: src is {describe(src)}, tgt is {describe(tgt)}; they need the same "
                f"batch and {self.d_model} features"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """The mask that shuts out the future: -inf above the diagonal, 0 elsewhere.

        >>> tx.nn.Transformer.generate_square_subsequent_mask(2).exp()
        tensor([[1., 0.],
                [1., 1.]])
        """
        return tx.triu(tx.full((sz, sz), float("-inf"), dtype=dtype, device=device), 1)
