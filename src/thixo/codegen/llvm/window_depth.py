"""Kernels of convolutions in which each channel meets its own kernel alone (depthwise), and their gradients.

    conv_<T>_plane   one channel: weighted sums of shifted rows
    conv_<T>_depth   a vector of channels side by side: weighted sums of shifted places
    conv_<T>_dots    the products of one row of numbers with several shifted ones, summed (gradients of weights)

T is what is computed in (f32, f64).
"""

from __future__ import annotations

from thixo.codegen.llvm.contract import BYTES, TYPES
from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.target import Target

TAPS = 9  # most rows of sums in `dots`
PLACES = 14  # most places of a call of `depth`: their sums fit the registers of every target


def plane_function(dtype: str, target: Target) -> Function:
    """y[r * y_row + j] = bias + sum over t of weights[t] * x[r * x_row + j + shifts[t]]; bias is one number or null."""
    parameters = (
        ("ptr noalias readonly", "x"), ("i64", "x_row"), ("ptr noalias readonly", "shifts"),
        ("ptr noalias readonly", "weights"), ("i64", "taps"), ("ptr noalias", "y"), ("i64", "y_row"), ("i64", "rows"),
        ("i64", "count"), ("ptr noalias readonly", "bias"),
    )  # fmt: skip
    f = Function(f"conv_{dtype}_plane", parameters, attributes=target.attributes)
    size, lanes, element = BYTES[dtype], target.lanes(BYTES[dtype]), TYPES[dtype]
    has_bias = f.compare("ne", "%bias", "null", "ptr")
    more = f.variable(element, "0.0")
    with f.when(has_bias):
        f.store(element, f.load(element, "%bias", size), more)

    x_step, y_step = f.mul("%x_row", size), f.mul("%y_row", size)

    def part(x: str, y: str, rows: int, vectors: int, width: int, left: str = "") -> None:
        """Some rows, so many vectors of each: enough sums in flight to hide the latency of each."""
        vec = vector(element, width)
        mask = f.mask(f.sub(left, (vectors - 1) * width), width) if left else ""
        zero = "zeroinitializer" if width > 1 else "0.0"
        sums = [[f.variable(vec, zero) for _ in range(vectors)] for _ in range(rows)]
        with f.loop(0, "%taps") as t:
            at = f.at(x, f.load("i64", f.at("%shifts", t, "i64"), 8), element)
            one = f.splat(element, f.load(element, f.at("%weights", t, element), size), width)
            for r in range(rows):
                for j in range(vectors):
                    value = f.load(vec, f.at(at, j * width, element), size)
                    f.store(
                        vec,
                        f.intrinsic("fma", vec, one, value, f.load(vec, sums[r][j])),
                        sums[r][j],
                    )
                at = f.at(at, x_step)
        for r in range(rows):
            for j in range(vectors):
                total = f.load(vec, sums[r][j])
                biased = f.op(
                    f"fadd {vec} {total}, {f.splat(element, f.load(element, more), width)}"
                )
                result = f.op(f"select i1 {has_bias}, {vec} {biased}, {vec} {total}")
                to = f.at(y, j * width, element)
                if mask and j == vectors - 1:
                    f.masked_store(vec, result, to, mask, size)
                else:
                    f.store(vec, result, to, size)
            y = f.at(y, y_step)

    wide = 4 * lanes
    many = f.op(f"and i64 %count, {-wide}")
    rest = f.sub("%count", many)

    def tail(x: str, y: str, rows: int, most: int) -> None:
        """What is left of some rows, at most so many vectors of each."""
        if target.masks:  # what is read beyond the row is in the padded copy, and not written
            for vectors in range(1, most + 1):
                above = f.compare("sgt", rest, (vectors - 1) * lanes)
                within = f.compare("sle", rest, vectors * lanes)
                with f.when(f.op(f"and i1 {above}, {within}")):
                    part(x, y, rows, vectors, lanes, rest)
        else:
            with f.loop(0, rest) as j:
                part(f.at(x, j, element), f.at(y, j, element), rows, 1, 1)

    def some_rows(r: str, rows: int, whole: bool, most: int) -> None:
        x = f.at("%x", f.mul(r, "%x_row"), element)
        y = f.at("%y", f.mul(r, "%y_row"), element)
        if whole:
            with f.loop(0, many, wide) as j:
                part(f.at(x, j, element), f.at(y, j, element), rows, 4, lanes)
            x, y = f.at(x, many, element), f.at(y, many, element)
        tail(x, y, rows, most)

    # Short rows several at a time; the last of them may be computed twice.
    short = f.compare("eq", many, 0)
    start = f.variable("i64", "0", 8)
    for rows, most in ((8, 2), (4, 4)):
        enough = f.compare("sge", "%rows", rows)
        fit = f.compare("sle", rest, most * lanes)
        fresh = f.compare("eq", f.load("i64", start), 0)
        both = f.op(f"and i1 {f.op(f'and i1 {short}, {enough}')}, {f.op(f'and i1 {fit}, {fresh}')}")
        with f.when(both):
            final = f.sub("%rows", rows)
            with f.loop(0, "%rows", rows) as r:
                some_rows(f.min(r, final), rows, False, most)
            f.store("i64", "%rows", start)
    pairs = f.op("and i64 %rows, -2")
    with f.loop(f.load("i64", start), pairs, 2) as r:
        some_rows(r, 2, True, 4)
    done = f.intrinsic("smax", "i64", f.load("i64", start), pairs)
    with f.loop(done, "%rows") as r:
        some_rows(r, 1, True, 4)
    return f


