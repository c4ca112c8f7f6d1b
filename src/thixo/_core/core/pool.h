// Pooling over sliding windows: the largest value and where it was, and its gradient.
#pragma once
#include <cstdint>
#include "dtype.h"

namespace thixo {

// Planes of up to three axes; those that are not there come first and have size 1.
struct Pooling {
  DType dtype = DType::F32;
  int64_t planes = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};

// Whether the sizes are such that max_pool can do it (floats; every window meets its plane).
bool max_pool_fits(const Pooling& p);
void max_pool(const Pooling& p, const void* x, void* values, int64_t* indices);
// The values alone: of whole rows first, then along them.
void max_pool_values(const Pooling& p, const void* x, void* values);
// The same of float32 or float64 images whose channels lie side by side, as those of the results do.
void max_pool_values_last(const Pooling& p, int64_t channels, const void* x, void* values);
// to[plane][indices[i]] += from[plane][i]; places that no index names are zero. False: an index is out of range.
bool add_at(DType dtype, int64_t planes, int64_t count, int64_t size, const void* from, const int64_t* indices, void* to);

// The averages of out[0] x out[1] x out[2] bins of nearly equal size, for each plane of in[0] x in[1] x in[2].
void adaptive_average(int64_t planes, const int64_t* in, const int64_t* out, const float* x, float* y);

}  // namespace thixo
