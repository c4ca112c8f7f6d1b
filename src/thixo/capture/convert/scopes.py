"""Whose a name is: this function's, an enclosing one's, a cell from outside, or a global."""

import ast
from collections.abc import Iterable, Sequence

from thixo.capture.convert.names import assigned, declared, has, parameter_names

COMPOUND = (ast.If, ast.While, ast.For, ast.With, ast.Try, ast.Match)


class Scope:
    """The names of one function while it is rewritten."""

    def __init__(
        self, args: ast.arguments, body: Sequence[ast.stmt], outer: Iterable[str] = ()
    ) -> None:
        self.globals = declared(body, ast.Global)
        self.nonlocals = declared(body, ast.Nonlocal) | set(outer)
        self.parameters = set(parameter_names(args))
        own = set(assigned(body)) | self.parameters
        self.bound = own - self.globals - self.nonlocals
        positional = [*args.posonlyargs, *args.args]
        first = positional[0].arg if positional else None
        self.first = None if first == "_first" else first
        # Set by functions inside, so by any call.
        inner = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Nonlocal)]
        self.shared = {text for n in inner for text in n.names} & self.bound
        inside = [s for s in body if isinstance(s, COMPOUND)]
        gone = [s for s in body if isinstance(s, ast.Delete)]
        walruses = {n.target.id for s in body for n in ast.walk(s) if isinstance(n, ast.NamedExpr)}
        # Whether these have a value is asked where they are read.
        self.tracked = (set(assigned([*inside, *gone])) | self.shared | walruses) & self.bound
        self.generates = has(body, ast.Yield, ast.YieldFrom)


class Scopes:
    """The functions around the place that is rewritten, the innermost last."""

    def __init__(self, free: Iterable[str]) -> None:
        self.stack: list[Scope] = []
        self.free = set(free)  # cells of the function that were there before

    def owner(self, text: str) -> "Scope | str":
        """The scope that binds a name, or "free" or "global"."""
        for scope in reversed(self.stack):
            if text in scope.bound:
                return scope
            if text in scope.globals:
                return "global"
        return "free" if text in self.free else "global"

    def state_of_names(self, names: Iterable[str]) -> list[str]:
        """Those of some names that are variables of functions that are rewritten."""
        return sorted(n for n in names if isinstance(self.owner(n), Scope))

    def state(self, nodes: Sequence[ast.AST]) -> list[str]:
        """The variables that a block may set: those of functions that are rewritten."""
        names = set(assigned(nodes))
        if has(nodes, ast.Call, ast.Attribute, ast.BinOp, ast.Subscript, ast.Compare, *_LOOKS):
            for scope in self.stack:
                names |= scope.shared
        return self.state_of_names(names)


_LOOKS = (ast.For, ast.With, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
