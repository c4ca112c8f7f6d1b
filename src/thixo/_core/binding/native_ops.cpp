// Operators with a native path, found by name: sum, and the common views.
#include <cstring>
#include <unordered_map>

#include "../core/kernels.h"
#include "lazy.h"
#include "program.h"

namespace thixo {

namespace {

int axis_from(const Operator& op, int64_t d, int ndim) {
  int n = std::max(ndim, 1);
  if (d < -n || d >= n)
    raise(ErrorKind::Index, op.name + ": dimension " + std::to_string(d) + " is out of range for a tensor with " +
                                std::to_string(ndim) + " dimensions; it must be in [" + std::to_string(-n) + ", " +
                                std::to_string(n - 1) + "]");
  return int(d < 0 ? d + n : d);
}
int64_t as_int64(PyObject* o) {
  int64_t v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

// Which axes a sum is over.
void mark_axes(const Operator& op, PyObject* dims, int ndim, bool* reduced) {
  if (dims == Py_None || PyTuple_GET_SIZE(dims) == 0) {
    std::fill(reduced, reduced + ndim, true);
    return;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims); ++i) {
    const int d = axis_from(op, as_int64(PyTuple_GET_ITEM(dims, i)), ndim);
    if (reduced[d]) raise(ErrorKind::Value, "sum: dimension " + std::to_string(d) + " appears twice in dim");
    reduced[d] = true;
  }
}

// Whether a row kernel is faster: its lanes add up many short rows, or many columns, at once.
bool is_long_sum(const Operator& op, const Tensor& t, const bool* reduced) {
  if (!op.rows || t.numel < 24) return false;
  if (t.numel >= 4096) return true;
  int64_t results = 1;
  for (int d = 0; d < t.ndim(); ++d)
    if (!reduced[d]) results *= t.sizes[d];
  if (results == 1) return false;
  return reduced[t.ndim() - 1] ? results >= 24 : t.numel >= 1024;
}

// sum(input, dim, keepdim, *, dtype)
bool native_sum(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  bool reduced[kMaxDims] = {};
  mark_axes(op, slots[1], t->ndim(), reduced);
  if (is_long_sum(op, *t, reduced)) return false;
  DType result = is_bool(t->dtype) || is_integer(t->dtype) ? DType::I64 : t->dtype;
  if (slots[3] != Py_None) {
    result = dtype_from(slots[3], "sum");
    if (result != t->dtype) t = contiguous_copy(*t, result);
    if (is_bool(result)) return false;
    if (is_integer(result) && result != DType::I64) return false;
  }
  bool keep = slots[2] == Py_True;
  t = pinned(t);
  Dims kept_sizes = t->sizes, dropped;
  for (int i = 0; i < t->ndim(); ++i) {
    if (reduced[i]) kept_sizes[i] = 1;
    else dropped.push_back(t->sizes[i]);
  }
  Ref<Tensor> r = empty(kept_sizes, result);
  Dims a, b;
  Array to = as_array(*r, a), from = as_array(*t, b);
  {
    WithoutGil free(t->numel >= kLongWork);
    sum(to, from, reduced);
  }
  if (!keep && t->ndim() > 0) {
    r->strides = contiguous_strides(dropped);
    r->sizes = std::move(dropped);
  }
  out.push_back(r);
  return true;
}

}  // namespace

std::unique_ptr<Step> prepare_sum(const Operator& op, PyObject* const* slots, const Tensor& result) {
  if (op.full_name != "sum") return nullptr;
  const Tensor& t = *tensor_of(slots[0]);
  auto step = std::make_unique<SumStep>();
  mark_axes(op, slots[1], t.ndim(), step->reduced);
  if (is_long_sum(op, t, step->reduced)) return nullptr;
  const DType usual = is_bool(t.dtype) || is_integer(t.dtype) ? DType::I64 : t.dtype;
  if (result.dtype != usual || (slots[3] != Py_None && usual != t.dtype) || result.numel == 0) return nullptr;
  step->from = place_of(t);
  step->to = place_of(result);
  step->from_dtype = t.dtype;
  step->to_dtype = result.dtype;
  step->sizes = step->kept_sizes = t.sizes;
  for (int d = 0; d < t.ndim(); ++d) {
    step->from_strides.push_back(t.strides[d] * item_size(t.dtype));
    if (step->reduced[d]) step->kept_sizes[d] = 1;
  }
  step->to_strides = contiguous_strides(step->kept_sizes);
  for (int64_t& stride : step->to_strides) stride *= item_size(result.dtype);
  return step;
}

namespace {

bool transpose(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  int a = axis_from(op, as_int64(slots[1]), t->ndim()), b = axis_from(op, as_int64(slots[2]), t->ndim());
  Dims sizes = t->sizes, strides = t->strides;
  if (t->ndim()) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
  out.push_back(make_view(t, sizes, strides, t->offset));
  return true;
}

bool permute(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  Dims dims = dims_from(slots[1], "permute");
  if (dims.size() != t->ndim())
    raise(ErrorKind::Shape, "permute: dims must name each of the " + std::to_string(t->ndim()) +
                                " dimensions once, got " + describe(dims) + " for " + describe(*t));
  Dims sizes(t->ndim()), strides(t->ndim());
  bool seen[kMaxDims] = {};
  for (int i = 0; i < dims.size(); ++i) {
    int d = axis_from(op, dims[i], t->ndim());
    if (seen[d]) raise(ErrorKind::Value, "permute: dimension " + std::to_string(d) + " appears twice in dims " + describe(dims));
    seen[d] = true;
    sizes[i] = t->sizes[d];
    strides[i] = t->strides[d];
  }
  out.push_back(make_view(t, sizes, strides, t->offset));
  return true;
}

// Replaces one -1 by what is left over.
void resolve(const char* op, const Tensor& t, Dims& wanted) {
  int64_t known_size = 1;
  int open = -1;
  for (int i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (open >= 0) raise(ErrorKind::Shape, std::string(op) + ": only one size can be -1, got " + describe(wanted));
      open = i;
    } else if (wanted[i] < 0) {
      raise(ErrorKind::Shape, std::string(op) + ": sizes must not be negative, got " + describe(wanted));
    } else if (__builtin_mul_overflow(known_size, wanted[i], &known_size)) {
      raise(ErrorKind::Shape, std::string(op) + ": the sizes " + describe(wanted) + " do not fit in 64 bits");
    }
  }
  if (open >= 0) {
    if (known_size == 0)
      raise(ErrorKind::Shape, std::string(op) + ": -1 is ambiguous in " + describe(wanted) + " because another size is 0");
    if (t.numel % known_size == 0) wanted[open] = t.numel / known_size;
  }
  int64_t total = 1;
  for (int64_t s : wanted) total *= s;
  if (total != t.numel)
    raise(ErrorKind::Shape, std::string(op) + ": cannot see " + describe(t) + ", which has " + std::to_string(t.numel) +
                                " elements, as " + describe(wanted));
}

bool view_or_copy(const char* name, PyObject* const* slots, Results& out, bool may_copy) {
  Tensor* t = tensor_of(slots[0]);
  Dims wanted = dims_from(slots[1], name), strides;
  resolve(name, *t, wanted);
  if (view_strides(t->sizes, t->strides, wanted, strides)) {
    out.push_back(make_view(*t, std::move(wanted), std::move(strides), t->offset));
    return true;
  }
  if (!may_copy)
    raise(ErrorKind::Shape, std::string(name) + ": " + describe(*t) + " with strides " + describe(t->strides) +
                                " cannot be seen as " + describe(wanted) + " without a copy; use reshape()");
  Ref<Tensor> copied = is_lazy() ? tape_operators.clone(alias(*t)) : contiguous_copy(*t, t->dtype);
  copied->sizes = wanted;
  copied->strides = contiguous_strides(wanted);
  out.push_back(copied);
  return true;
}
bool view(const Operator&, PyObject* const* slots, Results& out) { return view_or_copy("view", slots, out, false); }
bool reshape(const Operator&, PyObject* const* slots, Results& out) { return view_or_copy("reshape", slots, out, true); }

bool expand(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  Dims wanted = dims_from(slots[1], "expand");
  int extra = wanted.size() - t->ndim();
  bool fits = extra >= 0;
  for (int i = 0; fits && i < wanted.size(); ++i) {
    int64_t own = i < extra ? 1 : t->sizes[i - extra];
    if (wanted[i] == -1 && i >= extra) wanted[i] = own;
    fits = wanted[i] >= 0 && (own == wanted[i] || own == 1);
  }
  if (!fits)
    raise(ErrorKind::Shape, "expand: " + describe(*t) + " cannot be expanded to " + describe(wanted) +
                                "; only dimensions of size 1 grow, and new ones come in front");
  out.push_back(make_view(t, wanted, expanded_strides(*t, wanted), t->offset));
  return true;
}

bool unsqueeze(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  int d = axis_from(op, as_int64(slots[1]), t->ndim() + 1);
  Dims sizes = t->sizes, strides = t->strides;
  int64_t step = d < t->ndim() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, step);
  out.push_back(make_view(t, sizes, strides, t->offset));
  return true;
}

