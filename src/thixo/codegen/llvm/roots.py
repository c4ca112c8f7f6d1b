"""Square roots beside the divider.

A processor has one unit for square roots and quotients, and a vector of 16 floats keeps it busy for 6 to 20 cycles. Where a
body has both, every other vector's root is made by multiply-adds: an estimate of 14 bits, a Newton step for the root g and for
h, half of its reciprocal, and g plus the exact rest x - g * g times h, rounded once. That gives the bits of the
instruction. A root g + d, half a unit from two floats or nearly so, is rounded wrongly only by an h that is off by about as much
relative to h as d is beside half a unit; the few x for which that could be are tested with every estimate that
an instruction may give (tests/codegen/test_roots.py).
"""

from __future__ import annotations

from thixo.codegen.kernel import Kernel
from thixo.codegen.llvm.emit import Function
from thixo.codegen.llvm.target import Target

# From 2^-102 on the rest x - g * g has no bits below those of a float. What is smaller, infinite, negative, or not a number
# takes the instruction.
LEAST_BITS, END_BITS = 0x0C800000, 0x7F800000
LANES = 16


def shares_divider(kernel: Kernel, target: Target) -> bool:
    """Whether float32 roots and quotients wait for one another, and there is an instruction for the estimate."""
    both = {one.op for one in kernel.body if one.type == "f32" and one.op in ("sqrt", "div")}
    return target.scales and len(both) == 2


def root(f: Function, x: str) -> str:
    """The square roots of a vector of 16 floats, of the same bits as the instruction's."""
    real, whole = f"<{LANES} x float>", f"<{LANES} x i32>"
    bits = f.op(f"bitcast {real} {x} to {whole}")
    above = f.op(f"sub {whole} {bits}, splat (i32 {LEAST_BITS})")
    others = f.op(f"icmp uge {whole} {above}, splat (i32 {END_BITS - LEAST_BITS})")
    some = f.call(f"llvm.vector.reduce.or.v{LANES}i1", "i1", (f"<{LANES} x i1>", others))
    made = f.variable(real)
    with f.when(some):
        f.store(real, f.intrinsic("sqrt", real, x), made)
    with f.unless(some):
        estimate = f.call("llvm.x86.avx512.rsqrt14.ps.512", real, (real, x), (real, "zeroinitializer"),
                          ("i16", "-1"))  # fmt: skip
        f.store(real, corrected(f, x, estimate), made)
    return f.load(real, made)


def corrected(f: Function, x: str, estimate: str) -> str:
    """The roots, given their reciprocals to 14 bits."""
    real, half = f"<{LANES} x float>", "splat (float 0x3FE0000000000000)"
    g = f.op(f"fmul {real} {x}, {estimate}")
    h = f.op(f"fmul {real} {estimate}, {half}")
    short = f.intrinsic("fma", real, f.op(f"fneg {real} {h}"), g, half)
    g = f.intrinsic("fma", real, g, short, g)
    h = f.intrinsic("fma", real, h, short, h)
    rest = f.intrinsic("fma", real, f.op(f"fneg {real} {g}"), g, x)
    return f.intrinsic("fma", real, rest, h, g)
