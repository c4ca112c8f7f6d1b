#include "conv_winograd_wide.h"

#include <atomic>
#include <cmath>
#include <cstring>

#include "conv_end.h"
#include "conv_winograd.h"
#include "conv_winograd_products.h"
#include "shipped.h"
#include "thread_pool.h"

namespace thixo {

namespace {

using InCall = void (*)(const void* const* rows, int64_t pitch, void* v, int64_t v_row, int64_t v_run, int64_t between, int64_t tiles, int64_t count);
using OutCall = void (*)(const void* m, int64_t between, int64_t ld, void* y, int64_t y_row, int64_t y_place, int64_t tiles, int64_t count,
                         int64_t* wrong);

constexpr int64_t kSide = 6, kMade = 4, kProducts = kSide * kSide;
constexpr double kNear = 0.75, kFar = 1.5;    // the points beside zero, as in codegen/llvm/winograd_wide.py
constexpr double kParallelWork = 1e6;
constexpr int64_t kBlockBytes = 384 << 10;    // of V for one block of tiles, and of the products: near, beside U
constexpr int64_t kManyBytes = 1536 << 10;    // of V where U is heavy: it is far away, and read once for them;
constexpr int64_t kMostBytes = 4 << 20;       // and so much of a V that is an eighth of U: reading that costs less than reading U again
constexpr int64_t kManyProducts = 640 << 10;  // of the products then
constexpr int64_t kHeavyBytes = 1 << 20;      // of a U that no near cache holds beside them
constexpr int64_t kPassBytes = 26 << 10;      // of U for one pass: it stays in the nearest cache
constexpr int64_t kChunk = 4;                 // tiles whose results are made together

// ---- transforms that need no library, which say what the shipped ones do

void pieces(const float* d, int64_t step, float* to, int64_t to_step) {
  const float near2 = float(kNear * kNear), far2 = float(kFar * kFar), both = near2 + far2, product = near2 * far2;
  auto at = [&](int64_t i) { return d[i * step]; };
  to[0] = std::fma(product, at(0), std::fma(-both, at(2), at(4)));
  to[5 * to_step] = std::fma(product, at(1), std::fma(-both, at(3), at(5)));
  for (int64_t i = 0; i < 2; ++i) {
    const float point = float(i ? kFar : kNear), other = i ? near2 : far2;
    const float even = std::fma(-other, at(2), at(4)), odd = std::fma(-other, at(1), at(3));
    to[(1 + 2 * i) * to_step] = std::fma(point, odd, even);
    to[(2 + 2 * i) * to_step] = std::fma(-point, odd, even);
  }
}

void portable_in(const void* const* rows, int64_t pitch, void* v, int64_t v_row, int64_t v_run, int64_t between, int64_t tiles, int64_t count) {
  const int64_t lanes = portable_conv_kernels(DType::F32).lanes;
  float piece[kProducts], half[kProducts], whole[kProducts];
  for (int64_t t = 0; t < tiles; ++t)
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t r = 0; r < kSide; ++r)
        for (int64_t q = 0; q < kSide; ++q) piece[r * kSide + q] = static_cast<const float*>(rows[r])[(kMade * t + q) * pitch + c];
      for (int64_t q = 0; q < kSide; ++q) pieces(piece + q, kSide, half + q, kSide);
      for (int64_t r = 0; r < kSide; ++r) pieces(half + r * kSide, 1, whole + r * kSide, 1);
      for (int64_t xi = 0; xi < kProducts; ++xi) static_cast<float*>(v)[xi * between + t * v_row + c / lanes * v_run + c % lanes] = whole[xi];
    }
}

void results(const float* m, int64_t step, float* to, int64_t to_step) {
  const float near = float(kNear), far = float(kFar);
  const float even1 = m[step] + m[2 * step], odd1 = m[step] - m[2 * step], even2 = m[3 * step] + m[4 * step], odd2 = m[3 * step] - m[4 * step];
  to[0] = m[0] + (even1 + even2);
  to[to_step] = std::fma(near, odd1, far * odd2);
  to[2 * to_step] = std::fma(near * near, even1, far * far * even2);
  to[3 * to_step] = std::fma(near * near * near, odd1, std::fma(far * far * far, odd2, m[5 * step]));
}

