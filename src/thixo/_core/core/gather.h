// Elements read from places that index tensors name. Every index is checked before it is used: the functions return
// false if one is out of range, and the caller says which.
#pragma once
#include <cstdint>

#include "array.h"
#include "dims.h"

namespace thixo {

// Places named by index tensors of one length, each on an axis of its own; a negative index counts from the end
// where that is allowed.
struct Places {
  int64_t count = 0;  // of places
  int axes = 0;
  bool negative = false;
  const int64_t* index[kMaxDims];
  int64_t size[kMaxDims];
  int64_t stride[kMaxDims];  // in bytes
};

// Byte offsets of the places [begin, end); false if one is out of range.
bool place_offsets(const Places& places, int64_t begin, int64_t end, int64_t* offsets);

// Axes in bytes, merged where memory allows; the last one is the innermost.
struct Axes {
  int count = 0;
  int64_t total = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];
  void add(int64_t size, int64_t stride);  // inside of those there are
  int64_t offset(int64_t flat) const;      // of an element, counted in order
};

// to[b][p][a] = from[b][place p][a]: `before` and `after` are the axes around the indexed ones. `to` is contiguous.
bool gather_blocks(char* to, const char* from, int item, const Axes& before, const Places& places, const Axes& after);

// to[..., j, ...] = from[..., index[..., j, ...], ...] along one axis: gather. All have as many axes; index has the
// shape of `to`, which is contiguous, and the others' axes are at least as long.
bool gather_along(char* to, const Array& from, const Array& index, int axis, bool negative);

}  // namespace thixo
