// Where the result of an operator lies.
#pragma once
#include <algorithm>

#include "../core/tensor.h"

namespace thixo {

// Operands of the result's shape that all lie in one and the same order other than the shape's (transposed ones) give
// a result in that order: nothing has to be turned then, now or when it is used with them again. Smaller ones, which
// are repeated, have no say.
struct CommonOrder {
  const Tensor* lead = nullptr;
  bool same = true;

  void add(const Tensor& t, const Dims& sizes) {
    if (!same || !(t.sizes == sizes)) return;
    if (!lead) lead = &t;
    else same = t.strides == lead->strides;
  }
  Ref<Tensor> make(const Dims& sizes, DType dtype) const {
    if (!same || !lead || lead->is_contiguous() || !is_dense(*lead)) return empty(sizes, dtype);
    return empty_strided(sizes, lead->strides, dtype);
  }
  // Whether its elements fill a block of memory, in some order of the dimensions.
  static bool is_dense(const Tensor& t) {
    int order[kMaxDims], n = 0;
    for (int d = 0; d < t.ndim(); ++d)
      if (t.sizes[d] != 1) order[n++] = d;
    std::sort(order, order + n, [&](int a, int b) { return t.strides[a] < t.strides[b]; });
    int64_t expected = 1;
    for (int i = 0; i < n; ++i) {
      if (t.strides[order[i]] != expected) return false;
      expected *= t.sizes[order[i]];
    }
    return t.numel > 1;
  }
};

}  // namespace thixo