void portable_out(const void* m, int64_t between, int64_t ld, void* y, int64_t y_row, int64_t y_place, int64_t tiles, int64_t count, int64_t* wrong) {
  float piece[kProducts], half[kProducts], whole[kMade * kMade];
  for (int64_t t = 0; t < tiles; ++t)
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t xi = 0; xi < kProducts; ++xi) piece[xi] = static_cast<const float*>(m)[xi * between + t * ld + j];
      for (int64_t r = 0; r < kSide; ++r) results(piece + r * kSide, 1, half + r * kMade, 1);
      for (int64_t q = 0; q < kMade; ++q) results(half + q, kMade, whole + q, kMade);
      for (int64_t i = 0; i < kMade * kMade; ++i) {
        static_cast<float*>(y)[i / kMade * y_row + (kMade * t + i % kMade) * y_place + j] = whole[i];
        if (!std::isfinite(whole[i])) *wrong = 1;
      }
    }
}

struct Transforms {
  int generation = -1;
  InCall in = portable_in;
  OutCall out = portable_out;
  ProductsCall products = nullptr;
};

Transforms transforms() {
  static thread_local Transforms found;
  if (found.generation != shipped_generation()) {
    found = Transforms();
    found.generation = shipped_generation();
    const auto in = reinterpret_cast<InCall>(shipped("conv_f32_wide_in"));
    const auto out = reinterpret_cast<OutCall>(shipped("conv_f32_wide_out"));
    if (in && out) found = {found.generation, in, out, reinterpret_cast<ProductsCall>(shipped("conv_f32_products"))};
  }
  return found;
}

// ---- one convolution

struct Plan {
  const PlacesJob& p;
  const ConvKernels& k;
  Transforms t;
  int64_t down, across;           // tiles in an image
  bool direct;                    // pieces are read where images lie
  PlaceImage image;               // else from such a copy
  int64_t ld, panels;             // of the register tile: its columns, panels of them
  int64_t strip, images;          // rows of tiles in a unit, images in it
  int64_t block, together;        // rows of tiles in a block; panels that are multiplied with it together
  bool at_once;                   // all products are one call
  int64_t order[kProducts];       // where each product's part of U is then
  int64_t v_row, v_run, v_each;   // of V: from tile to tile, from one vector of channels to the next; elements of one of the matrices
  int64_t m_panel, m_each;        // the same of the products, and a panel of them
  int64_t u_panel, u_each;        // the same of U
  int64_t pass;                   // channels in one pass
  bool heavy;                     // U is far away
  std::vector<Offsets> table;

