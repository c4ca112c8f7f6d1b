"""Write the type stubs that editors and type checkers read, from the operator table.

python tools/build_stubs.py            write them
python tools/build_stubs.py --check    only say whether they are up to date
"""

import inspect
import keyword
import math
import sys
from pathlib import Path
from types import UnionType
from typing import Any

import stub_parts as parts

import thixo as tx
import thixo.array_api as xp
from thixo.ops import build_index, public
from thixo.ops.base import TABLE
from thixo.ops.signature import REQUIRED, Param

SOURCE = Path(tx.__file__).parent
NAMESPACES = {
    "linalg": "linalg",
    "fft": "fft",
    "special": "special",
    "masked": "masked",
    "signal.windows": "signal/windows",
    "nn.functional": "nn/functional",
}

KINDS = {
    "tensor": "Tensor",
    "operand": "Tensor | _Number",
    "tensors": "Sequence[Tensor]",
    "int": "_int",
    "ints": "_int | Sequence[_int]",
    "float": "_float",
    "scalar": "_Number",
    "bool": "_bool",
    "str": "_str",
    "dtype": "DType",
    "device": "Device | _str",
    "generator": "Generator",
    "any": "Any",
}


class Table:
    """The operators by public name, as the files have them now."""

    def __init__(self) -> None:
        self.index = build_index.collect()
        public._OPERATORS, public._ALIASES, public._INPLACE, public._METHODS = self.index

    def find(self, name: str) -> tuple[Any, bool]:
        """The declaration behind a name, and whether the name is its in-place form."""
        if name in self.index.inplace:
            return TABLE[self.index.inplace[name]], True
        return TABLE[self.index.aliases.get(name, name)], False


# ---- one operator


def parameter(p: Param) -> str:
    """`dim: _int | None = None`."""
    kind = KINDS[p.kind]
    if p.optional and kind != "Any":
        kind += " | None"
    name = p.name + "_" if keyword.iskeyword(p.name) else p.name
    if p.default is REQUIRED:
        return f"{name}: {kind}"
    plain = not isinstance(p.default, float) or math.isfinite(p.default)
    return f"{name}: {kind} = {p.default!r}" if plain else f"{name}: {kind} = ..."


def arguments(params: list[Param], extra: list[str], first: list[str]) -> str:
    """The text between the parentheses."""
    texts = list(first)
    starred = False
    for p in params:
        if p.keyword_only and not starred:
            texts.append("*")
            starred = True
        texts.append(parameter(p))
    if extra and not starred and not any(t.startswith("*") for t in texts):
        texts.append("*")
    return ", ".join(texts + extra)


def result(op: Any, inplace: bool, method: bool) -> str:
    """The type of what an operator returns."""
    if op.full_name in parts.RESULTS:
        return parts.RESULTS[op.full_name]
    if inplace or op.sig.name.endswith("_"):
        return "Self" if method else "Tensor"
    if op.sig.many:
        return "tuple[Tensor, ...]"
    return result_class(op) if len(op.sig.outputs) > 1 else "Tensor"


def result_class(op: Any) -> str:
    """The name of the class of several results."""
    if op.sig.outputs == ("values", "indices"):
        return "_ValuesIndices"
    return "_" + "".join(part.capitalize() for part in op.sig.outputs)


def definitions(name: str, op: Any, inplace: bool, method: bool) -> list[str]:
    """The lines that declare a function or method."""
    params = list(op.sig.params)
    first: list[str] = []
    if method:
        params, first = params[1:], ["self"]
    elif inplace:
        params[0] = params[0]._replace(kind="tensor")
    returned = result(op, inplace, method)
    out = [] if method or inplace or op.sig.aliases or op.sig.many else [_out(op)]
    doc = first_line(op.__doc__)
    if getattr(op, "attribute", False) and method:
        return ["@property", f"def {name}(self) -> {returned}:", f'    """{doc}"""']
    bodies = _bodies(op, params, first, out, returned)
    if op.full_name in parts.OVERLOADS and not inplace:
        bodies = _by_arguments(op, params, first, method)
    lines: list[str] = []
    for number, body in enumerate(bodies):
        if len(bodies) > 1:
            lines.append("@overload")
        shown = doc and number == 0
        lines.append(f"def {name}({body}:" + ("" if shown else " ..."))
        if shown:
            lines.append(f'    """{doc}"""')
    return lines


