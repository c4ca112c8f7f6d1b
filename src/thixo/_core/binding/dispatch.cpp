// What happens when an operator is called: trace, evaluate, record, hand back.

#include <cstring>
#include <unordered_map>

#include "lazy.h"
#include "profiling.h"

namespace thixo {

static PyObject* results_object(const Operator& op, Results& results) {
  if (op.many) {
    PyObject* tuple = PyTuple_New(Py_ssize_t(results.size()));
    for (size_t i = 0; tuple && i < results.size(); ++i) PyTuple_SET_ITEM(tuple, Py_ssize_t(i), wrap(results[i]));
    return tuple;
  }
  if (op.outputs == 1) return wrap(std::move(results[0]));
  auto* type = reinterpret_cast<PyTypeObject*>(op.result_type.get());
  PyObject* tuple = type->tp_alloc(type, op.outputs);
  if (!tuple) throw PythonError();
  for (int i = 0; i < op.outputs; ++i) PyTuple_SET_ITEM(tuple, i, wrap(results[i]));
  return tuple;
}

static Object slot_tuple(const Operator& op, PyObject* const* slots) {
  Object t = Object::own(PyTuple_New(Py_ssize_t(op.params.size())));
  for (size_t i = 0; i < op.params.size(); ++i) PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), Py_NewRef(slots[i]));
  return t;
}

