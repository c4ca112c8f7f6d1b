// Generator: a seed, how far its stream has been read, and arrays of numbers from it.
#include "../core/random.h"
#include "python.h"

namespace thixo {

namespace {

struct GeneratorObject {
  PyObject_HEAD
  uint64_t seed, offset;
};
PyTypeObject* generator_type = nullptr;
constexpr uint64_t kFirstSeed = 67280421310721ull;  // before anyone seeds

GeneratorObject* self_of(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o); }

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|O", const_cast<char**>(names), &device)) return nullptr;
  if (device && device != Py_None) {
    PyObject* checked = call_python_with(known.device_class, device);
    if (!checked) return nullptr;
    Py_DECREF(checked);
  }
  PyObject* o = type->tp_alloc(type, 0);
  if (o) self_of(o)->seed = kFirstSeed;
  return o;
}
int generator_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}
void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    if (!PyIndex_Check(seed)) raise(ErrorKind::Argument, "manual_seed: an int is needed, got " + type_name(seed) + " " + text(seed));
    Object number = Object::own(PyNumber_Index(seed));
    uint64_t value = PyLong_AsUnsignedLongLongMask(number.get());  // negative seeds wrap, as people expect
    if (value == uint64_t(-1) && PyErr_Occurred()) throw PythonError();
    self_of(self)->seed = value;
    self_of(self)->offset = 0;
    return Py_NewRef(self);
  });
}
PyObject* initial_seed(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(self_of(self)->seed); }
PyObject* get_pair(PyObject* self, PyObject*) {
  return Py_BuildValue("KK", (unsigned long long)self_of(self)->seed, (unsigned long long)self_of(self)->offset);
}
PyObject* set_pair(PyObject* self, PyObject* args) {
  unsigned long long seed, offset;
  if (!PyArg_ParseTuple(args, "KK", &seed, &offset)) return nullptr;
  self_of(self)->seed = seed;
  self_of(self)->offset = offset;
  Py_RETURN_NONE;
}

int64_t count_from(long long n) {
  if (n < 0) raise(ErrorKind::Argument, "a number of elements must not be negative, got " + std::to_string(n));
  return n;
}

// Draws into a fresh array. The place in the stream is taken first: another thread may draw meanwhile.
template <class Fill>
PyObject* draw(PyObject* self, long long n, DType dtype, Fill fill) {
  Dims sizes{count_from(n)};
  Ref<Tensor> t = empty(sizes, dtype);
  Object array = Object::own(to_ndarray(t));
  GeneratorObject* g = self_of(self);
  Philox stream{g->seed, g->offset};
  g->offset += n > 0;  // as far as each fill moves the stream
  {
    WithoutGil free(n >= kLongWork);
    fill(stream, t->data());
  }
  return array.give();
}

using FloatFill = int64_t (*)(const Philox&, DType, void*, int64_t);
template <FloatFill fill>
PyObject* draw_floats(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long n;
    int code;
    if (!PyArg_ParseTuple(args, "Li", &n, &code)) throw PythonError();
    if (code < 0 || code >= kDTypes || !is_differentiable(DType(code)))
      raise(ErrorKind::DType, "random numbers are drawn as floating-point or complex numbers");
    return draw(self, n, DType(code), [&](const Philox& s, char* p) { return fill(s, DType(code), p, n); });
  });
}
PyObject* bits64(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long n;
    if (!PyArg_ParseTuple(args, "L", &n)) throw PythonError();
    return draw(self, n, DType::U64,
                [&](const Philox& s, char* p) { return fill_bits64(s, reinterpret_cast<uint64_t*>(p), n); });
  });
}
PyObject* integers(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long n;
    PyObject *low, *high;
    if (!PyArg_ParseTuple(args, "LOO", &n, &low, &high)) throw PythonError();
    int below = 0, above = 0;
    long long first = PyLong_AsLongLongAndOverflow(low, &below), last = PyLong_AsLongLongAndOverflow(high, &above);
    if (PyErr_Occurred()) throw PythonError();
    if (below || above)
      raise(ErrorKind::Value, "random integers: low and high must fit in int64, got " + text(low) + " and " + text(high));
    return draw(self, n, DType::I64,
                [&](const Philox& s, char* p) { return fill_integers(s, DType::I64, p, n, first, last); });
  });
}
PyObject* permutation(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long n;
    if (!PyArg_ParseTuple(args, "L", &n)) throw PythonError();
    return draw(self, n, DType::I64,
                [&](const Philox& s, char* p) { return fill_permutation(s, reinterpret_cast<int64_t*>(p), n); });
  });
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "Start the stream of a seed anew; returns the generator."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed of the stream."},
    {"_get", get_pair, METH_NOARGS, "(seed, offset)"},
    {"_set", set_pair, METH_VARARGS, "_set(seed, offset)"},
    {"uniform", draw_floats<fill_uniform>, METH_VARARGS, "uniform(count, dtype_code): an array of numbers in [0, 1)."},
    {"normal", draw_floats<fill_normal>, METH_VARARGS, "normal(count, dtype_code): an array of standard normal numbers."},
    {"bits64", bits64, METH_VARARGS, "bits64(count): an array of random 64-bit words."},
    {"integers", integers, METH_VARARGS, "integers(count, low, high): an array of integers in [low, high)."},
    {"permutation", permutation, METH_VARARGS, "permutation(count): an array with 0 .. count-1 in random order."},
    {}};
PyType_Slot slots[] = {{Py_tp_new, (void*)generator_new},
                       {Py_tp_dealloc, (void*)generator_dealloc},
                       {Py_tp_traverse, (void*)generator_traverse},
                       {Py_tp_methods, methods},
                       {}};
PyType_Spec spec = {"thixo._core.Generator", sizeof(GeneratorObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

int add_random(PyObject* module) {
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!generator_type) return -1;
  known.generator_class = Py_NewRef(reinterpret_cast<PyObject*>(generator_type));
  PyObject* standard = generator_type->tp_alloc(generator_type, 0);
  if (!standard) return -1;
  self_of(standard)->seed = kFirstSeed;
  if (PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) < 0) return -1;
  return PyModule_AddObject(module, "default_generator", standard);
}

}  // namespace thixo
