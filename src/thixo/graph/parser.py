"""From text back to a graph. The form is that of `thixo.graph.text`."""

import ast
import math
import operator
import re
from collections.abc import Mapping
from typing import Any

from thixo.device import cpu, device
from thixo.dtype import BY_SHORT
from thixo.errors import GraphError, ThixoError
from thixo.graph.constants import array_from, as_it_is, type_of
from thixo.graph.ir import RESERVED, Graph, Node, Type, Value
from thixo.graph.operators import bind, find
from thixo.graph.text import LEAST
from thixo.symbolic import Dim, Guard, Size, dim_max, dim_min

_TYPE = r"\w+\[[^\]]*\](?:@\w+(?::\d+)?)?"
_TYPED = re.compile(rf"\s*(\w+)\s*:\s*({_TYPE})\s*(?:,|$)")
_HEADER = re.compile(r"graph\s+(\w+)\s*\((.*)\)\s*\{$", re.S)
_GUARD = re.compile(r"(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)$")
_SOURCE = re.compile(r"\s+#\s*(\S+:\d+)\s*$")
_BOUNDS = re.compile(
    r"(?:(?P<low>\d+)\s*<=\s*)?(?P<name>\w+)(?:\s*>=\s*(?P<least>\d+)|\s*<=\s*(?P<high>\d+))?"
    r"(?:\s*~\s*(?P<hint>\d+))?$"
)


def parse(text: str, constants: Mapping[str, Any] | None = None) -> Graph:
    """Read a graph. `constants` has the data of those whose text is `constant(...)`, by name.

    >>> graph = parse('''
    ... graph f(x: f32[n]) {
    ...   y: f32[n] = tanh(x)
    ...   return y
    ... }''')
    >>> graph.outputs
    [y: f32[n]]
    """
    graphs: dict[str, Graph] = {}
    made = Graph()
    for start, block in _blocks(text):
        made = _Parser(block, constants or {}, graphs, start).graph
        if made.name in graphs:
            raise GraphError(f"graph: line {start + 1}: graph {made.name!r} is defined twice")
        graphs[made.name] = made
    return made


def parse_type(text: str) -> Type:
    """Read a type, such as f32[n, 2*m].

    >>> parse_type("f32[n, 2*m]").ndim
    2
    """
    return _Sizes({}).type(text)


class _Sizes:
    """Reads sizes and types; each symbol is one Dim, with the bounds that were declared."""

    def __init__(self, declared: dict[str, Dim]) -> None:
        self.symbols = declared
        self.types: dict[str, Type] = {}

    def symbol(self, name: str) -> Dim:
        found = self.symbols.get(name)
        if found is None:
            if name in RESERVED:
                raise GraphError(f"graph: {name!r} is a word of the language and no size")
            found = self.symbols[name] = Dim(name, low=LEAST)
        return found

    def size(self, node: ast.AST) -> Size:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return value
            case ast.Name(id=name):
                return self.symbol(name)
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -self.size(x)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _ARITHMETIC:
                return _computed(type(op), self.size(a), self.size(b))
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=[a, b], keywords=[]):
                return (dim_max if name == "max" else dim_min)(self.size(a), self.size(b))
        raise GraphError(f"graph: cannot read the size {ast.unparse(node)}")

    def type(self, text: str) -> Type:
        found = self.types.get(text)
        if found is None:
            found = self.types[text] = self._read(text)
        return found

    def _read(self, text: str) -> Type:
        match = re.fullmatch(r"\s*(\w+)\[(.*)\](?:@(\S+))?\s*", text)
        if match is None or match[1] not in BY_SHORT:
            raise GraphError(f"graph: cannot read the type {text!r}; needs such as f32[n, 3]")
        sizes = ast.parse(f"[{match[2]}]", mode="eval").body
        assert isinstance(sizes, ast.List)
        place = device(match[3]) if match[3] else cpu
        return Type(BY_SHORT[match[1]], [self.size(s) for s in sizes.elts], place)


