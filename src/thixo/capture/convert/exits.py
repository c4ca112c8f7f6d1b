"""return, break and continue become assignments: to a result, and to flags that later code asks.

An `if` whose body always leaves takes the rest of its block as its else, so that both sides define the result and no
flag is needed there. A flag stays Python's until a tensor decides it.
"""

import ast
import copy
from collections.abc import Sequence

from thixo.capture.convert.names import HOOKS, LOOPS, assign, constant, has, hook, name, walk
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


class Raised:
    """The names of what a try statement keeps of an exception that a branch inside of it raises."""

    def __init__(self, number: int) -> None:
        self.flag = f"_raised{number}"
        self.error = f"_error{number}"


class Exits:
    """Takes the exits out of one function.

    An exception under a condition inside of a try statement is such an exit too: the blocks of statements there keep it, what
    follows asks a flag, and the handlers are asked behind the body.
    """

    def __init__(self) -> None:
        self.loops = 0
        self.tries = 0
        self.inside: list[Raised] = []  # the try statements around, the innermost last

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
            if isinstance(s, ast.Assert) and self.inside:
                s = _as_if(s)
            flags = self._flags(s, loop)
            if isinstance(s, ast.If) and (flags or leaves(s.body)):
                if leaves(s.body):
                    s.orelse, rest = s.orelse + rest, []
                elif s.orelse and leaves(s.orelse):
                    s.body, rest = s.body + rest, []
            made += self._inside(s, loop)
            if flags and rest:
                later = ast.If(_none_of(flags), self._keeping(self.block(rest, loop)), [])
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
        if self.inside and isinstance(s, ast.If | ast.While | ast.For | ast.With | ast.Try):
            found.append(self.inside[-1].flag)
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
            s.body = self._keeping(s.body)
            s.orelse = self._keeping(s.orelse) if s.orelse else []
        elif isinstance(s, ast.With):
            s.body = self.block(s.body, loop)
        elif isinstance(s, ast.Try):
            return self._try(s, loop)
        elif isinstance(s, ast.Match):
            for case in s.cases:
                case.body = self.block(case.body, loop)
        return [s]

    def _keeping(self, block: Block) -> Block:
        """A block that keeps an exception of its own for the try statement around it."""
        if not self.inside:
            return block
        raised = self.inside[-1]
        kept: Block = [
            assign(raised.error, hook("caught")),
            assign(raised.flag, constant(True)),
        ]
        handler = ast.ExceptHandler(ast.Attribute(name(HOOKS), "KEPT", ast.Load()), None, kept)
        made = ast.Try(block, [handler], [], [])
        made.keeps = True  # type: ignore[attr-defined]  # for whoever rewrites it
        ast.copy_location(made, block[0])
        for node in (handler, *kept):
            ast.copy_location(node, block[0])
        return [ast.fix_missing_locations(made)]

    def _try(self, s: ast.Try, loop: LoopFlags | None) -> Block:
        if has(s.finalbody, ast.Return, ast.Break, ast.Continue):
            refusal = Refused("finally", "it leaves the function or a loop", "leave after the try")
            refusal.number = s.finalbody[0].lineno
            raise refusal
        keeps = bool(s.handlers) and _has_branches(s.body)
        flags = self._flags(ast.With([], s.body), loop)
        raised = None
        later: Block = []
        if keeps:
            self.tries += 1
            raised = Raised(self.tries)
            later = [copy.deepcopy(_asked(s.handlers, raised))]
            self.inside.append(raised)
        s.body = self.block(s.body, loop)
        if raised is not None:
            self.inside.pop()
        for handler in s.handlers:
            handler.body = self.block(handler.body, loop)
        other = self.block(s.orelse, loop)
        tests = [*flags, *([raised.flag] if raised is not None else [])]
        if other and tests:
            made = ast.If(_none_of(tests), self._keeping(other), [])
            other = [ast.copy_location(made, other[0])]
        s.orelse = other
        last = self.block(s.finalbody, loop)
        if raised is None:
            s.finalbody = last
            return [s]
        s.finalbody = []
        # A loop around begins each turn with no exception, and carries none.
        forgotten = [assign(raised.error, hook("unset")) for _ in range(2)]
        first: Block = [forgotten[0], assign(raised.flag, constant(False))]
        for one in (*first, *later, *forgotten):
            ast.copy_location(one, s)
            ast.fix_missing_locations(one)
        parts: Block = [*first, s, *self.block(later, loop), forgotten[1]]
        if not last:
            return parts
        whole = ast.copy_location(ast.Try(parts, [], [], last), s)
        return [whole]

    def _loop(self, s: ast.While | ast.For, outer: LoopFlags | None) -> Block:
        self.loops += 1
        own = LoopFlags(self.loops)
        stops = has(s.body, ast.Break, into_loops=False)
        skips = has(s.body, ast.Continue, into_loops=False)
        flags = [own.stop] if stops else []
        flags += [RETURNED] if has(s.body, ast.Return) else []
        flags += [self.inside[-1].flag] if self.inside else []
        first: Block = [assign(own.skip, constant(False))] if skips else []
        s.body = [ast.copy_location(one, s) for one in first] + self._keeping(
            self.block(s.body, own)
        )
        other = self.block(s.orelse, outer)
        s.orelse = []
        s.stops = flags  # type: ignore[union-attr]  # for whoever rewrites the loop
        made: Block = [assign(own.stop, constant(False))] if stops else []
        made.append(s)
        if other and flags:
            asked = ast.If(_none_of(flags), self._keeping(other), [])
            other = [ast.copy_location(asked, other[0])]
        return [ast.copy_location(one, s) if one is not s else s for one in made] + other


