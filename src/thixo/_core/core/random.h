// Streams of random numbers. Element i of a draw depends on (seed, offset, i) alone, so a draw is the same on
// any number of threads. Each function returns the number of positions it used; the next draw starts after them.
#pragma once
#include <cstdint>

namespace thixo {

struct RandomStream {
  uint64_t seed;
  uint64_t offset;
};

// In [0, 1): 24 random bits for float, 53 for double.
uint64_t fill_uniform(RandomStream s, float* out, int64_t n);
uint64_t fill_uniform(RandomStream s, double* out, int64_t n);
// Standard normal, by Box and Muller's transformation: values come in pairs from two uniform ones.
uint64_t fill_normal(RandomStream s, float* out, int64_t n);
uint64_t fill_normal(RandomStream s, double* out, int64_t n);
uint64_t fill_bits(RandomStream s, uint64_t* out, int64_t n);
// In [low, low + span), span >= 1 (0 means all 2^64): the high half of a 64x64 product, so the deviation from
// equal odds is below span / 2^64.
uint64_t fill_integers(RandomStream s, int64_t* out, int64_t n, int64_t low, uint64_t span);
// A permutation of 0 .. n-1, each equally likely.
uint64_t fill_permutation(RandomStream s, int64_t* out, int64_t n);

}  // namespace thixo
