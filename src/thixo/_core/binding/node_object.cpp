#include "node_object.h"

#include "operator.h"

namespace thixo {

PyTypeObject* node_type = nullptr;

struct NodeObject {
  PyObject_HEAD
  Node* node;
};

struct PyHook final : GradHook {
  PyObject* function;
  explicit PyHook(PyObject* f) : function(Py_NewRef(f)) {}
  ~PyHook() override { Py_DECREF(function); }
  Ref<Tensor> call(const Ref<Tensor>& grad) override {
    Object g = Object::own(wrap(grad));
    Object r = Object::own(PyObject_CallOneArg(function, g.get()));
    if (r.get() == Py_None) return grad;
    if (!is_tensor(r.get()))
      raise(ErrorKind::Autograd, "a hook must return a Tensor or None, got " + type_name(r.get()));
    Ref<Tensor> changed = ref_of(r.get());
    if (!(changed->sizes == grad->sizes))
      raise(ErrorKind::Autograd, "a hook changed the shape of a gradient from " + describe(*grad) + " to " + describe(*changed));
    return changed;
  }
};

int visit_hook(GradHook* hook, visitproc visit, void* arg) {
  auto* py = dynamic_cast<PyHook*>(hook);
  return py ? visit(py->function, arg) : 0;
}

PyObject* wrap_node(const Ref<Node>& node) {
  NodeObject* o = PyObject_New(NodeObject, node_type);
  if (!o) throw PythonError();
  o->node = Ref<Node>(node).detach();
  return reinterpret_cast<PyObject*>(o);
}

static Node* node_of(PyObject* o) { return reinterpret_cast<NodeObject*>(o)->node; }

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  release(node_of(self));
  PyObject_Free(self);
  Py_DECREF(type);
}
static PyObject* name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self)->name().c_str()); }
static PyObject* repr(PyObject* self) {
  std::string where = source_text(node_of(self)->source);
  return PyUnicode_FromFormat("<%s%s%s>", node_of(self)->name().c_str(), where.empty() ? "" : " from ", where.c_str());
}
static PyObject* next_functions(PyObject* self, void*) {
  return guarded([&] {
    Node* n = node_of(self);
    Object t = Object::own(PyTuple_New(Py_ssize_t(n->edges.size())));
    for (size_t i = 0; i < n->edges.size(); ++i) {
      Object next = n->edges[i].node ? Object::own(wrap_node(n->edges[i].node)) : Object::borrow(Py_None);
      PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), Object::own(Py_BuildValue("(OI)", next.get(), n->edges[i].input)).give());
    }
    return t.give();
  });
}
static PyObject* source(PyObject* self, void*) {
  std::string where = source_text(node_of(self)->source);
  if (where.empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(where.c_str());
}
static PyObject* variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto* leaf = dynamic_cast<AccumulateGrad*>(node_of(self));
    if (!leaf) {
      PyErr_SetString(PyExc_AttributeError, "only AccumulateGrad nodes have a variable");
      throw PythonError();
    }
    if (!leaf->variable) Py_RETURN_NONE;
    return wrap(Ref<Tensor>(leaf->variable));
  });
}
static PyObject* saved(PyObject* self, void*) {
  return guarded([&] { return saved_of(node_of(self)).give(); });
}
static PyObject* hooks(PyObject* self, PyObject* holder) {
  Node* n = node_of(self);
  if (holder == Py_None) {
    if (!n->node_hooks) Py_RETURN_NONE;
    return Py_NewRef(static_cast<PyExternal*>(n->node_hooks.get())->object);
  }
  n->node_hooks = make<PyExternal>(holder);
  return Py_NewRef(holder);
}
static PyObject* compare(PyObject* a, PyObject* b, int how) {
  if (Py_TYPE(b) != node_type || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((node_of(a) == node_of(b)) == (how == Py_EQ));
}
static Py_hash_t hash(PyObject* self) { return _Py_HashPointer(node_of(self)); }

static PyMethodDef methods[] = {{"name", name, METH_NOARGS, "Which operation's gradient this is."},
                                {"_hooks", hooks, METH_O, "The holder of hooks around this node."},
                                {}};
static PyGetSetDef getset[] = {
    {"next_functions", next_functions, nullptr, "(node, result number) for each input.", nullptr},
    {"source", source, nullptr, "File and line of the forward operation.", nullptr},
    {"variable", variable, nullptr, "The leaf that AccumulateGrad adds to.", nullptr},
    {"saved", saved, nullptr, "What was kept for backward, by name.", nullptr},
    {}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void*)dealloc}, {Py_tp_repr, (void*)repr},
                              {Py_tp_methods, methods},        {Py_tp_getset, getset},
                              {Py_tp_richcompare, (void*)compare}, {Py_tp_hash, (void*)hash},
                              {}};
PyType_Spec node_spec = {"thixo.autograd.Node", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// ---- functions of the module

// add_hook(tensor, function, after: bool) -> handle number; on leaves or on the node that made the tensor
PyObject* add_hook(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *function;
    int after;
    if (!PyArg_ParseTuple(args, "O!Op", tensor_type, &tensor, &function, &after)) throw PythonError();
    Ref<Tensor> t = ref_of(tensor);
    const Ref<Node>& fn = current_grad_fn(t);
    Ref<GradHook> hook(new PyHook(function));
    if (after) {
      if (fn) raise(ErrorKind::Autograd, "register_post_accumulate_grad_hook: only leaf tensors accumulate a gradient");
      t->grad_state().after_hooks.push_back(hook);
    } else if (fn) {
      hook->output = t->autograd->output;
      fn->hooks.push_back(hook);
    } else {
      if (!t->requires_grad()) raise(ErrorKind::Autograd, "register_hook: this tensor does not require grad");
      t->grad_state().hooks.push_back(hook);
    }
    return PyLong_FromVoidPtr(hook.get());
  });
}

PyObject* remove_hook(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *number;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &number)) throw PythonError();
    void* which = PyLong_AsVoidPtr(number);
    Tensor* t = tensor_of(tensor);
    auto drop = [&](std::vector<Ref<GradHook>>& list) {
      for (size_t i = 0; i < list.size(); ++i)
        if (list[i].get() == which) {
          list.erase(list.begin() + long(i));
          return true;
        }
      return false;
    };
    bool done = t->autograd && (drop(t->autograd->hooks) || drop(t->autograd->after_hooks) ||
                                (t->autograd->grad_fn && drop(t->autograd->grad_fn->hooks)));
    return PyBool_FromLong(done);
  });
}

PyObject* retain_grad(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    Ref<Tensor> t = ref_of(tensor);
    const Ref<Node>& fn = current_grad_fn(t);
    if (!t->requires_grad()) raise(ErrorKind::Autograd, "retain_grad: this tensor does not require grad");
    if (!fn || t->autograd->retains_grad) Py_RETURN_NONE;
    Ref<GradHook> hook = make<GradHook>();
    hook->output = t->autograd->output;
    hook->target = t.get();
    t->autograd->retainer = hook;
    t->autograd->retains_grad = true;
    fn->hooks.push_back(hook);
    Py_RETURN_NONE;
  });
}

}  // namespace thixo
