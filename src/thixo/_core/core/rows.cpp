#include "rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "allocator.h"
#include "kernels.h"
#include "kernels/nest.h"
#include "stream.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kBlock = 32768;  // places of a block, where few long rows are cut
constexpr int64_t kSummedRows = 64;   // rows that add up one after the other where sums go over rows
constexpr int64_t kSummedChunks = 64;
constexpr int64_t kPacked = 1 << 19;  // bytes that are packed at a time
constexpr int64_t kSideBySide = 8;   // blocks of lanes across rows
constexpr int64_t kPad = 64;       // places that a kept line has more than the row

// Dimensions of one kind, merged where all operands allow it; outermost first.
struct Group {
  int ndim = 0;
  int64_t total = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxRowOperands];

  void add(int64_t size, const RowOperand* operands, int dim, int count) {
    total *= size;
    if (size == 1) return;
    bool merges = ndim > 0;
    for (int k = 0; merges && k < count; ++k) merges = strides[ndim - 1][k] == operands[k].strides[dim] * size;
    if (merges) {
      sizes[ndim - 1] *= size;
      for (int k = 0; k < count; ++k) strides[ndim - 1][k] = operands[k].strides[dim];
      return;
    }
    sizes[ndim] = size;
    for (int k = 0; k < count; ++k) strides[ndim][k] = operands[k].strides[dim];
    ++ndim;
  }
};

// The dimensions of one kind in the order of the leading operand's memory, largest stride first. What repeats
// (stride 0) comes first of all.
int in_order(int* order, int ndim, const bool* reduced, bool kind, const int64_t* lead, bool keep) {
  int n = 0;
  for (int d = 0; d < ndim; ++d)
    if (reduced[d] == kind) order[n++] = d;
  if (keep) return n;
  const auto rank = [&](int d) { return lead[d] == 0 ? INT64_MAX : std::abs(lead[d]); };
  for (int i = 1; i < n; ++i)  // few, and mostly in order
    for (int j = i; j > 0 && rank(order[j - 1]) < rank(order[j]); --j) std::swap(order[j - 1], order[j]);
  return n;
}

}  // namespace

