"""Passes over graphs: each a function from graph to graph that can be left out, counted and shown."""

from thixo.passes import (  # noqa: F401  (they declare passes)
    attention,
    batch_norm,
    clean,
    convolutions,
    fuse,
    hoist,
    pieces,
    products,
    repeats,
    simplify,
    unroll,
)
from thixo.passes.manager import PASSES, Firing, Optimized, Report, optimize

__all__ = ["PASSES", "Firing", "Optimized", "Report", "optimize"]
