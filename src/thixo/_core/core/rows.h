// Row kernels: generated code that runs over rows and, once or several times, along each row. Here is what a row
// is: of an array's dimensions some are marked; each choice of the others is a row, and the marked ones are its places.
#pragma once
#include <cstdint>

#include "array.h"
#include "cpu.h"

namespace thixo {

constexpr int kMaxRowOperands = 16;

// How an operand is seen: an element for each place, for each row, for each place along the row, or one.
enum class RowView : uint8_t { Full, Row, Column, One };
// Lanes along the row, or across rows. See codegen/llvm/rows.py and rows_across.py for what each expects of strides.
enum class RowLayout : uint8_t { Along, Across };

// Part of what a kernel is told of memory: its results are too large for a cache (codegen/llvm/rows_past_cache.py).
constexpr int64_t kPastCache = int64_t{1} << 62;

// A generated function. Strides in bytes, three for each operand: from row to row, from segment to segment, from place
// to place. `first`: the number of the first place, where a kernel that reduces nothing is given some places of the rows
// (lanes across rows only).
struct RowLoop {
  void (*address)(char* const* pointers, const int64_t* strides, int64_t rows, int64_t segments, int64_t columns,
                  char* scratch, int64_t fetches, int64_t first) = nullptr;

  explicit operator bool() const { return address; }
  void operator()(char* const* pointers, const int64_t* strides, int64_t rows, int64_t segments, int64_t columns,
                  char* scratch, int64_t first = 0, bool past_cache = false) const {
    // AMD's processors foresee what comes next, and what asks for it besides gets in their way: sums took 1.3 times as long.
    const int64_t fetches = !cpu_features().amd ? -1 : past_cache ? kPastCache : 0;
    address(pointers, strides, rows, segments, columns, scratch, fetches, first);
  }
};

struct RowKernel {
  int count = 0;  // of operands
  RowView view[kMaxRowOperands];
  bool written[kMaxRowOperands];
  DType dtype[kMaxRowOperands];
  int slots = 0;         // scratch: lines of 8 bytes for each place
  int width = 1;         // rows that lanes across rows take at a time
  bool ordered = false;  // it asks for the position along the row
  bool loose = false;    // it reduces nothing, and does not ask how long rows are: places may be cut anywhere
  int64_t grain = 16384;  // elements that are worth a thread
};

struct RowOperand {
  char* data;
  const int64_t* strides;  // bytes, for each dimension; 0 where it does not vary
};

// The loop nest that a kernel runs in.
struct RowNest {
  RowLayout layout;
  int outer = 0;  // kept dimensions outside of the rows, outermost first
  int64_t outer_total = 1, rows = 1, segments = 1, columns = 1;
  int64_t sizes[kMaxDims];
  int64_t outer_strides[kMaxDims][kMaxRowOperands];
  int64_t strides[3 * kMaxRowOperands];
  char* data[kMaxRowOperands];
  bool packed[kMaxRowOperands];  // it must be copied into another order first (and back, if written)
  // For the copies: the operand's own strides over outer, rows, segments, columns; `parts` has the last ones'
  // dimensions where there are more than the kernel takes.
  int ndim = 0;
  int64_t pack_sizes[kMaxDims];
  int64_t pack_strides[kMaxDims][kMaxRowOperands];
};

// False if there is nothing to compute.
bool plan_rows(RowNest& nest, const RowKernel& kernel, const RowOperand* operands, int ndim, const int64_t* sizes,
               const bool* reduced);
// Few long rows are cut into blocks, where a kernel allows it: `partial` reduces each, `combine` (lanes along the row)
// joins them. It takes the blocks' parts, the operands `passed`, the length of the whole row, the results.
struct RowSplit {
  RowLoop partial, combine;
  int parts = 0, passed_count = 0;
  int part_item[kMaxRowOperands];
  int passed[kMaxRowOperands];
};
// Whether to: a matter of sizes alone, so that results do not depend on the threads.
bool wants_split(const RowNest& nest, const RowKernel& kernel);
void run_split(const RowNest& nest, const RowKernel& kernel, const RowSplit& split);

// Bytes that the kernel's loop wants beside its operands, on each thread.
size_t row_scratch(const RowNest& nest, const RowKernel& kernel);

// On the thread pool when large. A row's result does not depend on the threads.
void run_rows(const RowNest& nest, const RowKernel& kernel, RowLoop loop);

}  // namespace thixo
