// Micro-kernels for any machine: plain loops that compilers unroll and vectorise as they can.
#include <algorithm>

#include "../gemm_kernels.h"
#include "types.h"

namespace thixo {

namespace {

constexpr int64_t kRows = 4, kColumns = 8;

template <class T>
T value(const void* base, int64_t at) { return static_cast<const T*>(base)[at]; }

template <class T>
void tile(int64_t k, const void* a, int64_t a_row, int64_t a_k, const void* b, int64_t b_k, void* c, int64_t ldc,
          int64_t rows, int64_t columns, int64_t add) {
  T sums[kRows][kColumns] = {};
  const T *from_a = static_cast<const T*>(a), *from_b = static_cast<const T*>(b);
  T* to = static_cast<T*>(c);
  if (rows == kRows && columns == kColumns) {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kColumns; ++j) sums[i][j] += from_a[i * a_row + p * a_k] * from_b[p * b_k + j];
  } else {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) sums[i][j] += from_a[i * a_row + p * a_k] * from_b[p * b_k + j];
  }
  const int64_t distance = (add & ~int64_t{kTileAdds | kTileRelu}) / int64_t{sizeof(T)};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T& place = to[i * ldc + j];
      T total = add & kTileAdds ? place + sums[i][j] : sums[i][j];
      if (distance) total = *(&place + distance) + total;
      place = (add & kTileRelu) && total < T(0) ? T(0) : total;
    }
}

template <class S, class T, int64_t width>
void along(const void* source, int64_t stride, void* panel, int64_t k, int64_t count) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < count; ++i) static_cast<T*>(panel)[p * width + i] = T(value<S>(source, p * stride + i));
}

template <class S, class T, int64_t width>
void across(const void* source, int64_t stride, void* panel, int64_t k, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t p = 0; p < k; ++p) static_cast<T*>(panel)[p * width + i] = T(value<S>(source, i * stride + p));
}

template <class S, class T>
void any(const void* source, int64_t stride, int64_t k_stride, void* panel, int64_t k, int64_t count, int64_t width) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < count; ++i)
      static_cast<T*>(panel)[p * width + i] = T(value<S>(source, i * stride + p * k_stride));
}

template <class S, class T>
void finish(const void* sums, int64_t ld, void* c, int64_t ldc, int64_t rows, int64_t columns, const void* bias) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T total = value<T>(sums, i * ld + j);
      if (bias) total += T(value<S>(bias, j));
      static_cast<S*>(c)[i * ldc + j] = S(total);
    }
}

template <class S, class T>
void dots(int64_t k, const void* x, int64_t x_row, const void* w, int64_t w_row, void* y, int64_t y_row,
          int64_t y_column, int64_t rows, int64_t count) {
  for (int64_t n = 0; n < count; ++n)
    for (int64_t i = 0; i < rows; ++i) {
      T total = 0;
      for (int64_t p = 0; p < k; ++p) total += T(value<S>(x, i * x_row + p)) * T(value<S>(w, n * w_row + p));
      static_cast<T*>(y)[i * y_row + n * y_column] = total;
    }
}

template <class S, class T>
void axpys(int64_t k, const void* x, int64_t x_row, int64_t x_k, const void* b, int64_t b_k, void* y, int64_t y_row,
           int64_t rows, int64_t count, int64_t add) {
  for (int64_t i = 0; i < rows; ++i) {
    T* to = static_cast<T*>(y) + i * y_row;
    if (!add) std::fill(to, to + count, T(0));
    for (int64_t p = 0; p < k; ++p) {
      const T factor = T(value<S>(x, i * x_row + p * x_k));
      for (int64_t n = 0; n < count; ++n) to[n] += factor * T(value<S>(b, p * b_k + n));
    }
  }
}

template <class S, class T>
GemmKernels make(DType source, DType compute) {
  GemmKernels made;
  made.source = source;
  made.compute = compute;
  made.partial_rows_of_b = true;
  made.portable = true;
  made.tiles.rows = made.tiles.width = kRows;
  made.tiles.columns = kColumns;
  made.tiles.unit = sizeof(T);
  made.tiles.lanes = kColumns / 2;
  made.tiles.tile = tile<T>;
  made.tiles.pack_a_along = along<S, T, kRows>;
  made.tiles.pack_a_across = across<S, T, kRows>;
  made.tiles.pack_b_along = along<S, T, kColumns>;
  made.tiles.pack_b_across = across<S, T, kColumns>;
  made.tiles.pack_a_any = made.tiles.pack_b_any = any<S, T>;
  made.finish = finish<S, T>;
  made.dots = dots<S, T>;
  made.axpys = axpys<S, T>;
  return made;
}

}  // namespace

GemmKernels portable_gemm_kernels(DType dtype) {
  switch (dtype) {
    case DType::F64: return make<double, double>(DType::F64, DType::F64);
    case DType::F16: return make<Half, float>(DType::F16, DType::F32);
    case DType::BF16: return make<BFloat16, float>(DType::BF16, DType::F32);
    default: return make<float, float>(DType::F32, DType::F32);
  }
}

}  // namespace thixo
