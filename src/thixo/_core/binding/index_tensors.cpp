// x[...] with index tensors, masks and lists of integers, and x[...] = value: the common forms, without Python. False
// leaves an index to ops/getitem.py, which knows all forms and says what is wrong with one.
#include "index.h"
#include "moves.h"

namespace thixo {

namespace {

using Indices = SmallVector<Ref<Tensor>, 2>;

bool is_recorded(const Tensor& t) { return modes.grad && is_tracked(t); }

bool is_index(const Tensor& t) {
  return is_integer(t.dtype) && t.dtype != DType::U8 && t.ndim() > 0 && !t.symbolic();
}
bool is_mask_of(const Tensor& mask, const Tensor& t) {
  if (!is_bool(mask.dtype) || mask.symbolic() || mask.ndim() == 0 || mask.ndim() > t.ndim()) return false;
  for (int d = 0; d < mask.ndim(); ++d)
    if (mask.sizes[d] != t.sizes[d]) return false;
  return true;
}

// A list of integers as an index tensor; null for anything else.
Ref<Tensor> from_list(PyObject* list) {
  const Py_ssize_t n = PyList_GET_SIZE(list);
  if (n == 0) return {};
  Ref<Tensor> t = empty(Dims{n}, DType::I64);
  auto* to = reinterpret_cast<int64_t*>(t->data());
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!find_int(PyList_GET_ITEM(list, i), to[i])) return {};
  return t;
}

// The index tensor that an item of an index is, or makes; null if it is none.
Ref<Tensor> index_item(PyObject* o) {
  if (is_tensor(o)) return is_index(*tensor_of(o)) ? ref_of(o) : Ref<Tensor>();
  return PyList_CheckExact(o) ? from_list(o) : Ref<Tensor>();
}

Object one_tuple(PyObject* item) {
  Object t = Object::own(PyTuple_New(1));
  PyTuple_SET_ITEM(t.get(), 0, Py_NewRef(item));
  return t;
}

// Moves the axes of the index tensors to the front where they are no neighbours; which is the first of them.
int gather_axes(Ref<Tensor>& view, const Dims& axes) {
  bool neighbours = true;
  for (int k = 1; k < axes.size(); ++k) neighbours = neighbours && axes[k] == axes[k - 1] + 1;
  if (neighbours) return int(axes[0]);
  Dims sizes, strides;
  for (int64_t axis : axes) {
    sizes.push_back(view->sizes[int(axis)]);
    strides.push_back(view->strides[int(axis)]);
  }
  for (int d = 0; d < view->ndim(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    sizes.push_back(view->sizes[d]);
    strides.push_back(view->strides[d]);
  }
  view = alias(*view);
  view->sizes = sizes;
  view->strides = strides;
  return 0;
}

// A tuple with index tensors among integers, slices, None and Ellipsis.
bool read_tuple(const Ref<Tensor>& x, PyObject* index, Ref<Tensor>& out) {
  const Py_ssize_t n = PyTuple_GET_SIZE(index);
  if (n > 32) return false;
  Object plain = Object::own(PyTuple_New(n));  // the same with whole slices for the tensors
  Object tensors = Object::own(PyList_New(0));
  static PyObject* whole = PySlice_New(nullptr, nullptr, nullptr);
  Dims axes;
  int axis = 0, used = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(index, i);
    used += item != Py_None && item != Py_Ellipsis;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(index, i);
    if (is_basic_item(item)) {
      PyTuple_SET_ITEM(plain.get(), i, Py_NewRef(item));
      axis += item == Py_Ellipsis ? x->ndim() - used : !PyLong_CheckExact(item);
      continue;
    }
    Ref<Tensor> picked = index_item(item);
    if (!picked) return false;
    Object wrapped = Object::own(wrap(picked));
    if (PyList_Append(tensors.get(), wrapped.get()) < 0) throw PythonError();
    PyTuple_SET_ITEM(plain.get(), i, Py_NewRef(whole));
    axes.push_back(axis++);
  }
  if (used > x->ndim() || axes.empty()) return false;
  Ref<Tensor> view;
  if (!basic_view(x, plain.get(), view)) return false;
  Object tuple = Object::own(PyList_AsTuple(tensors.get()));
  Indices lines;
  Dims joint;
  if (!join_indices(tuple.get(), lines, joint)) return false;
  const int first = gather_axes(view, axes);
  out = take_places(view, first, lines, joint, true);
  return bool(out);
}

// index_get(x, (index,), (0,)), for the tape
Object recorded_get(PyObject* self, PyObject* index) {
  static PyObject* first_axis = Py_BuildValue("(i)", 0);
  Object indices = one_tuple(index);
  PyObject* args[3] = {self, indices.get(), first_axis};
  return Object::own(call_python(operator_shown_as("index_get", "index"), args, 3));
}

bool in_range(const Tensor& index, int64_t size) {
  Ref<Tensor> line = index_line(Ref<Tensor>(const_cast<Tensor*>(&index)));
  const auto* at = reinterpret_cast<const int64_t*>(line->data());
  bool good = true;
  for (int64_t i = 0; i < line->numel; ++i) good &= at[i] >= -size && at[i] < size;
  return good;
}

}  // namespace

