// Taps that lie outside of the image, and are left out: above and below for whole rows of results, left and right for some
// places of a tile.
#pragma once
#include <memory>
#include <vector>

#include "conv_places.h"

namespace thixo {

class Borders {
 public:
  // Some of the taps: what is left of the table of all.
  struct Taps {
    std::vector<bool> inside;  // of each tap
    std::vector<Offsets> table;
    std::vector<int64_t> starts;  // of each pass in it, and the end

    int64_t count(int64_t pass) const { return starts[size_t(pass) + 1] - starts[size_t(pass)]; }
    const Offsets* table_of(int64_t pass) const { return table.data() + starts[size_t(pass)]; }
  };
  // Places [from, to) of a tile, for which these taps are added up. The first step of a tile has all of its places.
  struct Step {
    const Taps* taps;
    int64_t from, to;
  };

  // `table`: of all taps, in passes of `pass`. With `whole`, each has all taps of some channels. The last panel has `last` vectors.
  Borders(const PlacesJob& p, const PlacePhase& phase, const std::vector<Offsets>& table, int64_t pass, bool whole, int64_t last);

  // What is added up for a tile of so many vectors: of a row of results the `tile`th.
  const std::vector<Step>& steps(int64_t vectors, int64_t row, int64_t tile) const {
    const Width& w = vectors == widths_[0].vectors ? widths_[0] : widths_[1];
    return w.steps[size_t(kinds_[size_t(row)] * w.tiles + tile)];
  }

 private:
  struct Width {
    int64_t vectors = 0, tiles = 0;
    std::vector<std::vector<Step>> steps;  // of each kind of row and tile
  };
  using Mask = std::vector<bool>;

  void add_steps(Width& width, const Mask& row, bool whole);
  std::vector<Step> split(const Mask& row, int64_t first, int64_t end, int64_t vectors);
  const Taps* taps_of(const Mask& inside);

  const PlacesJob& p_;
  const PlacePhase& phase_;
  const std::vector<Offsets>& table_;
  int64_t pass_;
  std::vector<size_t> kinds_;  // of each row of results
  std::vector<std::unique_ptr<Taps>> made_;
  Width widths_[2];
};

// The part of all products whose tap lies above or below the image.
double skipped_share(const PlacesJob& p);

}  // namespace thixo
