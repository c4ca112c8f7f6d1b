// What a compiled function does when nothing has changed: look whether that is so, and run its program.
#pragma once
#include "operator.h"

namespace thixo {

// What was assumed of Python's state, as places in memory and what was there. It holds as long as all of it is the same;
// where it is not, Python looks again, since a new object may be equal to the old one.
class Watch {
 public:
  explicit Watch(PyObject* spec);  // a dict of lists; see capture/compile_quick.py
  bool holds();
  int visit(visitproc visit, void* arg) const;

 private:
  struct Entry {
    Object key, value;  // value: null where there must be none
  };
  struct Dict {
    Object dict;
    uint64_t version;
    Object keys;  // null, or all its keys: their order counts too
    std::vector<Entry> entries;
  };
  struct List {
    Object list;
    std::vector<Object> items;
  };
  struct Function {
    Object function, code, defaults, named;
  };
  struct Class {
    Object object, type;
  };
  struct Version {
    Object type;
    unsigned int version;
  };
  struct Gradient {
    Object tensor, grad;  // grad: null where there must be none
  };
  struct Kind {
    Object tensor;
    DType dtype;
    Dims sizes;
  };
  std::vector<Dict> dicts_;
  std::vector<Entry> cells_;  // a cell and what it holds
  std::vector<List> lists_;
  std::vector<Function> functions_;
  std::vector<Class> classes_;
  std::vector<Version> types_;
  std::vector<Gradient> gradients_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<Object>> counts_;  // tensors of one element that are equal
  bool holds(Dict& one);
  bool holds_of_tensors() const;
};

// What a call changes and returns after its program has run: gradients, counts, attributes; tensors and numbers.
class After {
 public:
  After() = default;
  After(PyObject* changes, PyObject* result);  // a list and a value: see capture/compile_after.py
  // The result; everything is changed. Null with an exception where that failed.
  Object finish(PyObject* made, PyObject* const* given) const;
  int visit(visitproc visit, void* arg) const;

 private:
  enum class What : uint8_t { Constant, Tensor, Number, Made, List, Tuple, Dict };
  struct Value {
    What what;
    int place;     // >= 0: of the program; -1 - i: input i
    Object object; // a constant, the type of a number, what makes something of a tensor, the keys of a dict
    bool shaped;
    Dims sizes;   // that a result gets, where it is another one than the program's
    std::vector<Value> parts;  // of a container
  };
  enum class How : uint8_t { Gradient, Count, Entry, Variable };
  struct Change {
    How how;
    Object owner, key;
    int place;  // of the owner among the inputs; -1: it is `owner`
    Value value;
  };
  std::vector<Change> changes_;
  Value result_{};
  static Value value_of(PyObject* spec);
  static Object make(const Value& value, PyObject* made, PyObject* const* given);
  static Object container(const Value& value, PyObject* made, PyObject* const* given);
  static int visit(const Value& value, visitproc visit, void* arg);
};

// A graph on the tape, forward and backward by native programs: made by capture/compile_quick.py.
extern PyTypeObject* graph_plan_type;
// The forward program's results, as results of a new node of the tape. Null with an exception where it failed.
PyObject* run_recorded(PyObject* plan, PyObject* program, PyObject* const* args, size_t count);
int add_graph_plans(PyObject* module);

// ---- programs, as their callers see them (program.cpp)
bool program_usable(PyObject* program, PyObject* const* args, size_t count);
PyObject* program_run(PyObject* program, PyObject* const* args, size_t count);  // a list, or null with an exception

}  // namespace thixo
