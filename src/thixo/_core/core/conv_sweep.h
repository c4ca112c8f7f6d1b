// One register tile swept over padded images: what forward convolutions and gradients of the input have in common.
#pragma once
#include <vector>

#include "conv_image.h"
#include "gemm_job.h"

namespace thixo {

// Windows at the places of a grid, all with the same taps.
struct SweepPhase {
  std::vector<Offsets> table;  // for each k: its element of A's rows, its place in the image
  int64_t grid[3] = {1, 1, 1};
  int64_t pitch = 1;    // from row to row of windows
  int64_t b_start = 0;  // of the first window in the image, elements
  int64_t y_start = 0;  // of its result

  // Set by `sweep`: vectors across a tile, tiles in a slice, height of panels of rows, k in a pass.
  int64_t vectors = 1, tiles = 1, height = 1, pass = 1;
  // Windows of all rows and images side by side, copied into panels; else the positions between the rows of windows are
  // computed too and thrown away.
  bool dense = false;
  std::vector<Offsets> packed;  // the table of a panel
};

struct Sweep {
  const ConvKernels* kernels = nullptr;
  int64_t batch = 0, groups = 1;
  PaddedImage image;             // channels of one group
  const char* source = nullptr;  // [batch][groups][channels][sizes of the image]
  const char* a = nullptr;       // in what is computed in
  int64_t a_row = 0, a_group = 0, rows = 0;
  char* y = nullptr;
  int64_t y_image = 0, y_row = 0, y_strides[3] = {0, 0, 1};  // y_row: from channel to channel
  const char* bias = nullptr;
  std::vector<SweepPhase> phases;
  double work = 0;
};

void sweep(Sweep& s);

}  // namespace thixo
