// Native path of attention. What does not fit is left to the declaration, which says what is wrong.
#include <algorithm>

#include "../core/attention.h"
#include "program.h"

namespace thixo {

namespace {

constexpr double kLongAttention = 1 << 20;  // multiplications and additions from which the GIL is given up

struct Kernels {
  AttentionRows rows;
  Loop back = nullptr;
};
Kernels kernels_of(DType dtype) {
  static Kernels found[2];
  Kernels& kernels = found[dtype == DType::F64];
  if (kernels.back) return kernels;
  Object module = Object::own(PyImport_ImportModule("thixo.runtime.attention"));
  Object made = Object::own(call_python_method(module.get(), "find", "s", short_name(dtype)));
  if (made.get() == Py_None) return {};
  unsigned long long softmax, finish, back;
  if (!PyArg_ParseTuple(made.get(), "KKK", &softmax, &finish, &back)) throw PythonError();
  using Row = decltype(RowLoop::address);
  kernels = {{{reinterpret_cast<Row>(softmax)}, {reinterpret_cast<Row>(finish)}}, reinterpret_cast<Loop>(back)};
  return kernels;
}

// Of the computation's dtype, rows contiguous.
Ref<Tensor> with_rows(const Ref<Tensor>& t, DType dtype) {
  const int last = t->ndim() - 1;
  const bool fits = t->dtype == dtype && (t->strides[last] == 1 || t->sizes[last] == 1);
  return fits ? alias(*t) : contiguous_copy(*t, dtype);
}

Matrices matrices(const Tensor& t, const Dims& batch) {
  Matrices m;
  m.data = t.data();
  const int own = t.ndim() - 2, extra = batch.size() - own;
  m.batch = Dims(batch.size());
  for (int i = 0; i < own; ++i) m.batch[i + extra] = t.sizes[i] == 1 ? 0 : t.strides[i];
  m.row = t.strides[own];
  return m;
}

bool broadcasts(const Tensor& t, int trailing, Dims& sizes) {
  for (int i = 0; i < t.ndim() - trailing; ++i) {
    const int at = sizes.size() - (t.ndim() - trailing) + i;
    const int64_t size = t.sizes[i];
    if (size == 1 || size == sizes[at]) continue;
    if (sizes[at] != 1) return false;
    sizes[at] = size;
  }
  return true;
}

// A tensor of these sizes whose memory has the order of another's, where that is one of the same rank.
Ref<Tensor> in_order_of(const Tensor& like, const Dims& sizes, DType dtype) {
  const int n = sizes.size();
  if (like.ndim() != n || n < 3) return empty(sizes, dtype);
  SmallVector<int, 8> order;  // from the innermost axis outwards; the last one stays inside
  for (int d = 0; d < n - 1; ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return like.strides[a] != like.strides[b] ? like.strides[a] < like.strides[b] : a > b;
  });
  Dims strides(n);
  strides[n - 1] = 1;
  int64_t step = sizes[n - 1];
  for (int d : order) {
    strides[d] = step;
    step *= sizes[d];
  }
  checked_numel(sizes, dtype, "attention");
  return empty_strided(sizes, strides, dtype);
}

struct Call {
  Attention a;
  Ref<Tensor> q, k, v, mask;
  Dims lead;
  DType given;

  // `halves`: bfloat16 may stay as it is.
  bool read(PyObject* query, PyObject* key, PyObject* value, PyObject* attn_mask, PyObject* causal, PyObject* scale,
            bool halves) {
    q = ref_of(query);
    k = ref_of(key);
    v = ref_of(value);
    given = q->dtype;
    if (!is_floating(given) || k->dtype != given || v->dtype != given) return false;
    if (q->ndim() < 2 || k->ndim() < 2 || v->ndim() < 2) return false;
    lead = Dims(std::max({q->ndim(), k->ndim(), v->ndim()}) - 2, 1);
    if (attn_mask != Py_None) {
      mask = ref_of(attn_mask);
      const int extra = mask->ndim() - 2 - lead.size();
      if (extra > 0 || (!is_bool(mask->dtype) && mask->dtype != given)) return false;
    }
    for (const Ref<Tensor>& t : {q, k, v})
      if (!broadcasts(*t, 2, lead)) return false;
    a.dtype = given == DType::F64 ? DType::F64 : DType::F32;
    a.queries = q->sizes[q->ndim() - 2];
    a.size = q->sizes[q->ndim() - 1];
    a.keys = k->sizes[k->ndim() - 2];
    a.value_size = v->sizes[v->ndim() - 1];
    if (k->sizes[k->ndim() - 1] != a.size || v->sizes[v->ndim() - 2] != a.keys) return false;
    if (a.queries == 0 || a.keys == 0 || a.size == 0 || a.value_size == 0) return false;
    int64_t count = 1;
    for (int64_t size : lead) count *= size;
    if (count == 0) return false;
    a.batch = lead;
    a.causal = causal == Py_True;
    a.scale = PyFloat_AsDouble(scale);
    if (a.scale == -1.0 && PyErr_Occurred()) throw PythonError();
    a.source = halves && given == DType::BF16 && takes_bf16(a.queries) ? given : a.dtype;
    q = with_rows(q, a.source);
    k = with_rows(k, a.source);
    v = with_rows(v, a.source);
    a.q = matrices(*q, lead);
    a.k = matrices(*k, lead);
    a.v = matrices(*v, lead);
    return !mask || read_mask();
  }

