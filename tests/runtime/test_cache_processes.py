"""Compiled kernels on disk: several processes at once, and where the folder is."""

import multiprocessing
import os
import stat
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from thixo.runtime import cache
from thixo.runtime.cache import Cache

A, B = "a" * 32, "b" * 32


@pytest.fixture
def kept(tmp_path):
    return Cache(tmp_path / "kernels")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """Each test is a process that has not warned and has not chosen a folder."""
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(cache, "_current", None)


def run_python(program: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
    )


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
    assert set(os.listdir(kept.folder)) == {kernel.name for kernel in kept.kernels()}
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
