// Recurrent layers over whole sequences: products of matrices, and generated kernels for the units between them.
//
// Sequences of a batch do not meet, so the batch is cut into parts of fixed size that run through all times alone:
// threads share out the parts, and the results do not depend on how many there are.
#pragma once
#include <cstdint>

#include "array.h"

namespace thixo {

// Everything lies contiguous: (steps, batch, features) or (batch, hidden).
struct LstmSequence {
  DType dtype = DType::F32;  // F32 or F64
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  bool reverse = false;              // from the last time to the first
  const void* weight_hh = nullptr;   // (4 hidden, hidden)
  const void* c = nullptr;           // before the first step
  void* gates = nullptr;             // (steps, batch, 4 hidden)
  void* cells = nullptr;             // (steps, batch, hidden)
  Loop cell = nullptr;
};

// `bias` (4 hidden, or null) is what both biases add up to.
void lstm_forward(const LstmSequence& s, const void* x, const void* h, const void* weight_ih, const void* bias, void* y);

// Gradients from those of the outputs and of the last state: of what went into the gates (steps, batch, 4 hidden) and of the
// first state. `g_h` and `g_c` are overwritten with the latter.
void lstm_backward(const LstmSequence& s, const void* g_y, void* g_h, void* g_c, void* g_gates);

}  // namespace thixo
