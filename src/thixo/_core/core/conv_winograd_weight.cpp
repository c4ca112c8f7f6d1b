// The gradient of 3x3 kernels by Winograd's F(2x2, 3x3): sixteen products over tiles in place of thirty-six over places.
//
// With V the transforms of the image's pieces (conv_winograd.cpp) and Z those of the results' gradient, the gradient is
// G' (sum over tiles of V' Z) G. The tile sums over Winograd's tiles, its rows are channels of V, its vectors those of Z.
#include <atomic>
#include <cstring>

#include "conv_winograd.h"
#include "conv_winograd_products.h"
#include "shipped.h"
#include "thread_pool.h"

namespace thixo {

namespace {

using PiecesCall = void (*)(const void* image, int64_t row, int64_t pitch, void* to, int64_t to_row, int64_t between, int64_t tiles,
                            int64_t count);
using BackCall = void (*)(const void* u, int64_t between, void* w, int64_t w_tap, int64_t count, int64_t* wrong);

struct Transforms {
  int generation = -1;
  PiecesCall in = nullptr, grad = nullptr;
  BackCall back = nullptr;
  ProductsCall sums = nullptr;
};

Transforms transforms() {
  static thread_local Transforms found;
  if (found.generation != shipped_generation()) {
    found.generation = shipped_generation();
    found.in = reinterpret_cast<PiecesCall>(shipped("conv_f32_wino_in"));
    found.grad = reinterpret_cast<PiecesCall>(shipped("conv_f32_wino_grad"));
    found.back = reinterpret_cast<BackCall>(shipped("conv_f32_wino_back"));
    found.sums = reinterpret_cast<ProductsCall>(shipped("conv_f32_sums"));
  }
  return found;
}

constexpr double kParallelWork = 1e6;
constexpr int64_t kProducts = 16;
constexpr int64_t kBlockBytes = 1 << 20;     // of V and Z for one block of tiles
constexpr int64_t kManyBytes = 3 << 20;      // the same where the sums are far away: they are read and written for each
constexpr int64_t kHeavyBytes = 1 << 20;     // of such sums
constexpr int64_t kPartsBytes = 2 << 20;     // of all parts' sums
constexpr int64_t kMostParts = 16;           // the same for any number of threads: sums do not depend on it
constexpr int64_t kTurned = 8;               // channels of x whose sums are transformed back together
constexpr int64_t kTiles = 144;              // in one pass: their part of Z stays in the nearest cache
constexpr int64_t kFewTiles = 48;            // the same where all sixteen products are one call: sums stay there too

// An odd number of vectors, so that rows do not share their places in the cache.
int64_t odd_row(int64_t channels, int64_t lanes) { return (ceil_div(channels, lanes) | 1) * lanes; }

struct Plan {
  const Convolution& c;
  const ConvKernels& k;
  Transforms t;
  int64_t down, across;            // tiles in an image
  PlaceImage x, y;
  int64_t vectors = 1, height = 1, ld, panels, padded;  // of the register tile; channels of y, whole panels
  int64_t v_row, z_row, v_each, z_each;
  int64_t u_each, u_group;         // elements of one of the sixteen sums; of all of a group
  int64_t block;                   // rows of tiles that are worked on together
  int64_t parts;                   // of the batch, each with its own sums
  bool reads_gradient = false;     // where it lies: no copy is made
  double cycles = 0;

