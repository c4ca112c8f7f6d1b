// Recording: which calls, with what, and what is known of their results.
#include "lazy_segment.h"

#include "../core/promotion.h"

namespace thixo {

size_t most_records = 1000;
thread_local Ref<Segment> current_segment;
std::vector<Segment*> open_segments;

namespace {

Segment& segment_here() {
  if (!current_segment || current_segment->closed) {
    current_segment = make<Segment>();
    open_segments.push_back(current_segment.get());
    retain(current_segment.get());
  }
  return *current_segment;
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
    if (s.segment && s.segment != current_segment.get()) settle(s);
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

// ---- the types of results, remembered: rules are Python's

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

}  // namespace thixo
