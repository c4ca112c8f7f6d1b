#include "scatter.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "cpu.h"
#include "fetch.h"
#include "kernels/types.h"
#include "move.h"
#include "scatter_adding.h"
#include "thread_pool.h"

namespace thixo {
namespace {

// ---- what happens to one element

template <class Bits>
struct Setting {
  using To = Bits;
  using From = Bits;
  static void one(char* to, const char* from) { store(to, load<Bits>(from)); }
};

// A row of n elements; dt and df are byte strides.
template <class Kind>
inline void write_row(char* to, int64_t dt, const char* from, int64_t df, int64_t n) {
  using To = typename Kind::To;
  using From = typename Kind::From;
  if (dt == int64_t(sizeof(To)) && df == int64_t(sizeof(From)) && aligned<To>(to) && aligned<From>(from)) {
    THIXO_INDEPENDENT
    for (int64_t j = 0; j < n; ++j)
      Kind::one(to + j * int64_t(sizeof(To)), from + j * int64_t(sizeof(From)));
    return;
  }
  for (int64_t j = 0; j < n; ++j) Kind::one(to + j * dt, from + j * df);
}

template <class Body>
void for_kind(Write write, DType dtype, Body&& body) {
  if (write == Write::Set) {
    for_item_size(item_size(dtype), [&](auto bits) { body(Setting<decltype(bits)>{}); });
  } else {
    visit(dtype, [&]<class T>() { body(Adding<T>{}); });
  }
}

// ---- blocks

int64_t flat_offset(const int64_t* sizes, const int64_t* strides, int count, int64_t flat) {
  int64_t at = 0;
  for (int d = count - 1; d > 0; --d) {  // a division takes as long as ten elements of a short row
    at += flat % sizes[d] * strides[d];
    flat /= sizes[d];
  }
  return count ? at + flat * strides[0] : at;
}

// The columns [begin, end) of the blocks, which are rows of `inner` elements.
template <class Kind>
void write_block(const Scatter& job, char* to, const char* from, int64_t inner, int64_t rows, int64_t begin, int64_t end) {
  const int last = job.after - 1;
  const int64_t dt = job.after ? job.after_to[last] : int64_t(sizeof(typename Kind::To));
  const int64_t df = job.after ? job.after_from[last] : int64_t(sizeof(typename Kind::From));
  if (rows == 1) return write_row<Kind>(to + begin * dt, dt, from + begin * df, df, end - begin);
  for (int64_t r = 0; r < rows; ++r)
    write_row<Kind>(to + flat_offset(job.after_sizes, job.after_to, last, r) + begin * dt, dt,
                    from + flat_offset(job.after_sizes, job.after_from, last, r) + begin * df, df, end - begin);
  (void)inner;
}

// Blocks of one element: nothing but the elements themselves.
template <class Kind>
void write_elements(char* to, const int64_t* offsets, const char* from, int64_t step, int64_t n) {
  constexpr int64_t item = sizeof(typename Kind::From);
  if (step == item) {
    for (int64_t i = 0; i < n; ++i) Kind::one(to + offsets[i], from + i * item);
  } else {
    for (int64_t i = 0; i < n; ++i) Kind::one(to + offsets[i], from + i * step);
  }
}

// Joins axes that lie one behind the other in both arrays.
int merge(int count, int64_t* sizes, int64_t* to, int64_t* from) {
  int kept = 0;
  for (int d = 0; d < count; ++d) {
    if (sizes[d] == 1) continue;
    if (kept && to[kept - 1] == sizes[d] * to[d] && from[kept - 1] == sizes[d] * from[d]) {
      sizes[kept - 1] *= sizes[d];
    } else {
      sizes[kept++] = sizes[d];
    }
    to[kept - 1] = to[d];
    from[kept - 1] = from[d];
  }
  return kept;
}

// Bytes of rows that are made zeros together: they are in a near cache when something is added to them.
constexpr int64_t kClearedRows = 1 << 16;

void make_zeros(char* to, int64_t bytes) {
  parallel_evenly(bytes, kMoveGrain, [&](int64_t begin, int64_t end) { std::memset(to + begin, 0, size_t(end - begin)); });
}

// Columns for each thread. Each is summed in the order of the indices, however many a thread has.
int64_t share_of(int64_t columns) {
  const int threads = get_num_threads();
  return threads == 1 ? columns : std::max<int64_t>(64, (columns / threads + 16) / 16 * 16);
}

template <class Kind>
void run_blocks(const Scatter& job, const int64_t* offsets, int64_t rows_before, int64_t block) {
  const int64_t n = job.places.count;
  const int64_t inner = job.after ? job.after_sizes[job.after - 1] : 1;
  const int64_t rows = block / inner;
  auto row_of = [&](int64_t row, char*& to, const char*& from) {
    to = job.to + flat_offset(job.before_sizes, job.before_to, job.before, row);
    from = job.from + flat_offset(job.before_sizes, job.before_from, job.before, row);
  };
  const int64_t work = n * block;
  if (rows_before > 1) {  // each row of the axes before has places of its own
    const int64_t made = job.fresh / rows_before;  // bytes of a row
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(work, made / 4));
    const int64_t cleared = made ? std::max<int64_t>(1, kClearedRows / made) : rows_before;
    return parallel_evenly(rows_before, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        char* to;
        const char* from;
        row_of(row, to, from);
        if (made && (row - begin) % cleared == 0) std::memset(to, 0, size_t(std::min(cleared, end - row) * made));
        if (block == 1) {
          write_elements<Kind>(to, offsets, from, job.from_place, n);
          continue;
        }
        for (int64_t i = 0; i < n; ++i)
          write_block<Kind>(job, to + offsets[i], from + i * job.from_place, inner, rows, 0, inner);
      }
    });
  }
  make_zeros(job.to, job.fresh);
  if (inner >= 128 && work > 32768) {  // columns
    const int64_t columns = share_of(inner);
    return parallel_for(inner, columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < n; ++i)
        write_block<Kind>(job, job.to + offsets[i], job.from + i * job.from_place, inner, rows, begin, end);
    });
  }
  // Each thread takes a range of destinations, and all indices pass it. Not for single elements: to foretell which ones
  // are in the range costs more than to write them.
  const int shares = work > 32768 && block >= 16 ? std::min(get_num_threads(), 16) : 1;
  int64_t span = 0;
  for (int k = 0; k < job.places.axes; ++k) span += (job.places.size[k] - 1) * job.places.stride[k];
  if (block == 1) return write_elements<Kind>(job.to, offsets, job.from, job.from_place, n);
  if (shares == 1 || span <= 0) {
    for (int64_t i = 0; i < n; ++i)
      write_block<Kind>(job, job.to + offsets[i], job.from + i * job.from_place, inner, rows, 0, inner);
    return;
  }
  const int64_t share = span / shares + 1;
  parallel_for(shares, 1, [&](int64_t first, int64_t end) {
    for (int64_t s = first; s < end; ++s) {
      const int64_t low = s * share, length = share;
      for (int64_t i = 0; i < n; ++i)
        if (uint64_t(offsets[i] - low) < uint64_t(length))
          write_block<Kind>(job, job.to + offsets[i], job.from + i * job.from_place, inner, rows, 0, inner);
    }
  });
}

}  // namespace

