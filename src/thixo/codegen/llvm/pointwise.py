"""Pointwise kernels: a loop over elements, for operands that follow each other or stay where they are.

    void kernel(char** pointers, const int64_t* strides, int64_t n)

Strides are in bytes; each is the operand's element size, or 0 (any other is the caller's affair: it
copies such operands into a line first). A `one` operand stays where it is; what is made of such operands alone is made
once, before the loop. A negative n asks for -n elements of results
that begin at lines of the cache and are too many for it: where memory is the limit they are written past it. The bit `UNAIDED` of
another n, which is no part of the number, says that nothing is to be fetched ahead, since the processor does better by itself (AMD's
do); without it the loop is as right, only slower there. The bit `ROWS` of another n says that there are several rows of so many
elements: after the strides come those from row to row, and then how many rows there are. Inputs come first, then, if the
body checks anything, the status word (an int64 to which bits are added), then the results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from thixo.codegen.instructions import BYTES, Instruction
from thixo.codegen.kernel import Kernel
from thixo.codegen.llvm.emit import Function, module, vector
from thixo.codegen.llvm.lanes import MEMORY, REGISTER, Lanes
from thixo.codegen.llvm.roots import LANES, root, shares_divider
from thixo.codegen.llvm.target import Target

# What is made once of operands that stay where they are: instructions that give the same bits in one lane as in many.
_ONCE = frozenset(("cast", "bits", "neg", "abs", "add", "sub", "mul", "fma", "sqrt"))


def uniform_of(kernel: Kernel) -> frozenset[int]:
    """The instructions whose value is the same for all elements, and is not a number of the text."""
    found: set[int] = set()
    for number, one in enumerate(kernel.body):
        if one.op == "load":
            if kernel.operands[one.attribute[0]].view == "one":
                found.add(number)
        elif one.op in _ONCE:
            others = [a for a in one.arguments if a not in found]
            if len(others) < len(one.arguments) and all(
                kernel.body[a].op == "const" for a in others
            ):
                found.add(number)
    return frozenset(found)


def lanes_of(kernel: Kernel, target: Target) -> int:
    """As many as the widest register allows of those that vary from element to element."""
    uniform = uniform_of(kernel)
    varying = [i.type for number, i in enumerate(kernel.body) if number not in uniform]
    widest = max((BYTES[type] for type in varying if type != "bool"), default=1)
    return min(64, max(1, target.vector_bytes // widest))


def copies_of(kernel: Kernel) -> int:
    """Vectors whose instructions are written side by side.

    Of a light body memory is the limit. In a heavier one instructions wait for each other; the processor looks far enough
    ahead to find the next vector's, unless the chain of those that wait is long.
    """
    if chain_of(kernel) >= LONG:
        return 4
    return 2 if 12 <= cost_of(kernel) <= 26 else 1


def chain_of(kernel: Kernel) -> int:
    """The most instructions that wait for each other, a division for three."""
    depth: list[int] = []
    for one in kernel.body:
        own = 0 if one.op in ("const", "bits") else 3 if one.op in ("div", "sqrt") else 1
        depth.append(own + max((depth[a] for a in one.arguments), default=0))
    return max(depth, default=0)


def cost_of(kernel: Kernel) -> int:
    """Instructions that compute."""
    return sum(i.op not in ("load", "store", "const", "bits") for i in kernel.body)


LONG = 35  # instructions that wait for each other, beyond which the processor does not see the next vector's
AHEAD = (
    2048  # bytes between what is computed and what is fetched: hardware does not look beyond a page
)
LEAST = 512  # elements that are worth it
UNAIDED, ROWS, HALVES = (
    1 << 62,
    1 << 61,
    1 << 60,
)  # as kUnaided, kRows and kHalves in core/kernels/nest.h
# Vectors of one step of a loop where few instructions compute. A read whose address agrees in its last 12 bits with that of a
# write under way waits for it: so a step reads all of them before it writes any, or, where the processor moves halves of
# vectors, reads and writes half a vector at a time, which makes it wait least of all. Short rows lose by it.
TOGETHER = 4
FEW = 4
MANY = 12  # instructions beside which a call is little
SOME = 4  # vectors of a row that are worth a beginning of its own


def waits_for_memory(kernel: Kernel) -> bool:
    """Whether so little is computed that memory is the limit."""
    return cost_of(kernel) <= 26


def pointwise(kernel: Kernel, name: str, target: Target) -> str:
    """The text of a module with this function, and what it needs."""
    parameters = [("ptr noalias", "pointers"), ("ptr noalias", "strides"), ("i64", "n")]
    f = Function(name, parameters, attributes=target.attributes)
    past_cache = f.compare("slt", "%n", 0)
    several = f.compare("ne", f.choose(past_cache, "i64", 0, f.op(f"and i64 %n, {ROWS}")), 0)
    if cost_of(kernel) >= MANY:
        loop = _Loop(kernel, f, target)
        with loop.rows(several):
            _row(loop, past_cache)
        loop.leave()
        return module([f])
    # One row has much that many have no use for, and many keep much ready: two functions have registers for either.
    aside = f"noinline {target.attributes}"
    g = Function(f"{name}_rows", parameters, attributes=aside, internal=True)
    f.end_if(several, g)
    loop = _Loop(kernel, f, target)
    _row(loop, past_cache)
    loop.leave()
    loop = _Loop(kernel, g, target)
    with loop.rows():
        _one_of_many(loop)
    loop.leave()
    return module([f, g])


def _row(loop: _Loop, past_cache: str) -> None:
    """All elements of a row, that may be long and alone."""
    kernel, f, count = loop.kernel, loop.f, loop.count
    n = f.choose(past_cache, "i64", f.sub(0, "%n"), f.op(f"and i64 %n, {HALVES - 1}"))
    loop.enter()
    done = "0"
    if count > 1:
        vectors = Lanes(f, count, loop.target)
        if waits_for_memory(kernel):
            done = _large(loop, vectors, n, past_cache)
        for step in dict.fromkeys((count * copies_of(kernel), count)):
            whole = f.mul(f.div(n, step), step)
            with f.loop(done, whole, step) as _:
                loop.body(vectors, copies=step // count)
                loop.advance(step)
            done = whole
    _rest(loop, f.sub(n, done))


def _one_of_many(loop: _Loop) -> None:
    """All elements of a row that is one of several, short ones most of the time."""
    kernel, f, count = loop.kernel, loop.f, loop.count
    n, done = f.op(f"and i64 %n, {HALVES - 1}"), "0"
    loop.enter()
    if count > 1:
        if loop.target.masks:
            n = _to_whole_lines(loop, n)
        vectors = Lanes(f, count, loop.target)
        if cost_of(kernel) <= FEW:
            taken = f.variable("i64", "0", align=8)
            many = f.compare("sge", n, LEAST // 2)
            _together(loop, n, many, taken)
            done = f.load("i64", taken)
        whole = f.mul(f.div(n, count), count)
        with f.loop(done, whole, count) as _:
            loop.body(vectors)
            loop.advance(count)
        done = whole
    _rest(loop, f.sub(n, done))


def _to_whole_lines(loop: _Loop, n: str) -> str:
    """Take so many elements that those of the first result go on at a whole vector; how many are left.

    Rows of any length begin anywhere. A vector that lies in two lines of the cache is stored, and read, at half the speed.
    """
    f, count = loop.f, loop.count
    at = next(i for i, operand in enumerate(loop.kernel.operands) if operand.written)
    item = loop.kernel.operands[at].bytes
    address = f.op(f"ptrtoint ptr {f.load('ptr', loop.places[at])} to i64")
    short_of = f.op(f"and i64 {f.sub(0, address)}, {count * item - 1}")
    first = f.div(f.choose(f.compare("sge", n, SOME * count), "i64", short_of, 0), item)
    left = f.variable("i64", n, align=8)
    with f.when(f.compare("ne", first, 0)):
        loop.body(Lanes(f, count, loop.target), first)
        loop.advance(first)
        f.store("i64", f.sub(n, first), left)
    return f.load("i64", left)


def _rest(loop: _Loop, left: str) -> None:
    """The elements after the last whole vector."""
    f, target = loop.f, loop.target
    if loop.count > 1 and target.masks:
        with f.when(f.compare("ne", left, 0)):
            loop.body(Lanes(f, loop.count, target), left)
    else:
        with f.loop(0, left) as _:
            loop.body(Lanes(f, 1, target))
            loop.advance(1)


def _large(loop: _Loop, vectors: Lanes, n: str, past_cache: str) -> str:
    """The loops over many elements, which write past the cache, fetch ahead or take vectors together; how many they took."""
    f, target, copies = loop.f, vectors.target, copies_of(loop.kernel)
    step = vectors.count * copies
    done = f.variable("i64", "0", align=8)
    if target.streams:
        to_memory = Lanes(f, vectors.count, target, past_cache=True)
        with f.when(past_cache):
            whole = f.mul(f.div(n, step), step)
            with f.loop(0, whole, step) as _:
                loop.body(to_memory, copies=copies)
                loop.advance(step)
            f.store("i64", whole, done)
    taken = f.load("i64", done)
    unaided = f.compare("sge", "%n", UNAIDED)
    with f.when(f.compare("sge", f.choose(unaided, "i64", 0, f.sub(n, taken)), LEAST)):
        whole = f.mul(f.div(n, step), step)
        far = loop.distances()
        with f.loop(taken, whole, step) as _:
            loop.fetch_ahead(vectors, copies, far)
            loop.body(vectors, copies=copies)
            loop.advance(step)
        f.store("i64", whole, done)
    if cost_of(loop.kernel) <= FEW:
        many = f.compare("sge", f.choose(unaided, "i64", n, 0), LEAST)
        _together(loop, n, many, done)
    return f.load("i64", done)


def _together(loop: _Loop, n: str, many: str, done: str) -> None:
    """The loop over steps of several vectors, if there are `many` of them; `done` is how many elements it took then."""
    if loop.halves:
        f = loop.f
        halves = f.compare("ne", f.op(f"and i64 %n, {HALVES}"), 0)
        _steps(loop, n, f.op(f"and i1 {many}, {halves}"), done, halves=True)
        many = f.op(f"and i1 {many}, {f.op(f'xor i1 {halves}, true')}")
    _steps(loop, n, many, done)


def _steps(loop: _Loop, n: str, many: str, done: str, halves: bool = False) -> None:
    """That loop, with whole vectors or with halves."""
    f, step = loop.f, loop.count * TOGETHER
    pieces = 2 * TOGETHER if halves else TOGETHER
    lanes = Lanes(f, step // pieces, loop.target)
    at_once = min(2, loop.read) if halves else pieces
    with f.when(many):
        whole = f.mul(f.div(n, step), step)
        loop.lengthen_lines()
        with f.loop(0, whole, step) as _:
            for first in range(0, pieces, at_once):
                loop.body(lanes, copies=at_once, first=first, long_lines=True)
            loop.advance(step)
        f.store("i64", whole, done)


class _Loop:
    """Where the operands are while the loop runs."""

    def __init__(self, kernel: Kernel, f: Function, target: Target) -> None:
        self.kernel, self.f, self.target = kernel, f, target
        self.count = lanes_of(kernel, target)
        self.checks = any(i.op == "check" for i in kernel.body)
        moving = [o for o in kernel.operands if o.view != "one"]
        self.read = max(1, sum(not o.written for o in moving))
        whole = all(o.bytes * self.count == 64 for o in moving)
        self.halves = whole and not shares_divider(
            kernel, target
        )  # vectors are whole lines of the cache
        self.starts: list[str] = []  # variables with the address of a row's first element
        self.places: list[str] = []  # and of the next one
        self.lines: list[str] = []  # for copies of one element
        self.strides: list[str] = []
        vectors = TOGETHER if cost_of(kernel) <= FEW else 1
        for i, operand in enumerate(kernel.operands):
            start = f.load("ptr", f.at("%pointers", self._entry(i)), 8)
            self.starts.append(f.variable("ptr", start, align=8))
            self.places.append(f.variable("ptr", align=8))
            element = vector(MEMORY[operand.dtype], operand.parts)
            line = f"[{vectors * self.count} x {element}]"
            stays = operand.view == "one"
            self.lines.append("" if operand.written or stays else f.variable(line))
            self.strides.append(
                "0" if stays else f.load("i64", f.at("%strides", self._entry(i)), 8)
            )
        if self.checks:
            inputs = sum(not o.written for o in kernel.operands)
            self.status = f.load("ptr", f.at("%pointers", 8 * inputs), 8)
            self.found = f.variable("i64", "0", align=8)
        self.uniform: dict[int, str] = {}  # instructions to registers of one lane
        self.splats: dict[
            tuple[int, int], str
        ] = {}  # and, with a number of lanes, to vectors of it
        self._make_once()

    def _entry(self, at: int) -> int:
        """Where an operand is among pointers and strides, in bytes: the status word is before the results."""
        return 8 * (at + (self.kernel.operands[at].written and self.checks))

    @contextlib.contextmanager
    def rows(self, several: str = "") -> Iterator[None]:
        """Once for each row; for one alone where there are not several."""
        f, entries = self.f, 8 * (len(self.starts) + self.checks)
        left = f.variable("i64", "1", align=8)
        with f.when(several or "true"):
            f.store("i64", f.load("i64", f.at("%strides", 2 * entries), 8), left)
        head, body, after = f.label(), f.label(), f.label()
        f.jump(body)
        f.place(head)
        for i, start in enumerate(self.starts):
            if self.kernel.operands[i].view != "one":
                step = f.load("i64", f.at("%strides", entries + self._entry(i)), 8)
                f.store("ptr", f.at(f.load("ptr", start), step), start)
        f.jump(body)
        f.place(body)
        yield
        rest = f.sub(f.load("i64", left), 1)
        f.store("i64", rest, left)
        f.line(f"br i1 {f.compare('sgt', rest, 0)}, label %{head}, label %{after}")
        f.place(after)

    def enter(self) -> None:
        """Find a row's operands. One that stays where it is becomes a line of copies, to be read like any other."""
        f = self.f
        for i, operand in enumerate(self.kernel.operands):
            start = f.load("ptr", self.starts[i])
            f.store("ptr", start, self.places[i])
            if self.lines[i] and self.count > 1:
                element = vector(MEMORY[operand.dtype], operand.parts)
                with f.when(f.compare("eq", self.strides[i], 0)):
                    one = f.load(element, start, operand.bytes // operand.parts)
                    self._repeat(element, one, self.lines[i], self.count)
                    f.store("ptr", self.lines[i], self.places[i])

    def _make_once(self) -> None:
        """The values that are the same for all elements."""
        f, body, single = self.f, self.kernel.body, Lanes(self.f, 1, self.target)
        once = uniform_of(self.kernel)
        loaded: dict[int, list[str]] = {}
        for number in sorted(once):
            one = body[number]
            if one.op == "load":
                at, part = one.attribute
                if at not in loaded:
                    start = f.load("ptr", self.starts[at])
                    loaded[at] = single.load(self.kernel.operands[at], start)
                self.uniform[number] = loaded[at][part]
                continue
            given = [
                self.uniform[a] if a in once else single.constant(body[a].attribute, body[a].type)
                for a in one.arguments
            ]
            self.uniform[number] = single.run(one, [body[a].type for a in one.arguments], given)
        if self.count > 1:
            read = {a for n, one in enumerate(body) if n not in once for a in one.arguments}
            for number in sorted(once & read):
                for lanes in (self.count, self.count // 2) if self.halves else (self.count,):
                    self.splats[number, lanes] = f.splat(
                        REGISTER[body[number].type], self.uniform[number], lanes
                    )

    def _repeat(self, element: str, value: str, line: str, count: int) -> None:
        if element.startswith("<"):  # a complex number: two of a kind
            for i in range(count):
                self.f.store(element, value, self.f.at(line, i, element), 4)
            return
        self.f.store(vector(element, count), self.f.splat(element, value, count), line)

    def body(
        self,
        lanes: Lanes,
        left: str | None = None,
        copies: int = 1,
        first: int = 0,
        long_lines: bool = False,
    ) -> None:
        """All instructions once, for the elements at the places: of one vector, the first or a later one, or of several side by side."""
        kernel = self.kernel
        made = [_Made(self, lanes, first + number, long_lines) for number in range(copies)]
        for one in kernel.body:
            types = [kernel.body[a].type for a in one.arguments]
            for copy in made:
                copy.run(one, types, left)

    def lengthen_lines(self) -> None:
        """As many copies of an element that stays as a step of several vectors reads."""
        f = self.f
        for i, operand in enumerate(self.kernel.operands):
            if not self.lines[i]:
                continue
            type = vector(MEMORY[operand.dtype], self.count * operand.parts)
            with f.when(f.compare("eq", self.strides[i], 0)):
                copies, bytes = f.load(type, self.lines[i], 4), self.count * operand.bytes
                for k in range(1, TOGETHER):
                    f.store(type, copies, f.at(self.lines[i], k * bytes), 4)

    def place(self, at: int, skip: int, long_lines: bool = False) -> str:
        """The address of an operand's element, `skip` after the next."""
        f, stride = self.f, self.strides[at]
        pointer = f.load("ptr", self.places[at])
        if long_lines:
            return f.at(pointer, skip * self.kernel.operands[at].bytes)
        return pointer if skip == 0 or stride == "0" else f.at(pointer, f.mul(stride, skip))

    def distances(self) -> list[str]:
        """Of each operand how far ahead it is fetched; nothing where it stays."""
        return [
            "0" if stride == "0" else self.f.mul(stride, max(1, AHEAD // operand.bytes))
            for operand, stride in zip(self.kernel.operands, self.strides, strict=True)
        ]

    def fetch_ahead(self, lanes: Lanes, copies: int, far: list[str]) -> None:
        """Ask for the lines that a later step needs."""
        for at, operand in enumerate(self.kernel.operands):
            if self.strides[at] == "0":
                continue
            for skip in range(0, copies * lanes.count, max(lanes.count, 64 // operand.bytes)):
                place = self.f.at(self.place(at, skip), far[at])
                self.f.prefetch(place, write=operand.written)

    def check(self, lanes: Lanes, holds: str, bit: int, left: str | None) -> None:
        f, type = self.f, lanes.type("bool")
        fails = f.op(f"xor {type} {holds}, {lanes.constant(True, 'bool')}")
        if left is not None:
            fails = f.op(f"and {type} {fails}, {f.mask(left, lanes.count)}")
        if lanes.count > 1:
            fails = f.call(f"llvm.vector.reduce.or.v{lanes.count}i1", "i1", (type, fails))
        word = f.choose(fails, "i64", 1 << bit, 0)
        f.store("i64", f.op(f"or i64 {f.load('i64', self.found)}, {word}"), self.found)

    def advance(self, count: int | str) -> None:
        """To the next elements."""
        f = self.f
        for place, stride in zip(self.places, self.strides, strict=True):
            if stride == "0":
                continue
            step = stride if count == 1 else f.mul(stride, count)
            f.store("ptr", f.at(f.load("ptr", place), step), place)

    def leave(self) -> None:
        """Report what was found."""
        if self.checks:
            f = self.f
            found = f.load("i64", self.found)
            with f.when(f.compare("ne", found, 0)):  # other threads may report at the same time
                f.line(f"atomicrmw or ptr {self.status}, i64 {found} monotonic, align 8")


class _Made:
    """The values of one vector."""

    def __init__(self, loop: _Loop, lanes: Lanes, copy: int, long_lines: bool) -> None:
        self.loop, self.lanes, self.skip = loop, lanes, copy * lanes.count
        self.long_lines = long_lines
        divides = shares_divider(loop.kernel, lanes.target) and lanes.count == LANES
        self.spares_divider = divides and copy % 2 == 1  # the others keep it busy
        self.values: list[str] = []
        self.loaded: dict[int, list[str]] = {}
        self.stored: dict[int, list[str]] = {}

    def run(self, one: Instruction, types: list[str], left: str | None) -> None:
        """One more of them."""
        loop, lanes, operands = self.loop, self.lanes, self.loop.kernel.operands
        arguments = [self.values[a] for a in one.arguments]
        number = len(self.values)
        value = ""
        if number in loop.uniform:
            single = lanes.count == 1
            value = loop.uniform[number] if single else loop.splats.get((number, lanes.count), "")
        elif one.op == "load":
            at, part = one.attribute
            if at not in self.loaded:
                self.loaded[at] = lanes.load(
                    operands[at], loop.place(at, self.skip, self.long_lines), left
                )
            value = self.loaded[at][part]
        elif one.op == "store":
            at, part = one.attribute
            parts = self.stored.setdefault(at, [""] * operands[at].parts)
            parts[part] = arguments[0]
            if all(parts):
                lanes.store(operands[at], parts, loop.place(at, self.skip, self.long_lines), left)
        elif one.op == "check":
            loop.check(lanes, arguments[0], one.attribute, left)
        elif one.op == "sqrt" and one.type == "f32" and self.spares_divider:
            value = root(loop.f, arguments[0])
        else:
            value = lanes.run(one, types, arguments)
        self.values.append(value)
