// Philox4x32-10: random bits as a function of (seed, position). Any thread can make any part.
#pragma once
#include <array>
#include <cstdint>

namespace thixo {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox(uint64_t seed, uint64_t position, uint64_t stream = 0) {
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  PhiloxBlock c = {uint32_t(position), uint32_t(position >> 32), uint32_t(stream), uint32_t(stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k1, uint32_t(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace thixo
