#include "random.h"

#include <cmath>
#include <numeric>

#include "philox.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr int64_t kGrain = 1 << 13;  // blocks

uint64_t wide(const PhiloxBlock& b, int i) { return uint64_t(b[2 * i]) << 32 | b[2 * i + 1]; }
float unit(uint32_t bits) { return float(bits >> 8) * 0x1p-24f; }
double unit(uint64_t bits) { return double(bits >> 11) * 0x1p-53; }

// body(block, first element): each position of the stream gives `per` elements.
template <class Body>
uint64_t over_blocks(RandomStream s, int64_t n, int per, Body body) {
  int64_t blocks = (n + per - 1) / per;
  parallel_for(blocks, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(philox(s.seed, s.offset + uint64_t(i)), i * per);
  });
  return uint64_t(blocks);
}

// Two normal numbers from two uniform ones; 1 - u is in (0, 1], so the logarithm is finite.
template <class T>
void normal_pair(T u, T v, T& a, T& b) {
  T radius = std::sqrt(T(-2) * std::log(T(1) - u));
  T angle = T(6.283185307179586476925286766559) * v;
  a = radius * std::cos(angle);
  b = radius * std::sin(angle);
}

uint64_t high_product(uint64_t a, uint64_t b) {
  uint64_t al = uint32_t(a), ah = a >> 32, bl = uint32_t(b), bh = b >> 32;
  uint64_t mid = ah * bl + (al * bl >> 32);
  uint64_t low = al * bh + uint32_t(mid);
  return ah * bh + (mid >> 32) + (low >> 32);
}

}  // namespace

uint64_t fill_uniform(RandomStream s, float* out, int64_t n) {
  return over_blocks(s, n, 4, [=](const PhiloxBlock& b, int64_t at) {
    for (int k = 0; k < 4 && at + k < n; ++k) out[at + k] = unit(b[k]);
  });
}
uint64_t fill_uniform(RandomStream s, double* out, int64_t n) {
  return over_blocks(s, n, 2, [=](const PhiloxBlock& b, int64_t at) {
    for (int k = 0; k < 2 && at + k < n; ++k) out[at + k] = unit(wide(b, k));
  });
}
uint64_t fill_normal(RandomStream s, float* out, int64_t n) {
  return over_blocks(s, n, 4, [=](const PhiloxBlock& b, int64_t at) {
    float z[4];
    normal_pair(unit(b[0]), unit(b[1]), z[0], z[1]);
    normal_pair(unit(b[2]), unit(b[3]), z[2], z[3]);
    for (int k = 0; k < 4 && at + k < n; ++k) out[at + k] = z[k];
  });
}
uint64_t fill_normal(RandomStream s, double* out, int64_t n) {
  return over_blocks(s, n, 2, [=](const PhiloxBlock& b, int64_t at) {
    double z[2];
    normal_pair(unit(wide(b, 0)), unit(wide(b, 1)), z[0], z[1]);
    for (int k = 0; k < 2 && at + k < n; ++k) out[at + k] = z[k];
  });
}
uint64_t fill_bits(RandomStream s, uint64_t* out, int64_t n) {
  return over_blocks(s, n, 2, [=](const PhiloxBlock& b, int64_t at) {
    for (int k = 0; k < 2 && at + k < n; ++k) out[at + k] = wide(b, k);
  });
}
uint64_t fill_integers(RandomStream s, int64_t* out, int64_t n, int64_t low, uint64_t span) {
  return over_blocks(s, n, 2, [=](const PhiloxBlock& b, int64_t at) {
    for (int k = 0; k < 2 && at + k < n; ++k) {
      uint64_t bits = wide(b, k);
      out[at + k] = int64_t(uint64_t(low) + (span ? high_product(bits, span) : bits));
    }
  });
}
uint64_t fill_permutation(RandomStream s, int64_t* out, int64_t n) {
  std::iota(out, out + n, int64_t(0));
  for (int64_t i = n - 1; i > 0; --i) {
    PhiloxBlock b = philox(s.seed, s.offset + uint64_t(n - 1 - i));
    std::swap(out[i], out[high_product(wide(b, 0), uint64_t(i) + 1)]);
  }
  return uint64_t(n);
}

}  // namespace thixo
