// What the ways of computing attention share.
#pragma once
#include <algorithm>
#include <limits>

#include "attention.h"
#include "gemm_job.h"

namespace thixo {

constexpr int64_t kForwardKeys = 512;  // scores of a block of queries stay in a second-level cache
constexpr int64_t kEnoughTasks = 8;

// Rows of a block that far apart: at a power of two they would share a few sets of the nearest cache.
inline int64_t row_step(int64_t columns) { return round_up(columns, 16) + 16; }

// Blocks of about equal length.
inline int64_t even(int64_t n, int64_t most) { return ceil_div(n, ceil_div(n, most)); }

template <class T>
T* at(const Matrices& m, const Dims& sizes, int64_t index) {
  int64_t offset = 0;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    offset += index % sizes[d] * m.batch[d];
    index /= sizes[d];
  }
  return reinterpret_cast<T*>(m.data) + offset;
}

template <class T>
void shrink(T* row, int64_t n, T factor) {
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
}

// What is said about pairs of queries and keys, on a block of scores. A mask is added to scaled scores.
template <class T>
void restrain(const Attention& a, int64_t index, T* scores, int64_t ld, int64_t q, int64_t rows, int64_t k, int64_t columns) {
  constexpr T kShut = -std::numeric_limits<T>::infinity();
  if (a.mask) {
    const T scale = T(a.scale);
    int64_t offset = 0;
    for (int d = a.batch.size() - 1; d >= 0; --d) {
      offset += index % a.batch[d] * a.mask_batch[d];
      index /= a.batch[d];
    }
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t place = offset + (q + i) * a.mask_row + k * a.mask_column;
      T* row = scores + i * ld;
      if (a.mask_is_bool) {
        const char* open = a.mask + place;
        for (int64_t j = 0; j < columns; ++j) row[j] = open[j * a.mask_column] ? row[j] * scale : kShut;
      } else {
        const T* more = reinterpret_cast<const T*>(a.mask) + place;
        if (a.mask_column == 1)
          for (int64_t j = 0; j < columns; ++j) row[j] = row[j] * scale + more[j];
        else
          for (int64_t j = 0; j < columns; ++j) row[j] = row[j] * scale + more[j * a.mask_column];
      }
    }
  }
  if (!a.causal) return;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t open = std::clamp<int64_t>(q + i + 1 - k, 0, columns);
    std::fill(scores + i * ld + open, scores + i * ld + columns, kShut);
  }
}

inline int64_t batch_count(const Attention& a) {
  int64_t count = 1;
  for (int64_t size : a.batch) count *= size;
  return count;
}

// Sums of values become results, in place. A mask may have allowed a query nothing: it gets zeros.
template <class T>
void finish(const Attention& a, RowLoop kernel, T* sums, int64_t row, int64_t rows, T* top, T* total, T* logsumexp) {
  constexpr int64_t item = sizeof(T);
  int64_t strides[15] = {};
  for (int i : {0, 3}) {  // sums, results
    strides[3 * i] = row * item;
    strides[3 * i + 2] = item;
  }
  for (int i : {1, 2, 4}) strides[3 * i] = item;
  T* operands[5] = {sums, top, total, sums, logsumexp};
  kernel(reinterpret_cast<char**>(operands), strides, rows, 1, a.value_size, nullptr);
  for (int64_t i = 0; a.mask && i < rows; ++i) {
    if (total[i] != 0) continue;
    std::fill(sums + i * row, sums + i * row + a.value_size, T(0));
    logsumexp[i] = std::numeric_limits<T>::infinity();
  }
}

}  // namespace thixo
