// Special functions against a table, at the borders of their domains, and over arrays.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../../src/thixo/_core/core/error.h"
#include "../../src/thixo/_core/core/half.h"
#include "../../src/thixo/_core/core/special.h"
#include "check.h"
#include "special_values.h"

using namespace thixo;
constexpr double inf = std::numeric_limits<double>::infinity();

static double at(const char* name, double x) { return find_special1(name)(x); }
static double at(const char* name, double x, double y) { return find_special2(name)(x, y); }

// 1e-13 of the value, or of 1 near zeros of oscillating functions.
static bool close(const char* name, double got, double expected) {
  const bool ok = std::fabs(got - expected) <= 1e-13 * std::fabs(expected) + 2e-15 * (std::fabs(expected) > 1e-3);
  if (!ok) std::printf("%s: %.17g, expected %.17g\n", name, got, expected);
  return ok;
}

static void test_values() {
  for (const Value1& v : kValues1) CHECK(close(v.name, at(v.name, v.x), v.y));
  for (const Value2& v : kValues2) CHECK(close(v.name, at(v.name, v.a, v.b), v.y));
}

static void test_borders() {
  for (const char* name : {"erf", "erfc", "erfcx", "erfinv", "ndtr", "ndtri", "log_ndtr", "logit", "entr",
                           "lgamma", "gamma_sign", "digamma", "trigamma", "i0", "i0e", "i1", "i1e", "k0", "k0e", "k1",
                           "k1e", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0",
                           "sinc", "airy_ai"}) {
    CHECK(std::isnan(at(name, NAN)));
  }
  for (const char* name : {"zeta", "igamma", "igammac", "hypot"}) CHECK(std::isnan(at(name, 2, NAN)));
  CHECK(at("erfinv", 1) == inf && at("erfinv", -1) == -inf && std::isnan(at("erfinv", 1.1)));
  CHECK(std::signbit(at("erfinv", -0.0)) && at("erfcx", -30) == inf && at("erfcx", inf) == 0);
  CHECK(at("ndtri", 0) == -inf && at("ndtri", 1) == inf && std::isnan(at("ndtri", -0.1)));
  CHECK(at("ndtri", 0.5) == 0);
  CHECK(at("log_ndtr", -inf) == -inf && at("log_ndtr", inf) == 0 && at("ndtr", -inf) == 0 && at("ndtr", inf) == 1);
  CHECK(at("logit", 0) == -inf && at("logit", 1) == inf && at("logit", 0.5) == 0 && std::isnan(at("logit", 2)));
  CHECK(at("entr", 0) == 0 && at("entr", -1) == -inf);
  CHECK(at("lgamma", 1) == 0 && at("lgamma", 2) == 0 && at("lgamma", 0) == inf && at("lgamma", -3) == inf);
  CHECK(at("lgamma", inf) == inf && at("lgamma", -inf) == inf && at("lgamma", 1e306) == inf);
  CHECK(at("gamma_sign", 2) == 1 && at("gamma_sign", -0.5) == -1 && at("gamma_sign", -1.5) == 1);
  CHECK(at("digamma", 0.0) == -inf && at("digamma", -0.0) == inf && std::isnan(at("digamma", -2)));
  CHECK(at("digamma", inf) == inf && std::isnan(at("digamma", -inf)));
  CHECK(at("trigamma", 0) == inf && at("trigamma", -1) == inf && at("trigamma", inf) == 0);
  CHECK(at("polygamma", 2, 0) == -inf && std::isnan(at("polygamma", 1.5, 2)) && std::isnan(at("polygamma", -1, 2)));
  CHECK(at("zeta", 1, 2) == inf && std::isnan(at("zeta", 0.5, 2)));
  CHECK(at("zeta", 3, 0) == inf && at("zeta", 3, -2) == inf);
  CHECK(std::isnan(at("zeta", 2.5, -1.5)) && at("zeta", 2, inf) == 0);
  CHECK(at("k0", 0) == inf && std::isnan(at("k0", -1)) && at("k1", inf) == 0);
  CHECK(at("k0e", inf) == 0 && at("i0e", -inf) == 0);
  CHECK(at("bessel_y0", 0) == -inf && at("bessel_y1", 0) == -inf && std::isnan(at("bessel_y0", -1)));
  CHECK(at("bessel_j0", 0) == 1 && std::signbit(at("bessel_j1", -0.0)) && at("airy_ai", 200) == 0);
  CHECK(at("spherical_bessel_j0", inf) == 0 && at("spherical_bessel_j0", 0) == 1);
  CHECK(at("sinc", 0) == 1 && at("sinc", 3) == 0);
  CHECK(std::isnan(at("igamma", 0, 0)) && at("igamma", 0, 1) == 1);
  CHECK(at("igamma", 1, 0) == 0 && at("igamma", 1, inf) == 1);
  CHECK(at("igamma", inf, 1) == 0 && std::isnan(at("igamma", inf, inf)) && std::isnan(at("igamma", -1, 1)));
  CHECK(at("igammac", 0, 1) == 0 && at("igammac", 1, 0) == 1 && std::isnan(at("igammac", 1, -1)));
  CHECK(close("igamma", at("igamma", 1e12, 1e12), 0.5 + 1 / (3 * std::sqrt(2 * 3.14159265358979323846e12))));
  CHECK(at("chebyshev_polynomial_t", 0.5, -1) == 0 && at("chebyshev_polynomial_u", -1, 3) == -4);
  CHECK(at("chebyshev_polynomial_v", -1, 3) == -7 && at("chebyshev_polynomial_w", 1, 3) == 7);
  CHECK(at("chebyshev_polynomial_t", 0.5, 2.7) == -0.5 && at("legendre_polynomial_p", -1, 3) == -1);
  CHECK(at("laguerre_polynomial_l", 0, 9) == 1 && std::isnan(at("hermite_polynomial_h", NAN, 2)));
  CHECK(at("logaddexp", -inf, -inf) == -inf && at("logaddexp", inf, 1) == inf && at("xlogy", 0, 0) == 0);
  CHECK(std::isnan(at("xlogy", 0, NAN)) && at("xlog1py", 0, -1) == 0);
  CHECK(find_special1("nothing") == nullptr && find_special2("nothing") == nullptr);
}

