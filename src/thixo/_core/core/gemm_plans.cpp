// Products of floats from where the matrices are; gemm_packed.cpp has those from panels.
#include "fetch.h"
#include "gemm_job.h"
#include "stream.h"
#include "thread_pool.h"

namespace thixo {

// ---- from where the matrices are

// Rows of B that are read at a time, of a large one; of one that the second-level cache holds: fewer updates of C.
constexpr int64_t kStreamedRows = 32, kStreamedRowsNear = 64, kSecondBytes = 3 << 19;

// Column panels from which it pays to turn rows of A first.
constexpr int64_t kWideForPanels = 6;

// Strips of columns that are brought near together: bytes of them, and how many.
constexpr int64_t kBroughtBytes = 128 << 10, kMostBrought = 8;

bool direct_fits(const Job& job, const GemmKernels& g) {
  if (g.source != g.compute || g.tiles.depth != 1 || job.b_n != 1 || job.c_n != 1) return false;
  if (job.a_k != 1 && job.a_row != 1) return false;
  return g.partial_rows_of_b || job.n % g.tiles.columns == 0;
}

namespace {

// With few k, writing C is what takes time: one that no cache holds is made in pieces that the nearest one does, and
// written past the others.
constexpr int64_t kPieceRows = 16;    // at most
constexpr int64_t kPieceRow = 2048;  // bytes

}  // namespace

bool streams_c(const Job& job, const GemmKernels& g) {
  const int64_t item = item_size(job.dtype);
  return kStreams && job.k > 0 && job.k < kFewK && !job.bias && !job.epilogue.apply && job.n * item >= kPieceRow &&
         job.m * job.n * item >= kStreamedBytes && g.tiles.rows <= kPieceRows && g.tiles.columns * item <= kPieceRow;
}

namespace {

void streamed_product(const Job& job, const GemmKernels& g) {
  if (rehearsing()) return;
  const TileKernels& t = g.tiles;
  const int64_t item = item_size(job.dtype), height = panel_height(job.m, t.rows);
  const int64_t width = kPieceRow / (t.columns * item) * t.columns;
  auto part = [&](int64_t row) {
    alignas(64) char piece[kPieceRows * kPieceRow];
    const int64_t rows = std::min(height, job.m - row);
    for (int64_t left = 0; left < job.n; left += width) {
      const int64_t columns = std::min(width, job.n - left);
      for (int64_t j = 0; j < columns; j += t.columns)
        t.tile(job.k, job.a_at(row, 0), job.a_row, job.a_k, job.b_at(0, left + j), job.b_k, piece + j * item, width, rows,
               std::min(t.columns, columns - j), 0);
      for (int64_t i = 0; i < rows; ++i) stream_out(job.c_at(row + i, left), piece + i * width * item, columns * item);
    }
  };
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) part(i * height);
    stream_end();
  };
  const int64_t panels = ceil_div(job.m, height);
  if (job.parallel) parallel_evenly(panels, 1, run);
  else run(0, panels);
}

// Reads a line of the cache after the other, row by row. Short strips end before the processor sees their stride, and it drops
// requests that are more than it can keep track of, so these are loads.
void bring_near(const Job& job, int64_t left, int64_t right) {
  constexpr int64_t kLine = 64;
  const int64_t bytes = (right - left) * item_size(job.dtype);
  for (int64_t row = 0; row < job.k; ++row) {
    const volatile char* const at = job.b_at(row, left);
    for (int64_t byte = 0; byte < bytes; byte += kLine) (void)at[byte];
  }
}

// Rows so few that wide tiles need no more panels of them than tall ones: then each row of B is read in longer pieces, which come
// sooner from a far cache. Unless a thread would have more columns than with narrow tiles.
const TileKernels& direct_tiles(const Job& job, const GemmKernels& g) {
  const TileKernels& t = tiles_in_place(job, g);
  if (&t == &g.wide || g.wide.rows == 0 || !strides_are_cheap(t) || job.n <= t.columns) return t;
  if (ceil_div(job.m, g.wide.rows) != ceil_div(job.m, t.rows)) return t;
  const int64_t threads = job.parallel ? get_num_threads() : 1, vectors = ceil_div(job.n, t.lanes);
  auto widest = [&](const TileKernels& tiles) {
    const int64_t across = tiles.columns / tiles.lanes;
    return std::min(vectors, ceil_div(ceil_div(vectors, across), threads) * across);
  };
  constexpr int64_t kGain = 25;  // a part of so many is less than what a wide tile gains
  return widest(g.wide) * (kGain - 1) <= widest(t) * kGain ? g.wide : t;
}

}  // namespace

