"""Programs that were optimised once are on disk: a second process runs no pass and compiles no kernel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thixo as tx
from thixo.passes import optimize
from thixo.runtime import cache, kept

TRAINING = """
import json, sys
import thixo as tx
from thixo import nn, static
from thixo.passes import manager
from thixo.codegen.llvm import compile

ran = {"passes": 0, "kernels": 0}
run, code = manager._run, compile.object_code

def counted(name, function):
    def call(*args, **options):
        ran[name] += 1
        return function(*args, **options)
    return call

manager._run = counted("passes", run)
compile.object_code = counted("kernels", code)
tx.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 3))
with static.Graph() as g:
    x = static.placeholder((None, 12), tx.float32, "x")
    loss = model(x).square().mean()
    train = tx.optim.SGD(model.parameters(), 0.01).minimize(loss)
step = static.Session(g).bind([loss, train], [x])
ran["losses"] = [float(step(tx.ones(5, 12))[0]) for _ in range(3)]
print(json.dumps(ran))
"""


def trained(folder: Path) -> dict:
    environment = {**os.environ, "THIXO_CACHE": str(folder)}
    command = [sys.executable, "-c", TRAINING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_second_process_runs_no_pass_and_compiles_no_kernel(tmp_path):
    first, second = trained(tmp_path / "kept"), trained(tmp_path / "kept")
    assert first["passes"]
    assert not second["passes"]
    assert not second["kernels"]
    assert first["losses"] == second["losses"]


@pytest.fixture
def folder(tmp_path):
    cache.use(tmp_path / "kept")
    yield tmp_path / "kept"
    cache.use(None)


def graph_of(weights: np.ndarray):
    with tx.static.Graph("f") as g:
        x = tx.static.placeholder((None, 4), tx.float32, "x")
        w = tx.static.constant(weights, "w")
        y = (x @ (w * 2 + 1)).tanh() * 1
    return tx.static.Session(g).bind(y, [x])


def test_constants_that_passes_computed_are_those_of_the_same_data(folder):
    x = tx.ones(3, 4)
    for fill in (1.0, 2.0, 1.0):
        weights = np.full((4, 6), fill, np.float32)
        found = graph_of(weights)(x)
        assert np.array_equal(
            found.numpy(), np.tanh(np.full((3, 6), 4 * (2 * fill + 1), np.float32))
        )


def entries(folder: Path) -> list[Path]:
    """Files that hold programs, not kernels."""
    return [f for f in folder.iterdir() if b'"text"' in f.read_bytes()]


def some_graph():
    return tx.jit.trace(lambda x, w: (x * 1 @ w).exp().sum(0), (tx.ones(3, 4), tx.ones(4, 2))).graph


def test_what_data_decided_holds_for_that_data(folder):
    """Constants that stay as they are, and a number of turns that was found from them."""
    for count in (1, 2, 1, 3):
        data = np.ones(40, np.float32)
        data[:count] = 2
        with tx.static.Graph() as g:
            x = tx.static.placeholder((40,), tx.float32, "x")
            c = tx.static.constant(tx.tensor(data), "c")
            turns = (c > 1.5).sum()
            y, _ = tx.static.while_loop(
                lambda y, i, turns=turns: i < turns,
                lambda y, i: (y + 1, i + 1),
                (x * c, tx.zeros((), dtype=tx.int64)),
            )
        assert tx.static.Session(g).run(y, {x: tx.zeros(40)}).tolist() == [count] * 40


def test_a_damaged_entry_is_made_anew(folder):
    graph = some_graph()
    wanted = optimize(graph).graph
    assert kept.optimized(graph) == wanted
    (entry,) = entries(folder)
    data = bytearray(entry.read_bytes())
    for at in range(0, len(data), max(1, len(data) // 50)):
        entry.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        assert kept.optimized(graph) == wanted
    entry.write_bytes(data[: len(data) // 2])
    assert kept.optimized(graph) == wanted


def test_an_entry_that_says_something_else_is_not_taken(folder):
    graph = some_graph()
    wanted = optimize(graph).graph
    key = kept._key(graph, [], None)
    good = kept._packed(graph, wanted, False)
    other = tx.jit.trace(lambda x: x.exp(), tx.ones(3)).graph
    texts = ["", "graph f() {\n  return\n}", "x" * 1000, "[" * 5000]
    odd = [b"", b"\0" * 8, b"\xff" * 64, good[:40], kept._packed(other, other, False)]
    for text in texts:
        head = json.dumps(
            {"text": text, "lines": [], "same": {}, "arrays": {}, "digest": ""}
        ).encode()
        odd.append(len(head).to_bytes(8, "little") + head)
    for entry in odd:
        cache.put(key, entry)  # with a right checksum
        assert kept.optimized(graph) == wanted


def test_options_and_lines_are_part_of_the_key():
    graph = some_graph()
    keys = {
        kept._key(graph, [], None),
        kept._key(graph, ["fuse"], None),
        kept._key(graph, [], 0.5),
    }
    graph.nodes[0].source = "elsewhere.py:1"
    keys.add(kept._key(graph, [], None))
    assert len(keys) == 4
