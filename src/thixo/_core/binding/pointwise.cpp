// Pointwise operators on concrete tensors, without the tape: promotion, broadcasting, and a kernel; NumPy where there
// is none.
#include <algorithm>

#include "../core/promotion.h"
#include "common_order.h"
#include "lazy.h"
#include "program.h"

namespace thixo {

namespace {

DType float_like(DType t) { return is_differentiable(t) ? t : default_float; }

// ---- which kernel

// What decides it, besides the dtype that is computed in: for each parameter one of these, or kOtherDType + a dtype
// for a tensor that keeps its own.
enum : uint64_t { kAbsent, kPromoted, kDefault, kNumber, kFixed, kOtherDType };
constexpr int kStateBits = 5;
constexpr size_t kMostParams = 11;  // what fits into a key
constexpr size_t kMostVariants = 64;

bool holds_tensor(const Param& p) { return p.kind == Kind::Tensor || p.kind == Kind::Operand; }
bool is_number(PyObject* o) { return PyFloat_CheckExact(o) || PyLong_CheckExact(o); }

bool equal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  int same = PyObject_RichCompareBool(a, b, Py_EQ);
  if (same < 0) throw PythonError();
  return same;
}

// Whether a number becomes part of the kernel.
bool simplifies(const Operator& op, size_t i, PyObject* o) {
  if (op.simpler_with.empty() || !is_number(o)) return false;
  const double number = PyFloat_AsDouble(o);
  if (number == -1.0 && PyErr_Occurred()) {  // an integer that no float holds
    PyErr_Clear();
    return false;
  }
  for (auto& [param, with] : op.simpler_with)
    if (param == int(i) && with == number) return true;
  return false;
}

uint64_t state_of(const Operator& op, size_t i, PyObject* o) {
  const Param& p = op.params[i];
  if (holds_tensor(p)) {
    if (o == Py_None) return kAbsent;
    if (simplifies(op, i, o)) return kFixed;
    for (int promoted : op.promotes)
      if (promoted == int(i)) return kPromoted;
    if (is_tensor(o)) return kOtherDType + code(tensor_of(o)->dtype);
    return is_number(o) ? kNumber : kFixed;
  }
  if (p.has_default && equal(o, p.fallback.get())) return kDefault;
  return is_number(o) ? kNumber : kFixed;
}

// Asks Python for a kernel: (declaration, dtype, states, arguments) -> (address, grain, checks, fixed) or None.
Variant make_variant(const Operator& op, PyObject* const* slots, DType compute, uint64_t key, const uint64_t* states) {
  Variant made;
  made.key = key;
  size_t n = op.params.size();
  Object marks = Object::own(PyTuple_New(n)), arguments = Object::own(PyTuple_New(n));
  for (size_t i = 0; i < n; ++i) {
    PyTuple_SET_ITEM(marks.get(), i, Object::own(PyLong_FromUnsignedLongLong(states[i])).give());
    PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(is_tensor(slots[i]) ? Py_None : slots[i]));
  }
  Object found = Object::own(call_python_with(known.find_kernel, op.declaration.get(), dtype_object(compute),
                                              marks.get(), arguments.get()));
  uint64_t fixed = 0;
  if (found.get() != Py_None) {
    unsigned long long address, mask;
    long long grain;
    int checks;
    if (!PyArg_ParseTuple(found.get(), "KLpK", &address, &grain, &checks, &mask)) throw PythonError();
    made.kernel = {reinterpret_cast<Loop>(address), grain, fixed = mask, checks != 0, true};
  }
  for (size_t i = 0; i < n; ++i)
    if (states[i] == kFixed || (fixed >> i & 1)) made.fixed.emplace_back(int(i), Object::borrow(slots[i]));
  return made;
}

bool has_defaults(const Operator& op, PyObject* const* slots) {
  for (size_t i = 0; i < op.params.size(); ++i)
    if (!holds_tensor(op.params[i]) && state_of(op, i, slots[i]) != kDefault) return false;
  return true;
}

