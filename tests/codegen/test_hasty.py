"""Kernels that somebody waits for are compiled in haste, and nobody else's."""

import threading

from thixo.codegen.llvm import compile


def test_llvm_is_hasty_no_longer_than_a_kernel_is_made(monkeypatch):
    told = []
    hasty = compile._Hasty()
    monkeypatch.setattr(hasty, "_set", told.append)
    inside = threading.Barrier(2)

    def make():
        with hasty():
            inside.wait()

    other = threading.Thread(target=make)
    other.start()
    make()
    other.join()
    assert told == [True, False]
    with hasty():
        assert told == [True, False, True]
    assert told == [True, False, True, False]
