// The gradient of the weight: sums over places and images of input times output.
//
// w[o][c][t] = sum over p of x[c][p at tap t] * y[o][p]. Here p is what the tile sums over, channels of x are its rows,
// found through a table of the places, and y is turned so that its channels are vectors. In a copy of x that has its
// channels side by side, neighbouring taps are more rows of the same kind. With few channels, dot products along the
// places are better.
#include <cstring>

#include "conv.h"
#include "conv_image.h"
#include "conv_places.h"
#include "conv_products.h"
#include "conv_winograd.h"
#include "gemm_job.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr double kParallelWork = 1e6;
constexpr int64_t kPlaces = 144;              // in one pass: their part of y stays in the nearest cache
constexpr int64_t kPlacesOfOne = 288;         // of a tile of one vector
constexpr int64_t kChunkBytes = 1 << 20;      // of images and turned results that are used together
constexpr int64_t kPartBytes = 256 << 10;     // sums of at most this size are kept for each part of the batch
constexpr int64_t kAllBytes = 8 << 20;        // all images of at most this size are copied before a product begins
constexpr int64_t kNearImages = 768 << 10;    // copies of images that stay near while results are written
constexpr int64_t kMostParts = 16;            // the same for any number of threads: sums do not depend on it

double tile_cycles(int64_t rows, int64_t vectors) {
  return std::max({0.5 * double(rows * vectors), 4.0, 0.5 * double(rows + vectors + 2)});
}

struct WeightJob {
  const Convolution& c;
  const ConvKernels& k;
  const char* x;
  const char* y;
  int64_t wide = 4, narrow = 4;
  PlaceImage image;                // one group's channels
  bool copies = true;              // else x is read from where it is
  bool turns = true;               // y is copied with its channels side by side; else they lie so, in whole vectors
  bool joins = false;              // taps along the last axis are neighbours as channels are: one set of rows
  int64_t sets = 1, members = 1;   // sets of rows, each with a place of its own in the image; rows of each
  int64_t a_row = 1, a_image = 0;  // from row to row; from unit to unit of a chunk
  int64_t strips = 1, strip = 1;   // units of an image: all of it, or so many positions of its first axis
  int64_t group = 0;               // elements of one group's channels in a unit
  int64_t vectors = 1, ld = 16, panels = 1, height = 1, padded = 16;  // of the tile; channels of y, whole panels
  std::vector<int64_t> shifts;     // of each set
  int64_t sums = 0;                // elements of one set of sums: [groups][taps][inner][padded]
  double tile_cost = 0;            // cycles for each place of an image

  WeightJob(const Convolution& conv, const ConvKernels& kernels, const void* from_x, const void* from_y)
      : c(conv), k(kernels), x(static_cast<const char*>(from_x)), y(static_cast<const char*>(from_y)) {
    wide = item_size(k.compute);
    narrow = item_size(k.source);
    copies = k.source != k.compute || c.taps() > 1 || c.padding[0] + c.padding[1] + c.padding[2] > 0;
    turns = !(c.y_last && k.source == k.compute && c.outer % k.lanes == 0);
    joins = copies && c.dilation[2] == 1 && c.kernel[2] > 1 && c.inner < 64;
    members = joins ? c.kernel[2] * c.inner : c.inner;
    sets = joins ? c.kernel[0] * c.kernel[1] : c.taps();
    const int64_t all = ceil_div(c.outer, k.lanes);
    for (int64_t v = 1; v <= std::min(kMostVectors, all); ++v) {
      const int64_t row_panels = ceil_div(members, k.most_rows[v - 1]), tall = ceil_div(members, row_panels);
      const double cost = double(ceil_div(all, v)) * double(row_panels) * (tile_cycles(tall, v) + 0.01 * double(tall * v));
      if (v > 1 && cost >= tile_cost * 0.98) continue;
      tile_cost = cost;
      vectors = v;
      height = tall;
    }
    tile_cost *= double(sets);
    ld = vectors * k.lanes;
    panels = ceil_div(all, vectors);
    padded = panels * ld;
    sums = c.groups * c.inner * c.taps() * padded;
  }

