"""Operators that draw random numbers: types, seeds, and a stream that goes on."""

import numpy as np
import pytest
from checks import call, name_of, on_tensors, samples_of, to_array

import thixo as tx
from thixo.graph.operators import bind
from thixo.graph.typing import infer_types


@pytest.mark.over(lambda op: op.random)
def test_draws(op):
    for dtype in op.dtypes:
        for sample in samples_of(op, dtype):
            what = name_of(op, sample, dtype)
            given = on_tensors(sample)
            first, again = call(op, given), call(op, given)
            for a, b in zip(first, again, strict=True):
                same = np.array_equal(to_array(a), to_array(b), equal_nan=a.dtype.kind in "fc")
                assert same, f"{what}: one seed gave two results"
            if op.kind != "composite":
                specs = infer_types(op, bind(op, given.args, given.kwargs))
                types = [(tuple(t.shape), t.dtype) for t in first]
                assert types == [(tuple(s.shape), s.dtype) for s in specs], what


@pytest.mark.over(lambda op: op.random and tx.float64 in op.dtypes)
def test_the_stream_goes_on(op):
    """In many elements, two draws after each other differ."""
    sizes = {"n": 40, "m": 50, "k": 30, "b": 60}
    differs = []
    for sample in samples_of(op, tx.float64, sizes):
        given = on_tensors(sample)
        results = call(op, given)
        if max((t.numel() for t in results), default=0) < 30:
            continue
        later = call(op, given, seed=None)
        differs.append(
            any(
                not np.array_equal(to_array(a), to_array(b))
                for a, b in zip(results, later, strict=True)
            )
        )
    assert any(differs) or not differs, f"{op.full_name} draws the same numbers again"