bool squeeze(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  bool drop[kMaxDims] = {};
  if (slots[1] == Py_None) std::fill(drop, drop + t->ndim(), true);
  else
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots[1]); ++i) {
      int d = axis_from(op, as_int64(PyTuple_GET_ITEM(slots[1], i)), t->ndim());
      if (drop[d]) raise(ErrorKind::Value, "squeeze: dimension " + std::to_string(d) + " appears twice in dim");
      drop[d] = true;
    }
  Dims sizes, strides;
  for (int i = 0; i < t->ndim(); ++i) {
    if (drop[i] && t->sizes[i] == 1) continue;
    sizes.push_back(t->sizes[i]);
    strides.push_back(t->strides[i]);
  }
  out.push_back(make_view(t, sizes, strides, t->offset));
  return true;
}

bool select(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> t = ref_of(slots[0]);
  if (t->ndim() == 0) raise(ErrorKind::Index, "select: a 0-d tensor has no dimension to select from");
  int d = axis_from(op, as_int64(slots[1]), t->ndim());
  int64_t i = as_int64(slots[2]), n = t->sizes[d];
  if (i < -n || i >= n)
    raise(ErrorKind::Index, "select: index " + std::to_string(i) + " is out of range for dimension " + std::to_string(d) +
                                " of " + describe(*t) + ", which has size " + std::to_string(n));
  Dims sizes = t->sizes, strides = t->strides;
  int64_t offset = t->offset + (i < 0 ? i + n : i) * strides[d];
  sizes.erase(d);
  strides.erase(d);
  out.push_back(make_view(t, sizes, strides, offset));
  return true;
}

