// What happens when an operator is called: trace, evaluate, record, hand back.

#include <cstring>
#include <unordered_map>

#include "operator.h"

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
  Object value = Object::own(PyObject_CallFunctionObjArgs(known.trace, op.declaration.get(), args.get(), nullptr));
  return tensors_from(op, value.get());
}

static void attach(const Operator& op, const Ref<Node>& node, Results& results) {
  finish_record(node, op, results);
  for (size_t i = 0; i < results.size(); ++i) {
    size_t k = op.many ? 0 : i;
    if (k < op.differentiable.size() && op.differentiable[k] && is_differentiable(results[i]->dtype))
      set_history(results[i], node, uint32_t(i));
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
    if (t->requires_grad() || (t->base && t->base->requires_grad())) return true;
  }
  return false;
}

static void check_fits(const Operator& op, const Tensor& self_tensor, const Tensor& result_tensor) {
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
  Dims a, b, strides = expanded_strides(*source, self->sizes);
  Array to = as_array(*self, a), from = as_array(*source, self->sizes, strides, b);
  WithoutGil free(self->numel >= kLongWork);
  copy(to, from);
}

// copy_: natively, whatever the shapes, dtypes and strides.
static void copy_into(const Operator& op, const Ref<Tensor>& self, PyObject* source) {
  if (is_tensor(source)) return write_into(op, self, ref_of(source));
  Number n;
  number_from(source, n);
  alignas(16) char element[16];
  store_number(n, self->dtype, element);
  Dims a;
  Array to = as_array(*self, a);
  WithoutGil free(self->numel >= kLongWork);
  fill(to, element);
}

static PyObject* call_inplace(const Operator& op, Slots& slots) {
  PyObject* const* args = slots.items.data();
  if (!is_tensor(args[0])) raise(ErrorKind::Argument, op.name + ": its first argument must be a Tensor");
  Ref<Tensor> self = ref_of(args[0]);
  run_check(op, args, meets_symbols(op, args));
  if (op.base_kind == OpKind::Composite || (op.rules.empty() && modes.grad && touches_tape(op, args))) {
    // Compute out of place, then copy. What is recorded on the way must not see its input overwritten.
    PyObject* copied[kMaxParams];
    std::copy(args, args + op.params.size(), copied);
    Object own;
    if (modes.grad && touches_tape(op, args)) {
      own = Object::own(PyObject_CallOneArg(operator_named("clone"), args[0]));
      copied[0] = own.get();
    }
    Object value;
    if (op.base_kind == OpKind::Composite) {
      value = Object::own(PyObject_Vectorcall(op.compose.get(), copied, op.params.size(), nullptr));
    } else {
      Results made = meets_symbols(op, args) ? trace(op, copied) : evaluate(op, op.base_kind, copied);
      value = Object::own(wrap(made[0]));
    }
    if (value.get() == args[0]) return value.give();
    if (!is_tensor(value.get())) raise(ErrorKind::Internal, op.name + ": its out-of-place form did not return a Tensor");
    check_fits(op, *self, *tensor_of(value.get()));
    PyObject* copy_args[2] = {args[0], value.get()};
    return PyObject_Vectorcall(operator_named("copy_"), copy_args, 2, nullptr);
  }
  bool records = wants_tape(op, args);
  check_inplace(*self, op.name.c_str(), records);
  if (meets_symbols(op, args)) {
    Object tuple = slot_tuple(op, args);  // the hook records the out-of-place operator and re-points tensors
    Object::own(PyObject_CallFunctionObjArgs(known.trace_inplace, op.declaration.get(), tuple.get(), nullptr));
    return Py_NewRef(args[0]);
  }
  Ref<Node> node = records ? begin_record(op, args, self.get()) : Ref<Node>();
  if (op.copies) {
    copy_into(op, self, args[1]);
  } else if (op.base_kind == OpKind::Pointwise) {
    write_into(op, self, evaluate_pointwise(op, args, self.get())[0]);
  } else {
    write_into(op, self, evaluate_generic(op, args)[0]);
  }
  bump_version(*self, current_source());
  if (node) {
    finish_record(node, op, {self});
    rebase_history(self, node);
  }
  return Py_NewRef(args[0]);
}

