// Whether anything has changed that a graph depends on.
#include "guards.h"

#include <cmath>

namespace thixo {

namespace {

// Dicts of these versions of Python count their changes.
#if PY_VERSION_HEX < 0x030D0000
constexpr bool kCounted = true;
uint64_t version_of(PyObject* dict) { return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag; }
#else
constexpr bool kCounted = false;
uint64_t version_of(PyObject*) { return 0; }
#endif

Object item(PyObject* tuple, Py_ssize_t i) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) <= i) raise(ErrorKind::Argument, "guards: a tuple is too short");
  return Object::borrow(PyTuple_GET_ITEM(tuple, i));
}

template <class F>
void each(PyObject* spec, const char* name, F&& body) {
  PyObject* list = PyDict_GetItemString(spec, name);
  if (!list) return;
  if (!PyList_Check(list)) raise(ErrorKind::Argument, std::string("guards: ") + name + " must be a list");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) body(PyList_GET_ITEM(list, i));
}

unsigned int version_of_type(PyObject* type) {
  auto* t = reinterpret_cast<PyTypeObject*>(type);
#if PY_VERSION_HEX < 0x030C0000
  if (!(t->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return t->tp_version_tag;
}

}  // namespace

Watch::Watch(PyObject* spec) {
  if (!PyDict_Check(spec)) raise(ErrorKind::Argument, "guards: a dict is needed");
  each(spec, "dicts", [&](PyObject* one) {  // (dict, all keys or None, [(key, value)...], [keys that are missing])
    Dict made{item(one, 0), 0, item(one, 1), {}};
    if (!PyTuple_Check(made.keys.get())) made.keys = Object();
    if (!PyDict_Check(made.dict.get())) raise(ErrorKind::Argument, "guards: a dict is needed");
    Object pairs = item(one, 2), missing = item(one, 3);
    for (Py_ssize_t i = 0; i < PyList_Size(pairs.get()); ++i) {
      PyObject* pair = PyList_GET_ITEM(pairs.get(), i);
      made.entries.push_back({item(pair, 0), item(pair, 1)});
    }
    for (Py_ssize_t i = 0; i < PyList_Size(missing.get()); ++i)
      made.entries.push_back({Object::borrow(PyList_GET_ITEM(missing.get(), i)), Object()});
    made.version = version_of(made.dict.get());
    dicts_.push_back(std::move(made));
  });
  each(spec, "cells", [&](PyObject* one) { cells_.push_back({item(one, 0), item(one, 1)}); });
  each(spec, "lists", [&](PyObject* one) {
    List made{item(one, 0), {}};
    Object items = item(one, 1);
    for (Py_ssize_t i = 0; i < PyTuple_Size(items.get()); ++i) made.items.push_back(item(items.get(), i));
    lists_.push_back(std::move(made));
  });
  each(spec, "functions", [&](PyObject* one) {
    Object f = Object::borrow(one);
    if (!PyFunction_Check(one)) raise(ErrorKind::Argument, "guards: a function is needed");
    auto* o = reinterpret_cast<PyFunctionObject*>(one);
    functions_.push_back({f, Object::borrow(o->func_code), Object::borrow(o->func_defaults), Object::borrow(o->func_kwdefaults)});
  });
  each(spec, "classes", [&](PyObject* one) { classes_.push_back({Object::borrow(one), Object::borrow(reinterpret_cast<PyObject*>(Py_TYPE(one)))}); });
  each(spec, "types", [&](PyObject* one) {
    // Looking something up gives a class a version, if it can have one.
    Object name = Object::own(PyUnicode_InternFromString("__class__"));
    _PyType_Lookup(reinterpret_cast<PyTypeObject*>(one), name.get());
    types_.push_back({Object::borrow(one), version_of_type(one)});
    if (!types_.back().version) raise(ErrorKind::Argument, "guards: a class has no version");
  });
  const auto tensor = [](Object o) {
    if (!is_tensor(o.get())) raise(ErrorKind::Argument, "guards: a tensor is needed");
    return o;
  };
  each(spec, "gradients", [&](PyObject* one) {
    Object grad = item(one, 1);
    gradients_.push_back({tensor(item(one, 0)), grad.get() == Py_None ? Object() : tensor(grad)});
  });
  each(spec, "kinds", [&](PyObject* one) {
    Object kept = tensor(Object::borrow(one));
    const Tensor& t = *tensor_of(one);
    kinds_.push_back({kept, t.dtype, t.sizes});
  });
  each(spec, "counts", [&](PyObject* one) {
    std::vector<Object> counts;
    for (Py_ssize_t i = 0; i < PyTuple_Size(one); ++i) counts.push_back(tensor(item(one, i)));
    if (!counts.empty()) counts_.push_back(std::move(counts));
  });
}

bool Watch::holds(Dict& one) {
  PyObject* dict = one.dict.get();
  const uint64_t version = version_of(dict);
  if (kCounted && version == one.version) return true;
  if (one.keys) {
    if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(one.keys.get())) return false;
    Py_ssize_t at = 0;
    PyObject *key, *value;
    for (Py_ssize_t i = 0; PyDict_Next(dict, &at, &key, &value); ++i)
      if (key != PyTuple_GET_ITEM(one.keys.get(), i)) return false;
  }
  for (const Entry& entry : one.entries) {
    PyObject* found = PyDict_GetItemWithError(dict, entry.key.get());
    if (found != entry.value.get()) {
      PyErr_Clear();
      return false;
    }
  }
  one.version = version;
  return true;
}

