"""Passes over graphs: each a function from graph to graph that can be left out, counted and shown."""

from thixo.passes import attention, clean, fuse, simplify, unroll  # noqa: F401  (they declare passes)
from thixo.passes.manager import PASSES, Firing, Optimized, Report, optimize

__all__ = ["PASSES", "Firing", "Optimized", "Report", "optimize"]
