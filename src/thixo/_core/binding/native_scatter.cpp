// Native paths of operators that write elements by index: index_add, index_copy, scatter, x[index] = value, and the sums
// that are the gradients of reading by index. Each is one function of the tensor it writes into: a copy of the input,
// zeros, or in place the input itself.
#include <unordered_map>

#include "../core/kernels.h"
#include "moves.h"

namespace thixo {

Ref<Tensor> zeros_of(const Dims& sizes, DType dtype) {
  Ref<Tensor> y = empty(sizes, dtype);
  Dims a;
  Array all = as_array(*y, a);
  WithoutGil free(is_long(y->numel));
  fill(all, nullptr);
  return y;
}

namespace {

using Indices = SmallVector<Ref<Tensor>, 2>;

// Where halves are added up: in float.
DType sum_dtype(DType t, Write write) { return write == Write::Add && is_half(t) ? DType::F32 : t; }

Ref<Tensor> copy_of(const Ref<Tensor>& given, DType dtype) {
  Ref<Tensor> x = pinned(given), y = empty(x->sizes, dtype);
  Dims a, b;
  Array to = as_array(*y, a), from = as_array(*x, b);
  WithoutGil free(is_long(x->numel));
  copy(to, from);
  return y;
}

bool finish(Ref<Tensor> y, DType dtype, Results& out) {
  out.push_back(y->dtype == dtype ? std::move(y) : copy_of(y, dtype));
  return true;
}

// What is written: a tensor's elements, with strides (in elements) for each axis before, the places, each axis after.
struct Values {
  const char* data;
  DType dtype;
  Dims strides;
  Ref<Tensor> kept;
};

// y[.., places, ..] = or += values; the places are on the axes [first, first + indices). A fresh y is zeros before that.
bool write_places(const Ref<Tensor>& y, int first, const Indices& indices, bool negative, const Values& values, Write write,
                  bool fresh = false) {
  Scatter job;
  const int item = item_size(y->dtype), from_item = item_size(values.dtype), picked = int(indices.size());
  job.to = y->data();
  job.fresh = fresh ? y->numel * item : 0;
  job.from = values.data;
  job.dtype = values.dtype;
  job.write = write;
  job.places.axes = picked;
  job.places.negative = negative;
  job.places.count = indices[0]->numel;
  for (int k = 0; k < picked; ++k) {
    job.places.index[k] = reinterpret_cast<const int64_t*>(indices[k]->data());
    job.places.size[k] = y->sizes[first + k];
    job.places.stride[k] = y->strides[first + k] * item;
  }
  job.from_place = values.strides[first] * from_item;
  int64_t work = job.places.count;
  for (int d = 0; d < y->ndim(); ++d) {
    if (d >= first && d < first + picked) continue;
    const bool before = d < first;
    int& at = before ? job.before : job.after;
    (before ? job.before_sizes : job.after_sizes)[at] = y->sizes[d];
    (before ? job.before_to : job.after_to)[at] = y->strides[d] * item;
    (before ? job.before_from : job.after_from)[at] = values.strides[before ? d : d - picked + 1] * from_item;
    ++at;
    work *= y->sizes[d];
  }
  WithoutGil free(is_long(work) || is_long(job.places.count) || (fresh && is_long(y->numel)));
  return scatter_blocks(job);
}

// A number, or a 0-d tensor, that fits the dtype without a question; false: the declaration looks at it.
bool plain_element(PyObject* o, DType dtype, char* element) {
  if (is_tensor(o)) {
    Tensor* t = tensor_of(o);
    if (t->numel != 1 || t->ndim() != 0 || t->dtype != dtype) return false;
    std::memcpy(element, t->data(), size_t(item_size(dtype)));
    return true;
  }
  if (PyFloat_CheckExact(o)) {
    if (!is_floating(dtype) && !is_complex(dtype)) return false;
  } else if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow || v > 127 || v < (is_unsigned(dtype) ? 0 : -128)) return false;
    if (is_bool(dtype) && v != 0 && v != 1) return false;
  } else {
    return false;
  }
  Number n;
  if (!number_from(o, n)) return false;
  store_number(n, dtype, element);
  return true;
}

