// Four lines of four elements, turned in registers: what moves of transposed arrays are made of.
#pragma once
#include <cstdint>

#include "types.h"

namespace thixo {

using Four = uint32_t __attribute__((vector_size(16)));

// Four lines of four elements of 4 bytes each become four lines `to_stride` bytes apart.
inline void turn_four(char* to, int64_t to_stride, const char* first, const char* second, const char* third, const char* fourth) {
  const Four a = load<Four>(first), b = load<Four>(second), c = load<Four>(third), d = load<Four>(fourth);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store(to + to_stride, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store(to + 2 * to_stride, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store(to + 3 * to_stride, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

inline void turn_four(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
  turn_four(to, to_stride, from, from + from_stride, from + 2 * from_stride, from + 3 * from_stride);
}

}  // namespace thixo
