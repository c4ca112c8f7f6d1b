// x[...] with integers, slices, None and Ellipsis: one view. Index tensors: index_tensors.cpp. Anything else goes to
// ops/getitem.py.
#include "index.h"

#include "profiling.h"

namespace thixo {

bool is_basic(PyObject* index) {
  if (!PyTuple_Check(index)) return is_basic_item(index);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); ++i)
    if (!is_basic_item(PyTuple_GET_ITEM(index, i))) return false;
  return true;
}

static bool plain_slice(PyObject* o) {  // sizes in it may be symbols or tensors
  auto* s = reinterpret_cast<PySliceObject*>(o);
  auto plain = [](PyObject* x) { return x == Py_None || PyLong_CheckExact(x); };
  return plain(s->start) && plain(s->stop) && plain(s->step);
}

bool basic_view(const Ref<Tensor>& t, PyObject* index, Ref<Tensor>& out, const char* operation) {
  auto lead = [operation] { return std::string(operation) + ": "; };
  PyObject* single[1] = {index};
  PyObject** items = PyTuple_Check(index) ? PySequence_Fast_ITEMS(index) : single;
  Py_ssize_t count = PyTuple_Check(index) ? PyTuple_GET_SIZE(index) : 1;
  int used = 0, ellipses = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (items[i] == Py_Ellipsis) ++ellipses;
    else if (items[i] != Py_None) ++used;
    if (PySlice_Check(items[i]) && !plain_slice(items[i])) return false;
  }
  if (ellipses > 1) raise(ErrorKind::Index, lead() + "an index can have one Ellipsis (...), this one has " + std::to_string(ellipses));
  if (used > t->ndim())
    raise(ErrorKind::Index, lead() + "too many indices: " + std::to_string(used) + " for " + describe(*t) + ", which has " +
                                std::to_string(t->ndim()) + " dimensions");
  Dims sizes, strides;
  int64_t offset = t->offset;
  int axis = 0;
  auto keep = [&] {
    sizes.push_back(t->sizes[axis]);
    strides.push_back(t->strides[axis]);
    ++axis;
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = items[i];
    if (o == Py_None) {
      sizes.push_back(1);
      strides.push_back(0);
    } else if (o == Py_Ellipsis) {
      for (int skip = t->ndim() - used; skip > 0; --skip) keep();
    } else if (PySlice_Check(o)) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(o, &start, &stop, &step) < 0) {
        PyErr_Clear();  // a step of zero: the general path says what is wrong
        return false;
      }
      if (step < 0) return false;  // a flip, which copies: no operator makes negative strides
      Py_ssize_t n = PySlice_AdjustIndices(t->sizes[axis], &start, &stop, step);
      sizes.push_back(n);
      strides.push_back(n > 1 || t->sizes[axis] > 0 ? t->strides[axis] * step : t->strides[axis]);
      if (n > 0) offset += start * t->strides[axis];
      ++axis;
    } else {
      int overflow;
      long long k = PyLong_AsLongLongAndOverflow(o, &overflow);
      int64_t n = t->sizes[axis];
      if (overflow || k < -n || k >= n)
        raise(ErrorKind::Index, lead() + text(o) + " is out of range for axis " + std::to_string(axis) + " of " +
                                    describe(*t) + ", which has size " + std::to_string(n));
      offset += (k < 0 ? k + n : k) * t->strides[axis];
      ++axis;
    }
  }
  while (axis < t->ndim()) keep();
  out = make_view(t, std::move(sizes), std::move(strides), offset);
  return true;
}

namespace {

PyObject* called(const char* name, std::initializer_list<PyObject*> args) {
  return call_python(operator_named(name), args.begin(), args.size());
}

// For the tape: x[i] and x[a:b] of the first axis are one operator each. Null if this is neither.
PyObject* recorded_view(PyObject* self, const Tensor& t, PyObject* index) {
  static PyObject* zero = PyLong_FromLong(0);
  if (t.ndim() == 0) return nullptr;
  if (PyLong_CheckExact(index)) {
    int overflow;
    const int64_t k = PyLong_AsLongLongAndOverflow(index, &overflow);
    if (overflow || k < -t.sizes[0] || k >= t.sizes[0]) return nullptr;
    return called("select", {self, zero, index});
  }
  if (!PySlice_Check(index) || !plain_slice(index)) return nullptr;
  auto* s = reinterpret_cast<PySliceObject*>(index);
  if (s->step != Py_None || (s->start == Py_None && s->stop == Py_None)) return nullptr;
  return called("slice", {self, zero, s->start, s->stop});
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    ProfiledCall profiled("getitem", self);
    Ref<Tensor> t = ref_of(self);
    bool recorded = modes.grad && is_tracked(*t);
    Ref<Tensor> view;
    if (!t->symbolic() && is_basic(index) && !recorded && basic_view(t, index, view)) {
      view->inference = view->inference || modes.inference;
      return wrap(view);
    }
    if (!t->symbolic() && !tracing) {
      if (recorded) {
        PyObject* made = recorded_view(self, *t, index);
        if (made || PyErr_Occurred()) return made;
      }
      Object found;
      if (read_by_tensors(self, index, found)) return found.give();
    }
    return call_python_with(known.getitem, self, index);
  });
}

int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  PyObject* r = guarded([&]() -> PyObject* {
    ProfiledCall profiled("setitem", self);
    if (!value) raise(ErrorKind::Argument, "elements of a tensor cannot be deleted");
    if (write_by_index(self, index, value)) return Py_NewRef(Py_None);
    return call_python_with(known.setitem, self, index, value);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}

}  // namespace thixo
