"""The operator table as test parameters."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the checks are modules beside the tests

from thixo.ops.base import TABLE
from thixo.ops.build_index import load_all


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "over(chosen): the operators that a test with `op` runs over"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a parameter `op` runs once for each operator, or each that its marker chooses."""
    if "op" not in metafunc.fixturenames:
        return
    load_all()
    marker = metafunc.definition.get_closest_marker("over")
    names = [n for n in sorted(TABLE) if marker is None or marker.args[0](TABLE[n])]
    metafunc.parametrize("op", [TABLE[n] for n in names], ids=names)
