// The Python object around a native program, and the steps that need Python.
#pragma once
#include "../core/program_steps.h"
#include "operator.h"

#include <functional>

namespace thixo {

// Where a program looks for a constant, what is to be there, and whose tensor it is.
struct Constant {
  Port port;
  Ref<Tensor> tensor;
  bool fixed;  // nobody can change it
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
using IsFixed = std::function<bool(const Tensor&)>;  // whether a value never changes
std::unique_ptr<Step> prepare_product(const Operator& op, PyObject* const* slots, const Tensor& result, const IsFixed& is_fixed);
std::unique_ptr<Step> prepare_convolution(const Operator& op, PyObject* const* slots, const Tensor& result, const IsFixed& is_fixed);
std::unique_ptr<Step> prepare_pool(const Operator& op, PyObject* const* slots, const Tensor& result);
std::unique_ptr<Step> prepare_attention(const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results);
std::unique_ptr<Step> prepare_sum(const Operator& op, PyObject* const* slots, const Tensor& result);
// A row kernel as thixo.runtime.rows.about describes it.
std::unique_ptr<Step> prepare_row_kernel(PyObject* found, const Dims& sizes, const bool* reduced,
                                         const std::vector<KernelOperand>& operands);

// ---- what Python builds a program with; see program_build.cpp and program_flow.cpp
PyObject* make_value(PyObject* self, PyObject* args);
PyObject* add_inputs(PyObject* self, PyObject* tensors);
PyObject* add_output(PyObject* self, PyObject* args);
PyObject* add_constant(PyObject* self, PyObject* args);
PyObject* add_written(PyObject* self, PyObject* args);
PyObject* set_arena(PyObject* self, PyObject* args);
PyObject* set_names(PyObject* self, PyObject* args);
PyObject* add_operator(PyObject* self, PyObject* args);
PyObject* add_python(PyObject* self, PyObject* args);
PyObject* add_copy(PyObject* self, PyObject* args);
PyObject* add_copy_lines(PyObject* self, PyObject* args);
PyObject* add_replace_lines(PyObject* self, PyObject* args);
PyObject* add_kernel(PyObject* self, PyObject* args);
PyObject* add_product(PyObject* self, PyObject* args);
PyObject* add_call(PyObject* self, PyObject* args);
PyObject* add_switch(PyObject* self, PyObject* args);
PyObject* add_while(PyObject* self, PyObject* args);
PyObject* add_scan(PyObject* self, PyObject* args);
PyObject* set_scanned(PyObject* self, PyObject* args);
PyObject* take_stacked(PyObject* self, PyObject* args);
PyObject* set_flow(PyObject* self, PyObject* args);
PyObject* set_sections(PyObject* self, PyObject* args);

// ---- shared by these files
Tensor* value_of(PyObject* o);                 // fails where it is no value of a program
void hold(ProgramObject* self, PyObject* o);   // as long as the program lives
Port port_of(const Tensor& t);
void add_step(ProgramObject* self, std::unique_ptr<Step> step, int node, double seconds);
std::vector<Tensor*> values_of(ProgramObject* self, PyObject* tuple);  // null for None
std::vector<Place> places_of(ProgramObject* self, PyObject* tuple);
Place place_from(ProgramObject* self, PyObject* o);  // of a value, or of nothing for None
size_t bytes_of(const Tensor& t);

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
