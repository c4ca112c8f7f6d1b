"""tx.save and tx.load: what goes in comes out, other programs can read it, and bad files are refused."""

import contextlib
import gzip
import io
import json
import os
import pickle
import struct
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.dtype import ALL
from thixo.errors import ArgumentError, DeviceError, OutOfMemory, SerializationError

GOLDEN = Path(__file__).parent / "golden" / "save_v1.safetensors"


def round_trip(obj, **options):
    file = io.BytesIO()
    tx.save(obj, file)
    file.seek(0)
    return tx.load(file, **options)


def same(a, b):
    """Equal in type, value, dtype and shape, bit for bit."""
    if isinstance(a, tx.Tensor):
        if not isinstance(b, tx.Tensor) or a.dtype is not b.dtype or a.shape != b.shape:
            return False
        return a.detach().numpy().tobytes() == b.detach().numpy().tobytes()
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


# ---- what goes in comes out


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_every_dtype_and_shape(dtype, shape):
    x = tx.arange(int(np.prod(shape))).reshape(shape).to(dtype)
    assert same(round_trip(x), x)


def test_special_numbers_keep_their_bits():
    x = tx.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 5e-324], dtype=tx.float64)
    assert same(round_trip(x), x)


def test_nested_structures():
    obj = OrderedDict(
        model={"fc.weight": tx.ones(2, 3), "fc.bias": tx.zeros(2)},
        optimizer={
            "state": {0: {"step": tx.tensor(3.0), "exp_avg": tx.ones(2, 3)}, 1: {}},
            "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0, 1], "fused": None}],
        },
        epoch=7,
        big=10**40,
        name="é\n\u2028",
        done=False,
        worst=float("inf"),
        best=float("-inf"),
        none=float("nan"),
        z=1 - 2j,
        kind=tx.bfloat16,
        place=tx.device("cpu"),
        shape=tx.ones(2, 3).shape,
        keys={None: 1, True: 2, 1.5: 3, (1, ("a", None)): 4},
        empty=[(), [], {}],
    )
    assert same(round_trip(obj), obj)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.complex_numbers()
keys = st.text(max_size=5) | st.integers() | st.booleans() | st.none()


@given(
    st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=4).map(tuple)
            | st.dictionaries(keys, inner, max_size=4)
        ),
        max_leaves=20,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_structure(obj):
    assert same(round_trip(obj), obj)


def test_layouts_and_gradients():
    x = tx.arange(24.0).reshape(2, 3, 4)
    for view in (x.permute(2, 0, 1), x[:, 1], x[..., ::2], x[1:, :, 2:], tx.ones(1).expand(3, 2)):
        assert same(round_trip(view), view.contiguous())
    p = tx.ones(2, requires_grad=True)
    loaded = round_trip({"p": p, "q": p.detach()})
    assert loaded["p"].requires_grad
    assert loaded["p"].is_leaf
    assert not loaded["q"].requires_grad


def test_modules_and_their_versions():
    model = tx.nn.Sequential(tx.nn.Linear(3, 2), tx.nn.BatchNorm1d(2))
    state = model.state_dict()
    loaded = round_trip(state)
    assert same(loaded, state)
    assert loaded._metadata == state._metadata
    other = tx.nn.Sequential(tx.nn.Linear(3, 2), tx.nn.BatchNorm1d(2))
    other.load_state_dict(loaded)
    x = tx.ones(4, 3)
    assert same(other(x), model(x))


# ---- shared memory


def test_tied_weights_are_stored_once_and_tied_again():
    weight = tx.zeros(1000)
    file = io.BytesIO()
    tx.save({"embed": weight, "head": weight, "detached": weight.detach()}, file)
    assert file.tell() < 5000
    file.seek(0)
    loaded = tx.load(file)
    assert loaded["embed"] is loaded["head"]
    assert loaded["embed"] is not loaded["detached"]
    loaded["head"][0] = 5.0
    assert loaded["detached"][0] == 5.0


def test_parts_are_views_of_their_whole():
    x = tx.arange(12.0).reshape(3, 4)
    loaded = round_trip({"row": x[1], "x": x, "turned": x.T, "corner": x[1:, 2:]})
    for name, part in {"row": x[1], "turned": x.T, "corner": x[1:, 2:]}.items():
        assert same(loaded[name].contiguous(), part.contiguous())
    loaded["x"].mul_(10)
    assert loaded["row"].tolist() == [40, 50, 60, 70]
    assert loaded["turned"][3, 2] == 110
    assert loaded["corner"][0, 0] == 60


