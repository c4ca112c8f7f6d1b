// From Python arguments to slots in signature order, each checked against its kind.
#include <cstring>

#include "operator.h"

namespace thixo {

static const char* kKindText[] = {"a Tensor", "a Tensor or a number", "a list or tuple of Tensors", "an int",
                                  "an int or a sequence of ints", "a real number", "a number", "a bool", "a str",
                                  "a dtype", "a device", "a Generator", "anything"};

[[noreturn]] static void wrong(const Operator& op, const Param& p, PyObject* got) {
  std::string hint;
  if ((p.kind == Kind::Tensor || p.kind == Kind::Operand) &&
      (PyList_Check(got) || PyTuple_Check(got) || PyArray_Check(got)))
    hint = "; make one with thixo.tensor(...)";
  raise(ErrorKind::Argument, op.name + ": " + p.text + " must be " + kKindText[int(p.kind)] +
                                 (p.optional ? " or None" : "") + ", got " + type_name(got) + " " + text(got) + hint);
}

static bool is_dim(PyObject* o) {
  return known.dim && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(known.dim));
}

struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An int that 64 bits can hold, with a sign or without; a new reference.
static PyObject* in_range(PyObject* o, bool is_signed) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) {
    if (!is_signed) (void)PyLong_AsUnsignedLongLong(o);
    if (is_signed || PyErr_Occurred()) {
      PyErr_Clear();
      throw TooLarge(text(o));
    }
  }
  return Py_NewRef(o);
}

// A plain int from an int, a NumPy integer or a 0-d integer tensor; a Dim stays. Null if it is none of these.
static PyObject* integer(PyObject* o) {
  if (PyLong_CheckExact(o)) return in_range(o, true);
  if (is_dim(o)) return Py_NewRef(o);
  if (PyBool_Check(o) || PyFloat_Check(o)) return nullptr;
  if (is_tensor(o)) {
    Tensor* t = tensor_of(o);
    if (t->numel != 1 || !is_integer(t->dtype)) return nullptr;
    if (t->symbolic()) refuse_symbolic(*t, "an integer argument");
    return load_element(t->read(), t->dtype);
  }
  if (PyIndex_Check(o)) {
    PyObject* i = PyNumber_Index(o);
    if (!i) {
      PyErr_Clear();
      return nullptr;
    }
    return in_range(Object::own(i).get(), true);
  }
  return nullptr;
}

// A tuple that is what `integers` would make of it.
static bool is_plain(PyObject* o) {
  if (!PyTuple_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    PyObject* item = PyTuple_GET_ITEM(o, i);
    int overflow = 0;
    if (!PyLong_CheckExact(item)) return false;
    PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow) return false;
  }
  return true;
}

static bool is_integer_argument(PyObject* o) {
  if (PyLong_CheckExact(o)) return true;
  if (is_tensor(o)) return tensor_of(o)->numel == 1 && thixo::is_integer(tensor_of(o)->dtype);
  return !PyBool_Check(o) && (PyIndex_Check(o) || is_dim(o)) && !PyArray_Check(o);
}

static PyObject* integers(PyObject* o) {
  if (is_plain(o)) return Py_NewRef(o);
  if (PyObject* one = integer(o)) {
    PyObject* tuple = PyTuple_Pack(1, one);
    Py_DECREF(one);
    return tuple;
  }
  if (is_tensor(o) || PyUnicode_Check(o) || PyBool_Check(o)) return nullptr;
  PyObject* copy = PySequence_Check(o) ? PySequence_Tuple(o) : nullptr;  // __index__ may change a list
  if (!copy) {
    PyErr_Clear();
    return nullptr;
  }
  Object given = Object::own(copy);
  Py_ssize_t n = PyTuple_GET_SIZE(copy);
  Object tuple = Object::own(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* one = integer(PyTuple_GET_ITEM(copy, i));
    if (!one) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, one);
  }
  return tuple.give();
}

static PyObject* number(PyObject* o) {
  if (PyLong_CheckExact(o)) return in_range(o, false);
  if (PyFloat_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o) || is_dim(o)) return Py_NewRef(o);
  if (is_tensor(o)) {
    Tensor* t = tensor_of(o);
    if (t->numel != 1) return nullptr;
    if (t->symbolic()) refuse_symbolic(*t, "a number argument");
    return load_element(t->read(), t->dtype);
  }
  if (PyArray_CheckScalar(o) && !PyArray_Check(o)) {
    PyObject* item = call_python_method(o, "item");  // np.str_ and the like are scalars too
    if (item && !PyLong_Check(item) && !PyFloat_Check(item) && !PyComplex_Check(item)) Py_CLEAR(item);
    return item;
  }
  if (PyLong_Check(o)) return in_range(Object::own(PyNumber_Index(o)).get(), false);
  if (PyFloat_Check(o)) return PyFloat_FromDouble(PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o)) return PyComplex_FromCComplex(PyComplex_AsCComplex(o));
  return nullptr;
}

static PyObject* tensor_list(const Operator& op, const Param& p, PyObject* o) {
  if (is_tensor(o) || !(PyList_Check(o) || PyTuple_Check(o))) wrong(op, p, o);
  PyObject* tuple = PySequence_Tuple(o);
  if (!tuple) throw PythonError();
  Object keep = Object::own(tuple);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!is_tensor(item))
      raise(ErrorKind::Argument, op.name + ": " + p.text + " must hold Tensors, item " + std::to_string(i) +
                                     " is " + type_name(item) + " " + text(item));
  }
  return keep.give();
}

