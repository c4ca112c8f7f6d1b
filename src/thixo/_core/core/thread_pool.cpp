#include "thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "error.h"
#include "processors.h"
#include "scratch.h"

#if defined(__unix__) || defined(__APPLE__)
#define THIXO_POSIX 1
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace thixo {
namespace {

using detail::ChunkBody;

thread_local bool tls_inside = false;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#else
  std::this_thread::yield();
#endif
}

// A worker that has nothing to do waits where it sees the next loop at once, for as long as programs usually take from
// one to the next; at first for itself, then letting others have the processor between two looks. Where there are more
// threads than processors, or workers than threads that were asked for, that would only keep others from computing.
constexpr int kSpins = 2000;   // some tens of microseconds, the cost of a sleep and a wake-up
constexpr int kYields = 2000;  // about a millisecond if nobody else wants to run
constexpr uint32_t kClosed = 1u << 31;

// The chunks that one thread begins with: its part of the loop, the same in every loop of that size. What it wrote lies
// in its own cache, and there it finds it when the next loop reads or overwrites it. Who has done his own takes what
// the others have not begun.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};
constexpr int kMostShares = 64;  // more threads than that have some in common

// One loop at a time. Its fields change only while `door` is closed and nobody is inside, so a
// worker that wakes late finds the door closed, or takes part in a newer loop: both are fine.
//
// What all of them write has a line of the cache for itself; what only the caller writes, and workers wait for and then
// read, comes to them with one line.
struct Pool {
  std::mutex submit;  // held by the thread whose loop this is

  alignas(64) std::atomic<uint32_t> door{kClosed};  // closed bit, and the number of workers inside

  alignas(64) ChunkBody body = nullptr;
  void* context = nullptr;
  int64_t n = 0, grain = 1;
  int share_count = 1;
  std::atomic<uint32_t> guests{0};  // most workers let in
  std::atomic<int> host{-1};        // the processor on which the caller is
  std::atomic<uint32_t> generation{0};

  Share shares[kMostShares];
  std::mutex error_mutex;
  std::exception_ptr error;

  std::mutex sleep_mutex;
  std::condition_variable wake, done;
  int sleeping = 0;
  bool caller_waits = false;
  int workers = 0;  // started so far; changed under `submit`
};

// Replaced in a forked child, where the old one's threads are gone. Never destroyed: workers sleep
// in it until the process ends, and nothing joins them.
std::atomic<Pool*> current_pool{nullptr};
std::atomic<int> thread_count{0};  // 0: not chosen yet
std::atomic<bool> crowded{false};  // they are more than processors
std::atomic<int> callers{0};       // threads that are in a loop of their own now

void run_chunk(Pool& pool, int64_t chunk) {
  const int64_t begin = chunk * pool.grain;
  try {
    pool.body(pool.context, begin, std::min(pool.n, begin + pool.grain));
  } catch (...) {
    const std::lock_guard lock(pool.error_mutex);
    if (!pool.error) pool.error = std::current_exception();
    for (int k = 0; k < pool.share_count; ++k) pool.shares[k].next.store(pool.shares[k].end, std::memory_order_relaxed);
  }
}

// 0 is the caller, workers count from 1.
void run_shares(Pool& pool, int number) {
  const bool was_inside = tls_inside;
  tls_inside = true;
  for (int k = 0; k < pool.share_count; ++k) {
    Share& share = pool.shares[(number + k) % pool.share_count];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const int64_t chunk = share.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk < share.end) run_chunk(pool, chunk);
    }
  }
  tls_inside = was_inside;
}

void share_out(Pool& pool, int64_t chunks, int threads) {
  pool.share_count = std::min(threads, kMostShares);
  for (int k = 0; k < pool.share_count; ++k) {
    pool.shares[k].next.store(chunks * k / pool.share_count, std::memory_order_relaxed);
    pool.shares[k].end = chunks * (k + 1) / pool.share_count;
  }
}

