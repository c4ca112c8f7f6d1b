#include "allocator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <string>

#include "error.h"
#include "free_list.h"

#if defined(__unix__) || defined(__APPLE__)
#define THIXO_POSIX 1
#include <pthread.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

// One pointer per thread sits in the static TLS block where the loader lets a shared library do so:
// reading it is then one instruction instead of a call. (musl does not allow it.)
#if defined(__GLIBC__) && defined(__GNUC__)
#define THIXO_FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define THIXO_FAST_TLS
#endif

namespace thixo {
namespace {

// Sizes are rounded up to a class: multiples of 64 up to 512, then eight classes per doubling, so
// that at most an eighth is wasted and `release` finds the class from the size alone.
constexpr int kSmallClasses = 56;  // classes 0..55 hold up to 32 KiB
constexpr int kClasses = 8 + 8 * 52;
constexpr size_t kLargest = size_t{1} << 60;
constexpr int64_t kFlushStep = 64 << 10;
constexpr int64_t kThreadKeeps = 256 << 10;  // bytes per class and thread
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kLargestPage = 64 << 10;  // of any system

inline int class_of(size_t bytes) {
  if (bytes <= 512) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) >> 6);
  const int top = std::bit_width(bytes - 1) - 1;  // 2^top <= bytes - 1, top >= 9
  return 8 * (top - 8) + static_cast<int>(((bytes - 1) >> (top - 3)) & 7);
}

constexpr size_t class_bytes(int index) {
  if (index < 8) return static_cast<size_t>(index + 1) << 6;
  return static_cast<size_t>(8 + index % 8 + 1) << (index / 8 + 5);
}

struct ClassTable {
  uint32_t bytes[kSmallClasses];
  int32_t keep[kSmallClasses];  // most blocks a thread keeps
};
constexpr ClassTable kSmall = [] {
  ClassTable table{};
  for (int i = 0; i < kSmallClasses; ++i) {
    table.bytes[i] = static_cast<uint32_t>(class_bytes(i));
    table.keep[i] = static_cast<int32_t>(kThreadKeeps / table.bytes[i]);
  }
  return table;
}();

struct FreeBlock {
  FreeBlock* next;
};

// What a kept large block stores in its own first bytes.
struct KeptBlock {
  KeptBlock *newer, *older;            // in order of release, over all classes
  KeptBlock *above, *below;            // stack of its class
  int index;
};

struct ThreadCache {
  FreeBlock* lists[kSmallClasses] = {};
  // Written by the owning thread alone, read by any that asks for statistics.
  std::atomic<int32_t> counts[kSmallClasses] = {};
  std::atomic<int64_t> pending{0};  // change of in_use not yet told to the store
  ThreadCache *next = nullptr, *previous = nullptr;
};

// Shared by all threads and never destroyed, so that release works during process exit.
struct Store {
  std::mutex mutex;
  std::atomic<int64_t> in_use{0}, peak{0};
  FreeBlock* small[kSmallClasses] = {};  // left behind by threads that ended
  KeptBlock* stacks[kClasses] = {};
  KeptBlock *newest = nullptr, *oldest = nullptr;
  int64_t kept_small = 0, kept_large = 0, limit = 0;
  ThreadCache* threads = nullptr;
};

Store& store();

// Blocks that span pages would all begin at the same place in a page, and a kernel that walks through several of them
// would meet one cache set, and loads that wait for stores which look like theirs. So each begins at another line of
// its first page; where that page begins can be told from the address.
inline bool spans_pages(size_t bytes) { return bytes > class_bytes(kSmallClasses - 1); }

size_t next_shift() {
  static std::atomic<uint32_t> turn{0};
  constexpr size_t kLines = 13;  // has no divisor in common with a page: every line has its turn
  return kSanitized ? 0 : turn.fetch_add(1, std::memory_order_relaxed) * kLines * kAlignment % kPage;
}

// Blocks of several huge pages come from the system itself and go back to it. From the C library's heap, other code in the
// process would be given what we asked to be huge pages, and the system would not get it back while anything above is in use.
#if defined(__linux__) && defined(MADV_HUGEPAGE)
inline bool is_mapped(size_t bytes) { return !kSanitized && bytes >= 2 * kHugePage; }
inline size_t in_pages(size_t bytes) { return (bytes + kLargestPage - 1) & ~(kLargestPage - 1); }

