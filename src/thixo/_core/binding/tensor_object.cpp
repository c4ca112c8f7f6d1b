// The Python type Tensor: what is native about it. Methods come from the operator table.

#include <cstring>

#include "node_object.h"
#include "operator.h"

namespace thixo {

PyTypeObject* tensor_type = nullptr;

// ---- life

static TensorObject* dead[128];
static int dead_count = 0;

static TensorObject* allocate_object(PyTypeObject* type) {
  if (type == tensor_type && dead_count) {
    TensorObject* o = dead[--dead_count];
    PyObject_Init(reinterpret_cast<PyObject*>(o), type);
    return o;
  }
  return reinterpret_cast<TensorObject*>(type == tensor_type ? PyObject_GC_New(TensorObject, type)
                                                             : reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0)));
}

PyObject* wrap_as(PyTypeObject* type, Ref<Tensor> t) {
  TensorObject* o = allocate_object(type);
  if (!o) throw PythonError();
  o->dict = nullptr;
  o->weakrefs = nullptr;
  o->tensor = t.detach();
  o->tensor->wrapper = o;
  if (type == tensor_type) PyObject_GC_Track(o);
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap(Ref<Tensor> t) {
  if (t->wrapper) return Py_NewRef(static_cast<PyObject*>(t->wrapper));
  return wrap_as(tensor_type, std::move(t));
}

static void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  if (o->tensor) {
    o->tensor->wrapper = nullptr;
    release(std::exchange(o->tensor, nullptr));
  }
  if (type == tensor_type && dead_count < 128) dead[dead_count++] = o;
  else type->tp_free(self);
  Py_DECREF(type);
}

// Python objects that only this tensor keeps alive: its hooks, and those of a tape node it alone owns.
static int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  Tensor* t = o->tensor;
  if (!t || !t->autograd || !is_unique(t)) return 0;
  int status = 0;
  for (auto& hook : t->autograd->hooks)
    if (!status && is_unique(hook.get())) status = visit_hook(hook.get(), visit, arg);
  for (auto& hook : t->autograd->after_hooks)
    if (!status && is_unique(hook.get())) status = visit_hook(hook.get(), visit, arg);
  Node* fn = t->autograd->grad_fn.get();
  if (!status && fn && is_unique(fn)) {
    for (auto& hook : fn->hooks)
      if (!status && is_unique(hook.get())) status = visit_hook(hook.get(), visit, arg);
    if (!status && fn->node_hooks && is_unique(fn->node_hooks.get()))
      status = visit(static_cast<PyExternal*>(fn->node_hooks.get())->object, arg);
    if (!status) visit_node(fn, visit, arg, status);
  }
  return status;
}

static int clear(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  Py_CLEAR(o->dict);
  Tensor* t = o->tensor;
  if (t && t->autograd && is_unique(t)) {
    auto hooks = std::move(t->autograd->hooks);
    auto after = std::move(t->autograd->after_hooks);
    t->autograd->hooks.clear();
    t->autograd->after_hooks.clear();
    Node* fn = t->autograd->grad_fn.get();
    if (fn && is_unique(fn)) {
      auto node_hooks = std::move(fn->hooks);
      fn->hooks.clear();
      fn->node_hooks = nullptr;
    }
  }
  return 0;
}

// Tensor(data) behaves like thixo.tensor; subclasses wrap an existing tensor: Parameter(tensor).
static PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    PyObject* data = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : nullptr;
    if (data && is_tensor(data) && type != tensor_type) {
      Ref<Tensor> t = alias(*tensor_of(data));
      return wrap_as(type, t);
    }
    Object module = Object::own(PyImport_ImportModule("thixo.tensor"));
    Object make = Object::own(PyObject_GetAttrString(module.get(), "construct"));
    Object made = Object::own(PyObject_Call(make.get(), args, kw));
    if (type == tensor_type) return made.give();
    return wrap_as(type, alias(*tensor_of(made.get())));
  });
}

// ---- attributes

static PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return shape_tuple(*tensor_of(self)).give(); });
}
static PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(dtype_object(tensor_of(self)->dtype)); }
static PyObject* get_device(PyObject*, void*) { return Py_NewRef(known.device); }
static PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self)->ndim()); }
static PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] {
    Ref<Tensor> t = ref_of(self);
    return PyBool_FromLong(t->requires_grad() || current_grad_fn(t));
  });
}
static void set_requires_grad(Tensor& t, bool value) {
  if (!t.is_leaf()) {
    if (value) return;
    raise(ErrorKind::Autograd, "requires_grad can only be switched off on leaf tensors; this one is the result of " +
                                   t.autograd->grad_fn->name() + "; use detach()");
  }
  if (value && !is_differentiable(t.dtype))
    raise(ErrorKind::DType, std::string("only floating-point and complex tensors can require grad, this is ") + describe(t));
  if (value && t.inference && !modes.inference)
    raise(ErrorKind::Autograd, "a tensor made in inference_mode cannot require grad outside of it; clone it first");
  if (value || t.autograd) t.grad_state().requires_grad = value;
}
static int put_requires_grad(PyObject* self, PyObject* value, void*) {
  PyObject* r = guarded([&]() -> PyObject* {
    if (!value) raise(ErrorKind::Argument, "requires_grad cannot be deleted");
    int flag = PyObject_IsTrue(value);
    if (flag < 0) throw PythonError();
    set_requires_grad(*tensor_of(self), flag);
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(!current_grad_fn(ref_of(self))); });
}
static PyObject* get_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Tensor* t = tensor_of(self);
    if (!t->autograd || !t->autograd->grad) {
      if (t->autograd && t->autograd->grad_fn && !t->autograd->retains_grad)
        PyErr_WarnEx(PyExc_UserWarning,
                     ".grad of a tensor that is not a leaf is None after backward; call retain_grad() on it first", 1);
      if (PyErr_Occurred()) throw PythonError();
      Py_RETURN_NONE;
    }
    return wrap(t->autograd->grad);
  });
}
static int put_grad(PyObject* self, PyObject* value, void*) {
  PyObject* r = guarded([&]() -> PyObject* {
    Tensor* t = tensor_of(self);
    if (!value || value == Py_None) {
      if (t->autograd) t->autograd->grad = nullptr;
      return Py_NewRef(Py_None);
    }
    if (!is_tensor(value)) raise(ErrorKind::Argument, "grad must be a Tensor or None, got " + type_name(value));
    Tensor* g = tensor_of(value);
    if (g == t) raise(ErrorKind::Argument, "a tensor cannot be its own grad");
    if (!(g->sizes == t->sizes) || g->dtype != t->dtype)
      raise(ErrorKind::Shape, "grad must be like its tensor: got " + describe(*g) + " for " + describe(*t));
    t->grad_state().grad = Ref<Tensor>(g);
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Ref<Node>& fn = current_grad_fn(ref_of(self));
    if (!fn) Py_RETURN_NONE;
    return wrap_node(fn);
  });
}
static PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    Ref<Tensor> t = alias(*tensor_of(self));
    t->hidden_writes = true;
    return wrap(t);
  });
}
static int put_data(PyObject* self, PyObject* value, void*) {
  PyObject* r = guarded([&]() -> PyObject* {
    if (!value || !is_tensor(value)) raise(ErrorKind::Argument, "data must be a Tensor");
    Tensor *t = tensor_of(self), *from = tensor_of(value);
    if (from->dtype != t->dtype && t->requires_grad() && !is_differentiable(from->dtype))
      raise(ErrorKind::DType, "data: " + describe(*from) + " cannot require grad");
    t->storage = from->storage;
    t->offset = from->offset;
    t->numel = from->numel;
    t->dtype = from->dtype;
    t->sizes = from->sizes;
    t->strides = from->strides;
    t->base = nullptr;
    if (t->autograd && t->autograd->accumulator) t->autograd->accumulator->results[0] = result_type(*t);
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static PyObject* get_version(PyObject* self, void*) {
  Tensor* t = tensor_of(self);
  return PyLong_FromUnsignedLong(t->storage ? t->storage->version : 0);
}
static PyObject* get_value(PyObject* self, void*) {
  Tensor* t = tensor_of(self);
  return Py_NewRef(t->value ? static_cast<PyExternal*>(t->value.get())->object : Py_None);
}
static PyObject* get_base(PyObject* self, void*) {
  return guarded([&] { Tensor* t = tensor_of(self); return t->base ? wrap(t->base) : Py_NewRef(Py_None); });
}
static PyObject* get_output_nr(PyObject* self, void*) {
  Tensor* t = tensor_of(self);
  return PyLong_FromUnsignedLong(t->autograd ? t->autograd->output : 0);
}
static PyObject* get_retains_grad(PyObject* self, void*) {
  Tensor* t = tensor_of(self);
  return PyBool_FromLong(t->autograd && t->autograd->retains_grad);
}
static PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLong(item_size(tensor_of(self)->dtype)); }
static PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(tensor_of(self)->numel * item_size(tensor_of(self)->dtype));
}
static PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }

static PyGetSetDef getset[] = {
    {"shape", get_shape, nullptr, "Sizes of the dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "Type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the data is.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"requires_grad", get_requires_grad, put_requires_grad, "Whether operations on it are recorded.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether it was made by the user, not by a recorded operation.", nullptr},
    {"grad", get_grad, put_grad, "The gradient accumulated by backward().", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The tape node that made it, or None.", nullptr},
    {"data", get_data, put_data, "The same memory outside of the tape.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which result of grad_fn it is.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether retain_grad() was called.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"is_cuda", get_false, nullptr, "Whether it is on a CUDA device.", nullptr},
    {"is_sparse", get_false, nullptr, "Whether it is sparse.", nullptr},
    {"is_quantized", get_false, nullptr, "Whether it is quantized.", nullptr},
    {"_version", get_version, nullptr, "How often its memory was written in place.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_value", get_value, nullptr, "The graph value of a traced tensor, or None.", nullptr},
    {"_base", get_base, nullptr, "The tensor this is a view of, or None.", nullptr},
    {}};

// ---- methods

static PyObject* m_dim(PyObject* self, PyObject*) { return get_ndim(self, nullptr); }
static int axis_of(Tensor& t, PyObject* o, const char* what) {
  Py_ssize_t d = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (d == -1 && PyErr_Occurred()) throw PythonError();
  int n = std::max(t.ndim(), 0);
  if (d < -n || d >= n)
    raise(ErrorKind::Index, std::string(what) + ": dimension " + std::to_string(d) + " is out of range for " +
                                describe(t) + ", which has " + std::to_string(n) + " dimensions");
  return int(d < 0 ? d + n : d);
}
static PyObject* m_size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    PyObject* dim = n ? args[0] : kwnames && PyTuple_GET_SIZE(kwnames) == 1 ? args[0] : nullptr;
    Object shape = shape_tuple(t);
    if (!dim || dim == Py_None) return shape.give();
    return Py_NewRef(PyTuple_GET_ITEM(shape.get(), axis_of(t, dim, "size")));
  });
}
static PyObject* m_stride(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (t.symbolic()) {  // row-major examples have row-major strides at any size
      if (!t.is_contiguous()) refuse_symbolic(t, "stride()");
      Object module = Object::own(PyImport_ImportModule("thixo.shape"));
      Object all = Object::own(PyObject_CallMethod(module.get(), "contiguous_strides", "(O)", shape_tuple(t).get()));
      return n ? Py_NewRef(PyTuple_GET_ITEM(all.get(), axis_of(t, args[0], "stride"))) : all.give();
    }
    if (!n) {
      Object tuple = Object::own(PyTuple_New(t.ndim()));
      for (int i = 0; i < t.ndim(); ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(t.strides[i]));
      return tuple.give();
    }
    return PyLong_FromLongLong(t.strides[axis_of(t, args[0], "stride")]);
  });
}
static PyObject* m_numel(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (!t.symbolic()) return PyLong_FromLongLong(t.numel);
    Object shape = shape_tuple(t);
    Object product = Object::own(PyLong_FromLong(1));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.get()); ++i)
      product = Object::own(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(shape.get(), i)));
    return product.give();
  });
}
static PyObject* m_element_size(PyObject* self, PyObject*) { return get_itemsize(self, nullptr); }
static PyObject* m_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self)->offset); }
static PyObject* m_is_contiguous(PyObject* self, PyObject*, PyObject*) {
  Tensor& t = *tensor_of(self);
  return PyBool_FromLong(t.is_contiguous());
}
static PyObject* m_data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (t.symbolic()) refuse_symbolic(t, "data_ptr()");
    return PyLong_FromVoidPtr(t.numel ? t.data() : nullptr);
  });
}
static PyObject* m_item(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (t.symbolic()) refuse_symbolic(t, "item()");
    if (t.numel != 1)
      raise(ErrorKind::Shape, "item: one element is needed, this tensor is " + describe(t) + " with " +
                                  std::to_string(t.numel) + " elements; use tolist() for all of them");
    return load_element(t.data(), t.dtype);
  });
}
static PyObject* m_ndarray(PyObject* self, PyObject*) { return guarded([&] { return to_ndarray(ref_of(self)); }); }
static PyObject* m_detach(PyObject* self, PyObject*) {
  return guarded([&] {
    if (tensor_of(self)->symbolic()) return PyObject_CallOneArg(operator_named("detach"), self);
    return wrap(alias(*tensor_of(self)));
  });
}
static PyObject* m_detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (t.base) raise(ErrorKind::Autograd, "detach_: views cannot be detached in place; use detach()");
    if (t.autograd) {
      t.autograd->grad_fn = nullptr;
      t.autograd->requires_grad = false;
    }
    return Py_NewRef(self);
  });
}
static PyObject* m_requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&] {
    bool has = n || (kwnames && PyTuple_GET_SIZE(kwnames));
    int flag = has ? PyObject_IsTrue(args[0]) : 1;
    if (flag < 0) throw PythonError();
    set_requires_grad(*tensor_of(self), flag);
    return Py_NewRef(self);
  });
}
static PyObject* m_is_inference(PyObject* self, PyObject*) { return PyBool_FromLong(tensor_of(self)->inference); }

