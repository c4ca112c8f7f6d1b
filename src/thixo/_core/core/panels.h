// Products of small matrices by the tiles of the matrix product, for those who multiply with one matrix many times.
#pragma once
#include <algorithm>

#include "gemm_job.h"

namespace thixo {

// Products of small matrices, several of which share one B: it is packed once, and the tiles of the matrix product do the
// rest. With few rows nothing is packed.
template <class T>
class Products {
 public:
  Products() : kernels_(gemm_kernels(sizeof(T) == 8 ? DType::F64 : DType::F32)), tiles_(kernels_.tiles) {}

  struct Factor {
    const T* data = nullptr;
    int64_t k_stride = 0, n_stride = 0, k = 0, n = 0;
    const T* panels = nullptr;
  };
  int64_t columns() const { return tiles_.columns; }
  int64_t room(int64_t k, int64_t n) const { return k * round_up(n, tiles_.columns); }

  // B of (k, n), with its panels in `into`, which has room for them; null: none are made.
  Factor factor(const T* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, T* into) const {
    const int64_t wide = tiles_.columns;
    for (int64_t j = 0; into && j < n; j += wide) {
      const T* from = b + j * n_stride;
      const int64_t count = std::min(wide, n - j);
      if (n_stride == 1) tiles_.pack_b_along(from, k_stride, into + j * k, k, count);
      else tiles_.pack_b_across(from, n_stride, into + j * k, k, count);
    }
    return {b, k_stride, n_stride, k, n, into};
  }

  // C (+)= A B for the first n columns and k rows of B; of A's strides one is 1.
  void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const Factor& b, T* c,
                int64_t c_row, bool add, T* spare) const {
    if (!b.panels) return whole(m, n, k, a, a_row, a_k, b, c, c_row, add, spare);
    const int64_t wide = tiles_.columns, height = ceil_div(m, ceil_div(m, tiles_.rows));
    for (int64_t p = 0; p < k; p += tiles_.block) {
      const int64_t depth = std::min(tiles_.block, k - p);
      for (int64_t j = 0; j < n; j += wide)
        for (int64_t i = 0; i < m; i += height)
          tiles_.tile(depth, a + i * a_row + p * a_k, a_row, a_k, b.panels + j * b.k + p * wide, wide, c + i * c_row + j,
                      c_row, std::min(height, m - i), std::min(wide, n - j), add || p > 0);
    }
  }

 private:
  void whole(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const Factor& b, T* c,
             int64_t c_row, bool add, T* spare) const {
    Product p;
    p.dtype = sizeof(T) == 8 ? DType::F64 : DType::F32;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = a;
    p.a_row = a_row;
    p.a_k = a_k;
    p.b = b.data;
    p.b_k = b.k_stride;
    p.b_n = b.n_stride;
    p.c = add ? spare : c;
    p.c_row = add ? n : c_row;
    gemm(p);
    for (int64_t i = 0; add && i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * c_row + j] += spare[i * n + j];
  }

  const GemmKernels& kernels_;
  const TileKernels& tiles_;
};

}  // namespace thixo
