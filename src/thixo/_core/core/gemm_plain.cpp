// Products of integers, of complex numbers, and those of 16-bit floats that are too small for tiles.
#include <complex>
#include <cstring>

#include "gemm_job.h"
#include "kernels/types.h"
#include "thread_pool.h"

namespace thixo {

namespace {

template <class T>
void plain(const Product& p) {
  // Overflow is defined for unsigned types that are not narrower than int.
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const T *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  // Rows of B that are contiguous make the inner loop one over neighbours.
  Buffer copied(p.b_n == 1 || p.m < 2 ? 0 : size_t(p.k * p.n) * sizeof(T));
  if (rehearsing()) return;
  int64_t b_k = p.b_k, b_n = p.b_n;
  if (copied.data) {
    T* to = reinterpret_cast<T*>(copied.data);
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t n = 0; n < p.n; ++n) to[k * p.n + n] = b[k * p.b_k + n * p.b_n];
    b = to;
    b_k = p.n;
    b_n = 1;
  }
  constexpr int64_t kStrip = 512;
  const int64_t strips = ceil_div(p.n, kStrip);
  const int64_t grain = std::max<int64_t>(1, (1 << 18) / (p.k * std::min(p.n, kStrip) + 1));
  parallel_for(p.m * strips, grain, [&](int64_t from, int64_t to) {
    U sums[kStrip];
    for (int64_t task = from; task < to; ++task) {
      const int64_t row = task / strips, column = task % strips * kStrip, count = std::min(kStrip, p.n - column);
      for (int64_t j = 0; j < count; ++j) sums[j] = p.bias ? U(static_cast<const T*>(p.bias)[(column + j) * p.bias_n]) : U(0);
      for (int64_t k = 0; k < p.k; ++k) {
        const U factor = U(a[row * p.a_row + k * p.a_k]);
        const T* line = b + k * b_k + column * b_n;
        if (b_n == 1) {
          THIXO_INDEPENDENT
          for (int64_t j = 0; j < count; ++j) sums[j] = sums[j] + factor * U(line[j]);
        } else {
          for (int64_t j = 0; j < count; ++j) sums[j] = sums[j] + factor * U(line[j * b_n]);
        }
      }
      for (int64_t j = 0; j < count; ++j) c[row * p.c_row + (column + j) * p.c_n] = T(sums[j]);
      if (p.epilogue.apply)
        p.epilogue.apply(c + row * p.c_row + column * p.c_n, p.c_row, p.c_n, row, 1, column, count, p.epilogue.context);
    }
  });
}

template <class S>
void few(const Product& p) {
  const S *a = static_cast<const S*>(p.a), *b = static_cast<const S*>(p.b), *bias = static_cast<const S*>(p.bias);
  S* c = static_cast<S*>(p.c);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < p.k; ++k) sum += float(a[i * p.a_row + k * p.a_k]) * float(b[k * p.b_k + j * p.b_n]);
      if (bias) sum += float(bias[j * p.bias_n]);
      c[i * p.c_row + j * p.c_n] = S(sum);
    }
  if (p.epilogue.apply) p.epilogue.apply(p.c, p.c_row, p.c_n, 0, p.m, 0, p.n, p.epilogue.context);
}

template <class T>
void small_complex(const Product& p) {
  using C = std::complex<T>;
  const C *a = static_cast<const C*>(p.a), *b = static_cast<const C*>(p.b), *bias = static_cast<const C*>(p.bias);
  C* c = static_cast<C*>(p.c);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T re = 0, im = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const C x = a[i * p.a_row + k * p.a_k], y = b[k * p.b_k + j * p.b_n];
        re += x.real() * y.real() - x.imag() * y.imag();
        im += x.real() * y.imag() + x.imag() * y.real();
      }
      if (bias) re += bias[j * p.bias_n].real(), im += bias[j * p.bias_n].imag();
      c[i * p.c_row + j * p.c_n] = C(re, im);
    }
}

// Four products of the real and imaginary parts.
template <class T>
void large_complex(const Product& p) {
  using C = std::complex<T>;
  const int64_t count = p.m * p.n;
  Buffer parts(size_t(4 * count) * sizeof(T));
  T* sums = reinterpret_cast<T*>(parts.data);
  for (int part = 0; part < 4; ++part) {
    Product real;
    real.dtype = sizeof(T) == 4 ? DType::F32 : DType::F64;
    real.m = p.m, real.n = p.n, real.k = p.k;
    real.a = static_cast<const T*>(p.a) + (part & 1);
    real.a_row = 2 * p.a_row, real.a_k = 2 * p.a_k;
    real.b = static_cast<const T*>(p.b) + (part >> 1);
    real.b_k = 2 * p.b_k, real.b_n = 2 * p.b_n;
    real.c = sums + part * count;
    real.c_row = p.n;
    gemm(real);
  }
  if (rehearsing()) return;
  const C* bias = static_cast<const C*>(p.bias);
  C* c = static_cast<C*>(p.c);
  parallel_for(p.m, std::max<int64_t>(1, 16384 / p.n), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        const T* s = sums + i * p.n + j;
        C total(s[0] - s[3 * count], s[count] + s[2 * count]);
        if (bias) total += bias[j * p.bias_n];
        c[i * p.c_row + j * p.c_n] = total;
      }
  });
}

template <class T>
void complex_of(const Product& p) {
  if (double(p.m) * double(p.n) * double(p.k) < 4096) {
    if (!rehearsing()) small_complex<T>(p);
  } else {
    large_complex<T>(p);
  }
  if (p.epilogue.apply && !rehearsing()) p.epilogue.apply(p.c, p.c_row, p.c_n, 0, p.m, 0, p.n, p.epilogue.context);
}

}  // namespace

void plain_product(const Product& p) {
  switch (p.dtype) {
    case DType::I8: return plain<int8_t>(p);
    case DType::I16: return plain<int16_t>(p);
    case DType::I32: return plain<int32_t>(p);
    case DType::I64: return plain<int64_t>(p);
    case DType::U8: return plain<uint8_t>(p);
    case DType::U16: return plain<uint16_t>(p);
    case DType::U32: return plain<uint32_t>(p);
    default: return plain<uint64_t>(p);
  }
}

void few_product(const Product& p) {
  if (rehearsing()) return;
  if (p.dtype == DType::F16) few<Half>(p);
  else few<BFloat16>(p);
}

void complex_product(const Product& p) {
  if (p.dtype == DType::C64) complex_of<float>(p);
  else complex_of<double>(p);
}

}  // namespace thixo
