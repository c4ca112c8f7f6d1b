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

// The places of the true elements of [begin, end), at most 64 of them, from `begin` on; how many.
inline int64_t true_of(const char* mask, int64_t begin, int64_t end, int64_t* places) {
  int64_t found = 0;
  for (int64_t i = begin; i < end; ++i) {  // every place is written and counts only if it holds: no branches
    places[found] = i;
    found += mask[i] != 0;
  }
  return found;
}

// Walks the true elements of [begin, end) and calls body(places, how many) for some at a time, at most `most` in all.
template <class Body>
inline int64_t walk_true(const char* mask, int64_t begin, int64_t end, int64_t most, Body&& body) {
  int64_t places[65], total = 0;
  for (int64_t i = begin; i < end; i += 64) {
    const int64_t stop = std::min(end, i + 64);
    if (stop - i == 64) {
      uint64_t words[8], any = 0;
      std::memcpy(words, mask + i, 64);
      for (uint64_t w : words) any |= w;
      if (any == 0) continue;
    }
    const int64_t found = std::min(true_of(mask, i, stop, places), most - total);
    body(places, found);
    total += found;
  }
  return total;
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
      const int64_t width = sizes[ndim - 1];
      int64_t row = at / std::max<int64_t>(width, 1), row_start = row * width;
      const int64_t count = walk_true(mask, at, std::min(end, at + kBlock), room, [&](const int64_t* found, int64_t n) {
        for (int64_t k = 0; k < n; ++k, to += ndim) {
          while (found[k] - row_start >= width) {
            ++row;
            row_start += width;
          }
          to[ndim - 1] = found[k] - row_start;
          if (ndim == 2) to[0] = row;
          else
            for (int64_t d = ndim - 2, rest = row; d >= 0; --d) {
              to[d] = d ? rest % sizes[d] : rest;
              rest /= sizes[d];
            }
        }
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
          constexpr int64_t size = sizeof(bits);
          count = walk_true(mask, at, stop, room, [&](const int64_t* found, int64_t n) {
            for (int64_t k = 0; k < n; ++k, out += size) store(out, load<decltype(bits)>(from + found[k] * size));
          });
        });
      } else {
        count = walk_true(mask, at, stop, room, [&](const int64_t* found, int64_t n) {
          for (int64_t k = 0; k < n && bytes; ++k, out += bytes) std::memcpy(out, from + found[k] * bytes, size_t(bytes));
        });
      }
      taken.fetch_add(count, std::memory_order_relaxed);
    }
  });
  return taken == total;
}

}  // namespace thixo
