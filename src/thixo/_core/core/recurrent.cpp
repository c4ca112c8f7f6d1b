#include "recurrent.h"

#include <algorithm>
#include <cstring>

#include "panels.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr int kMostOperands = 20;

// How many sequences run through all times together. A weight that stays in a near cache may be walked through by
// each part; a large one is read less often.
int64_t part_of(int64_t batch, int64_t weight_bytes) {
  const int64_t most = weight_bytes <= kNearBytes ? 16 : 28;
  return batch <= most ? batch : ceil_div(batch, ceil_div(batch, most));
}

template <class T>
void add_to(T* sums, const T* more, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] += more[i];
}

// Lines in memory, and the operands of a step gathered from them.
struct Walk {
  const Sequence& s;
  int64_t item;
  int64_t time(int64_t step) const { return s.reverse ? s.steps - 1 - step : step; }
  char* at(const void* base, int64_t index) const {
    return const_cast<char*>(static_cast<const char*>(base)) + index * item;
  }
};
struct Operands {
  char* pointers[kMostOperands];
  int64_t strides[kMostOperands];
  int count = 0;
  explicit Operands(int64_t item) { std::fill(strides, strides + kMostOperands, item); }
  void add(char* line) { pointers[count++] = line; }
  void add(char* lines, int many, int64_t bytes) {
    for (int i = 0; i < many; ++i) add(lines + i * bytes);
  }
  void run(Loop step, int64_t n) {
    step(pointers, strides, n);
    count = 0;
  }
};

template <class T>
void forward(const Sequence& s, const void* x, const void* weight_ih, const void* bias_ih, const void* bias_hh) {
  const RecurrentKind& kind = s.kind;
  const Walk w{s, item_size(s.dtype)};
  const int64_t H = s.hidden, G = kind.gates * H, line = H * w.item;
  // What the inputs of all times add stands where the step's results will: in what is kept, or in the output.
  void* shares = kind.lines ? s.kept : s.y;
  const int64_t share_row = std::max(kind.lines, 1) * H;
  Product inputs;
  inputs.dtype = s.dtype;
  inputs.m = s.steps * s.batch;
  inputs.n = G;
  inputs.k = s.inputs;
  inputs.a = x;
  inputs.a_row = s.inputs;
  inputs.a_k = 1;
  inputs.b = weight_ih;
  inputs.b_k = 1;
  inputs.b_n = s.inputs;
  inputs.c = shares;
  inputs.c_row = share_row;
  inputs.bias = bias_ih;
  inputs.bias_n = 1;
  gemm(inputs);

  const Products<T> products;
  const int64_t part = part_of(s.batch, G * line);
  Buffer panels(size_t(products.room(H, G)) * sizeof(T));
  const auto weight = products.factor(static_cast<const T*>(s.weight_hh), 1, H, H, G, reinterpret_cast<T*>(panels.data));
  parallel_for(s.batch, part, [&](int64_t from, int64_t to) {
    const int64_t rows = to - from;
    Buffer share(size_t(rows * kind.gates * line));
    T* sums = reinterpret_cast<T*>(share.data);
    Operands o(w.item);
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t row = w.time(step) * s.batch + from;
      const int64_t last = step ? w.time(step - 1) * s.batch + from : from;
      const char* state = w.at(step ? s.y : s.h, last * H);
      for (int64_t r = 0; bias_hh && r < rows; ++r) std::memcpy(sums + r * G, bias_hh, size_t(kind.gates * line));
      products.multiply(rows, G, H, reinterpret_cast<const T*>(state), H, 1, weight, sums, G, bias_hh != nullptr, nullptr);
      for (int64_t r = 0; r < rows; ++r) {
        char* mine = w.at(shares, (row + r) * share_row);
        o.add(mine, kind.gates, line);
        o.add(share.data + r * kind.gates * line, kind.gates, line);
        if (kind.cell) o.add(w.at(step ? s.cells : s.c, (last + r) * H));
        if (kind.carries) o.add(w.at(state, r * H));
        o.add(mine, kind.lines, line);
        if (kind.cell) o.add(w.at(s.cells, (row + r) * H));
        o.add(w.at(s.y, (row + r) * H));
        o.run(s.step, H);
      }
    }
  });
}

template <class T>
void backward(const Sequence& s, const void* g_y, void* g_h, void* g_carried, void* to_input, void* to_state) {
  const RecurrentKind& kind = s.kind;
  const Walk w{s, item_size(s.dtype)};
  const int64_t H = s.hidden, G = kind.gates * H, line = H * w.item;
  const bool carried = kind.cell || kind.carries;
  void* shares = kind.carries ? to_state : to_input;
  const Products<T> products;
  const int64_t part = part_of(s.batch, G * line);
  Buffer panels(size_t(products.room(G, H)) * sizeof(T));
  const auto weight = products.factor(static_cast<const T*>(s.weight_hh), H, 1, G, H, reinterpret_cast<T*>(panels.data));
  parallel_for(s.batch, part, [&](int64_t from, int64_t to) {
    const int64_t rows = to - from;
    T *to_h = static_cast<T*>(g_h) + from * H, *carried_over = static_cast<T*>(g_carried) + from * H;
    Operands o(w.item);
    for (int64_t step = s.steps; step-- > 0;) {
      const int64_t row = w.time(step) * s.batch + from;
      const int64_t last = step ? w.time(step - 1) * s.batch + from : from;
      for (int64_t r = 0; r < rows; ++r) {
        if (kind.lines) o.add(w.at(s.kept, (row + r) * kind.lines * H), kind.lines, line);
        else o.add(w.at(s.y, (row + r) * H));
        if (kind.cell) {
          o.add(w.at(s.cells, (row + r) * H));
          o.add(w.at(step ? s.cells : s.c, (last + r) * H));
        }
        if (kind.carries) o.add(w.at(step ? s.y : s.h, (last + r) * H));
        o.add(w.at(g_y, (row + r) * H));
        o.add(w.at(g_h, (from + r) * H));
        if (carried) o.add(w.at(g_carried, (from + r) * H));
        o.add(w.at(to_input, (row + r) * G), kind.gates, line);
        if (kind.carries) o.add(w.at(to_state, (row + r) * G), kind.gates, line);
        if (carried) o.add(w.at(g_carried, (from + r) * H));
        o.run(s.step, H);
      }
      products.multiply(rows, H, G, static_cast<const T*>(shares) + row * G, G, 1, weight, to_h, H, false, nullptr);
    }
    if (kind.carries) add_to(to_h, carried_over, rows * H);
  });
}

}  // namespace

void recurrent_forward(const Sequence& s, const void* x, const void* weight_ih, const void* bias_ih, const void* bias_hh) {
  if (s.dtype == DType::F64) forward<double>(s, x, weight_ih, bias_ih, bias_hh);
  else forward<float>(s, x, weight_ih, bias_ih, bias_hh);
}

void recurrent_backward(const Sequence& s, const void* g_y, void* g_h, void* g_carried, void* to_input, void* to_state) {
  if (s.dtype == DType::F64) backward<double>(s, g_y, g_h, g_carried, to_input, to_state);
  else backward<float>(s, g_y, g_h, g_carried, to_input, to_state);
}

}  // namespace thixo