  bool read_mask() {
    a.mask_is_bool = is_bool(mask->dtype);
    Dims sizes = lead;
    sizes.push_back(a.queries);
    sizes.push_back(a.keys);
    Dims widest = sizes;
    if (!broadcasts(*mask, 0, widest) || !(widest == sizes)) return false;
    mask = a.mask_is_bool || mask->dtype == a.dtype ? alias(*mask) : contiguous_copy(*mask, a.dtype);
    const Dims strides = expanded_strides(*mask, sizes);
    a.mask = mask->data();
    a.mask_batch = Dims(lead.size());
    for (int i = 0; i < lead.size(); ++i) a.mask_batch[i] = strides[i];
    a.mask_row = strides[lead.size()];
    a.mask_column = strides[lead.size() + 1];
    return true;
  }

  Dims shape(int64_t rows, int64_t columns) const {
    Dims sizes = lead;
    sizes.push_back(rows);
    sizes.push_back(columns);
    return sizes;
  }
  bool is_long() const {
    double work = double(a.queries) * double(a.keys) * double(a.size + a.value_size);
    for (int64_t size : lead) work *= double(size);
    return work >= kLongAttention;
  }
  // The result, in the dtype that was asked for.
  Ref<Tensor> given_back(const Ref<Tensor>& t) const { return t->dtype == given ? t : contiguous_copy(*t, given); }
};

// attention(query, key, value, attn_mask, is_causal, scale)
bool forward(const Operator&, PyObject* const* slots, Results& out) {
  Call call;
  if (!call.read(slots[0], slots[1], slots[2], slots[3], slots[4], slots[5], true)) return false;
  Attention& a = call.a;
  const Kernels kernels = kernels_of(a.dtype);
  if (!kernels.back) return false;
  const Ref<Tensor> y = in_order_of(*call.q, call.shape(a.queries, a.value_size), a.source);
  Dims rows = call.lead;
  rows.push_back(a.queries);
  const Ref<Tensor> logsumexp = empty(rows, a.dtype);
  a.y = matrices(*y, call.lead);
  a.logsumexp = logsumexp->data();
  {
    WithoutGil free(call.is_long());
    attention_forward(a, kernels.rows);
  }
  out.push_back(call.given_back(y));
  out.push_back(logsumexp);
  return true;
}

// attention_backward(grad, query, key, value, y, logsumexp, attn_mask, is_causal, scale)
bool backward(const Operator&, PyObject* const* slots, Results& out) {
  Call call;
  if (!call.read(slots[1], slots[2], slots[3], slots[6], slots[7], slots[8], false)) return false;
  Attention& a = call.a;
  const Kernels kernels = kernels_of(a.dtype);
  if (!kernels.back) return false;
  Ref<Tensor> g = ref_of(slots[0]), y, logsumexp;
  const Dims shape = call.shape(a.queries, a.value_size);
  Dims rows = call.lead;
  rows.push_back(a.queries);
  if (!(g->sizes == shape) || g->dtype != call.given) return false;
  if (slots[4] == Py_None || slots[5] == Py_None) {
    y = empty(shape, a.dtype);
    logsumexp = empty(rows, a.dtype);
    a.y = matrices(*y, call.lead);
    a.logsumexp = logsumexp->data();
    WithoutGil free(call.is_long());
    attention_forward(a, kernels.rows);
  } else {
    y = ref_of(slots[4]);
    logsumexp = ref_of(slots[5]);
    if (!(y->sizes == shape) || !(logsumexp->sizes == rows)) return false;
    if (y->dtype != call.given || logsumexp->dtype != a.dtype) return false;
  }
  g = with_rows(g, a.dtype);
  y = with_rows(y, a.dtype);
  logsumexp = logsumexp->is_contiguous() ? alias(*logsumexp) : contiguous_copy(*logsumexp, a.dtype);
  a.y = matrices(*y, call.lead);
  a.logsumexp = logsumexp->data();
  AttentionGradients to;
  to.g = matrices(*g, call.lead);
  const Ref<Tensor> to_q = in_order_of(*call.q, call.shape(a.queries, a.size), a.dtype);
  const Ref<Tensor> to_k = in_order_of(*call.k, call.shape(a.keys, a.size), a.dtype);
  const Ref<Tensor> to_v = in_order_of(*call.v, call.shape(a.keys, a.value_size), a.dtype);
  to.to_q = matrices(*to_q, call.lead);
  to.to_k = matrices(*to_k, call.lead);
  to.to_v = matrices(*to_v, call.lead);
  {
    WithoutGil free(call.is_long());
    attention_backward(a, to, kernels.back);
  }
  for (const Ref<Tensor>& t : {to_q, to_k, to_v}) out.push_back(call.given_back(t));
  return true;
}

}  // namespace

