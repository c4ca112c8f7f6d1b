#include "conv_places.h"

#include <algorithm>
#include <cstring>

#include "conv_borders.h"
#include "conv_caches.h"
#include "conv_end.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr double kParallelWork = 1e6;
constexpr int64_t kImageBytes = 640 << 10;  // of images that are worked on together
constexpr int64_t kRepacked = 3;            // units for each of which a heavy weight is packed again: packed, it would be far away too
constexpr int64_t kHeavyBytes = 1400 << 10;  // of a weight that no near cache holds beside them
constexpr int64_t kSumBytes = 256 << 10;    // of their results
constexpr int64_t kSharedBytes = 8 << 20;   // images of at most this size are copied by all threads together

// Where the weight of a channel and tap lies in a panel: channels of one line of the cache side by side, tap by tap, since
// the lines of all places that they meet are read anyway.
int64_t packed_at(const PlacesJob& p, int64_t line, int64_t channel, int64_t tap) {
  const int64_t first = channel / line * line;
  return first * p.taps + tap * std::min(line, p.image.channels - first) + channel - first;
}

// A phase as the loops see it: which of its axes follow each other without a gap.
struct Run {
  const PlacePhase* phase;
  std::vector<Offsets> table;
  int64_t pass = 1;    // k in one pass
  bool joins = false;  // rows of results are one long row
  std::unique_ptr<Borders> borders;  // may be missing: all taps are added up everywhere
};

// A part of the work: images [n0, n1), results [from, to) along the axis that is cut.
struct Unit {
  int64_t n0, n1, from, to;
};

// Memory that is asked for in time, some of it before each tile: what the next panel is made of, where results go.
struct Ahead {
  const char* from = nullptr;
  int64_t piece = 1, stride = 0, lines = 0;  // pieces of so many lines of the cache; bytes from one to the next; lines of all
  int64_t many = INT64_MAX, far = 0;         // pieces in a row of them; bytes from one row to the next
  int64_t each = 0;                          // lines at a time
  int64_t line = 0, in_row = 0;              // the next one: of its piece, which is this one of its row
  const char *now = nullptr, *row = nullptr;

  void share_out(int64_t tiles) {
    each = ceil_div(lines, std::max<int64_t>(1, tiles));
    now = row = from;
  }
  void some() {
    const int64_t count = std::min(lines, each);
    lines -= count;
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(now + line * kLineBytes, 0, 2);
      if (++line < piece) continue;
      line = 0;
      now += stride;
      if (++in_row < many) continue;
      in_row = 0;
      now = row += far;
    }
  }
};

struct Plan {
  const PlacesJob& p;
  const ConvKernels& k;
  int64_t wide, narrow, ld, panels, depth;  // depth: k of all taps
  int64_t line;                             // channels in a line of the cache
  int cut;                                  // of the image
  int64_t out_slice = 1, out_size = 1;      // results from one position of the cut axis to the next; all
  int64_t strip = 1, images = 1;            // positions of the cut axis in a unit; images in it
  int64_t span = 1;                         // positions of the image that a strip meets
  std::vector<Run> runs;
  std::vector<int64_t> collected;           // places of the sums
  bool heavy = false;
  bool direct = false;                      // tiles are written to where results lie

  Plan(const PlacesJob& places, int64_t threads) : p(places), k(*places.kernels), cut(places.image.cut) {
    wide = item_size(k.compute);
    narrow = item_size(k.source);
    ld = p.vectors * k.lanes;
    line = kLineBytes / wide;
    panels = ceil_div(ceil_div(p.rows, k.lanes), p.vectors);
    depth = p.image.channels * p.taps;
    out_size = p.out[0] * p.out[1] * p.out[2];
    out_slice = out_size / p.out[cut];
    direct = p.last && k.source == k.compute && p.rows % k.lanes == 0;
    choose_strips(threads);
    runs.reserve(p.phases.size());  // their tables are read where they are
    for (const PlacePhase& phase : p.phases) add_run(phase);
    const int64_t most = images > 1 ? out_size : strip * out_slice;
    for (int64_t i = 0; i < most; ++i) collected.push_back(i * ld);
  }

  int64_t image_bytes() const { return p.image.elements() * wide; }
  bool strips() const { return strip < p.out[cut]; }

