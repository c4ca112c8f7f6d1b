"""Write the operator reference from the operator table: one page for each file of src/thixo/ops.

python docs/build.py             write docs/operators/*.md
python docs/build.py --check     only say whether the index (the one page that is committed) is up to date

Everything on a page comes from the declaration: its signature, sentence and example, the dtypes it takes,
and whether gradients flow through it.
"""

import importlib
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import thixo as tx
from thixo.dtype import ALL, BOOL, COMPLEX, FLOATS, INTEGERS
from thixo.ops.base import TABLE
from thixo.ops.build_index import load_all
from thixo.ops.samples import Maker
from thixo.pytree import tree_leaves

HERE = Path(__file__).parent / "operators"
GROUPS = {"bool": BOOL, "integers": INTEGERS, "floats": FLOATS, "complex": COMPLEX}
NAMESPACES = {
    "": "Tensors",
    "nn.functional": "Networks",
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "special": "Special functions",
    "masked": "Masked reductions",
    "signal.windows": "Windows",
}


def sentence(op: Any) -> str:
    """What an operator does: the first paragraph of its docstring."""
    return " ".join(inspect.cleandoc(op.__doc__).split("\n\n")[0].split())


def rest_of_doc(op: Any) -> str:
    """What follows the sentence, examples set as code."""
    lines: list[str] = []
    inside = False
    for line in inspect.cleandoc(op.__doc__).split("\n\n", 1)[1:]:
        for part in line.splitlines():
            if part.startswith(">>>") and not inside:
                lines.append("```python")
                inside = True
            elif not part.strip() and inside:
                lines.append("```")
                inside = False
            lines.append(part)
    return "\n".join([*lines, "```"] if inside else lines)


def dtypes(op: Any) -> str:
    """The element types an operator takes, by group where it takes a whole one."""
    if set(op.dtypes) == set(ALL):
        return "all"
    left = list(op.dtypes)
    words = []
    for word, group in GROUPS.items():
        if all(t in left for t in group):
            words.append(word)
            left = [t for t in left if t not in group]
    return ", ".join(words + [t.name for t in left])


def has_gradient(op: Any) -> bool:
    """Whether gradients flow: by its rules, or for a composite, by whether a sample's result is recorded."""
    if op.kind != "composite":
        return any(
            getattr(op, "vjp" + s, None) for s in ("", *(f"_{p.name}" for p in op.sig.params))
        )
    wanted = next((t for t in (tx.float64, tx.complex128) if t in op.dtypes), None)
    return wanted is not None and any(map(_is_recorded, _results(op, wanted)))


def _results(op: Any, dtype: Any) -> list[Any]:
    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        made = tx.from_numpy(x.copy()).requires_grad_(x.dtype.kind in "fc")
        return made.clone() if op.sig.name.endswith("_") else made  # a leaf must not be written

    found: list[Any] = []
    for sample in op.samples(Maker(dtype)):
        if sample.before is None and len(found) < 8:
            given = sample.map(leaf)
            found += tree_leaves(op.operator(*given.args, **given.kwargs))
    return found


def _is_recorded(result: Any) -> bool:
    return isinstance(result, tx.Tensor) and result.grad_fn is not None


def facts(op: Any) -> list[str]:
    """The line of facts below the sentence."""
    found = [f"dtypes: {dtypes(op)}", f"gradient: {'yes' if has_gradient(op) else 'no'}"]
    if op.aliases:
        found.append("also called " + ", ".join(f"`tx.{name}`" for name in op.aliases))
    if op.method:
        found.append("a method of tensors")
    if op.inplace:
        found.append(f"in place: `{op.sig.name}_`")
    if op.sig.aliases:
        found.append("the result shares memory with " + ", ".join(f"`{a}`" for a in op.sig.aliases))
    if op.random:
        found.append("random")
    if op.commutative:
        found.append("commutative")
    found.append(f"version {op.version}")
    return found


def heading(op: Any) -> str:
    """How an operator is called: as a function, or only as a method."""
    if getattr(op, "method_only", False) or getattr(op, "attribute", False):
        return f"Tensor.{op.sig.name}"
    return f"tx.{op.full_name}"


def entry(op: Any) -> str:
    """One operator of a page."""
    signature = f"{op.namespace}." * bool(op.namespace) + op.sig.text
    parts = [f"## {heading(op)}", f"```\n{signature}\n```", sentence(op), rest_of_doc(op)]
    return "\n\n".join([p for p in parts if p] + ["; ".join(facts(op)) + "."])


def files() -> dict[str, list[Any]]:
    """The operators by the file that declares them."""
    load_all()
    found = defaultdict(list)
    for _name, op in sorted(TABLE.items()):
        found[op.__module__.removeprefix("thixo.ops.")].append(op)
    return dict(sorted(found.items()))


def about(file: str) -> str:
    """The first sentence of a file's docstring."""
    doc = inspect.getdoc(importlib.import_module(f"thixo.ops.{file}")) or ""
    return " ".join(doc.split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def page(file: str, ops: list[Any]) -> str:
    """The page of a file."""
    return "\n\n".join([f"# {about(file)}", *map(entry, ops)]) + "\n"


def index(by_file: dict[str, list[Any]]) -> str:
    """The page that is committed: every operator's name, under its namespace and its file."""
    count = sum(map(len, by_file.values()))
    lines = [
        "# Operators",
        "",
        f"Thixo has {count} operators. Each is one class, in the file its group names: the declaration is the",
        "documentation. `make docs` writes pages from them beside this one, with signature, example, dtypes and",
        "flags; `help(tx.softmax)` shows the same. Names that end in `_`, written in place, are not",
        "listed; nor are the other names that some have.",
    ]
    for namespace, title in NAMESPACES.items():
        lines += ["", f"## {title}" + (f": `tx.{namespace}`" if namespace else ""), ""]
        for file, ops in by_file.items():
            names = [f"`{op.sig.name}`" for op in ops if op.namespace == namespace]
            if names:
                link = f"[{file}](../../src/thixo/ops/{file}.py)"
                lines.append(f"- **{about(file)}** ({link}): {', '.join(names)}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the pages, or with --check compare the index."""
    by_file = files()
    unknown = {op.namespace for ops in by_file.values() for op in ops} - set(NAMESPACES)
    assert not unknown, f"docs/build.py has no title for the namespaces {unknown}"
    target, new = HERE / "index.md", index(by_file)
    if "--check" in sys.argv[1:]:
        current = target.exists() and target.read_text() == new
        if not current:
            print("docs/operators/index.md is out of date: run make docs")
        return int(not current)
    HERE.mkdir(exist_ok=True)
    for old in HERE.glob("*.md"):
        old.unlink()
    target.write_text(new)
    for file, ops in by_file.items():
        (HERE / f"{file}.md").write_text(page(file, ops))
    print(f"{len(by_file)} pages in {HERE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
