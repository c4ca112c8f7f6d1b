// Native path of convolutions and pooling. What does not fit is left to the declaration, which says what is wrong.
#include "../core/conv.h"
#include "../core/conv_end.h"
#include "../core/pool.h"
#include "../core/thread_pool.h"
#include "program.h"

namespace thixo {

namespace {

constexpr double kLongConvolution = 1 << 20;  // multiplications and additions from which the GIL is given up

Ref<Tensor> plain(const Ref<Tensor>& t) { return t->is_contiguous() ? t : contiguous_copy(*t, t->dtype); }

// Whether the channels of images lie side by side, and all else as in an array row by row.
bool is_last(const Tensor& t) {
  if (t.ndim() < 3 || t.numel == 0 || t.is_contiguous()) return false;
  int64_t step = t.sizes[1];
  if (step != 1 && t.strides[1] != 1) return false;
  for (int d = t.ndim() - 1; d >= 0; --d) {
    if (d == 1) continue;
    if (t.sizes[d] != 1 && t.strides[d] != step) return false;
    step *= t.sizes[d];
  }
  return true;
}

// One number for each axis, counted from the last; false if there are other than `axes`, or one below `least`.
bool read(PyObject* ints, int axes, int64_t least, int64_t* out) {
  const Dims values = dims_from(ints, "convolve");
  if (values.size() != axes) return false;
  for (int i = 0; i < axes; ++i) {
    if (values[i] < least || values[i] > int64_t{1} << 40) return false;
    out[kConvAxes - axes + i] = values[i];
  }
  return true;
}

// slots: stride, padding, dilation, groups.
bool read_window(PyObject* const* slots, int axes, Convolution& c) {
  if (!read(slots[0], axes, 1, c.stride) || !read(slots[1], axes, 0, c.padding) || !read(slots[2], axes, 1, c.dilation)) return false;
  c.groups = PyLong_AsLongLong(slots[3]);
  if (c.groups == -1 && PyErr_Occurred()) throw PythonError();
  return c.groups >= 1;
}

bool fits(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && is_floating(a.dtype) && a.ndim() == b.ndim() && a.ndim() >= 3 && a.ndim() <= kConvAxes + 2;
}

void sizes_of(const Tensor& t, int64_t* out) {
  const int axes = t.ndim() - 2;
  for (int i = 0; i < axes; ++i) out[kConvAxes - axes + i] = t.sizes[i + 2];
}

Dims shaped(int64_t first, int64_t second, const int64_t* sizes, int axes) {
  Dims made{first, second};
  for (int i = kConvAxes - axes; i < kConvAxes; ++i) made.push_back(sizes[i]);
  return made;
}

// Whether the window's numbers agree with in, kernel and out.
bool agrees(const Convolution& c) {
  for (int i = 0; i < kConvAxes; ++i) {
    const int64_t reach = c.in[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1;
    if (c.kernel[i] < 1 || c.out[i] < 1 || c.in[i] < 1 || reach < 0 || reach / c.stride[i] + 1 != c.out[i]) return false;
  }
  return true;
}

template <class Compute>
void run(const Convolution& c, Results& out, const Ref<Tensor>& made, const Ref<Tensor>& a, const Ref<Tensor>& b, Compute&& compute) {
  Ref<Storage> kept[3] = {a->storage, b->storage, made->storage};  // whatever other threads do with the tensors
  {
    WithoutGil free(c.work() >= kLongConvolution);
    compute();
  }
  out.push_back(made);
}

// A convolution whose window is read already, as far as shapes and dtypes say it; `sizes`: of the result.
bool plan_window(Convolution& c, const Tensor& x, const Tensor& w, const Tensor* bias, Dims& sizes) {
  c.dtype = x.dtype;
  c.batch = x.sizes[0];
  c.inner = w.sizes[1];
  c.outer = w.sizes[0] / c.groups;
  if (c.outer * c.groups != w.sizes[0] || c.outer < 1 || x.sizes[1] != c.inner * c.groups) return false;
  sizes_of(x, c.in);
  sizes_of(w, c.kernel);
  for (int i = 0; i < kConvAxes; ++i) c.out[i] = (c.in[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i] + 1;
  if (!agrees(c)) return false;
  if (bias && (bias->dtype != c.dtype || bias->ndim() != 1 || bias->sizes[0] != w.sizes[0])) return false;
  sizes = shaped(c.batch, w.sizes[0], c.out, x.ndim() - 2);
  checked_numel(sizes, c.dtype, "convolve");
  return true;
}

bool convolve_window(Convolution& c, Ref<Tensor> x, Ref<Tensor> w, PyObject* given_bias, Results& out) {
  Ref<Tensor> bias;
  if (given_bias != Py_None) bias = ref_of(given_bias);
  Dims sizes;
  if (!plan_window(c, *x, *w, bias.get(), sizes)) return false;
  if (bias) bias = plain(bias);
  x = plain(x);
  w = plain(w);
  const Ref<Tensor> y = empty(sizes, c.dtype);
  const Ref<Storage> kept = bias ? bias->storage : x->storage;
  run(c, out, y, x, w, [&] { convolve(c, x->data(), w->data(), bias ? bias->data() : nullptr, y->data()); });
  return true;
}

// convolve(input, weight, stride, padding, dilation, groups, bias)
bool convolve_call(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), w = ref_of(slots[1]);
  Convolution c;
  return fits(*x, *w) && read_window(slots + 2, x->ndim() - 2, c) && convolve_window(c, x, w, slots[6], out);
}

// What follows the bias of convolve_then: addend, relu, wide. Wide are only weights that programs keep.
bool convolve_then_call(const Operator& op, PyObject* const* slots, Results& out) {
  Results made;
  if (!convolve_call(op, slots, made)) return false;
  const Ref<Tensor> y = made[0];
  const bool relu = slots[8] == Py_True;
  Ref<Tensor> more;
  if (slots[7] != Py_None) more = plain(ref_of(slots[7]));
  if (more && (more->dtype != y->dtype || !(more->sizes == y->sizes))) return false;
  out.push_back(y);
  const Ref<Storage> kept = y->storage, kept_more = more ? more->storage : y->storage;
  WithoutGil free(y->numel >= kLongWork);
  end_all(y->dtype, static_cast<char*>(y->data()), more ? static_cast<const char*>(more->data()) : nullptr, relu, y->numel);
  return true;
}

bool needs_tape(PyObject* o) { return modes.grad && is_tensor(o) && is_tracked(*tensor_of(o)); }

// One number for each axis, or one for all: plain ints, no less than `least`.
bool read_forms(PyObject* ints, int axes, int64_t least, int64_t* out) {
  const bool one = PyLong_CheckExact(ints);
  if (!one && (!PyTuple_CheckExact(ints) || (PyTuple_GET_SIZE(ints) != axes && PyTuple_GET_SIZE(ints) != 1))) return false;
  for (int i = 0; i < axes; ++i) {
    PyObject* item = one ? ints : PyTuple_GET_ITEM(ints, PyTuple_GET_SIZE(ints) == 1 ? 0 : i);
    if (!PyLong_CheckExact(item)) return false;
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow || value < least || value > int64_t{1} << 40) return false;
    out[kConvAxes - axes + i] = value;
  }
  return true;
}

// conv1d, conv2d, conv3d(input, weight, bias, stride, padding, dilation, groups): composites; what is recorded, or has no
// batch, goes their way.
template <int axes>
bool form_call(const Operator&, PyObject* const* slots, Results& out) {
  if (needs_tape(slots[0]) || needs_tape(slots[1]) || needs_tape(slots[2])) return false;
  Ref<Tensor> x = ref_of(slots[0]), w = ref_of(slots[1]);
  Convolution c;
  if (!fits(*x, *w) || x->ndim() != axes + 2 || !PyLong_CheckExact(slots[6])) return false;
  if (!read_forms(slots[3], axes, 1, c.stride) || !read_forms(slots[4], axes, 0, c.padding) || !read_forms(slots[5], axes, 1, c.dilation)) return false;
  int overflow = 0;
  c.groups = PyLong_AsLongLongAndOverflow(slots[6], &overflow);
  return !overflow && c.groups >= 1 && convolve_window(c, x, w, slots[2], out);
}

bool plan_transposed(PyObject* const* slots, const Tensor& y, const Tensor& w, Convolution& c, Dims& sizes) {
  if (!fits(y, w)) return false;
  const int axes = y.ndim() - 2;
  if (!read_window(slots + 3, axes, c) || !read(slots[2], axes, 1, c.in)) return false;
  c.dtype = y.dtype;
  c.batch = y.sizes[0];
  c.inner = w.sizes[1];
  c.outer = w.sizes[0] / c.groups;
  if (c.outer * c.groups != w.sizes[0] || c.outer < 1 || y.sizes[1] != w.sizes[0]) return false;
  sizes_of(y, c.out);
  sizes_of(w, c.kernel);
  if (!agrees(c)) return false;
  sizes = shaped(c.batch, c.inner * c.groups, c.in, axes);
  checked_numel(sizes, c.dtype, "convolve_transposed");
  return true;
}

// convolve_transposed(input, weight, output_size, stride, padding, dilation, groups)
bool transposed_call(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> y = ref_of(slots[0]), w = ref_of(slots[1]);
  Convolution c;
  Dims sizes;
  if (!plan_transposed(slots, *y, *w, c, sizes)) return false;
  w = plain(w);
  y = plain(y);
  const Ref<Tensor> x = empty(sizes, c.dtype);
  Results made;
  bool fine = false;
  run(c, made, x, y, w, [&] { fine = convolve_transposed(c, y->data(), w->data(), x->data()); });
  if (fine) out.push_back(x);
  return fine;
}

bool plan_weight(PyObject* const* slots, const Tensor& x, const Tensor& y, Convolution& c, Dims& sizes) {
  if (!fits(x, y)) return false;
  const int axes = x.ndim() - 2;
  if (!read_window(slots + 3, axes, c) || !read(slots[2], axes, 1, c.kernel)) return false;
  c.dtype = x.dtype;
  c.batch = x.sizes[0];
  c.inner = x.sizes[1] / c.groups;
  c.outer = y.sizes[1] / c.groups;
  if (c.inner * c.groups != x.sizes[1] || c.outer * c.groups != y.sizes[1] || y.sizes[0] != c.batch) return false;
  sizes_of(x, c.in);
  sizes_of(y, c.out);
  if (!agrees(c)) return false;
  sizes = shaped(y.sizes[1], c.inner, c.kernel, axes);
  checked_numel(sizes, c.dtype, "convolve_weight");
  return true;
}

// convolve_weight(input, output, kernel_size, stride, padding, dilation, groups)
bool weight_call(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), y = ref_of(slots[1]);
  Convolution c;
  Dims sizes;
  if (!plan_weight(slots, *x, *y, c, sizes)) return false;
  x = plain(x);
  y = plain(y);
  const Ref<Tensor> w = empty(sizes, c.dtype);
  run(c, out, w, x, y, [&] { convolve_weight(c, x->data(), y->data(), w->data()); });
  return true;
}

// What is left to know of pooling whose window is read already: sizes, those of the result too. False: not this case.
bool plan_pool(Pooling& p, int axes, const Tensor& x, bool ceil_mode, Dims& sizes) {
  if (!is_floating(x.dtype) || (x.ndim() != axes + 1 && x.ndim() != axes + 2)) return false;
  p.dtype = x.dtype;
  p.planes = 1;
  const int lead = x.ndim() - axes;
  for (int i = 0; i < lead; ++i) {
    sizes.push_back(x.sizes[i]);
    p.planes *= x.sizes[i];
  }
  if (x.sizes[lead - 1] == 0) return false;
  for (int i = 0; i < axes; ++i) {
    const int a = kConvAxes - axes + i;
    const int64_t n = x.sizes[lead + i], reach = p.dilation[a] * (p.kernel[a] - 1) + 1;
    if (n < 1 || 2 * p.padding[a] > reach) return false;
    p.in[a] = n;
    const int64_t room = n + 2 * p.padding[a] - reach;
    if (ceil_mode) {
      if (room + p.stride[a] - 1 < 0) return false;
      p.out[a] = std::min((room + p.stride[a] - 1) / p.stride[a] + 1, (n + p.padding[a] + p.stride[a] - 1) / p.stride[a]);
    } else {
      if (room < 0) return false;
      p.out[a] = room / p.stride[a] + 1;
    }
    if (p.out[a] < 1) return false;
    sizes.push_back(p.out[a]);
  }
  return max_pool_fits(p);
}

// max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode), and max_pool_values
bool read_pool(PyObject* const* slots, Pooling& p, int& axes) {
  axes = int(PyTuple_Check(slots[1]) ? PyTuple_GET_SIZE(slots[1]) : PyList_Check(slots[1]) ? PyList_GET_SIZE(slots[1]) : 0);
  return axes >= 1 && axes <= kConvAxes && read(slots[1], axes, 1, p.kernel) && read(slots[2], axes, 1, p.stride) &&
         read(slots[3], axes, 0, p.padding) && read(slots[4], axes, 1, p.dilation);
}

// The largest values of windows, and where they are if that is asked for.
bool max_pool_window(Pooling& p, int axes, Ref<Tensor> x, bool ceil_mode, bool with_indices, Results& out) {
  Dims sizes;
  if (!plan_pool(p, axes, *x, ceil_mode, sizes)) return false;
  checked_numel(sizes, DType::I64, "max_pool_with_indices");
  x = plain(x);
  const Ref<Tensor> values = empty(sizes, p.dtype);
  if (!with_indices) {
    const Ref<Storage> kept = x->storage, kept_values = values->storage;
    WithoutGil free(x->numel >= kLongWork);
    max_pool_values(p, x->data(), values->data());
    out.push_back(values);
    return true;
  }
  const Ref<Tensor> indices = empty(sizes, DType::I64);
  const Ref<Storage> kept = x->storage, kept_values = values->storage, kept_indices = indices->storage;
  {
    WithoutGil free(x->numel >= kLongWork);
    max_pool(p, x->data(), values->data(), reinterpret_cast<int64_t*>(indices->data()));
  }
  out.push_back(values);
  out.push_back(indices);
  return true;
}

template <bool with_indices>
bool max_pool_call(const Operator&, PyObject* const* slots, Results& out) {
  Pooling p;
  int axes;
  return read_pool(slots, p, axes) && max_pool_window(p, axes, ref_of(slots[0]), slots[5] == Py_True, with_indices, out);
}

// max_pool1d, ...(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices): as above.
template <int axes>
bool max_pool_form_call(const Operator&, PyObject* const* slots, Results& out) {
  if (needs_tape(slots[0]) || slots[6] == Py_True) return false;
  Pooling p;
  if (!read_forms(slots[1], axes, 1, p.kernel) || !read_forms(slots[2] == Py_None ? slots[1] : slots[2], axes, 1, p.stride) ||
      !read_forms(slots[3], axes, 0, p.padding) || !read_forms(slots[4], axes, 1, p.dilation))
    return false;
  for (int i = kConvAxes - axes; i < kConvAxes; ++i)
    if (2 * p.padding[i] > p.kernel[i]) return false;
  return max_pool_window(p, axes, ref_of(slots[0]), slots[5] == Py_True, false, out);
}

// avg_pool1d, ...(input, kernel_size, stride, padding, ceil_mode, count_include_pad, ...): sums of windows, divided. What
// is recorded, and windows of unequal size, go the composites' way.
template <int axes>
bool average_call(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  if (needs_tape(slots[0]) || slots[4] == Py_True || (axes > 1 && slots[6] != Py_None)) return false;
  if (x->dtype != DType::F32 || (x->ndim() != axes + 1 && x->ndim() != axes + 2)) return false;
  Convolution c;
  if (!read_forms(slots[1], axes, 1, c.kernel) || !read_forms(slots[2] == Py_None ? slots[1] : slots[2], axes, 1, c.stride) ||
      !read_forms(slots[3], axes, 0, c.padding))
    return false;
  c.inner = c.outer = c.batch = 1;
  const int lead = x->ndim() - axes;
  Dims sizes;
  for (int i = 0; i < lead; ++i) {
    sizes.push_back(x->sizes[i]);
    c.batch *= x->sizes[i];
  }
  for (int i = 0; i < axes; ++i) {
    const int a = kConvAxes - axes + i;
    c.in[a] = x->sizes[lead + i];
    const int64_t room = c.in[a] + 2 * c.padding[a] - c.kernel[a];
    if (2 * c.padding[a] > c.kernel[a] || room < 0 || (c.padding[a] && slots[5] != Py_True)) return false;
    c.out[a] = room / c.stride[a] + 1;
    sizes.push_back(c.out[a]);
  }
  if (!agrees(c) || c.taps() > 1 << 20 || x->numel == 0) return false;
  checked_numel(sizes, c.dtype, "avg_pool");
  x = plain(x);
  const Ref<Tensor> y = empty(sizes, c.dtype);
  const std::vector<float> ones(static_cast<size_t>(c.taps()), 1.0f);
  run(c, out, y, x, x, [&] {
    convolve(c, x->data(), ones.data(), nullptr, y->data());
    auto* values = static_cast<float*>(static_cast<void*>(y->data()));
    const float divisor = float(c.taps());
    parallel_for(y->numel, int64_t{1} << 16, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) values[i] /= divisor;
    });
  });
  return true;
}