bool enter(Pool& pool) {
  uint32_t seen = pool.door.load(std::memory_order_acquire);
  while (!(seen & kClosed) && seen < pool.guests.load(std::memory_order_relaxed)) {
    if (pool.door.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void leave(Pool& pool) {
  if (pool.door.fetch_sub(1, std::memory_order_acq_rel) - 1 == kClosed) {
    const std::lock_guard lock(pool.sleep_mutex);
    if (pool.caller_waits) pool.done.notify_one();
  }
}

// The system may wake a worker on its caller's own processor, and leave it there for milliseconds, since either seems to
// rest while the other computes. A worker that finds itself there asks to be anywhere else, then may run everywhere again.
#if defined(__linux__)
int this_processor() { return sched_getcpu(); }

void leave_processor(int processor) {
  cpu_set_t allowed;
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}
#else
int this_processor() { return -1; }
void leave_processor(int) {}
#endif

// Any worker may take part in a loop, but only as many as there are to be wait for it awake.
bool waits_awake(int number) {
  return !crowded.load(std::memory_order_relaxed) && number < thread_count.load(std::memory_order_relaxed) - 1;
}

void work(Pool* pool, int number) {
  uint32_t seen = 0;
  const auto waiting = [&] { return pool->generation.load(std::memory_order_acquire) == seen; };
  for (;;) {
    if (waits_awake(number)) {
      for (int spins = 0; waiting() && spins < kSpins; ++spins) pause();
      for (int turns = 0; waiting() && turns < kYields; ++turns) std::this_thread::yield();
    }
    if (waiting()) {
      std::unique_lock lock(pool->sleep_mutex);
      ++pool->sleeping;
      pool->wake.wait(lock, [&] { return !waiting(); });
      --pool->sleeping;
    }
    seen = pool->generation.load(std::memory_order_acquire);
    const int host = pool->host.load(std::memory_order_relaxed);
    if (host >= 0 && host == this_processor() && !crowded.load(std::memory_order_relaxed)) leave_processor(host);
    if (enter(*pool)) {
      run_shares(*pool, number + 1);
      leave(*pool);
    }
  }
}

// As many workers as the loop can use; fewer where the system has no more threads to give.
void start_workers(Pool& pool, int wanted) {
  while (pool.workers < wanted) {
    try {
      std::thread(work, &pool, pool.workers).detach();
    } catch (const std::system_error&) {
      return;
    }
    ++pool.workers;
  }
}

#if defined(THIXO_POSIX)
void after_fork_in_child() {
  current_pool.store(new Pool);
  callers.store(0);
  tls_inside = false;
}
#endif

Pool& the_pool() {
  Pool* pool = current_pool.load(std::memory_order_acquire);
  if (pool) return *pool;
  static const bool made = [] {
    current_pool.store(new Pool, std::memory_order_release);
#if defined(THIXO_POSIX)
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
#endif
    return true;
  }();
  (void)made;
  return *current_pool.load(std::memory_order_acquire);
}

void run_serially(int64_t n, int64_t grain, ChunkBody body, void* context) {
  for (int64_t begin = 0; begin < n; begin += grain) body(context, begin, std::min(n, begin + grain));
}

void wait_until_empty(Pool& pool) {
  uint32_t seen = pool.door.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  const int most = crowded.load(std::memory_order_relaxed) ? 0 : kSpins;
  for (int spins = 0; seen != kClosed && spins < most; ++spins) {
    pause();
    seen = pool.door.load(std::memory_order_acquire);
  }
  if (seen == kClosed) return;
  std::unique_lock lock(pool.sleep_mutex);
  pool.caller_waits = true;
  pool.done.wait(lock, [&] { return pool.door.load(std::memory_order_acquire) == kClosed; });
  pool.caller_waits = false;
}

// Wakes as many as are missing: those that wait awake come by themselves.
void call_workers(Pool& pool, int guests) {
  int missing, sleeping;
  {
    const std::lock_guard lock(pool.sleep_mutex);
    pool.generation.fetch_add(1, std::memory_order_release);
    sleeping = pool.sleeping;
    missing = std::min(sleeping, guests - (pool.workers - sleeping));
  }
  // Without the lock, which is the first thing that they ask for.
  if (missing > 0 && missing == sleeping) return pool.wake.notify_all();
  for (; missing > 0; --missing) pool.wake.notify_one();
}

// One chunk stands for all: none needs more memory than the first.
template <class Body>
void rehearse_chunk(bool shared, Body&& body) {
  if (!shared) return body();
  const Shared of_threads(true);
  const InLoop loop;
  body();
}

// One more thread computes, while this lives.
struct Caller {
  const int others = callers.fetch_add(1, std::memory_order_relaxed);
  Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { callers.fetch_sub(1, std::memory_order_relaxed); }
};

}  // namespace

int get_num_threads() {
  int count = thread_count.load(std::memory_order_relaxed);
  if (count == 0) {
    const int found = usable_processors();  // so many are not crowded
    int none = 0;
    thread_count.compare_exchange_strong(none, found);
    count = thread_count.load(std::memory_order_relaxed);
  }
  return count;
}

void set_num_threads(int count) {
  if (count < 1 || count > 4096) {
    fail(ErrorKind::Argument, "set_num_threads: got " + std::to_string(count) + "; needs 1 to 4096");
  }
  crowded.store(count > usable_processors());
  thread_count.store(count);
}

bool in_parallel_loop() { return tls_inside; }
InLoop::InLoop() : before_(std::exchange(tls_inside, true)) {}
InLoop::~InLoop() { tls_inside = before_; }

namespace detail {

void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context) {
  grain = std::max<int64_t>(1, grain);
  const int threads = get_num_threads();
  if (rehearsing()) [[unlikely]] return rehearse_chunk(threads > 1 && !tls_inside && n > grain, [&] { body(context, 0, std::min(n, grain)); });
  if (threads == 1 || tls_inside) return run_serially(n, grain, body, context);
  const Caller caller;
  const int64_t chunks = (n - 1) / grain + 1;
  // Other threads of the program that compute now count: together they are not to be more than was asked for.
  const int guests = static_cast<int>(std::min<int64_t>(threads - caller.others, chunks) - 1);
  if (guests <= 0) return run_serially(n, grain, body, context);
  Pool& pool = the_pool();
  // Another thread's loop has the workers: do this one here rather than wait.
  std::unique_lock submit(pool.submit, std::try_to_lock);
  if (!submit) return run_serially(n, grain, body, context);

  start_workers(pool, guests);
  pool.body = body;
  pool.context = context;
  pool.n = n;
  pool.grain = grain;
  share_out(pool, chunks, guests + 1);
  pool.guests.store(static_cast<uint32_t>(guests), std::memory_order_relaxed);
  pool.host.store(this_processor(), std::memory_order_relaxed);
  pool.door.store(0, std::memory_order_release);
  call_workers(pool, guests);
  run_shares(pool, 0);
  wait_until_empty(pool);
  if (pool.error) {
    std::exception_ptr error = std::move(pool.error);
    pool.error = nullptr;
    submit.unlock();
    std::rethrow_exception(error);
  }
}

int64_t even_grain(int64_t n, int64_t grain) {
  constexpr int64_t kTurns = 4;  // chunks for each thread: who is disturbed leaves some to the others
  const int64_t threads = get_num_threads();
  const int64_t turns = std::clamp<int64_t>(n / (threads * std::max<int64_t>(1, grain)), 1, kTurns);
  const int64_t share = (n + threads * turns - 1) / (threads * turns);
  const int64_t unit = share >= 1024 ? 64 : 1;  // chunks begin where vectors and lines of the cache do
  return (share + unit - 1) / unit * unit;
}

}  // namespace detail
}  // namespace thixo
