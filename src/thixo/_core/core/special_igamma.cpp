// The regularised incomplete gamma functions P(a, x) = igamma and Q(a, x) = igammac.
//   a large and x near it:  Temme's uniform expansion
//   x < a + 1:              the power series of P
//   x small, a < 1:         the series of 1 - P, with its leading parts cancelled beforehand
//   else:                   the continued fraction of Q
#include "special.h"
#include "special_tools.h"

namespace thixo::special {
namespace {

// lgamma(1 + a) / a for a = (1 + t) / 2 in [0, 1].
constexpr double kLogGammaOne[] = {
    -0.2647362369323025, 0.28587285859139466, -0.0235145763321575, 0.002685079974656731,
    -0.0003497552715727561, 4.880755320003236e-05, -7.098358790485804e-06, 1.060746616681459e-06,
    -1.6155933858435658e-07, 2.4955218012272827e-08, -3.896697345119788e-09, 6.137352658308378e-10,
    -9.734966110649396e-11, 1.5533015630980043e-11, -2.4909467297324567e-12, 4.0120228240690907e-13,
    -6.486576014785499e-14, 1.0522714222232995e-14, -1.7121447861626472e-15, 2.7933134227060936e-16,
    -4.568268129158122e-17, 7.487532521139084e-18, -1.2296930695316564e-18, 2.0232618246910157e-19,
    -3.334573657662462e-20, 5.504330366043439e-21, -9.099009524704987e-22};

// Temme's expansion: Q = erfc(eta sqrt(a/2)) / 2 + exp(-a eta^2/2) / sqrt(2 pi a) sum_k C_k(eta) / a^k,
// where eta^2/2 = mu - log(1 + mu), mu = x/a - 1. Row k: the power series of C_k.
constexpr double kTemme0[] = {
    -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
    0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
    -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
    1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10};
constexpr double kTemme1[] = {
    -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
    0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
    -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
    1.1951628599778148e-08};
constexpr double kTemme2[] = {
    0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
    -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
    1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07};
constexpr double kTemme3[] = {
    0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
    -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05, -5.6749528269915965e-06,
    1.4230900732435883e-06};
constexpr double kTemme4[] = {
    -0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
    6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05};
constexpr double kTemme5[] = {
    -0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392, -0.00019932570516188847};
constexpr double kTemme6[] = {
    0.0005313079364639922};
constexpr double kTemme7[] = {
    0.00034436760689237765};

// log gamma's asymptotic series: B_2k / (2k (2k - 1)).
constexpr double kStirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};

// mu - log(1 + mu), also where the two nearly cancel.
double excess(double mu) {
  if (std::fabs(mu) > 0.3) return mu - std::log1p(mu);
  // with z = mu / (2 + mu): log(1 + mu) = 2 (z + z^3/3 + z^5/5 + ...), and mu - 2 z = mu z
  const double z = mu / (2 + mu), square = z * z;
  double power = z * square, sum = 0;
  for (int k = 3; k < 40; k += 2) {
    const double term = power / k;
    sum += term;
    power *= square;
    if (std::fabs(term) < 1e-18 * std::fabs(sum)) break;
  }
  return mu * z - 2 * sum;
}

// x^a exp(-x) / gamma(a + 1)
double weight(double a, double x) {
  if (a < 15) {
    const double half = std::exp(-x / 2);  // in two halves, which underflow later than the whole
    return half * std::pow(x, a) * half / std::tgamma(a + 1);
  }
  const double inverse = 1 / a;
  const double correction = inverse * polynomial(kStirling, inverse * inverse);
  return std::exp(-a * excess((x - a) / a) - correction) / std::sqrt(2 * kPi * a);
}

double series_lower(double a, double x) {
  double term = 1, sum = 1, divisor = a;
  for (int i = 0; i < 2000; ++i) {
    divisor += 1;
    term *= x / divisor;
    sum += term;
    if (term < 1e-17 * sum) break;
  }
  return weight(a, x) * sum;
}

// Q for x <= 1.1 and a < 1, where P may be so near 1 that 1 - P says nothing.
double series_upper(double a, double x) {
  const double log_scale = a * (std::log(x) - chebyshev(kLogGammaOne, 2 * a - 1));
  double power = 1, sum = 0;
  for (int n = 1; n < 100; ++n) {
    power *= -x / n;
    const double term = power / (a + n);
    sum += term;
    if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
  }
  return -std::expm1(log_scale) - std::exp(log_scale) * a * sum;
}

// Legendre's continued fraction for Q, evaluated from the front (Lentz's method).
double fraction_upper(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int i = 1; i < 5000; ++i) {
    const double an = i * (a - i);
    b += 2;
    d = an * d + b;
    if (std::fabs(d) < tiny) d = tiny;
    c = b + an / c;
    if (std::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    const double delta = d * c;
    h *= delta;
    if (std::fabs(delta - 1) < 1e-16) break;
  }
  return weight(a, x) * a * h;
}

// P (sign -1) or Q (sign +1) for a >= 200 and |x - a| <= 0.3 a.
double uniform(double a, double x, double sign) {
  const double mu = (x - a) / a, exponent = excess(mu);
  const double eta = std::copysign(std::sqrt(2 * exponent), mu);
  double sum = polynomial(kTemme7, eta);
  sum = sum / a + polynomial(kTemme6, eta);
  sum = sum / a + polynomial(kTemme5, eta);
  sum = sum / a + polynomial(kTemme4, eta);
  sum = sum / a + polynomial(kTemme3, eta);
  sum = sum / a + polynomial(kTemme2, eta);
  sum = sum / a + polynomial(kTemme1, eta);
  sum = sum / a + polynomial(kTemme0, eta);
  const double z = sign * eta * std::sqrt(a / 2), rest = sign * sum / std::sqrt(2 * kPi * a);
  if (z < 0) return 0.5 * std::erfc(z) + std::exp(-a * exponent) * rest;
  return std::exp(-a * exponent) * (0.5 * erfcx(z) + rest);
}

// The values at the borders of the domain: whether there is one, and P's.
bool at_border(double a, double x, double& lower) {
  if (!(a >= 0 && x >= 0)) {
    lower = kNaN;
  } else if (a == 0) {
    lower = x > 0 ? 1 : kNaN;
  } else if (x == 0) {
    lower = 0;
  } else if (std::isinf(a)) {
    lower = std::isinf(x) ? kNaN : 0;
  } else if (std::isinf(x)) {
    lower = 1;
  } else {
    return false;
  }
  return true;
}

bool is_uniform(double a, double x) { return a >= 200 && std::fabs(x - a) <= 0.3 * a; }

}  // namespace

double igamma(double a, double x) {
  double border;
  if (at_border(a, x, border)) return border;
  if (is_uniform(a, x)) return uniform(a, x, -1);
  return x <= 1.1 || x < a + 1 ? series_lower(a, x) : 1 - fraction_upper(a, x);
}

double igammac(double a, double x) {
  double border;
  if (at_border(a, x, border)) return 1 - border;
  if (is_uniform(a, x)) return uniform(a, x, 1);
  if (x <= 1.1) return a < 1 ? series_upper(a, x) : 1 - series_lower(a, x);
  return x < a + 1 && a >= 1 ? 1 - series_lower(a, x) : fraction_upper(a, x);
}

}  // namespace thixo::special
