"""Compiled kernels on disk: what is put comes back whole or not at all, whatever happens to the disk."""

import errno
import os
import stat
import warnings
from pathlib import Path

import pytest

from thixo.errors import ValueRangeError
from thixo.runtime import cache
from thixo.runtime.cache import Cache

A, B, C, D = (letter * 32 for letter in "abcd")


@pytest.fixture
def kept(tmp_path):
    return Cache(tmp_path / "kernels")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """Each test is a process that has not warned and has not chosen a folder."""
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(cache, "_current", None)


def path_of(kept: Cache, key: str) -> Path:
    return Path(kept.folder, f"{key}.kernel")


def names(kept: Cache) -> set[str]:
    return {p.name for p in Path(kept.folder).iterdir()}


def set_used(kept: Cache, key: str, seconds: float) -> None:
    os.utime(path_of(kept, key), (seconds, seconds))


def failing(number: int):
    """A function that stands for a system call and fails."""

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


# ---- what is put comes back


def test_what_is_put_comes_back(kept):
    assert kept.get(A) is None
    kept.put(A, b"first")
    kept.put(B, b"")
    kept.put(C, bytes(range(256)) * 4096)
    assert Cache(kept.folder).get(A) == b"first"
    assert kept.get(B) == b""
    assert kept.get(C) == bytes(range(256)) * 4096
    assert kept.get(D) is None
    assert names(kept) == {f"{key}.kernel" for key in (A, B, C)}


def test_the_last_put_counts(kept):
    kept.put(A, b"one")
    kept.put(A, b"two")
    assert kept.get(A) == b"two"


def test_a_look_makes_no_folder(kept):
    assert kept.get(A) is None
    assert not os.path.exists(kept.folder)


@pytest.mark.parametrize("key", ["", "short", "../../../etc/passwd", "A" * 32, "a" * 129, 7, None])
def test_a_key_is_a_digest(kept, key):
    with pytest.raises(ValueRangeError, match="digest in hex"):
        kept.put(key, b"")
    with pytest.raises(ValueRangeError, match="digest in hex"):
        kept.get(key)


def test_the_module_uses_the_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("THIXO_CACHE", str(tmp_path / "here"))
    cache.put(A, b"code")
    assert cache.get(A) == b"code"
    assert cache.get(B) is None
    assert (tmp_path / "here" / f"{A}.kernel").exists()
    cache.use(tmp_path / "there")
    assert cache.get(A) is None
    cache.use(None)
    assert cache.get(A) == b"code"


def test_a_cleared_folder_is_made_again(kept):
    kept.put(A, b"code")
    path_of(kept, A).unlink()
    os.rmdir(kept.folder)
    assert kept.get(A) is None
    kept.put(A, b"again")
    assert kept.get(A) == b"again"


# ---- files that are not as they were written


def spoil_none(data):
    return b""


def truncated(data):
    return data[:-1]


def half_a_header(data):
    return data[:20]


def longer(data):
    return data + b"\0"


def other_magic(data):
    return b"ELF" + data[3:]


def other_version(data):
    return data[:8] + b"\x63" + data[9:]


def zeros(data):
    return bytes(len(data))


def flipped(place):
    def flip(data):
        changed = bytearray(data)
        changed[place] ^= 0x10
        return bytes(changed)

    flip.__name__ = f"bit_at_{place}"
    return flip


SPOILS = [spoil_none, truncated, half_a_header, longer, other_magic, other_version, zeros]
SPOILS += [flipped(place) for place in (0, 16, 30, 56, -1)]


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda f: f.__name__)
def test_a_spoilt_file_is_ignored_and_removed(kept, spoil):
    kept.put(A, b"code of a kernel")
    path = path_of(kept, A)
    path.write_bytes(spoil(path.read_bytes()))
    assert kept.get(A) is None
    assert not path.exists()
    kept.put(A, b"made again")
    assert kept.get(A) == b"made again"


def test_a_file_under_another_name_is_not_taken(kept):
    kept.put(A, b"code of a")
    os.rename(path_of(kept, A), path_of(kept, B))
    assert kept.get(B) is None


