"""Data sets and how to walk through them in batches."""

from thixo.data.datasets import digits

__all__ = ["digits"]
