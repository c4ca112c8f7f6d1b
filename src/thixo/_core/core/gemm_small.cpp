// Products of small matrices that cannot be computed from where they are: panels on the stack, and no choices to make.
// Batches have thousands of them.
#include "gemm_job.h"

namespace thixo {

namespace {

constexpr int64_t kMost = 64;                  // rows, columns and k
constexpr int64_t kMostForTiles = 16 * 16 * 32;  // products (multiplications) that would fill a tile of bfloat16 badly
constexpr int64_t kWidest = 16, kColumns = kMost + 48;  // of panels of A; of all panels of B

}  // namespace

bool small_fits(const Job& job, const GemmKernels& g) {
  if (job.m > kMost || job.n > kMost || job.k > kMost) return false;
  if (g.tiles.depth > 1 && job.m * job.n * job.k > kMostForTiles) return false;
  return g.small.width <= kWidest && std::max(g.small.columns, g.wide.columns) <= kColumns - kMost && !job.parallel;
}

void small_product(const Job& job, const GemmKernels& g) {
  if (rehearsing()) return;
  const int64_t wide = item_size(g.compute);
  alignas(64) char tile[kMostTileBytes], a_room[kMost * kWidest * sizeof(double)], b_room[kMost * kColumns * sizeof(double)];
  const bool same = g.source == g.compute, in_c = same && job.c_n == 1;
  const bool a_stays = same && (job.a_k == 1 || job.a_row == 1);
  const TileKernels& t = a_stays ? tiles_in_place(job, g) : g.small;
  const int64_t height = panel_height(job.m, t.rows), b_panel = job.k * t.columns * wide;
  for (int64_t column = 0, j = 0; column < job.n; column += t.columns, ++j)
    pack_panel(t.pack_b_along, t.pack_b_across, t.pack_b_any, job.b_at(0, column), job.b_n, job.b_k, b_room + j * b_panel,
               job.k, std::min(t.columns, job.n - column), t.columns);
  for (int64_t row = 0; row < job.m; row += height) {
    const int64_t rows = std::min(height, job.m - row);
    const char* a = a_room;
    int64_t a_row = 1, a_k = t.width;
    if (a_stays) a = job.a_at(row, 0), a_row = job.a_row, a_k = job.a_k;
    else pack_panel(t.pack_a_along, t.pack_a_across, t.pack_a_any, job.a_at(row, 0), job.a_row, job.a_k, a_room, job.k, rows, t.width);
    for (int64_t column = 0, j = 0; column < job.n; column += t.columns, ++j) {
      const int64_t columns = std::min(t.columns, job.n - column);
      char* sums = in_c ? job.c_at(row, column) : tile;
      const int64_t ld = in_c ? job.c_row : t.columns;
      t.tile(job.k, a, a_row, a_k, b_room + j * b_panel, t.columns, sums, ld, rows, columns, 0);
      if (!in_c || job.bias || job.epilogue.apply) finish_part(job, g, sums, ld, row, rows, column, columns);
    }
  }
}

}  // namespace thixo
