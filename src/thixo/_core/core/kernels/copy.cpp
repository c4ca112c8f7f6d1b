// copy and fill: conversions between all pairs of dtypes over any strides.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "../kernels.h"
#include "../shipped.h"
#include "../thread_pool.h"
#include "nest.h"
#include "types.h"

namespace thixo {
namespace {

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
  if (dt == size && ds == -size && aligned<Bits>(to, source)) {  // backwards
    const Bits* x = reinterpret_cast<const Bits*>(source);
    Bits* z = reinterpret_cast<Bits*>(to);
    THIXO_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = x[-i];
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

// Conversions made for this processor (codegen/convert.py), null where there is none.
struct Conversions {
  int generation;
  Loop loops[kDTypes][kDTypes];  // [from][to]
};

Loop find_shipped(DType to, DType from) {
  static std::atomic<const Conversions*> current{nullptr};  // replaced, never freed: others may be reading it
  const Conversions* now = current.load(std::memory_order_acquire);
  if (!now || now->generation != shipped_generation()) {
    auto* made = new Conversions{shipped_generation(), {}};
    for (int f = 0; f < kDTypes; ++f)
      for (int t = 0; t < kDTypes; ++t) {
        const std::string name = std::string("convert_") + short_name(DType(f)) + "_" + short_name(DType(t));
        if (f != t) made->loops[f][t] = reinterpret_cast<Loop>(shipped(name.c_str()));
      }
    current.store(now = made, std::memory_order_release);
  }
  return now->loops[code(from)][code(to)];
}

constexpr int64_t kShippedLeast = 256;  // elements; fewer are not worth the search

// Innermost rows of so few elements cost more than these: the next dimension is walked along instead, a piece of it at a time.
constexpr int64_t kFewInner = 8, kPiece = 512;

bool has_few_inner(const Nest& nest) {
  return nest.moves && nest.ndim > 1 && nest.sizes[0] <= kFewInner && nest.sizes[1] >= 4 * kFewInner;
}

void move_few(const Nest& nest, Loop loop) {
  const int64_t few = nest.sizes[0], length = nest.sizes[1];
  parallel_evenly(nest.total / few, kLightGrain / few, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t first = begin % length, n = std::min({end - begin, length - first, kPiece});
      char* at[2] = {nest.data[0] + first * nest.strides[1][0], nest.data[1] + first * nest.strides[1][1]};
      int64_t rest = begin / length;
      for (int d = 2; d < nest.ndim; rest /= nest.sizes[d++])
        for (int k = 0; k < 2; ++k) at[k] += rest % nest.sizes[d] * nest.strides[d][k];
      for (int64_t i = 0; i < few; ++i) {
        loop(at, nest.strides[1], n);
        for (int k = 0; k < 2; ++k) at[k] += nest.strides[0][k];
      }
      begin += n;
    }
  });
}

}  // namespace

void copy(const Array& destination, const Array& source) {
  const Array arrays[2] = {source, destination};
  Nest nest;
  build_nest(nest, arrays, 2);
  if (nest.total == 0) return;
  nest.moves = destination.dtype == source.dtype;
  if (!nest.moves && nest.total >= kShippedLeast) {
    if (const Loop loop = find_shipped(destination.dtype, source.dtype)) {
      nest.in_lines = true;
      return run_nest(nest, loop, kLightGrain);
    }
  }
  const Loop loop = find_conversion(destination.dtype, source.dtype);
  has_few_inner(nest) ? move_few(nest, loop) : run_nest(nest, loop, kLightGrain);
}

void fill(const Array& destination, const void* element) {
  static const int64_t no_strides[kMaxDims] = {};
  static const char zeros[16] = {};
  char* from = const_cast<char*>(element ? static_cast<const char*>(element) : zeros);
  const Array source{from, destination.dtype, destination.ndim, destination.sizes, no_strides};
  const Array arrays[2] = {source, destination};
  Nest nest;
  build_nest(nest, arrays, 2);
  run_nest(nest, find_move(destination.dtype), kLightGrain);
}

}  // namespace thixo
