"""Save tensors, and structures of them, in safetensors files, and load them again.

A file is read by anything that reads safetensors: the tensors of a state dict are there under their
names. What else there was (numbers, texts, nested lists and dicts, which tensors shared memory) stands
as JSON in the file's metadata. No file contains code, and none is run.
"""

import json
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from thixo.device import as_device
from thixo.device import device as Device
from thixo.dtype import BY_NAME
from thixo.errors import ArgumentError, SerializationError, describe
from thixo.serialization import container
from thixo.serialization.memory import Layout, lay_out
from thixo.serialization.structure import Encoder, decode
from thixo.tensor import Tensor, from_numpy

__all__ = ["load", "save"]

KEY = "thixo"  # in the metadata: what Thixo writes about its own files
VERSION = 1  # of what stands there

File = str | os.PathLike[str] | BinaryIO


# ---- saving


def save(obj: Any, f: File) -> None:
    """Write an object to a file: tensors, numbers, texts, None, and lists, tuples and dicts of them.

    A file on disk appears whole or not at all: it is written beside its place and then moved there. Memory that
    tensors share is stored once, and shared again when loaded. Complex tensors are stored as
    real ones with a last axis of two.

    >>> import io, thixo as tx
    >>> file = io.BytesIO()
    >>> tx.save({"weight": tx.ones(2), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> tx.load(file)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    encoder = Encoder()
    structure = encoder.encode(obj)
    layout = lay_out(encoder.tensors)
    names = _names(layout, encoder.paths)
    about = {
        "version": VERSION,
        "structure": structure,
        "tensors": [
            _row(x, place, names) for x, place in zip(encoder.tensors, layout.places, strict=True)
        ],
    }
    complexes = {
        n: a.dtype.name for n, a in zip(names, layout.arrays, strict=True) if a.dtype.kind == "c"
    }
    if complexes:
        about["complex"] = complexes
    arrays = {n: _real(a) for n, a in zip(names, layout.arrays, strict=True)}
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    _write(f, lambda file: container.write(file, arrays, {KEY: text}))


def _names(layout: Layout, paths: list[str]) -> list[str]:
    """A name for each array: the path of the tensor that it is, as other readers expect."""
    taken = {container.METADATA}
    names = []
    for number, owner in enumerate(layout.owners):
        path = f"memory.{number}" if owner is None else paths[owner]
        name, count = path, 1
        while name in taken:
            count += 1
            name = f"{path}#{count}"
        taken.add(name)
        names.append(name)
    return names


def _row(tensor: Tensor, place: Any, names: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"entry": names[place.entry]}
    if place.view is not None:
        shape, strides, offset = place.view
        row.update(shape=list(shape), strides=list(strides), offset=offset)
    if tensor.requires_grad:
        row["requires_grad"] = True
    return row


def _real(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind != "c":
        return array
    array = np.ascontiguousarray(array).reshape(array.shape)  # which makes one axis of none
    return array[..., np.newaxis].view(array.real.dtype)


def _write(f: File, write: Callable[[BinaryIO], None]) -> None:
    if not isinstance(f, str | os.PathLike):
        if hasattr(f, "write"):
            write(f)
            return
        raise ArgumentError(f"save: f must be a path or a binary file, got {describe(f)}")
    path = Path(os.path.realpath(os.fspath(f)))  # so that a link stays a link
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with open(path, "wb") as file:  # a pipe or a device: nothing to move; a folder is refused
            write(file)
        return
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(6)}.part")
    try:
        with open(beside, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(beside, stat.S_IMODE(path.stat().st_mode))
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


# ---- loading


def load(
    f: File,
    map_location: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read what `save` wrote, or the tensors of any safetensors file as a dict.

    `map_location` is the device to load to. `mmap=True` maps a file on disk into memory, so that
    its tensors are read when they are used; what is changed in memory stays there. `weights_only` is
    accepted for PyTorch's sake: there is nothing else in a file.

    >>> import io, thixo as tx
    >>> file = io.BytesIO()
    >>> tx.save([tx.arange(3), "text"], file)
    >>> _ = file.seek(0)
    >>> tx.load(file)
    [tensor([0, 1, 2]), 'text']
    """
    _device_of(map_location)
    if not isinstance(f, str | os.PathLike):
        if hasattr(f, "read") and not mmap:
            return _load(f, None, _called(f), False)
        if mmap:
            raise ArgumentError(f"load: mmap=True needs a path, got {describe(f)}")
        raise ArgumentError(f"load: f must be a path or a binary file, got {describe(f)}")
    with open(f, "rb") as file:
        info = os.fstat(file.fileno())
        size = info.st_size if stat.S_ISREG(info.st_mode) else None
        return _load(file, size, repr(os.fspath(f)), bool(mmap))


def _called(f: Any) -> str:
    name = getattr(f, "name", None)
    return repr(name) if isinstance(name, str) else f"the {type(f).__name__}"