  // For tiles: channels side by side, or x as it is.
  void lay_out() {
    int64_t extent[3];
    for (int i = 0; i < 3; ++i) extent[i] = (c.out[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1;
    if (!copies) {
      a_row = c.x_last ? 1 : c.in_size();
      a_image = channels() * c.in_size();
      shifts.push_back(0);
      strip = c.out[image.cut];
      return;
    }
    image.lay_out(c.inner, c.in, c.padding, extent, joins);
    if (c.x_last) image.last = channels();
    // A large image goes by strips that stay near, where their sums are few.
    const int64_t bytes = (c.groups * image.elements() + c.groups * padded * c.out_size()) * wide, all = c.out[image.cut];
    if (sums * wide <= kPartBytes) strips = std::min(all, ceil_div(bytes, kChunkBytes));
    strip = ceil_div(all, strips);
    strips = ceil_div(all, strip);
    group = strips == 1 ? image.elements() : reach(strip) * image.slice(image.cut);
    a_image = c.groups * group;
    for (int64_t d = 0; d < c.kernel[0]; ++d)
      for (int64_t h = 0; h < c.kernel[1]; ++h)
        for (int64_t w = 0; w < (joins ? 1 : c.kernel[2]); ++w)
          shifts.push_back(d * c.dilation[0] * image.slice(0) + h * c.dilation[1] * image.slice(1) + w * c.dilation[2] * image.slice(2));
  }

  int64_t channels() const { return c.groups * c.inner; }
  // Positions of the image that so many of the results meet.
  int64_t reach(int64_t rows) const {
    const int cut = image.cut;
    return (rows - 1) * c.stride[cut] + (c.kernel[cut] - 1) * c.dilation[cut] + 1;
  }
  int64_t slice() const { return c.out_size() / c.out[image.cut]; }  // results of one position
  int64_t unit_places() const { return strip * slice(); }
  // Those of the units [first, first + count): only the last strip of an image may have fewer.
  int64_t places(int64_t first, int64_t count) const {
    return strips == 1 ? count * c.out_size() : (std::min((first % strips + 1) * strip, c.out[image.cut]) - first % strips * strip) * slice();
  }
  int64_t most_places() const { return vectors == 1 ? kPlacesOfOne : kPlaces; }
  int64_t turned_elements() const { return turns ? c.groups * padded * unit_places() : 0; }
  // The first place of a unit among those of all images.
  int64_t start(int64_t unit) const { return unit / strips * c.out_size() + unit % strips * unit_places(); }
};

// ---- by tiles

// Where the places of a chunk of units are, the same for all chunks.
struct ChunkPlaces {
  int64_t units;
  std::vector<Offsets> table;    // places of all images, one after the other
  std::vector<int64_t> columns;  // of y, turned

  ChunkPlaces(const WeightJob& j, int64_t count) : units(count) {
    const Convolution& c = j.c;
    const int64_t own = c.x_last ? j.channels() : 1, place = j.turns ? j.ld : c.groups * c.outer;
    const int64_t w0 = j.copies ? j.image.slice(2) : own, h0 = j.copies ? j.image.slice(1) : c.in[2] * own, d0 = j.copies ? j.image.slice(0) : c.in[1] * c.in[2] * own;
    int64_t out[3] = {c.out[0], c.out[1], c.out[2]};
    out[j.image.cut] = j.strip;
    table.reserve(size_t(count * j.unit_places()));
    for (int64_t n = 0, p = 0; n < count; ++n)
      for (int64_t d = 0; d < out[0]; ++d)
        for (int64_t h = 0; h < out[1]; ++h)
          for (int64_t w = 0; w < out[2]; ++w)
            table.push_back({(n * j.a_image + d * c.stride[0] * d0 + h * c.stride[1] * h0 + w * c.stride[2] * w0) * j.wide, p++ * place * j.wide});
    for (int64_t p = 0; p < j.unit_places(); ++p) columns.push_back(p * j.ld);
  }
};

// What one chunk of units is read from: several images, or one strip of an image.
struct Chunk {
  const WeightJob& j;
  int64_t most;  // units
  const std::vector<Offsets>& table;
  const std::vector<int64_t>& columns;
  Buffer images, turned;

  Chunk(const WeightJob& job, const ChunkPlaces& places)
      : j(job), most(places.units), table(places.table), columns(places.columns), images(job.copies ? size_t(most * job.a_image * job.wide) : 0),
        turned(size_t(most * job.turned_elements() * job.wide)) {
    if (rehearsing()) return;
    for (int64_t i = 0; i < most * j.c.groups && images.data && j.image.padded() && j.strips == 1; ++i)
      j.image.clear_around(j.k, images.data + i * j.group * j.wide);
    if (images.data && j.image.padded() && j.strips > 1) std::memset(images.data, 0, images.bytes);
    if (turned.data && j.c.outer % j.k.lanes) std::memset(turned.data, 0, turned.bytes);  // no odd numbers in what is left over
  }
  // Vectors of channels of x in one unit, and their copies: unit `n0 + n` of all is unit n of these.
  int64_t copies() const { return j.copies ? j.c.groups * j.image.blocks(j.k) : 0; }
  void copy(int64_t n0, int64_t n, int64_t i) {
    if (rehearsing()) return;
    const int64_t group = i / j.image.blocks(j.k), block = i % j.image.blocks(j.k), image = (n0 + n) / j.strips;
    const int64_t first = (n0 + n) % j.strips * j.strip * j.c.stride[j.image.cut];
    const int64_t low = j.strips == 1 ? 0 : first, high = j.strips == 1 ? j.image.extent[j.image.cut] : first + j.reach(j.strip);
    char* to = images.data + (n * j.a_image + group * j.group) * j.wide;
    if (j.strips > 1 && block == 0) j.image.clear(j.k, low, high, to);
    j.image.fill(j.k, j.x + j.image.origin(image, group, j.c.groups) * j.narrow, block, low, high, to);
  }
  int64_t turns() const { return j.turns ? j.c.groups * j.panels * j.vectors : 0; }
  // One vector of channels of y in unit n.
  void turn(int64_t n0, int64_t n, int64_t i) {
    if (rehearsing()) return;
    const Convolution& c = j.c;
    const int64_t group = i / (j.panels * j.vectors), vector = i % (j.panels * j.vectors), first = vector * j.k.lanes;
    if (first >= c.outer) return;
    const int64_t image = (n0 + n) / j.strips, start = (n0 + n) % j.strips * j.unit_places(), some = std::min(j.k.lanes, c.outer - first);
    char* to = panel(n0, group, vector / j.vectors) + (n * j.unit_places() * j.ld + vector % j.vectors * j.k.lanes) * j.wide;
    if (c.y_last) {
      const int64_t all = c.groups * c.outer;
      return j.k.rows(j.y + (j.start(n0 + n) * all + group * c.outer + first) * j.narrow, all, 1, to, j.ld, j.places(n0 + n, 1), some);
    }
    const char* from = j.y + (((image * c.groups + group) * c.outer + first) * c.out_size() + start) * j.narrow;
    j.k.spread(from, c.out_size(), to, columns.data(), j.places(n0 + n, 1), some);
  }
  // Channels of y, where unit n0 of all is the first of these.
  char* panel(int64_t n0, int64_t group, int64_t p) const {
    if (!j.turns) return const_cast<char*>(j.y) + (j.start(n0) * j.c.groups * j.c.outer + group * j.c.outer + p * j.ld) * j.wide;
    return turned.data + (group * j.panels + p) * most * j.unit_places() * j.ld * j.wide;
  }
  // Adds `count` units to the sums of panels [p0, p1), for members [m0, m1) of sets [s0, s1). Sums lie `row` elements
  // apart from member to member and `set` from set to set; `sums` is that of the first of these panels and members, of set 0.
  void add(int64_t n0, int64_t count, int64_t group, int64_t p0, int64_t p1, int64_t s0, int64_t s1, int64_t m0, int64_t m1,
           char* sums, int64_t row, int64_t set, bool fresh) {
    add(n0, count, group, p0, p1, s0, s1, m0, m1, sums, row, set, fresh, [] {});
  }
  // The same; `before` is called before each tile.
  template <class Before>
  void add(int64_t n0, int64_t count, int64_t group, int64_t p0, int64_t p1, int64_t s0, int64_t s1, int64_t m0, int64_t m1,
           char* sums, int64_t row, int64_t set, bool fresh, Before&& before) {
    if (rehearsing()) return;
    const Convolution& c = j.c;
    const int64_t all = j.places(n0, count), passes = ceil_div(all, j.most_places() * (j.copies ? 1 : 2)), pass = ceil_div(all, passes);
    const char* a = j.copies ? images.data + group * j.group * j.wide : j.x + (n0 * j.a_image + group * c.inner * j.a_row) * j.wide;  // of whole images
    for (int64_t at = 0; at < all; at += pass)
      for (int64_t p = p0; p < p1; ++p) {
        const int64_t vectors = std::min(j.vectors, ceil_div(c.outer, j.k.lanes) - p * j.vectors);
        for (int64_t s = s0; s < s1; ++s)
          for (int64_t m = m0; m < m1; m += j.height) {
            before();
            j.k.tile(std::min(pass, all - at), a + (j.shifts[size_t(s)] + m * j.a_row) * j.wide, j.a_row, panel(n0, group, p), table.data() + at,
                     sums + (s * set + (m - m0) * row + (p - p0) * j.ld) * j.wide, row,
                     std::min(j.height, m1 - m), vectors, !fresh || at > 0);
          }
      }
  }
};

// [groups][taps][inner][padded] becomes [groups * outer][inner][taps].
void turn_back(const WeightJob& j, const char* sums, void* w, bool parallel) {
  if (rehearsing()) return;
  const Convolution& c = j.c;
  const int64_t taps = c.taps(), row = c.inner * taps, vectors = ceil_div(c.outer, j.k.lanes);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < c.inner; ++i)
    for (int64_t t = 0; t < taps; ++t) places.push_back((t * c.inner + i) * j.padded);
  const int64_t all = c.groups * vectors;
  parallel_for(all, parallel && c.outer * row > 1 << 15 ? 1 : all, [&](int64_t from, int64_t last) {
    for (int64_t i = from; i < last; ++i) {
      const int64_t group = i / vectors, first = i % vectors * j.k.lanes;
      j.k.collect(sums + (group * row * j.padded + first) * j.wide, places.data(), static_cast<char*>(w) + (group * c.outer + first) * row * j.narrow,
                  row, row, std::min(j.k.lanes, c.outer - first), nullptr);
    }
  });
}

// Sums that lie as the weight does: [groups][rows][padded] without what was added to fill vectors.
void copy_back(const WeightJob& j, const char* sums, void* w) {
  if (rehearsing()) return;
  const Convolution& c = j.c;
  const Segment whole{0, 0, c.outer};
  j.k.store(sums, j.padded, w, c.outer, 1, c.groups * c.inner, nullptr, &whole, 1);
}

void add_up(const WeightJob& j, char* first, int64_t parts, int64_t count) {
  if (rehearsing()) return;
  if (j.wide == 8) add_parts(reinterpret_cast<double*>(first), parts, count, 0, count);
  else add_parts(reinterpret_cast<float*>(first), parts, count, 0, count);
}

// A heavy weight, all images together: each tile's sums of all taps are complete, and go to their places while they are
// near.
void at_once(WeightJob& j, void* w, bool parallel) {
  const Convolution& c = j.c;
  const int64_t taps = j.sets, row = c.inner * taps, row_panels = ceil_div(j.members, j.height), set = j.height * j.ld;
  const ChunkPlaces whole(j, c.batch);
  Chunk all(j, whole);
  auto share = [&](int64_t count, auto&& body) {
    parallel_for(count, parallel ? std::max<int64_t>(1, count / (8 * get_num_threads())) : count, body);
  };
  share(c.batch * all.copies(), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) all.copy(0, i / all.copies(), i % all.copies());
  });
  share(c.batch * all.turns(), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) all.turn(0, i / all.turns(), i % all.turns());
  });
  std::vector<int64_t> places;
  for (int64_t i = 0; i < j.height; ++i)
    for (int64_t t = 0; t < taps; ++t) places.push_back(t * set + i * j.ld);
  // Where the images stay near, a panel of y goes through them, and the results' rows are written from end to end; else the
  // part of them that one panel of rows reads goes through all of y.
  const bool near = c.batch * j.a_image * j.wide <= kNearImages;
  const int64_t tiles = taps * ceil_div(j.places(0, c.batch), j.most_places());
  share(c.groups * row_panels * j.panels, [&](int64_t from, int64_t to) {
    Buffer sums(size_t(taps * set * j.wide));
    if (rehearsing()) return;
    for (int64_t i = from; i < to; ++i) {
      const int64_t g = i / (row_panels * j.panels), rest = i % (row_panels * j.panels), panel = near ? rest / row_panels : rest % j.panels;
      const int64_t m0 = (near ? rest % row_panels : rest / j.panels) * j.height, m1 = std::min(m0 + j.height, j.members);
      char* result = static_cast<char*>(w) + ((g * c.outer + panel * j.ld) * row + m0 * taps) * j.narrow;
      // The lines of the results are asked for while they are computed.
      const int64_t lines = (m1 - m0) * taps * j.narrow / kLineBytes + 1, all_lines = lines * std::min(j.ld, c.outer - panel * j.ld), each = ceil_div(all_lines, tiles);
      int64_t line = 0;
      all.add(0, c.batch, g, panel, panel + 1, 0, taps, m0, m1, sums.data, j.ld, set, true, [&] {
        for (const int64_t end = std::min(all_lines, line + each); line < end; ++line)
          __builtin_prefetch(result + line / lines * row * j.narrow + line % lines * kLineBytes, 1, 2);
      });
      for (int64_t v = 0; v < j.vectors; ++v) {
        const int64_t first = panel * j.ld + v * j.k.lanes;
        if (first >= c.outer) break;
        j.k.collect(sums.data + v * j.k.lanes * j.wide, places.data(), result + v * j.k.lanes * row * j.narrow, row, (m1 - m0) * taps,
                    std::min(j.k.lanes, c.outer - first), nullptr);
      }
    }
  });
}