// Composites that often give back their input: no Python then.
bool conj(const Operator&, PyObject* const* slots, Results& out) {
  Tensor* t = tensor_of(slots[0]);
  if (is_complex(t->dtype)) return false;
  out.push_back(Ref<Tensor>(t));
  return true;
}
bool contiguous(const Operator&, PyObject* const* slots, Results& out) {
  Tensor* t = tensor_of(slots[0]);
  if (!t->is_contiguous()) return false;
  out.push_back(Ref<Tensor>(t));
  return true;
}

bool detach(const Operator&, PyObject* const* slots, Results& out) {
  out.push_back(alias(*tensor_of(slots[0])));  // no view relation: later writes must not bring the tape back
  return true;
}

}  // namespace

// The gradient of a sum: seen from everywhere it was summed over.
static Ref<Tensor> sum_rule(const Operator& op, PyObject* const* attributes, const Ref<Tensor>& g, const ResultType& input) {
  PyObject *dim = attributes[1], *keepdim = attributes[2];
  int ndim = input.sizes.size();
  bool reduced[kMaxDims] = {};
  if (!dim || !keepdim || g->dtype != input.dtype) return {};
  if (dim == Py_None || (PyTuple_Check(dim) && PyTuple_GET_SIZE(dim) == 0)) std::fill(reduced, reduced + ndim, true);
  else
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dim); ++i)
      reduced[axis_from(op, as_int64(PyTuple_GET_ITEM(dim, i)), ndim)] = true;
  bool kept = keepdim == Py_True;
  Dims strides(ndim);
  for (int i = 0, at = 0; i < ndim; ++i) {
    strides[i] = reduced[i] ? 0 : g->strides[at];
    at += kept || !reduced[i];
  }
  Ref<Tensor> spread = alias(*g);
  spread->sizes = input.sizes;
  spread->strides = strides;
  spread->numel = 1;
  for (int64_t size : input.sizes) spread->numel *= size;
  return spread;
}

NativeRule find_native_rule(const std::string& name) { return name == "sum" ? sum_rule : nullptr; }

NativeCall find_native(const std::string& name) {
  static const std::unordered_map<std::string, NativeCall> table = {
      {"sum", native_sum}, {"transpose", transpose}, {"permute", permute}, {"view", view}, {"reshape", reshape},
      {"expand", expand},  {"unsqueeze", unsqueeze}, {"squeeze", squeeze}, {"select", select},
      {"detach", detach},  {"conj", conj},           {"contiguous", contiguous}};
  auto found = table.find(name);
  if (found != table.end()) return found->second;
  if (NativeCall product = find_native_product(name)) return product;
  if (NativeCall move = find_native_move(name)) return move;
  if (NativeCall window = find_native_window(name)) return window;
  if (NativeCall recurrent = find_native_recurrent(name)) return recurrent;
  if (NativeCall attention = find_native_attention(name)) return attention;
  return find_native_creation(name);
}

}  // namespace thixo
