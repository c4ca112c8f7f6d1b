// Copies of images with their channels side by side, padded: what the tiles of conv_places.cpp and Winograd's transforms read.
#include <cstring>

#include "conv_places.h"

namespace thixo {

namespace {

constexpr int64_t kListedPlaces = 4096;  // of an image, in a table

}  // namespace

void PlaceImage::lay_out(int64_t channel_count, const int64_t* sizes, const int64_t* pads, const int64_t* extents, bool tight, bool planes) {
  channels = pitch = channel_count;
  // Places a multiple of 256 bytes apart would share few lines of the nearest cache.
  if (!tight && channels % 64 == 0) pitch += 16;
  for (int i = 0; i < 3; ++i) {
    size[i] = sizes[i];
    pad[i] = pads[i];
    extent[i] = std::max(extents[i], sizes[i] + pads[i]);
  }
  while (cut < 2 && extent[cut] == 1) ++cut;
  // Rows that are listed: all of them, or some that stand for the others of a large plane.
  listed = plane() <= kListedPlaces ? size[0] * size[1] : std::clamp<int64_t>(kListedPlaces / std::max<int64_t>(size[2], 1), 1, size[1]);
  places.clear();
  if (!planes) return;
  places.reserve(size_t(listed * size[2]));
  for (int64_t r = 0; r < listed; ++r)
    for (int64_t w = 0; w < size[2]; ++w) places.push_back(r / size[1] * slice(0) + r % size[1] * slice(1) + w * pitch);
}

bool PlaceImage::padded() const { return extent[0] != size[0] || extent[1] != size[1] || extent[2] != size[2]; }

int64_t PlaceImage::slice(int axis) const { return axis == 0 ? extent[1] * extent[2] * pitch : axis == 1 ? extent[2] * pitch : pitch; }

void PlaceImage::fill(const ConvKernels& k, const char* from, int64_t block, int64_t low, int64_t high, char* to) const {
  const int64_t channel = block * k.lanes;
  if (last) return fill_last(k, from + channel * item_size(k.source), std::min(k.lanes, channels - channel), low, high, to + channel * item_size(k.compute));
  fill_some(k, from + channel * plane() * item_size(k.source), std::min(k.lanes, channels - channel), low, high, to + channel * item_size(k.compute));
}

void PlaceImage::fill_all(const ConvKernels& k, const char* from, int64_t low, int64_t high, char* to) const {
  if (last) return fill_last(k, from, channels, low, high, to);
  for (int64_t b = 0; b < blocks(k); ++b) fill(k, from, b, low, high, to);
}

void PlaceImage::fill_last(const ConvKernels& k, const char* from, int64_t count, int64_t low, int64_t high, char* to) const {
  const int64_t narrow = item_size(k.source), wide = item_size(k.compute);
  const int64_t first = std::clamp<int64_t>(low - pad[cut], 0, size[cut]), end = std::clamp<int64_t>(high - pad[cut], first, size[cut]);
  if (first >= end) return;
  to += (pad[0] * slice(0) + pad[1] * slice(1) + pad[2] * pitch - low * slice(cut)) * wide;
  const int64_t w0 = cut == 2 ? first : 0, width = (cut == 2 ? end : size[2]) - w0;
  const int64_t top = cut == 2 ? 0 : cut == 0 ? first * size[1] : first, bottom = cut == 2 ? 1 : cut == 0 ? end * size[1] : end;  // rows
  const bool runs = last == count && pitch == count;  // a row lies together in both
  for (int64_t r = top; r < bottom; ++r)
    k.rows(from + (r * size[2] + w0) * last * narrow, last, 1, to + (r / size[1] * slice(0) + r % size[1] * slice(1) + w0 * pitch) * wide, pitch,
           runs ? 1 : width, runs ? width * count : count);
}

void PlaceImage::fill_some(const ConvKernels& k, const char* from, int64_t count, int64_t low, int64_t high, char* to) const {
  const int64_t narrow = item_size(k.source), wide = item_size(k.compute);
  const int64_t first = std::clamp<int64_t>(low - pad[cut], 0, size[cut]), last = std::clamp<int64_t>(high - pad[cut], first, size[cut]);
  if (first >= last) return;
  to += (pad[0] * slice(0) + pad[1] * slice(1) + pad[2] * pitch - low * slice(cut)) * wide;
  if (cut == 2) return k.spread(from + first * narrow, plane(), to, places.data() + first, last - first, count);
  const int64_t top = cut == 0 ? first * size[1] : first, bottom = cut == 0 ? last * size[1] : last;  // rows
  for (int64_t r = top; r < bottom;) {
    // As many as are listed, which are of one slice unless all of them are.
    const bool all = listed == size[0] * size[1];
    const int64_t rows = all ? bottom - r : std::min({listed, bottom - r, size[1] - r % size[1]}), skip = all ? r * size[2] : 0;
    const int64_t place = all ? 0 : r / size[1] * slice(0) + r % size[1] * slice(1);
    k.spread(from + r * size[2] * narrow, plane(), to + place * wide, places.data() + skip, rows * size[2], count);
    r += rows;
  }
}

void PlaceImage::clear(const ConvKernels& k, int64_t low, int64_t high, char* to) const {
  const int64_t first = std::clamp<int64_t>(pad[cut], low, high), last = std::clamp<int64_t>(pad[cut] + size[cut], first, high);
  const int64_t bytes = slice(cut) * item_size(k.compute);
  std::memset(to, 0, size_t((first - low) * bytes));
  std::memset(to + (last - low) * bytes, 0, size_t((high - last) * bytes));
}

void PlaceImage::clear_border(const ConvKernels& k, int64_t block, char* to) const {
  const int64_t wide = item_size(k.compute), channel = block * k.lanes, bytes = std::min(k.lanes, channels - channel) * wide;
  auto zeros = [&](int64_t d, int64_t h, int64_t from, int64_t last) {
    char* at = to + (d * slice(0) + h * slice(1) + from * pitch + channel) * wide;
    for (int64_t w = from; w < last; ++w, at += pitch * wide) std::memset(at, 0, size_t(bytes));
  };
  for (int64_t d = 0; d < extent[0]; ++d)
    for (int64_t h = 0; h < extent[1]; ++h) {
      const bool inside = d >= pad[0] && d < pad[0] + size[0] && h >= pad[1] && h < pad[1] + size[1];
      zeros(d, h, 0, inside ? pad[2] : extent[2]);
      if (inside) zeros(d, h, pad[2] + size[2], extent[2]);
    }
}

void PlaceImage::clear_around(const ConvKernels& k, char* to) const {
  const int64_t wide = item_size(k.compute), row = slice(1) * wide, left = pad[2] * pitch * wide, right = (pad[2] + size[2]) * pitch * wide;
  for (int64_t d = 0; d < extent[0]; ++d)
    for (int64_t h = 0; h < extent[1]; ++h, to += row) {
      const bool inside = d >= pad[0] && d < pad[0] + size[0] && h >= pad[1] && h < pad[1] + size[1];
      std::memset(to, 0, size_t(inside ? left : row));
      if (inside) std::memset(to + right, 0, size_t(row - right));
    }
}

}  // namespace thixo
