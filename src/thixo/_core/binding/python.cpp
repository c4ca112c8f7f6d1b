#include "python.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "../core/half.h"
#include "../core/promotion.h"

namespace thixo {

Known known;
DType default_float = DType::F32;

void sleep_until_the_end() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void set_error(const Error& e) {
  PyObject* type = known.errors[int(e.kind)];
  if (!type) type = PyExc_RuntimeError;
  // The class adds the user's line itself, so it is called rather than filled in.
  PyObject* exception = call_python_as(type, "s", e.what());
  if (!exception) return;
  PyErr_SetObject(type, exception);
  Py_DECREF(exception);
}

void raise(ErrorKind kind, const std::string& message) { throw Error(kind, message); }

std::string text(PyObject* o) {
  PyObject* s = PyObject_Repr(o);
  if (!s) {
    PyErr_Clear();
    return "?";
  }
  const char* c = PyUnicode_AsUTF8(s);
  std::string out = c ? c : "?";
  PyErr_Clear();
  Py_DECREF(s);
  if (out.size() > 80) out = out.substr(0, 77) + "...";
  return out;
}
std::string type_name(PyObject* o) { return Py_TYPE(o)->tp_name; }

// ---- dtypes

DType dtype_from(PyObject* o, const char* op) {
  if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(known.dtype_class)) {
    for (int i = 0; i < kDTypes; ++i)
      if (known.dtypes[i] == o) return DType(i);
  }
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_float;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return to_complex(default_float);
  raise(ErrorKind::DType, std::string(op) + ": " + text(o) + " is no dtype; use for example thixo.float32");
}

PyArray_Descr* descr_of(DType t) {
  static PyArray_Descr* cache[kDTypes] = {};
  PyArray_Descr*& d = cache[code(t)];
  if (!d) {
    Object np = Object::own(PyObject_GetAttrString(dtype_object(t), "numpy"));
    if (!PyArray_DescrConverter(np.get(), &d)) throw PythonError();
  }
  Py_INCREF(d);
  return d;
}

// ---- shapes

Object dims_tuple(const Dims& d) {
  auto* type = reinterpret_cast<PyTypeObject*>(known.size);
  Object t = Object::own(type ? type->tp_alloc(type, d.size()) : PyTuple_New(d.size()));
  for (int i = 0; i < d.size(); ++i) {
    PyObject* n = PyLong_FromLongLong(d[i]);
    if (!n) throw PythonError();
    PyTuple_SET_ITEM(t.get(), i, n);
  }
  return t;
}

Object shape_tuple(const Tensor& t) {
  if (!t.symbolic()) return dims_tuple(t.sizes);
  Object type = Object::own(
      PyObject_GetAttrString(static_cast<PyExternal*>(t.value.get())->object, "type"));
  Object shape = Object::own(PyObject_GetAttrString(type.get(), "shape"));
  return Object::own(call_python_with(known.size, shape.get()));
}

Dims dims_from(PyObject* sequence, const char* what) {
  // A copy: __index__ may change a list.
  Object items = PyTuple_CheckExact(sequence) ? Object::borrow(sequence) : Object::own(PySequence_Tuple(sequence));
  Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  if (n > kMaxDims)
    raise(ErrorKind::Shape, std::string(what) + ": a tensor has at most 64 dimensions, got " + std::to_string(n));
  Dims d(static_cast<int>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    Object index = PyLong_CheckExact(item) ? Object::borrow(item) : Object::own(PyNumber_Index(item));
    int overflow = 0;
    d[int(i)] = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow) raise(ErrorKind::Shape, std::string(what) + ": size " + text(index.get()) + " does not fit in 64 bits");
    if (d[int(i)] == -1 && PyErr_Occurred()) throw PythonError();
  }
  return d;
}

// ---- numbers

bool number_from(PyObject* o, Number& n, const char* op) {
  if (PyBool_Check(o)) {
    n.category = DType::Bool;
    n.i = o == Py_True;
    n.u = n.i;
    n.c = double(n.i);
    return true;
  }
  if (PyFloat_Check(o)) {
    n.category = default_float;
    n.c = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (PyLong_Check(o)) {
    n.category = DType::I64;
    int overflow = 0;
    n.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    n.u = uint64_t(n.i);
    n.c = double(n.i);
    if (overflow) {
      n.u = PyLong_AsUnsignedLongLong(o);
      if (PyErr_Occurred()) {
        PyErr_Clear();
        raise(ErrorKind::Value, std::string(op) + ": the integer " + text(o) + " does not fit in 64 bits");
      }
      n.big = true;
      n.i = int64_t(n.u);
      n.c = double(n.u);
    }
    return true;
  }
  if (PyComplex_Check(o)) {
    n.category = to_complex(default_float);
    n.c = {PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)};
    return true;
  }
  if (PyArray_CheckScalar(o) && !PyArray_Check(o)) {  // np.float32(2) and the like count as Python numbers
    Object item = Object::own(call_python_method(o, "item"));
    if (PyLong_Check(item.get()) || PyFloat_Check(item.get()) || PyComplex_Check(item.get()))
      return number_from(item.get(), n, op);
  }
  return false;
}

