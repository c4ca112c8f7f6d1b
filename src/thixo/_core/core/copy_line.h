// Rows of a few KiB, copied vector by vector where the library's own way is slow.
#pragma once
#include <cstdint>
#include <cstring>

#include "cpu.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace thixo {

using CopyLine = void (*)(char* to, const char* from, int64_t n);

inline void copy_by_library(char* to, const char* from, int64_t n) { std::memcpy(to, from, static_cast<size_t>(n)); }

template <int64_t size>
inline void copy_pieces(char* to, const char* from, int64_t n) {
  for (int64_t i = 0; i < n - size; i += size) std::memcpy(to + i, from + i, size);
  std::memcpy(to + n - size, from + n - size, size);  // those before it may be copied twice
}

// Short lines of any length in a few pieces each: a call of memcpy takes longer to find out which.
constexpr int64_t kShortLine = 512;
inline void copy_short(char* to, const char* from, int64_t n) {
  if (n > kShortLine || n < 4) std::memcpy(to, from, size_t(n));
  else if (n >= 32) copy_pieces<32>(to, from, n);
  else if (n >= 16) copy_pieces<16>(to, from, n);
  else if (n >= 8) copy_pieces<8>(to, from, n);
  else copy_pieces<4>(to, from, n);
}

#if defined(__x86_64__) && defined(__GNUC__)
constexpr int64_t kLineVector = 32;

// A vector or more.
[[gnu::target("avx"), gnu::always_inline]] inline void copy_whole_vectors(char* to, const char* from, int64_t n) {
  const auto move = [=](int64_t i) __attribute__((always_inline, target("avx"))) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
  };
  const int64_t last = n - kLineVector;
  for (int64_t i = 0; i < last; i += kLineVector) {
    move(i);
    asm volatile("" ::: "memory");  // or the compiler calls the library for the whole loop
  }
  move(last);  // those before it may be copied twice
}

[[gnu::target("avx")]] inline void copy_vectors(char* to, const char* from, int64_t n) {
  constexpr int64_t kMost = 16384;
  if (n < kLineVector) return copy_short(to, from, n);
  if (n > kMost) return copy_by_library(to, from, n);
  copy_whole_vectors(to, from, n);
}

// On AMD's processors the library takes up to twice as long for rows of 2 KiB.
inline bool copies_by_vectors() { return cpu_features().amd && cpu_features().x86_64_v3; }
inline CopyLine line_copier() { return copies_by_vectors() ? copy_vectors : copy_by_library; }
#else
inline bool copies_by_vectors() { return false; }
inline CopyLine line_copier() { return copy_by_library; }
#endif

}  // namespace thixo
