// log gamma, its derivatives, and the zeta function of Hurwitz.
#include "special.h"
#include "special_tools.h"

namespace thixo::special {
namespace {

// lgamma(2 + t) / ((1 + t) t) for t in [-1, 1]: both zeros of lgamma are divided out.
constexpr double kLogGamma[] = {
    0.44148902545501423, -0.11119580321752523, 0.01951044826068884, -0.003922461463025264,
    0.0008478989895953857, -0.00019153855341365593, 4.454470184975607e-05, -1.05728743735943e-05,
    2.5474336873408417e-06, -6.208535880776316e-07, 1.5268677399071546e-07, -3.782637660291326e-08,
    9.428100823624284e-09, -2.361999702184645e-09, 5.943541905817546e-10, -1.501312977072867e-10,
    3.8050196458110534e-11, -9.672485299656325e-12, 2.465348198355661e-12, -6.298868140791711e-13,
    1.6128460030283787e-13, -4.137949206814042e-14, 1.0635701227757898e-14, -2.7382420786652826e-15,
    7.060670507214892e-16, -1.8232177141662118e-16, 4.714169006756272e-17, -1.2204107319639856e-17,
    3.1630451661790255e-18};

// digamma(x) / (x - root) for x = (3 + t) / 2 in [1, 2], where the root lies.
constexpr double kDigamma[] = {
    0.983570260441567, -0.2270640863346444, 0.03336889902393011, -0.005320077271596548,
    0.0008788656937820505, -0.00014773492650606044, 2.5060543468359146e-05, -4.2721034029993324e-06,
    7.302769272465923e-07, -1.2502886813559594e-07, 2.1425009322359472e-08, -3.673295918565179e-09,
    6.299717236108931e-10, -1.080593028883266e-10, 1.853735192053638e-11, -3.18023536582553e-12,
    5.456147570322795e-13, -9.360993131036438e-14, 1.606064636295075e-14, -2.7555431377438815e-15,
    4.727736178601912e-16, -8.11148420346509e-17, 1.391707769474154e-17};

constexpr double kDigammaRoot = 1.4616321449683622, kDigammaRootRest = 9.549995429965697e-17;

// B_2k / (2k (2k - 1)): log gamma's asymptotic series in 1/x.
constexpr double kStirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
// B_2k / 2k and B_2k, k = 1, 2, ...
constexpr double kDigammaSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                     1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
constexpr double kBernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                 5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
// B_2k / (2k)!: the corrections of Euler and Maclaurin.
constexpr double kEuler[] = {
    0.08333333333333333,     -0.001388888888888889,   3.306878306878307e-05,   -8.267195767195768e-07,
    2.08767569878681e-08,    -5.284190138687493e-10,  1.3382536530684679e-11,  -3.3896802963225827e-13,
    8.586062056277845e-15,   -2.174868698558062e-16,  5.509002828360229e-18,   -1.3954464685812524e-19};

double lgamma_positive(double x) {
  if (x >= 10) {
    if (x > 1e17) return x * (std::log(x) - 1);
    const double inverse = 1 / x;
    return (x - 0.5) * (std::log(x) - 1) + (kHalfLogTwoPi - 0.5) +
           inverse * polynomial(kStirling, inverse * inverse);
  }
  if (x < 1) return x * (x - 1) * chebyshev(kLogGamma, x - 1) - std::log(x);  // by lgamma(1 + x)
  double product = 1;
  while (x > 3) product *= --x;
  const double near = (x - 1) * (x - 2) * chebyshev(kLogGamma, x - 2);
  return product == 1 ? near + 0.0 : std::log(product) + near;  // lgamma(1) is 0, not -0
}

// q^s times the sum of (q + k)^-s over k = 0, 1, ..., q > 0: some terms, then Euler and Maclaurin
// for the rest. The power of q is left to the caller, for it may overflow alone.
double scaled_hurwitz(double s, double q) {
  const double start = 10 + s / 2;  // where the corrections shrink fast enough
  double sum = 0, w = q;
  while (w < start) {
    const double term = std::pow(q / w, s);
    sum += term;
    if (term < 1e-17 * sum) return sum;
    w += 1;
  }
  const double power = std::pow(q / w, s), inverse_square = 1 / (w * w);
  sum += power * (w / (s - 1) + 0.5);
  double factor = power * s / w, rising = s + 1;  // s (s+1) ... (s+2k-2) w^-(s+2k-1)
  for (const double c : kEuler) {
    const double term = c * factor;
    sum += term;
    if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
    factor *= rising * (rising + 1) * inverse_square;
    rising += 2;
  }
  return sum;
}

double hurwitz(double s, double q) { return std::pow(q, -s) * scaled_hurwitz(s, q); }

}  // namespace

double lgamma(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return kInf;
  if (x > 0) return lgamma_positive(x);
  if (is_integer(x)) return kInf;
  if (x > -1e-17) return -std::log(-x);
  return std::log(kPi) - std::log(-x) - std::log(std::fabs(sin_pi(x))) - lgamma_positive(-x);
}

double gamma_sign(double x) {
  if (x > 0 || std::isnan(x)) return std::isnan(x) ? x : 1;
  if (x == 0) return std::copysign(1, x);
  if (std::isinf(x) || is_integer(x)) return kNaN;
  return std::fmod(std::floor(x), 2) == 0 ? 1 : -1;
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x < 0) {
    if (std::isinf(x) || is_integer(x)) return kNaN;
    const double angle = kPi * from_integer(x);
    return digamma(1 - x) - kPi * std::cos(angle) / std::sin(angle);
  }
  if (x >= 10) {
    if (x > 1e17) return std::log(x);
    const double square = 1 / (x * x);
    return std::log(x) - 0.5 / x - square * polynomial(kDigammaSeries, square);
  }
  double shift = 0;
  if (x < 1) {
    shift = -1 / x;
    x += 1;
  }
  while (x > 2) {
    x -= 1;
    shift += 1 / x;
  }
  return shift + ((x - kDigammaRoot) - kDigammaRootRest) * chebyshev(kDigamma, 2 * x - 3);
}

