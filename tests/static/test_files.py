"""Graphs in files: what comes back, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutated_files import mutations, save_changed

import thixo as tx
from thixo.errors import SerializationError

static = tx.static
GOLDEN = Path(__file__).parent.parent / "golden" / "static-1.thixo"


def trained(optimizer="Adam", steps=3):
    """A session with everything that a file has to keep, some steps into its training."""
    tx.manual_seed(0)
    net = tx.nn.Sequential(
        tx.nn.Linear(4, 6),
        tx.nn.BatchNorm1d(6),
        tx.nn.Dropout(0.2),
        tx.nn.Tanh(),
        tx.nn.Linear(6, 2),
    )
    with static.Graph("small") as g:
        x = static.placeholder((None, 4), tx.float32, "x")
        rate = static.placeholder((), tx.float32, "rate")
        table = static.constant(tx.arange(24).reshape(6, 4).to(tx.float32) / 24, "table")
        h = net(x @ table.t() @ table)
        h = static.cond(h.sum() > 0, lambda: h * 2, lambda: h - 1)
        last, _ = static.scan(lambda s, row: (s + row * row, None), tx.zeros(2), h)
        loss = static.named(last.mean(), "loss")
        turns = static.variable(0, name="turns")
        with static.control_dependencies([static.assign(turns, turns + 1, name="count")]):
            static.named(turns * 10, "counted")
        getattr(tx.optim, optimizer)(net.parameters(), lr=rate).minimize(loss, clip_norm=1.0)
    session = static.Session(g)
    train(session, steps)
    return session


def train(session, steps):
    batch = (tx.arange(20).reshape(5, 4).to(tx.float32) - 9) / 10
    return [
        session.run(["loss", "train"], {"x": batch, "rate": 0.01})[0].item() for _ in range(steps)
    ]


@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "RAdam"])
def test_training_goes_on_bit_for_bit(tmp_path, name):
    session = trained(name)
    session.save(tmp_path / "a.thixo")
    state = tx.get_rng_state()
    expected = train(session, 5)
    tx.set_rng_state(state)
    again = static.load(tmp_path / "a.thixo")
    assert train(again, 5) == expected
    for value, variable in session.graph.variables.items():
        assert tx.equal(again.run(value.name), variable.data.detach())


def test_the_generator_goes_on_where_it_was(tmp_path):
    session = trained()
    session.save(tmp_path / "a.thixo")
    expected = train(session, 2)
    tx.manual_seed(99)
    assert train(static.load(tmp_path / "a.thixo", random=True), 2) == expected


def test_another_process_needs_none_of_the_source(tmp_path):
    session = trained()
    session.save(tmp_path / "a.thixo")
    expected = train(session, 3)
    program = f"""
