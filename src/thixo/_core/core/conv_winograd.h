// 3x3 windows of stride 1 by Winograd's F(2x2, 3x3).
#pragma once
#include "conv.h"
#include "conv_places.h"

namespace thixo {

// Whether the kernels are there; whether it is better than the sums themselves, which are `planned` already.
bool winograd_fits();
// With `packed`, transforms of kernels are there already.
bool winograd_pays(const PlacesJob& planned, bool packed = false);
double winograd_cycles(const PlacesJob& planned, bool packed);  // about
// The weight must be 3x3, stride and dilation 1, and all of it float32. False if a result is no finite number: then
// Winograd's sums are not those of the definition.
bool winograd(const PlacesJob& planned);
// The transforms of the whole weight, for `planned.packed`: how many bytes, and the transforming.
size_t winograd_kernel_bytes(const PlacesJob& planned);
void winograd_kernels(const PlacesJob& planned, char* to);

// The same for the gradient of the weight; cycles are beyond measure where it cannot be computed so.
double winograd_weight_cycles(const Convolution& c);
bool winograd_weight(const Convolution& c, const void* x, const void* y, void* w);

}  // namespace thixo
