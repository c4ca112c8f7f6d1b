"""The determinism switch. In Thixo it is a promise that is always kept, so turning it on changes no result."""

from thixo.errors import ArgumentError, describe

_enabled = False
_warn_only = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask that operators give the same results in every run.

    In Thixo they always do: each operator adds up in an order that follows from shapes alone, so results are the
    same bits in each run and on any number of threads; where places are named twice, the last one is written;
    memory that `empty` gives holds zeros; random numbers follow from the seed. So there is nothing to switch, and
    nothing becomes slower: the function is here for programs that ask. An operator that could not keep the promise
    would raise an error here, or with `warn_only` a warning.

    >>> tx.use_deterministic_algorithms(True)
    >>> tx.are_deterministic_algorithms_enabled()
    True
    >>> tx.use_deterministic_algorithms(False)
    """
    global _enabled, _warn_only
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise ArgumentError(
                f"use_deterministic_algorithms: {name} is {describe(value)}; True or False is needed"
            )
    _enabled, _warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was last told; results are the same either way.

    >>> tx.are_deterministic_algorithms_enabled()
    False
    """
    return _enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that `use_deterministic_algorithms` was last told.

    >>> tx.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _warn_only