// adaptive_avg_pool1d, ...(input, output_size): composites; what is recorded goes their way.
template <int axes>
bool adaptive_average_call(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int64_t in[kConvAxes] = {1, 1, 1}, bins[kConvAxes] = {1, 1, 1};
  if (needs_tape(slots[0]) || x->dtype != DType::F32 || (x->ndim() != axes + 1 && x->ndim() != axes + 2) || x->numel == 0) return false;
  if (!read_forms(slots[1], axes, 1, bins)) return false;
  const int lead = x->ndim() - axes;
  Dims sizes;
  int64_t planes = 1;
  for (int i = 0; i < lead; ++i) {
    sizes.push_back(x->sizes[i]);
    planes *= x->sizes[i];
  }
  for (int i = 0; i < axes; ++i) {
    in[kConvAxes - axes + i] = x->sizes[lead + i];
    sizes.push_back(bins[kConvAxes - axes + i]);
  }
  checked_numel(sizes, DType::F32, "adaptive_avg_pool");
  x = plain(x);
  const Ref<Tensor> y = empty(sizes, DType::F32);
  const Ref<Storage> kept[2] = {x->storage, y->storage};
  {
    WithoutGil free(x->numel >= kLongWork || y->numel >= kLongWork);
    adaptive_average(planes, in, bins, static_cast<const float*>(static_cast<const void*>(x->data())), static_cast<float*>(static_cast<void*>(y->data())));
  }
  out.push_back(y);
  return true;
}

