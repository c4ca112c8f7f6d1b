#include "gemm.h"

#include <atomic>
#include <cstring>

#include "gemm_job.h"
#include "kernels/types.h"
#include "thread_pool.h"

namespace thixo {

namespace {

std::atomic<GemmPlan> forced{GemmPlan::Chosen};

// Products of so few 16-bit floats take less time than to get panels ready.
constexpr int64_t kFewToConvert = 64;

// What an element of a matrix that is read or written takes, in multiplications and additions.
constexpr double kWorkOfElement = 8;

// Products of a batch for each thread from which it does not matter that some have one more than others.
constexpr int64_t kFewRounds = 8;

// Whether a second-level cache has not kept so many results of the call before beside all else.
bool is_far_result(int64_t bytes) {
  const int64_t second = second_cache_bytes();
  return second > 0 && bytes > second;
}

// Strides along axes of size 1 say nothing: give them the value that suits the kernels.
void settle_strides(Job& job) {
  if (job.m == 1) job.a_row = 1;
  if (job.k == 1) {
    job.a_k = 1;
    if (job.b_n != 1) job.b_k = 1;
  }
  if (job.n == 1) job.b_n = job.c_n = 1;
}

// C' = B' A'.
Job transposed(const Job& job) {
  Job t = job;
  t.m = job.n;
  t.n = job.m;
  t.a = job.b;
  t.a_row = job.b_n;
  t.a_k = job.b_k;
  t.b = job.a;
  t.b_k = job.a_k;
  t.b_n = job.a_row;
  t.c_row = job.c_n;
  t.c_n = job.c_row;
  t.bias_m = job.bias_n;
  t.bias_n = job.bias_m;
  t.swapped = !job.swapped;
  t.packed = nullptr;
  settle_strides(t);
  return t;
}

constexpr int64_t kMostDots = 12;        // with more rows a tile is faster than dot products
constexpr int64_t kMostDotsCopied = 10;  // of rows that are copied first, because they do not lie along k
constexpr int64_t kThinElements = 4096;  // smaller matrices are in the cache anyway

// Results so few that turning a matrix for them takes longer than their sums, where both matrices lie along k.
bool is_few_dots(const Job& job, const GemmKernels& g) {
  if (g.source != g.compute || job.a_k != 1 || job.b_k != 1 || (job.b_n == 1 && job.n > 1)) return false;
  return job.k >= 8 * kFewK ? job.m * job.n <= 640 : job.k >= 3 * kFewK && job.m <= 32 && job.n <= 16;
}

// Few rows: a matrix that they meet is read once, from where it is. More of them where it lies along k, since every
// other way would have to turn it round.
bool is_thin(const Job& job, const GemmKernels& g) {
  if (!thin_fits(job)) return false;
  if (job.b_k == 1 && job.m <= kAxpyRows && job.k >= kFewK) return true;  // each sum along both
  if (is_few_dots(job, g)) return true;
  if (job.k * job.n < kThinElements) return false;
  if (job.m <= kAxpyRows) return job.n > 2 * g.tiles.columns || !direct_fits(job, g);
  if (job.b_k != 1 || job.b_n == 1 || g.tiles.depth > 1) return false;
  const bool near = job.k * job.n * item_size(job.dtype) <= kNearBytes;
  const int64_t copied = near ? 8 : kMostDotsCopied;  // a matrix that is near may as well be read twice
  const int64_t most = g.source != g.compute ? 16 : job.a_k == 1 ? kMostDots : copied;  // 16-bit ones would be packed
  return job.m <= (job.k >= 256 ? most : job.k >= 128 ? 8 : 0);
}

constexpr int64_t kFewTiles = 32, kFewKForPanels = 48, kVeryFewK = 16;  // so few do not make up for packing

// Tiles of rows up to which packing B would cost more than it saves; more where it is read in place as fast.
constexpr int64_t kFewTall = 2, kFewTallCheap = 10;

bool is_direct(const Job& job, const GemmKernels& g, int64_t few_tall) {
  if (!direct_fits(job, g)) return false;
  if (job.m <= few_tall * g.tiles.rows) return true;
  if (job.k * job.n * item_size(job.dtype) > kNearBytes) return false;
  const int64_t tiles = ceil_div(job.m, g.tiles.rows) * ceil_div(job.n, g.tiles.columns);
  // Where C is stored in pieces, B would be loaded so too: with some k and rows it is better packed.
  const bool packs_b = g.wide.rows > 0 && stores_in_pieces(job) && job.k > 8 && job.m >= 8 * g.tiles.rows && job.n > 4 * g.tiles.columns;
  if (packs_b && !streams_c(job, g)) return false;
  if (tiles < kFewTiles || job.k < kVeryFewK || (job.n <= 2 * g.tiles.columns && job.k < 4 * kFewK)) return true;
  const bool c_is_near = job.m * job.n * item_size(job.dtype) <= kNearBytes / 2;
  return (job.k < kFewKForPanels && (c_is_near || job.n <= 4 * g.tiles.columns)) || streams_c(job, g);
}

bool is_direct(const Job& job, const GemmKernels& g) {
  return is_direct(job, g, strides_are_cheap(g.tiles) ? kFewTallCheap : kFewTall);
}

// Lines of A that are a multiple of so many bytes apart meet in a few sets of the caches.
constexpr int64_t kSameSets = 4096, kLine = 64;

// Few columns would use each element of a packed A too seldom. Rows that lie a power of two apart are in each other's
// way in the nearest cache, and are better packed. Where strides are cheap, all other rows and columns may stay.
bool a_stays(const Job& job, const GemmKernels& g) {
  if (!a_stays_fits(job, g)) return false;
  const int64_t row = job.a_row * item_size(job.dtype);
  if (reads_far_rows(g.tiles) && (job.a_row == 1 || row % kSameSets != 0)) return true;
  const bool apart = row % 1024 != 0;
  const int64_t most = &tiles_in_place(job, g) == &g.wide ? kMostWideVectors * g.tiles.lanes : (apart ? 4 : 3) * g.tiles.columns;
  return job.n <= (apart ? most : 3 * g.tiles.columns) || job.k < kVeryFewK;
}

// Panels of columns that make up for a copy whose lines do not.
constexpr int64_t kWideForCopy = 8;

bool lines_meet(const Job& job, const GemmKernels& g) {
  const int64_t apart = (job.a_k == 1 ? job.a_row : job.a_k) * item_size(job.dtype);
  return reads_far_rows(g.tiles) && a_stays_fits(job, g) && apart % kSameSets == 0 && job.n > kWideForCopy * g.tiles.columns;
}

// Copies lines of A a little further apart, and leaves the copy where it is. Each thread copies rows of A, since it will read rows:
// what another core has written comes late.
void spread_product(const Job& job, const GemmKernels& g) {
  const bool rows = job.a_k == 1;
  const int64_t item = item_size(job.dtype), count = rows ? job.m : job.k, length = (rows ? job.k : job.m) * item;
  const int64_t from = (rows ? job.a_row : job.a_k) * item, whole = round_up(length, kLine), to = whole % kSameSets == 0 ? whole + kLine : whole;
  Buffer copy(size_t(count * to));
  if (!rehearsing()) {
    // Lines first to last of the copy, or that part of each line.
    const auto some = [&](int64_t first, int64_t last) {
      const int64_t left = rows ? 0 : first * kLine, right = rows ? length : std::min(length, last * kLine);
      for (int64_t i = rows ? first : 0, end = rows ? last : count; i < end; ++i)
        std::memcpy(copy.data + i * to + left, static_cast<const char*>(job.a) + i * from + left, size_t(right - left));
    };
    const int64_t pieces = rows ? count : whole / kLine;
    if (job.parallel) parallel_evenly(pieces, rows ? 1 : ceil_div(pieces, get_num_threads()), some);
    else some(0, pieces);
  }
  Job spread = job;
  spread.a = copy.data;
  (rows ? spread.a_row : spread.a_k) = to / item;
  packed_product(spread, g, true);
}

// Columns that fill vectors badly, while rows would fill them well. An A that would be turned in either case needs fewer of
// them than one that could stay where it is.
bool better_transposed(const Job& job, const GemmKernels& g) {
  const int64_t lanes = g.tiles.lanes;
  const double own = double(round_up(job.n, lanes)) / double(job.n);
  const double other = double(round_up(job.m, lanes)) / double(job.m);
  const bool stays = g.tiles.depth == 1 && a_stays_fits(job, g);
  return own > 1.5 * other && job.k >= (stays ? 48 : 64) && job.m >= (stays ? 16 : 4) * job.n;
}

// A quarter of the vectors or more would be empty: where products are what takes time, turning the other matrix takes less.
bool fills_badly(int64_t count, int64_t lanes) { return 4 * count <= 3 * round_up(count, lanes) && count > lanes; }

void run(const Job& job, const GemmKernels& g) {
  switch (forced.load(std::memory_order_relaxed)) {
    case GemmPlan::Direct:
      if (direct_fits(job, g)) return direct_product(job, g);
      break;
    case GemmPlan::Thin:
      if (thin_fits(job)) return thin_product(job, g);
      break;
    case GemmPlan::HalfPacked:
      if (a_stays_fits(job, g)) return packed_product(job, g, true);
      break;
    case GemmPlan::Packed: return packed_product(job, g, false);
    case GemmPlan::Chosen: break;
  }
  if (is_thin(job, g)) return thin_product(job, g);
  if (job.packed && packed_fits(job, g)) return lines_meet(job, g) ? spread_product(job, g) : packed_product(job, g, a_stays(job, g));
  if (job.n < job.m) {
    const Job t = transposed(job);
    // Dot products would copy the columns of B first, which so few rows of A do not make up for.
    const bool copies = t.a_k != 1 && job.m <= 4 * g.tiles.rows;
    if (is_thin(t, g) && !(copies && is_direct(job, g))) return thin_product(t, g);
    if (better_transposed(job, g)) return packed_product(t, g, false);
  } else if (job.b_k == 1 && job.b_n != 1 && job.m <= g.tiles.columns && job.k >= 8 * kFewK && !(strides_are_cheap(g.tiles) && fills_badly(job.m, g.tiles.lanes))) {
    const Job t = transposed(job);  // what lies along k stays where it is
    if (g.tiles.depth == 1 && a_stays_fits(t, g)) return packed_product(t, g, true);
  }
  if (is_direct(job, g)) return direct_product(job, g);
  if (small_fits(job, g)) return small_product(job, g);
  if (lines_meet(job, g)) return spread_product(job, g);
  packed_product(job, g, a_stays(job, g));
}

// The tile that computes such a product at once, from where its matrices are: thousands of a batch need no further thought.
// Null where there is more to do, or another plan is better.
TileCall only_tile(const Job& job, const GemmKernels& g) {
  if (gemm_plan() != GemmPlan::Chosen || rehearsing() || !direct_fits(job, g) || job.bias || job.epilogue.apply || job.packed) return nullptr;
  if (job.m > g.tiles.rows || job.n > g.tiles.columns || job.k < 1 || job.k > g.tiles.block || is_thin(job, g)) return nullptr;
  if (job.n < job.m && (is_thin(transposed(job), g) || better_transposed(job, g))) return nullptr;
  return g.tiles.tile;
}

template <class S, class T>
void store_any(const Job& job, const T* sums, int64_t ld, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const S* bias = static_cast<const S*>(job.bias);
  S* to = reinterpret_cast<S*>(job.c_at(row, column));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T total = sums[i * ld + j];
      if (bias) total += T(bias[(row + i) * job.bias_m + (column + j) * job.bias_n]);
      to[i * job.c_row + j * job.c_n] = S(total);
    }
}

}  // namespace

