#include "conv_image.h"

#include <algorithm>

#include "gemm_job.h"

namespace thixo {

namespace {

// The positions j of a plane whose source j * step + phase - pad exists.
void valid(const PaddedImage::Axis& a, int64_t phase, int64_t& from, int64_t& to) {
  auto up = [&](int64_t v) { return v <= 0 ? -((-v) / a.step) : ceil_div(v, a.step); };
  from = std::clamp<int64_t>(up(a.pad - phase), 0, a.extent);
  to = std::clamp<int64_t>(up(a.size + a.pad - phase), from, a.extent);
}

}  // namespace

void PaddedImage::lay_out(int64_t channel_count, const int64_t* size, const int64_t* pad, const int64_t* step,
                          const int64_t* places, const std::vector<int64_t>* meets) {
  channels = channel_count;
  plane = channel = 1;
  for (int i = 0; i < 3; ++i) {
    Axis& a = axes[i];
    a.size = size[i];
    a.pad = pad[i];
    a.step = step[i];
    a.slots.assign(size_t(a.step), -1);
    a.phases.clear();
    a.extent = 1;
    for (int64_t p : meets[i]) {
      const int64_t phase = p % a.step;
      if (a.slots[size_t(phase)] < 0) {
        a.slots[size_t(phase)] = int64_t(a.phases.size());
        a.phases.push_back(phase);
      }
      a.extent = std::max(a.extent, p / a.step + places[i]);
    }
    a.from.resize(a.phases.size());
    a.to.resize(a.phases.size());
    for (size_t n = 0; n < a.phases.size(); ++n) valid(a, a.phases[n], a.from[n], a.to[n]);
    plane *= a.extent;
    channel *= int64_t(a.phases.size());
  }
  channel *= plane;
}

int64_t PaddedImage::offset(int64_t p0, int64_t p1, int64_t p2) const {
  const int64_t p[3] = {p0, p1, p2};
  int64_t slot = 0, at = 0;
  for (int i = 0; i < 3; ++i) {
    slot = slot * int64_t(axes[i].phases.size()) + axes[i].slots[size_t(p[i] % axes[i].step)];
    at = at * axes[i].extent + p[i] / axes[i].step;
  }
  return slot * plane + at;
}

void PaddedImage::fill(const ConvKernels& k, const char* source, char* to) const {
  const int64_t narrow = item_size(k.source), wide = item_size(k.compute);
  const Axis &d = axes[0], &h = axes[1], &w = axes[2];
  for (size_t x = 0; x < d.phases.size(); ++x)
    for (size_t y = 0; y < h.phases.size(); ++y)
      for (size_t z = 0; z < w.phases.size(); ++z, to += plane * wide) {
        const int64_t h0 = h.from[y], rows = h.to[y] - h0, w0 = w.from[z], count = w.to[z] - w0;
        if (rows <= 0 || count <= 0) continue;
        const int64_t from_h = h0 * h.step + h.phases[y] - h.pad, from_w = w0 * w.step + w.phases[z] - w.pad;
        for (int64_t j = d.from[x]; j < d.to[x]; ++j) {
          const int64_t from_d = j * d.step + d.phases[x] - d.pad;
          k.rows(source + ((from_d * h.size + from_h) * w.size + from_w) * narrow, h.step * w.size, w.step,
                 to + ((j * h.extent + h0) * w.extent + w0) * wide, w.extent, rows, count);
        }
      }
}

}  // namespace thixo
