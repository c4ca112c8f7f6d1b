// What every file of the binding shares: owned references, exceptions, the Tensor object.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL thixo_numpy
#ifndef THIXO_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "../core/engine.h"
#include "../core/small_vector.h"
#include "../core/tape.h"
#include "../core/tensor.h"

namespace thixo {

struct PythonError {};  // a Python exception is set; unwind to the border

// When the process ends, Python ends every other thread where it waits for the lock, by unwinding its stack. Our
// frames must not be unwound like that: what they own would be dropped without the lock. Such a thread sleeps until
// the process is gone.
[[noreturn]] void sleep_until_the_end() noexcept;
template <class F>
auto entering_python(F&& call) {
  try {
    return call();
  } catch (const PythonError&) {
    throw;
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    sleep_until_the_end();
  }
}
// Python code is called through these alone. Each returns a new reference, or null with an exception set.
inline PyObject* call_python(PyObject* function, PyObject* const* args, size_t count, PyObject* names = nullptr) {
  return entering_python([&] { return PyObject_Vectorcall(function, args, count, names); });
}
template <class... Objects>
PyObject* call_python_with(PyObject* function, Objects*... objects) {
  PyObject* args[] = {nullptr, objects...};  // the first place is for the function to use
  return call_python(function, args + 1, sizeof...(objects) | PY_VECTORCALL_ARGUMENTS_OFFSET);
}
inline PyObject* call_python_tuple(PyObject* function, PyObject* args, PyObject* named) {
  return entering_python([&] { return PyObject_Call(function, args, named); });
}
// With values that a format describes, as Py_BuildValue has it.
template <class... Values>
PyObject* call_python_as(PyObject* function, const char* format, Values... values) {
  return entering_python([&] { return PyObject_CallFunction(function, format, values...); });
}
template <class... Values>
PyObject* call_python_method(PyObject* object, const char* name, const char* format = nullptr, Values... values) {
  return entering_python([&] { return PyObject_CallMethod(object, name, format, values...); });
}

// An owned reference.
class Object {
  PyObject* p_ = nullptr;

