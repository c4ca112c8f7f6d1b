"""The places where PyTorch keeps things that live elsewhere in Thixo."""

from thixo.utils import data

__all__ = ["data"]
