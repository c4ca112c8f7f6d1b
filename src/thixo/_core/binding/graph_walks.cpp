// Walks over the nodes of a graph that Python would spend most of its time with, where graphs have thousands of them.
//
// Nodes and values are Python's (graph/ir.py); nothing about them is kept here. A node has `op`, `args`, `outputs` and `source`,
// a value has `type`. Values stand among a node's arguments, and inside of lists, tuples and slices there.
#include <unordered_map>

#include "python.h"

namespace thixo {

namespace {

// An attribute that lies in a slot of its class: where it is there, it is read without a search.
class Slot {
  PyObject* name_;
  PyTypeObject* type_ = nullptr;
  Py_ssize_t offset_ = 0;

 public:
  explicit Slot(const char* name) : name_(PyUnicode_InternFromString(name)) {}
  PyObject* name() const { return name_; }
  void look_up(PyTypeObject* type) {
    Object found = Object::own(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name_));
    const bool is_slot = Py_TYPE(found.get()) == &PyMemberDescr_Type;
    type_ = is_slot ? type : nullptr;
    offset_ = is_slot ? reinterpret_cast<PyMemberDescrObject*>(found.get())->d_member->offset : 0;
  }
  Object of(PyObject* object) const {
    if (Py_TYPE(object) == type_) {
      PyObject* found = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset_);
      if (found) return Object::borrow(found);
    }
    return Object::own(PyObject_GetAttr(object, name_));
  }
};

struct Slots {
  Slot args{"args"}, op{"op"}, outputs{"outputs"}, source{"source"}, type{"type"};
  PyObject* hex = PyUnicode_InternFromString("hex");
};
Slots& slots() {
  static Slots found;
  return found;
}

void check(int result) {
  if (result < 0) throw PythonError();
}

PyObject* value_class = nullptr;  // Value itself: it has no subclasses

// set_graph_classes(Value, Node)
PyObject* set_graph_classes(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *value, *node;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &value, &PyType_Type, &node)) throw PythonError();
    Py_XSETREF(value_class, Py_NewRef(value));
    slots().type.look_up(reinterpret_cast<PyTypeObject*>(value));
    for (Slot* slot : {&slots().args, &slots().op, &slots().outputs, &slots().source})
      slot->look_up(reinterpret_cast<PyTypeObject*>(node));
    Py_RETURN_NONE;
  });
}
bool is_value(PyObject* o) { return reinterpret_cast<PyObject*>(Py_TYPE(o)) == value_class; }

// A list or a tuple, which may change in size while Python runs.
struct Items {
  PyObject* sequence;
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(sequence); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(sequence, i); }
};

// Calls `found` for each value in an argument, in order.
template <class F>
void each_value(PyObject* a, F&& found) {
  if (is_value(a)) {
    found(a);
  } else if (PyTuple_Check(a) || PyList_Check(a)) {
    Items items{a};
    for (Py_ssize_t i = 0; i < items.size(); ++i) each_value(items[i], found);
  } else if (PySlice_Check(a)) {
    auto* s = reinterpret_cast<PySliceObject*>(a);
    each_value(s->start, found);
    each_value(s->stop, found);
    each_value(s->step, found);
  }
}

Object values_of(PyObject* args) {
  Object list = Object::own(PyList_New(0));
  each_value(args, [&](PyObject* value) { check(PyList_Append(list.get(), value)); });
  return list;
}

// collect_values(arguments) -> list of the values in them
PyObject* collect_values(PyObject*, PyObject* args) {
  return guarded([&] { return values_of(args).give(); });
}

Object mapped(PyObject* a, PyObject* table, bool keep) {
  if (is_value(a)) {
    PyObject* found = PyDict_GetItemWithError(table, a);
    if (found) return Object::borrow(found);
    if (PyErr_Occurred()) throw PythonError();
    if (keep) return Object::borrow(a);
    PyErr_SetObject(PyExc_KeyError, a);
    throw PythonError();
  }
  if (PyTuple_Check(a) || PyList_Check(a)) {
    Items items{a};
    const Py_ssize_t count = items.size();
    Object made = Object::own(PyTuple_Check(a) ? PyTuple_New(count) : PyList_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* one = mapped(items[i], table, keep).give();
      if (PyTuple_Check(a)) PyTuple_SET_ITEM(made.get(), i, one);
      else PyList_SET_ITEM(made.get(), i, one);
    }
    return made;
  }
  if (PySlice_Check(a)) {
    auto* s = reinterpret_cast<PySliceObject*>(a);
    Object start = mapped(s->start, table, keep), stop = mapped(s->stop, table, keep), step = mapped(s->step, table, keep);
    return Object::own(PySlice_New(start.get(), stop.get(), step.get()));
  }
  return Object::borrow(a);
}