static Results tensors_from(const Operator& op, PyObject* value) {
  Results out;
  auto take = [&](PyObject* o) {
    if (!is_tensor(o)) raise(ErrorKind::Internal, op.name + ": a result is " + type_name(o) + ", not a Tensor");
    out.push_back(ref_of(o));
  };
  if (is_tensor(value)) {
    take(value);
  } else {
    Object fast = Object::own(PySequence_Fast(value, "an operator's results must be Tensors"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
      take(PySequence_Fast_GET_ITEM(fast.get(), i));
  }
  return out;
}

static Results trace(const Operator& op, PyObject* const* slots) {
  if (!known.trace) raise(ErrorKind::Internal, op.name + ": symbolic tensors need a trace");
  Object args = slot_tuple(op, slots);
  Object value = Object::own(call_python_with(known.trace, op.declaration.get(), args.get()));
  return tensors_from(op, value.get());
}

static void attach(const Operator& op, Ref<Node> node, Results& results) {
  finish_record(*node, op, results);
  for (size_t i = 0; i < results.size(); ++i) {
    size_t k = op.many ? 0 : i;
    if (k < op.differentiable.size() && op.differentiable[k] && is_differentiable(results[i]->dtype))
      set_history(*results[i], i + 1 == results.size() ? std::move(node) : node, uint32_t(i));
  }
}

// A declaration's own check of its arguments. Operators with native loops are checked when a loop does not
// take the call (see evaluate_pointwise): the loops' arguments need none.
static void run_check(const Operator& op, PyObject* const* slots, bool traced) {
  if (op.check && (traced || !op.has_loops)) check_arguments(op, slots);
}

// ---- in place: compute, write into the first argument, give it a new history

static bool touches_tape(const Operator& op, PyObject* const* slots) {
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (!is_tensor(slots[i])) continue;
    Tensor* t = tensor_of(slots[i]);
    if (is_tracked(*t)) return true;
  }
  return false;
}

void check_fits(const Operator& op, const Tensor& self_tensor, const Tensor& result_tensor) {
  const Tensor *self = &self_tensor, *result = &result_tensor;
  if (!(result->sizes == self->sizes)) {
    Dims fits;
    bool ok = false;
    try { ok = broadcast(result->sizes, self->sizes, "") == self->sizes; } catch (const Error&) {}
    if (!ok)
      raise(ErrorKind::Shape, op.name + ": the result has shape " + describe(result->sizes) +
                                  " and cannot be written into " + describe(*self));
  }
  auto category = [](DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : is_integer(t) ? 1 : 0; };
  if (category(result->dtype) > category(self->dtype) && op.name != "copy_")
    raise(ErrorKind::DType, op.name + ": the result is " + short_name(result->dtype) +
                                ", which cannot be written into a tensor of " + short_name(self->dtype) +
                                "; use the out-of-place operation");
}

static void write_into(const Operator& op, const Ref<Tensor>& self, const Ref<Tensor>& result) {
  if (result.get() == self.get()) return;
  check_fits(op, *self, *result);
  Ref<Tensor> source = may_overlap(*self, *result) ? contiguous_copy(*result, result->dtype) : result;
  Ref<Tensor> target = pinned(self);
  if (self->numel >= kLongWork) source = alias(*source);
  Dims a, b, strides = expanded_strides(*source, target->sizes);
  Array to = as_array(*target, a), from = as_array(*source, target->sizes, strides, b);
  WithoutGil free(target->numel >= kLongWork);
  copy(to, from);
}

// copy_: natively, whatever the shapes, dtypes and strides.
static void copy_into(const Operator& op, const Ref<Tensor>& self, PyObject* source) {
  if (is_tensor(source)) return write_into(op, self, ref_of(source));
  Number n;
  number_from(source, n, op.name.c_str());
  alignas(16) char element[16];
  store_number(n, self->dtype, element);
  Ref<Tensor> target = pinned(self);
  Dims a;
  Array to = as_array(*target, a);
  WithoutGil free(target->numel >= kLongWork);
  fill(to, element);
}

void write_now(const Operator& op, PyObject* const* args, const Ref<Tensor>& self) {
  if (op.copies) {
    copy_into(op, self, args[1]);
  } else if (op.base_kind == OpKind::Pointwise) {
    write_into(op, self, evaluate_pointwise(op, args, self.get())[0]);
  } else if (!op.native_write || !op.native_write(op, args)) {
    write_into(op, self, evaluate_generic(op, args)[0]);
  }
}

static PyObject* call_inplace(const Operator& op, PyObject* const* args) {
  if (!is_tensor(args[0])) raise(ErrorKind::Argument, op.name + ": its first argument must be a Tensor");
  Ref<Tensor> self = ref_of(args[0]);
  run_check(op, args, meets_symbols(op, args));
  if (op.base_kind == OpKind::Composite || (op.rules.empty() && modes.grad && touches_tape(op, args))) {
    // Compute out of place, then copy. What is recorded on the way must not see its input overwritten.
    PyObject* copied[kMaxParams];
    std::copy(args, args + op.params.size(), copied);
    Object own;
    if (modes.grad && touches_tape(op, args)) {
      own = Object::own(call_python_with(operator_named("clone"), args[0]));
      copied[0] = own.get();
    }
    Object value;
    if (op.base_kind == OpKind::Composite) {
      value = Object::own(call_python(op.compose.get(), copied, op.params.size()));
    } else {
      Results made = meets_symbols(op, args) ? trace(op, copied) : evaluate(op, op.base_kind, copied);
      value = Object::own(wrap(made[0]));
    }
    if (value.get() == args[0]) return value.give();
    if (!is_tensor(value.get())) raise(ErrorKind::Internal, op.name + ": its out-of-place form did not return a Tensor");
    check_fits(op, *self, *tensor_of(value.get()));
    PyObject* copy_args[2] = {args[0], value.get()};
    return call_python(operator_named("copy_"), copy_args, 2);
  }
  bool records = wants_tape(op, args);
  check_inplace(*self, op.name.c_str(), records);
  if (meets_symbols(op, args)) {
    Object tuple = slot_tuple(op, args);  // the hook records the out-of-place operator and re-points tensors
    Object::own(call_python_with(known.trace_inplace, op.declaration.get(), tuple.get()));
    return Py_NewRef(args[0]);
  }
  Ref<Node> node = records ? begin_record(op, args, self.get()) : Ref<Node>();
  if (!is_lazy() || !record_write(op, args)) write_now(op, args, self);
  bump_version(*self, current_source());
  if (node) {
    finish_record(*node, op, one_result(self));
    rebase_history(self, node);
  }
  return Py_NewRef(args[0]);
}

// ---- everything else

// The results, as leaves that require grad where the call asked for that.
static PyObject* leaves(const Operator& op, PyObject* const* args, Results& results) {
  if (op.grad_flag >= 0 && args[op.grad_flag] == Py_True) {
    for (auto& t : results) {
      if (!is_differentiable(t->dtype))
        raise(ErrorKind::DType, op.name + ": only floating-point and complex tensors can require grad, this is " +
                                    short_name(t->dtype));
      t->grad_state().requires_grad = true;
    }
  }
  return results_object(op, results);
}

static Results recorded(const Operator& op, PyObject* const* args) {
  Results results;
  if (!record_call(op, args, results)) return evaluate(op, op.kind, args);
  return results;
}

PyObject* dispatch(const Operator& op, PyObject* const* args) {
  ProfiledCall profiled(op, args);
  if (op.kind == OpKind::Composite) {
    Results same;
    if (op.native && !is_lazy() && !meets_symbols(op, args) && op.native(op, args, same)) {
      for (auto& t : same)
        if (is_unique(t.get())) t->inference = modes.inference;
      return leaves(op, args, same);
    }
    return call_python(op.compose.get(), args, op.params.size());
  }
  if (op.kind == OpKind::Inplace) return call_inplace(op, args);
  const auto [traced, records] = survey(op, args);
  run_check(op, args, traced);
  Ref<Node> node = records ? begin_record(op, args, nullptr) : Ref<Node>();
  Results results = traced ? trace(op, args) : is_lazy() ? recorded(op, args) : evaluate(op, op.kind, args);
  if (modes.inference)
    for (auto& t : results) t->inference = true;
  if (node) attach(op, std::move(node), results);
  return leaves(op, args, results);
}

// out=: the result is written into the given tensor, which must have its shape.
static PyObject* write_out(const Operator& op, Object value, PyObject* out) {
  auto one = [&](PyObject* from, PyObject* to) {
    if (!is_tensor(to)) raise(ErrorKind::Argument, op.name + ": out must be a Tensor, got " + type_name(to));
    Tensor *t = tensor_of(to), *f = tensor_of(from);
    if (has_internal_overlap(*t))
      raise(ErrorKind::Inplace, op.name + ": several elements of out, " + describe(*t) +
                                    ", are the same memory (it was expanded); give a tensor of its own");
    if (modes.grad && (t->requires_grad() || f->requires_grad()))
      raise(ErrorKind::Autograd, op.name + ": out= does not support gradients; an argument requires grad");
    if (!(t->sizes == f->sizes))
      raise(ErrorKind::Shape, op.name + ": out has shape " + describe(t->sizes) + ", the result is " + describe(*f));
    auto category = [](DType d) { return is_complex(d) ? 3 : is_floating(d) ? 2 : is_integer(d) ? 1 : 0; };
    if (category(f->dtype) > category(t->dtype))
      raise(ErrorKind::DType, op.name + ": the result is " + short_name(f->dtype) + ", out is " + short_name(t->dtype));
    PyObject* args[2] = {to, from};
    Object::own(call_python(operator_named("copy_"), args, 2));
  };
  if (is_tensor(value.get())) {
    one(value.get(), out);
  } else {
    if (!PyTuple_Check(value.get()) || !(PyTuple_Check(out) || PyList_Check(out)) ||
        PyTuple_GET_SIZE(value.get()) != Py_SIZE(out))
      raise(ErrorKind::Argument, op.name + ": out must be a tuple with one Tensor for each result");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value.get()); ++i)
      one(PyTuple_GET_ITEM(value.get(), i), PySequence_Fast_ITEMS(out)[i]);
  }
  return Py_NewRef(out);
}

