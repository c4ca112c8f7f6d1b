#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "attention_parts.h"
#include "panels.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr int64_t kBackwardBlock = 256;
template <class T>
void zero(T* to, int64_t row, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) std::fill(to + i * row, to + i * row + columns, T(0));
}

constexpr int64_t kFewRows = 4;  // so few queries read keys and values from where they are

template <class T>
void forward(const Attention& a, const AttentionRows& kernels) {
  constexpr int64_t item = sizeof(T);
  const Products<T> products;
  const int64_t count = batch_count(a), D = a.size, V = a.value_size;
  const int64_t q_block = even(a.queries, a.causal ? 42 : 112), q_blocks = ceil_div(a.queries, q_block);
  const int64_t k_block = round_up(even(a.keys, kForwardKeys), products.columns());
  const int64_t parts = std::min(q_blocks, ceil_div(kEnoughTasks, count)), in_part = ceil_div(q_blocks, parts);
  const int64_t step = row_step(k_block);
  const bool few = a.queries <= kFewRows;
  parallel_for(count * parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t most = std::min(in_part * q_block, a.queries);
    const int64_t key_room = few ? 0 : products.room(D, k_block), value_room = few ? 0 : products.room(k_block, V);
    Buffer memory(size_t(key_room + value_room + q_block * (step + V) + 2 * most + q_block) * sizeof(T));
    if (rehearsing()) return;
    T* key_panels = reinterpret_cast<T*>(memory.data);
    T *value_panels = key_panels + key_room, *scores = value_panels + value_room, *spare = scores + q_block * step;
    T *top = spare + q_block * V, *total = top + most, *fade = total + most;
    T factor = a.mask ? T(1) : T(a.scale);
    int64_t strides[24] = {};
    for (int i : {0, 4}) {  // scores, shares
      strides[3 * i] = step * item;
      strides[3 * i + 2] = item;
    }
    for (int i : {1, 2, 5, 6, 7}) strides[3 * i] = item;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t index = task / parts, first = task % parts * in_part * q_block;
      const int64_t last = std::min(first + in_part * q_block, a.queries);
      if (first >= last) continue;
      const T *q = at<T>(a.q, a.batch, index), *k = at<T>(a.k, a.batch, index), *v = at<T>(a.v, a.batch, index);
      T* y = at<T>(a.y, a.batch, index);
      std::fill(top, top + (last - first), -std::numeric_limits<T>::infinity());
      std::fill(total, total + (last - first), T(0));
      for (int64_t k0 = 0; k0 < a.keys && !(a.causal && k0 >= last); k0 += k_block) {
        const int64_t k1 = std::min({k0 + k_block, a.keys, a.causal ? last : a.keys});
        const auto keys = products.factor(k + k0 * a.k.row, 1, a.k.row, D, k1 - k0, few ? nullptr : key_panels);
        const auto values = products.factor(v + k0 * a.v.row, a.v.row, 1, k1 - k0, V, few ? nullptr : value_panels);
        for (int64_t q0 = first; q0 < last; q0 += q_block) {
          const int64_t q1 = std::min(q0 + q_block, last), rows = q1 - q0;
          const int64_t columns = (a.causal ? std::min(k1, q1) : k1) - k0;
          if (columns <= 0) continue;
          products.multiply(rows, columns, D, q + q0 * a.q.row, a.q.row, 1, keys, scores, step, false, nullptr);
          restrain(a, index, scores, step, q0, rows, k0, columns);
          T *tops = top + (q0 - first), *totals = total + (q0 - first);
          T* operands[8] = {scores, tops, totals, &factor, scores, tops, totals, fade};
          kernels.softmax(reinterpret_cast<char**>(operands), strides, rows, 1, columns, nullptr);
          T* to = y + q0 * a.y.row;
          for (int64_t i = 0; k0 && i < rows; ++i)
            if (fade[i] != 1) shrink(to + i * a.y.row, V, fade[i]);
          products.multiply(rows, V, columns, scores, step, 1, values, to, a.y.row, k0 > 0, spare);
        }
      }
      finish(a, kernels.finish, y + first * a.y.row, a.y.row, last - first, top, total,
             static_cast<T*>(a.logsumexp) + index * a.queries + first);
    }
  });
}

