// How threads share a product out: each computes a part of C by itself, and helps the others when it is done.
//
// A line that another core has modified takes far longer to come than one from the own cache, so parts share nothing but
// A and B, and every thread gets the same part of C again. A thread that is done early, since another one was disturbed,
// takes over units of that one's part.
#pragma once
#include <atomic>
#include <thread>
#include <vector>

#include "gemm_job.h"

namespace thixo {

// One thread's part, and what is to be done of it now: units that it takes from the front, and helpers from the back.
struct alignas(64) Part {
  Share share;
  char *kept = nullptr, *panel = nullptr;  // memory for panels that all units read; that one unit needs
  // The units under way; changes only between two calls of `run`.
  int64_t first = 0, end = 0, left = 0, across = 0, k = 0;
  bool alone = false;              // nobody helps
  std::atomic<uint64_t> range{0};  // units not taken: from the low half up to the high half
  std::atomic<int64_t> helped{0};  // units that others have finished
  std::atomic<bool> started{false}, finished{false};

  // The number of a unit, or -1 if no more than `leave` are left.
  int64_t take(bool from_back, int64_t leave) {
    uint64_t seen = range.load(std::memory_order_acquire);
    for (;;) {
      const uint64_t from = seen & 0xffffffffu, to = seen >> 32;
      if (int64_t(to) - int64_t(from) <= leave) return -1;
      const uint64_t rest = from_back ? (to - 1) << 32 | from : to << 32 | (from + 1);
      if (range.compare_exchange_weak(seen, rest, std::memory_order_acq_rel)) return int64_t(from_back ? to - 1 : from);
    }
  }

  // Calls unit(0), ..., unit(count - 1), each once, here or by a helper.
  template <class Unit>
  void run(int64_t count, Unit&& unit) {
    if (count <= 0) return;
    if (alone) {
      for (int64_t u = 0; u < count; ++u) unit(u);
      return;
    }
    helped.store(0, std::memory_order_relaxed);
    range.store(uint64_t(count) << 32, std::memory_order_release);
    int64_t own = 0;
    for (int64_t u; (u = take(false, 0)) >= 0; ++own) unit(u);
    for (int spins = 0; helped.load(std::memory_order_acquire) < count - own; ++spins)
      if (spins > 1000) std::this_thread::yield();
  }
};

// One more unit that its owner need not wait for, even if an exception ended it.
struct Finished {
  std::atomic<int64_t>& count;
  ~Finished() { count.fetch_add(1, std::memory_order_release); }
};

// The last units are the owner's: their panels are in its cache.
constexpr int64_t kLeftToOwner = 1;
constexpr int kLooks = 4000;  // some tens of microseconds without anything to help with

// prepare(part, number) for each, then each by a thread of its own: compute(part), and help(part, unit, memory for a
// panel) for units of others; at last end().
template <class Prepare, class Compute, class Help, class End>
void for_parts(const Shares& shares, Prepare&& prepare, Compute&& compute, Help&& help, End&& end) {
  const int64_t count = shares.count();
  if (count == 1) {
    Part part;
    part.share = shares.at(0);
    part.alone = true;
    prepare(part, 0);
    compute(part);
    end();
    return;
  }
  std::vector<Part> parts(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    parts[size_t(i)].share = shares.at(i);
    prepare(parts[size_t(i)], i);
  }
  parallel_for(count, 1, [&](int64_t number, int64_t) {
    Part& own = parts[size_t(number)];
    own.started.store(true, std::memory_order_relaxed);
    compute(own);
    own.finished.store(true, std::memory_order_relaxed);
    for (int looks = 0; looks < kLooks; ++looks) {
      bool all = true;
      for (int64_t i = 1; i < count; ++i) {
        Part& other = parts[size_t((number + i) % count)];
        if (!other.started.load(std::memory_order_relaxed) || other.finished.load(std::memory_order_relaxed)) continue;
        all = false;
        for (int64_t u; (u = other.take(true, kLeftToOwner)) >= 0; looks = 0) {
          const Finished done{other.helped};
          help(other, u, own.panel);
        }
      }
      if (all) break;
    }
    end();
  });
}

}  // namespace thixo
