#include "conv_borders.h"

#include <algorithm>

#include "conv_caches.h"

namespace thixo {

namespace {

// What a step of its own must save, of what it takes beside its products: sums are read and written once more.
constexpr double kWorthAStep = 1;

// Whether a tap of results at q along an axis of a phase lies in the image.
bool lies_inside(const PlaceImage& x, const PlacePhase& f, const PlacePhase::Tap& t, int axis, int64_t q) {
  const int64_t at = q * f.reach[axis] + t.at[axis] - x.pad[axis];
  return at >= 0 && at < x.size[axis];
}

// Of the places [first, end) of a row those that meet the image with this tap, counted from the first; none: from == to.
std::pair<int64_t, int64_t> meets(const PlaceImage& x, const PlacePhase& f, const PlacePhase::Tap& t, int64_t first, int64_t end) {
  int64_t from = first, to = end;
  while (from < to && !lies_inside(x, f, t, 2, from)) ++from;
  while (from < to && !lies_inside(x, f, t, 2, to - 1)) --to;
  return from < to ? std::pair{from - first, to - first} : std::pair<int64_t, int64_t>{0, 0};
}

}  // namespace

Borders::Borders(const PlacesJob& p, const PlacePhase& phase, const std::vector<Offsets>& table, int64_t pass, bool whole, int64_t last)
    : p_(p), phase_(phase), table_(table), pass_(pass) {
  widths_[0].vectors = std::min(p.vectors, ceil_div(p.rows, p.kernels->lanes));
  widths_[1].vectors = last;
  std::vector<Mask> rows;
  for (int64_t q = 0; q < phase.count[1]; ++q) {
    Mask inside;
    for (const PlacePhase::Tap& t : phase.taps) inside.push_back(!p.skips || lies_inside(p.image, phase, t, 1, q));
    const size_t kind = size_t(std::find(rows.begin(), rows.end(), inside) - rows.begin());
    kinds_.push_back(kind);
    if (kind == rows.size()) rows.push_back(std::move(inside));
  }
  for (const Mask& row : rows)
    for (Width& width : widths_) add_steps(width, row, whole);
}

void Borders::add_steps(Width& width, const Mask& row, bool whole) {
  const int64_t all = phase_.count[2], height = even_height(all, p_.kernels->most_rows[width.vectors - 1]);
  width.tiles = ceil_div(all, height);
  for (int64_t first = 0; first < all; first += height) {
    const int64_t end = std::min(all, first + height);
    width.steps.push_back(whole ? split(row, first, end, width.vectors) : std::vector<Step>{{taps_of(row), 0, end - first}});
  }
}

const Borders::Taps* Borders::taps_of(const Mask& inside) {
  for (const auto& one : made_)
    if (one->inside == inside) return one.get();
  made_.push_back(std::make_unique<Taps>());
  Taps& made = *made_.back();
  made.inside = inside;
  const int64_t taps = int64_t(inside.size()), line = kLineBytes / item_size(p_.kernels->compute), channels = p_.image.channels;
  int64_t next = 0;
  for (int64_t c0 = 0, at = 0; c0 < channels; c0 += line) {
    const int64_t some = std::min(line, channels - c0);
    for (int64_t t = 0; t < taps; ++t, at += some) {
      for (; next < at + some; next += pass_) made.starts.push_back(int64_t(made.table.size()) + (inside[size_t(t)] ? next - at : 0));
      if (inside[size_t(t)]) made.table.insert(made.table.end(), table_.begin() + at, table_.begin() + at + some);
    }
  }
  if (table_.empty()) made.starts.push_back(0);
  made.starts.push_back(int64_t(made.table.size()));
  return &made;
}

// Taps that meet the same places of the tile are a step, if that saves enough; all others are the first one. Which steps there are
// goes by the shape alone: they decide in what order products are added up.
std::vector<Borders::Step> Borders::split(const Mask& row, int64_t first, int64_t end, int64_t vectors) {
  struct Group {
    std::pair<int64_t, int64_t> places;
    Mask taps;
    int64_t count = 0;
  };
  const size_t taps = row.size();
  const int64_t rows = end - first;
  std::vector<Group> groups;
  for (size_t t = 0; t < taps; ++t) {
    const auto places = meets(p_.image, phase_, phase_.taps[t], first, end);
    auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.places == places; });
    if (at == groups.end()) at = groups.insert(at, Group{places, Mask(taps)});
    at->taps[t] = true;
    ++at->count;
  }
  const bool single = single_products(p_.kernels->lanes * item_size(p_.kernels->compute));
  const double in_pass = std::min(double(pass_) / double(std::max<size_t>(taps, 1)), double(p_.image.channels));
  Mask most(taps);
  std::vector<Step> steps(1);
  for (const Group& g : groups) {
    const int64_t left = g.places.second - g.places.first;
    const double saved = double(g.count) * in_pass * (tile_cycles(rows, vectors, single) - (left > 0 ? tile_cycles(left, vectors, single) : 0));
    const bool own = left < rows && (left == 0 || saved > kWorthAStep * step_cycles(left, vectors));
    Mask met(taps);
    for (size_t t = 0; t < taps; ++t) {
      if (!own && g.taps[t] && row[t]) most[t] = true;
      met[t] = own && g.taps[t] && row[t];
    }
    if (!own || (left == 0 && p_.skips)) continue;
    steps.push_back(p_.skips ? Step{taps_of(met), g.places.first, g.places.second} : Step{taps_of(met), 0, rows});
  }
  steps[0] = {taps_of(most), 0, rows};
  return steps;
}

double skipped_share(const PlacesJob& p) {
  double outside = 0, all = 0;
  for (const PlacePhase& f : p.phases) {
    int64_t found = 0;
    for (int64_t q = 0; q < f.count[1]; ++q)
      for (const PlacePhase::Tap& t : f.taps) found += !lies_inside(p.image, f, t, 1, q);
    const double beside = double(f.count[0] * f.count[2]);
    outside += double(found) * beside;
    all += double(f.count[1] * int64_t(f.taps.size())) * beside;
  }
  return all > 0 ? outside / all : 0;
}

}  // namespace thixo
