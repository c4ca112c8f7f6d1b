"""What attention computes on a block of scores, as kernels for the core: see core/attention.h."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

from thixo.codegen.expand import expand
from thixo.codegen.kernel import Kernel
from thixo.codegen.math.exponentials import HIGHEST, exp_pieces
from thixo.codegen.math.formats import at_least, at_most
from thixo.codegen.rowwise import lower_rows
from thixo.runtime import rows
from thixo.runtime.batch import all_of
from thixo.runtime.kernels import address
from thixo.runtime.recurrent import build

DTYPES = ("f32", "f64")


# Below these an exponential is not a normal number, which processors are slow at: a share so small is none.
_LEAST = {"f32": -87.0, "f64": -708.0}


def _share(k: Any, exponent: Any) -> Any:
    """The exponential of a number that is not large."""
    least = _LEAST[exponent.type]
    share = k.b.emit("scale", *exp_pieces(k.b, at_least(k.b, exponent, least)))
    return k.where(exponent < least, 0.0, share)


def _softmax(k: Any, scores: Any, top: Any, total: Any, factor: Any) -> tuple[Any, ...]:
    """Exponentials of a row's scores, and its largest score and sum, which go on from block to block."""
    top_now = k.maximum(top, k.reduce_max(scores * factor))
    base = k.where(top_now == -math.inf, 0.0, top_now)  # of a row that may attend to nothing so far
    shares = _share(k, k.b.fma(scores, factor, -base))
    fade = _share(k, top - base)
    return shares, top_now, total * fade + k.reduce_sum(shares), fade


def _finish(k: Any, sums: Any, top: Any, total: Any) -> tuple[Any, ...]:
    """A row's result and the logarithm of the sum of its exponentials."""
    return sums * (1 / total), top + k.log(total)


def _back(
    k: Any, score: Any, logsumexp: Any, slope: Any, mean: Any, factor: Any, scale: Any
) -> tuple[Any, ...]:
    exponent = k.b.fma(score, factor, -logsumexp)
    share = _share(k, at_most(k.b, exponent, HIGHEST[exponent.type]))
    return share, share * (slope - mean) * scale


def softmax_kernel(dtype: str) -> Kernel:
    """Operands: scores, largest, sum, scale; exponentials, largest, sum, fade."""
    arguments = [[dtype, "full"], [dtype, "row"], [dtype, "row"], [dtype, "one"]]
    return expand(lower_rows(SimpleNamespace(rows=_softmax), arguments, (dtype,) * 4))


def finish_kernel(dtype: str) -> Kernel:
    """Operands: sums of values, largest, sum; results, logsumexp."""
    arguments = [[dtype, "full"], [dtype, "row"], [dtype, "row"]]
    return expand(lower_rows(SimpleNamespace(rows=_finish), arguments, (dtype,) * 2))


def back_kernel(dtype: str) -> Kernel:
    """Operands: scores, logsumexp, gradients of shares, their means, scales; shares, gradients of scores."""
    return build(_back, 6, dtype)


def find(dtype: str) -> tuple[int, ...] | None:
    """Where the machine code of all three is; None if this machine cannot make any."""
    from thixo.codegen.llvm.rows import slots_of

    along = softmax_kernel(dtype), finish_kernel(dtype)
    assert not any(map(slots_of, along))  # results lie where the operands were
    asks = [functools.partial(rows.address, kernel, 0) for kernel in along]
    found = all_of([*asks, lambda: address(back_kernel(dtype))])
    known = tuple(code for code in found if code is not None)
    return known if len(known) == len(found) else None
