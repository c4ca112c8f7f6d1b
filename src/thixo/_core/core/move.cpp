#include "move.h"

#include <algorithm>
#include <cstring>

#include "copy_line.h"
#include "dims.h"
#include "kernels.h"
#include "kernels/types.h"
#include "thread_pool.h"

namespace thixo {

namespace {

// Parts of one element each: a call of memcpy for every one would cost more than they do.
template <class Bits>
void join_elements(char* to, const JoinedPart* parts, int64_t count, int64_t rows) {
  constexpr int64_t size = sizeof(Bits);
  parallel_for(rows, std::max<int64_t>(1, 32768 / count), [&](int64_t begin, int64_t end) {
    char* at = to + begin * count * size;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t k = 0; k < count; ++k, at += size) store(at, load<Bits>(parts[k].data + row * parts[k].stride));
  });
}

// What is joined from some place on: bytes that lie together, one piece after the other.
struct Joins {
  const JoinedPart* parts;
  int64_t count;
  int64_t row, part, skip;  // where the next piece is: how far into a part of a row
  int64_t left;             // bytes

  struct Piece {
    const char* from;
    int64_t n;
  };
  Piece next() {
    const JoinedPart& p = parts[part];
    const Piece piece{p.data + row * p.stride + skip, std::min(p.bytes - skip, left)};
    left -= piece.n;
    skip = 0;
    if (++part == count) {
      part = 0;
      ++row;
    }
    return piece;
  }
};

void join_by_library(char* to, Joins joins) {
  while (joins.left > 0) {
    const auto [from, n] = joins.next();
    copy_by_library(to, from, n);
    to += n;
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("avx")]] void join_by_vectors(char* to, Joins joins) {
  while (joins.left > 0) {
    const auto [from, n] = joins.next();
    if (n >= kLineVector && n <= kShortLine) copy_whole_vectors(to, from, n);
    else copy_vectors(to, from, n);
    to += n;
  }
}
#else
void join_by_vectors(char* to, Joins joins) { join_by_library(to, joins); }
#endif

}  // namespace

void join_rows(char* to, const JoinedPart* parts, int64_t count, int64_t rows, int64_t row_bytes) {
  if (row_bytes == 0 || rows == 0) return;
  const int64_t each = parts[0].bytes;
  if (rows > 1 && each <= 16 && (each & (each - 1)) == 0 && each * count == row_bytes) {
    bool alike = true;
    for (int64_t k = 1; k < count; ++k) alike = alike && parts[k].bytes == each;
    if (alike) return for_item_size(int(each), [&](auto bits) { join_elements<decltype(bits)>(to, parts, count, rows); });
  }
  const int64_t total = rows * row_bytes;
  parallel_evenly(total, kMoveGrain, [&](int64_t begin, int64_t end) {
    // Where the chunk begins: in which row, in which part, how far into it.
    Joins joins{parts, count, begin / row_bytes, 0, begin % row_bytes, end - begin};
    while (joins.skip >= parts[joins.part].bytes) joins.skip -= parts[joins.part++].bytes;
    copies_by_vectors() ? join_by_vectors(to + begin, joins) : join_by_library(to + begin, joins);
  });
}

namespace {

template <class Bits>
inline void fill_line(char*& at, Bits value, int64_t n) {
  for (int64_t i = 0; i < n; ++i, at += sizeof(Bits)) store(at, value);
}

// At least 16 bytes: the last ones may be copied twice.
inline void copy_line(char* to, const char* from, int64_t n) {
  if (n > 512) return line_copier()(to, from, n);
  for (int64_t i = 0; i + 16 <= n; i += 16) std::memcpy(to + i, from + i, 16);
  std::memcpy(to + n - 16, from + n - 16, 16);
}

template <class Bits>
void pad_rows(char* to, const Array& from, const int64_t* before, const int64_t* after, Bits value) {
  const int last = from.ndim - 1;
  constexpr int64_t size = sizeof(Bits);
  Dims sizes(from.ndim);
  int64_t rows = 1;
  for (int d = 0; d < from.ndim; ++d) {
    sizes[d] = from.sizes[d] + before[d] + after[d];
    if (d < last) rows *= sizes[d];
  }
  const int64_t width = sizes[last], step = from.strides[last];
  const int64_t left = std::max<int64_t>(before[last], 0), right = std::max<int64_t>(after[last], 0);
  const int64_t inner = std::max<int64_t>(width - left - right, 0);
  parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
    int64_t place[kMaxDims];  // of the row in the result
    for (int64_t d = last - 1, rest = begin; d >= 0; --d) {
      place[d] = rest % sizes[int(d)];
      rest /= sizes[int(d)];
    }
    for (int64_t row = begin; row < end; ++row) {
      char* at = to + row * width * size;
      const char* source = from.data - std::min<int64_t>(before[last], 0) * step;
      bool inside = true;
      for (int d = 0; d < last; ++d) {
        const int64_t own = place[d] - before[d];
        inside = inside && own >= 0 && own < from.sizes[d];
        source += own * from.strides[d];
      }
      for (int d = last - 1; d >= 0 && ++place[d] == sizes[d]; --d) place[d] = 0;
      if (!inside) {
        fill_line(at, value, width);
        continue;
      }
      fill_line(at, value, left);
      if (step == size && inner * size >= 16) {
        copy_line(at, source, inner * size);
        at += inner * size;
      } else {
        for (int64_t j = 0; j < inner; ++j, at += size) store(at, load<Bits>(source + j * step));
      }
      fill_line(at, value, width - left - inner);
    }
  });
}

}  // namespace

void pad(char* to, const Array& from, const int64_t* before, const int64_t* after, const void* element) {
  for_item_size(item_size(from.dtype), [&](auto bits) {
    using Bits = decltype(bits);
    pad_rows<Bits>(to, from, before, after, load<Bits>(static_cast<const char*>(element)));
  });
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
