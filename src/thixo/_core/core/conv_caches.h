// How much of a convolution by sums themselves is worked on together, by the caches of this processor.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cpu.h"

namespace thixo {

constexpr int64_t kNearPass = 28 << 10;    // of the weight for one pass, if the nearest cache holds that beside
constexpr int64_t kNearPlaces = 16 << 10;  // a tile's places and sums, and what comes in meanwhile
constexpr int64_t kLongPass = 60 << 10;    // the same if it does not: the weight comes from the second-level cache
constexpr int64_t kManyImages = 1200 << 10;  // of images where the weight is heavy: it is far away, and read once for them
constexpr int64_t kLargeSecond = 2 << 20;  // a second-level cache that has room for them and for a panel of the weight

// Whether the nearest cache holds what a pass reads of the weight.
inline bool weight_stays_near() {
  const int64_t near = nearest_cache_bytes();
  return near == 0 || near >= kNearPass + kNearPlaces;
}

// Where the weight comes from the second-level cache in any case, long passes are better: sums are read and written less often.
inline int64_t weight_pass_bytes() { return weight_stays_near() ? kNearPass : kLongPass; }

// A smaller second-level cache keeps a panel of the weight beside fewer images.
inline int64_t many_image_bytes() {
  const int64_t second = second_cache_bytes();
  return second == 0 || second >= kLargeSecond ? kManyImages : std::min(kManyImages, second / 8 * 3);
}

// Whether a cycle begins one product of 512 bits, not two. Loads and latencies weigh half as much there.
inline bool single_products(int64_t lane_bytes) { return cpu_features().halved && lane_bytes == 64; }

}  // namespace thixo