class _Parser:
    def __init__(
        self,
        text: str,
        constants: Mapping[str, Any],
        graphs: Mapping[str, Graph] | None = None,
        start: int = 0,
    ) -> None:
        self.data = constants
        self.graphs = graphs or {}  # those before this one
        self.start = start  # lines before this block
        self.values: dict[str, Value] = {}
        self.sizes = _Sizes({})
        self.number = 0
        self.done = False
        self.graph = Graph()
        try:
            self._read(text)
        except SyntaxError as error:
            raise GraphError(f"graph: line {self.start + self.number}: {error.msg}") from None
        except ThixoError as error:
            if str(error).startswith("graph: line"):
                raise
            message = re.sub(r" \([^()\n]+:\d+\)$", "", str(error)).removeprefix("graph: ")
            raise GraphError(f"graph: line {self.start + self.number}: {message}") from None

    def _read(self, text: str) -> None:
        lines = text.strip("\n").split("\n")
        header, start = self._take_header(lines)
        # Bounds come after the header that uses the symbols, so they are read first.
        for self.number in range(start, len(lines)):
            code, _ = _split_comment(lines[self.number])
            if code.startswith("sizes "):
                self._declare(code[6:])
                break
        self.number = 1
        self._read_header(header)
        for self.number in range(start + 1, len(lines) + 1):
            code, source = _split_comment(lines[self.number - 1])
            if code == "}":
                break
            if code and not code.startswith("sizes "):
                self._statement(code, source)
        else:
            raise GraphError("graph: the closing '}' is missing")
        if any(_split_comment(line)[0] for line in lines[self.number :]):
            raise GraphError("graph: there is text after the closing '}'")
        if not self.done:
            raise GraphError("graph: there is no return")

    def _take_header(self, lines: list[str]) -> tuple[str, int]:
        header = ""
        for i, line in enumerate(lines):
            header += _split_comment(line)[0] + " "
            if header.rstrip().endswith("{"):
                return header.strip(), i + 1
        raise GraphError("graph: line 1: needs a first line such as: graph f(x: f32[n]) {")

    def _read_header(self, header: str) -> None:
        match = _HEADER.match(header)
        if match is None:
            raise GraphError("graph: needs a first line such as: graph f(x: f32[n]) {")
        self.graph.name = match[1]
        for name, type in self._typed(match[2]):
            self._define(Value(name, type), self.graph.inputs)

    def _declare(self, text: str) -> None:
        for part in text.split(","):
            match = _BOUNDS.match(part.strip())
            if match is None:
                raise GraphError(f"graph: cannot read the size {part.strip()!r}")
            low = match["low"] or match["least"]
            self.sizes.symbols[match["name"]] = Dim(
                match["name"],
                hint=None if match["hint"] is None else int(match["hint"]),
                low=LEAST if low is None else int(low),
                high=None if match["high"] is None else int(match["high"]),
            )

    def _typed(self, text: str) -> list[tuple[str, Type]]:
        found, position = [], 0
        text = text.strip()
        while position < len(text):
            match = _TYPED.match(text, position)
            if match is None:
                raise GraphError(f"graph: needs 'name: type', got {text[position:]!r}")
            found.append((match[1], self.sizes.type(match[2])))
            position = match.end()
        return found

    def _define(self, value: Value, group: list[Value] | None = None) -> Value:
        if value.name in self.values:
            raise GraphError(f"graph: {value.name!r} is defined twice")
        if value.name in RESERVED or not value.name.isidentifier():
            raise GraphError(f"graph: {value.name!r} is no name for a value")
        self.values[value.name] = value
        self.graph._names.setdefault(value.name, 0)
        if group is not None:
            group.append(value)
        return value

    # ---- statements

    def _statement(self, code: str, source: str | None) -> None:
        if self.done:
            raise GraphError("graph: there is a statement after return")
        if code == "return" or code.startswith("return "):
            names = [n.strip() for n in code[6:].split(",")] if code[6:].strip() else []
            self.graph.outputs = [self._value(n) for n in names]
            self.done = True
        elif code.startswith("guard "):
            self._guard(code[6:], source)
        elif " <- " in code and " = " not in code:
            target, _, value = code.partition(" <- ")
            self.graph.mutations[self._value(target.strip())] = self._value(value.strip())
        else:
            self._node(code, source)

    def _value(self, name: str) -> Value:
        found = self.values.get(name)
        if found is None:
            raise GraphError(f"graph: {name!r} is not defined")
        return found

    def _guard(self, text: str, source: str | None) -> None:
        match = _GUARD.match(text)
        if match is None:
            raise GraphError(f"graph: cannot read the guard {text!r}; needs such as n == 2*m")
        left, right = (self.sizes.size(_expression(match[i])) for i in (1, 3))
        self.graph.guards.append(Guard(left, match[2], right, True, source))

    def _node(self, code: str, source: str | None) -> None:
        left, equals, right = code.partition(" = ")
        if not equals:
            raise GraphError(f"graph: cannot read {code!r}; needs such as y: f32[n] = tanh(x)")
        results = [] if left.strip() == "()" else self._typed(left)
        call = _expression(right)
        if not isinstance(call, ast.Call):
            raise GraphError(f"graph: needs a call of an operator, got {right!r}")
        name = ast.unparse(call.func)
        if name == "constant":
            self._constant(results, call)
            return
        op = find(name)
        kinds = [p.kind for p in op.sig.params] + [""] * len(call.args)
        args = [self._of_kind(k, a) for k, a in zip(kinds, call.args, strict=False)]
        kwargs = {
            k.arg: self._of_kind(
                op.sig.params[op.sig.place(k.arg)].kind if op.sig.place(k.arg) >= 0 else "", k.value
            )
            for k in call.keywords
            if k.arg
        }
        outputs = [Value(n, t) for n, t in results]
        node = Node(op, bind(op, args, kwargs), outputs, source)
        for value in outputs:
            self._define(value)
        self.graph.nodes.append(node)

    def _constant(self, results: list[tuple[str, Type]], call: ast.Call) -> None:
        if len(results) != 1 or len(call.args) != 1 or call.keywords:
            raise GraphError("graph: a constant is such as c: f32[2] = constant([0.5, 1.0])")
        ((name, type),) = results
        value = self._define(Value(name, type))
        if isinstance(call.args[0], ast.Constant) and call.args[0].value is Ellipsis:
            inner = f"{self.graph.name}.{name}"  # in a graph inside of another
            data = self.data.get(inner, self.data.get(name))
            if data is None:
                raise GraphError(
                    f"graph: the data of constant {name!r} is not in the text; "
                    f"hand it to parse(text, constants={{{name!r}: array}})"
                )
            if type_of(data) != type:
                raise GraphError(f"graph: constant {name!r} is {type}, its data {type_of(data)}")
        else:
            try:
                data = array_from(self._argument(call.args[0]), type)
            except (ValueError, TypeError, OverflowError):
                text = ast.unparse(call.args[0])
                raise GraphError(f"graph: {text} is no data for {name}: {type}") from None
        self.graph.constants[value] = as_it_is(data)

    def _of_kind(self, kind: str, node: ast.expr) -> Any:
        if kind == "graph":
            return self._graph(node)
        if kind == "graphs" and isinstance(node, ast.List):
            return [self._graph(e) for e in node.elts]
        return self._argument(node)

    def _graph(self, node: ast.expr) -> Graph:
        found = self.graphs.get(node.id) if isinstance(node, ast.Name) else None
        if found is None:
            raise GraphError(f"graph: there is no graph {ast.unparse(node)!r} before this one")
        return found

    def _argument(self, node: ast.AST) -> Any:
        match node:
            case ast.Name(id=name):
                return self._name(name)
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements):
                return tuple(self._argument(e) for e in elements)
            case ast.List(elts=elements):
                return [self._argument(e) for e in elements]
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -self._argument(x)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _ARITHMETIC:
                return _computed(type(op), self._argument(a), self._argument(b))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                return _CALLS[name](*(self._argument(a) for a in args))
        raise GraphError(f"graph: cannot read the argument {ast.unparse(node)}")

    def _name(self, name: str) -> Any:
        found: Any = self.values.get(name)
        if found is None:
            found = _WORDS.get(name)
        if found is None:
            found = self.sizes.symbols.get(name)
        if found is None:
            raise GraphError(f"graph: {name!r} is not defined")
        return found


