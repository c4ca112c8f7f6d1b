// thixo._core.Program: built step by step by runtime/program.py, then called.
#include "program.h"

#include <cstring>

#include "guards.h"

#include "../core/allocator.h"
#include "../core/ready.h"
#include "../core/scratch.h"
#include "../core/thread_pool.h"

namespace thixo {

PyTypeObject* program_type = nullptr;

ProgramObject* program_of(PyObject* o) {
  if (!PyObject_TypeCheck(o, program_type)) raise(ErrorKind::Argument, "program: needs a Program, got " + type_name(o));
  return reinterpret_cast<ProgramObject*>(o);
}

namespace {

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    const char* name;
    if (!PyArg_ParseTuple(args, "s", &name)) throw PythonError();
    Object self = Object::own(type->tp_alloc(type, 0));
    auto* o = reinterpret_cast<ProgramObject*>(self.get());
    o->program = make<Program>().detach();
    o->program->name = name;
    o->constants = new std::vector<Constant>();
    o->written = new std::vector<size_t>();
    o->keep = Object::own(PyList_New(0)).give();
    return self.give();
  });
}

// ---- running

struct Running {
  ProgramObject* self;
  bool grad = modes.grad, traced = tracing;
  explicit Running(ProgramObject* o) : self(o) {
    o->busy = true;
    modes.grad = false;
    tracing = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    self->busy = false;
    modes.grad = grad;
    tracing = traced;
  }
};

bool fits(const Port& port, const Tensor& t) {
  return t.storage && t.dtype == port.dtype && t.sizes == port.sizes && t.strides == port.strides;
}

// Whether a call with these inputs can begin now.
bool usable(const ProgramObject* self, PyObject* const* args, size_t count) {
  const Program& p = *self->program;
  if (self->busy || count != p.inputs.size()) return false;
  for (size_t i = 0; i < count; ++i)
    if (!is_tensor(args[i]) || !fits(p.inputs[i], *tensor_of(args[i]))) return false;
  for (const Constant& constant : *self->constants)
    if (!fits(constant.port, *constant.tensor)) return false;
  return true;
}

