// The three ways to compute a product of floats: from where the matrices are, from panels, and thin ones.
#include <cstring>

#include "gemm_job.h"
#include "thread_pool.h"

namespace thixo {

namespace {

// Rows shared out evenly over as few panels as possible: no panel is left with one row.
int64_t panel_height(int64_t m, int64_t rows) { return ceil_div(m, ceil_div(m, rows)); }

template <class Body>
void for_tasks(const Grid& grid, bool parallel, Body&& body) {
  const int64_t count = grid.count();
  parallel_for(count, parallel ? 1 : count, [&](int64_t from, int64_t to) {
    for (int64_t t = from; t < to; ++t) {
      const int64_t row = t / grid.across() * grid.tall, column = t % grid.across() * grid.wide;
      body(row, std::min(row + grid.tall, grid.row_panels), column, std::min(column + grid.wide, grid.column_panels));
    }
  });
}

}  // namespace

// ---- from where the matrices are

constexpr int64_t kStreamedRows = 32;

bool direct_fits(const Job& job, const GemmKernels& g) {
  if (g.source != g.compute || g.tiles.depth != 1 || job.b_n != 1 || job.c_n != 1) return false;
  if (job.a_k != 1 && job.a_row != 1) return false;
  return g.partial_rows_of_b || job.n % g.tiles.columns == 0;
}

void direct_product(const Job& job, const GemmKernels& g) {
  const TileKernels& t = g.tiles;
  const int64_t height = panel_height(job.m, t.rows);
  const bool more = job.bias || job.epilogue.apply;
  // A large B is read a few rows at a time, from left to right: that is a pattern the processor's prefetch sees.
  const bool streams = job.k * job.n * item_size(job.dtype) > kNearBytes && job.n > t.columns && job.k > kStreamedRows;
  const int64_t pass = streams ? kStreamedRows : std::max<int64_t>(job.k, 1);
  auto part = [&](int64_t k, int64_t row, int64_t column) {
    const int64_t rows = std::min(height, job.m - row), columns = std::min(t.columns, job.n - column);
    char* to = job.c_at(row, column);
    t.tile(std::min(pass, job.k - k), job.a_at(row, k), job.a_row, job.a_k, job.b_at(k, column), job.b_k, to, job.c_row,
           rows, columns, k > 0);
    if (more && k + pass >= job.k) finish_part(job, g, to, job.c_row, row, rows, column, columns);
  };
  // With few k, C is what moves: from left to right, where its lines follow one another.
  const bool along_c = job.k < kFewK;
  if (!job.parallel && !streams) {
    if (along_c) {
      for (int64_t row = 0; row < job.m; row += height)
        for (int64_t column = 0; column < job.n; column += t.columns) part(0, row, column);
      return;
    }
    for (int64_t column = 0; column < job.n; column += t.columns)
      for (int64_t row = 0; row < job.m; row += height) part(0, row, column);
    return;
  }
  const Grid grid = make_grid(ceil_div(job.m, height), ceil_div(job.n, t.columns), 16, streams ? 128 : 8, job.parallel);
  for_tasks(grid, job.parallel, [&](int64_t top, int64_t bottom, int64_t left, int64_t right) {
    if (along_c && !streams) {
      for (int64_t i = top; i < bottom; ++i)
        for (int64_t j = left; j < right; ++j) part(0, i * height, j * t.columns);
      return;
    }
    for (int64_t k = 0; k < std::max<int64_t>(job.k, 1); k += pass)
      for (int64_t j = left; j < right; ++j)
        for (int64_t i = top; i < bottom; ++i) part(k, i * height, j * t.columns);
  });
}

// ---- thin: each element of B is used for a few rows only, so B is read once and nothing is packed

bool thin_fits(const Job& job) { return job.b_k == 1 || (job.b_n == 1 && job.m <= kAxpyRows); }

namespace {

void dot_products(const Job& job, const GemmKernels& g) {
  const int64_t item = item_size(job.dtype), wide = item_size(g.compute);
  // The few rows of A, contiguous along k.
  Buffer copied(job.a_k == 1 ? 0 : size_t(job.m * job.k * item));
  const void* x = job.a;
  int64_t x_row = job.a_row;
  if (copied.data) {
    for (int64_t i = 0; i < job.m; ++i)
      for (int64_t p = 0; p < job.k; ++p) std::memcpy(copied.data + (i * job.k + p) * item, job.a_at(i, p), size_t(item));
    x = copied.data;
    x_row = job.k;
  }
  const bool straight = job.dtype == g.compute && !job.bias && !job.epilogue.apply;
  // Chunks of about 64 KiB of B; each has as many columns as sums that fit beside.
  int64_t chunk = std::clamp<int64_t>(round_up((1 << 16) / (job.k * item + 1), 4), 4, 256);
  if (!job.parallel && straight) chunk = job.n;
  parallel_for(job.n, chunk, [&](int64_t from, int64_t to) {
    if (straight) {
      g.dots(job.k, x, x_row, job.b_at(0, from), job.b_n, job.c_at(0, from), job.c_row, job.c_n, job.m, to - from);
      return;
    }
    const int64_t ld = to - from;
    Buffer sums(size_t(job.m * ld * wide));
    g.dots(job.k, x, x_row, job.b_at(0, from), job.b_n, sums.data, ld, 1, job.m, ld);
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

// ---- from panels

namespace {

// Bytes of B that are packed at a time: half of a second-level cache.
constexpr int64_t kSlabBytes = 1 << 20;
// Up to so many row panels are all multiplied with a panel of B as soon as it is packed, while it is in the nearest
// cache. Threads each pack these panels of A, so that there are fewer then.
constexpr int64_t kFirstPanels = 8, kFirstPanelsOfThreads = 4;

void pack_panel(PackCall along, PackCall across, PackAnyCall any, const void* source, int64_t stride, int64_t k_stride,
                void* panel, int64_t k, int64_t count, int64_t width) {
  if (stride == 1) along(source, k_stride, panel, k, count);
  else if (k_stride == 1) across(source, stride, panel, k, count);
  else any(source, stride, k_stride, panel, k, count, width);
}

}  // namespace

bool a_stays_fits(const Job& job, const GemmKernels& g) {
  return g.source == g.compute && g.tiles.depth == 1 && (job.a_k == 1 || job.a_row == 1);
}

// Panels of B are packed first, with the products of the first rows, and shared by all. Then each panel of A is packed
// by who needs it, and multiplied with them one after the other, so that C is walked through from left to right.
// `a_stays`: A is read from where it is.
void packed_product(const Job& job, const GemmKernels& g, bool a_stays) {
  const TileKernels& t = g.tiles;
  const int64_t wide = item_size(g.compute);
  const int64_t height = t.whole ? t.rows : panel_height(job.m, t.rows);
  const int64_t row_panels = ceil_div(job.m, height), column_panels = ceil_div(job.n, t.columns);
  // K in passes of about equal length.
  const int64_t passes = std::max<int64_t>(1, ceil_div(job.k, t.block));
  const int64_t pass = std::max<int64_t>(t.depth, round_up(ceil_div(job.k, passes), t.depth));
  const int64_t units = pass / t.depth;
  const int64_t a_panel = units * t.width * t.unit, b_panel = units * t.columns * t.unit;

  // Sums live in C itself where they can; else in a tile, or in a matrix of their own between passes.
  const bool in_c = job.dtype == g.compute && job.c_n == 1 && !t.whole;
  const bool between = !in_c && passes > 1;
  const int64_t sums_ld = column_panels * t.columns;
  Buffer all_sums(between ? size_t(row_panels * height * sums_ld * wide) : 0);
  const bool more = job.bias || job.epilogue.apply || !in_c;

  const int64_t slab = ceil_div(column_panels, ceil_div(column_panels, std::max<int64_t>(1, kSlabBytes / std::max<int64_t>(b_panel, 1))));
  const int64_t first_panels = row_panels <= (job.parallel ? kFirstPanelsOfThreads : kFirstPanels) ? row_panels : 1;
  // Rows of B that lie well are packed by the first product that reads them.
  const bool packs_itself = t.copying && job.b_n == 1 && !a_stays;
  const bool one_phase = first_panels == row_panels;  // no panel of B is needed again: each thread has room for one
  Buffer b_slab(one_phase ? 0 : size_t(slab * b_panel));

  auto pack_b = [&](int64_t k, int64_t depth, int64_t left, int64_t j, char* b_part) {
    const int64_t column = (left + j) * t.columns;
    pack_panel(t.pack_b_along, t.pack_b_across, t.pack_b_any, job.b_at(k, column), job.b_n, job.b_k,
               b_part, depth, std::min(t.columns, job.n - column), t.columns);
  };
  auto pack_a = [&](int64_t k, int64_t depth, int64_t i, char* panel) {
    if (a_stays) return;
    const int64_t row = i * height;
    pack_panel(t.pack_a_along, t.pack_a_across, t.pack_a_any, job.a_at(row, k), job.a_row, job.a_k, panel, depth,
               std::min(height, job.m - row), t.width);
  };
  // Row panel i times column panel j of the slab that begins at `left`.
  auto multiply = [&](int64_t k, int64_t depth, int64_t left, int64_t i, int64_t j, const char* a_part, char* b_part,
                      char* tile, bool packs = false) {
    const int64_t row = i * height, rows = std::min(height, job.m - row);
    const int64_t column = (left + j) * t.columns, columns = std::min(t.columns, job.n - column);
    char* sums = tile;
    int64_t ld = t.columns;
    if (in_c) {
      sums = job.c_at(row, column);
      ld = job.c_row;
    } else if (between) {
      sums = all_sums.data + (row * sums_ld + column) * wide;
      ld = sums_ld;
    }
    if (packs) t.copying(depth, a_part, 1, t.width, job.b_at(k, column), job.b_k, sums, ld, rows, columns, k > 0, b_part);
    else if (a_stays) t.tile(depth, job.a_at(row, k), job.a_row, job.a_k, b_part, t.columns, sums, ld, rows, columns, k > 0);
    else t.tile(ceil_div(depth, t.depth), a_part, 1, t.width, b_part, t.columns, sums, ld, rows, columns, k > 0);
    if (more && k + pass >= job.k) finish_part(job, g, sums, ld, row, rows, column, columns);
  };

  for (int64_t left = 0; left < column_panels; left += slab) {
    const int64_t across = std::min(slab, column_panels - left);
    for (int64_t k = 0; k < std::max<int64_t>(job.k, 1); k += pass) {
      const int64_t depth = std::min(pass, job.k - k);
      for_tasks(make_grid(1, across, 1, slab, job.parallel), job.parallel,
                [&](int64_t, int64_t, int64_t c0, int64_t c1) {
                  alignas(64) char tile[kMostTileBytes];
                  Buffer panels(a_stays ? 0 : size_t(first_panels * a_panel)), one_b(one_phase ? size_t(b_panel) : 0);
                  for (int64_t i = 0; i < first_panels; ++i) pack_a(k, depth, i, panels.data + i * a_panel);
                  if (t.begin) t.begin();
                  for (int64_t j = c0; j < c1; ++j) {
                    const bool packs = packs_itself && (left + j + 1) * t.columns <= job.n;
                    char* b_part = one_phase ? one_b.data : b_slab.data + j * b_panel;
                    if (!packs) pack_b(k, depth, left, j, b_part);
                    for (int64_t i = 0; i < first_panels; ++i)
                      multiply(k, depth, left, i, j, panels.data + i * a_panel, b_part, tile, packs && i == 0);
                  }
                  if (t.end) t.end();
                });
      if (one_phase) continue;
      for_tasks(make_grid(row_panels - first_panels, across, 8, slab, job.parallel), job.parallel,
                [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
                  alignas(64) char tile[kMostTileBytes];
                  Buffer panel(a_stays ? 0 : size_t(a_panel));
                  if (t.begin) t.begin();
                  for (int64_t i = first_panels + r0; i < first_panels + r1; ++i) {
                    pack_a(k, depth, i, panel.data);
                    for (int64_t j = c0; j < c1; ++j)
                      multiply(k, depth, left, i, j, panel.data, b_slab.data + j * b_panel, tile);
                  }
                  if (t.end) t.end();
                });
    }
  }
}

}  // namespace thixo