def test_things_that_are_no_files_are_ignored(kept, tmp_path):
    kept.put(A, b"code")
    os.rename(path_of(kept, A), tmp_path / "elsewhere")
    path_of(kept, A).symlink_to(tmp_path / "elsewhere")
    os.mkfifo(path_of(kept, B))
    path_of(kept, C).mkdir()
    assert [kept.get(key) for key in (A, B, C)] == [None] * 3
    kept.put(A, b"new")
    kept.put(B, b"new")
    assert kept.get(A) == kept.get(B) == b"new"
    assert not path_of(kept, A).is_symlink()
    with pytest.warns(RuntimeWarning, match="Is a directory"):
        kept.put(C, b"new")
    assert kept.get(C) is None


# ---- private


def test_folder_and_files_are_for_the_user_alone(kept):
    old = os.umask(0)
    try:
        kept.put(A, b"code")
        kept.limit = 10**6
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(kept.folder).st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in Path(kept.folder).iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_refused(kept, mode):
    kept.put(A, b"code")
    os.chmod(kept.folder, mode)
    fresh = Cache(kept.folder)
    assert fresh.get(A) is None
    with pytest.warns(RuntimeWarning, match=f"others may write to it .mode {mode:o}"):
        fresh.put(B, b"code")
    assert names(kept) == {f"{A}.kernel"}
    os.chmod(kept.folder, 0o700)
    assert fresh.get(A) == b"code"


def test_a_folder_of_another_user_is_refused(kept, monkeypatch):
    kept.put(A, b"code")
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    fresh = Cache(kept.folder)
    assert fresh.get(A) is None
    with pytest.warns(
        RuntimeWarning, match=f"belongs to user {other - 1}, and this is user {other}"
    ):
        fresh.put(B, b"code")
    assert names(kept) == {f"{A}.kernel"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_really_owns_is_refused(kept):
    kept.put(A, b"code")
    os.chown(path_of(kept, A), 12345, -1)
    assert kept.get(A) is None
    os.chown(path_of(kept, A), 0, -1)
    assert kept.get(A) == b"code"
    os.chown(kept.folder, 12345, -1)
    assert Cache(kept.folder).get(A) is None


def test_a_file_that_others_may_write_is_ignored(kept):
    kept.put(A, b"code")
    path_of(kept, A).chmod(0o666)
    assert kept.get(A) is None


def test_a_link_of_the_user_may_be_the_folder(kept, tmp_path):
    kept.put(A, b"code")
    link = tmp_path / "link"
    link.symlink_to(kept.folder)
    assert Cache(link).get(A) == b"code"


# ---- disks that fail


def test_a_full_disk_leaves_nothing_behind_and_warns_once(kept, monkeypatch):
    kept.put(A, b"old code")
    write = os.write

    def write_some(file, data):
        if len(data) > 40:
            return write(file, data[:40])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write_some)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        kept.put(A, b"new code")
        kept.put(B, b"more code")
    (warning,) = said
    assert kept.folder in str(warning.message)
    assert "No space left on device" in str(warning.message)
    assert "THIXO_CACHE" in str(warning.message)
    assert warning.filename == __file__
    assert names(kept) == {f"{A}.kernel"}
    monkeypatch.undo()
    assert kept.get(A) == b"old code"
    assert kept.get(B) is None
    kept.put(B, b"more code")  # there is room again
    assert kept.get(B) == b"more code"


@pytest.mark.parametrize("call", ["open", "write", "close", "replace"])
def test_each_call_may_fail(kept, monkeypatch, call):
    kept.put(A, b"code")
    original = getattr(os, call)

    def fail(*arguments, **options):
        if call == "close":
            original(*arguments)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, call, fail)
    with pytest.warns(RuntimeWarning, match="Input/output error"):
        kept.put(B, b"code")
    monkeypatch.undo()
    assert names(kept) == {f"{A}.kernel"}


