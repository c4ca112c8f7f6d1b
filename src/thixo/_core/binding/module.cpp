// The extension module: types, and the functions Python's side of the core calls.
#define THIXO_IMPORTS_NUMPY
#include <cstring>

#include "../core/allocator.h"
#include "../core/occupied.h"
#include "../core/promotion.h"
#include "../core/scratch.h"
#include "../core/thread_pool.h"
#include "node_object.h"
#include "../core/shipped.h"
#include "lazy.h"
#include "operator.h"
#include "tensor_object.h"

namespace thixo {

PyTypeObject* operator_type = nullptr;
extern PyType_Spec operator_spec, node_spec;
PyObject* add_hook(PyObject*, PyObject*);
PyObject* remove_hook(PyObject*, PyObject*);
PyObject* retain_grad(PyObject*, PyObject*);
PyObject* function_node(PyObject*, PyObject*);
PyObject* attach_function(PyObject*, PyObject*);
PyObject* save_function(PyObject*, PyObject*);
PyObject* load_function(PyObject*, PyObject*);
PyObject* to_dlpack(PyObject*, PyObject*);
PyObject* from_dlpack(PyObject*, PyObject*);
int add_random(PyObject* module);
int add_special(PyObject* module);
int add_profiler(PyObject* module);
int add_programs(PyObject* module);
int add_guards(PyObject* module);
int add_graph_walks(PyObject* module);

namespace {

// configure(name=object, ...): the Python objects in `Known`
PyObject* configure(PyObject*, PyObject*, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    auto hold = [](PyObject*& slot, PyObject* o) { Py_XSETREF(slot, Py_NewRef(o)); };
    while (kw && PyDict_Next(kw, &at, &key, &value)) {
      std::string name = PyUnicode_AsUTF8(key);
      if (name == "errors") {
        for (int i = 0; i < 10; ++i) hold(known.errors[i], PyTuple_GET_ITEM(value, i));
      } else if (name == "dtypes") {
        for (int i = 0; i < kDTypes; ++i) hold(known.dtypes[i], PyTuple_GET_ITEM(value, i));
        hold(known.dtype_class, reinterpret_cast<PyObject*>(Py_TYPE(known.dtypes[0])));
      } else if (name == "package") {
        known.package = PyUnicode_AsUTF8(value);
      } else {
        struct { const char* name; PyObject** slot; } slots[] = {
            {"spec", &known.spec}, {"size", &known.size}, {"dim", &known.dim}, {"device", &known.device},
            {"device_class", &known.device_class}, {"load", &known.load}, {"getitem", &known.getitem},
            {"setitem", &known.setitem}, {"generator_class", &known.generator_class}, {"run_kernel", &known.run_kernel}, {"run_scalar", &known.run_scalar},
            {"lead_error", &known.lead_error}, {"find_kernel", &known.find_kernel}, {"find_rule", &known.find_rule}, {"find_summed_rule", &known.find_summed_rule}, {"match_symbolic", &known.match_symbolic}, {"lazy_can", &known.lazy_can},
            {"lazy_run", &known.lazy_run}, {"lazy_error", &known.lazy_error}};
        bool found = false;
        for (auto& s : slots)
          if (name == s.name) {
            hold(*s.slot, value);
            found = true;
          }
        if (!found) raise(ErrorKind::Internal, "configure: unknown name " + name);
      }
    }
    Py_RETURN_NONE;
  });
}

PyObject* get_host_target(PyObject*, PyObject*) { return PyUnicode_FromString(host_target()); }
PyObject* shipped_kernel(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* symbol = PyUnicode_AsUTF8(name);
    if (!symbol) throw PythonError();
    void* found = shipped(symbol);
    return found ? PyLong_FromVoidPtr(found) : Py_NewRef(Py_None);
  });
}

template <PyObject* Known::*slot>
PyObject* set_hook(PyObject*, PyObject* f) {
  Py_XSETREF(known.*slot, f == Py_None ? nullptr : Py_NewRef(f));
  Py_RETURN_NONE;
}

// ---- modes: each setter returns what was before

