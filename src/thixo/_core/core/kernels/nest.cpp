#include "nest.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../cpu.h"
#include "../error.h"
#include "../kernels.h"
#include "../stream.h"
#include "../thread_pool.h"
#include "tiles.h"
#include "types.h"

namespace thixo {
namespace {

// The functions below take the number of operands as a template argument for the common numbers
// (0: read it from the nest): short loops over operands then unroll, which is what a call over a few
// elements costs most.

// Append a dimension outside of the present ones, or widen the outermost one by it.
template <int N>
inline void append(Nest& nest, int64_t size, const int64_t* strides) {
  const int count = N ? N : nest.count;
  if (nest.ndim > 0) {
    const int last = nest.ndim - 1;
    bool merges = true;
    for (int k = 0; k < count; ++k) merges &= strides[k] == nest.strides[last][k] * nest.sizes[last];
    if (merges) {
      nest.sizes[last] *= size;
      return;
    }
  }
  nest.sizes[nest.ndim] = size;
  for (int k = 0; k < count; ++k) nest.strides[nest.ndim][k] = strides[k];
  ++nest.ndim;
}

// Whether dimension a belongs inside b: the result decides, then the inputs.
bool inside(const int64_t* a, const int64_t* b, int count) {
  for (int k = count - 1; k >= 0; --k) {
    if (a[k] != b[k]) return a[k] < b[k];
  }
  return false;
}

// Walk each dimension in the direction in which the result's addresses grow, sort, merge.
void order(Nest& nest) {
  const int count = nest.count, ndim = nest.ndim;
  int rank[kMaxDims];
  bool sorted = true;
  for (int d = 0; d < ndim; ++d) {
    int64_t* strides = nest.strides[d];
    if (strides[count - 1] < 0) {
      for (int k = 0; k < count; ++k) {
        nest.data[k] += strides[k] * (nest.sizes[d] - 1);
        strides[k] = -strides[k];
      }
    }
    int at = d;  // insertion sort, stable
    while (at > 0 && inside(strides, nest.strides[rank[at - 1]], count)) {
      rank[at] = rank[at - 1];
      --at;
      sorted = false;
    }
    rank[at] = d;
  }
  if (sorted) return;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
  for (int d = 0; d < ndim; ++d) {
    sizes[d] = nest.sizes[rank[d]];
    std::copy_n(nest.strides[rank[d]], count, strides[d]);
  }
  nest.ndim = 0;
  for (int d = 0; d < ndim; ++d) append<0>(nest, sizes[d], strides[d]);
}

template <int N>
inline void build(Nest& nest, const Array* arrays, int any_count) {
  const int count = N ? N : any_count;
  const Array& result = arrays[count - 1];
  nest.ndim = 0;
  nest.count = count;
  nest.in_lines = false;
  nest.moves = false;
  nest.results = 1;
  int64_t total = 1;
  for (int k = 0; k < count; ++k) {
    nest.data[k] = arrays[k].data;
    nest.item[k] = item_size(arrays[k].dtype);
  }
  for (int d = result.ndim - 1; d >= 0; --d) {
    const int64_t size = result.sizes[d];
    total *= size;
    if (size == 1) continue;
    int64_t strides[kMaxOperands];
    for (int k = 0; k < count; ++k) strides[k] = arrays[k].strides[d];
    append<N>(nest, size, strides);
  }
  nest.total = total;
  if (nest.ndim > 1 && total > 0) order(nest);
  if (nest.ndim == 0) {
    nest.ndim = 1;
    nest.sizes[0] = 1;
    for (int k = 0; k < count; ++k) nest.strides[0][k] = nest.item[k];
  }
}

// Whether the rows can be handed to a loop that wants lines as they are.
bool rows_are_lines(const Nest& nest, const int64_t* strides) {
  for (int k = 0; k < nest.count; ++k)
    if (strides[k] != 0 && strides[k] != nest.item[k]) return false;
  return true;
}

constexpr int64_t kFetchedElements = 512;  // from so many on a loop fetches ahead (LEAST in codegen/llvm/pointwise.py)

// Whole rows, as many of one dimension as there are with each call: a call of its own for each takes as long as a hundred elements.
template <int N>
void run_rows(const Nest& nest, Loop loop, int64_t first, int64_t last) {
  const int count = N ? N : nest.count;
  Nest outer;  // as if rows were elements
  outer.ndim = nest.ndim - 1;
  outer.count = count;
  for (int d = 0; d < outer.ndim; ++d) {
    outer.sizes[d] = nest.sizes[d + 1];
    for (int k = 0; k < count; ++k) outer.strides[d][k] = nest.strides[d + 1][k];
  }
  for (int k = 0; k < count; ++k) outer.data[k] = nest.data[k];
  int64_t steps[2 * kMaxOperands + 1];
  for (int k = 0; k < count; ++k) {
    steps[k] = nest.strides[0][k];
    steps[count + k] = nest.strides[1][k];
  }
  const int64_t how = nest.sizes[0] | kRows | unaided(true);
  walk_rows<N>(outer, first, last, [&](char* const* at, const int64_t*, int64_t rows) {
    steps[2 * count] = rows;
    loop(at, steps, how);
  });
}

// Rows that fetch ahead for themselves are called one by one.
bool rows_go_together(const Nest& nest) { return nest.ndim > 1 && (nest.sizes[0] < kFetchedElements || unaided(true)); }

template <int N>
void run_range(const Nest& nest, Loop loop, int64_t begin, int64_t end) {
  if (!nest.in_lines) return walk_rows<N>(nest, begin, end, loop);
  if (rows_are_lines(nest, nest.strides[0])) {
    const int64_t how = unaided(true), inner = nest.sizes[0];
    const int64_t first = (begin + inner - 1) / inner, last = end / inner;  // whole rows
    if (rows_go_together(nest) && last > first) {
      if (begin < first * inner) run_range<N>(nest, loop, begin, first * inner);
      run_rows<N>(nest, loop, first, last);
      if (last * inner < end) run_range<N>(nest, loop, last * inner, end);
      return;
    }
    return walk_rows<N>(nest, begin, end, [&](char* const* at, const int64_t* strides, int64_t n) { loop(at, strides, n | how); });
  }
  walk_rows<N>(nest, begin, end, [&](char* const* at, const int64_t* strides, int64_t n) {
    run_row(nest, loop, at, strides, n);
  });
}

struct Bits128 {
  uint64_t low, high;
};

// `n` elements of `item` bytes from one stride to another.
template <class Bits>
void move_elements(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store(to + i * to_stride, load<Bits>(from + i * from_stride));
}

void move_line(int item, char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  switch (item) {
    case 1: return move_elements<uint8_t>(to, to_stride, from, from_stride, n);
    case 2: return move_elements<uint16_t>(to, to_stride, from, from_stride, n);
    case 4: return move_elements<uint32_t>(to, to_stride, from, from_stride, n);
    case 8: return move_elements<uint64_t>(to, to_stride, from, from_stride, n);
    default: return move_elements<Bits128>(to, to_stride, from, from_stride, n);
  }
}

constexpr int64_t kLine = 64;  // bytes

// ---- results that no cache holds

constexpr int kMostStreamed = 4;
constexpr int64_t kStreamElements = 512;  // they are in the nearest cache between the loop and memory

// A body that computes for long hides what it waits for memory, and cannot while its pieces are written.
constexpr int64_t kLightGrain = 16384;  // elements: heavier bodies have smaller grains
constexpr int64_t kHeavy = 4;           // times as many bytes

// Whether an array is one of those before it.
bool repeats(const Nest& nest, int k) {
  for (int i = 0; i < k; ++i)
    if (nest.data[i] == nest.data[k]) return true;
  return false;
}

int64_t bytes_of(const Nest& nest, int k) {
  int64_t bytes = nest.item[k];
  for (int d = 0; d < nest.ndim; ++d)
    if (nest.strides[d][k] != 0) bytes *= nest.sizes[d];
  return bytes;
}

bool outgrows_cache(const Nest& nest, int64_t grain) {
  int64_t touched = 0, written = 0;
  for (int k = 0; k < nest.count; ++k) {
    const int64_t bytes = repeats(nest, k) ? 0 : bytes_of(nest, k);
    touched += bytes;
    if (k >= nest.count - nest.results) written += bytes;
  }
  return thixo::outgrows_cache(touched, written, grain < kLightGrain ? kHeavy : 1);
}

bool streams(const Nest& nest, int64_t grain) {
  if (!kStreams || nest.results > kMostStreamed) return false;
  for (int k = nest.count - nest.results; k < nest.count; ++k)
    if (nest.strides[0][k] != nest.item[k] || repeats(nest, k)) return false;  // in place: it is in the cache already
  return outgrows_cache(nest, grain);
}

// Whether the loop itself writes past the cache: one that was generated, and whose limit is memory. AMD's hardware
// fetches what is read early enough, while pieces that pass through a buffer leave memory idle in between.
bool loop_streams(const Nest& nest, int64_t grain) {
  return cpu_features().amd && nest.in_lines && grain >= kLightGrain && rows_are_lines(nest, nest.strides[0]);
}

// A row up to where the first result begins a line, and then the rest.
void stream_row(const Nest& nest, Loop loop, char* const* at, const int64_t* strides, int64_t n) {
  const int first = nest.count - nest.results;
  const int64_t item = nest.item[first], beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(at[first]) % kLine);
  const int64_t head = std::min(n, (kLine - beyond) % kLine / item);
  if (head > 0) loop(at, strides, head);
  if (head == n) return;
  char* rest[kMaxOperands];
  bool at_lines = true;
  for (int k = 0; k < nest.count; ++k) {
    rest[k] = at[k] + head * strides[k];
    at_lines &= k < first || reinterpret_cast<uintptr_t>(rest[k]) % kLine == 0;
  }
  loop(rest, strides, at_lines ? head - n : (n - head) | unaided(true));
}

void stream_rows(const Nest& nest, Loop loop, int64_t begin, int64_t end) {
  walk_rows<0>(nest, begin, end, [&](char* const* at, const int64_t* strides, int64_t n) {
    stream_row(nest, loop, at, strides, n);
  });
  stream_end();
}

void stream_range(const Nest& nest, Loop loop, int64_t begin, int64_t end) {
  const int first = nest.count - nest.results;
  alignas(64) char lines[kMostStreamed][kStreamElements * 16];
  walk_rows<0>(nest, begin, end, [&](char* const* at, const int64_t* strides, int64_t n) {
    // The first piece ends where a line of the cache does, and so all others.
    const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(at[first]) % kLine) / nest.item[first];
    int64_t count = 0;
    for (int64_t done = 0; done < n; done += count) {
      count = std::min(kStreamElements - (done == 0 ? beyond : 0), n - done);
      char* from[kMaxOperands];
      for (int k = 0; k < nest.count; ++k) from[k] = k < first ? at[k] + done * strides[k] : lines[k - first];
      run_row(nest, loop, from, strides, count);
      for (int k = first; k < nest.count; ++k) stream_out(at[k] + done * nest.item[k], from[k], count * nest.item[k]);
    }
  });
  stream_end();
}

