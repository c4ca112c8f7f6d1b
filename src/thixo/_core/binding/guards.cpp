// thixo._core.Guarded: a callable that runs a native program where all is as it was, and calls Python where it is not.
#include "guards.h"

#include <cstring>
#include <memory>

#include "../core/promotion.h"

namespace thixo {

namespace {

// One program, for arguments of one kind, and when it is the right one.
struct Quick {
  enum class How : uint8_t { Tensor, Same, Equal, Number, List, Tuple, Dict };
  struct Argument {
    How how;
    int grad;   // of a tensor: 0, 1 for a leaf that requires a gradient, 2 for another one that does
    int first;  // of a tensor: the first argument that is the same one; of a container: how much is in it
    Object value;  // of a dict: its keys; of a number: its type
  };
  struct Input {
    int argument;   // -1: what was found by a path; -2: what a function gives; -3: a number in a dict or a cell
    Object tensor;  // of a number: the dict
    int grad;  // whether it must require a gradient; -1: it does not matter
    Object key, type;  // of a number; without a type it is a float or an int
    Ref<Tensor> last;  // the number of the last call
  };

  std::vector<Argument> arguments;  // each container is followed by what is in it
  size_t positional, count;         // arguments of a call: those without a name, all
  bool contained = false;           // whether some of them are containers, which may be empty
  Object names;
  std::vector<Input> inputs;
  std::unique_ptr<Watch> watch;
  bool grad;
  DType default_dtype;
  Object program, plan;  // plan: null where nothing is recorded
  Object generator;      // null, or whose state is put back after a failure
  After after;
  Object finish;  // null, or Python's function in place of `after`
  Object owner;  // whose calls these are
  long long calls = 0;
};

struct GuardedObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* slow;
  std::vector<std::shared_ptr<Quick>>* quick;  // used last, first
};

bool switched_on = true;
constexpr size_t kMost = 8;  // programs that one function looks at

GuardedObject* self_of(PyObject* o) { return reinterpret_cast<GuardedObject*>(o); }

bool equal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (!PyLong_CheckExact(a) && !PyUnicode_CheckExact(a)) return false;
  const int same = PyObject_RichCompareBool(a, b, Py_EQ);
  if (same < 0) PyErr_Clear();
  return same > 0;
}

bool requires_grad(const Tensor& t) { return t.requires_grad() || (t.base && current_grad_fn(Ref<Tensor>(const_cast<Tensor*>(&t)))); }

using Given = SmallVector<PyObject*, 16>;
using Made = SmallVector<Object, 4>;

// One argument and, behind it, what is in it.
bool collect(const Quick& q, size_t& at, PyObject* arg, Given& leaves, Made& held) {
  if (at >= q.arguments.size()) return false;
  const Quick::Argument& one = q.arguments[at++];
  leaves.push_back(arg);
  if (one.how == Quick::How::List || one.how == Quick::How::Tuple) {
    if (one.how == Quick::How::List ? !PyList_CheckExact(arg) : !PyTuple_CheckExact(arg)) return false;
    if (PySequence_Fast_GET_SIZE(arg) != one.first) return false;
    for (int i = 0; i < one.first; ++i) {
      held.push_back(Object::borrow(PySequence_Fast_GET_ITEM(arg, i)));
      if (!collect(q, at, held.back().get(), leaves, held)) return false;
    }
  } else if (one.how == Quick::How::Dict) {
    if (!PyDict_CheckExact(arg) || PyDict_GET_SIZE(arg) != one.first) return false;
    Py_ssize_t place = 0;
    PyObject *key, *value;
    for (int i = 0; PyDict_Next(arg, &place, &key, &value); ++i) {
      if (!equal(key, PyTuple_GET_ITEM(one.value.get(), i))) return false;
      held.push_back(Object::borrow(value));
      if (!collect(q, at, value, leaves, held)) return false;
    }
  }
  return true;
}

