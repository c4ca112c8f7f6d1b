// tanh of one element, as selects between two formulas instead of branches, so that loops over it
// vectorise: x + x^3 p(x^2) below 0.625, 1 - 2 / (exp(2 |x|) + 1) above. Within 1.5 units in the
// last place for float (checked over all of them) and double.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace thixo {

namespace tanh_parts {

// For each type: p(u) with tanh(x) = x + x u p(u), u = x^2 <= 0.625^2; q(r) with exp(r) = 1 + r + r^2 q(r),
// |r| <= log(2)/2; log(2) in two parts, the first with trailing zeros so that its small multiples
// are exact; and the point from which tanh rounds to 1.
template <class T> struct Constants;

template <> struct Constants<float> {
  using Bits = int32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr float p[] = {-0.33333333f,   0.13333304f,    -0.05395926f,
                                0.021768919f,   -0.0083439455f, 0.0022927448f};
  static constexpr float q[] = {0.5f, 0.16666577f, 0.041666555f, 0.008363173f, 0.0013926176f};
  static constexpr float log2_high = 0.693115234375f, log2_low = 3.194618329871446e-05f;
  static constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  static constexpr float saturates = 9.5f;
};

template <> struct Constants<double> {
  using Bits = int64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr double p[] = {-0.3333333333333333,     0.13333333333333322,    -0.0539682539682359,
                                 0.021869488535133222,    -0.008863235499801992,  0.003592127507599252,
                                 -0.0014558283998303246,  0.0005899818158388232,  -0.00023888944636751174,
                                 9.604109157026265e-05,   -3.708106921544234e-05, 1.2209921790162781e-05,
                                 -2.438831631472088e-06};
  static constexpr double q[] = {0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326141,
                                 0.0013888888888883752, 0.00019841269874800493, 2.4801587325533363e-05,
                                 2.7557255425746435e-06, 2.7557273661348637e-07, 2.510520637395701e-08,
                                 2.0914679376583935e-09};
  static constexpr double log2_high = 0.6931471804855391, log2_low = 7.440617110012397e-11;
  static constexpr double rounder = 6755399441055744.0;
  static constexpr double saturates = 20.0;
};

template <class T, size_t N>
inline T polynomial(const T (&c)[N], T x) {
  T sum = c[N - 1];
  for (size_t k = N - 1; k > 0; --k) sum = sum * x + c[k - 1];
  return sum;
}

}  // namespace tanh_parts

template <class T>
  requires std::is_floating_point_v<T>
inline T tanh_of(T x) {
  using C = tanh_parts::Constants<T>;
  using Bits = typename C::Bits;
  constexpr Bits sign_bit = std::numeric_limits<Bits>::min();
  const Bits sign = std::bit_cast<Bits>(x) & sign_bit;
  const T magnitude = std::bit_cast<T>(std::bit_cast<Bits>(x) ^ sign);
  const T square = x * x;
  const T near = magnitude + magnitude * (square * tanh_parts::polynomial(C::p, square));

  const T y = 2 * (magnitude < C::saturates ? magnitude : C::saturates);
  const T shifted = y * T(1.44269504088896340736) + C::rounder;
  const T n = shifted - C::rounder;
  const T r = (y - n * C::log2_high) - n * C::log2_low;
  const T reduced = 1 + (r + r * r * tanh_parts::polynomial(C::q, r));
  // n is in the low bits of `shifted`; n + bias in the exponent field is 2^n
  constexpr Bits bias = (Bits{1} << (sizeof(T) * 8 - C::mantissa_bits - 2)) - 1;
  const Bits exponent = std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(C::rounder) + bias;
  const T power = reduced * std::bit_cast<T>(exponent << C::mantissa_bits);
  const T far = 1 - 2 / (power + 1);

  const T result = std::bit_cast<T>(std::bit_cast<Bits>(magnitude < T(0.625) ? near : far) | sign);
  return x == x ? result : x;
}

// Kahan's form: with t = tan(y) and s = sinh(x) nothing cancels anywhere in the plane. Values at
// infinity and NaN are those of C99's ctanh.
template <class T>
std::complex<T> tanh_of(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  if (!std::isfinite(x) || !std::isfinite(y)) {
    if (std::isinf(x)) {
      const T imaginary = std::isfinite(y) ? std::copysign(T(0), std::sin(2 * y)) : std::copysign(T(0), y);
      return {std::copysign(T(1), x), imaginary};
    }
    if (std::isnan(x) && y == 0) return z;
    if (x == 0) return {x, std::numeric_limits<T>::quiet_NaN()};
    return {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
  }
  constexpr T large = sizeof(T) == 4 ? T(10) : T(22);  // beyond it the real part rounds to 1
  if (std::fabs(x) > large) {
    const T decay = std::exp(-std::fabs(x));
    return {std::copysign(T(1), x), 4 * std::sin(y) * std::cos(y) * decay * decay};
  }
  const T t = std::tan(y), s = std::sinh(x);
  const T slope = 1 + t * t, rho = std::sqrt(1 + s * s);
  const T divisor = 1 + slope * s * s;
  return {slope * rho * s / divisor, t / divisor};
}

}  // namespace thixo