// Elements from which the core's own loops, made for any processor, are slower than kernels made for this one.
constexpr int64_t kBasicMost = 4096;

// The kernel for these arguments; null if there is none. It is looked for once.
const Kernel* find_kernel(const Operator& op, PyObject* const* slots, DType compute, int64_t numel) {
  size_t n = op.params.size();
  if (n > kMostParams || !known.find_kernel) return nullptr;
  uint64_t key = code(compute), states[kMostParams];
  bool plain = true;
  for (size_t i = 0; i < n; ++i) {
    states[i] = state_of(op, i, slots[i]);
    key = key << kStateBits | states[i];
    plain = plain && (states[i] == kPromoted || states[i] == kDefault);
  }
  Kernel& own = op.plain[code(compute)];
  if (plain && own.loop && !(own.basic && numel > kBasicMost)) return &own;
  const auto usable = [&](const Kernel& kernel) { return kernel.loop ? &kernel : plain && own.loop ? &own : nullptr; };
  for (size_t n = 0; n < op.variants.size(); ++n) {  // comparing may run Python, and others may add meanwhile
    const Variant& v = op.variants[n];
    if (v.key != key) continue;
    bool same = true;
    for (auto& [i, value] : v.fixed) same = same && equal(value.get(), slots[i]);
    if (same) return usable(v.kernel);
  }
  if (op.variants.size() >= kMostVariants) return usable({});
  Variant made = make_variant(op, slots, compute, key, states);
  if (plain && !own.loop) own = made.kernel;
  op.variants.push_back(std::move(made));  // Python ran: another thread may have added one too, which does no harm
  return usable(op.variants.back().kernel);  // the one just added: nothing ran since
}

// ---- the everyday case

// Contiguous tensors of one dtype whose shapes broadcast: the loop is called for every run of elements in which
// neither turns back. Null if that is long work.
Ref<Tensor> broadcast_runs(const Kernel& kernel, const Tensor& a, const Tensor& b, DType result) {
  constexpr int kMost = 6;
  const int n = std::max(a.ndim(), b.ndim()), from_a = n - a.ndim(), from_b = n - b.ndim();
  const int64_t item = item_size(a.dtype);
  if (n > kMost) return {};
  // Dimensions from the innermost on; those that both go through as one are joined.
  int64_t sizes[kMost], steps_a[kMost], steps_b[kMost];
  Dims shape;
  shape.resize(n);
  int64_t in_a = item, in_b = item, total = 1;
  int dims = 0;
  for (int d = n - 1; d >= 0; --d) {
    const int64_t of_a = d < from_a ? 1 : a.sizes[d - from_a], of_b = d < from_b ? 1 : b.sizes[d - from_b];
    if (of_a != of_b && of_a != 1 && of_b != 1) return {};  // the general way says what is wrong
    const int64_t size = of_a == 1 ? of_b : of_a;
    shape[d] = size;
    if (__builtin_mul_overflow(total, size, &total) || total >= (kernel.basic ? kBasicMost : kLongWork)) return {};
    const int64_t step_a = of_a == 1 ? 0 : in_a, step_b = of_b == 1 ? 0 : in_b;
    in_a *= of_a;
    in_b *= of_b;
    if (size == 1) continue;
    if (dims && step_a == steps_a[dims - 1] * sizes[dims - 1] && step_b == steps_b[dims - 1] * sizes[dims - 1]) {
      sizes[dims - 1] *= size;
      continue;
    }
    sizes[dims] = size;
    steps_a[dims] = step_a;
    steps_b[dims++] = step_b;
  }
  if (total == 0) return {};
  Ref<Tensor> out = empty_of(shape, result, total);
  if (dims == 0) {
    sizes[0] = 1;
    steps_a[0] = steps_b[0] = item;
    dims = 1;
  }
  const int64_t strides[3] = {steps_a[0], steps_b[0], item_size(result)}, run = sizes[0] * item_size(result);
  char *at_a = a.data(), *at_b = b.data(), *to = out->data();
  int64_t index[kMost] = {};
  for (;;) {
    char* pointers[3] = {at_a, at_b, to};
    kernel.loop(pointers, strides, sizes[0]);
    to += run;
    int d = 1;
    for (; d < dims; ++d) {
      at_a += steps_a[d];
      at_b += steps_b[d];
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
      at_a -= steps_a[d] * sizes[d];
      at_b -= steps_b[d] * sizes[d];
    }
    if (d >= dims) return out;
  }
}

