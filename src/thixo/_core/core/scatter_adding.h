// How elements that meet in one place are added: halves in float, bools by "or", integers wrap.
#pragma once
#include <type_traits>

#include "kernels/types.h"

namespace thixo {

template <class T>
struct Adding {
  using From = T;
  using To = std::conditional_t<kIsHalf<T>, float, T>;
  static To sum(To a, From b) {
    if constexpr (kIsBool<T>) {
      return Boolean{uint8_t((a.byte != 0) | (b.byte != 0))};
    } else if constexpr (kIsHalf<T>) {
      return a + float(b);
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return T(U(a) + U(b));
    } else {
      return a + b;
    }
  }
  static void one(char* to, const char* from) { store(to, sum(load<To>(to), load<From>(from))); }
};

}  // namespace thixo
