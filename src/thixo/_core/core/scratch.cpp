#include "scratch.h"

#include <algorithm>

#include "allocator.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace thixo {

namespace {

constexpr size_t kReserved = size_t{96} << 20;  // of addresses; pages come when they are touched
constexpr size_t kHugePage = size_t{2} << 20;

struct Stack {
  char *mapped = nullptr, *base = nullptr, *top = nullptr, *end = nullptr;
  size_t blocks = 0;  // that are out
  bool tried = false;

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
