// Native path of recurrent layers. What does not fit is left to the declaration, which says what is wrong.
#include <algorithm>
#include <cstring>

#include "../core/recurrent.h"
#include "operator.h"

namespace thixo {

namespace {

constexpr double kLongSequence = 1 << 20;  // multiplications and additions from which the GIL is given up

// The kernels of a cell, found once for each dtype.
enum Cell : int { kLstmCell, kGruCell, kTanhCell, kReluCell, kCells };
constexpr const char* kCellNames[kCells] = {"lstm", "gru", "tanh", "relu"};
constexpr RecurrentKind kKinds[kCells] = {kLstm, kGru, kPlain, kPlain};

struct Steps {
  Loop forward = nullptr, backward = nullptr;
};
Steps steps_of(Cell cell, DType dtype) {
  static Steps found[kCells][2];
  Steps& steps = found[cell][dtype == DType::F64];
  if (steps.forward) return steps;
  Object module = Object::own(PyImport_ImportModule("thixo.runtime.recurrent"));
  Object made = Object::own(call_python_method(module.get(), "find", "ss", kCellNames[cell], short_name(dtype)));
  if (made.get() == Py_None) return {};
  unsigned long long forward, backward;
  if (!PyArg_ParseTuple(made.get(), "KK", &forward, &backward)) throw PythonError();
  steps = {reinterpret_cast<Loop>(forward), reinterpret_cast<Loop>(backward)};
  return steps;
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
Ref<Tensor> joined(const Ref<Tensor>& a, const Ref<Tensor>& b) {
  if (!a || !b) return a ? a : b;
  const Ref<Tensor> sum = empty(a->sizes, a->dtype);
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    const T *x = reinterpret_cast<const T*>(a->data()), *y = reinterpret_cast<const T*>(b->data());
    for (int64_t i = 0; i < sum->numel; ++i) reinterpret_cast<T*>(sum->data())[i] = x[i] + y[i];
  };
  if (a->dtype == DType::F64) add(0.0);
  else add(0.0f);
  return sum;
}

// Zeros where no tensor is given.
Ref<Tensor> copied(PyObject* o, const Dims& sizes, DType dtype) {
  if (o) return contiguous_copy(*tensor_of(o), dtype);
  const Ref<Tensor> zeros = empty(sizes, dtype);
  std::memset(zeros->data(), 0, size_t(zeros->numel * item_size(dtype)));
  return zeros;
}

// What every layer is given, forward and backward; `c` is null where there is no cell.
struct Layer {
  Cell cell;
  PyObject *input, *h, *c, *weight_ih, *weight_hh, *bias_ih, *bias_hh;
  bool reverse;
  DType given = DType::F32;
  Sequence s;
  SmallVector<Ref<Storage>, 8> held;  // memory that is read while other threads may change tensors

  // A tensor's elements, contiguous and of the computation's dtype.
  char* elements(const Ref<Tensor>& t) {
    const Ref<Tensor> made = plain(t, s.dtype);
    held.push_back(made->storage);
    return made->data();
  }
  char* elements(PyObject* o) { return elements(ref_of(o)); }