template <bool Modes::*mode>
PyObject* set_mode(PyObject*, PyObject* o) {
  int on = PyObject_IsTrue(o);
  if (on < 0) return nullptr;
  return PyBool_FromLong(std::exchange(modes.*mode, bool(on)));
}
template <bool Modes::*mode>
PyObject* get_mode(PyObject*, PyObject*) { return PyBool_FromLong(modes.*mode); }
PyObject* set_tracing(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    // Strict: calls made while this is on by mistake fail far from here.
    if (!PyBool_Check(o)) raise(ErrorKind::Argument, "set_tracing: a bool is needed, got " + type_name(o) + " " + text(o));
    return PyBool_FromLong(std::exchange(tracing, o == Py_True));
  });
}
PyObject* is_tracing(PyObject*, PyObject*) { return PyBool_FromLong(tracing); }
PyObject* set_default_float(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    default_float = dtype_from(o, "set_default_dtype");
    Py_RETURN_NONE;
  });
}

// ---- symbolic tensors

PyObject* symbolic(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *value, *shape, *strides = Py_None;
    int dtype;
    if (!PyArg_ParseTuple(args, "OOi|O", &value, &shape, &dtype, &strides)) throw PythonError();
    if (dtype < 0 || dtype >= kDTypes) raise(ErrorKind::DType, "symbolic: no such dtype code");
    Ref<Tensor> t = make<Tensor>();
    t->sizes = dims_from(shape, "symbolic");
    t->strides = strides == Py_None ? contiguous_strides(t->sizes) : dims_from(strides, "symbolic");
    if (t->strides.size() != t->sizes.size()) raise(ErrorKind::Shape, "symbolic: sizes and strides differ in length");
    t->dtype = DType(dtype);
    t->numel = checked_numel(t->sizes, t->dtype, "symbolic");
    t->value = make<PyExternal>(value);
    return wrap(t);
  });
}
PyObject* set_value(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *value;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &value)) throw PythonError();
    tensor_of(tensor)->value = make<PyExternal>(value);
    Py_RETURN_NONE;
  });
}

// become(t, other): t takes other's value and history; become(t, None) drops both
PyObject* become(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *other;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &other)) throw PythonError();
    Tensor& t = *tensor_of(tensor);
    if (other != Py_None && !is_tensor(other))
      raise(ErrorKind::Argument, "become: a Tensor or None is needed, got " + type_name(other));
    Ref<Tensor> from = other == Py_None ? Ref<Tensor>() : ref_of(other);
    t.value = from ? from->value : Ref<External>();
    Ref<Node> fn = from ? current_grad_fn(from) : Ref<Node>();
    if (fn) set_history(*tensor_of(tensor), fn, from->output);
    else t.grad_fn = nullptr;
    Py_RETURN_NONE;
  });
}
PyObject* hint_strides(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!is_tensor(tensor)) raise(ErrorKind::Argument, "a Tensor is needed");
    return dims_tuple(tensor_of(tensor)->strides).give();
  });
}

// ---- making tensors

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&]() -> PyObject* {
    Object t = Object::own(wrap(from_ndarray(array)));
    if (tracing && known.trace_constant) return call_python_with(known.trace_constant, t.get());
    return t.give();
  });
}
PyObject* as_subclass(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *type;
    if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &tensor, &PyType_Type, &type)) throw PythonError();
    auto* t = reinterpret_cast<PyTypeObject*>(type);
    if (!PyType_IsSubtype(t, tensor_type)) raise(ErrorKind::Argument, "as_subclass: " + text(type) + " is no subclass of Tensor");
    return wrap_as(t, alias(*tensor_of(tensor)));
  });
}
PyObject* empty_strided_(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *sizes, *strides;
    int dtype;
    if (!PyArg_ParseTuple(args, "OOi", &sizes, &strides, &dtype)) throw PythonError();
    Dims s = dims_from(sizes, "empty_strided"), st = dims_from(strides, "empty_strided");
    if (s.size() != st.size()) raise(ErrorKind::Shape, "empty_strided: size and stride must have the same length");
    return wrap(empty_strided(s, st, DType(dtype)));
  });
}
PyObject* bump(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor)) raise(ErrorKind::Argument, "a Tensor is needed");
    check_inplace(*tensor_of(tensor), "in-place write", false);
    bump_version(*tensor_of(tensor), current_source());
    Py_RETURN_NONE;
  });
}
PyObject* shares_memory(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &a, tensor_type, &b)) return nullptr;
  return PyBool_FromLong(may_overlap(*tensor_of(a), *tensor_of(b)));
}