def test_parts_in_common_without_a_whole():
    x = tx.arange(12.0).reshape(3, 4)
    loaded = round_trip([x[:2], x[1:], x[1, 1:3]])
    assert same(loaded[0], x[:2])
    assert same(loaded[1], x[1:])
    loaded[1][0, 1] = 50.0
    assert loaded[0][1, 1] == 50
    assert loaded[2][0] == 50


def test_neighbours_in_one_memory_are_entries_of_their_own():
    x = tx.arange(12.0).reshape(3, 4)
    file = io.BytesIO()
    tx.save({"left": x[:, :2], "right": x[:, 2:], "first": x[0:1, 0:1] + 0}, file)
    found = safetensors.numpy.load(file.getvalue())
    assert np.array_equal(found["left"], x[:, :2].numpy())
    assert np.array_equal(found["right"], x[:, 2:].numpy())


# ---- other programs


def test_state_dicts_are_plain_safetensors():
    state = {
        "layer.weight": tx.arange(6.0).reshape(2, 3),
        "layer.bias": tx.tensor([1, 2], dtype=tx.int16),
        "mask": tx.tensor([True, False, True]),
        "count": tx.tensor(3),
        "unsigned": tx.tensor([2**63 + 1], dtype=tx.uint64),
        "turned": tx.arange(6.0).reshape(2, 3).T,
        "none": tx.zeros(0, 4),
    }
    file = io.BytesIO()
    tx.save(state, file)
    found = safetensors.numpy.load(file.getvalue())
    assert set(found) == set(state)
    for name, tensor in state.items():
        assert found[name].dtype == tensor.numpy().dtype
        assert np.array_equal(found[name], tensor.numpy())


def test_nested_tensors_have_their_path_as_name():
    file = io.BytesIO()
    tx.save({"a": {"b.c": tx.ones(1)}, "s": {0: [tx.ones(2)]}, "a.b": {"c": tx.ones(3)}}, file)
    found = safetensors.numpy.load(file.getvalue())
    assert {name: a.size for name, a in found.items()} == {"a.b.c": 1, "s.0.0": 2, "a.b.c#2": 3}


def test_complex_tensors_are_pairs_of_reals_for_others():
    file = io.BytesIO()
    tx.save({"z": tx.tensor([1 + 2j, 3 - 4j])}, file)
    found = safetensors.numpy.load(file.getvalue())
    assert found["z"].tolist() == [[1, 2], [3, -4]]


def test_files_of_others_become_a_dict(tmp_path):
    arrays = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array(7, np.uint32)}
    safetensors.numpy.save_file(arrays, tmp_path / "x.safetensors", {"format": "np"})
    for mmap in (False, True):
        loaded = tx.load(tmp_path / "x.safetensors", mmap=mmap)
        assert set(loaded) == {"a", "b"}
        assert same(loaded["b"], tx.tensor(arrays["b"]))
        assert same(loaded["a"], tx.tensor(arrays["a"]))


def test_the_first_version_stays_readable():
    loaded = tx.load(GOLDEN)
    assert same(loaded, golden_object())
    loaded["tied"][0][0] = 9.0
    assert loaded["tied"][1][0] == 9.0
    assert loaded["row"][0] == 0.0


def golden_object():
    x = tx.arange(6.0).reshape(2, 3)
    tied = tx.ones(2, dtype=tx.bfloat16)
    return {
        "x": x,
        "row": x[0],
        "tied": (tied, tied),
        "z": tx.tensor([1 + 2j], dtype=tx.complex128),
        "state": OrderedDict({0: {"step": 1, "lr": 0.5, "bad": float("nan")}}),
        "text": ["é", None, True],
    }


# ---- files


