#include "conv_winograd.h"

#include <atomic>
#include <cstring>

#include "conv_image.h"
#include "gemm_job.h"
#include "shipped.h"
#include "thread_pool.h"

namespace thixo {

namespace {

using InCall = void (*)(const void* planes, int64_t plane, int64_t pitch, void* v, int64_t between, int64_t count);
using WeightCall = void (*)(const void* w, int64_t step, int64_t count, void* u, int64_t between);
using OutCall = void (*)(const void* m, int64_t between, void* y, int64_t y_row, int64_t columns, int64_t rows,
                         const void* bias, int64_t* wrong);

struct Transforms {
  int generation = -1;
  InCall in = nullptr;
  WeightCall weight = nullptr;
  OutCall out = nullptr;
};

Transforms transforms() {
  static thread_local Transforms found;
  if (found.generation != shipped_generation()) {
    found.generation = shipped_generation();
    found.in = reinterpret_cast<InCall>(shipped("conv_f32_wino_in"));
    found.weight = reinterpret_cast<WeightCall>(shipped("conv_f32_wino_weight"));
    found.out = reinterpret_cast<OutCall>(shipped("conv_f32_wino_out"));
  }
  return found;
}

constexpr double kParallelWork = 1e6;
constexpr int64_t kProducts = 16;
constexpr int64_t kChunkBytes = 1 << 20;
constexpr int64_t kBlockBytes = 512 << 10;  // of V, and of the products, for one block of tiles
constexpr int64_t kDepth = 256;             // channels in one pass: their part of V stays in the nearest cache

struct Plan {
  const WinogradJob& j;
  const ConvKernels& k;
  Transforms t;
  int64_t down, across;         // tiles in an image
  PaddedImage image;            // of one group, in planes of even and odd rows and columns
  int64_t block_rows, width;    // rows of tiles in a block; its tiles, in whole vectors
  int64_t vectors, height;      // of the register tile
  int64_t u_row;                // from row to row of the kernels' transforms
  int64_t v_row;                // the same of the image's and of the products
  int64_t u_each, v_each, m_each;  // elements of one of the sixteen matrices
  std::vector<Offsets> table;

  explicit Plan(const WinogradJob& job) : j(job), k(conv_kernels(DType::F32)), t(transforms()) {
    down = ceil_div(j.out[0], 2);
    across = ceil_div(j.out[1], 2);
    const int64_t size[3] = {1, j.in[0], j.in[1]}, pad[3] = {0, j.pad[0], j.pad[1]}, step[3] = {1, 2, 2};
    const int64_t places[3] = {1, down, across};
    const std::vector<int64_t> meets[3] = {{0}, {0, 1, 2, 3}, {0, 1, 2, 3}};
    image.lay_out(j.channels, size, pad, step, places, meets);
    const int64_t most = std::clamp<int64_t>(kBlockBytes / (kProducts * 4 * std::max(j.channels, j.rows)), 6 * k.lanes, 16 * k.lanes);
    block_rows = std::clamp<int64_t>(most / across, 1, j.batch * down);
    width = round_up(block_rows * across, k.lanes);
    const int64_t all = width / k.lanes;
    vectors = all <= kMostVectors ? all : all % 3 == 0 && j.rows % k.most_rows[2] == 0 ? 3 : 2;
    height = ceil_div(j.rows, ceil_div(j.rows, k.most_rows[vectors - 1]));
    v_row = width + k.lanes;
    u_row = round_up(j.channels, k.lanes) + k.lanes;
    u_each = apart(j.rows * u_row);
    v_each = apart(j.channels * v_row);
    m_each = apart(j.rows * v_row);
    for (int64_t c = 0; c < j.channels; ++c) table.push_back({c * 4, c * v_row * 4});
  }
  // The sixteen matrices are written side by side: were they a multiple of 4096 bytes apart, they would share their
  // places in the cache.
  static int64_t apart(int64_t elements) { return round_up(elements, 1024) + 64; }
};

// The transforms of all kernels: [groups][16][rows][channels].
void transform_weights(const Plan& p, float* u, bool parallel) {
  const WinogradJob& j = p.j;
  const int64_t all = j.groups * j.rows, own = j.rows * j.channels * 9;
  parallel_for(all, parallel ? std::max<int64_t>(1, all / 32) : all, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t g = i / j.rows, row = i % j.rows;
      const float* w = static_cast<const float*>(j.w) + g * own + row * 9 * (j.turned ? 1 : j.channels);
      p.t.weight(w, 9 * (j.turned ? j.rows : 1), j.channels, u + g * kProducts * p.u_each + row * p.u_row, p.u_each);
    }
  });
}

