// What the scans share: how arrays are cut into columns that threads carry along the axis.
#pragma once
#include <algorithm>

#include "scan.h"
#include "thread_pool.h"

namespace thixo {

constexpr int64_t kScanGrain = 16384;  // elements that a thread takes at a time
constexpr int64_t kScanColumns = 256;  // columns that are carried at once

inline bool is_empty(ScanShape s) { return s.outer == 0 || s.n == 0 || s.inner == 0; }

// body(outer index, first column, columns) for pieces of all planes.
template <class Body>
void for_columns(ScanShape s, int64_t width, Body&& body) {
  const int64_t pieces = (s.inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kScanGrain / (s.n * std::min(width, s.inner)));
  parallel_for(s.outer * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p % pieces * width;
      body(p / pieces, first, std::min(width, s.inner - first));
    }
  });
}

}  // namespace thixo