// add_at_indices(input, indices, sizes)
bool add_at_call(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> g = ref_of(slots[0]), indices = ref_of(slots[1]);
  const Dims sizes = dims_from(slots[2], "add_at_indices");
  const int lead = g->ndim() - sizes.size();
  if (!is_floating(g->dtype) || indices->dtype != DType::I64 || lead < 0 || !(indices->sizes == g->sizes)) return false;
  int64_t planes = 1, count = 1, size = 1;
  Dims whole;
  for (int i = 0; i < g->ndim(); ++i) (i < lead ? planes : count) *= g->sizes[i];
  for (int i = 0; i < lead; ++i) whole.push_back(g->sizes[i]);
  for (int64_t n : sizes) {
    if (n < 0) return false;
    size *= n;
    whole.push_back(n);
  }
  checked_numel(whole, g->dtype, "add_at_indices");
  g = plain(g);
  indices = plain(indices);
  const Ref<Tensor> x = empty(whole, g->dtype);
  const Ref<Storage> kept = g->storage, kept_indices = indices->storage, kept_result = x->storage;
  bool fine;
  {
    WithoutGil free(x->numel >= kLongWork);
    fine = add_at(g->dtype, planes, count, size, g->data(), reinterpret_cast<const int64_t*>(indices->data()), x->data());
  }
  if (!fine) return false;  // the declaration says which
  out.push_back(x);
  return true;
}

}  // namespace