static void test_arrays() {
  const int64_t sizes[2] = {100, 90}, rows[2] = {90 * 4, 4}, columns[2] = {8, 800}, halves[2] = {180, 2};
  std::vector<float> x(9000), y(9000);
  std::vector<double> xd(9000), yd(9000);
  for (int i = 0; i < 9000; ++i) x[i] = static_cast<float>(i) / 1000, xd[i] = x[i];
  const auto array = [&](void* data, DType dtype, const int64_t* strides) {
    return Array{static_cast<char*>(data), dtype, 2, sizes, strides};
  };
  map_special1(find_special1("lgamma"), array(y.data(), DType::F32, rows), array(x.data(), DType::F32, rows));
  for (int i = 0; i < 9000; ++i) CHECK(y[i] == static_cast<float>(at("lgamma", x[i])));
  const int64_t wide[2] = {90 * 8, 8};
  map_special2(find_special2("igamma"), array(yd.data(), DType::F64, columns), array(xd.data(), DType::F64, wide),
               array(xd.data() + 1, DType::F64, std::vector<int64_t>{0, 0}.data()));
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 90; ++j) CHECK(i + j == 0 || yd[j * 100 + i] == at("igamma", xd[i * 90 + j], xd[1]));
  }
  map_special2(find_special2("nextafter"), array(y.data(), DType::F32, rows), array(x.data(), DType::F32, rows),
               array(x.data() + 100, DType::F32, std::vector<int64_t>{0, 0}.data()));
  for (int i = 0; i < 9000; ++i) CHECK(y[i] == std::nextafter(x[i], x[100]));
  std::vector<Half> h(9000), r(9000);
  for (int i = 0; i < 9000; ++i) h[i].bits = static_cast<uint16_t>(i * 7);
  Half target(1.0f);
  map_special2(find_special2("nextafter"), array(r.data(), DType::F16, halves), array(h.data(), DType::F16, halves),
               array(&target, DType::F16, std::vector<int64_t>{0, 0}.data()));
  for (int i = 0; i < 9000; ++i) {
    const float from = static_cast<float>(h[i]), to = static_cast<float>(r[i]);
    if (std::isnan(from)) continue;
    CHECK(from < 1 ? to > from && to <= 1 : from > 1 ? to < from && to >= 1 : to == 1);
  }
  map_special1(find_special1("erf"), array(r.data(), DType::F16, halves), array(h.data(), DType::F16, halves));
  for (int i = 0; i < 9000; ++i) {
    const double from = static_cast<float>(h[i]);
    if (!std::isnan(from)) CHECK(r[i].bits == Half(std::erf(from)).bits);
  }
  int32_t integers[1] = {1};
  const int64_t one[1] = {1}, four[1] = {4};
  const Array bad{reinterpret_cast<char*>(integers), DType::I32, 1, one, four};
  CHECK_THROWS(map_special1(find_special1("erf"), bad, bad), Error);
}

int main() {
  test_values();
  test_borders();
  test_arrays();
  return check::finish("special");
}
