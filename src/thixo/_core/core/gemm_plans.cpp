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

bool direct_fits(const Job& job, const GemmKernels& g) {
  if (g.source != g.compute || g.tiles.depth != 1 || job.b_n != 1 || job.c_n != 1) return false;
  if (job.a_k != 1 && job.a_row != 1) return false;
  return g.partial_rows_of_b || job.n % g.tiles.columns == 0;
}

void direct_product(const Job& job, const GemmKernels& g) {
  const TileKernels& t = g.tiles;
  const int64_t height = panel_height(job.m, t.rows);
  const bool more = job.bias || job.epilogue.apply;
  auto strip = [&](int64_t row, int64_t column) {
    const int64_t rows = std::min(height, job.m - row), columns = std::min(t.columns, job.n - column);
    char* to = job.c_at(row, column);
    t.tile(job.k, job.a_at(row, 0), job.a_row, job.a_k, job.b_at(0, column), job.b_k, to, job.c_row, rows, columns, 0);
    if (more) finish_part(job, g, to, job.c_row, row, rows, column, columns);
  };
  if (!job.parallel) {
    for (int64_t column = 0; column < job.n; column += t.columns)
      for (int64_t row = 0; row < job.m; row += height) strip(row, column);
    return;
  }
  const Grid grid = make_grid(ceil_div(job.m, height), ceil_div(job.n, t.columns), 16, 8, job.parallel);
  for_tasks(grid, job.parallel, [&](int64_t top, int64_t bottom, int64_t left, int64_t right) {
    for (int64_t j = left; j < right; ++j)
      for (int64_t i = top; i < bottom; ++i) strip(i * height, j * t.columns);
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

constexpr int64_t kSlabRows = 4096, kSlabColumns = 4096;  // of panels that are packed at a time

void pack_panel(PackCall along, PackCall across, PackAnyCall any, const void* source, int64_t stride, int64_t k_stride,
                void* panel, int64_t k, int64_t count, int64_t width) {
  if (stride == 1) along(source, k_stride, panel, k, count);
  else if (k_stride == 1) across(source, stride, panel, k, count);
  else any(source, stride, k_stride, panel, k, count, width);
}

}  // namespace

void packed_product(const Job& job, const GemmKernels& g) {
  const TileKernels& t = g.tiles;
  const int64_t wide = item_size(g.compute);
  const int64_t height = t.whole ? t.rows : panel_height(job.m, t.rows);
  const int64_t row_panels = ceil_div(job.m, height), column_panels = ceil_div(job.n, t.columns);
  // K in passes of about equal length.
  const int64_t passes = std::max<int64_t>(1, ceil_div(job.k, t.block));
  const int64_t pass = std::max<int64_t>(t.depth, round_up(ceil_div(job.k, passes), t.depth));
  const int64_t units = pass / t.depth;
  const int64_t a_panel = units * t.rows * t.unit, b_panel = units * t.columns * t.unit;

  // Sums live in C itself where they can; else in a tile, or in a matrix of their own between passes.
  const bool in_c = job.dtype == g.compute && job.c_n == 1 && !t.whole;
  const bool between = !in_c && passes > 1;
  const int64_t sums_ld = column_panels * t.columns;
  Buffer all_sums(between ? size_t(row_panels * height * sums_ld * wide) : 0);

  const int64_t tall_slab = std::min(row_panels, std::max<int64_t>(1, kSlabRows / t.rows));
  const int64_t wide_slab = std::min(column_panels, std::max<int64_t>(1, kSlabColumns / t.columns));
  Buffer a_slab(size_t(tall_slab * a_panel)), b_slab(size_t(wide_slab * b_panel));
  const bool more = job.bias || job.epilogue.apply || !in_c;

  for (int64_t left = 0; left < column_panels; left += wide_slab) {
    const int64_t right = std::min(left + wide_slab, column_panels);
    for (int64_t k = 0; k < std::max<int64_t>(job.k, 1); k += pass) {
      const int64_t depth = std::min(pass, job.k - k);
      const bool first = k == 0, last = k + pass >= job.k;
      for (int64_t top = 0; top < row_panels; top += tall_slab) {
        const int64_t bottom = std::min(top + tall_slab, row_panels);
        const int64_t of_b = top == 0 ? right - left : 0, panels = of_b + bottom - top;
        parallel_for(panels, job.parallel ? 4 : panels, [&](int64_t from, int64_t to) {
          for (int64_t p = from; p < to; ++p) {
            if (p < of_b) {
              const int64_t column = (left + p) * t.columns;
              pack_panel(t.pack_b_along, t.pack_b_across, t.pack_b_any, job.b_at(k, column), job.b_n, job.b_k,
                         b_slab.data + p * b_panel, depth, std::min(t.columns, job.n - column), t.columns);
            } else {
              const int64_t row = (top + p - of_b) * height;
              pack_panel(t.pack_a_along, t.pack_a_across, t.pack_a_any, job.a_at(row, k), job.a_row, job.a_k,
                         a_slab.data + (p - of_b) * a_panel, depth, std::min(height, job.m - row), t.rows);
            }
          }
        });
        const Grid grid = make_grid(bottom - top, right - left, 12, 8, job.parallel);
        for_tasks(grid, job.parallel, [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
          alignas(64) char tile[kMostTileBytes];
          if (t.begin) t.begin();
          for (int64_t j = c0; j < c1; ++j)
            for (int64_t i = r0; i < r1; ++i) {
              const int64_t row = (top + i) * height, column = (left + j) * t.columns;
              const int64_t rows = std::min(height, job.m - row), columns = std::min(t.columns, job.n - column);
              char* sums = tile;
              int64_t ld = t.columns;
              if (in_c) {
                sums = job.c_at(row, column);
                ld = job.c_row;
              } else if (between) {
                sums = all_sums.data + (row * sums_ld + column) * wide;
                ld = sums_ld;
              }
              t.tile(ceil_div(depth, t.depth), a_slab.data + i * a_panel, 1, t.rows, b_slab.data + j * b_panel, t.columns,
                     sums, ld, rows, columns, !first);
              if (last && more) finish_part(job, g, sums, ld, row, rows, column, columns);
            }
          if (t.end) t.end();
        });
      }
    }
  }
}

}  // namespace thixo
