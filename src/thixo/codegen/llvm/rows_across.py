"""Row kernels with lanes across rows: each lane has a row of its own.

The same function type as in `rows.py`. Here the stride from row to row is the element's size for operands of the
views `full` and `row`; from place to place and from segment to segment it may be anything. `width` rows are
taken at a time, so that each step along the rows reads neighbouring memory.
"""

from __future__ import annotations

from thixo.codegen.builder import NotLowered
from thixo.codegen.instructions import Instruction
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.emit import Function, module
from thixo.codegen.llvm.lanes import MEMORY, REGISTER, Lanes
from thixo.codegen.llvm.rows import PAD, PARAMETERS, lanes_of, position_offset, prepare
from thixo.codegen.llvm.rows_ahead import if_fetched
from thixo.codegen.llvm.rows_reduce import Accumulator, Tree, exact_factors
from thixo.codegen.llvm.rows_side import SideBySide, blocks_of, few_enough
from thixo.codegen.llvm.rows_side_walks import SideBySideWalks, blocks_of_walks, wanted
from thixo.codegen.llvm.rows_stages import Stages, Walk
from thixo.codegen.llvm.target import Target
from thixo.codegen.rowwise_walks import moments_at_once

LEAF = 16  # places that one accumulator adds up before the sum goes into the tree
AHEAD = 8  # places between what is computed and what is fetched into the cache


def groups_of(plan: Stages) -> int:
    """Vectors side by side: many where little is done with each."""
    most = max((w.cost + 2 * len(w.reduces) for w in plan.walks), default=1)
    # Each place is a page of its own: the more is read of it at once, the fewer of them are looked up.
    # Those that are walked again are to be in the cache still: 4 of float32 and 4096 places are 1 MB.
    widest = 8 if len(plan.walks) == 1 else 4
    return min(widest, 8 if most <= 12 else 4 if most <= 24 else 2)


def width_of(kernel: Kernel, target: Target) -> int:
    """Rows that are taken at a time."""
    plan = prepare(kernel)
    return groups_of(plan) * lanes_of(plan, target)


def across(kernel: Kernel, name: str, target: Target) -> str:
    """The text of a module with this one function."""
    if any(o.written and o.view == "column" for o in kernel.operands):
        raise NotLowered("sums over rows where each lane is a row")
    f = Function(name, PARAMETERS, attributes=target.attributes)
    plan = prepare(kernel)
    count, groups = lanes_of(plan, target), groups_of(plan)
    block, places = count * groups, Places(plan, f)
    vectors, single = Lanes(f, count, target), Lanes(f, 1, target)
    rows, blocks = "%rows", blocks_of(plan, count, groups)
    if target.masks and count > 1 and not any(one.op == "reduce" for one in kernel.body):
        from thixo.codegen.llvm.rows_places import FewRows, ManyRows, whole_lines

        if whole_lines(plan):
            many = f.compare("sgt", rows, block)
            with f.when(many):
                ManyRows(places, vectors).write()
            rows = f.choose(many, "i64", 0, rows)
        few = FewRows(places, vectors)
        with f.loop(0, rows, count) as row:
            few.write(row)
        return module([f])
    if blocks > 1:
        masks = target.masks and count > 1
        forms = [(Block(places, vectors, groups, block), blocks, block)]
        # The rest is single vectors side by side: faster than one more block with most of its lanes outside, and less code.
        forms.append((Block(places, vectors, 1, block, masks), groups, 1 if masks else count))
        if not masks and count > 1:
            forms.append((Block(places, single, 1, block), count - 1, 1))
        fits = few_enough(f, LEAF)
        with f.when(fits):
            SideBySide(f, plan, blocks, forms).write(LEAF)
        rows = f.choose(fits, "i64", 0, "%rows")
    rows = _walk_again(f, kernel, rows, target)
    whole = "0"
    if blocks <= 1:
        whole = f.mul(f.div(rows, block), block)
        with f.loop(0, whole, block) as row:
            Block(places, vectors, groups, block).write(row)
    if target.masks and count > 1:
        with f.loop(whole, rows, count) as row:
            Block(places, vectors, 1, block, True).write(row)
    else:
        if count > 1:
            full = f.mul(f.div(rows, count), count)
            with f.loop(whole, full, count) as row:
                Block(places, vectors, 1, block).write(row)
            whole = full
        with f.loop(whole, rows) as row:
            Block(places, single, 1, block).write(row)
    return module([f])