// A number as a tensor; null where it is of another type, or too large.
Ref<Tensor> number_tensor(Quick::Input& input, PyObject* number) {
  PyObject* type = input.type.get();
  const bool whole = type == reinterpret_cast<PyObject*>(&PyLong_Type);
  if (type ? reinterpret_cast<PyObject*>(Py_TYPE(number)) != type : !PyFloat_CheckExact(number) && !PyLong_CheckExact(number)) return {};
  char value[8];
  if (whole) {
    int overflow = 0;
    const long long n = PyLong_AsLongLongAndOverflow(number, &overflow);
    constexpr long long most = 1LL << 62;
    if (overflow || n <= -most || n >= most) return {};
    std::memcpy(value, &n, 8);
  } else {
    const double x = PyFloat_AsDouble(number);
    if (x == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return {};
    }
    std::memcpy(value, &x, 8);
  }
  if (input.last && std::memcmp(input.last->read(), value, 8) == 0) return input.last;
  Ref<Tensor> t = make<Tensor>();
  t->storage = Storage::allocate(8);
  t->dtype = whole ? DType::I64 : DType::F64;
  t->numel = 1;
  std::memcpy(t->storage->data, value, 8);
  return input.last = t;
}

bool fits(Quick& q, PyObject* const* args, size_t count, PyObject* names, Given& given, Made& made) {
  const size_t named = names ? size_t(PyTuple_GET_SIZE(names)) : 0;
  if (q.positional != count || q.count != count + named || q.grad != modes.grad || q.default_dtype != default_float) return false;
  for (size_t i = 0; i < named; ++i)
    if (!equal(PyTuple_GET_ITEM(names, Py_ssize_t(i)), PyTuple_GET_ITEM(q.names.get(), Py_ssize_t(i)))) return false;
  Given collected;
  PyObject* const* leaves = args;
  if (q.contained) {
    size_t at = 0;
    for (size_t i = 0; i < q.count; ++i)
      if (!collect(q, at, args[i], collected, made)) return false;
    leaves = collected.begin();
  }
  for (size_t i = 0; i < q.arguments.size(); ++i) {
    const Quick::Argument& one = q.arguments[i];
    PyObject* arg = leaves[i];
    switch (one.how) {
      case Quick::How::Tensor: {
        if (!is_tensor(arg)) return false;
        const Tensor& t = *tensor_of(arg);
        const bool graded = requires_grad(t);
        if (graded != bool(one.grad)) return false;
        if (graded && (one.grad == 1) != (t.is_leaf() && !(t.base && current_grad_fn(ref_of(arg))))) return false;
        for (size_t k = 0; k < i; ++k)
          if (leaves[k] == arg && one.first == int(i)) return false;
        if (one.first != int(i) && leaves[one.first] != arg) return false;
        break;
      }
      case Quick::How::Same:
        if (arg != one.value.get()) return false;
        break;
      case Quick::How::Equal:
        if (!equal(arg, one.value.get())) return false;
        break;
      case Quick::How::List:
      case Quick::How::Dict:  // one at two places: what is done to it shows at both
        for (size_t k = 0; k < i; ++k)
          if (leaves[k] == arg) return false;
        break;
      case Quick::How::Number:  // looked at below
      case Quick::How::Tuple:
        break;
    }
  }
  if (!q.watch->holds()) return false;
  for (Quick::Input& input : q.inputs) {
    PyObject* tensor = input.argument >= 0 ? leaves[input.argument] : input.tensor.get();
    const bool by_key = input.argument == -3;
    if (by_key || (input.argument >= 0 && q.arguments[size_t(input.argument)].how == Quick::How::Number)) {
      PyObject* number = !by_key ? tensor : PyCell_Check(tensor) ? PyCell_GET(tensor) : PyDict_GetItemWithError(tensor, input.key.get());
      PyErr_Clear();
      Ref<Tensor> t = number ? number_tensor(input, number) : Ref<Tensor>();
      if (!t) return false;
      made.push_back(Object::own(wrap(t)));
      given.push_back(made.back().get());
      continue;
    }
    if (input.argument == -2) {
      PyObject* found = call_python(tensor, nullptr, 0);
      if (!found || !is_tensor(found)) {
        PyErr_Clear();
        Py_XDECREF(found);
        return false;
      }
      made.push_back(Object::own(found));
      given.push_back(found);
      continue;
    }
    if (input.argument < 0 && input.grad >= 0 && requires_grad(*tensor_of(tensor)) != bool(input.grad)) return false;
    given.push_back(tensor);
  }
  return program_usable(q.program.get(), given.begin(), given.size());
}