template <class T>
static T as_integer(const Number& n) {
  if (n.category == DType::Bool || n.category == DType::I64) return T(n.u);
  double d = n.c.real();
  if (!(d > -9.3e18 && d < 1.9e19)) return T(d != d ? 0 : d > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
  return d < 0 ? T(int64_t(d)) : T(uint64_t(d));
}

void store_number(const Number& n, DType dtype, void* p) {
  double re = n.c.real();
  switch (dtype) {
    case DType::Bool: *static_cast<bool*>(p) = n.category == DType::I64 ? n.u != 0 : n.c != 0.0; break;
    case DType::I8: *static_cast<int8_t*>(p) = as_integer<int8_t>(n); break;
    case DType::I16: *static_cast<int16_t*>(p) = as_integer<int16_t>(n); break;
    case DType::I32: *static_cast<int32_t*>(p) = as_integer<int32_t>(n); break;
    case DType::I64: *static_cast<int64_t*>(p) = as_integer<int64_t>(n); break;
    case DType::U8: *static_cast<uint8_t*>(p) = as_integer<uint8_t>(n); break;
    case DType::U16: *static_cast<uint16_t*>(p) = as_integer<uint16_t>(n); break;
    case DType::U32: *static_cast<uint32_t*>(p) = as_integer<uint32_t>(n); break;
    case DType::U64: *static_cast<uint64_t*>(p) = as_integer<uint64_t>(n); break;
    case DType::F16: *static_cast<Half*>(p) = Half(float(re)); break;
    case DType::BF16: *static_cast<BFloat16*>(p) = BFloat16(float(re)); break;
    case DType::F32: *static_cast<float*>(p) = float(re); break;
    case DType::F64: *static_cast<double*>(p) = re; break;
    case DType::C64: *static_cast<std::complex<float>*>(p) = std::complex<float>(n.c); break;
    case DType::C128: *static_cast<std::complex<double>*>(p) = n.c; break;
  }
}

PyObject* load_element(const void* p, DType dtype) {
  switch (dtype) {
    case DType::Bool: return PyBool_FromLong(*static_cast<const bool*>(p));
    case DType::I8: return PyLong_FromLong(*static_cast<const int8_t*>(p));
    case DType::I16: return PyLong_FromLong(*static_cast<const int16_t*>(p));
    case DType::I32: return PyLong_FromLong(*static_cast<const int32_t*>(p));
    case DType::I64: return PyLong_FromLongLong(*static_cast<const int64_t*>(p));
    case DType::U8: return PyLong_FromLong(*static_cast<const uint8_t*>(p));
    case DType::U16: return PyLong_FromLong(*static_cast<const uint16_t*>(p));
    case DType::U32: return PyLong_FromUnsignedLong(*static_cast<const uint32_t*>(p));
    case DType::U64: return PyLong_FromUnsignedLongLong(*static_cast<const uint64_t*>(p));
    case DType::F16: return PyFloat_FromDouble(float(*static_cast<const Half*>(p)));
    case DType::BF16: return PyFloat_FromDouble(float(*static_cast<const BFloat16*>(p)));
    case DType::F32: return PyFloat_FromDouble(*static_cast<const float*>(p));
    case DType::F64: return PyFloat_FromDouble(*static_cast<const double*>(p));
    case DType::C64: {
      auto c = *static_cast<const std::complex<float>*>(p);
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
    case DType::C128: {
      auto c = *static_cast<const std::complex<double>*>(p);
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
  }
  return nullptr;
}

void refuse_symbolic(const Tensor& t, const char* what) {
  if (known.concretize) {
    Object shape = shape_tuple(t);
    Object r = Object::own(call_python_as(known.concretize, "sOO", what, dtype_object(t.dtype), shape.get()));
  }
  raise(ErrorKind::Internal, std::string(what) + ": the value of a traced tensor is not known");
}

}  // namespace thixo
