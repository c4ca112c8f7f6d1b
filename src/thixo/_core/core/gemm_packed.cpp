// Products of floats from panels: parts of A and B are copied so that the micro-kernels read them from end to end.
#include "gemm_job.h"
#include "gemm_part.h"

namespace thixo {

namespace {

// Bytes of panels that are kept at a time: half of a large second-level cache, or most of a smaller one.
const int64_t kSlabBytes = second_cache_bytes() == 0 ? 1 << 20 : std::min<int64_t>(1 << 20, second_cache_bytes() / 8 * 7);
// Up to so many row panels are all packed first: fewer where those of B cost little.
constexpr int64_t kFew = 16, kVeryFew = 8;
// So many k in a pass are worth a panel of B for each strip of C.
constexpr int64_t kLongPass = 256;
// Units of a part at least, so that who is done finds some to take over.
constexpr int64_t kUnits = 8;
// Panels of columns that are one unit where an epilogue follows: rows as short as a panel's would be calls for little.
constexpr int64_t kEndedTogether = 2;
// Where panels of B are packed together: bytes of A's up to which all of them are packed first, most of B's at a time, and rows of
// B that each of those takes in turn.
constexpr int64_t kFarBytes = 8 << 20, kPackedTogether = 8, kRowsInTurn = 8;
// Panels of A that are packed together where they lie side by side in the same lines: those would be gone when the next panel wants them.
constexpr int64_t kSideBySide = 8;
// What packing a panel takes, in tiles: turned round, along its lines, and stored by the tile that reads it.
constexpr double kTurned = 0.5, kCopied = 0.2, kStored = 0.1;

// How many k go into a pass. Some more than a block cost less than another pass over C, and panels are turned by whole vectors.
int64_t pass_of(const Job& job, const TileKernels& t) {
  const int64_t count = std::max<int64_t>(1, ceil_div(job.k, t.block + t.block / 8));
  const int64_t unit = count > 1 ? std::max(t.depth, t.lanes) : t.depth;
  return std::max(t.depth, round_up(ceil_div(job.k, count), unit));
}
int64_t passes_of(const Job& job, const TileKernels& t) { return std::max<int64_t>(1, ceil_div(job.k, pass_of(job, t))); }

constexpr int64_t kLineBytes = 64;
constexpr int64_t kMostAhead = 40 << 10;  // bytes of a panel

// One product under way. K goes in passes of about equal length, whose sums are added up in C itself where they can
// be; else in a tile, or in a matrix of their own between passes.
struct Packed {
  const Job job;             // without its epilogue
  const GemmKernels& g;
  const TileKernels& t;
  const int64_t ends;       // what tiles do at the end, instead of the epilogue
  const Epilogue epilogue;  // of whole units: a few column panels with all rows, or a row panel with all columns
  const bool a_stays;  // A is read from where it is
  // Rows of B that lie well are packed by the first product that reads them. It takes a panel of A, even where the other rows stay.
  const bool packs_itself = (!a_stays || strides_are_cheap(t)) && tiles_pack_b(job, t);
  const Shares shares = share_out(job, t, a_stays ? 0.0 : job.a_row == 1 ? kCopied : kTurned,
                                  job.packed || packs_itself ? kStored : job.b_n == 1 ? kCopied : kTurned);
  const int64_t column_panels = shares.column_panels;
  const int64_t wide = item_size(g.compute);
  const int64_t passes = passes_of(job, t), pass = pass_of(job, t);
  const int64_t a_panel = pass / t.depth * t.width * t.unit, b_panel = pass / t.depth * t.columns * t.unit;
  // Panels of B that are packed together: AMD's processors read pieces of several lines twice as fast as strips of a panel's
  // columns, and tiles find panels in the second-level cache as well as in the nearest one.
  const int64_t most_together = packs_itself ? std::min(kPackedTogether / 2, column_panels / shares.across / kUnits) : kPackedTogether;
  const int64_t packed_together = job.b_n == 1 && !job.packed && (a_stays || (t.depth == 1 && !packs_itself)) && reads_far_rows(t)
                                      ? std::clamp<int64_t>(kSlabBytes / 2 / b_panel, 1, std::max<int64_t>(1, most_together)) : 1;
  const bool in_c = job.dtype == g.compute && job.c_n == 1 && t.depth == 1;
  const bool between = !in_c && passes > 1;
  // Sums of pairs are rounded by the tile that made them, where nothing is added to them.
  const bool rounds = t.reads_rows && passes == 1 && !job.bias && job.c_n == 1;
  const bool more = job.bias || (!in_c && !rounds);
  const int64_t sums_ld = column_panels * t.columns;
  // Of the tallest share and the widest.
  const int64_t most_rows = ceil_div(shares.row_panels, shares.down), most_columns = ceil_div(column_panels, shares.across);
  // Results of pairs are half as wide as sums: strips of a panel's columns would come to most of C's lines twice.
  const bool along_c = t.reads_rows && passes == 1 && !job.packed && most_columns * b_panel <= kSlabBytes / 2;
  // Rows that stay where they are may be many: a panel of B meets all of them. Not with few k, and not where whole rows are ended.
  const bool rows_first = a_stays && packs_itself ? pass >= kLongPass && !epilogue.apply : !along_c && (most_rows <= (packs_itself ? kVeryFew : kFew) || (packed_together > 1 && most_rows * a_panel <= kFarBytes));
  const int64_t together = std::clamp<int64_t>((packed_together > 1 ? kFarBytes : kSlabBytes) / std::max<int64_t>(1, most_rows * a_panel), 1, passes);
  const int64_t kept_rows = !a_stays ? most_rows : packs_itself ? 1 : 0;  // panels of A that are made
  const int64_t slab = std::clamp<int64_t>(kSlabBytes / b_panel, 1, most_columns);
  Buffer all_sums{between ? size_t(round_up(job.m, t.rows) * sums_ld * wide) : 0};