// map_values(arguments, table, keep) -> the same arguments with other values; those that the table does not have are kept, or
// are a KeyError
PyObject* map_values(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *table;
    int keep;
    if (!PyArg_ParseTuple(args, "OO!p", &a, &PyDict_Type, &table, &keep)) throw PythonError();
    return mapped(a, table, keep).give();
  });
}

// needed_nodes(nodes, values) -> those that make one of the values, or what these read, in their order; `values` grows by that
PyObject* needed_nodes(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *nodes, *values;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &nodes, &PySet_Type, &values)) throw PythonError();
    Object kept = Object::own(PyList_New(0));
    for (Py_ssize_t i = PyList_GET_SIZE(nodes) - 1; i >= 0; --i) {
      if (i >= PyList_GET_SIZE(nodes)) continue;
      Object node = Object::borrow(PyList_GET_ITEM(nodes, i)), outputs = slots().outputs.of(node.get());
      bool needed = false;
      each_value(outputs.get(), [&](PyObject* v) {
        if (needed) return;
        const int found = PySet_Contains(values, v);
        check(found);
        needed = found;
      });
      if (!needed) continue;
      each_value(slots().args.of(node.get()).get(), [&](PyObject* v) { check(PySet_Add(values, v)); });
      check(PyList_Append(kept.get(), node.get()));
    }
    check(PyList_Reverse(kept.get()));
    return kept.give();
  });
}

// One object for equal types, asked for once for each object that there is.
class SharedTypes {
  PyObject* share_;
  std::unordered_map<PyObject*, Object> shared_;
  std::vector<Object> held_;  // keys: no other object may come where one was

 public:
  explicit SharedTypes(PyObject* share) : share_(share) {}
  void give(PyObject* value) {
    Object type = slots().type.of(value);
    auto at = shared_.find(type.get());
    if (at == shared_.end()) {
      Object one = Object::own(call_python_with(share_, type.get()));
      held_.push_back(type);
      at = shared_.emplace(type.get(), one).first;
    }
    if (at->second.get() != type.get()) check(PyObject_SetAttr(value, slots().type.name(), at->second.get()));
  }
};

// What tells an argument from another, but for which values it has: equal keys for equal arguments.
class Keys {
  PyObject* others_;

 public:
  explicit Keys(PyObject* others) : others_(others) {}
  Object of(PyObject* a) const {
    if (is_value(a)) return Object::own(PyLong_FromVoidPtr(slots().type.of(a).get()));
    PyObject* kind = reinterpret_cast<PyObject*>(Py_TYPE(a));
    if (PyLong_CheckExact(a) || PyBool_Check(a) || a == Py_None || PyUnicode_CheckExact(a))
      return Object::own(PyTuple_Pack(2, kind, a));
    if (PyFloat_CheckExact(a)) return Object::own(PyObject_CallMethodNoArgs(a, slots().hex));
    if (PyTuple_CheckExact(a) || PyList_CheckExact(a)) {
      Items items{a};
      Object made = Object::own(PyTuple_New(items.size() + 1));
      PyTuple_SET_ITEM(made.get(), 0, Py_NewRef(kind));
      for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(made.get()); ++i) {
        if (i >= items.size()) raise(ErrorKind::Internal, "graph: a list of arguments changed while it was looked at");
        PyTuple_SET_ITEM(made.get(), i + 1, of(items[i]).give());
      }
      return made;
    }
    return Object::own(call_python_with(others_, a));
  }
};

// colours(values, nodes, share, others) -> (colours, reads, makers): for each node a number for all about it but which values it
// reads, and those values; for each value that nodes make, which one does. Equal types of the nodes' results, and of `values`,
// become one object; `share` gives it for a type. `others` gives the key of arguments that are neither values, numbers, text nor lists.
PyObject* colours(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *values, *nodes, *share, *others;
    if (!PyArg_ParseTuple(args, "O!O!OO", &PyList_Type, &values, &PyList_Type, &nodes, &share, &others)) throw PythonError();
    SharedTypes types(share);
    Keys keys(others);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); ++i) types.give(PyList_GET_ITEM(values, i));
    Object found = Object::own(PyList_New(0)), reads = Object::own(PyList_New(0));
    Object makers = Object::own(PyDict_New()), numbers = Object::own(PyDict_New());
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); ++i) {
      Object node = Object::borrow(PyList_GET_ITEM(nodes, i));
      Object arguments = slots().args.of(node.get()), outputs = slots().outputs.of(node.get());
      if (!PyTuple_Check(arguments.get()) || !PyTuple_Check(outputs.get()))
        raise(ErrorKind::Internal, "graph: a node's arguments and results are tuples");
      const Py_ssize_t count = PyTuple_GET_SIZE(arguments.get());
      Object key = Object::own(PyTuple_New(count + 2));
      PyTuple_SET_ITEM(key.get(), 0, slots().op.of(node.get()).give());
      PyTuple_SET_ITEM(key.get(), 1, slots().source.of(node.get()).give());
      for (Py_ssize_t k = 0; k < count; ++k)
        PyTuple_SET_ITEM(key.get(), k + 2, keys.of(PyTuple_GET_ITEM(arguments.get(), k)).give());
      Object next = Object::own(PyLong_FromSsize_t(PyDict_GET_SIZE(numbers.get())));
      PyObject* colour = PyDict_SetDefault(numbers.get(), key.get(), next.get());
      if (!colour) throw PythonError();
      check(PyList_Append(found.get(), colour));
      check(PyList_Append(reads.get(), values_of(arguments.get()).get()));
      Object place = Object::own(PyLong_FromSsize_t(i));
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(outputs.get()); ++k) {
        PyObject* value = PyTuple_GET_ITEM(outputs.get(), k);
        types.give(value);
        check(PyDict_SetItem(makers.get(), value, place.get()));
      }
    }
    return PyTuple_Pack(3, found.get(), reads.get(), makers.get());
  });
}