  // The positions of the image that results [from, to) meet.
  void meets(int64_t from, int64_t to, int64_t& low, int64_t& high) const {
    low = p.image.extent[cut];
    high = 0;
    for (const PlacePhase& f : p.phases) {
      const int64_t q0 = first_of(f, from), q1 = first_of(f, to);
      if (q0 >= q1) continue;
      for (const PlacePhase::Tap& t : f.taps) {
        low = std::min(low, q0 * f.reach[cut] + t.at[cut]);
        high = std::max(high, (q1 - 1) * f.reach[cut] + t.at[cut] + 1);
      }
    }
    if (low >= high) low = high = 0;
  }
  // The first q of a phase whose result is not before `at`.
  int64_t first_of(const PlacePhase& f, int64_t at) const {
    return std::clamp<int64_t>(ceil_div(std::max<int64_t>(at - f.start[cut], 0), f.step[cut]), 0, f.count[cut]);
  }

  // The size of units of `all` things, at most `size`, that keeps threads busy for the shortest time; `more`: what a unit
  // takes beside its things. How results are cut into units changes none of them.
  static int64_t even_share(int64_t all, int64_t size, int64_t times, int64_t threads, double more) {
    if (threads < 2) return size;
    int64_t best = size;
    double least = 0;
    for (int64_t s = size; s >= ceil_div(size, 2); --s) {
      const double longest = double(ceil_div(times * ceil_div(all, s), threads)) * (double(s) + more);
      if (s < size && longest >= 0.98 * least) continue;
      best = s;
      least = longest;
    }
    return best;
  }

  void choose_strips(int64_t threads) {
    const int64_t result = out_slice * ld * wide, whole = p.out[cut], bytes = p.groups * image_bytes();
    heavy = p.groups * panels * depth * ld * wide > kHeavyBytes;
    const int64_t room = heavy ? many_image_bytes() : kImageBytes;
    const int64_t pieces = std::max(ceil_div(bytes, room), ceil_div(whole * result, kSumBytes));
    strip = ceil_div(whole, std::min(pieces, whole));
    span = p.image.extent[cut];
    images = 1;
    if (strip == whole) {
      images = std::clamp<int64_t>(std::min(room / std::max<int64_t>(bytes, 1), kSumBytes / (whole * result)), 1, p.batch);
      images = ceil_div(p.batch, ceil_div(p.batch, images));
      images = even_share(p.batch, images, 1, threads, 0.1);
      // Few images that do not go evenly into the threads are cut, unless each piece would pack its weight.
      const int64_t tasks = p.groups * panels, some = ceil_div(p.batch, images), cut_strip = even_share(whole, whole, p.batch * tasks, threads, 0.5);
      const double longest = double(ceil_div(some * tasks, threads) * images * whole);
      if (heavy || double(ceil_div(p.batch * tasks * ceil_div(whole, cut_strip), threads)) * (double(cut_strip) + 0.5) > 0.95 * longest) return;
      strip = cut_strip;
      images = 1;
    } else {
      strip = even_share(whole, strip, p.batch, threads, 0.5);
    }
    span = 1;
    for (int64_t at = 0; at < whole; at += strip) {
      int64_t low, high;
      meets(at, std::min(whole, at + strip), low, high);
      span = std::max(span, high - low);
    }
  }

  void add_run(const PlacePhase& f) {
    Run r;
    r.phase = &f;
    const int64_t pitches[3] = {p.image.slice(0), p.image.slice(1), p.image.slice(2)};
    for (int64_t c0 = 0; c0 < p.image.channels; c0 += line)
      for (const PlacePhase::Tap& t : f.taps)
        for (int64_t c = c0; c < std::min(c0 + line, p.image.channels); ++c)
          r.table.push_back({(t.at[0] * pitches[0] + t.at[1] * pitches[1] + t.at[2] * pitches[2] + c) * wide, packed_at(p, line, c, t.tap) * ld * wide});
    // Whole lines of channels with all their taps, or some taps of one.
    const int64_t most = std::max<int64_t>(weight_pass_bytes() / (ld * wide), 16), taps = std::max<int64_t>(1, int64_t(f.taps.size()));
    const int64_t lines = ceil_div(p.image.channels, line), some = std::min(line, p.image.channels), fit = most / (taps * some);
    r.pass = fit > 0 ? ceil_div(lines, ceil_div(lines, fit)) * taps * line : ceil_div(taps, ceil_div(taps * some, most)) * some;
    r.joins = f.reach[1] == 1 && f.reach[2] == 1 && f.step[1] == 1 && f.step[2] == 1 && f.count[2] == p.image.extent[2] &&
              f.count[2] == p.out[2] && f.count[1] > 1;
    runs.push_back(std::move(r));
    Run& made = runs.back();
    if (p.borders && !made.joins && cut < 2)
      made.borders = std::make_unique<Borders>(p, f, made.table, made.pass, fit > 0, ceil_div(p.rows, k.lanes) - (panels - 1) * p.vectors);
  }