  explicit Plan(const PlacesJob& job) : p(job), k(*job.kernels), t(transforms()) {
    down = ceil_div(p.out[1], kMade);
    across = ceil_div(p.out[2], kMade);
    const int64_t channels = p.image.channels, extent[3] = {1, kMade * down + 2, kMade * across + 2};
    direct = p.image.last && channels % k.lanes == 0;
    image.lay_out(channels, p.image.size, p.image.pad, extent, false, !p.image.last);
    image.last = p.image.last;
    ld = p.vectors * k.lanes;
    panels = ceil_div(ceil_div(p.rows, k.lanes), p.vectors);
    u_panel = channels * ld;
    u_each = winograd_apart(panels * u_panel);
    v_row = round_up(channels, k.lanes);
    if (v_row % 64 == 0) v_row += k.lanes;
    const int64_t u_bytes = p.groups * kProducts * panels * u_panel * 4;
    heavy = u_bytes > kHeavyBytes;
    // As many tiles together as make good use of a U that is far away, or as stay near with one that is not.
    const int64_t v_bytes = heavy ? std::clamp(u_bytes / 8, kManyBytes, kMostBytes) : kBlockBytes;
    const int64_t row_bytes = kProducts * v_row * 4 * across, most = std::max<int64_t>(1, v_bytes / row_bytes);
    images = std::clamp<int64_t>(most / down, 1, p.batch);
    images = ceil_div(p.batch, ceil_div(p.batch, images));
    strip = down;
    block = std::min(most, images * down);
    block = ceil_div(images * down, ceil_div(images * down, block));
    const int64_t fit = std::max<int64_t>(kPassBytes / (ld * 4), 16);
    pass = ceil_div(channels, ceil_div(channels, fit));
    at_once = t.products && !heavy && pass == channels;
    if (at_once) v_row = k.lanes;
    v_run = at_once ? block * across * v_row : k.lanes;
    v_each = winograd_apart(at_once ? ceil_div(channels, k.lanes) * v_run : block * across * v_row);
    for (int64_t xi = 0; xi < kProducts; ++xi) order[xi] = xi * u_each;
    together = std::clamp<int64_t>((heavy ? kManyProducts : kBlockBytes) / (kProducts * block * across * ld * 4), 1, panels);
    m_panel = block * across * ld;
    m_each = winograd_apart(together * m_panel);
    for (int64_t c = 0; c < channels; ++c) table.push_back({c * 4, c * ld * 4});
  }
  int64_t copied() const { return direct ? 0 : image.elements(); }  // elements of one image of one group
};

// Where the rows of an image are, of one group.
struct Source {
  const char* at;
  int64_t row, pitch;         // elements from row to row, from place to place
  int64_t height, width;      // rows and places that are there
  int64_t top, left;          // zeros in front of them
};

// What one thread works in.
struct Room {
  const Plan& plan;
  Buffer copies, v, m, sums, edge;
  int64_t wrong = 0;
  int64_t first = 0, end_vector = 0;  // vectors of channels that are computed

  explicit Room(const Plan& made)
      : plan(made), copies(size_t(made.direct ? 0 : made.images * made.p.groups * made.copied() + made.k.lanes) * 4), v(size_t(kProducts * made.v_each) * 4),
        m(size_t(kProducts * made.m_each) * 4), sums(size_t(kMade * kMade * kChunk * made.ld) * 4),
        edge(size_t(kProducts * round_up(made.p.image.channels, made.k.lanes)) * 4) {
    if (copies.data && !rehearsing()) std::memset(copies.data, 0, copies.bytes);
  }

  // Images [n0, n1), rows [from, to) of tiles of each, vectors [v0, v1) of the results' channels.
  void run(int64_t n0, int64_t n1, int64_t from, int64_t to, int64_t v0, int64_t v1, const float* u) {
    const PlacesJob& p = plan.p;
    first = v0;
    end_vector = v1;
    for (int64_t i = 0; i < (n1 - n0) * p.groups && !plan.direct; ++i)
      plan.image.fill_all(plan.k, p.source + plan.image.origin(n0 + i / p.groups, i % p.groups, p.groups) * 4, 0, plan.image.extent[1],
                          copies.data + i * plan.copied() * 4);
    const int64_t each = to - from, rows = (n1 - n0) * each, last_panel = ceil_div(v1, p.vectors);
    for (int64_t g = 0; g < p.groups; ++g)
      for (int64_t r = 0; r < rows; r += plan.block) {
        const int64_t last = std::min(r + plan.block, rows);
        for (int64_t i = r; i < last; ++i) transform(source(n0, i / each, g), from + i % each, v.data + (i - r) * plan.across * plan.v_row * 4);
        for (int64_t panel = v0 / p.vectors; panel < last_panel; panel += plan.together) {
          const int64_t end = std::min(panel + plan.together, last_panel);
          for (int64_t i = panel; plan.at_once && i < end; ++i) multiply_all(g, i, i - panel, (last - r) * plan.across, u);
          for (int64_t xi = 0; xi < kProducts && !plan.at_once; ++xi)
            for (int64_t i = panel; i < end; ++i) {
              const float* next = i + 1 < end ? kernels(g, xi, i + 1, u) : xi + 1 < kProducts ? kernels(g, xi + 1, panel, u) : nullptr;
              multiply(g, xi, i, i - panel, (last - r) * plan.across, u, next);
            }
          for (int64_t i = panel; i < end; ++i)
            for (int64_t j = r; j < last; ++j) write(g, i, i - panel, n0 + j / each, from + j % each, j - r);
        }
      }
  }

