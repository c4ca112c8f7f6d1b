// The kernels that convolutions work with: shipped ones (codegen/llvm/window*.py says what each does), or portable ones.
#pragma once
#include <cstdint>
#include "dtype.h"

namespace thixo {

// Where an element of A and a row of B begin, in bytes.
struct Offsets {
  int64_t a, b;
};
// A run of sums, and where it goes, in elements.
struct Segment {
  int64_t from, to, count;
};

using ConvTileCall = void (*)(int64_t k, const void* a, int64_t a_row, const void* b, const Offsets* table, void* c,
                              int64_t ldc, int64_t rows, int64_t vectors, int64_t add);
using ConvDotsCall = void (*)(int64_t rows, int64_t count, const void* g, int64_t g_row, const void* x, int64_t x_row,
                              const int64_t* shifts, int64_t taps, void* out);
using ConvRowsCall = void (*)(const void* from, int64_t from_row, int64_t step, void* to, int64_t to_row, int64_t rows,
                              int64_t count);
using ConvStoreCall = void (*)(const void* sums, int64_t ld, void* y, int64_t y_row, int64_t step, int64_t rows,
                               const void* bias, const Segment* segments, int64_t pieces);
using ConvTurnCall = void (*)(const void* from, int64_t from_row, void* to, int64_t to_row, int64_t length, int64_t count);
using ConvSpreadCall = void (*)(const void* from, int64_t from_row, void* to, const int64_t* places, int64_t length, int64_t count);
using ConvCollectCall = void (*)(const void* sums, const int64_t* places, void* to, int64_t to_row, int64_t length,
                                 int64_t count, const void* bias);
using ConvLinesCall = void (*)(const void* sums, int64_t ld, void* to, int64_t to_row, int64_t places, int64_t count, const void* bias);
// A vector of an image, and where it goes in a row of a panel, in elements.
struct Piece {
  int64_t from, to;
};
using ConvGatherCall = void (*)(const void* image, const Offsets* table, int64_t k, const Piece* pieces, int64_t count,
                                void* panel, int64_t ld);
using ConvPlaneCall = void (*)(const void* x, int64_t x_row, const int64_t* shifts, const void* weights, int64_t taps, void* y,
                               int64_t y_row, int64_t rows, int64_t count, const void* bias);

using ConvDepthCall = void (*)(int64_t k, const void* x, int64_t x_step, const void* w, const Offsets* table, void* y,
                               int64_t y_step, int64_t places);
using ConvBiasCall = void (*)(void* y, int64_t y_row, int64_t rows, int64_t count, const void* bias);

constexpr int64_t kMostVectors = 4;
constexpr int64_t kMostPlaces = 14;
constexpr int64_t kMostTaps = 9;

struct ConvKernels {
  DType source = DType::F32, compute = DType::F32;
  int64_t lanes = 4;
  int64_t most_rows[kMostVectors] = {8, 8, 8, 8};  // of a tile, by its vectors
  ConvTileCall tile = nullptr;
  ConvDotsCall dots = nullptr;
  ConvRowsCall rows = nullptr;
  ConvStoreCall store = nullptr;
  ConvTurnCall turn = nullptr;
  ConvSpreadCall spread = nullptr;
  ConvCollectCall collect = nullptr;
  ConvLinesCall lines = nullptr;
  ConvGatherCall gather = nullptr;
  ConvPlaneCall plane = nullptr;
  ConvDepthCall depth = nullptr;
  ConvBiasCall bias = nullptr;
};

// For a floating-point dtype.
const ConvKernels& conv_kernels(DType dtype);
// Those that need no library: the oracle of the others.
ConvKernels portable_conv_kernels(DType dtype);

}  // namespace thixo
