// Asking for lines of memory before they are written.
#pragma once
#include <cstdint>

namespace thixo {

// The line comes over while other things are computed, not when it is stored to. The compiler's own prefetch only asks to
// read, unless it may suppose processors that have this instruction; the others pass over it.
inline void fetch_to_write(const char* at) {
#if defined(__x86_64__) && defined(__GNUC__)
  asm volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1);
#endif
}

// All lines of some bytes.
inline void fetch_to_write(const char* at, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (const char* end = at + bytes; at < end; at += kLine) fetch_to_write(at);
}

}  // namespace thixo
