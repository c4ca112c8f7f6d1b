// Running an operator on concrete tensors, without the tape.
#include <cstring>

#include "../core/promotion.h"
#include "operator.h"

namespace thixo {

static DType float_like(DType t) { return is_differentiable(t) ? t : default_float; }

static std::string dtype_list(uint32_t mask) {
  std::string s;
  for (int i = 0; i < kDTypes; ++i)
    if (mask >> i & 1) s += (s.empty() ? "" : ", ") + std::string(short_name(DType(i)));
  return s;
}

static void check_dtype(const Operator& op, DType t) {
  if (!(op.dtypes >> code(t) & 1))
    raise(ErrorKind::DType, op.name + ": " + short_name(t) + " is not supported; it takes " + dtype_list(op.dtypes));
}

// ---- symbols

static bool symbolic_item(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o)->symbolic();
  if (PyTuple_Check(o) || PyList_Check(o)) {
    Py_ssize_t n = Py_SIZE(o);
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (symbolic_item(items[i])) return true;
    return false;
  }
  return known.dim && Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(known.dim);
}

thread_local bool tracing = false;

bool meets_symbols(const Operator& op, PyObject* const* slots) {
  if (tracing) return true;
  for (size_t i = 0; i < op.params.size(); ++i)
    if (symbolic_item(slots[i])) return true;
  return false;
}

void check_arguments(const Operator& op, PyObject* const* slots) {
  Object::own(PyObject_Vectorcall(op.check.get(), slots, op.params.size(), nullptr));
}

// ---- pointwise

namespace {

constexpr int kMaxOperands = 3;  // of native loops

struct Operand {
  Tensor* tensor = nullptr;
  Ref<Tensor> converted;
  Number number;
  alignas(16) char element[16];  // a number, in the compute dtype
};

}  // namespace

// Two tensors of one dtype, of any strides and shapes that broadcast; null if that is long work.
static Ref<Tensor> broadcast_pair(const Operator& op, Loop loop, const Tensor& a, const Tensor& b) {
  Dims sizes = broadcast(a.sizes, b.sizes, op.name.c_str());
  if (checked_numel(sizes, a.dtype, op.name.c_str()) >= kLongWork) return {};
  Ref<Tensor> out = empty(sizes, a.dtype);
  Dims bytes[3];
  Array arrays[3] = {as_array(a, sizes, expanded_strides(a, sizes), bytes[0]),
                     as_array(b, sizes, expanded_strides(b, sizes), bytes[1]), as_array(*out, bytes[2])};
  run_loop(loop, arrays, 3);
  return out;
}

// The everyday case: contiguous operands of one dtype and one shape, or a number that changes neither.
static Ref<Tensor> plain_pointwise(const Operator& op, PyObject* const* slots) {
  if (!op.has_loops || op.promotes.size() > 2) return {};
  Tensor *lead = nullptr, *tensors[2] = {};
  bool alike = true;  // contiguous, and of one shape
  for (size_t i = 0; i < op.params.size(); ++i) {
    const Param& p = op.params[i];
    if (i < op.promotes.size()) {
      if (!is_tensor(slots[i])) continue;
      Tensor* t = tensors[i] = tensor_of(slots[i]);
      alike = alike && t->is_contiguous();
      if (!lead) {
        lead = t;
        continue;
      }
      if (t->dtype != lead->dtype) return {};
      alike = alike && t->sizes == lead->sizes;
    } else if (p.kind == Kind::Tensor || p.kind == Kind::Operand || slots[i] != p.fallback.get()) {
      return {};
    }
  }
  if (!lead || lead->numel >= kLongWork || (op.result == ResultKind::Float && !is_differentiable(lead->dtype))) return {};
  Loop loop = op.loops[code(lead->dtype)];
  if (!loop || op.result == ResultKind::Bool || op.result == ResultKind::Real) return {};
  if (!alike) return tensors[0] && tensors[1] ? broadcast_pair(op, loop, *tensors[0], *tensors[1]) : Ref<Tensor>();
  alignas(16) char element[16];
  char* pointers[3];
  int64_t strides[3];
  int n = int(op.promotes.size());
  for (int i = 0; i < n; ++i) {
    if (tensors[i]) {
      pointers[i] = tensors[i]->data();
      strides[i] = item_size(lead->dtype);
      continue;
    }
    Number number;
    number_from(slots[i], number, op.name.c_str());
    bool changes = is_complex(number.category) ? !is_complex(lead->dtype)
                   : is_floating(number.category) ? !is_differentiable(lead->dtype)
                   : is_integer(number.category) && is_bool(lead->dtype);
    if (changes) return {};
    store_number(number, lead->dtype, element);
    pointers[i] = element;
    strides[i] = 0;
  }
  Ref<Tensor> out = empty_like(*lead);
  pointers[n] = out->data();
  strides[n] = item_size(lead->dtype);
  loop(pointers, strides, out->numel);
  return out;
}

