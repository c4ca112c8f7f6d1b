"""The type stubs: as the operator table has it, complete, and of use to a type checker."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import thixo as tx
import thixo.array_api as xp

ROOT = Path(__file__).parent.parent
SOURCE = Path(tx.__file__).parent

PROGRAM = '''
"""A small program with Thixo, as people write them."""

import thixo as tx
import thixo.nn.functional as F
from thixo import nn


class Net(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.first = nn.Linear(size, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        hidden: tx.Tensor = F.relu(self.first(x))
        return hidden + self.second.bias.sum()


def train(steps: int) -> float:
    model = Net(4)
    optimizer = tx.optim.SGD(model.parameters(), lr=0.1)
    x, y = tx.randn(16, 4), tx.randint(0, 2, (16,))
    for _ in range(steps):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    values, indices = x.max(dim=1)
    total: tx.Tensor = tx.sum(values) + x.mean() * 2.0 + indices.float().sum()
    with tx.no_grad():
        best = tx.topk(x, 2).values
    a = tx.zeros(2, 3, dtype=tx.float64)
    b = tx.zeros((2, 3), dtype=a.dtype).reshape(3, -1).permute(1, 0).clamp_(0, 1)
    c = tx.tensor([[1.0, 2.0]], requires_grad=True) @ tx.ones(2, 1)
    parts: tuple[tx.Tensor, ...] = tx.split(a, 1)
    n: int = a.size(0) + a.shape[1] + len(parts) + a.dim()
    ok: bool = tx.allclose(a, b) and bool((best > 0).all())
    u, s, vh = tx.linalg.svd(a)
    d: tx.DType = a.dtype
    print(ok, n, d, c.item(), s.numpy().shape, vh.T, -u, 2 - a, a[0, ::2], a[a > 0], tx.fft.fft(a))
    tx.save(model.state_dict(), "model.safetensors")
    return float(total)
'''

# What a type checker must object to, and a word of what it says.
WRONG = {
    'tx.ones("three")': "str",
    "tx.ones(2).no_such_method()": "no_such_method",
    "tx.no_such_function(1)": "no_such_function",
    "tx.sum(3)": "int",
    "tx.ones(2).sum(keepdim=3)": "int",
    "x: int = tx.ones(2)": "Tensor",
    "tx.linalg.inv(tx.ones(2, 2), 3)": "arguments",
    "tx.ones(2, dtype=3)": "int",
}


def test_the_stubs_are_up_to_date():
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "build_stubs.py"), "--check"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def declared(path):
    """The names that a stub declares: of functions, classes, values and imports; those of Tensor."""
    names, members = set(), set()
    for node in ast.parse((SOURCE / path).read_text()).body:
        if isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name for a in node.names}
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            if node.name == "Tensor":
                members = {
                    m.target.id if isinstance(m, ast.AnnAssign) else m.name
                    for m in node.body
                    if isinstance(m, ast.AnnAssign | ast.FunctionDef)
                }
    return names, members


@pytest.mark.parametrize(
    ("module", "path"),
    [
        (tx, "__init__.pyi"),
        (tx.linalg, "linalg.pyi"),
        (tx.fft, "fft.pyi"),
        (tx.special, "special.pyi"),
        (tx.nn.functional, "nn/functional.pyi"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_every_public_name_is_declared(module, path):
    names, _ = declared(path)
    for name in dir(module):
        value = getattr(module, name, None)
        operator = getattr(value, "declaration", None)
        inner = isinstance(value, ModuleType) and name not in tx._PACKAGES
        if name.startswith("_") or inner or getattr(operator, "method_only", False):
            continue  # not for users, or only a method of Tensor
        assert name in names


def test_the_standard_is_declared():
    names, _ = declared("array_api/__init__.pyi")
    stars = {"creation", "data_types", "elementwise", "manipulation", "searching", "statistical"}
    for module in stars:
        names |= set(__import__(f"thixo.array_api.{module}", fromlist=["x"]).__all__)
    assert set(xp.__all__) <= names


def test_every_member_of_tensor_is_declared():
    _, members = declared("_core/_native.pyi")
    ignored = {"__array_priority__", "__torch_function__", "__rdiv__", "__delitem__"}
    found = {n for n in dir(tx.Tensor) if n not in dir(object)} - ignored
    found -= {"__dict__", "__module__", "__weakref__"}
    assert found - members == set()
    stale = {n for n in members - set(dir(object)) if not hasattr(tx.Tensor, n)}
    assert stale == set()


def mypy(path, cache):
    api = pytest.importorskip("mypy.api")
    old = os.environ.get("MYPYPATH")
    if SOURCE.parent.name != "site-packages":  # an installed package is found by itself
        os.environ["MYPYPATH"] = str(SOURCE.parent)
    try:
        options = ["--config-file=", f"--cache-dir={cache}", "--follow-imports=silent"]
        text, errors, code = api.run([*options, str(path)])
    finally:
        if old is None:
            os.environ.pop("MYPYPATH", None)
        else:
            os.environ["MYPYPATH"] = old
    return code, text + errors


def test_a_type_checker_accepts_a_program_and_objects_to_mistakes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    code, text = mypy(program, tmp_path / "cache")
    assert code == 0, text
    program.write_text("import thixo as tx\n" + "\n".join(WRONG) + "\n")
    code, text = mypy(program, tmp_path / "cache")
    for number, (line, word) in enumerate(WRONG.items(), 2):
        said = [t for t in text.splitlines() if t.startswith(f"{program}:{number}:")]
        assert said, f"nothing said of {line}"
        assert any(word in t for t in said), f"{line}: {said}"


def test_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    exec(compile(PROGRAM, "program.py", "exec"), scope)
    assert isinstance(scope["train"](2), float)
    assert (tmp_path / "model.safetensors").exists()


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").exists()
