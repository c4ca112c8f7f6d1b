"""Row kernels with lanes along the row.

    void kernel(char** pointers, const int64_t* strides, int64_t rows, int64_t segments, int64_t columns, char* scratch,
                int64_t fetches)

A row is `segments` stretches of `columns` places. An operand has three strides in bytes: from row to row, from
segment to segment, from place to place. Here the last is the element's size, or 0 for what is read; other
operands (`row`, `one`) may have any. What is stored in a `column` operand is added to what is there: the caller makes
it zero first. `scratch` has room for the lines that `slots_of` counts. `fetches` is -1 where the kernel asks for memory ahead
of time, and 0 where the processor had better foresee that alone; with PAST_CACHE added, results are too large for its caches.
"""

from __future__ import annotations

from thixo.codegen.builder import NotLowered
from thixo.codegen.instructions import Instruction
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.emit import Function, module, vector
from thixo.codegen.llvm.lanes import MEMORY, REGISTER, Lanes
from thixo.codegen.llvm.rows_ahead import AsksAhead
from thixo.codegen.llvm.rows_reduce import Accumulator, Tree, across_lanes, exact_factors
from thixo.codegen.llvm.rows_stages import Stages, Walk, stages
from thixo.codegen.llvm.target import Target

STEPS = 16  # vectors that one accumulator adds up in a leaf
CHEAP = 4  # instructions for each place, beside which to read it is the most of the work
PAD = 64  # places that a kept line has more than the row
PARAMETERS = [("ptr noalias", "pointers"), ("ptr noalias", "strides"), ("i64", "rows"), ("i64", "segments"),
              ("i64", "columns"), ("ptr noalias", "scratch"), ("i64", "fetches"), ("i64", "first")]  # fmt: skip