Results evaluate_pointwise(const Operator& op, PyObject* const* slots, Tensor* into) {
  SmallVector<Operand, 3> operands;
  int count = int(op.promotes.size());
  for (int i = 0; i < count; ++i) operands.emplace_back();
  Promotion promotion;
  for (int i = 0; i < count; ++i) {
    PyObject* o = slots[op.promotes[i]];
    if (o == Py_None) continue;
    if (is_tensor(o)) {
      Tensor* t = operands[i].tensor = tensor_of(o);
      promotion.tensor(t->dtype, t->ndim());
    } else {
      number_from(o, operands[i].number, op.name.c_str());
      promotion.number(operands[i].number.category);
    }
  }
  bool any_tensor = false;
  for (size_t i = 0; i < op.params.size(); ++i) any_tensor = any_tensor || is_tensor(slots[i]);
  if (!any_tensor) raise(ErrorKind::Argument, op.name + ": at least one argument must be a Tensor, got numbers only");
  DType promoted = promotion.result();
  check_dtype(op, promoted);
  DType compute = op.result == ResultKind::Float ? float_like(promoted) : promoted;
  DType result = op.result == ResultKind::Bool   ? DType::Bool
                 : op.result == ResultKind::Real ? to_real(compute)
                                                 : compute;
  bool tensors_only = true;  // every tensor takes part in the dtype
  Dims sizes;
  bool first = true;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (!is_tensor(slots[i])) continue;
    Tensor* t = tensor_of(slots[i]);
    if (first) sizes = t->sizes;
    else if (!(sizes == t->sizes)) sizes = broadcast(sizes, t->sizes, op.name.c_str());
    first = false;
    bool takes_part = false;
    for (int p : op.promotes) takes_part = takes_part || p == int(i);
    tensors_only = tensors_only && takes_part;
  }

  Loop loop = tensors_only && count <= kMaxOperands ? op.loops[code(compute)] : nullptr;
  if (loop) {  // the native loops know the defaults of further arguments only
    for (size_t i = 0; loop && i < op.params.size(); ++i) {
      const Param& p = op.params[i];
      bool operand = p.kind == Kind::Tensor || p.kind == Kind::Operand;
      if (!operand && slots[i] != p.fallback.get()) loop = nullptr;
      if (operand && slots[i] == Py_None) loop = nullptr;
    }
  }

  if (loop) {
    Ref<Tensor> out;
    bool direct = into && into->dtype == result && into->sizes == sizes;
    if (direct)
      for (int i = 0; i < count; ++i) {
        Tensor* t = operands[i].tensor;
        direct = direct && (!t || !may_overlap(*into, *t) || same_elements(*into, *t));
      }
    out = direct ? Ref<Tensor>(into) : empty(sizes, result);
    bool simple = out->is_contiguous();
    for (int i = 0; i < count; ++i) {
      Operand& o = operands[i];
      if (!o.tensor) {
        store_number(o.number, compute, o.element);
        continue;
      }
      if (o.tensor->dtype != compute) {
        o.converted = contiguous_copy(*o.tensor, compute);
        o.tensor = o.converted.get();
      }
      simple = simple && ((o.tensor->sizes == sizes && o.tensor->is_contiguous()) || o.tensor->numel == 1);
    }
    if (simple && out->numel < kLongWork) {
      char* pointers[kMaxOperands + 1];
      int64_t strides[kMaxOperands + 1];
      for (int i = 0; i < count; ++i) {
        Operand& o = operands[i];
        pointers[i] = o.tensor ? o.tensor->data() : o.element;
        strides[i] = o.tensor && (o.tensor->numel != 1 || out->numel == 1) ? item_size(compute) : 0;
      }
      pointers[count] = out->data();
      strides[count] = item_size(result);
      loop(pointers, strides, out->numel);
    } else {
      Array arrays[kMaxOperands + 1];
      Dims bytes[kMaxOperands + 1];
      Ref<Tensor> to = pinned(out);
      for (int i = 0; i < count; ++i) {
        Operand& o = operands[i];
        if (o.tensor) {
          if (!o.converted) o.converted = out->numel >= kLongWork ? alias(*o.tensor) : Ref<Tensor>(o.tensor);
          o.tensor = o.converted.get();
          arrays[i] = as_array(*o.tensor, sizes, expanded_strides(*o.tensor, sizes), bytes[i]);
        } else {
          bytes[i] = Dims(sizes.size());
          arrays[i] = {o.element, compute, sizes.size(), sizes.data(), bytes[i].data()};
        }
        arrays[i].sizes = sizes.data();
      }
      arrays[count] = as_array(*to, bytes[count]);
      WithoutGil free(out->numel >= kLongWork);
      run_loop(loop, arrays, count + 1);
    }
    return {out};
  }

  if (op.check && op.has_loops) check_arguments(op, slots);
  // NumPy runs the declaration's scalar function. Half types are computed in float32.
  DType wide = is_half(compute) ? DType::F32 : compute;
  std::vector<Object> arrays;
  PyObject* args[kMaxParams + 2];
  args[0] = op.scalar.get();
  for (size_t i = 0; i < op.params.size(); ++i) {
    PyObject* o = slots[i];
    int at = -1;
    for (int p = 0; p < count; ++p)
      if (op.promotes[p] == int(i)) at = p;
    if (o == Py_None || (at < 0 && !is_tensor(o))) {
      args[i + 1] = o;
      continue;
    }
    Ref<Tensor> t;
    if (is_tensor(o)) {
      t = ref_of(o);
      if (at >= 0 && t->dtype != wide) t = contiguous_copy(*t, wide);
      else if (at < 0 && is_half(t->dtype)) t = contiguous_copy(*t, DType::F32);
    } else {
      t = empty(Dims(), wide);
      store_number(operands[at].number, wide, t->data());
    }
    arrays.push_back(Object::own(to_ndarray(t)));
    args[i + 1] = arrays.back().get();
  }
  Object value = Object::own(PyObject_Vectorcall(known.run_scalar, args, op.params.size() + 1, nullptr));
  Object array = Object::own(PyArray_FromAny(value.get(), nullptr, 0, 0, 0, nullptr));
  Ref<Tensor> made = from_ndarray(array.get());
  bool shared = made->dtype != result || !(made->sizes == sizes);
  for (size_t i = 0; !shared && i < op.params.size(); ++i)
    shared = is_tensor(slots[i]) && may_overlap(*made, *tensor_of(slots[i]));
  if (!shared && !made->is_contiguous()) shared = true;
  if (!shared) return {made};
  Ref<Tensor> out = empty(sizes, result);
  Dims a, b;
  Dims strides = expanded_strides(*made, sizes);
  copy(as_array(*out, a), as_array(*made, sizes, strides, b));
  return {out};
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
  size_t n = op.params.size();
  Object specs = Object::own(PyObject_Vectorcall(op.infer.get(), slots, n, nullptr));
  check_sizes(op, specs.get());
  std::vector<Object> keep(n);
  PyObject* args[kMaxParams + 2];
  args[0] = op.kernel.get();
  for (size_t i = 0; i < n; ++i) {
    keep[i] = kernel_argument(op.params[i], slots[i]);
    args[i + 1] = keep[i].get();
  }
  Object value = Object::own(PyObject_Vectorcall(known.run_kernel, args, n + 1, nullptr));
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
  Object made = Object::own(PyObject_Vectorcall(op.geometry.get(), args, n + 2, nullptr));
  Object spec = Object::own(PyObject_Vectorcall(op.infer.get(), slots, n, nullptr));
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
    case OpKind::Pointwise:
      if (Ref<Tensor> made = plain_pointwise(op, slots)) return {made};
      return evaluate_pointwise(op, slots, nullptr);
    case OpKind::View: return evaluate_view(op, slots);
    default: return evaluate_generic(op, slots);
  }
}

}  // namespace thixo