  std::vector<Unit> units() const {
    std::vector<Unit> made;
    for (int64_t n = 0; n < p.batch; n += images)
      for (int64_t at = 0; at < p.out[cut]; at += strip)
        made.push_back({n, std::min(n + images, p.batch), at, std::min(at + strip, p.out[cut])});
    return made;
  }
  int64_t unit_elements() const { return images * p.groups * span * p.image.slice(cut); }

  const char* source(int64_t n, int64_t g) const { return p.source + p.image.origin(n, g, p.groups) * narrow; }

  // Tiles of all passes.
  int64_t tiles(const Unit& u, int64_t vectors) const {
    int64_t count = 0;
    for (const Run& r : runs) {
      const PlacePhase& f = *r.phase;
      int64_t sizes[3] = {f.count[0], f.count[1], f.count[2]};
      sizes[cut] = first_of(f, u.to) - first_of(f, u.from);
      const int64_t rows = r.joins ? 1 : sizes[1], width = r.joins ? sizes[1] * sizes[2] : sizes[2];
      count += (u.n1 - u.n0) * sizes[0] * rows * ceil_div(width, k.most_rows[vectors - 1]) * ceil_div(int64_t(r.table.size()), r.pass);
    }
    return count;
  }

  // What the panel after this one will be packed from. A weight that is packed already is asked for by the tiles.
  Ahead next(int64_t g, int64_t panel, bool packed) const {
    Ahead made;
    const int64_t following = g * panels + panel + 1;
    if (!heavy || packed || following >= p.groups * panels) return made;
    const int64_t row = following % panels * ld, rows = std::min(ld, p.rows - row), taps = p.taps * narrow;
    g = following / panels;
    if (!p.turned) {
      made.from = p.weight + (g * p.rows + row) * p.image.channels * taps;
      made.lines = made.piece = rows * p.image.channels * taps / kLineBytes;
    } else {
      made.from = p.weight + (g * p.image.channels * p.rows + row) * taps;
      made.piece = ceil_div(rows * taps, kLineBytes);
      made.stride = p.rows * taps;
      made.lines = p.image.channels * made.piece;
    }
    return made;
  }

  Ahead results_of(const Unit& u, int64_t g, int64_t panel, int64_t vectors) const {
    Ahead made;
    if (p.last) return made;  // long lines, which the processor sees coming
    const int64_t channel = panel * ld, bytes = (u.to - u.from) * out_slice * narrow;
    made.from = p.y + ((u.n0 * p.groups * p.rows + g * p.rows + channel) * out_size + u.from * out_slice) * narrow;
    made.many = std::min(vectors * k.lanes, p.rows - channel);
    made.piece = ceil_div(bytes, kLineBytes);
    made.stride = out_size * narrow;
    made.far = p.groups * p.rows * made.stride;
    made.lines = (u.n1 - u.n0) * made.many * made.piece;
    return made;
  }