// ---- everything else

static PyObject* call(const Operator& op, Slots& slots) {
  PyObject* const* args = slots.items.data();
  if (op.kind == OpKind::Composite) {
    Results same;
    if (op.native && op.native(op, args, same)) return results_object(op, same);
    return PyObject_Vectorcall(op.compose.get(), args, op.params.size(), nullptr);
  }
  if (op.kind == OpKind::Inplace) return call_inplace(op, slots);
  bool traced = meets_symbols(op, args);
  run_check(op, args, traced);
  bool records = wants_tape(op, args);
  Ref<Node> node = records ? begin_record(op, args, nullptr) : Ref<Node>();
  Results results = traced ? trace(op, args) : evaluate(op, op.kind, args);
  if (modes.inference)
    for (auto& t : results) t->inference = true;
  if (node) attach(op, node, results);
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
    Object::own(PyObject_Vectorcall(operator_named("copy_"), args, 2, nullptr));
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

PyObject* dispatch(const Operator& op, Slots& slots) {
  if (!slots.out || slots.out.get() == Py_None) return call(op, slots);
  return write_out(op, Object::own(call(op, slots)), slots.out.get());
}

static PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return guarded([&] {
    const Operator& op = operator_of(self);
    Slots slots;
    if (op.views_bits && PyVectorcall_NARGS(nargsf) == 2 && Py_TYPE(args[1]) == reinterpret_cast<PyTypeObject*>(known.dtype_class))
      return PyObject_Vectorcall(operator_named("view_dtype"), args, 2, kwnames);
    bind(op, args, PyVectorcall_NARGS(nargsf), kwnames, slots);
    return dispatch(op, slots);
  });
}

PyObject* operator_named(const char* full_name) {
  static std::unordered_map<std::string, PyObject*> cache;
  auto found = cache.find(full_name);
  if (found != cache.end()) return found->second;
  PyObject* op = PyObject_CallFunction(known.load, "s", full_name);
  if (!op) throw PythonError();
  cache.emplace(full_name, op);
  return op;
}

Ref<Tensor> call_operator(const char* full_name, std::initializer_list<PyObject*> args) {
  Object value = Object::own(PyObject_Vectorcall(operator_named(full_name), args.begin(), args.size(), nullptr));
  if (!is_tensor(value.get())) raise(ErrorKind::Internal, std::string(full_name) + ": did not return a Tensor");
  return ref_of(value.get());
}

// ---- the Operator type