bool plan_rows(RowNest& nest, const RowKernel& kernel, const RowOperand* operands, int ndim, const int64_t* sizes,
               const bool* reduced) {
  const int count = kernel.count;
  int lead = -1;  // a result decides, else the first operand
  for (int k = 0; k < count; ++k)
    if (kernel.view[k] == RowView::Full && (lead < 0 || (kernel.written[k] && !kernel.written[lead]))) lead = k;
  for (int k = 0; lead < 0 && k < count; ++k)  // one row, or rows of one place
    if (kernel.view[k] == RowView::Column) lead = k;
  lead = std::max(lead, 0);
  const int64_t item = item_size(kernel.dtype[lead]);
  Group kept, along;
  int order[kMaxDims];
  int n = in_order(order, ndim, reduced, false, operands[lead].strides, false);
  for (int i = 0; i < n; ++i) kept.add(sizes[order[i]], operands, order[i], count);
  n = in_order(order, ndim, reduced, true, operands[lead].strides, kernel.ordered);
  for (int i = 0; i < n; ++i) along.add(sizes[order[i]], operands, order[i], count);
  if (kept.total == 0) return false;

  const bool unit_kept = kept.ndim > 0 && kept.strides[kept.ndim - 1][lead] == item;
  const bool unit_along = along.ndim > 0 && along.strides[along.ndim - 1][lead] == item;
  bool sums = false;  // over rows, which only lanes along the row can do
  for (int k = 0; k < count; ++k) sums = sums || (kernel.written[k] && kernel.view[k] == RowView::Column);
  nest.layout = unit_kept && !unit_along && !sums ? RowLayout::Across : RowLayout::Along;
  nest.outer = std::max(0, kept.ndim - 1);
  nest.outer_total = 1;
  for (int d = 0; d < nest.outer; ++d) {
    nest.sizes[d] = kept.sizes[d];
    nest.outer_total *= kept.sizes[d];
    std::copy_n(kept.strides[d], count, nest.outer_strides[d]);
  }
  nest.rows = kept.ndim ? kept.sizes[kept.ndim - 1] : 1;
  const bool many = along.ndim > 2;
  nest.columns = many ? along.total : along.ndim ? along.sizes[along.ndim - 1] : along.total;
  nest.segments = !many && along.ndim == 2 ? along.sizes[0] : 1;
  // what a copy would run over: outer, rows, places
  nest.ndim = 0;
  for (int d = 0; d < kept.ndim; ++d, ++nest.ndim) {
    nest.pack_sizes[nest.ndim] = kept.sizes[d];
    std::copy_n(kept.strides[d], count, nest.pack_strides[nest.ndim]);
  }
  for (int d = 0; d < along.ndim; ++d, ++nest.ndim) {
    nest.pack_sizes[nest.ndim] = along.sizes[d];
    std::copy_n(along.strides[d], count, nest.pack_strides[nest.ndim]);
  }
  for (int k = 0; k < count; ++k) {
    const RowView view = kernel.view[k];
    const int64_t size = item_size(kernel.dtype[k]);
    int64_t* to = nest.strides + 3 * k;
    to[0] = kept.ndim ? kept.strides[kept.ndim - 1][k] : size;
    to[1] = !many && along.ndim == 2 ? along.strides[0][k] : 0;
    to[2] = !many && along.ndim ? along.strides[along.ndim - 1][k] : size;
    nest.data[k] = operands[k].data;
    const bool places = view == RowView::Full || view == RowView::Column;
    const bool rows = view == RowView::Full || view == RowView::Row;
    bool fits = !(many && places);
    if (nest.layout == RowLayout::Along) {
      if (places) fits = fits && (to[2] == size || (to[2] == 0 && !kernel.written[k]));
    } else if (rows) {
      fits = fits && to[0] == size;
    }
    nest.packed[k] = !fits || (kernel.written[k] && view == RowView::Column);
  }
  return true;
}

namespace {

struct Block {
  size_t bytes = 0;
  char* data = nullptr;
  Block() = default;
  explicit Block(size_t bytes) : bytes(bytes), data(bytes ? static_cast<char*>(allocate(bytes)) : nullptr) {}
  Block(Block&& other) noexcept : bytes(other.bytes), data(other.data) { other.data = nullptr; }
  Block& operator=(Block&& other) noexcept {
    std::swap(bytes, other.bytes);
    std::swap(data, other.data);
    return *this;
  }
  ~Block() {
    if (data) release(data, bytes);
  }
};

// Elements of a packed operand in another order: rows innermost for lanes across rows, places innermost along the
// row. Dimensions that the operand does not have are not repeated.
struct Packing {
  Block block;
  int64_t outer[kMaxDims], row = 0, segment = 0, column = 0;  // strides of the copy

  // Of the whole operand; or, for one outer position, of `rows` rows from `data` on.
  Packing(const RowNest& nest, const RowKernel& kernel, int k, char* data, int64_t rows, bool whole)
      : kept_(nest.outer + (nest.rows > 1 ? 1 : 0)), first_(whole ? 0 : nest.outer) {
    const bool across = nest.layout == RowLayout::Across;
    int64_t bytes = item_size(kernel.dtype[k]), strides[kMaxDims];
    const auto place = [&](int d) {
      const bool has = kernel.view[k] == RowView::Full || (kernel.view[k] == RowView::Row) == (d < kept_);
      sizes_[d] = !has ? 1 : !whole && d == nest.outer && d < kept_ ? rows : nest.pack_sizes[d];
      strides[d] = has ? bytes : 0;
      own_[d] = has ? nest.pack_strides[d][k] : 0;
      bytes *= sizes_[d];
    };
    if (across && kept_ > first_) place(kept_ - 1);
    for (int d = nest.ndim - 1; d >= kept_; --d) place(d);
    for (int d = kept_ - 1 - (across ? 1 : 0); d >= first_; --d) place(d);
    block = Block(static_cast<size_t>(bytes));
    const int ndim = nest.ndim - first_, places = nest.ndim - kept_;
    std::copy_n(strides, nest.ndim, strides_);
    there = {block.data, kernel.dtype[k], ndim, sizes_ + first_, strides_ + first_};
    own = {data, kernel.dtype[k], ndim, sizes_ + first_, own_ + first_};
    for (int d = 0; d < nest.outer && whole; ++d) outer[d] = strides_[d];
    if (kept_ > nest.outer) row = strides_[kept_ - 1];
    if (places) column = strides_[nest.ndim - 1];
    if (places == 2) segment = strides_[kept_];
  }
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  Array there, own;

