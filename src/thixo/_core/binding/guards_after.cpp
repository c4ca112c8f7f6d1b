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

// (what, place, object, sizes or None); what: "constant", "tensor", "number", "made"; or, of a container, (what, values, keys)
After::Value After::value_of(PyObject* spec) {
  const char* text = PyUnicode_AsUTF8(part(spec, 0));
  if (!text) throw PythonError();
  const std::string what = text;
  Value value{};
  if (what == "list" || what == "tuple" || what == "dict") {
    value.what = what == "list" ? What::List : what == "tuple" ? What::Tuple : What::Dict;
    PyObject* parts = part(spec, 1);
    value.object = Object::borrow(part(spec, 2));
    if (!PyList_Check(parts)) raise(ErrorKind::Argument, "guards: a list is needed");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parts); ++i) value.parts.push_back(value_of(PyList_GET_ITEM(parts, i)));
    if (value.what == What::Dict && PyTuple_Size(value.object.get()) != PyList_GET_SIZE(parts)) raise(ErrorKind::Argument, "guards: other keys than values");
    return value;
  }
  PyObject *object, *sizes;
  if (!PyArg_ParseTuple(spec, "siOO", &text, &value.place, &object, &sizes)) throw PythonError();
  value.what = what == "constant" ? What::Constant : what == "tensor" ? What::Tensor : what == "number" ? What::Number : What::Made;
  value.object = Object::borrow(object);
  if (PyTuple_Check(sizes)) {
    value.shaped = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) value.sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
  }
  if (PyErr_Occurred()) throw PythonError();
  return value;
}

After::After(PyObject* changes, PyObject* result) {
  if (!PyList_Check(changes)) raise(ErrorKind::Argument, "guards: a list is needed");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(changes); ++i) {  // (how, owner, key, value)
    PyObject* one = PyList_GET_ITEM(changes, i);
    const char* how = PyUnicode_AsUTF8(part(one, 0));
    if (!how) throw PythonError();
    const How kind = *how == 'g' ? How::Gradient : *how == 'c' ? How::Count : *how == 'v' ? How::Variable : How::Entry;
    PyObject* owner = part(one, 1);
    const int place = kind == How::Gradient && PyLong_Check(owner) ? int(PyLong_AsLong(owner)) : -1;
    if (place >= 0) owner = Py_None;
    else if (kind == How::Entry ? !PyDict_Check(owner) : kind == How::Variable ? !PyCell_Check(owner) : !is_tensor(owner)) raise(ErrorKind::Argument, "guards: a change of something else");
    if (kind == How::Count && tensor_of(owner)->dtype != DType::F32 && tensor_of(owner)->dtype != DType::F64)
      raise(ErrorKind::Argument, "guards: a count of another dtype");
    changes_.push_back({kind, Object::borrow(owner), Object::borrow(part(one, 2)), place, value_of(part(one, 3))});
  }
  result_ = value_of(result);
}

Object After::container(const Value& value, PyObject* made, PyObject* const* given) {
  const Py_ssize_t count = Py_ssize_t(value.parts.size());
  if (value.what == What::Dict) {
    Object dict = Object::own(PyDict_New());
    for (Py_ssize_t i = 0; i < count; ++i)
      if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(value.object.get(), i), make(value.parts[size_t(i)], made, given).get()) < 0) throw PythonError();
    return dict;
  }
  const bool list = value.what == What::List;
  Object all = Object::own(list ? PyList_New(count) : PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* one = make(value.parts[size_t(i)], made, given).give();
    if (list) PyList_SET_ITEM(all.get(), i, one);
    else PyTuple_SET_ITEM(all.get(), i, one);
  }
  return all;
}

Object After::make(const Value& value, PyObject* made, PyObject* const* given) {
  if (value.what == What::Constant) return value.object;
  if (value.what >= What::List) return container(value, made, given);
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
  Object result = make(result_, made, given);
  for (size_t i = 0; i < changes_.size(); ++i) {
    const Change& one = changes_[i];
    switch (one.how) {
      case How::Gradient:
        set_gradient(one.place >= 0 ? given[one.place] : one.owner.get(), values[i].get());
        break;
      case How::Count:
        count_one(one.owner.get());
        break;
      case How::Entry:
        if (PyDict_SetItem(one.owner.get(), one.key.get(), values[i].get()) < 0) throw PythonError();
        break;
      case How::Variable:
        if (PyCell_Set(one.owner.get(), values[i].get()) < 0) throw PythonError();
    }
  }
  return result;
}

int After::visit(visitproc visit, void* arg) const {
  for (const Change& one : changes_) {
    Py_VISIT(one.owner.get());
    Py_VISIT(one.key.get());
    if (const int status = After::visit(one.value, visit, arg)) return status;
  }
  return After::visit(result_, visit, arg);
}

int After::visit(const Value& value, visitproc visit, void* arg) {
  Py_VISIT(value.object.get());
  for (const Value& one : value.parts)
    if (const int status = After::visit(one, visit, arg)) return status;
  return 0;
}

}  // namespace thixo
