"""Every example in the documentation strings runs, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import thixo as tx
from thixo.ops.base import TABLE
from thixo.ops.build_index import load_all

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tx.__path__, "thixo.")
    if "._native" not in module.name
)


OPERATOR = type(
    tx.sum
)  # looked up here: a first look enters the name in the module that is being searched


class Finder(doctest.DocTestFinder):
    """Operators are found where they are declared, not in modules that have looked them up."""

    def _from_module(self, module, object):
        return not isinstance(object, OPERATOR) and super()._from_module(module, object)


@pytest.fixture(autouse=True)
def _same_start():
    """Examples neither see nor leave behind changes of global state."""
    tx.manual_seed(0)
    dtype = tx.get_default_dtype()
    yield
    tx.set_default_dtype(dtype)


@pytest.mark.parametrize("name", ["thixo", *MODULES])
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples save files
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    failed = []
    names = {**vars(module), "tx": tx, "xp": tx.array_api}
    for test in Finder().find(module, globs=names):
        tx.manual_seed(0)
        runner.run(test, out=failed.append)
    assert not failed, "\n".join(failed)


# ---- which names are public

FACES = (
    "", "array_api", "array_api.fft", "array_api.linalg", "autograd", "autograd.functional",
    "autograd.graph", "data", "errors", "graph", "jit", "nn", "nn.attention", "nn.init", "nn.parallel",
    "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.rnn", "optim",
    "optim.lr_scheduler", "random", "static", "testing", "utils.data",
)  # fmt: skip


def public_names() -> Iterator[tuple[str, Any]]:
    """(name as a user writes it, object) for everything that people call."""
    load_all()
    yield from ((f"tx.{name}", op) for name, op in TABLE.items())
    operators = {id(op.operator) for op in TABLE.values()}
    for face in FACES:
        module = importlib.import_module(f"thixo.{face}".rstrip("."))
        given = getattr(module, "__all__", None)
        for name in given or dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or id(value) in operators:
                continue
            own = getattr(value, "__module__", None) == module.__name__
            if given or own or not face:  # else something the module imports
                yield f"tx.{face}.{name}".replace("..", "."), value


def has_example(value: Any) -> bool:
    """Whether a docstring shows a use: an example that runs, or for errors a failing and a fixed line."""
    if inspect.isclass(value) and issubclass(value, Exception):
        return "Fails:" in (value.__doc__ or "")
    return ">>>" in (inspect.getdoc(value) or "")


def test_every_public_name_has_an_example():
    missing = sorted({name for name, value in public_names() if not has_example(value)})
    assert not missing, f"{len(missing)} public names without an example: {', '.join(missing)}"
