// The steps of programs that need no Python: kernels over planned memory, copies, products, control flow.
#pragma once
#include "attention.h"
#include "conv.h"
#include "gemm.h"
#include "kernels.h"
#include "pool.h"
#include "program.h"
#include "rows.h"

namespace thixo {

// to = from, of one shape; dtypes and strides may differ.
struct CopyStep final : Step {
  Place to, from;
  DType to_dtype, from_dtype;
  Dims sizes, to_strides, from_strides;  // in bytes
  size_t plain = 0;                      // bytes, where both are alike and contiguous
  CopyStep(const Tensor& to, const Tensor& from);
  void run() override;
};

// The lines of one axis that an index names, from one array to another of the same shape and dtype.
struct LinesStep final : Step {
  LinesStep(const Tensor& to, const Tensor& from, int axis, const Tensor& index);
  void run() override;

 private:
  Place to_, from_, index_;
  DType dtype_;
  Dims sizes_, to_strides_, from_strides_;              // of a line; in bytes
  int64_t size_, to_line_, from_line_, count_, stride_;  // of the axis; of the index
};

// Lines of one axis that an index names get new values, in place; `saved` has room for what was there, should a later step
// of the same run fail.
struct ReplaceStep final : Undoable {
  ReplaceStep(const Tensor& to, int axis, const Tensor& index, const Tensor& source, const Tensor& saved);
  void run() override;
  void undo() override;

 private:
  Place to_, index_, source_, saved_;
  DType dtype_;
  int axis_;
  Dims sizes_, to_strides_, source_strides_, saved_strides_;                  // of a line; in bytes
  int64_t size_, to_line_, source_line_, saved_line_, stride_;                // of the axis; of the index
  std::vector<int64_t> lines_;  // of this run: the index may be gone when it is undone
  void copy_line(const Place& to, const Dims& to_strides, int64_t to_offset, const Place& from, const Dims& from_strides,
                 int64_t from_offset) const;
};

// ---- kernels

struct KernelOperand {
  Place place;  // without a storage: it is a number, `element`
  DType dtype = DType::F32;
  Dims strides;  // in bytes, for each axis of the iteration space
  alignas(16) char element[16] = {};
};

// A pointwise kernel; the last operands are its results.
struct PointwiseStep final : Step {
  PointwiseStep(Loop loop, int64_t grain, bool in_lines, const Dims& sizes, const std::vector<KernelOperand>& operands, int results);
  ~PointwiseStep() override;
  void run() override;
  bool cut(int64_t rows, std::vector<Reach>& reaches) const override;
  void run_part(int64_t from, int64_t to, int64_t rows) override;

 private:
  Loop loop_;
  int64_t grain_, total_ = 0;
  int results_;
  int64_t how_;  // part of the number of elements: see unaided
  std::vector<Place> places_;
  std::vector<int64_t> strides_;  // where one call of the loop is all
  std::unique_ptr<struct Nest> nest_;  // else
  std::vector<Ref<Storage>> numbers_;
};

// A row kernel; who made it sets `loop`, or `split`, after it has seen `nest`.
struct RowsStep final : Step {
  RowsStep(const RowKernel& kernel, const Dims& sizes, const bool* reduced, const std::vector<KernelOperand>& operands);
  void run() override;
  RowKernel kernel;
  std::unique_ptr<RowNest> nest;  // null: there is nothing to compute
  RowLoop loop;
  RowSplit split;
  void add_needs(Needs& needs) const override;
  void settle();  // `loop` or `split` are known