void set_gemm_plan(GemmPlan plan) { forced.store(plan, std::memory_order_relaxed); }
GemmPlan gemm_plan() { return forced.load(std::memory_order_relaxed); }

void finish_part(const Job& job, const GemmKernels& g, const void* sums, int64_t ld, int64_t row, int64_t rows,
                 int64_t column, int64_t columns, FinishCall round) {
  char* to = job.c_at(row, column);
  if (sums != to || job.bias) {
    const bool plain = job.c_n == 1 && (!job.bias || (job.bias_n == 1 && job.bias_m == 0));
    const bool turned = job.c_row == 1 && sums != to && (!job.bias || (job.bias_m == 1 && job.bias_n == 0));
    const char* bias = static_cast<const char*>(job.bias);
    if (turned && g.finish_turned) {
      g.finish_turned(sums, ld, to, job.c_n, rows, columns, bias ? bias + row * item_size(job.dtype) : nullptr);
    } else if (plain) {
      (round && !bias ? round : g.finish)(sums, ld, to, job.c_row, rows, columns, bias ? bias + column * item_size(job.dtype) : nullptr);
    } else {
      switch (job.dtype) {
        case DType::F64: store_any<double>(job, static_cast<const double*>(sums), ld, row, rows, column, columns); break;
        case DType::F32: store_any<float>(job, static_cast<const float*>(sums), ld, row, rows, column, columns); break;
        case DType::F16: store_any<Half>(job, static_cast<const float*>(sums), ld, row, rows, column, columns); break;
        default: store_any<BFloat16>(job, static_cast<const float*>(sums), ld, row, rows, column, columns); break;
      }
    }
  }
  if (!job.epilogue.apply) return;
  if (job.swapped)
    job.epilogue.apply(to, job.c_n, job.c_row, column, columns, row, rows, job.epilogue.context);
  else
    job.epilogue.apply(to, job.c_row, job.c_n, row, rows, column, columns, job.epilogue.context);
}