def _blocks(text: str) -> list[tuple[int, str]]:
    """The graphs of a text, one after the other, each with the number of lines before it."""
    lines = text.strip("\n").split("\n")
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("graph ")]
    starts = [0, *starts[1:]]  # what stands before the first one is its own
    ends = [*starts[1:], len(lines)]
    return [(a, "\n".join(lines[a:b])) for a, b in zip(starts, ends, strict=True)]


def _expression(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _split_comment(line: str) -> tuple[str, str | None]:
    """A line's code, and the source its comment names."""
    if "#" not in line:
        return line.strip(), None
    match = _SOURCE.search(line)
    code = line[: match.start()] if match else line
    quote = None
    for i, c in enumerate(code):
        if quote:
            quote = None if c == quote and code[i - 1] != "\\" else quote
        elif c in "'\"":
            quote = c
        elif c == "#":
            code = code[:i]
            break
    return code.strip(), match[1] if match else None


def _computed(op: type, a: Any, b: Any) -> Any:
    """Arithmetic of sizes. A text from anywhere must not make it long: results are bounded."""
    if not all(type(x) in (int, float, complex, Dim) for x in (a, b)):
        raise GraphError("graph: arithmetic is for numbers and sizes")
    if op is ast.Pow and not (type(b) is int and 0 <= b <= 64):
        raise GraphError("graph: an exponent is a number of at most 64")
    if op is ast.Pow and isinstance(a, Dim) and len(a.terms) ** b > 10_000:
        raise GraphError("graph: a size is too large to be one")
    made = _ARITHMETIC[op](a, b)
    if (isinstance(made, int) and abs(made) >= 2**64) or (
        isinstance(made, Dim) and len(made.terms) > 200
    ):
        raise GraphError("graph: a size is too large to be one")
    return made


_WORDS: dict[str, Any] = {"nan": math.nan, "inf": math.inf, **BY_SHORT}
_CALLS: dict[str, Any] = {
    "complex": complex,
    "slice": slice,
    "device": device,
    "max": dim_max,
    "min": dim_min,
}
_ARITHMETIC: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
