// A compiled graph as a node of the tape, without Python on its way: forward by one program, backward by another.
#include "guards.h"
#include "python_node.h"

#include <memory>

namespace thixo {

PyTypeObject* graph_plan_type = nullptr;

namespace {

// The gradients of one set of results.
struct Way {
  std::vector<bool> given;   // which results have a gradient
  std::vector<int> kept;     // of what the node keeps, what the program reads; then come the gradients
  std::vector<int> places;   // for each result of the program, the edge that it belongs to
  Object program;
};

struct GraphPlanObject {
  PyObject_HEAD
  PyObject* recorded;  // the Python object: capture.recorded.Recorded
  std::vector<int>* wanted;                 // inputs with edges
  std::vector<std::pair<int, int>>* kept;   // (input or -1, place among what is computed), and
  std::vector<int>* which;                  // as which result of the node it is kept, or -1
  std::vector<bool>* flows;                 // results that have a history
  std::vector<std::shared_ptr<const Way>>* ways;
};

GraphPlanObject* plan_of(PyObject* o) { return reinterpret_cast<GraphPlanObject*>(o); }

struct GraphNode final : PythonNode {
  Object plan;
  SmallVector<Saved, 2> kept;

  std::string name() const override { return name_of(plan_of(plan.get())->recorded, "name", "GraphBackward"); }
  void release_saved() override {
    released = true;
    for (auto& s : kept) s.tensor = nullptr;
  }
  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override {
    must_be_there();
    if (!modes.grad && !tracing && natively(gradients, out)) return;
    by_python(gradients, out);
  }

  bool natively(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) {
    for (const auto& one : *plan_of(plan.get())->ways) {
      const Way& way = *one;
      bool same = way.given.size() == gradients.size();
      for (size_t i = 0; same && i < gradients.size(); ++i) same = way.given[i] == bool(gradients[i]);
      if (!same) continue;
      SmallVector<Ref<Tensor>, 8> tensors;
      for (int place : way.kept) tensors.push_back(unpack(kept[size_t(place)], this));
      for (const auto& g : gradients)
        if (g) tensors.push_back(g);
      SmallVector<Object, 8> held;
      SmallVector<PyObject*, 16> args;
      for (auto& t : tensors) {
        held.push_back(Object::own(wrap(t)));
        args.push_back(held.back().get());
      }
      if (!program_usable(way.program.get(), args.begin(), args.size())) return false;
      const std::shared_ptr<const Way> kept_alive = one;  // another thread may add ways while it runs
      const std::vector<int>& places = kept_alive->places;
      Object made = Object::own(program_run(kept_alive->program.get(), args.begin(), args.size()));
      for (size_t i = 0; i < places.size(); ++i)
        if (edges[size_t(places[i])].node) out[size_t(places[i])] = ref_of(PyList_GET_ITEM(made.get(), Py_ssize_t(i)));
      return true;
    }
    return false;
  }

