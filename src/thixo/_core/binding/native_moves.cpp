// Native paths of operators that put data elsewhere as it is: cat, stack, flip, roll, pads, triangles.
#include "moves.h"

#include <cstring>
#include <unordered_map>

#include "../core/kernels.h"

namespace thixo {

namespace {

bool is_nothing(const Tensor& t) { return t.ndim() == 1 && t.sizes[0] == 0; }

// Tensors along an axis; `fresh` says that the axis is a new one (stack), of size 1 in each.
Ref<Tensor> joined(PyObject* const* items, Py_ssize_t count, int axis, bool fresh, const Tensor& first, int64_t length) {
  const int item = item_size(first.dtype);
  Dims sizes = first.sizes;
  if (fresh) sizes.insert(axis, length);
  else sizes[axis] = length;
  int64_t rows = 1, inner = 1;
  for (int d = 0; d < axis; ++d) rows *= sizes[d];
  for (int d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
  Ref<Tensor> y = empty(sizes, first.dtype);
  SmallVector<JoinedPart, 16> parts;
  SmallVector<Ref<Tensor>, 2> kept;
  bool solid = true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Tensor* t = tensor_of(items[i]);
    if (is_nothing(*t) && !fresh) continue;
    const int64_t bytes = (fresh ? 1 : t->sizes[axis]) * inner * item;
    solid = solid && t->is_contiguous();
    if (is_long(y->numel)) {
      kept.push_back(alias(*t));
      t = kept.back().get();
    }
    if (bytes) parts.push_back({t->data(), bytes, bytes});
  }
  if (solid) {
    WithoutGil free(is_long(y->numel));
    join_rows(y->data(), parts.begin(), int64_t(parts.size()), rows, length * inner * item);
    return y;
  }
  // Strided ones go through the general copy, each into its window.
  int64_t start = 0;
  const Dims steps = y->strides;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref<Tensor> t = ref_of(items[i]);
    if (is_nothing(*t) && !fresh) continue;
    t = pinned(t);
    Dims own = steps, byte_own, byte_from;
    if (fresh) own.erase(axis);
    for (int64_t s : own) byte_own.push_back(s * item);
    const Array to{y->data() + start * steps[axis] * item, y->dtype, t->ndim(), t->sizes.data(), byte_own.data()};
    const Array from = as_array(*t, byte_from);
    WithoutGil free(is_long(t->numel));
    copy(to, from);
    start += fresh ? 1 : t->sizes[axis];
  }
  return y;
}

// cat(tensors, dim)
bool cat(const Operator&, PyObject* const* slots, Results& out) {
  PyObject* const* items = PySequence_Fast_ITEMS(slots[0]);
  const Py_ssize_t count = PyTuple_Check(slots[0]) ? PyTuple_GET_SIZE(slots[0]) : 0;
  const Tensor* first = nullptr;
  int axis = 0;
  int64_t length = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor* t = tensor_of(items[i]);
    if (t->dtype != tensor_of(items[0])->dtype) return false;
    if (is_nothing(*t)) continue;
    if (!first) {
      first = t;
      if (t->ndim() == 0 || !find_axis(slots[1], t->ndim(), axis)) return false;
    }
    if (t->ndim() != first->ndim()) return false;
    for (int d = 0; d < t->ndim(); ++d)
      if (d != axis && t->sizes[d] != first->sizes[d]) return false;
    if (__builtin_add_overflow(length, t->sizes[axis], &length)) return false;
  }
  if (!first) return false;
  out.push_back(joined(items, count, axis, false, *first, length));
  return true;
}

// stack(tensors, dim): a composite; what is recorded goes through unsqueeze and cat.
bool stack(const Operator&, PyObject* const* slots, Results& out) {
  if (!PyTuple_Check(slots[0]) || PyTuple_GET_SIZE(slots[0]) == 0) return false;
  PyObject* const* items = PySequence_Fast_ITEMS(slots[0]);
  const Py_ssize_t count = PyTuple_GET_SIZE(slots[0]);
  const Tensor* first = tensor_of(items[0]);
  int axis;
  if (!find_axis(slots[1], first->ndim() + 1, axis)) return false;
  bool recorded = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor* t = tensor_of(items[i]);
    if (t->dtype != first->dtype || !(t->sizes == first->sizes)) return false;
    recorded = recorded || (modes.grad && is_tracked(*t));
  }
  if (!recorded) {
    out.push_back(joined(items, count, axis, true, *first, count));
    return true;
  }
  Object list = Object::own(PyTuple_New(count)), dim = Object::own(PyLong_FromLong(axis));
  PyObject* unsqueeze = operator_named("unsqueeze");
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* args[2] = {items[i], dim.get()};
    PyTuple_SET_ITEM(list.get(), i, Object::own(call_python(unsqueeze, args, 2)).give());
  }
  out.push_back(call_operator("cat", {list.get(), dim.get()}));
  return true;
}