// The same for a pointwise operator whose result can be computed where it is to be; null: it is computed, and then copied.
static PyObject* compute_in(const Operator& op, PyObject* const* args, PyObject* out) {
  if (op.kind != OpKind::Pointwise || !is_tensor(out) || is_lazy()) return nullptr;
  Tensor& target = *tensor_of(out);
  if (target.symbolic() || has_internal_overlap(target) || (modes.grad && is_tracked(target))) return nullptr;
  const auto [traced, records] = survey(op, args);
  if (traced || records) return nullptr;
  check_inplace(target, op.name.c_str(), false);
  ProfiledCall profiled(op, args);
  run_check(op, args, false);
  Results made = evaluate_pointwise(op, args, &target);
  if (made[0].get() != &target) return write_out(op, Object::own(wrap(made[0])), out);
  bump_version(target, current_source());
  return Py_NewRef(out);
}

// Whether the exception that is set says that a Python function does not take such arguments: ours have other
// classes.
static bool no_such_form() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool plain = type == PyExc_TypeError;
  PyErr_Restore(type, value, trace);
  return plain;
}

// An exception on its way out of an operator: its message is to begin with the name that the user wrote, whatever
// the operator calls inside.
void lead_error(PyObject* self) {
  if (!known.lead_error || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  const Operator& op = operator_of(self);
  PyObject* led = call_python_as(known.lead_error, "OOss", value, reinterpret_cast<OperatorObject*>(self)->shown,
                                 op.name.c_str(), op.full_name.c_str());
  if (!led) PyErr_Clear();
  if (!led || led == value) {
    Py_XDECREF(led);
    PyErr_Restore(type, value, trace);
    return;
  }
  Py_DECREF(type);
  Py_DECREF(value);
  Py_XDECREF(trace);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(led)), led);
  Py_DECREF(led);
}

