#include "lazy.h"

#include <algorithm>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "../core/promotion.h"

namespace thixo {

namespace {

// What tells one structure from another, byte by byte: everything but the data.
class Code {
 public:
  std::string bytes;
  template <class T>
  void add(const T& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void add(const Dims& dims) { bytes.append(reinterpret_cast<const char*>(dims.data()), size_t(dims.size()) * sizeof(int64_t)); }
  void add_type(const Tensor& t) {
    bytes += 't';
    add(int16_t(code(t.dtype)));
    add(int16_t(t.ndim()));
    add(t.sizes);
  }
  // Of what is neither a tensor nor a list.
  void add_value(PyObject* o) {
    if (o == Py_None || o == Py_True || o == Py_False || o == Py_Ellipsis) {
      bytes += o == Py_None ? '-' : o == Py_True ? '+' : o == Py_False ? '!' : '.';
    } else if (PyLong_CheckExact(o)) {
      int overflow = 0;
      const int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
      bytes += overflow ? 'I' : 'i';
      if (overflow) add_text(o);
      else add(value);
    } else if (PyFloat_CheckExact(o)) {
      bytes += 'f';
      add(PyFloat_AS_DOUBLE(o));
    } else if (PyComplex_CheckExact(o)) {
      bytes += 'c';
      add(PyComplex_AsCComplex(o));
    } else {
      bytes += 's';
      add_text(o);
    }
  }

 private:
  void add_text(PyObject* o) {
    std::string shown = type_name(o) + " " + text(o);
    add(int64_t(shown.size()));
    bytes += shown;
  }
};

struct Record {
  const Operator* op;
  Object owner;  // of the operator
  Object slots;  // the arguments, a tuple; tensors in it are windows of their own on the same bytes
  Results results;
  Source source;
  bool writes;
  SmallVector<double, 2> numbers;  // beside tensors, where a tensor could stand as well
};

struct Segment final : Counted {
  std::vector<Record> records;
  Code code;
  std::unordered_map<Storage*, int32_t> order;  // the storages in the order in which they came
  std::unordered_map<Storage*, uint32_t> held;  // the storages that it reads or writes, and how often it holds each
  bool closed = false;   // it takes no more
  bool running = false;
  std::thread::id runner;
  Object error;          // what went wrong, for those who look at what was not made
};

constexpr int8_t kMayFail = 2, kAtOnce = -2;  // of Operator::lazily
size_t most_records = 1000;

thread_local Ref<Segment> current;
std::vector<Segment*> open_segments;  // of all threads; Python's lock guards it

Segment& segment_here() {
  if (!current || current->closed) {
    current = make<Segment>();
    open_segments.push_back(current.get());
    retain(current.get());
  }
  return *current;
}

// ---- what may be recorded

// Whether somebody outside of the core could write these bytes, or see that they were not written.
bool is_shared_outside(const Storage& s) {
  if (s.lent) return true;
  if (!s.context) return false;
  if (s.free != free_array) return true;
  for (PyObject* o = static_cast<PyObject*>(s.context);;) {
    if (PyBytes_Check(o)) return false;  // never written
    if (Py_REFCNT(o) > 1) return true;
    if (is_tensor(o)) return !is_unique(tensor_of(o)) || !is_unique(tensor_of(o)->storage.get());
    if (!PyArray_CheckExact(o)) return true;
    o = PyArray_BASE(reinterpret_cast<PyArrayObject*>(o));
    if (!o) return false;
  }
}

// Whether an argument is a value, and its tensors are only ours.
bool is_recordable(PyObject* o) {
  if (is_tensor(o)) {
    const Tensor& t = *tensor_of(o);
    return !t.symbolic() && !is_shared_outside(*t.storage);
  }
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
      if (!is_recordable(PySequence_Fast_ITEMS(o)[i])) return false;
    return true;
  }
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return is_recordable(s->start) && is_recordable(s->stop) && is_recordable(s->step);
  }
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyComplex_CheckExact(o) || PyUnicode_CheckExact(o))
    return true;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  return type == known.dtype_class || type == known.device_class;
}