def test_an_interrupt_leaves_nothing_behind(kept, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    kept.put(A, b"code")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kept.put(B, b"code")
    assert names(kept) == {f"{A}.kernel"}


def test_a_failing_read_is_a_miss_and_removes_nothing(kept, monkeypatch):
    kept.put(A, b"code")
    monkeypatch.setattr(os, "read", failing(errno.EIO))
    assert kept.get(A) is None
    monkeypatch.undo()
    assert kept.get(A) == b"code"


def test_a_read_only_folder_serves_what_it_has(kept, monkeypatch):
    kept.put(A, b"code")
    set_used(kept, A, 1000.0)
    kept.put(B, b"code")
    path_of(kept, B).write_bytes(b"spoilt")
    real_open = os.open

    def open_to_read(path, flags, *rest, **options):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real_open(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", open_to_read)
    for call in ("utime", "unlink", "replace", "mkdir"):
        monkeypatch.setattr(os, call, failing(errno.EROFS))
    fresh = Cache(kept.folder)
    assert fresh.get(A) == b"code"
    assert fresh.get(B) is None
    with pytest.warns(RuntimeWarning, match="Read-only file system"):
        fresh.put(C, b"code")
    assert fresh.get(C) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_write_permission_serves_what_it_has(kept):
    kept.put(A, b"code")
    os.chmod(kept.folder, 0o500)
    fresh = Cache(kept.folder)
    assert fresh.get(A) == b"code"
    with pytest.warns(RuntimeWarning, match="Permission denied"):
        fresh.put(B, b"code")
    os.chmod(kept.folder, 0o700)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("something else")
    for folder in (tmp_path / "file", tmp_path / "file" / "kernels"):
        blocked = Cache(folder)
        assert blocked.get(A) is None
        cache._warned = False
        with pytest.warns(RuntimeWarning, match=f"{folder}: Not a directory"):
            blocked.put(A, b"code")
    assert (tmp_path / "file").read_text() == "something else"


def test_where_warnings_are_errors_a_full_disk_still_stops_nothing(kept, monkeypatch, capsys):
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept.put(A, b"code")
    assert "No space left on device" in capsys.readouterr().err


# ---- bounded


def put_all(kept: Cache, sizes: dict[str, int]) -> None:
    """Kernels of these sizes, used in this order, long ago."""
    for second, (key, size) in enumerate(sizes.items()):
        kept.put(key, bytes(size))
        set_used(kept, key, 1000.0 + second)


def test_the_least_recently_used_go_first(kept):
    put_all(kept, {A: 10_000, B: 10_000, C: 10_000, D: 10_000})
    assert kept.get(A) == bytes(10_000)  # used just now
    kept.limit = 30_000
    removed = kept.trim()
    assert (removed.kernels, removed.oldest, removed.newest) == (2, 1001.0, 1002.0)
    assert [kept.get(key) is not None for key in (A, B, C, D)] == [True, False, False, True]


def test_nothing_goes_while_there_is_room(kept):
    put_all(kept, {A: 10_000, B: 10_000})
    kept.limit = 21_000
    assert kept.trim().kernels == 0
    assert kept.usage().kernels == 2


def test_puts_alone_keep_to_the_limit(kept):
    kept.limit = 100_000
    for number in range(100):
        kept.put(f"{number:032x}", bytes(5_000))
        assert kept.usage().size <= 100_000
    assert kept.get(f"{99:032x}") is not None
    assert kept.usage().kernels > 10


def test_what_is_larger_than_the_limit_is_not_kept(kept):
    kept.limit = 1000
    kept.put(A, b"small")
    kept.put(B, bytes(2000))
    assert kept.get(A) == b"small"
    assert kept.get(B) is None
    kept.limit = 0
    kept.put(C, b"small")
    kept.trim()
    assert kept.usage().kernels == 0


def test_the_limit_is_kept_in_the_folder(kept):
    assert kept.limit == 512 * 2**20
    kept.limit = 12345
    assert Cache(kept.folder).limit == 12345
    Path(kept.folder, "limit").write_text("no number")
    assert Cache(kept.folder).limit == 512 * 2**20


def test_other_files_are_left_alone(kept):
    put_all(kept, {A: 10, B: 10})
    Path(kept.folder, "notes.txt").write_text("mine")
    Path(kept.folder, "mine.tmp").write_text("mine")
    kept.limit = 0
    kept.trim()
    kept.clear()
    assert names(kept) == {"notes.txt", "mine.tmp", "limit"}


def test_what_stopped_processes_left_is_removed(kept):
    kept.put(A, b"code")
    old, new = (Path(kept.folder, f"{B}.kernel.{n * 16}.tmp") for n in "01")
    old.write_bytes(b"part")
    new.write_bytes(b"part")  # another process may still be writing it
    os.utime(old, (1000.0, 1000.0))
    kept.trim()
    assert names(kept) == {f"{A}.kernel", new.name}
    kept.clear()
    assert names(kept) == set()