std::unique_ptr<Step> prepare_attention(const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results) {
  const bool back = op.full_name == "nn.functional.attention_backward";
  if (!back && op.full_name != "nn.functional.attention") return nullptr;
  PyObject* const* from = slots + (back ? 1 : 0);  // query, key, value
  PyObject* const* options = slots + (back ? 6 : 3);  // attn_mask, is_causal, scale
  // Nothing is there to be copied yet: whatever would be converted or turned first is left to the operator.
  const auto as_it_is = [](PyObject* o) {
    const Tensor& t = *tensor_of(o);
    const int last = t.ndim() - 1;
    return (t.dtype == DType::F32 || t.dtype == DType::F64) && last >= 1 && (t.strides[last] == 1 || t.sizes[last] == 1);
  };
  for (int i = 0; i < 3; ++i)
    if (!as_it_is(from[i])) return nullptr;
  Call call;
  if (!call.read(from[0], from[1], from[2], options[0], options[1], options[2], false)) return nullptr;
  const Dims rows = call.shape(call.a.queries, call.a.value_size);
  Dims lines = call.lead;
  lines.push_back(call.a.queries);
  auto step = std::make_unique<AttentionStep>();
  step->attention = call.a;
  const Kernels kernels = kernels_of(call.a.dtype);
  if (!kernels.back) return nullptr;
  step->rows = kernels.rows;
  step->q = place_of(*call.q);
  step->k = place_of(*call.k);
  step->v = place_of(*call.v);
  if (call.mask) step->mask = place_of(*call.mask);
  if (!back) {
    if (results.size() != 2 || !(results[0]->sizes == rows) || !(results[1]->sizes == lines)) return nullptr;
    step->attention.y = matrices(*results[0], call.lead);
    step->y = place_of(*results[0]);
    step->logsumexp = place_of(*results[1]);
    return step;
  }
  if (slots[4] == Py_None || slots[5] == Py_None || !as_it_is(slots[0]) || !as_it_is(slots[4]) || results.size() != 3) return nullptr;
  const Tensor &g = *tensor_of(slots[0]), &y = *tensor_of(slots[4]), &logsumexp = *tensor_of(slots[5]);
  if (!(g.sizes == rows) || !(y.sizes == rows) || !(logsumexp.sizes == lines) || g.dtype != call.given || y.dtype != call.given ||
      logsumexp.dtype != call.given || !logsumexp.is_contiguous())
    return nullptr;
  const int64_t tall[] = {call.a.queries, call.a.keys, call.a.keys}, wide[] = {call.a.size, call.a.size, call.a.value_size};
  for (size_t i = 0; i < 3; ++i)
    if (!(results[i]->sizes == call.shape(tall[i], wide[i]))) return nullptr;
  step->back = kernels.back;
  step->attention.y = matrices(y, call.lead);
  step->y = place_of(y);
  step->logsumexp = place_of(logsumexp);
  step->gradients.g = matrices(g, call.lead);
  step->g = place_of(g);
  Matrices* made[] = {&step->gradients.to_q, &step->gradients.to_k, &step->gradients.to_v};
  Place* places[] = {&step->to_q, &step->to_k, &step->to_v};
  for (size_t i = 0; i < 3; ++i) {
    *made[i] = matrices(*results[i], call.lead);
    *places[i] = place_of(*results[i]);
  }
  return step;
}

NativeCall find_native_attention(const std::string& name) {
  return name == "nn.functional.attention"            ? forward
         : name == "nn.functional.attention_backward" ? backward
                                                      : nullptr;
}

}  // namespace thixo
