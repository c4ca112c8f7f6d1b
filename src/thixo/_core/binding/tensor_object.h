// The Python type Tensor, in two files: what it is (tensor_object), what syntax does with it (tensor_protocols).
#pragma once
#include <vector>

#include "python.h"

namespace thixo {

PyTypeObject* make_tensor_type(PyObject* module);
void append_protocols(std::vector<PyType_Slot>& slots);
PyObject* subscript(PyObject* self, PyObject* index);
int assign_subscript(PyObject* self, PyObject* index, PyObject* value);

}  // namespace thixo
