// 3x3 windows of stride 1 by Winograd's F(2x2, 3x3).
#pragma once
#include "conv.h"

namespace thixo {

// One product of images with kernels: y[m][place] = sum over c of x[c][place + tap - pad] * kernel of (m, c).
struct WinogradJob {
  int64_t batch = 0, groups = 1, channels = 0, rows = 0;  // channels of x, rows of y, in a group
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, pad[2] = {0, 0};
  const void* x = nullptr;
  const void* w = nullptr;  // [groups][outer][inner][3][3]
  bool turned = false;      // the adjoint: channels are outer, rows are inner, kernels are turned round
  const void* bias = nullptr;
  void* y = nullptr;
};

// Whether the kernels are there and it is worth while.
bool winograd_pays(const WinogradJob& job);
bool winograd_fits();
// False if a result is no finite number: then Winograd's sums are not those of the definition.
bool winograd(const WinogradJob& job);

}  // namespace thixo
