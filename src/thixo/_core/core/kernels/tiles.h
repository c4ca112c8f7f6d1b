// Nests whose operands lie in different orders, in tiles that the nearest caches hold.
#pragma once
#include "nest.h"

namespace thixo {

// The dimension along which some operand's neighbours lie close, where along the innermost one they lie on
// different cache lines. 0: no operand is so.
int transposed_dimension(const Nest& nest);

// Run over everything in tiles of the innermost dimension and `across`.
void run_tiles(const Nest& nest, int across, Loop loop, int64_t grain);

}  // namespace thixo
