"""A program that needs new kernels, where the cache on disk is crowded, damaged or cannot be written.

Each is a process of its own: it must give its result whatever the disk does.
"""

import importlib.util
import os
import subprocess
import sys

import pytest

# int16 is not among the kernels that come with the package, so these are compiled on first use. Which of the
# programs' own folders has them says whether the disk was used at all.
PROGRAM = """
import sys
import thixo as tx
{before}
x = tx.tensor([1, 2, 3], dtype=tx.int16)
assert x.clamp(2, 3).bitwise_xor(x).tolist() == [3, 0, 0]
from thixo.runtime import kernels
assert kernels._addresses, "nothing was compiled, so nothing was tested"
print("went on")
"""

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None, reason="without llvmlite no kernels are made"
)


def start(before: str = "", **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> str:
    """What it wrote to stderr, once it has ended well."""
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "went on\n"), errors
    return errors


def kernels_in(folder) -> list:
    return sorted(folder.glob("*.kernel"))


def test_two_processes_fill_an_empty_cache_at_once(tmp_path):
    folder = tmp_path / "kernels"
    both = [start(THIXO_CACHE=str(folder)) for _ in range(2)]
    assert [finish(one) for one in both] == ["", ""]
    assert len(kernels_in(folder)) == 2  # clamp and bitwise_xor
    assert not list(folder.glob("*.tmp"))


def test_spoilt_files_are_made_again(tmp_path):
    folder = tmp_path / "kernels"
    finish(start(THIXO_CACHE=str(folder)))
    whole = [path.read_bytes() for path in kernels_in(folder)]
    first, second = kernels_in(folder)
    first.write_bytes(first.read_bytes()[:100])  # cut off
    flipped = bytearray(second.read_bytes())
    flipped[len(flipped) // 2] ^= 0xFF  # inside the code
    second.write_bytes(flipped)
    assert finish(start(THIXO_CACHE=str(folder))) == ""
    assert [path.read_bytes() for path in kernels_in(folder)] == whole


def test_a_full_disk(tmp_path):
    folder = tmp_path / "kernels"
    # No file may grow: each write fails, as it does where no room is left.
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    )
    said = finish(start(full, THIXO_CACHE=str(folder)))
    assert said.count("cannot be kept in") == 1
    assert not list(folder.iterdir())


def test_a_disk_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")  # root too can make no folder below a file
    said = finish(start(THIXO_CACHE=str(tmp_path / "file" / "kernels")))
    assert said.count("cannot be kept in") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o500)
    said = finish(start(THIXO_CACHE=str(folder)))
    assert said.count("cannot be kept in") == 1
    folder.chmod(0o700)


def test_a_home_that_is_not_there(tmp_path):
    (tmp_path / "temporary").mkdir(mode=0o700)
    without = {"THIXO_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(tmp_path / "nobody")}
    assert finish(start(**without, TMPDIR=str(tmp_path / "temporary"))) == ""
    (folder,) = (tmp_path / "temporary").glob("thixo-*")
    assert len(kernels_in(folder)) == 2
