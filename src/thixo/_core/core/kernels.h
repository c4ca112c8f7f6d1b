// The native loops. Everything here is found through the dispatch table in dispatch.h.
#pragma once
#include <cstdint>
#include "array.h"

namespace thixo {

// Native loop of a pointwise operator ("add", "sub", "mul", "true_divide", "neg", "tanh") for a dtype; nullptr if there is none.
Loop find_loop(const char* op, DType dtype);

// Elements that one thread takes at a time: loops of fewer elements run on the calling thread.
constexpr int64_t kLightGrain = 32768;  // a few instructions per element
constexpr int64_t kHeavyGrain = 4096;   // exponentials and the like

// Run a loop over arrays of one broadcast shape (the last ones are the results), on the thread pool when large.
// Dimensions are coalesced; a result must not overlap an input unless they are the same elements.
// A loop that takes only elements that follow each other, or one that stays in place, says `in_lines`.
void run_loop(Loop loop, const Array* arrays, int count, int64_t grain = kLightGrain, bool in_lines = false,
              int results = 1);

// destination = source, converted; equal shapes (strides may differ or be 0 in source).
// They must not overlap. complex to real drops the imaginary part; anything to bool tests for
// non-zero; integers wrap; to half types rounds once, from the source's own value.
// float to integer truncates toward zero. Out of range, on every machine: i32 and i64 give their lowest
// value (as for NaN); i8, i16, u8 and u16 keep the low bits of the i32 conversion, u32 those of the i64
// one; u64 takes [0, 2^64) exactly, else the bits of the i64 conversion.
void copy(const Array& destination, const Array& source);

// Fill with one element of destination's dtype (need not be aligned); with zero bytes for nullptr.
void fill(const Array& destination, const void* element);

// result = sum of source over the dimensions marked in `reduced` (bool per dimension). result has
// source's ndim with size 1 in the reduced dimensions, contiguous or not, and its dtype is the accumulation
// dtype's rounding: half types and float32 add up in float32 with pairwise trees, float64 in float64,
// integers and bool wrap in int64, complex in pairs. The tree depends on the shape alone, never on threads.
void sum(const Array& result, const Array& source, const bool* reduced);

}  // namespace thixo
