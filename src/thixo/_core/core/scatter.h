// Elements written or added to places that index tensors name. What several threads do never meets in one place, and
// each place takes what comes to it in the order of the indices: results do not depend on the number of threads.
// As in gather.h, false says that an index is out of range.
#pragma once
#include "gather.h"

namespace thixo {

enum class Write : uint8_t { Set, Add };

// to[b][place p][a] = (or +=) from[b][p][a]. `from` has the axes of before, places, after with strides in bytes, 0 where
// it is broadcast: those of `before` and `after` are given for both in the same order (not merged). Blocks of `to`
// are only written if all are in range. Halves are added in float: then `to` is F32 while `from` is `dtype`. A `fresh` `to`
// of so many bytes is contiguous and holds nothing yet: zeros come first, each thread's while that is in its cache.
struct Scatter {
  char* to = nullptr;
  int64_t fresh = 0;
  const char* from = nullptr;
  DType dtype = DType::F32;  // of from
  Write write = Write::Set;
  Places places;
  int64_t from_place = 0;  // stride of `from` from place to place
  int before = 0, after = 0;
  int64_t before_sizes[kMaxDims], before_to[kMaxDims], before_from[kMaxDims];
  int64_t after_sizes[kMaxDims], after_to[kMaxDims], after_from[kMaxDims];
};
bool scatter_blocks(const Scatter& job);

// to[p] = the sum of all rows from[i] whose place is p, 0 where there are none: what scatter_blocks would add up in zeros, with
// no zeros to be written and read again. Rows of `width` elements, those of `to` one after the other, those of `from` at a
// stride of `from_row` bytes; the strides of `places` are in rows, of which `to` has `rows`. Both have the dtype; halves are
// added in float and rounded once. False, with `to` untouched, if a place is out of range.
struct RowSums {
  char* to = nullptr;
  const char* from = nullptr;
  DType dtype = DType::F32;
  int64_t rows = 0, width = 0, from_row = 0;
  Places places;
};
bool sum_rows(const RowSums& job);
constexpr int64_t kSummedRow = 64;  // bytes of a row from which this pays

// to[..., index[..., j, ...], ...] = (or +=) from[..., j, ...] along one axis. index's shape is walked; the axes of
// from are at least as long, those of `to` too but for `axis`. An `Add` into halves wants `to` in F32. With `check_first`
// nothing is written if an index is out of range; without, those in range may be. A `fresh` `to` is contiguous, holds
// nothing yet, and is as long as `index` but for `axis`: each thread makes zeros of its part while that is in its cache.
bool scatter_along(const Array& to, const Array& from, const Array& index, int axis, Write write, bool check_first,
                   bool fresh = false);

}  // namespace thixo