// A number for each value of a block, found by its address.
class Places {
  std::vector<std::pair<PyObject*, int64_t>> slots_;
  size_t used_ = 0;

  size_t slot(PyObject* value) const {
    size_t at = (reinterpret_cast<size_t>(value) >> 4) * 0x9E3779B97F4A7C15u >> 20;
    while (slots_[at & (slots_.size() - 1)].first && slots_[at & (slots_.size() - 1)].first != value) ++at;
    return at & (slots_.size() - 1);
  }

 public:
  Places() : slots_(1024) {}
  // Where the number of a value is, which is 0 if it was not there.
  int64_t& operator[](PyObject* value) {
    size_t at = slot(value);
    if (!slots_[at].first) {
      if (2 * ++used_ > slots_.size()) {
        std::vector<std::pair<PyObject*, int64_t>> old(2 * slots_.size());
        old.swap(slots_);
        for (auto& one : old)
          if (one.first) slots_[slot(one.first)] = one;
        at = slot(value);
      }
      slots_[at].first = value;
    }
    return slots_[at].second;
  }
};

// block_form(nodes, reads, colours, places) -> (inputs, form): what the nodes at these places read that none of them makes, and
// bytes that are equal for blocks of equal nodes which read from each other and from outside in the same way.
PyObject* block_form(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *nodes, *reads, *colour, *places;
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyList_Type, &nodes, &PyList_Type, &reads, &PyList_Type, &colour, &PyList_Type, &places))
      throw PythonError();
    Places at;  // results count up from 1, inputs down
    Object inputs = Object::own(PyList_New(0));
    std::vector<int64_t> form;
    int64_t made = 0;
    for (Py_ssize_t p = 0; p < PyList_GET_SIZE(places); ++p) {
      const Py_ssize_t i = PyLong_AsSsize_t(PyList_GET_ITEM(places, p));
      if (i < 0 || i >= PyList_GET_SIZE(nodes) || i >= PyList_GET_SIZE(reads) || i >= PyList_GET_SIZE(colour))
        raise(ErrorKind::Internal, "graph: a block has a node that is not there");
      form.push_back(PyLong_AsLongLong(PyList_GET_ITEM(colour, i)));
      each_value(PyList_GET_ITEM(reads, i), [&](PyObject* v) {
        int64_t& place = at[v];
        if (!place) {
          check(PyList_Append(inputs.get(), v));
          place = -PyList_GET_SIZE(inputs.get());
        }
        form.push_back(place);
      });
      each_value(slots().outputs.of(PyList_GET_ITEM(nodes, i)).get(), [&](PyObject* v) { at[v] = ++made; });
    }
    if (PyErr_Occurred()) throw PythonError();
    Object bytes = Object::own(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(form.data()),
                                                         Py_ssize_t(form.size() * sizeof(int64_t))));
    return PyTuple_Pack(2, inputs.get(), bytes.get());
  });
}

PyMethodDef functions[] = {
    {"set_graph_classes", set_graph_classes, METH_VARARGS, "Hand over the classes of values and nodes."},
    {"collect_values", collect_values, METH_O, "The values in arguments of a node."},
    {"map_values", map_values, METH_VARARGS, "Arguments with each value replaced."},
    {"needed_nodes", needed_nodes, METH_VARARGS, "The nodes that some values need."},
    {"colours", colours, METH_VARARGS, "Numbers that are equal for nodes that differ only in which values they read."},
    {"block_form", block_form, METH_VARARGS, "What a block of nodes reads, and how."},
    {}};

}  // namespace

int add_graph_walks(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace thixo