// The exception that is set, with the line of the node that failed.
void tell_line() {
  const Failure from = std::exchange(failure, Failure{});
  if (!from.program || from.node < 0 || size_t(from.node) >= from.program->lines.size()) return;
  const std::string& line = from.program->lines[size_t(from.node)];
  PyObject *type, *raised, *trace;
  PyErr_Fetch(&type, &raised, &trace);
  PyErr_NormalizeException(&type, &raised, &trace);
  if (trace) PyException_SetTraceback(raised, trace);
  try {
    Object module = Object::own(PyImport_ImportModule("thixo.errors"));
    Object at_line = Object::own(PyObject_GetAttrString(module.get(), "at_line"));
    if (!line.empty()) Object::own(call_python_as(at_line.get(), "Os", raised, line.c_str()));
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  PyErr_Restore(type, raised, trace);
}

// What a call changes must be nobody else's: no other input's memory, and writable.
void check_written(const ProgramObject* self, PyObject* const* args) {
  const size_t inputs = self->program->inputs.size(), all = inputs + self->constants->size();
  const auto tensor = [&](size_t i) -> const Tensor& { return i < inputs ? *tensor_of(args[i]) : *(*self->constants)[i - inputs].tensor; };
  struct Span {
    const char *begin, *end;
    size_t place;
  };
  std::vector<Span> spans;
  spans.reserve(all);
  for (size_t i = 0; i < all; ++i) {
    const Tensor& t = tensor(i);
    if (t.numel == 0) continue;
    int64_t reach = 0;
    for (int d = 0; d < t.ndim(); ++d) reach += (t.sizes[d] - 1) * t.strides[d];
    spans.push_back({t.data(), t.data() + (reach + 1) * item_size(t.dtype), i});
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  const auto is_written = [&](size_t place) {
    return std::find(self->written->begin(), self->written->end(), place) != self->written->end();
  };
  const char* end = nullptr;
  size_t before = 0;
  for (const Span& span : spans) {
    if (span.begin < end && (is_written(span.place) || is_written(before)))
      raise(ErrorKind::Argument, "graph " + self->program->name + ": inputs " + std::to_string(std::min(span.place, before)) + " and " +
                                     std::to_string(std::max(span.place, before)) +
                                     " share memory, and the graph changes one of them; give it a copy");
    if (span.end > end) {
      end = span.end;
      before = span.place;
    }
  }
  for (size_t place : *self->written)
    if (!tensor(place).storage->writable || has_internal_overlap(tensor(place)))
      raise(ErrorKind::Inplace, "graph " + self->program->name + ": input " + std::to_string(place) +
                                    " is changed by the graph, and its memory cannot be written");
}

constexpr unsigned char kPoison = 0xff;  // of which a NaN is made

PyObject* run(ProgramObject* self, PyObject* const* args) {
  Program& p = *self->program;
  if (!self->written->empty()) check_written(self, args);
  Running running(self);
  SmallVector<Ref<Storage>, 8> held;  // others may give the tensors other memory meanwhile
  SmallVector<Ref<Storage>, 4> made;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const Tensor& t = *tensor_of(args[i]);
    p.inputs[i].storage->data = t.data();
    held.push_back(t.storage);
  }
  for (auto& [port, tensor, fixed] : *self->constants) {
    port.storage->data = tensor->data();
    held.push_back(tensor->storage);
  }
  Ref<Storage> arena;
  if (p.arena_bytes) {
    arena = Storage::allocate(static_cast<size_t>(p.arena_bytes));
    if (self->poisoned) std::memset(arena->data, kPoison, static_cast<size_t>(p.arena_bytes));
    p.settle(arena->data);
  }
  for (Port& port : p.outputs) {
    made.push_back(port.storage ? Storage::allocate(port.bytes) : Ref<Storage>());
    if (port.storage) port.storage->data = made.back()->data;
  }
  failure = {};
  {
    Unlocked free(!p.python && !p.flow && p.seconds >= kLongStep);
    p.run();
  }
  if (self->poisoned && arena) {
    int64_t end = p.arena_bytes;
    while (end && static_cast<unsigned char>(arena->data[end - 1]) == kPoison) --end;
    self->high_water = end;
  }
  for (size_t place : *self->written) {
    const size_t inputs = p.inputs.size();
    ++(place < inputs ? *tensor_of(args[place]) : *(*self->constants)[place - inputs].tensor).storage->version;
  }
  Object results = Object::own(PyList_New(Py_ssize_t(p.outputs.size())));
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const Port& port = p.outputs[i];
    if (!port.storage) {
      PyList_SET_ITEM(results.get(), Py_ssize_t(i), Py_NewRef(Py_None));
      continue;
    }
    Ref<Tensor> t = make<Tensor>();
    t->storage = std::move(made[i]);
    t->dtype = port.dtype;
    t->numel = static_cast<int64_t>(port.bytes) / item_size(port.dtype);
    t->sizes = port.sizes;
    t->strides = port.strides;
    PyList_SET_ITEM(results.get(), Py_ssize_t(i), wrap(std::move(t)));
  }
  if (self->finisher) return call_python_with(self->finisher, results.get());
  return results.give();
}

PyObject* program_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* self = reinterpret_cast<ProgramObject*>(object);
  const size_t count = size_t(PyVectorcall_NARGS(nargsf));
  if (usable(self, args, count) && !(kwnames && PyTuple_GET_SIZE(kwnames))) {
    PyObject* result = guarded([&]() -> PyObject* { return run(self, args); });
    if (!result) {
      PyObject *type, *raised, *trace;
      if (self->finisher) {
        PyErr_Fetch(&type, &raised, &trace);
        Py_XDECREF(call_python_with(self->finisher, Py_None));
        PyErr_Restore(type, raised, trace);
      }
      tell_line();
    }
    return result;
  }
  return guarded([&]() -> PyObject* {
    if (!self->fallback) raise(ErrorKind::Argument, "program " + self->program->name + ": these inputs are not what it was made for");
    return call_python(self->fallback, args, count, kwnames);
  });
}

// fits(inputs): whether it was made for tensors like these
PyObject* program_fits(PyObject* object, PyObject* inputs) {
  return guarded([&]() -> PyObject* {
    Object kept = Object::own(PySequence_Tuple(inputs));
    const Program& p = *reinterpret_cast<ProgramObject*>(object)->program;
    bool found = size_t(PyTuple_GET_SIZE(kept.get())) == p.inputs.size();
    for (size_t i = 0; found && i < p.inputs.size(); ++i) {
      PyObject* one = PyTuple_GET_ITEM(kept.get(), Py_ssize_t(i));
      found = is_tensor(one) && fits(p.inputs[i], *tensor_of(one));
    }
    return PyBool_FromLong(found);
  });
}

