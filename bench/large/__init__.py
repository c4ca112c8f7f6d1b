"""Large arrays against PyTorch eager, family by family; see `python -m bench large --help`."""

from bench.large.run import main

__all__ = ["main"]
