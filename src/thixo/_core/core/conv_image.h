// A padded copy of an image, in which the windows of a convolution are runs of neighbours.
//
// With a stride of s along an axis, the copy has a plane for each remainder of the position divided by s (those that
// some tap meets): along a window's places the positions then grow by one. No product with a skipped element is left.
#pragma once
#include <vector>

#include "conv_kernels.h"

namespace thixo {

struct PaddedImage {
  struct Axis {
    int64_t size = 1, pad = 0, step = 1;  // of the source; pad may be negative: that much is left out
    int64_t extent = 1;                   // of a plane
    std::vector<int64_t> phases;          // remainders that are there
    std::vector<int64_t> slots;           // where each of them is, by remainder
    std::vector<int64_t> from, to;        // positions of each phase whose source exists
  };
  Axis axes[3];
  int64_t channels = 0;
  int64_t plane = 0, channel = 0;  // elements of one plane; of all planes of a channel

  // `meets[i]`: the positions at which axis i's taps begin, in the padded source; `places`: how many windows there are.
  void lay_out(int64_t channel_count, const int64_t* size, const int64_t* pad, const int64_t* step, const int64_t* places,
               const std::vector<int64_t>* meets);
  int64_t elements() const { return channels * channel; }
  // Where the first window's element lies that begins at these positions of the padded source.
  int64_t offset(int64_t p0, int64_t p1, int64_t p2) const;
  // Copies one channel; what lies in the padding must be zero already.
  void fill(const ConvKernels& k, const char* source, char* to) const;
};

}  // namespace thixo
