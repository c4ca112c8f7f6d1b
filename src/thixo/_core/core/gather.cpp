#include "gather.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "copy_line.h"
#include "kernels/turn.h"
#include "kernels/types.h"
#include "move.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kStep = 512;  // places whose offsets are made at a time
constexpr int64_t kAhead = 3072;  // bytes that are copied while those asked for are on their way from memory

}  // namespace

void Axes::add(int64_t size, int64_t stride) {
  total *= size;
  if (size == 1) return;
  if (count && strides[count - 1] == size * stride) {
    sizes[count - 1] *= size;
    strides[count - 1] = stride;
    return;
  }
  sizes[count] = size;
  strides[count++] = stride;
}

int64_t Axes::offset(int64_t flat) const {
  int64_t at = 0;
  for (int d = count - 1; d > 0; --d) {
    at += flat % sizes[d] * strides[d];
    flat /= sizes[d];
  }
  return count ? at + flat * strides[0] : at;
}

bool place_offsets(const Places& places, int64_t begin, int64_t end, int64_t* offsets) {
  bool good = true;
  for (int k = 0; k < places.axes; ++k) {
    const int64_t* index = places.index[k];
    const int64_t size = places.size[k], stride = places.stride[k], back = places.negative ? size : 0;
    bool fits = true;
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = index[i];
      at += at < 0 ? back : 0;
      const bool inside = uint64_t(at) < uint64_t(size);
      fits &= inside;
      const int64_t offset = inside ? at * stride : 0;
      offsets[i - begin] = k ? offsets[i - begin] + offset : offset;
    }
    good = good && fits;
  }
  return good;
}

