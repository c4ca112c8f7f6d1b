"""Simple statements: assignments of all forms, changes of containers and objects, writes into tensors, effects."""

from __future__ import annotations

from collections.abc import Callable

from tests.programs.expressions import Expressions
from tests.programs.scope import Scope

Lines = list[str]


def indented(lines: Lines) -> Lines:
    """The lines of a block."""
    return ["    " + line for line in lines]


class Statements(Expressions):
    """Writes simple statements; each method gives the lines of one or of a few that belong together."""

    def simple(self, at: Scope) -> Lines:
        """Any simple statement that fits here."""
        makers: list[tuple[int, Callable[[Scope], Lines]]] = [
            (12, self.assign),
            (4, self.augmented),
            (3, self.tuple_assignment),
            (2, self.starred),
            (1, self.chained),
            (2, self.assertion),
            (2, self.write),
            (1, self.view),
            (1, self.walrus),
        ]
        if self.rich:
            makers += [
                (2, self.printed),
                (4, self.list_change),
                (3, self.dict_change),
                (4, self.set_change),
                (3, self.attribute_change),
                (3, self.global_change),
                (2, self.comprehension),
                (1, self.random),
                (1, self.delete),
                (1, self.alias),
                (1, self.number_of_a_tensor),
            ]
        weights = [weight for weight, _ in makers]
        lines: Lines = []
        while not lines:
            lines = self.r.choices([make for _, make in makers], weights)[0](at)
        return lines

    def target(self, at: Scope, kind: str) -> str:
        """A name to bind: most of the times one that is there, so that branches and loops carry it."""
        mine = [name for name in at.of(kind) if name not in at.shared and not self.kept(name)]
        if mine and self.r.random() < (0.7 if at.depth >= 3 else 0.9):
            return self.r.choice(mine)
        return self.new({"s": "a", "v": "e", "m": "h", "i": "j", "l": "list"}[kind])

    def kept(self, name: str) -> bool:
        """Whether it must not be bound again: what counts the turns of a loop."""
        return name.startswith("turn")

    def bind(self, at: Scope, kind: str, value: str) -> Lines:
        name = self.target(at, kind)
        at.add(kind, name)
        return [f"{name} = {value}"]

    # ---- assignments

    def assign(self, at: Scope) -> Lines:
        kind = self.r.choices("svmi", (8, 4, 1, 4))[0]
        value = {"s": self.s, "v": self.v, "m": self.m, "i": self.i}[kind](at)
        return self.bind(at, kind, value)

    def augmented(self, at: Scope) -> Lines:
        kind = self.r.choice("ssvi")
        mine = [n for n in at.of(kind) if n not in at.shared and not self.kept(n)]
        mine = [n for n in mine if n not in ("x", "y", "v", "m")]  # arguments are leaves
        if not mine:
            return []
        name = self.r.choice(mine)
        if kind == "i":
            return [f"{name} {self.one('+=', '-=', '*=')} {self.i(at, 1)}", f"{name} %= 9"]
        value = self.s(at, 1) if kind == "s" else self.v(at, 1)
        change = self.one(f"{name} *= {self.number()}", f"{name} {self.one('+=', '-=')} {value}")
        # In place: not where it may be another name of an argument.
        return [f"{name} = {name} * 1.0", change] if self.r.random() < 0.95 else [change]

    def tuple_assignment(self, at: Scope) -> Lines:
        kind = self.r.choice("ssvi")
        make = {"s": self.s, "v": self.v, "i": self.i}[kind]
        mine = [n for n in at.of(kind) if n not in at.shared and not self.kept(n)]
        if len(mine) >= 2 and self.r.random() < 0.5:
            a, b = self.r.sample(mine, 2)
            return [
                f"{a}, {b} = {b}, {a}"
                if self.r.random() < 0.5
                else f"{a}, {b} = {b}, {make(at, 1)}"
            ]
        values = f"{make(at, 1)}, {make(at, 1)}"
        a, b = (at.add(kind, self.new("a" if kind == "s" else "g")) for _ in range(2))
        return [self.one(f"{a}, {b} = {values}", f"({a}, {b}) = [{values}]")]

    def starred(self, at: Scope) -> Lines:
        values = [self.s(at, 1) for _ in range(self.r.randint(2, 4))]
        first, rest = self.new("a"), self.new("rest")
        text = ", ".join(values)
        line = self.one(f"{first}, *{rest} = [{text}]", f"*{rest}, {first} = {text}")
        at.add("s", first)
        name = at.add("s", self.new("a"))
        return [line, f"{name} = sum([p * (q + 1) for q, p in enumerate({rest})], {first})"]

    def chained(self, at: Scope) -> Lines:
        value = self.s(at, 2)
        a, b = (at.add("s", self.new("a")) for _ in range(2))
        return [f"{a} = {b} = {value}"]

    def walrus(self, at: Scope) -> Lines:
        value = self.s(at, 1)
        a, b = (at.add("s", self.new("a")) for _ in range(2))
        return [f"{a} = ({b} := {value}) * 0.5 + {b}"]

    # ---- tensors in place

    def write(self, at: Scope) -> Lines:
        """Into a vector that no gradient was saved for, or into a copy."""
        lines = []
        if at.of("w") and self.r.random() < 0.4:
            name = self.r.choice(at.of("w"))
            values = lambda: f"{self.s(at, 1)}.detach()"  # noqa: E731
        else:
            source = self.v(at, 1)
            name = at.add("v", self.new("e"))
            lines.append(f"{name} = ({source}).clone()")
            values = lambda: self.s(at, 1)  # noqa: E731
        for _ in range(self.r.randint(1, 2)):
            lines.append(
                self.one(
                    f"{name}[{self.one('0', '-1')}] = {values()}",
                    f"{name}[1:] = {values()}",
                    f"{name}[{name} > {self.number()}] = {self.number()}",
                    f"{name}.mul_({self.one('0.5', '-0.9')})",
                    f"{name}.add_({values()})",
                    f"{name}[{self.i(at, 1)} % {name}.shape[0]] = {values()}",
                )
            )
        return lines

    def view(self, at: Scope) -> Lines:
        """A write through a view shows in its base, and the other way round."""
        source = self.v(at, 1)
        base, part, after = at.add("v", self.new("e")), self.new("part"), self.new("a")
        lines = [f"{base} = ({source}) * 1.0", f"{part} = {base}[{self.one('1:', ':2', '::2')}]"]
        change = [f"{part} += {self.number()}", f"{base}[0] = {self.s(at, 1)}"]
        if self.r.random() < 0.4:
            change[0] = f"{part}.mul_({self.number()})"
        self.r.shuffle(change)
        if self.r.random() < 0.4:
            change = [f"if {self.c(at, 1)}:", *indented(change)]
        at.add("s", after)
        return [*lines, *change, f"{after} = {part}.sum() + {base}[-1]"]

    def random(self, at: Scope) -> Lines:
        shape = f"{self.r.choice(at.of('v'))}.shape"
        if self.r.random() < 0.5:
            return self.bind(at, "v", f"tx.{self.one('randn', 'rand')}({shape}, dtype=tx.float64)")
        return self.bind(at, "s", "tx.randn((), dtype=tx.float64)")

    def number_of_a_tensor(self, at: Scope) -> Lines:
        if not at.tensors:
            return []
        if self.r.random() < 0.5:
            return self.bind(at, "i", f"int(({self.s(at, 1)}).abs() * 2) % 5")
        return self.bind(at, "s", f"{self.s(at, 1)} * float(tx.tanh({self.s(at, 1)}))")

    # ---- effects

    def assertion(self, at: Scope) -> Lines:
        if self.r.random() < 0.03:
            return [f"assert {self.c(at, 1)}, 'drawn'"]  # may fail
        return [
            f"assert {self.one('len(' + at.of('v')[0] + ') > 0', self.s(at, 1) + ' < 1e9' if at.tensors else 'True')}"
        ]

    def printed(self, at: Scope) -> Lines:
        values = [f"'p{self.r.randint(0, 99)}'", self.i(at, 0)]
        if at.tensors and self.r.random() < 0.3:
            values.append(
                self.one(
                    f"f'{{{self.r.choice(at.of('s'))}.item():.3f}}'",
                    f"{self.r.choice(at.of('s'))}.detach()",
                )
            )
        return [f"print({', '.join(values)})"]

    def list_change(self, at: Scope) -> Lines:
        if not at.of("l") or self.r.random() < 0.15:
            value = f"[{self.s(at, 1)}, {self.s(at, 1)}]" if self.r.random() < 0.6 else "[]"
            name = at.add("l", self.new("list"))
            return [f"{name} = {value}"]
        name = self.r.choice(at.of("l"))
        changes = [
            f"{name}.append({self.s(at, 1)})",
            f"{name}.append({self.s(at, 1)})",
            f"{name} += [{self.s(at, 1)}]",
            f"{name} += [{self.s(at, 1)}]",
            f"{name}.insert(0, {self.s(at, 1)})",
            f"{name}.extend([{self.s(at, 1)}, {self.s(at, 1)}])",
            f"{name}.reverse()",
        ]
        short = [f"if len({name}) > 8:", f"    del {name}[4:]"]
        guarded = [
            f"{name}.pop()",
            f"{name}[0] = {self.s(at, 1)}",
            f"{name}[-1] = {name}[-1] * 0.5",
        ]
        if self.r.random() < 0.35:
            return [f"if {name}:", f"    {self.r.choice(guarded)}"]
        change = self.r.choice(changes)
        grows = at.turns > 1 and "reverse" not in change
        if change.startswith(f"{name} +=") and name in at.shared:
            return []
        return [change, *(short if grows else [])]

    def dict_change(self, at: Scope) -> Lines:
        if not at.of("t") or self.r.random() < 0.1:
            value = self.s(at, 1)
            name = at.add("t", self.new("table"))
            return [f"{name} = {{'a': {value}}}"]
        name = self.r.choice(at.of("t"))
        return [
            self.one(
                f"{name}[{self.key()}] = {self.s(at, 1)}",
                f"{name}.update({self.one('a', 'b')}={self.s(at, 1)})",
                f"{name}['a'] = {name}.get('a', 0.0) + {self.s(at, 1)}",
                f"{name}.setdefault({self.key()}, {self.s(at, 1)})",
                f"{name}.pop({self.key()}, None)",
            )
        ]

    def set_change(self, at: Scope) -> Lines:
        if not at.of("k"):
            name = at.add("k", self.new("seen"))
            return [f"{name} = {{{self.i(at, 0)}, 3}}", f"{name}.add({self.i(at, 0)})"]
        name = self.r.choice(at.of("k"))
        return [
            self.one(
                f"{name}.add({self.i(at, 1)})",
                f"{name}.discard({self.i(at, 0)})",
                f"{name}.update(q % 4 for q in range({self.i(at, 0)}))",
            )
        ]

    def attribute_change(self, at: Scope) -> Lines:
        if not at.of("o") or self.r.random() < 0.15:
            value = self.s(at, 1)
            return [f"{at.add('o', self.new('box'))} = Box({value})"]
        name = self.r.choice(at.of("o"))
        return [
            self.one(
                f"{name}.v = {self.s(at, 1)}",
                f"{name}.v = {name}.v * 0.5 + {self.s(at, 0)}",
                f"{name}.n = ({name}.n + {self.i(at, 1)}) % 10",
                f"{name}.n += 1",
                f"{name}.bump()",
                f"{name}.items.append({self.i(at, 0)})",
            )
        ]

    def global_change(self, at: Scope) -> Lines:
        return [
            self.one(
                f"change_count({self.i(at, 1)})",
                f"LOG.append({self.i(at, 0)})",
                f"TABLE[{self.key()}] = {self.i(at, 1)}",
                f"STATE.n = STATE.n + {self.i(at, 0)}",
                f"STATE.v = {self.s(at, 1)}.detach()",
                f"COUNT = (COUNT + {self.i(at, 1)}) % 100",
            )
        ]

    def comprehension(self, at: Scope) -> Lines:
        v, s = self.r.choice(at.of("v")), self.s(at, 0)
        lists = at.of("l")
        choices = [
            f"[p * {self.number()} for p in {v}]",
            f"[{s} * q for q in range({self.i(at, 0)} % 4) if q != {self.r.randint(0, 2)}]",
            f"[p + q for p in {v} for q in range(2)]",
            f"[p if {self.c(at, 1, of='p')} else p * 0.5 for p in {v}]",
            f"list(map(lambda p: p * 0.5 + {s}, {v}))",
        ]
        choices += [f"[p + {s} for p in {name} if {self.c(at, 1, of='p')}][:6]" for name in lists]
        if self.r.random() < 0.2:
            keys = "{" + f"q: {s} * r for r, q in enumerate('abc')" + "}"
            return [f"{at.add('t', self.new('table'))} = {keys}"]
        if self.r.random() < 0.15:
            value = f"{{q % 3 for q in range({self.i(at, 0)})}}"
            name = at.add("k", self.new("seen"))
            return [f"{name} = {value}", *self.bind(at, "i", f"len({name})")]
        return [f"{at.add('l', self.new('list'))} = {self.r.choice(choices)}"]

    def delete(self, at: Scope) -> Lines:
        value, name = self.s(at, 1), self.new("gone")
        after = at.add("s", self.new("a"))
        return [f"{name} = {value}", f"{after} = {name} * 0.5", f"del {name}"]

    def alias(self, at: Scope) -> Lines:
        kind = self.r.choice([k for k in "ltow" if at.of(k)] or [""])
        if not kind:
            return []
        name = self.r.choice(at.of(kind))
        return [f"{at.add(kind, self.new('same'))} = {name}"]