 private:
  int kept_, first_;
  int64_t sizes_[kMaxDims], own_[kMaxDims], strides_[kMaxDims];
};

// Room for one Packing for each operand that needs it.
struct Packings {
  alignas(Packing) char room[kMaxRowOperands][sizeof(Packing)];
  Packing* made[kMaxRowOperands] = {};

  Packing& make(const RowNest& nest, const RowKernel& kernel, int k, char* data, int64_t rows, bool whole) {
    made[k] = new (room[k]) Packing(nest, kernel, k, data, rows, whole);
    if (!kernel.written[k]) copy(made[k]->there, made[k]->own);
    return *made[k];
  }
  void finish(const RowKernel& kernel) {
    for (int k = 0; k < kernel.count; ++k) {
      if (!made[k]) continue;
      if (kernel.written[k]) copy(made[k]->own, made[k]->there);
      made[k]->~Packing();
      made[k] = nullptr;
    }
  }
  ~Packings() {
    for (Packing* p : made)
      if (p) p->~Packing();
  }
};

// Results that are sums over rows. Each chunk of rows adds up its own; then they are added pairwise.
struct ColumnSums {
  int count = 0, operand[kMaxRowOperands];
  DType dtype[kMaxRowOperands];
  int64_t total = 0, chunks = 0;
  Block block[kMaxRowOperands];

  explicit ColumnSums(const RowKernel& kernel) {
    for (int k = 0; k < kernel.count; ++k) {
      if (!kernel.written[k] || kernel.view[k] != RowView::Column) continue;
      dtype[count] = kernel.dtype[k];
      operand[count++] = k;
    }
  }
  size_t bytes(int i) const { return static_cast<size_t>(total) * item_size(dtype[i]); }
  void make(int64_t places, int64_t tasks) {
    total = places;
    chunks = tasks;
    for (int i = 0; i < count; ++i) block[i] = Block(bytes(i) * static_cast<size_t>(tasks));
  }
  void point(char** pointers, int64_t chunk) const {
    for (int i = 0; i < count; ++i) {
      pointers[operand[i]] = block[i].data + static_cast<size_t>(chunk) * bytes(i);
      std::memset(pointers[operand[i]], 0, bytes(i));
    }
  }
  // Some of the columns: so few that they stay in the cache through all steps.
  template <class T>
  void add_pairs(int i, int64_t begin, int64_t end) {
    T* at = reinterpret_cast<T*>(block[i].data);
    for (int64_t step = 1; step < chunks; step *= 2)
      for (int64_t c = 0; c + step < chunks; c += 2 * step) {
        T* sum = at + c * total;
        const T* other = at + (c + step) * total;
        for (int64_t j = begin; j < end; ++j) sum[j] += other[j];
      }
  }
  template <class Where>
  void join(Where&& where) {
    constexpr int64_t kColumns = 256, kGrain = 65536;
    const int64_t pieces = (total + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, kGrain / (kColumns * std::max<int64_t>(chunks, 1)));
    parallel_for(count * pieces, grain, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        const int i = static_cast<int>(p / pieces);
        const int64_t begin = p % pieces * kColumns, end = std::min(total, begin + kColumns);
        dtype[i] == DType::F64 ? add_pairs<double>(i, begin, end) : add_pairs<float>(i, begin, end);
      }
    });
    for (int i = 0; i < count; ++i)
      if (bytes(i)) std::memcpy(where(operand[i]), block[i].data, bytes(i));
  }
};

