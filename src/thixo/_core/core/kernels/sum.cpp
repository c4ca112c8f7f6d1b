// Sums. Each result adds its elements, in the order of their indices, by one fixed tree:
//   leaves of 256 elements, in 16 interleaved lanes that are folded in halves;
//   leaves pairwise into pieces of 256 leaves; pieces pairwise into the result.
// Memory layout and threads choose how the tree is computed (rows, or many columns side by side),
// never its form.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../allocator.h"
#include "../kernels.h"
#include "../thread_pool.h"
#include "types.h"

namespace thixo {
namespace {

constexpr int kLanes = 16;
constexpr int64_t kLeaf = 256;
constexpr int64_t kPiece = 256 * kLeaf;
template <class A> constexpr int kColumns = 1024 / sizeof(A);  // results side by side
constexpr int64_t kGrain = 32768;

// Some dimensions of the source, in their logical order, merged where the strides allow it.
struct Space {
  int ndim = 0;
  int64_t total = 1;
  int64_t sizes[kMaxDims];    // outermost first
  int64_t strides[kMaxDims];

  void add(int64_t size, int64_t stride) {
    total *= size;
    if (size == 1) return;
    if (ndim > 0 && strides[ndim - 1] == stride * size) {
      sizes[ndim - 1] *= size;
      strides[ndim - 1] = stride;
    } else {
      sizes[ndim] = size;
      strides[ndim++] = stride;
    }
  }
  int64_t inner_size() const { return ndim ? sizes[ndim - 1] : 1; }
  int64_t inner_stride() const { return ndim ? strides[ndim - 1] : 0; }
};

// Walks a space from any position.
struct Walk {
  const Space& space;
  int64_t index[kMaxDims];
  int64_t offset = 0;  // in bytes

  Walk(const Space& space, int64_t position) : space(space) {
    for (int d = space.ndim - 1; d >= 0; --d) {
      index[d] = position % space.sizes[d];
      position /= space.sizes[d];
      offset += index[d] * space.strides[d];
    }
  }
  // n elements onward, where n does not pass the end of the innermost row; from the last element
  // to the first.
  void advance(int64_t n) {
    for (int d = space.ndim - 1; d >= 0; --d, n = 1) {
      index[d] += n;
      offset += n * space.strides[d];
      if (index[d] < space.sizes[d]) return;
      offset -= index[d] * space.strides[d];
      index[d] = 0;
    }
  }
  int64_t left_in_row() const {
    return space.ndim ? space.sizes[space.ndim - 1] - index[space.ndim - 1] : 1;
  }
};

// Adds up a sequence pairwise: a binary counter whose digits are sums of 2^level entries. A row of
// `width` sums goes side by side.
template <class A, int kLevels, int kWidth>
struct Counter {
  int64_t count = 0;
  A levels[kLevels][kWidth];

  void push(const A* values, int width) {
    int level = 0;
    A carried[kWidth];
    std::copy_n(values, width, carried);
    for (int64_t c = count++; c & 1; c >>= 1, ++level) {
      for (int j = 0; j < width; ++j) carried[j] = levels[level][j] + carried[j];
    }
    std::copy_n(carried, width, levels[level]);
  }
  void finish(A* result, int width) const {
    std::fill_n(result, width, A(0));
    bool first = true;
    int level = 0;
    for (int64_t c = count; c; c >>= 1, ++level) {
      if (!(c & 1)) continue;
      for (int j = 0; j < width; ++j) result[j] = first ? levels[level][j] : levels[level][j] + result[j];
      first = false;
    }
  }
};

template <class A>
A fold(A* lanes, int used) {
  for (int half = used / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
  }
  return lanes[0];
}

int lanes_for(int64_t n) {
  int lanes = 1;
  while (lanes < n && lanes < kLanes) lanes *= 2;
  return lanes;
}

// Up to 8 elements: the same sum in registers, without lanes that stay zero.
template <class T, class A>
inline A add_few(const char* at, int64_t stride, int64_t n) {
  const auto lane = [=](int64_t l) { return l < n ? A(0) + convert<A>(load<T>(at + l * stride)) : A(0); };
  if (n <= 2) return lane(0) + lane(1);
  const A even = lane(0) + lane(4), odd = lane(1) + lane(5);
  return (even + (lane(2) + lane(6))) + (odd + (lane(3) + lane(7)));
}

template <class T, class A>
A add_leaf(const char* at, int64_t stride, int64_t n) {
  if (n <= 8) return add_few<T, A>(at, stride, n);
  A lanes[kLanes] = {};
  int64_t i = 0;
  if (stride == sizeof(T) && aligned<T>(at)) {
    const T* x = reinterpret_cast<const T*>(at);
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = lanes[l] + convert<A>(x[i + l]);
    }
    for (int l = 0; i + l < n; ++l) lanes[l] = lanes[l] + convert<A>(x[i + l]);
  } else {
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = lanes[l] + convert<A>(load<T>(at + (i + l) * stride));
    }
    for (int l = 0; i + l < n; ++l) lanes[l] = lanes[l] + convert<A>(load<T>(at + (i + l) * stride));
  }
  return fold(lanes, lanes_for(n));
}