// ---- lines along one axis

// The source of index_add and index_copy fits: one slice for each index.
bool lines_fit(const Dims& sizes, int axis, const Tensor& index, const Tensor& source) {
  if (!is_integer(index.dtype) || index.ndim() > 1 || source.ndim() != sizes.size()) return false;
  for (int d = 0; d < sizes.size(); ++d)
    if (source.sizes[d] != (d == axis ? index.numel : sizes[d])) return false;
  return true;
}

bool write_lines(const Ref<Tensor>& y, int axis, const Ref<Tensor>& index, const Ref<Tensor>& source, Write write,
                 bool fresh = false) {
  Indices lines;
  lines.push_back(index_line(index));
  Ref<Tensor> from = pinned(source);
  return write_places(y, axis, lines, false, {from->data(), from->dtype, from->strides, from}, write, fresh);
}

bool apart(const Ref<Tensor>& x, std::initializer_list<const Tensor*> others) {
  if (has_internal_overlap(*x)) return false;
  for (const Tensor* t : others)
    if (t && may_overlap(*x, *t)) return false;
  return true;
}

// index_add(input, dim, index, source, *, alpha); index_copy(input, dim, index, source)
bool lines_into(PyObject* const* slots, Write write, Results* out) {
  Ref<Tensor> x = pinned(ref_of(slots[0])), index = ref_of(slots[2]), source = ref_of(slots[3]);
  int axis;
  if (x->ndim() == 0 || !find_axis(slots[1], x->ndim(), axis) || source->dtype != x->dtype) return false;
  if (!lines_fit(x->sizes, axis, *index, *source)) return false;
  int64_t alpha;
  if (write == Write::Add && (!find_int(slots[4], alpha) || alpha != 1)) return false;
  const DType kept = sum_dtype(x->dtype, write);
  if (!out) return kept == x->dtype && apart(x, {index.get(), source.get()}) && write_lines(x, axis, index, source, write);
  Ref<Tensor> y = copy_of(x, kept);
  return write_lines(y, axis, index, source, write) && finish(y, x->dtype, *out);
}
bool index_add(const Operator&, PyObject* const* slots, Results& out) { return lines_into(slots, Write::Add, &out); }
bool index_copy(const Operator&, PyObject* const* slots, Results& out) { return lines_into(slots, Write::Set, &out); }
bool index_add_in_place(const Operator&, PyObject* const* slots) { return lines_into(slots, Write::Add, nullptr); }
bool index_copy_in_place(const Operator&, PyObject* const* slots) { return lines_into(slots, Write::Set, nullptr); }

// Sums into a new array of rows, if they are that: nothing before the places, whole rows after them. y is made then.
enum class Summed : uint8_t { Not, Done, OutOfRange };
Summed sum_whole_rows(const Dims& sizes, int first, const Indices& indices, bool negative, const Values& values, Ref<Tensor>& y) {
  const int picked = int(indices.size()), item = item_size(values.dtype);
  RowSums job;
  job.rows = job.width = 1;
  for (int d = 0; d < first; ++d)
    if (sizes[d] != 1) return Summed::Not;
  for (int d = sizes.size() - 1; d >= first + picked; --d) {
    if (sizes[d] != 1 && values.strides[d - picked + 1] != job.width) return Summed::Not;
    job.width *= sizes[d];
  }
  if (job.width * item < kSummedRow) return Summed::Not;
  job.places.axes = picked;
  job.places.negative = negative;
  job.places.count = indices[0]->numel;
  if (job.places.count == 0 || job.places.count > INT32_MAX) return Summed::Not;
  for (int k = picked - 1; k >= 0; --k) {
    job.places.index[k] = reinterpret_cast<const int64_t*>(indices[k]->data());
    job.places.size[k] = sizes[first + k];
    job.places.stride[k] = job.rows;
    job.rows *= sizes[first + k];
  }
  y = empty(sizes, values.dtype);
  job.to = y->data();
  job.from = values.data;
  job.dtype = values.dtype;
  job.from_row = values.strides[first] * item;
  WithoutGil free(is_long(y->numel) || is_long(job.places.count * job.width));
  return sum_rows(job) ? Summed::Done : Summed::OutOfRange;
}