  explicit Plan(const Convolution& conv) : c(conv), k(conv_kernels(DType::F32)), t(transforms()) {
    down = ceil_div(c.out[1], 2);
    across = ceil_div(c.out[2], 2);
    const int64_t all = ceil_div(c.outer, k.lanes), inner_vectors = ceil_div(c.inner, k.lanes);
    double best = 0;
    for (int64_t v = 1; v <= std::min(kMostVectors, all); ++v) {
      const int64_t row_panels = ceil_div(c.inner, k.most_rows[v - 1]), tall = ceil_div(c.inner, row_panels);
      const double cost = double(ceil_div(all, v) * row_panels) * std::max({0.5 * double(tall * v), 4.0, 0.5 * double(tall + v + 2)});
      if (v > 1 && cost >= 0.98 * best) continue;
      best = cost;
      vectors = v;
      height = tall;
    }
    ld = vectors * k.lanes;
    panels = ceil_div(all, vectors);
    padded = panels * ld;
    v_row = odd_row(c.inner, k.lanes);
    z_row = odd_row(padded, k.lanes);
    u_each = winograd_apart(c.inner * padded);
    u_group = kProducts * u_each;
    const int64_t bytes = c.groups * u_group * 4;
    parts = std::clamp<int64_t>(kPartsBytes / bytes, 1, std::min(c.batch, kMostParts));
    const int64_t row_bytes = across * (v_row + z_row) * kProducts * 4;
    block = std::clamp<int64_t>((bytes > kHeavyBytes ? kManyBytes : kBlockBytes) / row_bytes, 1, ceil_div(c.batch, parts) * down);
    v_each = winograd_apart(block * across * v_row);
    z_each = winograd_apart(block * across * z_row);
    const double tiles = double(c.batch * down * across), groups = double(c.groups);
    const double blocks = std::max(1.0, double(c.batch * down) / double(block));
    cycles = groups * (tiles * (best * 16 * 1.06 + 60.0 * double(inner_vectors) + 120.0 * double(all)) +
                       double(u_group) / 16 * (blocks * (bytes > kHeavyBytes ? 8.0 : 3.0) + 4.0 + double(parts)));
  }

  void lay_out() {
    const int64_t none[3] = {0, 0, 0}, in[3] = {1, 2 * down + 2, 2 * across + 2}, out[3] = {1, 2 * down, 2 * across};
    x.lay_out(c.inner, c.in, c.padding, in, false);
    y.lay_out(c.outer, c.out, none, out, false);
    if (c.x_last) x.last = c.groups * c.inner;
    if (c.y_last && c.outer % k.lanes) y.last = c.groups * c.outer;  // whole vectors are read, and would reach too far
    else if (c.y_last) y.set_last(k, c.groups * c.outer);
    reads_gradient = y.in_place(k);
  }
  // All sixteen products of a part are one call.
  bool at_once() const { return t.sums && parts > 1; }
};

// What one thread works in: copies of an image, and the transforms of a block.
struct Room {
  const Plan& p;
  Buffer image, gradient, v, z;
  std::vector<Offsets> table;

  explicit Room(const Plan& plan)
      : p(plan), image(size_t(plan.x.elements() + 4 * plan.k.lanes) * 4), gradient(plan.reads_gradient ? 0 : size_t(plan.y.elements() + 4 * plan.k.lanes) * 4),
        v(size_t(kProducts * plan.v_each) * 4), z(size_t(kProducts * plan.z_each) * 4) {
    if (rehearsing()) return;
    std::memset(image.data, 0, image.bytes);
    if (gradient.data) std::memset(gradient.data, 0, gradient.bytes);
    if (plan.padded > round_up(plan.c.outer, plan.k.lanes)) std::memset(z.data, 0, z.bytes);
    for (int64_t i = 0; i < plan.block * plan.across; ++i) table.push_back({i * plan.v_row * 4, i * plan.z_row * 4});
  }

  // Transforms of rows [from, to) of tiles of image n and group g, to rows `at` ... of the block.
  void transform(const char* xs, const char* ys, int64_t n, int64_t g, int64_t from, int64_t to, int64_t at, bool fresh) {
    const Convolution& c = p.c;
    if (fresh) {
      p.x.fill_all(p.k, xs + p.x.origin(n, g, c.groups) * 4, 0, p.x.extent[p.x.cut], image.data);
      if (!p.reads_gradient) p.y.fill_all(p.k, ys + p.y.origin(n, g, c.groups) * 4, 0, p.y.extent[p.y.cut], gradient.data);
    }
    const char* slopes = p.reads_gradient ? ys + p.y.origin(n, g, c.groups) * 4 : gradient.data;
    for (int64_t r = from; r < to; ++r, ++at) {
      p.t.in(image.data + 2 * r * p.x.slice(1) * 4, p.x.slice(1), p.x.pitch, v.data + at * p.across * p.v_row * 4, p.v_row, p.v_each, p.across, c.inner);
      p.t.grad(slopes + 2 * r * p.y.slice(1) * 4, p.y.slice(1), p.y.pitch, z.data + at * p.across * p.z_row * 4, p.z_row, p.z_each,
               p.across, c.outer);
    }
  }

