#include "conv_winograd.h"

#include <atomic>
#include <cstring>

#include "conv_end.h"
#include "conv_winograd_products.h"
#include "shipped.h"
#include "thread_pool.h"

namespace thixo {

namespace {

using InCall = void (*)(const void* image, int64_t row, int64_t pitch, void* v, int64_t v_row, int64_t between, int64_t tiles,
                        int64_t count);
using WeightCall = void (*)(const void* w, int64_t ld, int64_t count, void* u, int64_t between);
using OutCall = void (*)(const void* m, int64_t between, int64_t ld, void* y, int64_t y_row, int64_t y_place, int64_t tiles, int64_t count,
                         int64_t* wrong);

struct Transforms {
  int generation = -1;
  InCall in = nullptr;
  WeightCall weight = nullptr;
  OutCall out = nullptr;
  ProductsCall products = nullptr;
};

Transforms transforms() {
  static thread_local Transforms found;
  if (found.generation != shipped_generation()) {
    found.generation = shipped_generation();
    found.in = reinterpret_cast<InCall>(shipped("conv_f32_wino_in"));
    found.weight = reinterpret_cast<WeightCall>(shipped("conv_f32_wino_weight"));
    found.out = reinterpret_cast<OutCall>(shipped("conv_f32_wino_out"));
    found.products = reinterpret_cast<ProductsCall>(shipped("conv_f32_products"));
  }
  return found;
}

constexpr double kParallelWork = 1e6;
constexpr int64_t kProducts = 16;
constexpr int64_t kImageBytes = 512 << 10;  // of images that are worked on together
constexpr int64_t kFewImages = 160 << 10;   // the same where all products are one call, which asks for the next images meanwhile
constexpr int64_t kBlockBytes = 384 << 10;  // of V for one block of tiles, and of the products: near, beside images and U
constexpr int64_t kManyBytes = 3 << 20;     // of images and V where U is heavy: it is far away, and read once for them
constexpr int64_t kManyProducts = 768 << 10;  // of the products then
constexpr int64_t kHeavyBytes = 1 << 20;    // of a U that no near cache holds
constexpr int64_t kLightBytes = 20 << 10;   // of a U that the nearest cache holds beside a block
constexpr int64_t kNearBlock = 20 << 10;    // of V for such a block
constexpr int64_t kPackedChannels = 16;
constexpr int64_t kPassBytes = 26 << 10;    // of U for one pass: it stays in the nearest cache

struct Plan {
  const PlacesJob& p;
  const ConvKernels& k;
  Transforms t;
  int64_t down, across;               // tiles in an image
  PlaceImage image;
  int64_t ld, panels;                 // of the register tile: its columns, panels of them
  int64_t strip, images;              // rows of tiles in a unit, images in it
  int64_t block, together;            // rows of tiles in a block; panels that are multiplied with it together
  int64_t v_row, v_each, m_each;      // of V; elements of one of the sixteen matrices
  int64_t v_run;                      // of a vector of channels of V, if all products are one call
  int64_t m_panel;                    // elements of a panel of the products
  int64_t u_panel, u_each;            // the same of U
  int64_t pass;                       // channels in one pass
  bool heavy;                         // U is far away
  bool direct;                        // results are written to where they lie
  bool at_once;                       // all sixteen products are one call
  int64_t order[kProducts];           // where each product's part of U is then
  std::vector<Offsets> table;
  std::vector<int64_t> places;        // of the results of a block of one image

