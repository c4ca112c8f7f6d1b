"""Layers that map features linearly."""

import math
from typing import Any

import thixo as tx
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter


class Identity(Module):
    """Gives back its input; other arguments are ignored.

    >>> tx.nn.Identity(54, unused=True)(tx.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """input @ weight.T + bias.

    >>> layer = tx.nn.Linear(3, 2)
    >>> layer(tx.ones(5, 3)).shape
    Size([5, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(tx.empty(out_features, in_features, **made))
        if bias:
            self.bias = Parameter(tx.empty(out_features, **made))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias from uniform(-b, b) with b = 1 / sqrt(in_features)."""
        init.fan_in_uniform_(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """Map the last axis of the input."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name that PyTorch gives the output layer of attention.

    >>> tx.nn.modules.linear.NonDynamicallyQuantizableLinear(2, 1)(tx.ones(2)).shape
    Size([1])
    """


class Bilinear(Module):
    """input1 @ weight[o] @ input2 + bias[o], for each output o.

    >>> tx.nn.Bilinear(2, 3, 4)(tx.ones(5, 2), tx.ones(5, 3)).shape
    Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(tx.empty(out_features, in1_features, in2_features, **made))
        if bias:
            self.bias = Parameter(tx.empty(out_features, **made))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias from uniform(-b, b) with b = 1 / sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """A quadratic form of both inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
