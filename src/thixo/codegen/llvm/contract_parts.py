"""All kernels of matrix products that a library ships, as modules."""

from __future__ import annotations

from collections.abc import Iterator

from thixo.codegen.llvm import contract_bf16
from thixo.codegen.llvm.contract import tile_functions, tile_of, wide_tile_of
from thixo.codegen.llvm.contract_pack import finish_function, pack_functions, turned_finish_function
from thixo.codegen.llvm.contract_thin import thin_functions
from thixo.codegen.llvm.emit import module
from thixo.codegen.llvm.target import Target

# What an element is computed in.
COMPUTE = {"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32"}


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """(name, text) for each module."""
    for dtype, compute in COMPUTE.items():
        tile = tile_of(compute, target)
        functions = [
            *pack_functions(dtype, compute, tile.width, tile.rows, f"gemm_{dtype}_pack_a", target),
            *pack_functions(
                dtype, compute, tile.columns, tile.columns, f"gemm_{dtype}_pack_b", target
            ),
            finish_function(compute, dtype, target),
            turned_finish_function(compute, dtype, target),
            *thin_functions(dtype, target),
        ]
        wide = wide_tile_of(compute, target)
        if wide and dtype == compute:
            name = f"gemm_{dtype}_pack_wide"
            functions += pack_functions(dtype, compute, wide.columns, wide.columns, name, target)
        yield f"gemm-{dtype}", module(functions)
        if dtype == compute:
            tiles, constants = tile_functions(dtype, target)
            yield f"gemm-{dtype}-tile", module(tiles, constants)
    yield from contract_bf16.parts(target)
