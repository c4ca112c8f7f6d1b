// Native paths of operators that make or copy tensors. A case they do not take is left to the declaration.
#include <cstring>

#include "../core/kernels.h"
#include "../core/promotion.h"
#include "operator.h"

namespace thixo {

namespace {

bool sizes_from(PyObject* tuple, Dims& sizes) {
  sizes.resize(int(PyTuple_GET_SIZE(tuple)));
  if (sizes.size() > kMaxDims) return false;
  for (int i = 0; i < sizes.size(); ++i) {
    int overflow;
    sizes[i] = PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(tuple, i), &overflow);
    if (overflow || sizes[i] < 0) return false;
  }
  return true;
}

DType dtype_or(PyObject* given, DType otherwise) {
  return given == Py_None ? otherwise : dtype_from(given, "dtype");
}

Ref<Tensor> filled(const Dims& sizes, DType dtype, const Number& value) {
  checked_numel(sizes, dtype, "full");
  Ref<Tensor> t = empty(sizes, dtype);
  alignas(16) char element[16];
  store_number(value, dtype, element);
  Dims bytes;
  Array to = as_array(*t, bytes);
  WithoutGil free(t->numel >= kLongWork);
  fill(to, element);
  return t;
}

Number whole(int64_t value) {
  Number n;
  n.category = DType::I64;
  n.i = value;
  n.u = uint64_t(value);
  n.c = double(value);
  return n;
}

// name(size, *, dtype, layout, ...): zeros, ones
template <int value>
bool constant(const Operator&, PyObject* const* slots, Results& out) {
  Dims sizes;
  if (slots[2] != Py_None || !sizes_from(slots[0], sizes)) return false;
  DType dtype = dtype_or(slots[1], default_float);
  checked_numel(sizes, dtype, value ? "ones" : "zeros");
  out.push_back(value ? filled(sizes, dtype, whole(value)) : zeros(sizes, dtype));
  return true;
}

// full(size, fill_value, *, dtype, layout, ...)
bool full(const Operator&, PyObject* const* slots, Results& out) {
  Dims sizes;
  Number value;
  if (slots[3] != Py_None || !number_from(slots[1], value) || !sizes_from(slots[0], sizes)) return false;
  DType dtype = dtype_or(slots[2], value.category);
  if (is_complex(value.category) && !is_complex(dtype)) return false;
  out.push_back(filled(sizes, dtype, value));
  return true;
}

// name(input, *, dtype, layout, device, requires_grad, memory_format): zeros_like, ones_like
template <int value>
bool constant_like(const Operator&, PyObject* const* slots, Results& out) {
  if (slots[2] != Py_None || slots[5] != Py_None) return false;
  Tensor* t = tensor_of(slots[0]);
  DType dtype = dtype_or(slots[1], t->dtype);
  out.push_back(value ? filled(t->sizes, dtype, whole(value)) : zeros(t->sizes, dtype));
  return true;
}

bool clone(const Operator&, PyObject* const* slots, Results& out) {
  if (slots[1] != Py_None) return false;
  Ref<Tensor> t = pinned(ref_of(slots[0]));
  WithoutGil free(t->numel >= kLongWork);
  out.push_back(contiguous_copy(*t, t->dtype));
  return true;
}

// cast(input, dtype); float to integer is left to the declaration, which says what happens out of range
bool cast(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = pinned(ref_of(slots[0]));
  DType dtype = dtype_from(slots[1], "cast");
  if (is_integer(dtype) && is_differentiable(t->dtype)) return false;
  WithoutGil free(t->numel >= kLongWork);
  out.push_back(contiguous_copy(*t, dtype));
  return true;
}

// slice(input, dim, start, end, step)
bool slice(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  for (int i = 1; i < 5; ++i)
    if (slots[i] != Py_None && !PyLong_CheckExact(slots[i])) return false;
  int64_t dim = PyLong_AsLongLong(slots[1]), step = PyLong_AsLongLong(slots[4]);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  if (dim < -t->ndim() || dim >= t->ndim() || step < 1) return false;  // the declaration says what is wrong
  int d = int(dim < 0 ? dim + t->ndim() : dim);
  int64_t n = t->sizes[d];
  auto bound = [&](PyObject* o, int64_t otherwise) {
    if (o == Py_None) return otherwise;
    int overflow;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return overflow < 0 ? int64_t(0) : n;
    if (v < 0) v += n;
    return std::min(std::max<int64_t>(v, 0), n);
  };
  int64_t start = bound(slots[2], 0), end = bound(slots[3], n);
  Dims sizes = t->sizes, strides = t->strides;
  sizes[d] = end > start ? (end - start - 1) / step + 1 : 0;
  int64_t offset = t->offset + (sizes[d] ? start * strides[d] : 0);
  strides[d] *= step;
  out.push_back(make_view(t, sizes, strides, offset));
  return true;
}

struct Entry { const char* name; NativeCall call; };
const Entry entries[] = {{"zeros", constant<0>}, {"ones", constant<1>}, {"full", full},
                         {"zeros_like", constant_like<0>}, {"ones_like", constant_like<1>}, {"clone", clone},
                         {"cast", cast}, {"slice", slice}};

}  // namespace

NativeCall find_native_creation(const std::string& name) {
  for (const Entry& e : entries)
    if (name == e.name) return e.call;
  return nullptr;
}

}  // namespace thixo