// Elements [begin, end) of one result's sequence; at most a piece.
template <class T, class A>
A add_row(const char* base, const Space& reduced, int64_t begin, int64_t end) {
  if (end - begin <= kLeaf && reduced.ndim <= 1) {
    const int64_t stride = reduced.inner_stride();
    return add_leaf<T, A>(base + begin * stride, stride, end - begin);
  }
  Counter<A, 10, 1> counter;
  Walk walk(reduced, begin);
  const int64_t stride = reduced.inner_stride();
  while (begin < end) {
    const int64_t n = std::min(kLeaf, end - begin);
    A leaf;
    if (walk.left_in_row() >= n) {
      leaf = add_leaf<T, A>(base + walk.offset, stride, n);
      walk.advance(n);
    } else {  // the leaf is made of several rows: gather it
      alignas(64) char gathered[kLeaf * sizeof(T)];
      for (int64_t done = 0; done < n;) {
        const int64_t part = std::min(n - done, walk.left_in_row());
        for (int64_t i = 0; i < part; ++i) {
          store(gathered + (done + i) * sizeof(T), load<T>(base + walk.offset + i * stride));
        }
        done += part;
        walk.advance(part);
      }
      leaf = add_leaf<T, A>(gathered, sizeof(T), n);
    }
    counter.push(&leaf, 1);
    begin += n;
  }
  A result;
  counter.finish(&result, 1);
  return result;
}

// The same for `width` neighbouring results at once; their elements lie `step` bytes apart.
template <class T, class A>
void add_columns(const char* base, int64_t step, int width, const Space& reduced, int64_t begin,
                 int64_t end, A* result) {
  Counter<A, 10, kColumns<A>> counter;
  A lanes[kLanes][kColumns<A>];
  Walk walk(reduced, begin);
  while (begin < end) {
    const int64_t n = std::min(kLeaf, end - begin);
    const int used = lanes_for(n);
    for (int l = 0; l < used; ++l) std::fill_n(lanes[l], width, A(0));
    for (int64_t i = 0; i < n; ++i) {
      A* lane = lanes[i % kLanes];
      const char* at = base + walk.offset;
      if (step == sizeof(T) && aligned<T>(at)) {
        const T* x = reinterpret_cast<const T*>(at);
        THIXO_INDEPENDENT
        for (int j = 0; j < width; ++j) lane[j] = lane[j] + convert<A>(x[j]);
      } else {
        for (int j = 0; j < width; ++j) lane[j] = lane[j] + convert<A>(load<T>(at + j * step));
      }
      walk.advance(1);
    }
    for (int half = used / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) {
        for (int j = 0; j < width; ++j) lanes[l][j] = lanes[l][j] + lanes[l + half][j];
      }
    }
    counter.push(lanes[0], width);
    begin += n;
  }
  counter.finish(result, width);
}

// Copy elements [begin, end) of the sequence to `to`, as a few boxes: the copy kernel knows how to
// read a box whose dense dimension is not the innermost.
void pack(char* to, const char* base, DType dtype, const Space& space, int first, int64_t begin,
          int64_t end) {
  int64_t inner = 1;
  for (int d = first + 1; d < space.ndim; ++d) inner *= space.sizes[d];
  const int64_t item = item_size(dtype), stride = space.strides[first];
  const auto partial_row = [&](int64_t row, int64_t from, int64_t until) {
    pack(to, base + row * stride, dtype, space, first + 1, from, until);
    to += (until - from) * item;
    begin += until - from;
  };
  if (begin % inner) {
    partial_row(begin / inner, begin % inner, std::min(inner, begin % inner + end - begin));
  }
  if (const int64_t rows = (end - begin) / inner; rows > 0) {
    int64_t sizes[kMaxDims], strides[kMaxDims], packed[kMaxDims];
    const int ndim = space.ndim - first;
    std::copy_n(space.sizes + first, ndim, sizes);
    std::copy_n(space.strides + first, ndim, strides);
    sizes[0] = rows;
    for (int64_t d = ndim - 1, bytes = item; d >= 0; bytes *= sizes[d--]) packed[d] = bytes;
    char* from = const_cast<char*>(base) + begin / inner * stride;
    copy({to, dtype, ndim, sizes, packed}, {from, dtype, ndim, sizes, strides});
    to += rows * inner * item;
    begin += rows * inner;
  }
  if (begin < end) partial_row(begin / inner, 0, end - begin);
}

