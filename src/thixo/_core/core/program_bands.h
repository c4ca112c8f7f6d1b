// What bands of steps have in common: see join_bands.
#pragma once
#include <cstdint>

namespace thixo {

// Rows that a thread should have at least. With fewer, products would be computed in another way, with other bits.
constexpr int64_t kBandRows = 32;

}  // namespace thixo