def test_paths_files_and_streams(tmp_path):
    x = {"x": tx.arange(3)}
    for path in (tmp_path / "a.safetensors", str(tmp_path / "b.safetensors")):
        tx.save(x, path)
        assert same(tx.load(path), x)
    with open(tmp_path / "c", "wb") as file:
        tx.save(x, file)
        tx.save([1, 2], file)
    with open(tmp_path / "c", "rb") as file:  # one after the other from one stream
        assert same(tx.load(file), x)
        assert tx.load(file) == [1, 2]
    with gzip.open(tmp_path / "d.gz", "wb") as file:
        tx.save(x, file)
    with gzip.open(tmp_path / "d.gz", "rb") as file:
        assert same(tx.load(file), x)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "a.safetensors",
        "b.safetensors",
        "c",
        "d.gz",
    ]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.safetensors"
    tx.save({"x": tx.ones(3)}, path)
    before = path.read_bytes()
    with pytest.raises(SerializationError):
        tx.save({"x": tx.zeros(3), "f": lambda: 0}, path)

    class Full(io.RawIOBase):
        def write(self, data):
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        tx.save({"x": tx.zeros(3)}, Full())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tx.save({"x": tx.zeros(3)}, tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_links_and_permissions_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    tx.save(1, link)
    assert link.is_symlink()
    assert tx.load(target) == 1
    assert target.stat().st_mode & 0o777 == 0o600


def test_mapped_files_are_read_lazily_and_never_changed(tmp_path):
    path = tmp_path / "x"
    x = tx.arange(100.0)
    tx.save(
        {"x": x, "z": tx.tensor([1j]), "odd": tx.ones(3, dtype=tx.int8), "none": tx.zeros(0)}, path
    )
    before = path.read_bytes()
    loaded = tx.load(path, mmap=True)
    loaded["x"].mul_(2)
    assert same(loaded["x"], x * 2)
    assert same(loaded["z"], tx.tensor([1j]))
    assert path.read_bytes() == before
    assert tx.load(path, mmap=False)["x"][3] == 3
    tx.save([], path)
    assert tx.load(path, mmap=True) == []


def test_map_location_and_weights_only():
    x = tx.ones(2)
    for place in (None, "cpu", tx.device("cpu"), {"cuda:0": "cpu"}):
        assert same(round_trip(x, map_location=place, weights_only=True), x)
    with pytest.raises(DeviceError, match="there is no device"):
        round_trip(x, map_location="tpu")
    with pytest.raises(ArgumentError, match="map_location must be a device"):
        round_trip(x, map_location=lambda storage, location: storage)


# ---- refusals


class Thing:
    pass


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Thing(), r"Thing, which is no tensor"),
        (lambda: 0, "function"),
        ({1, 2}, "of class set"),
        (b"bytes", "of class bytes"),
        (np.ones(2), r"numpy.ndarray.*make a tensor of it with tx.tensor"),
        (np.float32(1), r"numpy.float32.*\.item\(\)"),
        (defaultdict(list), "collections.defaultdict.*make a plain dict"),
        (Point(1, 2), "Point.*make a plain tuple"),
        (tx.nn.Linear(1, 1), r"save its state_dict\(\)"),
        (range(3), "of class range"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_objects_that_cannot_be_saved_are_named_by_place(value, words):
    with pytest.raises(SerializationError, match=words) as caught:
        tx.save({"model": [1, {"part": value}]}, io.BytesIO())
    assert "the object['model'][1]['part']" in str(caught.value)
    assert "test_serialization.py:" in str(caught.value)


def test_other_refusals_of_save(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(SerializationError, match=r"the object\[0\] contains itself"):
        tx.save(loop, io.BytesIO())
    deep = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(SerializationError, match="nested 200 deep"):
        tx.save(deep, io.BytesIO())
    with pytest.raises(SerializationError, match="a key of the object is b'k'"):
        tx.save({b"k": 1}, io.BytesIO())
    with pytest.raises(SerializationError, match="not valid Unicode"):
        tx.save({"x": "\ud800"}, io.BytesIO())
    with pytest.raises(ArgumentError, match="f must be a path or a binary file, got 3"):
        tx.save(1, 3)
    with pytest.raises(IsADirectoryError):
        tx.save(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        tx.save(1, tmp_path / "no" / "such")


def made(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def one(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"x": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


def about(**parts):
    whole = {"version": 1, "structure": {"tensor": 0}, "tensors": [{"entry": "x"}], **parts}
    return made({"__metadata__": {"thixo": json.dumps(whole)}, **one()}, b"1234")


BAD_FILES = {
    "empty": (b"", "it has 0 bytes|8 of 8 bytes are missing"),
    "short": (b"abc", "it has 3 bytes|cut short"),
    "pickle": (pickle.dumps({"x": 1}), "is a pickle. Thixo reads no pickle"),
    "old pickle": (b"\x80\x02}q\x00.......", "is a pickle"),
    "torch zip": (b"PK\x03\x04" + b"\x00" * 40, "torch.save.*Thixo reads no pickle"),
    "numpy": (b"\x93NUMPY\x01\x00" + b" " * 100, "is a NumPy file"),
    "gzip": (gzip.compress(b"x" * 100), "compressed with gzip"),
    "text": (b"hello, this is text\n", "is no safetensors file|announces a header"),
    "cut header": (made(one(), b"1234")[:30], "cut short"),
    "cut data": (made(one(), b"12"), "cut short"),
    "huge header": (made(b"{}", length=2**62), "is no safetensors file|announces a header"),
    "no json": (made(b"{nonsense"), "its header is no JSON"),
    "not utf-8": (made(b'{"\xff": 1}'), "its header is no JSON"),
    "list": (made([1]), r"its header is \[1\]"),
    "deep json": (made(b"[" * 100_000), "its header is no JSON"),
    "twice": (made(b'{"x": 1, "x": 2}'), "'x' stands in it twice"),
    "bad metadata": (made({"__metadata__": {"a": 1}}), "metadata that is not a table of texts"),
    "bad entry": (made({"x": 3}), "tensor 'x' must have dtype, shape and data_offsets, got 3"),
    "dtype": (made(one("F8_E4M3", (4,)), b"1234"), "has the type 'F8_E4M3'; known are BOOL"),
    "dtype kind": (made(one(["F32"]), b"1234"), "has the type"),
    "shape": (made(one(shape=(-1,)), b"1234"), r"has the shape \[-1\]"),
    "bool shape": (made(one(shape=(True,)), b"1234"), "has the shape"),
    "float shape": (made(one(shape=(1.0,)), b"1234"), "has the shape"),
    "offsets": (made(one(offsets=(4, 0)), b"1234"), "has the offsets"),
    "size": (made(one(shape=(2,)), b"1234"), r"has 4 bytes, and F32 of shape \[2\] takes 8"),
    "overflow": (made(one(shape=(2**62, 2**62)), b"1234"), "takes"),
    "axes": (made(one("U8", (1,) * 65, (0, 1)), b"1"), "has 1 bytes"),
    "gap": (made(one(offsets=(4, 8)), b"12341234"), "comes after a gap"),
    "overlap": (
        made({**one(), "y": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]}}, b"123456"),
        "overlaps the one before it",
    ),
    "bool values": (made(one("BOOL", (1,), (0, 1)), b"\x07"), "neither 0 nor 1"),
    "newer": (about(version=2), "written by a newer Thixo: version 2 .* reads up to 1"),
    "no version": (about(version="1"), "without a version"),
    "no tensors": (about(tensors=None), "parts missing"),
    "own no json": (made({"__metadata__": {"thixo": "{"}}), "'thixo' that is no JSON"),
    "missing entry": (about(tensors=[{"entry": "y"}]), "lacks the tensor 'y'"),
    "bad row": (about(tensors=[3]), "lacks the tensor None"),
    "number": (about(structure={"tensor": 1}), "has no tensor number 1"),
    "negative": (about(structure={"tensor": -1}), "structure that cannot be read"),
    "kind": (about(structure={"object": "os.system"}), "structure that cannot be read"),
    "two kinds": (about(structure={"list": [], "tuple": []}), "structure that cannot be read"),
    "pairs": (about(structure={"dict": [[1]]}), "structure that cannot be read"),
    "key": (about(structure={"dict": [[{"list": []}, 1]]}), r"a dict with the key \[\]"),
    "float": (about(structure={"float": "one"}), "structure that cannot be read"),
    "complex": (about(complex={"x": "complex64"}), "cannot be read as 'complex64'"),
    "view": (
        about(tensors=[{"entry": "x", "shape": [2], "strides": [1], "offset": 0}]),
        "does not fit the tensor 'x' of 1 elements",
    ),
    "view offset": (
        about(tensors=[{"entry": "x", "shape": [1], "strides": [1], "offset": -1}]),
        "does not fit the tensor",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(name, tmp_path):
    content, words = BAD_FILES[name]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    for source in (path, io.BytesIO(content)):
        with pytest.raises(SerializationError, match=words) as caught:
            tx.load(source)
        assert "test_serialization.py:" in str(caught.value)
    with pytest.raises(SerializationError, match=words):
        tx.load(path, mmap=True)


def test_more_data_than_announced_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(made(one(), b"12345678"))
    with pytest.raises(SerializationError, match="has more than its header announces"):
        tx.load(tmp_path / "x")


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_files_never_crash(data):
    file = io.BytesIO()
    x = tx.arange(6.0).reshape(2, 3)
    tx.save({"x": x, "row": x[0], "z": tx.tensor([1j]), "n": [1, None, "é"]}, file)
    content = bytearray(file.getvalue())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(SerializationError, DeviceError, OutOfMemory):
        tx.load(io.BytesIO(bytes(content)))


def test_other_refusals_of_load(tmp_path):
    with pytest.raises(FileNotFoundError):
        tx.load(tmp_path / "none")
    with pytest.raises(ArgumentError, match="f must be a path or a binary file, got None"):
        tx.load(None)
    with pytest.raises(ArgumentError, match="open it in binary mode"):
        tx.load(io.StringIO("text"))
    with pytest.raises(ArgumentError, match="mmap=True needs a path"):
        tx.load(io.BytesIO(), mmap=True)