 private:
  std::vector<Place> places_;
  std::vector<int64_t> strides_;
  std::vector<Ref<Storage>> numbers_;
  Ref<Storage> scratch_;
  int64_t rows_ = 0, segments_ = 0, columns_ = 0;
  bool direct_ = false;
};

struct SumStep final : Step {
  Place from, to;
  DType from_dtype, to_dtype;
  Dims sizes, from_strides, kept_sizes, to_strides;  // in bytes
  bool reduced[kMaxDims] = {};
  void run() override {
    sum({to.at(), to_dtype, sizes.size(), kept_sizes.data(), to_strides.data()},
        {from.at(), from_dtype, sizes.size(), sizes.data(), from_strides.data()}, reduced);
  }
};

// A pointwise kernel on parts of a product's result, while they are in the cache. Its operands lie in rows and columns as
// that result does, or repeat; it writes over the result.
struct EndKernel {
  Loop loop = nullptr;
  std::vector<Place> places;
  std::vector<int64_t> row, column;  // strides, in bytes
  std::vector<Ref<Storage>> numbers;
  bool simple = false, relu = false;  // see Epilogue
  int added = -1;                     // the operand that is added to the result
  // Where the operands of a run are, from some row on: what the epilogue of a product gets.
  struct Run {
    const EndKernel* kernel = nullptr;
    char* data[16] = {};
    void at(int64_t first);
    Epilogue epilogue();  // after `at`
  };
  // Null where operands lie otherwise: over `sizes`, of which the last are the columns.
  static std::unique_ptr<EndKernel> of(Loop loop, const Dims& sizes, const std::vector<KernelOperand>& operands, int64_t columns);
  // It adds this operand to the product, or -1 for none, and then makes what is negative 0, if `relu`.
  void set_simple(int operand, bool with_relu, const std::vector<KernelOperand>& operands);
};

struct ProductStep final : Step {
  Product product;
  Dims batch, a_strides, b_strides;
  Place a, b, c, bias;
  bool fixed = false;  // B never changes: it is packed by the first run
  std::shared_ptr<const PackedMatrix> packed;
  std::unique_ptr<EndKernel> end;  // may be missing
  EndKernel::Run end_run;
  bool add_end(std::unique_ptr<EndKernel> given);  // false where parts of the result are not parts of one matrix
  void run() override;
  void add_needs(Needs& needs) const override;
  bool cut(int64_t rows, std::vector<Reach>& reaches) const override;
  void run_part(int64_t from, int64_t to, int64_t rows) override;

 private:
  Product whole() const;  // all of a batch
};

struct ConvolutionStep final : Step {
  enum class Kind : uint8_t { Forward, Input, Weight };  // which of the three is made
  Kind kind = Kind::Forward;
  Convolution convolution;
  Place x, w, bias, y;
  Place more;              // what is added to y, and whether it has its channels side by side
  bool more_last = false, relu = false;
  bool fixed = false;  // the weight never changes: it is packed by the first run
  std::shared_ptr<const PackedWeight> packed;
  void run() override;
  void add_needs(Needs& needs) const override;
};

// The largest values of windows; with `channels`, so many lie side by side.
struct PoolStep final : Step {
  Pooling pooling;
  int64_t channels = 0;
  Place x, y;
  void run() override {
    if (channels) max_pool_values_last(pooling, channels, x.at(), y.at());
    else max_pool_values(pooling, x.at(), y.at());
  }
  void add_needs(Needs& needs) const override;
};

// The way there, or with `back` the gradient.
struct AttentionStep final : Step {
  Attention attention;
  AttentionGradients gradients;
  AttentionRows rows;
  Loop back = nullptr;
  Place q, k, v, mask, y, logsumexp, g, to_q, to_k, to_v;
  void run() override;
  void add_needs(Needs& needs) const override;
};

// ---- control flow

struct CallStep final : Step {
  Inner inner;
  void run() override { inner.run(); }
  void add_needs(Needs& needs) const override { inner.program->add_needs(needs); }
};

// One of several: the last one where the index is none of them. A bool counts as "is it false".
struct SwitchStep final : Step {
  Place index;
  bool is_bool = false;
  std::vector<Inner> branches;
  void run() override;
  void add_needs(Needs& needs) const override {
    for (const Inner& branch : branches) branch.program->add_needs(needs);
  }
};

// A value that goes from turn to turn: where it begins, where it ends, and a second place for every other turn.
struct Carried {
  Place first, last, other;
  size_t bytes = 0;
};

// Rows that are stacked along a new first axis, one for each turn.
struct Stacked {
  size_t bytes = 0;      // of a row
  Place whole;           // of a scan: where all rows are
  Ref<Storage> grown;    // of a while loop: as many as there were turns, and some room
  int64_t turns = 0;
};

struct WhileStep final : Step {
  Ref<Program> test, body;
  Place test_arena, body_arena, verdict;
  std::vector<Carried> state;
  std::vector<Place> captured;
  std::vector<Stacked> stacked;
  int64_t limit = -1;
  int64_t turns = 0;  // of the last run
  void run() override;
  void add_needs(Needs& needs) const override {
    test->add_needs(needs);
    body->add_needs(needs);
  }
};

struct Slice {
  Place from;
  int64_t stride = 0;  // bytes
};

struct ScanStep final : Step {
  Ref<Program> body;
  Place arena;
  std::vector<Carried> state;
  std::vector<Slice> slices;
  std::vector<Place> captured;
  std::vector<Stacked> stacked;
  int64_t length = 0;
  bool reverse = false;
  void run() override;
  void add_needs(Needs& needs) const override { body->add_needs(needs); }
};

}  // namespace thixo