  Packed(const Job& given, const GemmKernels& g, const TileKernels& t, bool a_stays)
      : job(without_end(given)), g(g), t(t), ends(ends_in_tiles(given, g, t) ? tile_end(given) : 0), epilogue(end_of(given, g, t)), a_stays(a_stays) {}

  static Job without_end(Job job) {
    job.epilogue = {nullptr, nullptr};
    return job;
  }
  static Epilogue end_of(const Job& job, const GemmKernels& g, const TileKernels& t) {
    if (!ends_in_tiles(job, g, t)) return job.epilogue;
    return {nullptr, nullptr};
  }
  const int64_t rows_together = !a_stays && job.a_row == 1 && strides_are_cheap(t) ? kSideBySide : 1;  // row panels of a unit
  const int64_t grouped = std::max<int64_t>(epilogue.apply ? kEndedTogether : 1, packed_together);  // column panels of a unit

  void end(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    if (!epilogue.apply || rows <= 0 || columns <= 0) return;
    char* const to = job.c_at(row, column);
    if (job.swapped) epilogue.apply(to, job.c_n, job.c_row, column, columns, row, rows, epilogue.context);
    else epilogue.apply(to, job.c_row, job.c_n, row, rows, column, columns, epilogue.context);
  }

  int64_t depth(int64_t k) const { return std::min(pass, job.k - k); }
  bool copies(int64_t column_panel) const { return packs_itself && (column_panel + 1) * t.columns <= job.n; }

  void pack_a(int64_t k, RowPanel r, char* panel) const {
    pack_panel(t.pack_a_along, t.pack_a_across, t.pack_a_any, job.a_at(r.row, k), job.a_row, job.a_k, panel, depth(k),
               r.rows, t.width);
  }

  // Panels of A into `room`, one behind the other.
  void pack_rows(int64_t k, int64_t first, int64_t count, char* room) const {
    if (count == 1) return pack_a(k, shares.rows_of(first), room);
    const int64_t all = depth(k);
    for (int64_t at = 0; at < all; at += kRowsInTurn)
      for (int64_t i = 0; i < count; ++i) {
        const RowPanel r = shares.rows_of(first + i);
        t.pack_a_along(job.a_at(r.row, k + at), job.a_k, room + i * a_panel + at * t.width * t.unit, std::min(kRowsInTurn, all - at), r.rows);
      }
  }

