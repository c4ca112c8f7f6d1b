// The error function's relatives and the normal distribution.
#include "special.h"
#include "special_tools.h"

namespace thixo::special {
namespace {

// (1 + 2 x) erfcx(x) for x >= 0, with x = 4 (1 + t) / (1 - t): smooth over the whole half-line.
constexpr double kErfcx[] = {
    1.1774832005374487, -0.007260796620301901, -0.081265123236185, 0.06009212804122225,
    -0.02875393558027666, 0.01059566336347286, -0.003136927294554264, 0.0007456494372536184,
    -0.0001369696503010054, 1.7183861600300937e-05, -7.158364623450346e-07, -2.4261399442449534e-07,
    5.5765709395703566e-08, -2.1057869513809494e-09, -1.1717889351884957e-09,
    1.9098355172456688e-10, 1.408871764208813e-11, -6.901108320480815e-12, 9.167958364111294e-14,
    2.1454508286554553e-13, -1.4716575027010623e-14, -6.668675118770408e-15, 7.504598509880083e-16,
    2.22009300666632e-16, -3.1704898956330886e-17, -8.193570309884333e-18};

// log of the upper tail of the normal distribution at x >= 0.
double log_upper_tail(double x) { return -0.5 * x * x + std::log(0.5 * erfcx(x * kSqrtHalf)); }

// The x > 0 with upper tail q < 1/4: Newton's method for the logarithm, which is nearly a parabola.
double invert_upper_tail(double q) {
  const double target = std::log(q);
  const double first = -2 * (target + kHalfLogTwoPi);
  double x = std::sqrt(std::fmax(0.4, first - std::log(std::fmax(1, first))));
  for (int i = 0; i < 20; ++i) {
    const double hazard = 2 * kSqrtHalf / kSqrtPi / erfcx(x * kSqrtHalf);  // density over tail
    const double step = (log_upper_tail(x) - target) / hazard;
    x += step;
    if (std::fabs(step) < 1e-9 * x) break;
  }
  return x;
}

}  // namespace

double erfcx(double x) {
  if (x < 0) {
    if (x < -26.7) return kInf;
    return 2 * exp_square(x, 1) - erfcx(-x);
  }
  if (x > 1e8) return 1 / (kSqrtPi * x);
  return chebyshev(kErfcx, (x - 4) / (x + 4)) / (1 + 2 * x);
}

double erfinv(double y) {
  const double a = std::fabs(y);
  if (!(a <= 1)) return kNaN;
  if (a == 1) return std::copysign(kInf, y);
  if (a < 1e-9) return y * (kSqrtPi / 2);
  double x;
  if (a < 0.1) {
    x = kSqrtPi / 2 * a * (1 + kPi / 12 * a * a);
  } else {  // Winitzki's closed form, right to a few thousandths
    const double log = std::log1p(-a * a), k = 4.3307 + log / 2;
    x = std::sqrt(std::sqrt(k * k - log / 0.147) - k);
  }
  // Halley's method. Above a half the complement is exact and keeps the digits of the tail.
  for (int i = 0; i < 6; ++i) {
    const double excess = a > 0.5 ? (1 - a) - std::erfc(x) : std::erf(x) - a;
    const double u = excess * (kSqrtPi / 2) * exp_square(x, 1);
    x -= u / (1 + x * u);
    if (std::fabs(u) < 1e-6 * x) break;  // the error left is of the third order
  }
  return std::copysign(x, y);
}

double ndtr(double x) {
  if (x < -1) return 0.5 * exp_square(x, -0.5) * erfcx(-x * kSqrtHalf);
  return 0.5 * std::erfc(-x * kSqrtHalf);
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  if (p < 0.25) return -invert_upper_tail(p);
  if (p > 0.75) return invert_upper_tail(1 - p);
  return 2 * kSqrtHalf * erfinv(2 * (p - 0.5));
}

double log_ndtr(double x) {
  if (x < -1) return log_upper_tail(-x);
  if (x > 0) return std::log1p(-ndtr(-x));
  return std::log(ndtr(x));
}

double logit(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p < 0.3 || p > 0.65) return std::log(p / (1 - p));
  return std::log1p((2 * p - 1) / (1 - p));
}

double entr(double x) {
  if (x > 0) return -x * std::log(x);
  if (x == 0) return 0;
  return std::isnan(x) ? x : -kInf;
}

}  // namespace thixo::special
