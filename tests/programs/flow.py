"""Statements with blocks inside: branches, loops, exits, with, try, and functions within functions. Every loop ends."""

from __future__ import annotations

from collections.abc import Callable

from tests.programs.scope import Scope
from tests.programs.statements import Lines, Statements, indented

MOST_TURNS = 60  # of a place in nested loops


class Flow(Statements):
    """Writes blocks of statements, nested as deep as the scope allows."""

    results = ("s", "v", "i")  # the kinds that the program returns
    returns_early = False

    def block(self, at: Scope, size: int) -> Lines:
        """About so many statements."""
        lines: Lines = []
        while size > 0:
            if at.depth > 0 and self.r.random() < 0.45:
                made = self.compound(at, size)
            else:
                made = self.simple(at)
            lines += made
            size -= max(1, len(made) // 2)
            if at.in_loop and self.r.random() < 0.2:
                lines += self.leave_loop(at)
            elif at.returns is not None and self.r.random() < 0.06:
                lines += [f"if {self.c(at)}:", f"    {self.returned(at)}"]
        return lines

    def compound(self, at: Scope, size: int) -> Lines:
        makers: list[tuple[int, Callable[[Scope, int], Lines]]] = [
            (10, self.if_),
            (6, self.for_),
            (5, self.while_),
            (3, self.function),
            (2, self.try_finally),
            (2, self.no_grad),
        ]
        if self.rich:
            makers += [(2, self.try_except), (2, self.with_), (1, self.recursive)]
        if at.turns * 3 > MOST_TURNS:
            makers = [(w, m) for w, m in makers if m not in (self.for_, self.while_)]
        weights = [weight for weight, _ in makers]
        inner = self.r.randint(1, max(1, min(4, size)))
        return self.r.choices([make for _, make in makers], weights)[0](at, inner)

    # ---- branches and exits

    def if_(self, at: Scope, size: int) -> Lines:
        branches = [at.inner()]
        test = self.c(at)
        if self.rich and self.r.random() < 0.1:
            value = self.s(at, 1)
            test = f"({at.add('s', self.new('a'))} := {value}) > {self.number()}"
            branches = [at.inner()]
        lines = [f"if {test}:", *indented(self.block(branches[0], size))]
        while self.r.random() < 0.25 and len(branches) < 3:
            branches.append(at.inner())
            lines += [f"elif {self.c(at)}:", *indented(self.block(branches[-1], size))]
        if self.r.random() < 0.6:
            branches.append(at.inner())
            last = self.block(branches[-1], size)
            name = self.new("a")
            # Sometimes a name that every branch defines and the rest reads.
            if len(branches) == 2 and self.r.random() < 0.4 and not _leaves(lines + last):
                lines.append(f"    {name} = {self.s(branches[0], 1)}")
                last.append(f"{name} = {self.s(branches[1], 1)}")
                at.add("s", name)
            lines += ["else:", *indented(last)]
        elif self.r.random() < 0.02:
            at.add("s", self._some_new(branches[0], at))
        return lines

    def _some_new(self, inner: Scope, outer: Scope) -> str:
        """A name that one branch alone defines: reading it may be an error."""
        new = [n for n in inner.of("s") if n not in outer.of("s")]
        return new[-1] if new else "x"

    def leave_loop(self, at: Scope) -> Lines:
        word = self.one("break", "continue", "break", "continue", "return")
        if word == "return":
            if at.returns is None:
                return []
            word = self.returned(at)
        lines = [f"if {self.c(at)}:", f"    {word}"]
        carried = [name for name in ("a", "b") if name in at.of("s") and name not in at.shared]
        if carried and self.r.random() < 0.6:  # what comes behind it shows in the results
            name = self.r.choice(carried)
            lines.append(f"{name} = {name} * 0.9 + {self.number()}")
        return lines

    def returned(self, at: Scope) -> str:
        if at.returns == "s":
            return f"return {self.s(at, 1)}"
        makers = {"s": self.s, "v": self.v, "i": self.i, "m": self.m}
        self.returns_early = True
        return "return " + ", ".join(makers[kind](at, 1) for kind in self.results)

    # ---- loops

    def for_(self, at: Scope, size: int) -> Lines:
        r = self.r
        inner = at.inner(in_loop=True, turns=at.turns * 3)
        name, number = self.new("p"), self.new("q")
        v = r.choice(at.of("v"))
        heads: list[tuple[str, dict[str, str]]] = [
            (f"for {number} in range({self.i(at, 0)}):", {number: "i"}),
            (f"for {number} in range(n):", {number: "i"}),
            (f"for {number} in range({self.i(at, 0)}, {r.randint(2, 4)}):", {number: "i"}),
            (f"for {number} in range({r.randint(2, 4)}, -1, -{r.randint(1, 2)}):", {number: "i"}),
            (f"for {name} in {v}:", {name: "s"}),
            (f"for {name} in {v}:", {name: "s"}),
            (f"for {number}, {name} in enumerate({v}):", {number: "i", name: "s"}),
            (f"for {name}, {name}b in zip({v}, {r.choice(at.of('v'))}):", {name: "s", f"{name}b": "s"}),
            (f"for {number}, {name} in zip(range({self.i(at, 0)}), {v}):", {number: "i", name: "s"}),
            (f"for {name} in [{self.s(at, 1)}, {self.s(at, 1)}]:", {name: "s"}),
            (f"for {number} in (1, 4, 2):", {number: "i"}),
            (f"for {name} in {r.choice(at.of('m'))}:", {}),
        ]  # fmt: skip
        for some in at.of("l") if self.rich else ():
            heads += [
                (f"for {name} in list({some}):", {name: "s"}),
                (f"for {number}, {name} in enumerate({some}[:4], 1):", {number: "i", name: "s"}),
                (f"for {name} in reversed({some}):", {name: "s"}),
            ]
        for some in at.of("t") if self.rich else ():
            heads.append((f"for {number}, {name} in list({some}.items()):", {name: "s"}))
        head, names = r.choice(heads)
        if "range(" in head and inner.turns > 1:
            head = head.replace("range(n)", "range(n % 5)")
        lines = []
        for one, kind in names.items():
            inner.add(kind, one)
        if not names:
            row = inner.add("s", self.new("a"))
            lines.append(f"{row} = {name}.sum()")
            names[row] = "s"
        if self.rich and r.random() < 0.15 and at.of("l"):
            some = r.choice(at.of("l"))
            lines += [f"if len({some}) < 6:", f"    {some}.append({self.s(inner, 1)})"]
        lines += self.block(inner, size)
        outer = [n for n in at.of("s") if n not in at.shared]
        if outer and r.random() < 0.6:  # what a turn computes lasts
            total, one = r.choice(outer), r.choice(list(names))
            first = 1 if lines[0].endswith(f"{name}.sum()") else 0
            lines.insert(r.choice([first, len(lines)]), f"{total} = {total} * 0.7 + {one}")
        return [head, *indented(lines), *self._loop_end(at, names)]

    def _loop_end(self, at: Scope, names: dict[str, str]) -> Lines:
        r = self.r
        if r.random() < 0.15 and at.depth > 1:
            return ["else:", *indented(self.block(at.inner(), 1))]
        if names and r.random() < 0.03:  # the loop's own name after it; it may have made no turn
            name = r.choice(list(names))
            at.add(names[name], name)
        return []

    def while_(self, at: Scope, size: int) -> Lines:
        turn, most = self.new("turn"), self.r.randint(2, 5)
        inner = at.inner(in_loop=True, turns=at.turns * most)
        inner.add("i", turn)
        test, bound = self.c(at, 1), f"{turn} < {self.one(str(most), 'n % 5')}"
        form = self.r.random()
        if form < 0.2:
            head = "while True:"
            first = [f"{turn} += 1", f"if {turn} > {most} or {test}:", "    break"]
        elif form < 0.3:
            carried = self.new("a")
            head = f"while ({carried} := {self.s(at, 1)} + {turn}) < {self.r.randint(1, 5)} and {bound}:"
            inner.add("s", carried)
            first = [f"{turn} += 1"]
        else:
            both = [test, bound]
            self.r.shuffle(both)
            head, first = f"while {' and '.join(both)}:", [f"{turn} += 1"]
        body = self.block(inner, size)
        return [f"{turn} = 0", head, *indented(first + body), *self._loop_end(at, {})]

    # ---- with and try

    def no_grad(self, at: Scope, size: int) -> Lines:
        return ["with tx.no_grad():", *indented(self.block(at.inner(), size))]

    def with_(self, at: Scope, size: int) -> Lines:
        name = self.new("tally")
        head = self.one(
            f"with Tally({self.i(at, 0)}) as {name}:",
            "with noted('w'):",
            f"with noted('u'), Tally(2) as {name}:",
        )
        lines = self.block(at.inner(), size)
        if name in head:
            lines.insert(0, f"{name}.n += 1")
        return [head, *indented(lines)]

    def try_finally(self, at: Scope, size: int) -> Lines:
        inner = at.inner()
        body = self.block(inner, size)
        if at.returns is not None and self.r.random() < 0.4:
            body += [f"if {self.c(inner)}:", f"    {self.returned(inner)}"]
        elif at.in_loop:
            body += self.leave_loop(inner)
        return ["try:", *indented(body), "finally:", *indented(self._last(at))]

    def _last(self, at: Scope) -> Lines:
        """A finally block, which nothing leaves."""
        scope = at.inner(in_loop=False, returns=None, depth=0)
        noted = ["LOG.append('last')"] if self.rich and self.r.random() < 0.5 else []
        return [*noted, *self.block(scope, 1)]

    def try_except(self, at: Scope, size: int) -> Lines:
        errors = ["ValueError", "KeyError", "IndexError", "ZeroDivisionError", "AssertionError"]
        error = self.r.choice(errors)
        causes = {
            "ValueError": [f"if {self.c(at)}:", "    raise ValueError('drawn')"],
            "KeyError": [f"if {self.c(at)}:", "    {}['missing']"],
            "IndexError": [f"if {self.c(at)}:", "    [][1]"],
            "AssertionError": [f"assert {self.c(at)}, 'drawn'"],
            "ZeroDivisionError": [f"{self.new('j')} = 6 // ({self.i(at, 1)})"],
        }
        body = [*self.block(at.inner(), 1), *causes[error], *self.block(at.inner(), size)]
        caught = self.one(error, f"({error}, TypeError)", f"{error} as error")
        lines = ["try:", *indented(body), f"except {caught}:", *indented(self.block(at.inner(), 1))]
        if self.r.random() < 0.5:
            lines += ["else:", *indented(self.bind(at.inner(), "s", self.s(at, 1)))]
        if self.r.random() < 0.3:
            lines += ["finally:", *indented(self._last(at))]
        return lines

    # ---- functions

    def function(self, at: Scope, size: int) -> Lines:
        """One within the program, of one tensor: a closure over what is there, or a lambda."""
        name = self.new("f")
        if self.r.random() < 0.25:
            inner = at.inner()
            inner.add("s", "p")
            default = f", q={self.i(at, 0)}" if self.r.random() < 0.5 else ""
            if default:
                inner.add("i", "q")
            line = f"{name} = lambda p{default}: {self.s(inner, 1)}"
            return [line, *self._called(at, name)]
        outer = frozenset(n for names in at.names.values() for n in names)
        mine, head = self._parameters(at)
        inner = at.inner(
            in_loop=False, returns="s", shared=outer, turns=at.turns * 2, depth=min(at.depth - 1, 1)
        )
        for parameter, kind in mine.items():
            inner.add(kind, parameter)
        lines: Lines = []
        if self.rich and at.of("i") and self.r.random() < 0.4:
            kind = self.r.choice("is")
            changed = [
                n
                for n in at.of(kind)
                if not self.kept(n) and n not in at.shared and n not in self.arguments
            ]
            if changed:
                one = self.r.choice(changed)
                value = (
                    f"({one} + {self.i(inner, 0)}) % 8"
                    if kind == "i"
                    else f"{one} * 0.5 + {self.s(inner, 0)}"
                )
                lines += [f"nonlocal {one}", f"{one} = {value}"]
        body = self.block(inner, size)
        if any("COUNT = " in line for line in body):
            lines.insert(0, "global COUNT")
        lines += [*body, self.returned(inner)]
        if "i" in mine.values() and self.r.random() < 0.6:
            lines[-1] += f" + {list(mine)[-1]}"
        made = [f"def {name}({head}):", *indented(lines)]
        default = head.rpartition("=")[2]
        free = default in at.of("i") and default not in at.shared and not self.kept(default)
        if free and self.r.random() < 0.5:  # a default keeps the value that it had
            made.append(f"{default} = ({default} + 2) % 7")
        return [*made, *self._called(at, name)]

    def _called(self, at: Scope, name: str) -> Lines:
        """It is there from now on; most are called soon, some after what they close over has changed."""
        lines = self.simple(at) if self.r.random() < 0.3 else []
        at.add("f", name)
        if self.r.random() < 0.7:
            lines += self.bind(at, "s", f"{name}({self.s(at, 1)})")
        return lines

    arguments: frozenset[str] = frozenset()  # of the program

    def _parameters(self, at: Scope) -> tuple[dict[str, str], str]:
        p, q = self.new("p"), self.new("q")
        forms = [({p: "s"}, p), ({p: "s", q: "i"}, f"{p}, {q}={self.i(at, 0)}"), ({p: "s", q: "i"}, f"{p}, *, {q}=2")]  # fmt: skip
        return self.r.choice(forms)

    def recursive(self, at: Scope, size: int) -> Lines:
        """A function that calls itself, up to a depth."""
        name, value = self.new("f"), self.number()
        test = f"p > {value}" if at.tensors else "d % 4 == 3"
        step = self.one("p * 0.6 + 0.5", "p - 0.4", "tx.sin(p) + 0.3")
        return [
            f"def {name}(p, d={self.r.randint(2, 4)}):",
            f"    if d <= 0 or {test}:",
            "        return p",
            f"    return {name}({step}, d - 1){self.one('', ' + p', ' * 0.5')}",
            *self._called(at, name),
        ]


def _leaves(lines: Lines) -> bool:
    return any(line.strip().startswith(("return", "break", "continue")) for line in lines)
