// The dtype of a result from the dtypes of its operands: PyTorch's rule with three priorities.
#pragma once
#include "dtype.h"

namespace thixo {

extern DType default_float;

// Tensors with dimensions decide; 0-d tensors and Python numbers only by their category.
class Promotion {
  bool has_[3] = {false, false, false};
  DType type_[3] = {};

  static int category(DType t) {
    return is_complex(t) ? 3 : is_floating(t) ? 2 : is_integer(t) ? 1 : 0;
  }
  static DType combine(bool has_high, DType high, bool has_low, DType low) {
    if (!has_high) return low;
    if (!has_low || category(low) <= category(high)) return high;
    if (is_complex(low) && is_floating(high)) return to_complex(high);
    return promote(high, low);
  }

 public:
  void tensor(DType t, int ndim) { add(ndim > 0 ? 0 : 1, t); }
  void number(DType t) { add(2, t); }
  void add(int priority, DType t) {
    type_[priority] = has_[priority] ? promote(type_[priority], t) : t;
    has_[priority] = true;
  }
  DType result() const {
    bool low = has_[1] || has_[2];
    DType lower = combine(has_[1], type_[1], has_[2], type_[2]);
    return combine(has_[0], type_[0], low, lower);
  }
};

}  // namespace thixo
