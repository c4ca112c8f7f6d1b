// Native paths of operators that read elements by index: index_select, gather, take, embeddings, masks, x[index].
#include <unordered_map>

#include "moves.h"

namespace thixo {

Ref<Tensor> take_places(const Ref<Tensor>& given, int first, const SmallVector<Ref<Tensor>, 2>& indices, const Dims& joint,
                        bool negative) {
  const int picked = int(indices.size()), ndim = given->ndim(), item = item_size(given->dtype);
  Ref<Tensor> x = pinned(given);
  Dims sizes;
  for (int d = 0; d < first; ++d) sizes.push_back(x->sizes[d]);
  for (int64_t n : joint) sizes.push_back(n);
  for (int d = first + picked; d < ndim; ++d) sizes.push_back(x->sizes[d]);
  checked_numel(sizes, x->dtype, "index");
  Ref<Tensor> y = empty(sizes, x->dtype);
  Places places;
  places.axes = picked;
  places.negative = negative;
  places.count = indices[0]->numel;
  Axes after = axes_of(*x, first + picked, ndim);
  const bool solid = after.count == 0 || (after.count == 1 && after.strides[0] == item);
  if (!solid && y->numel >= x->numel) {  // most of it is read: worth having it in order
    x = contiguous_copy(*x, x->dtype);
    after = axes_of(*x, first + picked, ndim);
  }
  const Axes before = axes_of(*x, 0, first);
  for (int k = 0; k < picked; ++k) {
    places.index[k] = reinterpret_cast<const int64_t*>(indices[k]->data());
    places.size[k] = x->sizes[first + k];
    places.stride[k] = x->strides[first + k] * item;
  }
  bool good;
  {
    WithoutGil free(is_long(y->numel) || is_long(places.count));
    good = gather_blocks(y->data(), x->data(), item, before, places, after);
  }
  return good ? y : Ref<Tensor>();
}

bool join_indices(PyObject* tuple, SmallVector<Ref<Tensor>, 2>& lines, Dims& joint) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor* t = tensor_of(PyTuple_GET_ITEM(tuple, i));
    if (!is_integer(t->dtype)) return false;
    if (i == 0) {
      joint = t->sizes;
      continue;
    }
    if (t->sizes == joint) continue;
    try {
      joint = broadcast(joint, t->sizes, "");
    } catch (const Error&) {
      return false;
    }
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref<Tensor> t = ref_of(PyTuple_GET_ITEM(tuple, i));
    if (!(t->sizes == joint)) {
      const Dims strides = expanded_strides(*t, joint);
      t = alias(*t);
      t->numel = checked_numel(joint, DType::I64, "index");
      t->sizes = joint;
      t->strides = strides;
    }
    lines.push_back(index_line(t));
  }
  return true;
}

namespace {

bool hand_out(Ref<Tensor> y, Results& out) {
  if (!y) return false;
  out.push_back(std::move(y));
  return true;
}

// index_select(input, dim, index)
bool index_select(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), index = ref_of(slots[2]);
  int axis;
  if (!find_axis(slots[1], x->ndim(), axis) || !is_integer(index->dtype) || index->ndim() > 1 || x->ndim() == 0) return false;
  SmallVector<Ref<Tensor>, 2> lines;
  lines.push_back(index_line(index));
  return hand_out(take_places(x, axis, lines, Dims{lines[0]->numel}, false), out);
}

// take(input, index)
bool take(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), index = ref_of(slots[1]);
  if (!is_integer(index->dtype)) return false;
  Ref<Tensor> line = x->is_contiguous() ? alias(*x) : contiguous_copy(*x, x->dtype);
  line->sizes = Dims{line->numel};
  line->strides = Dims{1};
  SmallVector<Ref<Tensor>, 2> lines;
  lines.push_back(index_line(index));
  return hand_out(take_places(line, 0, lines, index->sizes, true), out);
}

// embedding_lookup(input, weight, padding_idx, scale_grad_by_freq)
bool embedding_lookup(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> index = ref_of(slots[0]), weight = ref_of(slots[1]);
  if (weight->ndim() != 2 || !is_floating(weight->dtype)) return false;
  SmallVector<Ref<Tensor>, 2> lines;
  lines.push_back(index_line(index));
  return hand_out(take_places(weight, 0, lines, index->sizes, false), out);
}

// index_get(input, indices, axes)
bool index_get(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  if (!PyTuple_Check(slots[1])) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(slots[1]);
  if (count < 1 || count > x->ndim()) return false;
  if (slots[2] != Py_None && (!PyTuple_Check(slots[2]) || PyTuple_GET_SIZE(slots[2]) != count)) return false;
  SmallVector<Ref<Tensor>, 2> lines;
  Dims joint;
  if (!join_indices(slots[1], lines, joint)) return false;
  return hand_out(take_places(x, 0, lines, joint, true), out);
}

