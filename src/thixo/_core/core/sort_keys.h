// Order-preserving bits of elements, with their places: what sorts and selections compare.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/types.h"

namespace thixo {

template <int size>
using Unsigned = std::conditional_t<
    size == 1, uint8_t,
    std::conditional_t<size == 2, uint16_t, std::conditional_t<size == 4, uint32_t, uint64_t>>>;

// Bits whose order as unsigned numbers is that of the elements.
template <class T>
struct Key {
  using Bits = Unsigned<sizeof(T)>;
  static constexpr Bits kTop = Bits(Bits(1) << (8 * sizeof(T) - 1));
  static constexpr bool kFloat = kIsHalf<T> || std::is_floating_point_v<T>;
  static constexpr Bits kInfinity = sizeof(T) == 8   ? Bits(0x7ff0000000000000ull)
                                    : sizeof(T) == 4 ? Bits(0x7f800000u)
                                    : std::is_same_v<T, Half> ? Bits(0x7c00u)
                                                              : Bits(0x7f80u);
  static constexpr Bits kNan = Bits(~Bits(0));  // of all NaNs

  static Bits of(T x) {
    Bits b;
    std::memcpy(&b, &x, sizeof(T));
    if constexpr (kIsBool<T>) {
      return b != 0;
    } else if constexpr (kFloat) {
      const Bits magnitude = b & Bits(~kTop);
      const Bits ordered = b & kTop ? Bits(~b) : Bits(b | kTop);
      const Bits whole = magnitude == 0 ? kTop : ordered;
      return magnitude > kInfinity ? kNan : whole;
    } else if constexpr (std::is_signed_v<T>) {
      return b ^ kTop;
    } else {
      return b;
    }
  }
  static bool is_nan(Bits key) { return kFloat && key == kNan; }
};

// The element of a key, where it is the only one (NaN and zero have several).
template <class T>
inline T element_of(typename Key<T>::Bits key) {
  using Bits = typename Key<T>::Bits;
  constexpr Bits top = Key<T>::kTop;
  Bits b = key;
  if constexpr (kIsBool<T>) b = key;
  else if constexpr (Key<T>::kFloat) b = key & top ? Bits(key ^ top) : Bits(~key);
  else if constexpr (std::is_signed_v<T>) b = key ^ top;
  T x;
  std::memcpy(&x, &b, sizeof(T));
  return x;
}

// A key and its place: in one word where both fit.
struct Wide {
  uint64_t key, place;
  bool operator<(const Wide& o) const { return key < o.key || (key == o.key && place < o.place); }
};
inline uint64_t key_of(uint64_t e) { return e >> 32; }
inline uint64_t key_of(const Wide& e) { return e.key; }
inline int64_t place_of(uint64_t e) { return int64_t(uint32_t(e)); }
inline int64_t place_of(const Wide& e) { return int64_t(e.place); }

template <class T>
using Entry = std::conditional_t<sizeof(T) == 8, Wide, uint64_t>;
template <class T>
inline Entry<T> entry(typename Key<T>::Bits key, int64_t place) {
  if constexpr (sizeof(T) == 8) return {key, uint64_t(place)};
  else return uint64_t(key) << 32 | uint64_t(place);
}

// Sorts n entries at `a` by the low `bits` bits of their keys, in which alone they differ, keeping the order of equal
// ones; `b` is as large. The result is at `b` if `into_b`, else at `a`.
template <class E>
void radix_sort(E* a, E* b, int64_t n, int bits, bool into_b);
// The same with parts given to threads; for one long row.
template <class E>
void radix_sort_on_threads(E* a, E* b, int64_t n, int bits, bool into_b);

}  // namespace thixo