def lanes_of(plan: Stages, target: Target) -> int:
    """As many as the widest varying register allows."""
    return min(64, max(1, target.vector_bytes // plan.widest))


def slots_of(kernel: Kernel) -> int:
    """Lines of eight bytes for each place that a kernel needs as scratch (for each lane, across rows)."""
    plan = stages(kernel)
    return len(plan.kept) - len(plan.places)


def prepare(kernel: Kernel) -> Stages:
    """The walks of a kernel that can be written here."""
    if any(one.op == "check" for one in kernel.body):
        raise NotLowered("checks of values along rows")
    return stages(kernel)


def position_offset(f: Function, position: str, total: str, strides: list[str]) -> str:
    """How far a position of a row is from its start; from the last one, where it is outside."""
    inside = f.intrinsic("umin", "i64", position, f.sub(total, 1))
    offset = f.variable("i64", f.mul(inside, strides[2]), align=8)
    with f.when(f.compare("sgt", "%segments", 1)):  # a division takes as long as all else for a row
        segment = f.div(inside, "%columns")
        column = f.sub(inside, f.mul(segment, "%columns"))
        f.store("i64", f.add(f.mul(segment, strides[1]), f.mul(column, strides[2])), offset)
    return f.load("i64", offset)


def along(kernel: Kernel, name: str, target: Target) -> str:
    """The text of a module with this function, and what it needs."""
    f = Function(name, PARAMETERS, attributes=target.attributes)
    functions = [f]
    if only_reads(kernel) and target.half_attributes is not None:
        # Where the processor foresees what comes next, memory is read faster by half a vector at a time; the numbers are the same.
        g = Function(f"{name}_half", PARAMETERS, attributes=f"noinline {target.half_attributes}", internal=True)  # fmt: skip
        _rows(kernel, g, target, asks=False)
        if not g.has_own_instructions:  # they exist for whole vectors
            f.end_if(f.compare("sge", "%fetches", 0), g)
            functions.append(g)
    _rows(kernel, f, target)
    return module(functions)


def only_reads(kernel: Kernel) -> bool:
    """Whether there is one walk, which computes little beside what it reduces."""
    walks = prepare(kernel).walks
    return len(walks) == 1 and not walks[0].stores and walks[0].cost <= CHEAP


def _rows(kernel: Kernel, f: Function, target: Target, asks: bool = True) -> None:
    """The body of such a function."""
    from thixo.codegen.llvm.rows_blocks import AlongBlocks, gains

    (AlongBlocks if gains(kernel, target) else Along)(kernel, f, target, asks).write()


def joined(kernel: Kernel, name: str, target: Target) -> str:
    """The same for a kernel that joins what blocks of rows gave: there is little to do, so little code does it."""
    f = Function(name, PARAMETERS, attributes=target.attributes)
    Joined(kernel, f, target).write()
    return module([f])


class Along(AsksAhead):
    """Rows one after the other."""

    def __init__(self, kernel: Kernel, f: Function, target: Target, asks: bool = True) -> None:
        self.kernel, self.f, self.target = kernel, f, target
        self.asks = asks  # for memory ahead of time
        self.plan = prepare(kernel)
        self.count = lanes_of(self.plan, target)
        self.vectors, self.single = Lanes(f, self.count, target), Lanes(f, 1, target)
        self.uniform: dict[int, str] = {}  # value to its register
        self.splats: dict[int, str] = {}

    def copies(self, walk: Walk) -> int:
        """Vectors in flight: enough to hide the latency of what accumulates, few where the work is long."""
        if not walk.reduces:
            return 2 if walk.cost <= 12 else 1
        if self.widens(walk) and walk.cost <= 6:
            return 8
        most = (
            20 if self.target.registers >= 32 else 12
        )  # four exponentials fit into so many registers
        return 4 if walk.cost <= most and len(walk.reduces) <= 2 else 2

    def widens(self, walk: Walk) -> bool:
        """Whether all is added up in double precision that comes from narrower operands."""
        body, operands = self.kernel.body, self.kernel.operands
        loads = [operands[body[v].attribute[0]] for v in walk.computed if body[v].op == "load"]
        sums = [body[r].type for r in walk.reduces if body[r].attribute == "add"]
        return bool(sums) and set(sums) == {"f64"} and all(o.bytes <= 4 for o in loads)

    def write(self) -> None:
        """The whole function."""
        f, operands = self.f, self.kernel.operands
        self.most = max((self.copies(w) for w in self.plan.walks), default=1)
        self.bases, self.strides, self.lines = [], [], []
        for i, operand in enumerate(operands):
            self.bases.append(f.load("ptr", f.at("%pointers", 8 * i), 8))
            self.strides.append(
                [f.load("i64", f.at("%strides", 8 * (3 * i + d)), 8) for d in range(3)]
            )
            reads = not operand.written and operand.view in ("full", "column")
            element = vector(MEMORY[operand.dtype], operand.parts)
            self.lines.append(
                f.variable(f"[{self.count * self.most} x {element}]") if reads else ""
            )
        # An operand that stays where it is has the mask 0: its offsets vanish.
        self.moving: list[str | None] = [
            f.op(f"sext i1 {f.compare('ne', s[2], 0)} to i64") for s in self.strides
        ]
        self.total = f.mul("%segments", "%columns")
        room = f.mul(f.add(self.total, PAD), 8)
        slots = [v for v in self.plan.kept if v not in self.plan.places]
        self.slots = {
            v: f.at("%scratch", f.mul(room, n)) if n else "%scratch" for n, v in enumerate(slots)
        }
        self.prepare_ahead()
        self.run()

    def run(self) -> None:
        """All rows."""
        with self.f.loop(0, "%rows") as row:
            self.enter_row(row)
            self.define(self.plan.before)
            for walk in self.plan.walks:
                self.walk(walk)
                self.define(walk.uniform)

    def enter_row(self, row: str) -> None:
        """Where the operands' rows are."""
        f = self.f
        self.rows = [
            f.at(base, f.mul(row, s[0])) for base, s in zip(self.bases, self.strides, strict=True)
        ]

    # ---- one value for each row

    def define(self, numbers: list[int]) -> None:
        """Uniform values, in plain registers; copies in vectors for those that meet varying ones."""
        body = self.kernel.body
        stored: dict[int, list[str]] = {}
        for i in numbers:
            one = body[i]
            if one.op == "store":
                at, part = one.attribute
                parts = stored.setdefault(at, [""] * self.kernel.operands[at].parts)
                parts[part] = self.uniform[one.arguments[0]]
                if all(parts):
                    self.single.store(self.kernel.operands[at], parts, self.rows[at])
                continue
            if one.op == "load":
                at, part = one.attribute
                value = self.single.load(self.kernel.operands[at], self.rows[at])[part]
            elif one.op == "pick":
                at, part = one.attribute
                place = self.picked(at, self.uniform[one.arguments[0]])
                value = self.single.load(self.kernel.operands[at], place)[part]
            elif one.op == "columns":
                value = self.total
            else:
                types = [body[a].type for a in one.arguments]
                value = self.single.run(one, types, [self.uniform[a] for a in one.arguments])
            self.known(i, value)

    def picked(self, at: int, position: str) -> str:
        """The address of an operand's element at a position of this row."""
        return self.f.at(
            self.rows[at], position_offset(self.f, position, self.total, self.strides[at])
        )

    def known(self, i: int, value: str) -> None:
        """Remember a uniform value."""
        self.uniform[i] = value
        one = self.kernel.body[i]
        if one.op == "const":
            self.splats[i] = self.vectors.constant(one.attribute, one.type)
        elif self._meets_varying(i):
            self.splats[i] = self.f.splat(REGISTER[one.type], value, self.count)

    def _meets_varying(self, i: int) -> bool:
        plan = self.plan
        return any(i in self.kernel.body[v].arguments
                   for w in plan.walks for v in (*w.computed, *w.reduces, *w.stores))  # fmt: skip

    # ---- one walk along the row

    def walk(self, walk: Walk) -> None:
        """All segments; then what the reductions found."""
        f, count, copies = self.f, self.count, self.copies(walk)
        sums = [Accumulator(self.vectors, self.kernel.body[r], 1, copies) for r in walk.reduces]
        tree = Tree(f, sums)
        tree.reset()
        with f.loop(0, "%segments") as segment:
            self.enter_segment(walk, segment)
            if tree.trees:
                # Leaves cost a little each; where rounding is far below the result's they may be long.
                leaf = STEPS * (4 if self.widens(walk) else 1) * copies * count
                with f.loop(0, "%columns", leaf) as start:
                    tree.begin_leaf()
                    self.stretch(walk, sums, copies, start, f.min(f.add(start, leaf), "%columns"))
            else:
                head = "0" if walk.reduces else self.head(walk)
                if walk is self.plan.walks[-1] and self.rests():
                    with f.when(self.wants_next):
                        self.stretch(walk, sums, copies, head, "%columns", next_row=True)
                    with f.unless(self.wants_next):
                        self.stretch(walk, sums, copies, head, "%columns")
                else:
                    self.stretch(walk, sums, copies, head, "%columns")
        for at, values in tree.finish().items():
            self.found(walk.reduces[at], values[0])

    def head(self, walk: Walk) -> str:
        """Compute the places before the first whole vector of a result, so that no store is over the border of two lines; how many."""
        f, count = self.f, self.count
        stores = [self.kernel.body[v].attribute[0] for v in walk.stores]
        full = [at for at in stores if self.kernel.operands[at].view == "full"]
        if (
            not full
            or not self.target.masks
            or count == 1
            or self.kernel.operands[full[0]].parts > 1
        ):
            return "0"
        bytes = self.kernel.operands[full[0]].bytes
        address = f.op(f"ptrtoint ptr {self.places[full[0]]} to i64")
        before = f.op(f"and i64 {f.sub(0, address)}, {count * bytes - 1}")
        head = f.choose(f.compare("sge", "%columns", 8 * count), "i64", f.div(before, bytes), 0)
        with f.when(f.compare("ne", head, 0)):
            self.body(self.vectors, walk, [], "0", 0, head)
        return head

    def found(self, number: int, value: str) -> None:
        """A reduction's vector at the end of a row."""
        one = self.kernel.body[number]
        self.known(number, across_lanes(self.vectors, one.attribute, one.type, value))

    def enter_segment(self, walk: Walk, segment: str) -> None:
        """Where the operands are; one that stays becomes a line of copies, to be read like any other."""
        f = self.f
        self.first = f.mul(segment, "%columns")
        self.places: list[str] = []
        used = {
            self.kernel.body[v].attribute[0]
            for v in walk.computed
            if self.kernel.body[v].op == "load"
        }
        for i, operand in enumerate(self.kernel.operands):
            if operand.view not in ("full", "column"):
                self.places.append("")
                continue
            pointer = f.at(self.rows[i], f.mul(segment, self.strides[i][1]))
            if not self.lines[i] or i not in used:
                self.places.append(pointer)
                continue
            place = f.variable("ptr", pointer, align=8)
            element = vector(MEMORY[operand.dtype], operand.parts)
            with (
                f.when(f.compare("eq", self.strides[i][2], 0)),
                f.loop(0, self.count * self.most) as n,
            ):
                one = f.load(element, pointer, operand.bytes // operand.parts)
                f.store(
                    element, one, f.at(self.lines[i], n, element), operand.bytes // operand.parts
                )
                f.store("ptr", self.lines[i], place)
            self.places.append(f.load("ptr", place))

    def stretch(
        self,
        walk: Walk,
        sums: list[Accumulator],
        copies: int,
        start: str,
        stop: str,
        next_row: bool = False,
    ) -> None:
        """Places from start to stop: several vectors at a time, then single ones, then what is left.

        `next_row`: the same places of the next row are asked for.
        """
        f, count = self.f, self.count
        length = f.sub(stop, start)
        bounds = [start]
        for step in dict.fromkeys((copies * count, count)):
            whole = f.mul(f.div(length, step), step) if step > 1 else length
            end = f.add(start, whole)
            with f.loop(bounds[-1], end, step) as i:
                for copy in range(step // count):
                    if next_row and copy == 0:
                        self.fetch_next(i, step)
                    self.body(self.vectors, walk, sums, i, copy)
            bounds.append(end)
        if count == 1:
            return
        left = f.sub(stop, bounds[-1])
        if self.target.masks:
            with f.when(f.compare("ne", left, 0)):
                self.body(self.vectors, walk, sums, bounds[-1], 0, left)
        else:
            with f.loop(bounds[-1], stop) as i:
                self.body(self.single, walk, sums, i, 0)

    def address(self, base: str, operand: Operand, moving: str | None, i: str, skip: int) -> str:
        """Of the place `skip` after i."""
        f = self.f
        offset = f.mul(i, operand.bytes)
        if moving is not None:
            offset = f.op(f"and i64 {offset}, {moving}")
        return f.at(f.at(base, offset), skip * operand.bytes)

    def body(
        self,
        lanes: Lanes,
        walk: Walk,
        sums: list[Accumulator],
        i: str,
        copy: int,
        left: str | None = None,
    ) -> None:
        """All instructions of the walk once, for the places from i on; `left` of them, if given."""
        f, body, operands = self.f, self.kernel.body, self.kernel.operands
        skip = copy * lanes.count
        values: dict[int, str] = {}
        loaded: dict[int, list[str]] = {}

        def value(v: int) -> str:
            if v in values:
                return values[v]
            return self.splats[v] if lanes.count > 1 or lanes is self.vectors else self.uniform[v]

        for v in walk.computed:
            one = body[v]
            if v in walk.fetched:
                values[v] = lanes.load(*self.kept(v, i, skip), left)[0]
            elif one.op == "load":
                at, part = one.attribute
                if at not in loaded:
                    place = self.address(self.places[at], operands[at], self.moving[at], i, skip)
                    if at in walk.first:
                        self.fetch_ahead(lanes, at, place, skip)
                    loaded[at] = lanes.load(operands[at], place, left)
                values[v] = loaded[at][part]
            elif one.op == "index":
                values[v] = self.index(lanes, one.type, i, skip)
            else:
                values[v] = lanes.run(
                    one, [body[a].type for a in one.arguments], [value(a) for a in one.arguments]
                )
            if v in walk.kept:
                operand, place = self.kept(v, i, skip)
                if v in self.plan.places:
                    self.fetch_ahead(lanes, self.plan.places[v], place, skip)
                lanes.store(operand, [values[v]], place, left)
        mask = None if left is None else lanes.masks.get(left) or f.mask(left, lanes.count)
        for r, total in zip(walk.reduces, sums, strict=True):
            factors = exact_factors(body, body[r], self.target)
            if lanes is self.vectors and factors:
                total.take_product(0, copy, value(factors[0]), value(factors[1]), mask)
            elif lanes is self.vectors:
                total.take(0, copy, value(body[r].arguments[0]), mask)
            else:
                total.take_one(value(body[r].arguments[0]))
        stored: dict[int, list[str]] = {}
        for v in walk.stores:
            at, part = body[v].attribute
            parts = stored.setdefault(at, [""] * operands[at].parts)
            parts[part] = value(body[v].arguments[0])
            if all(parts):
                place = self.address(self.places[at], operands[at], None, i, skip)
                if operands[at].view == "column":  # added to what the rows before gave
                    so_far = lanes.load(operands[at], place, left)
                    add = Instruction("add", operands[at].register, (0, 1))
                    parts = [
                        lanes.run(add, (add.type,) * 2, pair)
                        for pair in zip(so_far, parts, strict=True)
                    ]
                elif at not in self.plan.places.values():
                    self.fetch_ahead(lanes, at, place, skip)
                lanes.store(operands[at], parts, place, left)

    def kept(self, v: int, i: str, skip: int) -> tuple[Operand, str]:
        """Where a value that was put aside is."""
        if v in self.plan.places:
            at = self.plan.places[v]
            return self.kernel.operands[at], self.address(
                self.places[at], self.kernel.operands[at], None, i, skip
            )
        operand = Operand(self.kernel.body[v].type)
        return operand, self.address(self.slots[v], operand, None, self.f.add(self.first, i), skip)

    def index(self, lanes: Lanes, type: str, i: str, skip: int) -> str:
        """The numbers of the places."""
        f = self.f
        first = f.add(f.add(self.first, i), skip)
        if type != "i64":
            first = f.op(f"trunc i64 {first} to {REGISTER[type]}")
        if lanes.count == 1:
            return first
        splat = f.splat(REGISTER[type], first, lanes.count)
        return f.op(
            f"add {lanes.type(type)} {splat}, {f.lane_numbers(REGISTER[type], lanes.count)}"
        )


class Joined(Along):
    """Rows of a few places that follow each other, in one segment: one vector at a time, and nothing is fetched ahead."""

    def copies(self, walk: Walk) -> int:
        """One."""
        return 1

    def enter_segment(self, walk: Walk, segment: str) -> None:
        """The only one."""
        self.first, self.places = "0", self.rows

    def address(self, base: str, operand: Operand, moving: str | None, i: str, skip: int) -> str:
        """Of the place i: no operand stays."""
        return super().address(base, operand, None, i, skip)

    def rests(self) -> bool:
        """What comes next was written just now."""
        return False

    def fetch_ahead(self, lanes: Lanes, at: int, place: str, skip: int) -> None:
        """It was written just now."""
