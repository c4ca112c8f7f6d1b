#include "dtype.h"

#include <algorithm>
#include <string>

#include "error.h"

namespace thixo {
namespace {

// The smallest type that holds every value of both. The codes of each kind grow with its size.
DType promote_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return std::max(a, b);
  const DType other = is_unsigned(a) ? b : a, whole = is_unsigned(a) ? a : b;
  if (whole == DType::U64) {
    fail(ErrorKind::DType, std::string("promote: ") + short_name(a) + " and " + short_name(b) +
                               " have no common dtype: no integer type holds the values of both;"
                               " convert one of them");
  }
  const DType wider = static_cast<DType>(code(DType::I16) + code(whole) - code(DType::U8));
  return std::max(other, wider);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::C128 || b == DType::C128 || a == DType::F64 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  if (is_floating(a) && is_floating(b)) {
    return is_half(a) && is_half(b) ? DType::F32 : std::max(a, b);
  }
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  if (is_bool(a)) return b;
  if (is_bool(b)) return a;
  return promote_integers(a, b);
}

DType to_complex(DType t) {
  return t == DType::F64 || t == DType::C128 ? DType::C128 : DType::C64;
}

DType to_real(DType t) {
  if (t == DType::C64) return DType::F32;
  if (t == DType::C128) return DType::F64;
  return t;
}

}  // namespace thixo
