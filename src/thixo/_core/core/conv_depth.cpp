#include "conv_depth.h"

#include <cstring>

#include "thread_pool.h"

namespace thixo {

namespace {

constexpr double kParallelWork = 1e6;
constexpr int64_t kRoomBytes = 768 << 10;  // of an image of one vector of channels and its results: they stay near

}  // namespace

bool depth_fits(const Convolution& c) {
  const ConvKernels& k = conv_kernels(c.dtype);
  int64_t padded = 1;
  for (int i = 0; i < 3; ++i) {
    padded *= c.in[i] + 2 * c.padding[i];
    if (padded > kRoomBytes) return false;
  }
  return (padded + c.out_size()) * k.lanes * item_size(k.compute) <= kRoomBytes;
}

bool depth_pays(const PlacesJob& p) {
  const int64_t lanes = p.kernels->lanes;
  // Cycles: by planes for each channel, and here for a vector of them.
  double planes = 0, here = 0;
  for (const PlacePhase& f : p.phases) {
    const int64_t rows = f.count[0] * f.count[1], width = f.count[2], vectors = ceil_div(width, lanes);
    // Short rows are computed four or eight at a time, and most vectors lie across two lines of the cache.
    const int64_t together = vectors > 2 ? (rows >= 4 ? 4 : 1) : rows >= 8 ? 8 : rows >= 4 ? 4 : 1;
    const double taps = double(f.taps.size()), sums = double(round_up(rows, together) * vectors);
    planes += 60.0 + sums * taps * 1.0 + (p.phases.size() > 1 ? double(rows) * (10.0 + 2.0 * double(width)) : 0.0);
    const int64_t height = even_height(width, kMostPlaces);
    here += double(rows * ceil_div(width, height)) * (taps * std::max(4.0, 0.55 * double(height)) + 15.0);
  }
  const int64_t in_rows = p.image.size[0] * p.image.size[1];
  planes += 60.0 + double(in_rows) * (6.0 + 2.0 * double(ceil_div(p.image.size[2], lanes)));
  here += 100.0 + 6.0 * double(p.image.plane() + p.out[0] * p.out[1] * p.out[2]);
  return double(ceil_div(p.groups, lanes)) * here < double(p.groups) * planes;
}

void run_depth(const PlacesJob& p) {
  if (p.batch == 0 || p.groups == 0) return;
  const ConvKernels& k = *p.kernels;
  const PlaceImage& x = p.image;
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source), lanes = k.lanes;
  const int64_t blocks = ceil_div(p.groups, lanes), out_size = p.out[0] * p.out[1] * p.out[2];
  Buffer weights(size_t(blocks * p.taps * lanes * wide));  // [blocks][taps][lanes]
  for (int64_t b = 0; b < blocks && !rehearsing(); ++b)
    k.turn(p.weight + b * lanes * p.taps * narrow, p.taps, weights.data + b * p.taps * lanes * wide, lanes, p.taps, std::min(lanes, p.groups - b * lanes));
  std::vector<std::vector<Offsets>> tables;
  for (const PlacePhase& f : p.phases) {
    tables.emplace_back();
    for (const PlacePhase::Tap& t : f.taps)
      tables.back().push_back({(t.at[0] * x.slice(0) + t.at[1] * x.slice(1) + t.at[2] * x.slice(2)) * wide, t.tap * lanes * wide});
  }
  std::vector<int64_t> collected;
  for (int64_t i = 0; i < out_size; ++i) collected.push_back(i * lanes);
  const bool parallel = p.work >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  const int64_t all = p.batch * blocks;
  parallel_for(all, parallel ? std::max<int64_t>(1, all / (8 * get_num_threads())) : all, [&](int64_t from, int64_t to) {
    Buffer image(size_t((x.elements() + lanes) * wide)), sums(size_t(out_size * lanes * wide));
    if (rehearsing()) return;
    std::memset(image.data, 0, image.bytes);
    for (int64_t i = from; i < to; ++i) {
      const int64_t first = i % blocks * lanes, count = std::min(lanes, p.groups - first), channel = i / blocks * p.groups + first;
      x.fill_some(k, p.source + channel * x.plane() * narrow, count, 0, x.extent[x.cut], image.data);
      for (size_t n = 0; n < p.phases.size(); ++n) {
        const PlacePhase& f = p.phases[n];
        const int64_t height = even_height(f.count[2], kMostPlaces);
        for (int64_t d = 0; d < f.count[0]; ++d)
          for (int64_t h = 0; h < f.count[1]; ++h)
            for (int64_t w = 0; w < f.count[2]; w += height) {
              const int64_t at = d * f.reach[0] * x.slice(0) + h * f.reach[1] * x.slice(1) + w * f.reach[2] * lanes;
              const int64_t result = ((f.start[0] + d * f.step[0]) * p.out[1] + f.start[1] + h * f.step[1]) * p.out[2] + f.start[2] + w * f.step[2];
              k.depth(int64_t(tables[n].size()), image.data + at * wide, f.reach[2] * lanes, weights.data + i % blocks * p.taps * lanes * wide,
                      tables[n].data(), sums.data + result * lanes * wide, f.step[2] * lanes, std::min(height, f.count[2] - w));
            }
      }
      k.collect(sums.data, collected.data(), p.y + channel * out_size * narrow, out_size, out_size, count, p.bias ? p.bias + first * narrow : nullptr);
    }
  });
}

}  // namespace thixo