void* map(size_t asked) {
  const size_t bytes = in_pages(asked);
  const size_t room = bytes + kHugePage;  // wherever it begins, an aligned block is inside
  void* found = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* begin = static_cast<char*>(found);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) & (kHugePage - 1), behind = room - before - bytes;
  if (before) munmap(begin, before);
  if (behind) munmap(begin + before + bytes, behind);
  madvise(begin + before, bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
  return begin + before;
}

void unmap(void* block, size_t bytes) noexcept { munmap(block, in_pages(bytes)); }
#else
inline bool is_mapped(size_t) { return false; }
void* map(size_t) { return nullptr; }
void unmap(void*, size_t) noexcept {}
#endif

// With room to begin at another line of the first page.
inline size_t with_shift(size_t bytes) { return bytes + kPage; }

std::align_val_t alignment_of(size_t bytes) { return static_cast<std::align_val_t>(spans_pages(bytes) ? kPage : kAlignment); }

void* system_allocate(size_t bytes) {
  if (!spans_pages(bytes)) return ::operator new(bytes, alignment_of(bytes), std::nothrow);
  const size_t whole = with_shift(bytes);
  auto* block = static_cast<char*>(is_mapped(bytes) ? map(whole) : ::operator new(whole, alignment_of(bytes), std::nothrow));
  return block ? block + next_shift() : nullptr;
}

void system_release(void* block, size_t bytes) noexcept {
  if (!spans_pages(bytes)) return ::operator delete(block, alignment_of(bytes));
  block = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(block) & ~(kPage - 1));
  if (is_mapped(bytes)) return unmap(block, with_shift(bytes));
  ::operator delete(block, alignment_of(bytes));
}

// The thread's cache. `tls_ended` is set once the thread's destructors ran: it must not start another.
thread_local ThreadCache* tls_cache THIXO_FAST_TLS = nullptr;
thread_local bool tls_ended = false;

void raise_peak(Store& s, int64_t in_use) {
  int64_t peak = s.peak.load(std::memory_order_relaxed);
  while (in_use > peak && !s.peak.compare_exchange_weak(peak, in_use, std::memory_order_relaxed)) {
  }
}

void count_globally(int64_t bytes) {
  Store& s = store();
  const int64_t now = s.in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes > 0) raise_peak(s, now);
}

inline void count(ThreadCache& cache, int64_t bytes) {
  const int64_t pending = cache.pending.load(std::memory_order_relaxed) + bytes;
  if (pending < kFlushStep && pending > -kFlushStep) [[likely]] {
    cache.pending.store(pending, std::memory_order_relaxed);
  } else {
    cache.pending.store(0, std::memory_order_relaxed);
    count_globally(pending);
  }
}

inline int32_t kept_blocks(const ThreadCache& cache, int index) {
  return cache.counts[index].load(std::memory_order_relaxed);
}

inline void set_kept_blocks(ThreadCache& cache, int index, int32_t value) {
  cache.counts[index].store(value, std::memory_order_relaxed);
}

void end_thread(ThreadCache* cache) noexcept {
  Store& s = store();
  const std::lock_guard lock(s.mutex);
  for (int i = 0; i < kSmallClasses; ++i) {
    while (FreeBlock* block = cache->lists[i]) {
      cache->lists[i] = block->next;
      block->next = s.small[i];
      s.small[i] = block;
      s.kept_small += static_cast<int64_t>(class_bytes(i));
    }
  }
  s.in_use.fetch_add(cache->pending.load(std::memory_order_relaxed), std::memory_order_relaxed);
  (cache->previous ? cache->previous->next : s.threads) = cache->next;
  if (cache->next) cache->next->previous = cache->previous;
  delete cache;
}

struct EndOfThread {
  bool armed = false;
  ~EndOfThread() {
    ThreadCache* cache = tls_cache;
    tls_cache = nullptr;
    tls_ended = true;
    if (cache) end_thread(cache);
  }
};
thread_local EndOfThread tls_end;

// nullptr when the thread is ending.
ThreadCache* start_thread() noexcept {
  if (tls_ended) return nullptr;
  ThreadCache* cache = new (std::nothrow) ThreadCache;
  if (!cache) return nullptr;
  tls_end.armed = true;  // constructs it, and so registers its destructor
  Store& s = store();
  const std::lock_guard lock(s.mutex);
  cache->next = s.threads;
  if (s.threads) s.threads->previous = cache;
  s.threads = cache;
  tls_cache = cache;
  return cache;
}

inline ThreadCache* this_cache() noexcept {
  ThreadCache* cache = tls_cache;
  return cache ? cache : start_thread();
}

