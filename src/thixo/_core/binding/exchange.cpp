// Tensors and NumPy arrays over the same memory.
#include "python.h"

namespace thixo {

PyObject* to_ndarray(const Ref<Tensor>& t) {
  if (t->symbolic()) refuse_symbolic(*t, "numpy()");
  npy_intp sizes[kMaxDims], strides[kMaxDims];
  for (int i = 0; i < t->ndim(); ++i) {
    sizes[i] = t->sizes[i];
    strides[i] = t->strides[i] * item_size(t->dtype);
  }
  int flags = t->storage->writable ? NPY_ARRAY_WRITEABLE : 0;
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr_of(t->dtype), t->ndim(), sizes, strides,
                                         t->data(), flags, nullptr);
  if (!array) throw PythonError();
  // Not the tensor itself keeps the memory: that may move on to another one (resize_, data = ...).
  Ref<Tensor> kept = alias(*t);
  ++kept->storage->lent;
  kept->lends = true;
  Object owner = Object::own(wrap(kept));
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner.give()) < 0) {
    Py_DECREF(array);
    throw PythonError();
  }
  return array;
}

static bool dtype_of_array(PyArrayObject* a, DType& out) {
  PyArray_Descr* d = PyArray_DESCR(a);
  int size = int(PyArray_ITEMSIZE(a));
  auto pick = [&](std::initializer_list<DType> options) {
    for (DType t : options)
      if (item_size(t) == size) {
        out = t;
        return true;
      }
    return false;
  };
  switch (d->kind) {
    case 'b': return pick({DType::Bool});
    case 'i': return pick({DType::I8, DType::I16, DType::I32, DType::I64});
    case 'u': return pick({DType::U8, DType::U16, DType::U32, DType::U64});
    case 'f': return pick({DType::F16, DType::F32, DType::F64});
    case 'c': return pick({DType::C64, DType::C128});
  }
  if (size == 2 && !PyTypeNum_ISFLEXIBLE(d->type_num) && PyTypeNum_ISUSERDEF(d->type_num)) {
    PyArray_Descr* brain = descr_of(DType::BF16);
    bool same = d->type_num == brain->type_num;
    Py_DECREF(brain);
    if (same) {
      out = DType::BF16;
      return true;
    }
  }
  return false;
}

void free_array(Storage* s) {
  PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(s->context));
  PyGILState_Release(gil);
}

Ref<Tensor> from_ndarray(PyObject* object) {
  if (!PyArray_Check(object))
    raise(ErrorKind::Argument, "from_numpy: a numpy.ndarray is needed, got " + type_name(object));
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  DType dtype;
  if (!dtype_of_array(array, dtype))
    raise(ErrorKind::DType, "from_numpy: arrays of dtype " +
                                text(reinterpret_cast<PyObject*>(PyArray_DESCR(array))) +
                                " have no counterpart here; numbers and bool have one");
  Object keep = Object::borrow(object);
  bool swapped = PyArray_ISBYTESWAPPED(array);
  bool odd = false;
  for (int i = 0; i < PyArray_NDIM(array); ++i)
    odd = odd || PyArray_STRIDE(array, i) % item_size(dtype) != 0;
  if (swapped || odd || !PyArray_ISALIGNED(array)) {
    keep = Object::own(PyArray_NewLikeArray(array, NPY_CORDER, descr_of(dtype), 0));
    if (PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(keep.get()), array) < 0) throw PythonError();
    array = reinterpret_cast<PyArrayObject*>(keep.get());
  }
  Ref<Tensor> t = make<Tensor>();
  t->dtype = dtype;
  int ndim = PyArray_NDIM(array);
  t->sizes.resize(ndim);
  t->strides.resize(ndim);
  t->numel = PyArray_SIZE(array);
  int64_t low = 0, high = 0;
  for (int i = 0; i < ndim; ++i) {
    t->sizes[i] = PyArray_DIM(array, i);
    t->strides[i] = t->numel ? PyArray_STRIDE(array, i) / item_size(dtype) : 1;
    int64_t reach = (t->sizes[i] - 1) * t->strides[i];
    if (t->numel) (reach < 0 ? low : high) += reach;
  }
  Ref<Storage> storage = make<Storage>();
  storage->data = PyArray_BYTES(array) + low * item_size(dtype);
  storage->bytes = t->numel ? size_t(high - low + 1) * item_size(dtype) : 0;
  storage->writable = PyArray_ISWRITEABLE(array);
  storage->context = keep.give();
  storage->free = free_array;
  t->storage = storage;
  t->offset = -low;
  return t;
}

}  // namespace thixo