  // A panel of B that was packed before.
  char* packed_b(int64_t k, int64_t j) const { return job.packed->data + (j * passes + k / pass) * b_panel; }

  // Panels of B into `room`, one behind the other.
  void pack_some(int64_t k, int64_t j, int64_t count, char* room) const {
    if (count == 1 || job.b_n != 1) {
      for (int64_t i = 0; i < count; ++i) pack_b(k, j + i, room + i * b_panel);
      return;
    }
    const int64_t rows = std::max<int64_t>(kRowsInTurn, t.depth), all = depth(k);
    for (int64_t row = 0; row < all; row += rows)
      for (int64_t i = 0; i < count; ++i) {
        const int64_t column = (j + i) * t.columns;
        t.pack_b_along(job.b_at(k + row, column), job.b_k, room + i * b_panel + row / t.depth * t.columns * t.unit,
                       std::min(rows, all - row), std::min(t.columns, job.n - column));
      }
  }

  void pack_b(int64_t k, int64_t j, char* panel) const {
    const int64_t column = j * t.columns;
    pack_panel(t.pack_b_along, t.pack_b_across, t.pack_b_any, job.b_at(k, column), job.b_n, job.b_k, panel, depth(k),
               std::min(t.columns, job.n - column), t.columns);
  }

  // A row panel times column panel j. `tile` is room for sums that have no other place; `packs`: the panel of B is made.
  void multiply(int64_t k, RowPanel r, int64_t j, const char* a_part, char* b_part, char* tile, bool packs = false) const {
    const auto [row, rows] = r;
    const int64_t column = j * t.columns, columns = std::min(t.columns, job.n - column);
    const bool last = k + pass >= job.k;
    char* sums = tile;
    int64_t ld = t.columns, adds = (k > 0 ? kTileAdds : 0) | (last ? ends : 0);
    if (rounds) {
      if (job.c_far) fetch_results(r, j);
      sums = job.c_at(row, column);
      ld = job.c_row;
      adds = kRounded;
    } else if (in_c) {
      sums = job.c_at(row, column);
      ld = job.c_row;
    } else if (between) {
      sums = all_sums.data + (row * sums_ld + column) * wide;
      ld = sums_ld;
    }
    if (packs) t.copying(depth(k), a_part, 1, t.width, job.b_at(k, column), job.b_k, sums, ld, rows, columns, adds, b_part);
    else if (a_stays) t.tile(depth(k), job.a_at(row, k), job.a_row, job.a_k, b_part, t.columns, sums, ld, rows, columns, adds);
    else t.tile(ceil_div(depth(k), t.depth), a_part, 1, t.width, b_part, t.columns, sums, ld, rows, columns, adds);
    if (more && last) finish_part(job, g, sums, ld, row, rows, column, columns, t.finish_sums);
  }

  // Lines of C that are far away come while the tile is computed: it would wait for them with stores of its own.
  void fetch_results(RowPanel r, int64_t j) const {
    const int64_t column = j * t.columns, last = std::min(t.columns, job.n - column) * item_size(job.dtype) - 1, step = job.c_row * item_size(job.dtype);
    const char* at = job.c_at(r.row, column);
    const bool two = (uintptr_t(at) | uintptr_t(step)) % kLineBytes != 0;
    for (int64_t i = 0; i < r.rows; ++i, at += step) {
      __builtin_prefetch(at, 1, 3);
      if (two) __builtin_prefetch(at + last, 1, 3);
    }
  }

  int64_t kept_bytes() const {
    if (!rows_first) return slab * b_panel + (kept_rows > 0 ? a_panel : 0);
    return together * kept_rows * a_panel;
  }
  int64_t panel_bytes() const { return rows_first ? packed_together * b_panel : rows_together * a_panel; }

