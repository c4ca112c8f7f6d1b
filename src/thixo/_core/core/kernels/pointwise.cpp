// The pointwise loops that must exist before any kernel is compiled: arithmetic, and tanh of complex numbers.
#include <cstring>

#include "../kernels.h"
#include "tanh.h"
#include "types.h"

namespace thixo {
namespace {

// Integers add and multiply as unsigned numbers of at least 32 bits: wrapping, never overflowing.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

struct Add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (kIsBool<T>) {
      return Boolean{static_cast<uint8_t>((a.byte | b.byte) != 0)};
    } else if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) + static_cast<float>(b));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else if constexpr (kIsComplex<T>) {
      return T(a.real() + b.real(), a.imag() + b.imag());
    } else {
      return a + b;
    }
  }
};

struct Sub {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) - static_cast<float>(b));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    } else {
      return a - b;
    }
  }
};

struct Divide {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) / static_cast<float>(b));
    } else {
      return a / b;
    }
  }
};

struct Neg {
  template <class T>
  static T apply(T a) {
    if constexpr (kIsHalf<T>) {
      return T(-static_cast<float>(a));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
    } else {
      return -a;
    }
  }
};

struct Mul {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (kIsBool<T>) {
      return Boolean{static_cast<uint8_t>((a.byte != 0) & (b.byte != 0))};
    } else if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) * static_cast<float>(b));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else if constexpr (kIsComplex<T>) {
      // the schoolbook formula, as NumPy computes it; no repair of infinities
      return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    } else {
      return a * b;
    }
  }
};

struct Tanh {
  template <class T>
  static T apply(T x) {
    return tanh_of(x);
  }
};

template <class T, class Op>
void binary_loop(char* const* pointers, const int64_t* strides, int64_t n) {
  constexpr int64_t size = sizeof(T);
  const char *a = pointers[0], *b = pointers[1];
  char* r = pointers[2];
  const int64_t da = strides[0], db = strides[1], dr = strides[2];
  if (dr == size && aligned<T>(a, b, r)) {
    const T* x = reinterpret_cast<const T*>(a);
    const T* y = reinterpret_cast<const T*>(b);
    T* z = reinterpret_cast<T*>(r);
    if (da == size && db == size) {
      THIXO_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(x[i], y[i]);
      return;
    }
    if (da == size && db == 0) {
      const T fixed = *y;
      THIXO_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(x[i], fixed);
      return;
    }
    if (da == 0 && db == size) {
      const T fixed = *x;
      THIXO_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(fixed, y[i]);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    store(r, Op::apply(load<T>(a), load<T>(b)));
    a += da;
    b += db;
    r += dr;
  }
}

template <class T, class Op>
void unary_loop(char* const* pointers, const int64_t* strides, int64_t n) {
  constexpr int64_t size = sizeof(T);
  const char* a = pointers[0];
  char* r = pointers[1];
  const int64_t da = strides[0], dr = strides[1];
  if (da == size && dr == size && aligned<T>(a, r)) {
    const T* x = reinterpret_cast<const T*>(a);
    T* z = reinterpret_cast<T*>(r);
    THIXO_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(x[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    store(r, Op::apply(load<T>(a)));
    a += da;
    r += dr;
  }
}

struct FindSub {
  template <class T>
  Loop operator()() const {
    if constexpr (kIsBool<T>) return nullptr;
    else return binary_loop<T, Sub>;
  }
};
struct FindNeg {
  template <class T>
  Loop operator()() const {
    if constexpr (kIsBool<T>) return nullptr;
    else return unary_loop<T, Neg>;
  }
};
struct FindDivide {
  template <class T>
  Loop operator()() const {
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) return binary_loop<T, Divide>;
    else return nullptr;
  }
};
struct FindTanh {
  template <class T>
  Loop operator()() const {
    if constexpr (kIsComplex<T>) return unary_loop<T, Tanh>;
    else return nullptr;
  }
};

}  // namespace

Loop find_loop(const char* op, DType dtype) {
  if (!std::strcmp(op, "add")) return visit(dtype, []<class T>() -> Loop { return binary_loop<T, Add>; });
  if (!std::strcmp(op, "mul")) return visit(dtype, []<class T>() -> Loop { return binary_loop<T, Mul>; });
  if (!std::strcmp(op, "sub")) return visit(dtype, FindSub{});
  if (!std::strcmp(op, "true_divide")) return visit(dtype, FindDivide{});
  if (!std::strcmp(op, "neg")) return visit(dtype, FindNeg{});
  if (!std::strcmp(op, "tanh")) return visit(dtype, FindTanh{});
  return nullptr;
}

}  // namespace thixo
