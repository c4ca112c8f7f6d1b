#include "move.h"

#include <algorithm>
#include <cstring>

#include "dims.h"
#include "kernels.h"
#include "thread_pool.h"

namespace thixo {

void join_rows(char* to, const Part* parts, int64_t count, int64_t rows, int64_t row_bytes) {
  if (row_bytes == 0 || rows == 0) return;
  const int64_t total = rows * row_bytes;
  parallel_for(total, kMoveGrain, [&](int64_t begin, int64_t end) {
    // Where the chunk begins: in which row, in which part, how far into it.
    int64_t row = begin / row_bytes, skip = begin % row_bytes, part = 0;
    while (skip >= parts[part].bytes) skip -= parts[part++].bytes;
    char* at = to + begin;
    int64_t left = end - begin;
    while (left > 0) {
      const Part& p = parts[part];
      const int64_t n = std::min(p.bytes - skip, left);
      if (n) std::memcpy(at, p.data + row * p.stride + skip, size_t(n));
      at += n;
      left -= n;
      skip = 0;
      if (++part == count) {
        part = 0;
        ++row;
      }
    }
  });
}

void pad(char* to, const Array& from, const int64_t* before, const int64_t* after, const void* element) {
  const int item = item_size(from.dtype), ndim = from.ndim;
  Dims sizes(ndim), strides(ndim), inner(ndim);
  bool inside = true, grows = false;
  for (int d = 0; d < ndim; ++d) {
    sizes[d] = from.sizes[d] + before[d] + after[d];
    inner[d] = from.sizes[d] + std::min<int64_t>(before[d], 0) + std::min<int64_t>(after[d], 0);
    inside = inside && inner[d] > 0;
    grows = grows || before[d] > 0 || after[d] > 0;
  }
  for (int64_t step = item, d = ndim - 1; d >= 0; --d) {
    strides[int(d)] = step;
    step *= std::max<int64_t>(sizes[int(d)], 1);
  }
  // The borders, axis by axis: outer ones whole, inner ones only where the axes before them are inside.
  char* corner = to;
  Dims rest = sizes;
  auto border = [&](char* at, int d, int64_t size) {
    const int64_t kept = rest[d];
    rest[d] = size;
    fill(Array{at, from.dtype, ndim, rest.data(), strides.data()}, element);
    rest[d] = kept;
  };
  for (int d = 0; d < ndim && grows; ++d) {
    const int64_t first = std::max<int64_t>(before[d], 0), last = std::max<int64_t>(after[d], 0);
    if (inner[d] <= 0) {
      border(corner, d, sizes[d]);
      break;
    }
    if (first) border(corner, d, first);
    if (last) border(corner + (sizes[d] - last) * strides[d], d, last);
    corner += first * strides[d];
    rest[d] = inner[d];
  }
  if (!inside) return;
  const char* source = from.data;
  for (int d = 0; d < ndim; ++d) source -= std::min<int64_t>(before[d], 0) * from.strides[d];
  copy(Array{corner, from.dtype, ndim, inner.data(), strides.data()},
       Array{const_cast<char*>(source), from.dtype, ndim, inner.data(), from.strides});
}

void triangle(char* to, const char* from, int64_t matrices, int64_t rows, int64_t columns, int64_t matrix_stride,
              int64_t row_stride, int item, int64_t diagonal, bool lower) {
  const int64_t width = columns * item;
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  const int64_t grain = std::max<int64_t>(1, kMoveGrain / std::max<int64_t>(width, 1));
  parallel_for(matrices * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = r % rows;
      const char* source = from + r / rows * matrix_stride + row * row_stride;
      char* target = to + r * width;
      // Elements before `cut` are on or below the diagonal (lower), or below it (upper).
      const int64_t cut = std::clamp<int64_t>(row + diagonal + (lower ? 1 : 0), 0, columns) * item;
      if (lower) {
        if (cut) std::memcpy(target, source, size_t(cut));
        std::memset(target + cut, 0, size_t(width - cut));
      } else {
        std::memset(target, 0, size_t(cut));
        if (width > cut) std::memcpy(target + cut, source + cut, size_t(width - cut));
      }
    }
  });
}

}  // namespace thixo