def _walk_again(f: Function, kernel: Kernel, rows: str, target: Target) -> str:
    """Rows that no cache holds from walk to walk, side by side, with as few walks as can be; the rows that are left."""
    if not target.masks:
        return rows
    plan = prepare(moments_at_once(kernel))
    count, groups = lanes_of(plan, target), groups_of(plan)
    blocks = blocks_of_walks(plan, count, groups)
    if blocks <= 1 or count <= 1:
        return rows
    block, places, vectors = count * groups, Places(plan, f), Lanes(f, count, target)
    forms = [(Block(places, vectors, groups, block), blocks, block)]
    forms.append((Block(places, vectors, 1, block, True), groups, 1))
    widest = max(o.bytes for o in kernel.operands if o.view == "full")
    fits = f.op(f"and i1 {wanted(f, block * widest)}, {few_enough(f, LEAF)}")
    with f.when(fits):
        SideBySideWalks(f, plan, blocks, forms).write(LEAF)
    return f.choose(fits, "i64", 0, rows)


class Places:
    """Where the operands are and how far apart their elements: read once, where a function begins."""

    def __init__(self, plan: Stages, f: Function) -> None:
        self.plan, self.f = plan, f
        self.bases, self.strides = [], []
        for i in range(len(plan.kernel.operands)):
            self.bases.append(f.load("ptr", f.at("%pointers", 8 * i), 8))
            self.strides.append(
                [f.load("i64", f.at("%strides", 8 * (3 * i + d)), 8) for d in range(3)]
            )
        self.total = f.mul("%segments", "%columns")


