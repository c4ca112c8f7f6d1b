// Attention of bfloat16 by the tiles that matrix products of it have (gemm_kernels.h): scores and sums are float32.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention_parts.h"
#include "half.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr int64_t kFewQueries = 4;
constexpr int64_t kAlign = 64;

// Factors in panels, and sums that are written in whole tiles.
class Tiles {
 public:
  Tiles() : kernels_(gemm_kernels(DType::BF16)), t_(kernels_.tiles) {}

  int64_t rows() const { return t_.rows; }
  int64_t columns() const { return t_.columns; }
  int64_t left_room(int64_t m, int64_t k) const { return ceil_div(m, t_.rows) * left_panel(k); }
  int64_t right_room(int64_t k, int64_t n) const { return ceil_div(n, t_.columns) * right_panel(k); }

  // A of (m, k), rows contiguous.
  void pack_left(const BFloat16* a, int64_t row, int64_t m, int64_t k, char* into) const {
    for (int64_t i = 0; i < m; i += t_.rows, into += left_panel(k))
      t_.pack_a_across(a + i * row, row, into, k, std::min(t_.rows, m - i));
  }
  // B of (k, n), columns contiguous: the turned form of a matrix whose rows are.
  void pack_right_turned(const BFloat16* b, int64_t column, int64_t k, int64_t n, char* into) const {
    for (int64_t j = 0; j < n; j += t_.columns, into += right_panel(k))
      t_.pack_b_across(b + j * column, column, into, k, std::min(t_.columns, n - j));
  }
  // B of (k, n), rows contiguous.
  void pack_right(const BFloat16* b, int64_t row, int64_t k, int64_t n, char* into) const {
    for (int64_t j = 0; j < n; j += t_.columns, into += right_panel(k))
      t_.pack_b_along(b + j, row, into, k, std::min(t_.columns, n - j));
  }

  // C (+)= A B of the first k rows of B, whose panels are of `right_k` rows. C has room for whole tiles.
  void multiply(int64_t m, int64_t n, int64_t k, const char* left, const char* right, int64_t right_k, float* c,
                int64_t c_row, bool add) const {
    for (int64_t j = 0; j < n; j += t_.columns) {
      const char* panel = right + j / t_.columns * right_panel(right_k);
      for (int64_t i = 0; i < m; i += t_.rows)
        t_.tile(ceil_div(k, t_.depth), left + i / t_.rows * left_panel(k), 1, t_.width, panel, t_.columns, c + i * c_row + j,
                c_row, std::min(t_.rows, m - i), std::min(t_.columns, n - j), add);
    }
  }
  void round(const float* from, int64_t from_row, BFloat16* to, int64_t to_row, int64_t rows, int64_t columns) const {
    kernels_.finish(from, from_row, to, to_row, rows, columns, nullptr);
  }
  void begin() const { if (t_.begin) t_.begin(); }
  void end() const { if (t_.end) t_.end(); }

 private:
  int64_t left_panel(int64_t k) const { return round_up(ceil_div(k, t_.depth) * t_.width * t_.unit, kAlign); }
  int64_t right_panel(int64_t k) const { return round_up(ceil_div(k, t_.depth) * t_.columns * t_.unit, kAlign); }

  const GemmKernels& kernels_;
  const TileKernels& t_;
};

}  // namespace

bool takes_bf16(int64_t queries) { return queries > kFewQueries && gemm_kernels(DType::BF16).tiles.depth > 1; }

