#include "conv_sweep.h"

#include <cmath>
#include <cstring>

#include "thread_pool.h"

namespace thixo {

namespace {

constexpr double kParallelWork = 1e6;
constexpr int64_t kNearestBytes = 32 << 10;   // of B for one pass
constexpr int64_t kSecondBytes = 512 << 10;   // weights of more than this are used for several tiles at a time
constexpr int64_t kChunkBytes = 1 << 20;      // images that one thread copies at a time
constexpr int64_t kSumBytes = 1 << 20;        // of the sums of those tiles
constexpr int64_t kMostSegments = 4 * 16 + 8;

// Cycles for one k of a tile: products, at least four cycles between two additions to the same sums, loads.
double tile_cycles(int64_t rows, int64_t vectors) {
  return std::max({0.5 * double(rows * vectors), 4.0, 0.5 * double(rows + 2 * vectors + 2)});
}

// Positions that the windows of one slice span: rows of the image from end to end.
int64_t span(const SweepPhase& p) { return (p.grid[1] - 1) * p.pitch + p.grid[2]; }

int64_t places(const SweepPhase& p) { return p.grid[0] * p.grid[1] * p.grid[2]; }

// Whether panels cost less than what is thrown away without them.
bool is_dense(const Sweep& s, const SweepPhase& p) {
  if (s.y_strides[2] != 1 || (p.grid[1] > 1 && s.y_strides[1] != p.grid[2]) ||
      (p.grid[0] > 1 && s.y_strides[0] != p.grid[1] * p.grid[2]) || p.table.empty())
    return false;
  const double lanes = double(s.kernels->lanes);
  const double flat = double(s.batch * p.grid[0] * ceil_div(span(p), s.kernels->lanes));
  const double packed = std::ceil(double(s.batch * places(p)) / lanes);
  const double copies = 2.5 * (1.0 + 2.0 * lanes / double(p.grid[2])) / (1.1 * double(s.rows));
  return flat > packed * (1.02 + copies);
}

void choose_tile(const Sweep& s, SweepPhase& p) {
  const ConvKernels& k = *s.kernels;
  p.dense = is_dense(s, p);
  const int64_t all = ceil_div(p.dense ? s.batch * places(p) : span(p), k.lanes);
  double best = 0;
  for (int64_t v = 1; v <= std::min(kMostVectors, all); ++v) {
    const int64_t panels = ceil_div(s.rows, k.most_rows[v - 1]), height = ceil_div(s.rows, panels);
    const int64_t rest = all % v;
    const double overhead = 40.0 + 4.0 * double(height * v);
    const double one = double(p.table.size()) * tile_cycles(height, v) + overhead;
    double cost = double(all / v) * double(panels) * one;
    if (rest) cost += double(panels) * (double(p.table.size()) * tile_cycles(height, rest) + overhead);
    if (v == 1 || cost < best * 0.98) {
      best = cost;
      p.vectors = v;
      p.height = height;
    }
  }
  p.tiles = ceil_div(all, p.vectors);
  const int64_t most = std::max<int64_t>(kNearestBytes / (p.vectors * k.lanes * item_size(k.compute)), 16);
  const int64_t passes = std::max<int64_t>(1, ceil_div(int64_t(p.table.size()), most));
  p.pass = std::max<int64_t>(1, ceil_div(int64_t(p.table.size()), passes));
  if (!p.dense) return;
  p.packed = p.table;
  for (size_t i = 0; i < p.packed.size(); ++i)
    p.packed[i].b = int64_t(i) % p.pass * p.vectors * k.lanes * item_size(k.compute);
}

// Where the sums of the positions [q, q + count) go: the rest of them belongs to no window.
int64_t segments_of(const Sweep& s, const SweepPhase& p, int64_t q, int64_t count, Segment* out) {
  const int64_t wide = p.pitch;
  int64_t pieces = 0;
  for (int64_t h = q / wide; h < p.grid[1] && h * wide < q + count; ++h) {
    const int64_t from = std::max<int64_t>(q - h * wide, 0), to = std::min(p.grid[2], q + count - h * wide);
    if (from < to) out[pieces++] = {h * wide + from - q, h * s.y_strides[1] + from * s.y_strides[2], to - from};
  }
  return pieces;
}

// Results [first, last) of one phase and group, counted over images, slices and tiles; panels [top, bottom) of rows.
// `images` begins with image `n0`.
void run(const Sweep& s, const SweepPhase& p, const char* images, int64_t n0, int64_t group, int64_t first, int64_t last,
         int64_t top, int64_t bottom) {
  const ConvKernels& k = *s.kernels;
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source);
  const int64_t per_slice = p.tiles, per_image = p.grid[0] * per_slice, depth = int64_t(p.table.size());
  const int64_t slice = s.image.axes[1].extent * s.image.axes[2].extent, all = ceil_div(span(p), k.lanes);
  const int64_t row0 = top * p.height, rows = std::min(bottom * p.height, s.rows) - row0;
  const int64_t ld = p.vectors * k.lanes, own = rows * ld;
  const bool heavy = s.rows * depth * wide > kSecondBytes;
  const int64_t together = std::clamp<int64_t>(heavy ? kSumBytes / (own * wide) : 1, 1, last - first);
  Buffer sums(size_t(together * own * wide));
  if (rehearsing()) return;
  const char* a = s.a + (group * s.a_group + row0 * s.a_row) * wide;