def _as_if(s: ast.Assert) -> ast.If:
    """An assert as what it says."""
    error = ast.Call(name("AssertionError"), [] if s.msg is None else [s.msg], [])
    made = ast.If(ast.UnaryOp(ast.Not(), s.test), [ast.Raise(error, None)], [])
    return ast.fix_missing_locations(ast.copy_location(made, s))


_QUIET = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")


def _has_branches(body: Block) -> bool:
    """Whether branches in a try statement may raise, and no context manager inside would see that."""
    for node in walk(body):
        if isinstance(node, ast.With):
            for item in node.items:
                called = getattr(item.context_expr, "func", None)
                if getattr(called, "attr", getattr(called, "id", "")) not in _QUIET:
                    return False
    return has(body, ast.If, ast.While, ast.For, ast.Assert)


def _asked(handlers: Sequence[ast.ExceptHandler], raised: Raised) -> ast.stmt:
    """The handlers for an exception that a branch raised."""
    kept = hook("kept", name(raised.error))
    kinds = [copy.deepcopy(h.type) for h in handlers if h.type is not None]
    made: Block = [ast.Expr(hook("unhandled", kept, *kinds))]
    for handler in reversed(handlers):
        kind = [] if handler.type is None else [copy.deepcopy(handler.type)]
        caught = hook("kept", name(raised.error), *kind)
        body: Block = [_Again(caught).visit(copy.deepcopy(s)) for s in handler.body]
        if handler.name:
            body = [assign(handler.name, caught), *body]
            if not leaves(body):
                body.append(assign(handler.name, hook("unset")))
        if handler.type is None:
            made = body
            continue
        test = ast.Call(name("isinstance"), [kept, handler.type], [])
        made = [ast.If(test, body, made)]
    return ast.If(name(raised.flag), made, [])


class _Again(ast.NodeTransformer):
    """`raise` in a handler raises what was kept."""

    def __init__(self, kept: ast.expr) -> None:
        self.kept = kept

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        return node if node.exc is not None else ast.Raise(self.kept, None)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


def _none_of(flags: Sequence[str]) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), name(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def none_of(flags: Sequence[str], test: ast.expr | None) -> ast.expr:
    """A loop's condition: no flag is set, and the test holds."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), name(flag)) for flag in flags]
    tests += [] if test is None else [test]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


__all__ = ["RESULT", "RETURNED", "Exits", "leaves", "none_of", "walk"]