std::unique_ptr<Step> prepare_convolution(const Operator& op, PyObject* const* slots, const Tensor& result, const IsFixed& is_fixed) {
  using Kind = ConvolutionStep::Kind;
  const std::string& name = op.full_name;
  const bool then = name == "nn.functional.convolve_then", forward = then || name == "nn.functional.convolve", transposed = name == "nn.functional.convolve_transposed";
  if ((!forward && !transposed && name != "nn.functional.convolve_weight") || result.numel == 0) return nullptr;
  // The first two arguments, as the operator has them.
  const Tensor &first = *tensor_of(slots[0]), &second = *tensor_of(slots[1]);
  const Tensor* bias = forward && slots[6] != Py_None ? tensor_of(slots[6]) : nullptr;
  auto step = std::make_unique<ConvolutionStep>();
  step->kind = forward ? Kind::Forward : transposed ? Kind::Input : Kind::Weight;
  Convolution& c = step->convolution;
  Dims sizes;
  if (bias && !bias->is_contiguous()) return nullptr;
  if (forward && (!fits(first, second) || !read_window(slots + 2, first.ndim() - 2, c) || !plan_window(c, first, second, bias, sizes))) return nullptr;
  if (transposed && !plan_transposed(slots, first, second, c, sizes)) return nullptr;
  if (step->kind == Kind::Weight && !plan_weight(slots, first, second, c, sizes)) return nullptr;
  if (!(sizes == result.sizes)) return nullptr;
  const Tensor& x = transposed ? result : first;
  const Tensor& y = forward ? result : transposed ? first : second;
  const Tensor& w = step->kind == Kind::Weight ? result : second;
  c.x_last = is_last(x);
  c.y_last = is_last(y);
  if (!w.is_contiguous() || (!c.x_last && !x.is_contiguous()) || (!c.y_last && !y.is_contiguous())) return nullptr;
  step->x = place_of(x);
  step->w = place_of(w);
  step->y = place_of(y);
  if (bias) step->bias = place_of(*bias);
  step->fixed = forward && is_fixed(w);
  if (!then) return step;
  const Tensor* more = slots[7] != Py_None ? tensor_of(slots[7]) : nullptr;
  if (more && (more->dtype != c.dtype || !(more->sizes == result.sizes) || (!more->is_contiguous() && !is_last(*more)))) return nullptr;
  if (more) {
    step->more = place_of(*more);
    step->more_last = is_last(*more);
  }
  step->relu = slots[8] == Py_True;
  c.wide = slots[9] == Py_True;
  return step;
}

