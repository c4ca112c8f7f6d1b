"""Gradients: backward, grad, modes, hooks, your own functions, and derivatives of functions."""

from thixo._core import Node
from thixo.autograd import functional, graph
from thixo.autograd.backward import backward, grad
from thixo.autograd.check import gradcheck, gradgradcheck
from thixo.autograd.function import Function, once_differentiable
from thixo.autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "Node",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]