// ---- short rows

constexpr int64_t kShortRows = 8192, kShortElement = 8, kShortCount = 4;  // bytes of several rows, of an element; how many rows
constexpr int64_t kShortLeast = 4096;                                      // elements that make up for the copies
constexpr int kMostRepeated = 3;

// Operands that repeat short rows are copied for as many rows as make up a long line: a call for each row would take longer than its
// elements.
struct ShortRows {
  const Nest& nest;
  int count = 0, operand[kMostRepeated];  // which are copied
  bool fits = false;
  int64_t together = 0;  // rows

  explicit ShortRows(const Nest& nest) : nest(nest) {
    const int64_t inner = nest.sizes[0];
    if (!nest.in_lines || nest.ndim != 2 || nest.total < kShortLeast) return;
    int64_t widest = 1;
    for (int k = 0; k < nest.count; ++k) {
      const int64_t along = nest.strides[0][k], down = nest.strides[1][k], item = nest.item[k];
      const bool stays = along == 0 && down == 0, follows = along == item && down == inner * item;
      if (stays || follows) continue;
      const bool repeats = along == item && down == 0 && k < nest.count - nest.results;
      if (!repeats || item > kShortElement || count == kMostRepeated) return;
      widest = std::max(widest, item);
      operand[count++] = k;
    }
    together = kShortRows / (inner * widest);
    fits = count > 0 && together >= kShortCount;
  }

