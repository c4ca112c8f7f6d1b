#include "nest.h"

#include <algorithm>
#include <string>

#include "../error.h"
#include "../kernels.h"
#include "../thread_pool.h"

namespace thixo {
namespace {

// Append a dimension outside of the present ones, or widen the outermost one by it.
inline void append(Nest& nest, int64_t size, const int64_t* strides) {
  const int count = nest.count;
  if (nest.ndim > 0) {
    const int last = nest.ndim - 1;
    bool merges = true;
    for (int k = 0; k < count; ++k) merges &= strides[k] == nest.strides[last][k] * nest.sizes[last];
    if (merges) {
      nest.sizes[last] *= size;
      return;
    }
  }
  nest.sizes[nest.ndim] = size;
  for (int k = 0; k < count; ++k) nest.strides[nest.ndim][k] = strides[k];
  ++nest.ndim;
}

// Whether dimension a belongs inside b: the result decides, then the inputs.
bool inside(const int64_t* a, const int64_t* b, int count) {
  for (int k = count - 1; k >= 0; --k) {
    if (a[k] != b[k]) return a[k] < b[k];
  }
  return false;
}

// Walk each dimension in the direction in which the result's addresses grow, sort, merge.
void order(Nest& nest) {
  const int count = nest.count, ndim = nest.ndim;
  int rank[kMaxDims];
  for (int d = 0; d < ndim; ++d) {
    int64_t* strides = nest.strides[d];
    if (strides[count - 1] < 0) {
      for (int k = 0; k < count; ++k) {
        nest.data[k] += strides[k] * (nest.sizes[d] - 1);
        strides[k] = -strides[k];
      }
    }
    int at = d;  // insertion sort, stable
    while (at > 0 && inside(strides, nest.strides[rank[at - 1]], count)) {
      rank[at] = rank[at - 1];
      --at;
    }
    rank[at] = d;
  }
  bool sorted = true;
  for (int d = 0; d < ndim; ++d) sorted &= rank[d] == d;
  if (sorted) return;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
  for (int d = 0; d < ndim; ++d) {
    sizes[d] = nest.sizes[rank[d]];
    std::copy_n(nest.strides[rank[d]], count, strides[d]);
  }
  nest.ndim = 0;
  for (int d = 0; d < ndim; ++d) append(nest, sizes[d], strides[d]);
}

}  // namespace

void build_nest(Nest& nest, const Array* arrays, int count) {
  if (count > kMaxOperands) {
    fail(ErrorKind::Internal, "build_nest: " + std::to_string(count) + " operands; at most 16");
  }
  const Array& result = arrays[count - 1];
  nest.ndim = 0;
  nest.count = count;
  nest.total = 1;
  for (int k = 0; k < count; ++k) nest.data[k] = arrays[k].data;
  for (int d = result.ndim - 1; d >= 0; --d) {
    const int64_t size = result.sizes[d];
    nest.total *= size;
    if (size == 1) continue;
    if (size == 0) {
      nest.total = 0;
      return;
    }
    int64_t strides[kMaxOperands];
    for (int k = 0; k < count; ++k) strides[k] = arrays[k].strides[d];
    append(nest, size, strides);
  }
  if (nest.ndim > 1) order(nest);
  if (nest.ndim == 0) {
    nest.ndim = 1;
    nest.sizes[0] = 1;
    for (int k = 0; k < count; ++k) nest.strides[0][k] = item_size(arrays[k].dtype);
  }
}

void run_range(const Nest& nest, Loop loop, int64_t begin, int64_t end) {
  const int count = nest.count, ndim = nest.ndim;
  char* at[kMaxOperands];
  if (ndim == 1) {
    for (int k = 0; k < count; ++k) at[k] = nest.data[k] + begin * nest.strides[0][k];
    loop(at, nest.strides[0], end - begin);
    return;
  }
  int64_t index[kMaxDims];
  for (int k = 0; k < count; ++k) at[k] = nest.data[k];
  int64_t rest = begin;
  if (begin == 0) {
    for (int d = 0; d < ndim; ++d) index[d] = 0;
  } else {
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
    loop(at, nest.strides[0], n);
    left -= n;
    if (left == 0) return;
    // to the start of the row, then one step in the first dimension that has a step left
    for (int k = 0; k < count; ++k) at[k] -= index[0] * nest.strides[0][k];
    index[0] = 0;
    for (int d = 1; d < ndim; ++d) {
      for (int k = 0; k < count; ++k) at[k] += nest.strides[d][k];
      if (++index[d] < nest.sizes[d]) break;
      for (int k = 0; k < count; ++k) at[k] -= nest.sizes[d] * nest.strides[d][k];
      index[d] = 0;
    }
  }
}

void run_nest(const Nest& nest, Loop loop, int64_t grain) {
  if (nest.total == 0) return;
  if (nest.total <= grain) return run_range(nest, loop, 0, nest.total);
  parallel_for(nest.total, grain,
               [&](int64_t begin, int64_t end) { run_range(nest, loop, begin, end); });
}

void run_loop(Loop loop, const Array* arrays, int count, int64_t grain) {
  Nest nest;
  build_nest(nest, arrays, count);
  run_nest(nest, loop, grain);
}

}  // namespace thixo
