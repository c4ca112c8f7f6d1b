"""Half precision in composites: compute in float32, round once at the end."""

from typing import Any

from thixo.dtype import bfloat16, float16, float32


def widened(x: Any) -> Any:
    """float16 and bfloat16 as float32; anything else, None too, as it is."""
    return x.to(float32) if x is not None and x.dtype in (float16, bfloat16) else x
