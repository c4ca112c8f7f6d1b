// Oscillating functions: Bessel J and Y of order 0 and 1, Airy Ai, and the sines over x.
#include "special.h"
#include "special_tools.h"

namespace thixo::special {
namespace {

// For x^2 = 32 (1 + t), x in [0, 8]: (1 - J0(x)) / x^2, J1(x) / x, Y0(x) - 2/pi log(x/2) J0(x),
// (Y1(x) - 2/pi (log(x/2) J1(x) - 1/x)) / x
constexpr double kJ0Near[] = {
    0.07776620942974208, -0.1028904170766648, 0.0507936304408987, -0.015270507130341145,
    0.0028783209368242035, -0.0003653286390633404, 3.3196929515532644e-05, -2.263974309450187e-06,
    1.2015449125992107e-07, -5.105224382472388e-09, 1.776392401581251e-10, -5.156343105600795e-12,
    1.267917129310272e-13, -2.6755168109244325e-15, 4.898861188519179e-17, -7.857851174346078e-19};
constexpr double kJ1Near[] = {
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791,
    0.022213639654966037, -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05,
    1.9858774049915165e-06, -9.521984756750436e-08, 3.687133759097148e-09, -1.178026622695885e-10,
    3.160154580348003e-12, -7.221755239651773e-14, 1.4232144003513942e-15, -2.4441972916190464e-17};
constexpr double kY0Near[] = {
    0.03645469809116044, -0.2783237094075825, 0.2960499990207148, 0.09825508408187864,
    -0.10755155280627783, 0.031799074084414514, -0.005161397105810715, 0.0005498525320039012,
    -4.1996983149420134e-05, 2.4290361107923793e-06, -1.1049969793472957e-07, 4.06651736597911e-09,
    -1.2374148898289854e-10, 3.1685725528945945e-12, -6.926956032431002e-14, 1.3086308625876684e-15,
    -2.1586201986914482e-17};
constexpr double kY1Near[] = {
    0.038300769852423776, -0.08182561412732826, -0.0248677076121964, 0.047967452752746984,
    -0.01852588451089802, 0.003680607687823511, -0.0004627254060293369, 4.06940026958087e-05,
    -2.6617695125295625e-06, 1.350602691325434e-07, -5.483524110336276e-09, 1.8245086841229007e-10,
    -5.070666636591129e-12, 1.1956162517587948e-13, -2.423162442712473e-15, 4.268126513072962e-17,
    -6.596060978723042e-19};

// For x >= 8 and order n, J = sqrt(2/(pi x)) (P cos c - Q sin c), Y = sqrt(2/(pi x)) (P sin c + Q cos c)
// with c = x - (2n + 1) pi/4; P and Q x/8 as series in t = 2 (8/x)^2 - 1.
constexpr double kP0Far[] = {
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08,
    1.6306464635151382e-09, -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13,
    4.3265957431549404e-14, -5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16,
    1.6305919233744186e-17};
constexpr double kQ0Far[] = {
    -0.015555854605337009, 6.838519942611649e-05, -7.414498411060647e-07, 1.7972457247968992e-08,
    -7.27191593686632e-10, 4.2201219046687385e-11, -3.206747420996635e-12, 3.006145125351706e-13,
    -3.336328185322427e-14, 4.255225040245461e-15, -6.09993013164005e-16, 9.662128970303257e-17,
    -1.6686065214378146e-17};
constexpr double kP1Far[] = {
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13,
    -4.6842237839904895e-14, 5.452674896044717e-15, -7.221180842274018e-16, 1.0667689114335412e-16,
    -1.7312313216116335e-17};
constexpr double kQ1Far[] = {
    0.04677778706953532, -9.62772354915708e-05, 9.138615257955454e-07, -2.0959781384083424e-08,
    8.229193327650554e-10, -4.686363688176945e-11, 3.5152187949686082e-12, -3.2643156743279e-13,
    3.5967765829165294e-14, -4.5612523950772974e-15, 6.508282957783384e-16, -1.0269147531823243e-16,
    1.767635548776479e-17};

// Ai(x) for x = 1 + t in [0, 2], and for x = 2 t - 2 in [-4, 0]
constexpr double kAiryNear[] = {
    0.1661487551134717, -0.160200643749162, 0.02985086265042287, -3.592821006346677e-05,
    -0.0010148771856557245, 0.00018650430146538642, -9.023207531845663e-06, -1.8719071101908585e-06,
    3.7633084265224525e-07, -2.2543102304853237e-08, -1.521783492607275e-09, 3.7631432654361224e-10,
    -2.4444948546165672e-11, -5.979424144805241e-13, 2.2466976613000314e-13,
    -1.5345032770179278e-14, -7.025980667351147e-17, 8.902219306136638e-17, -6.348506763486825e-18};
constexpr double kAiryBelow[] = {
    0.11447758651998736, 0.42127788420449913, -0.027734597101387943, -0.23365796110601145,
    0.06939559564577408, 0.024461772007139792, -0.014766437693581868, 0.0008023889779525898,
    0.0010230295738488458, -0.0002514931206909262, -1.2152476924968542e-05, 1.4468912917662048e-05,
    -1.865453687423982e-06, -2.599357801871398e-07, 1.0341710658801066e-07, -6.957126687005273e-09,
    -1.951709352397157e-09, 4.440109838536824e-10, -1.1398870033140025e-11, -8.370115586923187e-12,
    1.2611082165186202e-12, 1.0125908288303646e-14, -2.379952365410891e-14, 2.5144316602653423e-15,
    1.0116342805635523e-16, -4.852103290649533e-17, 3.647606575795266e-18};

// 2 sqrt(pi) x^(1/4) exp(z) Ai(x), z = 2/3 x^(3/2), in t = 2 z(2)/z - 1, x from 2 to infinity
constexpr double kAiryFar[] = {
    0.9844053049171552, -0.014792784850104199, 0.0007327177465426715, -6.12595423417825e-05,
    6.83476697557269e-06, -9.237229735403982e-07, 1.436225340438052e-07, -2.489319422322096e-08,
    4.709793440054328e-09, -9.583863708112733e-10, 2.0745855483677591e-10, -4.737267332192277e-11,
    1.1336099808224236e-11, -2.827706782319351e-12, 7.320712095125598e-13, -1.9599793911089723e-13,
    5.4101162570683925e-14, -1.5356466802223836e-14, 4.472340393300025e-15, -1.3338094674756683e-15,
    4.066582046456231e-16, -1.265583225645289e-16, 4.015126334015871e-17, -1.2969972135960937e-17};

// sqrt(pi) x^(1/4) Ai(-x) = P cos(z - pi/4) + Q sin(z - pi/4), x >= 4; P and Q z/z(4) in
// t = 2 (z(4)/z)^2 - 1
constexpr double kAiryP[] = {
    0.9993708890742778, -0.0006216836584374116, 7.181193774368645e-06, -2.316269813501758e-07,
    1.3216283888528755e-08, -1.0938736172758127e-09, 1.1794620737908535e-10,
    -1.5518841909929856e-11, 2.386927411492466e-12, -4.16552889201035e-13, 8.071678110741467e-14,
    -1.708757321110567e-14, 3.902945148540815e-15, -9.523976784907064e-16, 2.4632810885752603e-16,
    -6.709077463464858e-17, 1.913939683718707e-17, -5.693084362113769e-18};
constexpr double kAiryQ[] = {
    0.012904069793077502, -0.00011417159701561301, 2.47015331514187e-06, -1.1276384836703058e-07,
    8.114132516809686e-09, -7.96449699929011e-10, 9.810535081564676e-11, -1.438554557834067e-11,
    2.4232142723810082e-12, -4.572243294578044e-13, 9.485713571010158e-14, -2.1334713360480614e-14,
    5.145258245310423e-15, -1.3189653961186086e-15, 3.5685214438497966e-16, -1.0130701015142451e-16,
    3.003133317484731e-17, -9.257863950661511e-18};

struct Wave {
  double j, y;
};

// Both functions for x >= 8. (cos c, sin c) come from cos x and sin x, which libm reduces exactly.
Wave far0(double x) {
  const double ratio = 8 / x, t = 2 * ratio * ratio - 1;
  const double p = chebyshev(kP0Far, t), q = ratio * chebyshev(kQ0Far, t);
  const double cosine = (std::cos(x) + std::sin(x)) * kSqrtHalf;
  const double sine = (std::sin(x) - std::cos(x)) * kSqrtHalf;
  const double scale = std::sqrt(2 / kPi / x);
  return {scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)};
}

Wave far1(double x) {
  const double ratio = 8 / x, t = 2 * ratio * ratio - 1;
  const double p = chebyshev(kP1Far, t), q = ratio * chebyshev(kQ1Far, t);
  const double cosine = (std::sin(x) - std::cos(x)) * kSqrtHalf;
  const double sine = -(std::sin(x) + std::cos(x)) * kSqrtHalf;
  const double scale = std::sqrt(2 / kPi / x);
  return {scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)};
}

