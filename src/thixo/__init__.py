"""Thixo: tensors with gradients, run as you write them.

>>> import thixo as tx
>>> x = tx.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])

Operators, modules and sub-packages load when they are first used, so that importing stays quick.
"""

import importlib as _importlib
import math as _math
from importlib.util import find_spec as _find_spec
from typing import Any as _Any

from thixo import _core as _core
from thixo import config as _config
from thixo import dtype as _dtype
from thixo.device import device
from thixo.dtype import (
    DType,
    can_cast,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    result_type,
    set_default_dtype,
)
from thixo.errors import ThixoError

__version__ = "0.1.0"

inf = _math.inf
nan = _math.nan
pi = _math.pi
e = _math.e
newaxis = None

_PACKAGES = frozenset(
    "array_api autodiff autograd config data errors fft graph jit linalg masked nn ops optim passes "
    "profiler random schedule signal special static testing utils".split()
)

# Names that are no operators, and the module that has them.
_HOMES = {
    name: module
    for module, names in {
        "thixo.autograd": "no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled "
        "is_inference_mode_enabled",
        "thixo.random": "Generator default_generator get_rng_state initial_seed manual_seed seed "
        "set_rng_state",
        "thixo.serialization": "save load",
        "thixo.layout": "layout memory_format strided preserve_format contiguous_format",
        "thixo.shape": "broadcast_shapes",
        "thixo._core": "Size",
        "thixo.queries": "get_device is_complex is_conj is_floating_point is_inference is_neg "
        "is_nonzero is_same_size is_signed numel",
        "thixo.typed": "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor "
        "HalfTensor IntTensor LongTensor ShortTensor",
        "thixo.threads": "get_num_threads set_num_threads",
        "thixo.capture.compile": "compile",
        "thixo.capture.compile_backends": "register_backend",
        "thixo.capture.compile_explain": "explain",
        "thixo.capture.lazy": "lazy get_mode set_mode",
        "thixo.capture.flow": "cond switch while_loop scan map",
        "thixo.determinism": "are_deterministic_algorithms_enabled "
        "is_deterministic_algorithms_warn_only_enabled use_deterministic_algorithms",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> _Any:
    if name in _HOMES:
        value = getattr(_importlib.import_module(_HOMES[name]), name)
    elif _find_spec("thixo." + name) is not None:  # also `from thixo import shape` within Thixo
        return _importlib.import_module("thixo." + name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'thixo' has no attribute {name!r}")
    else:
        value = _importlib.import_module("thixo.ops.public").find(name)
        if value is None:
            raise AttributeError(f"module 'thixo' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    operators = _importlib.import_module("thixo.ops.public").names()
    own = [name for name in globals() if not name.startswith("_")]
    return sorted({*own, *_HOMES, *_PACKAGES, *operators, "__version__"})


# `dtype` is PyTorch's name for the class. The element types come last: some hide Python's own names.
globals()["dtype"] = DType
globals().update(_dtype.BY_NAME)
globals().update(_dtype.ALIASES)

# Tensors exist as soon as an operator makes one, so their Python face is always there.
from thixo.tensor import (  # noqa: E402
    Tensor,
    as_tensor,
    asarray,
    from_dlpack,
    from_numpy,
    is_tensor,
    set_printoptions,
    tensor,
)

if _config.num_threads:
    _core.set_num_threads(_config.num_threads)
