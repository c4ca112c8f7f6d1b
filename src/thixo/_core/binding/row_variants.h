// Operators that say how a row is computed: what a call of one is, and the kernel that is made for it.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../core/rows.h"
#include "operator.h"

namespace thixo {

struct RowVariant {
  std::string key;
  bool there = false;
  RowKernel kernel;
  int tensors = 0, numbers = 0;
  Object made;             // the Python Kernel, to compile it for a layout
  RowLoop loops[2] = {};
  bool tried[2] = {};
  RowSplit split[2];  // by layout
  bool split_tried[2] = {};
};

// How the result's type follows from the input's, where that is simple enough to be known here.
enum class RowType : uint8_t { Asked, Same, Float, Sum, Truth, Index };

// What an operator's rule said of its results, for arguments that were here lately: the same shapes, dtypes and numbers.
struct RowAnswer {
  std::string key;
  Object specs;
};

struct RowTable {
  static constexpr int kAnswers = 8;
  RowAnswer answers[kAnswers];
  int next_answer = 0;
  std::vector<int> params, fixed;
  int dim = -1, dtype = -1, keepdim = -1, positions = -1, ignored = -1;
  RowType type = RowType::Asked;
  Object axes, check;
  bool is_fixed(int param) const { return std::find(fixed.begin(), fixed.end(), param) != fixed.end(); }
  std::vector<std::unique_ptr<RowVariant>> variants;
};

struct RowCall {
  const Operator& op;
  RowTable& table;
  PyObject* const* slots;
  SmallVector<Ref<Tensor>, 4> tensors;
  SmallVector<RowView, 4> views;
  SmallVector<double, 4> numbers;
  Dims sizes;
  bool reduced[kMaxDims];

  // Read the arguments; false where they cannot be read here. `ask`: also Python, for the axes.
  bool gather(bool ask);
  // One for each kind of arguments, and what the kernel is made from.
  void describe(std::string& key, Object* arguments);
};

struct RowOutcome {
  DType dtype;
  Dims shape;
  bool shaped = false;  // else as the kernel makes it
};
using RowOutcomes = SmallVector<RowOutcome, 4>;

// What an operand has of the rows: by its own sizes, seen from those of all.
RowView view_of(const Tensor& t, const Dims& sizes, const bool* reduced);
const char* name_of(RowView view);

RowTable& row_table(const Operator& op);
// From what thixo.runtime.rows says of a kernel; false: it has too many operands.
bool fill_row_variant(RowVariant& made, PyObject* found);
RowVariant& row_variant(RowCall& call, const std::string& key, const RowOutcomes& outcomes);
RowLoop row_loop(RowVariant& v, RowLayout layout);
// Null where the kernel cannot be cut.
const RowSplit* row_split(RowVariant& v, RowLayout layout);

}  // namespace thixo