  // Results of one unit, group and panel from `image`, whose first position of the cut axis is `low`; `between` is the
  // distance of two images, in elements.
  void multiply(const Unit& u, int64_t g, int64_t panel, const char* image, int64_t between, int64_t low, const char* b, char* sums, bool streams, Ahead ahead) const {
    const PlaceImage& x = p.image;
    const int64_t vectors = std::min(p.vectors, ceil_div(p.rows, k.lanes) - panel * p.vectors);
    const int64_t all_rows = p.groups * p.rows, first = g * p.rows + panel * ld;
    char* const results_at = p.last ? p.y + ((u.n0 * out_size + u.from * out_slice) * all_rows + first) * narrow : nullptr;
    if (direct) sums = results_at;
    const int64_t pitch = direct ? all_rows : ld, sum_image = direct ? out_size * pitch : (u.to - u.from) * out_slice * ld;
    const int64_t sum_strides[3] = {p.out[1] * p.out[2] * pitch, p.out[2] * pitch, pitch};
    const int64_t turns = tiles(u, vectors);
    ahead.share_out(turns);
    Ahead results = results_of(u, g, panel, vectors);
    results.share_out(turns);
    for (const Run& r : runs) {
      const PlacePhase& f = *r.phase;
      int64_t q0[3] = {0, 0, 0}, q1[3] = {f.count[0], f.count[1], f.count[2]};
      q0[cut] = first_of(f, u.from);
      q1[cut] = first_of(f, u.to);
      if (q0[cut] >= q1[cut]) continue;
      int64_t origin[3];  // of the sums: the first result of the phase in this unit
      for (int i = 0; i < 3; ++i) origin[i] = f.start[i] + q0[i] * f.step[i] - (i == cut ? u.from : 0);
      const int64_t rows = r.joins ? 1 : q1[1] - q0[1], width = r.joins ? (q1[1] - q0[1]) * f.count[2] : q1[2] - q0[2];
      const int64_t height = even_height(width, k.most_rows[vectors - 1]), all = int64_t(r.table.size());
      // Of a heavy weight what the next pass reads, which lies behind, is asked for by its tiles.
      const int64_t lines = ceil_div(vectors * k.lanes * wide, kLineBytes), some = (u.n1 - u.n0) * (q1[0] - q0[0]) * rows * ceil_div(width, height);
      for (int64_t at = 0; at == 0 || at < all; at += r.pass) {
        int64_t turn = 0;
        for (int64_t n = u.n0; n < u.n1; ++n)
          for (int64_t d = 0; d < q1[0] - q0[0]; ++d)
            for (int64_t h = 0; h < rows; ++h) {
              const char* a = image + ((n - u.n0) * between - low * x.slice(cut)) * wide +
                              ((q0[0] + d) * f.reach[0] * x.slice(0) + (q0[1] + h) * f.reach[1] * x.slice(1) + q0[2] * f.reach[2] * x.slice(2)) * wide;
              char* c = sums + ((n - u.n0) * sum_image + (origin[0] + d * f.step[0]) * sum_strides[0] +
                                (origin[1] + h * f.step[1]) * sum_strides[1] + origin[2] * pitch) * wide;
              for (int64_t w = 0; w < width; w += height) {
                ahead.some();
                results.some();
                const int64_t behind = asked_lines(streams ? r.pass * ld * wide : 0, turn++, some, lines), tall = std::min(height, width - w);
                auto add_up = [&](int64_t count, const Offsets* table, int64_t from, int64_t to, bool adds) {
                  k.tile(count, a + (w + from) * f.reach[2] * x.pitch * wide, f.reach[2] * x.pitch, b, table,
                         c + (w + from) * f.step[2] * pitch * wide, f.step[2] * pitch, to - from, vectors, adds + 2 * behind);
                };
                if (!r.borders) {
                  add_up(std::min(r.pass, all - at), r.table.data() + at, 0, tall, at > 0);
                  continue;
                }
                bool adds = at > 0;
                for (const Borders::Step& step : r.borders->steps(vectors, q0[1] + h, w / height)) {
                  const int64_t count = step.taps->count(at / r.pass);
                  if (count > 0 || !adds) add_up(count, step.taps->table_of(at / r.pass), step.from, step.to, adds);
                  adds = true;
                }
              }
            }
      }
    }
    if (direct && !p.bias && p.plain_end()) return;
    if (p.last) {
      for (int64_t n = u.n0; n < u.n1; ++n)
        end_lines(p, sums + (n - u.n0) * sum_image * wide, pitch, results_at + (n - u.n0) * out_size * all_rows * narrow, all_rows, (u.to - u.from) * out_slice,
                std::min(vectors * k.lanes, p.rows - panel * ld), p.bias ? p.bias + first * narrow : nullptr);
      return;
    }
    for (int64_t n = u.n0; n < u.n1; ++n)
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t channel = (panel * p.vectors + v) * k.lanes, row = g * p.rows + channel;
        k.collect(sums + ((n - u.n0) * sum_image + v * k.lanes) * wide, collected.data(),
                  p.y + ((n * p.groups * p.rows + row) * out_size + u.from * out_slice) * narrow, out_size, (u.to - u.from) * out_slice,
                  std::min(k.lanes, p.rows - channel), p.bias ? p.bias + row * narrow : nullptr);
      }
  }
};

}  // namespace

