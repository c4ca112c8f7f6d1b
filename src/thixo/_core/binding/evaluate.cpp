// Running an operator on concrete tensors, without the tape.
#include <cstring>

#include "../core/promotion.h"
#include "lazy.h"

namespace thixo {

static std::string dtype_list(uint32_t mask) {
  std::string s;
  for (int i = 0; i < kDTypes; ++i)
    if (mask >> i & 1) s += (s.empty() ? "" : ", ") + std::string(short_name(DType(i)));
  return s;
}

void check_dtype(const Operator& op, DType t) {
  if (!(op.dtypes >> code(t) & 1))
    raise(ErrorKind::DType, op.name + ": " + short_name(t) + " is not supported; it takes " + dtype_list(op.dtypes));
}

// ---- symbols

static bool symbolic_item(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o)->symbolic();
  if (PyLong_CheckExact(o) || o == Py_None) return false;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    Py_ssize_t n = Py_SIZE(o);
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (symbolic_item(items[i])) return true;
    return false;
  }
  return known.dim && Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(known.dim);
}

constinit thread_local bool tracing = false;

bool meets_symbols(const Operator& op, PyObject* const* slots) {
  if (tracing) return true;
  for (size_t i = 0; i < op.params.size(); ++i)
    if (symbolic_item(slots[i])) return true;
  return false;
}

void check_arguments(const Operator& op, PyObject* const* slots) {
  Object::own(call_python(op.check.get(), slots, op.params.size()));
}

// ---- generic operators: infer, then a kernel on arrays

static Object kernel_argument(const Param& p, PyObject* o) {
  if (is_tensor(o)) {
    Ref<Tensor> t = ref_of(o);
    if (is_half(t->dtype)) t = contiguous_copy(*t, DType::F32);
    return Object::own(to_ndarray(t));
  }
  if (p.kind == Kind::Tensors && PyTuple_Check(o)) {
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    Object list = Object::own(PyList_New(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      PyList_SET_ITEM(list.get(), i, kernel_argument(p, PyTuple_GET_ITEM(o, i)).give());
    return list;
  }
  return Object::borrow(o);
}

static bool overlaps_inputs(const Operator& op, PyObject* const* slots, const Tensor& t) {
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (is_tensor(slots[i])) {
      if (may_overlap(t, *tensor_of(slots[i]))) return true;
    } else if (op.params[i].kind == Kind::Tensors && PyTuple_Check(slots[i])) {
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(slots[i]); ++k)
        if (may_overlap(t, *tensor_of(PyTuple_GET_ITEM(slots[i], k)))) return true;
    }
  }
  return false;
}

// A kernel's array as a tensor of the inferred type.
static Ref<Tensor> take_result(const Operator& op, PyObject* const* slots, PyObject* value, PyObject* spec) {
  Object array = Object::own(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr));
  Ref<Tensor> made = from_ndarray(array.get());
  PyObject* shape = PyTuple_GET_ITEM(spec, 0);
  DType dtype = dtype_from(PyTuple_GET_ITEM(spec, 1), op.name.c_str());
  bool fits = PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) == made->ndim();
  for (int i = 0; fits && i < made->ndim(); ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape, i);  // a symbol here depends on data: anything fits
    if (PyLong_Check(size)) fits = PyLong_AsLongLong(size) == made->sizes[i];
  }
  if (!fits)
    raise(ErrorKind::Internal, op.name + ": its kernel made " + describe(*made) + " where its rule says " + text(shape));
  if (made->dtype == dtype && made->is_contiguous() && !overlaps_inputs(op, slots, *made) && made->storage->writable)
    return made;
  return contiguous_copy(*made, dtype);
}

static void check_first_dtype(const Operator& op, PyObject* const* slots) {
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (is_tensor(slots[i])) return check_dtype(op, tensor_of(slots[i])->dtype);
    if (op.params[i].kind == Kind::Tensors && PyTuple_Check(slots[i])) {
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(slots[i]); ++k)
        check_dtype(op, tensor_of(PyTuple_GET_ITEM(slots[i], k))->dtype);
      return;
    }
  }
}

static bool is_spec(PyObject* o) { return Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(known.spec); }

// Sizes that no memory has are refused before a kernel computes with them.
static void check_sizes(const Operator& op, PyObject* spec) {
  if (is_spec(spec)) {
    PyObject* shape = PyTuple_GET_ITEM(spec, 0);
    if (!PyTuple_Check(shape)) return;
    Dims sizes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
      PyObject* size = PyTuple_GET_ITEM(shape, i);
      if (!PyLong_Check(size)) continue;  // it depends on data
      int overflow = 0;
      int64_t n = PyLong_AsLongLongAndOverflow(size, &overflow);
      if (overflow)
        raise(ErrorKind::Shape, op.name + ": the result would have a size of " + text(size) + ", which does not fit in 64 bits");
      sizes.push_back(n);
    }
    checked_numel(sizes, dtype_from(PyTuple_GET_ITEM(spec, 1), op.name.c_str()), op.name.c_str());
  } else if (PyTuple_Check(spec) || PyList_Check(spec)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(spec); ++i) check_sizes(op, PySequence_Fast_ITEMS(spec)[i]);
  }
}

