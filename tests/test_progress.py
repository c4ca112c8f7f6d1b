"""Long work speaks, short work does not."""

import sys

import pytest

import thixo as tx
from thixo import progress
from thixo.runtime import cache


class Terminal:
    """A standard error that says it is a terminal, or not."""

    def __init__(self, is_one):
        self.is_one, self.text = is_one, ""

    def isatty(self):
        return self.is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def empty_cache(tmp_path):
    cache.use(tmp_path)
    yield
    cache.use(None)


def work(clock, seconds):
    with progress.task("compiling graph f"):
        for i in range(seconds):
            clock[0] += 1
            progress.step("binding nodes", i, seconds)


def test_two_seconds_pass_in_silence(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    work(clock, 1)
    assert sys.stderr.text == ""


def test_on_a_terminal_one_line_changes_and_goes(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    work(clock, 4)
    first, *more, last = sys.stderr.text.split("\r\x1b[K")[1:]
    assert first == "thixo: compiling graph f: binding nodes, 1 of 4"
    assert len(more) == 2
    assert last == ""


def test_in_a_file_a_line_comes_now_and_then(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(False))
    work(clock, 25)
    assert len(sys.stderr.text.splitlines()) == 3


def test_it_can_be_turned_off(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    monkeypatch.setattr(progress.config, "progress", False)
    work(clock, 9)
    assert sys.stderr.text == ""


@pytest.mark.usefixtures("empty_cache")
def test_a_graph_that_compiles_long_says_what_it_does(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(False))
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "ELSEWHERE", 0.0)
    with tx.static.Graph("tower") as g:
        x = y = tx.static.placeholder((3,), tx.float32, "x")
        for _ in range(10):
            y = tx.sort(y.exp()).values
    tx.static.Session(g).run(y, {x: tx.ones(3)})
    assert "thixo: compiling graph tower: pass fuse" in sys.stderr.text
    assert "thixo: compiling graph tower: binding nodes, 10 of " in sys.stderr.text