void by_tiles(WeightJob& j, void* w, bool parallel, bool exchanged) {
  const Convolution& c = j.c;
  j.lay_out();
  const int64_t bytes = ((j.copies ? j.a_image : 0) + j.turned_elements()) * j.wide;
  const int64_t units = c.batch * j.strips, parts = j.sums * j.wide <= kPartBytes ? std::min(units, kMostParts) : 1;
  if (parts == 1 && j.strips == 1 && !j.joins && !exchanged && c.batch * bytes <= kAllBytes) return at_once(j, w, parallel);
  const int64_t chunk = j.strips > 1 ? 1 : std::clamp<int64_t>(kChunkBytes / std::max<int64_t>(bytes, 1), 1, ceil_div(c.batch, parts)), set = j.members * j.padded;
  Buffer sums(size_t(parts * j.sums * j.wide));
  const ChunkPlaces chunk_places(j, chunk);
  if (parts > 1) {
    parallel_for(parts, parallel ? std::max<int64_t>(1, parts / (8 * get_num_threads())) : parts, [&](int64_t from, int64_t to) {
      Chunk now(j, chunk_places);
      if (rehearsing()) return;
      for (int64_t p = from; p < to; ++p) {
        const int64_t n0 = units * p / parts, n1 = units * (p + 1) / parts;
        for (int64_t n = n0; n < n1; n += chunk) {
          const int64_t count = std::min(chunk, n1 - n);
          for (int64_t m = 0; m < count; ++m) {
            for (int64_t i = 0; i < now.copies(); ++i) now.copy(n, m, i);
            for (int64_t i = 0; i < now.turns(); ++i) now.turn(n, m, i);
          }
          for (int64_t g = 0; g < c.groups; ++g)
            now.add(n, count, g, 0, j.panels, 0, j.sets, 0, j.members, sums.data + (p * j.sums + g * set * j.sets) * j.wide, j.padded, set, n == n0);
        }
      }
    });
    add_up(j, sums.data, parts, j.sums);
  } else {
    Chunk now(j, chunk_places);
    const int64_t row_panels = ceil_div(j.members, j.height);
    auto share = [&](int64_t count, auto&& body) {
      parallel_for(count, parallel ? std::max<int64_t>(1, count / (8 * get_num_threads())) : count, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) body(i);
      });
    };
    for (int64_t n = 0; n < units; n += chunk) {
      const int64_t count = std::min(chunk, units - n);
      share(count * now.copies(), [&](int64_t i) { now.copy(n, i / now.copies(), i % now.copies()); });
      share(count * now.turns(), [&](int64_t i) { now.turn(n, i / now.turns(), i % now.turns()); });
      // A panel of y with one panel of rows of all sets; where these are few, each set alone.
      const int64_t pairs = c.groups * j.panels * row_panels;
      const int64_t splits = parallel && pairs < 8 * get_num_threads() ? j.sets : 1;
      share(pairs * splits, [&](int64_t i) {
        const int64_t split = i % splits, pair = i / splits, g = pair / (j.panels * row_panels), rest = pair % (j.panels * row_panels);
        const int64_t m0 = rest % row_panels * j.height;
        const int64_t panel = rest / row_panels;
        now.add(n, count, g, panel, panel + 1, j.sets * split / splits, j.sets * (split + 1) / splits, m0, std::min(m0 + j.height, j.members),
                sums.data + (g * set * j.sets + m0 * j.padded + panel * j.ld) * j.wide, j.padded, set, n == 0);
      });
    }
  }
  if (exchanged) copy_back(j, sums.data, w);
  else turn_back(j, sums.data, w, parallel);
}

