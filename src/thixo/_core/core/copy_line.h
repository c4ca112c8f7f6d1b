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

#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("avx")]] inline void copy_vectors(char* to, const char* from, int64_t n) {
  constexpr int64_t kVector = 32, kMost = 16384;
  if (n < kVector || n > kMost) return copy_by_library(to, from, n);
  const auto move = [=](int64_t i) __attribute__((always_inline, target("avx"))) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
  };
  for (int64_t i = 0; i + kVector <= n; i += kVector) {
    move(i);
    asm volatile("" ::: "memory");  // or the compiler calls the library for the whole loop
  }
  move(n - kVector);  // those before it may be copied twice
}

// On AMD's processors the library takes up to twice as long for rows of 2 KiB.
inline CopyLine line_copier() {
  return cpu_features().amd && cpu_features().x86_64_v3 ? copy_vectors : copy_by_library;
}
#else
inline CopyLine line_copier() { return copy_by_library; }
#endif

}  // namespace thixo
