"""The one-line signature language of the operator table.

sum(input, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None) -> y
transpose(input, dim0: int, dim1: int) -> input          the result aliases `input`
copy_(input!, src: operand) -> input!                     `input` is written and returned
permute(input, dims: ints...) -> input                    also callable as permute(x, 2, 0, 1)
topk(input, k: int, ...) -> (values, indices)             several results
unbind(input, dim: int = 0) -> tensors                    a list whose length the shapes decide
"""

import ast
import re
from typing import Any, NamedTuple

KINDS = (
    "tensor",  # a Tensor
    "operand",  # a Tensor or a Python number
    "tensors",  # a list or tuple of Tensors
    "int",
    "ints",  # an int or a sequence of ints
    "float",
    "scalar",  # any Python number
    "bool",
    "str",
    "dtype",
    "device",
    "generator",
    "graph",  # of control flow in graphs
    "graphs",
    "any",  # whatever the operator itself checks
)

_PARAM = re.compile(
    r"(?P<name>\w+)(?P<written>!)?(\s*:\s*(?P<kind>\w+)(?P<optional>\?)?(?P<rest>\.\.\.)?)?"
    r"(\s*=\s*(?P<default>.+))?$"
)


class Missing:
    """Marks a parameter that has no default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = Missing()


class Param(NamedTuple):
    """One parameter of an operator."""

    name: str
    kind: str
    optional: bool
    default: Any
    keyword_only: bool
    rest: bool
    written: bool

    @property
    def holds_tensors(self) -> bool:
        """Whether a Tensor can arrive here."""
        return self.kind in ("tensor", "operand", "tensors")


class Signature(NamedTuple):
    """An operator's name, parameters and results."""

    name: str
    params: tuple[Param, ...]
    outputs: tuple[str, ...]
    text: str

    @property
    def aliases(self) -> tuple[str, ...]:
        """The inputs that the results share memory with."""
        names = {p.name for p in self.params}
        return tuple(o.rstrip("!") for o in self.outputs if o.rstrip("!") in names)

    @property
    def many(self) -> bool:
        """Whether the number of results depends on the arguments."""
        return self.outputs == ("tensors",)

    def place(self, name: str) -> int:
        """The position of a parameter, -1 if there is none of that name."""
        return next((i for i, p in enumerate(self.params) if p.name == name), -1)


def parse(text: str) -> Signature:
    """Read a signature.

    >>> parse("relu(input) -> y").outputs
    ('y',)
    """
    match = re.match(r"\s*(\w+)\((.*)\)\s*->\s*(.+?)\s*$", text, re.S)
    if not match:
        raise ValueError(f"signature {text!r} is not of the form 'name(parameters) -> result'")
    name, body, result = match.groups()
    params: list[Param] = []
    keyword_only = False
    for part in _split(body):
        if part == "*":
            keyword_only = True
            continue
        params.append(_param(part, keyword_only, text))
    outputs = tuple(o.strip() for o in result.strip("() ").split(",") if o.strip())
    return Signature(name, tuple(params), outputs, " ".join(text.split()))


def _param(part: str, keyword_only: bool, text: str) -> Param:
    match = _PARAM.match(part)
    if not match:
        raise ValueError(f"signature {text!r}: cannot read parameter {part!r}")
    kind = match["kind"] or "tensor"
    if kind not in KINDS:
        raise ValueError(f"signature {text!r}: unknown kind {kind!r}; known: {', '.join(KINDS)}")
    default = REQUIRED if match["default"] is None else _literal(match["default"])
    optional = bool(match["optional"]) or default is None
    return Param(
        match["name"], kind, optional, default, keyword_only, bool(match["rest"]),
        bool(match["written"]),
    )  # fmt: skip


def _literal(text: str) -> Any:
    if text in ("inf", "-inf", "nan"):
        return float(text)
    return ast.literal_eval(text)


def _split(body: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(body):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(body[start:i])
            start = i + 1
    parts.append(body[start:])
    return [p.strip() for p in parts if p.strip()]
