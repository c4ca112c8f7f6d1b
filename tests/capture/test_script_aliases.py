"""Names of one tensor in scripted functions: what is written by one of them shows by the others."""

import pytest

import thixo as tx


class Holder:
    """Something with an attribute."""

    last = None


def _left_at_once(b, v):
    for q in v:
        b -= q
        return b


def _left_by_while(b, v):
    n = 0
    while n < v.sum():
        b -= 1
        n += 1
        return b


def _second_name(b, v):
    r = v.sum()
    for q in v:
        b -= q
        r = b
    return r, b


def _written_afterwards(b, v):
    for q in v:
        b -= q
        r = b
        if q > 100:
            break
    b += 1
    return r


def _in_a_list(b, v):
    for q in v:
        b -= q
        c = [b, q]
        if q > 100:
            break
    return c[0] + b


def _in_an_attribute(b, v):
    holder = Holder()
    for q in v:
        b -= q
        holder.last = b
        if q > 100:
            break
    return holder.last + b


@pytest.mark.parametrize(
    "f",
    [
        _left_at_once,
        _left_by_while,
        _second_name,
        _written_afterwards,
        _in_a_list,
        _in_an_attribute,
    ],
)
def test_another_name_of_a_tensor_that_a_loop_writes_shows_what_was_written(f):
    def program(y, v):
        return f(y + 0.9, v)

    scripted = tx.jit.script(program)
    for v in ([0.5, -1.5, 1.25], [0.5, 101.0, 3.0], [1.0, 2.0, 3.0, 4.0]):
        given = tx.tensor(-0.75), tx.tensor(v)
        tx.testing.assert_close(scripted(*given), program(*given))
