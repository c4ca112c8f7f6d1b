"""Recurrent layers: the state of each time comes from that of the time before."""

import math
from typing import Any

import thixo as tx
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter

# One step of each kind: from the input's and the state's share of the gates to the next state.


def _step_tanh(x: Any, h: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    return (tx.tanh(x + h),)


def _step_relu(x: Any, h: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    return (tx.relu(x + h),)


def _step_lstm(x: Any, h: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    take, forget, cell, give = (x + h).chunk(4, -1)
    c = tx.sigmoid(forget) * state[1] + tx.sigmoid(take) * tx.tanh(cell)
    return tx.sigmoid(give) * tx.tanh(c), c


def _step_gru(x: Any, h: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    xr, xz, xn = x.chunk(3, -1)
    hr, hz, hn = h.chunk(3, -1)
    keep = tx.sigmoid(xz + hz)
    new = tx.tanh(xn + tx.sigmoid(xr + hr) * hn)
    return ((1 - keep) * new + keep * state[0],)


_STEPS = {
    "RNN_TANH": (_step_tanh, 1),
    "RNN_RELU": (_step_relu, 1),
    "LSTM": (_step_lstm, 4),
    "GRU": (_step_gru, 3),
}  # kind: (step, how many gates)


class RNNBase(Module):
    """What recurrent layers share: several layers, one or two directions, dropout between layers.

    >>> tx.nn.RNNBase("GRU", 3, 5, num_layers=2).weight_ih_l1.shape
    Size([15, 5])
    """

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1,
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueRangeError(
                f"{name}: hidden_size={hidden_size} and num_layers={num_layers} must be positive"
            )
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueRangeError(f"{name}: dropout is {dropout}; a probability is between 0 and 1")
        if proj_size < 0 or proj_size >= hidden_size or (proj_size and mode != "LSTM"):
            raise ValueRangeError(
                f"{name}: proj_size is {proj_size}; it must be below hidden_size, and 0 but for LSTM"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        made = {"device": device, "dtype": dtype}
        gates = _STEPS[mode][1] * hidden_size
        given = proj_size or hidden_size
        for layer, end in self._parts():
            inputs = input_size if layer == 0 else given * (1 + bidirectional)
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (gates, inputs),
                "weight_hh": (gates, given),
            }
            if bias:
                shapes.update(bias_ih=(gates,), bias_hh=(gates,))
            if proj_size:
                shapes.update(weight_hr=(proj_size, hidden_size))
            for kind, shape in shapes.items():
                setattr(self, f"{kind}_l{layer}{end}", Parameter(tx.empty(shape, **made)))
        self.reset_parameters()

    def _parts(self) -> list[tuple[int, str]]:
        """(layer, ending of its parameters' names), forward before reverse."""
        ends = ("", "_reverse") if self.bidirectional else ("",)
        return [(layer, end) for layer in range(self.num_layers) for end in ends]

    def reset_parameters(self) -> None:
        """Draw from uniform(-b, b) with b = 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing to do here: parameters lie as they are used."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return [
            [getattr(self, n) for k in kinds if hasattr(self, n := f"{k}_l{layer}{end}")]
            for layer, end in self._parts()
        ]

    def _sizes(self) -> list[int]:
        """Features of each tensor of the state."""
        first = self.proj_size or self.hidden_size
        return [first, self.hidden_size] if self.mode == "LSTM" else [first]

    def _initial(self, x: Any, hx: Any, lone: bool) -> list[Any]:
        """The state to begin with: (layers, batch, features) each."""
        layers, batch = len(self._parts()), x.shape[1]
        wanted = [(layers, batch, size) for size in self._sizes()]
        if hx is None:
            return [x.new_zeros(shape) for shape in wanted]
        given = list(hx) if self.mode == "LSTM" else [hx]
        for i, (state, shape) in enumerate(zip(given, wanted, strict=True)):
            expected = (shape[0], shape[2]) if lone else shape
            if tuple(state.shape) != expected:
                raise ShapeError(
                    f"{type(self).__name__}: the initial state is {describe(state)}; it must be "
                    f"{list(expected)}"
                )
            given[i] = state.unsqueeze(1) if lone else state
        return given

    def _run(self, x: Any, state: tuple[Any, ...], name: str, reverse: bool) -> tuple[Any, Any]:
        """One layer in one direction over (time, batch, features): outputs and last state."""
        weight_ih, weight_hh = (
            getattr(self, f"weight_ih_{name}"),
            getattr(self, f"weight_hh_{name}"),
        )
        bias_ih = getattr(self, f"bias_ih_{name}") if self.bias else None
        bias_hh = getattr(self, f"bias_hh_{name}") if self.bias else None
        weights = weight_ih, weight_hh, bias_ih, bias_hh
        if self.mode == "GRU":
            y, h, _ = F.gru_layer(x, state[0], *weights, reverse)
            return y, (h,)
        if self.mode != "LSTM":
            y, h = F.rnn_layer(x, state[0], *weights, self.mode == "RNN_RELU", reverse)
            return y, (h,)
        if not self.proj_size:
            y, h, c, *_ = F.lstm_layer(x, state[0], state[1], *weights, reverse)
            return y, (h, c)
        shares = F.linear(x, weight_ih, bias_ih)  # of all times at once
        outputs = []
        times = list(shares.unbind(0))
        for share in reversed(times) if reverse else times:
            h, c = _step_lstm(share, F.linear(state[0], weight_hh, bias_hh), state)
            state = (F.linear(h, getattr(self, f"weight_hr_{name}")), c)
            outputs.append(state[0])
        if reverse:
            outputs.reverse()
        return tx.stack(outputs), state

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Outputs of the last layer at all times, and the last state of every layer."""
        name = type(self).__name__
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            batched = "batch, time" if self.batch_first else "time, batch"
            raise ShapeError(
                f"{name}: input is {describe(input)}; it must be ({batched}, {self.input_size}) or "
                f"(time, {self.input_size})"
            )
        lone = input.ndim == 2
        turned = self.batch_first and not lone
        x = input.unsqueeze(1) if lone else input.transpose(0, 1) if turned else input
        if x.shape[0] == 0:
            raise ShapeError(f"{name}: input is {describe(input)}; there must be at least one time")
        first = self._initial(x, hx, lone)
        last: list[tuple[Any, ...]] = []
        ends = ("", "_reverse") if self.bidirectional else ("",)
        for layer in range(self.num_layers):
            directions = []
            for end in ends:
                state = tuple(s[len(last)] for s in first)
                y, state = self._run(x, state, f"l{layer}{end}", end == "_reverse")
                directions.append(y)
                last.append(state)
            x = directions[0] if len(directions) == 1 else tx.cat(directions, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        states = [tx.stack(s) for s in zip(*last, strict=True)]
        if lone:
            x, states = x.squeeze(1), [s.squeeze(1) for s in states]
        elif turned:
            x = x.transpose(0, 1)
        return x, tuple(states) if self.mode == "LSTM" else states[0]

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
            "bidirectional": False,
        }  # fmt: skip
        for name, default in defaults.items():
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(RNNBase):
    """Plain recurrent layers: tanh(W x + U h), or relu.

    >>> layer = tx.nn.RNN(3, 4, num_layers=2)
    >>> y, h = layer(tx.randn(5, 2, 3))
    >>> y.shape, h.shape
    (Size([5, 2, 4]), Size([2, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueRangeError(
                f"RNN: nonlinearity is {nonlinearity!r}; it must be 'tanh' or 'relu'"
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: gates decide what a cell keeps, takes and gives.

    >>> layer = tx.nn.LSTM(3, 4, batch_first=True)
    >>> y, (h, c) = layer(tx.randn(2, 5, 3))
    >>> y.shape, h.shape, c.shape
    (Size([2, 5, 4]), Size([1, 2, 4]), Size([1, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, proj_size, device, dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """Gated recurrent units: one gate keeps, one resets.

    >>> layer = tx.nn.GRU(3, 4, bidirectional=True)
    >>> y, h = layer(tx.randn(5, 2, 3))
    >>> y.shape, h.shape
    (Size([5, 2, 8]), Size([2, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip


# ---- one step at a time


class RNNCellBase(Module):
    """What single recurrent steps share.

    >>> issubclass(tx.nn.GRUCell, tx.nn.RNNCellBase)
    True
    """

    mode: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = _STEPS[self.mode][1] * hidden_size
        made = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(tx.empty(gates, input_size, **made))
        self.weight_hh = Parameter(tx.empty(gates, hidden_size, **made))
        self.register_parameter("bias_ih", Parameter(tx.empty(gates, **made)) if bias else None)
        self.register_parameter("bias_hh", Parameter(tx.empty(gates, **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw from uniform(-b, b) with b = 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state, from (batch, features) or (features)."""
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: input is {describe(input)}; it must be (batch, "
                f"{self.input_size}) or ({self.input_size})"
            )
        count = 2 if self.mode == "LSTM" else 1
        shape = (*input.shape[:-1], self.hidden_size)
        if hx is None:
            state = (input.new_zeros(shape),) * count
        else:
            state = tuple(hx) if count == 2 else (hx,)
        for s in state:
            if tuple(s.shape) != shape:
                raise ShapeError(
                    f"{type(self).__name__}: the state is {describe(s)}; it must be {list(shape)}"
                )
        x = F.linear(input, self.weight_ih, self.bias_ih)
        h = F.linear(state[0], self.weight_hh, self.bias_hh)
        new = _STEPS[self.mode][0](x, h, state)
        return new if count == 2 else new[0]

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of a plain recurrent layer.

    >>> tx.nn.RNNCell(3, 4)(tx.randn(2, 3), tx.zeros(2, 4)).shape
    Size([2, 4])
    """

    mode = "RNN_TANH"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueRangeError(
                f"RNNCell: nonlinearity is {nonlinearity!r}; it must be 'tanh' or 'relu'"
            )
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity
        self.mode = f"RNN_{nonlinearity.upper()}"


class LSTMCell(RNNCellBase):
    """One step of long short-term memory: gives (h, c).

    >>> h, c = tx.nn.LSTMCell(3, 4)(tx.randn(2, 3))
    >>> h.shape, c.shape
    (Size([2, 4]), Size([2, 4]))
    """

    mode = "LSTM"


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    >>> tx.nn.GRUCell(3, 4)(tx.randn(2, 3)).shape
    Size([2, 4])
    """

    mode = "GRU"