bool fits_inside(const Tensor& inner, const Tensor& outer, int except) {
  if (std::max(inner.ndim(), 1) != std::max(outer.ndim(), 1)) return false;
  for (int d = 0; d < inner.ndim() && d < outer.ndim(); ++d)
    if (d != except && inner.sizes[d] > outer.sizes[d]) return false;
  return true;
}

bool gathered(const Ref<Tensor>& given, int axis, Ref<Tensor> index, bool negative, Results& out) {
  if (index->numel == 0 || !is_integer(index->dtype) || !fits_inside(*index, *given, axis)) return false;
  if (given->ndim() != index->ndim() && (given->numel == 0 || index->numel != 1)) return false;
  Ref<Tensor> y = empty(index->sizes, given->dtype);
  Ref<Tensor> x = pinned(given);
  index = index_array(index);
  Shaped from(*x), picks(*index);
  bool good;
  {
    WithoutGil free(is_long(y->numel));
    good = gather_along(y->data(), from.array, picks.array, axis, negative);
  }
  return good && hand_out(y, out);
}

// gather(input, dim, index, *, sparse_grad)
bool gather(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  return find_axis(slots[1], x->ndim(), axis) && gathered(x, axis, ref_of(slots[2]), false, out);
}

// take_along_dim(input, indices, dim): a composite; what is recorded, or broadcast, goes its way.
bool take_along_dim(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), index = ref_of(slots[1]);
  int axis;
  if (x->ndim() == 0 || x->ndim() != index->ndim() || !find_axis(slots[2], x->ndim(), axis)) return false;
  if (modes.grad && is_tracked(*x)) return false;
  for (int d = 0; d < x->ndim(); ++d)
    if (d != axis && x->sizes[d] != index->sizes[d]) return false;
  return gathered(x, axis, index, true, out);
}

// nonzero_places(input)
bool nonzero(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  if (x->ndim() == 0) return false;
  Ref<Tensor> mask = is_bool(x->dtype) && x->is_contiguous() ? pinned(x) : contiguous_copy(*x, DType::Bool);
  int64_t total;
  Ref<Tensor> counts = empty(Dims{mask_blocks(mask->numel)}, DType::I64);
  auto* starts = reinterpret_cast<int64_t*>(counts->data());
  {
    WithoutGil free(is_long(mask->numel));
    total = count_true(mask->data(), mask->numel, starts);
  }
  Ref<Tensor> y = empty(Dims{total, x->ndim()}, DType::I64);
  // The mask may have changed meanwhile: no more than `total` rows are written.
  int64_t written;
  {
    WithoutGil free(is_long(mask->numel));
    written = true_places(mask->data(), mask->numel, starts, total, mask->sizes.data(), mask->ndim(),
                          reinterpret_cast<int64_t*>(y->data()));
  }
  return written == total && hand_out(y, out);
}

// masked_select(input, mask): a composite; what is recorded, or broadcast, goes its way.
bool masked_select(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), mask = ref_of(slots[1]);
  if (!is_bool(mask->dtype) || !(x->sizes == mask->sizes) || (modes.grad && is_tracked(*x))) return false;
  return hand_out(take_masked(x, mask), out);
}

}  // namespace

Ref<Tensor> take_masked(const Ref<Tensor>& x, const Ref<Tensor>& given) {
  Ref<Tensor> mask = given->is_contiguous() ? pinned(given) : contiguous_copy(*given, DType::Bool);
  Ref<Tensor> from = x->is_contiguous() ? pinned(x) : contiguous_copy(*x, x->dtype);
  int64_t total;
  Ref<Tensor> counts = empty(Dims{mask_blocks(mask->numel)}, DType::I64);
  auto* starts = reinterpret_cast<int64_t*>(counts->data());
  const int item = item_size(x->dtype);
  {
    WithoutGil free(is_long(mask->numel));
    total = count_true(mask->data(), mask->numel, starts);
  }
  Dims sizes{total};
  int64_t block = 1;
  for (int d = mask->ndim(); d < from->ndim(); ++d) {
    sizes.push_back(from->sizes[d]);
    block *= from->sizes[d];
  }
  checked_numel(sizes, x->dtype, "index");
  Ref<Tensor> y = empty(sizes, x->dtype);
  bool good = true;
  {
    WithoutGil free(is_long(mask->numel) || is_long(y->numel));
    good = take_true(mask->data(), mask->numel, starts, total, from->data(), block * item, y->data());
  }
  return good ? y : Ref<Tensor>();
}

NativeCall find_native_gather(const std::string& name) {
  static const std::unordered_map<std::string, NativeCall> table = {
      {"index_select", index_select}, {"take", take},   {"nn.functional.embedding_lookup", embedding_lookup},
      {"index_get", index_get},       {"gather", gather}, {"take_along_dim", take_along_dim}, {"nonzero_places", nonzero},
      {"masked_select", masked_select}};
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace thixo