  Source source(int64_t n0, int64_t image, int64_t g) const {
    const PlacesJob& p = plan.p;
    if (!plan.direct)
      return {copies.data + (image * p.groups + g) * plan.copied() * 4, plan.image.slice(1), plan.image.pitch, plan.image.extent[1], plan.image.extent[2], 0, 0};
    return {p.source + p.image.origin(n0 + image, g, p.groups) * 4, p.image.size[2] * p.image.last, p.image.last, p.image.size[1], p.image.size[2], p.image.pad[1], p.image.pad[2]};
  }

  // One row of tiles. Pieces that reach beyond the image are made of a copy with zeros around it.
  void transform(const Source& x, int64_t row, char* to) {
    const int64_t above = row * kMade - x.top, channels = plan.p.image.channels, edge_row = round_up(channels, plan.k.lanes);
    const void* rows[kSide];
    bool inside = true;
    for (int64_t i = 0; i < kSide; ++i) {
      inside = inside && above + i >= 0 && above + i < x.height;
      if (inside) rows[i] = x.at + (above + i) * x.row * 4;
    }
    const int64_t left = std::min(ceil_div(x.left, kMade), plan.across), room = x.width + x.left - kSide;
    const int64_t right = inside && room >= 0 ? std::clamp(room / kMade + 1, left, plan.across) : left;
    for (int64_t t = 0; t < plan.across; ++t) {
      if (t == left && right > left) {
        for (const void*& at : rows) at = static_cast<const char*>(at) + (left * kMade - x.left) * x.pitch * 4;
        plan.t.in(rows, x.pitch, to + left * plan.v_row * 4, plan.v_row, plan.v_run, plan.v_each, right - left, channels);
        t = right - 1;
        continue;
      }
      const void* copy[kSide];
      const int64_t before = t * kMade - x.left;
      for (int64_t i = 0; i < kSide; ++i) {
        char* line = edge.data + i * kSide * edge_row * 4;
        copy[i] = line;
        for (int64_t j = 0; j < kSide; ++j, line += edge_row * 4) {
          const bool there = above + i >= 0 && above + i < x.height && before + j >= 0 && before + j < x.width;
          if (there) std::memcpy(line, x.at + ((above + i) * x.row + (before + j) * x.pitch) * 4, size_t(channels) * 4);
          else std::memset(line, 0, size_t(channels) * 4);
        }
      }
      plan.t.in(copy, edge_row, to + t * plan.v_row * 4, plan.v_row, plan.v_run, plan.v_each, 1, channels);
    }
  }

  // Those of a panel that are asked for.
  int64_t skipped(int64_t panel) const { return std::max<int64_t>(0, first - panel * plan.p.vectors); }
  int64_t vectors(int64_t panel) const { return std::min(plan.p.vectors, end_vector - panel * plan.p.vectors) - skipped(panel); }
  WinogradPanel part(int64_t panel, int64_t slot) const { return {slot, skipped(panel) * plan.k.lanes, vectors(panel)}; }

  // Where U has its part of a product and a panel.
  const float* kernels(int64_t g, int64_t xi, int64_t panel, const float* u) const {
    return u + (g * kProducts + xi) * plan.u_each + panel * plan.u_panel + skipped(panel) * plan.k.lanes;
  }

  // One of the products with a panel, the `slot`th of those that are multiplied together.
  void multiply(int64_t g, int64_t xi, int64_t panel, int64_t slot, int64_t tiles, const float* u, const float* next) {
    winograd_product(plan, part(panel, slot), xi, plan.p.image.channels, tiles, kernels(g, xi, panel, u), next, v.data, m.data);
  }

