// What Python's own syntax does with tensors: operators, comparisons, truth, len(), iteration, buffers.
#include <cstring>

#include "operator.h"
#include "tensor_object.h"

namespace thixo {

// ---- Python's operators

enum Slot { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, And, Or, Xor, LShift, RShift, Neg, Pos, Abs, Invert,
            Lt, Le, Eq, Ne, Gt, Ge, IAdd, ISub, IMul, IDiv, IFloorDiv, IMod, IPow, IAnd, IOr, IXor, ILShift, IRShift, kSlots };
static const char* slot_names[kSlots] = {
    "add", "sub", "mul", "true_divide", "floor_divide", "remainder", "pow", "matmul", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "neg", "positive", "abs", "bitwise_not", "lt", "le",
    "eq", "ne", "gt", "ge", "add_", "sub_", "mul_", "true_divide_", "floor_divide_", "remainder_", "pow_", "bitwise_and_",
    "bitwise_or_", "bitwise_xor_", "bitwise_left_shift_", "bitwise_right_shift_"};
static PyObject* slot_operators[kSlots];

static PyObject* slot_operator(Slot s) {
  if (!slot_operators[s]) slot_operators[s] = operator_named(slot_names[s]);
  return slot_operators[s];
}

static bool is_operand(PyObject* o) {
  return is_tensor(o) || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || PyArray_IsScalar(o, Generic) ||
         (known.dim && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(known.dim)));
}

PyObject* call_binary(PyObject* op_object, PyObject* a, PyObject* b) {
  const Operator& op = operator_of(op_object);
  PyObject* args[2] = {a, b};
  bool plain = op.params.size() >= 2 && op.kind != OpKind::Composite && is_tensor(a) &&
               (is_tensor(b) || PyFloat_CheckExact(b) || PyLong_CheckExact(b)) &&
               (op.params[1].kind == Kind::Operand || (op.params[1].kind == Kind::Tensor && is_tensor(b)));
  if (!plain) return call_python(op_object, args, 2);
  PyObject* slots[kMaxParams];  // the caller holds its operands, and the operator its defaults
  slots[0] = a;
  slots[1] = b;
  for (size_t i = 2; i < op.params.size(); ++i) slots[i] = op.params[i].fallback.get();
  return dispatch(op, slots);
}

// A NumPy array meets a tensor as a tensor: NumPy itself would drop the gradient, or compare identities.
static PyObject* call_with_arrays(Slot s, PyObject* a, PyObject* b) {
  auto known_operand = [](PyObject* o) { return is_operand(o) || PyArray_Check(o); };
  return guarded([&]() -> PyObject* {
    if (!known_operand(a) || !known_operand(b)) {
      // Some other class may know what to do with a tensor; Python's own containers and strings never do.
      PyObject* other = is_tensor(a) ? b : a;
      bool hopeless = other == Py_None || PyUnicode_Check(other) || PyBytes_Check(other) || PyDict_Check(other) ||
                      PyAnySet_Check(other) || PyList_Check(other) || PyTuple_Check(other);
      if (!hopeless || s == Eq || s == Ne || other == a) Py_RETURN_NOTIMPLEMENTED;
      raise(ErrorKind::Argument, std::string(slot_names[s]) + ": a Tensor or a number is needed beside " +
                                     describe(*tensor_of(a)) + ", got " + type_name(other) + " " + text(other) +
                                     (PyList_Check(other) || PyTuple_Check(other) ? "; make one with thixo.tensor(...)" : ""));
    }
    auto converted = [](PyObject* o) {
      return PyArray_Check(o) ? Object::own(wrap(from_ndarray(o))) : Object::borrow(o);
    };
    Object left = converted(a), right = converted(b);
    return call_binary(slot_operator(s), left.get(), right.get());
  });
}

