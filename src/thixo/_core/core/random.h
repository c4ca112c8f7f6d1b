// Random fills of contiguous buffers. Element i depends on the seed, the offset and i alone: never
// on threads, nor on how many elements are drawn. Each function returns how many offsets it used
// (1, or 0 when n is 0); the generator's offset advances by that.
#pragma once
#include <cstdint>

#include "dtype.h"
#include "philox.h"

namespace thixo {

// Uniform in [0, 1): a multiple of 2^-24 for F32, 2^-53 for F64, 2^-11 for F16, 2^-8 for BF16, so
// that 1 cannot come out of rounding. Complex types draw both parts.
int64_t fill_uniform(const Philox& generator, DType dtype, void* data, int64_t n);

// Standard normal by Box and Muller: a pair of words (32 bits each; 64 for F64) gives a radius
// sqrt(-2 log u), u in (0, 1], and an angle, computed in double; elements 2k and 2k + 1 are its
// cosine and sine. Magnitudes reach 6.6 (8.5 for F64). Half types round the F32 values. Complex
// types have unit variance, half of it in each part.
int64_t fill_normal(const Philox& generator, DType dtype, void* data, int64_t n);

// Raw words, to be used as they are or as a source of further distributions.
int64_t fill_bits32(const Philox& generator, uint32_t* data, int64_t n);
int64_t fill_bits64(const Philox& generator, uint64_t* data, int64_t n);

// Integers in [low, high), stored as any dtype: the top bits of a wide random fraction times the
// width of the range. The fraction has 64 bits for widths to 2^32 and 128 above, so no value's
// probability is off by more than 2^-32 of itself. Fails with ErrorKind::Argument when low >= high.
int64_t fill_integers(const Philox& generator, DType dtype, void* data, int64_t n, int64_t low, int64_t high);

// A permutation of 0 .. n-1 (Fisher and Yates, serial).
int64_t fill_permutation(const Philox& generator, int64_t* data, int64_t n);

}  // namespace thixo
