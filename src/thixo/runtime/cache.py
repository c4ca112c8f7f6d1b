"""Compiled kernels on disk: `get` and `put`, by a key that covers all that made the code what it is.

What is read here runs in this process, so only files that this user wrote are taken: the folder and the
files must be the user's own and writable by nobody else, and each file has a checksum of its key and code.
Disk trouble never reaches the caller: a cache that cannot be read is empty, and one that cannot be written
stays as it is, with one warning.

Several processes may use a folder at once. A file appears in one step (`os.replace`), so a reader sees all
of it or none; nothing is locked and no file stays open, so a fork is harmless.
"""

import contextlib
import errno
import os
import stat
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from thixo import config
from thixo.errors import ValueRangeError, describe, user_level

VARIABLE = "THIXO_CACHE"
DEFAULT_LIMIT = 512 * 2**20

_MAGIC = b"thixo\0ko"
_VERSION = 1
_HEADER = struct.Struct("<8sQQ32s")  # magic, version, bytes of code, checksum

_KERNEL = ".kernel"
_UNFINISHED = ".tmp"
_LIMIT_FILE = "limit"

# A file's time of change is the time of its last use, to within an hour: most reads then write nothing.
_HOUR = 3600

# The folder is measured at one put in so many, whichever process does it, and when one process alone has
# written this part of the limit: measuring a full folder takes longer than writing a kernel.
_ONE_PUT_IN = 64
_PART_OF_LIMIT = 32


class Kernel(NamedTuple):
    """A file of a cache; they sort by their last use."""

    used: float  # as time.time() has it
    size: int
    name: str


class Usage(NamedTuple):
    """How much some kernels are; the times are None where there are none."""

    kernels: int
    size: int
    oldest: float | None
    newest: float | None

    @classmethod
    def of(cls, kernels: Iterable[Kernel]) -> Self:
        """Their number, bytes, and first and last time of use."""
        every = sorted(kernels)
        ends = (every[0].used, every[-1].used) if every else (None, None)
        return cls(len(every), sum(kernel.size for kernel in every), *ends)


