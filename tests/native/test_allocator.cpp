// The allocator: alignment, reuse, foreign frees, statistics, failure, threads and fork.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "../../src/thixo/_core/core/allocator.h"
#include "../../src/thixo/_core/core/error.h"
#include "check.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace thixo;

static void test_blocks() {
  const int64_t before = allocator_stats().in_use;
  std::mt19937_64 random(2);
  struct Block {
    unsigned char* at;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Block> live;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 200 || random() % 2) {
      const size_t bytes = random() % (size_t{1} << (random() % 22));
      unsigned char* at = static_cast<unsigned char*>(allocate(bytes));
      CHECK(at && reinterpret_cast<uintptr_t>(at) % kAlignment == 0);
      const unsigned char mark = static_cast<unsigned char>(random());
      std::memset(at, mark, bytes);
      live.push_back({at, bytes, mark});
    } else {
      const size_t i = random() % live.size();
      const Block b = live[i];
      if (b.bytes) CHECK(b.at[0] == b.mark && b.at[b.bytes / 2] == b.mark && b.at[b.bytes - 1] == b.mark);
      release(b.at, b.bytes);
      live[i] = live.back();
      live.pop_back();
    }
  }
  size_t total = 0;
  for (const Block& b : live) total += b.bytes;
  CHECK(allocator_stats().in_use - before >= static_cast<int64_t>(total));
  for (const Block& b : live) release(b.at, b.bytes);
  CHECK(allocator_stats().in_use == before);
  CHECK(allocator_stats().peak >= static_cast<int64_t>(total));
  CHECK(allocator_stats().kept > 0);
  allocator_trim();
  CHECK(allocator_stats().kept == 0);
}

static void test_reuse_and_limits() {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{32768}, size_t{32769}, size_t{5} << 20}) {
    void* first = allocate(bytes);
    release(first, bytes);
    void* second = allocate(bytes);
    CHECK(first == second);
    release(second, bytes);
  }
  release(nullptr, 10);
  set_kept_limit(10 << 20);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocate(3 << 20));
  for (void* b : blocks) release(b, 3 << 20);
  CHECK(allocator_stats().kept <= (12 << 20));
  set_kept_limit(int64_t{1} << 30);
  for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 59}) {
    bool refused = false;
    try {
      allocate(bytes);
    } catch (const Error& error) {
      refused = error.kind == ErrorKind::Memory && std::strstr(error.what(), "bytes");
    }
    CHECK(refused);
  }
  const int64_t in_use = allocator_stats().in_use;
  allocator_reset_peak();
  CHECK(allocator_stats().peak == in_use);
}

static void test_threads() {
  const int64_t before = allocator_stats().in_use;
  std::vector<std::pair<void*, size_t>> handed;
  std::thread maker([&] {
    for (size_t i = 0; i < 3000; ++i) handed.push_back({allocate(i * 20), i * 20});
  });
  maker.join();
  for (auto [block, bytes] : handed) release(block, bytes);
  std::vector<std::thread> many;
  for (int t = 0; t < 4; ++t) {
    many.emplace_back([t] {
      std::mt19937 random(t);
      std::vector<std::pair<void*, size_t>> mine;
      for (int i = 0; i < 20000; ++i) {
        if (mine.size() > 50) {
          release(mine.back().first, mine.back().second);
          mine.pop_back();
        } else {
          const size_t bytes = random() % 100000;
          mine.push_back({allocate(bytes), bytes});
        }
        if (i % 1000 == 0) allocator_stats();
      }
      for (auto [block, bytes] : mine) release(block, bytes);
    });
  }
  for (auto& t : many) t.join();
  CHECK(allocator_stats().in_use == before);
}

static void test_fork() {
#if defined(__unix__) || defined(__APPLE__)
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) release(allocate(100000), 100000);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 100; ++k) release(allocate(k * 1000), k * 1000);
      allocator_stats();
      allocator_trim();
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  stop = true;
  busy.join();
#endif
}

int main() {
  set_kept_limit(int64_t{1} << 30);  // with sanitizers, nothing is kept unless asked for
  test_blocks();
  test_reuse_and_limits();
  test_threads();
  test_fork();
  return check::finish("allocator");
}
