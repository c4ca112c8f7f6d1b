"""From a program that fails to a small one that fails: drop statements, open blocks, take parts of expressions."""

from __future__ import annotations

import ast
import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import thixo as tx
from tests.programs.check import Verdict, judge
from tests.programs.interpreted import interpreted
from tests.programs.program import NAME, Program
from tests.programs.routes import ROUTES

BLOCKS = ("body", "orelse", "finalbody", "handlers")


def cause(verdict: Verdict) -> str:
    """What kind of difference it is: a smaller program must show the same."""
    head, _, rest = verdict.reason.partition(":")
    return f"{head}:{rest.partition(':')[0]}" if head == "error" else head.partition("[")[0]


def fails_on(route: str, wanted: Verdict, whole: bool = True) -> Callable[[Program], bool]:
    """Whether a program is wrong in the way that another was, through the whole compiler or with graphs interpreted."""

    def fails(program: Program) -> bool:
        with contextlib.nullcontext() if whole else interpreted():
            verdict = judge(program, ROUTES[route])
        return verdict.kind == "wrong" and cause(verdict) == cause(wanted)

    return fails


class Shrinker:
    """Makes a program smaller as long as it still fails."""

    def __init__(
        self, program: Program, fails: Callable[[Program], bool], seconds: float = 60
    ) -> None:
        self.program = program
        self.fails = fails
        self.end = time.process_time() + seconds

    def run(self) -> Program:
        """The smallest that was found."""
        changed = True
        while changed and time.process_time() < self.end:
            changed = any([self._step(drops), self._step(opens), self._step(parts)])
        return self.program

    def _step(self, changes: Callable[[ast.AST], Iterator[Callable[[], None]]]) -> bool:
        """All changes of a sort, one after the other; those after which it still fails stay."""
        any_worked, at = False, 0
        while time.process_time() < self.end:
            tree = ast.parse(self.program.text)
            made = list(changes(_function(tree)))
            if at >= len(made):
                return any_worked
            made[at]()
            if self._works(tree):
                any_worked = True
            else:
                at += 1
        return any_worked

    def _works(self, tree: ast.Module) -> bool:
        try:
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            smaller = replace(self.program, text=text)
            if text == self.program.text or not self.fails(smaller):
                return False
        except SyntaxError:  # a break outside of a loop, a name that is not there to be nonlocal
            return False
        self.program = smaller
        return True


def _function(tree: ast.Module) -> ast.FunctionDef:
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == NAME)


def _blocks(root: ast.AST) -> Iterator[list[Any]]:
    for node in ast.walk(root):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def drops(root: ast.AST) -> Iterator[Callable[[], None]]:
    """Leave out half of a block, or one statement; the last first, since nothing depends on it."""
    for block in _blocks(root):
        if len(block) > 3:
            yield lambda block=block: _cut(block, len(block) // 2, len(block))
            yield lambda block=block: _cut(block, 0, len(block) // 2)
    for block in _blocks(root):
        for at in reversed(range(len(block))):
            if not isinstance(block[at], ast.Pass):
                yield lambda block=block, at=at: _cut(block, at, at + 1)


def _cut(block: list[Any], start: int, end: int) -> None:
    handlers = isinstance(block[start], ast.excepthandler)
    del block[start:end]
    if not block and not handlers:
        block.append(ast.Pass())


def opens(root: ast.AST) -> Iterator[Callable[[], None]]:
    """The block of a compound statement in its place."""
    for block in _blocks(root):
        for at, statement in enumerate(block):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.excepthandler):
                continue
            for name in BLOCKS[:3]:
                inner = getattr(statement, name, None)
                if inner:
                    yield lambda block=block, at=at, inner=inner: block.__setitem__(
                        slice(at, at + 1), inner
                    )


def parts(root: ast.AST) -> Iterator[Callable[[], None]]:
    """A part of an expression in the place of the whole."""
    for node in ast.walk(root):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for part in _parts(value):
                    yield lambda node=node, name=name, part=part: setattr(node, name, part)
            elif isinstance(value, list):
                for at, item in enumerate(value):
                    for part in _parts(item) if isinstance(item, ast.expr) else ():
                        yield lambda value=value, at=at, part=part: value.__setitem__(at, part)


def _parts(node: ast.expr) -> list[ast.expr]:
    found: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        found = [node.left, node.right]
    elif isinstance(node, ast.BoolOp):
        found = list(node.values)
    elif isinstance(node, ast.UnaryOp):
        found = [node.operand]
    elif isinstance(node, ast.IfExp):
        found = [node.body, node.orelse]
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        found = [ast.Compare(node.left, node.ops[:1], node.comparators[:1])]
    elif isinstance(node, ast.Call):
        found = list(node.args) + (
            [node.func.value] if isinstance(node.func, ast.Attribute) else []
        )
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        found = [e for e in node.elts if not isinstance(e, ast.Starred)]
    elif isinstance(node, ast.NamedExpr):
        found = [node.value]
    return [copy.deepcopy(part) for part in found if not isinstance(part, ast.Starred)]


# ---- as a file


def as_file(program: Program, route: str, verdict: Verdict) -> str:
    """A file that shows the failure: what the program needs, its arguments, both results."""
    tree = ast.parse(program.text)
    kept: list[ast.stmt] = []
    needed = {NAME, *(n.id for n in ast.walk(_function(tree)) if isinstance(n, ast.Name))}
    if any(name == "box" for name, _ in program.parameters):
        needed.add("Box")
    for statement in reversed(tree.body):
        names = {getattr(statement, "name", None)}
        for one in ast.walk(statement) if isinstance(statement, ast.Assign) else ():
            names |= (
                {one.id} if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) else set()
            )
        names |= {a.name for a in statement.names} if isinstance(statement, ast.Import) else set()
        if names & needed or "thixo" in names:
            kept.insert(0, statement)
            needed |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    body = ast.unparse(ast.Module(kept, []))
    calls = [verdict.call] if verdict.call else []
    if calls and calls[0] != (0, 0):
        calls.insert(0, (0, 0))
    loaded = program.load()
    shown = []
    for index, variant in calls:
        values = [_shown(a) for a in program.arguments(index, variant, loaded)]
        shown.append("    lambda: [" + ", ".join(values) + "],")
    capture = {
        "trace": "tx.jit.trace(program, tuple(SETS[0]()))",
        "script": "tx.jit.script(program)",
        "compile": "tx.compile(program)",
    }.get(route, "program")
    lines = [f"# {route}: {verdict.reason}", "", body, "", "SETS = [", *shown, "]", ""]
    lines += ["if __name__ == '__main__':", f"    captured = {capture}", "    for make in SETS:"]
    lines += [
        "        print('Python:', program(*make()))",
        f"        print('{route}:', captured(*make()))",
    ]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, tx.Tensor):
        array = value.detach().numpy()
        more = ", requires_grad=True" if value.requires_grad else ""
        dtype = "" if array.dtype == np.int64 else f", dtype=tx.{array.dtype}"
        return f"tx.tensor({array.tolist()}{dtype}{more})"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(item)}" for key, item in value.items()) + "}"
    if hasattr(value, "__dict__"):
        return f"Box({_shown(value.v)}, {value.n})"
    return repr(value)