// ---- by dot products

void by_dots(WeightJob& j, void* w, bool parallel) {
  const Convolution& c = j.c;
  PaddedImage image;
  std::vector<int64_t> meets[3], shifts;
  for (int i = 0; i < 3; ++i)
    for (int64_t t = 0; t < c.kernel[i]; ++t) meets[i].push_back(t * c.dilation[i]);
  image.lay_out(c.inner, c.in, c.padding, c.stride, c.out, meets);
  for (int64_t p0 : meets[0])
    for (int64_t p1 : meets[1])
      for (int64_t p2 : meets[2]) shifts.push_back(image.offset(p0, p1, p2));
  const int64_t taps = c.taps(), own = c.outer * c.inner * taps, count = c.groups * own;
  const int64_t parts = std::min(c.batch, count * j.wide <= kPartBytes ? kMostParts : 1);
  const int64_t slice = image.axes[1].extent * image.axes[2].extent;
  const bool joined = image.axes[2].extent == c.out[2];
  const int64_t rows = joined ? 1 : c.out[1], length = joined ? c.out[1] * c.out[2] : c.out[2];
  const bool converts = j.k.source != j.k.compute;
  Buffer sums(size_t(parts * count * j.wide));
  if (!rehearsing()) std::memset(sums.data, 0, sums.bytes);
  const int64_t tasks = parts * c.groups;
  parallel_for(tasks, parallel ? std::max<int64_t>(1, tasks / (8 * get_num_threads())) : tasks, [&](int64_t from, int64_t to) {
    Buffer copied(size_t(image.elements() * j.wide)), values(converts ? size_t(c.outer * c.out_size() * j.wide) : 0);
    if (rehearsing()) return;
    std::memset(copied.data, 0, copied.bytes);
    for (int64_t t = from; t < to; ++t) {
      const int64_t part = t / c.groups, g = t % c.groups;
      char* out = sums.data + (part * count + g * own) * j.wide;
      for (int64_t n = c.batch * part / parts; n < c.batch * (part + 1) / parts; ++n) {
        for (int64_t i = 0; i < c.inner; ++i)
          image.fill(j.k, j.x + ((n * c.groups + g) * c.inner + i) * c.in_size() * j.narrow, copied.data + i * image.channel * j.wide);
        const char* y = j.y + (n * c.groups + g) * c.outer * c.out_size() * j.narrow;
        if (converts) {
          j.k.rows(y, 0, 1, values.data, 0, 1, c.outer * c.out_size());
          y = values.data;
        }
        for (int64_t o = 0; o < c.outer; ++o)
          for (int64_t i = 0; i < c.inner; ++i)
            for (int64_t d = 0; d < c.out[0]; ++d)
              for (int64_t tap = 0; tap < taps; tap += kMostTaps)
                j.k.dots(rows, length, y + (o * c.out_size() + d * c.out[1] * c.out[2]) * j.wide, c.out[2],
                         copied.data + (i * image.channel + d * slice) * j.wide, image.axes[2].extent,
                         shifts.data() + tap, std::min(kMostTaps, taps - tap), out + ((o * c.inner + i) * taps + tap) * j.wide);
      }
    }
  });
  add_up(j, sums.data, parts, count);
  if (rehearsing()) return;
  const Segment whole{0, 0, count};
  j.k.store(sums.data, count, w, count, 1, 1, nullptr, &whole, 1);
}