// By Python: finish(args, kwargs, tensors, results)
Object finished(const Quick& q, PyObject* const* args, PyObject* const* given, PyObject* made) {
  if (!q.finish) return q.after.finish(made, given);
  Object arguments = Object::own(PyTuple_New(Py_ssize_t(q.positional)));
  for (size_t i = 0; i < q.positional; ++i) PyTuple_SET_ITEM(arguments.get(), Py_ssize_t(i), Py_NewRef(args[i]));
  Object named = Object::own(PyDict_New());
  for (size_t i = q.positional; i < q.count; ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(q.names.get(), Py_ssize_t(i - q.positional)), args[i]) < 0) throw PythonError();
  Object tensors = Object::own(PyList_New(Py_ssize_t(q.inputs.size())));
  for (size_t i = 0; i < q.inputs.size(); ++i) PyList_SET_ITEM(tensors.get(), Py_ssize_t(i), Py_NewRef(given[i]));
  return Object::own(call_python_with(q.finish.get(), arguments.get(), named.get(), tensors.get(), made));
}

// A call by one program. Null without an exception: Python has to do it.
PyObject* run(Quick& q, PyObject* const* args, PyObject* const* given) {
  Object state = q.generator ? Object::own(call_python_method(q.generator.get(), "_get")) : Object();
  PyObject* made = q.plan ? run_recorded(q.plan.get(), q.program.get(), given, q.inputs.size()) : program_run(q.program.get(), given, q.inputs.size());
  if (!made) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
    PyErr_Clear();
    if (state) {
      Object put = Object::own(PyObject_GetAttrString(q.generator.get(), "_set"));
      Object::own(call_python_tuple(put.get(), state.get(), nullptr));
    }
    return nullptr;
  }
  Object results = Object::own(made);
  ++q.calls;
  return finished(q, args, given, made).give();
}

PyObject* guarded_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  GuardedObject* self = self_of(object);
  const size_t count = size_t(PyVectorcall_NARGS(nargsf));
  return guarded([&]() -> PyObject* {
    if (switched_on && !tracing && !modes.inference && !modes.anomaly) {
      auto& quick = *self->quick;
      for (size_t i = 0; i < quick.size(); ++i) {
        Given given;
        Made made;
        if (!fits(*quick[i], args, count, kwnames, given, made)) continue;
        if (i) std::rotate(quick.begin(), quick.begin() + long(i), quick.begin() + long(i) + 1);
        const std::shared_ptr<Quick> one = quick[0];  // another thread may drop it while it runs
        PyObject* result = run(*one, args, given.begin());
        if (result || PyErr_Occurred()) return result;
        break;
      }
    }
    if (!self->slow) raise(ErrorKind::Internal, "guards: nothing to call");
    return call_python(self->slow, args, nargsf, kwnames);
  });
}

// ---- building

PyObject* get(PyObject* spec, const char* name) {
  PyObject* found = PyDict_GetItemString(spec, name);
  if (!found) raise(ErrorKind::Argument, std::string("guards: no ") + name);
  return found;
}

Quick::How how_of(const std::string& how) {
  if (how == "tensor") return Quick::How::Tensor;
  if (how == "same") return Quick::How::Same;
  if (how == "equal") return Quick::How::Equal;
  if (how == "number") return Quick::How::Number;
  if (how == "list") return Quick::How::List;
  if (how == "tuple") return Quick::How::Tuple;
  if (how == "dict") return Quick::How::Dict;
  raise(ErrorKind::Argument, "guards: no such argument: " + how);
}

