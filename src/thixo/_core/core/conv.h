// Convolutions: forward, the gradient of the input (a transposed convolution), the gradient of the weight.
//
// In one to three dimensions, strided, padded, dilated, grouped, for every floating-point dtype; float16 and bfloat16
// add up in float32 and are rounded once. Each result is the same chain of additions whatever the number of threads.
#pragma once
#include <cstdint>
#include <memory>
#include "dtype.h"

namespace thixo {

constexpr int kConvAxes = 3;

// All arrays are contiguous: x is [batch][groups * inner][in], y is [batch][groups * outer][out], the weight is
// [groups * outer][inner][kernel]. Axes that are not there come first and have size 1. With `x_last`, `y_last` x is
// [batch][in][groups * inner], y is [batch][out][groups * outer]: channels side by side, as the kernels read them.
struct Convolution {
  DType dtype = DType::F32;
  int64_t batch = 0, groups = 1, inner = 0, outer = 0;
  int64_t in[kConvAxes] = {1, 1, 1}, out[kConvAxes] = {1, 1, 1}, kernel[kConvAxes] = {1, 1, 1};
  int64_t stride[kConvAxes] = {1, 1, 1}, padding[kConvAxes] = {0, 0, 0}, dilation[kConvAxes] = {1, 1, 1};
  bool x_last = false, y_last = false;
  bool wide = false;  // results may be computed by F(4x4, 3x3), whose error is a few times larger (conv_winograd_wide.h)

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  double work() const { return 2.0 * double(batch) * double(groups) * double(inner * outer) * double(out_size()) * double(taps()); }
};

// What follows y = x * w + bias: `more`, of the shape of y, is added; with `relu`, what is below zero becomes zero.
struct ConvEnd {
  const void* more = nullptr;
  bool relu = false;
  bool more_last = false;  // it has its channels side by side, as y has with `y_last`
};

// y = x * w + bias; the bias has one element for each channel, or is null.
// `packed`: what `pack_weight` made of this weight for such a convolution, or null.
struct PackedWeight {
  char* data = nullptr;
  size_t bytes = 0;
  bool winograd = false, wide = false;
  int64_t lanes = 0, vectors = 0;  // of the kernels that it was packed for
  PackedWeight() = default;
  PackedWeight(const PackedWeight&) = delete;
  PackedWeight& operator=(const PackedWeight&) = delete;
  ~PackedWeight();
};
void convolve(const Convolution& c, const void* x, const void* w, const void* bias, void* y, const PackedWeight* packed = nullptr, const ConvEnd& end = {});
// A weight that never changes, as the kernels read it; null where they read it as it is.
std::shared_ptr<const PackedWeight> pack_weight(const Convolution& c, const void* w);
// x = the adjoint of that in x, applied to y. False, and x is anything, where a weight is not finite: zeros that no
// definition knows would meet it.
bool convolve_transposed(const Convolution& c, const void* y, const void* w, void* x);
// The same product by product, for such weights.
void convolve_transposed_by_definition(const Convolution& c, const void* y, const void* w, void* x);
// w = the adjoint in w, applied to x and y.
void convolve_weight(const Convolution& c, const void* x, const void* y, void* w);

// How a convolution is computed; tests and benchmarks may overrule the choice.
// Planes: vectors run over places. Places: they run over channels. Winograd: where the window allows it. Wide: the same by F(4x4, 3x3),
// for packed weights; all else is chosen.
enum class ConvPlan : uint8_t { Chosen, Planes, Places, Winograd, Wide };
void set_conv_plan(ConvPlan plan);
ConvPlan conv_plan();

}  // namespace thixo
