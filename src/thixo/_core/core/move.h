// Bytes put in other places: joins, pads, triangles. Elements move by their size, whatever they mean.
#pragma once
#include <cstdint>

#include "array.h"

namespace thixo {

// Run body(value of an unsigned type) for an element size of 1, 2, 4, 8 or 16 bytes.
struct Bytes16 {
  uint64_t low, high;
};
template <class Body>
inline void for_item_size(int item, Body&& body) {
  switch (item) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    case 8: return body(uint64_t{});
    default: return body(Bytes16{});
  }
}

// Bytes that one thread moves at a time.
constexpr int64_t kMoveGrain = 1 << 17;

// Rows of several arrays side by side: row r of the result is row r of each part, one after the other.
struct JoinedPart {
  const char* data;
  int64_t bytes;   // of a row
  int64_t stride;  // from row to row
};
void join_rows(char* to, const JoinedPart* parts, int64_t count, int64_t rows, int64_t row_bytes);

// Rows copied with `fill` (one element) before and after them, or cut where `before` or `after` is negative: in
// elements, for each axis. `to` is contiguous.
void pad(char* to, const Array& from, const int64_t* before, const int64_t* after, const void* fill);

// Matrices with zeros above (lower) or below (not lower) the diagonal; `to` is contiguous, `from` has contiguous rows.
void triangle(char* to, const char* from, int64_t matrices, int64_t rows, int64_t columns, int64_t matrix_stride,
              int64_t row_stride, int item, int64_t diagonal, bool lower);

}  // namespace thixo