// 2/3 x^(3/2) in two parts: phases and exponents need more than 53 bits of it.
struct Pair {
  double high, low;
};

Pair airy_argument(double x) {
  const double root = std::sqrt(x), root_rest = std::fma(-root, root, x) / (2 * root);
  const double product = x * root, product_rest = std::fma(x, root, -product) + x * root_rest;
  const double high = product / 1.5;
  return {high, (std::fma(-1.5, high, product) + product_rest) / 1.5};
}

}  // namespace

double bessel_j0(double x) {
  x = std::fabs(x);
  return x <= 8 ? 1 - x * x * chebyshev(kJ0Near, x * x / 32 - 1) : far0(x).j;
}

double bessel_j1(double x) {
  const double a = std::fabs(x);
  if (a <= 8) return x * chebyshev(kJ1Near, x * x / 32 - 1);
  return x < 0 ? -far1(a).j : far1(a).j;
}

double bessel_y0(double x) {
  if (!(x > 0)) return x == 0 ? -kInf : kNaN;
  if (x > 8) return far0(x).y;
  // half of the least number is 0, whose logarithm is infinite
  const double log_half = x < 1e-300 ? std::log(x) - std::log(2.0) : std::log(x / 2);
  return 2 / kPi * log_half * bessel_j0(x) + chebyshev(kY0Near, x * x / 32 - 1);
}