std::unique_ptr<Step> prepare_pool(const Operator& op, PyObject* const* slots, const Tensor& result) {
  if (op.full_name != "nn.functional.max_pool_values" || result.numel == 0) return nullptr;
  const Tensor& x = *tensor_of(slots[0]);
  auto step = std::make_unique<PoolStep>();
  int axes;
  Dims sizes;
  if (!read_pool(slots, step->pooling, axes) || !plan_pool(step->pooling, axes, x, slots[5] == Py_True, sizes)) return nullptr;
  if (!(sizes == result.sizes) || result.dtype != x.dtype) return nullptr;
  if (is_last(x) && is_last(result) && x.ndim() == axes + 2 && (x.dtype == DType::F32 || x.dtype == DType::F64))
    step->channels = x.sizes[1];
  else if (!x.is_contiguous() || !result.is_contiguous())
    return nullptr;
  step->x = place_of(x);
  step->y = place_of(result);
  return step;
}

NativeCall find_native_window(const std::string& name) {
  if (name == "nn.functional.convolve") return convolve_call;
  if (name == "nn.functional.convolve_then") return convolve_then_call;
  if (name == "nn.functional.convolve_transposed") return transposed_call;
  if (name == "nn.functional.convolve_weight") return weight_call;
  if (name == "nn.functional.conv1d") return form_call<1>;
  if (name == "nn.functional.conv2d") return form_call<2>;
  if (name == "nn.functional.conv3d") return form_call<3>;
  if (name == "nn.functional.max_pool_with_indices") return max_pool_call<true>;
  if (name == "nn.functional.max_pool_values") return max_pool_call<false>;
  if (name == "nn.functional.max_pool1d") return max_pool_form_call<1>;
  if (name == "nn.functional.max_pool2d") return max_pool_form_call<2>;
  if (name == "nn.functional.max_pool3d") return max_pool_form_call<3>;
  if (name == "nn.functional.avg_pool1d") return average_call<1>;
  if (name == "nn.functional.avg_pool2d") return average_call<2>;
  if (name == "nn.functional.avg_pool3d") return average_call<3>;
  if (name == "nn.functional.adaptive_avg_pool1d") return adaptive_average_call<1>;
  if (name == "nn.functional.adaptive_avg_pool2d") return adaptive_average_call<2>;
  if (name == "nn.functional.adaptive_avg_pool3d") return adaptive_average_call<3>;
  if (name == "nn.functional.add_at_indices") return add_at_call;
  return nullptr;
}

}  // namespace thixo