double trigamma(double x) {
  if (x <= 0) {
    if (std::isinf(x)) return kNaN;
    if (is_integer(x)) return kInf;
    const double sine = sin_pi(x);
    return kPi * kPi / (sine * sine) - trigamma(1 - x);
  }
  double sum = 0;
  while (x < 12) {
    sum += 1 / (x * x);
    x += 1;
  }
  const double inverse = 1 / x, square = inverse * inverse;
  return sum + inverse * (1 + inverse * 0.5 + square * polynomial(kBernoulli, square));
}

double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  if (!(n > 0) || !is_integer(n) || std::isnan(x)) return kNaN;
  const double sign = std::fmod(n, 2) == 1 ? 1 : -1;
  if (!(x > 0) || std::isinf(x)) return sign * std::tgamma(n + 1) * zeta(n + 1, x);
  // n! / x^(n + 1), in halves: neither factor need be a number that a double holds
  const double half = std::pow(x, -0.5 * (n + 1));
  const double leading =
      n > 170 ? std::exp(lgamma(n + 1) - (n + 1) * std::log(x)) : std::tgamma(n + 1) * half * half;
  return sign * leading * scaled_hurwitz(n + 1, x);
}

double zeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1) || std::isnan(q)) return kNaN;
  if (q > 0 && s > 1e6) return std::pow(q, -s);  // the other terms are below rounding
  if (q > 0) return std::isinf(q) ? 0 : hurwitz(s, q);
  if (is_integer(q)) return kInf;
  if (!is_integer(s) || std::isinf(s)) return kNaN;
  // the terms with negative base, from |q| down to its fraction, and then those from 1 - fraction on
  const double fraction = -q - std::floor(-q);
  const double below = hurwitz(s, fraction) - hurwitz(s, 1 - q);
  const double above = hurwitz(s, 1 - fraction);
  return std::fmod(s, 2) == 0 ? above + below : above - below;
}

}  // namespace thixo::special
