"""The examples of torch's export database on Thixo's routes of capture, beside torch's own eager results.

No part of the test suite: PyTorch is needed to run it. From the root of the repository:

    PYTHONPATH=src:. python tests/outside/export_db.py --route trace script [--only NAME]

The examples are read from the installed torch, with names alone replaced, by the one table below. Arguments, random numbers
and weights are torch's. Each example is captured (right on all its inputs), refused (an error of capture), or wrong; the
exit status says whether any is wrong.
"""

import argparse
import ast
import copy
import importlib.util
import linecache
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree

import thixo as tx
from tests.programs.routes import is_refusal

sys.path.insert(0, str(Path(__file__).parent))

HERE = "export_names"  # the file beside this one
NAMES = {
    "torch": "thixo",
    "torch.utils": "thixo.utils",
    "torch.cond": f"{HERE}.cond",
    "torch.sym_min": f"{HERE}.sym_min",
    "torch._check": f"{HERE}.check",
    "torch._dynamo": HERE,
    "torch.export": HERE,
    "torch._export.db.case": HERE,
    "functorch.experimental.control_flow": HERE,
}


class Renamed(ast.NodeTransformer):
    """Names of torch as those of the table: of modules, and of what is reached through them."""

    def visit_Import(self, node: ast.Import) -> Any:
        for alias in node.names:
            if alias.name in NAMES:
                alias.asname = alias.asname or alias.name
                alias.name = NAMES[alias.name]
        return [ast.parse(f"import {HERE}").body[0], node]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        node.module = NAMES.get(node.module, node.module)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if ast.unparse(node) in NAMES:
            return ast.parse(NAMES[ast.unparse(node)], mode="eval").body
        return self.generic_visit(node)


def load(text: str, file: str, module: Any, as_tensor: Any) -> dict[str, Any]:
    """The names of an example's file; what it draws while it is read is the same for both libraries."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    draw = np.random.default_rng(0)
    kept, module.randn = (
        module.randn,
        lambda *shape: as_tensor(draw.normal(size=shape).astype("float32")),
    )
    scope: dict[str, Any] = {"__name__": Path(file).stem}
    try:
        exec(compile(text, file, "exec"), scope)
    finally:
        module.randn = kept
    return scope


def arrays(value: Any) -> Any:
    """Arrays in the place of tensors."""
    return _pytree.tree_map(
        lambda x: np.array(x.detach().numpy()) if hasattr(x, "detach") else x, value
    )


def tensors(value: Any) -> Any:
    """Thixo's tensors in the place of torch's, with memory of their own."""
    mine = lambda x: tx.tensor(x.detach().numpy().copy()) if isinstance(x, torch.Tensor) else x  # noqa: E731
    return _pytree.tree_map(mine, value)


def same(a: Any, b: Any) -> bool:
    ours, theirs = _pytree.tree_leaves(a), _pytree.tree_leaves(b)
    if len(ours) != len(theirs):
        return False
    for p, q in zip(ours, theirs, strict=True):
        if isinstance(q, np.ndarray) != isinstance(p, np.ndarray):
            return False
        if isinstance(q, np.ndarray):
            if p.dtype != q.dtype or p.shape != q.shape or not np.allclose(p, q, 1e-5, 1e-6):
                return False
        elif p != q:
            return False
    return True


class Example:
    """One file of the database, in both libraries."""

    def __init__(self, path: Path) -> None:
        text = path.read_text()
        self.name = path.stem
        self.torch = load(text, str(path), torch, torch.from_numpy)
        renamed = ast.unparse(ast.fix_missing_locations(Renamed().visit(ast.parse(text))))
        self.thixo = load(renamed, f"<{path.stem}>", tx, tx.from_numpy)
        kwargs = self.torch.get("example_kwargs", {})
        more = self.torch.get("extra_inputs")
        self.inputs = [(self.torch["example_args"], kwargs)] + ([(more, kwargs)] if more else [])
        for parameter, other in zip(
            self.thixo["model"].parameters(), self.torch["model"].parameters(), strict=True
        ):
            with tx.no_grad():
                parameter.copy_(tensors(other))

    def expected(self, args: Any, kwargs: Any) -> Any:
        """The result, and what became of the arguments, in torch."""
        args, kwargs = copy.deepcopy((args, kwargs))
        return arrays((self.torch["model"](*args, **kwargs), args))

    def verdict(self, route: str) -> tuple[str, str]:
        """captured, refused or wrong, and why."""
        called = None
        for args, kwargs in self.inputs:
            wanted = self.expected(args, kwargs)
            ours, named = tensors((args, kwargs))
            try:
                if called is None:
                    called = capture(route, self.thixo["model"], tensors(args))
                found = called(*ours, **named)
            except Exception as error:
                kind = "refused" if is_refusal(error) or route == "trace" else "wrong"
                return kind, f"{type(error).__name__}: {error}"
            got = arrays((found, ours))
            if not same(got, wanted):
                return "wrong", f"{got}, torch has {wanted}"
        return "captured", ""


def capture(route: str, model: Any, args: Any) -> Any:
    if route == "eager":
        return model
    if route == "trace":
        return tx.jit.trace(model, args)
    if route == "script":
        return tx.jit.script(model)
    return tx.compile(model, fullgraph=True)


def main() -> int:
    """Print what became of each example."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--route", nargs="+", choices=["eager", "trace", "script", "compile"])
    parser.add_argument("--only", default="", help="examples with this in their name")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    there = {
        "eager": True,
        "trace": True,
        "script": hasattr(tx.jit, "script"),
        "compile": has_compile(),
    }
    routes = [r for r in options.route or there if there[r]]
    folder = Path(importlib.util.find_spec("torch").origin).parent / "_export" / "db" / "examples"
    tally: Counter[tuple[str, str]] = Counter()
    paths = [
        p for p in sorted(folder.glob("*.py")) if p.stem != "__init__" and options.only in p.stem
    ]
    for path in paths:
        for route in routes:
            try:
                kind, why = Example(path).verdict(route)
            except Exception as error:
                kind, why = "wrong", f"cannot be read: {type(error).__name__}: {error}"
            tally[route, kind] += 1
            print(f"{path.stem:<32}{route:<9}{kind:<9}{why[:160]}", flush=True)
    for route in routes:
        counts = ", ".join(
            f"{kind} {tally[route, kind]}" for kind in ("captured", "refused", "wrong")
        )
        print(f"{route:<9}{counts} of {len(paths)}")
    return int(any(kind == "wrong" for _, kind in tally))


def has_compile() -> bool:
    try:
        return callable(tx.compile)
    except AttributeError:
        return False


if __name__ == "__main__":
    sys.exit(main())
