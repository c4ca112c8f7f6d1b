// Several products of one shape in one call: codegen/llvm/products.py says what it computes.
#pragma once
#include <cstdint>

#include "conv_kernels.h"
#include "shipped.h"

namespace thixo {

// Strides are in elements. `order` says where each product's part of `b` begins; `read` and `write` are asked for meanwhile, so
// many lines before each tile.
struct Products {
  int64_t k = 0;
  const void* a = nullptr;
  int64_t a_k = 0, a_next = 0;
  const void* b = nullptr;
  int64_t b_k = 0;
  const int64_t* order = nullptr;
  void* c = nullptr;
  int64_t c_row = 0, c_next = 0;
  int64_t count = 0, tiles = 1, add = 0;
  const void* read = nullptr;
  int64_t reads = 0;
  const void* write = nullptr;
  int64_t writes = 0;
};
using ProductsCall = void (*)(const Products* job, int64_t rows, int64_t vectors);

// The most rows of a tile that cut `rows` into equal ones, if these are nearly as good as the largest; else nearly equal ones.
inline int64_t tile_height(int64_t rows, int64_t most) {
  for (int64_t height = most; 4 * height >= 3 * most; --height)
    if (rows % height == 0) return height;
  const int64_t tiles = (rows + most - 1) / most;
  return (rows + tiles - 1) / tiles;
}

// All `rows` of each product, in tiles of `height`; `a_row`: from row to row of A, which the kernel knows.
inline void multiply_all(ProductsCall call, Products& job, int64_t rows, int64_t height, int64_t vectors, int64_t a_row) {
  job.tiles = rows / height;
  if (job.tiles) call(&job, height, vectors);
  const int64_t done = job.tiles * height;
  if (done == rows) return;
  Products rest = job;
  rest.tiles = 1;
  rest.a = static_cast<const float*>(job.a) + done * a_row;
  rest.c = static_cast<float*>(job.c) + done * job.c_row;
  rest.reads = rest.writes = 0;
  call(&rest, rows - done, vectors);
}

// Elements [from, to) of parts that lie `apart` elements from each other, added to the first of them in order: a few at a time,
// which stay in registers.
template <class T>
void add_parts(T* first, int64_t parts, int64_t apart, int64_t from, int64_t to) {
  constexpr int64_t kFew = 32;
  for (; from + kFew <= to; from += kFew) {
    T sums[kFew];
    for (int64_t i = 0; i < kFew; ++i) sums[i] = first[from + i];
    for (int64_t part = 1; part < parts; ++part) {
      const T* other = first + part * apart + from;
      for (int64_t i = 0; i < kFew; ++i) sums[i] += other[i];
    }
    for (int64_t i = 0; i < kFew; ++i) first[from + i] = sums[i];
  }
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = from; i < to; ++i) first[i] += first[part * apart + i];
}

}  // namespace thixo
