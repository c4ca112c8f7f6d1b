"""Compiled kernels on disk: what is put comes back whole or not at all, whatever happens to the disk."""

import errno
import multiprocessing
import os
import stat
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from thixo.errors import ThixoError, ValueRangeError
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


def run_python(program: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
    )


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


# ---- several processes


def fill(folder: str, worker: int, start) -> None:
    kept = Cache(folder)
    start.wait()
    for number in range(60):
        kept.put(f"{number:032x}", b"the same for all %d" % number * 500)
        kept.put(f"{worker:016x}{number:016x}", b"of worker %d, %d" % (worker, number))
        for seen in range(number + 1):
            code = kept.get(f"{seen:032x}")
            assert code == b"the same for all %d" % seen * 500, f"{seen} of {number}: {code}"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_fill_a_folder_at_once(kept, method):
    context = multiprocessing.get_context(method)
    count = 4 if method == "fork" else 2
    start = context.Barrier(count)
    # Keys of workers start at 1: those of worker 0 would be the shared ones.
    workers = [
        context.Process(target=fill, args=(kept.folder, worker, start))
        for worker in range(1, count + 1)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * count
    for worker in range(1, count + 1):
        for number in range(60):
            code = kept.get(f"{worker:016x}{number:016x}")
            assert code == b"of worker %d, %d" % (worker, number)
    assert names(kept) == {kernel.name for kernel in kept.kernels()}
    assert kept.usage().kernels == 60 * (count + 1)


def clear_often(folder: str, start) -> None:
    kept = Cache(folder)
    start.wait()
    for _ in range(100):
        kept.clear()


def put_often(folder: str, start) -> None:
    kept = Cache(folder)
    start.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(200):
            kept.put(f"{number % 7:032x}", b"code")
            assert kept.get(f"{number % 7:032x}") in (b"code", None)


def test_clearing_while_others_write_harms_nobody(kept):
    context = multiprocessing.get_context("fork")
    start = context.Barrier(3)
    jobs = [clear_often, put_often, put_often]
    workers = [context.Process(target=job, args=(kept.folder, start)) for job in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]


def test_a_fork_shares_the_cache(kept):
    kept.put(A, b"from the parent")
    child = os.fork()
    if child == 0:
        right = kept.get(A) == b"from the parent"
        kept.put(B, b"from the child")
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kept.get(B) == b"from the child"


# ---- where it is


def test_the_environment_names_the_folder(tmp_path):
    home = {"HOME": str(tmp_path)}
    xdg = {**home, "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    named = {**xdg, "THIXO_CACHE": str(tmp_path / "mine")}
    assert cache.find_place(named).folder == str(tmp_path / "mine")
    assert cache.find_place(xdg).folder == str(tmp_path / "xdg" / "thixo")
    assert cache.find_place({**xdg, "THIXO_CACHE": " "}).folder == str(tmp_path / "xdg" / "thixo")
    usual = tmp_path / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "thixo"
    assert cache.find_place(home).folder == str(usual)
    assert cache.find_place({**home, "XDG_CACHE_HOME": "relative"}).folder == str(usual)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_mac(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    found = cache.find_place({"HOME": str(tmp_path)}).folder
    assert found == str(tmp_path / "Library" / "Caches" / "thixo")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary directory of our own."""
    import tempfile

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def homes(tmp_path: Path) -> dict[str, str]:
    """Homes in which nothing can be kept."""
    (tmp_path / "file").write_text("")
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / ".cache").write_text("")
    (tmp_path / "blocked" / "Library").write_text("")
    return {
        "gone": str(tmp_path / "nobody"),
        "a file": str(tmp_path / "file"),
        "a file in the way": str(tmp_path / "blocked"),
    }


@pytest.mark.parametrize("kind", ["gone", "a file", "a file in the way"])
def test_without_a_home_it_is_a_private_temporary_folder(tmp_path, temporary, kind):
    place = cache.find_place({"HOME": homes(tmp_path)[kind]})
    assert place.folder == str(temporary / f"thixo-{os.geteuid()}")
    assert "cannot be used" in place.reason
    kept = Cache(place.folder)
    kept.put(A, b"code")
    assert kept.get(A) == b"code"
    assert stat.S_IMODE(os.stat(place.folder).st_mode) == 0o700


def test_an_unwritable_home(tmp_path, temporary, monkeypatch):
    access = os.access
    home = str(tmp_path / "home")
    os.mkdir(home)
    monkeypatch.setattr(os, "access", lambda path, mode: path != home and access(path, mode))
    place = cache.find_place({"HOME": home})
    assert place.folder == str(temporary / f"thixo-{os.geteuid()}")
    assert f"{home} cannot be written" in place.reason


def test_a_temporary_folder_that_somebody_prepared_is_not_used(tmp_path, temporary):
    trap = temporary / f"thixo-{os.geteuid()}"
    trap.mkdir()
    trap.chmod(0o777)
    place = cache.find_place({"HOME": str(tmp_path / "nobody")})
    assert place.folder != str(trap)
    assert place.trouble


def test_with_no_place_at_all_kernels_are_not_kept(tmp_path, temporary, monkeypatch):
    temporary.rmdir()
    temporary.write_text("")
    (tmp_path / "file").write_text("")
    for name in ("THIXO_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert cache.get(A) is None
    with pytest.warns(RuntimeWarning, match="cannot be kept in .*file"):
        cache.put(A, b"code")
    cache.put(A, b"code")  # says nothing more
    assert cache.get(A) is None


def test_a_folder_that_the_user_names_has_no_substitute(tmp_path, temporary):
    (tmp_path / "file").write_text("")
    place = cache.find_place({"THIXO_CACHE": str(tmp_path / "file"), "HOME": str(tmp_path)})
    assert place.folder == str(tmp_path / "file")
    assert place.trouble == "Not a directory"


def test_errors_of_keys_are_errors_of_ours():
    with pytest.raises(ThixoError, match=r"cache: key is 'x' \(str\)"):
        cache.get("x")


def test_a_program_with_an_unusable_folder_runs_and_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    program = f"""
        from thixo.runtime import cache
        for _ in range(3):
            assert cache.get("{A}") is None
            cache.put("{A}", b"code")
        print("went on")
    """
    run = run_python(program, THIXO_CACHE=str(tmp_path / "file"))
    assert (run.returncode, run.stdout) == (0, "went on\n")
    assert run.stderr.count("cannot be kept in") == 1
    assert f"{tmp_path / 'file'}: Not a directory" in run.stderr


def test_loading_the_cache_loads_nothing_heavy():
    program = """
        import sys, thixo
        before = set(sys.modules)
        from thixo.runtime import cache
        print(sorted(set(sys.modules) - before))
    """
    loaded = run_python(program).stdout
    assert "thixo.runtime.cache" in loaded
    assert not [name for name in ("hashlib", "tempfile", "rich", "argparse") if name in loaded]
