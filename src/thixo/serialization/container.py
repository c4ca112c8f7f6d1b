"""The safetensors container: named arrays and text in one file, and nothing that could run.

    8 bytes       the length of the header, little-endian
    the header    JSON: {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}, ...}
    the data      each array in row-major order, one after the other, without gaps

Reading trusts nothing: every length, offset and type is checked before an array is made of it.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from thixo.dtype import BY_NAME, DType
from thixo.errors import ArgumentError, OutOfMemory, SerializationError, describe

METADATA = "__metadata__"
HEADER_LIMIT = 100_000_000  # bytes; readers of the format refuse more
PIECE = 1 << 24  # bytes read at a time, so that a length that is a lie costs no more than this

_TYPES: dict[str, DType] = {
    "BOOL": BY_NAME["bool"],
    **{f"{kind[0].upper()}{bits}": BY_NAME[f"{kind}{bits}"]
       for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"F{bits}": BY_NAME[f"float{bits}"] for bits in (16, 32, 64)},
    "BF16": BY_NAME["bfloat16"],
    "C64": BY_NAME["complex64"],
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _TYPES.items() if not dtype.is_complex}


class Entry(NamedTuple):
    """Where an array is in the data, and what it is."""

    dtype: DType
    shape: tuple[int, ...]
    start: int
    stop: int


class Header(NamedTuple):
    """What a file has in it."""

    entries: dict[str, Entry]
    metadata: dict[str, str]
    length: int  # of the header and its own length, in bytes
    data_length: int


# ---- writing


def write(file: BinaryIO, arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write arrays (real ones, in any layout) and text to a binary file."""
    # Wide elements first, so that every array is aligned and can be mapped into memory.
    names = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    header: dict[str, Any] = {METADATA: metadata} if metadata else {}
    start = 0
    for name in names:
        array = arrays[name]
        stop = start + array.size * array.itemsize
        header[name] = {
            "dtype": _NAMES[_dtype_of(array)],
            "shape": list(array.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    try:
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise SerializationError(f"save: a name or a text is not valid Unicode: {error}") from None
    encoded += b" " * (-len(encoded) % 8)
    if len(encoded) > HEADER_LIMIT:
        raise SerializationError(
            f"save: names, numbers and texts take {len(encoded)} bytes, and the format allows "
            f"{HEADER_LIMIT}; keep large lists of numbers in tensors"
        )
    file.write(len(encoded).to_bytes(8, "little"))
    file.write(encoded)
    for name in names:
        _write_array(file, arrays[name])


def _dtype_of(array: np.ndarray) -> DType:
    return BY_NAME[array.dtype.name]


def _write_array(file: BinaryIO, array: np.ndarray) -> None:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    raw = np.ascontiguousarray(little).reshape(-1).view(np.uint8)
    if raw.size:
        file.write(raw.data)


# ---- reading


def read_header(file: BinaryIO, size: int | None, what: str) -> Header:
    """Read and check the header; `size` is the length of the whole file where that is known."""
    first = _read(file, 8, what)
    _refuse_foreign(first, what)
    length = int.from_bytes(first, "little")
    if size is not None and length > size - 8:
        if length <= HEADER_LIMIT:
            raise SerializationError(
                f"load: {what} is cut short: its header should have {length} bytes, and {size - 8} "
                "are left in the file"
            )
        raise SerializationError(f"load: {what} is no safetensors file: it begins with {first!r}")
    if length > HEADER_LIMIT:
        raise SerializationError(
            f"load: {what} announces a header of {length} bytes; at most {HEADER_LIMIT} are allowed"
        )
    text = _read(file, length, what)
    entries, metadata = _parse(text, what)
    data_length = _check_places(entries, what)
    if size is not None and size != 8 + length + data_length:
        left = size - 8 - length
        how = "is cut short" if left < data_length else "has more than its header announces"
        raise SerializationError(
            f"load: {what} {how}: its tensors take {data_length} bytes, and the file has {left}"
        )
    return Header(entries, metadata, 8 + length, data_length)


def read_array(file: BinaryIO, entry: Entry, what: str) -> np.ndarray:
    """Read the array at the file's position."""
    try:
        array = np.empty(entry.shape, entry.dtype.numpy.newbyteorder("<"))
    except MemoryError:
        raise OutOfMemory(
            f"load: {what} announces a tensor of {entry.stop - entry.start} bytes"
        ) from None
    raw = array.reshape(-1).view(np.uint8)
    filled = 0
    while filled < raw.size:
        filled += _read_into(file, raw[filled : filled + PIECE], what)
    return _checked(array, entry, what)


def _read_into(file: BinaryIO, raw: np.ndarray, what: str) -> int:
    """Fill some bytes from a file; how many."""
    if hasattr(file, "readinto"):
        count = file.readinto(raw.data)
        if count:
            return int(count)
    part = _read(file, raw.size, what)
    raw[:] = np.frombuffer(part, np.uint8)
    return raw.size


def map_array(memory: np.ndarray, entry: Entry, what: str) -> np.ndarray:
    """The array in a file that is mapped into memory as bytes."""
    raw = memory[entry.start : entry.stop]
    array = raw.view(entry.dtype.numpy.newbyteorder("<")).reshape(entry.shape)
    if not array.flags.aligned:  # a file of another program may put it anywhere
        array = array.copy()
    return _checked(array, entry, what)


def in_order(header: Header) -> Iterator[tuple[str, Entry]]:
    """The entries in the order of their data."""
    return iter(sorted(header.entries.items(), key=lambda item: item[1].start))


def _checked(array: np.ndarray, entry: Entry, what: str) -> np.ndarray:
    if entry.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise SerializationError(f"load: {what} has a boolean that is neither 0 nor 1")
    return array.astype(entry.dtype.numpy, copy=False)


def _read(file: BinaryIO, count: int, what: str) -> bytes:
    parts: list[bytes] = []
    missing = count
    while missing > 0:
        part = file.read(min(missing, PIECE))
        if isinstance(part, str):
            raise ArgumentError(f"load: {what} gives text; open it in binary mode, 'rb'")
        if not part:
            raise SerializationError(
                f"load: {what} is cut short: {missing} of {count} bytes are missing"
            )
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


_FOREIGN = (
    (b"PK\x03\x04", "a zip archive, as torch.save and numpy.savez write"),
    (b"\x93NUMPY", "a NumPy file (.npy); read it with numpy.load and tx.from_numpy"),
    (b"\x89HDF", "an HDF5 file"),
    (b"GGUF", "a GGUF file"),
    (b"\x1f\x8b", "compressed with gzip; open it with gzip.open and give that to load"),
)


def _refuse_foreign(first: bytes, what: str) -> None:
    # A header's length may begin with the same two bytes; read as a length, a pickle's are far too large.
    length = int.from_bytes(first, "little")
    is_pickle = first[:1] == b"\x80" and first[1] in range(2, 6) and length > HEADER_LIMIT
    if is_pickle or first.startswith(b"PK\x03\x04"):
        kind = "a pickle" if is_pickle else _FOREIGN[0][1]
        raise SerializationError(
            f"load: {what} is {kind}. Thixo reads no pickle, because reading one can run any code. "
            "In the program that wrote it use safetensors.torch.save_file(state_dict, path), and "
            "load that file"
        )
    for start, meaning in _FOREIGN:
        if first.startswith(start):
            raise SerializationError(f"load: {what} is {meaning}")


def _parse(text: bytes, what: str) -> tuple[dict[str, Entry], dict[str, str]]:
    try:
        found = json.loads(text.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise SerializationError(
            f"load: {what} is no safetensors file: its header is no JSON ({error})"
        ) from None
    if not isinstance(found, dict):
        raise SerializationError(
            f"load: {what} is no safetensors file: its header is {describe(found)}"
        )
    metadata = found.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise SerializationError(f"load: {what} has metadata that is not a table of texts")
    return {name: _entry(name, value, what) for name, value in found.items()}, metadata


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands in it twice")
    return found


def _entry(name: str, value: Any, what: str) -> Entry:
    def refuse(why: str) -> SerializationError:
        return SerializationError(f"load: {what}: tensor {name!r} {why}")

    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise refuse(f"must have dtype, shape and data_offsets, got {describe(value)}")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise refuse(f"has the type {dtype!r}; known are {', '.join(_TYPES)}")
    if not _sizes(shape):
        raise refuse(f"has the shape {shape!r}")
    if not _sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise refuse(f"has the offsets {offsets!r}")
    entry = Entry(_TYPES[dtype], tuple(shape), offsets[0], offsets[1])
    needed = math.prod(shape) * entry.dtype.itemsize
    if len(shape) > 64 or needed != entry.stop - entry.start:
        raise refuse(
            f"has {entry.stop - entry.start} bytes, and {dtype} of shape {shape} takes {needed}"
        )
    return entry


def _sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _check_places(entries: dict[str, Entry], what: str) -> int:
    """Refuse gaps and overlaps; the length of the data."""
    position = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        if entry.start != position:
            how = "overlaps the one before it" if entry.start < position else "comes after a gap"
            raise SerializationError(
                f"load: {what}: the data of tensor {name!r} {how}: it begins at {entry.start}, "
                f"expected {position}"
            )
        position = entry.stop
    return position
