// Results that are too large for the cache: written past it, so that memory is not read first only to be overwritten.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace thixo {

// Bytes of results from which what comes next finds them in memory rather than in a cache: below, whoever reads them
// soon would wait for what writing saved.
constexpr int64_t kStreamedBytes = int64_t{16} << 20;

#if defined(__SSE2__)
constexpr bool kStreams = true;

// `bytes` from the cache, `from` at the begin of a line, to memory.
inline void stream_out(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  const int64_t head = (kLine - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine)) % kLine;
  int64_t i = head < bytes ? head : bytes;
  std::memcpy(to, from, static_cast<size_t>(i));
  for (; i + kLine <= bytes; i += kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from + i);
    auto* target = reinterpret_cast<__m128i*>(to + i);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2),
                  d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}

inline void stream_zeros(char* to, int64_t bytes) {
  alignas(64) static const char zeros[4096] = {};
  while (bytes > 0) {
    // Each piece ends where a line of the cache does.
    const int64_t beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % 64);
    const int64_t n = bytes < 4096 - beyond ? bytes : 4096 - beyond;
    stream_out(to, zeros, n);
    to += n;
    bytes -= n;
  }
}

// Before another thread reads it.
inline void stream_end() { _mm_sfence(); }
#else
constexpr bool kStreams = false;
inline void stream_out(char* to, const char* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }
inline void stream_zeros(char* to, int64_t bytes) { std::memset(to, 0, static_cast<size_t>(bytes)); }
inline void stream_end() {}
#endif

}  // namespace thixo
