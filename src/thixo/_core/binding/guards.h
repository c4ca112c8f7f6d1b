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
    bool whole;  // any change counts
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
  std::vector<Dict> dicts_;
  std::vector<Entry> cells_;  // a cell and what it holds
  std::vector<List> lists_;
  std::vector<Function> functions_;
  std::vector<Class> classes_;
  std::vector<Version> types_;
  bool holds(Dict& one);
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