Results evaluate_generic(const Operator& op, PyObject* const* slots) {
  Results out;
  check_first_dtype(op, slots);
  if (op.native && op.native(op, slots, out)) return out;
  if (op.rows && evaluate_rows(op, slots, nullptr, out)) return out;
  size_t n = op.params.size();
  std::string key;
  Object specs = op.rows ? remembered_rule(op, slots, key) : Object();
  if (!specs) {
    specs = Object::own(call_python(op.infer.get(), slots, n));
    check_sizes(op, specs.get());
    if (op.rows) remember_rule(op, std::move(key), specs.get());
  }
  if (op.rows && evaluate_rows(op, slots, specs.get(), out)) return out;
  std::vector<Object> keep(n);
  PyObject* args[kMaxParams + 2];
  args[0] = op.kernel.get();
  for (size_t i = 0; i < n; ++i) {
    keep[i] = kernel_argument(op.params[i], slots[i]);
    args[i + 1] = keep[i].get();
  }
  Object value = Object::own(call_python(known.run_kernel, args, n + 1));
  if (is_spec(specs.get())) {
    out.push_back(take_result(op, slots, value.get(), specs.get()));
    return out;
  }
  if (!(PyTuple_Check(specs.get()) || PyList_Check(specs.get())) ||
      !(PyTuple_Check(value.get()) || PyList_Check(value.get())) || Py_SIZE(specs.get()) != Py_SIZE(value.get()))
    raise(ErrorKind::Internal, op.name + ": its kernel and its type rule disagree on the number of results");
  for (Py_ssize_t i = 0; i < Py_SIZE(specs.get()); ++i)
    out.push_back(take_result(op, slots, PySequence_Fast_ITEMS(value.get())[i], PySequence_Fast_ITEMS(specs.get())[i]));
  return out;
}

bool generic_results(const Operator& op, PyObject* const* slots, Results& out) {
  check_first_dtype(op, slots);
  std::string key;
  Object specs = op.rows ? remembered_rule(op, slots, key) : Object();
  if (!specs) {
    specs = Object::own(call_python(op.infer.get(), slots, op.params.size()));
    check_sizes(op, specs.get());
    if (op.rows) remember_rule(op, std::move(key), specs.get());
  }
  const auto one = [&](PyObject* spec) {
    PyObject* shape = PyTuple_GET_ITEM(spec, 0);
    if (!PyTuple_Check(shape)) return false;
    Dims sizes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
      PyObject* size = PyTuple_GET_ITEM(shape, i);
      if (!PyLong_CheckExact(size)) return false;  // it depends on data
      sizes.push_back(PyLong_AsLongLong(size));
    }
    out.push_back(unmade(sizes, contiguous_strides(sizes), dtype_from(PyTuple_GET_ITEM(spec, 1), op.name.c_str())));
    return true;
  };
  if (is_spec(specs.get())) return one(specs.get());
  if (!PyTuple_Check(specs.get()) && !PyList_Check(specs.get())) return false;
  for (Py_ssize_t i = 0; i < Py_SIZE(specs.get()); ++i)
    if (!is_spec(PySequence_Fast_ITEMS(specs.get())[i]) || !one(PySequence_Fast_ITEMS(specs.get())[i])) return false;
  return true;
}

// ---- views

Results evaluate_view(const Operator& op, PyObject* const* slots) {
  Results out;
  Ref<Tensor> input = ref_of(slots[0]);
  check_dtype(op, input->dtype);
  if (op.native && op.native(op, slots, out)) return out;
  Object shape = dims_tuple(input->sizes), strides = dims_tuple(input->strides);
  Object offset = Object::own(PyLong_FromLongLong(input->offset));
  PyObject* args[kMaxParams + 3] = {shape.get(), strides.get(), offset.get()};
  size_t n = op.params.size();
  for (size_t i = 1; i < n; ++i) args[i + 2] = slots[i];
  Object made = Object::own(call_python(op.geometry.get(), args, n + 2));
  Object spec = Object::own(call_python(op.infer.get(), slots, n));
  DType dtype = is_spec(spec.get()) ? dtype_from(PyTuple_GET_ITEM(spec.get(), 1), op.name.c_str()) : input->dtype;
  if (!PyTuple_Check(made.get()) || PyTuple_GET_SIZE(made.get()) != 3)
    raise(ErrorKind::Internal, op.name + ": geometry must return (shape, strides, offset)");
  Dims sizes = dims_from(PyTuple_GET_ITEM(made.get(), 0), op.name.c_str());
  Dims steps = dims_from(PyTuple_GET_ITEM(made.get(), 1), op.name.c_str());
  int64_t at = PyLong_AsLongLong(PyTuple_GET_ITEM(made.get(), 2));
  if (at == -1 && PyErr_Occurred()) throw PythonError();
  if (sizes.size() != steps.size()) raise(ErrorKind::Shape, op.name + ": sizes and strides must have the same length");
  if (dtype == input->dtype) {
    out.push_back(make_view(input, std::move(sizes), std::move(steps), at));
  } else {  // another element type over the same bytes
    Ref<Tensor> typed = alias(*input);
    typed->dtype = dtype;
    Ref<Tensor> view = make_view(typed, std::move(sizes), std::move(steps), at);
    view->base = input->base ? input->base : input;
    out.push_back(view);
  }
  return out;
}

Results evaluate(const Operator& op, OpKind kind, PyObject* const* slots) {
  switch (kind) {
    case OpKind::Pointwise: return evaluate_pointwise(op, slots, nullptr);
    case OpKind::View: return evaluate_view(op, slots);
    default: return evaluate_generic(op, slots);
  }
}

}  // namespace thixo