  void by_python(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) {
    Object values = Object::own(PyTuple_New(Py_ssize_t(kept.size())));
    for (size_t i = 0; i < kept.size(); ++i) PyTuple_SET_ITEM(values.get(), Py_ssize_t(i), wrap(unpack(kept[i], this)));
    Object given = as_tuple(gradients);
    Object made =
        Object::own(call_python_method(plan_of(plan.get())->recorded, "back_natively", "(OOO)", plan.get(), values.get(), given.get()));
    take(made.get(), out);
  }
};

template <class T, class F>
void fill(std::vector<T>& to, PyObject* tuple, F&& of) {
  Object items = Object::own(PySequence_Tuple(tuple));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) to.push_back(of(PyTuple_GET_ITEM(items.get(), i)));
  if (PyErr_Occurred()) throw PythonError();
}
int number(PyObject* o) { return int(PyLong_AsLong(o)); }
bool truth(PyObject* o) { return PyObject_IsTrue(o) > 0; }

// GraphPlan(recorded, wanted, kept, which, flows)
PyObject* plan_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *recorded, *wanted, *kept, *which, *flows;
    if (!PyArg_ParseTuple(args, "OOOOO", &recorded, &wanted, &kept, &which, &flows)) throw PythonError();
    Object self = Object::own(type->tp_alloc(type, 0));
    GraphPlanObject* o = plan_of(self.get());
    o->wanted = new std::vector<int>();
    o->kept = new std::vector<std::pair<int, int>>();
    o->which = new std::vector<int>();
    o->flows = new std::vector<bool>();
    o->ways = new std::vector<std::shared_ptr<const Way>>();
    o->recorded = Py_NewRef(recorded);
    fill(*o->wanted, wanted, number);
    fill(*o->kept, kept, [](PyObject* pair) {
      int place, at;
      if (!PyArg_ParseTuple(pair, "ii", &place, &at)) throw PythonError();
      return std::make_pair(place, at);
    });
    fill(*o->which, which, number);
    fill(*o->flows, flows, truth);
    return self.give();
  });
}
// add_way(given, kept, places, program)
PyObject* add_way(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *given, *kept, *places, *program;
    if (!PyArg_ParseTuple(args, "OOOO", &given, &kept, &places, &program)) throw PythonError();
    Way way;
    fill(way.given, given, truth);
    fill(way.kept, kept, number);
    fill(way.places, places, number);
    way.program = Object::borrow(program);
    auto& ways = *plan_of(self)->ways;
    for (const auto& one : ways)
      if (one->program.get() == program) Py_RETURN_NONE;
    if (ways.size() >= 4) ways.erase(ways.begin());
    ways.push_back(std::make_shared<const Way>(std::move(way)));
    Py_RETURN_NONE;
  });
}
int plan_traverse(PyObject* self, visitproc visit, void* arg) {
  GraphPlanObject* o = plan_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->recorded);
  if (o->ways)
    for (const auto& way : *o->ways) Py_VISIT(way->program.get());
  return 0;
}
int plan_clear(PyObject* self) {
  GraphPlanObject* o = plan_of(self);
  Py_CLEAR(o->recorded);
  if (o->ways) {
    std::vector<std::shared_ptr<const Way>> dropped;
    std::swap(dropped, *o->ways);
  }
  return 0;
}
void plan_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  plan_clear(self);
  GraphPlanObject* o = plan_of(self);
  delete o->wanted;
  delete o->kept;
  delete o->which;
  delete o->flows;
  delete o->ways;
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef plan_methods[] = {{"add_way", add_way, METH_VARARGS, "add_way(given, kept, places, program): a program for gradients."}, {}};
PyType_Slot plan_slots[] = {{Py_tp_new, (void*)plan_new},           {Py_tp_dealloc, (void*)plan_dealloc},
                            {Py_tp_traverse, (void*)plan_traverse}, {Py_tp_clear, (void*)plan_clear},
                            {Py_tp_methods, plan_methods},          {}};
PyType_Spec plan_spec = {"thixo._core.GraphPlan", sizeof(GraphPlanObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, plan_slots};

}  // namespace

PyObject* run_recorded(PyObject* object, PyObject* program, PyObject* const* args, size_t count) {
  GraphPlanObject* plan = plan_of(object);
  Ref<GraphNode> node = make<GraphNode>();
  node->plan = Object::borrow(object);
  node->source = current_source();
  for (int i : *plan->wanted) {
    Tensor& t = *tensor_of(args[i]);
    node->edges.push_back(is_differentiable(t.dtype) ? gradient_edge(t) : Edge());
  }
  PyObject* list = program_run(program, args, count);
  if (!list) return nullptr;
  Object made = Object::own(list);
  const size_t results = size_t(PyList_GET_SIZE(list));
  const auto result = [&](size_t i) { return PyList_GET_ITEM(list, Py_ssize_t(i)); };
  for (size_t i = 0; i < plan->kept->size(); ++i) {
    const auto [place, at] = (*plan->kept)[i];
    PyObject* tensor = place < 0 ? result(size_t(at)) : args[place];
    const int which = (*plan->which)[i];
    node->kept.push_back(which >= 0 ? save_output(ref_of(tensor), which) : save_input(ref_of(tensor)));
  }
  for (size_t i = 0; i < results; ++i) {
    PyObject* tensor = result(i);
    node->results.push_back(is_tensor(tensor) ? result_type(*tensor_of(tensor)) : ResultType());
    if (is_tensor(tensor) && i < plan->flows->size() && (*plan->flows)[i]) set_history(*tensor_of(tensor), Ref<Node>(node.get()), uint32_t(i));
  }
  return made.give();
}

int add_graph_plans(PyObject* module) {
  graph_plan_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &plan_spec, nullptr));
  if (!graph_plan_type) return -1;
  return PyModule_AddObjectRef(module, "GraphPlan", reinterpret_cast<PyObject*>(graph_plan_type));
}

}  // namespace thixo
