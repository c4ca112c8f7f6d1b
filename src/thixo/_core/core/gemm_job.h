// What the files of the matrix product share: one product under way.
#pragma once
#include <algorithm>

#include "allocator.h"
#include "cpu.h"
#include "gemm.h"
#include "gemm_kernels.h"
#include "scratch.h"
#include "thread_pool.h"

namespace thixo {

// A product whose result may be seen transposed: C' = B' A' has the roles of rows and columns exchanged.
struct Job : Product {
  int64_t bias_m = 0;
  bool swapped = false;
  bool parallel = false;

  explicit Job(const Product& p) : Product(p) {}
  char* c_at(int64_t row, int64_t column) const {
    return static_cast<char*>(c) + (row * c_row + column * c_n) * item_size(dtype);
  }
  const char* a_at(int64_t row, int64_t at_k) const {
    return static_cast<const char*>(a) + (row * a_row + at_k * a_k) * item_size(dtype);
  }
  const char* b_at(int64_t at_k, int64_t column) const {
    return static_cast<const char*>(b) + (at_k * b_k + column * b_n) * item_size(dtype);
  }
};

// Memory for the time of one product.
struct Buffer {
  size_t bytes;
  char* data;
  explicit Buffer(size_t n) : bytes(n), data(n ? static_cast<char*>(take_scratch(n)) : nullptr) {}
  ~Buffer() { if (bytes) give_scratch(data, bytes); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

// A matrix of at most this size is read from a near cache, however it is walked through.
constexpr int64_t kNearBytes = 512 << 10;

// With fewer k than this, products go by what writing C takes.
constexpr int64_t kFewK = 32;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// A part of C, given its sums (which may be that part itself): bias, rounding, epilogue. `round` does it where there is no bias.
void finish_part(const Job& job, const GemmKernels& g, const void* sums, int64_t ld, int64_t row, int64_t rows,
                 int64_t column, int64_t columns, FinishCall round = nullptr);

// Whether the tiles of a product do themselves what its epilogue would do.
inline bool ends_in_tiles(const Job& job, const GemmKernels& g, const TileKernels& t) {
  return job.epilogue.simple && !job.bias && job.dtype == g.compute && job.c_n == 1 && t.depth == 1;
}

// What tiles are told of it with the last k.
inline int64_t tile_end(const Job& job) {
  const int64_t apart = job.epilogue.adds ? int64_t(reinterpret_cast<intptr_t>(job.epilogue.added) - reinterpret_cast<intptr_t>(job.c)) : 0;
  return apart | (job.epilogue.relu ? kTileRelu : 0);
}

// `count` rows of A, or columns of B, as a panel: element (i, k) of the source lies at i * stride + k * k_stride.
inline void pack_panel(PackCall along, PackCall across, PackAnyCall any, const void* source, int64_t stride, int64_t k_stride,
                void* panel, int64_t k, int64_t count, int64_t width) {
  if (stride == 1) along(source, k_stride, panel, k, count);
  else if (k_stride == 1) across(source, stride, panel, k, count);
  else any(source, stride, k_stride, panel, k, count, width);
}

// C cut into parts of about equal size, one for each thread: groups of row panels times groups of column panels.
struct Share {
  int64_t top, bottom, left, right;  // in panels
};
struct RowPanel {
  int64_t row, rows;
};
struct Shares {
  int64_t rows, row_panels, column_panels;  // all
  int64_t height;                           // of all panels but the last; 0: rows are dealt out evenly
  int64_t down, across;                     // groups
  int64_t count() const { return down * across; }
  int64_t row(int64_t panel) const { return height ? std::min(rows, panel * height) : panel * rows / row_panels; }
  // Divides: to be asked for once for all tiles of the panel.
  RowPanel rows_of(int64_t panel) const {
    const int64_t top = row(panel);
    return {top, row(panel + 1) - top};
  }
  Share at(int64_t number) const {
    const int64_t r = number / across, c = number % across;
    return {r * row_panels / down, (r + 1) * row_panels / down, c * column_panels / across, (c + 1) * column_panels / across};
  }
};
// Vectors of columns up to which one that is left alone costs more than fewer rows in a tile.
constexpr int64_t kMostWideVectors = 9;
// Up to so many k, and rows of C that begin within a line of the cache, storing them takes as long as the products.
constexpr int64_t kFewKToStore = 15;

inline bool stores_in_pieces(const Job& job) {
  constexpr uintptr_t kLine = 64;
  const uintptr_t row = uintptr_t(job.c_row * item_size(job.dtype));
  return job.k <= kFewKToStore && (reinterpret_cast<uintptr_t>(job.c) | row) % kLine != 0;
}

// The tiles for an A that is read from where it is. Wide ones where the others would leave a vector alone, and where every
// vector is stored in two pieces: of three side by side, more lines are completed at once.
inline const TileKernels& tiles_in_place(const Job& job, const GemmKernels& g) {
  const int64_t vectors = ceil_div(job.n, g.tiles.lanes);
  const bool one_left = vectors % 2 == 1 && vectors <= kMostWideVectors;
  const bool wide = vectors > 2 && (one_left || stores_in_pieces(job));
  return g.wide.rows > 0 && wide && !job.packed ? g.wide : g.tiles;
}

// Whether rows that are far apart are read as fast as what lies side by side. AMD's processors see a stride coming, not only
// lines that follow one another, and have loads to spare beside products of 512 bits.
inline bool reads_far_rows(const TileKernels& t) {
  constexpr int64_t kWidest = 64;
  return cpu_features().amd && t.lanes * t.unit == kWidest;
}
// The same for tiles that read B from where it is.
inline bool strides_are_cheap(const TileKernels& t) { return t.depth == 1 && reads_far_rows(t); }

// Whether tiles that read rows of B from where they are may pack them meanwhile. Those that begin within a line of the cache
// they would load in two pieces each, while they have no slots to spare. AMD's processors have, if all rows begin alike.
inline bool tiles_pack_b(const Job& job, const TileKernels& t) {
  constexpr uintptr_t kLine = 64;
  const uintptr_t row = uintptr_t(job.b_k * item_size(job.dtype));
  const uintptr_t first = strides_are_cheap(t) ? 0 : reinterpret_cast<uintptr_t>(job.b);
  return t.copying && job.b_n == 1 && !job.packed && (first | row) % kLine == 0;
}

// Such that the largest takes as little time as possible: each packs panels for itself, of A and B, which takes so many
// times as long as a tile.
Shares share_out(const Job& job, const TileKernels& t, double a_cost, double b_cost);

// Rows shared out evenly over as few panels as possible: no panel is left with one row.
inline int64_t panel_height(int64_t m, int64_t rows) { return ceil_div(m, ceil_div(m, rows)); }

bool direct_fits(const Job& job, const GemmKernels& g);
bool streams_c(const Job& job, const GemmKernels& g);  // a direct product whose result goes past the caches
void direct_product(const Job& job, const GemmKernels& g);
bool thin_fits(const Job& job);
void thin_product(const Job& job, const GemmKernels& g);
bool a_stays_fits(const Job& job, const GemmKernels& g);
void packed_product(const Job& job, const GemmKernels& g, bool a_stays);
bool packed_fits(const Job& job, const GemmKernels& g);  // whether job.packed is of such panels
std::shared_ptr<const PackedMatrix> pack_panels(const Job& job, const GemmKernels& g);
bool small_fits(const Job& job, const GemmKernels& g);
void small_product(const Job& job, const GemmKernels& g);
void plain_product(const Product& p);   // integers
void complex_product(const Product& p);
void few_product(const Product& p);     // float16 and bfloat16, one element after the other

}  // namespace thixo
