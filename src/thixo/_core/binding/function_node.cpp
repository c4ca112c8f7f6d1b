// Tape nodes of autograd.Function: the user's own forward and backward.
#include "node_object.h"
#include "python_node.h"

namespace thixo {

namespace {

struct FunctionNode;
constexpr int32_t kNone = -3;  // save_for_backward(None): a place without a tensor

// What the user's context holds: it finds the node while that lives, without keeping it alive (the node
// keeps the context).
struct Handle final : External {
  FunctionNode* node = nullptr;
  Ref<Node> owned;  // until the outputs own it
};

struct FunctionNode final : PythonNode {
  Ref<Handle> handle;

  Object context;  // has `_name` and `_run_backward(grads) -> tuple`
  std::vector<Saved> kept;

  ~FunctionNode() override { handle->node = nullptr; }

  std::string name() const override { return name_of(context.get(), "_name", "FunctionBackward"); }
  void release_saved() override {
    released = true;
    for (auto& s : kept) s.tensor = nullptr;
  }
  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override {
    must_be_there();
    Object given = as_tuple(gradients);
    Object made = Object::own(call_python_method(context.get(), "_run_backward", "(O)", given.get()));
    take(made.get(), out);
  }
};

void drop_handle(PyObject* capsule) {
  release(static_cast<Handle*>(PyCapsule_GetPointer(capsule, "thixo.FunctionNode")));
}

FunctionNode* node_from(PyObject* capsule) {
  auto* handle = static_cast<Handle*>(PyCapsule_GetPointer(capsule, "thixo.FunctionNode"));
  if (!handle) throw PythonError();
  if (!handle->node)
    raise(ErrorKind::Autograd, "this Function's context is used after its part of the graph was dropped");
  return handle->node;
}

}  // namespace

void visit_function_node(Node* node, visitproc visit, void* arg, int& status) {
  auto* function = dynamic_cast<FunctionNode*>(node);
  if (function && !status) status = visit(function->context.get(), arg);
}

// function_node(context, inputs: tuple of Tensor or None) -> capsule: edges are taken before forward changes anything
PyObject* function_node(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *context, *inputs;
    if (!PyArg_ParseTuple(args, "OO!", &context, &PyTuple_Type, &inputs)) throw PythonError();
    Ref<FunctionNode> node = make<FunctionNode>();
    node->context = Object::borrow(context);
    node->source = current_source();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
      PyObject* o = PyTuple_GET_ITEM(inputs, i);
      bool counts = is_tensor(o) && is_differentiable(tensor_of(o)->dtype);
      node->edges.push_back(counts ? gradient_edge(*tensor_of(o)) : Edge());
    }
    Ref<Handle> handle = make<Handle>();
    handle->node = node.get();
    handle->owned = node;
    node->handle = handle;
    PyObject* capsule = PyCapsule_New(handle.get(), "thixo.FunctionNode", drop_handle);
    if (capsule) handle.detach();
    return capsule;
  });
}

// attach_function(capsule, outputs, differentiable: tuple of bool, dirty: tuple of int)
// dirty: which input (of those with edges) this output is, written in place; -1 for a new tensor
PyObject* attach_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *capsule, *outputs, *flags, *dirty;
    if (!PyArg_ParseTuple(args, "OO!O!O!", &capsule, &PyTuple_Type, &outputs, &PyTuple_Type, &flags, &PyTuple_Type, &dirty))
      throw PythonError();
    FunctionNode* raw = node_from(capsule);
    Ref<Node> node(raw);
    raw->handle->owned = nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
      PyObject* o = PyTuple_GET_ITEM(outputs, i);
      node->results.push_back(is_tensor(o) ? result_type(*tensor_of(o)) : ResultType());
      if (!is_tensor(o) || PyTuple_GET_ITEM(flags, i) != Py_True) continue;
      long input = PyLong_AsLong(PyTuple_GET_ITEM(dirty, i));
      if (input >= 0 && tensor_of(o)->base) rebase_history(ref_of(o), node, size_t(input));
      else set_history(*tensor_of(o), node, uint32_t(i));
    }
    Py_RETURN_NONE;
  });
}

// save_function(capsule, tensors: tuple, outputs: tuple of int or -1); load_function(capsule) -> tuple
PyObject* save_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *capsule, *tensors, *outputs;
    if (!PyArg_ParseTuple(args, "OO!O!", &capsule, &PyTuple_Type, &tensors, &PyTuple_Type, &outputs)) throw PythonError();
    FunctionNode* node = node_from(capsule);
    node->kept.clear();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* o = PyTuple_GET_ITEM(tensors, i);
      int output = int(PyLong_AsLong(PyTuple_GET_ITEM(outputs, i)));
      if (!is_tensor(o)) node->kept.push_back({{}, 0, kNone});
      else if (output >= 0) node->kept.push_back(save_output(ref_of(o), output));
      else node->kept.push_back(save_input(ref_of(o)));
    }
    Py_RETURN_NONE;
  });
}
PyObject* load_function(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    FunctionNode* node = node_from(capsule);
    Object t = Object::own(PyTuple_New(Py_ssize_t(node->kept.size())));
    for (size_t i = 0; i < node->kept.size(); ++i)
      PyTuple_SET_ITEM(t.get(), Py_ssize_t(i),
                       node->kept[i].output == kNone ? Py_NewRef(Py_None) : wrap(unpack(node->kept[i], node)));
    return t.give();
  });
}

}  // namespace thixo
