"""The operator table as test parameters."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the checks are modules beside the tests

from thixo.ops.base import TABLE
from thixo.ops.build_index import load_all


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a parameter `op` runs once for each operator."""
    if "op" in metafunc.fixturenames:
        load_all()
        names = sorted(TABLE)
        metafunc.parametrize("op", [TABLE[n] for n in names], ids=names)
