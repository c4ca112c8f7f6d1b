#include "scratch.h"

#include <algorithm>
#include <atomic>

#include "allocator.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace thixo {

namespace {

constexpr size_t kReserved = size_t{96} << 20;  // of addresses; pages come when they are touched
constexpr size_t kHugePage = size_t{2} << 20;

// What was in use at most, over all threads, and which reset that counts from.
std::atomic<size_t> total_peak{0};
std::atomic<uint32_t> resets{0};

struct Stack {
  char *mapped = nullptr, *base = nullptr, *top = nullptr, *end = nullptr;
  size_t blocks = 0;  // that are out
  bool tried = false;
  size_t most = 0;  // in use at a time, since this reset
  uint32_t reset = 0;

  void count(size_t used) {
    const uint32_t now = resets.load(std::memory_order_relaxed);
    if (reset != now) most = 0;
    reset = now;
    if (used <= most) return;
    total_peak.fetch_add(used - most, std::memory_order_relaxed);
    most = used;
  }

  void reserve() {
    tried = true;
#if defined(__linux__)
    void* found = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) return;
    mapped = static_cast<char*>(found);
    const size_t past = reinterpret_cast<size_t>(mapped) % kHugePage;
    base = top = mapped + (past ? kHugePage - past : 0);
    end = mapped + kReserved;
    madvise(base, static_cast<size_t>(end - base), MADV_HUGEPAGE);
#endif
  }
  ~Stack() {
#if defined(__linux__)
    if (mapped) munmap(mapped, kReserved);
#endif
    mapped = base = top = end = nullptr;
    tried = true;
  }
};
thread_local Stack stack;

size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

size_t scratch_peak() { return total_peak.load(std::memory_order_relaxed); }

void reset_scratch_peak() {
  resets.fetch_add(1, std::memory_order_relaxed);
  total_peak.store(0, std::memory_order_relaxed);
}

size_t scratch_pages(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

constinit thread_local Rehearsal* rehearsal = nullptr;

Rehearsal::Rehearsal() { rehearsal = this; }
Rehearsal::~Rehearsal() { rehearsal = nullptr; }

void Rehearsal::take(size_t bytes) {
  held += rounded(bytes);
  here = std::max(here, held);
  if (!shared) return;
  held_elsewhere += rounded(bytes);
  elsewhere = std::max(elsewhere, held_elsewhere);
}

void Rehearsal::give(size_t bytes) {
  held -= rounded(bytes);
  if (shared) held_elsewhere -= rounded(bytes);
}

void* take_scratch(size_t bytes) {
  if (rehearsing()) [[unlikely]] {
    rehearsal->take(bytes);
    return nullptr;
  }
  Stack& s = stack;
  if (!s.tried) s.reserve();
  const size_t size = rounded(bytes);
  if (size < bytes || size > static_cast<size_t>(s.end - s.top)) return allocate(bytes);
  char* block = s.top;
  s.top += size;
  const auto used = static_cast<size_t>(s.top - s.base);
  if (used > s.most || s.reset != resets.load(std::memory_order_relaxed)) [[unlikely]] s.count(used);
  ++s.blocks;
  return block;
}

void give_scratch(void* block, size_t bytes) noexcept {
  if (rehearsing()) [[unlikely]] return rehearsal->give(bytes);
  Stack& s = stack;
  char* at = static_cast<char*>(block);
  if (!s.base || at < s.base || at >= s.end) return release(block, bytes);
  if (at + rounded(bytes) == s.top) s.top = at;
  if (--s.blocks == 0) s.top = s.base;
}

}  // namespace thixo