struct Scratch {
  size_t bytes;
  char* data;
  explicit Scratch(size_t bytes)
      : bytes(bytes), data(bytes ? static_cast<char*>(allocate(bytes)) : nullptr) {}
  ~Scratch() { release(data, bytes); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

// Whether the sequence's neighbours lie far apart while other elements of it lie closer.
bool is_transposed(const Space& reduced) {
  if (reduced.ndim < 2 || reduced.total < 4096) return false;
  const int64_t inner = std::abs(reduced.inner_stride());
  for (int d = 0; d < reduced.ndim - 1; ++d) {
    const int64_t stride = std::abs(reduced.strides[d]);
    if (stride != 0 && stride < inner) return true;
  }
  return false;
}

// sums[k] for every kept element k in logical order.
template <class T, class A>
void add_all(A* sums, DType dtype, const char* data, const Space& kept, const Space& reduced) {
  const int64_t pieces = (reduced.total + kPiece - 1) / kPiece;
  const int64_t per_item = std::min(reduced.total, kPiece);
  Scratch scratch(pieces > 1 ? static_cast<size_t>(pieces * kept.total) * sizeof(A) : 0);
  A* partial = pieces > 1 ? reinterpret_cast<A*>(scratch.data) : sums;

  const bool columns = kept.inner_size() >= 8 && reduced.ndim > 0 &&
                       std::abs(kept.inner_stride()) < std::abs(reduced.inner_stride());
  if (columns) {
    const int64_t size = kept.inner_size(), step = kept.inner_stride();
    constexpr int64_t most = kColumns<A>;
    const int64_t tiles = (size + most - 1) / most, groups = kept.total / size * tiles;
    const int64_t grain = std::max<int64_t>(1, kGrain / (per_item * std::min(size, most)));
    parallel_for(pieces * groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t piece = item / groups, outer = item % groups / tiles;
        const int64_t first = item % tiles * most, k = outer * size + first;
        const int width = static_cast<int>(std::min(most, size - first));
        const int64_t from = piece * kPiece, until = std::min(reduced.total, from + kPiece);
        add_columns<T, A>(data + Walk(kept, k).offset, step, width, reduced, from, until,
                          partial + piece * kept.total + k);
      }
    });
  } else {
    const bool transposed = is_transposed(reduced);
    const int64_t grain = std::max<int64_t>(1, kGrain / per_item);
    parallel_for(pieces * kept.total, grain, [&](int64_t begin, int64_t end) {
      Scratch packed(transposed ? static_cast<size_t>(per_item) * sizeof(T) : 0);
      int64_t piece = begin / kept.total, k = begin % kept.total;
      Walk walk(kept, k);
      for (int64_t item = begin; item < end; ++item) {
        const int64_t from = piece * kPiece, until = std::min(reduced.total, from + kPiece);
        const char* base = data + walk.offset;
        if (transposed) {
          pack(packed.data, base, dtype, reduced, 0, from, until);
          Space dense;
          dense.add(until - from, sizeof(T));
          partial[item] = add_row<T, A>(packed.data, dense, 0, until - from);
        } else {
          partial[item] = add_row<T, A>(base, reduced, from, until);
        }
        walk.advance(1);
        if (++k == kept.total) k = 0, ++piece;
      }
    });
  }

  if (pieces == 1) return;
  parallel_for(kept.total, std::max<int64_t>(1, kGrain / pieces), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      Counter<A, 48, 1> counter;
      for (int64_t piece = 0; piece < pieces; ++piece) counter.push(partial + piece * kept.total + k, 1);
      counter.finish(sums + k, 1);
    }
  });
}

template <class T> struct Accumulator { using type = T; };
template <> struct Accumulator<Half> { using type = float; };
template <> struct Accumulator<BFloat16> { using type = float; };

DType accumulation_dtype(DType t) {
  if (is_bool(t) || is_integer(t)) return DType::I64;
  return is_half(t) ? DType::F32 : t;
}

}  // namespace

void sum(const Array& result, const Array& source, const bool* reduced_dims) {
  Space kept, reduced;
  for (int d = 0; d < source.ndim; ++d) {
    (reduced_dims[d] ? reduced : kept).add(source.sizes[d], source.strides[d]);
  }
  if (kept.total == 0) return;
  if (reduced.total == 0) return fill(result, nullptr);

  alignas(16) char few[16 * 16];
  const DType dtype = accumulation_dtype(source.dtype);
  const size_t bytes = static_cast<size_t>(kept.total) * item_size(dtype);
  Scratch many(bytes > sizeof(few) ? bytes : 0);
  char* sums = bytes > sizeof(few) ? many.data : few;
  visit(source.dtype, [&]<class T>() {
    // integers add as unsigned, which wraps; the bits are those of int64
    using A = std::conditional_t<std::is_integral_v<T> || kIsBool<T>, uint64_t,
                                 typename Accumulator<T>::type>;
    add_all<T, A>(reinterpret_cast<A*>(sums), source.dtype, source.data, kept, reduced);
  });

  if (kept.total == 1 && result.dtype == dtype) {
    std::memcpy(result.data, sums, bytes);
    return;
  }
  int64_t strides[kMaxDims];
  int64_t step = item_size(dtype);
  bool same = result.dtype == dtype;
  for (int d = source.ndim - 1; d >= 0; --d) {
    strides[d] = step;
    if (reduced_dims[d]) continue;
    same = same && (source.sizes[d] == 1 || result.strides[d] == step);
    step *= source.sizes[d];
  }
  if (same) std::memcpy(result.data, sums, bytes);
  else copy(result, {sums, dtype, result.ndim, result.sizes, strides});
}

}  // namespace thixo
