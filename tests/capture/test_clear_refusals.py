"""What is refused is named as the user wrote it; a match that compares plain values only is captured."""

import logging
import os
from collections import deque

import pytest

import thixo as tx
from thixo.errors import CaptureError


def refusal(f, *args):
    with pytest.raises(CaptureError) as found:
        tx.jit.script(f)(*args)
    return str(found.value)


def cached(x, w):
    keys = values = x @ w
    for _ in range(12):
        scores = (x @ w) @ keys.transpose(-1, -2)
        x = tx.softmax(scores, -1) @ values
        keys = tx.cat([keys, x @ w], 1)
        values = tx.cat([values, x @ w], 1)
        if x.sum() > 100:
            break
    return x


def test_a_cache_that_grows_in_a_loop():
    text = refusal(cached, tx.ones(1, 1, 4), tx.ones(4, 4))
    assert "each turn of a loop makes another shape" in text
    assert "make it of its full size before the loop" in text
    line = cached.__code__.co_firstlineno + 4
    assert text.endswith(f"(test_clear_refusals.py:{line})")
    x, w = tx.ones(1, 1, 4), tx.ones(4, 4)
    assert tx.compile(cached)(x, w).tolist() == cached(x, w).tolist()


@pytest.mark.parametrize(
    "read",
    [
        lambda: os.environ.get("HOME"),
        lambda: os.getenv("HOME"),
        lambda: os.environ["PATH"],
        lambda: "HOME" in os.environ,
    ],
)
def test_the_environment(read):
    text = refusal(lambda x: x * len(str(read())), tx.ones(1))
    assert "the environment: it may be another one at each call" in text


def test_logging():
    logger = logging.getLogger("thixo.test")

    def by_logger(x):
        logger.warning("sum")
        return x

    def by_module(x):
        logging.error("sum")
        return x

    for f in (by_logger, by_module):
        text = refusal(f, tx.ones(1))
        assert "logging: a graph keeps no log" in text
        assert text.endswith(f"(test_clear_refusals.py:{f.__code__.co_firstlineno + 1})")


def test_in_a_list_of_tensors():
    text = refusal(lambda x, xs: x * (x in xs[1:]), tx.ones(2), [tx.ones(2), tx.ones(2)])
    assert ": in: it asks whether an element equals another" in text
    one = tx.ones(2)
    f = tx.jit.script(lambda x, xs: x * (x in xs[:1]))
    assert f(one, [one, tx.ones(2)]).tolist() == [1, 1]


def by_match(s):
    match s:
        case (0, h):
            return h * 2
        case (1, h) | [1, h, _]:
            return h * 3
        case [9, *_, 7]:
            return s[1] * 4
        case {"kind": "a", "value": h}:
            return h * 5
        case {"kind": "b", "value": None}:
            return None
        case _:
            return None


@pytest.mark.parametrize(
    "make",
    [
        lambda x: (0, x),
        lambda x: (1, x),
        lambda x: [1, x, x],
        lambda x: [9, x, x, x, 7],
        lambda x: deque([1, x]),
        lambda x: {"kind": "a", "value": x},
        lambda x: {"kind": "b", "value": None, "more": x},
        lambda x: {"kind": "c", "value": x},
        lambda x: x,
        lambda x: 3,
    ],
)
def test_a_match_of_plain_values_beside_tensors(make):
    def f(x):
        found = by_match(make(x))
        return x if found is None else found

    assert tx.jit.script(f)(tx.ones(1)).tolist() == f(tx.ones(1)).tolist()


@pytest.mark.parametrize(
    "make", [lambda x: (x, x), lambda x: [1, x, x, x], lambda x: x.sum().item()]
)
def test_a_match_that_compares_tensors(make):
    def f(x):
        match make(x):
            case (1, h) | [*_, h, 7] | h if h is None:
                return x
            case 1 | 2:
                return -x
        return x

    assert "match: it compares with something the data decide" in refusal(f, tx.ones(1))
