// What a running sum or product does with one element.
#pragma once
#include <type_traits>

#include "kernels/types.h"
#include "scan.h"

namespace thixo {

// What is carried from element to element.
template <class T>
using Carried = std::conditional_t<kIsHalf<T> || std::is_same_v<T, float>, double, T>;

template <class T, class Out, Scan kKind>
struct Fold {
  static constexpr Scan kind = kKind;
  using In = T;
  using Acc = std::conditional_t<std::is_same_v<Out, int64_t>, int64_t, Carried<T>>;
  using Result = Out;
  static Acc widen(T x) {
    if constexpr (kIsHalf<T>) return double(float(x));
    else return convert<Acc>(x);
  }
  // Nothing has been added yet: -0.0, since 0.0 would make a 0.0 of a -0.0.
  static Acc nothing() { return std::is_floating_point_v<Acc> ? Acc(-0.0) : Acc(); }
  static Acc next(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>) {
      // In at least 32 bits without a sign: overflow wraps.
      using U = std::conditional_t<sizeof(Acc) == 8, uint64_t, uint32_t>;
      return kind == Scan::Sum ? Acc(U(a) + U(b)) : Acc(U(a) * U(b));
    } else {
      return kind == Scan::Sum ? a + b : a * b;
    }
  }
  static Out result(Acc a) {
    if constexpr (kIsHalf<Out>) return Out(a);
    else return convert<Out>(a);
  }
};

// Whether additions may be grouped otherwise: integers, and those that are carried in double and rounded.
template <class F>
constexpr bool kReorders = F::kind == Scan::Sum && !std::is_same_v<typename F::In, double> && !kIsComplex<typename F::In>;

// body(Fold) for a dtype.
template <class Body>
void visit_fold(Scan scan, DType in, bool widen, Body&& body) {
  auto of_kind = [&]<Scan kind>() {
    visit(in, [&]<class T>() {
      if constexpr (kIsBool<T>) {
        body(Fold<T, int64_t, kind>{});
      } else if constexpr (std::is_integral_v<T>) {
        if (widen) body(Fold<T, int64_t, kind>{});
        else body(Fold<T, T, kind>{});
      } else {
        body(Fold<T, T, kind>{});
      }
    });
  };
  if (scan == Scan::Sum) of_kind.template operator()<Scan::Sum>();
  else of_kind.template operator()<Scan::Product>();
}

}  // namespace thixo
