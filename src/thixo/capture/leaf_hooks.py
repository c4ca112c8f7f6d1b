"""Hooks on leaves from outside: a graph that takes gradients inside does not run them, so it is for leaves without."""

from collections.abc import Sequence
from typing import Any

from thixo.capture.frames import Capture
from thixo.capture.paths import Assumed, Path
from thixo.capture.refusal import Refused
from thixo.tensor import LEAF_HOOKS, hooked_leaves


def need_no_hooks(leaves: Sequence[Any]) -> None:
    """Refuse gradients of leaves whose hooks would run now, once, and never again."""
    hooked = hooked_leaves()
    if any(id(t) in hooked for t in leaves):
        raise Refused(
            "gradients",
            "a leaf has a hook, which runs code that no graph has",
            "take gradients outside",
        )


class NoHooks:
    """Assumed: no leaf that a graph may take gradients of has a hook."""

    path = Path(LEAF_HOOKS, "hooks on leaves").step("item", "given")

    def __init__(self, leaves: list[Path]) -> None:
        self.leaves = leaves

    def __call__(self, found: Any, arguments: list[Any]) -> bool:
        hooked = hooked_leaves()
        try:
            return not hooked or all(id(p.fetch(arguments)) not in hooked for p in self.leaves)
        except (AttributeError, LookupError, TypeError, ValueError):
            return False

    def __repr__(self) -> str:
        return "of which no leaf has one"


def note_no_hooks(capture: Capture, arguments: list[Any]) -> None:
    """Note, where gradients are taken inside, that no leaf from outside has a hook; refuse where one has."""
    if not capture.takes_gradients:
        return
    every = (*capture.tensors.values(), *capture.given.values())
    leaves = [path for t, path in every if t.requires_grad and t.is_leaf]
    need_no_hooks([path.fetch(arguments) for path in leaves])
    path = NoHooks.path
    capture.guards[path.key, "holds"] = Assumed(path, "holds", NoHooks(leaves))