  explicit Plan(const PlacesJob& job) : p(job), k(*job.kernels), t(transforms()) {
    down = ceil_div(p.out[1], 2);
    across = ceil_div(p.out[2], 2);
    const int64_t extent[3] = {1, 2 * down + 2, 2 * across + 2};
    image.lay_out(p.image.channels, p.image.size, p.image.pad, extent, false, !p.image.last);
    image.last = p.image.last;
    direct = p.last && p.rows % k.lanes == 0 && p.out[1] % 2 == 0 && p.out[2] % 2 == 0;
    ld = p.vectors * k.lanes;
    panels = ceil_div(ceil_div(p.rows, k.lanes), p.vectors);
    v_row = round_up(image.channels, k.lanes);
    if (v_row % 64 == 0) v_row += k.lanes;
    heavy = p.groups * kProducts * panels * image.channels * ld * 4 > kHeavyBytes;
    const int64_t most = std::max<int64_t>(kPassBytes / (ld * 4), 16);
    pass = ceil_div(image.channels, ceil_div(image.channels, most));
    at_once = t.products && !heavy && pass == image.channels;
    const int64_t bytes = p.groups * image.elements() * 4, most_bytes = heavy ? kManyBytes : kImageBytes;
    strip = ceil_div(down, std::min(ceil_div(bytes, most_bytes), down));
    images = strip < down ? 1 : std::clamp<int64_t>((at_once ? kFewImages : most_bytes) / std::max<int64_t>(bytes, 1), 1, p.batch);
    // Where U is light, V and the products of a block stay in the nearest cache beside it.
    const bool light = p.groups * kProducts * panels * image.channels * ld * 4 <= kLightBytes;
    block = std::clamp<int64_t>((heavy ? kManyBytes : light ? kNearBlock : kBlockBytes) / (kProducts * v_row * 4 * across), 1, strip * images);
    block = ceil_div(strip * images, ceil_div(strip * images, block));
    if (at_once) v_row = k.lanes;
    v_run = block * across * v_row;
    v_each = winograd_apart(at_once ? ceil_div(image.channels, k.lanes) * v_run : v_run);
    together = std::clamp<int64_t>((heavy ? kManyProducts : kBlockBytes) / (kProducts * block * across * ld * 4), 1, panels);
    m_panel = block * across * ld;
    m_each = winograd_apart(together * m_panel);
    u_panel = image.channels * ld;
    u_each = winograd_apart(panels * u_panel);
    for (int64_t xi = 0; xi < kProducts; ++xi) order[xi] = kernel_of(xi) * u_each;
    for (int64_t c = 0; c < image.channels; ++c) table.push_back({c * 4, c * ld * 4});
    for (int64_t h = 0; h < std::min(2 * std::min(block, down), p.out[1]); ++h)
      for (int64_t w = 0; w < p.out[2]; ++w) places.push_back((h * 2 * across + w) * ld);
  }
  // Turning a kernel round exchanges the first and the last of its transforms' rows and columns.
  int64_t kernel_of(int64_t xi) const {
    if (!p.turned) return xi;
    const int64_t other[4] = {3, 1, 2, 0};
    return other[xi / 4] * 4 + other[xi % 4];
  }
  bool strips() const { return strip < down; }
  // Rows of the image that a unit holds.
  int64_t span() const { return strips() ? 2 * strip + 2 : image.extent[1]; }
};

// The transforms of all kernels: [groups][16][panels][channels][ld].
void transform_weights(const Plan& plan, float* u, bool parallel) {
  const PlacesJob& p = plan.p;
  const int64_t all = p.groups * plan.panels, parts = ceil_div(p.image.channels, kPackedChannels);
  parallel_for(all * parts, parallel && p.rows * p.image.channels > 1 << 12 ? 4 : all * parts, [&](int64_t from, int64_t to) {
    Buffer packed(size_t(kPackedChannels * plan.ld * 9) * 4);  // near, until it is transformed
    if (rehearsing()) return;
    int64_t at[kPackedChannels * 9];
    for (int64_t i = 0; i < kPackedChannels * 9; ++i) at[i] = i * plan.ld;
    for (int64_t i = from; i < to; ++i) {
      const int64_t g = i / parts / plan.panels, panel = i / parts % plan.panels, c0 = i % parts * kPackedChannels,
                    c1 = std::min(c0 + kPackedChannels, p.image.channels);
      pack_channels(p, g, panel, c0, c1, packed.data, at);
      plan.t.weight(packed.data, plan.ld, c1 - c0, u + g * kProducts * plan.u_each + panel * plan.u_panel + c0 * plan.ld, plan.u_each);
    }
  });
}

// What one thread works in.
struct Room {
  const Plan& plan;
  Buffer images, v, m, sums;
  int64_t wrong = 0;
  int64_t first = 0, end_vector = 0;  // vectors of channels that are computed
  const char *ahead = nullptr, *ahead_end = nullptr;  // what is read next of the source
  int64_t ahead_lines = 0;                            // asked for before each tile

  explicit Room(const Plan& made)
      : plan(made), images(size_t(made.images * made.p.groups * made.span() * made.image.slice(1) + made.k.lanes) * 4),
        v(size_t(kProducts * made.v_each) * 4), m(size_t(kProducts * made.m_each) * 4),
        sums(made.direct ? 0 : size_t(made.block * 4 * made.across * made.ld + made.k.lanes) * 4) {
    if (!rehearsing()) std::memset(images.data, 0, images.bytes);
  }