static int fill(Operator& op, PyObject* kw) {
  auto get = [&](const char* name) {
    PyObject* o = PyDict_GetItemString(kw, name);
    if (!o) raise(ErrorKind::Internal, std::string("Operator: ") + name + " is missing");
    return o;
  };
  auto string = [&](const char* name) { return std::string(PyUnicode_AsUTF8(get(name))); };
  op.name = string("name");
  op.full_name = string("full_name");
  bool capital = true;
  for (char c : op.name) {  // scaled_dot -> ScaledDotBackward, as people know it
    if (c == '_') { capital = true; continue; }
    op.grad_name += capital ? char(toupper(c)) : c;
    capital = false;
  }
  op.grad_name += "Backward";
  op.doc = Object::borrow(get("doc"));
  op.declaration = Object::borrow(get("declaration"));
  op.result_type = Object::borrow(get("result_type"));
  auto kind_of = [](const std::string& k) {
    return k == "pointwise" ? OpKind::Pointwise : k == "view" ? OpKind::View : k == "composite" ? OpKind::Composite
           : k == "inplace" ? OpKind::Inplace : OpKind::Generic;
  };
  op.kind = kind_of(string("kind"));
  Object declared = Object::own(PyObject_GetAttrString(op.declaration.get(), "kind"));
  op.base_kind = kind_of(PyUnicode_AsUTF8(declared.get()));
  static const char* kinds[] = {"tensor", "operand", "tensors", "int", "ints", "float", "scalar", "bool", "str",
                                "dtype", "device", "generator", "any"};
  PyObject* params = get("params");
  if (PyTuple_GET_SIZE(params) > kMaxParams)
    raise(ErrorKind::Internal, op.name + ": more than " + std::to_string(kMaxParams) + " parameters");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(params); ++i) {
    PyObject* t = PyTuple_GET_ITEM(params, i);
    const char *name, *kind;
    int optional, has_default, keyword_only, rest;
    PyObject* fallback;
    if (!PyArg_ParseTuple(t, "ssppOpp", &name, &kind, &optional, &has_default, &fallback, &keyword_only, &rest))
      throw PythonError();
    Param p;
    p.name = Object::own(PyUnicode_InternFromString(name));
    p.text = name;
    p.kind = Kind::Any;
    for (int k = 0; k < 13; ++k)
      if (!strcmp(kinds[k], kind)) p.kind = Kind(k);
    p.optional = optional;
    p.has_default = has_default;
    p.keyword_only = keyword_only;
    p.rest = rest;
    p.fallback = Object::borrow(fallback);
    if (p.has_default && p.kind == Kind::Ints && PyLong_Check(fallback))
      p.fallback = Object::own(PyTuple_Pack(1, fallback));
    if (p.text == "requires_grad" && p.kind == Kind::Bool) op.grad_flag = int(i);
    op.params.push_back(std::move(p));
  }
  op.outputs = int(PyLong_AsLong(get("outputs")));
  op.many = PyObject_IsTrue(get("many"));
  op.random = PyObject_IsTrue(get("random"));
  PyObject* rules = get("rules");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rules); ++i) {
    PyObject *function, *serves, *sources;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rules, i), "OOO", &function, &serves, &sources)) throw PythonError();
    Rule rule;
    rule.function = Object::borrow(function);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(serves); ++k)
      rule.serves.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(serves, k))));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(sources); ++k) {
      const char* from;
      int index;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(sources, k), "si", &from, &index)) throw PythonError();
      From f = !strcmp(from, "grad") ? From::Grad : !strcmp(from, "input") ? From::Input
               : !strcmp(from, "output") ? From::Output : !strcmp(from, "type") ? From::Type : From::Needs;
      rule.arguments.push_back({f, index});
    }
    op.rules.push_back(std::move(rule));
  }
  if (op.rules.size() <= kPlannedRules)
    for (uint32_t active = 0; active < 1u << op.rules.size(); ++active) op.plans.push_back(op.kept_by(active));
  PyObject* differentiable = get("differentiable");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(differentiable); ++i)
    op.differentiable.push_back(PyObject_IsTrue(PyTuple_GET_ITEM(differentiable, i)) > 0);
  PyObject* dtypes = get("dtypes");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dtypes); ++i)
    op.dtypes |= 1u << PyLong_AsLong(PyTuple_GET_ITEM(dtypes, i));
  std::string result = string("result");
  op.result = result == "float" ? ResultKind::Float : result == "bool" ? ResultKind::Bool
              : result == "real" ? ResultKind::Real : ResultKind::Same;
  PyObject* promotes = get("promotes");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(promotes); ++i)
    op.promotes.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(promotes, i))));
  auto part = [&](const char* name) {
    PyObject* o = PyObject_GetAttrString(op.declaration.get(), name);
    if (!o) {
      PyErr_Clear();
      return Object();
    }
    return Object::own(o);
  };
  op.infer = part("infer");
  op.kernel = part("kernel");
  op.compose = part("compose");
  op.geometry = part("geometry");
  op.scalar = part("scalar");
  op.check = part("check");
  op.copies = op.kind == OpKind::Inplace && op.name == "copy_";
  op.views_bits = op.full_name == "view";  // x.view(dtype) is another operator
  std::string base = op.kind == OpKind::Inplace ? op.name.substr(0, op.name.size() - 1) : op.name;
  if (op.full_name == op.name || op.kind == OpKind::Inplace) {
    for (int i = 0; i < kDTypes; ++i)
      if (op.base_kind == OpKind::Pointwise) {
        op.loops[i] = find_loop(base.c_str(), DType(i));
        op.has_loops = op.has_loops || op.loops[i];
      }
    op.native = op.kind == OpKind::Inplace ? nullptr : find_native(op.full_name);
  }
  return 0;
}