// add(spec): see capture/compile_quick.py
PyObject* add_quick(PyObject* object, PyObject* spec) {
  return guarded([&]() -> PyObject* {
    GuardedObject* self = self_of(object);
    if (!PyDict_Check(spec)) raise(ErrorKind::Argument, "guards: a dict is needed");
    auto q = std::make_shared<Quick>();
    PyObject* arguments = get(spec, "arguments");  // (how, value, grad, first)
    for (Py_ssize_t i = 0; i < PyList_Size(arguments); ++i) {
      const char* how;
      PyObject* value;
      int grad, first;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(arguments, i), "sOii", &how, &value, &grad, &first)) throw PythonError();
      q->arguments.push_back({how_of(how), grad, first, Object::borrow(value)});
      const Quick::How kind = q->arguments.back().how;
      q->contained |= kind == Quick::How::List || kind == Quick::How::Tuple || kind == Quick::How::Dict;
    }
    q->names = Object::borrow(get(spec, "names"));
    q->positional = PyLong_AsSize_t(get(spec, "positional"));
    q->count = q->positional + size_t(PyTuple_Size(q->names.get()));
    PyObject* inputs = get(spec, "inputs");  // (argument or -1, tensor or None, grad, key, type)
    for (Py_ssize_t i = 0; i < PyList_Size(inputs); ++i) {
      int argument, grad;
      PyObject *tensor, *key, *type;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(inputs, i), "iOiOO", &argument, &tensor, &grad, &key, &type)) throw PythonError();
      if (argument == -1 && !is_tensor(tensor)) raise(ErrorKind::Argument, "guards: a tensor is needed");
      if (argument == -3 && !PyDict_Check(tensor) && !PyCell_Check(tensor)) raise(ErrorKind::Argument, "guards: a dict or a cell is needed");
      if (argument >= 0 && size_t(argument) >= q->arguments.size()) raise(ErrorKind::Argument, "guards: there is no such argument");
      q->inputs.push_back({argument, Object::borrow(tensor), grad, Object::borrow(key), type == Py_None ? Object() : Object::borrow(type), {}});
    }
    q->watch = std::make_unique<Watch>(get(spec, "watch"));
    q->grad = get(spec, "grad") == Py_True;
    q->default_dtype = default_float;
    q->owner = Object::borrow(get(spec, "owner"));
    q->program = Object::borrow(get(spec, "program"));
    PyObject* plan = get(spec, "plan");
    if (plan != Py_None) q->plan = Object::borrow(plan);
    PyObject* generator = get(spec, "generator");
    if (generator != Py_None) q->generator = Object::borrow(generator);
    PyObject* after = get(spec, "after");  // (changes, result), or a function
    if (PyTuple_Check(after) && PyTuple_GET_SIZE(after) == 2)
      q->after = After(PyTuple_GET_ITEM(after, 0), PyTuple_GET_ITEM(after, 1));
    else
      q->finish = Object::borrow(after);
    if (PyErr_Occurred()) throw PythonError();
    self->quick->insert(self->quick->begin(), std::move(q));
    if (self->quick->size() > kMost) self->quick->pop_back();
    Py_RETURN_NONE;
  });
}
PyObject* forget(PyObject* object, PyObject*) {
  std::vector<std::shared_ptr<Quick>> dropped;
  std::swap(dropped, *self_of(object)->quick);
  Py_RETURN_NONE;
}
PyObject* calls_of(PyObject* object, PyObject* owner) {
  long long calls = 0;
  for (const auto& q : *self_of(object)->quick)
    if (q->owner.get() == owner) calls += q->calls;
  return PyLong_FromLongLong(calls);
}
PyObject* get_count(PyObject* object, void*) { return PyLong_FromSize_t(self_of(object)->quick->size()); }

// ---- the type