// apart(results, taken): of each result, whether it shares memory neither with what is taken nor with one before it
PyObject* apart(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *results, *taken;
    if (!PyArg_ParseTuple(args, "OO", &results, &taken)) throw PythonError();
    Object given = Object::own(PySequence_Fast(results, "results must be a sequence"));
    Object held = Object::own(PySequence_Fast(taken, "what is taken must be a sequence"));
    auto tensor_at = [](const Object& of, Py_ssize_t i) -> const Tensor& {
      PyObject* item = PySequence_Fast_GET_ITEM(of.get(), i);
      if (!is_tensor(item)) raise(ErrorKind::Argument, "apart: needs tensors");
      return *tensor_of(item);
    };
    Occupied memory;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(held.get()); ++i) memory.hold(tensor_at(held, i));
    Py_ssize_t count = PySequence_Fast_GET_SIZE(given.get());
    Object found = Object::own(PyList_New(count));
    for (Py_ssize_t i = 0; i < count; ++i)
      PyList_SET_ITEM(found.get(), i, PyBool_FromLong(memory.take(tensor_at(given, i))));
    return Py_NewRef(found.get());
  });
}

// look_like(tensor, view of it): the tensor object itself takes the view's shape and history (unsqueeze_ ...)
PyObject* look_like(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *other;
    if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &tensor, tensor_type, &other)) throw PythonError();
    Ref<Tensor> t = ref_of(tensor), view = ref_of(other);
    check_inplace(*t, "in-place view", true);
    t->sizes = view->sizes;
    t->strides = view->strides;
    t->offset = view->offset;
    t->numel = view->numel;
    t->value = view->value;
    if (const Ref<Node>& fn = current_grad_fn(view)) set_history(*t, fn, view->output);
    return Py_NewRef(tensor);
  });
}

// resize_(tensor, sizes): the tensor object itself changes; new elements are uninitialised
PyObject* resize(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *shape;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &shape)) throw PythonError();
    Tensor& t = *tensor_of(tensor);
    if (t.symbolic()) refuse_symbolic(t, "resize_()");
    if (t.requires_grad()) raise(ErrorKind::Autograd, "resize_: a tensor that requires grad cannot be resized");
    Dims sizes = dims_from(shape, "resize_");
    int64_t n = checked_numel(sizes, t.dtype, "resize_");
    if (t.storage->segment) settle(*t.storage);
    size_t needed = size_t(t.offset + n) * item_size(t.dtype);
    if (needed > t.storage->bytes) {
      Ref<Storage> larger = Storage::allocate(needed);
      if (t.storage->bytes) std::memcpy(larger->data, t.storage->data, t.storage->bytes);
      larger->version = t.storage->version;
      t.storage = larger;
    }
    t.numel = n;
    t.strides = contiguous_strides(sizes);
    t.sizes = sizes;
    bump_version(t, current_source());
    Py_RETURN_NONE;
  });
}

// ---- backward

std::vector<Ref<Tensor>> tensor_vector(PyObject* tuple) {
  std::vector<Ref<Tensor>> v;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (!is_tensor(o)) raise(ErrorKind::Argument, "backward: a Tensor is needed, got " + type_name(o));
    v.push_back(ref_of(o));
  }
  return v;
}

// backward(roots, gradients, inputs, accumulate, keep_graph, create_graph) -> tuple of Tensor or None
PyObject* backward(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *roots, *gradients, *inputs;
    int accumulate, keep, create;
    if (!PyArg_ParseTuple(args, "O!O!O!ppp", &PyTuple_Type, &roots, &PyTuple_Type, &gradients, &PyTuple_Type, &inputs,
                          &accumulate, &keep, &create))
      throw PythonError();
    auto from = tensor_vector(roots);
    for (auto& t : from)
      if (!t->requires_grad() && !current_grad_fn(t))
        raise(ErrorKind::Autograd, "backward: " + describe(*t) +
                                       " does not require grad and was not computed from anything that does");
    auto out = run_backward(from, tensor_vector(gradients), tensor_vector(inputs), accumulate, {bool(keep), bool(create)});
    Object t = Object::own(PyTuple_New(Py_ssize_t(out.size())));
    for (size_t i = 0; i < out.size(); ++i)
      PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), out[i] ? wrap(out[i]) : Py_NewRef(Py_None));
    return t.give();
  });
}