// Two tensors of one dtype, of any strides and shapes that broadcast; null if that is long work.
Ref<Tensor> broadcast_pair(const Operator& op, const Kernel& kernel, const Tensor& a, const Tensor& b, DType result) {
  Dims sizes = broadcast(a.sizes, b.sizes, op.name.c_str());
  if (checked_numel(sizes, a.dtype, op.name.c_str()) >= (kernel.basic ? kBasicMost : kLongWork)) return {};
  CommonOrder order;
  order.add(a, sizes);
  order.add(b, sizes);
  Ref<Tensor> out = order.make(sizes, result);
  Dims bytes[3];
  Array arrays[3] = {as_array(a, sizes, expanded_strides(a, sizes), bytes[0]),
                     as_array(b, sizes, expanded_strides(b, sizes), bytes[1]), as_array(*out, bytes[2])};
  run_loop(kernel.loop, arrays, 3, kernel.grain, kernel.in_lines);
  return out;
}

// Contiguous operands of one dtype and one shape, or a number that changes neither; all else at its default.
Ref<Tensor> everyday(const Operator& op, PyObject* const* slots) {
  if (op.promotes.size() > 2) return {};
  Tensor *lead = nullptr, *tensors[2] = {};
  bool contiguous = true, alike = true;  // of one shape
  for (size_t i = 0; i < op.params.size(); ++i) {
    const Param& p = op.params[i];
    if (i < op.promotes.size()) {
      if (op.promotes[i] != int(i)) return {};
      if (!is_tensor(slots[i])) {
        if (slots[i] == Py_None || simplifies(op, i, slots[i])) return {};
        continue;
      }
      Tensor* t = tensors[i] = tensor_of(slots[i]);
      contiguous = contiguous && t->is_contiguous();
      if (!lead) {
        lead = t;
        continue;
      }
      if (t->dtype != lead->dtype) return {};
      alike = alike && t->sizes == lead->sizes;
    } else if (holds_tensor(p) || slots[i] != p.fallback.get()) {
      return {};
    }
  }
  if (!lead || lead->numel >= kLongWork || (op.result == ResultKind::Float && !is_differentiable(lead->dtype))) return {};
  const Kernel& kernel = op.plain[code(lead->dtype)];
  if (!kernel.loop || kernel.checks || (kernel.basic && lead->numel > kBasicMost)) return {};
  DType result = op.result == ResultKind::Bool   ? DType::Bool
                 : op.result == ResultKind::Real ? to_real(lead->dtype)
                                                 : lead->dtype;
  if (!alike || !contiguous) {
    if (!tensors[0] || !tensors[1]) return {};
    Ref<Tensor> out = contiguous ? broadcast_runs(kernel, *tensors[0], *tensors[1], result) : Ref<Tensor>();
    return out ? out : broadcast_pair(op, kernel, *tensors[0], *tensors[1], result);
  }
  alignas(16) char element[16];
  char* pointers[3];
  int64_t strides[3];
  int n = int(op.promotes.size());
  for (int i = 0; i < n; ++i) {
    if (tensors[i]) {
      pointers[i] = tensors[i]->data();
      strides[i] = item_size(lead->dtype);
      continue;
    }
    Number number;
    number_from(slots[i], number, op.name.c_str());
    bool changes = is_complex(number.category) ? !is_complex(lead->dtype)
                   : is_floating(number.category) ? !is_differentiable(lead->dtype)
                   : is_integer(number.category) && is_bool(lead->dtype);
    if (changes) return {};
    store_number(number, lead->dtype, element);
    pointers[i] = element;
    strides[i] = 0;
  }
  Ref<Tensor> out = result == lead->dtype ? empty_like(*lead) : empty(lead->sizes, result);
  pointers[n] = out->data();
  strides[n] = item_size(result);
  kernel.loop(pointers, strides, out->numel);
  return out;
}

