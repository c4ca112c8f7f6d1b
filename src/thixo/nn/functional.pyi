"""The operators of neural networks, as functions."""

# Written by tools/build_stubs.py from the operator table: do not edit.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from thixo._core._native import Generator as Generator, Tensor as Tensor, _G_gatesG_first_h, _G_gatesG_first_hG_first_c, _G_input_gatesG_state_gatesG_first_h, _G_queryG_keyG_value, _ValuesIndices, _YLast_h, _YLast_hGates, _YLast_hLast_cGatesCells, _YLogsumexp, _YLse, _YMeanRstdVar, _YMeanVar, _YSlopeTotal
from thixo.device import device as Device
from thixo.dtype import DType as DType

_Number = _float | _complex  # an int or a bool is one too

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """Averages over `output_size` bins of nearly equal length."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any, *, out: Tensor | None = None) -> Tensor:
    """Averages over a grid of bins of nearly equal size; None keeps a size."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any, *, out: Tensor | None = None) -> Tensor:
    """Averages over a grid of boxes of nearly equal size; None keeps a size."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value of each of `output_size` bins; with `return_indices` also where it was."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> _ValuesIndices: ...
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`adaptive_max_pool1d` that always gives the indices too."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value of each bin of a grid; with `return_indices` also where it was."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`adaptive_max_pool2d` that always gives the indices too."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value of each box of a grid; with `return_indices` also where it was."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`adaptive_max_pool3d` that always gives the indices too."""
def add_at_indices(input: Tensor, indices: Tensor, sizes: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """Planes of zeros to which values are added at their places in the flattened plane: the gradient of pooling."""
def affine_grid(theta: Tensor, size: _int | Sequence[_int], align_corners: _bool | None = None, *, out: Tensor | None = None) -> Tensor:
    """The places that affine maps `theta` (batch, axes, axes + 1) send the pixels of a size to."""
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Dropout that keeps mean and variance of self-normalising networks (with selu)."""
def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: _bool = False, scale: _float = 1.0, *, out: tuple[Tensor, ...] | None = None) -> _YLogsumexp:
    """softmax(query @ key.T * scale + mask) @ value, and the logarithm of the sum of each query's exponentials."""
def attention_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, y: Tensor | None = None, logsumexp: Tensor | None = None, attn_mask: Tensor | None = None, is_causal: _bool = False, scale: _float = 1.0, *, out: tuple[Tensor, ...] | None = None) -> _G_queryG_keyG_value:
    """The gradients of `attention` in its query, key and value."""
def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of a signal."""
def avg_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of an image."""
def avg_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of a volume."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05, *, out: Tensor | None = None) -> Tensor:
    """Normalise each channel over the batch, or by running statistics when not training."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """A quadratic form of two inputs for each output: input1 @ weight[o] @ input2 + bias[o]."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """Cross entropy of probabilities with targets between 0 and 1."""
def binary_cross_entropy_elements(input: Tensor, target: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-(target log input + (1 - target) log(1 - input)) of each element, the logarithms at least -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', pos_weight: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Cross entropy of sigmoid(input) with targets between 0 and 1; positives weigh `pos_weight`."""
def celu(input: Tensor, alpha: _Number = 1.0, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
def celu_(input: Tensor, alpha: _Number = 1.0, inplace: _bool = False) -> Tensor:
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """The channels of groups dealt out in turn: (g, c) channels in the order (c, g)."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: Any = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Convolve signals (batch, channels, length) with a bank of kernels (outputs, channels / groups, taps)."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: Any = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Convolve images (batch, channels, height, width) with kernels (outputs, channels / groups, height, width)."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: Any = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Convolve volumes (batch, channels, depth, height, width)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Transposed convolution of signals: the adjoint of `conv1d`, which upsamples by its stride."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Transposed convolution of images."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Transposed convolution of volumes."""
def convolve(input: Tensor, weight: Tensor, stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], groups: _int, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Cross-correlation of a batch with a bank of kernels, and a bias: the primitive beneath `conv1d` to `conv3d`."""
def convolve_then(input: Tensor, weight: Tensor, stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], groups: _int, bias: Tensor | None = None, addend: Tensor | None = None, relu: _bool = False, wide: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """A convolution to which `addend` is added, and of which `relu` leaves nothing below zero."""
def convolve_transposed(input: Tensor, weight: Tensor, output_size: _int | Sequence[_int], stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], groups: _int, *, out: Tensor | None = None) -> Tensor:
    """The adjoint of `convolve` in its input: spreads each value over a kernel's footprint."""
def convolve_weight(input: Tensor, output: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], groups: _int, *, out: Tensor | None = None) -> Tensor:
    """The gradient of `convolve` for its weight: how each tap's view of the input meets the output."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """1 - cosine of two vectors where target is 1, the cosine above the margin where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None) -> Tensor:
    """The cosine of the angle between x1 and x2 along an axis; lengths count at least `eps`."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: _str = 'mean', label_smoothing: _float = 0.0, *, out: Tensor | None = None) -> Tensor:
    """Cross entropy of scores with the right classes, or with probabilities of the scores' shape."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """CTC loss of log-probabilities (time, batch, classes) with labels, padded or in one row."""