double bessel_y1(double x) {
  if (!(x > 0)) return x == 0 ? -kInf : kNaN;
  if (x > 8) return far1(x).y;
  if (x < 1e-100) return -2 / kPi / x;  // the rest is below rounding, and its logarithm not finite
  return 2 / kPi * (std::log(x / 2) * bessel_j1(x) - 1 / x) + x * chebyshev(kY1Near, x * x / 32 - 1);
}

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

double sinc(double x) { return x == 0 ? 1 : sin_pi(x) / (kPi * x); }

double airy_ai(double x) {
  if (x > 200) return 0;  // far below the least number; the exponent itself would overflow later
  if (x > 2) {
    const Pair z = airy_argument(x);
    const double value = chebyshev(kAiryFar, 2 * 1.8856180831641267 / z.high - 1);
    return std::exp(-z.high) * (1 - z.low) * value / (2 * kSqrtPi * std::sqrt(std::sqrt(x)));
  }
  if (x >= 0) return chebyshev(kAiryNear, x - 1);
  if (x >= -4) return chebyshev(kAiryBelow, x / 2 + 1);
  const Pair z = airy_argument(-x);
  if (!(z.high < 1e24)) return kNaN;  // both parts together no longer tell the phase
  const double ratio = 16.0 / 3 / z.high, t = 2 * ratio * ratio - 1;
  const double p = chebyshev(kAiryP, t), q = ratio * chebyshev(kAiryQ, t);
  const double s0 = std::sin(z.high), c0 = std::cos(z.high);
  const double s1 = std::sin(z.low), c1 = std::cos(z.low);  // low is small only while high is
  const double s = s0 * c1 + c0 * s1, c = c0 * c1 - s0 * s1;
  return ((c + s) * p + (s - c) * q) * kSqrtHalf / (kSqrtPi * std::sqrt(std::sqrt(-x)));
}

}  // namespace thixo::special