template <Slot s>
static PyObject* binary(PyObject* a, PyObject* b) {
  if (!is_operand(a) || !is_operand(b)) return call_with_arrays(s, a, b);
  return guarded([&] { return call_binary(slot_operator(s), a, b); });
}
template <Slot s>
static PyObject* unary(PyObject* a) {
  return guarded([&] { return call_python_with(slot_operator(s), a); });
}
template <Slot s>
static PyObject* power(PyObject* a, PyObject* b, PyObject*) {
  return binary<s>(a, b);
}
static PyObject* compare(PyObject* a, PyObject* b, int how) {
  static const Slot by_how[] = {Lt, Le, Eq, Ne, Gt, Ge};
  if (!is_operand(b)) return call_with_arrays(by_how[how], a, b);
  return guarded([&] { return call_binary(slot_operator(by_how[how]), a, b); });
}
static Py_hash_t hash(PyObject* self) { return _Py_HashPointer(self); }

static Object scalar(PyObject* self, const char* what) {
  Tensor& t = *tensor_of(self);
  if (t.symbolic()) refuse_symbolic(t, what);
  if (t.numel != 1)
    raise(ErrorKind::Shape, std::string(what) + ": only a tensor with one element has a single value, this is " + describe(t));
  return Object::own(load_element(t.read(), t.dtype));
}
static int truth(PyObject* self) {
  PyObject* r = guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (!t.symbolic() && t.numel != 1)
      raise(ErrorKind::Shape, "bool: the truth of a tensor with " + std::to_string(t.numel) +
                                  " elements is ambiguous: " + describe(t) + "; use any() or all()");
    return scalar(self, "bool").give();
  });
  if (!r) return -1;
  int v = PyObject_IsTrue(r);
  Py_DECREF(r);
  return v;
}
static Object real_scalar(PyObject* self, const char* what) {
  Tensor& t = *tensor_of(self);
  if (is_complex(t.dtype))
    raise(ErrorKind::DType, std::string(what) + ": a complex number is no " + what + ": this is " + describe(t) + "; use complex(), or its real part");
  return scalar(self, what);
}
static PyObject* as_int(PyObject* self) { return guarded([&] { return PyNumber_Long(real_scalar(self, "int").get()); }); }
static PyObject* as_float(PyObject* self) { return guarded([&] { return PyNumber_Float(real_scalar(self, "float").get()); }); }
static PyObject* as_index(PyObject* self) {
  return guarded([&] {
    Tensor& t = *tensor_of(self);
    if (!is_integer(t.dtype) && t.dtype != DType::Bool)
      raise(ErrorKind::DType, "index: only integer tensors can be used as an index, this is " + describe(t));
    return PyNumber_Index(scalar(self, "index").get());
  });
}
static Py_ssize_t length(PyObject* self) {
  PyObject* r = guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (t.ndim() == 0) raise(ErrorKind::Argument, "len: a 0-d tensor has no length");
    if (t.symbolic()) return Py_NewRef(PyTuple_GET_ITEM(shape_tuple(t).get(), 0));
    return PyLong_FromLongLong(t.sizes[0]);
  });
  if (!r) return -1;
  Py_ssize_t n = PyNumber_AsSsize_t(r, PyExc_OverflowError);
  Py_DECREF(r);
  return n;
}

static PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    Tensor& t = *tensor_of(self);
    if (t.ndim() == 0) raise(ErrorKind::Argument, "iter: a 0-d tensor cannot be iterated over");
    Object rows = Object::own(call_python_with(operator_named("unbind"), self));
    return PyObject_GetIter(rows.get());
  });
}

// ---- buffer protocol: memoryview(t), np.frombuffer(t)