void direct_product(const Job& job, const GemmKernels& g) {
  if (streams_c(job, g)) return streamed_product(job, g);
  const TileKernels& t = direct_tiles(job, g);
  const bool ended = ends_in_tiles(job, g, t), more = job.bias || (job.epilogue.apply && !ended);
  const int64_t ends = ended ? tile_end(job) : 0;
  const int64_t item = item_size(job.dtype);
  // A large B is read a few rows at a time, from left to right: that is a pattern every processor's prefetch sees.
  const int64_t b_bytes = job.k * job.n * item_size(job.dtype);
  const int64_t at_a_time = b_bytes > kSecondBytes ? kStreamedRows : kStreamedRowsNear;
  const bool streams = !strides_are_cheap(t) && b_bytes > kNearBytes && job.n > t.columns && job.k > at_a_time;
  const int64_t pass = streams ? at_a_time : std::max<int64_t>(job.k, 1);
  const Shares shares = share_out(job, t, 0, streams ? double(job.m) / double(t.rows) : 0);
  // Rows that meet many columns are turned first: a panel takes fewer instructions to read.
  const int64_t widest = ceil_div(shares.column_panels, shares.across), tallest = ceil_div(shares.row_panels, shares.down);
  const bool packs = job.a_k == 1 && job.a_row != 1 && widest >= kWideForPanels && &t != &g.wide;
  const int64_t panel = packs ? pass * t.width * t.unit : 0;
  auto tile = [&](int64_t k, RowPanel r, int64_t j, const char* packed) {
    const auto [row, rows] = r;
    const int64_t column = j * t.columns, columns = std::min(t.columns, job.n - column);
    char* to = job.c_at(row, column);
    if (job.c_elsewhere && k == 0)  // lines that another core has
      for (int64_t i = 0; i < rows; ++i) fetch_to_write(to + i * job.c_row * item, columns * item);
    const bool last = k + pass >= job.k;
    t.tile(std::min(pass, job.k - k), packed ? packed : job.a_at(row, k), packed ? 1 : job.a_row, packed ? t.width : job.a_k,
           job.b_at(k, column), job.b_k, to, job.c_row, rows, columns, (k > 0 ? kTileAdds : 0) | (last ? ends : 0));
    if (more && last) finish_part(job, g, to, job.c_row, row, rows, column, columns);
  };
  // A few strips of columns of a B that is far away are brought near together, if they are short.
  const int64_t brought = job.b_far && strides_are_cheap(t) ? std::clamp<int64_t>(kBroughtBytes / (t.columns * item * pass), 1, kMostBrought) : 1;
  // With few k, C is what moves: from left to right, where its lines follow one another.
  const bool along_c = job.k < kFewK;
  Buffer memory(size_t(shares.count() * tallest * panel));
  if (rehearsing()) return;
  parallel_for(shares.count(), 1, [&](int64_t number, int64_t) {
    const Share s = shares.at(number);
    char* const panels = packs ? memory.data + number * tallest * panel : nullptr;
    auto panel_at = [&](int64_t i) -> char* { return packs ? panels + (i - s.top) * panel : nullptr; };
    for (int64_t k = 0; k < std::max<int64_t>(job.k, 1); k += pass) {
      for (int64_t i = s.top; packs && i < s.bottom; ++i) {
        const RowPanel r = shares.rows_of(i);
        t.pack_a_across(job.a_at(r.row, k), job.a_row, panel_at(i), std::min(pass, job.k - k), r.rows);
      }
      if (along_c) {
        for (int64_t i = s.top; i < s.bottom; ++i) {
          const RowPanel r = shares.rows_of(i);
          for (int64_t j = s.left; j < s.right; ++j) tile(k, r, j, panel_at(i));
        }
      } else {
        for (int64_t j = s.left; j < s.right; ++j) {
          if (brought > 1 && (j - s.left) % brought == 0) bring_near(job, j * t.columns, std::min((j + brought) * t.columns, job.n));
          for (int64_t i = s.top; i < s.bottom; ++i) tile(k, shares.rows_of(i), j, panel_at(i));
        }
      }
    }
  });
}

