// The Python type Tensor: what is native about it. Methods come from the operator table.

#include <cstring>

#include "../core/free_list.h"
#include "node_object.h"
#include "operator.h"
#include "tensor_object.h"

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
  if (!kSanitized && type == tensor_type && dead_count < 128) dead[dead_count++] = o;
  else type->tp_free(self);
  Py_DECREF(type);
}

// Python objects that only this tensor keeps alive: its hooks, and those of a tape node it alone owns.
static int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  Tensor* t = o->tensor;
  if (!t || !is_unique(t)) return 0;
  if (t->value && is_unique(t->value.get())) Py_VISIT(static_cast<PyExternal*>(t->value.get())->object);
  int status = t->autograd ? visit_hooks(t->autograd->hooks, visit, arg) : 0;
  if (t->autograd && !status) status = visit_hooks(t->autograd->after_hooks, visit, arg);
  Node* fn = t->grad_fn.get();
  return !status && fn && is_unique(fn) ? visit_tape(fn, visit, arg) : status;
}

static int clear(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  Py_CLEAR(o->dict);
  Tensor* t = o->tensor;
  if (!t || !is_unique(t)) return 0;
  Ref<Node> fn = std::move(t->grad_fn);
  if (t->autograd) {
    auto hooks = std::move(t->autograd->hooks);
    auto after = std::move(t->autograd->after_hooks);
    t->autograd->hooks.clear();
    t->autograd->after_hooks.clear();
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
    Object made = Object::own(call_python_tuple(make.get(), args, kw));
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
                                   t.grad_fn->name() + "; use detach()");
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
      if (t->grad_fn && !(t->autograd && t->autograd->retains_grad))
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
  return PyLong_FromUnsignedLong(t->output);
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
  if (!PyIndex_Check(o) || PyBool_Check(o))
    raise(ErrorKind::Argument, std::string(what) + ": dim must be an int, got " + type_name(o) + " " + text(o));
  Py_ssize_t d = PyNumber_AsSsize_t(o, nullptr);  // out of range: the largest or the smallest
  if (d == -1 && PyErr_Occurred()) throw PythonError();
  int n = std::max(t.ndim(), 0);
  if (d < -n || d >= n)
    raise(ErrorKind::Index, std::string(what) + ": dimension " + text(o) + " is out of range for " +
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
      Object all = Object::own(call_python_method(module.get(), "contiguous_strides", "(O)", shape_tuple(t).get()));
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
    return load_element(t.read(), t.dtype);
  });
}
static PyObject* m_ndarray(PyObject* self, PyObject*) { return guarded([&] { return to_ndarray(ref_of(self)); }); }
static PyObject* m_detach(PyObject* self, PyObject*) {
  return guarded([&] {
    if (tensor_of(self)->symbolic()) return call_python_with(operator_named("detach"), self);
    return wrap(alias(*tensor_of(self)));
  });
}
static PyObject* m_detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (t.base) raise(ErrorKind::Autograd, "detach_: views cannot be detached in place; use detach()");
    t.grad_fn = nullptr;
    if (t.autograd) t.autograd->requires_grad = false;
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

static PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
                                {}};

PyTypeObject* make_tensor_type(PyObject* module) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, (void*)tensor_new},
      {Py_tp_dealloc, (void*)dealloc},
      {Py_tp_traverse, (void*)traverse},
      {Py_tp_clear, (void*)clear},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
  };
  append_protocols(slots);
  slots.push_back({});
  PyType_Spec spec = {"thixo.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  return reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
}

}  // namespace thixo