class Cache:
    """The kernels in one folder, which is made at the first `put`.

    >>> kept = Cache("kernels")
    >>> kept.put("00c0ffee", b"code")
    >>> kept.get("00c0ffee"), kept.get("00abcdef")
    (b'code', None)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.path.abspath(folder)
        self._trusted = False
        self._unmeasured = 0  # bytes put since the folder was last measured
        self._known_limit: int | None = None

    def get(self, key: str) -> bytes | None:
        """The code that was put under this key, or None."""
        path = self._path(key)
        try:
            if not self._trusted:
                check_folder(self.folder)
                self._trusted = True
            return _read(path, key)
        except OSError:
            return None

    def put(self, key: str, code: bytes) -> None:
        """Keep code under this key, if the disk lets us."""
        path = self._path(key)
        data = _packed(key, code)
        try:
            try:
                self._store(path, data)
            except FileNotFoundError:  # the folder, or what was being written, was cleared just now
                self._store(path, data)
        except OSError as error:
            _warn(self.folder, error)

    def _store(self, path: str, data: bytes) -> None:
        make_folder(self.folder)
        if self._known_limit is None:
            self._known_limit = self.limit
        if len(data) > self._known_limit:
            return
        _write(path, data)
        self._unmeasured += len(data)
        chosen = os.urandom(1)[0] % _ONE_PUT_IN == 0
        if chosen or self._unmeasured > self._known_limit // _PART_OF_LIMIT:
            self.trim()

    def _path(self, key: str) -> str:
        if not isinstance(key, str) or not _is_key(key):
            raise ValueRangeError(f"cache: key is {describe(key)}; a digest in hex is needed")
        return f"{self.folder}{os.sep}{key}{_KERNEL}"

    # ---- its size

    @property
    def limit(self) -> int:
        """The most bytes that may stay; beyond it the least recently used kernels go."""
        try:
            with open(os.path.join(self.folder, _LIMIT_FILE), "rb") as file:
                return max(0, int(file.read(32)))
        except (OSError, ValueError):
            return DEFAULT_LIMIT

    @limit.setter
    def limit(self, size: int) -> None:
        make_folder(self.folder)
        _write(os.path.join(self.folder, _LIMIT_FILE), b"%d\n" % size)
        self._known_limit = size

    def trim(self) -> Usage:
        """Remove the least recently used kernels if there is too much; what was removed.

        It leaves an eighth of the limit free, so that the puts that follow have room.
        """
        self._unmeasured = 0
        self._known_limit = limit = self.limit
        kernels = sorted(self.kernels())
        size = sum(kernel.size for kernel in kernels)
        removed = []
        if size > limit:
            for kernel in kernels:
                if size <= limit - limit // 8:
                    break
                size -= kernel.size
                if self._remove(kernel.name):
                    removed.append(kernel)
        self._remove_unfinished(older_than=_HOUR)
        return Usage.of(removed)

    def usage(self) -> Usage:
        """How much is in the folder."""
        return Usage.of(self.kernels())

    # ---- all of it

    def clear(self) -> Usage:
        """Remove every kernel; what was removed. The limit stays."""
        if os.path.lexists(self.folder):
            check_folder(self.folder)
        removed = [kernel for kernel in self.kernels() if self._remove(kernel.name)]
        self._remove_unfinished(older_than=0)
        return Usage.of(removed)

    def move(self, target: "Cache") -> Usage:
        """Bring every kernel, and a limit that was set, to another folder; what was moved.

        Files go one by one: where one fails, each is in one of the two folders.
        """
        if os.path.lexists(self.folder):
            check_folder(self.folder)
        make_folder(target.folder)
        if os.path.exists(os.path.join(self.folder, _LIMIT_FILE)):
            target.limit = self.limit
        moved = sorted(self.kernels())
        for kernel in moved:
            _move(os.path.join(self.folder, kernel.name), os.path.join(target.folder, kernel.name))
        self._remove(_LIMIT_FILE)
        self._remove_unfinished(older_than=0)
        with contextlib.suppress(OSError):  # never there, or it holds something else
            os.rmdir(self.folder)
        target.trim()
        return Usage.of(moved)

    def kernels(self) -> Iterator[Kernel]:
        """The files that are there, in no order."""
        return self._files(_is_kernel)

    def _remove_unfinished(self, older_than: float) -> None:
        """Remove what processes left that were stopped while they wrote."""
        latest = time.time() - older_than
        for file in list(self._files(_is_unfinished)):
            if file.used <= latest:
                self._remove(file.name)

    def _files(self, wanted: Callable[[str], bool]) -> Iterator[Kernel]:
        try:
            folder = os.scandir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        with folder:
            for entry in folder:
                if not wanted(entry.name):
                    continue
                try:
                    about = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # removed by another process since
                    continue
                if stat.S_ISREG(about.st_mode):
                    yield Kernel(about.st_mtime, about.st_size, entry.name)

    def _remove(self, name: str) -> bool:
        """Remove a file; False where another process was first."""
        try:
            os.unlink(os.path.join(self.folder, name))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


# ---- files


def _is_key(text: str) -> bool:
    return 8 <= len(text) <= 128 and not text.strip("0123456789abcdef")


def _is_kernel(name: str) -> bool:
    return name.endswith(_KERNEL) and _is_key(name.removesuffix(_KERNEL))


def _is_unfinished(name: str) -> bool:
    final, _, random = name.removesuffix(_UNFINISHED).rpartition(".")
    return (
        name.endswith(_UNFINISHED)
        and _is_key(random)
        and (_is_kernel(final) or final == _LIMIT_FILE)
    )


def _checksum(key: str, code: bytes) -> bytes:
    # Not through hashlib, which loads all of OpenSSL: that takes longer than reading a hundred kernels.
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    # With the key: a file that was renamed holds the code of something else.
    made = blake2b(key.encode() + b"\n", digest_size=32)
    made.update(code)
    return made.digest()


def _packed(key: str, code: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, _VERSION, len(code), _checksum(key, code)) + code


def _read(path: str, key: str) -> bytes | None:
    """A file's code; one that is not as it was written is removed."""
    # Without waiting: a pipe of this name must not block us.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or _openness(about):
            return None
        code = _unpacked(file, about.st_size, key)
        with contextlib.suppress(OSError):  # in a read-only folder
            if code is None:
                os.unlink(path)
            elif time.time() - about.st_mtime > _HOUR:
                os.utime(file)
        return code
    finally:
        os.close(file)


def _unpacked(file: int, size: int, key: str) -> bytes | None:
    header = os.read(file, _HEADER.size)
    if len(header) < _HEADER.size:
        return None
    magic, version, length, checksum = _HEADER.unpack(header)
    if magic != _MAGIC or version != _VERSION or length != size - _HEADER.size:
        return None
    code = os.read(file, length)
    while len(code) < length:  # one read gives at most 2 GB
        more = os.read(file, length - len(code))
        if not more:
            return None
        code += more
    return code if _checksum(key, code) == checksum else None


def _write(path: str, data: bytes, used: float | None = None) -> None:
    """Make a file in one step: after any error there is what was there before."""
    unfinished = f"{path}.{os.urandom(8).hex()}{_UNFINISHED}"
    file = os.open(
        unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)
        if used is not None:
            os.utime(unfinished, (used, used))
        os.replace(unfinished, path)
    except BaseException:  # an interrupt too
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


