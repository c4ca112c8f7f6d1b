// The table of special functions by name, and their loops over arrays.
#include "special.h"

#include <cmath>
#include <string>
#include <string_view>

#include "error.h"
#include "kernels/nest.h"
#include "kernels/types.h"
#include "thread_pool.h"

namespace thixo {
namespace {

namespace s = special;

struct Entry1 {
  std::string_view name;
  Unary function;
};
struct Entry2 {
  std::string_view name;
  Binary function;
};

constexpr Entry1 kUnary[] = {
    {"erf", [](double x) { return std::erf(x); }},
    {"erfc", [](double x) { return std::erfc(x); }},
    {"erfcx", s::erfcx},
    {"erfinv", s::erfinv},
    {"ndtr", s::ndtr},
    {"ndtri", s::ndtri},
    {"log_ndtr", s::log_ndtr},
    {"logit", s::logit},
    {"entr", s::entr},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"lgamma", s::lgamma},
    {"gamma_sign", s::gamma_sign},
    {"digamma", s::digamma},
    {"trigamma", s::trigamma},
    {"i0", s::i0},
    {"i0e", s::i0e},
    {"i1", s::i1},
    {"i1e", s::i1e},
    {"k0", s::k0},
    {"k0e", s::k0e},
    {"k1", s::k1},
    {"k1e", s::k1e},
    {"bessel_j0", s::bessel_j0},
    {"bessel_j1", s::bessel_j1},
    {"bessel_y0", s::bessel_y0},
    {"bessel_y1", s::bessel_y1},
    {"spherical_bessel_j0", s::spherical_bessel_j0},
    {"sinc", s::sinc},
    {"airy_ai", s::airy_ai},
};

double next_after(double x, double y) { return std::nextafter(x, y); }

double log_add_exp(double x, double y) {
  const double most = std::fmax(x, y);
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (std::isinf(most)) return most;
  return most + std::log1p(std::exp(-std::fabs(x - y)));
}

constexpr Entry2 kBinary[] = {
    {"polygamma", s::polygamma},
    {"zeta", s::zeta},
    {"igamma", s::igamma},
    {"igammac", s::igammac},
    {"nextafter", next_after},
    {"hypot", [](double x, double y) { return std::hypot(x, y); }},
    {"logaddexp", log_add_exp},
    {"xlogy", [](double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }},
    {"xlog1py", [](double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }},
    {"chebyshev_polynomial_t", s::chebyshev_t},
    {"chebyshev_polynomial_u", s::chebyshev_u},
    {"chebyshev_polynomial_v", s::chebyshev_v},
    {"chebyshev_polynomial_w", s::chebyshev_w},
    {"shifted_chebyshev_polynomial_t", s::shifted_chebyshev_t},
    {"shifted_chebyshev_polynomial_u", s::shifted_chebyshev_u},
    {"shifted_chebyshev_polynomial_v", s::shifted_chebyshev_v},
    {"shifted_chebyshev_polynomial_w", s::shifted_chebyshev_w},
    {"hermite_polynomial_h", s::hermite_h},
    {"hermite_polynomial_he", s::hermite_he},
    {"laguerre_polynomial_l", s::laguerre_l},
    {"legendre_polynomial_p", s::legendre_p},
};

constexpr int64_t kGrain = 2048;

template <class T, class Function>
void map_nest(const Nest& nest, Function function) {
  parallel_for(nest.total, kGrain, [&](int64_t begin, int64_t end) {
    walk_rows<0>(nest, begin, end, [&](char* const* at, const int64_t* strides, int64_t n) {
      const int result = nest.count - 1;
      for (int64_t i = 0; i < n; ++i) {
        store(at[result] + i * strides[result], function(at, strides, i));
      }
    });
  });
}

template <class T>
double read(char* const* at, const int64_t* strides, int k, int64_t i) {
  return convert<double>(load<T>(at[k] + i * strides[k]));
}

// One step in the dtype itself: for half types through their bits, which are ordered like integers.
template <class T>
T next_in(T x, T y) {
  if constexpr (kIsHalf<T>) {
    const float from = static_cast<float>(x), to = static_cast<float>(y);
    if (std::isnan(from)) return x;
    if (std::isnan(to) || from == to) return y;
    T next;
    if (from == 0) {
      next.bits = static_cast<uint16_t>(to < 0 ? 0x8001 : 0x0001);
    } else {
      next.bits = static_cast<uint16_t>((from < to) == (from > 0) ? x.bits + 1 : x.bits - 1);
    }
    return next;
  } else {
    return std::nextafter(x, y);
  }
}

template <class Visitor>
void visit_floating(const char* function, DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::F16: return visitor.template operator()<Half>();
    case DType::BF16: return visitor.template operator()<BFloat16>();
    case DType::F32: return visitor.template operator()<float>();
    case DType::F64: return visitor.template operator()<double>();
    default:
      fail(ErrorKind::DType,
           std::string(function) + ": got dtype " + short_name(dtype) + "; needs a floating dtype");
  }
}

}  // namespace

Unary find_special1(const char* name) {
  for (const Entry1& entry : kUnary) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

Binary find_special2(const char* name) {
  for (const Entry2& entry : kBinary) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

void map_special1(Unary function, const Array& result, const Array& x) {
  const Array arrays[2] = {x, result};
  Nest nest;
  build_nest(nest, arrays, 2);
  visit_floating("map_special1", result.dtype, [&]<class T>() {
    map_nest<T>(nest, [function](char* const* at, const int64_t* strides, int64_t i) {
      return convert<T>(function(read<T>(at, strides, 0, i)));
    });
  });
}

void map_special2(Binary function, const Array& result, const Array& x, const Array& y) {
  const Array arrays[3] = {x, y, result};
  Nest nest;
  build_nest(nest, arrays, 3);
  visit_floating("map_special2", result.dtype, [&]<class T>() {
    if (function == next_after) {
      map_nest<T>(nest, [](char* const* at, const int64_t* strides, int64_t i) {
        return next_in(load<T>(at[0] + i * strides[0]), load<T>(at[1] + i * strides[1]));
      });
      return;
    }
    map_nest<T>(nest, [function](char* const* at, const int64_t* strides, int64_t i) {
      return convert<T>(function(read<T>(at, strides, 0, i), read<T>(at, strides, 1, i)));
    });
  });
}

}  // namespace thixo
