"""The programs in examples/, as modules."""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "two_ways")


def load(name):
    """The module of an example; the same one each time."""
    full = f"example_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, FOLDER / f"{name}.py")
        module = sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]


@pytest.fixture(params=NAMES)
def example(request):
    return load(request.param)


@pytest.fixture
def digits():
    return load("digits")


@pytest.fixture
def char_gpt():
    return load("char_gpt")


@pytest.fixture
def lstm():
    return load("lstm")
