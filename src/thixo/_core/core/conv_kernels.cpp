#include "conv_kernels.h"

#include <cmath>
#include <string>

#include "kernels/types.h"
#include "shipped_table.h"

namespace thixo {

namespace {

constexpr int64_t kLanes = 4;

template <class T>
void tile(int64_t k, const void* a, int64_t a_row, const void* b, const Offsets* table, void* c, int64_t ldc,
          int64_t rows, int64_t vectors, int64_t add) {
  const int64_t columns = vectors * kLanes;
  T sums[kLanes * kMostVectors];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) sums[j] = 0;
    for (int64_t p = 0; p < k; ++p) {
      const T one = reinterpret_cast<const T*>(static_cast<const char*>(a) + table[p].a)[i * a_row];
      const T* row = reinterpret_cast<const T*>(static_cast<const char*>(b) + table[p].b);
      for (int64_t j = 0; j < columns; ++j) sums[j] += one * row[j];
    }
    T* to = static_cast<T*>(c) + i * ldc;
    for (int64_t j = 0; j < columns; ++j) to[j] = add & 1 ? to[j] + sums[j] : sums[j];
  }
}

template <class T>
void dots(int64_t rows, int64_t count, const void* g, int64_t g_row, const void* x, int64_t x_row, const int64_t* shifts,
          int64_t taps, void* out) {
  for (int64_t t = 0; t < taps; ++t) {
    T total = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = static_cast<const T*>(g) + r * g_row;
      const T* other = static_cast<const T*>(x) + r * x_row + shifts[t];
      for (int64_t j = 0; j < count; ++j) total += from[j] * other[j];
    }
    static_cast<T*>(out)[t] += total;
  }
}

template <class S, class T>
void rows(const void* from, int64_t from_row, int64_t step, void* to, int64_t to_row, int64_t rows, int64_t count) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < count; ++j)
      static_cast<T*>(to)[r * to_row + j] = T(static_cast<const S*>(from)[r * from_row + j * step]);
}

template <class S, class T>
void store(const void* sums, int64_t ld, void* y, int64_t y_row, int64_t step, int64_t rows, const void* bias,
           const Segment* segments, int64_t pieces) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t p = 0; p < pieces; ++p) {
      const T* from = static_cast<const T*>(sums) + r * ld + segments[p].from;
      S* to = static_cast<S*>(y) + r * y_row + segments[p].to;
      for (int64_t j = 0; j < segments[p].count; ++j)
        to[j * step] = bias ? S(from[j] + T(static_cast<const S*>(bias)[r])) : S(from[j]);
    }
}

template <class S, class T>
void turn(const void* from, int64_t from_row, void* to, int64_t to_row, int64_t length, int64_t count) {
  for (int64_t p = 0; p < length; ++p)
    for (int64_t i = 0; i < kLanes; ++i)
      static_cast<T*>(to)[p * to_row + i] = T(static_cast<const S*>(from)[std::min(i, count - 1) * from_row + p]);
}

template <class S, class T>
void spread(const void* from, int64_t from_row, void* to, const int64_t* places, int64_t length, int64_t count) {
  for (int64_t p = 0; p < length; ++p)
    for (int64_t i = 0; i < count; ++i) static_cast<T*>(to)[places[p] + i] = T(static_cast<const S*>(from)[i * from_row + p]);
}

template <class S, class T>
void collect(const void* sums, const int64_t* places, void* to, int64_t to_row, int64_t length, int64_t count, const void* bias) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t p = 0; p < length; ++p) {
      const T sum = static_cast<const T*>(sums)[places[p] + i];
      static_cast<S*>(to)[i * to_row + p] = bias ? S(sum + T(static_cast<const S*>(bias)[i])) : S(sum);
    }
}

template <class S, class T>
void lines(const void* sums, int64_t ld, void* to, int64_t to_row, int64_t places, int64_t count, const void* bias) {
  for (int64_t p = 0; p < places; ++p)
    for (int64_t i = 0; i < count; ++i) {
      const T sum = static_cast<const T*>(sums)[p * ld + i];
      static_cast<S*>(to)[p * to_row + i] = bias ? S(sum + T(static_cast<const S*>(bias)[i])) : S(sum);
    }
}