  for (int64_t u0 = first; u0 < last; u0 += together) {
    const int64_t u1 = std::min(u0 + together, last);
    for (int64_t at = 0; at == 0 || at < depth; at += p.pass)
      for (int64_t u = u0; u < u1; ++u) {
        const int64_t n = u / per_image, rest = u % per_image, d = rest / per_slice, t = rest % per_slice;
        const int64_t vectors = std::min(p.vectors, all - t * p.vectors);
        const char* b = images + (((n - n0) * s.groups + group) * s.image.elements() + p.b_start + d * slice + t * ld) * wide;
        char* c = sums.data + (u - u0) * own * wide;
        for (int64_t row = 0; row < rows; row += p.height)
          k.tile(std::min(p.pass, depth - at), a + row * s.a_row * wide, s.a_row, b, p.table.data() + at,
                 c + row * ld * wide, ld, std::min(p.height, rows - row), vectors, at > 0);
      }
    for (int64_t u = u0; u < u1; ++u) {
      const int64_t n = u / per_image, rest = u % per_image, d = rest / per_slice, t = rest % per_slice;
      Segment segments[kMostSegments];
      const int64_t pieces = segments_of(s, p, t * ld, std::min(ld, span(p) - t * ld), segments);
      char* y = s.y + (n * s.y_image + (group * s.rows + row0) * s.y_row + p.y_start + d * s.y_strides[0]) * narrow;
      const char* bias = s.bias ? s.bias + (group * s.rows + row0) * narrow : nullptr;
      k.store(sums.data + (u - u0) * own * wide, ld, y, s.y_row, s.y_strides[2], rows, bias, segments, pieces);
    }
  }
}

// The same from panels: results [first, last) of `count` images, in vectors of windows side by side.
void run_dense(const Sweep& s, const SweepPhase& p, const char* images, int64_t n0, int64_t count, int64_t group, int64_t first,
               int64_t last, int64_t top, int64_t bottom) {
  const ConvKernels& k = *s.kernels;
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source), depth = int64_t(p.table.size());
  const int64_t each = places(p), columns = count * each, ld = p.vectors * k.lanes;
  const int64_t slice = s.image.axes[1].extent * s.image.axes[2].extent;
  const int64_t row0 = top * p.height, rows = std::min(bottom * p.height, s.rows) - row0, own = rows * ld;
  const bool heavy = s.rows * depth * wide > kSecondBytes;
  const int64_t together = std::clamp<int64_t>(heavy ? kSumBytes / (own * wide) : 1, 1, last - first);
  Buffer sums(size_t(together * own * wide)), panel(size_t((p.pass * ld + 2 * k.lanes) * wide));
  if (rehearsing()) return;
  const char* a = s.a + (group * s.a_group + row0 * s.a_row) * wide;
  const char* b = images + (group * s.image.elements() + p.b_start) * wide;
  std::vector<Segment> runs;
  std::vector<Piece> pieces;
  for (int64_t u0 = first; u0 < last; u0 += together) {
    const int64_t u1 = std::min(u0 + together, last);
    for (int64_t at = 0; at < depth; at += p.pass)
      for (int64_t u = u0; u < u1; ++u) {
        const int64_t end = std::min(columns, (u + 1) * ld), vectors = ceil_div(end - u * ld, k.lanes);
        pieces.clear();
        for (int64_t q = u * ld; q < end;) {
          const int64_t n = q / each, place = q % each, w = place % p.grid[2], h = place / p.grid[2] % p.grid[1],
                        d = place / (p.grid[2] * p.grid[1]), run = std::min({end - q, p.grid[2] - w, k.lanes});
          pieces.push_back({n * s.groups * s.image.elements() + d * slice + h * p.pitch + w, q - u * ld});
          q += run;
        }
        const int64_t now = std::min(p.pass, depth - at);
        k.gather(b, p.table.data() + at, now, pieces.data(), int64_t(pieces.size()), panel.data, ld);
        char* c = sums.data + (u - u0) * own * wide;
        for (int64_t row = 0; row < rows; row += p.height)
          k.tile(now, a + row * s.a_row * wide, s.a_row, panel.data, p.packed.data() + at, c + row * ld * wide, ld,
                 std::min(p.height, rows - row), vectors, at > 0);
      }
    for (int64_t u = u0; u < u1; ++u) {
      const int64_t end = std::min(columns, (u + 1) * ld);
      runs.clear();
      for (int64_t q = u * ld; q < end;) {
        const int64_t n = q / each, run = std::min(end - q, each - q % each);
        runs.push_back({q - u * ld, (n0 + n) * s.y_image + q % each, run});
        q += run;
      }
      char* y = s.y + ((group * s.rows + row0) * s.y_row + p.y_start) * narrow;
      const char* bias = s.bias ? s.bias + (group * s.rows + row0) * narrow : nullptr;
      k.store(sums.data + (u - u0) * own * wide, ld, y, s.y_row, 1, rows, bias, runs.data(), int64_t(runs.size()));
    }
  }
}

