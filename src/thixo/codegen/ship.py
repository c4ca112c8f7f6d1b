"""Kernels that are compiled when Thixo is built: one shared library for each kind of processor.

    python -P src/thixo/codegen/ship.py --target x86-64-v4 --linker c++ --output kernels-x86-64-v4.so
    python -P src/thixo/codegen/ship.py ... --core _native.so --output operators-x86-64-v4.so

The build runs it as a script (-P: modules beside it have the names of standard ones). The first form needs
llvmlite and the files of this folder, not the native core; the second, for which the core is there already, compiles
the kernels that follow from operators' declarations. The core opens the libraries of its processor and takes
functions from them by name (core/shipped.h).
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thixo.codegen.llvm.target import Target

# (name of a part, its module's text) for a target; every function a module defines can be found by its symbol.
Parts = Callable[["Target"], Iterator[tuple[str, str]]]


def suppliers(operators: bool) -> list[Parts]:
    """Everybody whose kernels are shipped."""
    if operators:
        from thixo.capture import common

        return [common.parts]
    from thixo.codegen import convert
    from thixo.codegen.llvm import contract_parts, order, window

    return [contract_parts.parts, window.parts, order.parts, convert.parts]


def link(objects: list[Path], output: Path, linker: str) -> None:
    """One shared library of object files; it needs no other library than those the process has anyway."""
    fresh = output.with_name(f".{output.name}.new")
    command = [*shlex.split(linker), "-shared", "-nostdlib", "-o", str(fresh), *map(str, objects)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ship: the linker failed: {shlex.join(command)}\n{done.stderr}")
    fresh.replace(output)


def ship(target: Target, output: Path, linker: str, operators: bool = False) -> None:
    """Write a library of a target."""
    from thixo.codegen.llvm.compile import object_code

    with tempfile.TemporaryDirectory() as folder:
        objects: list[Path] = []
        for supplier in suppliers(operators):
            for name, text in supplier(target):
                objects.append(Path(folder, f"{len(objects)}-{name}.o"))
                objects[-1].write_bytes(object_code(text, target))
        link(objects, output, linker)


def _without_core() -> None:
    """Let `thixo.codegen` be imported while the native core, which `import thixo` loads, does not exist yet."""
    package = ModuleType("thixo")
    package.__path__ = [str(Path(__file__).resolve().parent.parent)]
    sys.modules["thixo"] = package


def _with_core(core: Path) -> None:
    """Let `import thixo` find the native core where the build has put it."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
    name = "thixo._core._native"
    spec = importlib.util.spec_from_file_location(name, core)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)


def main() -> None:
    """What the build calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--linker", default="c++", help="a compiler that can link")
    parser.add_argument(
        "--core", type=Path, help="the built extension module, for kernels of operators"
    )
    options = parser.parse_args()
    _with_core(options.core) if options.core else _without_core()
    from thixo.codegen.llvm.target import named

    ship(named(options.target), options.output, options.linker, operators=options.core is not None)


if __name__ == "__main__":
    main()
