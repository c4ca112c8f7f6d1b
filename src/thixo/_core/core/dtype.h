// Element types: their codes, sizes and kinds. The codes are those of thixo/dtype.py.
#pragma once
#include <complex>
#include <cstdint>

namespace thixo {

enum class DType : uint8_t {
  Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128
};
constexpr int kDTypes = 15;

constexpr int kItemSize[kDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
constexpr const char* kShortName[kDTypes] = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32",
                                             "u64", "f16", "bf16", "f32", "f64", "c64", "c128"};

constexpr int code(DType t) { return static_cast<int>(t); }
constexpr int item_size(DType t) { return kItemSize[code(t)]; }
constexpr const char* short_name(DType t) { return kShortName[code(t)]; }
constexpr bool is_bool(DType t) { return t == DType::Bool; }
constexpr bool is_integer(DType t) { return t >= DType::I8 && t <= DType::U64; }
constexpr bool is_unsigned(DType t) { return t >= DType::U8 && t <= DType::U64; }
constexpr bool is_floating(DType t) { return t >= DType::F16 && t <= DType::F64; }
constexpr bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
constexpr bool is_complex(DType t) { return t >= DType::C64; }
constexpr bool is_differentiable(DType t) { return t >= DType::F16; }

// The dtype both operands are converted to, when both are tensors with dimensions.
DType promote(DType a, DType b);
// float32 <-> complex64 and so on; integers and bool give the default float's complex.
DType to_complex(DType t);
DType to_real(DType t);

}  // namespace thixo
