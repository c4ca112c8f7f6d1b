"""Generated kernels on processors that this machine is not: compiled for them, linked, run under qemu-user.

Debian's packages: `apt-get install qemu-user gcc-aarch64-linux-gnu`.
"""

import platform
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thixo.codegen.llvm.compile import object_code
from thixo.codegen.llvm.target import AARCH64, X86_64_V3, Target, host

DRIVER = Path(__file__).with_name("driver.c")


@dataclass(frozen=True)
class Emulator:
    """How programs for a target are linked and run."""

    target: Target
    compiler: str
    command: tuple[str, ...]
    slack: int = 0  # bytes behind a buffer that it may touch

    @property
    def missing(self) -> list[str]:
        """Programs that are not installed."""
        return [name for name in (self.compiler, *self.command[:1]) if shutil.which(name) is None]


EMULATORS = {
    "aarch64": Emulator(AARCH64, "aarch64-linux-gnu-gcc", ("qemu-aarch64",)),
    # qemu 7.2 reads all lanes where an instruction (vmaskmov) names some.
    "x86-64-v3": Emulator(
        X86_64_V3, "x86_64-linux-gnu-gcc", ("qemu-x86_64", "-cpu", "Haswell"), slack=64
    ),
}
# The processor itself, with no byte to spare.
if platform.machine() == "x86_64" and sys.platform == "linux":
    EMULATORS["this machine"] = Emulator(host(), "gcc", ())


class Pointers(list):
    """Arrays whose addresses a kernel takes as a table."""


class Program:
    """Modules, and calls of their functions; `run` does the calls and changes the arrays as they do."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self.emulator, self.folder = emulator, folder
        self._objects: list[Path] = []
        self._names: list[str] = []
        self._buffers: list[np.ndarray] = []
        self._places: dict[int, int] = {}  # of arrays among the buffers
        self._links: list[tuple[int, int, int, int]] = []
        self._calls: list[tuple[int, list[tuple[int, int]]]] = []

    def add(self, text: str) -> None:
        """Compile a module."""
        path = self.folder / f"{len(self._objects)}.o"
        path.write_bytes(object_code(text, self.emulator.target))
        self._objects.append(path)

    def call(self, name: str, *arguments: "int | np.ndarray | Pointers") -> None:
        """Note a call, with numbers and arrays."""
        if name not in self._names:
            self._names.append(name)
        given = []
        for a in arguments:
            if isinstance(a, Pointers):
                given.append((1, self._table(a)))
            elif isinstance(a, np.ndarray):
                given.append((1, self._buffer(a)[0]))
            else:
                given.append((0, int(a)))
        self._calls.append((self._names.index(name), given))

    def _buffer(self, array: np.ndarray) -> tuple[int, int]:
        """The buffer of an array, and where in it the array begins."""
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        if id(base) not in self._places:
            assert base.flags.forc, "only what lies in one piece travels"
            self._places[id(base)] = len(self._buffers)
            self._buffers.append(base)
        return self._places[id(base)], array.ctypes.data - base.ctypes.data

    def _table(self, arrays: Pointers) -> int:
        table = np.zeros(len(arrays), np.int64)
        at, _ = self._buffer(table)
        for i, array in enumerate(arrays):
            self._links.append((at, 8 * i, *self._buffer(array)))
        return at

    def run(self) -> None:
        """Link, emulate, and bring the results back."""
        folder, emulator = self.folder, self.emulator
        declared = "".join(f"void {n}(void);" for n in self._names)
        listed = ", ".join(f"(void *){n}" for n in self._names)
        (folder / "table.c").write_text(f"{declared}\nvoid *functions[] = {{{listed}}};\n")
        sources = [str(DRIVER), str(folder / "table.c"), *map(str, self._objects)]
        link = [
            emulator.compiler,
            "-static",
            "-O1",
            "-w",
            *sources,
            "-lm",
            "-o",
            str(folder / "run"),
        ]
        _checked(link)
        (folder / "job").write_bytes(self._job())
        files = [str(folder / name) for name in ("run", "job", "result")]
        _checked([*emulator.command, *files, str(emulator.slack)])
        result = (folder / "result").read_bytes()
        at = 0
        for buffer in self._buffers:
            made = np.frombuffer(result, buffer.dtype, buffer.size, at)
            buffer.reshape(-1, order="A")[...] = made
            at += buffer.nbytes
        self._calls.clear()

    def _job(self) -> bytes:
        out = [_words(len(self._buffers))]
        for b in self._buffers:
            content = b.tobytes(order="A")
            out += [_words(b.nbytes), content, bytes(-len(content) % 8)]
        out += [_words(len(self._links)), *(_words(*link) for link in self._links)]
        out.append(_words(len(self._calls)))
        for function, given in self._calls:
            out += [_words(function, len(given)), *(_words(*one) for one in given)]
        return b"".join(out)


def _words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def _checked(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stderr}"