def depth_functions(dtype: str, target: Target) -> tuple[list[Function], str]:
    """y[r * y_step + j] = sum over k of x[table[2 k] + r * x_step + j] * w[table[2 k + 1] + j], j < lanes, r < places.

    The table is in bytes, steps are in elements.
    """
    parameters = (
        ("i64", "K"), ("ptr noalias readonly", "x"), ("i64", "x_step"), ("ptr noalias readonly", "w"),
        ("ptr noalias readonly", "table"), ("ptr noalias", "y"), ("i64", "y_step"), ("i64", "places"),
    )  # fmt: skip
    size, lanes, element = BYTES[dtype], target.lanes(BYTES[dtype]), TYPES[dtype]
    vec = vector(element, lanes)
    functions = []
    for places in range(1, PLACES + 1):
        f = Function(
            f"conv_{dtype}_depth_{places}", parameters, attributes=target.attributes, internal=True
        )
        sums = [f.variable(vec, "zeroinitializer") for _ in range(places)]
        step, table = f.mul("%x_step", size), f.variable("ptr", "%table", 8)
        odd = {1: step, **{i: f.mul(step, i) for i in (3, 5, 7) if i < places}}
        with f.loop(0, "%K"):
            entry = f.load("ptr", table)
            f.store("ptr", f.at(entry, 16), table)
            x = f.at("%x", f.load("i64", entry, 8))
            weight = f.load(vec, f.at("%w", f.load("i64", f.at(entry, 8), 8)), size)
            for r in range(places):
                if r and r % 8 == 0:
                    x = f.at(x, f.mul(step, 8))
                scale = (r % 8) & -(r % 8)
                at = f.at(x, f.mul(odd[r % 8 // scale], scale)) if scale else x
                old = f.load(vec, sums[r])
                f.store(vec, f.intrinsic("fma", vec, weight, f.load(vec, at, size), old), sums[r])
        to = "%y"
        for r in range(places):
            f.store(vec, f.load(vec, sums[r]), to, size)
            to = f.at(to, "%y_step", element)
        functions.append(f)
    listed = ", ".join(f"ptr @{f.name}" for f in functions)
    constants = f"@conv_{dtype}_depth_cases = internal constant [{PLACES} x ptr] [{listed}]"
    f = Function(f"conv_{dtype}_depth", parameters, attributes=target.attributes)
    chosen = f.load("ptr", f.at(f"@conv_{dtype}_depth_cases", f.sub("%places", 1), "ptr"))
    values = ", ".join(f"{t.split(' ')[0]} %{n}" for t, n in parameters)
    f.line(f"musttail call void {chosen}({values})")
    return [*functions, f], constants


def dots_functions(dtype: str, target: Target) -> tuple[list[Function], str]:
    """out[t] += the sum of g[r * g_row + j] * x[r * x_row + j + shifts[t]] over rows r and j < count, for t < taps.

    The order of additions depends on rows and count alone.
    """
    parameters = (
        ("i64", "rows"), ("i64", "count"), ("ptr noalias readonly", "g"), ("i64", "g_row"),
        ("ptr noalias readonly", "x"), ("i64", "x_row"), ("ptr noalias readonly", "shifts"), ("i64", "taps"),
        ("ptr noalias", "out"),
    )  # fmt: skip
    size, lanes, element = BYTES[dtype], target.lanes(BYTES[dtype]), TYPES[dtype]
    vec = vector(element, lanes)
    functions = []
    for taps in range(1, TAPS + 1):
        f = Function(
            f"conv_{dtype}_dots_{taps}", parameters, attributes=target.attributes, internal=True
        )
        sums = [f.variable(vec, "zeroinitializer") for _ in range(taps)]
        singles = [f.variable(element, "0.0") for _ in range(taps)]
        shifts = [f.mul(f.load("i64", f.at("%shifts", t, "i64"), 8), size) for t in range(taps)]
        many = f.op(f"and i64 %count, {-lanes}")
        rest = f.sub("%count", many)
        mask = f.mask(rest, lanes) if target.masks else ""
        with f.loop(0, "%rows") as r:
            g = f.at("%g", f.mul(r, "%g_row"), element)
            x = f.at("%x", f.mul(r, "%x_row"), element)
            with f.loop(0, many, lanes) as j:
                value, from_x = f.load(vec, f.at(g, j, element), size), f.at(x, j, element)
                for t in range(taps):
                    other = f.load(vec, f.at(from_x, shifts[t]), size)
                    f.store(
                        vec, f.intrinsic("fma", vec, value, other, f.load(vec, sums[t])), sums[t]
                    )
            if mask:
                with f.when(f.compare("ne", rest, 0)):
                    value = f.masked_load(vec, f.at(g, many, element), mask, size)
                    from_x = f.at(x, many, element)
                    for t in range(taps):
                        other = f.masked_load(vec, f.at(from_x, shifts[t]), mask, size)
                        f.store(
                            vec,
                            f.intrinsic("fma", vec, value, other, f.load(vec, sums[t])),
                            sums[t],
                        )
            else:
                with f.loop(many, "%count") as j:
                    value, from_x = f.load(element, f.at(g, j, element), size), f.at(x, j, element)
                    for t in range(taps):
                        other = f.load(element, f.at(from_x, shifts[t]), size)
                        total = f.intrinsic(
                            "fma", element, value, other, f.load(element, singles[t])
                        )
                        f.store(element, total, singles[t])
        for t in range(taps):
            total = f.call(f"llvm.vector.reduce.fadd.v{lanes}{dtype}", element, (element, "0.0"),
                           (vec, f.load(vec, sums[t])))  # fmt: skip
            total = f.op(f"fadd {element} {total}, {f.load(element, singles[t])}")
            to = f.at("%out", t, element)
            f.store(element, f.op(f"fadd {element} {f.load(element, to, size)}, {total}"), to, size)
        functions.append(f)
    listed = ", ".join(f"ptr @{f.name}" for f in functions)
    constants = f"@conv_{dtype}_dots_cases = internal constant [{TAPS} x ptr] [{listed}]"
    f = Function(f"conv_{dtype}_dots", parameters, attributes=target.attributes)
    chosen = f.load("ptr", f.at(f"@conv_{dtype}_dots_cases", f.sub("%taps", 1), "ptr"))
    values = ", ".join(f"{t.split(' ')[0]} %{n}" for t, n in parameters)
    f.line(f"musttail call void {chosen}({values})")
    return [*functions, f], constants