// ---- any case

constexpr int kMostInputs = 14;  // tensors, numbers and the status word

struct Input {
  Tensor* tensor = nullptr;
  Ref<Tensor> held;
  DType dtype = DType::F32;
  alignas(16) char element[16];  // a number, in that dtype
};

struct Call {
  DType compute, result;
  Dims sizes;
};

// The dtypes and the shape that the arguments lead to.
Call plan(const Operator& op, PyObject* const* slots) {
  Promotion promotion;
  for (int p : op.promotes) {
    PyObject* o = slots[p];
    if (o == Py_None) continue;
    if (is_tensor(o)) {
      promotion.tensor(tensor_of(o)->dtype, tensor_of(o)->ndim());
    } else {
      Number number;
      number_from(o, number, op.name.c_str());
      promotion.number(number.category);
    }
  }
  Call call;
  bool first = true;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (!is_tensor(slots[i])) continue;
    Tensor* t = tensor_of(slots[i]);
    if (first) call.sizes = t->sizes;
    else if (!(call.sizes == t->sizes)) call.sizes = broadcast(call.sizes, t->sizes, op.name.c_str());
    first = false;
  }
  if (first) raise(ErrorKind::Argument, op.name + ": at least one argument must be a Tensor, got numbers only");
  DType promoted = promotion.result();
  check_dtype(op, promoted);
  call.compute = op.result == ResultKind::Float ? float_like(promoted) : promoted;
  call.result = op.result == ResultKind::Bool   ? DType::Bool
                : op.result == ResultKind::Real ? to_real(call.compute)
                                                : call.compute;
  return call;
}

// The kernel's inputs in its order: tensors and promoted numbers, then numbers of their own, then the status word.
void collect(const Operator& op, PyObject* const* slots, const Call& call, const Kernel& kernel,
             SmallVector<Input, 4>& inputs) {
  auto number = [&](PyObject* o, DType dtype) {
    Number n;
    number_from(o, n, op.name.c_str());
    inputs.emplace_back();
    inputs.back().dtype = dtype;
    store_number(n, dtype, inputs.back().element);
  };
  for (size_t i = 0; i < op.params.size(); ++i) {
    uint64_t state = state_of(op, i, slots[i]);
    if (state != kPromoted && state < kOtherDType) continue;
    if (!is_tensor(slots[i])) {
      number(slots[i], call.compute);
      continue;
    }
    inputs.emplace_back();
    Input& input = inputs.back();
    input.tensor = tensor_of(slots[i]);
    if (state == kPromoted && input.tensor->dtype != call.compute) {
      input.held = contiguous_copy(*input.tensor, call.compute);
      input.tensor = input.held.get();
    }
    input.dtype = input.tensor->dtype;
  }
  for (size_t i = 0; i < op.params.size(); ++i)
    if (state_of(op, i, slots[i]) == kNumber && !(kernel.fixed >> i & 1)) number(slots[i], DType::F64);
  if (kernel.checks) {
    inputs.emplace_back();
    inputs.back().dtype = DType::I64;
  }
}

// Whether the kernel may write into the tensor that is to hold the result.
bool writes_directly(const Call& call, const SmallVector<Input, 4>& inputs, const Tensor& into) {
  if (into.dtype != call.result || !(into.sizes == call.sizes)) return false;
  for (const Input& input : inputs)
    if (input.tensor && may_overlap(into, *input.tensor) && !same_elements(into, *input.tensor)) return false;
  return true;
}

