"""return, break and continue become assignments: to a result, and to flags that later code asks.

An `if` whose body always leaves takes the rest of its block as its else, so that both sides define the result and no
flag is needed there. A flag stays Python's until a tensor decides it.
"""

import ast
from collections.abc import Sequence

from thixo.capture.convert.names import LOOPS, assign, constant, has, hook, name, walk
from thixo.capture.refusal import Refused

RESULT, RETURNED = "_result", "_returned"
Block = list[ast.stmt]


class LoopFlags:
    """The names of a loop's flags."""

    def __init__(self, number: int) -> None:
        self.stop = f"_break{number}"
        self.skip = f"_continue{number}"


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through a block ends in return, break, continue or raise."""
    for s in block:
        if isinstance(s, ast.Return | ast.Break | ast.Continue | ast.Raise):
            return True
        if isinstance(s, ast.If) and s.orelse and leaves(s.body) and leaves(s.orelse):
            return True
        if isinstance(s, ast.With) and leaves(s.body):
            return True
        if isinstance(s, ast.While) and _endless(s):
            return True
    return False


def _endless(s: ast.While) -> bool:
    """Whether a loop ends by return or raise only."""
    always = isinstance(s.test, ast.Constant) and bool(s.test.value)
    return always and not has(s.body, ast.Break, into_loops=False)


class Exits:
    """Takes the exits out of one function."""

    def __init__(self) -> None:
        self.loops = 0

    def function(self, body: Block) -> Block:
        """The body with one return, its last statement, if it has any."""
        if not has(body, ast.Return):
            return self.block(body, None)
        if not has(body[:-1], ast.Return) and isinstance(body[-1], ast.Return):
            return self.block(body[:-1], None) + body[-1:]
        if not leaves(body):
            body = [*body, ast.copy_location(ast.Return(constant(None)), body[-1])]
        made = self.block(body, None)
        first: Block = [assign(RETURNED, constant(False)), assign(RESULT, hook("unset"))]
        last = ast.copy_location(ast.Return(hook("returned", name(RESULT))), body[-1])
        return [*(ast.copy_location(s, body[0]) for s in first), *made, last]

    def block(self, block: Sequence[ast.stmt], loop: LoopFlags | None) -> Block:
        made: Block = []
        for i, s in enumerate(block):
            rest = list(block[i + 1 :])
            exit = self._exit(s, loop)
            if exit is not None:
                return made + [ast.copy_location(one, s) for one in exit]
            if isinstance(s, ast.Raise):
                return [*made, s]
            flags = self._flags(s, loop)
            if isinstance(s, ast.If) and (flags or leaves(s.body)):
                if leaves(s.body):
                    s.orelse, rest = s.orelse + rest, []
                elif s.orelse and leaves(s.orelse):
                    s.body, rest = s.body + rest, []
            made += self._inside(s, loop)
            if flags and rest:
                later = ast.If(_none_of(flags), self.block(rest, loop), [])
                return [*made, ast.copy_location(later, rest[0])]
            if not rest:
                return made
        return made

    def _exit(self, s: ast.stmt, loop: LoopFlags | None) -> Block | None:
        if isinstance(s, ast.Return):
            value = s.value or constant(None)
            return [assign(RESULT, value), assign(RETURNED, constant(True))]
        if isinstance(s, ast.Break) and loop is not None:
            return [assign(loop.stop, constant(True))]
        if isinstance(s, ast.Continue) and loop is not None:
            return [assign(loop.skip, constant(True))]
        return None

    def _flags(self, s: ast.stmt, loop: LoopFlags | None) -> list[str]:
        """The flags that a statement may set and that matter to the code behind it."""
        found = []
        if has([s], ast.Return):
            found.append(RETURNED)
        if loop is not None:
            here = s.orelse if isinstance(s, LOOPS) else [s]
            if has(here, ast.Break, into_loops=False):
                found.append(loop.stop)
            if has(here, ast.Continue, into_loops=False):
                found.append(loop.skip)
        return found

    def _inside(self, s: ast.stmt, loop: LoopFlags | None) -> Block:
        if isinstance(s, ast.While | ast.For):
            return self._loop(s, loop)
        if isinstance(s, ast.If):
            s.body, s.orelse = self.block(s.body, loop), self.block(s.orelse, loop)
        elif isinstance(s, ast.With):
            s.body = self.block(s.body, loop)
        elif isinstance(s, ast.Try):
            self._try(s, loop)
        elif isinstance(s, ast.Match):
            for case in s.cases:
                case.body = self.block(case.body, loop)
        return [s]

    def _try(self, s: ast.Try, loop: LoopFlags | None) -> None:
        if has(s.finalbody, ast.Return, ast.Break, ast.Continue):
            refusal = Refused("finally", "it leaves the function or a loop", "leave after the try")
            refusal.number = s.finalbody[0].lineno
            raise refusal
        flags = self._flags(ast.With([], s.body), loop)
        s.body = self.block(s.body, loop)
        for handler in s.handlers:
            handler.body = self.block(handler.body, loop)
        other = self.block(s.orelse, loop)
        if other and flags:
            other = [ast.copy_location(ast.If(_none_of(flags), other, []), other[0])]
        s.orelse = other
        s.finalbody = self.block(s.finalbody, loop)

    def _loop(self, s: ast.While | ast.For, outer: LoopFlags | None) -> Block:
        self.loops += 1
        own = LoopFlags(self.loops)
        stops = has(s.body, ast.Break, into_loops=False)
        skips = has(s.body, ast.Continue, into_loops=False)
        flags = [own.stop] if stops else []
        flags += [RETURNED] if has(s.body, ast.Return) else []
        first: Block = [assign(own.skip, constant(False))] if skips else []
        s.body = [ast.copy_location(one, s) for one in first] + self.block(s.body, own)
        other = self.block(s.orelse, outer)
        s.orelse = []
        s.stops = flags  # type: ignore[union-attr]  # for whoever rewrites the loop
        made: Block = [assign(own.stop, constant(False))] if stops else []
        made.append(s)
        if other and flags:
            other = [ast.copy_location(ast.If(_none_of(flags), other, []), other[0])]
        return [ast.copy_location(one, s) if one is not s else s for one in made] + other


def _none_of(flags: Sequence[str]) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), name(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def none_of(flags: Sequence[str], test: ast.expr | None) -> ast.expr:
    """A loop's condition: no flag is set, and the test holds."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), name(flag)) for flag in flags]
    tests += [] if test is None else [test]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


__all__ = ["RESULT", "RETURNED", "Exits", "leaves", "none_of", "walk"]
