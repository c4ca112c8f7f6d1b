// Special functions for kernels that run on NumPy arrays.
#include "../core/special.h"

#include "python.h"

namespace thixo {

namespace {

// Arrays of one float dtype and one shape, and a fresh result like them.
struct Operands {
  std::vector<Ref<Tensor>> inputs;
  Ref<Tensor> result;
};

Operands operands(const char* name, PyObject* const* arrays, int count) {
  Operands o;
  for (int i = 0; i < count; ++i) {
    Object array = Object::own(PyArray_FromAny(arrays[i], nullptr, 0, 0, 0, nullptr));
    o.inputs.push_back(from_ndarray(array.get()));
    const Tensor &t = *o.inputs.back(), &first = *o.inputs[0];
    if (!is_floating(t.dtype)) raise(ErrorKind::DType, std::string(name) + ": floating-point arrays are needed, got " + describe(t));
    if (t.dtype != first.dtype || !(t.sizes == first.sizes))
      raise(ErrorKind::Shape, std::string(name) + ": arrays must be alike, got " + describe(first) + " and " + describe(t));
  }
  o.result = empty(o.inputs[0]->sizes, o.inputs[0]->dtype);
  return o;
}

// special1(name, array) -> array
PyObject* special1(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject* x;
    if (!PyArg_ParseTuple(args, "sO", &name, &x)) throw PythonError();
    Unary f = find_special1(name);
    if (!f) raise(ErrorKind::Argument, std::string("there is no special function of one argument called ") + name);
    Operands o = operands(name, &x, 1);
    Dims a, b;
    Array to = as_array(*o.result, a), from = as_array(*o.inputs[0], b);
    {
      WithoutGil free(o.result->numel >= kLongWork / 16);
      map_special1(f, to, from);
    }
    return to_ndarray(o.result);
  });
}

// special2(name, array, array) -> array
PyObject* special2(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject* arrays[2];
    if (!PyArg_ParseTuple(args, "sOO", &name, &arrays[0], &arrays[1])) throw PythonError();
    Binary f = find_special2(name);
    if (!f) raise(ErrorKind::Argument, std::string("there is no special function of two arguments called ") + name);
    Operands o = operands(name, arrays, 2);
    Dims a, b, c;
    Array to = as_array(*o.result, a), x = as_array(*o.inputs[0], b), y = as_array(*o.inputs[1], c);
    {
      WithoutGil free(o.result->numel >= kLongWork / 16);
      map_special2(f, to, x, y);
    }
    return to_ndarray(o.result);
  });
}

PyMethodDef functions[] = {{"special1", special1, METH_VARARGS, "special1(name, array): a special function of each element."},
                           {"special2", special2, METH_VARARGS, "special2(name, array, array)"},
                           {}};

}  // namespace

int add_special(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace thixo