// loss.backward() without arguments: the seed is one, made here so that a small step stays small
PyObject* backward_scalar(PyObject*, PyObject* root) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(root)) raise(ErrorKind::Argument, "backward: a Tensor is needed, got " + type_name(root));
    Ref<Tensor> t = ref_of(root);
    if (!t->requires_grad() && !current_grad_fn(t))
      raise(ErrorKind::Autograd, "backward: " + describe(*t) +
                                     " does not require grad and was not computed from anything that does");
    if (t->symbolic() || t->numel != 1 || is_complex(t->dtype)) return Py_NewRef(Py_False);
    Ref<Tensor> one = empty(t->sizes, t->dtype);
    Number n;
    n.category = DType::I64;
    n.i = n.u = 1;
    n.c = 1;
    store_number(n, t->dtype, one->data());
    run_backward({t}, {one}, {}, true, {});
    return Py_NewRef(Py_True);
  });
}

// ---- memory and threads

PyObject* scratch_peak_of_all(PyObject*, PyObject*) { return PyLong_FromSize_t(scratch_peak()); }
PyObject* forget_scratch_peak(PyObject*, PyObject*) {
  reset_scratch_peak();
  Py_RETURN_NONE;
}
PyObject* memory_stats(PyObject*, PyObject*) {
  AllocatorStats s = allocator_stats();
  return Py_BuildValue("{s:L,s:L,s:L}", "in_use", (long long)s.in_use, "peak", (long long)s.peak, "kept", (long long)s.kept);
}
PyObject* memory_trim(PyObject*, PyObject*) {
  allocator_trim();
  Py_RETURN_NONE;
}
PyObject* memory_reset_peak(PyObject*, PyObject*) {
  allocator_reset_peak();
  Py_RETURN_NONE;
}
PyObject* num_threads(PyObject*, PyObject*) { return PyLong_FromLong(get_num_threads()); }
PyObject* set_threads(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    long n = PyLong_AsLong(o);
    if (n == -1 && PyErr_Occurred()) throw PythonError();
    if (n < 1 || n > 4096) raise(ErrorKind::Argument, "set_num_threads: a number of threads of at least 1 is needed, got " + std::to_string(n));
    WithoutGil free(true);
    set_num_threads(int(n));
    return nullptr;
  }) ? nullptr : PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}
