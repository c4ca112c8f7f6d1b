// What the special functions share.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

namespace thixo::special {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtPi = 1.77245385090551602730;
constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// Sum of c[k] T_k(t) for t in [-1, 1], by Clenshaw's recurrence. The coefficients in these files
// come from interpolating the function, computed with 50 digits, at the zeros of T_64, cut where they
// fall below 2^-57 of its least value.
template <size_t N>
inline double chebyshev(const double (&c)[N], double t) {
  double b1 = 0, b2 = 0;
  const double twice = 2 * t;
  for (size_t k = N - 1; k > 0; --k) {
    const double b0 = twice * b1 - b2 + c[k];
    b2 = b1;
    b1 = b0;
  }
  return t * b1 - b2 + c[0];
}

// Sum of c[k] x^k.
template <size_t N>
inline double polynomial(const double (&c)[N], double x) {
  double sum = c[N - 1];
  for (size_t k = N - 1; k > 0; --k) sum = sum * x + c[k - 1];
  return sum;
}

// exp(factor * x^2), keeping the part of x^2 that one double loses; factor is a power of two.
inline double exp_square(double x, double factor) {
  const double square = x * x;
  if (std::isinf(square)) return std::exp(factor * square);
  return std::exp(factor * square) * (1 + factor * std::fma(x, x, -square));
}

// The distance of x from the nearest integer, exactly; |x| < 2^63 or so.
inline double from_integer(double x) { return x - std::round(x); }

inline bool is_integer(double x) { return x == std::floor(x); }

// sin(pi x) without rounding pi x: exactly 0 at integers.
inline double sin_pi(double x) {
  double r = x - 2 * std::round(x / 2);
  if (r > 0.5) r = 1 - r;
  if (r < -0.5) r = -1 - r;
  return std::sin(kPi * r);
}

}  // namespace thixo::special