// An element of a count as a number; counts of other dtypes are left to Python.
static double count_of(const Tensor& t) {
  const char* data = t.read();
  if (t.dtype == DType::F32) return *reinterpret_cast<const float*>(data);
  if (t.dtype == DType::F64) return *reinterpret_cast<const double*>(data);
  return std::nan("");
}

bool Watch::holds_of_tensors() const {
  for (const Gradient& one : gradients_) {
    const Tensor& t = *tensor_of(one.tensor.get());
    const Tensor* grad = t.autograd ? t.autograd->grad.get() : nullptr;
    if (grad != (one.grad ? tensor_of(one.grad.get()) : nullptr)) return false;
  }
  for (const Kind& one : kinds_) {
    const Tensor& t = *tensor_of(one.tensor.get());
    if (t.dtype != one.dtype || !(t.sizes == one.sizes)) return false;
  }
  for (const auto& counts : counts_) {
    const double first = count_of(*tensor_of(counts[0].get()));
    for (const Object& one : counts) {
      const Tensor& t = *tensor_of(one.get());
      if (t.numel != 1 || count_of(t) != first) return false;
    }
  }
  return true;
}

bool Watch::holds() {
  for (const Version& one : types_)
    if (version_of_type(one.type.get()) != one.version) return false;
  for (Dict& one : dicts_)
    if (!holds(one)) return false;
  for (const Class& one : classes_)
    if (reinterpret_cast<PyObject*>(Py_TYPE(one.object.get())) != one.type.get()) return false;
  for (const Entry& one : cells_)
    if (PyCell_GET(one.key.get()) != one.value.get()) return false;
  for (const List& one : lists_) {
    if (size_t(PyList_GET_SIZE(one.list.get())) != one.items.size()) return false;
    for (size_t i = 0; i < one.items.size(); ++i)
      if (PyList_GET_ITEM(one.list.get(), Py_ssize_t(i)) != one.items[i].get()) return false;
  }
  for (const Function& one : functions_) {
    auto* f = reinterpret_cast<PyFunctionObject*>(one.function.get());
    if (f->func_code != one.code.get() || f->func_defaults != one.defaults.get() || f->func_kwdefaults != one.named.get()) return false;
  }
  return holds_of_tensors();
}

int Watch::visit(visitproc visit, void* arg) const {
  for (const Dict& one : dicts_) {
    Py_VISIT(one.dict.get());
    Py_VISIT(one.keys.get());
    for (const Entry& entry : one.entries) Py_VISIT(entry.value.get());
  }
  for (const Entry& one : cells_) {
    Py_VISIT(one.key.get());
    Py_VISIT(one.value.get());
  }
  for (const List& one : lists_) {
    Py_VISIT(one.list.get());
    for (const Object& o : one.items) Py_VISIT(o.get());
  }
  for (const Function& one : functions_) {
    Py_VISIT(one.function.get());
    Py_VISIT(one.code.get());
    Py_VISIT(one.defaults.get());
    Py_VISIT(one.named.get());
  }
  for (const Class& one : classes_) {
    Py_VISIT(one.object.get());
    Py_VISIT(one.type.get());
  }
  for (const Version& one : types_) Py_VISIT(one.type.get());
  for (const Gradient& one : gradients_) {
    Py_VISIT(one.tensor.get());
    Py_VISIT(one.grad.get());
  }
  for (const Kind& one : kinds_) Py_VISIT(one.tensor.get());
  for (const auto& counts : counts_)
    for (const Object& one : counts) Py_VISIT(one.get());
  return 0;
}

}  // namespace thixo
