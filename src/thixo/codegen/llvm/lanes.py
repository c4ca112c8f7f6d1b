"""One instruction of a kernel's body, on some lanes at once, as LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thixo.codegen.instructions import Instruction, is_float, is_integer, is_signed, width
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.emit import Function, float_bits, suffix, vector
from thixo.codegen.llvm.target import Target
from thixo.codegen.math.binary import written
from thixo.errors import InternalError

# Types in registers, and in memory where they differ.
REGISTER = {"bool": "i1", "f32": "float", "f64": "double",
            **{f"{s}{n}": f"i{n}" for s in "iu" for n in (8, 16, 32, 64)}}  # fmt: skip
MEMORY = REGISTER | {"bool": "i8", "f16": "half", "bf16": "i16", "c64": "float", "c128": "double"}

_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_UNARY = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven"}
_FLOAT_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole"}
_ORDERED = re.compile(r"fcmp o(?P<how>lt|le|eq) (?P<type><.*>|\w+) (?P<left>.+), (?P<right>.+)")
_LESS = re.compile(r"fcmp olt (?:<.*>|\w+) (?P<left>.+), (?P<right>.+)")
_IS_NAN = re.compile(r"fcmp une (?:<.*>|\w+) (?P<value>.+), (?P=value)")
_NUMBER = re.compile(r"(?:splat \(\w+ )?0x(?![7F]FF)[0-9A-F]{16}\)?")  # finite


class Lanes:
    """Writes instructions into a function, `count` lanes wide; 1 is plain scalar code."""

    def __init__(
        self, function: Function, count: int, target: Target, *, past_cache: bool = False
    ) -> None:
        self.f, self.count, self.target = function, count, target
        self.past_cache = (
            past_cache  # whole vectors are stored at multiples of their size, to memory
        )
        self.masks: dict[str, str] = {}  # of the first so many elements, where one was made for all

    def type(self, name: str) -> str:
        """The LLVM type of a register."""
        return vector(REGISTER[name], self.count)

    def constant(self, value: bool | int | float, name: str) -> str:
        """A number in every lane."""
        element = REGISTER[name]
        if is_float(name):
            text = float_bits(float(value), element)
        elif name == "bool":
            text = "true" if value else "false"
        else:
            text = str(
                int(value) - (1 << width(name))
                if int(value) >> (width(name) - 1) > 0
                else int(value)
            )
        return text if self.count == 1 else f"splat ({element} {text})"

    # ---- arithmetic

    def run(self, one: Instruction, types: Sequence[str], values: Sequence[str]) -> str:
        """An instruction whose arguments have these types and values."""
        op, type = one.op, self.type(one.type)
        a = values[0] if values else ""
        b = values[1] if len(values) > 1 else ""
        if op == "const":
            return self.constant(one.attribute, one.type)
        if op in _FLOAT_OPS:
            if is_float(one.type):
                return self.f.op(f"{_FLOAT_OPS[op]} {type} {a}, {b}")
            if op != "div":
                return self.f.op(f"{op} {type} {a}, {b}")
        if op in ("div", "rem"):
            return self._divide(op, one.type, a, b)
        if op == "fma":
            return self.f.intrinsic("fma", type, *values)
        if op == "neg":
            return self.f.op(
                f"fneg {type} {a}"
                if is_float(one.type)
                else f"sub {type} {self.constant(0, one.type)}, {a}"
            )
        if op == "abs":
            if is_float(one.type):
                return self.f.intrinsic("fabs", type, a)
            return self.f.call(f"llvm.abs.{suffix(type)}", type, (type, a), ("i1", "false"))
        if op in _UNARY:
            return self.f.intrinsic(_UNARY[op], type, a)
        if op in _FLOAT_COMPARE:
            return self._compare(op, types[0], a, b)
        if op == "select":
            known = self._extreme(one.type, a, b, values[2])
            return known or self.f.op(
                f"select {self.type('bool')} {a}, {type} {b}, {type} {values[2]}"
            )
        if op == "rare":
            return self._rare(one, *values)
        if op == "lookup":
            return self._lookup(one, types[0], a)
        if op in ("scale", "exponent", "mantissa"):
            return self._binary(op, one.type, values)
        if op in ("and", "or", "xor"):
            known = self._unordered(a, b) if op == "or" and one.type == "bool" else None
            return known or self.f.op(f"{op} {type} {a}, {b}")
        if op == "not":
            ones = self.constant(True if one.type == "bool" else -1, one.type)
            return self.f.op(f"xor {type} {a}, {ones}")
        if op in ("shl", "shr"):
            return self._shift(op, one.type, a, b)
        if op == "cast":
            return self.cast(a, types[0], one.type)
        if op == "bits":
            return self.f.op(f"bitcast {self.type(types[0])} {a} to {type}")
        raise InternalError(f"the LLVM backend has no instruction {op}")

    def _unordered(self, a: str, b: str) -> str | None:
        """A comparison with a number, or whether it is a NaN that is compared: one instruction does both."""
        for first, second in ((a, b), (b, a)):
            compared = _ORDERED.fullmatch(self.f.comparisons.get(first, ""))
            lost = _IS_NAN.fullmatch(self.f.comparisons.get(second, ""))
            if compared is None or lost is None:
                continue
            left, right = compared["left"], compared["right"]
            if (left == lost["value"] and _NUMBER.fullmatch(right)) or (
                right == lost["value"] and _NUMBER.fullmatch(left)
            ):
                return self.f.op(f"fcmp u{compared['how']} {compared['type']} {left}, {right}")
        return None

    def _extreme(self, name: str, condition: str, a: str, b: str) -> str | None:
        """The greater or the lesser of two floats, or a NaN put in its place again: one instruction of AVX-512 does either.

        LLVM makes one choice by two comparisons of them, which takes long enough for memory to wait.
        """
        if not self.target.scales or not is_float(name) or self.count * width(name) != 512:
            return None
        compared, type = self.f.comparisons.get(condition, ""), self.type(name)
        kind = "ps" if name == "f32" else "pd"
        less, lost = _LESS.fullmatch(compared), _IS_NAN.fullmatch(compared)
        if less is not None and {less["left"], less["right"]} == {a, b}:
            which = (
                "min" if less["left"] == a else "max"
            )  # the second where they are equal or one is NaN
            return self.f.call(
                f"llvm.x86.avx512.{which}.{kind}.512", type, (type, a), (type, b), ("i32", "4")
            )
        if lost is not None and lost["value"] == a:
            whole, mask = self.type("i32" if name == "f32" else "i64"), f"i{self.count}"
            answers = self.constant(
                0x11, "i32" if name == "f32" else "i64"
            )  # to either sort of NaN: the value itself
            return self.f.call(f"llvm.x86.avx512.mask.fixupimm.{kind}.512", type, (type, b), (type, a),
                               (whole, answers), ("i32", "0"), (mask, "-1"), ("i32", "4"))  # fmt: skip
        return None

    def _lookup(self, one: Instruction, index: str, place: str) -> str:
        """From registers where the processor has an instruction for it, else from memory."""
        f, element, table = self.f, REGISTER[one.type], one.attribute
        type, places = self.type(one.type), self.type(index)
        if self.target.scales and self.count * width(one.type) == 512 and len(table) >= self.count:
            parts = []
            for first in range(0, len(table), self.count):
                numbers = table[first : first + self.count]
                listed = ", ".join(f"{element} {float_bits(x, element)}" for x in numbers)
                parts.append((type, f"<{listed}>"))
            kind = "ps" if one.type == "f32" else "pd"
            if len(parts) == 1:
                name = f"llvm.x86.avx512.permvar.{'sf' if kind == 'ps' else 'df'}.512"
                return f.call(name, type, parts[0], (places, place))
            if len(parts) == 2:
                name = f"llvm.x86.avx512.vpermi2var.{kind}.512"
                return f.call(name, type, parts[0], (places, place), parts[1])
        memory = f.table(element, table)
        place = f.op(f"and {places} {place}, {self.constant(len(table) - 1, index)}")
        if self.count == 1:
            return f.load(element, f.at(memory, f.op(f"zext {places} {place} to i64") if index != "i64" else place,
                                        element))  # fmt: skip
        made = "poison"
        for lane in range(self.count):
            one_place = f.op(f"extractelement {places} {place}, i64 {lane}")
            if index != "i64":
                one_place = f.op(f"zext {REGISTER[index]} {one_place} to i64")
            number = f.load(element, f.at(memory, one_place, element))
            made = f.op(f"insertelement {type} {made}, {element} {number}, i64 {lane}")
        return made

    def _rare(self, one: Instruction, condition: str, usual: str, *arguments: str) -> str:
        f, type, choice = self.f, self.type(one.type), self.type("bool")
        held = f.variable(type, usual)
        asked = condition
        if self.count > 1:
            asked = f.call(f"llvm.vector.reduce.or.v{self.count}i1", "i1", (choice, condition))
        with f.when(asked):
            unusual = self._inline(one.attribute, arguments)
            f.store(
                type, f.op(f"select {choice} {condition}, {type} {unusual}, {type} {usual}"), held
            )
        return f.load(type, held)

    def _inline(self, kernel: Kernel, arguments: Sequence[str]) -> str:
        """A kernel of registers: its one result."""
        body = kernel.body
        made: list[str] = []
        result = ""
        for step in body:
            values = [made[a] for a in step.arguments]
            if step.op == "load":
                made.append(arguments[step.attribute[0]])
            elif step.op == "store":
                made.append("")
                result = values[0]
            else:
                made.append(self.run(step, [body[a].type for a in step.arguments], values))
        return result

    def _halves(self, op: str, name: str, values: Sequence[str]) -> str:
        f, half = self.f, Lanes(self.f, self.count // 2, self.target)
        whole, part = self.type(name), half.type(name)
        made = []
        for first in (0, half.count):
            chosen = ", ".join(f"i32 {first + i}" for i in range(half.count))
            some = [
                f.op(f"shufflevector {whole} {v}, {whole} poison, <{half.count} x i32> <{chosen}>")
                for v in values
            ]
            made.append(half._binary(op, name, some))
        order = f.lane_numbers("i32", self.count)
        return f.op(
            f"shufflevector {part} {made[0]}, {part} {made[1]}, <{self.count} x i32> {order}"
        )

    def _binary(self, op: str, name: str, values: Sequence[str]) -> str:
        bits = self.count * width(name)
        if self.target.scales and bits == 1024:  # two vectors
            return self._halves(op, name, values)
        if not self.target.scales or self.count == 1 or bits not in (128, 256, 512):
            return self._inline(written(op, name), values)
        f, type = self.f, self.type(name)
        kind = f"{'ps' if name == 'f32' else 'pd'}.{bits}"
        every = (f"i{max(8, self.count)}", "-1")
        plain = [("i32", "4")] if bits == 512 else []  # rounding as usual
        intrinsic = "llvm.x86.avx512.mask."
        if op == "scale":
            return f.call(f"{intrinsic}scalef.{kind}", type, (type, values[0]), (type, values[1]),
                          (type, "zeroinitializer"), every, *plain)  # fmt: skip

        def power(of: str) -> str:
            return f.call(
                f"{intrinsic}getexp.{kind}",
                type,
                (type, of),
                (type, "zeroinitializer"),
                every,
                *plain,
            )

        # 3 asks for 3/4 to 3/2; the exponent counts from 1 to 2
        fraction = f.call(f"{intrinsic}getmant.{kind}", type, (type, values[0]), ("i32", "3"),
                          (type, "zeroinitializer"), every, *plain)  # fmt: skip
        return (
            fraction
            if op == "mantissa"
            else f.op(f"fsub {type} {power(values[0])}, {power(fraction)}")
        )

    def _compare(self, op: str, type: str, a: str, b: str) -> str:
        if is_float(type):
            return self.f.op(f"fcmp {_FLOAT_COMPARE[op]} {self.type(type)} {a}, {b}")
        how = op if op in ("eq", "ne") else ("s" if is_signed(type) else "u") + op
        return self.f.op(f"icmp {how} {self.type(type)} {a}, {b}")

    def _divide(self, op: str, name: str, a: str, b: str) -> str:
        type = self.type(name)
        if not is_signed(name):
            return self.f.op(f"u{op} {type} {a}, {b}")
        # The lowest number by -1 has no quotient in this type; it wraps, as negation does.
        one, zero = self.constant(1, name), self.constant(0, name)
        negates = self.f.op(f"icmp eq {type} {b}, {self.constant(-1, name)}")
        choice = self.type("bool")
        safe = self.f.op(f"select {choice} {negates}, {type} {one}, {type} {b}")
        plain = self.f.op(f"s{op} {type} {a}, {safe}")
        other = self.f.op(f"sub {type} {zero}, {a}") if op == "div" else zero
        return self.f.op(f"select {choice} {negates}, {type} {other}, {type} {plain}")

    def _shift(self, op: str, name: str, a: str, b: str) -> str:
        type, bits = self.type(name), width(name)
        fits = self.f.op(f"icmp ult {type} {b}, {self.constant(bits, name)}")
        choice = self.type("bool")
        if op == "shr" and is_signed(name):
            by = self.f.op(
                f"select {choice} {fits}, {type} {b}, {type} {self.constant(bits - 1, name)}"
            )
            return self.f.op(f"ashr {type} {a}, {by}")
        zero = self.constant(0, name)
        by = self.f.op(f"select {choice} {fits}, {type} {b}, {type} {zero}")
        moved = self.f.op(f"{'shl' if op == 'shl' else 'lshr'} {type} {a}, {by}")
        return self.f.op(f"select {choice} {fits}, {type} {moved}, {type} {zero}")

    # ---- conversion

    def cast(self, value: str, source: str, target: str) -> str:
        """By value; out of range as the core's `copy` has it."""
        f, a, b = self.f, self.type(source), self.type(target)
        if source == target:
            return value
        if target == "bool":
            if is_float(source):
                return f.op(f"fcmp une {a} {value}, {self.constant(0, source)}")
            return f.op(f"icmp ne {a} {value}, {self.constant(0, source)}")
        if source == "bool":
            return f.op(f"{'uitofp' if is_float(target) else 'zext'} {a} {value} to {b}")
        if is_integer(source) and is_integer(target):
            if width(source) == width(target):
                return value
            if width(source) > width(target):
                return f.op(f"trunc {a} {value} to {b}")
            return f.op(f"{'sext' if is_signed(source) else 'zext'} {a} {value} to {b}")
        if is_integer(source):
            return f.op(f"{'sitofp' if is_signed(source) else 'uitofp'} {a} {value} to {b}")
        if is_float(target):
            return f.op(f"{'fpext' if target == 'f64' else 'fptrunc'} {a} {value} to {b}")
        return self._whole(value, source, target)

    def _whole(self, value: str, source: str, target: str) -> str:
        f, type = self.f, self.type(source)
        wide = "i64" if target in ("i64", "u64", "u32") else "i32"
        limit = 2.0 ** (width(wide) - 1)
        above_low = f.op(f"fcmp oge {type} {value}, {self.constant(-limit, source)}")
        below_high = f.op(f"fcmp olt {type} {value}, {self.constant(limit, source)}")
        choice, whole = self.type("bool"), self.type(wide)
        fits = f.op(f"and {choice} {above_low}, {below_high}")
        zero = self.constant(0.0, source)
        safe = f.op(f"select {choice} {fits}, {type} {value}, {type} {zero}")
        plain = f.op(f"fptosi {type} {safe} to {whole}")
        lowest = self.constant(-(1 << width(wide) - 1), wide)
        made = f.op(f"select {choice} {fits}, {whole} {plain}, {whole} {lowest}")
        if target == "u64":  # its upper half, exactly
            high = f.op(f"fcmp oge {type} {value}, {self.constant(limit, source)}")
            below = f.op(f"fcmp olt {type} {value}, {self.constant(2 * limit, source)}")
            upper = f.op(f"and {choice} {high}, {below}")
            rest = f.op(f"fsub {type} {value}, {self.constant(limit, source)}")
            rest = f.op(f"select {choice} {upper}, {type} {rest}, {type} {zero}")
            rest = f.op(f"fptosi {type} {rest} to {whole}")
            rest = f.op(f"xor {whole} {rest}, {lowest}")
            made = f.op(f"select {choice} {upper}, {whole} {rest}, {whole} {made}")
        return self.cast(made, wide, target) if width(wide) != width(target) else made

    # ---- memory

    def _memory(self, operand: Operand) -> tuple[str, int]:
        count = self.count * operand.parts
        return vector(MEMORY[operand.dtype], count), count

    def load(self, operand: Operand, pointer: str, left: str | None = None) -> list[str]:
        """The elements there, in registers, a value for each part; only the first `left` if given."""
        type, count = self._memory(operand)
        align = operand.bytes // operand.parts
        if left is None:
            raw = self.f.load(type, pointer, align)
        else:
            raw = self.f.masked_load(type, pointer, self._mask(operand, left), align)
        if operand.parts == 1:
            return [self._widen(raw, operand.dtype)]
        if self.count == 1:
            return [self.f.op(f"extractelement {type} {raw}, i64 {p}") for p in (0, 1)]
        return [self._every_second(raw, type, count, p) for p in (0, 1)]

    def keep_mask(self, left: str) -> None:
        """Make the mask of so many elements here, once for all that follows: inside of a loop it would be made anew."""
        self.masks[left] = self.f.mask(left, self.count)

    def _mask(self, operand: Operand, left: str) -> str:
        if operand.parts == 1 and left in self.masks:
            return self.masks[left]
        elements = left if operand.parts == 1 else self.f.mul(left, operand.parts)
        return self.f.mask(elements, self.count * operand.parts)

    def _every_second(self, raw: str, type: str, count: int, first: int) -> str:
        places = ", ".join(f"i32 {i}" for i in range(first, count, 2))
        return self.f.op(
            f"shufflevector {type} {raw}, {type} poison, <{count // 2} x i32> <{places}>"
        )

    def _widen(self, raw: str, dtype: str) -> str:
        f, type = self.f, vector(MEMORY[dtype], self.count)
        if dtype == "bool":
            return f.op(
                f"icmp ne {type} {raw}, zeroinitializer"
                if self.count > 1
                else f"icmp ne i8 {raw}, 0"
            )
        if dtype == "f16" and not self.target.halves:
            return self._half_to_float(f.op(f"bitcast {type} {raw} to {vector('i16', self.count)}"))
        if dtype == "f16":
            return f.op(f"fpext {type} {raw} to {self.type('f32')}")
        if dtype == "bf16":
            wide = f.op(f"zext {type} {raw} to {self.type('i32')}")
            wide = f.op(f"shl {self.type('i32')} {wide}, {self.constant(16, 'i32')}")
            return f.op(f"bitcast {self.type('i32')} {wide} to {self.type('f32')}")
        return raw

    def store(
        self, operand: Operand, parts: Sequence[str], pointer: str, left: str | None = None
    ) -> None:
        """Write registers there, a value for each part of the elements."""
        type, count = self._memory(operand)
        align = operand.bytes // operand.parts
        if operand.parts == 1:
            raw = self._narrow(parts[0], operand.dtype)
        elif self.count == 1:
            element = MEMORY[operand.dtype]
            raw = self.f.op(f"insertelement {type} poison, {element} {parts[0]}, i64 0")
            raw = self.f.op(f"insertelement {type} {raw}, {element} {parts[1]}, i64 1")
        else:
            half = self.type(operand.register)
            places = ", ".join(f"i32 {i // 2 + (i % 2) * self.count}" for i in range(count))
            raw = self.f.op(
                f"shufflevector {half} {parts[0]}, {half} {parts[1]}, <{count} x i32> <{places}>"
            )
        if left is None and self.past_cache:
            self.f.store_past(type, raw, pointer, min(64, self.count * operand.bytes))
        elif left is None:
            self.f.store(type, raw, pointer, align)
        else:
            self.f.masked_store(type, raw, pointer, self._mask(operand, left), align)

    def _narrow(self, value: str, dtype: str) -> str:
        f, type = self.f, vector(MEMORY[dtype], self.count)
        if dtype == "bool":
            return f.op(f"zext {self.type('bool')} {value} to {type}")
        if dtype == "f16" and not self.target.halves:
            return f.op(
                f"bitcast {vector('i16', self.count)} {self._float_to_half(value)} to {type}"
            )
        if dtype == "f16":
            return f.op(f"fptrunc {self.type('f32')} {value} to {type}")
        if dtype == "bf16":  # to nearest, halves to even; a NaN stays one
            whole = self.type("i32")
            bits = f.op(f"bitcast {self.type('f32')} {value} to {whole}")
            odd = f.op(f"lshr {whole} {bits}, {self.constant(16, 'i32')}")
            odd = f.op(f"and {whole} {odd}, {self.constant(1, 'i32')}")
            up = f.op(f"add {whole} {odd}, {self.constant(0x7FFF, 'i32')}")
            rounded = f.op(f"add {whole} {bits}, {up}")
            quiet = f.op(f"or {whole} {bits}, {self.constant(0x400000, 'i32')}")
            nan = f.op(f"fcmp uno {self.type('f32')} {value}, {value}")
            made = f.op(f"select {self.type('bool')} {nan}, {whole} {quiet}, {whole} {rounded}")
            made = f.op(f"lshr {whole} {made}, {self.constant(16, 'i32')}")
            return f.op(f"trunc {whole} {made} to {type}")
        return value

    # Where no instruction converts float16.

    def _whole_op(self, op: str, a: str, b: str | int) -> str:
        """An operation on 32-bit integers; a plain number stands for a constant."""
        other = self.constant(b, "i32") if isinstance(b, int) else b
        return self.f.op(f"{op} {self.type('i32')} {a}, {other}")

    def _choose(self, condition: str, a: str | int, b: str) -> str:
        first = self.constant(a, "i32") if isinstance(a, int) else a
        whole = self.type("i32")
        return self.f.op(f"select {self.type('bool')} {condition}, {whole} {first}, {whole} {b}")

    def _half_to_float(self, raw: str) -> str:
        """Moves the bits up and scales: a subnormal half is a normal float after that."""
        f, do, whole, real = self.f, self._whole_op, self.type("i32"), self.type("f32")
        bits = f.op(f"zext {vector('i16', self.count)} {raw} to {whole}")
        sign = do("shl", do("and", bits, 0x8000), 16)
        rest = do("and", bits, 0x7FFF)
        moved = do("shl", rest, 13)
        small = f.op(f"bitcast {whole} {moved} to {real}")
        scaled = f.op(f"fmul {real} {small}, {self.constant(2.0**112, 'f32')}")
        finite = f.op(f"bitcast {real} {scaled} to {whole}")
        special = do("icmp uge", rest, 0x7C00)
        made = self._choose(special, do("or", moved, 0x7F800000), finite)
        return f.op(f"bitcast {whole} {do('or', made, sign)} to {real}")

    def _float_to_half(self, value: str) -> str:
        """To nearest, halves to even. Beside 0.5 a float's last bit is a subnormal half's, so adding it rounds."""
        f, do, whole, real = self.f, self._whole_op, self.type("i32"), self.type("f32")
        bits = f.op(f"bitcast {real} {value} to {whole}")
        sign = do("and", do("lshr", bits, 16), 0x8000)
        rest = do("and", bits, 0x7FFFFFFF)
        odd = do("and", do("lshr", rest, 13), 1)
        normal = do("lshr", do("add", do("add", rest, odd), 0xFFF - (112 << 23)), 13)
        normal = self._choose(do("icmp uge", rest, 0x477FF000), 0x7C00, normal)
        size = f.op(f"bitcast {whole} {rest} to {real}")
        beside = f.op(f"fadd {real} {size}, {self.constant(0.5, 'f32')}")
        tiny = do("sub", f.op(f"bitcast {real} {beside} to {whole}"), 0x3F000000)
        made = self._choose(do("icmp ult", rest, 0x38800000), tiny, normal)
        made = self._choose(do("icmp ugt", rest, 0x7F800000), 0x7E00, made)
        return f.op(f"trunc {whole} {do('or', made, sign)} to {vector('i16', self.count)}")