import sys
sys.modules["thixo.nn"] = sys.modules["thixo.optim"] = None  # the model's code cannot be imported
import thixo as tx
session = tx.static.load({str(tmp_path / "a.thixo")!r}, random=True)
batch = (tx.arange(20).reshape(5, 4).to(tx.float32) - 9) / 10
print([session.run(["loss", "train"], {{"x": batch, "rate": 0.01}})[0].item() for _ in range(3)])
print(session.run("counted").item())
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(tx.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    losses, counted = done.stdout.splitlines()
    assert json.loads(losses) == expected
    assert counted == "10"


def test_constants_are_constants_after_loading(tmp_path):
    # Kernels prepare weights that nobody can change; such a graph must run the same way when it is loaded.
    weight, x = tx.randn(64, 64, 3, 3), tx.randn(1, 64, 24, 24)
    with tx.static.Graph() as g:
        fed = tx.static.placeholder((None, 64, 24, 24), tx.float32, "x")
        made = tx.nn.functional.conv2d(fed, tx.static.constant(weight), padding=1)
        y = tx.static.named(made.relu(), "y")
    session = tx.static.Session(g)
    expected, needs = session.run(y, {fed: x}), session.plan(y, {fed: x}).needs
    session.save(tmp_path / "conv.thixo")
    again = tx.static.load(tmp_path / "conv.thixo")
    assert again.run("y", {"x": x}).tolist() == expected.tolist()
    assert again.plan("y", {"x": x}).needs == needs
    assert needs["prepared"] > 0


def test_a_loaded_graph_has_its_lines_and_can_grow(tmp_path):
    session = trained()
    session.save(tmp_path / "a.thixo")
    again = static.load(tmp_path / "a.thixo")
    assert [n.source for n in again.graph.program.nodes] == [
        n.source for n in session.graph.program.nodes
    ]
    with again.graph:
        twice = again.graph.tensor("loss") * 2
    feeds = {"x": tx.zeros(1, 4), "rate": 0.1}
    tx.manual_seed(0)
    loss = again.run("loss", feeds)
    tx.manual_seed(0)
    assert again.run(twice, feeds).item() == 2 * loss.item()
    with pytest.raises(tx.ThixoError, match=r"x: f32\[n, 4\] is not fed.*\(test_files.py:\d+\)"):
        again.run("loss")


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    session = trained(steps=1)
    path = tmp_path / "a.thixo"
    session.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises((OSError, tx.ThixoError)):
        session.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.thixo"]


def test_the_golden_file_of_version_1_still_loads_and_trains():
    session = static.load(GOLDEN, random=True)
    expected = json.loads(GOLDEN.with_suffix(".json").read_text())
    assert train(session, 3) == pytest.approx(expected, rel=1e-4)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    tx.save({"weight": tx.ones(2)}, path)
    with pytest.raises(SerializationError, match="is no static graph"):
        static.load(path)
    path.write_bytes(b"")
    with pytest.raises(SerializationError, match="it has 0 bytes"):
        static.load(path)
    with pytest.raises(OSError, match="nothing"):
        static.load(tmp_path / "nothing")


def change(contents, **parts):
    return {**contents, **parts}


def in_table(contents, **parts):
    return {**contents, "about": json.dumps({**json.loads(contents["about"]), **parts})}


def swapped(text):
    """A graph whose last two nodes stand in the wrong order."""
    lines = text.split("\n")
    at = [i for i, line in enumerate(lines) if " = " in line]
    lines[at[-1]], lines[at[-2]] = lines[at[-2]], lines[at[-1]]
    return "\n".join(lines)


REFUSED = {
    "is of version 2, and this Thixo reads up to 1": lambda c: change(c, version=2),
    "has no version": lambda c: change(c, version="1"),
    "its parts are not those": lambda c: change(c, more=1),
    "there is no operator 'magic'": lambda c: in_table(c, operators={"magic": 1}),
    "operator add is of version 9": lambda c: in_table(
        c, operators={**json.loads(c["about"])["operators"], "add": 9}
    ),
    "table of operators": lambda c: in_table(c, operators={"add": 1}),
    "its inputs are not": lambda c: in_table(c, placeholders=[["x", None]]),
    "no input of its graph": lambda c: in_table(c, placeholders=[["y", None]]),
    "there is no value 'nothing'": lambda c: in_table(c, labels={"a": "nothing"}),
    "inner sizes differ": lambda c: change(
        c, graph=c["graph"].replace("x: f32[n, 4]", "x: f32[n, 5]")
    ),
    "arithmetic is for numbers": lambda c: change(
        c, graph=c["graph"].replace("mean(", "mean('a' * 999999999, ", 1)
    ),
    "exponent": lambda c: change(c, graph=c["graph"].replace("f32[n, 4]", "f32[9**9**9, 4]", 1)),
    "waits for what comes after it": lambda c: in_table(c, controls=[["transpose", ["train"]]]),
    "is not defined": lambda c: change(c, graph=swapped(c["graph"])),
    "would have": lambda c: change(
        c,
        graph="graph small(x: f32[n, 4], big: f32[999999999999]) {\n"
        "  y: f32[] = unbind(big)\n  return\n}",
    ),
}


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "a.thixo"
    trained(steps=1).save(path)
    return tx.load(path)


@pytest.mark.parametrize("message", REFUSED)
def test_files_that_say_what_cannot_be_are_refused(tmp_path, contents, message):
    path = tmp_path / "a.thixo"
    save_changed(path, REFUSED[message](dict(contents)))
    with pytest.raises(SerializationError, match=message):
        static.load(path)


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "a.thixo"
    trained(steps=1).save(path)
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    with pytest.raises(SerializationError, match="checksum"):
        static.load(path)


def test_mutated_files_are_refused_or_harmless(tmp_path):
    path = tmp_path / "a.thixo"
    trained(steps=1).save(path)
    assert mutations(path, count=100, seed=0) > 50  # most are refused, the rest loads


@pytest.mark.parametrize("name", ["two words", "for", "n", "x/y", "1st", "'\"\\", "\n", "é"])
def test_names_that_a_program_cannot_write_are_kept_as_they_were_given(name, tmp_path):
    with static.Graph() as g:
        x = static.placeholder((None, 2), tx.float32, name)
        with static.name_scope("layer"):
            w = static.variable(tx.ones(2), name=name)
        static.named(x @ w, "out")
    static.Session(g).save(tmp_path / "g")
    for session in (static.Session(g), static.load(tmp_path / "g")):
        assert session.run("out", {name: tx.ones(3, 2)}).tolist() == [2, 2, 2]
        assert session.run(f"layer/{name}").tolist() == [1, 1]
