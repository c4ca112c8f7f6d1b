// What the scans share: how arrays are cut into columns that threads carry along the axis.
#pragma once
#include <algorithm>

#include "scan.h"
#include "thread_pool.h"

namespace thixo {

constexpr int64_t kScanGrain = 16384;  // elements that a thread takes at a time
constexpr int64_t kScanColumns = 256;  // columns that are carried at once

inline bool is_empty(ScanShape s) { return s.outer == 0 || s.n == 0 || s.inner == 0; }

// Rows that are no whole lines of the cache: two threads that share a plane both write the line at their border, row after
// row, and each time it comes from the other one's cache. That costs as much as some hundred columns of a running sum:
// 499x197 takes 19 us on one thread, and 39 on two that share it.
constexpr int64_t kScanShared = 512;

// body(outer index, first column, columns) for pieces of all planes, of at most `width` columns each. Planes of rows that
// are no whole lines are shared by threads from `shared` columns on.
template <class Body>
void for_columns(ScanShape s, int64_t width, int64_t shared, Body&& body) {
  constexpr int64_t kLine = 16, kVector = 8;  // columns
  const bool lines = s.inner % kLine == 0, share = lines || s.inner >= shared;
  int64_t pieces = (s.inner + width - 1) / width;
  const int64_t threads = get_num_threads();
  if (lines && s.outer < threads && s.outer * s.n * s.inner > 2 * kScanGrain)
    pieces = std::max(pieces, std::min((threads + s.outer - 1) / s.outer, s.inner / kLine));
  const int64_t unit = lines ? kLine : kVector;
  const int64_t each = std::min(width, ((s.inner + pieces - 1) / pieces + unit - 1) / unit * unit);  // even ones
  pieces = (s.inner + each - 1) / each;
  const int64_t together = share ? 1 : pieces;  // that one thread takes
  const int64_t grain = std::max<int64_t>(1, kScanGrain / (s.n * std::min(s.inner, each * together)));
  parallel_evenly(s.outer * pieces / together, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin * together; p < end * together; ++p) {
      const int64_t first = p % pieces * each;
      body(p / pieces, first, std::min(each, s.inner - first));
    }
  });
}

}  // namespace thixo
