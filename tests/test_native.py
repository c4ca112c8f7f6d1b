"""The tests of the core in C++ (`make native-test`) speak of the core as it is."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def compiler() -> list[str]:
    """The system's, or the one that set-up takes from PyPI."""
    if found := shutil.which("c++"):
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    pytest.skip("there is no C++ compiler")


@pytest.mark.parametrize(
    "source", sorted((ROOT / "tests/native").glob("test_*.cpp")), ids=lambda path: path.stem
)
def test_the_core_has_what_its_tests_ask_for(source):
    words = ["-std=c++20", "-fsyntax-only", "-w", f"-I{ROOT / 'src/thixo/_core'}", str(source)]
    done = subprocess.run([*compiler(), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