static const char* kFormat[kDTypes] = {"?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", nullptr, "f", "d", "Zf", "Zd"};
struct LentBuffer {  // what a buffer's user may still look at when the tensor has moved on (resize_, data = ...)
  Ref<Storage> storage;
  ~LentBuffer() { --storage->lent; }
  Py_ssize_t sizes[kMaxDims], strides[kMaxDims];
};
static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  Tensor& t = *tensor_of(self);
  if (t.symbolic() || !kFormat[code(t.dtype)]) {
    PyErr_Format(PyExc_BufferError, "a %s tensor has no buffer format", t.symbolic() ? "traced" : short_name(t.dtype));
    return -1;
  }
  if (t.requires_grad()) {  // NumPy then asks __array__, which says what to do
    PyErr_SetString(PyExc_BufferError, "this tensor requires grad, and a buffer carries no gradient; use detach()");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !t.storage->writable) {
    PyErr_SetString(PyExc_BufferError, "this tensor looks at read-only memory");
    return -1;
  }
  bool in_order = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS ||
                  (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
  bool in_columns = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && t.ndim() > 1;
  if ((in_order && !t.is_contiguous()) || in_columns) {
    PyErr_SetString(PyExc_BufferError, "this tensor does not lie in memory in the order asked for; ask for strides, or "
                                       "call contiguous()");
    return -1;
  }
  auto* lent = new (std::nothrow) LentBuffer();
  if (!lent) {
    PyErr_NoMemory();
    return -1;
  }
  lent->storage = t.storage;
  ++lent->storage->lent;
  for (int i = 0; i < t.ndim(); ++i) {
    lent->sizes[i] = t.sizes[i];
    lent->strides[i] = t.strides[i] * item_size(t.dtype);
  }
  *view = {t.data(), Py_NewRef(self), t.numel * item_size(t.dtype), item_size(t.dtype), !t.storage->writable, t.ndim(),
           (flags & PyBUF_FORMAT) ? const_cast<char*>(kFormat[code(t.dtype)]) : nullptr,
           (flags & PyBUF_ND) ? lent->sizes : nullptr, (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? lent->strides : nullptr,
           nullptr, lent};
  return 0;
}
static void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<LentBuffer*>(view->internal); }

static const PyType_Slot protocol_slots[] = {
    {Py_tp_richcompare, (void*)compare},
    {Py_tp_hash, (void*)hash},
    {Py_tp_iter, (void*)iterate},
    {Py_nb_add, (void*)binary<Add>},
    {Py_nb_subtract, (void*)binary<Sub>},
    {Py_nb_multiply, (void*)binary<Mul>},
    {Py_nb_true_divide, (void*)binary<Div>},
    {Py_nb_floor_divide, (void*)binary<FloorDiv>},
    {Py_nb_remainder, (void*)binary<Mod>},
    {Py_nb_power, (void*)power<Pow>},
    {Py_nb_matrix_multiply, (void*)binary<MatMul>},
    {Py_nb_and, (void*)binary<And>},
    {Py_nb_or, (void*)binary<Or>},
    {Py_nb_xor, (void*)binary<Xor>},
    {Py_nb_lshift, (void*)binary<LShift>},
    {Py_nb_rshift, (void*)binary<RShift>},
    {Py_nb_negative, (void*)unary<Neg>},
    {Py_nb_positive, (void*)unary<Pos>},
    {Py_nb_absolute, (void*)unary<Abs>},
    {Py_nb_invert, (void*)unary<Invert>},
    {Py_nb_inplace_add, (void*)binary<IAdd>},
    {Py_nb_inplace_subtract, (void*)binary<ISub>},
    {Py_nb_inplace_multiply, (void*)binary<IMul>},
    {Py_nb_inplace_true_divide, (void*)binary<IDiv>},
    {Py_nb_inplace_floor_divide, (void*)binary<IFloorDiv>},
    {Py_nb_inplace_remainder, (void*)binary<IMod>},
    {Py_nb_inplace_power, (void*)power<IPow>},
    {Py_nb_inplace_and, (void*)binary<IAnd>},
    {Py_nb_inplace_or, (void*)binary<IOr>},
    {Py_nb_inplace_xor, (void*)binary<IXor>},
    {Py_nb_inplace_lshift, (void*)binary<ILShift>},
    {Py_nb_inplace_rshift, (void*)binary<IRShift>},
    {Py_nb_bool, (void*)truth},
    {Py_nb_int, (void*)as_int},
    {Py_nb_float, (void*)as_float},
    {Py_nb_index, (void*)as_index},
    {Py_mp_length, (void*)length},
    {Py_mp_subscript, (void*)subscript},
    {Py_mp_ass_subscript, (void*)assign_subscript},
    {Py_bf_getbuffer, (void*)get_buffer},
    {Py_bf_releasebuffer, (void*)release_buffer},
};

void append_protocols(std::vector<PyType_Slot>& slots) {
  slots.insert(slots.end(), std::begin(protocol_slots), std::end(protocol_slots));
}

}  // namespace thixo