  // Images [n0, n1), rows [from, to) of tiles of each, vectors [v0, v1) of the results' channels.
  void run(int64_t n0, int64_t n1, int64_t from, int64_t to, int64_t v0, int64_t v1, const float* u) {
    first = v0;
    end_vector = v1;
    const int64_t panels = ceil_div(v1, plan.p.vectors);
    const PlacesJob& p = plan.p;
    const PlaceImage& x = plan.image;
    const int64_t low = plan.strips() ? 2 * from : 0, high = plan.strips() ? 2 * to + 2 : x.extent[1], group = plan.span() * x.slice(1);
    for (int64_t n = n0; n < n1; ++n)
      for (int64_t g = 0; g < p.groups; ++g) {
        char* into = images.data + ((n - n0) * p.groups + g) * group * 4;
        if (plan.strips()) x.clear(plan.k, low, high, into);
        x.fill_all(plan.k, p.source + x.origin(n, g, p.groups) * 4, low, high, into);
      }
    const int64_t each = to - from, rows = (n1 - n0) * each;
    if (ahead) {
      const int64_t tiles = rows * plan.across * kProducts * (panels - v0 / p.vectors) / plan.k.most_rows[p.vectors - 1];
      ahead_lines = ceil_div(ahead_end - ahead, std::max<int64_t>(tiles, 1) * kLineBytes);
    }
    for (int64_t g = 0; g < p.groups; ++g)
      for (int64_t r = 0; r < rows; r += plan.block) {
        const int64_t last = std::min(r + plan.block, rows);
        const int64_t run = plan.at_once ? plan.k.lanes : x.channels;
        for (int64_t i = r; i < last; ++i)
          for (int64_t c = 0; c < x.channels; c += run)
            plan.t.in(images.data + ((i / each * p.groups + g) * group + 2 * (i % each) * x.slice(1) + c) * 4, x.slice(1), x.pitch,
                      v.data + (c / run * plan.v_run + (i - r) * plan.across * plan.v_row) * 4, plan.v_row, plan.v_each, plan.across, std::min(run, x.channels - c));
        for (int64_t panel = v0 / p.vectors; panel < panels; panel += plan.together) {
          const int64_t end = std::min(panel + plan.together, panels);
          for (int64_t i = panel; plan.at_once && i < end; ++i) multiply_all(g, i, i - panel, r, last, n0, from, each, u);
          for (int64_t xi = 0; xi < kProducts && !plan.at_once; ++xi)
            for (int64_t i = panel; i < end; ++i) {
              const float* next = i + 1 < end ? kernels(g, xi, i + 1, u) : xi + 1 < kProducts ? kernels(g, xi + 1, panel, u) : nullptr;
              multiply(g, xi, i, i - panel, (last - r) * plan.across, u, next);
            }
          for (int64_t i = panel; i < end; ++i) results(g, i, i - panel, n0, from, each, r, last);
        }
      }
  }

  // Those of a panel that are asked for.
  int64_t skipped(int64_t panel) const { return std::max<int64_t>(0, first - panel * plan.p.vectors); }
  int64_t vectors(int64_t panel) const { return std::min(plan.p.vectors, end_vector - panel * plan.p.vectors) - skipped(panel); }
  WinogradPanel part(int64_t panel, int64_t slot) const { return {slot, skipped(panel) * plan.k.lanes, vectors(panel)}; }

  // Where U has its part of a product and a panel.
  const float* kernels(int64_t g, int64_t xi, int64_t panel, const float* u) const {
    return u + (g * kProducts + plan.kernel_of(xi)) * plan.u_each + panel * plan.u_panel + skipped(panel) * plan.k.lanes;
  }

  // One of the sixteen products with a panel, the `slot`th of those that are multiplied together.
  void multiply(int64_t g, int64_t xi, int64_t panel, int64_t slot, int64_t tiles, const float* u, const float* next) {
    winograd_product(plan, part(panel, slot), xi, plan.image.channels, tiles, kernels(g, xi, panel, u), next, v.data, m.data);
  }