  // All of them with a panel.
  void multiply_all(int64_t g, int64_t panel, int64_t slot, int64_t tiles, const float* u) {
    const WinogradPanel asked = part(panel, slot);
    const int64_t across = asked.vectors;
    const float* b = u + g * kProducts * plan.u_each + panel * plan.u_panel + asked.skip;
    Products job = winograd_products(plan, asked, kProducts, plan.p.image.channels, b, v.data, m.data);
    thixo::multiply_all(plan.t.products, job, tiles, tile_height(tiles, plan.k.most_rows[across - 1]), across, plan.v_row);
  }

  // One panel of channels of the results of a row of tiles, which is the `at`th of its block.
  void write(int64_t g, int64_t panel, int64_t slot, int64_t n, int64_t row, int64_t at) {
    const PlacesJob& p = plan.p;
    const int64_t skip = skipped(panel) * plan.k.lanes, wide = vectors(panel) * plan.k.lanes, line = kMade * kChunk * wide;
    const int64_t all_rows = p.groups * p.rows, channel = panel * plan.ld + skip, count = std::min(wide, p.rows - channel);
    const char* bias = p.bias ? p.bias + (g * p.rows + channel) * 4 : nullptr;
    for (int64_t t = 0; t < plan.across; t += kChunk) {  // few at a time: they stay in the nearest cache
      const int64_t left = t * kMade, some = std::min(kChunk, plan.across - t);
      plan.t.out(m.data + (slot * plan.m_panel + (at * plan.across + t) * plan.ld + skip) * 4, plan.m_each, plan.ld, sums.data, line, wide, some, wide, &wrong);
      for (int64_t h = 0; h < std::min(kMade, p.out[1] - row * kMade); ++h)
        end_lines(p, sums.data + h * line * 4, wide, p.y + (((n * p.out[1] + row * kMade + h) * p.out[2] + left) * all_rows + g * p.rows + channel) * 4, all_rows,
                  std::min(some * kMade, p.out[2] - left), count, bias);
    }
  }
};

}  // namespace

bool wide_pays(const PlacesJob& p) {
  if (!p.last || p.image.channels < 8 || p.rows < 8) return false;
  const double lanes = double(p.kernels->lanes), rows = double(ceil_div(p.rows, p.kernels->lanes)), channels = double(p.image.channels);
  const double tiles = double(p.batch * p.groups * ceil_div(p.out[1], kMade) * ceil_div(p.out[2], kMade)), pairs = double(p.groups) * channels * rows;
  const double products = tiles * rows * kProducts * (channels * 0.55 + 5), transforms = tiles * (channels / lanes * 110 + rows * 130);
  // Of a U that is far away a line of the cache comes about every twelve cycles, beside the products; it is read for each block.
  const Plan plan(p);
  const double blocks = double(ceil_div(p.batch, plan.images) * ceil_div(plan.images * plan.down, plan.block));
  const double fetch = pairs * kProducts * 64 > 2 << 20 ? 12 * blocks * pairs * kProducts : 0;
  const double own = std::max(products, fetch) + 0.35 * std::min(products, fetch) + transforms;
  return own < 0.9 * std::min(p.cycles, winograd_cycles(p, true));
}

size_t wide_kernel_bytes(const PlacesJob& p) { return size_t(p.groups * kProducts * Plan(p).u_each) * 4; }

