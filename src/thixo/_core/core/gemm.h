// Products of matrices: C = A B (+ bias), for any strides and every dtype but bool, batched.
//
// Each element of C is the same chain of additions whatever the number of threads: threads share out parts of C,
// never of K. float16 and bfloat16 add up in float32 and are rounded once; integers wrap.
#pragma once
#include <cstdint>
#include <memory>
#include "dims.h"
#include "dtype.h"

namespace thixo {

// Called on a finished part of C, while it is in the cache: rows [row, row + rows), columns [column, column + columns).
struct Epilogue {
  void (*apply)(void* part, int64_t row_stride, int64_t column_stride, int64_t row, int64_t rows, int64_t column,
                int64_t columns, void* context);
  void* context;
  // May be missing: asks for what `apply` will read beside that part, while it is computed.
  void (*fetch)(int64_t row, int64_t rows, int64_t column, int64_t columns, void* context) = nullptr;
  // Whether `apply` only adds a matrix that lies as C does, if there is one, and then makes what is negative 0, if `relu`:
  // tiles of floats do that in registers.
  bool simple = false, adds = false, relu = false;
  const void* added = nullptr;
};

// A matrix B that never changes, as panels that the kernels read; see pack_matrix.
struct PackedMatrix {
  char* data = nullptr;
  size_t bytes = 0;
  int64_t columns = 0, pass = 0;  // of a panel
  PackedMatrix() = default;
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;
  ~PackedMatrix();
};

// Strides are in elements, of any sign; those of a and b may be 0.
struct Product {
  DType dtype = DType::F32;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t a_row = 0, a_k = 0;
  const void* b = nullptr;
  int64_t b_k = 0, b_n = 0;
  void* c = nullptr;
  int64_t c_row = 0, c_n = 1;
  const void* bias = nullptr;  // one for each column, or for all
  int64_t bias_n = 0;
  Epilogue epilogue{nullptr, nullptr};
  const PackedMatrix* packed = nullptr;  // b once more, or null
  bool c_elsewhere = false;              // another core read or wrote C last
  bool b_far = false;                    // no near cache has B: one of many in a batch
  bool c_far = false;                    // nor C
};

void gemm(const Product& product);
// Operations of a product, and what its elements take in terms of them; from so much on, waking another thread pays.
double work_of(const Product& product);
constexpr double kWorkForThreads = 1e6;
// The B of a product, for many such products; null where it is read as it is.
std::shared_ptr<const PackedMatrix> pack_matrix(const Product& product);

// Whether a batch of products is one product of all their rows.
bool joins_rows(const Product& product, const Dims& sizes, const Dims& a_strides, const Dims& b_strides);

// The same for each index of a batch of these sizes, whose results lie m * n apart in c; strides as above.
void gemm_batch(const Product& product, const Dims& sizes, const Dims& a_strides, const Dims& b_strides);

// How a product of floats is computed; tests and benchmarks may overrule the choice.
// Direct: both matrices from where they are. HalfPacked: A from where it is, B packed. Thin: see gemm_plans.cpp.
enum class GemmPlan : uint8_t { Chosen, Direct, Thin, HalfPacked, Packed };
void set_gemm_plan(GemmPlan plan);
GemmPlan gemm_plan();

}  // namespace thixo
