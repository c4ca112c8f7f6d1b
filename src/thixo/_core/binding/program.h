// The Python object around a native program, and the steps that need Python.
#pragma once
#include "../core/program_steps.h"
#include "operator.h"

namespace thixo {

// Where a program looks for a constant, what is to be there, and whose tensor it is.
struct Constant {
  Port port;
  Ref<Tensor> tensor;
};

struct ProgramObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Program* program;    // owned
  PyObject* keep;      // a list: what steps point to
  PyObject* fallback;  // (inputs...) -> results: for inputs of another kind, or while it runs
  PyObject* finisher;  // (results or None) -> results, where there are values whose sizes the data decide; or null
  std::vector<Constant>* constants;  // those of inner programs too
  std::vector<size_t>* written;      // inputs that it changes
  bool busy, poisoned;
  int64_t high_water;  // of the arena in the last run, where it was poisoned
};

ProgramObject* program_of(PyObject* o);  // fails where it is none
extern PyTypeObject* program_type;

// An operator's call on values of a program as a step without Python; null: not this case.
std::unique_ptr<Step> prepare_pointwise(const Operator& op, PyObject* const* slots, const Tensor& result);
std::unique_ptr<Step> prepare_rows(const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results);
std::unique_ptr<Step> prepare_product(const Operator& op, PyObject* const* slots, const Tensor& result);
std::unique_ptr<Step> prepare_sum(const Operator& op, PyObject* const* slots, const Tensor& result);
// A row kernel as thixo.runtime.rows.about describes it.
std::unique_ptr<Step> prepare_row_kernel(PyObject* found, const Dims& sizes, const bool* reduced,
                                         const std::vector<KernelOperand>& operands);

// An operator by its eager implementation, with its arguments bound once.
struct OperatorStep final : Step {
  const Operator* op;
  std::vector<PyObject*> slots;   // borrowed
  std::vector<Tensor*> inputs;    // those in the arguments
  std::vector<Tensor*> results;   // where they go
  std::vector<int> skip;          // how many storages of a result's size the operator makes before it
  void run() override;
};

// A Python function that gives the values of the results.
struct PythonStep final : Step {
  PyObject* function;            // borrowed
  std::vector<Tensor*> results;  // null: the function keeps it itself
  void run() override;
};

}  // namespace thixo