// Sums of products, in lanes: the same order for any compiler.
template <class T>
T dot(const T* a, const T* b, int64_t n) {
  constexpr int64_t kLanes = 16;
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) sums[l] += a[i + l] * b[i + l];
  for (; i < n; ++i) sums[i % kLanes] += a[i] * b[i];
  for (int64_t half = kLanes / 2; half; half /= 2)
    for (int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

template <class T>
void backward(const Attention& a, const AttentionGradients& to, Loop back) {
  constexpr int64_t item = sizeof(T);
  const Products<T> products;
  const int64_t count = batch_count(a), L = a.queries, D = a.size, V = a.value_size;
  const int64_t q_block = even(L, kBackwardBlock), q_blocks = ceil_div(L, q_block);
  // The first queries see none of the last keys: shorter blocks leave out more of what is shut.
  const int64_t most = !a.causal ? kBackwardBlock : a.keys > kBackwardBlock ? 64 : 32;
  const int64_t k_block = round_up(even(a.keys, most), products.columns());
  const int64_t k_blocks = ceil_div(a.keys, k_block);
  // Groups of keys, each with a gradient of the queries of its own, where the batch alone would not keep threads busy.
  const int64_t groups = std::min(k_blocks, ceil_div(kEnoughTasks, count)), in_group = ceil_div(k_blocks, groups);
  const int64_t step = row_step(k_block);
  const bool few = L <= kFewRows;
  Buffer shares(groups > 1 ? size_t(count * groups * L * D) * sizeof(T) : 0);
  parallel_for(count * groups, 1, [&](int64_t begin, int64_t end) {
    // Panels of the queries and of y's gradient, block by block, and those of a block of keys and values.
    const int64_t q_room = few ? 0 : products.room(q_block, D), g_room = few ? 0 : products.room(q_block, V);
    const int64_t turned_room = few ? 0 : products.room(D, k_block), key_room = few ? 0 : products.room(k_block, D);
    const int64_t value_room = few ? 0 : products.room(V, k_block);
    const int64_t spare_room = few ? std::max(q_block, k_block) * std::max(D, V) : 0;
    Buffer memory(size_t(q_blocks * (q_room + g_room) + turned_room + key_room + value_room + 2 * q_block * step + L +
                         spare_room) * sizeof(T));
    if (rehearsing()) return;
    T* q_panels = reinterpret_cast<T*>(memory.data);
    T *g_panels = q_panels + q_blocks * q_room, *turned_panels = g_panels + q_blocks * g_room;
    T *key_panels = turned_panels + turned_room, *value_panels = key_panels + key_room;
    T *share = value_panels + value_room, *slope = share + q_block * step, *mean = slope + q_block * step;
    T* spare = mean + L;
    T factor = a.mask ? T(1) : T(a.scale), scale = T(a.scale);
    const int64_t strides[8] = {item, 0, item, 0, 0, 0, item, item};
    std::vector<typename Products<T>::Factor> q_factors, g_factors;
    std::vector<char> touched;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t index = task / groups, group = task % groups;
      const T *q = at<T>(a.q, a.batch, index), *k = at<T>(a.k, a.batch, index), *v = at<T>(a.v, a.batch, index);
      const T *y = at<T>(a.y, a.batch, index), *g = at<T>(to.g, a.batch, index);
      T *to_k = at<T>(to.to_k, a.batch, index), *to_v = at<T>(to.to_v, a.batch, index);
      T* to_q = groups > 1 ? reinterpret_cast<T*>(shares.data) + task * L * D : at<T>(to.to_q, a.batch, index);
      const int64_t to_q_row = groups > 1 ? D : to.to_q.row;
      T* logsumexp = static_cast<T*>(a.logsumexp) + index * L;
      for (int64_t i = 0; i < L; ++i) mean[i] = dot(y + i * a.y.row, g + i * to.g.row, V);
      touched.assign(size_t(q_blocks), char(0));
      q_factors.clear();
      g_factors.clear();
      for (int64_t b = 0; b < q_blocks; ++b) {
        const int64_t rows = std::min(q_block, L - b * q_block);
        q_factors.push_back(products.factor(q + b * q_block * a.q.row, a.q.row, 1, rows, D, few ? nullptr : q_panels + b * q_room));
        g_factors.push_back(products.factor(g + b * q_block * to.g.row, to.g.row, 1, rows, V, few ? nullptr : g_panels + b * g_room));
      }
      const int64_t k_end = std::min((group + 1) * in_group * k_block, a.keys);
      for (int64_t k0 = group * in_group * k_block; k0 < k_end; k0 += k_block) {
        const int64_t columns = std::min(k_block, k_end - k0);
        const T *k_part = k + k0 * a.k.row, *v_part = v + k0 * a.v.row;
        const auto turned = products.factor(k_part, 1, a.k.row, D, columns, few ? nullptr : turned_panels);
        const auto keys = products.factor(k_part, a.k.row, 1, columns, D, few ? nullptr : key_panels);
        const auto values = products.factor(v_part, 1, a.v.row, V, columns, few ? nullptr : value_panels);
        bool fresh = true;
        for (int64_t b = 0; b < q_blocks; ++b) {
          const int64_t from = b * q_block, q1 = std::min(from + q_block, L);
          if (a.causal && k0 >= q1) continue;
          // Rows before the first key see none of these.
          const int64_t q0 = a.causal && !few ? std::max(from, k0) : from, rows = q1 - q0;
          products.multiply(rows, columns, D, q + q0 * a.q.row, a.q.row, 1, turned, share, step, false, nullptr);
          restrain(a, index, share, step, q0, rows, k0, columns);
          products.multiply(rows, columns, V, g + q0 * to.g.row, to.g.row, 1, values, slope, step, false, nullptr);
          for (int64_t i = 0; i < rows; ++i) {
            T *s = share + i * step, *d = slope + i * step;
            T* operands[8] = {s, logsumexp + q0 + i, d, mean + q0 + i, &factor, &scale, s, d};
            back(reinterpret_cast<char**>(operands), strides, columns);
          }
          // The part of the panels from row q0 on.
          auto g_rows = g_factors[size_t(b)], q_rows = q_factors[size_t(b)];
          const int64_t skipped = (q0 - from) * products.columns();
          if (g_rows.panels) g_rows.panels += skipped, q_rows.panels += skipped;
          products.multiply(columns, V, rows, share, 1, step, g_rows, to_v + k0 * to.to_v.row, to.to_v.row, !fresh, spare);
          products.multiply(columns, D, rows, slope, 1, step, q_rows, to_k + k0 * to.to_k.row, to.to_k.row, !fresh, spare);
          char& known = touched[size_t(b)];
          if (!known && q0 > from) zero(to_q + from * to_q_row, to_q_row, q0 - from, D);
          products.multiply(rows, D, columns, slope, step, 1, keys, to_q + q0 * to_q_row, to_q_row, known, spare);
          known = 1;
          fresh = false;
        }
        if (fresh) {
          zero(to_k + k0 * to.to_k.row, to.to_k.row, columns, D);
          zero(to_v + k0 * to.to_v.row, to.to_v.row, columns, V);
        }
      }
      for (int64_t b = 0; b < q_blocks; ++b)
        if (!touched[size_t(b)]) zero(to_q + b * q_block * to_q_row, to_q_row, std::min(q_block, L - b * q_block), D);
    }
  });
  if (groups == 1 || rehearsing()) return;
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      T* into = at<T>(to.to_q, a.batch, index);
      const T* from = reinterpret_cast<const T*>(shares.data) + index * groups * L * D;
      for (int64_t i = 0; i < L; ++i)
        for (int64_t j = 0; j < D; ++j) {
          T sum = from[i * D + j];
          for (int64_t group = 1; group < groups; ++group) sum += from[group * L * D + i * D + j];
          into[i * to.to_q.row + j] = sum;
        }
    }
  });
}

}  // namespace

void attention_forward(const Attention& a, const AttentionRows& kernels) {
  if (a.source == DType::BF16) return attention_forward_bf16(a, kernels);
  if (a.dtype == DType::F64) forward<double>(a, kernels);
  else forward<float>(a, kernels);
}

void attention_backward(const Attention& a, const AttentionGradients& to, Loop back) {
  if (a.dtype == DType::F64) backward<double>(a, to, back);
  else backward<float>(a, to, back);
}

}  // namespace thixo