 public:
  Object() = default;
  Object(Object&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Object(const Object& o) : p_(o.p_) { Py_XINCREF(p_); }
  Object& operator=(Object o) noexcept { std::swap(p_, o.p_); return *this; }
  ~Object() { Py_XDECREF(p_); }
  static Object own(PyObject* p) {  // takes over a new reference; null means an exception
    if (!p) throw PythonError();
    Object o;
    o.p_ = p;
    return o;
  }
  static Object borrow(PyObject* p) { Py_XINCREF(p); Object o; o.p_ = p; return o; }
  PyObject* get() const { return p_; }
  PyObject* give() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }
};

struct PyExternal final : External {
  PyObject* object;
  explicit PyExternal(PyObject* o) : object(Py_NewRef(o)) {}
  ~PyExternal() override { Py_DECREF(object); }
};

struct TensorObject {
  PyObject_HEAD
  Tensor* tensor;  // owned
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* tensor_type;
extern PyTypeObject* operator_type;

// Python objects the core needs, handed over once by `configure` (see module.cpp).
struct Known {
  PyObject* errors[10] = {};      // by ErrorKind
  PyObject* dtypes[kDTypes] = {};
  PyObject* dtype_class = nullptr;
  PyObject* spec = nullptr;      // ops.base.Spec
  PyObject* size = nullptr;      // tuple subclass of shapes
  PyObject* dim = nullptr;       // shape.Dim
  PyObject* device = nullptr;    // the CPU device object
  PyObject* device_class = nullptr;
  PyObject* generator_class = nullptr;
  PyObject* load = nullptr;      // full name -> Operator
  PyObject* getitem = nullptr;   // advanced indexing
  PyObject* setitem = nullptr;
  PyObject* trace = nullptr;     // see trace hooks in operator.h
  PyObject* trace_inplace = nullptr;
  PyObject* trace_constant = nullptr;
  PyObject* concretize = nullptr;
  PyObject* match_symbolic = nullptr;
  PyObject* run_kernel = nullptr;  // (kernel, arrays...) -> arrays
  PyObject* run_scalar = nullptr;  // (scalar function, arrays...) -> array
  PyObject* find_kernel = nullptr;  // (declaration, dtype, states, arguments) -> see pointwise.cpp
  PyObject* find_rule = nullptr;    // (declaration, active, needed, arguments) -> see fused_rules.cpp
  PyObject* find_summed_rule = nullptr;  // the same, views, summed: see summed_rules.cpp
  PyObject* lazy_can = nullptr;    // (declaration) -> see Operator::lazily
  PyObject* lazy_run = nullptr;    // (records) -> whether it has run them
  PyObject* lazy_error = nullptr;  // (error, line that recorded, line that looked) -> error
  PyObject* lead_error = nullptr;  // (error, name the user wrote, name, full name) -> error
  std::string package;           // folder of the package: frames in it are not the user's
};
extern Known known;

// Tensor and its subclasses are heap types; numbers, None and tuples are not, and need no search.
inline bool is_tensor(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return type == tensor_type || ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && PyType_IsSubtype(type, tensor_type));
}
inline Tensor* tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
inline Ref<Tensor> ref_of(PyObject* o) { return Ref<Tensor>(tensor_of(o)); }
PyObject* wrap(Ref<Tensor> t);  // new reference; the same object for the same tensor
PyObject* wrap_as(PyTypeObject* type, Ref<Tensor> t);

inline PyObject* dtype_object(DType t) { return known.dtypes[code(t)]; }
DType dtype_from(PyObject* o, const char* op);  // DType object, Python type or NumPy dtype

void set_error(const Error& e);
[[noreturn]] void raise(ErrorKind kind, const std::string& message);
std::string text(PyObject* o);       // str(o), for messages
std::string type_name(PyObject* o);  // its type's name

// Runs a body at the border: C++ exceptions become Python ones.
template <class F>
PyObject* guarded(F&& body) {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const Error& e) {
    set_error(e);
  } catch (const std::bad_alloc&) {
    set_error(Error(ErrorKind::Memory, "no memory is left for what the core keeps itself"));
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

// ---- shapes and numbers
Object shape_tuple(const Tensor& t);  // symbolic sizes included
Object dims_tuple(const Dims& d);
Dims dims_from(PyObject* sequence, const char* what);
struct Number {
  DType category = DType::F32;  // Bool, I64, default float or its complex
  int64_t i = 0;
  uint64_t u = 0;
  bool big = false;  // an int beyond int64, kept in u
  std::complex<double> c = 0;
};
bool number_from(PyObject* o, Number& n, const char* op = "number");  // false if it is no number
void store_number(const Number& n, DType dtype, void* element);
PyObject* load_element(const void* element, DType dtype);

// ---- source lines
Source current_source();
std::string source_text(const Source& s);

// ---- NumPy
PyObject* to_ndarray(const Ref<Tensor>& t);  // shares memory
Ref<Tensor> from_ndarray(PyObject* array);   // shares memory
void free_array(Storage* s);                 // how such memory is given back
PyArray_Descr* descr_of(DType t);            // new reference

// ---- GIL
struct WithoutGil {
  PyThreadState* state;
  explicit WithoutGil(bool go) : state(go ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state) entering_python([&] { PyEval_RestoreThread(state); });
  }
};
constexpr int64_t kLongWork = 1 << 15;  // elements from which a kernel runs without the GIL
// What such a kernel works on: another thread may meanwhile give the tensor other memory or another shape (resize_,
// data = ...), but not its alias.
inline Ref<Tensor> pinned(const Ref<Tensor>& t) { return t->numel >= kLongWork ? alias(*t) : t; }

[[noreturn]] void refuse_symbolic(const Tensor& t, const char* what);

}  // namespace thixo