bool scatter_blocks(const Scatter& given) {
  Scatter job = given;
  job.before = merge(job.before, job.before_sizes, job.before_to, job.before_from);
  job.after = merge(job.after, job.after_sizes, job.after_to, job.after_from);
  int64_t rows_before = 1, block = 1;
  for (int d = 0; d < job.before; ++d) rows_before *= job.before_sizes[d];
  for (int d = 0; d < job.after; ++d) block *= job.after_sizes[d];
  const int64_t n = job.places.count;
  if (n == 0) {
    make_zeros(job.to, job.fresh);
    return true;
  }
  int64_t few[256];
  std::unique_ptr<int64_t[]> many(n > 256 ? new int64_t[size_t(n)] : nullptr);
  int64_t* offsets = many ? many.get() : few;
  std::atomic<bool> good{true};
  parallel_for(n, kMoveGrain / 8, [&](int64_t begin, int64_t end) {
    if (!place_offsets(job.places, begin, end, offsets + begin)) good.store(false, std::memory_order_relaxed);
  });
  if (!good) return false;
  if (rows_before == 0 || block == 0) return true;
  for_kind(job.write, job.dtype, [&](auto kind) { run_blocks<decltype(kind)>(job, offsets, rows_before, block); });
  return true;
}

// ---- along an axis