// What an element that comes from another core's cache takes, in multiplications of a tile.
constexpr double kWorkOfComing = 8;
// What one costs that is in several caches when it is written.
constexpr double kWorkOfCopies = 8;

Shares share_out(const Job& job, const TileKernels& t, double a_cost, double b_cost) {
  const int64_t tall = ceil_div(job.m, t.rows), wide = ceil_div(job.n, t.columns), lanes = t.lanes;
  const int64_t height = t.whole ? t.rows : 0;
  Shares best{job.m, tall, wide, height, 1, 1};
  if (!job.parallel) return best;
  double least = -1;
  const int64_t threads = get_num_threads();
  for (int64_t down = 1; down <= std::min(threads, job.m); ++down) {
    const int64_t across = std::min(wide, threads / down);
    Shares s{job.m, height ? tall : round_up(tall, down), wide, height, std::min(down, height ? tall : down), across};
    const double rows = double(ceil_div(s.row_panels, s.down));
    const double fill = height ? 1.0 : std::max(double(job.m) / double(s.row_panels * t.rows), 0.35) * 0.95 + 0.05;
    double columns = 0;  // of the widest share, the last one may be of partial panels
    for (int64_t c : {int64_t{0}, across - 1}) {
      const Share share = s.at(c);
      const int64_t n = std::min(job.n, share.right * t.columns) - share.left * t.columns;
      columns = std::max(columns, double(round_up(n, lanes)) / double(t.columns));
    }
    // What a thread reads of A and B was written by others, as a rule, and who reads C next has rows of it.
    const double cells = double(job.m) / double(s.down) * double(job.k) + double(job.k) * double(job.n) / double(across) +
                         double(job.m) * double(job.n) / double(s.down * across) * (1 - 1 / double(across));
    // What several threads read is then in the caches of all of them, and whoever writes it next waits until the others have
    // given it up: weights that are updated, memory that is used again. Packed matrices are never written.
    const double copies = (across > 1 ? double(job.m) / double(s.down) * double(job.k) : 0) +
                          (s.down > 1 && !job.packed ? double(job.k) * double(job.n) / double(across) : 0);
    const double moved = (cells * kWorkOfComing + copies * kWorkOfCopies) / (double(std::max<int64_t>(job.k, 1)) * double(t.rows * t.columns));
    const double time = rows * fill * (columns + a_cost) + columns * b_cost + moved;
    if (least < 0 || time < least) {
      least = time;
      best = s;
    }
  }
  return best;
}