static PyObject* bind_and_dispatch(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return guarded([&] {
    const Operator& op = operator_of(self);
    Slots slots(op.params.size());
    try {
      bind(op, args, PyVectorcall_NARGS(nargsf), kwnames, slots);
    } catch (const Error&) {
      // Another way to call it, that the signature does not show.
      if (!op.overload) throw;
      PyObject* r = call_python(op.overload.get(), args, nargsf, kwnames);
      if (r || !PyErr_ExceptionMatches(PyExc_TypeError) || !no_such_form()) return r;
      PyErr_Clear();
      throw;
    }
    PyObject* const out = slots.out && slots.out.get() != Py_None ? slots.out.get() : nullptr;
    if (out)
      if (PyObject* written = compute_in(op, slots.items, out)) return written;
    PyObject* result = dispatch(op, slots.items);
    return out ? write_out(op, Object::own(result), out) : result;
  });
}

PyObject* call_operator_object(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyObject* result = bind_and_dispatch(self, args, nargsf, kwnames);
  if (!result) lead_error(self);
  return result;
}

PyObject* operator_named(const char* full_name) {
  static std::unordered_map<std::string, PyObject*> cache;
  auto found = cache.find(full_name);
  if (found != cache.end()) return found->second;
  PyObject* op = call_python_as(known.load, "s", full_name);
  if (!op) throw PythonError();
  cache.emplace(full_name, op);
  return op;
}

PyObject* operator_shown_as(const char* full_name, const char* shown) {
  static std::unordered_map<std::string, PyObject*> cache;
  auto found = cache.find(full_name);
  if (found != cache.end()) return found->second;
  PyObject* op = call_python_method(operator_named(full_name), "renamed", "s", shown);
  if (!op) throw PythonError();
  return cache.emplace(full_name, op).first->second;
}

Ref<Tensor> call_operator(const char* full_name, std::initializer_list<PyObject*> args) {
  Object value = Object::own(call_python(operator_named(full_name), args.begin(), args.size()));
  if (!is_tensor(value.get())) raise(ErrorKind::Internal, std::string(full_name) + ": did not return a Tensor");
  return ref_of(value.get());
}

}  // namespace thixo
