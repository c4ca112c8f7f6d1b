// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a function
// from a counter and a key to 128 random bits. There is no state, so any element of any draw can be
// computed by any thread, again and in any order.
#pragma once
#include <array>
#include <cstdint>

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

// Blocks [first, first + kPhiloxBatch) side by side, in a form that compilers vectorise.
constexpr int kPhiloxBatch = 16;
inline void philox_batch(const Philox& generator, uint64_t first, uint32_t (&words)[4 * kPhiloxBatch]) {
  uint32_t c0[kPhiloxBatch], c1[kPhiloxBatch], c2[kPhiloxBatch], c3[kPhiloxBatch];
  for (int i = 0; i < kPhiloxBatch; ++i) {
    const uint64_t block = first + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(block);
    c1[i] = static_cast<uint32_t>(block >> 32);
    c2[i] = static_cast<uint32_t>(generator.offset);
    c3[i] = static_cast<uint32_t>(generator.offset >> 32);
  }
  uint32_t key0 = static_cast<uint32_t>(generator.seed), key1 = static_cast<uint32_t>(generator.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kPhiloxBatch; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i], p1 = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ key0;
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ key1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kPhiloxBatch; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

}  // namespace thixo
