// What a compiled function changes and returns after its program has run, without Python.
#include "guards.h"

namespace thixo {

namespace {

PyObject* part(PyObject* tuple, Py_ssize_t i) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) <= i) raise(ErrorKind::Argument, "guards: a tuple is too short");
  return PyTuple_GET_ITEM(tuple, i);
}

void set_gradient(PyObject* owner, PyObject* value) {
  Tensor& t = *tensor_of(owner);
  if (value == Py_None) {
    if (t.autograd) t.autograd->grad = nullptr;
    return;
  }
  if (!is_tensor(value)) raise(ErrorKind::Internal, "guards: a gradient is no tensor");
  const Tensor& g = *tensor_of(value);
  if (&g == &t || !(g.sizes == t.sizes) || g.dtype != t.dtype)
    raise(ErrorKind::Shape, "grad must be like its tensor: got " + describe(g) + " for " + describe(t));
  t.grad_state().grad = ref_of(value);
}

void count_one(PyObject* owner) {
  Tensor& t = *tensor_of(owner);
  if (!t.storage->writable) raise(ErrorKind::Inplace, "a count of steps cannot be written");
  char* data = t.data();
  if (t.dtype == DType::F32) *reinterpret_cast<float*>(data) += 1;
  else *reinterpret_cast<double*>(data) += 1;
  ++t.storage->version;
}

}  // namespace

// (what, place, object, sizes or None); what: "constant", "tensor", "number", "made"
After::Value After::value_of(PyObject* spec) {
  const char* what;
  int place;
  PyObject *object, *sizes;
  if (!PyArg_ParseTuple(spec, "siOO", &what, &place, &object, &sizes)) throw PythonError();
  Value value{*what == 'c' ? What::Constant : *what == 't' ? What::Tensor : *what == 'n' ? What::Number : What::Made, place, Object::borrow(object), false, {}};
  if (PyTuple_Check(sizes)) {
    value.shaped = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) value.sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
  }
  if (PyErr_Occurred()) throw PythonError();
  return value;
}

After::After(PyObject* changes, PyObject* result) {
  if (!PyList_Check(changes) || !PyList_Check(part(result, 1))) raise(ErrorKind::Argument, "guards: lists are needed");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(changes); ++i) {  // (how, owner, key, value)
    PyObject* one = PyList_GET_ITEM(changes, i);
    const char* how = PyUnicode_AsUTF8(part(one, 0));
    if (!how) throw PythonError();
    const How kind = *how == 'g' ? How::Gradient : *how == 'c' ? How::Count : How::Entry;
    PyObject* owner = part(one, 1);
    if (kind == How::Entry ? !PyDict_Check(owner) : !is_tensor(owner)) raise(ErrorKind::Argument, "guards: a change of something else");
    if (kind == How::Count && tensor_of(owner)->dtype != DType::F32 && tensor_of(owner)->dtype != DType::F64)
      raise(ErrorKind::Argument, "guards: a count of another dtype");
    changes_.push_back({kind, Object::borrow(owner), Object::borrow(part(one, 2)), value_of(part(one, 3))});
  }
  tuple_ = part(result, 0) == Py_True;
  PyObject* values = part(result, 1);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); ++i) result_.push_back(value_of(PyList_GET_ITEM(values, i)));
  if (!tuple_ && result_.size() != 1) raise(ErrorKind::Argument, "guards: one result is needed");
}

Object After::make(const Value& value, PyObject* made, PyObject* const* given) {
  if (value.what == What::Constant) return value.object;
  PyObject* tensor = value.place >= 0 ? PyList_GET_ITEM(made, value.place) : given[-1 - value.place];
  if (value.what == What::Number) {
    Tensor& t = *tensor_of(tensor);
    if (t.numel != 1) raise(ErrorKind::Internal, "guards: a number has more than one element");
    Object number = Object::own(load_element(t.read(), t.dtype));
    if (reinterpret_cast<PyObject*>(Py_TYPE(number.get())) == value.object.get()) return number;
    return Object::own(call_python_with(value.object.get(), number.get()));
  }
  if (value.shaped) {
    Tensor& t = *tensor_of(tensor);
    if (!t.is_contiguous()) raise(ErrorKind::Internal, "guards: a result has gaps");
    t.sizes = value.sizes;
    t.strides = contiguous_strides(t.sizes);
  }
  if (value.what == What::Made) return Object::own(call_python_with(value.object.get(), tensor));
  return Object::borrow(tensor);
}

Object After::finish(PyObject* made, PyObject* const* given) const {
  SmallVector<Object, 8> values;  // all are made before anything is changed
  for (const Change& one : changes_) values.push_back(make(one.value, made, given));
  Object result;
  if (tuple_) {
    result = Object::own(PyTuple_New(Py_ssize_t(result_.size())));
    for (size_t i = 0; i < result_.size(); ++i) PyTuple_SET_ITEM(result.get(), Py_ssize_t(i), make(result_[i], made, given).give());
  } else {
    result = make(result_[0], made, given);
  }
  for (size_t i = 0; i < changes_.size(); ++i) {
    const Change& one = changes_[i];
    switch (one.how) {
      case How::Gradient:
        set_gradient(one.owner.get(), values[i].get());
        break;
      case How::Count:
        count_one(one.owner.get());
        break;
      case How::Entry:
        if (PyDict_SetItem(one.owner.get(), one.key.get(), values[i].get()) < 0) throw PythonError();
    }
  }
  return result;
}

int After::visit(visitproc visit, void* arg) const {
  for (const Change& one : changes_) {
    Py_VISIT(one.owner.get());
    Py_VISIT(one.key.get());
    Py_VISIT(one.value.object.get());
  }
  for (const Value& one : result_) Py_VISIT(one.object.get());
  return 0;
}

}  // namespace thixo
