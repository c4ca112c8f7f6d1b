// Orthogonal polynomials by their three-term recurrences; Chebyshev's of high degree inside
// [-1, 1] by their trigonometric form.
#include "special.h"
#include "special_tools.h"

namespace thixo::special {
namespace {

// The degree as an integer, or what the polynomial is without looking at x.
bool known_by_degree(double& n, double& value) {
  if (std::isnan(n)) {
    value = n;
    return true;
  }
  n = std::trunc(n);
  value = n < 0 ? 0 : 1;
  return n <= 0;
}

double parity(double n) { return std::fmod(n, 2) == 0 ? 1 : -1; }

// p_0 = 1, p_1 = first, p_k+1 = 2 x p_k - p_k-1: the rule of all four kinds.
double chebyshev_rule(double x, double n, double first) {
  double before = 1, value = first;
  for (double k = 1; k < n && std::isfinite(value); ++k) {
    const double next = 2 * x * value - before;
    before = value;
    value = next;
  }
  return value;
}

bool use_angle(double x, double n) { return n > 32 && std::fabs(x) < 1; }

}  // namespace

double chebyshev_t(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n);
  if (use_angle(x, n)) return std::cos(n * std::acos(x));
  return chebyshev_rule(x, n, x);
}

double chebyshev_u(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  if (std::fabs(x) == 1) return x > 0 ? n + 1 : parity(n) * (n + 1);
  if (use_angle(x, n)) {
    const double angle = std::acos(x);
    if (std::sin(angle) != 0) return std::sin((n + 1) * angle) / std::sin(angle);
  }
  return chebyshev_rule(x, n, 2 * x);
}

double chebyshev_v(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n) * (2 * n + 1);
  if (use_angle(x, n)) {
    const double angle = std::acos(x);
    if (std::cos(angle / 2) != 0) return std::cos((n + 0.5) * angle) / std::cos(angle / 2);
  }
  return chebyshev_rule(x, n, 2 * x - 1);
}

double chebyshev_w(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  if (std::fabs(x) == 1) return x > 0 ? 2 * n + 1 : parity(n);
  if (use_angle(x, n)) {
    const double angle = std::acos(x);
    if (std::sin(angle / 2) != 0) return std::sin((n + 0.5) * angle) / std::sin(angle / 2);
  }
  return chebyshev_rule(x, n, 2 * x + 1);
}

double shifted_chebyshev_t(double x, double n) { return chebyshev_t(2 * x - 1, n); }
double shifted_chebyshev_u(double x, double n) { return chebyshev_u(2 * x - 1, n); }
double shifted_chebyshev_v(double x, double n) { return chebyshev_v(2 * x - 1, n); }
double shifted_chebyshev_w(double x, double n) { return chebyshev_w(2 * x - 1, n); }

double hermite_h(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  double before = 1;
  value = 2 * x;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    const double next = 2 * (x * value - k * before);
    before = value;
    value = next;
  }
  return value;
}

double hermite_he(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  double before = 1;
  value = x;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    const double next = x * value - k * before;
    before = value;
    value = next;
  }
  return value;
}

double laguerre_l(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  if (x == 0) return 1;
  double before = 1;
  value = 1 - x;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    const double next = ((2 * k + 1 - x) * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}

double legendre_p(double x, double n) {
  double value;
  if (known_by_degree(n, value)) return value;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n);
  double before = 1;
  value = x;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    const double next = ((2 * k + 1) * x * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}

}  // namespace thixo::special