// A copy with some axes backwards.
Ref<Tensor> flipped(const Ref<Tensor>& t, const bool* turned) {
  Ref<Tensor> x = pinned(t), y = empty(x->sizes, x->dtype);
  if (x->numel == 0) return y;
  Dims a, b;
  Array to = as_array(*y, a), from = as_array(*x, b);
  for (int d = 0; d < x->ndim(); ++d)
    if (turned[d]) {
      from.data += (x->sizes[d] - 1) * b[d];
      b[d] = -b[d];
    }
  WithoutGil free(is_long(x->numel));
  copy(to, from);
  return y;
}

// flip(input, dims...)
bool flip(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  if (!PyTuple_Check(slots[1])) return false;
  bool turned[kMaxDims] = {};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots[1]); ++i) {
    int axis;
    if (!find_axis(PyTuple_GET_ITEM(slots[1], i), t->ndim(), axis) || turned[axis]) return false;
    turned[axis] = true;
  }
  if (t->ndim() == 0) turned[0] = false;
  out.push_back(flipped(t, turned));
  return true;
}

// One axis rolled: two windows change places.
Ref<Tensor> rolled(const Ref<Tensor>& t, int axis, int64_t shift) {
  Ref<Tensor> x = pinned(t), y = empty(x->sizes, x->dtype);
  if (x->numel == 0) return y;
  const int64_t size = x->sizes[axis];
  shift = ((shift % size) + size) % size;
  WithoutGil free(is_long(x->numel));
  for (int part = 0; part < 2; ++part) {
    Dims a, b, sizes = x->sizes;
    sizes[axis] = part ? shift : size - shift;
    if (sizes[axis] == 0) continue;
    Array to = as_array(*y, sizes, y->strides, a), from = as_array(*x, sizes, x->strides, b);
    if (part) from.data += (size - shift) * b[axis];
    else to.data += shift * a[axis];
    copy(to, from);
  }
  return y;
}

// roll(input, shifts, dims)
bool roll(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  if (!PyTuple_Check(slots[1]) || PyTuple_GET_SIZE(slots[1]) == 0) return false;
  int64_t shift;
  const bool whole = slots[2] == Py_None || (PyTuple_Check(slots[2]) && PyTuple_GET_SIZE(slots[2]) == 0);
  if (whole) {
    if (PyTuple_GET_SIZE(slots[1]) != 1 || !find_int(PyTuple_GET_ITEM(slots[1], 0), shift)) return false;
    Ref<Tensor> line = t->is_contiguous() ? alias(*t) : contiguous_copy(*t, t->dtype);
    line->sizes = Dims{line->numel};
    line->strides = Dims{1};
    Ref<Tensor> y = rolled(line, 0, shift);
    y->sizes = t->sizes;
    y->strides = contiguous_strides(t->sizes);
    out.push_back(y);
    return true;
  }
  if (!PyTuple_Check(slots[2]) || PyTuple_GET_SIZE(slots[2]) != PyTuple_GET_SIZE(slots[1]) || t->ndim() == 0) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots[1]); ++i) {
    int axis;
    if (!find_int(PyTuple_GET_ITEM(slots[1], i), shift) || !find_axis(PyTuple_GET_ITEM(slots[2], i), t->ndim(), axis))
      return false;
    t = rolled(t, axis, shift);
  }
  out.push_back(t);
  return true;
}

bool make_triangle(PyObject* const* slots, Results& out, bool lower) {
  Ref<Tensor> t = ref_of(slots[0]);
  int64_t diagonal;
  if (t->ndim() < 2 || !find_int(slots[1], diagonal)) return false;
  const int n = t->ndim(), item = item_size(t->dtype);
  Axes before = axes_of(*t, 0, n - 2);
  const bool fits = (t->strides[n - 1] == 1 || t->sizes[n - 1] <= 1) && before.count <= 1;
  Ref<Tensor> x = fits ? pinned(t) : contiguous_copy(*t, t->dtype), y = empty(t->sizes, t->dtype);
  if (t->numel) {
    before = axes_of(*x, 0, n - 2);
    WithoutGil free(is_long(x->numel));
    triangle(y->data(), x->data(), before.total, x->sizes[n - 2], x->sizes[n - 1], before.count ? before.strides[0] : 0,
             x->strides[n - 2] * item, item, diagonal, lower);
  }
  out.push_back(y);
  return true;
}
bool tril(const Operator&, PyObject* const* slots, Results& out) { return make_triangle(slots, out, true); }
bool triu(const Operator&, PyObject* const* slots, Results& out) { return make_triangle(slots, out, false); }

