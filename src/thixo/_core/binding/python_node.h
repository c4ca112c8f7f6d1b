// A node of the tape whose backward is Python's, or may be: what it keeps, its name, and the way of gradients to Python and back.
#pragma once
#include "operator.h"

namespace thixo {

struct PythonNode : Node {
  bool released = false;

  void must_be_there() const {
    if (released)
      fail(ErrorKind::Autograd, "backward: the graph was already freed by an earlier backward (at " + name() +
                                    "); pass retain_graph=True to the first backward if you need two");
  }

 protected:
  // An attribute of the object that has the backward, or another name where it has none that is text.
  static std::string name_of(PyObject* object, const char* attribute, const char* otherwise) {
    PyObject* n = PyObject_GetAttrString(object, attribute);
    const char* s = n && PyUnicode_Check(n) ? PyUnicode_AsUTF8(n) : nullptr;
    std::string name = s ? s : otherwise;
    PyErr_Clear();
    Py_XDECREF(n);
    return name;
  }
  static Object as_tuple(const std::vector<Ref<Tensor>>& gradients) {
    Object found = Object::own(PyTuple_New(Py_ssize_t(gradients.size())));
    for (size_t i = 0; i < gradients.size(); ++i)
      PyTuple_SET_ITEM(found.get(), Py_ssize_t(i), gradients[i] ? wrap(gradients[i]) : Py_NewRef(Py_None));
    return found;
  }
  // What Python returned: one gradient or None for each edge.
  void take(PyObject* made, std::vector<Ref<Tensor>>& out) const {
    if (!PyTuple_Check(made) || size_t(PyTuple_GET_SIZE(made)) != edges.size())
      raise(ErrorKind::Internal, name() + ": its gradients do not match its inputs");
    for (size_t i = 0; i < edges.size(); ++i) {
      PyObject* g = PyTuple_GET_ITEM(made, Py_ssize_t(i));
      if (is_tensor(g) && edges[i].node) out[i] = ref_of(g);
    }
  }
};

}  // namespace thixo