def _move(source: str, target: str) -> None:
    try:
        os.rename(source, target)
    except FileNotFoundError:  # another process removed it
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with open(source, "rb") as file:  # to another disk
            used = os.fstat(file.fileno()).st_mtime
            _write(target, file.read(), used)
        os.unlink(source)


# ---- folders


def _openness(about: os.stat_result) -> str | None:
    """Who else could have written there, or None."""
    if about.st_uid != os.geteuid():
        return f"it belongs to user {about.st_uid}, and this is user {os.geteuid()}"
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(about.st_mode)
        return f"others may write to it (mode {mode:o}; chmod 700 makes it private)"
    return None


def check_folder(folder: str) -> None:
    """Raise an OSError unless the folder is this user's alone: code in it runs in this process."""
    about = os.lstat(folder)
    if stat.S_ISLNK(about.st_mode):
        # A link of our own is as good as what it leads to.
        if about.st_uid != os.geteuid():
            raise PermissionError(
                errno.EPERM, f"it is a link that user {about.st_uid} made", folder
            )
        about = os.stat(folder)
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    reason = _openness(about)
    if reason:
        raise PermissionError(errno.EPERM, reason, folder)


def make_folder(folder: str) -> None:
    """Make the folder if it is not there, for this user alone; raise an OSError if it cannot be used."""
    try:
        check_folder(folder)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was first
            os.mkdir(folder, 0o700)
        check_folder(folder)


def trouble(folder: str) -> str | None:
    """Why kernels cannot be kept in a folder, there already or not, or None; nothing is made."""
    try:
        check_folder(folder)
        nearest = folder
    except FileNotFoundError:
        nearest = os.path.dirname(folder)
        while not os.path.lexists(nearest):
            nearest = os.path.dirname(nearest)
        if not os.path.isdir(nearest):
            return f"{nearest} is no folder"
    except OSError as error:
        return error.strerror
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"{'it' if nearest == folder else nearest} cannot be written"
    return None


# ---- the folder of this process


class Place(NamedTuple):
    """Where kernels are kept, and why there."""

    folder: str
    reason: str
    trouble: str | None


def find_place(environment: Mapping[str, str]) -> Place:
    """The folder that the environment asks for, or else the first usual one that can be written.

    >>> find_place({"THIXO_CACHE": "/kernels"})[:2]
    ('/kernels', 'THIXO_CACHE')
    """
    chosen = environment.get(VARIABLE, "").strip()
    if chosen:  # and no other: who names a folder wants to know when it fails
        folder = os.path.abspath(os.path.expanduser(chosen))
        return Place(folder, VARIABLE, trouble(folder))
    usual = _usual_place(environment)
    return usual if usual.trouble is None else _temporary_place(usual)


def _usual_place(environment: Mapping[str, str]) -> Place:
    base = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        folder = os.path.join(base, "thixo")
        return Place(folder, "XDG_CACHE_HOME", trouble(folder))
    home = environment.get("HOME", "") or os.path.expanduser("~")
    caches = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    folder = os.path.join(home, *caches, "thixo")
    if not os.path.isabs(home) or not os.path.isdir(home):
        return Place(folder, "the usual place", f"the home folder {home} is not there")
    return Place(folder, "the usual place", trouble(folder))


def _temporary_place(unusable: Place) -> Place:
    import tempfile  # rarely needed, and slow to load

    try:
        folder = os.path.join(tempfile.gettempdir(), f"thixo-{os.geteuid()}")
    except OSError:  # there is none
        return unusable
    reason = f"{unusable.folder} cannot be used: {unusable.trouble}"
    temporary = Place(folder, reason, trouble(folder))
    return temporary if temporary.trouble is None else unusable


_current: Cache | None = None
_warned = False


def place() -> Place:
    """Where a process that starts now keeps its kernels."""
    return find_place(config.environment())


def current() -> Cache:
    """The cache of this process; its folder is chosen at the first use."""
    global _current
    if _current is None:
        _current = Cache(place().folder)
    return _current


def use(folder: str | os.PathLike[str] | None) -> None:
    """Keep the kernels of this process in this folder from now on; None: where the environment says."""
    global _current
    _current = None if folder is None else Cache(folder)


def get(key: str) -> bytes | None:
    """The code that was put under this key by any process, or None."""
    return (_current or current()).get(key)


def put(key: str, code: bytes) -> None:
    """Keep code under this key for every process to come, if the disk lets us."""
    (_current or current()).put(key, code)


def _warn(folder: str, error: OSError) -> None:
    """Say once why kernels are not kept."""
    global _warned
    if _warned:
        return
    _warned = True
    text = (
        f"compiled kernels cannot be kept in {folder}: {error.strerror or error}; they are made anew in "
        f"each process. Set {VARIABLE} to a folder that can be written"
    )
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=user_level())
    except Warning:  # where warnings are errors: a full disk must still not stop a program
        print(f"thixo: {text}", file=sys.stderr)
