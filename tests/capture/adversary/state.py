"""What outlives a call: globals, defaults, closures, attributes, caches, iterators; some change between calls."""

import functools
import itertools
import sys

import thixo as tx
from tests.capture.adversary.registry import COUNTED, VECTORS, hostile, t

this = sys.modules[__name__]
COUNT = 0
LOG = []
SCALE = 2.0
WEIGHT = tx.tensor(3.0, dtype=tx.float64)
TABLE = {"k": 1.0}
FLAG = True


@hostile(changes=("COUNT",))
def global_counted(x):
    global COUNT
    COUNT += 1
    return x * COUNT


@hostile(changes=("COUNT",))
def global_counted_in_a_branch(x):
    global COUNT
    if x > 0:
        COUNT += 10
    return x + COUNT


@hostile(changes=("LOG",))
def global_list_grown(x):
    LOG.append(1)
    if x > 0:
        LOG.append(2)
    return x + len(LOG)


def _scaled(call):
    this.SCALE = 2.0 + call


@hostile(changes=("SCALE",), between=_scaled)
def global_number_changed_between_calls(x):
    return x * SCALE if x > 0 else x - SCALE


def _heavier(call):
    this.WEIGHT = tx.tensor(3.0 + call, dtype=tx.float64)


@hostile(changes=("WEIGHT",), between=_heavier)
def global_tensor_replaced_between_calls(x):
    return x * WEIGHT


def _written(call):
    this.WEIGHT.fill_(float(call))


@hostile(changes=("WEIGHT",), between=_written)
def global_tensor_written_between_calls(x):
    return x * WEIGHT if WEIGHT > 1 else x


def _flipped(call):
    this.FLAG = call % 2 == 0


@hostile(changes=("FLAG",), between=_flipped)
def global_flag_flipped_between_calls(x):
    if FLAG:
        return x * 2
    return x * 5 if x > 0 else x


def _entry(call):
    this.TABLE["k"] = float(call)
    if call == 2:
        this.TABLE["more"] = 1.0


@hostile(changes=("TABLE",), between=_entry)
def global_dict_changed_between_calls(x):
    return x * TABLE["k"] + len(TABLE)


def _twice(x):
    return x * 2


def _thrice(x):
    return x * 3


HELPER = _twice


def _other_helper(call):
    this.HELPER = _thrice if call % 2 else _twice


@hostile(changes=("HELPER",), between=_other_helper)
def global_function_replaced_between_calls(x):
    return HELPER(x)


def _remember(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


@hostile(between=lambda call: _remember.__defaults__[0].clear() if call == 0 else None)
def default_list_that_remembers(x):
    return _remember(x) + _remember(x)


def _counter():
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    def reset():
        nonlocal n
        n = 0

    return count, reset


_count, _reset = _counter()


@hostile(between=lambda call: _reset() if call == 0 else None)
def closure_that_counts(x):
    return x * _count() if x > 0 else x - _count()


class Running:
    total = tx.tensor(0.0, dtype=tx.float64)
    calls = 0


def _fresh(call):
    if call == 0:
        Running.total, Running.calls = tx.tensor(0.0, dtype=tx.float64), 0


@hostile(between=_fresh)
def class_attribute_counted(x):
    Running.calls += 1
    Running.total = Running.total + x.detach()
    return x * Running.calls + Running.total


@hostile(between=_fresh)
def class_tensor_written_in_place(x):
    if x > 0:
        Running.total += x.detach()
    return x + Running.total


@functools.lru_cache
def _squared(n):
    return n * n


@hostile(*COUNTED)
def cached_function(x, n):
    return x * _squared(n)


TURNS = itertools.count()


def _new_turns(call):
    if call == 0:
        this.TURNS = itertools.count()


@hostile(between=_new_turns)
def iterator_of_the_module(x):
    return x * next(TURNS)


def _numbered(x):
    _numbered.calls = getattr(_numbered, "calls", 0) + 1
    return x * _numbered.calls


def _forget(call):
    if call == 0:
        _numbered.calls = 0


@hostile(between=_forget)
def attribute_of_a_function(x):
    return _numbered(x)


@hostile(lambda: (t(1.0), {"n": 0}), lambda: (t(-1.0), {"n": 5}))
def argument_dict_changed(x, d):
    if x > 0:
        d["n"] += 1
    else:
        d["new"] = x * 2
    return x * d["n"]


@hostile(lambda: (tx.ones(3), t(2.0)), lambda: (tx.zeros(2), t(-2.0)))
def argument_written_in_place(w, x):
    if x > 0:
        w[0] = 7.0
    w += 1
    return w.sum() * x


@hostile(lambda: (tx.ones(3),), lambda: (tx.zeros(4),))
def argument_and_its_view(w):
    view = w[1:]
    view.mul_(3)
    w[1] = 5.0
    return view + 0, w.sum()


def _same():
    w = tx.ones(3)
    return w, w


@hostile(_same, lambda: (tx.ones(3), tx.ones(3)))
def one_tensor_as_two_arguments(a, b):
    a.add_(1)
    return b * 2


@hostile(*VECTORS)
def result_is_an_argument(v):
    return v if v.sum() > 0 else v * 1


@hostile(lambda: (tx.ones(3),), lambda: (tx.zeros(2),))
def result_is_a_view_of_an_argument(w):
    part = w[:1]
    part.add_(2)
    return part


@hostile()
def random_numbers_in_one_branch(x):
    if x > 0:
        x = x + tx.rand((), dtype=tx.float64)
    return x + tx.randn((), dtype=tx.float64)


@hostile()
def seed_set_within(x):
    tx.manual_seed(3)
    return x * tx.rand((), dtype=tx.float64)


@hostile()
def gradient_mode_left_changed(x):
    y = x * 2
    with tx.no_grad():
        z = x * 3
        if x > 0:
            with tx.enable_grad():
                z = z + x
    return y + z, tx.is_grad_enabled()
