// The inner loops of random fills, in the widest form this processor has. Every form gives the same bits: they
// differ in how many elements an instruction takes, not in the arithmetic.
#pragma once
#include <cstdint>

#include "philox.h"

namespace thixo {

struct RandomLoops {
  // The words of `batches` batches of Philox blocks from block `first` on.
  void (*words)(const Philox& generator, uint64_t first, uint32_t* to, int64_t batches);
  // Uniform in [0, 1), multiples of 2^-24.
  void (*uniform)(const uint32_t* words, float* to, int64_t n);
  // Normal by Box and Muller: elements 2k and 2k + 1 from words 2k and 2k + 1. n is even.
  void (*normal)(const uint32_t* words, double scale, float* to, int64_t n);
  // floor(fraction * width) of fractions of 64 bits, two words each, for widths to 2^32.
  void (*scaled)(const uint32_t* words, uint64_t width, uint64_t* to, int64_t n);
};
const RandomLoops& random_loops();
const RandomLoops& portable_random_loops();  // the form that every processor has

}  // namespace thixo
