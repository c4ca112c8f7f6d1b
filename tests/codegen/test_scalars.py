"""Each pointwise operator means the same as a kernel and on NumPy arrays, for every dtype that it claims."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thixo.codegen.builder import NotLowered
from thixo.codegen.expand import expand
from thixo.codegen.instructions import FUNCTIONS
from thixo.codegen.interpret import NUMPY, interpret
from thixo.codegen.lower import TENSOR, lower_pointwise
from thixo.dtype import BY_CODE
from thixo.errors import DomainError
from thixo.ops import scalars
from thixo.ops.base import TABLE, Pointwise
from thixo.ops.build_index import load_all
from thixo.ops.samples import Maker

COMPUTED = ("bool", "u8", "i8", "i16", "i32", "i64", "f32", "f64", "c64", "c128")
SHORT = {v: k for k, v in NUMPY.items()}


@functools.cache
def _operators():
    load_all()
    return sorted(
        name
        for name, op in TABLE.items()
        if issubclass(op, Pointwise) and op.__module__.startswith("thixo.")
    )


def values_of(short, seed):
    dtype, rng = NUMPY[short], np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info, bits = np.iinfo(dtype), dtype.itemsize * 8
        some = {
            info.min,
            info.min + 1,
            info.max,
            info.max - 1,
            0,
            1,
            2,
            3,
            7,
            bits - 1,
            bits,
            -1,
            -2,
            -7,
        }
        return np.array(sorted(v for v in some if info.min <= v <= info.max), dtype)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -2.5,
        3,
        20,
        -100,
        np.inf,
        -np.inf,
        np.nan,
        np.finfo(dtype).smallest_subnormal,
    ]
    if dtype.kind == "f":
        return np.concatenate([special, rng.standard_normal(12) * 3]).astype(dtype)
    parts = np.array([0.0, -0.0, 1, -2.5, 30, np.inf, -np.inf, np.nan, 0.7])
    grid = np.empty(81, dtype)
    grid.real, grid.imag = np.repeat(parts, 9), np.tile(parts, 9)
    return np.concatenate([grid, rng.standard_normal(9) + 1j * rng.standard_normal(9)]).astype(
        dtype
    )


@functools.cache
def cases(name, short):
    """Kernels of an operator with the attributes of its samples: (kernel, arguments, dtypes of the tensors)."""
    op, dtype = TABLE[name], next(d for d in BY_CODE if d.short == short)
    if dtype not in op.dtypes:
        return []
    compute = "f32" if op.result == "float" and short[0] not in "fc" else short
    made, seen = [], set()
    for sample in op.samples(Maker(dtype, seed=0)):
        given_args = (
            dict(zip((p.name for p in op.sig.params), sample.args, strict=False)) | sample.kwargs
        )
        arguments, others, dtypes = [], {}, []
        for p in op.sig.params:
            value = given_args.get(p.name, p.default)
            if p.holds_tensors and value is not None:
                if op.promotes is not None and p.name not in op.promotes:
                    others[p.name] = SHORT[np.asarray(value).dtype]
                dtypes.append(others.get(p.name, compute))
                value = TENSOR
            arguments.append(value)
        if repr(arguments) in seen or sample.before is not None:
            continue
        seen.add(repr(arguments))
        try:
            made.append((lower_pointwise(op, compute, others, arguments), arguments, dtypes))
        except NotLowered:
            continue
    return made


def agree(name, kernel, arguments, arrays):
    """The kernel, interpreted, gives what NumPy gives: exactly, or nearly if it computes functions."""
    arrays = [np.ascontiguousarray(a) for a in np.broadcast_arrays(*arrays)]
    place = iter(arrays)
    try:
        want = scalars.evaluate(
            TABLE[name].scalar, *(next(place) if a is TENSOR else a for a in arguments)
        )
    except DomainError:  # an integer division by zero: the kernel reports it
        result = np.empty((1, arrays[0].size), NUMPY[kernel.operands[-1].dtype])
        assert interpret(expand(kernel), [*(a.reshape(1, -1) for a in arrays), result]) != 0
        return
    result = np.empty((1, arrays[0].size), NUMPY[kernel.operands[-1].dtype])
    assert interpret(expand(kernel), [*(a.reshape(1, -1) for a in arrays), result]) == 0
    got, want = result[0], np.broadcast_to(np.asarray(want), result[0].shape).astype(result.dtype)
    exact = not any(one.op in FUNCTIONS for one in kernel.body) and got.dtype.kind != "c"
    size = np.ones(got.shape)
    for a in arrays:
        if a.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                size = np.maximum(size, np.where(np.isfinite(a), np.abs(a), 1))
    for mine, theirs in (
        ((got.real, want.real), (got.imag, want.imag)) if got.dtype.kind == "c" else ((got, want),)
    ):
        same = (mine == theirs) | (mine != mine) & (theirs != theirs)
        if got.dtype.kind == "f":
            same &= (np.signbit(mine) == np.signbit(theirs)) | (theirs != theirs)
        if not exact:
            with np.errstate(all="ignore"):
                whole = np.where(np.isfinite(want), np.abs(want), 0)
                near = np.abs(mine.astype(np.float64) - theirs) <= np.finfo(mine.dtype).eps * (
                    16 * whole + 4 * size
                )
            same |= near & np.isfinite(mine) & np.isfinite(theirs)
        wrong = np.flatnonzero(~same)[:3]
        assert not len(wrong), [(*(a[i] for a in arrays), got[i], want[i]) for i in wrong]


@pytest.mark.parametrize("short", COMPUTED)
@pytest.mark.parametrize("name", _operators())
def test_special_values_and_all_attributes(name, short):
    for kernel, arguments, dtypes in cases(name, short):
        columns = [values_of(d, seed) for seed, d in enumerate(dtypes)]
        if len(columns) > 2 or (len(columns) == 2 and dtypes[0][0] == "c"):
            columns = [np.resize(np.roll(c, 7 * i), 997) for i, c in enumerate(columns)]
        else:
            columns = [
                np.array(c, NUMPY[d])
                for c, d in zip(zip(*itertools.product(*columns), strict=True), dtypes, strict=True)
            ]
        agree(name, kernel, arguments, columns)


REAL = [s for s in COMPUTED if s[0] != "c"]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_values(data):
    name, short = data.draw(st.sampled_from(_operators())), data.draw(st.sampled_from(REAL))
    found = cases(name, short)
    if not found:
        return
    kernel, arguments, dtypes = data.draw(st.sampled_from(found))
    # numbers of a moderate size: beyond it the functions that cancel are compared above
    arrays = [
        data.draw(hnp.arrays(NUMPY[d], 8, elements={"min_value": -1e3, "max_value": 1e3} if d[0] == "f" else None))
        for d in dtypes
    ]  # fmt: skip
    agree(name, kernel, arguments, arrays)


def test_most_operators_are_kernels():
    """Special functions of the native library and a few others are not."""
    lowered = [name for name in _operators() if cases(name, "f32")]
    assert len(lowered) >= 100
    assert {"add", "exp", "tanh", "nn.functional.gelu", "pow", "where", "sigmoid", "lerp"} <= set(
        lowered
    )