void before_fork() { store().mutex.lock(); }
void after_fork() { store().mutex.unlock(); }

// Only the forking thread lives on in the child. What the others have in use stays in use; their
// lists may have been caught halfway, so these blocks are let go.
void after_fork_in_child() {
  Store& s = store();
  ThreadCache* mine = tls_cache;
  for (ThreadCache* cache = s.threads; cache; cache = cache->next) {
    if (cache == mine) continue;
    s.in_use.fetch_add(cache->pending.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  s.threads = mine;
  if (mine) mine->next = mine->previous = nullptr;
  s.mutex.unlock();
}

int64_t machine_memory() {
#if defined(THIXO_POSIX) && defined(_SC_PHYS_PAGES)
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return pages * page;
#endif
  return int64_t{8} << 30;
}

Store& store() {
  static Store* const only = [] {
    Store* made = new Store;
    // The address sanitizer sees a use after release only if blocks really go back: there nothing is kept,
    // unless a test sets a limit.
    made->limit = kSanitized ? 0 : machine_memory() / 8;
    return made;
  }();
#if defined(THIXO_POSIX)
  // after `only` exists, because the handlers use it
  [[maybe_unused]] static const int handlers =
      pthread_atfork(before_fork, after_fork, after_fork_in_child);
#endif
  return *only;
}

void unlink(Store& s, KeptBlock* block) {
  (block->newer ? block->newer->older : s.newest) = block->older;
  (block->older ? block->older->newer : s.oldest) = block->newer;
  (block->above ? block->above->below : s.stacks[block->index]) = block->below;
  if (block->below) block->below->above = block->above;
  s.kept_large -= static_cast<int64_t>(class_bytes(block->index));
}

// Take blocks out of the store, oldest first, until `room` bytes fit under the limit; the caller
// frees the returned chain (linked by `older`) without the lock.
KeptBlock* evict(Store& s, int64_t room) {
  KeptBlock* chain = nullptr;
  while (s.oldest && s.kept_large + room > s.limit) {
    KeptBlock* block = s.oldest;
    unlink(s, block);
    block->older = chain;
    chain = block;
  }
  return chain;
}

void free_chain(KeptBlock* chain) noexcept {
  while (chain) {
    KeptBlock* next = chain->older;
    system_release(chain, class_bytes(chain->index));
    chain = next;
  }
}

std::string in_words(size_t bytes) {
  static const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  size_t value = bytes, rest = 0;
  while (value >= 1024 && unit < 6) {
    rest = value % 1024 * 10 / 1024;
    value /= 1024;
    ++unit;
  }
  std::string text = std::to_string(bytes) + " bytes";
  if (unit) text += " (" + std::to_string(value) + "." + std::to_string(rest) + " " + units[unit] + ")";
  return text;
}

[[noreturn]] void out_of_memory(size_t bytes) {
  const AllocatorStats stats = allocator_stats();
  fail(ErrorKind::Memory, "allocate: no memory for " + in_words(bytes) + "; in use: " +
                              in_words(static_cast<size_t>(std::max<int64_t>(0, stats.in_use))));
}

void* fresh(int index, size_t asked) {
  void* block = system_allocate(class_bytes(index));
  if (!block) {
    allocator_trim();
    block = system_allocate(class_bytes(index));
  }
  if (!block) out_of_memory(asked);
  return block;
}

// The thread's list is empty: take what ended threads left, or a fresh block.
void* allocate_small_slow(int index, size_t asked) {
  const int64_t bytes = static_cast<int64_t>(class_bytes(index));
  Store& s = store();
  FreeBlock* block;
  {
    const std::lock_guard lock(s.mutex);
    block = s.small[index];
    if (block) {
      s.small[index] = block->next;
      s.kept_small -= bytes;
    }
  }
  void* result = block ? block : fresh(index, asked);
  if (ThreadCache* cache = this_cache()) {
    count(*cache, bytes);
  } else {
    count_globally(bytes);
  }
  return result;
}

void* allocate_large(int index, size_t asked) {
  Store& s = store();
  KeptBlock* block;
  {
    const std::lock_guard lock(s.mutex);
    block = s.stacks[index];
    if (block) unlink(s, block);
  }
  void* result = block ? block : fresh(index, asked);
  count_globally(static_cast<int64_t>(class_bytes(index)));
  return result;
}

void release_large(void* block, int index) noexcept {
  const int64_t bytes = static_cast<int64_t>(class_bytes(index));
  Store& s = store();
  count_globally(-bytes);
  KeptBlock* dropped = nullptr;
  {
    const std::lock_guard lock(s.mutex);
    if (bytes <= s.limit / 2) {
      dropped = evict(s, bytes);
      KeptBlock* kept = new (block) KeptBlock{nullptr, s.newest, nullptr, s.stacks[index], index};
      (s.newest ? s.newest->newer : s.oldest) = kept;
      s.newest = kept;
      if (kept->below) kept->below->above = kept;
      s.stacks[index] = kept;
      s.kept_large += bytes;
      block = nullptr;
    }
  }
  free_chain(dropped);
  if (block) system_release(block, static_cast<size_t>(bytes));
}

// The thread keeps enough of this class already, or is ending.
void release_small_slow(void* block, int index) noexcept {
  const int64_t bytes = static_cast<int64_t>(class_bytes(index));
  if (ThreadCache* cache = this_cache()) {
    count(*cache, -bytes);
  } else {
    count_globally(-bytes);
  }
  system_release(block, static_cast<size_t>(bytes));
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes > kLargest) out_of_memory(bytes);
  const int index = class_of(bytes);
  if (index >= kSmallClasses) return allocate_large(index, bytes);
  ThreadCache* cache = tls_cache;
  if (cache) [[likely]] {
    if (FreeBlock* block = cache->lists[index]) [[likely]] {
      cache->lists[index] = block->next;
      set_kept_blocks(*cache, index, kept_blocks(*cache, index) - 1);
      count(*cache, kSmall.bytes[index]);
      return block;
    }
  }
  return allocate_small_slow(index, bytes);
}

void release(void* block, size_t bytes) noexcept {
  if (!block) return;
  const int index = class_of(bytes);
  if (index >= kSmallClasses) return release_large(block, index);
  ThreadCache* cache = this_cache();
  if (!cache || (kSanitized && store().limit == 0)) return release_small_slow(block, index);
  const int32_t kept = kept_blocks(*cache, index);
  if (kept >= kSmall.keep[index]) return release_small_slow(block, index);
  cache->lists[index] = new (block) FreeBlock{cache->lists[index]};
  set_kept_blocks(*cache, index, kept + 1);
  count(*cache, -static_cast<int64_t>(kSmall.bytes[index]));
}

AllocatorStats allocator_stats() {
  Store& s = store();
  const std::lock_guard lock(s.mutex);
  AllocatorStats stats{s.in_use.load(), 0, s.kept_small + s.kept_large};
  for (ThreadCache* cache = s.threads; cache; cache = cache->next) {
    stats.in_use += cache->pending.load(std::memory_order_relaxed);
    for (int i = 0; i < kSmallClasses; ++i) {
      stats.kept += static_cast<int64_t>(kSmall.bytes[i]) * kept_blocks(*cache, i);
    }
  }
  raise_peak(s, stats.in_use);
  stats.peak = s.peak.load();
  return stats;
}

void allocator_reset_peak() {
  const AllocatorStats stats = allocator_stats();
  store().peak.store(stats.in_use);
}

void allocator_trim() {
  Store& s = store();
  if (ThreadCache* cache = this_cache()) {
    for (int i = 0; i < kSmallClasses; ++i) {
      while (FreeBlock* block = cache->lists[i]) {
        cache->lists[i] = block->next;
        system_release(block, class_bytes(i));
      }
      set_kept_blocks(*cache, i, 0);
    }
  }
  KeptBlock* chain;
  FreeBlock* small[kSmallClasses];
  {
    const std::lock_guard lock(s.mutex);
    const int64_t limit = s.limit;
    s.limit = 0;
    chain = evict(s, 0);
    s.limit = limit;
    std::copy(s.small, s.small + kSmallClasses, small);
    std::fill(s.small, s.small + kSmallClasses, nullptr);
    s.kept_small = 0;
  }
  free_chain(chain);
  for (int i = 0; i < kSmallClasses; ++i) {
    while (FreeBlock* block = small[i]) {
      small[i] = block->next;
      system_release(block, class_bytes(i));
    }
  }
}

void set_kept_limit(int64_t bytes) {
  Store& s = store();
  KeptBlock* chain;
  {
    const std::lock_guard lock(s.mutex);
    s.limit = std::max<int64_t>(0, bytes);
    chain = evict(s, 0);
  }
  free_chain(chain);
}

}  // namespace thixo