bool read_by_tensors(PyObject* self, PyObject* index, Object& result) {
  Ref<Tensor> x = ref_of(self), y;
  if (x->ndim() == 0) return false;
  if (PyTuple_Check(index)) {
    if (is_recorded(*x) || !read_tuple(x, index, y)) return false;
  } else if (is_tensor(index) && is_mask_of(*tensor_of(index), *x)) {
    if (is_recorded(*x)) return false;
    y = take_masked(x, ref_of(index));
  } else {
    Ref<Tensor> picked = index_item(index);
    if (!picked) return false;
    if (is_recorded(*x)) {
      if (!in_range(*picked, x->sizes[0])) return false;
      Object wrapped = Object::own(wrap(picked));
      result = recorded_get(self, wrapped.get());
      return true;
    }
    Indices lines;
    lines.push_back(index_line(picked));
    y = take_places(x, 0, lines, picked->sizes, true);
  }
  if (!y) return false;
  y->inference = modes.inference;
  result = Object::own(wrap(y));
  return true;
}

namespace {

// A value for x[...] of some shape: a tensor of x's dtype that broadcasts to it, or a number as a 0-d tensor.
Object value_for(const Tensor& x, PyObject* value, const Dims& shape) {
  Object none;
  if (is_tensor(value)) {
    const Tensor* v = tensor_of(value);
    if (v->dtype != x.dtype || v->symbolic() || is_recorded(*v) || v->ndim() > shape.size()) return none;
    for (int d = 0; d < v->ndim(); ++d) {
      const int64_t want = shape[shape.size() - v->ndim() + d];
      if (v->sizes[d] != want && v->sizes[d] != 1) return none;
    }
    return Object::borrow(value);
  }
  const bool plain = (PyFloat_CheckExact(value) && (is_floating(x.dtype) || is_complex(x.dtype)));
  int64_t whole = 0;
  if (!plain && !(find_int(value, whole) && whole >= 0 && whole < 128 && (!is_bool(x.dtype) || whole < 2))) return none;
  Number number;
  number_from(value, number, "setitem");
  Ref<Tensor> made = empty(Dims(), x.dtype);
  store_number(number, x.dtype, made->data());
  return Object::own(wrap(made));
}

Object called(const char* name, std::initializer_list<PyObject*> args) {
  return Object::own(call_python(operator_named(name), args.begin(), args.size()));
}

}  // namespace

bool write_by_index(PyObject* self, PyObject* index, PyObject* value) {
  Ref<Tensor> x = ref_of(self);
  if (tracing || x->symbolic() || is_recorded(*x)) return false;
  if (is_basic(index)) {
    Ref<Tensor> view;
    if (!basic_view(x, index, view, "setitem")) return false;
    Object given = value_for(*x, value, view->sizes);
    if (!given) return false;
    Object target = Object::own(wrap(view));
    called("copy_", {target.get(), given.get()});
    return true;
  }
  if (PyTuple_Check(index) || x->ndim() == 0) return false;
  if (is_tensor(index) && is_mask_of(*tensor_of(index), *x)) {
    if (is_tensor(value) || !(tensor_of(index)->sizes == x->sizes)) return false;
    Object given = value_for(*x, value, Dims());
    if (!given) return false;
    called("masked_fill_", {self, index, given.get()});
    return true;
  }
  Ref<Tensor> picked = index_item(index);
  if (!picked || !in_range(*picked, x->sizes[0])) return false;
  Dims shape = picked->sizes;
  for (int d = 1; d < x->ndim(); ++d) shape.push_back(x->sizes[d]);
  Object given = value_for(*x, value, shape);
  if (!given) return false;
  static PyObject* first_axis = Py_BuildValue("(i)", 0);
  Object wrapped = Object::own(wrap(picked)), indices = one_tuple(wrapped.get());
  PyObject* args[5] = {self, indices.get(), given.get(), Py_False, first_axis};
  Object::own(call_python(operator_shown_as("index_set_", "setitem"), args, 5));
  return true;
}

}  // namespace thixo