  // Adds all sixteen products over `tiles` tiles. Meanwhile the images of the next block are asked for, from `x` and `y` on.
  void add_all(int64_t tiles, float* u, bool fresh, const char* x, const char* y, int64_t images) const {
    const Convolution& c = p.c;
    const int64_t passes = ceil_div(tiles, kFewTiles), pass = ceil_div(tiles, passes), all = ceil_div(c.outer, p.k.lanes);
    const int64_t calls = passes * p.panels * kProducts * std::max<int64_t>(c.inner / p.height, 1);
    const int64_t lines[2] = {images * c.inner * c.in_size() * 4 / kLineBytes, images * c.outer * c.out_size() * 4 / kLineBytes};
    int64_t order[kProducts];
    for (int64_t xi = 0; xi < kProducts; ++xi) order[xi] = xi * p.z_each;
    Products job;
    job.a_k = p.v_row;
    job.a_next = p.v_each;
    job.b_k = p.z_row;
    job.order = order;
    job.c_row = p.padded;
    job.c_next = p.u_each;
    job.count = kProducts;
    job.reads = ceil_div(lines[0] + lines[1], calls);
    int64_t asked = 0;
    for (int64_t at = 0; at < tiles; at += pass)
      for (int64_t j = 0; j < p.panels; ++j) {
        job.k = std::min(pass, tiles - at);
        job.a = v.data + at * p.v_row * 4;
        job.b = z.data + (at * p.z_row + j * p.ld) * 4;
        job.c = u + j * p.ld;
        job.add = !fresh || at > 0;
        job.read = asked < lines[0] ? x + asked * kLineBytes : y + (asked - lines[0]) * kLineBytes;
        multiply_all(p.t.sums, job, c.inner, p.height, std::min(p.vectors, all - j * p.vectors), 1);
        asked += job.reads * kProducts * job.tiles;
      }
  }

