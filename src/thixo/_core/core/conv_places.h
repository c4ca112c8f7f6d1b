// Convolutions with channels innermost: places of the image are the rows of the register tile, output channels its
// vectors. What forward convolutions and gradients of the input have in common.
#pragma once
#include <vector>

#include "conv_kernels.h"
#include "gemm_job.h"

namespace thixo {

constexpr int64_t kLineBytes = 64;  // of a cache: channels of one line are used together

// What the `turn`th of so many tiles asks for while it runs, so that it is near for the tiles of the next pass: of `lines` of the
// cache that a row of B has, one, two or four behind each of its rows by so many bytes, so that all tiles together ask for all.
// The last two bits say how many (codegen/llvm/window.py).
inline int64_t asked_lines(int64_t behind, int64_t turn, int64_t tiles, int64_t lines) {
  const int64_t share = ceil_div(lines, tiles), each = share > 2 ? 4 : share;
  return behind && turn * each < lines ? behind + turn * each * kLineBytes + each - 1 : 0;
}

// An image, padded and with its channels side by side.
struct PlaceImage {
  int64_t channels = 0;                                     // of one group
  int64_t size[3] = {1, 1, 1}, pad[3] = {0, 0, 0};          // of the source; zeros in front of it
  int64_t extent[3] = {1, 1, 1};                            // of the copy
  int64_t pitch = 1;                                        // elements from place to place
  int cut = 0;                                              // the first axis with more than one position: strips are cut there
  std::vector<int64_t> places;                              // of each element of the source's first rows, without the padding
  int64_t listed = 0;                                       // these rows
  int64_t last = 0;                                         // elements from place to place of a source with channels side by side; 0: planes

  // Extents are at least those that hold the source. `tight`: places follow each other without a gap. `planes`: so the source lies,
  // else places need no list.
  void lay_out(int64_t channel_count, const int64_t* sizes, const int64_t* pads, const int64_t* extents, bool tight, bool planes = true);
  bool padded() const;
  int64_t slice(int axis) const;  // elements from one position of an axis to the next
  int64_t elements() const { return extent[0] * slice(0); }
  int64_t plane() const { return size[0] * size[1] * size[2]; }
  int64_t blocks(const ConvKernels& k) const { return ceil_div(channels, k.lanes); }
  // A source with channels side by side; without padding its places lie as those of a copy would, if nothing is converted.
  void set_last(const ConvKernels& k, int64_t step) {
    last = step;
    if (!padded() && k.source == k.compute) pitch = step;
  }
  // Whether the source is read where it lies, as if it were the copy.
  bool in_place(const ConvKernels& k) const { return last && pitch == last && !padded() && k.source == k.compute; }
  // Where the channels of one group of image n begin in the source, in elements.
  int64_t origin(int64_t n, int64_t g, int64_t groups) const {
    return last ? n * plane() * last + g * channels : (n * groups + g) * channels * plane();
  }
  // Copies positions [low, high) of the cut axis, one vector of channels; `from` is the first of all channels' planes.
  void fill(const ConvKernels& k, const char* from, int64_t block, int64_t low, int64_t high, char* to) const;
  // The same of all channels.
  void fill_all(const ConvKernels& k, const char* from, int64_t low, int64_t high, char* to) const;
  // The same of `count` channels of which `from` is the first; `to` is where this one goes.
  void fill_some(const ConvKernels& k, const char* from, int64_t count, int64_t low, int64_t high, char* to) const;
  // Zeros where the source has no such positions.
  void clear(const ConvKernels& k, int64_t low, int64_t high, char* to) const;
  // Zeros all round the source, in one vector of channels of a whole copy.
  void clear_border(const ConvKernels& k, int64_t block, char* to) const;
  // The same of all channels.
  void clear_around(const ConvKernels& k, char* to) const;

 private:
  void fill_last(const ConvKernels& k, const char* from, int64_t count, int64_t low, int64_t high, char* to) const;
};

// Results that meet the same taps: those at start + q * step, q < count.
struct PlacePhase {
  struct Tap {
    int64_t at[3];  // in the padded image, for the first of these results
    int64_t tap;    // which of the weight's
  };
  int64_t start[3] = {0, 0, 0}, step[3] = {1, 1, 1}, count[3] = {1, 1, 1};
  int64_t reach[3] = {1, 1, 1};  // positions in the image between neighbours
  std::vector<Tap> taps;
};

struct PlacesJob {
  const ConvKernels* kernels = nullptr;
  int64_t batch = 0, groups = 1, rows = 0, taps = 1;  // rows: channels of the results, in a group
  PlaceImage image;
  int64_t out[3] = {1, 1, 1};
  const char* source = nullptr;
  const char* weight = nullptr;
  bool turned = false;  // the weight is [groups][channels][rows][taps], else [groups][rows][channels][taps]
  const char* bias = nullptr;
  char* y = nullptr;
  const char* more = nullptr;  // added to the results, which have their channels side by side; see conv_end.h
  bool relu = false;
  bool last = false;    // y has its channels side by side
  const char* packed = nullptr;  // the weight as it is read, where that was made before; see pack_places, winograd_kernels
  std::vector<PlacePhase> phases;
  double work = 0;
  bool borders = false;  // so many products are with zeros around the image that they are worth leaving out
  double skipped = 0;    // the part of all products that are above or below it, in that case
  bool skips = false;    // with that: they are left out, since no weight is infinite or NaN

  bool plain_end() const { return !more && !relu; }

  // Set by `plan_places`: vectors of a tile; cycles for all of it, as Winograd's products count them, and those of this processor.
  int64_t vectors = 1;
  double cycles = 0, own_cycles = 0;
};

void plan_places(PlacesJob& p);
// Cycles for one k of a tile: products, at least four cycles between two additions to the same sums, loads.
// With one vector each product loads an element of its own at base and index, which is another operation.
// `single`: see conv_caches.h; a cycle stands for half a product there too.
inline double tile_cycles(int64_t rows, int64_t vectors, bool single) {
  if (single) return std::max({0.5 * double(rows * vectors), 2.0, 0.25 * double(rows + 2 * vectors + 2)});
  if (vectors == 1) return std::max(4.0, 0.65 * double(rows));
  return std::max({0.5 * double(rows * vectors), 4.0, 0.5 * double(rows + vectors + 2)});
}
// And for its sums, which are read and written.
inline double step_cycles(int64_t rows, int64_t vectors) { return 30.0 + 3.0 * double(rows * vectors); }
// Tiles of about equal height, of which a row of results has as few as possible.
inline int64_t even_height(int64_t width, int64_t most) { return ceil_div(width, ceil_div(width, most)); }
// One panel of vectors of the weight, for channels [c0, c1) of the image; `at`: where each of [channels][taps] goes.
void pack_channels(const PlacesJob& p, int64_t g, int64_t panel, int64_t c0, int64_t c1, char* to, const int64_t* at);
// What a sweep over planes (conv_sweep.h) would take, about.
double planes_cycles(const PlacesJob& p);
// Whether places are better than that; with `packed`, the weight is packed already.
bool places_pay(const PlacesJob& p, bool packed = false);
void run_places(const PlacesJob& p);
// The whole weight, packed for `run_places`: how many bytes, and the packing.
size_t packed_bytes(const PlacesJob& p);
void pack_places(const PlacesJob& p, char* to, bool parallel);

}  // namespace thixo
