// tx.profiler's native side: scopes around operator calls, ranges that users name, and the events as Python has them.
#include "profiling.h"

namespace thixo {

namespace {

void add_shapes(PyObject* o, std::vector<std::vector<int64_t>>& shapes) {
  if (is_tensor(o)) {
    const Tensor& t = *tensor_of(o);
    if (!t.symbolic()) shapes.emplace_back(t.sizes.begin(), t.sizes.end());
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
      if (is_tensor(items[i])) add_shapes(items[i], shapes);
  }
}

constexpr const char* kRange = "thixo.profiler.range";

void close_range(PyObject* capsule) {
  delete static_cast<ProfilerScope*>(PyCapsule_GetPointer(capsule, kRange));
}

PyObject* start(PyObject*, PyObject* args) {
  int shapes, memory;
  if (!PyArg_ParseTuple(args, "pp", &shapes, &memory)) return nullptr;
  return PyBool_FromLong(start_profiler((shapes ? kProfilerShapes : 0u) | (memory ? kProfilerMemory : 0u)));
}

// A range is open as long as its capsule lives: whatever happens in it, it ends.
PyObject* open_range(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    if (!is_profiling()) Py_RETURN_NONE;
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError();
    auto scope = std::make_unique<ProfilerScope>();
    scope->begin(text, EventKind::Range);
    PyObject* capsule = PyCapsule_New(scope.get(), kRange, close_range);
    if (!capsule) throw PythonError();
    scope.release();
    return capsule;
  });
}

Object shapes_of(const ProfilerEvent& event) {
  Object all = Object::own(PyTuple_New(Py_ssize_t(event.shapes.size())));
  for (size_t i = 0; i < event.shapes.size(); ++i) {
    Object one = Object::own(PyTuple_New(Py_ssize_t(event.shapes[i].size())));
    for (size_t k = 0; k < event.shapes[i].size(); ++k)
      PyTuple_SET_ITEM(one.get(), Py_ssize_t(k), Object::own(PyLong_FromLongLong(event.shapes[i][k])).give());
    PyTuple_SET_ITEM(all.get(), Py_ssize_t(i), one.give());
  }
  return all;
}

// A list of (name, kind, in backward, thread, start, end, bytes, shapes).
PyObject* stop(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    std::vector<ProfilerEvent> events = stop_profiler();
    Object list = Object::own(PyList_New(Py_ssize_t(events.size())));
    for (size_t i = 0; i < events.size(); ++i) {
      const ProfilerEvent& e = events[i];
      Object shapes = shapes_of(e);
      Object row = Object::own(Py_BuildValue(
          "(s#iNkLLLO)", e.name.data(), Py_ssize_t(e.name.size()), int(e.kind), PyBool_FromLong(e.in_backward),
          static_cast<unsigned long>(e.thread), static_cast<long long>(e.start), static_cast<long long>(e.end),
          static_cast<long long>(e.bytes), shapes.get()));
      PyList_SET_ITEM(list.get(), Py_ssize_t(i), row.give());
    }
    return list.give();
  });
}

PyMethodDef methods[] = {
    {"profiler_start", start, METH_VARARGS, "profiler_start(shapes, memory): False if one runs already."},
    {"profiler_stop", stop, METH_NOARGS, "The events since the start."},
    {"profiler_range", open_range, METH_O, "A range that is open as long as the result lives; None if no profiler runs."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void ProfiledCall::begin(const Operator& op, PyObject* const* args) {
  std::vector<std::vector<int64_t>> shapes;
  if (profiling & kProfilerShapes)
    for (size_t i = 0; i < op.params.size(); ++i) add_shapes(args[i], shapes);
  bool in_place = op.kind == OpKind::Inplace && op.full_name.back() != '_';
  scope_.begin(in_place ? op.full_name + "_" : op.full_name, EventKind::Operator, std::move(shapes));
}

void ProfiledCall::begin(const char* name, PyObject* tensor) {
  std::vector<std::vector<int64_t>> shapes;
  if (profiling & kProfilerShapes) add_shapes(tensor, shapes);
  scope_.begin(name, EventKind::Operator, std::move(shapes));
}

int add_profiler(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace thixo
