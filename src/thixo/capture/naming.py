"""What the inputs of a captured function's graph are called."""

import inspect
from typing import Any

from thixo.pytree import tree_paths


def input_names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """What each leaf of the arguments is called: its parameter's name and the path inside."""
    function = getattr(f, "forward", f)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = []
    for i, arg in enumerate(args):
        first = named[i] if i < len(named) else f"x{i}"
        for path in tree_paths(arg):
            inner = "".join(c if c.isalnum() else " " for c in path).split()
            names.append("_".join([first, *inner]))
    return names


def captured_names(f: Any) -> dict[int, str]:
    """What the tensors of a Module are called."""
    owner = getattr(f, "__self__", f)
    found: dict[int, str] = {}
    for kind in ("named_buffers", "named_parameters"):
        if hasattr(owner, kind):
            found.update({id(t): name.replace(".", "_") for name, t in getattr(owner, kind)()})
    return found