// Turning a kernel round exchanges the first and the last of its transforms' rows and columns.
int64_t kernel_of(const Plan& p, int64_t xi) {
  if (!p.j.turned) return xi;
  const int64_t other[4] = {3, 1, 2, 0};
  return other[xi / 4] * 4 + other[xi % 4];
}

// One block: rows [first, last) of tiles, counted over images, of one group. `images` begins with image n0.
struct Block {
  const Plan& p;
  const float* u;
  const char* images;
  int64_t n0, group, first, last;
  float* v;
  float* m;

  void in(int64_t c) const {
    for (int64_t r = first; r < last; ++r) {
      const int64_t n = r / p.down - n0, ty = r % p.down, pitch = p.image.axes[2].extent;
      const float* planes = reinterpret_cast<const float*>(images) +
                            ((n * p.j.groups + group) * p.j.channels + c) * p.image.channel + ty * pitch;
      p.t.in(planes, p.image.plane, pitch, v + c * p.v_row + (r - first) * p.across, p.v_each, p.across);
    }
  }
  // Panels [top, bottom) of rows of one of the sixteen products.
  void multiply(int64_t xi, int64_t top, int64_t bottom) const {
    const int64_t tiles = ceil_div((last - first) * p.across, p.k.lanes), depth = p.j.channels;
    const int64_t passes = ceil_div(depth, kDepth), pass = ceil_div(depth, passes);
    const float* a = u + (group * kProducts + kernel_of(p, xi)) * p.u_each;
    for (int64_t at = 0; at < depth; at += pass)
      for (int64_t t = 0; t < tiles; t += p.vectors)
        for (int64_t i = top; i < bottom; ++i) {
          const int64_t row = i * p.height;
          p.k.tile(std::min(pass, depth - at), a + row * p.u_row, p.u_row, v + xi * p.v_each + t * p.k.lanes,
                   p.table.data() + at, m + xi * p.m_each + row * p.v_row + t * p.k.lanes, p.v_row,
                   std::min(p.height, p.j.rows - row), std::min(p.vectors, tiles - t), at > 0);
        }
  }
  void out(int64_t row, int64_t* wrong) const {
    const WinogradJob& j = p.j;
    const float* bias = j.bias ? static_cast<const float*>(j.bias) + group * j.rows + row : nullptr;
    for (int64_t r = first; r < last; ++r) {
      const int64_t n = r / p.down, ty = r % p.down;
      float* y = static_cast<float*>(j.y) + ((n * j.groups + group) * j.rows + row) * j.out[0] * j.out[1] + 2 * ty * j.out[1];
      p.t.out(m + row * p.v_row + (r - first) * p.across, p.m_each, y, j.out[1], j.out[1],
              std::min<int64_t>(2, j.out[0] - 2 * ty), bias, wrong);
    }
  }
};

}  // namespace

bool winograd_fits() {
  const Transforms t = transforms();
  return t.in && t.weight && t.out;
}

bool winograd_pays(const WinogradJob& j) {
  if (!winograd_fits() || j.channels < 4 || j.rows < 4) return false;
  // Cycles for a vector of tiles, channels and rows.
  const double lanes = double(conv_kernels(DType::F32).lanes);
  const double tiles = double(j.batch * ceil_div(j.out[0], 2)) * double(ceil_div(j.out[1], 2)) / lanes;
  const double pairs = double(j.channels * j.rows), wide = lanes / std::min(lanes, double(ceil_div(j.out[1], 2)));
  const double places = double(j.batch) * double(j.out[0] * j.out[1]) / lanes;
  const double direct = places * pairs * 9 * 0.6;
  // Transforms of kernels that no near cache holds cost what memory costs.
  const double kernels = pairs * 16 * 4 > 1 << 20 ? pairs * 48 : pairs / lanes * 200;
  const double own = tiles * pairs * 16 * 0.6 + tiles * wide * 60 * double(j.channels + j.rows) + kernels;
  return own < 0.95 * direct;
}

