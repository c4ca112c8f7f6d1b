"""What type checkers know of the native core: that it is there. `thixo.Tensor` has stubs of its own."""

from typing import Any

class Size(tuple[int, ...]):
    """The sizes of a tensor."""

    def numel(self) -> int: ...

class Tensor(Any):
    """A tensor: its methods come from the operator table."""

def __getattr__(name: str) -> Any: ...