// Results that no cache holds (stream.h): a few rows are computed into memory that is near, and written from there.
struct Streamed {
  static constexpr int64_t kNear = 1 << 16;  // bytes
  // A kernel has more to do than to write: while the last cache holds what it needs, it does not wait for that.
  static constexpr int64_t kLeast = 4 * kStreamedBytes;
  int count = 0, operand[kMaxRowOperands];
  int64_t rows = 0, bytes[kMaxRowOperands], start[kMaxRowOperands], total = 0;  // of a row, of all rows at a time

  Streamed(const RowNest& nest, const RowKernel& kernel) {
    if (!kStreams || nest.layout != RowLayout::Along || nest.segments != 1) return;
    int64_t row = 0;
    for (int k = 0; k < kernel.count; ++k) {
      const int64_t item = item_size(kernel.dtype[k]), size = nest.columns * item;
      if (!kernel.written[k] || kernel.view[k] != RowView::Full || nest.packed[k] || nest.strides[3 * k + 2] != item) continue;
      if (size < 1024 || nest.outer_total * nest.rows * size < kLeast) continue;
      bool own = true;  // in place it is in the cache already
      for (int i = 0; i < kernel.count; ++i) own = own && (i == k || nest.data[i] != nest.data[k]);
      if (!own) continue;
      operand[count] = k;
      bytes[count++] = size;
      row += (size + 63) / 64 * 64;
    }
    rows = row ? std::max<int64_t>(1, kNear / row) : 0;
    for (int i = 0; i < count; ++i) {
      start[i] = total;
      total += (bytes[i] + 63) / 64 * 64 * rows;
    }
  }

  // `given` rows from `pointers` on.
  void run(const RowNest& nest, const RowKernel& kernel, RowLoop loop, char* const* pointers, int64_t given, char* near,
           char* scratch) const {
    int64_t strides[3 * kMaxRowOperands];
    std::copy_n(nest.strides, 3 * kernel.count, strides);
    for (int i = 0; i < count; ++i) strides[3 * operand[i]] = (bytes[i] + 63) / 64 * 64;
    for (int64_t done = 0; done < given; done += rows) {
      const int64_t some = std::min(rows, given - done);
      char* at[kMaxRowOperands];
      for (int k = 0; k < kernel.count; ++k) at[k] = pointers[k] + done * nest.strides[3 * k];
      char* to[kMaxRowOperands];
      for (int i = 0; i < count; ++i) to[i] = std::exchange(at[operand[i]], near + start[i]);
      loop(at, strides, some, 1, nest.columns, scratch);
      for (int i = 0; i < count; ++i)
        for (int64_t r = 0; r < some; ++r)
          stream_out(to[i] + r * nest.strides[3 * operand[i]], near + start[i] + r * strides[3 * operand[i]], bytes[i]);
    }
  }
};

// Whether a kernel had better write past the cache by itself: lanes across rows, which go through memory in its own order.
bool writes_past_cache(const RowNest& nest, const RowKernel& kernel) {
  if (!kStreams || nest.layout != RowLayout::Across) return false;
  const int64_t elements = nest.outer_total * nest.rows * nest.segments * nest.columns;
  int64_t touched = 0, written = 0;
  for (int k = 0; k < kernel.count; ++k) {
    if (kernel.view[k] != RowView::Full) continue;
    const int64_t item = item_size(kernel.dtype[k]);
    if (nest.packed[k] || reinterpret_cast<uintptr_t>(nest.data[k]) % static_cast<uintptr_t>(item)) return false;
    bool again = false;  // in place it is in the cache already
    for (int i = 0; i < k; ++i) again = again || nest.data[i] == nest.data[k];
    if (again && kernel.written[k]) return false;
    touched += again ? 0 : elements * item;
    if (kernel.written[k]) written += elements * item;
  }
  return written && outgrows_cache(touched, written);
}

}  // namespace