  // Few rows: their panels are packed first, for as many passes as there is room. Each panel of B, or a few of them, is
  // multiplied with all of them while it is in a near cache, and not needed again.
  void rows_first_part(Part& part) const {
    const Share& s = part.share;
    for (part.first = 0; part.first < passes; part.first += together) {
      part.end = std::min(part.first + together, passes);
      for (int64_t p = part.first; p < part.end; ++p)
        for (int64_t i = s.top, last = std::min(s.bottom, s.top + kept_rows); i < last; i += rows_together)
          pack_rows(p * pass, i, std::min(rows_together, last - i), kept_a(part, p, i));
      part.run(ceil_div(s.right - s.left, grouped), [&](int64_t unit) { some_columns(part, unit, part.panel); });
    }
  }
  char* kept_a(const Part& part, int64_t p, int64_t i) const {
    return part.kept + ((p - part.first) * kept_rows + i - part.share.top) * a_panel;
  }
  void some_columns(const Part& part, int64_t unit, char* room) const {
    const Share& s = part.share;
    const int64_t left = s.left + unit * grouped, right = std::min(left + grouped, s.right);
    for (int64_t j = left; j < right; j += packed_together) few_columns(part, j, std::min(right, j + packed_together), room);
    const int64_t column = left * t.columns, row = shares.row(s.top);
    if (part.end == passes) end(row, shares.row(s.bottom) - row, column, std::min(right * t.columns, job.n) - column);
  }
  void few_columns(const Part& part, int64_t left, int64_t right, char* room) const {
    alignas(64) char tile[kMostTileBytes];
    // Panels that are there already come from far away: some lines of the next one are asked for before each tile. Not of
    // long ones, which the processor sees coming by itself: so many requests would hold up the tile.
    const int64_t ahead = job.packed && b_panel <= kMostAhead ? ceil_div(b_panel, kLineBytes * (part.share.bottom - part.share.top)) : 0;
    for (int64_t p = part.first; p < part.end; ++p) {
      if (packs_itself && !copies(right - 1)) pack_b(p * pass, right - 1, room + (right - 1 - left) * b_panel);
      if (!packs_itself && !job.packed) pack_some(p * pass, left, right - left, room);
      const char* next = job.packed ? packed_b(p * pass, left) + b_panel : nullptr;
      for (int64_t i = part.share.top; i < part.share.bottom; ++i) {
        for (int64_t line = 0; line < ahead; ++line, next += kLineBytes) __builtin_prefetch(next, 0, 2);
        const RowPanel r = shares.rows_of(i);
        for (int64_t j = left; j < right; ++j)
          multiply(p * pass, r, j, kept_a(part, p, i), job.packed ? packed_b(p * pass, j) : room + (j - left) * b_panel, tile,
                   copies(j) && i == part.share.top);
      }
    }
  }