template <class Bits>
void copy_taps(const SweepPhase& p, const char* a, char* to) {
  for (size_t t = 0; t < p.table.size(); ++t) std::memcpy(to + t * sizeof(Bits), a + p.table[t].a, sizeof(Bits));
}

// One row of A: each result is a weighted sum of shifted rows of the image, which needs no tile.
void by_planes(const Sweep& s, bool parallel) {
  const ConvKernels& k = *s.kernels;
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source);
  const PaddedImage::Axis* x = s.image.axes;
  const int64_t from_plane = x[0].size * x[1].size * x[2].size * narrow, slice = x[1].extent * x[2].extent;
  const int64_t all = s.batch * s.groups;
  std::vector<std::vector<int64_t>> shifts;
  int64_t longest = 0, most = 1;
  for (const SweepPhase& p : s.phases) {
    shifts.emplace_back();
    for (const Offsets& o : p.table) shifts.back().push_back(o.b / wide);
    longest = std::max(longest, p.grid[1] * p.grid[2]);
    most = std::max(most, int64_t(p.table.size()));
  }
  const bool straight = k.source == k.compute && s.y_strides[2] == 1;
  parallel_for(all, parallel ? std::max<int64_t>(1, all / (8 * get_num_threads())) : all, [&](int64_t from, int64_t to) {
    const int64_t elements = s.image.elements();
    Buffer image(size_t((elements + (kMostVectors + 1) * k.lanes) * wide)), weights(size_t(most * wide));
    Buffer results(straight ? 0 : size_t(longest * wide));
    if (rehearsing()) return;
    std::vector<Segment> pieces;
    std::memset(image.data, 0, image.bytes);
    for (int64_t i = from; i < to; ++i) {
      const int64_t n = i / s.groups, g = i % s.groups;
      for (int64_t c = 0; c < s.image.channels; ++c)
        s.image.fill(k, s.source + (i * s.image.channels + c) * from_plane, image.data + c * s.image.channel * wide);
      const char* a = s.a + g * s.a_group * wide;
      for (size_t f = 0; f < s.phases.size(); ++f) {
        const SweepPhase& p = s.phases[f];
        if (wide == 4) copy_taps<uint32_t>(p, a, weights.data);
        else copy_taps<uint64_t>(p, a, weights.data);
        const char* bias = s.bias ? s.bias + g * narrow : nullptr;
        for (int64_t d = 0; d < p.grid[0]; ++d) {
          const char* b = image.data + (p.b_start + d * slice) * wide;
          char* y = s.y + (n * s.y_image + g * s.y_row + p.y_start + d * s.y_strides[0]) * narrow;
          if (straight) {
            k.plane(b, p.pitch, shifts[f].data(), weights.data, int64_t(p.table.size()), y, s.y_strides[1], p.grid[1], p.grid[2], bias);
            continue;
          }
          k.plane(b, p.pitch, shifts[f].data(), weights.data, int64_t(p.table.size()), results.data, p.grid[2], p.grid[1], p.grid[2], nullptr);
          pieces.clear();
          for (int64_t h = 0; h < p.grid[1]; ++h) pieces.push_back({h * p.grid[2], h * s.y_strides[1], p.grid[2]});
          k.store(results.data, 0, y, 0, s.y_strides[2], 1, bias, pieces.data(), int64_t(pieces.size()));
        }
      }
    }
  });
}

// A copy of images n0 to n1, all groups.
void copy_channels(const Sweep& s, int64_t n0, char* to, int64_t first, int64_t last) {
  if (rehearsing()) return;
  const ConvKernels& k = *s.kernels;
  const PaddedImage::Axis* x = s.image.axes;
  const int64_t plane = x[0].size * x[1].size * x[2].size * item_size(k.source), copied = s.image.channel * item_size(k.compute);
  for (int64_t c = first; c < last; ++c)
    s.image.fill(k, s.source + (n0 * s.groups * s.image.channels + c) * plane, to + c * copied);
}

}  // namespace