namespace {

// One block of `after` from `from`; elements of type Bits.
template <class Bits>
inline void copy_block(char* to, const char* from, const Axes& after) {
  if (after.count == 0) return store(to, load<Bits>(from));
  const int64_t inner = after.sizes[after.count - 1], stride = after.strides[after.count - 1];
  for (int64_t done = 0; done < after.total; done += inner) {
    const char* row = from + (after.count == 1 ? 0 : after.offset(done));
    for (int64_t j = 0; j < inner; ++j) {
      store(to, load<Bits>(row + j * stride));
      to += sizeof(Bits);
    }
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
// Short rows of a vector or more, at offsets that are near: half as many writes. (Where memory is waited for, they come too fast after one another.)
[[gnu::target("avx")]] void copy_rows(char* to, const char* from, const int64_t* offsets, int64_t n, int64_t block) {
  for (int64_t i = 0; i < n; ++i, to += block) copy_whole_vectors(to, from + offsets[i], block);
}
bool copies_rows(int64_t block) { return block >= kLineVector && block <= kShortLine && cpu_features().x86_64_v3; }
#else
void copy_rows(char*, const char*, const int64_t*, int64_t, int64_t) {}
bool copies_rows(int64_t) { return false; }
#endif

// Single elements at offsets of 4 or 8 bytes each; those of 4 bytes four at a time: fewer writes.
template <class Bits, class Offset>
void pick(char* to, const char* from, const Offset* offsets, int64_t n) {
  int64_t i = 0;
  if constexpr (sizeof(Bits) == 4) {
    for (; i + 4 <= n; i += 4) {
      const Four four = {load<uint32_t>(from + offsets[i]), load<uint32_t>(from + offsets[i + 1]),
                         load<uint32_t>(from + offsets[i + 2]), load<uint32_t>(from + offsets[i + 3])};
      store(to + i * 4, four);
    }
  }
  for (; i < n; ++i) store(to + i * int64_t(sizeof(Bits)), load<Bits>(from + offsets[i]));
}

// The places of one row of `before`: from offsets, in blocks. Where they lie far away they are asked for ahead of time.
void copy_places(char* to, const char* from, const int64_t* offsets, int64_t n, int item, const Axes& after,
                 bool solid, bool far) {
  const int64_t block = after.total * item;
  if (block == item || (solid && (block == 8 || block == 16 || block == 4 || block == 2))) {
    return for_item_size(int(block), [&](auto bits) { pick<decltype(bits)>(to, from, offsets, n); });
  }
  if (solid) {
    if (!far && copies_rows(block)) return copy_rows(to, from, offsets, n, block);
    const int64_t known = far ? std::min<int64_t>(block, 512) : 0;
    const int64_t ahead = std::clamp<int64_t>(kAhead / block, 2, 48);
    for (int64_t i = 0; i < n; ++i) {
      if (i + ahead < n)
        for (int64_t line = 0; line < known; line += 64) __builtin_prefetch(from + offsets[i + ahead] + line);
      copy_short(to + i * block, from + offsets[i], block);
    }
    return;
  }
  for_item_size(item, [&](auto bits) {
    for (int64_t i = 0; i < n; ++i) copy_block<decltype(bits)>(to + i * block, from + offsets[i], after);
  });
}

// Single elements out of a row of `span` bytes, of which most lines are met, in any order: hardware sees no pattern there, so
// the lines of the row that comes next are asked for meanwhile. `next` is null where it is near anyway.
template <class Bits>
void pick_row(char* to, const char* from, const char* next, int64_t span, const int32_t* offsets, int64_t n) {
  constexpr int64_t item = sizeof(Bits);
  if (!next) return pick<Bits>(to, from, offsets, n);
  constexpr int64_t kSome = 64;
  const int64_t turns = (n + kSome - 1) / kSome, lines = (span / 64 + turns) / turns;
  for (int64_t i = 0; i < n; i += kSome) {
    const char* line = next + i / kSome * lines * 64;
    for (int64_t k = 0; k < lines && line < next + span; ++k, line += 64) __builtin_prefetch(line);
    pick<Bits>(to + i * item, from, offsets + i, std::min(kSome, n - i));
  }
}

// Where single elements of 4 bytes are picked and those of neighbouring rows lie side by side: four rows and four places at a
// time, turned in registers.
struct Turned {
  static constexpr int64_t kRows = 16, kPlaces = 256;  // what is read and written at a time is in the nearest cache

  char* to;
  const char* from;
  const int64_t* offsets;
  int64_t n;

  // Rows [0, count), at most kRows, from `source` into `target`.
  void block(char* target, const char* source, int64_t count) const {
    const int64_t width = n * 4;
    for (int64_t first = 0; first < n; first += kPlaces) {
      const int64_t end = std::min(n, first + kPlaces);
      int64_t y = 0;
      for (; y + 4 <= count; y += 4) {
        int64_t i = first;
        for (; i + 4 <= end; i += 4) {
          const char* at = source + y * 4;
          turn_four(target + y * width + i * 4, width, at + offsets[i], at + offsets[i + 1], at + offsets[i + 2],
                    at + offsets[i + 3]);
        }
        for (; i < end; ++i)
          for (int64_t k = y; k < y + 4; ++k) store(target + k * width + i * 4, load<uint32_t>(source + offsets[i] + k * 4));
      }
      for (; y < count; ++y) pick<uint32_t>(target + y * width + first * 4, source + y * 4, offsets + first, end - first);
    }
  }

  void run(const Axes& before) const {
    const int64_t inner = before.sizes[before.count - 1], blocks = (inner + kRows - 1) / kRows;
    const int64_t grain = std::max<int64_t>(1, kMoveGrain / (kRows * n * 4));
    parallel_for(before.total / inner * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t row = k / blocks * inner + k % blocks * kRows, count = std::min(kRows, inner - k % blocks * kRows);
        block(to + row * n * 4, from + before.offset(row), count);
      }
    });
  }
};

// Single elements for each of several rows. Offsets of half the length: there is one for each element that is read.
template <class Bits>
void pick_rows(char* to, const char* from, const Axes& before, const int64_t* offsets, int64_t n, int64_t span, bool far) {
  constexpr int64_t item = sizeof(Bits);
  const std::unique_ptr<int32_t[]> near(new int32_t[size_t(n)]);
  for (int64_t i = 0; i < n; ++i) near[i] = int32_t(offsets[i]);
  const int64_t rows = before.total;
  parallel_evenly(rows * n, kMoveGrain / item, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = i / n, first = i % n, some = std::min(end - i, n - first);
      const char* next = far && row + 1 < rows ? from + before.offset(row + 1) : nullptr;
      pick_row<Bits>(to + i * item, from + before.offset(row), next, span, near.get() + first, some);
      i += some;
    }
  });
}

}  // namespace

bool gather_blocks(char* to, const char* from, int item, const Axes& before, const Places& places, const Axes& after) {
  const int64_t block = after.total * item, n = places.count;
  if (n == 0) return true;
  const bool solid = after.count == 0 || (after.count == 1 && after.strides[0] == item);
  constexpr int64_t kNear = 1 << 19;  // bytes that stay in a near cache
  int64_t reach = block;
  for (int k = 0; k < places.axes; ++k) reach += places.size[k] * std::abs(places.stride[k]);
  const bool far = reach > kNear;
  // With no rows or nothing in a block the indices are still to be checked.
  const int64_t rows = std::max<int64_t>(block ? before.total : 0, 1);
  std::atomic<bool> good{true};
  if (rows == 1) {
    const int64_t grain = std::max<int64_t>(1, kMoveGrain / std::max<int64_t>(block, 8));
    parallel_evenly(n, grain, [&](int64_t begin, int64_t end) {
      int64_t offsets[kStep];
      for (int64_t i = begin; i < end; i += kStep) {
        const int64_t stop = std::min(end, i + kStep);
        if (!place_offsets(places, i, stop, offsets)) {
          good.store(false, std::memory_order_relaxed);
          return;
        }
        if (block && before.total) copy_places(to + i * block, from, offsets, stop - i, item, after, solid, far);
      }
    });
    return good;
  }
  const std::unique_ptr<int64_t[]> offsets(new int64_t[size_t(n)]);
  parallel_for(n, kMoveGrain / 8, [&](int64_t begin, int64_t end) {
    if (!place_offsets(places, begin, end, offsets.get() + begin)) good.store(false, std::memory_order_relaxed);
  });
  if (!good) return false;
  if (block == item) {
    constexpr int64_t kAll = 1 << 21;  // bytes of all rows that are in a near cache anyway
    const bool one = places.axes == 1 && places.stride[0] > 0;
    if (item == 4 && one && places.stride[0] >= 64 && before.strides[before.count - 1] == 4 && before.sizes[before.count - 1] >= 4) {
      Turned{to, from, offsets.get(), n}.run(before);
      return true;
    }
    const int64_t span = one ? places.size[0] * places.stride[0] : 0;
    if (span > 0 && span <= INT32_MAX) {
      const bool dense = span / 64 * 2 <= n && rows * span > kAll;
      for_item_size(item, [&](auto bits) { pick_rows<decltype(bits)>(to, from, before, offsets.get(), n, span, dense); });
      return true;
    }
  }
  const int64_t total = rows * n, grain = std::max<int64_t>(1, kMoveGrain / block);
  parallel_evenly(total, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = i / n, first = i % n, some = std::min(end - i, n - first);
      copy_places(to + i * block, from + before.offset(row), offsets.get() + first, some, item, after, solid, far);
      i += some;
    }
  });
  return true;
}