PyObject* guarded_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = type->tp_alloc(type, 0);
  if (!made) return nullptr;
  self_of(made)->vectorcall = guarded_call;
  self_of(made)->quick = new std::vector<std::shared_ptr<Quick>>();
  return made;
}
int guarded_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  GuardedObject* self = self_of(object);
  Py_VISIT(self->slow);
  if (!self->quick) return 0;
  for (const auto& q : *self->quick) {
    for (const auto& one : q->arguments) Py_VISIT(one.value.get());
    for (const auto& one : q->inputs) {
      Py_VISIT(one.tensor.get());
      Py_VISIT(one.key.get());
    }
    if (const int status = q->after.visit(visit, arg)) return status;
    Py_VISIT(q->program.get());
    Py_VISIT(q->plan.get());
    Py_VISIT(q->generator.get());
    Py_VISIT(q->finish.get());
    Py_VISIT(q->owner.get());
    if (const int status = q->watch->visit(visit, arg)) return status;
  }
  return 0;
}
int guarded_clear(PyObject* object) {
  GuardedObject* self = self_of(object);
  Py_CLEAR(self->slow);
  if (self->quick) {
    std::vector<std::shared_ptr<Quick>> dropped;
    std::swap(dropped, *self->quick);
  }
  return 0;
}
void guarded_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  guarded_clear(object);
  delete self_of(object)->quick;
  type->tp_free(object);
  Py_DECREF(type);
}
PyObject* guarded_get(PyObject* self, PyObject* owner, PyObject*) {
  if (!owner || owner == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, owner);
}

PyMethodDef guarded_methods[] = {{"_add_quick", add_quick, METH_O, "Run a program where all is as a dict says."},
                                 {"_calls", calls_of, METH_O, "How many calls of an owner ran without Python."},
                                 {"_forget", forget, METH_NOARGS, "Run no program without Python."},
                                 {}};
PyGetSetDef guarded_getset[] = {{"_quick", get_count, nullptr, "How many programs run without Python.", nullptr}, {}};
PyMemberDef guarded_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(GuardedObject, vectorcall), READONLY, nullptr},
    {"_slow", T_OBJECT, offsetof(GuardedObject, slow), 0, "Called where something has changed."},
    {}};
PyType_Slot guarded_slots[] = {{Py_tp_new, (void*)guarded_new},         {Py_tp_dealloc, (void*)guarded_dealloc},
                               {Py_tp_traverse, (void*)guarded_traverse}, {Py_tp_clear, (void*)guarded_clear},
                               {Py_tp_call, (void*)PyVectorcall_Call},  {Py_tp_descr_get, (void*)guarded_get},
                               {Py_tp_methods, guarded_methods},        {Py_tp_getset, guarded_getset},
                               {Py_tp_members, guarded_members},        {}};
PyType_Spec guarded_spec = {"thixo._core.Guarded", sizeof(GuardedObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                Py_TPFLAGS_METHOD_DESCRIPTOR,
                            guarded_slots};
PyTypeObject* guarded_type = nullptr;

// quicken(cls): calls of a subclass that is written in Python need no tuple either. It must not have a __call__ of its own.
PyObject* quicken(PyObject*, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    if (!PyType_Check(cls) || !PyType_IsSubtype(type, guarded_type) || type->tp_call != guarded_type->tp_call)
      raise(ErrorKind::Argument, "quicken: needs a subclass of Guarded without a __call__ of its own");
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    Py_RETURN_NONE;
  });
}
PyObject* switch_on(PyObject*, PyObject* on) {
  switched_on = on == Py_True;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"quicken", quicken, METH_O, "Calls of a subclass of Guarded need no tuple."},
                           {"guards_switch", switch_on, METH_O, "Whether programs run without Python."},
                           {}};

}  // namespace

int add_guards(PyObject* module) {
  guarded_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &guarded_spec, nullptr));
  if (!guarded_type || PyModule_AddFunctions(module, functions) < 0 || add_graph_plans(module) < 0) return -1;
  return PyModule_AddObjectRef(module, "Guarded", reinterpret_cast<PyObject*>(guarded_type));
}

}  // namespace thixo