void sweep(Sweep& s) {
  const ConvKernels& k = *s.kernels;
  if (s.batch == 0 || s.rows == 0 || s.groups == 0) return;
  const bool parallel = s.work >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  if (s.rows == 1) return by_planes(s, parallel);
  for (SweepPhase& p : s.phases) choose_tile(s, p);
  const int64_t wide = item_size(k.compute);
  const int64_t image_bytes = s.groups * s.image.elements() * wide;
  const size_t slack = size_t((kMostVectors * k.lanes + k.lanes) * wide);  // tiles read whole vectors
  const int64_t threads = parallel ? get_num_threads() : 1;
  const int64_t channels = s.groups * s.image.channels;

  // Heavy weights are read once if all images meet them together: then threads share out rows.
  const int64_t weight_bytes = s.rows * (s.phases.empty() ? 0 : int64_t(s.phases[0].table.size())) * wide;
  const bool heavy = weight_bytes > 2 * kSecondBytes && s.batch * image_bytes < 8 * kChunkBytes;

  if (!heavy && (s.batch >= 2 * threads || threads == 1)) {
    // Each thread copies a few images and is done with them while they are near.
    int64_t chunk = std::clamp<int64_t>(kChunkBytes / std::max<int64_t>(image_bytes, 1), 1, ceil_div(s.batch, 2 * threads));
    if (threads == 1) chunk = std::clamp<int64_t>(kChunkBytes / std::max<int64_t>(image_bytes, 1), 1, s.batch);
    const int64_t chunks = ceil_div(s.batch, chunk), each = ceil_div(chunks, 4 * threads);
    parallel_for(chunks, threads == 1 ? chunks : each, [&](int64_t from, int64_t to) {
      Buffer images(size_t(chunk * image_bytes) + slack);
      if (!rehearsing()) std::memset(images.data, 0, images.bytes);
      for (int64_t i = from; i < to; ++i) {
        const int64_t n0 = i * chunk, n1 = std::min(n0 + chunk, s.batch);
        copy_channels(s, n0, images.data, 0, (n1 - n0) * channels);
        for (const SweepPhase& p : s.phases)
          for (int64_t g = 0; g < s.groups; ++g)
            if (p.dense)
              run_dense(s, p, images.data, n0, n1 - n0, g, 0, ceil_div((n1 - n0) * places(p), p.vectors * k.lanes), 0, ceil_div(s.rows, p.height));
            else
              run(s, p, images.data, n0, g, n0 * p.grid[0] * p.tiles, n1 * p.grid[0] * p.tiles, 0, ceil_div(s.rows, p.height));
      }
    });
    return;
  }

  Buffer images(size_t(s.batch * image_bytes) + slack);
  const int64_t all = s.batch * channels, grain = std::max<int64_t>(1, all / (4 * threads));
  if (!rehearsing()) std::memset(images.data + images.bytes - slack, 0, slack);
  parallel_for(all, grain, [&](int64_t from, int64_t to) {
    if (rehearsing()) return;
    const int64_t bytes = s.image.channel * wide;
    std::memset(images.data + from * bytes, 0, size_t((to - from) * bytes));
    copy_channels(s, 0, images.data, from, to);
  });
  // Tasks: a part of the results of one phase and group, and where these are few, of the rows.
  struct Task {
    const SweepPhase* phase;
    int64_t group, first, last, top, bottom;
  };
  std::vector<Task> tasks;
  const int64_t wanted = threads == 1 ? 1 : 6 * threads;
  for (const SweepPhase& p : s.phases) {
    const int64_t units = p.dense ? ceil_div(s.batch * places(p), p.vectors * k.lanes) : s.batch * p.grid[0] * p.tiles;
    const int64_t panels = ceil_div(s.rows, p.height);
    const int64_t each = std::max<int64_t>(1, ceil_div(wanted, s.groups));
    int64_t parts = std::min(units, each), row_parts = std::min(panels, std::max<int64_t>(1, each / parts));
    if (heavy) {
      row_parts = std::min(panels, each);
      parts = std::min(units, std::max<int64_t>(1, each / row_parts));
    }
    for (int64_t g = 0; g < s.groups; ++g)
      for (int64_t r = 0; r < row_parts; ++r)
        for (int64_t i = 0; i < parts; ++i)
          tasks.push_back({&p, g, units * i / parts, units * (i + 1) / parts, panels * r / row_parts, panels * (r + 1) / row_parts});
  }
  const int64_t count = int64_t(tasks.size());
  parallel_for(count, std::max<int64_t>(1, count / (8 * threads)), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const Task& t = tasks[size_t(i)];
      if (t.phase->dense) run_dense(s, *t.phase, images.data, 0, s.batch, t.group, t.first, t.last, t.top, t.bottom);
      else run(s, *t.phase, images.data, 0, t.group, t.first, t.last, t.top, t.bottom);
    }
  });
}

}  // namespace thixo