// ---- gather

namespace {

// to[j] = from[index[j] * along + j * beside]
template <class Bits>
bool gather_row(char* to, const char* from, const char* index, int64_t index_stride, int64_t size, int64_t along,
                int64_t beside, int64_t n, int64_t back) {
  bool fits = true;
  if (index_stride == 0 && along != 0) {
    int64_t at = load<int64_t>(index);
    at += at < 0 ? back : 0;
    if (uint64_t(at) >= uint64_t(size)) return false;
    const char* row = from + at * along;
    if (beside == int64_t(sizeof(Bits))) {
      std::memcpy(to, row, size_t(n) * sizeof(Bits));
    } else {
      for (int64_t j = 0; j < n; ++j) store(to + j * int64_t(sizeof(Bits)), load<Bits>(row + j * beside));
    }
    return true;
  }
  auto walk = [&](auto step, auto along_step, auto beside_step) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t at = load<int64_t>(index + j * step);
      if (uint64_t(at) >= uint64_t(size)) {
        at += at < 0 ? back : 0;
        if (uint64_t(at) >= uint64_t(size)) {
          fits = false;
          return;
        }
      }
      store(to + j * int64_t(sizeof(Bits)), load<Bits>(from + at * along_step + j * beside_step));
    }
  };
  using Eight = std::integral_constant<int64_t, 8>;
  using Item = std::integral_constant<int64_t, sizeof(Bits)>;
  using Zero = std::integral_constant<int64_t, 0>;
  if (index_stride == 8 && along == int64_t(sizeof(Bits)) && beside == 0) walk(Eight{}, Item{}, Zero{});
  else if (index_stride == 8 && beside == int64_t(sizeof(Bits))) walk(Eight{}, along, Item{});
  else walk(index_stride, along, beside);
  return fits;
}

}  // namespace

bool gather_along(char* to, const Array& from, const Array& index, int axis, bool negative) {
  const int item = item_size(from.dtype);
  int last = index.ndim - 1;
  while (last > 0 && index.sizes[last] == 1) --last;  // one place of each row: rows are walked along instead
  const int64_t inner = index.sizes[last];
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= index.sizes[d];
  if (rows == 0 || inner == 0) return true;
  if (from.sizes[axis] == 0) return false;
  std::atomic<bool> good{true};
  const int64_t beside = axis == last ? 0 : from.strides[last];
  // Long rows are cut as well.
  const int64_t width = std::min<int64_t>(inner, 16384), pieces = (inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, 16384 / width);
  for_item_size(item, [&](auto bits) {
    parallel_evenly(rows * pieces, grain, [&](int64_t begin, int64_t end) {
      bool fits = true;
      for (int64_t piece = begin; piece < end; ++piece) {
        int64_t row = piece / pieces;
        const int64_t first = piece % pieces * width, n = std::min(width, inner - first);
        char* target = to + (row * inner + first) * item;
        const char* source = from.data + first * beside;
        const char* picks = index.data + first * index.strides[last];
        for (int d = last - 1; d >= 0; --d) {
          const int64_t at = row % index.sizes[d];
          row /= index.sizes[d];
          picks += at * index.strides[d];
          if (d != axis) source += at * from.strides[d];
        }
        fits &= gather_row<decltype(bits)>(target, source, picks, index.strides[last], from.sizes[axis],
                                           from.strides[axis], beside, n, negative ? from.sizes[axis] : 0);
      }
      if (!fits) good.store(false, std::memory_order_relaxed);
    });
  });
  return good;
}

}  // namespace thixo