template <class T>
void gather(const void* image, const Offsets* table, int64_t k, const Piece* pieces, int64_t count, void* panel, int64_t ld) {
  for (int64_t p = 0; p < k; ++p) {
    const T* from = reinterpret_cast<const T*>(static_cast<const char*>(image) + table[p].b);
    for (int64_t s = 0; s < count; ++s)
      for (int64_t j = 0; j < kLanes; ++j) static_cast<T*>(panel)[p * ld + pieces[s].to + j] = from[pieces[s].from + j];
  }
}

template <class T>
void plane(const void* x, int64_t x_row, const int64_t* shifts, const void* weights, int64_t taps, void* y, int64_t y_row,
           int64_t rows, int64_t count, const void* bias) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < count; ++j) {
      T total = 0;
      for (int64_t t = 0; t < taps; ++t)
        total += static_cast<const T*>(weights)[t] * static_cast<const T*>(x)[r * x_row + j + shifts[t]];
      static_cast<T*>(y)[r * y_row + j] = bias ? total + *static_cast<const T*>(bias) : total;
    }
}

template <class T>
void depth(int64_t k, const void* x, int64_t x_step, const void* w, const Offsets* table, void* y, int64_t y_step, int64_t places) {
  for (int64_t r = 0; r < places; ++r) {
    T sums[kLanes] = {};
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < kLanes; ++j)
        sums[j] += reinterpret_cast<const T*>(static_cast<const char*>(x) + table[p].a)[r * x_step + j] *
                   reinterpret_cast<const T*>(static_cast<const char*>(w) + table[p].b)[j];
    for (int64_t j = 0; j < kLanes; ++j) static_cast<T*>(y)[r * y_step + j] = sums[j];
  }
}

template <class T>
void bias(void* y, int64_t y_row, int64_t rows, int64_t count, const void* from) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < count; ++j) static_cast<T*>(y)[r * y_row + j] += static_cast<const T*>(from)[r];
}

template <class S, class T>
ConvKernels portable(DType source, DType compute) {
  ConvKernels made;
  made.source = source;
  made.compute = compute;
  made.lanes = kLanes;
  made.tile = tile<T>;
  made.dots = dots<T>;
  made.rows = rows<S, T>;
  made.store = store<S, T>;
  made.turn = turn<S, T>;
  made.spread = spread<S, T>;
  made.collect = collect<S, T>;
  made.lines = lines<S, T>;
  made.gather = gather<T>;
  made.plane = plane<T>;
  made.depth = depth<T>;
  made.bias = bias<T>;
  return made;
}

template <class Call>
bool find(Call& call, const std::string& name) {
  call = reinterpret_cast<Call>(shipped(name.c_str()));
  return call != nullptr;
}

ConvKernels load(DType dtype) {
  const ConvKernels plain = portable_conv_kernels(dtype);
  ConvKernels fast = plain;
  const std::string source = std::string("conv_") + short_name(plain.source), compute = std::string("conv_") + short_name(plain.compute);
  const auto* shape = static_cast<const int64_t*>(shipped((compute + "_shape").c_str()));
  if (!shape || shape[0] != kMostVectors || !find(fast.tile, compute + "_tile") || !find(fast.dots, compute + "_dots") ||
      !find(fast.rows, source + "_rows") || !find(fast.store, source + "_store") || !find(fast.turn, source + "_turn") ||
      !find(fast.spread, source + "_spread") || !find(fast.collect, source + "_collect") ||
      !find(fast.lines, source + "_lines") ||
      !find(fast.gather, compute + "_gather") || !find(fast.plane, compute + "_plane") ||
      !find(fast.depth, compute + "_depth") || !find(fast.bias, compute + "_bias"))
    return plain;
  fast.lanes = shape[1];
  for (int64_t v = 0; v < kMostVectors; ++v) fast.most_rows[v] = shape[2 + v];
  return fast;
}

ShippedTable<ConvKernels> table;

}  // namespace

ConvKernels portable_conv_kernels(DType dtype) {
  switch (dtype) {
    case DType::F64: return portable<double, double>(dtype, dtype);
    case DType::F16: return portable<Half, float>(dtype, DType::F32);
    case DType::BF16: return portable<BFloat16, float>(dtype, DType::F32);
    default: return portable<float, float>(DType::F32, DType::F32);
  }
}

const ConvKernels& conv_kernels(DType dtype) { return table.of(dtype, load); }

}  // namespace thixo