  // Panels of B are packed first, with the products of the first rows. Then each panel of A is packed, and multiplied with
  // them one after the other, so that C is walked through from left to right.
  void columns_first_part(Part& part) const {
    alignas(64) char tile[kMostTileBytes];
    const Share& s = part.share;
    const RowPanel top = shares.rows_of(s.top);
    const int64_t width = s.right - s.left, step = ceil_div(width, ceil_div(width, slab));
    char* first = part.kept + slab * b_panel;
    for (part.left = s.left; part.left < s.right; part.left += step) {
      part.across = std::min(step, s.right - part.left);
      for (part.k = 0; part.k < std::max<int64_t>(job.k, 1); part.k += pass) {
        if (kept_rows > 0) pack_a(part.k, top, first);
        for (int64_t j = 0; j < part.across; ++j) {
          const int64_t column = part.left + j;
          char* b_part = part.kept + j * b_panel;
          if (job.packed) b_part = packed_b(part.k, column);
          else if (!copies(column) && j % packed_together == 0) pack_some(part.k, column, std::min(packed_together, part.across - j), b_part);
          fetch_end(part.k, top, column);
          multiply(part.k, top, column, first, b_part, tile, copies(column));
        }
        end_row(part, top);
        part.run(ceil_div(s.bottom - s.top - 1, rows_together), [&](int64_t unit) { some_rows(part, unit, part.panel); });
      }
    }
  }
  void some_rows(const Part& part, int64_t unit, char* room) const {
    const int64_t first = part.share.top + 1 + unit * rows_together, last = std::min(first + rows_together, part.share.bottom);
    if (!a_stays) pack_rows(part.k, first, last - first, room);
    for (int64_t i = first; i < last; ++i) one_row(part, shares.rows_of(i), room + (i - first) * a_panel);
  }
  void one_row(const Part& part, RowPanel r, char* a_part) const {
    alignas(64) char tile[kMostTileBytes];
    for (int64_t j = 0; j < part.across; ++j) {
      char* b_part = job.packed ? packed_b(part.k, part.left + j) : part.kept + j * b_panel;
      fetch_end(part.k, r, part.left + j);
      multiply(part.k, r, part.left + j, a_part, b_part, tile);
    }
    end_row(part, r);
  }
  // What the epilogue reads comes while the tile is computed.
  void fetch_end(int64_t k, RowPanel r, int64_t j) const {
    if (!epilogue.fetch || job.swapped || k + pass < job.k) return;
    epilogue.fetch(r.row, r.rows, j * t.columns, std::min(t.columns, job.n - j * t.columns), epilogue.context);
  }
  void end_row(const Part& part, RowPanel r) const {
    const int64_t column = part.left * t.columns;
    if (part.k + pass >= job.k) end(r.row, r.rows, column, std::min((part.left + part.across) * t.columns, job.n) - column);
  }

  void run() const {
    const int64_t count = shares.count(), kept = round_up(kept_bytes(), 64), panel = round_up(panel_bytes(), 64);
    Buffer memory(size_t(count * (kept + panel)));
    if (rehearsing()) return;
    for_parts(
        shares, [&](Part& part, int64_t number) {
          part.kept = memory.data + number * (kept + panel);
          part.panel = part.kept + kept;
        },
        [&](Part& part) {
          if (t.begin) t.begin();
          rows_first ? rows_first_part(part) : columns_first_part(part);
        },
        [&](const Part& part, int64_t unit, char* own) { rows_first ? some_columns(part, unit, own) : some_rows(part, unit, own); },
        [&] {
          if (t.end) t.end();
        });
  }
};

}  // namespace

bool a_stays_fits(const Job& job, const GemmKernels& g) {
  if (g.tiles.reads_rows) return job.a_k == 1 && job.a_row != 1;  // 1 is what a panel has
  return g.source == g.compute && g.tiles.depth == 1 && (job.a_k == 1 || job.a_row == 1);
}

void packed_product(const Job& job, const GemmKernels& g, bool a_stays) {
  Packed(job, g, a_stays ? tiles_in_place(job, g) : g.tiles, a_stays).run();
}

bool packed_fits(const Job& job, const GemmKernels& g) {
  return g.source == g.compute && g.tiles.depth == 1 && job.packed->columns == g.tiles.columns && job.packed->pass == pass_of(job, g.tiles);
}

std::shared_ptr<const PackedMatrix> pack_panels(const Job& job, const GemmKernels& g) {
  const Packed product(job, g, g.tiles, true);
  auto made = std::make_shared<PackedMatrix>();
  made->columns = g.tiles.columns;
  made->pass = product.pass;
  const int64_t panels = product.column_panels, passes = product.passes, panel = product.b_panel;
  made->bytes = size_t(panels * passes * panel);
  if (rehearsing()) return made;
  made->data = static_cast<char*>(allocate(made->bytes));
  parallel_for(panels, std::max<int64_t>(1, (1 << 18) / (passes * panel)), [&](int64_t from, int64_t to) {
    for (int64_t j = from; j < to; ++j)
      for (int64_t p = 0; p < passes; ++p) product.pack_b(p * product.pass, j, made->data + (j * passes + p) * panel);
  });
  return made;
}

}  // namespace thixo
