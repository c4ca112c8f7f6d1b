// Recurrent layers over whole sequences: products of matrices, and generated kernels for the units between them.
//
// Sequences of a batch do not meet, so the batch is cut into parts of fixed size that run through all times alone:
// threads share out the parts, and the results do not depend on how many there are.
#pragma once
#include <cstdint>

#include "array.h"

namespace thixo {

// What kinds of cells differ in. A line is `hidden` numbers of one sequence at one time.
struct RecurrentKind {
  int gates;     // lines that input and state each add to
  int lines;     // kept of a step for the gradient; 0: its output is all that is needed
  bool cell;     // beside the state there is a cell, which is kept too
  bool carries;  // the new state takes part of the last one as it is
};
constexpr RecurrentKind kLstm{4, 4, true, false}, kGru{3, 4, false, true}, kPlain{1, 0, false, false};

// Everything lies contiguous: (steps, batch, features) or (batch, hidden).
struct Sequence {
  RecurrentKind kind = kLstm;
  DType dtype = DType::F32;  // F32 or F64
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  bool reverse = false;             // from the last time to the first
  const void* weight_hh = nullptr;  // (gates hidden, hidden)
  const void* h = nullptr;          // before the first step
  const void* c = nullptr;          // the same of the cell
  void* y = nullptr;                // (steps, batch, hidden)
  void* kept = nullptr;             // (steps, batch, lines hidden)
  void* cells = nullptr;            // (steps, batch, hidden)
  Loop step = nullptr;              // see runtime/recurrent.py
};

// The biases (gates hidden, or null) are added to the share of the input and to that of the state.
void recurrent_forward(const Sequence& s, const void* x, const void* weight_ih, const void* bias_ih, const void* bias_hh);

// Gradients from those of the outputs and of the last state: of what input and state add to the gates, and of the
// first state. `g_h` and `g_carried` (of the cell, or of what the state carries over) are overwritten with the latter.
// The shares of input and state have the same gradient, `to_input`, but where a state is carried.
void recurrent_backward(const Sequence& s, const void* g_y, void* g_h, void* g_carried, void* to_input, void* to_state);

}  // namespace thixo
