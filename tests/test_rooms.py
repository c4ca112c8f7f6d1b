"""The house has rooms, and a module imports from its own room and from those before it, never later."""

import ast
from pathlib import Path

import thixo

PACKAGE = Path(thixo.__file__).parent

# In the order of the path that data take; each room is the modules with one of these names below thixo.
ROOMS: list[tuple[str, ...]] = [
    ("errors",),
    (
        "config",
        "progress",
        "dtype",
        "device",
        "layout",
        "polynomial",
        "guards",
        "dim",
        "symbolic",
        "shape",
        "pytree",
    ),
    ("_core",),
    ("ops",),
    (
        "linalg",
        "fft",
        "special",
        "masked",
        "signal",
        "nn.functional",
    ),  # faces of the operator table
    (
        "arrays",
        "making",
        "printing",
        "queries",
        "tensor",
        "random",
        "threads",
        "typed",
        "profiler",
        "determinism",
    ),
    ("autograd", "serialization", "exchange"),
    ("graph",),
    ("autodiff",),
    ("passes",),
    ("schedule",),
    ("codegen",),
    ("runtime",),
    ("capture",),
    ("jit", "static"),
    ("array_api",),
    ("nn", "optim", "data", "utils", "testing"),
    ("cli", "__main__"),
]

# Imports inside functions that lead to a later room: Tensor's methods are doors to rooms built on Tensor.
DOORS = {
    ("passes", "codegen"): "fusion asks whether a group is one kernel",
    ("codegen", "capture"): "the build compiles what operators and their gradient rules need",
    ("graph", "schedule"): "graph.plan()",
    ("passes", "schedule"): "what lives at the peak, and what a product takes",
    ("ops", "runtime"): "the core asks for kernels of operators",
    ("ops", "capture"): "the core asks for kernels of gradient rules",
    ("tensor", "autograd"): "x.backward(), hooks",
    ("tensor", "array_api"): "x.__array_namespace__()",
    ("tensor", "serialization"): "pickling",
}


def room(module: str) -> int | None:
    """The number of a module's room, by the longest name that fits."""
    fits = [
        (len(name), number)
        for number, names in enumerate(ROOMS)
        for name in names
        if module == name or module.startswith(name + ".")
    ]
    return max(fits)[1] if fits else None


def imports(path: Path) -> list[tuple[str, bool, int]]:
    """(module below thixo, inside a function?, line) for each import of a part of Thixo."""
    tree = ast.parse(path.read_text())
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):  # `if TYPE_CHECKING:` does not run
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for part in ast.walk(node):
                if isinstance(part, ast.Import | ast.ImportFrom):
                    part.names = []
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.names:
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides the room"
            below = "" if node.module == "thixo" else None
            names = [f"thixo.{a.name}" for a in node.names] if below == "" else [node.module or ""]
        for name in names:
            if name.startswith("thixo."):
                found.append((name.removeprefix("thixo."), id(node) in inner, node.lineno))
    return found


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(p for p in parts if p != "__init__")
        if name:
            found.append((name, path))
    return found


def test_every_module_has_a_room():
    homeless = [name for name, _ in modules() if room(name) is None]
    assert not homeless, f"no room in ROOMS for {homeless}"


def test_modules_import_only_from_earlier_rooms():
    wrong = []
    for name, path in modules():
        here = room(name)
        for target, inside, line in imports(path):
            there = room(target)
            if there is None or here is None or there <= here:
                continue
            if inside and (name.split(".")[0], target.split(".")[0]) in DOORS:
                continue
            wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {target}, of a later room")
    assert not wrong, "\n".join(wrong)


def test_only_config_reads_the_environment():
    wrong = [
        name
        for name, path in modules()
        if name != "config" and any(w in path.read_text() for w in ("os.environ", "getenv"))
    ]
    assert not wrong, f"the environment is read in {wrong}"


def test_switches_are_few_and_documented():
    from thixo import config

    assert len(config.SWITCHES) <= 15
    assert all(s.variable.startswith("THIXO_") and s.meaning for s in config.SWITCHES)


def test_the_core_without_its_binding_knows_no_python():
    sources = Path(__file__).parent.parent / "src" / "thixo" / "_core" / "core"
    for path in (*sources.rglob("*.cpp"), *sources.rglob("*.h")):
        assert "Python.h" not in path.read_text(), f"{path.name} includes Python.h"