// Null: the status word reports something, and nothing was made.
Ref<Tensor> run_kernel(const Operator& op, PyObject* const* slots, const Call& call, const Kernel& kernel, Tensor* into) {
  int64_t status = 0;
  SmallVector<Input, 4> inputs;
  collect(op, slots, call, kernel, inputs);
  int count = int(inputs.size());
  if (count > kMostInputs) raise(ErrorKind::Internal, op.name + ": too many operands for a kernel");
  // What is in place is overwritten before the status is known, so a kernel that checks makes a new tensor.
  bool direct = into && !kernel.checks && writes_directly(call, inputs, *into);
  CommonOrder order;
  for (const Input& input : inputs)
    if (input.tensor) order.add(*input.tensor, call.sizes);
  Ref<Tensor> out = direct ? Ref<Tensor>(into) : order.make(call.sizes, call.result);
  bool simple = out->is_contiguous() && out->numel < kLongWork;
  for (const Input& input : inputs)
    if (Tensor* t = input.tensor)
      simple = simple && ((t->sizes == call.sizes && t->is_contiguous()) || t->numel == 1);
  if (simple) {
    char* pointers[kMostInputs + 1];
    int64_t strides[kMostInputs + 1];
    for (int i = 0; i < count; ++i) {
      Input& input = inputs[i];
      pointers[i] = input.tensor ? input.tensor->data() : input.element;
      strides[i] = input.tensor && (input.tensor->numel != 1 || out->numel == 1) ? item_size(input.dtype) : 0;
    }
    if (kernel.checks) pointers[count - 1] = reinterpret_cast<char*>(&status);
    pointers[count] = out->data();
    strides[count] = item_size(call.result);
    kernel.loop(pointers, strides, out->numel);
    return status ? Ref<Tensor>() : out;
  }
  Array arrays[kMostInputs + 1];
  Dims bytes[kMostInputs + 1];
  Ref<Tensor> to = pinned(out);
  for (int i = 0; i < count; ++i) {
    Input& input = inputs[i];
    if (input.tensor) {
      if (!input.held) input.held = out->numel >= kLongWork ? alias(*input.tensor) : Ref<Tensor>(input.tensor);
      input.tensor = input.held.get();
      arrays[i] = as_array(*input.tensor, call.sizes, expanded_strides(*input.tensor, call.sizes), bytes[i]);
    } else {
      bytes[i] = Dims(call.sizes.size());
      arrays[i] = {input.element, input.dtype, call.sizes.size(), call.sizes.data(), bytes[i].data()};
    }
    arrays[i].sizes = call.sizes.data();
  }
  if (kernel.checks) arrays[count - 1].data = reinterpret_cast<char*>(&status);
  arrays[count] = as_array(*to, bytes[count]);
  {
    WithoutGil free(out->numel >= kLongWork);
    run_loop(kernel.loop, arrays, count + 1, kernel.grain, kernel.in_lines);
  }
  return status ? Ref<Tensor>() : out;
}

// NumPy runs the declaration's scalar function. Half types are computed in float32.
Ref<Tensor> run_numpy(const Operator& op, PyObject* const* slots, const Call& call) {
  DType wide = is_half(call.compute) ? DType::F32 : call.compute;
  std::vector<Object> arrays;
  PyObject* args[kMaxParams + 2];
  args[0] = op.scalar.get();
  for (size_t i = 0; i < op.params.size(); ++i) {
    PyObject* o = slots[i];
    bool promoted = state_of(op, i, o) == kPromoted;
    if (o == Py_None || (!promoted && !is_tensor(o))) {
      args[i + 1] = o;
      continue;
    }
    Ref<Tensor> t;
    if (is_tensor(o)) {
      t = ref_of(o);
      if (promoted && t->dtype != wide) t = contiguous_copy(*t, wide);
      else if (!promoted && is_half(t->dtype)) t = contiguous_copy(*t, DType::F32);
    } else {
      Number number;
      number_from(o, number, op.name.c_str());
      t = empty(Dims(), wide);
      store_number(number, wide, t->data());
    }
    arrays.push_back(Object::own(to_ndarray(t)));
    args[i + 1] = arrays.back().get();
  }
  Object value = Object::own(call_python(known.run_scalar, args, op.params.size() + 1));
  Object array = Object::own(PyArray_FromAny(value.get(), nullptr, 0, 0, 0, nullptr));
  Ref<Tensor> made = from_ndarray(array.get());
  bool usable = made->dtype == call.result && made->sizes == call.sizes && made->is_contiguous();
  for (size_t i = 0; usable && i < op.params.size(); ++i)
    usable = !is_tensor(slots[i]) || !may_overlap(*made, *tensor_of(slots[i]));
  if (usable) return made;
  Ref<Tensor> out = empty(call.sizes, call.result);
  Dims a, b;
  copy(as_array(*out, a), as_array(*made, call.sizes, expanded_strides(*made, call.sizes), b));
  return out;
}

}  // namespace

