// What the Python-free tape needs from the operator table, and the nodes for views of written memory.
#include "lazy.h"

namespace thixo {

namespace {

// to = a + b where nothing is recorded: the core's own loop, whatever the strides.
void add_unrecorded(const Tensor& to, const Tensor& a, const Tensor& b) {
  Loop loop = find_loop("add", a.dtype);
  Dims bytes[3];
  Array arrays[3] = {as_array(a, bytes[0]), as_array(b, bytes[1]), as_array(to, bytes[2])};
  WithoutGil free(to.numel >= kLongWork);
  run_loop(loop, arrays, 3);
}
bool is_unrecorded(const Tensor& a, const Tensor& b) {
  return !modes.grad && !modes.inference && !is_lazy() && !a.symbolic() && !b.symbolic() && a.dtype == b.dtype && a.sizes == b.sizes &&
         !is_bool(a.dtype);
}

Ref<Tensor> tape_add(const Ref<Tensor>& a, const Ref<Tensor>& b) {
  if (is_unrecorded(*a, *b)) {
    Ref<Tensor> sum = empty(a->sizes, a->dtype);
    add_unrecorded(*sum, *a, *b);
    return sum;
  }
  Object x = Object::own(wrap(a)), y = Object::own(wrap(b));
  return call_operator("add", {x.get(), y.get()});
}
void tape_add_(const Ref<Tensor>& a, const Ref<Tensor>& b) {
  if (is_unrecorded(*a, *b) && a->storage->writable && !has_internal_overlap(*a) &&
      (!may_overlap(*a, *b) || same_elements(*a, *b))) {
    add_unrecorded(*a, *a, *b);
    return bump_version(*a, current_source());
  }
  Object x = Object::own(wrap(a)), y = Object::own(wrap(b));
  call_operator("add_", {x.get(), y.get()});
}
void tape_copy_(const Ref<Tensor>& a, const Ref<Tensor>& b) {
  Object x = Object::own(wrap(a)), y = Object::own(wrap(b));
  call_operator("copy_", {x.get(), y.get()});
}
Ref<Tensor> tape_clone(const Ref<Tensor>& a) {
  if (modes.grad || is_lazy() || a->symbolic()) {
    Object x = Object::own(wrap(a));
    return call_operator("clone", {x.get()});
  }
  return contiguous_copy(*a, a->dtype);
}
Ref<Tensor> tape_zeros(const ResultType& type) {
  if (type.value) {
    Object value = Object::borrow(static_cast<PyExternal*>(type.value.get())->object);
    Object like = Object::own(PyObject_GetAttrString(value.get(), "type"));
    Object shape = Object::own(PyObject_GetAttrString(like.get(), "shape"));
    Object kw = Object::own(Py_BuildValue("{s:O}", "dtype", dtype_object(type.dtype)));
    Object args = Object::own(PyTuple_Pack(1, shape.get()));
    Object made = Object::own(call_python_tuple(operator_named("zeros"), args.get(), kw.get()));
    return ref_of(made.get());
  }
  if (is_lazy()) {
    Object shape = dims_tuple(type.sizes), args = Object::own(PyTuple_Pack(1, shape.get()));
    Object kw = Object::own(Py_BuildValue("{s:O}", "dtype", dtype_object(type.dtype)));
    return ref_of(Object::own(call_python_tuple(operator_named("zeros"), args.get(), kw.get())).get());
  }
  return zeros(type.sizes, type.dtype);
}

// Elements from which the operator's own kernel pays for its call.
constexpr int64_t kShortSum = 4096;

// A rule may return a gradient that is still broadcast, wider, or complex for a real input.
Ref<Tensor> tape_match(const Ref<Tensor>& grad, const ResultType& type, const Node& node) {
  if (grad->symbolic() || type.value) {
    if (!known.match_symbolic) return grad;
    Object g = Object::own(wrap(grad));
    Object shape;
    if (type.value) {
      Object like = Object::own(PyObject_GetAttrString(static_cast<PyExternal*>(type.value.get())->object, "type"));
      shape = Object::own(PyObject_GetAttrString(like.get(), "shape"));
    } else {
      shape = dims_tuple(type.sizes);
    }
    Object r = Object::own(call_python_with(known.match_symbolic, g.get(), shape.get(), dtype_object(type.dtype)));
    return ref_of(r.get());
  }
  Ref<Tensor> g = grad;
  if (!(g->sizes == type.sizes)) {
    int extra = g->ndim() - type.sizes.size();
    bool fits = true;
    Dims dims;
    for (int i = 0; i < g->ndim() && extra >= 0; ++i) {
      int64_t wanted = i < extra ? 1 : type.sizes[i - extra];
      if (i < extra || (wanted == 1 && g->sizes[i] != 1)) dims.push_back(i);
      else fits = fits && wanted == g->sizes[i];
    }
    if (extra < 0 || !fits) {  // smaller than the input: it must broadcast to it
      Dims whole;
      try { whole = broadcast(g->sizes, type.sizes, ""); } catch (const Error&) {}
      if (!(whole == type.sizes))
        fail(ErrorKind::Autograd, "backward: the gradient that reached " + node.name() + " is " + describe(*g) +
                                      ", its result was " + short_name(type.dtype) + describe(type.sizes));
      Object x = Object::own(wrap(g)), shape = dims_tuple(type.sizes);
      g = call_operator("expand", {x.get(), shape.get()});
    } else if (!modes.grad && !is_lazy() && !dims.empty() && is_differentiable(g->dtype) && g->numel < kShortSum) {
      bool reduced[kMaxDims] = {};
      for (int64_t d : dims) reduced[d] = true;
      Dims kept = g->sizes, a, b;
      for (int64_t d : dims) kept[int(d)] = 1;
      Ref<Tensor> total = empty(kept, g->dtype);
      sum(as_array(*total, a), as_array(*g, b), reduced);
      total->sizes = type.sizes;
      total->strides = contiguous_strides(type.sizes);
      g = total;
    } else {
      Object x = Object::own(wrap(g)), d = dims_tuple(dims), shape = dims_tuple(type.sizes);
      if (!dims.empty()) {
        g = call_operator("sum", {x.get(), d.get(), Py_True});
        x = Object::own(wrap(g));
      }
      if (extra > 0) g = call_operator("reshape", {x.get(), shape.get()});
    }
  }
  if (g->dtype != type.dtype) {
    Object x = Object::own(wrap(g));
    if (is_complex(g->dtype) && !is_complex(type.dtype)) {
      g = call_operator("real", {x.get()});
      x = Object::own(wrap(g));
    }
    if (g->dtype != type.dtype) g = call_operator("cast", {x.get(), dtype_object(type.dtype)});
  }
  return g;
}

bool tape_has_nan(const Ref<Tensor>& g) {
  if (g->symbolic() || !is_differentiable(g->dtype)) return false;
  Modes before = modes;
  modes.grad = false;
  Object x = Object::own(wrap(g));
  Object nan = Object::own(wrap(call_operator("isnan", {x.get()})));
  Ref<Tensor> any = call_operator("any", {nan.get()});
  modes = before;
  return *reinterpret_cast<bool*>(any->data());
}

bool tape_interrupted() {
  if (PyErr_CheckSignals() < 0) throw PythonError();
  return false;
}

// Python hooks around a node: pre(grads) -> grads or None, then apply, then post(inputs, outputs).
void tape_around(Node& node, std::vector<Ref<Tensor>>& grads, std::vector<Ref<Tensor>>& out) {
  PyObject* hooks = static_cast<PyExternal*>(node.node_hooks.get())->object;
  auto tuple = [](const std::vector<Ref<Tensor>>& items) {
    Object t = Object::own(PyTuple_New(Py_ssize_t(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), items[i] ? wrap(items[i]) : Py_NewRef(Py_None));
    return t;
  };
  auto assign = [](PyObject* from, std::vector<Ref<Tensor>>& items) {
    if (from == Py_None) return;
    Object given = is_tensor(from) ? Object::own(PyTuple_Pack(1, from)) : Object::borrow(from);
    if (!PyTuple_Check(given.get()) && !PyList_Check(given.get()))
      raise(ErrorKind::Autograd, "a hook must return Tensors or None, got " + type_name(from));
    Object fast = Object::own(PySequence_Tuple(given.get()));
    if (size_t(PyTuple_GET_SIZE(fast.get())) != items.size())
      raise(ErrorKind::Autograd, "a hook returned " + std::to_string(PyTuple_GET_SIZE(fast.get())) +
                                     " gradients where " + std::to_string(items.size()) + " are needed");
    for (size_t i = 0; i < items.size(); ++i) {
      PyObject* o = PyTuple_GET_ITEM(fast.get(), Py_ssize_t(i));
      if (o != Py_None && !is_tensor(o))
        raise(ErrorKind::Autograd, "a hook must return Tensors or None, item " + std::to_string(i) + " is " + type_name(o));
      items[i] = o == Py_None ? Ref<Tensor>() : ref_of(o);
    }
  };
  Object given = tuple(grads);
  Object before = Object::own(call_python_method(hooks, "before", "(O)", given.get()));
  assign(before.get(), grads);
  Object used = tuple(grads);
  node.apply(grads, out);
  Object made = tuple(out);
  Object after = Object::own(call_python_method(hooks, "after", "OO", made.get(), used.get()));
  assign(after.get(), out);
}

// ---- windows: thixo.autograd.windows says in public operators how a strided window reads and writes

PyObject* windows(const char* name) {
  static PyObject* module = nullptr;
  if (!module) module = PyImport_ImportModule("thixo.autograd.windows");
  if (!module) throw PythonError();
  return Object::own(PyObject_GetAttrString(module, name)).give();
}

Object geometry_of(const Tensor& t) {
  Object sizes = dims_tuple(t.sizes), strides = dims_tuple(t.strides);
  return Object::own(Py_BuildValue("(OOLO)", sizes.get(), strides.get(), (long long)t.offset,
                                   is_complex(t.dtype) ? Py_True : Py_False));
}

// The gradient of looking at a base through a window.
struct WindowNode final : Node {
  Object base, view;
  std::string name() const override { return "AsStridedBackward"; }
  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override {
    Object spread = Object::own(windows("spread"));
    Object g = Object::own(wrap(gradients[0]));
    Object r = Object::own(call_python_with(spread.get(), g.get(), base.get(), view.get()));
    out[0] = ref_of(r.get());
  }
};

// The gradient of a base after an in-place operation on a window of it.
struct WriteNode final : Node {
  Object base, view;
  Ref<Node> inner;   // the operation
  size_t window = 0;  // which of its edges was the window's old value; here the base's comes first, then the others
  std::string name() const override { return "CopySlices"; }
  // With create_graph, what the operation kept of its result is computed by the operation: then it is a node
  // of the tape in its own right, runs after this one (it is older) and lets go of what it kept itself.
  void release_saved() override {
    if (is_unique(inner.get())) inner->release_saved();
  }
  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override {
    Object read = Object::own(windows("read")), write = Object::own(windows("write"));
    Object g = Object::own(wrap(gradients[0]));
    Object part = Object::own(call_python_with(read.get(), g.get(), base.get(), view.get()));
    std::vector<Ref<Tensor>> in{ref_of(part.get())}, made(inner->edges.size());
    inner->apply(in, made);
    for (size_t i = 0, at = 1; i < made.size(); ++i)
      if (i != window) out[at++] = made[i];
    if (!edges[0].node) return;
    Object old = Object::borrow(Py_None);
    if (made[window]) old = Object::own(wrap(tape_match(made[window], inner->results[0], *inner)));
    Object r = Object::own(call_python_with(write.get(), g.get(), old.get(), base.get(), view.get()));
    out[0] = ref_of(r.get());
  }
};

Ref<Node> make_window(const Ref<Tensor>& base, const Tensor& view) {
  Ref<WindowNode> node = make<WindowNode>();
  node->edges.push_back(gradient_edge(*base));
  node->results.push_back(result_type(view));
  node->base = geometry_of(*base);
  node->view = geometry_of(view);
  node->source = current_source();
  return node;
}

Ref<Node> make_write(const Ref<Tensor>& base, const Ref<Tensor>& view, const Ref<Node>& written, size_t window) {
  Ref<WriteNode> node = make<WriteNode>();
  node->edges.push_back(gradient_edge(*base));
  for (size_t i = 0; i < written->edges.size(); ++i)
    if (i != window) node->edges.push_back(written->edges[i]);
  node->window = window;
  node->results.push_back(result_type(*base));
  node->base = geometry_of(*base);
  node->view = geometry_of(*view);
  node->inner = written;
  node->source = current_source();
  return node;
}

}  // namespace

void install_tape_operators() {
  tape_operators.add = tape_add;
  tape_operators.add_ = tape_add_;
  tape_operators.copy_ = tape_copy_;
  tape_operators.clone = tape_clone;
  tape_operators.zeros = tape_zeros;
  tape_operators.match = tape_match;
  tape_operators.source_text = source_text;
  tape_operators.has_nan = tape_has_nan;
  tape_operators.around = tape_around;
  tape_operators.interrupted = tape_interrupted;
  view_nodes.window = make_window;
  view_nodes.write = make_write;
  source_hooks.retain = [](void* p) { Py_INCREF(static_cast<PyObject*>(p)); };
  source_hooks.release = [](void* p) { Py_DECREF(static_cast<PyObject*>(p)); };
}

}  // namespace thixo
