#include "random_loops.h"

#include <bit>
#include <cmath>

#include "cpu.h"

#define THIXO_INLINE inline __attribute__((always_inline))

namespace thixo {

namespace {

THIXO_INLINE void make_words(const Philox& generator, uint64_t first, uint32_t* to, int64_t batches) {
  for (int64_t b = 0; b < batches; ++b) philox_batch(generator, first + uint64_t(b) * kPhiloxBatch, to + b * 4 * kPhiloxBatch);
}

THIXO_INLINE void make_uniform(const uint32_t* words, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = float(int32_t(words[i] >> 8)) * 0x1p-24f;
}

constexpr double kLn2 = 0.693147180559945309417232121458, kTwoPi = 6.283185307179586476925286766559;

// The natural logarithm of 2^-32 <= x <= 1, to 1e-13 of itself. With x = 2^k m, m near 1: log m = 2 atanh((m - 1) / (m + 1)).
THIXO_INLINE double log_fraction(double x) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcdu, kBias = uint64_t{64} << 52, kExponent = 0xfff0000000000000u;
  const uint64_t bits = std::bit_cast<uint64_t>(x), above = bits - kRootHalf + kBias;
  const double k = std::bit_cast<double>((above >> 52) | 0x4330000000000000u) - (0x1p52 + 64);  // without a conversion
  const double m = std::bit_cast<double>(bits - (above & kExponent) + kBias);
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 1.0 / 17;
  sum = sum * z + 1.0 / 15;
  sum = sum * z + 1.0 / 13;
  sum = sum * z + 1.0 / 11;
  sum = sum * z + 1.0 / 9;
  sum = sum * z + 1.0 / 7;
  sum = sum * z + 1.0 / 5;
  sum = sum * z + 1.0 / 3;
  sum = sum * z + 1.0;
  return k * kLn2 + 2 * s * sum;
}

// Sine and cosine of an angle of at most an eighth of a turn: their Taylor series, to 1e-14.
THIXO_INLINE double small_sine(double x) {
  const double z = x * x;
  double sum = 1.0 / 6227020800;
  sum = sum * z - 1.0 / 39916800;
  sum = sum * z + 1.0 / 362880;
  sum = sum * z - 1.0 / 5040;
  sum = sum * z + 1.0 / 120;
  sum = sum * z - 1.0 / 6;
  return x + x * z * sum;
}
THIXO_INLINE double small_cosine(double x) {
  const double z = x * x;
  double sum = -1.0 / 87178291200;
  sum = sum * z + 1.0 / 479001600;
  sum = sum * z - 1.0 / 3628800;
  sum = sum * z + 1.0 / 40320;
  sum = sum * z - 1.0 / 720;
  sum = sum * z + 1.0 / 24;
  sum = sum * z - 0.5;
  return 1 + z * sum;
}

THIXO_INLINE void make_normal(const uint32_t* words, double scale, float* to, int64_t n) {
  for (int64_t i = 0; i < n; i += 2) {
    // (word + 1) / 2^32, by way of a signed number: that is the conversion all processors have.
    const double fraction = (double(int32_t(words[i] ^ 0x80000000u)) + 2147483649.0) * 0x1p-32;
    const double radius = scale * std::sqrt(-2 * log_fraction(fraction));
    const uint32_t turn = words[i + 1], quarter = (turn + 0x20000000u) >> 30;  // the nearest, modulo 4
    const double angle = double(int32_t(turn - (quarter << 30))) * (kTwoPi * 0x1p-32);
    const double sine = small_sine(angle), cosine = small_cosine(angle);
    const bool odd = quarter & 1;
    const double x = odd ? sine : cosine, y = odd ? cosine : sine;
    to[i] = float(radius * (x * double(1 - int32_t((quarter + 1) & 2))));
    to[i + 1] = float(radius * (y * double(1 - int32_t(quarter & 2))));
  }
}

THIXO_INLINE void make_scaled(const uint32_t* words, uint64_t width, uint64_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = (words[2 * i + 1] * width + (words[2 * i] * width >> 32)) >> 32;
}

#define THIXO_RANDOM_LOOPS(name, target)                                                            \
  struct name {                                                                                     \
    target static void words(const Philox& g, uint64_t first, uint32_t* to, int64_t batches) {       \
      make_words(g, first, to, batches);                                                            \
    }                                                                                               \
    target static void uniform(const uint32_t* w, float* to, int64_t n) { make_uniform(w, to, n); }  \
    target static void normal(const uint32_t* w, double scale, float* to, int64_t n) {               \
      make_normal(w, scale, to, n);                                                                 \
    }                                                                                               \
    target static void scaled(const uint32_t* w, uint64_t width, uint64_t* to, int64_t n) {          \
      make_scaled(w, width, to, n);                                                                 \
    }                                                                                               \
    static constexpr RandomLoops loops{words, uniform, normal, scaled};                             \
  };

THIXO_RANDOM_LOOPS(Portable, )
#if defined(__x86_64__)
THIXO_RANDOM_LOOPS(Level3, __attribute__((target("avx2"))))
THIXO_RANDOM_LOOPS(Level4, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

}  // namespace

const RandomLoops& portable_random_loops() { return Portable::loops; }

const RandomLoops& random_loops() {
#if defined(__x86_64__)
  if (cpu_features().x86_64_v4) return Level4::loops;
  if (cpu_features().x86_64_v3) return Level3::loops;
#endif
  return Portable::loops;
}

}  // namespace thixo