bool can_record(const Operator& op, PyObject* const* slots) {
  if (op.lazily == 0) {
    long answer = -1;
    if (known.lazy_can && !op.random) {
      answer = PyLong_AsLong(Object::own(call_python_with(known.lazy_can, op.declaration.get())).get());
      if (answer == -1 && PyErr_Occurred()) throw PythonError();
    }
    op.lazily = int8_t(answer);
  }
  if (op.lazily < 0) return false;
  for (size_t i = 0; i < op.params.size(); ++i)
    if (!is_recordable(slots[i])) return false;
  return true;
}

void settle_item(PyObject* o) {
  if (is_tensor(o)) {
    Tensor& t = *tensor_of(o);
    if (t.storage && t.storage->segment) settle(*t.storage);
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) settle_item(PySequence_Fast_ITEMS(o)[i]);
  }
}
// What runs now may read and write its arguments, and runs without Python's lock: nothing may be left to settle then.
void settle_arguments(const Operator& op, PyObject* const* slots) {
  for (size_t i = 0; i < op.params.size(); ++i) settle_item(slots[i]);
}

// ---- recording

// A storage that another thread's operations wait for is settled first.
void settle_others(PyObject* o) {
  if (is_tensor(o)) {
    Storage& s = *tensor_of(o)->storage;
    if (s.segment && s.segment != current.get()) settle(s);
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) settle_others(PySequence_Fast_ITEMS(o)[i]);
  }
}

void hold(Segment& segment, Storage& s) {
  ++segment.held[&s];
  s.segment = &segment;
}

bool has_tensor(PyObject* o) {
  if (is_tensor(o)) return true;
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
    if (has_tensor(PySequence_Fast_ITEMS(o)[i])) return true;
  return false;
}

void add_window(Segment& segment, const Tensor& t) {
  auto [at, fresh] = segment.order.try_emplace(t.storage.get(), int32_t(segment.order.size()));
  segment.code.add_type(t);
  segment.code.add(at->second);
  segment.code.add(t.offset);
  segment.code.add(t.strides);
}

void add_argument(Segment& segment, PyObject* o) {
  if (is_tensor(o)) return add_window(segment, *tensor_of(o));
  if (PyTuple_Check(o) || PyList_Check(o)) {
    segment.code.bytes += PyList_Check(o) ? '[' : '(';
    segment.code.add(int64_t(Py_SIZE(o)));
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) add_argument(segment, PySequence_Fast_ITEMS(o)[i]);
  } else if (PySlice_Check(o)) {
    segment.code.bytes += ':';
    auto* s = reinterpret_cast<PySliceObject*>(o);
    for (PyObject* part : {s->start, s->stop, s->step}) add_argument(segment, part);
  } else {
    segment.code.add_value(o);
  }
}

// The argument as it is now, whatever becomes of the object.
Object frozen(Segment& segment, PyObject* o) {
  if (is_tensor(o)) {
    hold(segment, *tensor_of(o)->storage);
    return Object::own(wrap(alias(*tensor_of(o))));
  }
  if (PyList_Check(o) || (PyTuple_Check(o) && has_tensor(o))) {
    const bool list = PyList_Check(o);
    const Py_ssize_t n = Py_SIZE(o);
    Object made = Object::own(list ? PyList_New(n) : PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = frozen(segment, PySequence_Fast_ITEMS(o)[i]).give();
      if (list) PyList_SET_ITEM(made.get(), i, item);
      else PyTuple_SET_ITEM(made.get(), i, item);
    }
    return made;
  }
  return Object::borrow(o);
}

void run_segment(Ref<Segment> segment);