static PyMethodDef methods[] = {
    {"dim", m_dim, METH_NOARGS, "Number of dimensions."},
    {"ndimension", m_dim, METH_NOARGS, "Number of dimensions."},
    {"size", (PyCFunction)(void*)m_size, METH_FASTCALL | METH_KEYWORDS, "size(dim=None): sizes, or the size of one dimension."},
    {"stride", (PyCFunction)(void*)m_stride, METH_FASTCALL, "stride(dim=None): steps in elements."},
    {"numel", m_numel, METH_NOARGS, "Number of elements."},
    {"nelement", m_numel, METH_NOARGS, "Number of elements."},
    {"element_size", m_element_size, METH_NOARGS, "Bytes of one element."},
    {"storage_offset", m_offset, METH_NOARGS, "Elements before the first one in the storage."},
    {"is_contiguous", (PyCFunction)(void*)m_is_contiguous, METH_VARARGS | METH_KEYWORDS, "Whether elements lie in order without gaps."},
    {"data_ptr", m_data_ptr, METH_NOARGS, "Address of the first element."},
    {"item", m_item, METH_NOARGS, "The only element as a Python number."},
    {"_ndarray", m_ndarray, METH_NOARGS, "A NumPy array over the same memory."},
    {"detach", m_detach, METH_NOARGS, "The same memory, outside of the tape."},
    {"detach_", m_detach_, METH_NOARGS, "Leave the tape, in place."},
    {"requires_grad_", (PyCFunction)(void*)m_requires_grad_, METH_FASTCALL | METH_KEYWORDS, "Set requires_grad and return the tensor."},
    {"is_inference", m_is_inference, METH_NOARGS, "Whether it was made in inference_mode."},
    {}};

// ---- Python's operators

enum Slot { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, And, Or, Xor, LShift, RShift, Neg, Pos, Abs, Invert,
            Lt, Le, Eq, Ne, Gt, Ge, IAdd, ISub, IMul, IDiv, IFloorDiv, IMod, IPow, IAnd, IOr, IXor, ILShift, IRShift, kSlots };
static const char* slot_names[kSlots] = {
    "add", "sub", "mul", "true_divide", "floor_divide", "remainder", "pow", "matmul", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "neg", "positive", "abs", "bitwise_not", "lt", "le",
    "eq", "ne", "gt", "ge", "add_", "sub_", "mul_", "true_divide_", "floor_divide_", "remainder_", "pow_", "bitwise_and_",
    "bitwise_or_", "bitwise_xor_", "bitwise_left_shift_", "bitwise_right_shift_"};
static PyObject* slot_operators[kSlots];

static PyObject* slot_operator(Slot s) {
  if (!slot_operators[s]) slot_operators[s] = operator_named(slot_names[s]);
  return slot_operators[s];
}

static bool is_operand(PyObject* o) {
  return is_tensor(o) || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || PyArray_CheckScalar(o) ||
         (known.dim && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(known.dim)));
}

