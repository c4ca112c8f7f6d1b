"""A small writer of LLVM IR as text: structured loops and branches, variables, vectors, masks.

Every value is a string (`"%v7"` or a constant), used with its type where LLVM wants one. Variables are
memory on the stack that LLVM's SROA pass turns into registers, so nothing here has to build phi nodes.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Sequence


def vector(type: str, lanes: int) -> str:
    """The type of `lanes` elements; one lane is the element itself."""
    return type if lanes == 1 else f"<{lanes} x {type}>"


def suffix(type: str) -> str:
    """How an intrinsic's name says a type: f32, v16f32, i64."""
    if type.startswith("<"):
        lanes, element = type[1:-1].split(" x ")
        return f"v{lanes}{suffix(element)}"
    return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}.get(
        type, type
    )


def float_bits(value: float, type: str) -> str:
    """A float constant, exact: LLVM reads the bits of a double, and for a float one that it can hold."""
    if type == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


# Instructions that give the same whenever they are given the same: written once in a block.
_PURE = frozenset(("add", "sub", "mul", "udiv", "icmp", "select", "getelementptr", "trunc", "insertelement", "shufflevector"))  # fmt: skip


class Function:
    """One function under construction."""

    def __init__(self, name: str, parameters: Sequence[tuple[str, str]], *, attributes: str = "nounwind",
                 internal: bool = False, result: str = "void") -> None:  # fmt: skip
        self.name = name
        self.parameters = list(parameters)  # (type with its attributes, name)
        self.attributes = attributes
        self.internal = internal
        self.result = result
        self.declarations: dict[str, str] = {}
        self.tables: dict[str, str] = {}  # constants in memory: name, definition
        self._count = 0
        self._stack: list[str] = []
        self._lines: list[str] = []
        self._known: dict[str, str] = {}  # of the block that is written now
        self.comparisons: dict[str, str] = {}  # of floats: the text that gave a value

    @property
    def has_own_instructions(self) -> bool:
        """Whether it asks for instructions that one kind of processor has, with vectors of one width."""
        return any(name.startswith("llvm.x86.") for name in self.declarations)

    # ---- lines

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self._lines.append("  " + text)

    def op(self, text: str) -> str:
        """An instruction; its result."""
        known = self._known.get(text)
        if known is not None:
            return known
        self._count += 1
        name = f"%v{self._count}"
        kind = text.split(" ", 1)[0]
        if kind in _PURE:
            self._known[text] = name
        elif kind == "fcmp":
            self._known[text], self.comparisons[name] = name, text
        self._lines.append(f"  {name} = {text}")
        return name

    def label(self) -> str:
        """A fresh name for a block."""
        self._count += 1
        return f"b{self._count}"

    def place(self, label: str) -> None:
        """The block of this name starts here."""
        self._known.clear()
        self._lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        """Go there."""
        self.line(f"br label %{label}")

    def call(self, name: str, result: str, *arguments: tuple[str, str], flags: str = "") -> str:
        """Call a function or an intrinsic with (type, value) arguments; declared when first used."""
        types = ", ".join(t for t, _ in arguments)
        values = ", ".join(f"{t} {v}" for t, v in arguments)
        self.declarations.setdefault(name, f"declare {result} @{name}({types})")
        text = f"call {flags + ' ' if flags else ''}{result} @{name}({values})"
        if result == "void":
            self.line(text)
            return ""
        return self.op(text)

    def intrinsic(self, name: str, type: str, *values: str) -> str:
        """llvm.<name>.<type> of arguments that all have the result's type."""
        return self.call(f"llvm.{name}.{suffix(type)}", type, *((type, v) for v in values))

    # ---- variables and memory

    def variable(self, type: str, value: str | None = None, align: int = 64) -> str:
        """Memory for one value, on the stack; a pointer."""
        self._count += 1
        name = f"%s{self._count}"
        self._stack.append(f"  {name} = alloca {type}, align {align}")
        if value is not None:
            self.store(type, value, name)
        return name

    def load(self, type: str, pointer: str, align: int | None = None) -> str:
        """What lies there."""
        return self.op(f"load {type}, ptr {pointer}" + (f", align {align}" if align else ""))

    def store(self, type: str, value: str, pointer: str, align: int | None = None) -> None:
        """Put it there."""
        self.line(f"store {type} {value}, ptr {pointer}" + (f", align {align}" if align else ""))

    def store_past(self, type: str, value: str, pointer: str, align: int) -> None:
        """Put it there, past the cache; `align` must be the bytes of a register, or all if they are fewer."""
        self.line(f"store {type} {value}, ptr {pointer}, align {align}, !nontemporal !2")

    def at(self, pointer: str, offset: str | int, type: str = "i8") -> str:
        """The address `offset` elements further on."""
        if offset in (0, "0"):
            return pointer
        return self.op(f"getelementptr {type}, ptr {pointer}, i64 {offset}")

    def opaque(self, pointer: str) -> str:
        """The same address in a register of its own: no index is made part of what is read there."""
        return self.op(f'call ptr asm "", "=r,0"(ptr {pointer})')

    def prefetch(self, pointer: str, *, write: bool = False, level: int = 3) -> None:
        """Ask for the line of the cache at this address, which need not be valid; level 3 is the nearest cache."""
        self.call("llvm.prefetch.p0", "void", ("ptr", pointer), ("i32", str(int(write))),
                  ("i32", str(level)), ("i32", "1"))  # fmt: skip

    def table(self, element: str, numbers: Sequence[float]) -> str:
        """Numbers in memory, all known; a pointer."""
        listed = ", ".join(f"{element} {float_bits(x, element)}" for x in numbers)
        name = f"@table{len(self.tables)}_{self.name}"
        definition = (
            f"private unnamed_addr constant [{len(numbers)} x {element}] [{listed}], align 64"
        )
        for known, text in self.tables.items():
            if text == definition:
                return known
        self.tables[name] = definition
        return name

    # ---- integers of 64 bits

    def add(self, a: str | int, b: str | int) -> str:
        """a + b."""
        return self.op(f"add i64 {a}, {b}")

    def sub(self, a: str | int, b: str | int) -> str:
        """a - b."""
        return self.op(f"sub i64 {a}, {b}")

    def mul(self, a: str | int, b: str | int) -> str:
        """a * b."""
        return self.op(f"mul i64 {a}, {b}")

    def div(self, a: str | int, b: str | int) -> str:
        """a / b, of numbers that are not negative."""
        return self.op(f"udiv i64 {a}, {b}")

    def min(self, a: str | int, b: str | int) -> str:
        """The smaller."""
        return self.intrinsic("smin", "i64", str(a), str(b))

    def compare(self, how: str, a: str | int, b: str | int, type: str = "i64") -> str:
        """icmp: eq, ne, slt, sle, sgt, sge, ult..."""
        return self.op(f"icmp {how} {type} {a}, {b}")

    def choose(self, condition: str, type: str, a: str | int, b: str | int) -> str:
        """A if the condition holds, else b."""
        return self.op(f"select i1 {condition}, {type} {a}, {type} {b}")

    # ---- structure

    @contextlib.contextmanager
    def loop(self, start: str | int, stop: str | int, step: str | int = 1) -> Iterator[str]:
        """For i in range(start, stop, step): yields i. Never unrolled: the generator does that itself."""
        index = self.variable("i64", str(start), align=8)
        head, body, after = self.label(), self.label(), self.label()
        self.jump(head)
        self.place(head)
        i = self.load("i64", index)
        self.line(f"br i1 {self.compare('slt', i, stop)}, label %{body}, label %{after}")
        self.place(body)
        yield i
        self.store("i64", self.add(i, step), index)
        self.line(f"br label %{head}, !llvm.loop !0")
        self.place(after)

    @contextlib.contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """If the condition holds."""
        body, after = self.label(), self.label()
        self.line(f"br i1 {condition}, label %{body}, label %{after}")
        self.place(body)
        yield
        self.jump(after)
        self.place(after)

    @contextlib.contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        """If it does not."""
        body, after = self.label(), self.label()
        self.line(f"br i1 {condition}, label %{after}, label %{body}")
        self.place(body)
        yield
        self.jump(after)
        self.place(after)

    def end_if(self, condition: str, other: Function) -> None:
        """If the condition holds, let another function with the same parameters do all."""
        instead, after = self.label(), self.label()
        self.line(f"br i1 {condition}, label %{instead}, label %{after}")
        self.place(instead)
        given = ", ".join(f"{type.split()[0]} %{name}" for type, name in self.parameters)
        self.line(f"tail call void @{other.name}({given})")
        self.line("ret void")
        self.place(after)

    # ---- vectors

    def splat(self, element: str, value: str, lanes: int) -> str:
        """The value in every lane."""
        if lanes == 1:
            return value
        type = vector(element, lanes)
        one = self.op(f"insertelement {type} poison, {element} {value}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.op(f"shufflevector {type} {one}, {type} poison, {zeros}")

    def lane_numbers(self, element: str, lanes: int) -> str:
        """The constant <0, 1, 2, ...>."""
        return "<" + ", ".join(f"{element} {i}" for i in range(lanes)) + ">"

    def mask(self, count: str, lanes: int) -> str:
        """Which lanes come before `count`, an i64."""
        few = self.op(f"trunc i64 {self.min(count, lanes)} to i32")
        limit = self.splat("i32", few, lanes)
        return self.op(f"icmp slt <{lanes} x i32> {self.lane_numbers('i32', lanes)}, {limit}")

    def masked_load(self, type: str, pointer: str, mask: str, align: int = 1) -> str:
        """The lanes of the mask; zeros elsewhere."""
        lanes = type[1:].split(" ")[0]
        return self.call(f"llvm.masked.load.{suffix(type)}.p0", type, ("ptr", f"align {align} {pointer}"),
                         (f"<{lanes} x i1>", mask), (type, "zeroinitializer"))  # fmt: skip

    def masked_store(self, type: str, value: str, pointer: str, mask: str, align: int = 1) -> None:
        """Write the lanes of the mask alone."""
        lanes = type[1:].split(" ")[0]
        self.call(f"llvm.masked.store.{suffix(type)}.p0", "void", (type, value),
                  ("ptr", f"align {align} {pointer}"), (f"<{lanes} x i1>", mask))  # fmt: skip

    def text(self) -> str:
        """The whole function."""
        parameters = ", ".join(f"{type} %{name}" for type, name in self.parameters)
        linkage = "internal " if self.internal else ""
        head = f"define {linkage}{self.result} @{self.name}({parameters}) {self.attributes} {{"
        body = [head, "entry:", *self._stack, *self._lines]
        if self.result == "void":
            body.append("  ret void")
        return "\n".join([*body, "}", ""])


PLAIN = (
    "; nothing to combine\n"  # the first line of a module that is as simple as LLVM would make it
)


def module(functions: Sequence[Function], extra: str = "") -> str:
    """The text of a module: functions, what they call, and the marks of loops and stores."""
    defined = {f.name for f in functions}
    declared: dict[str, str] = {}
    for f in functions:
        declared.update((n, d) for n, d in f.declarations.items() if n not in defined)
    tables = [f"{name} = {text}" for f in functions for name, text in f.tables.items()]
    marks = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n!2 = !{i32 1}\n'
    return "\n".join([extra, *tables, *(f.text() for f in functions), *declared.values(), marks])
