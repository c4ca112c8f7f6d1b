"""Lists that change while something goes over them, where a tensor says so: Python's iterators see what they hold then."""

import pytest

import thixo as tx
from thixo.errors import CaptureError


def forwards(items, x):
    for _ in items:
        print("turn")
        if x.sum() > 0:
            items.pop()
    return x + len(items)


def backwards(items, x):
    for _ in reversed(items):
        print("turn")
        if x.sum() > 0:
            items.pop()
            items.pop()
    return x + len(items)


def numbered(items, x):
    for n, _ in enumerate(items):
        print(n)
        if x.sum() > 0:
            items.pop()
    return x + len(items)


def side_by_side(items, x):
    for n, _ in zip(items, items, strict=False):
        print(float(n))
        if x.sum() > 0:
            items.append(x.sum())
        if len(items) > 8:
            break
    return x + len(items)


def collected(items, x):
    def one(item):
        if x.sum() > 0:
            items.pop()
        return item

    return x + len([one(item) for item in items])


def mapped(items, x):
    def one(item):
        if x.sum() > 0:
            items.pop()
        return item

    return x + len(list(map(one, items)))


def filtered(items, x):
    def keeps(item):
        if x.sum() > 0:
            items.pop()
        return True

    return x + len(list(filter(keeps, items)))


def changed_before(items, x):
    if x.sum() > 0:
        items.pop()
    for _ in items:
        print("turn")
        if x.sum() > 0:
            items.pop()
    return x + len(items)


ALL = [forwards, backwards, numbered, side_by_side, collected, mapped, filtered, changed_before]


def run(f, sign, capsys):
    items = [tx.tensor(float(i)) for i in range(6)]
    result = f(items, tx.tensor([sign]))
    return result.tolist(), [i.item() for i in items], capsys.readouterr().out


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_a_list_that_changes_meanwhile_is_what_python_sees(f, capsys):
    made = tx.compile(f)
    for sign in (-1.0, 1.0):
        assert run(made, sign, capsys) == run(f, sign, capsys)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_script_does_so_too_or_refuses(f, capsys):
    made = tx.jit.script(f)
    for sign in (-1.0, 1.0):
        try:
            found = run(made, sign, capsys)
        except CaptureError as error:
            assert "gone over" in str(error)  # noqa: PT017
            capsys.readouterr()
        else:
            assert found == run(f, sign, capsys)


def test_a_copy_is_gone_over_as_it_was(capsys):
    def f(items, x):
        for item in list(items):
            if x.sum() > item:
                items.pop()
        return x + len(items)

    made = tx.jit.script(f)
    for sign in (-1.0, 2.5):
        assert run(made, sign, capsys) == run(f, sign, capsys)


def test_a_dict_that_grows_meanwhile_is_an_error_as_in_python():
    def f(table, x):
        for key in table:
            if x.sum() > 0:
                table[key + "b"] = x
        return x + len(table)

    made = tx.compile(f)
    for sign in (-1.0, 1.0):
        for g in (f, made):
            table, x = {"a": tx.ones(1)}, tx.tensor([sign])
            if sign < 0:
                assert g(table, x).item() == 0
                continue
            with pytest.raises(RuntimeError, match="changed size"):
                g(table, x)
