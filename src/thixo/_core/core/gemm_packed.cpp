// Products of floats from panels: parts of A and B are copied so that the micro-kernels read them from end to end.
#include "gemm_job.h"

namespace thixo {

namespace {

// Bytes of panels that are kept at a time: half of a second-level cache.
constexpr int64_t kSlabBytes = 1 << 20;
// Up to so many row panels are all packed first: more where threads would wait for one another between panels of B, fewer
// where those cost little.
constexpr int64_t kFewForThreads = 40, kFew = 16, kVeryFew = 8;

// One product under way. K goes in passes of about equal length, whose sums are added up in C itself where they can
// be; else in a tile, or in a matrix of their own between passes.
struct Packed {
  const Job& job;
  const GemmKernels& g;
  const TileKernels& t = g.tiles;
  const bool a_stays;  // A is read from where it is
  const int64_t wide = item_size(g.compute);
  const int64_t height = t.whole ? t.rows : panel_height(job.m, t.rows);
  const int64_t row_panels = ceil_div(job.m, height), column_panels = ceil_div(job.n, t.columns);
  const int64_t passes = std::max<int64_t>(1, ceil_div(job.k, t.block));
  const int64_t pass = std::max<int64_t>(t.depth, round_up(ceil_div(job.k, passes), t.depth));
  const int64_t a_panel = pass / t.depth * t.width * t.unit, b_panel = pass / t.depth * t.columns * t.unit;
  const bool in_c = job.dtype == g.compute && job.c_n == 1 && !t.whole;
  const bool between = !in_c && passes > 1;
  const bool more = job.bias || job.epilogue.apply || !in_c;
  // Rows of B that lie well are packed by the first product that reads them.
  const bool packs_itself = t.copying && job.b_n == 1 && !a_stays;
  const int64_t sums_ld = column_panels * t.columns;
  Buffer all_sums{between ? size_t(row_panels * height * sums_ld * wide) : 0};

  Packed(const Job& job, const GemmKernels& g, bool a_stays) : job(job), g(g), a_stays(a_stays) {}

  int64_t depth(int64_t k) const { return std::min(pass, job.k - k); }
  bool copies(int64_t column_panel) const { return packs_itself && (column_panel + 1) * t.columns <= job.n; }

  void pack_a(int64_t k, int64_t i, char* panel) const {
    if (a_stays) return;
    const int64_t row = i * height;
    pack_panel(t.pack_a_along, t.pack_a_across, t.pack_a_any, job.a_at(row, k), job.a_row, job.a_k, panel, depth(k),
               std::min(height, job.m - row), t.width);
  }

  void pack_b(int64_t k, int64_t j, char* panel) const {
    const int64_t column = j * t.columns;
    pack_panel(t.pack_b_along, t.pack_b_across, t.pack_b_any, job.b_at(k, column), job.b_n, job.b_k, panel, depth(k),
               std::min(t.columns, job.n - column), t.columns);
  }

  // Row panel i times column panel j. `tile` is room for sums that have no other place; `packs`: the panel of B is made.
  void multiply(int64_t k, int64_t i, int64_t j, const char* a_part, char* b_part, char* tile, bool packs = false) const {
    const int64_t row = i * height, rows = std::min(height, job.m - row);
    const int64_t column = j * t.columns, columns = std::min(t.columns, job.n - column);
    char* sums = tile;
    int64_t ld = t.columns;
    if (in_c) {
      sums = job.c_at(row, column);
      ld = job.c_row;
    } else if (between) {
      sums = all_sums.data + (row * sums_ld + column) * wide;
      ld = sums_ld;
    }
    if (packs) t.copying(depth(k), a_part, 1, t.width, job.b_at(k, column), job.b_k, sums, ld, rows, columns, k > 0, b_part);
    else if (a_stays) t.tile(depth(k), job.a_at(row, k), job.a_row, job.a_k, b_part, t.columns, sums, ld, rows, columns, k > 0);
    else t.tile(ceil_div(depth(k), t.depth), a_part, 1, t.width, b_part, t.columns, sums, ld, rows, columns, k > 0);
    if (more && k + pass >= job.k) finish_part(job, g, sums, ld, row, rows, column, columns);
  }

