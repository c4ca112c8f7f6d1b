// Attention without the matrix of all scores: blocks of queries meet blocks of keys, and each query carries the largest
// score and the sum of exponentials that it has seen so far. The gradient computes the blocks again from those.
//
// How queries and keys are cut depends on the sizes alone, so results do not depend on the number of threads.
#pragma once
#include <cstdint>

#include "dims.h"
#include "rows.h"

namespace thixo {

// Matrices, one for each index of the batch; strides in elements. Rows lie contiguous.
struct Matrices {
  char* data = nullptr;
  Dims batch;  // strides
  int64_t row = 0;
};

struct Attention {
  DType dtype = DType::F32;   // of the computation: F32 or F64
  DType source = DType::F32;  // of q, k, v and y: the same, or BF16 where `takes_bf16`
  Dims batch;                // sizes
  int64_t queries = 0, keys = 0, size = 0, value_size = 0;
  double scale = 1;
  bool causal = false;
  Matrices q, k, v, y;
  void* logsumexp = nullptr;  // (batch, queries), contiguous; infinity for a query that may attend to nothing
  // Numbers to add to the scores (of `dtype`), or true where attention is allowed; null if there is none.
  const char* mask = nullptr;
  bool mask_is_bool = false;
  Dims mask_batch;
  int64_t mask_row = 0, mask_column = 0;
};

struct AttentionRows {
  RowLoop softmax;  // scores, largest, sum, scale of scores -> exponentials, largest, sum, what older sums shrink by
  RowLoop finish;   // sums of values, largest, sum -> result, logsumexp
};
void attention_forward(const Attention& a, const AttentionRows& kernels);

// bfloat16 as it is, where the processor multiplies it by instructions of its own: only the way there, of not too few
// queries. Shares are rounded to bfloat16 before they meet the values.
bool takes_bf16(int64_t queries);
void attention_forward_bf16(const Attention& a, const AttentionRows& kernels);

struct AttentionGradients {
  Matrices g;               // of y
  Matrices to_q, to_k, to_v;
};
// score, logsumexp, gradient of the share, its mean, scale of the score, scale -> share, gradient of the unscaled score
void attention_backward(const Attention& a, const AttentionGradients& to, Loop back);

}  // namespace thixo
