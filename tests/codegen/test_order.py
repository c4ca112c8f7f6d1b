"""Sorting networks: every count of places, on this machine and on emulated ones."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from emulation import EMULATORS, Program

from thixo import _core
from thixo.codegen.llvm import order
from thixo.codegen.llvm.compile import loaded, object_code
from thixo.codegen.llvm.target import named

KINDS = {"sort_words": 1, "sort_pairs": 2, "least_words": 1, "least_pairs": 2}
FEW = 16  # places that are looked at where only the least ones are wanted
COUNTS = [*range(order.LEAF, 300, order.LEAF), 504, 512, 520, 776, 1016, order.MOST]


def entries(rng, count, vectors):
    """Words of any size; pairs whose first words are often equal."""
    if vectors == 1:
        return rng.integers(-(2**63), 2**63 - 1, (count, 1, order.SIDE), np.int64, endpoint=True)
    made = rng.integers(-3, 3, (count, 2, order.SIDE))
    made[0], made[-1] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    made[:, 1] = rng.permuted(np.arange(made[:, 1].size).reshape(count, -1), axis=0)
    return made


def seen(kind, found):
    """The places that a network of this kind puts in order."""
    return found[:FEW] if kind.startswith("least") else found


def in_order(given):
    made = given.copy()
    for row in range(order.SIDE):
        keys = [given[:, part, row] for part in reversed(range(given.shape[1]))]
        made[:, :, row] = given[np.lexsort(keys), :, row]
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["portable", "host"])
def test_every_count(kind, target):
    target = named(_core.host_target() if target == "host" else target)
    text = dict(order.parts(target))[kind]
    address = loaded().addresses(object_code(text, target), [kind])[0]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    rng = np.random.default_rng(0)
    for count in COUNTS:
        given = entries(rng, count, KINDS[kind])
        wanted = in_order(given)
        call(given.ctypes.data, count, order.SIDE)
        np.testing.assert_array_equal(seen(kind, given), seen(kind, wanted), str(count))


@pytest.mark.parametrize("name", EMULATORS)
def test_other_processors(name, tmp_path):
    emulator = EMULATORS[name]
    if emulator.missing:
        pytest.skip(f"needs {' and '.join(emulator.missing)} (see emulation/__init__.py)")
    program, rng, found = Program(emulator, tmp_path), np.random.default_rng(1), []
    for kind, text in order.parts(emulator.target):
        program.add(text)
        for count in (8, 16, 24, 40, 72, 136, 264, 1000):
            given = entries(rng, count, KINDS[kind])
            found.append((kind, count, given, in_order(given)))
            program.call(kind, given, count, order.SIDE)
    program.run()
    for kind, count, got, wanted in found:
        np.testing.assert_array_equal(seen(kind, got), seen(kind, wanted), f"{kind} {count}")