namespace {

// Bytes of zeros that a thread makes at a time: a row's alone take longer, the whole result's would have left the cache. Found by
// measuring, where rows of 4 KB are put into 8 MB: 0.9 ms, against 1.0 to 1.8 with any fewer.
constexpr int64_t kCleared = 1 << 20;
// Elements between the one that is written and the one whose line is asked for, where lines come from far away.
constexpr int64_t kAsked = 24;

// to[index[j] * along + j * beside] from from[j]; false if an index is beyond the axis. `far`: what is written is in no
// near cache.
template <class Kind>
inline bool scatter_row(char* to, const char* from, int64_t df, const char* index, int64_t di, int64_t along,
                        int64_t beside, int64_t n, int64_t size, bool far) {
  constexpr int64_t to_item = sizeof(typename Kind::To), from_item = sizeof(typename Kind::From);
  if (di == 0 && beside != 0) {
    const int64_t at = load<int64_t>(index);
    if (uint64_t(at) >= uint64_t(size)) return false;
    write_row<Kind>(to + at * along, beside, from, df, n);
    return true;
  }
  bool good = true;
  auto walk = [&](auto index_step, auto from_step, auto along_step, auto beside_step) {
    auto one = [&](int64_t j) {
      const int64_t at = load<int64_t>(index + j * index_step);
      if (uint64_t(at) < uint64_t(size)) Kind::one(to + at * along_step + j * beside_step, from + j * from_step);
      else good = false;
    };
    int64_t j = 0;
    // A wrong index asks for a line of nobody's, which does no harm.
    for (; far && j + kAsked < n; ++j) {
      const uint64_t at = load<uint64_t>(index + (j + kAsked) * index_step) * uint64_t(along_step);
      fetch_to_write(reinterpret_cast<const char*>(uint64_t(to + (j + kAsked) * beside_step) + at));
      one(j);
    }
    for (; j < n; ++j) one(j);
  };
  using Eight = std::integral_constant<int64_t, 8>;
  using FromItem = std::integral_constant<int64_t, from_item>;
  using ToItem = std::integral_constant<int64_t, to_item>;
  using Zero = std::integral_constant<int64_t, 0>;
  if (di == 8 && df == from_item && along == to_item && beside == 0) walk(Eight{}, FromItem{}, ToItem{}, Zero{});
  else if (di == 8 && df == from_item && beside == to_item) walk(Eight{}, FromItem{}, along, ToItem{});
  else walk(di, df, along, beside);
  return good;
}

// Columns that are written in a copy of their own, 0 where the target itself is written: a large target's rows are in as many
// pages, and each element of a column is in another one. The copy is small enough for a near cache and lies together; to
// make it and to bring it back pays where most of it is written.
int64_t copied_columns(int64_t columns, int64_t column_bytes, int64_t size, int64_t length) {
  constexpr int64_t kFewest = 16;  // a line of the cache, of 32 bits each
  const int64_t width = second_cache_bytes() / 2 / column_bytes / kFewest * kFewest;
  return 2 * length < size || columns < 2 * kFewest ? 0 : std::min(width, columns);
}

// A block that stays with the thread, as large as a part of its cache at most: fresh pages would cost more than what is saved.
char* kept_block(size_t bytes) {
  static thread_local std::unique_ptr<char[]> block;
  static thread_local size_t size = 0;
  if (size < bytes) {
    block.reset();
    size = 0;
    block.reset(new char[bytes]);
    size = bytes;
  }
  return block.get();
}

bool all_inside(const Array& index, int64_t size, int64_t rows, int64_t inner) {
  const int last = index.ndim - 1;
  std::atomic<bool> good{true};
  parallel_for(rows, std::max<int64_t>(1, 32768 / inner), [&](int64_t begin, int64_t end) {
    bool fits = true;
    for (int64_t row = begin; row < end; ++row) {
      const char* at = index.data + flat_offset(index.sizes, index.strides, last, row);
      const int64_t step = index.strides[last];
      if (step == 0) {
        fits &= uint64_t(load<int64_t>(at)) < uint64_t(size);
        continue;
      }
      for (int64_t j = 0; j < inner; ++j) fits &= uint64_t(load<int64_t>(at + j * step)) < uint64_t(size);
    }
    if (!fits) good.store(false, std::memory_order_relaxed);
  });
  return good;
}

template <class Kind>
bool run_along(const Array& to, const Array& from, const Array& index, int axis, int64_t rows, int64_t inner, bool fresh) {
  const int last = index.ndim - 1;
  const int64_t size = to.sizes[axis], along = to.strides[axis];
  const int64_t column_bytes = size * int64_t(sizeof(typename Kind::To));
  const bool far = column_bytes * (axis == last ? 1 : inner) > second_cache_bytes();
  std::atomic<bool> good{true};
  auto note = [&](bool fits) {
    if (!fits) good.store(false, std::memory_order_relaxed);
  };
  if (axis == last) {  // rows are apart from each other
    const int64_t cleared = std::max<int64_t>(1, kCleared / std::max<int64_t>(1, column_bytes));
    parallel_for(rows, std::max<int64_t>(1, 16384 / inner), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        char* target = to.data + flat_offset(index.sizes, to.strides, last, row);
        if (fresh && (row - begin) % cleared == 0)  // a fresh result's rows lie one behind the other
          std::memset(target, 0, size_t(std::min(cleared, end - row) * column_bytes));
        note(scatter_row<Kind>(target, from.data + flat_offset(index.sizes, from.strides, last, row), from.strides[last],
                               index.data + flat_offset(index.sizes, index.strides, last, row), index.strides[last],
                               along, 0, inner, size, far));
      }
    });
    return good;
  }
  // Columns, and the axes other than `axis` before them, are apart from each other.
  const int64_t length = index.sizes[axis], planes = rows / length;
  constexpr int64_t item = sizeof(typename Kind::To);
  const int64_t beside = to.strides[last];
  const int64_t copied = far && beside == item ? copied_columns(inner, column_bytes, size, length) : 0;
  const int64_t share = planes >= 8 || inner <= 64 ? inner : share_of(inner);
  const int64_t width = copied ? std::min(copied, share) : share;
  const int64_t pieces = (inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, 16384 / (length * width));
  parallel_for(planes * pieces, grain, [&](int64_t begin, int64_t end) {
    char* const copy = copied ? kept_block(size_t(column_bytes * copied)) : nullptr;
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t plane = piece / pieces;
      const int64_t first = piece % pieces * width, n = std::min(width, inner - first);
      char* target = to.data + first * beside;
      const char* source = from.data + first * from.strides[last];
      const char* picks = index.data + first * index.strides[last];
      for (int d = last - 1; d >= 0; --d) {
        if (d == axis) continue;
        const int64_t at = plane % index.sizes[d];
        plane /= index.sizes[d];
        target += at * to.strides[d];
        source += at * from.strides[d];
        picks += at * index.strides[d];
      }
      const int64_t bytes = n * item;
      if (fresh && copied) std::memset(copy, 0, size_t(size * bytes));
      for (int64_t i = 0; fresh && !copied && i < size; ++i) std::memset(target + i * along, 0, size_t(bytes));
      for (int64_t i = 0; !fresh && copied && i < size; ++i) std::memcpy(copy + i * bytes, target + i * along, size_t(bytes));
      for (int64_t i = 0; i < length; ++i)
        note(scatter_row<Kind>(copied ? copy : target, source + i * from.strides[axis], from.strides[last],
                               picks + i * index.strides[axis], index.strides[last], copied ? bytes : along, beside, n,
                               size, far && !copied));
      for (int64_t i = 0; copied && i < size; ++i) std::memcpy(target + i * along, copy + i * bytes, size_t(bytes));
    }
  });
  return good;
}

}  // namespace

bool scatter_along(const Array& to, const Array& from, const Array& index, int axis, Write write, bool check_first,
                   bool fresh) {
  const int last = index.ndim - 1;
  const int64_t inner = index.sizes[last];
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= index.sizes[d];
  if (rows == 0 || inner == 0) return true;
  if (check_first && !all_inside(index, to.sizes[axis], rows, inner)) return false;
  bool good = true;
  for_kind(write, from.dtype,
           [&](auto kind) { good = run_along<decltype(kind)>(to, from, index, axis, rows, inner, fresh); });
  return good;
}

}  // namespace thixo
