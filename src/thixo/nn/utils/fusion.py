"""Batch norm folded into the layer before it, for evaluation."""

import copy
from typing import Any

import thixo as tx
from thixo.errors import ArgumentError
from thixo.nn.parameter import Parameter


def _factor(bn_rv: Any, bn_eps: float, bn_w: Any) -> Any:
    factor = tx.rsqrt(bn_rv + bn_eps)
    return factor if bn_w is None else factor * bn_w


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of a convolution that also does the batch norm after it.

    >>> w, zero, one = tx.ones(1, 1, 1, 1), tx.zeros(1), tx.ones(1)
    >>> tx.nn.utils.fuse_conv_bn_weights(w, None, zero, one, 0.0, one * 3, zero)[0].item()
    3.0
    """
    factor = _factor(bn_rv, bn_eps, bn_w)
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    old = tx.zeros_like(bn_rm) if conv_b is None else conv_b
    shift = tx.zeros_like(bn_rm) if bn_b is None else bn_b
    weight = (conv_w * factor.reshape(shape)).to(conv_w.dtype)
    return (
        Parameter(weight, conv_w.requires_grad),
        Parameter((old - bn_rm) * factor + shift, old.requires_grad),
    )


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that also does the batch norm after it.

    >>> w, zero, one = tx.ones(1, 1), tx.zeros(1), tx.ones(1)
    >>> tx.nn.utils.fuse_linear_bn_weights(w, zero, zero, one, 0.0, one * 3, zero)[0].item()
    3.0
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise ArgumentError("fusing needs both modules in eval mode; call eval() first")
    if bn.running_mean is None or bn.running_var is None:
        raise ArgumentError("fusing needs a batch norm with running statistics")
    made = copy.deepcopy(layer)
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight,
        made.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what `conv` and then `bn` do in evaluation.

    >>> conv, bn = tx.nn.Conv2d(1, 2, 3).eval(), tx.nn.BatchNorm2d(2).eval()
    >>> x = tx.randn(1, 1, 5, 5)
    >>> tx.allclose(tx.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True
    """
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what `linear` and then `bn` do in evaluation.

    >>> linear, bn = tx.nn.Linear(3, 2).eval(), tx.nn.BatchNorm1d(2).eval()
    >>> x = tx.randn(4, 3)
    >>> tx.allclose(tx.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)
    True
    """
    return _fused(linear, bn, False)