// run(inputs): a sequence, or None in place of results where it was made for others or runs already
PyObject* try_run(PyObject* object, PyObject* inputs) {
  return guarded([&]() -> PyObject* {
    auto* self = reinterpret_cast<ProgramObject*>(object);
    if (!PyTuple_Check(inputs) && !PyList_Check(inputs)) raise(ErrorKind::Argument, "program: inputs must be a list");
    Object kept = PyList_Check(inputs) ? Object::own(PyList_AsTuple(inputs)) : Object::borrow(inputs);
    PyObject** args = PySequence_Fast_ITEMS(kept.get());
    const size_t count = size_t(PyTuple_GET_SIZE(kept.get()));
    if (!usable(self, args, count)) Py_RETURN_NONE;
    return program_call(object, args, count, nullptr);
  });
}

}  // namespace

bool program_usable(PyObject* program, PyObject* const* args, size_t count) {
  return usable(reinterpret_cast<ProgramObject*>(program), args, count);
}
PyObject* program_run(PyObject* program, PyObject* const* args, size_t count) { return program_call(program, args, count, nullptr); }

namespace {

void* unlock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void lock(void* state) {
  entering_python([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}
void check() {
  PyGILState_STATE state = PyGILState_Ensure();
  const bool stop = PyErr_CheckSignals() < 0;
  PyGILState_Release(state);
  if (stop) throw PythonError();
}

// ---- the type

int program_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* o = reinterpret_cast<ProgramObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->keep);
  Py_VISIT(o->fallback);
  Py_VISIT(o->finisher);
  return 0;
}
int program_clear(PyObject* self) {
  auto* o = reinterpret_cast<ProgramObject*>(self);
  if (o->program) o->program->steps.clear();  // they point to what goes now
  Py_CLEAR(o->keep);
  Py_CLEAR(o->fallback);
  Py_CLEAR(o->finisher);
  return 0;
}
void program_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto* o = reinterpret_cast<ProgramObject*>(self);
  program_clear(self);
  delete o->constants;
  delete o->written;
  if (o->program) release(o->program);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* program_repr(PyObject* self) {
  const Program& p = *reinterpret_cast<ProgramObject*>(self)->program;
  return PyUnicode_FromFormat("<program %s: %zd steps, arena of %lld bytes>", p.name.c_str(), Py_ssize_t(p.steps.size()),
                              static_cast<long long>(p.arena_bytes));
}
PyObject* get_steps(PyObject* self, void*) {
  return PyLong_FromSize_t(reinterpret_cast<ProgramObject*>(self)->program->steps.size());
}
PyObject* get_bands(PyObject* self, void*) {
  const Program& p = *reinterpret_cast<ProgramObject*>(self)->program;
  if (p.flow) return PyLong_FromSize_t(p.flow->bands.size());
  return PyLong_FromLongLong(std::count_if(p.sections.begin(), p.sections.end(), [](const Section& s) { return s.band.rows > 0; }));
}
PyObject* get_arena(PyObject* self, void*) {
  return PyLong_FromLongLong(reinterpret_cast<ProgramObject*>(self)->program->arena_bytes);
}
// What a call needs besides inputs, constants and results, with as many threads as there are to be now.
PyObject* get_memory(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Program& p = *reinterpret_cast<ProgramObject*>(self)->program;
    Needs needs;
    p.add_needs(needs);
    const size_t scratch = scratch_pages(needs.here) + size_t(get_num_threads() - 1) * scratch_pages(needs.elsewhere);
    return Object::own(Py_BuildValue("{s:L,s:n,s:n}", "arena", static_cast<long long>(p.arena_bytes), "prepared",
                                     Py_ssize_t(needs.prepared), "scratch", Py_ssize_t(scratch))).give();
  });
}
PyObject* get_python(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<ProgramObject*>(self)->program->python);
}
PyObject* get_seconds(PyObject* self, void*) {
  return PyFloat_FromDouble(reinterpret_cast<ProgramObject*>(self)->program->seconds);
}

PyGetSetDef program_getset[] = {
    {"steps", get_steps, nullptr, "How many steps it has.", nullptr},
    {"bands", get_bands, nullptr, "How many groups of steps threads share out by rows.", nullptr},
    {"arena_bytes", get_arena, nullptr, "Bytes of its arena.", nullptr},
    {"memory", get_memory, nullptr, "Bytes that a call needs: arena, prepared weights, scratch memory of its threads.", nullptr},
    {"python", get_python, nullptr, "Whether some step needs the interpreter.", nullptr},
    {"seconds", get_seconds, nullptr, "How long it may take: a guess.", nullptr},
    {}};
