// Running what was recorded, and what Python sees of it.
#include <algorithm>
#include <unordered_set>

#include "lazy_segment.h"

namespace thixo {

namespace {

// Nobody else holds the bytes: neither a tensor nor the tape.
bool is_wanted(const Segment& segment, Storage* s) {
  auto found = segment.held.find(s);
  return s->references.load(std::memory_order_acquire) > (found == segment.held.end() ? 0 : found->second);
}

template <class F>
void each_storage(PyObject* o, F&& f) {
  if (is_tensor(o)) f(tensor_of(o)->storage.get());
  else if (PyTuple_Check(o) || PyList_Check(o))
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) each_storage(PySequence_Fast_ITEMS(o)[i], f);
}

// Which records lead to something that somebody can still see.
std::vector<char> needed_records(const Segment& segment) {
  std::unordered_set<Storage*> needed;
  for (auto& [s, count] : segment.held)
    if (is_wanted(segment, s)) needed.insert(s);
  std::vector<char> found(segment.records.size());
  for (size_t i = segment.records.size(); i-- > 0;) {
    const Record& r = segment.records[i];
    bool keep = r.op->lazily == kMayFail;  // that is for somebody to see, too
    if (r.writes) keep = keep || needed.count(tensor_of(PyTuple_GET_ITEM(r.slots.get(), 0))->storage.get()) != 0;
    for (const Ref<Tensor>& t : r.results) keep = keep || needed.count(t->storage.get());
    found[i] = keep;
    if (keep) each_storage(r.slots.get(), [&](Storage* s) { needed.insert(s); });
  }
  return found;
}

struct Eagerly {  // here and now, without the tape
  int8_t before = lazy_here;
  Modes modes_before = modes;
  bool tracing_before = tracing;
  Eagerly() {
    lazy_here = 0;
    modes = Modes{false, false, false};
    tracing = false;
  }
  ~Eagerly() {
    lazy_here = before;
    modes = modes_before;
    tracing = tracing_before;
  }
};

Object taken_error() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Object::own(value);
}

[[noreturn]] void raise_again(PyObject* error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  throw PythonError();
}

void run_record(const Record& r) {
  PyObject* const* slots = PySequence_Fast_ITEMS(r.slots.get());
  if (r.writes) return write_now(*r.op, slots, ref_of(slots[0]));
  Results made = evaluate(*r.op, r.op->kind, slots);
  for (size_t i = 0; i < made.size(); ++i) fulfil(*r.results[i], std::move(made[i]));
}

bool meets_failed(const Segment& segment, const Record& r) {
  bool failed = false;
  each_storage(r.slots.get(), [&](Storage* s) { failed = failed || s->segment == &segment; });
  return failed;
}

// One by one, as they would have run. What fails, and what needs it, is not made; all else is.
void replay(Segment& segment, const std::vector<char>& needed) {
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const Record& r = segment.records[i];
    if (!needed[i] || meets_failed(segment, r)) continue;
    PyObject* done = guarded([&] {
      run_record(r);
      return Py_None;
    });
    if (done) continue;
    Object error = taken_error();
    if (known.lazy_error && PyObject_IsInstance(error.get(), PyExc_Exception)) {
      Object led = Object::own(call_python_as(known.lazy_error, "Oss", error.get(), source_text(r.source).c_str(),
                                              source_text(current_source()).c_str()));
      error = std::move(led);
    }
    if (!segment.error) segment.error = std::move(error);
  }
}

Object record_object(const Record& r, bool needed) {
  Object results = Object::own(PyTuple_New(Py_ssize_t(r.results.size())));
  for (size_t i = 0; i < r.results.size(); ++i) PyTuple_SET_ITEM(results.get(), Py_ssize_t(i), wrap(r.results[i]));
  return Object::own(Py_BuildValue("(OOOOO)", r.op->declaration.get(), r.slots.get(), results.get(), r.writes ? Py_True : Py_False,
                                   needed ? Py_True : Py_False));
}

void add_tensors(PyObject* list, PyObject* o) {
  if (is_tensor(o)) {
    if (PyList_Append(list, o) < 0) throw PythonError();
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) add_tensors(list, PySequence_Fast_ITEMS(o)[i]);
  }
}