// index_sum(source, dim, index, size)
bool index_sum(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> source = ref_of(slots[0]), index = ref_of(slots[2]);
  int axis;
  int64_t size;
  if (source->ndim() == 0 || !find_axis(slots[1], source->ndim(), axis) || !find_int(slots[3], size) || size < 0) return false;
  Dims sizes = source->sizes;
  sizes[axis] = size;
  if (!lines_fit(sizes, axis, *index, *source)) return false;
  checked_numel(sizes, source->dtype, "index_sum");
  Indices lines;
  lines.push_back(index_line(index));
  Ref<Tensor> from = pinned(source), y;
  const Summed summed = sum_whole_rows(sizes, axis, lines, false, {from->data(), from->dtype, from->strides, from}, y);
  if (summed != Summed::Not) {
    if (summed == Summed::Done) out.push_back(y);
    return summed == Summed::Done;
  }
  y = empty(sizes, sum_dtype(source->dtype, Write::Add));
  return write_lines(y, axis, index, source, Write::Add, true) && finish(y, source->dtype, out);
}

// index_fill(input, dim, index, value)
bool fill_lines(PyObject* const* slots, Results* out) {
  Ref<Tensor> x = pinned(ref_of(slots[0])), index = ref_of(slots[2]);
  int axis;
  if (x->ndim() == 0 || !find_axis(slots[1], x->ndim(), axis) || !is_integer(index->dtype) || index->ndim() > 1) return false;
  alignas(16) char element[16] = {};
  if (!plain_element(slots[3], x->dtype, element)) return false;
  if (!out && !apart(x, {index.get()})) return false;
  Ref<Tensor> y = out ? copy_of(x, x->dtype) : x;
  Indices lines;
  lines.push_back(index_line(index));
  if (!write_places(y, axis, lines, true, {element, x->dtype, Dims(x->ndim()), {}}, Write::Set)) return false;
  if (out) out->push_back(y);
  return true;
}
bool index_fill(const Operator&, PyObject* const* slots, Results& out) { return fill_lines(slots, &out); }
bool index_fill_in_place(const Operator&, PyObject* const* slots) { return fill_lines(slots, nullptr); }

// ---- places on the first axes

// Values broadcast to (joint..., rest...), with one stride from place to place.
bool spread(const Ref<Tensor>& given, const Dims& sizes, int picked, const Dims& joint, Values& values) {
  Dims shape = joint;
  for (int d = picked; d < sizes.size(); ++d) shape.push_back(sizes[d]);
  if (given->ndim() > shape.size()) return false;
  for (int d = 0; d < given->ndim(); ++d) {
    const int64_t want = shape[shape.size() - given->ndim() + d];
    if (given->sizes[d] != want && given->sizes[d] != 1) return false;
  }
  Ref<Tensor> t = pinned(given);
  Dims strides = expanded_strides(*t, shape);
  Axes places;
  for (int d = 0; d < joint.size(); ++d) places.add(shape[d], strides[d]);
  if (places.count > 1) {
    Ref<Tensor> wide = alias(*t);
    wide->numel = checked_numel(shape, t->dtype, "setitem");
    wide->sizes = shape;
    wide->strides = strides;
    t = copy_of(wide, t->dtype);
    strides = t->strides;
    places = Axes();
    for (int d = 0; d < joint.size(); ++d) places.add(shape[d], strides[d]);
  }
  values.data = t->data();
  values.dtype = t->dtype;
  values.strides.push_back(places.count ? places.strides[0] : 0);
  for (int d = joint.size(); d < shape.size(); ++d) values.strides.push_back(strides[d]);
  values.kept = t;
  return true;
}