void attention_forward_bf16(const Attention& a, const AttentionRows& kernels) {
  constexpr int64_t item = sizeof(float);
  const Tiles tiles;
  const int64_t count = batch_count(a), D = a.size, V = a.value_size;
  const int64_t q_block = round_up(even(a.queries, a.causal ? 64 : 128), tiles.rows()), q_blocks = ceil_div(a.queries, q_block);
  const int64_t k_block = round_up(even(a.keys, kForwardKeys), tiles.columns());
  const int64_t parts = std::min(q_blocks, ceil_div(kEnoughTasks, count)), in_part = ceil_div(q_blocks, parts);
  const int64_t step = row_step(k_block), y_step = round_up(V, tiles.columns());
  parallel_for(count * parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t most = in_part * q_block;
    const int64_t key_room = tiles.right_room(D, k_block), value_room = tiles.right_room(k_block, V);
    const int64_t query_room = tiles.left_room(most, D), share_room = tiles.left_room(q_block, k_block);
    const int64_t floats = q_block * step + most * y_step + 2 * most + q_block;
    Buffer memory(size_t(key_room + value_room + query_room + share_room + floats * item + q_block * step * 2));
    if (rehearsing()) return;
    char *key_panels = memory.data, *value_panels = key_panels + key_room, *query_panels = value_panels + value_room;
    char* share_panels = query_panels + query_room;
    float *scores = reinterpret_cast<float*>(share_panels + share_room), *sums = scores + q_block * step;
    float *top = sums + most * y_step, *total = top + most, *fade = total + most;
    BFloat16* shares = reinterpret_cast<BFloat16*>(fade + q_block);
    float factor = a.mask ? 1.0f : float(a.scale);
    int64_t strides[24] = {};
    for (int i : {0, 4}) {  // scores, shares
      strides[3 * i] = step * item;
      strides[3 * i + 2] = item;
    }
    for (int i : {1, 2, 5, 6, 7}) strides[3 * i] = item;
    tiles.begin();
    for (int64_t task = begin; task < end; ++task) {
      const int64_t index = task / parts, first = task % parts * in_part * q_block;
      const int64_t last = std::min(first + in_part * q_block, a.queries);
      if (first >= last) continue;
      const BFloat16 *q = at<BFloat16>(a.q, a.batch, index), *k = at<BFloat16>(a.k, a.batch, index);
      const BFloat16* v = at<BFloat16>(a.v, a.batch, index);
      for (int64_t q0 = first; q0 < last; q0 += q_block)
        tiles.pack_left(q + q0 * a.q.row, a.q.row, std::min(q_block, last - q0), D, query_panels + tiles.left_room(q0 - first, D));
      std::fill(top, top + (last - first), -std::numeric_limits<float>::infinity());
      std::fill(total, total + (last - first), 0.0f);
      for (int64_t k0 = 0; k0 < a.keys && !(a.causal && k0 >= last); k0 += k_block) {
        const int64_t k1 = std::min({k0 + k_block, a.keys, a.causal ? last : a.keys});
        tiles.pack_right_turned(k + k0 * a.k.row, a.k.row, D, k1 - k0, key_panels);
        tiles.pack_right(v + k0 * a.v.row, a.v.row, k1 - k0, V, value_panels);
        for (int64_t q0 = first; q0 < last; q0 += q_block) {
          const int64_t q1 = std::min(q0 + q_block, last), rows = q1 - q0;
          const int64_t columns = (a.causal ? std::min(k1, q1) : k1) - k0;
          if (columns <= 0) continue;
          tiles.multiply(rows, columns, D, query_panels + tiles.left_room(q0 - first, D), key_panels, D, scores, step, false);
          restrain(a, index, scores, step, q0, rows, k0, columns);
          float *tops = top + (q0 - first), *totals = total + (q0 - first), *to = sums + (q0 - first) * y_step;
          float* operands[8] = {scores, tops, totals, &factor, scores, tops, totals, fade};
          kernels.softmax(reinterpret_cast<char**>(operands), strides, rows, 1, columns, nullptr);
          for (int64_t i = 0; k0 && i < rows; ++i)
            if (fade[i] != 1) shrink(to + i * y_step, V, fade[i]);
          tiles.round(scores, step, shares, step, rows, columns);
          tiles.pack_left(shares, step, rows, columns, share_panels);
          tiles.multiply(rows, V, columns, share_panels, value_panels, k1 - k0, to, y_step, k0 > 0);
        }
      }
      finish(a, kernels.finish, sums, y_step, last - first, top, total,
             static_cast<float*>(a.logsumexp) + index * a.queries + first);
      tiles.round(sums, y_step, at<BFloat16>(a.y, a.batch, index) + first * a.y.row, a.y.row, last - first, V);
    }
    tiles.end();
  });
}

}  // namespace thixo