  bool read() {
    const Tensor& x = *tensor_of(input);
    const Tensor& u = *tensor_of(weight_hh);
    if (x.ndim() != 3 || !is_floating(x.dtype) || x.numel == 0 || u.ndim() != 2 || u.sizes[1] == 0) return false;
    given = x.dtype;
    s.kind = kKinds[cell];
    s.dtype = computed_in(given);
    s.steps = x.sizes[0];
    s.batch = x.sizes[1];
    s.inputs = x.sizes[2];
    s.hidden = u.sizes[1];
    s.reverse = reverse;
    const int64_t gates = s.kind.gates * s.hidden;
    for (PyObject* bias : {bias_ih, bias_hh})
      if (bias != Py_None && !has_shape(*tensor_of(bias), given, {gates})) return false;
    for (PyObject* state : {h, c})
      if (state && !has_shape(*tensor_of(state), given, {s.batch, s.hidden})) return false;
    if (!has_shape(*tensor_of(weight_ih), given, {gates, s.inputs}) || !has_shape(u, given, {gates, s.hidden})) return false;
    s.h = elements(h);
    s.c = c ? elements(c) : nullptr;
    s.weight_hh = elements(weight_hh);
    return true;
  }
  Dims all(int64_t lines) const { return Dims{s.steps, s.batch, lines * s.hidden}; }
  Dims state() const { return Dims{s.batch, s.hidden}; }
  bool is_long(int64_t depth) const {
    return double(s.steps) * double(s.batch) * double(s.kind.gates * s.hidden) * double(depth) >= kLongSequence;
  }
  // Whether a tensor that the gradient is given has these lines at each time.
  bool fits(PyObject* o, DType dtype, int64_t lines) const {
    return o != Py_None && has_shape(*tensor_of(o), dtype, {s.steps, s.batch, lines * s.hidden});
  }
};

// Results: y, last_h, and where the kind has them last_c, what is kept, cells.
bool forward(Layer& layer, Results& out) {
  if (!layer.read()) return false;
  Sequence& s = layer.s;
  s.step = steps_of(layer.cell, s.dtype).forward;
  if (!s.step) return false;
  const auto bias = [&](PyObject* o) { return o == Py_None ? Ref<Tensor>() : plain(ref_of(o), s.dtype); };
  Ref<Tensor> bias_ih = bias(layer.bias_ih), bias_hh = bias(layer.bias_hh);
  if (!s.kind.carries) {  // both only add to the gates
    bias_ih = joined(bias_ih, bias_hh);
    bias_hh = {};
  }
  checked_numel(layer.all(std::max(s.kind.lines, 1)), s.dtype, kCellNames[layer.cell]);
  const Ref<Tensor> y = empty(layer.all(1), s.dtype);
  Ref<Tensor> lines, cells;
  s.y = y->data();
  if (s.kind.lines) s.kept = (lines = empty(layer.all(s.kind.lines), s.dtype))->data();
  if (s.kind.cell) s.cells = (cells = empty(layer.all(1), s.dtype))->data();
  const void *x = layer.elements(layer.input), *w_ih = layer.elements(layer.weight_ih);
  const void *from_ih = bias_ih ? layer.elements(bias_ih) : nullptr, *from_hh = bias_hh ? layer.elements(bias_hh) : nullptr;
  {
    WithoutGil free(layer.is_long(s.inputs + s.hidden));
    recurrent_forward(s, x, w_ih, from_ih, from_hh);
  }
  const int64_t bytes = s.batch * s.hidden * item_size(s.dtype), end = s.reverse ? 0 : s.steps - 1;
  const auto last = [&](const Ref<Tensor>& of) {
    const Ref<Tensor> made = empty(layer.state(), s.dtype);
    std::memcpy(made->data(), of->data() + end * bytes, size_t(bytes));
    return rounded(made, layer.given);
  };
  out.push_back(rounded(y, layer.given));
  out.push_back(last(y));
  if (cells) out.push_back(last(cells));
  if (lines) out.push_back(lines);
  if (cells) out.push_back(cells);
  return true;
}

// Results: gradients of the shares of input and, where it is another, of the state; of h; of c.
// `y` (as the kind needs it), `lines` and `cells` are those of the way there.
bool backward(Layer& layer, PyObject* g_y, PyObject* g_h, PyObject* g_c, PyObject* y, PyObject* lines, PyObject* cells,
              Results& out) {
  if (!layer.read()) return false;
  Sequence& s = layer.s;
  const RecurrentKind& kind = s.kind;
  s.step = steps_of(layer.cell, s.dtype).backward;
  if (!s.step || !layer.fits(g_y, layer.given, 1)) return false;
  for (PyObject* state : {g_h, g_c})
    if (state && !has_shape(*tensor_of(state), layer.given, {s.batch, s.hidden})) return false;
  if (kind.cell ? !layer.fits(cells, s.dtype, 1) : !layer.fits(y, layer.given, 1)) return false;
  if (kind.lines && !layer.fits(lines, s.dtype, kind.lines)) return false;
  (kind.cell ? s.cells : s.y) = layer.elements(kind.cell ? cells : y);
  if (kind.lines) s.kept = layer.elements(lines);
  const void* from = layer.elements(g_y);
  const Ref<Tensor> to_h = copied(g_h, layer.state(), s.dtype), to_carried = copied(g_c, layer.state(), s.dtype);
  const Ref<Tensor> to_input = empty(layer.all(kind.gates), s.dtype);
  const Ref<Tensor> to_state = kind.carries ? empty(layer.all(kind.gates), s.dtype) : Ref<Tensor>();
  {
    WithoutGil free(layer.is_long(s.hidden));
    recurrent_backward(s, from, to_h->data(), to_carried->data(), to_input->data(), to_state ? to_state->data() : nullptr);
  }
  out.push_back(rounded(to_input, layer.given));
  if (to_state) out.push_back(rounded(to_state, layer.given));
  out.push_back(rounded(to_h, layer.given));
  if (kind.cell) out.push_back(rounded(to_carried, layer.given));
  return true;
}

// lstm_layer(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse)
bool lstm(const Operator&, PyObject* const* a, Results& out) {
  Layer layer{kLstmCell, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7] == Py_True};
  return forward(layer, out);
}
// lstm_layer_backward(g_y, g_h, g_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, gates, cells, reverse)
bool lstm_back(const Operator&, PyObject* const* a, Results& out) {
  Layer layer{kLstmCell, a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[12] == Py_True};
  return backward(layer, a[0], a[1], a[2], Py_None, a[10], a[11], out);
}

// gru_layer(input, h, weight_ih, weight_hh, bias_ih, bias_hh, reverse)
bool gru(const Operator&, PyObject* const* a, Results& out) {
  Layer layer{kGruCell, a[0], a[1], nullptr, a[2], a[3], a[4], a[5], a[6] == Py_True};
  return forward(layer, out);
}
// gru_layer_backward(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, gates, reverse)
bool gru_back(const Operator&, PyObject* const* a, Results& out) {
  Layer layer{kGruCell, a[2], a[3], nullptr, a[4], a[5], a[6], a[7], a[10] == Py_True};
  return backward(layer, a[0], a[1], nullptr, a[8], a[9], Py_None, out);
}

// rnn_layer(input, h, weight_ih, weight_hh, bias_ih, bias_hh, relu, reverse)
bool rnn(const Operator&, PyObject* const* a, Results& out) {
  Layer layer{a[6] == Py_True ? kReluCell : kTanhCell, a[0], a[1], nullptr, a[2], a[3], a[4], a[5], a[7] == Py_True};
  return forward(layer, out);
}
// rnn_layer_backward(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, relu, reverse)
bool rnn_back(const Operator&, PyObject* const* a, Results& out) {
  Layer layer{a[9] == Py_True ? kReluCell : kTanhCell, a[2], a[3], nullptr, a[4], a[5], a[6], a[7], a[10] == Py_True};
  return backward(layer, a[0], a[1], nullptr, a[8], Py_None, Py_None, out);
}

}  // namespace

NativeCall find_native_recurrent(const std::string& name) {
  static constexpr struct {
    const char* name;
    NativeCall call;
  } kCalls[] = {{"lstm_layer", lstm}, {"lstm_layer_backward", lstm_back}, {"gru_layer", gru},
                {"gru_layer_backward", gru_back}, {"rnn_layer", rnn}, {"rnn_layer_backward", rnn_back}};
  const std::string space = "nn.functional.";
  if (name.compare(0, space.size(), space) != 0) return nullptr;
  for (const auto& [own, call] : kCalls)
    if (name.compare(space.size(), std::string::npos, own) == 0) return call;
  return nullptr;
}

}  // namespace thixo