PyObject* call_binary(PyObject* op_object, PyObject* a, PyObject* b) {
  const Operator& op = operator_of(op_object);
  PyObject* args[2] = {a, b};
  bool plain = op.params.size() >= 2 && op.kind != OpKind::Composite && is_tensor(a) &&
               (is_tensor(b) || PyFloat_CheckExact(b) || PyLong_CheckExact(b)) &&
               (op.params[1].kind == Kind::Operand || (op.params[1].kind == Kind::Tensor && is_tensor(b)));
  if (!plain) return PyObject_Vectorcall(op_object, args, 2, nullptr);
  Slots slots;
  slots.count = int(op.params.size());
  slots.items[0] = Py_NewRef(a);
  slots.items[1] = Py_NewRef(b);
  for (int i = 2; i < slots.count; ++i) slots.items[i] = Py_NewRef(op.params[i].fallback.get());
  return dispatch(op, slots);
}

template <Slot s>
static PyObject* binary(PyObject* a, PyObject* b) {
  if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] { return call_binary(slot_operator(s), a, b); });
}
template <Slot s>
static PyObject* unary(PyObject* a) {
  return guarded([&] { return PyObject_CallOneArg(slot_operator(s), a); });
}
template <Slot s>
static PyObject* power(PyObject* a, PyObject* b, PyObject*) {
  return binary<s>(a, b);
}
static PyObject* compare(PyObject* a, PyObject* b, int how) {
  static const Slot by_how[] = {Lt, Le, Eq, Ne, Gt, Ge};
  if (!is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] { return call_binary(slot_operator(by_how[how]), a, b); });
}
static Py_hash_t hash(PyObject* self) { return _Py_HashPointer(self); }

static Object scalar(PyObject* self, const char* what) {
  Tensor& t = *tensor_of(self);
  if (t.symbolic()) refuse_symbolic(t, what);
  if (t.numel != 1)
    raise(ErrorKind::Shape, std::string(what) + ": only a tensor with one element has a single value, this is " + describe(t));
  return Object::own(load_element(t.data(), t.dtype));
}
static int truth(PyObject* self) {
  PyObject* r = guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (!t.symbolic() && t.numel != 1)
      raise(ErrorKind::Shape, "bool: the truth of a tensor with " + std::to_string(t.numel) +
                                  " elements is ambiguous: " + describe(t) + "; use any() or all()");
    return scalar(self, "bool").give();
  });
  if (!r) return -1;
  int v = PyObject_IsTrue(r);
  Py_DECREF(r);
  return v;
}
static PyObject* as_int(PyObject* self) { return guarded([&] { return PyNumber_Long(scalar(self, "int").get()); }); }
static PyObject* as_float(PyObject* self) { return guarded([&] { return PyNumber_Float(scalar(self, "float").get()); }); }
static PyObject* as_index(PyObject* self) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (!is_integer(t.dtype) && t.dtype != DType::Bool)
      raise(ErrorKind::DType, "only integer tensors can be used as an index, this is " + describe(t));
    return PyNumber_Index(scalar(self, "index").get());
  });
}
static Py_ssize_t length(PyObject* self) {
  PyObject* r = guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (t.ndim() == 0) raise(ErrorKind::Argument, "len: a 0-d tensor has no length");
    if (t.symbolic()) return Py_NewRef(PyTuple_GET_ITEM(shape_tuple(t).get(), 0));
    return PyLong_FromLongLong(t.sizes[0]);
  });
  if (!r) return -1;
  Py_ssize_t n = PyNumber_AsSsize_t(r, PyExc_OverflowError);
  Py_DECREF(r);
  return n;
}
PyObject* subscript(PyObject* self, PyObject* index);
int assign_subscript(PyObject* self, PyObject* index, PyObject* value);

static PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (t.ndim() == 0) raise(ErrorKind::Argument, "iter: a 0-d tensor cannot be iterated over");
    Object rows = Object::own(PyObject_CallOneArg(operator_named("unbind"), self));
    return PyObject_GetIter(rows.get());
  });
}

// ---- buffer protocol: memoryview(t), np.frombuffer(t)

