// Half conversions against their definition, and the promotion table.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "../../src/thixo/_core/core/error.h"
#include "../../src/thixo/_core/core/half.h"
#include "../../src/thixo/_core/core/dtype.h"
#include "check.h"

using namespace thixo;

// The value of a half from its fields, without the code under test.
static double define_half(int bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

static double define_bfloat(int bits) {
  const int exponent = (bits >> 7) & 255, mantissa = bits & 127;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 255) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -133);
  return sign * std::ldexp(128 + mantissa, exponent - 134);
}

// Nearest of the 16-bit values by comparing exact distances; ties go to the even code.
template <class Define>
static int nearest(double x, int infinity, Define define) {
  const int sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (std::isinf(x)) return sign | infinity;
  int low = 0, high = infinity;  // define(low) <= x < define(high)
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (define(middle) <= x ? low : high) = middle;
  }
  const double step = high == infinity ? define(low) - define(low - 1) : define(high) - define(low);
  const double middle = define(low) + step / 2;
  if (x > middle || (x == middle && (low & 1))) return sign | high;
  return sign | low;
}

static void test_half_types() {
  for (int bits = 0; bits < 65536; ++bits) {
    const uint16_t b = static_cast<uint16_t>(bits);
    const double half = define_half(bits), bfloat = define_bfloat(bits);
    if (std::isnan(half)) {
      CHECK(std::isnan(half_value(b)));
      CHECK(half_bits(half_value(b)) == (b | 0x200));
    } else {
      CHECK(half_value(b) == half && std::signbit(half_value(b)) == std::signbit(half));
      CHECK(half_bits(half_value(b)) == b);
    }
    if (std::isnan(bfloat)) {
      CHECK(std::isnan(bfloat_value(b)));
      CHECK(bfloat_bits(bfloat_value(b)) == (b | 0x40));
    } else {
      CHECK(bfloat_value(b) == bfloat && std::signbit(bfloat_value(b)) == std::signbit(bfloat));
      CHECK(bfloat_bits(bfloat_value(b)) == b);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random());
    const float any = std::bit_cast<float>(bits);
    if (!std::isnan(any)) CHECK(bfloat_bits(any) == nearest(any, 0x7f80, define_bfloat));
    // exponents near half's range, where something happens
    const float near = std::bit_cast<float>((bits & 0x807fffffu) | ((100u + bits / 7 % 46) << 23));
    CHECK(half_bits(near) == nearest(near, 0x7c00, define_half));
    // doubles just beside a tie, where rounding twice would go wrong
    const int code = static_cast<int>(random() % 0x7bff);
    const double tie = (define_half(code) + define_half(code + 1)) / 2;
    const double beside = std::nextafter(tie, random() & 1 ? 1e9 : -1e9);
    CHECK(Half(tie).bits == nearest(tie, 0x7c00, define_half));
    CHECK(Half(beside).bits == nearest(beside, 0x7c00, define_half));
    CHECK(BFloat16(-beside).bits == nearest(-beside, 0x7f80, define_bfloat));
  }
  CHECK(Half(65519.999).bits == 0x7bff && Half(65520.0).bits == 0x7c00);
  CHECK(Half(1e300).bits == 0x7c00 && Half(-1e300).bits == 0xfc00 && BFloat16(1e300).bits == 0x7f80);
  CHECK(Half(1e-300).bits == 0 && Half(-0.0).bits == 0x8000);
  CHECK(std::isnan(static_cast<float>(Half(NAN))) && std::isnan(static_cast<float>(BFloat16(NAN))));
}

static void test_promote() {
  const char letters[] = "b1248uvwxhgfdcz";  // one letter per dtype, in order of code
  // Rows and columns in order of code; '.' refuses.
  const char* table[kDTypes] = {"b1248uvwxhgfdcz", "11248248.hgfdcz", "22248248.hgfdcz",
                                "44448448.hgfdcz", "88888888.hgfdcz", "u2248uvwxhgfdcz",
                                "v4448vvwxhgfdcz", "w8888wwwxhgfdcz", "x....xxxxhgfdcz",
                                "hhhhhhhhhhffdcz", "gggggggggfgfdcz", "ffffffffffffdcz",
                                "dddddddddddddzz", "cccccccccccczcz", "zzzzzzzzzzzzzzz"};
  for (int a = 0; a < kDTypes; ++a) {
    std::string row = table[a];
    CHECK(row.size() == kDTypes);
    for (int b = 0; b < kDTypes; ++b) {
      const DType left = static_cast<DType>(a), right = static_cast<DType>(b);
      if (row[b] == '.') {
        CHECK_THROWS(promote(left, right), Error);
      } else {
        CHECK(letters[code(promote(left, right))] == row[b]);
      }
    }
  }
  CHECK(to_complex(DType::F16) == DType::C64 && to_complex(DType::I64) == DType::C64);
  CHECK(to_complex(DType::F64) == DType::C128 && to_real(DType::C128) == DType::F64);
  CHECK(to_real(DType::C64) == DType::F32 && to_real(DType::BF16) == DType::BF16);
}

int main() {
  test_half_types();
  test_promote();
  return check::finish("dtype");
}
