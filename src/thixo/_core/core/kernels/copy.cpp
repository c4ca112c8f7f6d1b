// copy and fill: conversions between all pairs of dtypes over any strides.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../kernels.h"
#include "../thread_pool.h"
#include "nest.h"
#include "types.h"

namespace thixo {
namespace {

constexpr int64_t kTile = 32;
constexpr int64_t kCopyGrain = 32768;

struct Wide {  // 16 bytes that move together
  uint64_t low, high;
};

// Elements of equal size without conversion. A source stride of 0 fills.
template <class Bits>
void move_loop(char* const* pointers, const int64_t* strides, int64_t n) {
  constexpr int64_t size = sizeof(Bits);
  const char* source = pointers[0];
  char* to = pointers[1];
  const int64_t ds = strides[0], dt = strides[1];
  if (dt == size && ds == size) {
    std::memcpy(to, source, static_cast<size_t>(n * size));
    return;
  }
  if (dt == size && ds == 0 && aligned<Bits>(to)) {
    std::fill_n(reinterpret_cast<Bits*>(to), n, load<Bits>(source));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    store(to, load<Bits>(source));
    source += ds;
    to += dt;
  }
}

template <class From, class To>
void convert_loop(char* const* pointers, const int64_t* strides, int64_t n) {
  const char* source = pointers[0];
  char* to = pointers[1];
  const int64_t ds = strides[0], dt = strides[1];
  if (ds == sizeof(From) && dt == sizeof(To) && aligned<From>(source) && aligned<To>(to)) {
    const From* x = reinterpret_cast<const From*>(source);
    To* z = reinterpret_cast<To*>(to);
    THIXO_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = convert<To>(x[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    store(to, convert<To>(load<From>(source)));
    source += ds;
    to += dt;
  }
}

Loop find_move(DType dtype) {
  switch (item_size(dtype)) {
    case 1: return move_loop<uint8_t>;
    case 2: return move_loop<uint16_t>;
    case 4: return move_loop<uint32_t>;
    case 8: return move_loop<uint64_t>;
    default: return move_loop<Wide>;
  }
}

Loop find_conversion(DType to, DType from) {
  if (to == from) return find_move(to);
  return visit(from, [to]<class From>() -> Loop {
    return visit(to, []<class To>() -> Loop { return convert_loop<From, To>; });
  });
}

// The dimension along which the source is densest, if it is not the innermost: then a plain walk
// would touch a new cache line for each element, and square tiles are better. 0: no such thing.
int transposed_dimension(const Nest& nest) {
  int best = 0;
  for (int d = 1; d < nest.ndim; ++d) {
    const int64_t stride = std::abs(nest.strides[d][0]);
    if (stride != 0 && stride < std::abs(nest.strides[best][0])) best = d;
  }
  return nest.sizes[0] >= 4 && nest.sizes[best] >= 4 ? best : 0;
}

void copy_tiles(const Nest& nest, int across, Loop loop) {
  const int64_t width = nest.sizes[0], height = nest.sizes[across];
  const int64_t tiles_x = (width + kTile - 1) / kTile, tiles_y = (height + kTile - 1) / kTile;
  const int64_t planes = nest.total / (width * height);
  const int64_t* step = nest.strides[across];
  const int64_t grain = std::max<int64_t>(1, kCopyGrain / (kTile * kTile));
  parallel_for(planes * tiles_x * tiles_y, grain, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t x = tile % tiles_x * kTile, y = tile / tiles_x % tiles_y * kTile;
      int64_t plane = tile / (tiles_x * tiles_y);
      char* at[2];
      for (int k = 0; k < 2; ++k) at[k] = nest.data[k] + x * nest.strides[0][k] + y * step[k];
      for (int d = 1; d < nest.ndim; ++d) {
        if (d == across) continue;
        const int64_t index = plane % nest.sizes[d];
        plane /= nest.sizes[d];
        for (int k = 0; k < 2; ++k) at[k] += index * nest.strides[d][k];
      }
      const int64_t columns = std::min(kTile, width - x), rows = std::min(kTile, height - y);
      for (int64_t row = 0; row < rows; ++row) {
        loop(at, nest.strides[0], columns);
        at[0] += step[0];
        at[1] += step[1];
      }
    }
  });
}

}  // namespace

void copy(const Array& destination, const Array& source) {
  const Array arrays[2] = {source, destination};
  Nest nest;
  build_nest(nest, arrays, 2);
  if (nest.total == 0) return;
  const Loop loop = find_conversion(destination.dtype, source.dtype);
  if (nest.ndim > 1) {
    if (const int across = transposed_dimension(nest)) return copy_tiles(nest, across, loop);
  }
  run_nest(nest, loop, kCopyGrain);
}

void fill(const Array& destination, const void* element) {
  static const int64_t no_strides[kMaxDims] = {};
  static const char zeros[16] = {};
  char* from = const_cast<char*>(element ? static_cast<const char*>(element) : zeros);
  const Array source{from, destination.dtype, destination.ndim, destination.sizes, no_strides};
  const Array arrays[2] = {source, destination};
  Nest nest;
  build_nest(nest, arrays, 2);
  run_nest(nest, find_move(destination.dtype), kCopyGrain);
}

}  // namespace thixo