static const char* kFormat[kDTypes] = {"?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", nullptr, "f", "d", "Zf", "Zd"};
static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  Tensor& t = *tensor_of(self);
  if (t.symbolic() || !kFormat[code(t.dtype)]) {
    PyErr_Format(PyExc_BufferError, "a %s tensor has no buffer format", t.symbolic() ? "traced" : short_name(t.dtype));
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !t.storage->writable) {
    PyErr_SetString(PyExc_BufferError, "this tensor looks at read-only memory");
    return -1;
  }
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !t.is_contiguous()) {
    PyErr_SetString(PyExc_BufferError, "this tensor is not contiguous; ask for strides, or call contiguous()");
    return -1;
  }
  auto* dims = static_cast<Py_ssize_t*>(PyMem_Malloc(sizeof(Py_ssize_t) * (2 * t.ndim() + 1)));
  if (!dims) {
    PyErr_NoMemory();
    return -1;
  }
  for (int i = 0; i < t.ndim(); ++i) {
    dims[i] = t.sizes[i];
    dims[t.ndim() + i] = t.strides[i] * item_size(t.dtype);
  }
  *view = {t.data(), Py_NewRef(self), t.numel * item_size(t.dtype), item_size(t.dtype), !t.storage->writable, t.ndim(),
           (flags & PyBUF_FORMAT) ? const_cast<char*>(kFormat[code(t.dtype)]) : nullptr,
           (flags & PyBUF_ND) ? dims : nullptr, (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + t.ndim() : nullptr,
           nullptr, dims};
  return 0;
}
static void release_buffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

static PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
                                {}};

static PyType_Slot slots[] = {{Py_tp_new, (void*)tensor_new},
                              {Py_tp_dealloc, (void*)dealloc},
                              {Py_tp_traverse, (void*)traverse},
                              {Py_tp_clear, (void*)clear},
                              {Py_tp_getset, getset},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {Py_tp_richcompare, (void*)compare},
                              {Py_tp_hash, (void*)hash},
                              {Py_tp_iter, (void*)iterate},
                              {Py_nb_add, (void*)binary<Add>},
                              {Py_nb_subtract, (void*)binary<Sub>},
                              {Py_nb_multiply, (void*)binary<Mul>},
                              {Py_nb_true_divide, (void*)binary<Div>},
                              {Py_nb_floor_divide, (void*)binary<FloorDiv>},
                              {Py_nb_remainder, (void*)binary<Mod>},
                              {Py_nb_power, (void*)power<Pow>},
                              {Py_nb_matrix_multiply, (void*)binary<MatMul>},
                              {Py_nb_and, (void*)binary<And>},
                              {Py_nb_or, (void*)binary<Or>},
                              {Py_nb_xor, (void*)binary<Xor>},
                              {Py_nb_lshift, (void*)binary<LShift>},
                              {Py_nb_rshift, (void*)binary<RShift>},
                              {Py_nb_negative, (void*)unary<Neg>},
                              {Py_nb_positive, (void*)unary<Pos>},
                              {Py_nb_absolute, (void*)unary<Abs>},
                              {Py_nb_invert, (void*)unary<Invert>},
                              {Py_nb_inplace_add, (void*)binary<IAdd>},
                              {Py_nb_inplace_subtract, (void*)binary<ISub>},
                              {Py_nb_inplace_multiply, (void*)binary<IMul>},
                              {Py_nb_inplace_true_divide, (void*)binary<IDiv>},
                              {Py_nb_inplace_floor_divide, (void*)binary<IFloorDiv>},
                              {Py_nb_inplace_remainder, (void*)binary<IMod>},
                              {Py_nb_inplace_power, (void*)power<IPow>},
                              {Py_nb_inplace_and, (void*)binary<IAnd>},
                              {Py_nb_inplace_or, (void*)binary<IOr>},
                              {Py_nb_inplace_xor, (void*)binary<IXor>},
                              {Py_nb_inplace_lshift, (void*)binary<ILShift>},
                              {Py_nb_inplace_rshift, (void*)binary<IRShift>},
                              {Py_nb_bool, (void*)truth},
                              {Py_nb_int, (void*)as_int},
                              {Py_nb_float, (void*)as_float},
                              {Py_nb_index, (void*)as_index},
                              {Py_mp_length, (void*)length},
                              {Py_mp_subscript, (void*)subscript},
                              {Py_mp_ass_subscript, (void*)assign_subscript},
                              {Py_bf_getbuffer, (void*)get_buffer},
                              {Py_bf_releasebuffer, (void*)release_buffer},
                              {}};
PyType_Spec tensor_spec = {"thixo.Tensor", sizeof(TensorObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace thixo