  // All sixteen with a panel, for rows [r, last) of tiles.
  void multiply_all(int64_t g, int64_t panel, int64_t slot, int64_t r, int64_t last, int64_t n0, int64_t from, int64_t each, const float* u) {
    const WinogradPanel asked = part(panel, slot);
    const int64_t across = asked.vectors, tiles = (last - r) * plan.across;
    const int64_t height = tile_height(tiles, plan.k.most_rows[across - 1]), calls = kProducts * (tiles / height);
    const float* b = u + g * kProducts * plan.u_each + panel * plan.u_panel + asked.skip;
    Products job = winograd_products(plan, asked, kProducts, plan.image.channels, b, v.data, m.data);
    if (ahead < ahead_end) {
      job.read = ahead;
      job.reads = ahead_lines;
      ahead += calls * ahead_lines * kLineBytes;
    }
    if (plan.direct && plan.panels == 1 && plan.p.groups == 1) {  // where results of these rows of tiles go: they lie together
      const int64_t line = plan.p.out[2] * plan.p.rows * 4;
      job.write = plan.p.y + ((n0 + r / each) * plan.p.out[1] + 2 * (from + r % each)) * line;
      job.writes = ceil_div(2 * (last - r) * line, calls * kLineBytes);
    }
    thixo::multiply_all(plan.t.products, job, tiles, height, across, plan.v_row);
  }