// Whether Python has run it all, compiled. It is asked with the code, the tensors and the numbers of what is needed; only
// where it knows no program (None) it gets the records.
bool run_compiled(Segment& segment, const std::vector<char>& needed) {
  if (!known.lazy_run) return false;
  if (std::count(needed.begin(), needed.end(), 1) < 2) return false;
  for (char one : needed) segment.code.bytes += one ? '1' : '0';
  std::string held(segment.order.size(), '0');
  for (auto& [s, at] : segment.order)
    if (is_wanted(segment, s)) held[size_t(at)] = '1';
  segment.code.bytes += held;
  Object code = Object::own(PyBytes_FromStringAndSize(segment.code.bytes.data(), Py_ssize_t(segment.code.bytes.size())));
  Object tensors = Object::own(PyList_New(0)), numbers = Object::own(PyList_New(0));
  for (size_t i = 0; i < segment.records.size(); ++i) {
    if (!needed[i]) continue;
    const Record& r = segment.records[i];
    add_tensors(tensors.get(), r.slots.get());
    for (const Ref<Tensor>& t : r.results) add_tensors(tensors.get(), Object::own(wrap(t)).get());
    for (double number : r.numbers)
      if (PyList_Append(numbers.get(), Object::own(PyFloat_FromDouble(number)).get()) < 0) throw PythonError();
  }
  Object known_program = Object::own(call_python_with(known.lazy_run, code.get(), tensors.get(), numbers.get()));
  if (known_program.get() != Py_None) return known_program.get() == Py_True;
  Object records = Object::own(PyList_New(Py_ssize_t(segment.records.size())));
  for (size_t i = 0; i < segment.records.size(); ++i)
    PyList_SET_ITEM(records.get(), Py_ssize_t(i), record_object(segment.records[i], needed[i]).give());
  Object wanted = Object::own(PySet_New(nullptr));
  for (auto& [s, count] : segment.held)
    if (is_wanted(segment, s)) {
      Object id = Object::own(PyLong_FromVoidPtr(s));
      if (PySet_Add(wanted.get(), id.get()) < 0) throw PythonError();
    }
  Object done = Object::own(call_python_with(known.lazy_run, code.get(), tensors.get(), numbers.get(), records.get(), wanted.get()));
  return done.get() == Py_True;
}

}  // namespace

void run_segment(Ref<Segment> segment) {
  segment->closed = true;
  segment->running = true;
  segment->runner = std::this_thread::get_id();
  if (current_segment.get() == segment.get()) current_segment = nullptr;
  std::erase(open_segments, segment.get());
  Object pending;  // an exception that is on its way while something looks
  if (PyErr_Occurred()) pending = taken_error();
  std::vector<char> needed = needed_records(*segment);
  // What is there already may be read and written from here on.
  for (auto& [s, count] : segment->held)
    if (s->data || s->bytes == 0 || !s->awaits) {
      s->segment = nullptr;
      s->awaits = false;
    }
  {
    Eagerly now;
    bool done = false;
    PyObject* tried = guarded([&] {
      done = run_compiled(*segment, needed);
      return Py_None;
    });
    if (!tried) segment->error = taken_error();  // an interrupt: what was recorded runs all the same
    if (!done) replay(*segment, needed);
  }
  segment->running = false;
  Object error = segment->error;
  // What was not made stays with the segment, whose error it is; what nobody can see needs no bytes.
  bool lost = false;
  for (auto& [s, count] : segment->held)
    if (s->segment == segment.get() && is_wanted(*segment, s)) lost = true;
  if (lost) retain(segment.get());  // for as long as the process lives: such tensors are few
  else segment->error = Object();
  segment->records.clear();
  segment->held.clear();
  release(segment.get());  // of open_segments
  if (pending) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(pending.get())), pending.get());
  else if (error) raise_again(error.get());
}

void settle_storage(Storage& storage) {
  PyGILState_STATE gil = PyGILState_Ensure();
  struct Release {
    PyGILState_STATE gil;
    ~Release() { PyGILState_Release(gil); }
  } release_at_end{gil};
  while (storage.segment) {
    Ref<Segment> segment(static_cast<Segment*>(storage.segment));
    if (segment->closed && !segment->running) {
      if (segment->error) raise_again(segment->error.get());
      raise(ErrorKind::Internal, "a tensor was never computed");
    }
    if (!segment->running) {
      run_segment(segment);
      continue;
    }
    if (segment->runner == std::this_thread::get_id())
      raise(ErrorKind::Internal, "a recorded operation looks at what is made after it");
    // Another thread is at it.
    WithoutGil free(true);
    std::this_thread::yield();
  }
}