// index_set(input, indices, values, accumulate, axes)
bool set_places(PyObject* const* slots, Results* out) {
  Ref<Tensor> x = pinned(ref_of(slots[0])), given = ref_of(slots[2]);
  if (!PyTuple_Check(slots[1]) || given->dtype != x->dtype) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(slots[1]);
  if (count < 1 || count > x->ndim()) return false;
  if (slots[4] != Py_None && (!PyTuple_Check(slots[4]) || PyTuple_GET_SIZE(slots[4]) != count)) return false;
  const Write write = slots[3] == Py_True ? Write::Add : Write::Set;
  const DType kept = sum_dtype(x->dtype, write);
  Indices lines;
  Dims joint;
  Values values;
  if (!join_indices(slots[1], lines, joint) || !spread(given, x->sizes, int(count), joint, values)) return false;
  if (!out) {
    if (kept != x->dtype || !apart(x, {values.kept.get()})) return false;
    for (const Ref<Tensor>& line : lines)
      if (may_overlap(*x, *line)) return false;
    return write_places(x, 0, lines, true, values, write);
  }
  Ref<Tensor> y = copy_of(x, kept);
  return write_places(y, 0, lines, true, values, write) && finish(y, x->dtype, *out);
}
bool index_set(const Operator&, PyObject* const* slots, Results& out) { return set_places(slots, &out); }
bool index_set_in_place(const Operator&, PyObject* const* slots) { return set_places(slots, nullptr); }

// place_sum(values, indices, shape, axes)
bool place_sum(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> given = ref_of(slots[0]);
  if (!PyTuple_Check(slots[1]) || !PyTuple_Check(slots[2])) return false;
  Dims sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots[2]); ++i) {
    int64_t size;
    if (!find_int(PyTuple_GET_ITEM(slots[2], i), size) || size < 0) return false;
    sizes.push_back(size);
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(slots[1]);
  if (count < 1 || count > sizes.size()) return false;
  if (slots[3] != Py_None && (!PyTuple_Check(slots[3]) || PyTuple_GET_SIZE(slots[3]) != count)) return false;
  checked_numel(sizes, given->dtype, "place_sum");
  Indices lines;
  Dims joint;
  Values values;
  if (!join_indices(slots[1], lines, joint) || !spread(given, sizes, int(count), joint, values)) return false;
  Ref<Tensor> y;
  const Summed summed = sum_whole_rows(sizes, 0, lines, true, values, y);
  if (summed != Summed::Not) {
    if (summed == Summed::Done) out.push_back(y);
    return summed == Summed::Done;
  }
  y = empty(sizes, sum_dtype(given->dtype, Write::Add));
  return write_places(y, 0, lines, true, values, Write::Add, true) && finish(y, given->dtype, out);
}

// put(input, index, source, accumulate)
bool put(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), index = ref_of(slots[1]), source = ref_of(slots[2]);
  if (!is_integer(index->dtype) || source->dtype != x->dtype || source->numel != index->numel) return false;
  const Write write = slots[3] == Py_True ? Write::Add : Write::Set;
  Ref<Tensor> y = copy_of(x, sum_dtype(x->dtype, write)), line = alias(*y);
  line->sizes = Dims{y->numel};
  line->strides = Dims{1};
  Ref<Tensor> from = source->is_contiguous() ? pinned(source) : contiguous_copy(*source, source->dtype);
  Indices lines;
  lines.push_back(index_line(index));
  return write_places(line, 0, lines, true, {from->data(), from->dtype, Dims{1}, from}, write) && finish(y, x->dtype, out);
}

// ---- along an axis

bool fits_inside(const Tensor& inner, const Dims& outer, int except) {
  if (inner.ndim() != outer.size()) return false;
  for (int d = 0; d < inner.ndim(); ++d)
    if (d != except && inner.sizes[d] > outer[d]) return false;
  return true;
}

bool write_along(const Ref<Tensor>& y, int axis, const Ref<Tensor>& given, PyObject* src, Write write, bool in_place,
                 bool fresh = false) {
  Ref<Tensor> index = index_array(given);
  Shaped to(*y), picks(*index);
  alignas(16) char element[16] = {};
  bool good;
  if (is_tensor(src)) {
    Ref<Tensor> from = pinned(ref_of(src));
    Shaped values(*from);
    WithoutGil free(is_long(index->numel));
    good = scatter_along(to.array, values.array, picks.array, axis, write, in_place, fresh);
  } else {
    if (!plain_element(src, y->dtype, element)) return false;
    const Dims still(index->ndim());
    const Array value{element, y->dtype, index->ndim(), index->sizes.data(), still.data()};
    WithoutGil free(is_long(index->numel));
    good = scatter_along(to.array, value, picks.array, axis, write, in_place);
  }
  return good;
}

