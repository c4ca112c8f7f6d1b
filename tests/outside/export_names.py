"""Names of torch that Thixo spells in plain Python: what `export_db.py` puts in their place."""

import enum

import thixo as tx


class SupportLevel(enum.Enum):
    """Only noted in the examples."""

    SUPPORTED = 1
    NOT_SUPPORTED_YET = 0


def Dim(name):  # noqa: N802
    """A size that may change: in Thixo all are."""
    return name


def assume_constant_result(function):
    """Thixo needs no promise."""
    return function


def check(condition, message=None):
    """What must hold."""
    assert condition, message


def sym_min(a, b):
    """The smaller of two sizes."""
    return min(a, b)


def cond(pred, true_fn, false_fn, operands=()):
    """A branch: plain Python."""
    if pred:
        return true_fn(*operands)
    return false_fn(*operands)


def map(f, xs, *args):
    """A function of each row: plain Python."""
    return tx.stack([f(x, *args) for x in xs])
