// What this processor and its operating system can do, asked once.
#pragma once
#include <cstdint>

namespace thixo {

struct CpuFeatures {
  bool x86_64_v3 = false;     // AVX2, FMA, F16C, BMI
  bool x86_64_v4 = false;     // and AVX-512 F, BW, CD, DQ, VL
  bool avx512_bf16 = false;   // products of bfloat16 pairs
  bool amx_bf16 = false;      // tiles; the system must grant their use, see grant_tiles
  bool amd = false;
  bool halved = false;        // vectors of 512 bits are computed, read and written in two halves: Zen 4
  int64_t last_cache = 0;     // bytes of the farthest cache, which other cores may share; 0 where none is told
};
const CpuFeatures& cpu_features();

// Bytes of a core's nearest cache of data, or 0 where the system does not say.
int64_t nearest_cache_bytes();
// The same of its second-level cache.
int64_t second_cache_bytes();

// Ask the system to let this process use the tile registers. True if it does.
bool grant_tiles();

}  // namespace thixo
