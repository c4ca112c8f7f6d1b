// A strided array without ownership: what kernels work on.
#pragma once
#include <cstdint>
#include "dtype.h"

namespace thixo {

constexpr int kMaxDims = 64;

struct Array {
  char* data = nullptr;      // first element
  DType dtype = DType::F32;
  int ndim = 0;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;  // in bytes; any sign; 0 where broadcast
};

// One pass of a pointwise kernel over n elements. pointers and strides (bytes) hold the inputs, then
// the result. All inputs have the kernel's dtype; the result has it too, or is Bool.
using Loop = void (*)(char* const* pointers, const int64_t* strides, int64_t n);

}  // namespace thixo