class Block:
    """`groups` vectors of rows."""

    def __init__(
        self,
        places: Places,
        lanes: Lanes,
        groups: int,
        width: int,
        masked: bool = False,  # it may have more lanes than rows are left
    ) -> None:
        self.plan, self.kernel = places.plan, places.plan.kernel
        self.f, self.lanes = places.f, lanes
        self.bases, self.total = places.bases, places.total
        self.own_strides = self.strides = places.strides
        self.groups, self.width, self.masked = groups, width, masked
        self.left: str | None = None
        self.values: dict[int, list[str]] = {}  # uniform ones: a vector for each group

    def write(self, row: str) -> None:
        """All walks."""
        self.enter(row)
        for walk in self.plan.walks:
            self.walk(walk)
            self.define(walk.uniform)

    def enter(self, row: str) -> None:
        """The block begins with this row."""
        f = self.f
        self.left = f.sub("%rows", row) if self.masked else None
        if self.left is not None:
            self.lanes.keep_mask(self.left)
        self.rows = []
        for base, operand in zip(self.bases, self.kernel.operands, strict=True):
            moves = operand.view in ("full", "row")
            self.rows.append(f.at(base, f.mul(row, operand.bytes)) if moves else base)
        slots = [v for v in self.plan.kept if v not in self.plan.places]
        self.slots = {}
        for n, v in enumerate(slots):
            room = f.mul(f.add(self.total, PAD), 8 * self.width * n)
            self.slots[v] = f.at("%scratch", room) if n else "%scratch"
        self.define(self.plan.before)

    def turn_to(self, segment: str) -> None:
        """The places of this segment come next."""
        f = self.f
        self.first, self.strides = f.mul(segment, "%columns"), self.own_strides
        self.places = [f.at(row, f.mul(segment, s[1])) if o.view in ("full", "column") else row
                       for row, s, o in zip(self.rows, self.strides, self.kernel.operands, strict=True)]  # fmt: skip

    def group(self, pointer: str, number: int, bytes: int) -> tuple[str, str | None]:
        """Where a group of lanes is in memory, and the rows that are left for it; None: enough."""
        f, offset = self.f, number * self.lanes.count * bytes
        if self.left is None or number == 0:
            return f.at(pointer, offset), self.left
        # One without rows reads nothing, at an address that is there.
        left = f.sub(self.left, number * self.lanes.count)
        there = f.choose(f.compare("sgt", left, 0), "i64", offset, 0)
        return f.at(pointer, there), left

    def _spread(self, operand: Operand, pointer: str) -> list[list[str]]:
        """A single element, in all lanes: the same parts for each group."""
        parts = Lanes(self.f, 1, self.lanes.target).load(operand, pointer)
        wide = [self.f.splat(REGISTER[operand.register], p, self.lanes.count) for p in parts]
        return [wide] * self.groups

    def _load(self, operand: Operand, pointer: str) -> list[list[str]]:
        """Neighbouring elements: the parts of each group."""
        return [
            self.lanes.load(operand, *self.group(pointer, g, operand.bytes))
            for g in range(self.groups)
        ]

    def _store(self, operand: Operand, parts: list[list[str]], pointer: str) -> None:
        for g in range(self.groups):
            place, left = self.group(pointer, g, operand.bytes)
            self.lanes.store(operand, [p[g] for p in parts], place, left)

    def define(self, numbers: list[int]) -> None:
        """Uniform values."""
        body, operands = self.kernel.body, self.kernel.operands
        stored: dict[int, list[list[str]]] = {}
        for i in numbers:
            one = body[i]
            if one.op == "store":
                at, part = one.attribute
                parts = stored.setdefault(at, [[]] * operands[at].parts)
                parts[part] = self.values[one.arguments[0]]
                if all(parts):
                    self._store(operands[at], parts, self.rows[at])
            elif one.op == "load":
                at, part = one.attribute
                read = self._load if operands[at].view == "row" else self._spread
                self.values[i] = [parts[part] for parts in read(operands[at], self.rows[at])]
            elif one.op == "pick":
                self.values[i] = self.pick(one)
            elif one.op == "columns":
                self.values[i] = [self.f.splat("i64", self.total, self.lanes.count)] * self.groups
            else:
                self.values[i] = self.run(i, self.values)

    def run(self, i: int, values: dict[int, list[str]]) -> list[str]:
        """One instruction for each group; a constant, or what all groups share, once."""
        one = self.kernel.body[i]
        types = [self.kernel.body[a].type for a in one.arguments]
        made: dict[tuple[str, ...], str] = {}
        found = []
        for g in range(self.groups):
            arguments = tuple(values[a][g] for a in one.arguments)
            if arguments not in made:
                made[arguments] = self.lanes.run(one, types, arguments)
            found.append(made[arguments])
        return found

    def pick(self, one: Instruction) -> list[str]:
        """Each lane's own element."""
        f, count, (at, part) = self.f, self.lanes.count, one.attribute
        operand, single = self.kernel.operands[at], Lanes(self.f, 1, self.lanes.target)
        type, found = self.lanes.type(one.type), []
        for group in range(self.groups):
            places, made = self.values[one.arguments[0]][group], "poison"
            for lane in range(count):
                place = (
                    f.op(f"extractelement <{count} x i64> {places}, i64 {lane}")
                    if count > 1
                    else places
                )
                offset = position_offset(f, place, self.total, self.strides[at])
                row: str | int = (group * count + lane) * operand.bytes
                if self.left is not None:  # lanes without a row read the last one's
                    row = f.mul(f.min(lane, f.sub(self.left, 1)), operand.bytes)
                value = single.load(operand, f.at(f.at(self.rows[at], row), offset))[part]
                made = (
                    f.op(f"insertelement {type} {made}, {REGISTER[one.type]} {value}, i64 {lane}")
                    if count > 1
                    else value
                )
            found.append(made)
        return found

    def walk(self, walk: Walk) -> None:
        """All places, in leaves where a sum needs them."""
        f = self.f
        sums = [Accumulator(self.lanes, self.kernel.body[r], self.groups, 1) for r in walk.reduces]
        tree = Tree(f, sums)
        tree.reset()
        with f.loop(0, "%segments") as segment:
            self.turn_to(segment)
            if tree.trees:
                with f.loop(0, "%columns", LEAF) as start:
                    tree.begin_leaf()
                    with f.loop(start, f.min(f.add(start, LEAF), "%columns")) as i:
                        self.body(walk, sums, i)
            else:
                with f.loop(0, "%columns") as i:
                    self.body(walk, sums, i)
        for at, values in tree.finish().items():
            self.values[walk.reduces[at]] = values

    def body(self, walk: Walk, sums: list[Accumulator], i: str, fetches: bool = True) -> None:
        """All instructions of the walk, at place i of each row; fetches: it asks for places that come."""
        f, body, operands = self.f, self.kernel.body, self.kernel.operands
        values = dict(self.values)
        loaded: dict[int, list[list[str]]] = {}
        for v in walk.computed:
            one = body[v]
            if v in walk.fetched:
                values[v] = [parts[0] for parts in self._load(*self.kept(v, i))]
            elif one.op == "load":
                at, part = one.attribute
                if at not in loaded:
                    place = f.at(self.places[at], f.mul(i, self.strides[at][2]))
                    if fetches and operands[at].view == "full" and at in walk.first:
                        self.fetch_ahead(operands[at], self.places[at], self.strides[at][2], i)
                    if operands[at].view == "full":
                        loaded[at] = self._load(operands[at], place)
                    else:
                        loaded[at] = self._spread(operands[at], place)
                values[v] = [parts[part] for parts in loaded[at]]
            elif one.op == "index":
                number = f.add(f.add(self.first, i), "%first")
                if one.type != "i64":
                    number = f.op(f"trunc i64 {number} to {REGISTER[one.type]}")
                values[v] = [f.splat(REGISTER[one.type], number, self.lanes.count)] * self.groups
            else:
                values[v] = self.run(v, values)
            if v in walk.kept:
                operand, place = self.kept(v, i)
                self._store(operand, [values[v]], place)
        for r, total in zip(walk.reduces, sums, strict=True):
            factors = exact_factors(body, body[r], self.lanes.target)
            for g in range(self.groups):
                if factors:
                    total.take_product(g, 0, values[factors[0]][g], values[factors[1]][g])
                else:
                    total.take(g, 0, values[body[r].arguments[0]][g])
        stored: dict[int, list[list[str]]] = {}
        for v in walk.stores:
            at, part = body[v].attribute
            parts = stored.setdefault(at, [[]] * operands[at].parts)
            parts[part] = values[body[v].arguments[0]]
            if all(parts):
                if fetches:
                    self.fetch_ahead(operands[at], self.places[at], self.strides[at][2], i)
                self._store(
                    operands[at], parts, f.at(self.places[at], f.mul(i, self.strides[at][2]))
                )

    def fetch_ahead(self, operand: Operand, base: str, stride: str, i: str) -> None:
        """Places lie far apart here, where no hardware sees a pattern. After the last come the next rows' first."""
        f = self.f
        place = f.add(i, if_fetched(f, AHEAD))
        over = f.compare("sge", place, "%columns")
        wrapped = f.min(
            f.intrinsic("smax", "i64", f.sub(place, "%columns"), "0"), f.sub("%columns", 1)
        )
        place = f.choose(over, "i64", wrapped, place)
        block = f.choose(over, "i64", self.groups * self.lanes.count * operand.bytes, 0)
        ahead = f.at(base, f.add(f.mul(stride, place), block))
        for line in range(0, max(1, self.groups * self.lanes.count * operand.bytes), 64):
            f.prefetch(f.at(ahead, line), write=operand.written)

    def fetch_soon(self, walk: Walk, first: str, last: str, level: int) -> None:
        """Places that come when all other blocks had their turn: the cache of this level holds them until then."""
        f, body, operands = self.f, self.kernel.body, self.kernel.operands
        loads = [v for v in walk.computed if body[v].op == "load"]
        met = {body[v].attribute[0] for v in (*loads, *walk.stores)}
        with f.loop(first, last) as i:
            for at in sorted(at for at in met if operands[at].view == "full"):
                ahead = f.at(self.places[at], f.mul(i, self.strides[at][2]))
                for line in range(0, self.groups * self.lanes.count * operands[at].bytes, 64):
                    f.prefetch(f.at(ahead, line), write=operands[at].written, level=level)

    def kept(self, v: int, i: str) -> tuple[Operand, str]:
        """Where a value that was put aside is."""
        f = self.f
        if v in self.plan.places:
            at = self.plan.places[v]
            return self.kernel.operands[at], f.at(self.places[at], f.mul(i, self.strides[at][2]))
        operand = Operand(self.kernel.body[v].type)
        return operand, f.at(self.slots[v], f.mul(f.add(self.first, i), operand.bytes * self.width))


__all__ = ["MEMORY", "across", "width_of"]
