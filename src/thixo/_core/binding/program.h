// The Python object around a native program, and the steps that need Python.
#pragma once
#include "../core/program_steps.h"
#include "operator.h"

namespace thixo {

struct ProgramObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Program* program;    // owned
  PyObject* keep;      // a list: what steps point to
  PyObject* fallback;  // (inputs...) -> results: for inputs of another kind, or while it runs
  PyObject* finisher;  // (results or None) -> results, where there are values whose sizes the data decide; or null
  std::vector<std::pair<Ref<Storage>, Ref<Tensor>>>* constants;  // where the program looks, and what is there
  bool busy, poisoned;
  int64_t high_water;  // of the arena in the last run, where it was poisoned
};

ProgramObject* program_of(PyObject* o);  // fails where it is none
extern PyTypeObject* program_type;

// An operator by its eager implementation, with its arguments bound once.
struct OperatorStep final : Step {
  const Operator* op;
  std::vector<PyObject*> slots;   // borrowed
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