  // Rows [first, last): call(pointers, strides, n) for some at a time.
  template <class Call>
  void run(int64_t first, int64_t last, Call&& call) const {
    const int64_t inner = nest.sizes[0];
    alignas(64) char lines[kMostRepeated][kShortRows];
    char* at[kMaxOperands];
    int64_t steps[kMaxOperands];
    for (int k = 0; k < nest.count; ++k) steps[k] = nest.strides[0][k];
    for (int i = 0; i < count; ++i) steps[operand[i]] = nest.item[operand[i]];
    for (int i = 0; i < count; ++i) {
      const int64_t row = inner * nest.item[operand[i]], all = std::min(together, last - first) * row;
      std::memcpy(lines[i], nest.data[operand[i]], static_cast<size_t>(row));
      for (int64_t done = row; done < all; done *= 2) std::memcpy(lines[i] + done, lines[i], static_cast<size_t>(std::min(done, all - done)));
    }
    for (int64_t row = first; row < last; row += together) {
      for (int k = 0; k < nest.count; ++k) at[k] = nest.data[k] + row * nest.strides[1][k];
      for (int i = 0; i < count; ++i) at[operand[i]] = lines[i];
      call(at, steps, std::min(together, last - row) * inner);
    }
  }
};

void run_short_rows(const ShortRows& rows, Loop loop, int64_t grain) {
  const Nest& nest = rows.nest;
  const bool past_cache = loop_streams(nest, grain) && nest.strides[1][nest.count - 1] % kLine == 0 && streams(nest, grain);
  const int64_t how = unaided(true);
  const int64_t rows_of_grain = get_num_threads() == 1 ? nest.sizes[1] : std::max<int64_t>(rows.together, grain / nest.sizes[0]);
  parallel_evenly(nest.sizes[1], rows_of_grain, [&](int64_t begin, int64_t end) {
    rows.run(begin, end, [&](char* const* at, const int64_t* strides, int64_t n) {
      if (past_cache) stream_row(nest, loop, at, strides, n);
      else loop(at, strides, n | how);
    });
    if (past_cache) stream_end();
  });
}