static PyObject* operator_new(PyTypeObject* type, PyObject*, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    if (!kw) raise(ErrorKind::Argument, "Operator: made by the operator table only");
    Object self = Object::own(type->tp_alloc(type, 0));
    auto* o = reinterpret_cast<OperatorObject*>(self.get());
    o->vectorcall = vectorcall;
    o->op = new Operator();
    o->op->self = self.get();
    fill(*o->op, kw);
    return self.give();
  });
}

// Operators live as long as the process: the table holds them, and nodes may outlive any cleanup.
static int operator_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* op = reinterpret_cast<OperatorObject*>(self)->op;
  if (!op) return 0;
  Py_VISIT(op->declaration.get());
  Py_VISIT(op->result_type.get());
  return 0;
}
static void operator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<OperatorObject*>(self)->op;
  type->tp_free(self);
  Py_DECREF(type);
}
static PyObject* operator_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}
static PyObject* operator_repr(PyObject* self) {
  return PyUnicode_FromFormat("<operator %s>", operator_of(self).full_name.c_str());
}
static PyObject* operator_name(PyObject* self, void*) { return PyUnicode_FromString(operator_of(self).name.c_str()); }
static PyObject* operator_full_name(PyObject* self, void*) {
  return PyUnicode_FromString(operator_of(self).full_name.c_str());
}
static PyObject* operator_doc(PyObject* self, void*) { return Py_NewRef(operator_of(self).doc.get()); }
static PyObject* operator_declaration(PyObject* self, void*) { return Py_NewRef(operator_of(self).declaration.get()); }
static PyObject* operator_module(PyObject* self, void*) {
  std::string full = operator_of(self).full_name;
  size_t dot = full.find_last_of('.');
  return PyUnicode_FromString((dot == std::string::npos ? "thixo" : "thixo." + full.substr(0, dot)).c_str());
}
static PyObject* operator_reduce(PyObject* self, PyObject*) {
  Object module = Object::own(PyImport_ImportModule("thixo.ops.base"));
  return guarded([&] {
    Object find = Object::own(PyObject_GetAttrString(module.get(), "find_operator"));
    std::string full = operator_of(self).full_name;
    if (operator_of(self).kind == OpKind::Inplace) full += "_";
    return Py_BuildValue("O(s)", find.get(), full.c_str());
  });
}

static PyGetSetDef operator_getset[] = {
    {"__name__", operator_name, nullptr, nullptr, nullptr},
    {"__qualname__", operator_name, nullptr, nullptr, nullptr},
    {"full_name", operator_full_name, nullptr, "Namespace and name.", nullptr},
    {"__doc__", operator_doc, nullptr, nullptr, nullptr},
    {"__module__", operator_module, nullptr, nullptr, nullptr},
    {"declaration", operator_declaration, nullptr, "The class in the operator table.", nullptr},
    {}};
static PyMethodDef operator_methods[] = {{"__reduce__", operator_reduce, METH_NOARGS, nullptr}, {}};
static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, vectorcall), READONLY, nullptr}, {}};
static PyType_Slot operator_slots[] = {{Py_tp_new, (void*)operator_new},
                                       {Py_tp_dealloc, (void*)operator_dealloc},
                                       {Py_tp_traverse, (void*)operator_traverse},
                                       {Py_tp_call, (void*)PyVectorcall_Call},
                                       {Py_tp_descr_get, (void*)operator_get},
                                       {Py_tp_repr, (void*)operator_repr},
                                       {Py_tp_getset, operator_getset},
                                       {Py_tp_methods, operator_methods},
                                       {Py_tp_members, operator_members},
                                       {}};
PyType_Spec operator_spec = {"thixo._core.Operator", sizeof(OperatorObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
                             operator_slots};

}  // namespace thixo