PyMemberDef program_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, vectorcall), READONLY, nullptr},
    {"fallback", T_OBJECT, offsetof(ProgramObject, fallback), 0, "Called with inputs that it was not made for."},
    {"finisher", T_OBJECT, offsetof(ProgramObject, finisher), 0, "Called with the results; with None after an error."},
    {"poisoned", T_BOOL, offsetof(ProgramObject, poisoned), 0, "Whether the arena is filled with NaNs before a run."},
    {"high_water", T_LONGLONG, offsetof(ProgramObject, high_water), READONLY, "Where the used part of a poisoned arena ended."},
    {}};
PyMethodDef program_methods[] = {
    {"value", make_value, METH_VARARGS | METH_STATIC, "value(dtype, sizes, strides): a tensor without memory, for steps."},
    {"inputs", add_inputs, METH_O, "inputs(tensors): values like these, which are the program's inputs."},
    {"output", add_output, METH_O, nullptr},
    {"constant", add_constant, METH_VARARGS, nullptr},
    {"written", add_written, METH_O, nullptr},
    {"arena", set_arena, METH_VARARGS, nullptr},
    {"names", set_names, METH_VARARGS, nullptr},
    {"operator", add_operator, METH_VARARGS, nullptr},
    {"call_python", add_python, METH_VARARGS, nullptr},
    {"copy", add_copy, METH_VARARGS, nullptr},
    {"copy_lines", add_copy_lines, METH_VARARGS, nullptr},
    {"replace_lines", add_replace_lines, METH_VARARGS, nullptr},
    {"kernel", add_kernel, METH_VARARGS, nullptr},
    {"product", add_product, METH_VARARGS, nullptr},
    {"call", add_call, METH_VARARGS, nullptr},
    {"switch", add_switch, METH_VARARGS, nullptr},
    {"while_loop", add_while, METH_VARARGS, nullptr},
    {"scan", add_scan, METH_VARARGS, nullptr},
    {"scan_over", set_scanned, METH_VARARGS, nullptr},
    {"flow", set_flow, METH_O, nullptr},
    {"sections", set_sections, METH_O, nullptr},
    {"stacked", take_stacked, METH_VARARGS, nullptr},
    {"fits", program_fits, METH_O, "fits(inputs): whether it was made for tensors like these."},
    {"run", try_run, METH_O, "run(inputs): the results; None if it was made for other inputs or runs already."},
    {}};

PyObject* program_make(PyTypeObject* type, PyObject* args, PyObject* kw) {
  PyObject* made = program_new(type, args, kw);
  if (made) reinterpret_cast<ProgramObject*>(made)->vectorcall = program_call;
  return made;
}

PyType_Slot program_slots[] = {{Py_tp_new, (void*)program_make},
                               {Py_tp_dealloc, (void*)program_dealloc},
                               {Py_tp_traverse, (void*)program_traverse},
                               {Py_tp_clear, (void*)program_clear},
                               {Py_tp_call, (void*)PyVectorcall_Call},
                               {Py_tp_repr, (void*)program_repr},
                               {Py_tp_getset, program_getset},
                               {Py_tp_members, program_members},
                               {Py_tp_methods, program_methods},
                               {}};
PyType_Spec program_spec = {"thixo._core.Program", sizeof(ProgramObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                            program_slots};

}  // namespace

namespace {

// layouts(tensors) -> bytes that are equal for tensors of equal sizes and strides
PyObject* layouts(PyObject*, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    if (!PyList_Check(tensors)) raise(ErrorKind::Argument, "layouts: a list of tensors is needed, got " + type_name(tensors));
    std::vector<int64_t> found;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
      PyObject* o = PyList_GET_ITEM(tensors, i);
      if (!is_tensor(o)) raise(ErrorKind::Argument, "layouts: a Tensor is needed, got " + type_name(o));
      const Tensor& t = *tensor_of(o);
      found.push_back(int64_t(t.sizes.size()));
      for (int64_t size : t.sizes) found.push_back(size);
      for (int64_t stride : t.strides) found.push_back(stride);
    }
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(found.data()), Py_ssize_t(found.size() * sizeof(int64_t)));
  });
}

PyMethodDef functions[] = {{"layouts", layouts, METH_O, "Bytes that are equal for tensors of equal sizes and strides."}, {}};

}  // namespace

int add_programs(PyObject* module) {
  host = {unlock, lock, check};
  program_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &program_spec, nullptr));
  if (!program_type || PyModule_AddFunctions(module, functions) < 0) return -1;
  return PyModule_AddObjectRef(module, "Program", reinterpret_cast<PyObject*>(program_type));
}

}  // namespace thixo
