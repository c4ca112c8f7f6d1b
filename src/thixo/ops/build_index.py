"""Write `ops/index.py`: load every declaration and list what it declares.

python -m thixo.ops.build_index            write it
python -m thixo.ops.build_index --check    only say whether it is up to date
"""

import importlib
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from thixo.ops import __path__ as ops_path
from thixo.ops.base import TABLE, DeclarationError

PATH = Path(__file__).with_name("index.py")


class Index(NamedTuple):
    """The public names of the operator table, each a full name such as "linalg.det"."""

    operators: dict[str, str]  # name -> the module that declares it, below thixo.ops
    aliases: dict[str, str]  # another name -> the operator
    inplace: dict[str, str]  # "relu_" -> the operator it is the in-place form of
    methods: dict[str, str]  # name of a Tensor method -> a name of the dictionaries above


def load_all(strict: bool = True) -> None:
    """Import every module of the table. Not strict: warn of one that fails, and go on."""
    for module in pkgutil.walk_packages(ops_path, "thixo.ops."):
        name = module.name.rsplit(".", 1)[-1]
        if name in ("build_index", "dev_index", "index") or name.startswith("__"):
            continue
        try:
            importlib.import_module(module.name)
        except Exception as error:
            if strict:
                raise
            warnings.warn(f"operators of {module.name} are missing: {error!r}", stacklevel=2)


def collect(strict: bool = True) -> Index:
    """The index of the table as it is in the files."""
    load_all(strict)
    index = Index({}, {}, {}, {})
    for name, op in sorted(TABLE.items()):
        index.operators[name] = op.__module__.removeprefix("thixo.ops.")
    for name, op in sorted(TABLE.items()):
        for alias in op.aliases:
            other = index.aliases.get(alias) or (alias if alias in index.operators else None)
            if other is not None:
                problem = f"{name}: its alias {alias!r} is a name of operator {other} already"
                if strict:
                    raise DeclarationError(problem)
                warnings.warn(problem, stacklevel=2)
                continue
            index.aliases[alias] = name
        _enter_forms(index, name, op)
    return Index(*(dict(sorted(part.items())) for part in index))


def _enter_forms(index: Index, name: str, op: Any) -> None:
    for public in (name, *op.aliases):
        if op.inplace:
            index.inplace[public + "_"] = name
        if "." in public:
            # `linalg.det` is a method `det` only through an alias, which has no dot.
            continue
        if op.method:
            index.methods[public] = public
        if op.inplace:  # `copy_` is a method although `copy` is none
            index.methods[public + "_"] = public + "_"


def text(index: Index) -> str:
    """The index as the module `ops/index.py`."""
    parts = [
        '"""Which file declares which operator. Written by `python -m thixo.ops.build_index`."""'
    ]
    for name, part in zip(("OPERATORS", "ALIASES", "INPLACE", "METHODS"), index, strict=True):
        lines = "".join(f"    {key!r}: {value!r},\n" for key, value in part.items())
        body = f"{{\n{lines}}}" if lines else "{}"
        parts.append(f"{name}: dict[str, str] = {body}".replace("'", '"'))
    return parts[0] + "\n\n" + "\n".join(parts[1:]) + "\n"


def main() -> int:
    """Write the index, or with --check compare it."""
    new = text(collect())
    old = PATH.read_text() if PATH.exists() else ""
    if "--check" in sys.argv[1:]:
        if new != old:
            print("ops/index.py is out of date: run python -m thixo.ops.build_index")
        return int(new != old)
    if new != old:
        PATH.write_text(new)
    print(f"{len(TABLE)} operators, {'unchanged' if new == old else 'index written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