// ---- thin: each element of B is used for a few rows only, so B is read once and nothing is packed

bool thin_fits(const Job& job) { return job.b_k == 1 || (job.b_n == 1 && job.m <= kAxpyRows); }

namespace {

// The rows of A, contiguous along k.
template <class Bits>
void copy_rows(const Job& job, void* to) {
  const Bits* from = static_cast<const Bits*>(job.a);
  for (int64_t i = 0; i < job.m; ++i)
    for (int64_t p = 0; p < job.k; ++p) static_cast<Bits*>(to)[i * job.k + p] = from[i * job.a_row + p * job.a_k];
}

// Larger ones come from farther away than the second-level cache.
constexpr int64_t kFarBytes = 3 << 20;

void dot_products(const Job& job, const GemmKernels& g) {
  const int64_t item = item_size(job.dtype), wide = item_size(g.compute);
  Buffer copied(job.a_k == 1 ? 0 : size_t(job.m * job.k * item));
  const void* x = job.a;
  int64_t x_row = job.a_row;
  if (copied.data) {
    if (item == 2) copy_rows<uint16_t>(job, copied.data);
    else if (item == 4) copy_rows<uint32_t>(job, copied.data);
    else copy_rows<uint64_t>(job, copied.data);
    x = copied.data;
    x_row = job.k;
  }
  const DotsCall dots = g.dots_far && job.k * job.n * item > kFarBytes ? g.dots_far : g.dots;
  const bool straight = job.dtype == g.compute && !job.bias && !job.epilogue.apply;
  // Chunks of about 64 KiB of B; each has as many columns as sums that fit beside.
  int64_t chunk = std::clamp<int64_t>(round_up((1 << 16) / (job.k * item + 1), 4), 4, 256);
  if (!job.parallel && straight) chunk = job.n;
  parallel_for(job.n, chunk, [&](int64_t from, int64_t to) {
    const int64_t ld = to - from;
    Buffer sums(straight ? 0 : size_t(job.m * ld * wide));
    if (rehearsing()) return;
    if (straight) {
      dots(job.k, x, x_row, job.b_at(0, from), job.b_n, job.c_at(0, from), job.c_row, job.c_n, job.m, to - from);
      return;
    }
    dots(job.k, x, x_row, job.b_at(0, from), job.b_n, sums.data, ld, 1, job.m, ld);
    finish_part(job, g, sums.data, ld, 0, job.m, from, ld);
  });
}

void scaled_rows(const Job& job, const GemmKernels& g) {
  const int64_t wide = item_size(g.compute);
  const bool in_c = job.dtype == g.compute && job.c_n == 1;
  const int64_t chunk = job.n >= 4096 ? 1024 : job.parallel ? std::max<int64_t>(64, round_up(job.n / 8, 64)) : job.n;
  parallel_for(job.n, chunk, [&](int64_t from, int64_t to) {
    const int64_t columns = to - from, ld = in_c ? job.c_row : columns;
    Buffer own(in_c ? 0 : size_t(job.m * columns * wide));
    if (rehearsing()) return;
    char* sums = in_c ? job.c_at(0, from) : own.data;
    g.axpys(job.k, job.a, job.a_row, job.a_k, job.b_at(0, from), job.b_k, sums, ld, job.m, columns, 0);
    finish_part(job, g, sums, ld, 0, job.m, from, columns);
  });
}

}  // namespace

void thin_product(const Job& job, const GemmKernels& g) {
  if (job.b_n == 1 && job.m <= kAxpyRows) scaled_rows(job, g);
  else dot_products(job, g);
}

}  // namespace thixo
