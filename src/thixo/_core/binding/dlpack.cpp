#include "dlpack.h"

#include "python.h"

namespace thixo {

using namespace dlpack;

namespace {

DataType data_type(DType t) {
  uint8_t bits = uint8_t(item_size(t) * 8);
  uint8_t code = is_bool(t) ? Bool : t == DType::BF16 ? Bfloat : is_complex(t) ? Complex : is_floating(t) ? Float
                 : is_unsigned(t) ? UInt : Int;
  return {code, bits, 1};
}

bool dtype_from(DataType d, DType& out) {
  if (d.lanes != 1) return false;
  for (int i = 0; i < kDTypes; ++i) {
    DataType own = data_type(DType(i));
    if (own.code == d.code && own.bits == d.bits) {
      out = DType(i);
      return true;
    }
  }
  return false;
}

struct Lent {  // keeps what a consumer may still look at
  Ref<Tensor> tensor;
  Dims shape, strides;
};

template <class M>
M* lend(const Ref<Tensor>& t) {
  auto* lent = new Lent{alias(*t), t->sizes, t->strides};  // an alias: t itself may move on to other memory
  ++lent->tensor->storage->lent;
  lent->tensor->lends = true;
  auto* m = new M();
  m->tensor = {t->numel ? t->data() : nullptr, {1, 0}, t->ndim(), data_type(t->dtype), lent->shape.data(),
               lent->strides.data(), 0};
  m->context = lent;
  m->deleter = [](M* self) {
    PyGILState_STATE gil = PyGILState_Ensure();
    delete static_cast<Lent*>(self->context);
    delete self;
    PyGILState_Release(gil);
  };
  return m;
}

template <class M>
void drop(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // a consumer has taken it and renamed the capsule
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}

// A tensor over memory that somebody else lends us; given back when the last tensor on it dies.
template <class M>
Ref<Tensor> borrow(M* m, bool writable) {
  const TensorView& d = m->tensor;
  DType dtype;
  if (d.device.type != 1)
    raise(ErrorKind::Device, "from_dlpack: the memory is on device type " + std::to_string(d.device.type) +
                                 "; only the CPU (1) is served");
  if (!dtype_from(d.dtype, dtype))
    raise(ErrorKind::DType, "from_dlpack: elements of type code " + std::to_string(d.dtype.code) + " with " +
                                std::to_string(d.dtype.bits) + " bits and " + std::to_string(d.dtype.lanes) +
                                " lanes have no counterpart here");
  if (d.ndim < 0 || d.ndim > kMaxDims || (d.ndim && !d.shape))
    raise(ErrorKind::Shape, "from_dlpack: the capsule describes " + std::to_string(d.ndim) + " dimensions");
  Dims sizes(d.shape, d.ndim);
  Ref<Tensor> t = make<Tensor>();
  t->dtype = dtype;
  t->numel = checked_numel(sizes, dtype, "from_dlpack");
  t->strides = d.strides ? Dims(d.strides, d.ndim) : contiguous_strides(sizes);
  t->sizes = sizes;
  int64_t low = 0, high = 0;
  for (int i = 0; t->numel && i < d.ndim; ++i) {
    int64_t reach = (sizes[i] - 1) * t->strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (t->numel && !d.data) raise(ErrorKind::Argument, "from_dlpack: the capsule has elements but no memory");
  char* first = static_cast<char*>(d.data) + d.byte_offset;
  int alignment = item_size(dtype) / (is_complex(dtype) ? 2 : 1);
  if (t->numel && reinterpret_cast<uintptr_t>(first) % alignment)
    raise(ErrorKind::Argument, "from_dlpack: the elements, of " + std::to_string(alignment) +
                                   " bytes, do not begin at a multiple of that; lend a copy");
  Ref<Storage> s = make<Storage>();
  s->data = first + low * item_size(dtype);
  s->bytes = t->numel ? size_t(high - low + 1) * item_size(dtype) : 0;
  s->writable = writable;
  s->context = m;
  s->free = [](Storage* self) {
    auto* lent = static_cast<M*>(self->context);
    if (lent->deleter) lent->deleter(lent);
  };
  t->storage = s;
  t->offset = -low;
  return t;
}

}  // namespace

PyObject* to_dlpack(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* tensor;
    int versioned;
    if (!PyArg_ParseTuple(args, "O!p", tensor_type, &tensor, &versioned)) throw PythonError();
    Ref<Tensor> t = ref_of(tensor);
    if (t->symbolic()) refuse_symbolic(*t, "__dlpack__");
    if (!versioned) {
      if (!t->storage->writable)
        raise(ErrorKind::Argument, "__dlpack__: read-only memory needs a consumer of DLPack 1.0 or later");
      return PyCapsule_New(lend<Managed>(t), "dltensor", [](PyObject* c) { drop<Managed>(c, "dltensor"); });
    }
    auto* m = lend<ManagedVersioned>(t);
    m->version = {1, 0};
    m->flags = t->storage->writable ? 0 : 1;
    return PyCapsule_New(m, "dltensor_versioned", [](PyObject* c) { drop<ManagedVersioned>(c, "dltensor_versioned"); });
  });
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
      auto* m = static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      if (m->version.major != 1)
        raise(ErrorKind::Argument, "from_dlpack: version " + std::to_string(m->version.major) + " of DLPack is not known here");
      Ref<Tensor> t = borrow(m, !(m->flags & 1));
      PyCapsule_SetName(capsule, "used_dltensor_versioned");
      return wrap(t);
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
      Ref<Tensor> t = borrow(static_cast<Managed*>(PyCapsule_GetPointer(capsule, "dltensor")), true);
      PyCapsule_SetName(capsule, "used_dltensor");
      return wrap(t);
    }
    if (PyCapsule_IsValid(capsule, "used_dltensor") || PyCapsule_IsValid(capsule, "used_dltensor_versioned"))
      raise(ErrorKind::Argument, "from_dlpack: this capsule was already used; a capsule can be taken once");
    raise(ErrorKind::Argument, "from_dlpack: __dlpack__ must return a DLPack capsule, got " + type_name(capsule));
  });
}

}  // namespace thixo
