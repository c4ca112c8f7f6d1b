// C++ types of the dtypes, and how kernels read, write and convert single elements.
#pragma once
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../dtype.h"
#include "../half.h"

// Tells the compiler that iterations do not depend on each other (the operands are disjoint or the
// very same elements), which it cannot see from the pointers.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // a loop it cannot vectorise is no reason to warn
#define THIXO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define THIXO_INDEPENDENT _Pragma("GCC ivdep")
#else
#define THIXO_INDEPENDENT
#endif

namespace thixo {

// A bool as stored: any byte but 0 is true, and only 0 and 1 are written.
struct Boolean {
  uint8_t byte;
};

template <DType> struct CppTypeOf;
template <> struct CppTypeOf<DType::Bool> { using type = Boolean; };
template <> struct CppTypeOf<DType::I8> { using type = int8_t; };
template <> struct CppTypeOf<DType::I16> { using type = int16_t; };
template <> struct CppTypeOf<DType::I32> { using type = int32_t; };
template <> struct CppTypeOf<DType::I64> { using type = int64_t; };
template <> struct CppTypeOf<DType::U8> { using type = uint8_t; };
template <> struct CppTypeOf<DType::U16> { using type = uint16_t; };
template <> struct CppTypeOf<DType::U32> { using type = uint32_t; };
template <> struct CppTypeOf<DType::U64> { using type = uint64_t; };
template <> struct CppTypeOf<DType::F16> { using type = Half; };
template <> struct CppTypeOf<DType::BF16> { using type = BFloat16; };
template <> struct CppTypeOf<DType::F32> { using type = float; };
template <> struct CppTypeOf<DType::F64> { using type = double; };
template <> struct CppTypeOf<DType::C64> { using type = std::complex<float>; };
template <> struct CppTypeOf<DType::C128> { using type = std::complex<double>; };
template <DType t> using CppType = typename CppTypeOf<t>::type;

template <class T> constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T> constexpr bool kIsComplex = false;
template <class T> constexpr bool kIsComplex<std::complex<T>> = true;
template <class T> constexpr bool kIsBool = std::is_same_v<T, Boolean>;

// Call visitor.template operator()<T>() with the C++ type of a dtype.
template <class Visitor>
decltype(auto) visit(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::Bool: return visitor.template operator()<Boolean>();
    case DType::I8: return visitor.template operator()<int8_t>();
    case DType::I16: return visitor.template operator()<int16_t>();
    case DType::I32: return visitor.template operator()<int32_t>();
    case DType::I64: return visitor.template operator()<int64_t>();
    case DType::U8: return visitor.template operator()<uint8_t>();
    case DType::U16: return visitor.template operator()<uint16_t>();
    case DType::U32: return visitor.template operator()<uint32_t>();
    case DType::U64: return visitor.template operator()<uint64_t>();
    case DType::F16: return visitor.template operator()<Half>();
    case DType::BF16: return visitor.template operator()<BFloat16>();
    case DType::F32: return visitor.template operator()<float>();
    case DType::F64: return visitor.template operator()<double>();
    case DType::C64: return visitor.template operator()<std::complex<float>>();
    default: return visitor.template operator()<std::complex<double>>();
  }
}

// Elements in strided paths need not be aligned.
template <class T>
inline T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
inline void store(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

template <class T>
inline bool aligned(const void* a, const void* b = nullptr, const void* c = nullptr) {
  const uintptr_t bits = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
                         reinterpret_cast<uintptr_t>(c);
  return bits % alignof(T) == 0;
}

// A 64-bit integer as a double that rounds to a half type as the integer would: the bits that a
// double cannot hold are gathered in one that it can.
template <class Integer>
inline double sticky_double(Integer value) {
  if constexpr (sizeof(Integer) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = value < 0;
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 52) magnitude = (magnitude & ~uint64_t{0xffff}) | ((magnitude & 0xffff) ? 0x8000 : 0);
    const double result = static_cast<double>(magnitude);
    return negative ? -result : result;
  }
}

// float to integer as documented at copy() in kernels.h.
template <class Integer, class Float>
inline Integer truncate(Float value) {
  constexpr Float two31 = 2147483648.0f, two63 = 9223372036854775808.0f;
  if constexpr (std::is_same_v<Integer, uint64_t>) {
    if (value >= two63) {
      const Float rest = value - two63;
      return (rest < two63 ? static_cast<uint64_t>(static_cast<int64_t>(rest)) : 0) ^ (uint64_t{1} << 63);
    }
    return static_cast<uint64_t>(truncate<int64_t>(value));
  } else if constexpr (sizeof(Integer) == 8 || std::is_same_v<Integer, uint32_t>) {
    const bool fits = value >= -two63 && value < two63;
    return static_cast<Integer>(fits ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::min());
  } else {
    // doubles between -2^31 - 1 and -2^31 truncate to -2^31; floats have none there
    const bool above = sizeof(Float) == 4 ? value >= -two31 : value > -2147483649.0;
    const bool fits = above && value < two31;
    return static_cast<Integer>(fits ? static_cast<int32_t>(value) : std::numeric_limits<int32_t>::min());
  }
}

// One element converted.
template <class To, class From>
inline To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsBool<From>) {
    return convert<To>(static_cast<int8_t>(value.byte != 0));
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      using Part = typename To::value_type;
      return To(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
    } else if constexpr (kIsBool<To>) {
      return Boolean{static_cast<uint8_t>((value.real() != 0) | (value.imag() != 0))};
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (kIsHalf<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (kIsBool<To>) {
    return Boolean{static_cast<uint8_t>(value != 0)};
  } else if constexpr (kIsHalf<To>) {
    if constexpr (std::is_integral_v<From>) {
      if constexpr (sizeof(From) < 4) return To(static_cast<float>(value));
      else return To(sticky_double(value));
    } else {
      return To(value);
    }
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace thixo
