// The loop nest of a strided kernel: dimensions without size 1, merged where memory allows.
#pragma once
#include <algorithm>
#include <cstdint>

#include "../array.h"
#include "../cpu.h"

namespace thixo {

constexpr int kMaxOperands = 16;

// Dimension 0 is the innermost. strides[d] holds one entry for each operand, in a row, so that a
// Loop can be handed strides[0]. Left uninitialised on purpose: it lives on the stack of small calls.
struct Nest {
  int ndim;
  int count;
  int64_t total;  // number of elements; 0 when the shape is empty
  bool in_lines;  // the loop takes elements that follow each other, or one that stays: others are brought into lines
  bool moves;     // the loop only moves the elements of its one operand
  int results;    // how many of the operands, the last ones, are written
  char* data[kMaxOperands];
  int item[kMaxOperands];  // bytes of an element
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
};

// Part of the n that a generated loop is given: the processor fetches ahead better by itself (codegen/llvm/pointwise.py).
constexpr int64_t kUnaided = int64_t{1} << 62;
// Another part of it: there are several rows of n elements. After the strides, one for each operand, come those from row to row, and
// then how many rows there are.
constexpr int64_t kRows = int64_t{1} << 61;
// And another, beside kUnaided: the processor moves half a vector at a time.
constexpr int64_t kHalves = int64_t{1} << 60;
inline int64_t unaided(bool generated) {
  if (!generated || !cpu_features().amd) return 0;
  return cpu_features().halved ? kUnaided | kHalves : kUnaided;
}

// Whether results are in no cache when they are read: there are many of them, or the call itself touches more of a cache
// than others leave to it. All bytes that it touches, those of results, and how many times more it computes than a plain sum.
bool outgrows_cache(int64_t touched, int64_t written, int64_t factor = 1);

// Merge in the order given; then, if several dimensions remain, order them by the last operand's
// strides (smallest innermost) and merge again.
void build_nest(Nest& nest, const Array* arrays, int count);

// Call the loop for a row, operands in lines if it needs that.
void run_row(const Nest& nest, Loop loop, char* const* at, const int64_t* strides, int64_t n);

// Run over everything, in chunks of about `grain` elements on the thread pool; in square tiles
// where an operand lies transposed to the result.
void run_nest(const Nest& nest, Loop loop, int64_t grain);

// Call row(pointers, strides, n) for the rows that make up elements [begin, end), in the nest's order.
// N is the number of operands where it is known, so that short loops over them unroll; else 0.
template <int N, class Row>
void walk_rows(const Nest& nest, int64_t begin, int64_t end, Row&& row) {
  const int count = N ? N : nest.count, ndim = nest.ndim;
  char* at[kMaxOperands];
  for (int k = 0; k < count; ++k) at[k] = nest.data[k];
  if (ndim == 1) {
    for (int k = 0; k < count; ++k) at[k] += begin * nest.strides[0][k];
    row(at, nest.strides[0], end - begin);
    return;
  }
  int64_t index[kMaxDims];
  if (begin == 0) {
    for (int d = 0; d < ndim; ++d) index[d] = 0;
  } else {
    int64_t rest = begin;
    for (int d = 0; d < ndim; ++d) {
      index[d] = rest % nest.sizes[d];
      rest /= nest.sizes[d];
      for (int k = 0; k < count; ++k) at[k] += index[d] * nest.strides[d][k];
    }
  }
  const int64_t inner = nest.sizes[0];
  int64_t left = end - begin;
  for (;;) {
    const int64_t n = std::min(inner - index[0], left);
    row(at, nest.strides[0], n);
    left -= n;
    if (left == 0) return;
    // to the start of the row, then one step in the first dimension that has a step left
    if (index[0]) {
      for (int k = 0; k < count; ++k) at[k] -= index[0] * nest.strides[0][k];
      index[0] = 0;
    }
    for (int d = 1; d < ndim; ++d) {
      for (int k = 0; k < count; ++k) at[k] += nest.strides[d][k];
      if (++index[d] < nest.sizes[d]) break;
      for (int k = 0; k < count; ++k) at[k] -= nest.sizes[d] * nest.strides[d][k];
      index[d] = 0;
    }
  }
}

}  // namespace thixo
