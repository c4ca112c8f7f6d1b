// x[index]: what is one view, and what index tensors pick.
#pragma once
#include "python.h"

namespace thixo {

extern thread_local bool tracing;  // then even what is concrete may belong to the graph

inline bool is_basic_item(PyObject* o) {
  return PyLong_CheckExact(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis;
}
bool is_basic(PyObject* index);  // integers, slices, None and Ellipsis only
// The view of a basic index in one step; false if the general path must do it.
bool basic_view(const Ref<Tensor>& t, PyObject* index, Ref<Tensor>& out, const char* operation = "index");

bool read_by_tensors(PyObject* self, PyObject* index, Object& result);
bool write_by_index(PyObject* self, PyObject* index, PyObject* value);

}  // namespace thixo