// The argument as its kind wants it; null if it is something else.
static PyObject* convert_to_kind(const Operator& op, const Param& p, PyObject* o) {
  switch (p.kind) {
    case Kind::Tensor: return is_tensor(o) ? Py_NewRef(o) : nullptr;
    case Kind::Operand: return is_tensor(o) ? Py_NewRef(o) : number(o);
    case Kind::Tensors: return tensor_list(op, p, o);
    case Kind::Int: return integer(o);
    case Kind::Ints: return integers(o);
    case Kind::Float: {
      PyObject* r = number(o);
      if (r && PyComplex_Check(r)) Py_CLEAR(r);
      return r;
    }
    case Kind::Scalar: return number(o);
    case Kind::Bool:
      if (PyBool_Check(o)) return Py_NewRef(o);
      return PyArray_IsScalar(o, Bool) ? PyBool_FromLong(PyObject_IsTrue(o)) : nullptr;
    case Kind::Str: return PyUnicode_Check(o) ? Py_NewRef(o) : nullptr;
    case Kind::DType: return Py_NewRef(dtype_object(dtype_from(o, op.name.c_str())));
    case Kind::Device:
      if (PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(known.device_class))) return Py_NewRef(o);
      return Object::own(call_python_with(known.device_class, o)).give();
    case Kind::Generator:
      return PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(known.generator_class)) ? Py_NewRef(o) : nullptr;
    case Kind::Any: return Py_NewRef(o);
  }
  return nullptr;
}

static PyObject* convert(const Operator& op, const Param& p, PyObject* o) {
  if (o == Py_None) {
    if (!p.optional && p.kind != Kind::Any) wrong(op, p, o);
    return Py_NewRef(o);
  }
  PyObject* r = nullptr;
  try {
    r = convert_to_kind(op, p, o);
  } catch (const TooLarge& e) {
    raise(ErrorKind::Value, op.name + ": " + p.text + " does not fit in 64 bits: " + e.what());
  }
  if (!r) {
    if (PyErr_Occurred()) throw PythonError();
    wrong(op, p, o);
  }
  return r;
}

static int find_param(const Operator& op, PyObject* name) {
  for (size_t i = 0; i < op.params.size(); ++i)
    if (op.params[i].name.get() == name) return int(i);
  for (size_t i = 0; i < op.params.size(); ++i)
    if (PyUnicode_Compare(op.params[i].name.get(), name) == 0) return int(i);
  // NumPy's spellings
  const char* c = PyUnicode_AsUTF8(name);
  const char* other = !c ? nullptr : !std::strcmp(c, "axis") ? "dim" : !std::strcmp(c, "keepdims") ? "keepdim" : nullptr;
  for (size_t i = 0; other && i < op.params.size(); ++i)
    if (op.params[i].text == other || (op.params[i].text == "dims" && !std::strcmp(other, "dim"))) return int(i);
  return -1;
}

static std::string usage(const Operator& op) {
  std::string s = op.name + "(";
  bool star = false;
  for (size_t i = 0; i < op.params.size(); ++i) {
    const Param& p = op.params[i];
    if (i) s += ", ";
    if (p.keyword_only && !star) {
      s += "*, ";
      star = true;
    }
    s += p.text;
    if (p.has_default) s += "=" + text(p.fallback.get());
  }
  return s + ")";
}

void bind(const Operator& op, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Slots& slots) {
  int n = slots.count;
  Py_ssize_t used = 0;
  for (int i = 0; i < n && used < nargs; ++i) {
    const Param& p = op.params[i];
    if (p.keyword_only) break;
    if (p.rest && (p.kind == Kind::Any || (p.kind == Kind::Tensors && is_tensor(args[used])))) {
      Object tuple = Object::own(PyTuple_New(nargs - used));
      for (Py_ssize_t k = used; k < nargs; ++k) PyTuple_SET_ITEM(tuple.get(), k - used, Py_NewRef(args[k]));
      slots.items[i] = p.kind == Kind::Any ? tuple.give() : convert(op, p, tuple.get());
      used = nargs;
      continue;
    }
    if (p.rest && p.kind == Kind::Ints) {  // permute(x, 2, 0, 1) and permute(x, (2, 0, 1)) mean the same
      Py_ssize_t last = used;
      while (last < nargs && is_integer_argument(args[last])) ++last;
      if (last > used) {
        Object tuple = Object::own(PyTuple_New(last - used));
        for (Py_ssize_t k = used; k < last; ++k) PyTuple_SET_ITEM(tuple.get(), k - used, Py_NewRef(args[k]));
        slots.items[i] = convert(op, p, tuple.get());
        used = last;
        continue;
      }
    }
    slots.items[i] = convert(op, p, args[used++]);
  }
  if (used < nargs)
    raise(ErrorKind::Argument, op.name + ": takes " + std::to_string(used) + " positional arguments, got " +
                                   std::to_string(nargs) + "; usage: " + usage(op));
  Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < nkw; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int i = find_param(op, name);
    if (i < 0) {
      if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && op.kind != OpKind::Inplace) {
        slots.out = Object::borrow(args[nargs + k]);
        continue;
      }
      raise(ErrorKind::Argument, op.name + ": has no parameter " + text(name) + "; usage: " + usage(op));
    }
    if (slots.items[i]) raise(ErrorKind::Argument, op.name + ": " + op.params[i].text + " was given twice");
    slots.items[i] = convert(op, op.params[i], args[nargs + k]);
  }
  for (int i = 0; i < n; ++i) {
    if (slots.items[i]) continue;
    const Param& p = op.params[i];
    if (p.has_default) slots.items[i] = Py_NewRef(p.fallback.get());
    else if (p.optional) slots.items[i] = Py_NewRef(Py_None);
    else if (p.rest) slots.items[i] = Object::own(PyTuple_New(0)).give();
    else raise(ErrorKind::Argument, op.name + ": " + p.text + " is missing; usage: " + usage(op));
  }
}

}  // namespace thixo
