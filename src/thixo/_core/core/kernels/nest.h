// The loop nest of a strided kernel: dimensions without size 1, merged where memory allows.
#pragma once
#include <cstdint>

#include "../array.h"

namespace thixo {

constexpr int kMaxOperands = 16;

// Dimension 0 is the innermost. strides[d] holds one entry for each operand, in a row, so that a
// Loop can be handed strides[0]. Left uninitialised on purpose: it lives on the stack of small calls.
struct Nest {
  int ndim;
  int count;
  int64_t total;  // number of elements; 0 when the shape is empty
  char* data[kMaxOperands];
  int item[kMaxOperands];  // bytes of an element
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
};

// Merge in the order given; then, if several dimensions remain, order them by the last operand's
// strides (smallest innermost) and merge again.
void build_nest(Nest& nest, const Array* arrays, int count);

// Run over everything, in chunks of about `grain` elements on the thread pool; in square tiles
// where an operand lies transposed to the result.
void run_nest(const Nest& nest, Loop loop, int64_t grain);

}  // namespace thixo