// ---- by products of matrices

// One tap that meets every place, and few channels on one side: y x' for each image, then their sum.
void by_products(const WeightJob& j, void* w) {
  const Convolution& c = j.c;
  const int64_t places = c.out_size(), count = c.groups * c.outer * c.inner;
  Buffer each(size_t(c.batch * count * j.wide));
  Product p;
  p.dtype = c.dtype;
  p.m = c.outer;
  p.n = c.inner;
  p.k = places;
  p.a = j.y;
  p.a_row = p.b_n = places;
  p.a_k = p.b_k = 1;
  p.b = j.x;
  p.c = each.data;
  p.c_row = c.inner;
  gemm_batch(p, Dims{c.batch, c.groups}, Dims{c.groups * c.outer * places, c.outer * places}, Dims{c.groups * c.inner * places, c.inner * places});
  add_up(j, each.data, c.batch, count);
  if (!rehearsing()) std::memcpy(w, each.data, size_t(count * j.wide));
}

}  // namespace

void convolve_weight(const Convolution& c, const void* x, const void* y, void* w) {
  if (c.groups * c.outer * c.inner * c.taps() == 0) return;
  if (c.batch == 0) {
    if (!rehearsing()) std::memset(w, 0, size_t(c.groups * c.outer * c.inner * c.taps() * item_size(c.dtype)));
    return;
  }
  const ConvKernels& k = conv_kernels(c.dtype);
  WeightJob j(c, k, x, y);
  const bool parallel = c.work() >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  bool plain = c.taps() == 1;
  for (int i = 0; i < 3; ++i) plain = plain && c.stride[i] == 1 && c.padding[i] == 0;
  const bool last = c.x_last || c.y_last;
  if (plain && !last && k.source == k.compute && std::min(c.inner, c.outer) <= k.lanes && std::max(c.inner, c.outer) > 1 && c.out_size() >= 4 * k.lanes)
    return by_products(j, w);
  // For each place: a product and an unaligned load for every vector of places.
  const double dots = 1.3 * double(c.inner * c.outer * c.taps()) / double(k.lanes);
  if (dots < j.tile_cost && !last) return by_dots(j, w, parallel);
  const ConvPlan plan = conv_plan();
  if (plan == ConvPlan::Chosen || plan == ConvPlan::Winograd) {
    const double cycles = winograd_weight_cycles(c), direct = 0.95 * j.tile_cost * double(c.batch * c.groups * c.out_size());
    if (cycles < (plan == ConvPlan::Winograd ? 1e299 : direct) && winograd_weight(c, x, y, w)) return;
  }
  if (!plain || c.inner >= c.outer) return by_tiles(j, w, parallel, false);
  // One tap that meets every place: either may be the one that is turned, so the smaller one is.
  Convolution other = c;
  std::swap(other.inner, other.outer);
  std::swap(other.x_last, other.y_last);
  WeightJob exchanged(other, k, y, x);
  by_tiles(exchanged, w, parallel, true);
}

}  // namespace thixo