void run_large(const Nest& nest, Loop loop, int64_t grain) {
  if (nest.ndim > 1) {
    if (const int across = transposed_dimension(nest)) return run_tiles(nest, across, loop, grain);
    if (const ShortRows rows(nest); rows.fits) return run_short_rows(rows, loop, grain);
  }
  if (nest.sizes[0] >= kStreamElements && streams(nest, grain)) {
    const auto range = loop_streams(nest, grain) ? stream_rows : stream_range;
    return parallel_evenly(nest.total, grain, [&](int64_t begin, int64_t end) { range(nest, loop, begin, end); });
  }
  parallel_evenly(nest.total, grain,
               [&](int64_t begin, int64_t end) { (nest.count == 3 ? run_range<3> : run_range<0>)(nest, loop, begin, end); });
}

// Small nests, and large ones of one dimension, need no more than this.
template <int N>
inline void run_any(const Nest& nest, Loop loop, int64_t grain) {
  if (nest.total == 0) return;
  if (nest.total > grain || (nest.ndim > 1 && nest.total >= 512)) return run_large(nest, loop, grain);
  run_range<N>(nest, loop, 0, nest.total);
}

template <int N>
void run_counted(Loop loop, const Array* arrays, int64_t grain, bool in_lines) {
  Nest nest;
  build<N>(nest, arrays, N);
  nest.in_lines = in_lines;
  run_any<N>(nest, loop, grain);
}

}  // namespace