bool wants_split(const RowNest& nest, const RowKernel& kernel) {
  if (nest.outer || std::any_of(nest.packed, nest.packed + kernel.count, [](bool p) { return p; })) return false;
  const int64_t total = nest.segments * nest.columns;
  return nest.layout == RowLayout::Along ? nest.rows < 8 && total >= 4 * kBlock
                                         : nest.rows <= 64 && nest.rows * total >= 4 * kBlock && total >= 256;
}

void run_split(const RowNest& nest, const RowKernel& kernel, const RowSplit& split) {
  const bool across = nest.layout == RowLayout::Across;
  const int64_t total = nest.segments * nest.columns;
  // A block is some places of the one segment, or some segments.
  const int64_t wanted = across ? std::max<int64_t>(64, kBlock / nest.rows) : kBlock;
  const bool cut = nest.segments == 1;
  const int64_t unit = cut ? wanted : std::max<int64_t>(1, wanted / nest.columns);
  const int64_t length = cut ? nest.columns : nest.segments;
  const int64_t blocks = (length + unit - 1) / unit, rows = nest.rows;
  int inputs = 0;
  while (!kernel.written[inputs]) ++inputs;
  size_t bytes = 0, starts[kMaxRowOperands];
  for (int p = 0; p < split.parts; ++p) {
    starts[p] = bytes;
    bytes += (static_cast<size_t>(rows * blocks) * static_cast<size_t>(split.part_item[p]) + 63) / 64 * 64;
  }
  Block parts(bytes);
  const int64_t per_task = across ? rows : 1;
  const int64_t tasks = rows / per_task * blocks;
  parallel_evenly(tasks, get_num_threads() == 1 ? tasks : 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end;) {
      const int64_t row = across ? 0 : task / blocks, block = task % blocks, n = std::min(unit, length - block * unit);
      // Whole blocks of one row are so many rows of their own: one call for them, or memory would rest between two.
      const int64_t whole = across || !cut ? 0 : std::min((row + 1) * blocks, end) - task - (blocks * unit > length && end >= (row + 1) * blocks);
      const int64_t together = std::max<int64_t>(1, whole);
      char* pointers[2 * kMaxRowOperands];
      int64_t strides[6 * kMaxRowOperands];
      for (int k = 0; k < inputs; ++k) {
        const int64_t* s = nest.strides + 3 * k;
        const bool places = kernel.view[k] == RowView::Full || kernel.view[k] == RowView::Column;
        const int64_t step = places ? unit * s[cut ? 2 : 1] : 0;
        pointers[k] = nest.data[k] + row * s[0] + block * step;
        std::copy_n(s, 3, strides + 3 * k);
        if (!across) strides[3 * k] = step;
      }
      for (int p = 0; p < split.parts; ++p) {  // across rows, a block's parts lie side by side
        const int64_t item = split.part_item[p], first = across ? block * rows : row * blocks + block;
        pointers[inputs + p] = parts.data + starts[p] + first * item;
        strides[3 * (inputs + p)] = item;
        strides[3 * (inputs + p) + 1] = strides[3 * (inputs + p) + 2] = 0;
      }
      split.partial(pointers, strides, per_task * together, cut ? 1 : n, cut ? n : nest.columns, nullptr);
      task += together;
    }
  });
  char* pointers[2 * kMaxRowOperands];
  int64_t strides[6 * kMaxRowOperands];
  int at = 0;
  const auto place = [&](char* data, int64_t row, int64_t column) {
    pointers[at] = data;
    strides[3 * at] = row;
    strides[3 * at + 1] = 0;
    strides[3 * at + 2] = column;
    ++at;
  };
  Block turned(across ? bytes : 0);  // the parts of each row side by side
  for (int p = 0; p < split.parts; ++p) {
    const int64_t item = split.part_item[p];
    char* data = parts.data + starts[p];
    if (across) {
      data = turned.data + starts[p];
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t b = 0; b < blocks; ++b)
          std::memcpy(data + (r * blocks + b) * item, parts.data + starts[p] + (b * rows + r) * item,
                      static_cast<size_t>(item));
    }
    place(data, blocks * item, item);
  }
  for (int i = 0; i < split.passed_count; ++i)
    place(nest.data[split.passed[i]], nest.strides[3 * split.passed[i]], 0);
  int64_t whole = total;
  place(reinterpret_cast<char*>(&whole), 0, 0);
  for (int k = inputs; k < kernel.count; ++k) place(nest.data[k], nest.strides[3 * k], 0);
  split.combine(pointers, strides, rows, 1, blocks, nullptr);
}