void plan_places(PlacesJob& p) {
  const ConvKernels& k = *p.kernels;
  const int64_t all = ceil_div(p.rows, k.lanes);
  double best = 0;
  const bool single = single_products(k.lanes * item_size(k.compute));
  const int64_t each = weight_stays_near() ? 1 : 4;  // what a load of the weight counts for
  for (int64_t v = 1; v <= std::min(kMostVectors, all); ++v) {
    double cost = 0, loads = 0, compared = 0;
    for (const PlacePhase& f : p.phases) {
      const double rows = double(p.batch * p.groups * f.count[0] * f.count[1]), depth = double(p.image.channels) * double(f.taps.size());
      for (int64_t panel = 0; panel < all; panel += v) {
        const int64_t vectors = std::min(v, all - panel), height = even_height(f.count[2], k.most_rows[vectors - 1]);
        const double tiles = rows * double(ceil_div(f.count[2], height));
        const double end = step_cycles(height, vectors);
        cost += tiles * (depth * tile_cycles(height, vectors, single) + end);
        compared += tiles * (depth * tile_cycles(height, vectors, false) + end);
        loads += tiles * depth * double(height + each * vectors + 2);
      }
    }
    // Of tiles that take as long, those with fewer loads stand a busy neighbour on the core better.
    const double both = cost + 0.15 * loads;
    if (v > 1 && both >= 0.98 * best) continue;
    best = both;
    p.cycles = compared;  // Winograd's products count the same cycles on all processors
    p.own_cycles = cost;
    p.vectors = v;
  }
}

void pack_channels(const PlacesJob& p, int64_t g, int64_t panel, int64_t c0, int64_t c1, char* to, const int64_t* at) {
  const ConvKernels& k = *p.kernels;
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source), ld = p.vectors * k.lanes, channels = p.image.channels;
  const int64_t first = panel * p.vectors, last = std::min(first + p.vectors, ceil_div(p.rows, k.lanes)), rows = (c1 - c0) * p.taps;
  if (last * k.lanes > p.rows) std::memset(to, 0, size_t(rows * ld * wide));  // no odd numbers in what is left over
  for (int64_t v = first; v < last; ++v) {
    const int64_t row = v * k.lanes, count = std::min(k.lanes, p.rows - row);
    char* into = to + (v - first) * k.lanes * wide;
    if (!p.turned) {
      k.spread(p.weight + (((g * p.rows + row) * channels + c0) * p.taps) * narrow, channels * p.taps, into, at, rows, count);
      continue;
    }
    for (int64_t c = c0; c < c1; ++c)
      k.spread(p.weight + ((g * channels + c) * p.rows + row) * p.taps * narrow, p.taps, into, at + (c - c0) * p.taps, p.taps, count);
  }
}

double planes_cycles(const PlacesJob& p) {
  const double lanes = double(p.kernels->lanes);
  double ideal = 0;
  for (const PlacePhase& f : p.phases)
    ideal += 0.5 * double(p.batch * f.count[0] * f.count[1] * f.count[2]) / lanes * double(p.groups * p.rows) * double(p.image.channels) * double(f.taps.size());
  // Strided results are put into their places one by one there.
  ideal += (p.phases.size() > 1 ? 1.2 : 0.1) * double(p.batch * p.groups * p.rows) * double(p.out[0] * p.out[1] * p.out[2]);
  return 1.18 * ideal;  // places are thrown away, or gathered
}