// ---- for Python

namespace {

PyObject* lazy_set_here(PyObject*, PyObject* o) {
  long choice = PyLong_AsLong(o);
  if (choice == -1 && PyErr_Occurred()) return nullptr;
  if (choice >= 0) lazy_mode.used = lazy_mode.used || choice > 0;
  return PyLong_FromLong(std::exchange(lazy_here, int8_t(choice < 0 ? -1 : choice > 0)));
}
PyObject* lazy_set_everywhere(PyObject*, PyObject* o) {
  int on = PyObject_IsTrue(o);
  if (on < 0) return nullptr;
  lazy_mode.used = lazy_mode.used || on;
  return PyBool_FromLong(std::exchange(lazy_mode.everywhere, bool(on)));
}
PyObject* lazy_is_on(PyObject*, PyObject*) { return PyBool_FromLong(is_lazy()); }
PyObject* lazy_settle_here(PyObject*, PyObject*) {
  return guarded([&] {
    if (current_segment && !current_segment->closed) run_segment(current_segment);
    return Py_NewRef(Py_None);
  });
}
PyObject* lazy_settle_all(PyObject*, PyObject*) {
  return guarded([&] {
    while (!open_segments.empty()) run_segment(Ref<Segment>(open_segments.back()));
    return Py_NewRef(Py_None);
  });
}
PyObject* lazy_recorded(PyObject*, PyObject*) {
  return PyLong_FromSize_t(current_segment && !current_segment->closed ? current_segment->records.size() : 0);
}
PyObject* lazy_limit(PyObject*, PyObject* o) {
  long most = PyLong_AsLong(o);
  if (most == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromSize_t(std::exchange(most_records, size_t(std::max(1L, most))));
}
PyObject* lazy_awaits(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "lazy_awaits: a Tensor is needed");
    return nullptr;
  }
  Tensor& t = *tensor_of(o);
  return PyBool_FromLong(t.storage && t.storage->awaits);
}
// (storage, offset, sizes, strides): where a tensor lies, without looking at it
PyObject* window(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(o)) raise(ErrorKind::Argument, "window: a Tensor is needed, got " + type_name(o));
    const Tensor& t = *tensor_of(o);
    Object sizes = dims_tuple(t.sizes), strides = dims_tuple(t.strides);
    return Py_BuildValue("(NLOO)", PyLong_FromVoidPtr(t.storage.get()), (long long)t.offset, sizes.get(), strides.get());
  });
}
PyObject* lazy_fulfil(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *window, *made;
    if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &window, tensor_type, &made)) throw PythonError();
    fulfil(*tensor_of(window), ref_of(made));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {
    {"lazy_set_here", lazy_set_here, METH_O, "Whether this thread records; -1 leaves it to all threads. Returns what was before."},
    {"lazy_set_everywhere", lazy_set_everywhere, METH_O, "Whether threads that have not chosen record."},
    {"lazy_is_on", lazy_is_on, METH_NOARGS, "Whether calls are recorded here."},
    {"lazy_settle_here", lazy_settle_here, METH_NOARGS, "Run what this thread has recorded."},
    {"lazy_settle_all", lazy_settle_all, METH_NOARGS, "Run what all threads have recorded."},
    {"lazy_recorded", lazy_recorded, METH_NOARGS, "How many calls of this thread wait."},
    {"lazy_limit", lazy_limit, METH_O, "How many calls may wait before they run. Returns what was before."},
    {"lazy_awaits", lazy_awaits, METH_O, "Whether a tensor's bytes are still to come."},
    {"lazy_fulfil", lazy_fulfil, METH_VARARGS, "lazy_fulfil(window, made): give a tensor its bytes."},
    {"lazy_window", window, METH_O, "Where a tensor lies: (storage, offset, sizes, strides)."},
    {}};

}  // namespace

int add_lazy(PyObject* module) {
  settle_hook = settle_storage;
  segment_holds = [](const Storage& s) {
    const auto& held = static_cast<const Segment*>(s.segment)->held;
    auto found = held.find(const_cast<Storage*>(&s));
    return found == held.end() ? 0u : found->second;
  };
  return PyModule_AddFunctions(module, functions);
}

}  // namespace thixo
