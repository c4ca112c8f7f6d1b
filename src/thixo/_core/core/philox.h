// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a function
// from a counter and a key to 128 random bits. There is no state, so any element of any draw can be
// computed by any thread, again and in any order.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

namespace thixo {

// The key is `seed`. Each draw takes one `offset`; block b of a draw has the counter
// (b low, b high, offset low, offset high).
struct Philox {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox_block(const PhiloxBlock& counter, uint32_t key0, uint32_t key1) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t next0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ key0;
    const uint32_t next2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = next0;
    c2 = next2;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

inline PhiloxBlock philox_block(const Philox& generator, uint64_t block) {
  return philox_block({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                       static_cast<uint32_t>(generator.offset), static_cast<uint32_t>(generator.offset >> 32)},
                      static_cast<uint32_t>(generator.seed), static_cast<uint32_t>(generator.seed >> 32));
}

// Blocks [first, first + kPhiloxBatch), a few in each vector: a word in the lower half of each 64 bits, where its products
// with constants come whole. What is in the upper halves between rounds does not matter.
constexpr int kPhiloxBatch = 16;
using PhiloxLanes = uint64_t __attribute__((vector_size(64)));

__attribute__((always_inline)) inline void philox_batch(const Philox& generator, uint64_t first, uint32_t* words) {
  constexpr int kLanes = 8, kVectors = kPhiloxBatch / kLanes;
  constexpr uint64_t kLow = 0xffffffffu;
  PhiloxLanes c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c0[v] = PhiloxLanes{0, 1, 2, 3, 4, 5, 6, 7} + (first + uint64_t(v) * kLanes);
    c1[v] = c0[v] >> 32;
    c2[v] = PhiloxLanes{} + generator.offset;
    c3[v] = c2[v] >> 32;
  }
  uint32_t key0 = static_cast<uint32_t>(generator.seed), key1 = static_cast<uint32_t>(generator.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int v = 0; v < kVectors; ++v) {
      const PhiloxLanes p0 = (c0[v] & kLow) * uint64_t{0xD2511F53u}, p1 = (c2[v] & kLow) * uint64_t{0xCD9E8D57u};
      c0[v] = (p1 >> 32) ^ c1[v] ^ uint64_t{key0};
      c2[v] = (p0 >> 32) ^ c3[v] ^ uint64_t{key1};
      c1[v] = p1;
      c3[v] = p0;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  for (int v = 0; v < kVectors; ++v) {
    const PhiloxLanes a = (c0[v] & kLow) | (c1[v] << 32), b = (c2[v] & kLow) | (c3[v] << 32);
    const PhiloxLanes low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    const PhiloxLanes high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(words + 4 * kLanes * v, &low, sizeof(low));
    std::memcpy(words + 4 * kLanes * v + 2 * kLanes, &high, sizeof(high));
  }
}

}  // namespace thixo
