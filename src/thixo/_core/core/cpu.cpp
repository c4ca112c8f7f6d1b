#include "cpu.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace thixo {

namespace {

#if defined(__x86_64__)
uint64_t saved_state() {  // which registers the system saves when it changes tasks
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool is_amd() {
  uint32_t a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

uint32_t family(uint32_t signature) {
  const uint32_t base = signature >> 8 & 15;
  return base == 15 ? base + (signature >> 20 & 255) : base;
}

// The caches are told one by one, from the nearest; AMD has another place for it that is built alike.
int64_t farthest_cache(bool amd) {
  int64_t largest = 0;
  uint32_t a, b, c, d;
  for (uint32_t i = 0; i < 8 && __get_cpuid_count(amd ? 0x8000001du : 4u, i, &a, &b, &c, &d) && (a & 31); ++i) {
    const int64_t ways = (b >> 22) + 1, parts = (b >> 12 & 1023) + 1, line = (b & 4095) + 1, sets = int64_t{c} + 1;
    largest = std::max(largest, ways * parts * line * sets);
  }
  return largest;
}

CpuFeatures ask() {
  CpuFeatures found;
  found.amd = is_amd();
  found.last_cache = farthest_cache(found.amd);
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return found;
  constexpr uint32_t kWholeVectors = 26;  // family of Zen 5
  found.halved = found.amd && family(a) < kWholeVectors;
  const bool fma = c >> 12 & 1, movbe = c >> 22 & 1, xsave = c >> 27 & 1, avx = c >> 28 & 1, f16c = c >> 29 & 1;
  if (!xsave || !avx) return found;
  const uint64_t saved = saved_state();
  uint32_t b7, c7, d7;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return found;
  const uint32_t sublevels = a;
  const bool bmi1 = b7 >> 3 & 1, avx2 = b7 >> 5 & 1, bmi2 = b7 >> 8 & 1;
  bool lzcnt = false;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) lzcnt = c >> 5 & 1;
  found.x86_64_v3 = (saved & 0x6) == 0x6 && fma && movbe && f16c && bmi1 && bmi2 && avx2 && lzcnt;
  const bool avx512 = (b7 >> 16 & 1) && (b7 >> 17 & 1) && (b7 >> 28 & 1) && (b7 >> 30 & 1) && (b7 >> 31 & 1);
  found.x86_64_v4 = found.x86_64_v3 && (saved & 0xe6) == 0xe6 && avx512;
  uint32_t a71 = 0;
  if (sublevels >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) a71 = a;
  found.avx512_bf16 = found.x86_64_v4 && (a71 >> 5 & 1);
  found.amx_bf16 = found.x86_64_v4 && (saved & 0x60000) == 0x60000 && (d7 >> 24 & 1) && (d7 >> 22 & 1);
  return found;
}
#else
CpuFeatures ask() { return {}; }
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures found = ask();
  return found;
}

int64_t nearest_cache_bytes() {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  static const int64_t found = std::max<int64_t>(0, sysconf(_SC_LEVEL1_DCACHE_SIZE));
  return found;
#else
  return 0;
#endif
}

int64_t second_cache_bytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t found = std::max<int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
  return found;
#else
  return 0;
#endif
}

bool grant_tiles() {
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = cpu_features().amx_bf16 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
#else
  return false;
#endif
}

}  // namespace thixo