// constant_pad_nd(input, pad, value)
bool constant_pad(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  const int n = t->ndim();
  if (n == 0 || !PyTuple_Check(slots[1]) || PyTuple_GET_SIZE(slots[1]) % 2 || PyTuple_GET_SIZE(slots[1]) > 2 * n) return false;
  Dims before(n), after(n), sizes = t->sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots[1]); ++i) {
    const int d = n - 1 - int(i / 2);
    int64_t& value = i % 2 ? after[d] : before[d];
    if (!find_int(PyTuple_GET_ITEM(slots[1], i), value) || std::abs(value) > (int64_t(1) << 48)) return false;
  }
  for (int d = 0; d < n; ++d) {
    sizes[d] += before[d] + after[d];
    if (sizes[d] < 0) return false;
    // Cuts that leave nothing of the input, or reach into the other end, are rare.
    if (t->sizes[d] + std::min<int64_t>(before[d], 0) + std::min<int64_t>(after[d], 0) < 0) return false;
  }
  Number number;
  if (!PyLong_CheckExact(slots[2]) && !PyFloat_CheckExact(slots[2])) return false;
  if (!number_from(slots[2], number, op.name.c_str())) return false;
  const bool plain = number.category == DType::I64 && !number.big && std::abs(number.i) < 128;
  if (!plain && !is_floating(t->dtype) && !is_complex(t->dtype)) return false;
  if (plain && number.i < 0 && is_unsigned(t->dtype)) return false;
  alignas(16) char element[16] = {};
  store_number(number, t->dtype, element);
  checked_numel(sizes, t->dtype, op.name.c_str());
  Ref<Tensor> x = pinned(t), y = empty(sizes, t->dtype);
  if (y->numel) {
    Dims b;
    Array from = as_array(*x, b);
    WithoutGil free(is_long(y->numel));
    pad(y->data(), from, before.data(), after.data(), element);
  }
  out.push_back(y);
  return true;
}

// A copy of input with a window of it overwritten.
bool overwritten(const Ref<Tensor>& input, const Ref<Tensor>& src, int axis, int64_t start, int64_t step, bool drops,
                 Results& out) {
  if (src->dtype != input->dtype) return false;
  Dims sizes = src->sizes;
  Ref<Tensor> y = contiguous_copy(*input, input->dtype);
  Dims strides = y->strides, a, b;
  const int64_t first = start * strides[axis];
  if (drops) strides.erase(axis);
  else strides[axis] *= step;
  Ref<Tensor> x = pinned(src);
  if (x->numel) {
    Array to = as_array(*y, sizes, strides, a), from = as_array(*x, b);
    to.data += first * item_size(y->dtype);
    WithoutGil free(is_long(x->numel));
    copy(to, from);
  }
  out.push_back(y);
  return true;
}

// select_scatter(input, src, dim, index)
bool select_scatter(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]), src = ref_of(slots[1]);
  int axis;
  int64_t index;
  if (t->ndim() == 0 || !find_axis(slots[2], t->ndim(), axis) || !find_int(slots[3], index)) return false;
  const int64_t size = t->sizes[axis];
  Dims sizes = t->sizes;
  sizes.erase(axis);
  if (index < -size || index >= size || !(src->sizes == sizes)) return false;
  return overwritten(t, src, axis, index < 0 ? index + size : index, 1, true, out);
}

// The bounds of a slice, given as (start, end, step), inside an axis.
bool slice_bounds(PyObject* const* given, int64_t size, int64_t& start, int64_t& length, int64_t& step) {
  int64_t end = size;
  start = 0;
  if ((given[0] != Py_None && !find_int(given[0], start)) || (given[1] != Py_None && !find_int(given[1], end)) ||
      !find_int(given[2], step) || step < 1)
    return false;
  auto inside = [size](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size); };
  start = inside(start);
  const int64_t span = std::max(inside(end) - start, int64_t(0));
  length = span / step + (span % step != 0);
  return true;
}

// slice_scatter(input, src, dim, start, end, step)
bool slice_scatter(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]), src = ref_of(slots[1]);
  int axis;
  int64_t start, length, step;
  if (t->ndim() == 0 || !find_axis(slots[2], t->ndim(), axis)) return false;
  if (!slice_bounds(slots + 3, t->sizes[axis], start, length, step)) return false;
  Dims sizes = t->sizes;
  sizes[axis] = length;
  if (!(src->sizes == sizes)) return false;
  return overwritten(t, src, axis, start, step, false, out);
}

// slice(input, dim, start, end, step)
bool slice(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  int axis;
  int64_t start, length, step;
  if (t->ndim() == 0 || !find_axis(slots[1], t->ndim(), axis)) return false;
  if (!slice_bounds(slots + 2, t->sizes[axis], start, length, step)) return false;
  Dims sizes = t->sizes, strides = t->strides;
  sizes[axis] = length;
  const int64_t offset = t->offset + (length ? start * strides[axis] : 0);
  if (__builtin_mul_overflow(strides[axis], step, &strides[axis])) return false;
  out.push_back(make_view(t, std::move(sizes), std::move(strides), offset));
  return true;
}

}  // namespace

NativeCall find_native_move(const std::string& name) {
  static const std::unordered_map<std::string, NativeCall> table = {
      {"cat", cat},   {"stack", stack}, {"flip", flip},
      {"roll", roll}, {"tril", tril},   {"triu", triu},
      {"slice", slice}, {"constant_pad_nd", constant_pad}, {"select_scatter", select_scatter}, {"slice_scatter", slice_scatter}};
  auto found = table.find(name);
  if (found != table.end()) return found->second;
  if (NativeCall call = find_native_gather(name)) return call;
  if (NativeCall call = find_native_scatter(name)) return call;
  return find_native_order(name);
}

}  // namespace thixo
