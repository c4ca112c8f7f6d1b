// Native path of recurrent layers. What does not fit is left to the declaration, which says what is wrong.
#include <cstring>

#include "../core/recurrent.h"
#include "operator.h"

namespace thixo {

namespace {

constexpr double kLongSequence = 1 << 20;  // multiplications and additions from which the GIL is given up

// The kernels of a cell, found once for each dtype.
struct Cell {
  Loop forward = nullptr, backward = nullptr;
};
Cell cell_of(const char* name, DType dtype) {
  static Cell found[2];
  Cell& cell = found[dtype == DType::F64];
  if (cell.forward) return cell;
  Object module = Object::own(PyImport_ImportModule("thixo.runtime.recurrent"));
  Object made = Object::own(call_python_method(module.get(), "find", "ss", name, short_name(dtype)));
  if (made.get() == Py_None) return {};
  unsigned long long forward, backward;
  if (!PyArg_ParseTuple(made.get(), "KK", &forward, &backward)) throw PythonError();
  cell = {reinterpret_cast<Loop>(forward), reinterpret_cast<Loop>(backward)};
  return cell;
}

Ref<Tensor> plain(const Ref<Tensor>& t, DType dtype) {
  return t->dtype == dtype && t->is_contiguous() ? t : contiguous_copy(*t, dtype);
}
Ref<Tensor> rounded(const Ref<Tensor>& t, DType dtype) { return t->dtype == dtype ? t : contiguous_copy(*t, dtype); }

bool has_shape(const Tensor& t, DType dtype, std::initializer_list<int64_t> sizes) {
  if (t.dtype != dtype || t.ndim() != int(sizes.size())) return false;
  int i = 0;
  for (int64_t size : sizes)
    if (t.sizes[i++] != size) return false;
  return true;
}

DType computed_in(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }

// The sum of both biases, null if there are none.
Ref<Tensor> joined(PyObject* a, PyObject* b, DType dtype) {
  if (a == Py_None && b == Py_None) return {};
  if (a == Py_None || b == Py_None) return plain(ref_of(a == Py_None ? b : a), dtype);
  Ref<Tensor> first = plain(ref_of(a), dtype), second = plain(ref_of(b), dtype), sum = empty(first->sizes, dtype);
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    const T *x = reinterpret_cast<const T*>(first->data()), *y = reinterpret_cast<const T*>(second->data());
    for (int64_t i = 0; i < sum->numel; ++i) reinterpret_cast<T*>(sum->data())[i] = x[i] + y[i];
  };
  if (dtype == DType::F64) add(0.0);
  else add(0.0f);
  return sum;
}

bool fits_bias(PyObject* o, DType dtype, int64_t size) { return o == Py_None || has_shape(*tensor_of(o), dtype, {size}); }

// lstm_layer(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse)
bool lstm(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  if (x->ndim() != 3 || !is_floating(x->dtype) || x->numel == 0) return false;
  LstmSequence s;
  const DType given = x->dtype;
  s.dtype = computed_in(given);
  s.steps = x->sizes[0];
  s.batch = x->sizes[1];
  s.inputs = x->sizes[2];
  Ref<Tensor> h = ref_of(slots[1]), c = ref_of(slots[2]), w_ih = ref_of(slots[3]), w_hh = ref_of(slots[4]);
  if (w_hh->ndim() != 2 || w_hh->sizes[1] == 0) return false;
  s.hidden = w_hh->sizes[1];
  const int64_t gates = 4 * s.hidden;
  if (!has_shape(*h, given, {s.batch, s.hidden}) || !has_shape(*c, given, {s.batch, s.hidden}) ||
      !has_shape(*w_ih, given, {gates, s.inputs}) || !has_shape(*w_hh, given, {gates, s.hidden}) ||
      !fits_bias(slots[5], given, gates) || !fits_bias(slots[6], given, gates))
    return false;
  const Cell cell = cell_of("lstm", s.dtype);
  if (!cell.forward) return false;
  s.cell = cell.forward;
  s.reverse = slots[7] == Py_True;
  x = plain(x, s.dtype);
  h = plain(h, s.dtype);
  c = plain(c, s.dtype);
  w_ih = plain(w_ih, s.dtype);
  w_hh = plain(w_hh, s.dtype);
  const Ref<Tensor> bias = joined(slots[5], slots[6], s.dtype);
  const Dims all_gates{s.steps, s.batch, gates}, all{s.steps, s.batch, s.hidden}, one{s.batch, s.hidden};
  checked_numel(all_gates, s.dtype, "lstm_layer");
  const Ref<Tensor> y = empty(all, s.dtype), made_gates = empty(all_gates, s.dtype), cells = empty(all, s.dtype);
  const Ref<Tensor> last_h = empty(one, s.dtype), last_c = empty(one, s.dtype);
  s.weight_hh = w_hh->data();
  s.c = c->data();
  s.gates = made_gates->data();
  s.cells = cells->data();
  const Ref<Storage> kept[6] = {x->storage, h->storage, c->storage, w_ih->storage, w_hh->storage,
                                bias ? bias->storage : x->storage};
  const void *from_x = x->data(), *from_h = h->data(), *from_w = w_ih->data(), *from_bias = bias ? bias->data() : nullptr;
  {
    WithoutGil free(double(made_gates->numel) * double(s.inputs + s.hidden) >= kLongSequence);
    lstm_forward(s, from_x, from_h, from_w, from_bias, y->data());
  }
  const int64_t bytes = s.batch * s.hidden * item_size(s.dtype), end = s.reverse ? 0 : s.steps - 1;
  std::memcpy(last_h->data(), y->data() + end * bytes, size_t(bytes));
  std::memcpy(last_c->data(), cells->data() + end * bytes, size_t(bytes));
  for (const Ref<Tensor>& t : {y, last_h, last_c}) out.push_back(rounded(t, given));
  out.push_back(made_gates);
  out.push_back(cells);
  return true;
}

// lstm_layer_backward(g_y, g_h, g_c, c, weight_hh, gates, cells, reverse)
bool lstm_back(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> g_y = ref_of(slots[0]), g_h = ref_of(slots[1]), g_c = ref_of(slots[2]), c = ref_of(slots[3]),
              w_hh = ref_of(slots[4]), gates = ref_of(slots[5]), cells = ref_of(slots[6]);
  if (g_y->ndim() != 3 || !is_floating(g_y->dtype) || g_y->numel == 0) return false;
  const DType given = g_y->dtype;
  LstmSequence s;
  s.dtype = computed_in(given);
  s.steps = g_y->sizes[0];
  s.batch = g_y->sizes[1];
  s.hidden = g_y->sizes[2];
  const int64_t width = 4 * s.hidden;
  if (!has_shape(*g_h, given, {s.batch, s.hidden}) || !has_shape(*g_c, given, {s.batch, s.hidden}) ||
      !has_shape(*c, given, {s.batch, s.hidden}) || !has_shape(*w_hh, given, {width, s.hidden}) ||
      !has_shape(*gates, s.dtype, {s.steps, s.batch, width}) || !has_shape(*cells, s.dtype, {s.steps, s.batch, s.hidden}))
    return false;
  const Cell cell = cell_of("lstm", s.dtype);
  if (!cell.backward) return false;
  s.cell = cell.backward;
  s.reverse = slots[7] == Py_True;
  g_y = plain(g_y, s.dtype);
  c = plain(c, s.dtype);
  w_hh = plain(w_hh, s.dtype);
  gates = plain(gates, s.dtype);
  cells = plain(cells, s.dtype);
  const Ref<Tensor> made = empty(gates->sizes, s.dtype);
  const Ref<Tensor> to_h = contiguous_copy(*g_h, s.dtype), to_c = contiguous_copy(*g_c, s.dtype);
  s.weight_hh = w_hh->data();
  s.c = c->data();
  s.gates = gates->data();
  s.cells = cells->data();
  const Ref<Storage> kept[5] = {g_y->storage, c->storage, w_hh->storage, gates->storage, cells->storage};
  const void* from = g_y->data();
  {
    WithoutGil free(double(made->numel) * double(s.hidden) >= kLongSequence);
    lstm_backward(s, from, to_h->data(), to_c->data(), made->data());
  }
  for (const Ref<Tensor>& t : {made, to_h, to_c}) out.push_back(rounded(t, given));
  return true;
}

}  // namespace

NativeCall find_native_recurrent(const std::string& name) {
  return name == "nn.functional.lstm_layer"            ? lstm
         : name == "nn.functional.lstm_layer_backward" ? lstm_back
                                                       : nullptr;
}

}  // namespace thixo