def _out(op: Any) -> str:
    several = len(op.sig.outputs) > 1
    return "out: tuple[Tensor, ...] | None = None" if several else "out: Tensor | None = None"


def _bodies(
    op: Any, params: list[Param], first: list[str], out: list[str], returned: str
) -> list[str]:
    rest = next((i for i, p in enumerate(params) if p.rest), None)
    if rest is not None:
        return _with_rest(params, rest, first, out, returned)
    flag = next((i for i, p in enumerate(params) if p.name == "return_indices"), None)
    if flag is not None and len(op.sig.outputs) == 1:
        plain = arguments(params, out, first).replace(
            "return_indices: _bool = False", "return_indices: Literal[False] = False"
        )
        before = arguments(params[:flag], [], first)
        return [
            f"{plain}) -> Tensor",
            f"{before}, *, return_indices: Literal[True]) -> _ValuesIndices",
        ]
    return [f"{arguments(params, out, first)}) -> {returned}"]


def _with_rest(
    params: list[Param], rest: int, first: list[str], out: list[str], returned: str
) -> list[str]:
    """`zeros(2, 3)` and `zeros((2, 3))`."""
    p = params[rest]
    each = {"ints": "_int", "tensors": "Tensor"}.get(p.kind, "Any")
    before = [parameter(q) for q in params[:rest]]
    after = [parameter(q) for q in params[rest + 1 :]]
    spread = ", ".join([*first, *before, f"*{p.name}: {each}", *after, *out])
    bodies = [f"{spread}) -> {returned}"]
    if each != "Any":
        star = ["*"] if after or out else []
        whole = ", ".join([*first, *before, f"{p.name}: Sequence[{each}]", *star, *after, *out])
        bodies.append(f"{whole}) -> {returned}")
    return bodies


def _by_arguments(op: Any, params: list[Param], first: list[str], method: bool) -> list[str]:
    own = first if method else [parameter(params[0])]
    bodies = []
    for text, kind in parts.OVERLOADS[op.full_name]:
        out = {"pair": "out: tuple[Tensor, ...] | None = None", "one": "out: Tensor | None = None"}
        filled = text.replace("{out}", "" if method else "*, " + out.get(kind, ""))
        filled = filled.replace(", )", ")")
        joined = ", ".join(own) + ("" if filled.startswith(")") else ", ") + filled
        bodies.append(joined)
    return bodies


def indented(lines: list[str]) -> str:
    """The lines inside a class."""
    return "".join(f"    {line}\n" for line in lines)


# ---- the files