  // Adds one of the sixteen products, over `tiles` tiles, for panel `j` of z's channels.
  void add(int64_t xi, int64_t j, int64_t tiles, float* u, bool fresh) const {
    const int64_t pass = ceil_div(tiles, ceil_div(tiles, kTiles)), across = std::min(p.vectors, ceil_div(p.c.outer, p.k.lanes) - j * p.vectors);
    for (int64_t at = 0; at < tiles; at += pass)
      for (int64_t m = 0; m < p.c.inner; m += p.height)
        p.k.tile(std::min(pass, tiles - at), v.data + (xi * p.v_each + m) * 4, 1, z.data + (xi * p.z_each + j * p.ld) * 4, table.data() + at,
                 u + xi * p.u_each + m * p.padded + j * p.ld, p.padded, std::min(p.height, p.c.inner - m), across, !fresh || at > 0);
  }
};

}  // namespace

double winograd_weight_cycles(const Convolution& c) {
  const Transforms t = transforms();
  if (!t.in || !t.grad || !t.back || c.dtype != DType::F32 || c.in[0] * c.out[0] * c.kernel[0] != 1 || c.padding[0]) return 1e300;
  for (int i = 1; i < 3; ++i)
    if (c.kernel[i] != 3 || c.stride[i] != 1 || c.dilation[i] != 1 || c.padding[i] > 2) return 1e300;
  return Plan(c).cycles;
}

bool winograd_weight(const Convolution& c, const void* x, const void* y, void* w) {
  Plan p(c);
  p.lay_out();
  const bool parallel = c.work() >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  const char *xs = static_cast<const char*>(x), *ys = static_cast<const char*>(y);
  const int64_t all = c.groups * p.u_group;
  Buffer sums(size_t(p.parts * all) * 4);
  float* u = reinterpret_cast<float*>(sums.data);
  // Rows of tiles of images [n0, n1), a block at a time; `multiply` gets each block, and the images that the next one begins.
  auto blocks = [&](Room& room, int64_t g, int64_t n0, int64_t n1, auto&& multiply) {
    const int64_t rows = (n1 - n0) * p.down;
    int64_t copied = -1;
    for (int64_t r = 0; r < rows; r += p.block) {
      const int64_t last = std::min(r + p.block, rows);
      for (int64_t i = r; i < last;) {
        const int64_t n = n0 + i / p.down, top = i % p.down, some = std::min(last - i, p.down - top);
        room.transform(xs, ys, n, g, top, top + some, i - r, n != copied);
        copied = n;
        i += some;
      }
      const int64_t next = n0 + ceil_div(last, p.down), end = std::min(n0 + ceil_div(last + p.block, p.down), n1);
      multiply((last - r) * p.across, r == 0, next, c.groups == 1 ? std::max<int64_t>(end - next, 0) : 0);
    }
  };
  if (p.parts > 1) {
    parallel_for(p.parts, parallel ? 1 : p.parts, [&](int64_t from, int64_t to) {
      Room room(p);
      if (rehearsing()) return;
      for (int64_t part = from; part < to; ++part)
        for (int64_t g = 0; g < c.groups; ++g) {
          float* own = u + part * all + g * p.u_group;
          blocks(room, g, c.batch * part / p.parts, c.batch * (part + 1) / p.parts, [&](int64_t tiles, bool fresh, int64_t next, int64_t images) {
            if (p.at_once()) return room.add_all(tiles, own, fresh, xs + next * c.inner * c.in_size() * 4, ys + next * c.outer * c.out_size() * 4, images);
            for (int64_t xi = 0; xi < kProducts; ++xi)
              for (int64_t j = 0; j < p.panels; ++j) room.add(xi, j, tiles, own, fresh);
          });
        }
    });
    parallel_for(all, parallel ? 1 << 14 : all, [&](int64_t from, int64_t to) {
      if (rehearsing()) return;
      add_parts(u, p.parts, all, from, to);
    });
  } else {
    Room room(p);
    for (int64_t g = 0; g < c.groups && !rehearsing(); ++g)
      blocks(room, g, 0, c.batch, [&](int64_t tiles, bool fresh, int64_t, int64_t) {
        const int64_t tasks = kProducts * p.panels;
        parallel_for(tasks, parallel ? std::max<int64_t>(1, tasks / (8 * get_num_threads())) : tasks, [&](int64_t from, int64_t to) {
          for (int64_t i = from; i < to; ++i) room.add(i / p.panels, i % p.panels, tiles, u + g * p.u_group, fresh);
        });
      });
  }
  // [16][inner][padded] becomes [9][inner][padded], that becomes [outer][inner][9]: some channels at a time, which stay near.
  const int64_t row = c.inner * 9, lanes = ceil_div(c.outer, p.k.lanes), turns = ceil_div(c.inner, kTurned);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < kTurned; ++i)
    for (int64_t tap = 0; tap < 9; ++tap) places.push_back((tap * kTurned + i) * p.padded);
  std::atomic<int64_t> wrong{0};
  parallel_for(c.groups * turns, parallel ? 1 : c.groups * turns, [&](int64_t from, int64_t to) {
    Buffer taps(size_t(9 * kTurned * p.padded) * 4);
    if (rehearsing()) return;
    int64_t own = 0;
    for (int64_t i = from; i < to; ++i) {
      const int64_t g = i / turns, first = i % turns * kTurned, some = std::min(kTurned, c.inner - first);
      p.t.back(u + g * p.u_group + first * p.padded, p.u_each, taps.data, kTurned * p.padded, some * p.padded, &own);
      for (int64_t v = 0; v < lanes; ++v)
        p.k.collect(taps.data + v * p.k.lanes * 4, places.data(), static_cast<char*>(w) + ((g * c.outer + v * p.k.lanes) * row + first * 9) * 4, row, some * 9,
                    std::min(p.k.lanes, c.outer - v * p.k.lanes), nullptr);
    }
    if (own) wrong.store(1, std::memory_order_relaxed);
  });
  return wrong.load() == 0;
}

}  // namespace thixo