double work_of(const Product& p) {
  const double m = double(p.m), n = double(p.n), k = double(p.k);
  return 2 * m * n * k + kWorkOfElement * (m * k + k * n + m * n);
}

void gemm(const Product& product) {
  if (product.m <= 0 || product.n <= 0) return;
  if (!is_floating(product.dtype)) return is_complex(product.dtype) ? complex_product(product) : plain_product(product);
  const GemmKernels& g = gemm_kernels(product.dtype);
  if (g.source != g.compute && gemm_plan() == GemmPlan::Chosen &&
      product.m * product.n * product.k <= kFewToConvert)
    return few_product(product);
  Job job(product);
  settle_strides(job);
  job.c_far |= is_far_result(job.m * job.n * item_size(job.dtype));
  job.parallel = work_of(job) >= kWorkForThreads && !in_parallel_loop() && get_num_threads() > 1;
  run(job, g);
}

PackedMatrix::~PackedMatrix() {
  if (data) release(data, bytes);
}

std::shared_ptr<const PackedMatrix> pack_matrix(const Product& product) {
  if (product.m <= 0 || product.n <= 0 || product.k <= 0 || !is_floating(product.dtype)) return nullptr;
  const GemmKernels& g = gemm_kernels(product.dtype);
  Job job(product);
  settle_strides(job);
  // 16-bit dtypes have kernels of several kinds, each with panels of its own.
  if (g.source != g.compute || g.tiles.depth != 1 || is_thin(job, g) || is_direct(job, g, kFewTall) || small_fits(job, g)) return nullptr;
  return pack_panels(job, g);
}