def native(table: Table) -> str:
    """`_core/_native.pyi`: the Tensor with its methods."""
    tensor = parts.TENSOR
    for name in parts.UNARY.split():
        tensor += f"    def __{name}__(self) -> Tensor: ...\n"
    other = "other: Tensor | _Number | np.ndarray[Any, Any]"
    for name in parts.BINARY.split():
        for form in ("", "r", "i"):
            if (name, form) == ("matmul", "i"):
                continue
            returned = "Self" if form == "i" else "Tensor"
            tensor += f"    def __{form}{name}__(self, {other}) -> {returned}: ...\n"
    for name in parts.COMPARED.split():
        ignore = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        tensor += f"    def __{name}__(self, {other}) -> Tensor: ...{ignore}\n"
    written = set(vars_of(parts.TENSOR))
    for name in sorted(table.index.methods):
        if name not in written:
            op, inplace = table.find(table.index.methods[name])
            tensor += indented(definitions(name, op, inplace, method=True))
    written |= set(table.index.methods)
    for name, value in sorted(vars(tx.Tensor).items()):
        if name in written or name.startswith("__"):
            continue
        if name.endswith("_") and name[:-1] in table.index.methods:  # a view, made in place
            op, _ = table.find(table.index.methods[name[:-1]])
            tensor += indented(definitions(name, op, True, method=True))
        elif isinstance(value, property):
            tensor += indented(["@property", *python_function(name, value.fget)])
        elif inspect.isfunction(value):
            tensor += indented(python_function(name, value))
    return (
        parts.MARK
        + parts.HEAD
        + "\nfrom thixo._core import Size\nfrom thixo.device import device as Device\n"
        + "from thixo.dtype import DType\nfrom thixo.tensor import RemovableHandle\n\n"
        + parts.NUMBER
        + "\n"
        + results(table)
        + tensor
        + "\n"
        + parts.NATIVE
        + "\n"
        + "".join(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n" for name in helpers())
    )


def python_function(name: str, function: Any) -> list[str]:
    """The lines that declare a function written in Python."""
    signature = inspect.signature(function)
    texts: list[str] = []
    kinds = [p.kind for p in signature.parameters.values()]
    for position, p in enumerate(signature.parameters.values()):
        before = kinds[:position]
        if p.kind is p.KEYWORD_ONLY and not {p.KEYWORD_ONLY, p.VAR_POSITIONAL} & set(before):
            texts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = (
            f"{star}{p.name}" if p.name == "self" else f"{star}{p.name}: {type_text(p.annotation)}"
        )
        if p.default is not p.empty:
            simple = p.default is None or isinstance(p.default, bool | int | str)
            text += f" = {p.default!r}" if simple else " = ..."
        texts.append(text)
    doc = (function.__doc__ or "").strip()
    line = f"def {name}({', '.join(texts)}) -> {type_text(signature.return_annotation)}:"
    return [line, f'    """{first_line(doc)}"""'] if doc else [line + " ..."]


def type_text(annotation: Any) -> str:
    """An annotation as a stub writes it; Any where it is none of the common ones."""
    known = {
        bool: "_bool", int: "_int", float: "_float", complex: "_complex", str: "_str", None: "None",
        type(None): "None", tx.Tensor: "Tensor", tx.DType: "DType", tx.device: "Device", "Tensor": "Tensor",
    }  # fmt: skip
    if isinstance(annotation, UnionType):
        found = [type_text(part) for part in annotation.__args__]
        return "Any" if "Any" in found else " | ".join(found)
    return known.get(annotation, "Any") if getattr(annotation, "__hash__", None) else "Any"


def own_names(module: Any) -> str:
    """What a module of operators has besides them, imported from where it is."""
    lines = []
    for name, value in sorted(vars(module).items()):
        home = getattr(value, "__module__", "")
        if name.startswith("_") or not isinstance(value, type) or not home.startswith("thixo."):
            continue
        lines.append(f"from {home} import {value.__name__} as {name}\n")
    return "".join(lines)


def vars_of(text: str) -> list[str]:
    """The names that a class body in a stub declares."""
    found = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("def "):
            found.append(line[4:].split("(")[0])
        elif line and line.split(":")[0].isidentifier() and ":" in line:
            found.append(line.split(":")[0])
    return found


def helpers() -> list[str]:
    """The functions of the native module, for Thixo's own use."""
    from thixo._core import _native

    names = (n for n in dir(_native) if not n.startswith("_"))
    return [n for n in names if inspect.isbuiltin(getattr(_native, n))]


def results(table: Table) -> str:
    """A class for each combination of several results."""
    made: dict[str, str] = {}
    for name in sorted(table.index.operators):
        op = TABLE[name]
        if len(op.sig.outputs) > 1 and not op.sig.many:
            fields = "".join(f"    {o.rstrip('!')}: Tensor\n" for o in op.sig.outputs)
            made[result_class(op)] = f"class {result_class(op)}(NamedTuple):\n{fields}\n"
    return "".join(made[name] for name in sorted(made))


def imported(names: dict[str, str]) -> str:
    """`from module import name as name`: what a stub gives on."""
    lines = []
    for name, module in sorted(names.items(), key=lambda item: (item[1], item[0])):
        inner = name if "." not in name else name.split(".")[1]
        lines.append(f"from {module} import {inner} as {name.split('.')[0]}\n")
    return "".join(lines)


def top(table: Table) -> str:
    """`thixo/__init__.pyi`."""
    homes = dict(tx._HOMES)
    values: list[str] = []
    for name, value in vars(tx).items():
        if name.startswith("_") and name != "__version__":
            continue
        if inspect.ismodule(value) or name in homes:
            continue
        if isinstance(value, tx.DType):
            values.append(f"{name}: DType\n")
        elif isinstance(value, str | float):
            values.append(f"{name}: {'_str' if isinstance(value, str) else '_float'}\n")
        elif value is None:
            values.append(f"{name}: None\n")
        elif getattr(value, "__module__", "").startswith("thixo."):
            homes[name if value.__name__ == name else f"{name}.{value.__name__}"] = value.__module__
    taken = {n.split(".")[0] for n in homes} | {v.split(":")[0] for v in values} | tx._PACKAGES
    taken -= {n for n in taken if n in homes and homes[n].startswith("thixo.ops")}
    homes = {n: _public_home(m) for n, m in homes.items() if not m.startswith("thixo.ops")}
    modules = "".join(f"from thixo import {name} as {name}\n" for name in sorted(tx._PACKAGES))
    given = {n: m for n, m in homes.items() if n not in ("Generator", "DType")}
    body = "".join(sorted(values)) + "\n" + functions(table, "", taken)
    return with_head(first_line(tx.__doc__), modules + imported(given), body)


def first_line(doc: str | None) -> str:
    """The sentence that a docstring begins with."""
    return (doc or "").strip().splitlines()[0]


def _public_home(module: str) -> str:
    return "thixo._core" if module in ("thixo", "thixo._core._native") else module


def with_head(doc: str, imports: str, body: str) -> str:
    """A stub of functions: its docstring, the imports that its body needs, and the body."""
    names = {result_class(op) for op in TABLE.values() if len(op.sig.outputs) > 1}
    used = sorted(name for name in names if f"-> {name}:" in body)
    classes = ", ".join(["Generator as Generator", "Tensor as Tensor", *used])
    return (
        f'"""{doc}"""\n\n'
        + parts.MARK
        + parts.HEAD
        + f"\nfrom thixo._core._native import {classes}\n"
        + "from thixo.device import device as Device\nfrom thixo.dtype import DType as DType\n"
        + imports
        + "\n"
        + parts.NUMBER
        + "\n"
        + body
    )


def functions(table: Table, namespace: str, taken: set[str]) -> str:
    """The operators of a namespace."""
    prefix = namespace + "." if namespace else ""
    text = ""
    for name in public.names(namespace):
        op, inplace = table.find(prefix + name)
        if name in taken or getattr(op, "method_only", False):
            continue
        text += "".join(f"{line}\n" for line in definitions(name, op, inplace, method=False))
    return text


def face(table: Table, namespace: str, module: Any) -> str:
    """The stub of a module that shows the operators of a namespace."""
    return with_head(
        first_line(module.__doc__), own_names(module), functions(table, namespace, set())
    )


def standard(table: Table) -> str:
    """`array_api/__init__.pyi`: what it has of its own, and the operators it shows as they are."""
    imports = "from thixo.array_api import fft as fft, linalg as linalg\n"
    for module in (
        "creation",
        "data_types",
        "elementwise",
        "manipulation",
        "searching",
        "statistical",
    ):
        imports += f"from thixo.array_api.{module} import *\n"
    again = ", ".join(f"{n} as {n}" for n in "matmul matrix_transpose tensordot vecdot".split())
    imports += (
        f"from thixo.array_api.info import Info\nfrom thixo.array_api.linalg import {again}\n"
    )
    text = "VERSIONS: tuple[_str, ...]\n__array_api_version__: _str\n"
    text += "".join(f"{name}: _float\n" for name in ("e", "inf", "nan", "pi")) + "newaxis: None\n"
    text += "".join(f"{name}: DType\n" for name in xp.__array_namespace_info__().dtypes())
    text += "def __array_namespace_info__() -> Info: ...\n"
    for name in xp._SHARED:
        op, _ = table.find(name)
        text += "".join(f"{line}\n" for line in definitions(name, op, False, method=False))
    return with_head(first_line(xp.__doc__), imports, text)


def build() -> dict[Path, str]:
    """Every stub by its path."""
    table = Table()
    files = {
        SOURCE / "_core" / "__init__.pyi": parts.MARK + parts.CORE,
        SOURCE / "_core" / "_native.pyi": native(table),
        SOURCE / "__init__.pyi": top(table),
        SOURCE / "array_api" / "__init__.pyi": standard(table),
    }
    for namespace, path in NAMESPACES.items():
        module = __import__("thixo." + namespace, fromlist=["x"])
        files[SOURCE / f"{path}.pyi"] = face(table, namespace, module)
    return files


def main() -> int:
    """Write the stubs, or with --check compare them."""
    stale = [
        (path, text)
        for path, text in build().items()
        if not path.exists() or path.read_text() != text
    ]
    for path, text in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(SOURCE)} is out of date: run python tools/build_stubs.py")
        else:
            path.write_text(text)
            print(f"{path.relative_to(SOURCE)} written, {len(text.splitlines())} lines")
    return int(bool(stale) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