void append(const Operator& op, PyObject* const* slots, const Results& results, bool writes) {
  const size_t n = op.params.size();
  for (size_t i = 0; i < n; ++i) settle_others(slots[i]);
  Segment& segment = segment_here();
  Record record{&op, Object::borrow(op.self), Object::own(PyTuple_New(Py_ssize_t(n))), {}, current_source(), writes, {}};
  segment.code.bytes += writes ? 'w' : 'o';
  segment.code.add(&op);
  for (size_t i = 0; i < n; ++i) {
    if (op.base_kind == OpKind::Pointwise && op.params[i].kind == Kind::Operand && PyFloat_CheckExact(slots[i])) {
      segment.code.bytes += 'n';
      record.numbers.push_back(PyFloat_AS_DOUBLE(slots[i]));
    } else {
      add_argument(segment, slots[i]);
    }
  }
  for (const Ref<Tensor>& t : results) add_window(segment, *t);
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(record.slots.get(), Py_ssize_t(i), frozen(segment, slots[i]).give());
  for (const Ref<Tensor>& t : results) {
    hold(segment, *t->storage);
    t->storage->awaits = true;
    record.results.push_back(alias(*t));
  }
  if (writes) tensor_of(slots[0])->storage->awaits = true;
  segment.records.push_back(std::move(record));
  if (segment.records.size() >= most_records) run_segment(Ref<Segment>(&segment));
}

// ---- running

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

void run_segment(Ref<Segment> segment) {
  segment->closed = true;
  segment->running = true;
  segment->runner = std::this_thread::get_id();
  if (current.get() == segment.get()) current = nullptr;
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

}  // namespace

// ---- the types of results, remembered: rules are Python's

namespace {

using Types = std::vector<std::pair<Dims, DType>>;
constexpr size_t kMostTypes = 4096;
std::unordered_map<std::string, Types> types;

bool add_type_of(Code& code, PyObject* o) {
  if (is_tensor(o)) {
    code.add_type(*tensor_of(o));
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    code.bytes += '(';
    code.add(int64_t(Py_SIZE(o)));
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
      if (!add_type_of(code, PySequence_Fast_ITEMS(o)[i])) return false;
  } else if (PySlice_Check(o)) {
    return false;
  } else {
    code.add_value(o);
  }
  return true;
}

bool remembered_results(const Operator& op, PyObject* const* slots, Results& out) {
  if (op.lazily == kMayFail) return generic_results(op, slots, out);  // its rule may look at the data
  Code code;
  code.add(&op);
  code.add(default_float);
  bool plain = true;
  for (size_t i = 0; i < op.params.size(); ++i) plain = plain && add_type_of(code, slots[i]);
  auto found = plain ? types.find(code.bytes) : types.end();
  if (found == types.end()) {
    if (!generic_results(op, slots, out)) return false;
    if (types.size() >= kMostTypes) types.clear();
    Types made;
    for (const Ref<Tensor>& t : out) made.emplace_back(t->sizes, t->dtype);
    if (plain) types.emplace(std::move(code.bytes), std::move(made));
    return true;
  }
  for (auto& [sizes, dtype] : found->second) out.push_back(unmade(sizes, contiguous_strides(sizes), dtype));
  return true;
}

}  // namespace

bool record_call(const Operator& op, PyObject* const* slots, Results& out) {
  if (op.kind == OpKind::View) return false;  // a view is made at once, of bytes that may come later
  if (can_record(op, slots)) {
    if (op.kind == OpKind::Pointwise) {
      out.push_back(pointwise_result(op, slots));
      append(op, slots, out, false);
      return true;
    }
    if (remembered_results(op, slots, out)) {
      append(op, slots, out, false);
      return true;
    }
    out.clear();
  }
  if (op.lazily != kAtOnce) settle_arguments(op, slots);
  return false;
}

bool record_write(const Operator& op, PyObject* const* slots) {
  if (can_record(op, slots)) {
    const Tensor& self = *tensor_of(slots[0]);
    Results made;
    bool known_type = true;
    if (op.copies) {
      if (is_tensor(slots[1])) check_fits(op, self, *tensor_of(slots[1]));
    } else if (op.base_kind == OpKind::Pointwise) {
      made.push_back(pointwise_result(op, slots));
    } else {
      known_type = remembered_results(op, slots, made);
    }
    if (known_type) {
      if (!made.empty()) check_fits(op, self, *made[0]);
      append(op, slots, {}, true);
      return true;
    }
  }
  settle_arguments(op, slots);
  return false;
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
    if (current && !current->closed) run_segment(current);
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
  return PyLong_FromSize_t(current && !current->closed ? current->records.size() : 0);
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
  return PyModule_AddFunctions(module, functions);
}

}  // namespace thixo
