// tanh of one element.
#pragma once
#include <cmath>
#include <complex>

namespace thixo {

inline float tanh_of(float x) { return std::tanh(x); }
inline double tanh_of(double x) { return std::tanh(x); }

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
