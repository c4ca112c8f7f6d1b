#include "dtype.h"

#include <algorithm>
#include <string>

#include "error.h"

namespace thixo {
namespace {

// The signed type that holds every value of both; uint8 and int8 meet in int16.
DType promote_integers(DType a, DType b) {
  if (a == DType::U8 && b == DType::U8) return DType::U8;
  if (a == DType::U8) return std::max(b, DType::I16);
  if (b == DType::U8) return std::max(a, DType::I16);
  return std::max(a, b);
}

// uint16, uint32 and uint64 are storage types: they meet only themselves and floating types,
// because no integer type holds every pair without surprising somebody.
bool is_storage_only(DType t) { return t >= DType::U16 && t <= DType::U64; }

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_storage_only(a) || is_storage_only(b)) {
    if (is_floating(a)) return a;
    if (is_floating(b)) return b;
    fail(ErrorKind::DType, std::string("promote: ") + short_name(a) + " and " + short_name(b) +
                               " have no common dtype; u16, u32 and u64 combine only with themselves"
                               " and floating types: convert one of the two");
  }
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