// AMD's cores that share a cache also share one way from it to memory, and one core fills that: several write into the cache
// faster for as long as it holds most of what they touch.
bool outgrows_cache(int64_t touched, int64_t written, int64_t factor) {
  const int64_t cache = cpu_features().last_cache * factor;
  const bool whole = cpu_features().amd && !cpu_features().halved;  // Zen 5 gains by its cache for longer: what comes next reads results
  const bool one_way = cache > 0 && cpu_features().amd && get_num_threads() > 1;
  if (one_way) return touched >= cache / 8 * (whole ? 18 : 9) && written >= cache / 8;
  return written >= factor * kStreamedBytes || (cache > 0 && touched >= cache / 16 * (whole ? 15 : 10) && written >= cache / 8);
}

void build_nest(Nest& nest, const Array* arrays, int count) {
  if (count > kMaxOperands) {
    fail(ErrorKind::Internal, "build_nest: " + std::to_string(count) + " operands; at most 16");
  }
  count == 2 ? build<2>(nest, arrays, 2) : build<0>(nest, arrays, count);
}

void run_nest(const Nest& nest, Loop loop, int64_t grain) {
  nest.count == 2 ? run_any<2>(nest, loop, grain) : run_any<0>(nest, loop, grain);
}

void run_row(const Nest& nest, Loop loop, char* const* at, const int64_t* strides, int64_t n) {
  if (!nest.in_lines || n == 1 || rows_are_lines(nest, strides)) return loop(at, strides, n);
  constexpr int64_t kLineElements = 256;
  alignas(64) char lines[kMaxOperands][kLineElements * 16];
  const int first = nest.count - nest.results;  // of those that are written
  char* from[kMaxOperands];
  int64_t steps[kMaxOperands];
  bool moved[kMaxOperands];
  for (int k = 0; k < nest.count; ++k) {
    moved[k] = strides[k] != 0 && strides[k] != nest.item[k];
    steps[k] = moved[k] ? nest.item[k] : strides[k];
  }
  for (int64_t done = 0; done < n; done += kLineElements) {
    const int64_t count = std::min(kLineElements, n - done);
    for (int k = 0; k < nest.count; ++k) {
      char* place = at[k] + done * strides[k];
      from[k] = moved[k] ? lines[k] : place;
      if (moved[k] && k < first) move_line(nest.item[k], lines[k], nest.item[k], place, strides[k], count);
    }
    loop(from, steps, count);
    for (int k = first; k < nest.count; ++k) {
      if (moved[k]) move_line(nest.item[k], at[k] + done * strides[k], strides[k], lines[k], nest.item[k], count);
    }
  }
}

void run_loop(Loop loop, const Array* arrays, int count, int64_t grain, bool in_lines, int results) {
  if (count == 2 && results == 1) return run_counted<2>(loop, arrays, grain, in_lines);
  if (count == 3 && results == 1) return run_counted<3>(loop, arrays, grain, in_lines);
  Nest nest;
  build_nest(nest, arrays, count);
  nest.in_lines = in_lines;
  nest.results = results;
  run_nest(nest, loop, grain);
}

}  // namespace thixo
