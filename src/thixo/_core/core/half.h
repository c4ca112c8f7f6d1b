// Half (IEEE binary16) and BFloat16: storage types whose arithmetic happens in float.
// Every conversion rounds to nearest, ties to even, once; NaN stays NaN (quiet, sign kept).
// The code is integer selects without branches, so that loops over it vectorise on any machine.
#pragma once
#include <bit>
#include <cstdint>

namespace thixo {

inline uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Ordinary numbers: move the exponent from bias 127 to 15, and round by carrying into the kept bits.
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
  // Below 2^-14: adding 0.5 makes the adder round at 2^-24, the spacing of half's subnormals.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = magnitude < (113u << 23) ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above round to infinity
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

inline float half_value(uint16_t bits) {
  const uint32_t sign = (static_cast<uint32_t>(bits) & 0x8000u) << 16;
  const uint32_t magnitude = (static_cast<uint32_t>(bits) & 0x7fffu) << 13;
  const uint32_t normal = magnitude + (112u << 23);
  // A subnormal is its mantissa times 2^-24: written into 2^-14's mantissa, less 2^-14.
  const float small = std::bit_cast<float>(magnitude + (113u << 23)) - std::bit_cast<float>(113u << 23);
  const uint32_t quiet = magnitude > 0x0f800000u ? 0x400000u : 0u;
  uint32_t result = magnitude < (1u << 23) ? std::bit_cast<uint32_t>(small) : normal;
  result = magnitude >= 0x0f800000u ? (magnitude | 0x7f800000u | quiet) : result;
  return std::bit_cast<float>(sign | result);
}

inline uint16_t bfloat_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

inline float bfloat_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// A float that rounds to any narrower type as the double would: where the conversion is inexact,
// the last bit is made odd, so that a second rounding never sees a false tie.
inline float sticky_float(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (back != value && value == value && (bits & 1u) == 0) {
    const double magnitude = value < 0 ? -value : value;
    const double rounded = back < 0 ? -back : back;
    bits = rounded > magnitude ? bits - 1 : bits + 1;
  }
  return std::bit_cast<float>(bits);
}

struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value) : bits(half_bits(value)) {}
  explicit Half(double value) : bits(half_bits(sticky_float(value))) {}
  explicit operator float() const { return half_value(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(bfloat_bits(value)) {}
  explicit BFloat16(double value) : bits(bfloat_bits(sticky_float(value))) {}
  explicit operator float() const { return bfloat_value(bits); }
};

}  // namespace thixo