def _device_of(map_location: Any) -> None:
    """Check where to load to; all tensors are on the CPU so far."""
    if isinstance(map_location, dict):
        for place in map_location.values():
            as_device(place)
    elif map_location is None or isinstance(map_location, str | Device):
        as_device(map_location)
    else:
        raise ArgumentError(
            f"load: map_location must be a device, its name or a dict of names, got "
            f"{describe(map_location)}"
        )


def _load(file: BinaryIO, size: int | None, what: str, mapped: bool) -> Any:
    if size is not None and size < 8:
        raise SerializationError(f"load: {what} is no safetensors file: it has {size} bytes")
    header = container.read_header(file, size, what)
    about = _about(header, what)
    complexes = about.get("complex", {}) if about else {}
    arrays: dict[str, np.ndarray] = {}
    # Copy-on-write: the file itself is never changed. An empty file cannot be mapped.
    memory = (
        np.memmap(file, np.uint8, "c", header.length) if mapped and header.data_length else None
    )
    for name, entry in container.in_order(header):
        if memory is None:
            array = container.read_array(file, entry, what)
        else:
            array = container.map_array(memory, entry, what)
        arrays[name] = _complex(array, complexes[name], name, what) if name in complexes else array
    if about is None:
        return {name: from_numpy(arrays[name]) for name in header.entries}
    return _rebuild(about, arrays, what)


def _about(header: container.Header, what: str) -> dict[str, Any] | None:
    """What Thixo wrote about the file; None for a file of another program."""
    text = header.metadata.get(KEY)
    if text is None:
        return None
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SerializationError(
            f"load: {what} has metadata {KEY!r} that is no JSON ({error})"
        ) from None
    version = about.get("version") if isinstance(about, dict) else None
    if type(version) is not int or version < 1:
        raise SerializationError(f"load: {what} has metadata {KEY!r} without a version")
    if version > VERSION:
        raise SerializationError(
            f"load: {what} was written by a newer Thixo: version {version} of the format, and this "
            f"one reads up to {VERSION}"
        )
    rows, complexes = about.get("tensors"), about.get("complex", {})
    if not isinstance(rows, list) or not isinstance(complexes, dict) or "structure" not in about:
        raise SerializationError(f"load: {what} has metadata {KEY!r} with parts missing")
    return about


def _complex(array: np.ndarray, name: Any, entry: str, what: str) -> np.ndarray:
    real = {"complex64": np.float32, "complex128": np.float64}.get(str(name))
    if real is None or array.dtype != real or array.shape[-1:] != (2,):
        raise SerializationError(
            f"load: {what}: tensor {entry!r} is {describe(array)} and cannot be read as {name!r}"
        )
    return array.view(BY_NAME[name].numpy)[..., 0]


def _rebuild(about: dict[str, Any], arrays: dict[str, np.ndarray], what: str) -> Any:
    rows = about["tensors"]
    bases: dict[str, Tensor] = {}
    made: dict[int, Tensor] = {}

    def tensor(number: int) -> Tensor:
        if number not in made:
            if number >= len(rows):
                raise SerializationError(f"load: {what} has no tensor number {number}")
            made[number] = _tensor(rows[number], arrays, bases, what)
        return made[number]

    return decode(about["structure"], tensor, what)


def _tensor(row: Any, arrays: dict[str, np.ndarray], bases: dict[str, Tensor], what: str) -> Tensor:
    entry = row.get("entry") if isinstance(row, dict) else None
    if not isinstance(entry, str) or entry not in arrays:
        raise SerializationError(
            f"load: {what} lacks the tensor {entry!r} that its structure names"
        )
    if entry in bases:
        made = bases[entry].detach()  # another tensor over the same memory
    else:
        made = bases[entry] = from_numpy(arrays[entry])
    if "shape" in row:
        made = _view(made, row, entry, what)
    elif made is bases[entry]:
        bases[entry] = made.detach()  # so that requires_grad concerns this one alone
    if row.get("requires_grad") is True:
        if not (made.dtype.is_floating_point or made.dtype.is_complex):
            raise SerializationError(f"load: {what}: a gradient of {describe(made)} is asked for")
        made.requires_grad_()
    return made


def _view(base: Tensor, row: dict[str, Any], entry: str, what: str) -> Tensor:
    shape: Any = row["shape"]
    strides: Any = row.get("strides")
    offset: Any = row.get("offset")
    plain = all(
        isinstance(part, list) and all(type(n) is int and 0 <= n < 2**62 for n in part)
        for part in (shape, strides, [offset])
    )
    if plain and len(shape) == len(strides) <= 64:
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if 0 in shape or last < base.numel():
            return base.as_strided(shape, strides, offset)
    raise SerializationError(
        f"load: {what} has a view with shape {shape}, strides {strides} and offset {offset}, which "
        f"does not fit the tensor {entry!r} of {base.numel()} elements"
    )