  // One panel of channels of the results of rows [r, last) of tiles.
  void results(int64_t g, int64_t panel, int64_t slot, int64_t n0, int64_t from, int64_t each, int64_t r, int64_t last) {
    const PlacesJob& p = plan.p;
    const ConvKernels& k = plan.k;
    const int64_t row = 2 * plan.across * plan.ld, skip = skipped(panel) * k.lanes;
    const int64_t all_rows = p.groups * p.rows, channel = panel * plan.ld + skip, count = std::min(vectors(panel) * k.lanes, p.rows - channel);
    const char* bias = p.bias ? p.bias + (g * p.rows + channel) * 4 : nullptr;
    // Where the results of a row of tiles begin that have their channels side by side.
    auto at = [&](int64_t i) {
      return p.y + (((n0 + i / each) * p.out[1] + 2 * (from + i % each)) * p.out[2] * all_rows + g * p.rows + channel) * 4;
    };
    for (int64_t i = r; i < last; ++i)
      plan.t.out(m.data + (slot * plan.m_panel + (i - r) * plan.across * plan.ld + skip) * 4, plan.m_each, plan.ld,
                 plan.direct ? at(i) : sums.data + ((i - r) * 2 * row + skip) * 4, plan.direct ? p.out[2] * all_rows : row, plan.direct ? all_rows : plan.ld,
                 plan.across, vectors(panel) * k.lanes, &wrong);
    if (p.last) {
      if (plan.direct && !bias && p.plain_end()) return;
      for (int64_t i = r; i < last; ++i)
        for (int64_t h = 0; h < std::min<int64_t>(2, p.out[1] - 2 * (from + i % each)); ++h) {
          char* to = at(i) + h * p.out[2] * all_rows * 4;
          end_lines(p, plan.direct ? to : sums.data + ((i - r) * 2 * row + h * row + skip) * 4, plan.direct ? all_rows : plan.ld, to, all_rows, p.out[2], count, bias);
        }
      return;
    }
    for (int64_t i = r; i < last;) {  // the rows of one image at a time
      const int64_t n = n0 + i / each, top = from + i % each, some = std::min(last - i, each - i % each);
      const int64_t h0 = 2 * top, h1 = std::min(2 * (top + some), p.out[1]), plane = p.out[1] * p.out[2];
      for (int64_t j = 0; j < vectors(panel); ++j) {
        const int64_t part = channel + j * k.lanes, out = g * p.rows + part;
        k.collect(sums.data + ((i - r) * 2 * row + skip + j * k.lanes) * 4, plan.places.data(), p.y + ((n * p.groups * p.rows + out) * plane + h0 * p.out[2]) * 4,
                  plane, (h1 - h0) * p.out[2], std::min(k.lanes, p.rows - part), bias ? bias + j * k.lanes * 4 : nullptr);
      }
      i += some;
    }
  }
};

}  // namespace

bool winograd_fits() {
  const Transforms t = transforms();
  return t.in && t.weight && t.out;
}

double winograd_cycles(const PlacesJob& p, bool packed) {
  // Cycles for vectors of channels and rows.
  const double lanes = double(p.kernels->lanes), rows = double(ceil_div(p.rows, p.kernels->lanes)), channels = double(p.image.channels);
  const double tiles = double(p.batch * p.groups * ceil_div(p.out[1], 2) * ceil_div(p.out[2], 2)), pairs = double(p.groups) * channels * rows;
  const bool far = pairs * 16 * 64 > 2 << 20;
  const double kernels = pairs * (packed ? (far ? 60 : 0) : far ? 220 : 80);
  // A product of few channels is short, and what surrounds it counts; so do the transforms.
  return tiles * rows * 16 * (channels * 0.55 + 5) + tiles * (channels / lanes * 45 + rows * (p.last ? 60 : 110)) + kernels;
}

bool winograd_pays(const PlacesJob& p, bool packed) {
  if (!winograd_fits() || p.image.channels < 4 || p.rows < 4) return false;
  return winograd_cycles(p, packed) < 0.95 * (p.last || p.image.last ? p.cycles : std::min(p.cycles, planes_cycles(p)));
}

size_t winograd_kernel_bytes(const PlacesJob& p) { return size_t(p.groups * kProducts * Plan(p).u_each) * 4; }

void winograd_kernels(const PlacesJob& p, char* to) { transform_weights(Plan(p), reinterpret_cast<float*>(to), get_num_threads() > 1); }

bool winograd(const PlacesJob& p) {
  if (p.batch == 0 || p.rows == 0 || p.groups == 0) return true;
  const bool parallel = p.work >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  const int64_t threads = parallel ? get_num_threads() : 1;
  Plan plan(p);
  // Enough units for all threads; how they are cut changes no result. Each reads all kernels' transforms: if those are far
  // away and units few, threads share out channels of the results instead, and each transforms the image for itself.
  const int64_t vectors = ceil_div(p.rows, plan.k.lanes), whole = ceil_div(p.batch, plan.images) * ceil_div(plan.down, plan.strip);
  const int64_t splits = parallel && plan.heavy && whole < 2 * threads ? std::min(vectors, ceil_div(threads, whole)) : 1;
  while (parallel && splits == 1 && ceil_div(p.batch, plan.images) * ceil_div(plan.down, plan.strip) < 2 * threads && (plan.images > 1 || plan.strip > 2)) {
    if (plan.images > 1) plan.images = ceil_div(plan.images, 2);
    else plan.strip = ceil_div(plan.strip, 2);
  }
  Buffer u(p.packed ? 0 : size_t(p.groups * kProducts * plan.u_each) * 4);
  if (!p.packed) transform_weights(plan, reinterpret_cast<float*>(u.data), parallel);
  const float* kernels = reinterpret_cast<const float*>(p.packed ? p.packed : u.data);
  const int64_t strips = ceil_div(plan.down, plan.strip), units = ceil_div(p.batch, plan.images) * strips * splits;
  std::atomic<int64_t> wrong{0};
  // Several units in a turn: the padding of images is cleared once for each.
  const int64_t grain = splits > 1 ? 1 : std::max<int64_t>(1, units / (4 * threads));
  parallel_for(units, parallel ? grain : units, [&](int64_t from, int64_t to) {
    Room room(plan);
    if (rehearsing()) return;
    for (int64_t i = from; i < to; ++i) {
      const int64_t unit = i / splits, split = i % splits, n = unit / strips * plan.images, top = unit % strips * plan.strip;
      room.ahead = room.ahead_end = nullptr;
      if (plan.at_once && i + splits < units && p.image.last && p.groups == 1) {  // the source of the next unit lies together
        const int64_t next = (i + splits) / splits, at = next / strips * plan.images, row = next % strips * plan.strip;
        const int64_t line = p.image.size[2] * p.image.last * 4, low = std::max<int64_t>(2 * row - p.image.pad[1], 0);
        room.ahead = p.source + p.image.origin(at, 0, 1) * 4 + low * line;
        room.ahead_end = room.ahead + (plan.strips() ? 2 * plan.strip : std::min(plan.images, p.batch - at) * p.image.size[1]) * line;
      }
      room.run(n, std::min(n + plan.images, p.batch), top, std::min(top + plan.strip, plan.down), vectors * split / splits, vectors * (split + 1) / splits, kernels);
    }
    if (room.wrong) wrong.store(1, std::memory_order_relaxed);
  });
  return wrong.load() == 0;
}

}  // namespace thixo