def ctc_negative_log_likelihood(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int, *, out: Tensor | None = None) -> Tensor:
    """Minus the log-probability of each sample's labels; `log_probs` is (time, batch, classes)."""
def ctc_occupancy(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int, *, out: Tensor | None = None) -> Tensor:
    """The expected presence of each class at each time, given the labels."""
def ctc_occupancy_along(log_probs: Tensor, direction: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `ctc_occupancy` along a direction in `log_probs`."""
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Zero each element with probability p and scale the rest by 1 / (1 - p), in training."""
def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Zero whole channels of signals (batch, channels, length) with probability p, in training."""
def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Zero whole channels of images (batch, channels, height, width) with probability p, in training."""
def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Zero whole channels of volumes (batch, channels, depth, height, width), in training."""
def elu(input: Tensor, alpha: _Number = 1.0, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""
def elu_(input: Tensor, alpha: _Number = 1.0, inplace: _bool = False) -> Tensor:
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The rows of a table with the given numbers."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Sums, means or maxima of table rows over bags: the rows of a 2-d input, or cut by `offsets`."""
def embedding_lookup(input: Tensor, weight: Tensor, padding_idx: _int, scale_grad_by_freq: _bool, *, out: Tensor | None = None) -> Tensor:
    """The rows of `weight` with the numbers in `input`; -1 for `padding_idx` is no row."""
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`alpha_dropout` of whole channels."""
def fold(input: Tensor, output_size: _int | Sequence[_int], kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, stride: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Images from their patches; where patches overlap they are added (col2im)."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], output_size: _int | Sequence[_int] | None = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The largest value of windows whose places are drawn at random (Graham, 2014)."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], output_size: _int | Sequence[_int] | None = None, output_ratio: Any = None, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], output_size: _int | Sequence[_int] | None = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`fractional_max_pool2d` that always gives the indices too."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], output_size: _int | Sequence[_int] | None = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The largest value of boxes whose places are drawn at random."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], output_size: _int | Sequence[_int] | None = None, output_ratio: Any = None, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], output_size: _int | Sequence[_int] | None = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`fractional_max_pool3d` that always gives the indices too."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | _Number, full: _bool = False, eps: _float = 1e-06, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """Negative log-likelihood under normal distributions of mean `input` and variance `var`."""
def gelu(input: Tensor, *, approximate: _str = 'none', out: Tensor | None = None) -> Tensor:
    """Input times the probability that a normal variable is below it; or its tanh approximation."""
def glu(input: Tensor, dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """The first half of an axis, gated by the sigmoid of the second."""
def grid_sample(input: Tensor, grid: Tensor, mode: _str = 'bilinear', padding_mode: _str = 'zeros', align_corners: _bool | None = None, *, out: Tensor | None = None) -> Tensor:
    """Values of images (or volumes) at the places that `grid` gives, in coordinates from -1 to 1."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, *, out: Tensor | None = None) -> Tensor:
    """Normalise each sample over groups of its channels, then scale and shift each channel."""
def gru_layer(input: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None, reverse: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _YLast_hGates:
    """One layer of gated recurrent units in one direction: outputs, last state, and what its gradient needs."""
def gru_layer_backward(g_y: Tensor, g_h: Tensor, input: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None, y: Tensor | None = None, gates: Tensor | None = None, reverse: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _G_input_gatesG_state_gatesG_first_h:
    """Back through time: gradients of what input and state add to the gates of `gru_layer`, and of its first state."""
def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """A random choice among the last axis, soft or (with `hard`) one-hot with the soft one's gradient."""
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The input, but 0 within lambd of 0."""
def hardsigmoid(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1."""
def hardswish(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Input times hardsigmoid of input."""
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Input brought into [min_val, max_val]; the gradient is 0 at the ends."""
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> Tensor:
    """Input brought into [min_val, max_val]; the gradient is 0 at the ends."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """The input itself where target is 1, what it lacks to the margin where target is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: _str = 'mean', delta: _float = 1.0, weight: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Half the squared error, but linear where the error is above `delta`."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05, *, out: Tensor | None = None) -> Tensor:
    """Normalise each channel of each sample over its own values, then scale and shift."""
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: _str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Resize signals, images or volumes, to `size` or by `scale_factor`."""
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', log_target: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Kullback-Leibler divergence of `target` from `input`, which holds log-probabilities."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Absolute error."""
def layer_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, *, out: Tensor | None = None) -> Tensor:
    """Normalise each sample over its last axes, then scale and shift."""
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, negative_slope times it elsewhere."""
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor:
    """The input where it is positive, negative_slope times it elsewhere."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, over the last axis of input."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: _str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: Any = None, out: Tensor | None = None) -> Tensor:
    """Cross entropy of a linear layer's outputs: `cross_entropy(linear(input, linear_weight), target)`."""
def local_response_norm(input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """Divide each value by a power of the mean square of its neighbouring channels."""
def log_likelihood(input: Tensor, target: Tensor, dim: _int, ignore_index: _int | None = None, *, out: tuple[Tensor, ...] | None = None) -> _YLse:
    """The logarithm of softmax along an axis, at one position of each row; and the logarithm of the sum."""
def log_likelihood_gradient(grad: Tensor, input: Tensor, target: Tensor, lse: Tensor | None, dim: _int, ignore_index: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The gradient of `log_likelihood` at its input: grad times (1 at the position, less softmax)."""
def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax along an axis, without a detour through small numbers."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(input)) without underflow."""
def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, ceil_mode: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of each window of a signal (windows cut short by ceil_mode count as whole ones)."""
def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, ceil_mode: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of each window of an image."""
def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, ceil_mode: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of each window of a volume."""
def lstm_layer(input: Tensor, h: Tensor, c: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None, reverse: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _YLast_hLast_cGatesCells:
    """One layer of long short-term memory in one direction: outputs, last state, and what its gradient needs."""
def lstm_layer_backward(g_y: Tensor, g_h: Tensor, g_c: Tensor, input: Tensor, h: Tensor, c: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None, gates: Tensor | None = None, cells: Tensor | None = None, reverse: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _G_gatesG_first_hG_first_c:
    """Back through time: gradients of what goes into the gates of `lstm_layer`, and of its first state."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """What input1 lacks to be above input2 by the margin (below it, where target is -1)."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value in each window of a signal; with `return_indices` also where it was."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`max_pool1d` that always gives the indices too."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value in each window of an image; with `return_indices` also where it was."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def max_pool2d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`max_pool2d` that always gives the indices too."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value in each window of a volume; with `return_indices` also where it was."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def max_pool3d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`max_pool3d` that always gives the indices too."""
def max_pool_values(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], ceil_mode: _bool, *, out: Tensor | None = None) -> Tensor:
    """The largest value of each window, in any number of dimensions; not where it was."""
def max_pool_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], ceil_mode: _bool, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The largest value of each window and its place in the flattened input, in any number of dimensions."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, output_size: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Puts pooled values back where `max_pool1d` found them, zeros elsewhere."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, output_size: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Puts pooled values back where `max_pool2d` found them, zeros elsewhere."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, output_size: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Puts pooled values back where `max_pool3d` found them, zeros elsewhere."""
def mish(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Input times the hyperbolic tangent of softplus of input."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Squared error."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False, *, out: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Attention with several heads and their projections: what `nn.MultiheadAttention` runs."""
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """What each wrong class lacks to be below the right one by the margin, averaged over the classes."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """The margin loss between every label of a sample and every class that is none of its labels."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """Binary cross entropy with logits, averaged over the classes of each sample."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """Minus the log-probability of the right class, where `input` holds log-probabilities."""
def normalize(input: Tensor, p: _float = 2.0, dim: _int | Sequence[_int] = 1, eps: _float = 1e-12, *, out: Tensor | None = None) -> Tensor:
    """The input divided by its p-norm along the axes `dim`, which counts at least `eps`."""
def one_hot(input: Tensor, num_classes: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """A last axis with 1 at the place each element names and 0 elsewhere."""
def pad(input: Tensor, pad: _int | Sequence[_int], mode: _str = 'constant', value: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The input made longer at the ends of its last axes."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
def pdist(input: Tensor, p: _float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The p-norm distances of all pairs of points (rows): 0 and 1, 0 and 2, ..., 1 and 2, ..."""
def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels spread over space: (..., C*r*r, H, W) becomes (..., C, H*r, W*r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Space folded into channels: (..., C, H*r, W*r) becomes (..., C*r*r, H, W)."""
def place_at_indices(input: Tensor, indices: Tensor, sizes: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """Planes of zeros with values at their places in the flattened plane; of several at one place the last stays."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """Negative log-likelihood of counts under a Poisson distribution (whose log-rate is `input`)."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, weight times it elsewhere; one weight, or one per channel."""
def relu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, 0 elsewhere."""
def relu6(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Input brought into [0, 6]."""
def relu_(input: Tensor, inplace: _bool = False) -> Tensor:
    """The input where it is positive, 0 elsewhere."""
def rms_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = None, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Divide each sample by the root of its mean square over the last axes, then scale."""
def rnn_layer(input: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None, relu: _bool = False, reverse: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _YLast_h:
    """One plain recurrent layer in one direction, of tanh or of relu: outputs and last state. `nn.RNN` runs it."""
def rnn_layer_backward(g_y: Tensor, g_h: Tensor, input: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None, y: Tensor | None = None, relu: _bool = False, reverse: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _G_gatesG_first_h:
    """Back through time: gradients of what goes into the steps of `rnn_layer`, and of its first state."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """leaky_relu whose slope is drawn from [lower, upper] when training, their mean otherwise."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """leaky_relu whose slope is drawn from [lower, upper] when training, their mean otherwise."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: _float = 0.0, is_causal: _bool = False, scale: _float | None = None, enable_gqa: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value, over the last two axes (time, features)."""
def scaled_standardize(input: Tensor, weight: Tensor | None, bias: Tensor | None, dim: _int | Sequence[_int], eps: _float = 1e-05, *, out: tuple[Tensor, ...] | None = None) -> _YMeanRstdVar:
    """Values less their mean, over their deviation, along some axes; scaled and shifted. And the statistics."""
def selu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """elu with the scale and alpha that keep mean 0 and variance 1."""
def selu_(input: Tensor, inplace: _bool = False) -> Tensor:
    """elu with the scale and alpha that keep mean 0 and variance 1."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function 1 / (1 + exp(-input))."""
def sigmoid_(input: Tensor) -> Tensor:
    """The logistic function 1 / (1 + exp(-input))."""
def silu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Input times sigmoid of input."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', beta: _float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """Absolute error, but quadratic where it is below `beta`."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(-target * input)), for targets 1 and -1."""
def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Shares that add up to 1 along an axis: exp(x) over the sum of exp(x)."""
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Softmax of the negated input: the least has the greatest share."""
def softplus(input: Tensor, beta: _Number = 1, threshold: _Number = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * input)) / beta, and input itself where beta * input exceeds threshold."""
def softshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The input moved by lambd towards 0, which it does not pass."""
def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input / (1 + |input|)."""
def standardize(input: Tensor, dim: _int | Sequence[_int], eps: _float = 1e-05, *, out: tuple[Tensor, ...] | None = None) -> _YMeanVar:
    """Values less their mean, over their standard deviation, along some axes; and both statistics."""
def standardize_gradients(grad: Tensor, input: Tensor, mean: Tensor | None, rstd: Tensor | None, weight: Tensor | None, dim: _int | Sequence[_int], by_row: _bool, eps: _float, *, out: tuple[Tensor, ...] | None = None) -> _YSlopeTotal:
    """The gradient of `scaled_standardize` at its input; and sums of grad * y0 and of grad."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input - tanh(input)."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The input where it is above threshold, value elsewhere."""
def threshold_(input: Tensor, threshold: _float, value: _float, inplace: _bool = False) -> Tensor:
    """The input where it is above threshold, value elsewhere."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', *, out: Tensor | None = None) -> Tensor:
    """How much nearer than `margin` the negative is to the anchor, compared with the positive."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: _float = 1.0, swap: _bool = False, reduction: _str = 'mean', out: Tensor | None = None) -> Tensor:
    """`triplet_margin_loss` with a distance of the user's own."""
def unfold(input: Tensor, kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, stride: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """The patches of images under a sliding window, a column each (im2col)."""
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: _str = 'nearest', align_corners: _bool | None = None, *, out: Tensor | None = None) -> Tensor:
    """`interpolate` under its old name."""
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None, *, out: Tensor | None = None) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners."""
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None, *, out: Tensor | None = None) -> Tensor:
    """`interpolate` with mode "nearest"."""