Results evaluate_pointwise(const Operator& op, PyObject* const* slots, Tensor* into) {
  if (!into)
    if (Ref<Tensor> made = everyday(op, slots)) return one_result(std::move(made));
  Call call = plan(op, slots);
  if (op.check && op.has_loops && !has_defaults(op, slots)) check_arguments(op, slots);
  const int64_t numel = checked_numel(call.sizes, call.result, op.name.c_str());
  if (const Kernel* kernel = find_kernel(op, slots, call.compute, numel))
    if (Ref<Tensor> made = run_kernel(op, slots, call, *kernel, into)) return one_result(std::move(made));
  return one_result(run_numpy(op, slots, call));
}

Ref<Tensor> pointwise_result(const Operator& op, PyObject* const* slots) {
  Call call = plan(op, slots);
  if (op.check && op.has_loops && !has_defaults(op, slots)) check_arguments(op, slots);
  CommonOrder order;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (!is_tensor(slots[i])) continue;
    const Tensor& t = *tensor_of(slots[i]);
    if (t.sizes == call.sizes && t.dtype != call.compute && state_of(op, i, slots[i]) == kPromoted) order.same = false;  // converted first
    order.add(t, call.sizes);
  }
  const bool in_order = !order.same || !order.lead || order.lead->is_contiguous() || !CommonOrder::is_dense(*order.lead);
  return unmade(call.sizes, in_order ? contiguous_strides(call.sizes) : order.lead->strides, call.result);
}

std::unique_ptr<Step> prepare_pointwise(const Operator& op, PyObject* const* slots, const Tensor& result) {
  Call call = plan(op, slots);
  if (!(call.sizes == result.sizes) || call.result != result.dtype || result.numel == 0) return nullptr;
  if (op.check && op.has_loops && !has_defaults(op, slots)) check_arguments(op, slots);
  const Kernel* kernel = find_kernel(op, slots, call.compute, result.numel);
  if (!kernel || kernel->checks) return nullptr;
  for (size_t i = 0; i < op.params.size(); ++i)  // another dtype would have to be converted first
    if (is_tensor(slots[i]) && state_of(op, i, slots[i]) == kPromoted && tensor_of(slots[i])->dtype != call.compute)
      return nullptr;
  SmallVector<Input, 4> inputs;
  collect(op, slots, call, *kernel, inputs);
  if (int(inputs.size()) > kMostInputs) return nullptr;
  std::vector<KernelOperand> operands;
  const auto add = [&](const Tensor& t) {
    KernelOperand& operand = operands.emplace_back();
    operand.place = place_of(t);
    operand.dtype = t.dtype;
    operand.strides = expanded_strides(t, call.sizes);
    for (int64_t& stride : operand.strides) stride *= item_size(t.dtype);
  };
  for (const Input& input : inputs) {
    if (input.tensor) {
      add(*input.tensor);
      continue;
    }
    KernelOperand& operand = operands.emplace_back();
    operand.dtype = input.dtype;
    operand.strides = Dims(call.sizes.size());
    std::copy_n(input.element, sizeof(input.element), operand.element);
  }
  add(result);
  return std::make_unique<PointwiseStep>(kernel->loop, kernel->grain, kernel->in_lines, call.sizes, operands, 1);
}

}  // namespace thixo