// [groups][36][panels][channels][ld], in double precision and rounded once.
void wide_kernels(const PlacesJob& p, char* to) {
  if (rehearsing()) return;
  const Plan plan(p);
  double g[kSide][3] = {};
  const double points[5] = {0, kNear, -kNear, kFar, -kFar};
  for (int i = 0; i < 5; ++i) {
    double below = 1;
    for (int j = 0; j < 5; ++j)
      if (j != i) below *= points[i] - points[j];
    for (int j = 0; j < 3; ++j) g[i][j] = std::pow(points[i], j) / below;
  }
  g[5][2] = 1;
  const int64_t channels = p.image.channels, all = p.groups * plan.panels * channels;
  auto* u = reinterpret_cast<float*>(to);
  const auto* w = reinterpret_cast<const float*>(p.weight);
  parallel_for(all, get_num_threads() > 1 ? 16 : all, [&](int64_t from, int64_t last) {
    std::vector<double> room(size_t((9 + 3 * kSide) * plan.ld));
    double *taps = room.data(), *half = taps + 9 * plan.ld;
    for (int64_t i = from; i < last; ++i) {
      const int64_t group = i / channels / plan.panels, panel = i / channels % plan.panels, c = i % channels;
      for (int64_t j = 0; j < plan.ld; ++j) {
        const int64_t row = panel * plan.ld + j;
        for (int64_t t = 0; t < 9; ++t) taps[t * plan.ld + j] = row < p.rows ? double(w[((group * p.rows + row) * channels + c) * 9 + t]) : 0.0;
      }
      for (int64_t a = 0; a < kSide; ++a)
        for (int64_t q = 0; q < 3; ++q)
          for (int64_t j = 0; j < plan.ld; ++j)
            half[(a * 3 + q) * plan.ld + j] = g[a][0] * taps[q * plan.ld + j] + g[a][1] * taps[(3 + q) * plan.ld + j] + g[a][2] * taps[(6 + q) * plan.ld + j];
      for (int64_t xi = 0; xi < kProducts; ++xi) {
        float* into = u + (group * kProducts + xi) * plan.u_each + panel * plan.u_panel + c * plan.ld;
        const double *line = half + xi / kSide * 3 * plan.ld, *b = g[xi % kSide];
        for (int64_t j = 0; j < plan.ld; ++j) into[j] = float(b[0] * line[j] + b[1] * line[plan.ld + j] + b[2] * line[2 * plan.ld + j]);
      }
    }
  });
}

bool winograd_wide(const PlacesJob& p) {
  if (p.batch == 0 || p.rows == 0 || p.groups == 0) return true;
  const bool parallel = p.work >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  const int64_t threads = parallel ? get_num_threads() : 1;
  Plan plan(p);
  // Enough units for all threads; how they are cut changes no result. Where kernels' transforms are far away and units few, threads
  // share out channels of the results instead of reading all of them, and each transforms the images for itself.
  const int64_t vectors = ceil_div(p.rows, plan.k.lanes), whole = ceil_div(p.batch, plan.images);
  const int64_t splits = parallel && plan.heavy && whole < 2 * threads ? std::min(vectors, ceil_div(threads, whole)) : 1;
  while (parallel && splits == 1 && ceil_div(p.batch, plan.images) * ceil_div(plan.down, plan.strip) < 2 * threads && (plan.images > 1 || plan.strip > 2)) {
    if (plan.images > 1) plan.images = ceil_div(plan.images, 2);
    else plan.strip = ceil_div(plan.strip, 2);
  }
  const float* kernels = reinterpret_cast<const float*>(p.packed);
  const int64_t strips = ceil_div(plan.down, plan.strip), units = ceil_div(p.batch, plan.images) * strips * splits;
  std::atomic<int64_t> wrong{0};
  parallel_for(units, parallel ? 1 : units, [&](int64_t from, int64_t to) {
    Room room(plan);
    if (rehearsing()) return;
    for (int64_t i = from; i < to; ++i) {
      const int64_t unit = i / splits, split = i % splits, n = unit / strips * plan.images, top = unit % strips * plan.strip;
      room.run(n, std::min(n + plan.images, p.batch), top, std::min(top + plan.strip, plan.down), vectors * split / splits, vectors * (split + 1) / splits, kernels);
    }
    if (room.wrong) wrong.store(1, std::memory_order_relaxed);
  });
  return wrong.load() == 0;
}

}  // namespace thixo
