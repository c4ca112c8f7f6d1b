"""The documentation is true: its programs run, its lists are current, its links lead somewhere."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import thixo as tx
from thixo.ops import public
from thixo.ops.base import TABLE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(p for p in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")) if p.parent.name != "operators")
names = {p: str(p.relative_to(ROOT)) for p in PAGES}


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


def script(name: str):
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_examples(text: str, name: str, scope: dict) -> None:
    """Run the `>>>` lines of a text."""
    test = doctest.DocTestParser().get_doctest(text, scope, name, name, 0)
    failed: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=failed.append)
    assert not failed, "".join(failed)


# ---- programs


def test_the_tour_runs():
    tour = subprocess.run([sys.executable, DOCS / "tour.py"], capture_output=True, text=True)
    assert tour.returncode == 0, tour.stderr
    assert tour.stdout.startswith("graph normalize(")


def test_the_tour_sees_every_room():
    seen = (DOCS / "tour.py").read_text()
    folders = (p.name for p in Path(tx.__file__).parent.iterdir() if p.is_dir())
    rooms = [name for name in folders if name[0].isalpha()]
    assert len(rooms) > 8
    assert not [room for room in rooms if not re.search(rf"\b{room}\b", seen)]


def test_the_program_in_the_readme_runs(capsys):
    (program,) = blocks(ROOT / "README.md")
    assert len(program.splitlines()) <= 20
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    share = re.match(r"(\d+)% of digits it never saw", capsys.readouterr().out)
    assert int(share[1]) >= 85


@pytest.mark.parametrize(
    "page",
    ["tensor.md", "static.md", "control-flow.md", "compile.md", "debugging.md", "from-torch.md"],
)
def test_examples_of_a_page_run(page):
    run_examples("".join(blocks(DOCS / page)), page, {"tx": tx})


# ---- how to add an operator, done


@pytest.fixture
def softclip():
    """The operator that docs/adding-an-operator.md declares."""
    declaration, _ = blocks(DOCS / "adding-an-operator.md")
    scope: dict = {}
    imports = """
import math
from thixo.dtype import FLOATS
from thixo.errors import ValueRangeError
from thixo.ops.base import Pointwise
from thixo.ops.references import elementwise
from thixo.ops.samples import Bad, Sample, unary_samples
"""
    place = Path(tx.__file__).parent / "ops" / "softclip.py"  # errors name the caller's line
    exec(compile(imports + declaration, str(place), "exec"), scope)
    yield scope["Softclip"]
    TABLE.pop("softclip")
    for module in (tx, public):
        vars(module).pop("softclip", None)


def test_the_operator_that_is_added_works(softclip):
    _, use = blocks(DOCS / "adding-an-operator.md")
    run_examples(use, "adding-an-operator.md", {"tx": tx})
    run_examples(softclip.__doc__, "softclip", {"tx": tx})
    x = tx.tensor([1.0])
    with pytest.raises(tx.errors.ValueRangeError, match="must be above 0"):
        tx.softclip(x, limit=-1)


def test_the_operator_that_is_added_passes_the_tests_of_the_table(softclip, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent / "ops")
    from checks import check_bad, check_layouts, check_values
    from gradient_checks import check_gradients
    from traced_checks import check_traced

    from thixo.ops.samples import Maker

    for dtype in softclip.dtypes:
        assert check_values(softclip, dtype)
    check_layouts(softclip, tx.float64)
    assert check_gradients(softclip, tx.float64)
    check_traced(softclip, tx.float64)
    for bad in softclip.bad(Maker(tx.float64)):
        check_bad(softclip, bad)


# ---- lists that are made from the code


def test_the_list_of_missing_names_is_current():
    missing = script("missing")
    assert missing.page() == missing.PAGE.read_text(), "run python docs/missing.py"


def test_expected_names_are_listed_once():
    expected = script("missing").expected()
    assert len(expected) == len(set(expected)) > 800


def test_the_index_of_operators_is_current():
    build = script("build")
    assert build.index(build.files()) == (build.HERE / "index.md").read_text(), "run make docs"


def test_every_operator_has_an_entry():
    build = script("build")
    for file, ops in build.files().items():
        page = build.page(file, ops)
        for op in ops:
            assert f"## {build.heading(op)}\n" in page
            assert op.sig.text in page


def test_the_page_of_the_tensor_has_every_attribute():
    text = (DOCS / "tensor.md").read_text()
    operators = set(public.method_names())
    own = [n for n in dir(tx.Tensor) if not n.startswith("_") and n not in operators]
    assert not [n for n in own if not re.search(rf"[`.]{n}\b", text)]


# ---- links


@pytest.mark.parametrize("page", PAGES, ids=names.get)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=names.get)
def test_files_that_are_named_exist(page):
    named = re.findall(r"`((?:src|docs|tests|tools|bench|examples)/[\w./-]+)`", page.read_text())
    gone = [name for name in named if not (ROOT / name).exists()]
    assert not gone, f"{page.name} names {gone}"


@pytest.mark.parametrize("page", PAGES, ids=names.get)
def test_commands_exist(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", page.read_text(), re.M))
    assert {a or b for a, b in named} <= targets
