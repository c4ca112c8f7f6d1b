"""bfloat16 products on processors with instructions for them: pairs (AVX-512 BF16) and tiles (AMX).

Both add up in float32. They take the place of the float32 tile where the processor has them (cpu.h); the rest,
such as thin products, stays as it is. Panels hold units of 2 or 32 consecutive k for each row or column, the
last one filled up with zeros:

    gemm_bf16_dot_*   element (i, k) at (k / 2 * width + i) * 2 + k % 2, in A and in B
    gemm_bf16_amx_*   A: (k / 32 * 32 + i) * 32 + k % 32;  B: as pairs, in tiles of 16 pairs by 16 columns

These instructions read subnormal numbers as zero, and their sums have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thixo.codegen.llvm.contract import PARAMETERS as TILE_PARAMETERS
from thixo.codegen.llvm.contract import odd_steps, row_at, tile_of
from thixo.codegen.llvm.contract_pack import FINISH_PARAMETERS, PARAMETERS, transpose
from thixo.codegen.llvm.emit import Function, module
from thixo.codegen.llvm.target import Target

_PAIRS = "<16 x i32>"  # 16 pairs: two consecutive k of 16 rows, or 32 consecutive k of one
_UNROLL = 2


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """The modules; none where no processor of this kind has such instructions."""
    if target.vector_bytes != 64:
        return
    tile = tile_of("f32", target)
    shape = f"@gemm_bf16_dot_shape = constant [3 x i64] [i64 {tile.rows}, i64 {tile.columns}, i64 {tile.width}]"
    cases = [
        _dot_case(target, rows, vectors, by_rows)
        for by_rows in (False, True)
        for vectors in (1, 2)
        for rows in range(1, tile.rows + 1)
    ]
    functions = [
        *cases,
        _dot_entry(target, tile.rows),
        *_dot_packs(target, "a", 1),
        *_dot_packs(target, "b", 2),
        _finish(target),
    ]
    table = ", ".join(f"ptr @{f.name}" for f in cases)
    table = f"@gemm_bf16_dot_cases = internal constant [{len(cases)} x ptr] [{table}]"
    yield "gemm-bf16-dot", module(functions, f"{shape}\n{table}")
    tiles = [_tile(target), *_amx_ends(target), *_amx_packs(target)]
    yield "gemm-bf16-amx", module(tiles, _CONFIGURATION)


def _attributes(target: Target, *features: str) -> str:
    own = [target.features, *(f"+{name}" for name in features)]
    return f'{target.attributes} "target-features"="{",".join(own)}"'


# ---- reading


def _two_rows(f: Function, k: str, column: str, mask: str) -> str:
    """Elements k and k + 1 of 16 neighbours: pairs. What is beyond K is zero."""
    none = "zeroinitializer"
    found = []
    for step in (0, 1):
        row = f.add(k, step)
        there = f.op(f"select i1 {f.compare('slt', row, '%K')}, <16 x i1> {mask}, <16 x i1> {none}")
        at = f.at("%source", f.add(f.mul(row, "%stride"), column), "i16")
        part = f.masked_load("<16 x i16>", at, there, 2)
        found.append(f.op(f"zext <16 x i16> {part} to {_PAIRS}"))
    high = f.op(f"shl {_PAIRS} {found[1]}, splat (i32 16)")
    return f.op(f"or {_PAIRS} {found[0]}, {high}")


def _one_run(f: Function, k: str, place: str | int) -> str:
    """Elements k to k + 31 of one row (the last one, where there are fewer): pairs, zero beyond K."""
    row = f.min(place, f.sub("%count", 1))
    at = f.at("%source", f.add(f.mul(row, "%stride"), k), "i16")
    value = f.masked_load("<32 x i16>", at, f.mask(f.sub("%K", k), 32), 2)
    return f.op(f"bitcast <32 x i16> {value} to {_PAIRS}")


# ---- pairs


def _dot_packs(target: Target, which: str, groups: int) -> list[Function]:
    """Panels of 16 * groups places."""
    width = 16 * groups
    along = Function(f"gemm_bf16_dot_pack_{which}_along", PARAMETERS, attributes=target.attributes)
    masks = [along.mask(along.sub("%count", 16 * g), 16) for g in range(groups)]
    with along.loop(0, "%K", 2) as k:
        to = along.at("%panel", along.mul(along.op(f"lshr i64 {k}, 1"), width), "i32")
        for g in range(groups):
            along.store(
                _PAIRS, _two_rows(along, k, str(16 * g), masks[g]), along.at(to, 16 * g, "i32"), 4
            )
    across = Function(
        f"gemm_bf16_dot_pack_{which}_across", PARAMETERS, attributes=target.attributes
    )
    units = across.div(across.add("%K", 1), 2)
    for g in range(groups):
        with across.loop(0, "%K", 32) as k:
            rows = [_one_run(across, k, 16 * g + i) for i in range(16)]
            first = across.op(f"lshr i64 {k}, 1")
            for i, row in enumerate(transpose(across, rows, "i32", 16)):
                unit = across.add(first, i)
                with across.when(across.compare("slt", unit, units)):
                    place = across.add(across.mul(unit, width), 16 * g)
                    across.store(_PAIRS, row, across.at("%panel", place, "i32"), 4)
    return [along, across]


def _dot_entry(target: Target, most: int) -> Function:
    """Chooses the case. `a_row` is 1 for a panel of A, and K counts pairs; else rows lie so many elements apart, a_k is 1 and K counts elements."""
    f = Function("gemm_bf16_dot_tile", TILE_PARAMETERS, attributes=target.attributes)
    by_rows = f.choose(f.compare("ne", "%a_row", 1), "i64", str(2 * most), "0")
    wide = f.choose(f.compare("sgt", "%columns", 16), "i64", str(most), "0")
    index = f.add(f.add(by_rows, wide), f.sub("%rows", 1))
    chosen = f.load("ptr", f.at("@gemm_bf16_dot_cases", index, "ptr"))
    values = ", ".join(f"{t.split(' ')[0]} %{n}" for t, n in TILE_PARAMETERS)
    f.line(f"musttail call void {chosen}({values})")
    return f


def _dot_case(target: Target, rows: int, vectors: int, by_rows: bool) -> Function:
    """C gets whole vectors: the driver gives it room. Where `add` is 2, C is of bfloat16 and gets sums rounded, of its columns only."""
    name = f"gemm_bf16_dot_{'rows_' if by_rows else ''}{rows}x{vectors}"
    f = Function(name, TILE_PARAMETERS, internal=True,
                 attributes=_attributes(target, "avx512bf16"))  # fmt: skip
    vec, dot = "<16 x float>", "llvm.x86.avx512bf16.dpbf16ps.512"
    sums = [[f.variable(vec, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
    c_step = f.mul("%ldc", 4)

    def places() -> list[list[str]]:
        # Hidden from the compiler, which would have all of them from the beginning: there are not enough registers.
        row, found = f.op('call ptr asm "", "=r,0"(ptr %C)'), []
        for _ in range(rows):
            found.append([f.at(row, 64 * j) for j in range(vectors)])
            row = f.at(row, c_step)
        return found

    a, b = f.variable("ptr", "%A", 8), f.variable("ptr", "%B", 8)
    a_step, b_step = f.mul("%a_k", 4), f.mul("%b_k", 4)
    steps = odd_steps(f, f.mul("%a_row", 2), rows) if by_rows else {}
    with f.when(f.compare("eq", "%add", 1)):
        for i, row in enumerate(places()):
            for j in range(vectors):
                f.store(vec, f.load(vec, row[j], 4), sums[i][j])

    def run(count: int, alone: bool = False) -> None:
        a_now, b_now = f.load("ptr", a), f.load("ptr", b)
        if by_rows:  # so that the compiler does not keep a pointer for each row: there are not enough registers
            a_now = f.op(f'call ptr asm "", "=r,0"(ptr {a_now})')
        for _ in range(count):
            across = [f.load("<32 x bfloat>", f.at(b_now, 64 * j), 4) for j in range(vectors)]
            for i in range(rows):
                at = row_at(f, a_now, steps, i) if by_rows else f.at(a_now, 4 * i)
                if alone:  # what follows is of another row, or beyond the end
                    one = f.op(f"zext i16 {f.load('i16', at, 2)} to i32")
                else:
                    one = f.load("i32", at, 2 if by_rows else 4)
                one = f.splat("i32", one, 16)
                pairs = f.op(f"bitcast {_PAIRS} {one} to <32 x bfloat>")
                for j in range(vectors):
                    old = f.load(vec, sums[i][j])
                    new = f.call(
                        dot, vec, (vec, old), ("<32 x bfloat>", pairs), ("<32 x bfloat>", across[j])
                    )
                    f.store(vec, new, sums[i][j])
            a_now, b_now = f.at(a_now, a_step), f.at(b_now, b_step)
        f.store("ptr", a_now, a)
        f.store("ptr", b_now, b)

    pairs = f.op("lshr i64 %K, 1") if by_rows else "%K"
    many = f.op(f"and i64 {pairs}, {-_UNROLL}")
    with f.loop(0, many, _UNROLL):
        run(_UNROLL)
    with f.loop(many, pairs):
        run(1)
    if by_rows:
        with f.when(f.compare("ne", f.op("and i64 %K, 1"), 0)):
            run(1, alone=True)
    rounds = f.compare("eq", "%add", 2)
    with f.unless(rounds):
        for i, row in enumerate(places()):
            for j in range(vectors):
                f.store(vec, f.load(vec, sums[i][j]), row[j], 4)
    with f.when(rounds):
        _store_rounded(f, [[f.load(vec, one) for one in row] for row in sums])
    return f


def _store_rounded(f: Function, sums: list[list[str]]) -> None:
    """Rows of sums, rounded as `_finish` does, to a C of bfloat16 that has so many columns."""
    vec, lanes = "<16 x float>", 16 * len(sums[0])
    short, step = f"<{lanes} x i16>", f.mul("%ldc", 2)
    full = f.compare("eq", "%columns", lanes)
    mask = f.mask("%columns", lanes)
    results = []
    for row in sums:
        if lanes == 32:
            rounded = f.call(
                "llvm.x86.avx512bf16.cvtne2ps2bf16.512",
                "<32 x bfloat>",
                (vec, row[1]),
                (vec, row[0]),
            )
        else:
            rounded = f.call("llvm.x86.avx512bf16.cvtneps2bf16.512", "<16 x bfloat>", (vec, row[0]))
        results.append(f.op(f"bitcast <{lanes} x bfloat> {rounded} to {short}"))
    for whole in (True, False):
        with f.when(full) if whole else f.unless(full):
            # Hidden from the compiler, as in `_dot_case`.
            at = f.op('call ptr asm "", "=r,0"(ptr %C)')
            for value in results:
                if whole:
                    f.store(short, value, at, 2)
                else:
                    f.masked_store(short, value, at, mask, 2)
                at = f.at(at, step)


def _finish(target: Target) -> Function:
    """gemm_bf16_finish_sums: sums without a bias are rounded once, by the processor's own instruction.

    It takes subnormal numbers for zero, of which these sums have none. Nothing else is different from gemm_bf16_finish.
    """
    f = Function("gemm_bf16_finish_sums", FINISH_PARAMETERS,
                 attributes=_attributes(target, "avx512bf16"))  # fmt: skip
    wide, instruction = "<16 x float>", "llvm.x86.avx512bf16.cvtne"
    full = f.compare("eq", "%columns", 32)

    def rows(one: Callable[[str, str], None]) -> None:
        tile, to = f.variable("ptr", "%tile", 8), f.variable("ptr", "%C", 8)
        tile_step, to_step = f.mul("%ld", 4), f.mul("%ldc", 2)
        with f.loop(0, "%rows"):
            at, to_at = f.load("ptr", tile), f.load("ptr", to)
            one(at, to_at)
            f.store("ptr", f.at(at, tile_step), tile)
            f.store("ptr", f.at(to_at, to_step), to)

    def both(at: str, to_at: str) -> None:
        low, high = f.load(wide, at, 4), f.load(wide, f.at(at, 64), 4)
        pair = f.call(f"{instruction}2ps2bf16.512", "<32 x bfloat>", (wide, high), (wide, low))
        f.store("<32 x bfloat>", pair, to_at, 2)

    def parts(at: str, to_at: str) -> None:
        with f.loop(0, "%columns", 16) as j:
            mask = f.mask(f.sub("%columns", j), 16)
            sums = f.masked_load(wide, f.at(at, j, "float"), mask, 4)
            value = f.call(f"{instruction}ps2bf16.512", "<16 x bfloat>", (wide, sums))
            value = f.op(f"bitcast <16 x bfloat> {value} to <16 x i16>")
            f.masked_store("<16 x i16>", value, f.at(to_at, j, "i16"), mask, 2)

    with f.when(full):
        rows(both)
    with f.unless(full):
        rows(parts)
    return f


# ---- tiles

# Eight tiles of 16 rows of 64 bytes: 0 to 3 sums, 4 and 5 rows of A, 6 and 7 columns of B.
_ROW_BYTES = ", ".join(f"i16 {64 if i < 8 else 0}" for i in range(16))
_ROWS = ", ".join(f"i8 {16 if i < 8 else 0}" for i in range(16))
_CONFIGURATION = (
    "@gemm_bf16_amx_configuration = internal constant <{ i8, [15 x i8], [16 x i16], [16 x i8] }> "
    f"<{{ i8 1, [15 x i8] zeroinitializer, [16 x i16] [{_ROW_BYTES}], [16 x i8] [{_ROWS}] }}>, align 64"
)


def _amx_ends(target: Target) -> list[Function]:
    attributes = _attributes(target, "amx-tile", "amx-bf16")
    begin = Function("gemm_bf16_amx_begin", (), attributes=attributes)
    begin.call("llvm.x86.ldtilecfg", "void", ("ptr", "@gemm_bf16_amx_configuration"))
    end = Function("gemm_bf16_amx_end", (), attributes=attributes)
    end.call("llvm.x86.tilerelease", "void")
    return [begin, end]


def _tile(target: Target) -> Function:
    """32 by 32; K counts blocks of 32. C is read and written whole, for as many halves as there are."""
    f = Function(
        "gemm_bf16_amx_tile",
        TILE_PARAMETERS,
        attributes=_attributes(target, "amx-tile", "amx-bf16"),
    )
    stride = f.mul("%ldc", 4)

    def tile(name: str, number: int, *more: tuple[str, str]) -> None:
        f.call(f"llvm.x86.{name}", "void", ("i8", str(number)), *more)

    def whole(tall: int, wide: int) -> None:
        corners = [(i, j, f.at(f.at("%C", f.mul(stride, 16 * i)) if i else "%C", 64 * j))
                   for i in range(tall) for j in range(wide)]  # fmt: skip
        adds = f.compare("ne", "%add", 0)
        with f.when(adds):
            for i, j, at in corners:
                tile("tileloadd64", 2 * i + j, ("ptr", at), ("i64", stride))
        with f.unless(adds):
            for i, j, _ in corners:
                tile("tilezero", 2 * i + j)
        with f.loop(0, "%K") as k:
            offset = f.mul(k, 2048)
            for i in range(tall):
                tile(
                    "tileloadd64", 4 + i, ("ptr", f.at(f.at("%A", offset), 1024 * i)), ("i64", "64")
                )
            for j in range(wide):
                tile(
                    "tileloadd64", 6 + j, ("ptr", f.at(f.at("%B", offset), 1024 * j)), ("i64", "64")
                )
            for i, j, _ in corners:
                tile("tdpbf16ps", 2 * i + j, ("i8", str(4 + i)), ("i8", str(6 + j)))
        for i, j, at in corners:
            tile("tilestored64", 2 * i + j, ("ptr", at), ("i64", stride))

    def columns(tall: int) -> None:
        wide = f.compare("sgt", "%columns", 16)
        with f.when(wide):
            whole(tall, 2)
        with f.unless(wide):
            whole(tall, 1)

    tall = f.compare("sgt", "%rows", 16)
    with f.when(tall):
        columns(2)
    with f.unless(tall):
        columns(1)
    return f


def _amx_packs(target: Target) -> list[Function]:
    def blocks(name: str, body: Callable[[Function, str, str, int], None]) -> Function:
        """For each 32 k, for each 16 places of those in use: body(f, k, address of 1024 bytes, first place)."""
        f = Function(f"gemm_bf16_amx_pack_{name}", PARAMETERS, attributes=target.attributes)
        with f.loop(0, "%K", 32) as k:
            to = f.at("%panel", f.mul(k, 64))
            for half in (0, 1):
                with f.when(f.compare("sgt", "%count", 16 * half)):
                    body(f, k, f.at(to, 1024 * half), 16 * half)
        return f

    def store(f: Function, rows: list[str], to: str) -> None:
        for i, row in enumerate(rows):
            f.store(_PAIRS, row, f.at(to, 64 * i), 4)

    def pairs(f: Function, k: str, first: int) -> list[str]:
        mask = f.mask(f.sub("%count", first), 16)
        return [_two_rows(f, f.add(k, 2 * p), str(first), mask) for p in range(16)]

    def runs(f: Function, k: str, first: int) -> list[str]:
        return [_one_run(f, k, first + i) for i in range(16)]

    return [
        blocks(
            "a_along",
            lambda f, k, to, first: store(f, transpose(f, pairs(f, k, first), "i32", 16), to),
        ),
        blocks("a_across", lambda f, k, to, first: store(f, runs(f, k, first), to)),
        blocks("b_along", lambda f, k, to, first: store(f, pairs(f, k, first), to)),
        blocks(
            "b_across",
            lambda f, k, to, first: store(f, transpose(f, runs(f, k, first), "i32", 16), to),
        ),
    ]