PyObject* user_source(PyObject*, PyObject*) {
  std::string where = source_text(current_source());
  if (where.empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(where.c_str());
}

PyMethodDef functions[] = {
    {"configure", (PyCFunction)(void*)configure, METH_VARARGS | METH_KEYWORDS, "Hand over Python objects the core needs."},
    {"run_together", run_together, METH_VARARGS, "A kernel over many groups of tensors."},
    {"host_target", get_host_target, METH_NOARGS, "The best kind of processor that this one is, as targets are named."},
    {"shipped_kernel", shipped_kernel, METH_O, "The address of a kernel that was compiled with Thixo; None if there is none."},
    {"set_trace_hook", set_hook<&Known::trace>, METH_O, "Called with (declaration, arguments) for symbolic tensors."},
    {"set_trace_inplace_hook", set_hook<&Known::trace_inplace>, METH_O, "The same for in-place operators."},
    {"set_trace_constant_hook", set_hook<&Known::trace_constant>, METH_O, "Called with tensors made from data while tracing."},
    {"become", become, METH_VARARGS, "become(t, other): take its graph value and history."},
    {"hint_strides", hint_strides, METH_O, "The strides of a tensor, or of a symbolic tensor's example."},
    {"set_concretize_hook", set_hook<&Known::concretize>, METH_O, "Called when the value of a symbolic tensor is read."},
    {"set_grad_enabled", set_mode<&Modes::grad>, METH_O, nullptr},
    {"is_grad_enabled", get_mode<&Modes::grad>, METH_NOARGS, nullptr},
    {"set_inference_mode", set_mode<&Modes::inference>, METH_O, nullptr},
    {"is_inference_mode", get_mode<&Modes::inference>, METH_NOARGS, nullptr},
    {"set_anomaly", set_mode<&Modes::anomaly>, METH_O, nullptr},
    {"is_anomaly", get_mode<&Modes::anomaly>, METH_NOARGS, nullptr},
    {"set_tracing", set_tracing, METH_O, nullptr},
    {"is_tracing", is_tracing, METH_NOARGS, nullptr},
    {"set_default_float", set_default_float, METH_O, nullptr},
    {"symbolic", symbolic, METH_VARARGS, "symbolic(value, hint_shape, dtype_code): a tensor without data."},
    {"set_value", set_value, METH_VARARGS, "Make a symbolic tensor denote another graph value."},
    {"from_numpy", from_numpy, METH_O, "A tensor over an array's memory."},
    {"as_subclass", as_subclass, METH_VARARGS, "The same memory as an instance of a subclass."},
    {"empty_strided", empty_strided_, METH_VARARGS, nullptr},
    {"bump_version", bump, METH_O, "Note an in-place write made outside of the operators."},
    {"apart", apart, METH_VARARGS, nullptr},
    {"shares_memory", shares_memory, METH_VARARGS, nullptr},
    {"look_like", look_like, METH_VARARGS, nullptr},
    {"resize_", resize, METH_VARARGS, nullptr},
    {"backward", backward, METH_VARARGS, nullptr},
    {"backward_scalar", backward_scalar, METH_O, nullptr},
    {"add_hook", add_hook, METH_VARARGS, nullptr},
    {"remove_hook", remove_hook, METH_VARARGS, nullptr},
    {"retain_grad", retain_grad, METH_O, nullptr},
    {"function_node", function_node, METH_VARARGS, nullptr},
    {"attach_function", attach_function, METH_VARARGS, nullptr},
    {"save_function", save_function, METH_VARARGS, nullptr},
    {"load_function", load_function, METH_O, nullptr},
    {"to_dlpack", to_dlpack, METH_VARARGS, "to_dlpack(tensor, versioned) -> capsule"},
    {"from_dlpack", from_dlpack, METH_O, "from_dlpack(capsule) -> tensor"},
    {"scratch_peak", scratch_peak_of_all, METH_NOARGS, "The most scratch memory that threads had in use, each counted by itself."},
    {"reset_scratch_peak", forget_scratch_peak, METH_NOARGS, nullptr},
    {"memory_stats", memory_stats, METH_NOARGS, "Bytes in use, at the peak, and kept for reuse."},
    {"memory_trim", memory_trim, METH_NOARGS, "Give kept memory back to the system."},
    {"memory_reset_peak", memory_reset_peak, METH_NOARGS, nullptr},
    {"get_num_threads", num_threads, METH_NOARGS, nullptr},
    {"set_num_threads", set_threads, METH_O, nullptr},
    {"user_source", user_source, METH_NOARGS, "File and line of the innermost frame outside of the library."},
    {}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "thixo._core._native", "The native core of Thixo.", -1, functions,
                          nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyObject* make_module() {
  import_array();
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  auto add_type = [&](PyType_Spec* spec, const char* name) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, spec, nullptr));
    if (type) PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type));
    return type;
  };
  tensor_type = make_tensor_type(module);
  if (!tensor_type || PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) < 0) return nullptr;
  operator_type = add_type(&operator_spec, "Operator");
  node_type = add_type(&node_spec, "Node");
  if (!tensor_type || !operator_type || !node_type || add_random(module) < 0 || add_special(module) < 0 || add_profiler(module) < 0 || add_programs(module) < 0 || add_guards(module) < 0 || add_lazy(module) < 0 || add_graph_walks(module) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  install_tape_operators();
  return module;
}

}  // namespace thixo

PyMODINIT_FUNC PyInit__native() { return thixo::make_module(); }
