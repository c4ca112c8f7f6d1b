// Running sums of rows of float32.
#pragma once
#include <cstdint>

namespace thixo {

constexpr int64_t kScanBlock = 4 * 1040;  // elements: four chains, not a power of two apart, so that they fall into different cache sets

// In all of these `to` and `from` are where rows begin: at their first elements (kWay is 1) or at their last (-1).

// One row in blocks of fixed size, on threads or not.
template <int kWay>
void scan_float_row(float* to, const float* from, int64_t n, bool on_threads);

// Rows [first, stop) one after the other, two or more at once; returns the first that is left.
template <int kWay>
int64_t scan_float_rows(float* to, const float* from, int64_t first, int64_t stop, int64_t n);

}  // namespace thixo
