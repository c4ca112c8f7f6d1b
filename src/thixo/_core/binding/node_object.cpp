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
    Object r = Object::own(call_python_with(function, g.get()));
    if (r.get() == Py_None) return grad;
    if (!is_tensor(r.get()))
      raise(ErrorKind::Autograd, "a hook must return a Tensor or None, got " + type_name(r.get()));
    Ref<Tensor> changed = ref_of(r.get());
    if (!(changed->sizes == grad->sizes) || changed->dtype != grad->dtype)
      raise(ErrorKind::Autograd, "a hook changed a gradient from " + describe(*grad) + " to " + describe(*changed) +
                                     "; shape and dtype must stay");
    return changed;
  }
};

int visit_hooks(const std::vector<Ref<GradHook>>& hooks, visitproc visit, void* arg) {
  for (auto& hook : hooks) {
    auto* py = is_unique(hook.get()) ? dynamic_cast<PyHook*>(hook.get()) : nullptr;
    int status = py ? visit(py->function, arg) : 0;
    if (status) return status;
  }
  return 0;
}

// The walk is bounded, or collecting garbage beside a long tape would be slow. That is safe because it is the same
// walk whenever one collection repeats it; what lies beyond is only found later, or kept.
int visit_tape(Node* first, visitproc visit, void* arg) {
  constexpr int kWaiting = 32;
  Node* waiting[kWaiting] = {first};
  int count = 1;
  for (int budget = 4096; count && budget; --budget) {
    Node* node = waiting[--count];
    int status = visit_hooks(node->hooks, visit, arg);
    if (!status && node->node_hooks && is_unique(node->node_hooks.get()))
      status = visit(static_cast<PyExternal*>(node->node_hooks.get())->object, arg);
    if (!status) visit_node(node, visit, arg, status);
    if (status) return status;
    for (Edge& e : node->edges)
      if (e.node && is_unique(e.node.get()) && count < kWaiting) waiting[count++] = e.node.get();
  }
  return 0;
}

// The same object for the same node, while it lives.
PyObject* wrap_node(const Ref<Node>& node) {
  if (node->wrapper) return Py_NewRef(static_cast<PyObject*>(node->wrapper));
  NodeObject* o = PyObject_GC_New(NodeObject, node_type);
  if (!o) throw PythonError();
  o->node = Ref<Node>(node).detach();
  o->node->wrapper = o;
  PyObject_GC_Track(o);
  return reinterpret_cast<PyObject*>(o);
}

static Node* node_of(PyObject* o) { return reinterpret_cast<NodeObject*>(o)->node; }

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  node_of(self)->wrapper = nullptr;
  release(node_of(self));
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
static int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return is_unique(node_of(self)) ? visit_tape(node_of(self), visit, arg) : 0;
}
static int clear(PyObject* self) {
  Node* node = node_of(self);
  if (!is_unique(node)) return 0;
  auto hooks = std::move(node->hooks);
  auto around = std::move(node->node_hooks);
  node->hooks.clear();
  return 0;
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
static PyMethodDef methods[] = {{"name", name, METH_NOARGS, "Which operation's gradient this is."},
                                {"_hooks", hooks, METH_O, "The holder of hooks around this node."},
                                {}};
static PyGetSetDef getset[] = {
    {"next_functions", next_functions, nullptr, "(node, result number) for each input.", nullptr},
    {"source", source, nullptr, "File and line of the forward operation.", nullptr},
    {"variable", variable, nullptr, "The leaf that AccumulateGrad adds to.", nullptr},
    {"saved", saved, nullptr, "What was kept for backward, by name.", nullptr},
    {}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void*)dealloc},   {Py_tp_repr, (void*)repr},
                              {Py_tp_methods, methods},          {Py_tp_getset, getset},
                              {Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear},
                              {}};
PyType_Spec node_spec = {"thixo.autograd.Node", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// ---- functions of the module

// add_hook(tensor, function, after: bool), on leaves or on the node that made the tensor
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
      hook->output = t->output;
      fn->hooks.push_back(hook);
    } else {
      if (!t->requires_grad()) raise(ErrorKind::Autograd, "register_hook: this tensor does not require grad");
      t->grad_state().hooks.push_back(hook);
    }
    Py_RETURN_NONE;
  });
}

// remove_hook(tensor, function) -> whether it was found
PyObject* remove_hook(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *function;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &function)) throw PythonError();
    Ref<Tensor> t = ref_of(tensor);
    Ref<GradHook> dropped;  // its end may run the user's code: after the list is whole again
    auto drop = [&](std::vector<Ref<GradHook>>& list) {
      for (size_t i = 0; i < list.size(); ++i)
        if (auto* py = dynamic_cast<PyHook*>(list[i].get()); py && py->function == function) {
          dropped = std::move(list[i]);
          list.erase(list.begin() + long(i));
          return true;
        }
      return false;
    };
    bool done = (t->autograd && (drop(t->autograd->hooks) || drop(t->autograd->after_hooks))) ||
                (t->grad_fn && drop(t->grad_fn->hooks));
    return PyBool_FromLong(done);
  });
}

PyObject* retain_grad(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor)) raise(ErrorKind::Argument, "retain_grad: a Tensor is needed, got " + type_name(tensor));
    Ref<Tensor> t = ref_of(tensor);
    const Ref<Node>& fn = current_grad_fn(t);
    if (!t->requires_grad()) raise(ErrorKind::Autograd, "retain_grad: this tensor does not require grad");
    if (!fn || t->grad_state().retains_grad) Py_RETURN_NONE;
    Ref<GradHook> hook = make<GradHook>();
    hook->output = t->output;
    hook->target = t.get();
    t->autograd->retainer = hook;
    t->autograd->retains_grad = true;
    fn->hooks.push_back(hook);
    Py_RETURN_NONE;
  });
}

}  // namespace thixo
