// 3x3 windows of stride 1 by Winograd's F(4x4, 3x3), for weights that never change: their transforms are made before.
//
// Thirty-six products for sixteen results in place of sixty-four. The error is a few times that of the sums themselves, so
// it is taken only where a caller allows it (Convolution::wide).
#pragma once
#include "conv.h"
#include "conv_places.h"

namespace thixo {

// Whether it is better than F(2x2) and than the sums themselves, which are `planned` already.
bool wide_pays(const PlacesJob& planned);
// The transforms of the whole weight, for `planned.packed`: how many bytes, and the transforming.
size_t wide_kernel_bytes(const PlacesJob& planned);
void wide_kernels(const PlacesJob& planned, char* to);
// False if a result is no finite number: then these sums are not those of the definition.
bool winograd_wide(const PlacesJob& planned);

}  // namespace thixo
