// What the native paths of operators that move data share. Whatever does not fit is left to the declaration (they return
// false), which says what is wrong.
#pragma once
#include "../core/gather.h"
#include "../core/mask.h"
#include "../core/move.h"
#include "../core/scatter.h"
#include "operator.h"

namespace thixo {

// The axis of a number, counted from the front; false if there is none. A 0-d tensor counts as having one axis.
inline bool find_axis(PyObject* dim, int ndim, int& axis) {
  if (!PyLong_CheckExact(dim)) return false;
  int overflow = 0;
  const int64_t d = PyLong_AsLongLongAndOverflow(dim, &overflow);
  const int n = ndim ? ndim : 1;
  if (overflow || d < -n || d >= n) return false;
  axis = int(d < 0 ? d + n : d);
  return true;
}
inline bool find_int(PyObject* o, int64_t& value) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow;
}

// Indices as int64, one after the other.
inline Ref<Tensor> index_line(const Ref<Tensor>& index) {
  return index->dtype == DType::I64 && index->is_contiguous() ? pinned(index) : contiguous_copy(*index, DType::I64);
}
// ... as int64, in their own shape and strides.
inline Ref<Tensor> index_array(const Ref<Tensor>& index) {
  return index->dtype == DType::I64 ? pinned(index) : contiguous_copy(*index, DType::I64);
}

inline bool is_long(int64_t elements) { return elements >= kLongWork; }

// A tensor's Array with a 0-d one as a vector of one element.
struct Shaped {
  Dims sizes, strides;
  Array array;
  explicit Shaped(const Tensor& t) : sizes(t.sizes), strides(t.strides) {
    if (t.ndim() == 0) {
      sizes.push_back(1);
      strides.push_back(1);
    }
    for (int64_t& s : strides) s *= item_size(t.dtype);
    array = {t.data(), t.dtype, sizes.size(), sizes.data(), strides.data()};
  }
  Shaped(const Shaped&) = delete;
};

// The axes of `t` in [from, to), in bytes.
inline Axes axes_of(const Tensor& t, int from, int to) {
  Axes axes;
  for (int d = from; d < to; ++d) axes.add(t.sizes[d], t.strides[d] * item_size(t.dtype));
  return axes;
}

// x's elements at places on the axes [first, first + indices), whose index tensors have the shape `joint` (contiguous
// int64). Null if an index is out of range.
Ref<Tensor> take_places(const Ref<Tensor>& x, int first, const SmallVector<Ref<Tensor>, 2>& indices, const Dims& joint,
                        bool negative);
// Index tensors broadcast to one shape as contiguous int64; false if they do not fit together or hold no integers.
bool join_indices(PyObject* tuple, SmallVector<Ref<Tensor>, 2>& lines, Dims& joint);

// The blocks of x that a mask on its first axes holds for; the sizes must fit. Null if the mask changed meanwhile.
Ref<Tensor> take_masked(const Ref<Tensor>& x, const Ref<Tensor>& mask);

Ref<Tensor> zeros_of(const Dims& sizes, DType dtype);  // by several threads, where that pays

NativeCall find_native_gather(const std::string& name);
NativeCall find_native_scatter(const std::string& name);
NativeCall find_native_order(const std::string& name);

}  // namespace thixo
