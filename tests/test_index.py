"""The index of operators: up to date, lazy, and each name leads to one operator."""

import subprocess
import sys

import pytest

import thixo as tx
from thixo.ops import build_index, index, public
from thixo.ops.base import TABLE


def test_every_declaration_loads():
    build_index.load_all(strict=True)
    assert len(TABLE) > 100


def test_index_is_up_to_date():
    assert build_index.text(build_index.collect()) == build_index.PATH.read_text(), (
        "run python -m thixo.ops.build_index"
    )


@pytest.mark.parametrize("names", [index.OPERATORS, index.ALIASES, index.INPLACE])
def test_every_name_leads_to_an_operator(names):
    for name in names:
        assert callable(public.find(name)), name


def test_every_method_is_on_the_tensor():
    missing = [name for name in index.METHODS if not hasattr(tx.Tensor, name)]
    assert not missing


def test_names_of_the_table_hide_nothing_of_the_package():
    own = {*tx._HOMES, *tx._PACKAGES}
    clash = sorted(own & {n for n in public.names() if "." not in n})
    assert not clash


def test_aliases_are_the_same_operator_under_their_own_names():
    for alias, name in index.ALIASES.items():
        assert public.find(alias).declaration is public.find(name).declaration
        assert public.find(alias) is public.find(alias)
        assert public.find(alias).__name__ == alias.rpartition(".")[2]


def test_importing_loads_no_declaration():
    code = (
        "import sys, thixo; "
        "print([m for m in sys.modules if m.startswith('thixo.ops.') and 'base' not in m])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    few = {f"thixo.ops.{name}" for name in ("public", "index", "dev_index", "signature")}
    assert set(eval(loaded.stdout)) <= few


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'thixo' has no attribute 'frobnicate'"):
        tx.frobnicate  # noqa: B018
    with pytest.raises(AttributeError, match=r"thixo\.linalg.*frobnicate"):
        tx.linalg.frobnicate  # noqa: B018
    assert not hasattr(tx.nn.functional, "frobnicate")
    assert "tanh" in dir(tx)