bool winograd(const WinogradJob& j) {
  if (j.batch == 0 || j.rows == 0 || j.groups == 0) return true;
  const Plan p(j);
  const double work = 18.0 * double(j.batch * j.groups) * double(j.channels * j.rows) * double(j.out[0] * j.out[1]);
  const bool parallel = work >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  const int64_t threads = parallel ? get_num_threads() : 1;
  Buffer u(size_t(j.groups * kProducts * p.u_each) * 4);
  float* kernels = reinterpret_cast<float*>(u.data);
  transform_weights(p, kernels, parallel);

  std::atomic<int64_t> wrong{0};
  const size_t slack = size_t(4 * p.k.lanes) * 4;
  const int64_t image_bytes = j.groups * p.image.elements() * 4, plane = j.in[0] * j.in[1];
  const size_t v_bytes = size_t(kProducts * p.v_each) * 4 + slack, m_bytes = size_t(kProducts * p.m_each) * 4 + slack;
  const int64_t channels = j.groups * j.channels, panels = ceil_div(j.rows, p.height);
  auto copy = [&](char* to, int64_t n0, int64_t from, int64_t last) {
    for (int64_t c = from; c < last; ++c)
      p.image.fill(p.k, static_cast<const char*>(j.x) + (n0 * channels + c) * plane * 4, to + c * p.image.channel * 4);
  };
  auto serial = [&](const Block& b) {
    int64_t odd = 0;
    for (int64_t c = 0; c < j.channels; ++c) b.in(c);
    for (int64_t xi = 0; xi < kProducts; ++xi) b.multiply(xi, 0, panels);
    for (int64_t row = 0; row < j.rows; ++row) b.out(row, &odd);
    if (odd) wrong.store(1, std::memory_order_relaxed);
  };

  if (j.batch >= 2 * threads || threads == 1) {
    int64_t chunk = std::clamp<int64_t>(kChunkBytes / std::max<int64_t>(image_bytes, 1), 1, threads == 1 ? j.batch : ceil_div(j.batch, 2 * threads));
    const int64_t chunks = ceil_div(j.batch, chunk);
    parallel_for(chunks, threads == 1 ? chunks : ceil_div(chunks, 4 * threads), [&](int64_t from, int64_t to) {
      Buffer images(size_t(chunk * image_bytes) + slack), v(v_bytes), m(m_bytes);
      std::memset(images.data, 0, images.bytes);
      for (int64_t i = from; i < to; ++i) {
        const int64_t n0 = i * chunk, n1 = std::min(n0 + chunk, j.batch);
        copy(images.data, n0, 0, (n1 - n0) * channels);
        for (int64_t g = 0; g < j.groups; ++g)
          for (int64_t r = n0 * p.down; r < n1 * p.down; r += p.block_rows)
            serial({p, kernels, images.data, n0, g, r, std::min(r + p.block_rows, n1 * p.down),
                    reinterpret_cast<float*>(v.data), reinterpret_cast<float*>(m.data)});
      }
    });
    return wrong.load() == 0;
  }

  Buffer images(size_t(j.batch * image_bytes) + slack);
  std::memset(images.data + images.bytes - slack, 0, slack);
  const int64_t all = j.batch * channels, rows = j.batch * p.down, blocks = ceil_div(rows, p.block_rows);
  parallel_for(all, std::max<int64_t>(1, all / (4 * threads)), [&](int64_t from, int64_t to) {
    std::memset(images.data + from * p.image.channel * 4, 0, size_t((to - from) * p.image.channel) * 4);
    copy(images.data, 0, from, to);
  });
  if (j.groups * blocks >= 3 * threads) {
    parallel_for(j.groups * blocks, 1, [&](int64_t from, int64_t to) {
      Buffer v(v_bytes), m(m_bytes);
      for (int64_t i = from; i < to; ++i) {
        const int64_t r = i % blocks * p.block_rows;
        serial({p, kernels, images.data, 0, i / blocks, r, std::min(r + p.block_rows, rows),
                reinterpret_cast<float*>(v.data), reinterpret_cast<float*>(m.data)});
      }
    });
    return wrong.load() == 0;
  }
  // Few blocks: all threads work on each.
  Buffer v(v_bytes), m(m_bytes);
  for (int64_t i = 0; i < j.groups * blocks; ++i) {
    const int64_t r = i % blocks * p.block_rows;
    const Block b{p, kernels, images.data, 0, i / blocks, r, std::min(r + p.block_rows, rows),
                  reinterpret_cast<float*>(v.data), reinterpret_cast<float*>(m.data)};
    parallel_for(j.channels, std::max<int64_t>(1, j.channels / (4 * threads)), [&](int64_t from, int64_t to) {
      for (int64_t c = from; c < to; ++c) b.in(c);
    });
    parallel_for(kProducts, 1, [&](int64_t from, int64_t to) {
      for (int64_t xi = from; xi < to; ++xi) b.multiply(xi, 0, panels);
    });
    parallel_for(j.rows, std::max<int64_t>(1, j.rows / (4 * threads)), [&](int64_t from, int64_t to) {
      int64_t odd = 0;
      for (int64_t row = from; row < to; ++row) b.out(row, &odd);
      if (odd) wrong.store(1, std::memory_order_relaxed);
    });
  }
  return wrong.load() == 0;
}

}  // namespace thixo
