"""Signal processing: windows."""

from thixo.signal import windows

__all__ = ["windows"]
