// The micro-kernels that the driver of matrix products works with: shipped ones (codegen/llvm/contract*.py says
// what each does), or portable ones.
#pragma once
#include <cstdint>
#include "dtype.h"

namespace thixo {

using TileCall = void (*)(int64_t k, const void* a, int64_t a_row, int64_t a_k, const void* b, int64_t b_k, void* c,
                          int64_t ldc, int64_t rows, int64_t columns, int64_t add);
using CopyingTileCall = void (*)(int64_t k, const void* a, int64_t a_row, int64_t a_k, const void* b, int64_t b_k,
                                 void* c, int64_t ldc, int64_t rows, int64_t columns, int64_t add, void* panel);
using PackCall = void (*)(const void* source, int64_t stride, void* panel, int64_t k, int64_t count);
using PackAnyCall = void (*)(const void* source, int64_t stride, int64_t k_stride, void* panel, int64_t k, int64_t count,
                             int64_t width);
using FinishCall = void (*)(const void* tile, int64_t ld, void* c, int64_t ldc, int64_t rows, int64_t columns,
                            const void* bias);
using DotsCall = void (*)(int64_t k, const void* x, int64_t x_row, const void* w, int64_t w_row, void* y, int64_t y_row,
                          int64_t y_column, int64_t rows, int64_t count);
using AxpysCall = void (*)(int64_t k, const void* x, int64_t x_row, int64_t x_k, const void* b, int64_t b_k, void* y,
                           int64_t y_row, int64_t rows, int64_t count, int64_t add);

// Bits of `add` of a tile: its sums are added to C; what is negative then becomes 0. The other bits, where not all are 0, are how
// many bytes from C a matrix begins that lies as C does, and is added too.
constexpr int64_t kTileAdds = 1, kTileRelu = 2;

constexpr int64_t kAxpyRows = 4;
constexpr int64_t kRounded = 2;  // all of `add`, of tiles of pairs: these end in no other way
constexpr int64_t kMostTileBytes = 32 * 32 * 4;

// How panels are laid out and multiplied. A panel has units of `depth` consecutive k for each of its rows (columns):
// `depth` is 1 but for kernels whose instructions add up several products.
struct TileKernels {
  int64_t rows = 0, columns = 0;  // of a tile of C
  int64_t width = 0;              // of a panel of A, at least `rows`; those of B are `columns` wide
  int64_t lanes = 1;              // columns that a vector holds
  int64_t depth = 1, unit = 4;    // k in a unit, bytes of a unit
  int64_t block = 256;            // most k in one pass: panels stay in the nearest cache, if it can hold them
  bool whole = false;             // tiles are written whole, whatever rows and columns say; vectors always are where depth > 1
  // Where depth > 1: the tile may read rows of A in place, whose k it counts one by one, and, where `add` is kRounded, it rounds what it
  // made to where results lie.
  bool reads_rows = false;
  TileCall tile = nullptr;
  FinishCall finish_sums = nullptr;   // may be missing: rounds what this tile made, where no bias is added
  CopyingTileCall copying = nullptr;  // may be missing: the tile of a panel of A and whole rows of B, which it packs
  PackCall pack_a_along = nullptr, pack_a_across = nullptr, pack_b_along = nullptr, pack_b_across = nullptr;
  PackAnyCall pack_a_any = nullptr, pack_b_any = nullptr;
  void (*begin)() = nullptr;  // before and after the tiles of one thread
  void (*end)() = nullptr;
};

struct GemmKernels {
  DType source = DType::F32, compute = DType::F32;
  TileKernels tiles;
  TileKernels wide;   // may have no rows: fewer of them and one more vector, for A in place; panels of A as those of `tiles`
  TileKernels small;  // for products so small that tiles of instructions for a 16-bit dtype are not filled
  bool partial_rows_of_b = false;  // the tile may read B in place where fewer columns are left than a vector has
  FinishCall finish = nullptr;
  FinishCall finish_turned = nullptr;  // may be missing: of a product that was computed transposed
  DotsCall dots = nullptr;
  DotsCall dots_far = nullptr;  // may be missing: of a matrix that no near cache holds
  AxpysCall axpys = nullptr;
  bool portable = false;
};

// How bfloat16 is multiplied: in float32, by instructions for pairs, or for tiles; the last that the processor has.
enum class BFloatWay : uint8_t { Chosen, Converted, Pairs, Tiles };
void set_bfloat_way(BFloatWay way);  // false choices fall back; not while kernels run

// For a floating-point dtype.
const GemmKernels& gemm_kernels(DType dtype);
// Those that need no library: the oracle of the others.
GemmKernels portable_gemm_kernels(DType dtype);

}  // namespace thixo