bool places_pay(const PlacesJob& p, bool packed) {
  if (p.rows < 2) return false;  // a weighted sum of rows
  // Padding and strides far beyond the image: a copy of it all would be mostly zeros.
  if (p.image.elements() > 8 * p.image.channels * p.image.plane() + (1 << 20)) return false;
  // The other way would need copies of what has its channels side by side.
  if (p.last || p.image.last) return true;
  // It reads a weight that is far away element by element.
  const double weights = double(p.groups * p.rows) * double(p.image.channels * p.taps);
  return p.own_cycles * (1 - p.skipped) + (packed ? 0 : weights * (weights > 1 << 18 ? 0.6 : 0.35)) < planes_cycles(p);
}

namespace {

constexpr int64_t kSlackVectors = 4;  // of a packed weight and of an image: tiles read past their ends

struct Packing {
  int64_t ld, panels, all_panels, panel_bytes;
  explicit Packing(const PlacesJob& p) {
    ld = p.vectors * p.kernels->lanes;
    panels = ceil_div(ceil_div(p.rows, p.kernels->lanes), p.vectors);
    all_panels = p.groups * panels;
    panel_bytes = p.image.channels * p.taps * ld * item_size(p.kernels->compute);
  }
};

// Where the weight's elements lie in a panel.
std::vector<int64_t> places_in_panel(const PlacesJob& p) {
  const int64_t line = kLineBytes / item_size(p.kernels->compute), ld = p.vectors * p.kernels->lanes;
  std::vector<int64_t> at;
  at.reserve(size_t(p.image.channels * p.taps));
  for (int64_t c = 0; c < p.image.channels; ++c)
    for (int64_t t = 0; t < p.taps; ++t) at.push_back(packed_at(p, line, c, t) * ld);
  return at;
}

}  // namespace

size_t packed_bytes(const PlacesJob& p) {
  const Packing packing(p);
  return size_t(packing.all_panels * packing.panel_bytes + kSlackVectors * p.kernels->lanes * item_size(p.kernels->compute));
}

void pack_places(const PlacesJob& p, char* to, bool parallel) {
  if (rehearsing()) return;
  const Packing packing(p);
  const std::vector<int64_t> at = places_in_panel(p);
  const int64_t all = packing.all_panels;
  parallel_for(all, parallel && p.rows * p.image.channels * p.taps > 1 << 15 ? 1 : all, [&](int64_t from, int64_t last) {
    for (int64_t i = from; i < last; ++i)
      pack_channels(p, i / packing.panels, i % packing.panels, 0, p.image.channels, to + i * packing.panel_bytes, at.data());
  });
}