// One matrix for the whole batch, and rows that follow one another.
bool joins_rows(const Product& product, const Dims& sizes, const Dims& a_strides, const Dims& b_strides) {
  bool joins = product.c_row == product.n && product.c_n == 1;
  int64_t step = product.m * product.a_row;
  for (int d = sizes.size() - 1; joins && d >= 0; --d) {
    if (sizes[d] == 1) continue;
    joins = b_strides[d] == 0 && a_strides[d] == step;
    step *= sizes[d];
  }
  return joins;
}

void gemm_batch(const Product& product, const Dims& sizes, const Dims& a_strides, const Dims& b_strides) {
  int64_t count = 1;
  for (int64_t s : sizes) count *= s;
  if (count == 0) return;
  if (count == 1) return gemm(product);
  if (joins_rows(product, sizes, a_strides, b_strides)) {
    Product whole = product;
    whole.m *= count;
    return gemm(whole);
  }
  const int64_t item = item_size(product.dtype);
  const int64_t c_bytes = count * product.m * product.n * item;
  int64_t b_bytes = product.k * product.n * item;  // of all
  for (int d = 0; d < sizes.size(); ++d)
    if (b_strides[d] != 0) b_bytes *= sizes[d];
  Job job(product);
  settle_strides(job);
  const TileCall tile = is_floating(product.dtype) && product.m > 0 && product.n > 0 ? only_tile(job, gemm_kernels(product.dtype)) : nullptr;
  auto one = [&](int64_t index) {
    int64_t a = 0, b = 0, rest = index;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      const int64_t at = rest % sizes[d];
      rest /= sizes[d];
      a += at * a_strides[d];
      b += at * b_strides[d];
    }
    const char* a_at = static_cast<const char*>(product.a) + a * item;
    const char* b_at = static_cast<const char*>(product.b) + b * item;
    char* c_at = static_cast<char*>(product.c) + index * product.m * product.n * item;
    if (tile) return tile(job.k, a_at, job.a_row, job.a_k, b_at, job.b_k, c_at, job.c_row, job.m, job.n, 0);
    Product p = product;
    p.b_far = b_bytes > cpu_features().last_cache / 8;  // others want their part of it
    p.c_far = is_far_result(c_bytes);
    p.a = a_at;
    p.b = b_at;
    p.c = c_at;
    gemm(p);
  };
  const double work = 2.0 * double(product.m) * double(product.n) * double(product.k);
  // Large products use the threads themselves, small ones share them out.
  const bool inside = work >= 64 * kWorkForThreads && count < 4 * get_num_threads();
  if (inside || work * double(count) < kWorkForThreads) {
    for (int64_t i = 0; i < count; ++i) one(i);
    return;
  }
  // A few that do not go evenly into the threads: those that would be left to some of them are computed by all.
  const int64_t threads = get_num_threads(), left = work >= kWorkForThreads && count < kFewRounds * threads ? count % threads : 0;
  const int64_t shared = in_parallel_loop() ? count : count - left;
  const int64_t grain = std::max<int64_t>(1, std::min<int64_t>(int64_t(kWorkForThreads / (work + 1)), count / (4 * threads)));
  parallel_for(shared, grain, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) one(i);
  });
  for (int64_t i = shared; i < count; ++i) one(i);
}

}  // namespace thixo
