// The thread pool: every item once, fixed borders, nesting, many callers, exceptions, fork.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../../src/thixo/_core/core/error.h"
#include "../../src/thixo/_core/core/thread_pool.h"
#include "check.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace thixo;

static std::set<std::pair<int64_t, int64_t>> borders(int64_t n, int64_t grain) {
  std::set<std::pair<int64_t, int64_t>> result;
  std::mutex mutex;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    CHECK(result.insert({begin, end}).second);
  });
  return result;
}

static void test_borders() {
  for (int64_t n : {0, 1, 7, 100, 1000, 1001}) {
    for (int64_t grain : {1, 3, 100, 5000}) {
      set_num_threads(1);
      const auto serial = borders(n, grain);
      set_num_threads(4);
      CHECK(borders(n, grain) == serial);
      int64_t total = 0;
      for (auto [begin, end] : serial) total += end - begin;
      CHECK(total == n);
    }
  }
  CHECK_THROWS(set_num_threads(0), Error);
  CHECK(get_num_threads() == 4);
}

static void test_items() {
  std::vector<int> hits(100000);
  for (int round = 0; round < 300; ++round) {
    set_num_threads(1 + round % 5);
    parallel_for(100000, 997, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++hits[i];
    });
  }
  CHECK(std::all_of(hits.begin(), hits.end(), [](int h) { return h == 300; }));
}

static void test_nested_and_callers() {
  std::atomic<int64_t> total{0};
  auto call = [&] {
    for (int i = 0; i < 50; ++i) {
      parallel_for(64, 4, [&](int64_t begin, int64_t end) {
        parallel_for(end - begin, 1, [&](int64_t b, int64_t e) { total += e - b; });
      });
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) callers.emplace_back(call);
  for (auto& c : callers) c.join();
  CHECK(total == 6 * 50 * 64);
  CHECK(!in_parallel_loop());
}

static void test_exceptions() {
  for (int i = 0; i < 50; ++i) {
    CHECK_THROWS(parallel_for(1000, 1,
                              [&](int64_t begin, int64_t) {
                                if (begin == 17 * i) throw std::runtime_error("expected");
                              }),
                 std::runtime_error);
    std::atomic<int> count{0};
    parallel_for(100, 1, [&](int64_t, int64_t) { ++count; });
    CHECK(count == 100);
  }
}

static void test_fork() {
#if defined(__unix__) || defined(__APPLE__)
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) parallel_for(1000, 10, [](int64_t, int64_t) {});
  });
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<int> count{0};
      parallel_for(1000, 1, [&](int64_t, int64_t) { ++count; });
      _exit(count == 1000 ? 7 : 1);
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
  test_borders();
  test_items();
  test_nested_and_callers();
  test_exceptions();
  test_fork();
  return check::finish("thread_pool");
}