  // Few rows: their panels are packed first, for as many passes as there is room. Each panel of B is multiplied with
  // all of them while it is in the nearest cache, and not needed again.
  void rows_first() const {
    const int64_t together = std::max<int64_t>(1, kSlabBytes / std::max<int64_t>(1, row_panels * a_panel));
    Buffer a_panels(a_stays ? 0 : size_t(std::min(together, passes) * row_panels * a_panel));
    for (int64_t first = 0; first < passes; first += together) {
      const int64_t end = std::min(first + together, passes);
      auto a_part = [&](int64_t p, int64_t i) { return a_panels.data + ((p - first) * row_panels + i) * a_panel; };
      if (!a_stays)
        for_tasks(make_grid(row_panels, end - first, 1, end - first, job.parallel), job.parallel,
                  [&](int64_t top, int64_t bottom, int64_t p0, int64_t p1) {
                    for (int64_t p = first + p0; p < first + p1; ++p)
                      for (int64_t i = top; i < bottom; ++i) pack_a(p * pass, i, a_part(p, i));
                  });
      for_tasks(make_grid(1, column_panels, 1, column_panels, job.parallel), job.parallel,
                [&](int64_t, int64_t, int64_t left, int64_t right) {
                  alignas(64) char tile[kMostTileBytes];
                  Buffer b_part{size_t(b_panel)};
                  if (t.begin) t.begin();
                  for (int64_t j = left; j < right; ++j)
                    for (int64_t p = first; p < end; ++p) {
                      if (!copies(j)) pack_b(p * pass, j, b_part.data);
                      for (int64_t i = 0; i < row_panels; ++i)
                        multiply(p * pass, i, j, a_part(p, i), b_part.data, tile, copies(j) && i == 0);
                    }
                  if (t.end) t.end();
                });
    }
  }

  // Panels of B are packed first, with the products of the first rows, and shared by all. Then each panel of A is
  // packed by who needs it, and multiplied with them one after the other, so that C is walked through from left to
  // right.
  void columns_first() const {
    const int64_t slab = ceil_div(column_panels, ceil_div(column_panels, std::max<int64_t>(1, kSlabBytes / b_panel)));
    Buffer b_slab(size_t(slab * b_panel)), first(a_stays ? 0 : size_t(a_panel));
    for (int64_t left = 0; left < column_panels; left += slab) {
      const int64_t across = std::min(slab, column_panels - left);
      for (int64_t k = 0; k < std::max<int64_t>(job.k, 1); k += pass) {
        pack_a(k, 0, first.data);
        for_tasks(make_grid(1, across, 1, slab, job.parallel), job.parallel,
                  [&](int64_t, int64_t, int64_t c0, int64_t c1) {
                    alignas(64) char tile[kMostTileBytes];
                    if (t.begin) t.begin();
                    for (int64_t j = c0; j < c1; ++j) {
                      char* b_part = b_slab.data + j * b_panel;
                      if (!copies(left + j)) pack_b(k, left + j, b_part);
                      multiply(k, 0, left + j, first.data, b_part, tile, copies(left + j));
                    }
                    if (t.end) t.end();
                  });
        for_tasks(make_grid(row_panels - 1, across, 8, slab, job.parallel), job.parallel,
                  [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
                    alignas(64) char tile[kMostTileBytes];
                    Buffer panel(a_stays ? 0 : size_t(a_panel));
                    if (t.begin) t.begin();
                    for (int64_t i = 1 + r0; i < 1 + r1; ++i) {
                      pack_a(k, i, panel.data);
                      for (int64_t j = c0; j < c1; ++j) multiply(k, i, left + j, panel.data, b_slab.data + j * b_panel, tile);
                    }
                    if (t.end) t.end();
                  });
      }
    }
  }
};

}  // namespace

bool a_stays_fits(const Job& job, const GemmKernels& g) {
  return g.source == g.compute && g.tiles.depth == 1 && (job.a_k == 1 || job.a_row == 1);
}

void packed_product(const Job& job, const GemmKernels& g, bool a_stays) {
  const Packed packed(job, g, a_stays);
  const int64_t few = job.parallel ? kFewForThreads : packed.packs_itself ? kVeryFew : kFew;
  if (packed.row_panels <= few) packed.rows_first();
  else packed.columns_first();
}

}  // namespace thixo