size_t row_scratch(const RowNest& nest, const RowKernel& kernel) {
  return static_cast<size_t>(kernel.slots) * static_cast<size_t>(nest.segments * nest.columns + kPad) * 8 *
         static_cast<size_t>(nest.layout == RowLayout::Across ? kernel.width : 1);
}

void run_rows(const RowNest& given, const RowKernel& kernel, RowLoop loop) {
  const int count = kernel.count;
  bool in_parts = false;  // operands of full size are packed a few rows at a time, while they are in the cache
  int64_t packed_bytes = 0;
  RowNest copied;
  Packings small;
  const RowNest* with = &given;
  for (int k = 0; k < count; ++k) {
    if (!given.packed[k]) continue;
    if (kernel.view[k] == RowView::Full) {
      in_parts = true;
      packed_bytes += item_size(kernel.dtype[k]);
      continue;
    }
    if (with == &given) {
      copied = given;
      with = &copied;
    }
    const Packing& p = small.make(given, kernel, k, given.data[k], given.rows, true);
    copied.data[k] = p.block.data;
    copied.strides[3 * k] = p.row;
    copied.strides[3 * k + 1] = p.segment;
    copied.strides[3 * k + 2] = p.column;
    for (int d = 0; d < given.outer; ++d) copied.outer_strides[d][k] = p.outer[d];
  }

  const RowNest& nest = *with;
  const int64_t total = nest.segments * nest.columns;
  const bool across = nest.layout == RowLayout::Across;
  const int64_t lanes = 16;
  const bool few = nest.rows <= kernel.width, shared = get_num_threads() > 1 && total >= 4 * get_num_threads();
  if (kernel.loose && across && !in_parts && nest.outer_total == 1 && nest.segments == 1 && (few || shared)) {
    // Threads share out places: rows may be too few, and of many two threads would write into the same lines at a time.
    const int64_t unit = few ? std::max<int64_t>(64, kBlock / nest.rows) : std::max<int64_t>(1, kernel.grain / nest.rows);
    parallel_evenly((total + unit - 1) / unit, 1, [&](int64_t begin, int64_t end) {
      Block block(row_scratch(nest, kernel));
      const int64_t first = begin * unit;
      char* pointers[kMaxRowOperands];
      for (int k = 0; k < count; ++k) pointers[k] = nest.data[k] + first * nest.strides[3 * k + 2];
      loop(pointers, nest.strides, nest.rows, 1, std::min(end * unit, total) - first, block.data, first);
    });
    return small.finish(kernel);
  }
  ColumnSums sums(kernel);
  // Rows of one task. Each row is computed alone, so that the cut may follow the number of threads.
  int64_t chunk = std::max<int64_t>(1, kernel.grain / std::max<int64_t>(1, total));
  if (across) {
    const int64_t share = (nest.rows * nest.outer_total + get_num_threads() - 1) / get_num_threads();
    chunk = std::max(chunk, std::min<int64_t>(kernel.width, (share + lanes - 1) / lanes * lanes));
    chunk = chunk >= kernel.width ? (chunk + kernel.width - 1) / kernel.width * kernel.width
                                  : (chunk + lanes - 1) / lanes * lanes;
  } else if (in_parts) {
    chunk = std::max(lanes, kPacked / std::max<int64_t>(1, total * packed_bytes) / lanes * lanes);
  }
  // By sizes alone, since each chunk has its own sums: there should be as many as threads might want, but no more.
  if (sums.count) chunk = std::clamp<int64_t>(std::max(chunk, nest.rows / kSummedChunks), 16, kSummedRows);
  chunk = std::min(chunk, nest.rows);
  const int64_t chunks = (nest.rows + chunk - 1) / chunk;
  sums.make(total, nest.outer_total * chunks);
  // Chunks that are packed, or have sums of their own, are computed one by one; others together where they are neighbours.
  const bool apart = in_parts || sums.count;
  int64_t grain = apart ? 1 : std::max<int64_t>(1, kernel.grain / std::max<int64_t>(1, chunk * total));
  // One thread takes all rows in one call: to begin one takes as long as hundreds of elements.
  if (!across && !apart && get_num_threads() == 1) grain = nest.outer_total * chunks;
  // Blocks of rows that lie side by side are read together (rows_side.py), if there are enough of them for all threads.
  if (across && !apart) {
    const int64_t share = (nest.outer_total * chunks + get_num_threads() - 1) / get_num_threads();
    grain = std::max(grain, std::min(kSideBySide * kernel.width / chunk, share));
  }
  const size_t scratch = row_scratch(nest, kernel);
  const Streamed streamed(nest, kernel);
  const bool past_cache = streamed.count && !in_parts, by_itself = writes_past_cache(nest, kernel);
  parallel_evenly(nest.outer_total * chunks, grain, [&](int64_t begin, int64_t end) {
    Block block(scratch), near(static_cast<size_t>(past_cache ? streamed.total : 0));
    for (int64_t task = begin; task < end;) {
      const int64_t first = task % chunks;
      const int64_t last = std::min(chunks, first + (apart ? 1 : end - task));
      int64_t rest = task / chunks;
      char* pointers[kMaxRowOperands];
      for (int k = 0; k < count; ++k) pointers[k] = nest.data[k] + first * chunk * nest.strides[3 * k];
      for (int d = nest.outer - 1; d >= 0; --d) {
        const int64_t index = rest % nest.sizes[d];
        rest /= nest.sizes[d];
        for (int k = 0; k < count; ++k) pointers[k] += index * nest.outer_strides[d][k];
      }
      const int64_t rows = std::min(nest.rows, last * chunk) - first * chunk;
      sums.point(pointers, task);
      if (past_cache) {
        streamed.run(nest, kernel, loop, pointers, rows, near.data, block.data);
      } else if (!in_parts) {
        loop(pointers, nest.strides, rows, nest.segments, nest.columns, block.data, 0, by_itself);
        if (by_itself) stream_end();
      } else {
        Packings parts;
        int64_t strides[3 * kMaxRowOperands];
        std::copy_n(nest.strides, 3 * count, strides);
        for (int k = 0; k < count; ++k) {
          if (!nest.packed[k] || kernel.view[k] != RowView::Full) continue;
          const Packing& p = parts.make(nest, kernel, k, pointers[k], rows, false);
          pointers[k] = p.block.data;
          strides[3 * k] = p.row;
          strides[3 * k + 1] = p.segment;
          strides[3 * k + 2] = p.column;
        }
        loop(pointers, strides, rows, nest.segments, nest.columns, block.data);
        parts.finish(kernel);
      }
      task += last - first;
    }
    if (past_cache) stream_end();
  });
  sums.join([&](int k) { return small.made[k]->block.data; });
  small.finish(kernel);
}

}  // namespace thixo