void run_places(const PlacesJob& p) {
  if (p.batch == 0 || p.rows == 0 || p.groups == 0) return;
  const bool parallel = p.work >= kParallelWork && get_num_threads() > 1 && !in_parallel_loop();
  const int64_t threads = parallel ? get_num_threads() : 1;
  const Plan plan(p, threads);
  const ConvKernels& k = plan.k;
  const int64_t wide = plan.wide, slack = kSlackVectors * k.lanes;
  const std::vector<Unit> units = plan.units();
  const int64_t count = int64_t(units.size()), between = p.image.elements();
  // A weight that is met once is packed panel by panel, while it is used; a heavy one as often as it is met, if that is seldom.
  const bool once = !p.packed && (count == 1 ? !parallel || plan.heavy : plan.heavy && count <= kRepacked);
  const int64_t panel_bytes = plan.depth * plan.ld * wide;
  Buffer own_packed(once || p.packed ? 0 : packed_bytes(p));
  if (own_packed.data) pack_places(p, own_packed.data, parallel);
  const char* packed = p.packed ? p.packed : own_packed.data;
  const bool streams = packed && plan.heavy && p.phases.size() == 1;  // taps of one phase lie side by side
  const size_t own_bytes = once ? size_t(panel_bytes + slack * wide) : 0;  // of the panel that is packed while it is used
  const std::vector<int64_t> at = once ? places_in_panel(p) : std::vector<int64_t>();
  // A panel of the weight, packed now or before.
  auto panel_at = [&](int64_t g, int64_t panel, char* own) -> const char* {
    if (!once) return packed + (g * plan.panels + panel) * panel_bytes;
    pack_channels(p, g, panel, 0, p.image.channels, own, at.data());
    return own;
  };
  const int64_t sum_elements = plan.direct ? 0 : plan.images * (plan.strips() ? plan.strip * plan.out_slice : plan.out_size) * plan.ld;
  const bool in_place = p.image.in_place(k);
  const bool shared = parallel && count < 3 * threads && (in_place || p.batch * p.groups * between * wide <= kSharedBytes);
  if (!shared) {
    const int64_t group = plan.span * p.image.slice(plan.cut), one = p.groups * group;
    parallel_for(count, parallel ? 1 : count, [&](int64_t from, int64_t last) {
      Buffer images(in_place ? 0 : size_t((plan.unit_elements() + slack) * wide)), sums(plan.direct ? 0 : size_t((sum_elements + slack) * wide)), own(own_bytes);
      if (rehearsing()) return;
      if (p.image.padded() && plan.strips()) std::memset(images.data, 0, images.bytes);
      for (int64_t i = 0; i < plan.images * p.groups && p.image.padded() && !plan.strips(); ++i) p.image.clear_around(k, images.data + i * group * wide);
      for (int64_t i = from; i < last; ++i) {
        const Unit& u = units[size_t(i)];
        int64_t low = 0, high = plan.span;
        if (plan.strips()) plan.meets(u.from, u.to, low, high);
        for (int64_t n = u.n0; n < u.n1 && !in_place; ++n)
          for (int64_t g = 0; g < p.groups; ++g) {
            char* to = images.data + ((n - u.n0) * one + g * group) * wide;
            if (plan.strips()) p.image.clear(k, low, high, to);
            p.image.fill_all(k, plan.source(n, g), low, high, to);
          }
        for (int64_t g = 0; g < p.groups; ++g)
          for (int64_t panel = 0; panel < plan.panels; ++panel)
            plan.multiply(u, g, panel, in_place ? plan.source(u.n0, g) : images.data + g * group * wide, in_place ? p.image.plane() * p.image.last : one,
                          in_place ? 0 : low, panel_at(g, panel, own.data), sums.data,
                          streams, plan.next(g, panel, packed));
      }
    });
    return;
  }
  // Few units: all images are copied first, then threads share out units and panels.
  Buffer images(in_place ? 0 : size_t((p.batch * p.groups * between + slack) * wide));
  const int64_t pairs = in_place ? 0 : p.batch * p.groups;
  parallel_for(pairs * p.image.blocks(k), std::max<int64_t>(1, pairs * p.image.blocks(k) / (4 * threads)), [&](int64_t from, int64_t last) {
    if (rehearsing()) return;
    for (int64_t i = from; i < last; ++i) {
      const int64_t pair = i / p.image.blocks(k), block = i % p.image.blocks(k);
      char* to = images.data + pair * between * wide;
      if (p.image.padded()) p.image.clear_border(k, block, to);  // belongs to who copies these channels
      p.image.fill(k, plan.source(pair / p.groups, pair % p.groups), block, 0, p.image.extent[plan.cut], to);
    }
  });
  // So many that the last one is short; what the next panel needs is asked for if it is of the same task.
  const int64_t splits = std::min(plan.panels, std::max<int64_t>(1, ceil_div(16 * threads, count * p.groups)));
  const int64_t tasks = count * p.groups * splits;
  parallel_for(tasks, 1, [&](int64_t from, int64_t last) {
    Buffer sums(plan.direct ? 0 : size_t((sum_elements + slack) * wide)), own(own_bytes);
    if (rehearsing()) return;
    for (int64_t i = from; i < last; ++i) {
      const int64_t split = i % splits, g = i / splits % p.groups;
      const Unit& u = units[size_t(i / splits / p.groups)];
      const int64_t end = plan.panels * (split + 1) / splits;
      for (int64_t panel = plan.panels * split / splits; panel < end; ++panel)
        plan.multiply(u, g, panel, in_place ? plan.source(u.n0, g) : images.data + (u.n0 * p.groups + g) * between * wide,
                      in_place ? p.image.plane() * p.image.last : p.groups * between, 0, panel_at(g, panel, own.data),
                      sums.data, streams, panel + 1 < end ? plan.next(g, panel, packed) : Ahead());
    }
  });
}

}  // namespace thixo
