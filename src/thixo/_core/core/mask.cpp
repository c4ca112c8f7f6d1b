#include "mask.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/types.h"
#include "move.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kBlock = 16384;

// Walks the true elements of [begin, end) and calls body(i) for each, at most `most` of them; how many.
template <class Body>
inline int64_t walk_true(const char* mask, int64_t begin, int64_t end, int64_t most, Body&& body) {
  int64_t found = 0, i = begin;
  while (i < end) {
    uint64_t eight;
    if (i + 8 <= end) {
      std::memcpy(&eight, mask + i, 8);
      if (eight == 0) {
        i += 8;
        continue;
      }
    }
    const int64_t stop = std::min(end, i + 8);
    for (; i < stop; ++i) {
      if (!mask[i]) continue;
      if (found == most) return found;
      body(i, found++);
    }
  }
  return found;
}

}  // namespace

int64_t mask_blocks(int64_t n) { return (n + kBlock - 1) / kBlock; }

int64_t count_true(const char* mask, int64_t n, int64_t* starts) {
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    // Parallel chunks have the blocks' size; a chunk that runs alone may be all of it.
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t stop = std::min(end, at + kBlock);
      int64_t count = 0;
      for (int64_t i = at; i < stop; i += 128) {
        uint8_t some = 0;
        const int64_t last = std::min(stop, i + 128);
        for (int64_t j = i; j < last; ++j) some = uint8_t(some + (mask[j] != 0));
        count += some;
      }
      starts[at / kBlock] = count;
    }
  });
  int64_t total = 0;
  for (int64_t b = 0; b < mask_blocks(n); ++b) {
    const int64_t count = starts[b];
    starts[b] = total;
    total += count;
  }
  return total;
}

int64_t true_places(const char* mask, int64_t n, const int64_t* starts, int64_t total, const int64_t* sizes, int ndim,
                    int64_t* places) {
  std::atomic<int64_t> written{0};
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t b = at / kBlock, room = (b + 1 < mask_blocks(n) ? starts[b + 1] : total) - starts[b];
      int64_t* to = places + starts[b] * ndim;
      const int64_t count = walk_true(mask, at, std::min(end, at + kBlock), room, [&](int64_t i, int64_t) {
        for (int d = ndim - 1; d > 0; --d) {
          const int64_t next = i / sizes[d];
          to[d] = i - next * sizes[d];
          i = next;
        }
        to[0] = i;
        to += ndim;
      });
      written.fetch_add(count, std::memory_order_relaxed);
    }
  });
  return written;
}

bool take_true(const char* mask, int64_t n, const int64_t* starts, int64_t total, const char* from, int64_t bytes,
               char* to) {
  std::atomic<int64_t> taken{0};
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t b = at / kBlock, room = (b + 1 < mask_blocks(n) ? starts[b + 1] : total) - starts[b];
      char* out = to + starts[b] * bytes;
      const int64_t stop = std::min(end, at + kBlock);
      int64_t count = 0;
      if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) {
        for_item_size(int(bytes), [&](auto bits) {
          count = walk_true(mask, at, stop, room, [&](int64_t i, int64_t k) {
            store(out + k * int64_t(sizeof(bits)), load<decltype(bits)>(from + i * int64_t(sizeof(bits))));
          });
        });
      } else {
        count = walk_true(mask, at, stop, room, [&](int64_t i, int64_t k) {
          if (bytes) std::memcpy(out + k * bytes, from + i * bytes, size_t(bytes));
        });
      }
      taken.fetch_add(count, std::memory_order_relaxed);
    }
  });
  return taken == total;
}

}  // namespace thixo
