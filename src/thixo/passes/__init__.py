"""Passes over graphs: each a function from graph to graph that can be left out, counted and shown."""

from thixo.passes import attention, clean, fuse, simplify  # noqa: F401  (they declare their passes)
from thixo.passes.manager import PASSES, Firing, Optimized, Report, optimize

__all__ = ["PASSES", "Firing", "Optimized", "Report", "optimize"]
