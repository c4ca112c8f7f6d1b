// The profiler's view of operator calls.
#pragma once
#include "../core/profiler.h"
#include "operator.h"

namespace thixo {

// One event from here to the end of the block, if a profiler runs.
class ProfiledCall {
 public:
  ProfiledCall(const Operator& op, PyObject* const* args) {
    if (is_profiling()) [[unlikely]] begin(op, args);
  }
  ProfiledCall(const char* name, PyObject* tensor) {
    if (is_profiling()) [[unlikely]] begin(name, tensor);
  }

 private:
  void begin(const Operator& op, PyObject* const* args);
  void begin(const char* name, PyObject* tensor);
  ProfilerScope scope_;
};

int add_profiler(PyObject* module);

}  // namespace thixo