// scatter_set(input, dim, index, src); scatter_add(input, dim, index, src)
bool scatter_into(PyObject* const* slots, Write write, Results* out) {
  Ref<Tensor> x = pinned(ref_of(slots[0])), index = ref_of(slots[2]);
  int axis;
  if (x->ndim() == 0 || !find_axis(slots[1], x->ndim(), axis) || !is_integer(index->dtype) || index->numel == 0) return false;
  if (!fits_inside(*index, x->sizes, axis)) return false;
  const Tensor* src = is_tensor(slots[3]) ? tensor_of(slots[3]) : nullptr;
  if (src && (src->dtype != x->dtype || !fits_inside(*index, src->sizes, -1))) return false;
  const DType kept = sum_dtype(x->dtype, write);
  if (!out) return kept == x->dtype && apart(x, {index.get(), src}) && write_along(x, axis, index, slots[3], write, true);
  Ref<Tensor> y = copy_of(x, kept);
  return write_along(y, axis, index, slots[3], write, false) && finish(y, x->dtype, *out);
}
bool scatter_set(const Operator&, PyObject* const* slots, Results& out) { return scatter_into(slots, Write::Set, &out); }
bool scatter_add(const Operator&, PyObject* const* slots, Results& out) { return scatter_into(slots, Write::Add, &out); }
bool scatter_add_in_place(const Operator&, PyObject* const* slots) { return scatter_into(slots, Write::Add, nullptr); }

// scatter_sum(src, dim, index, shape, distinct)
bool scatter_sum(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> src = ref_of(slots[0]), index = ref_of(slots[2]);
  if (!PyTuple_Check(slots[3]) || !is_integer(index->dtype) || index->numel == 0) return false;
  Dims sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots[3]); ++i) {
    int64_t size;
    if (!find_int(PyTuple_GET_ITEM(slots[3], i), size) || size < 0) return false;
    sizes.push_back(size);
  }
  int axis;
  if (sizes.empty() || !find_axis(slots[1], sizes.size(), axis)) return false;
  if (!fits_inside(*index, sizes, axis) || !fits_inside(*index, src->sizes, -1)) return false;
  checked_numel(sizes, src->dtype, "scatter_sum");
  constexpr int64_t kParts = 16;  // enough for all threads to make their zeros themselves
  bool whole = index->numel >= kParts * index->sizes[axis];  // each part of the result gets something
  for (int d = 0; d < sizes.size(); ++d) whole = whole && (d == axis || sizes[d] == index->sizes[d]);
  const Write write = slots[4] == Py_True ? Write::Set : Write::Add;
  const DType kept = sum_dtype(src->dtype, write);
  Ref<Tensor> y = whole ? empty(sizes, kept) : zeros_of(sizes, kept);
  return write_along(y, axis, index, slots[0], write, false, whole) && finish(y, src->dtype, out);
}

}  // namespace

NativeCall find_native_scatter(const std::string& name) {
  static const std::unordered_map<std::string, NativeCall> table = {
      {"index_add", index_add},     {"index_copy", index_copy},   {"index_fill", index_fill}, {"index_set", index_set},
      {"put", put},                 {"scatter_set", scatter_set}, {"scatter_add", scatter_add},
      {"scatter_sum", scatter_sum}, {"index_sum", index_sum},     {"place_sum", place_sum}};
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

NativeWrite find_native_write(const std::string& name) {
  static const std::unordered_map<std::string, NativeWrite> table = {
      {"index_add", index_add_in_place}, {"index_copy", index_copy_in_place}, {"index_fill", index_fill_in_place},
      {"index_set", index_set_in_place}, {"scatter_add", scatter_add_in_place}};
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace thixo
